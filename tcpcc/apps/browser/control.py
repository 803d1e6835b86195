"""What the reader of a page can change, and the scenario that a choice defines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tcpcc.errors import ScenarioError, one_of
from tcpcc.queues.discipline import QueueSpec
from tcpcc.results.plot_style import rate_unit
from tcpcc.scenario import Flow, Link, Scenario
from tcpcc.scenario.network import bottleneck

CONTROLS = ("rate", "delay", "buffer", "loss", "queue", "controllers", "starts", "seed")
"""What a page can let its reader change."""

MOST_FLOWS = 16
"""Largest number of flows of a page."""

LARGEST_LOSS = 10.0
"""%, at the end of the slider."""


@dataclass(frozen=True)
class Slider:
    """A number of the bottleneck.

    Attributes:
        name: one of `CONTROLS`, or a parameter of a queue discipline.
        label: name in the page.
        unit: unit in the page.
        value, low, high: initial value and range, in this unit.
        per: the number of units of a model (bit/s, s, packets) in one unit of the page, as
            (numerator, denominator).
        log: whether the slider is logarithmic.
        step: resolution; 0: three digits.
        help: meaning.
    """

    name: str
    label: str
    unit: str
    value: float
    low: float
    high: float
    per: tuple[float, float] = (1.0, 1.0)
    log: bool = False
    step: float = 0.0
    help: str = ""

    def in_model(self, value: float) -> float:
        """A value of the page in units of the model."""
        return value * self.per[0] / self.per[1]


def sliders(link: Link) -> Iterator[Slider]:
    """The sliders of a bottleneck; none for what is unlimited."""
    if math.isfinite(link.rate):
        scale, unit = rate_unit(link.rate)
        rate = _plain(link.rate / scale)
        yield Slider("rate", "Rate", unit, rate, rate / 10, rate * 10, (scale, 1.0), True)
    ms = _plain(1e3 * link.delay)
    low, high = (ms / 10, ms * 10) if ms > 0 else (0.0, 100.0)
    yield Slider("delay", "Delay, one way", "ms", ms, low, high, (1.0, 1e3), log=ms > 0)
    if math.isfinite(link.buffer):
        in_packets = link.buffer_unit == "packets"
        kilo = 1.0 if in_packets or link.buffer < 1e4 else 1e3
        room = _plain(link.buffer / kilo)
        low = max(math.ceil(room / 20), 1.0) if in_packets else room / 20
        unit = link.buffer_unit if kilo == 1 else "kB"
        high, step = max(room * 20, 20.0), float(in_packets)
        yield Slider("buffer", "Buffer", unit, room, low, high, (kilo, 1.0), log=True, step=step)
    loss = _plain(100 * link.loss)
    high = max(LARGEST_LOSS, min(2 * loss, 99.0))
    yield Slider("loss", "Random loss", "%", loss, 0.0, high, (1.0, 100.0), step=0.01)


def _plain(value: float) -> float:
    """A value without the rounding error of its conversion."""
    return float(f"{value:.12g}")


def parameters(queue: QueueSpec) -> list[Slider]:
    """The parameters of a queue discipline, with the values that `queue` has."""
    discipline = queue.discipline
    values = discipline.check(dict(queue.params))
    return [
        Slider(name, name, param.unit, values[name], param.low, param.high, help=param.doc)
        for name, param in discipline.params.items()
    ]


def checked(names: Sequence[str], allowed: Sequence[str], field: str) -> tuple[str, ...]:
    """`names` without repetitions; all must be in `allowed`."""
    for name in names:
        one_of(field, name, known=allowed)
    return tuple(dict.fromkeys(names))


def with_single_flows(scenario: Scenario) -> Scenario:
    """The scenario with one named flow, starting at a fixed time, for each that it resolves to.

    Raises:
        ScenarioError: a page cannot run it.
    """
    if scenario.workloads:
        raise ScenarioError("workloads: a page has flows only; scenario.spelled_out() makes them")
    flows = scenario.resolve().flows
    if len(flows) > MOST_FLOWS:
        raise ScenarioError(f"flows: {len(flows)} in all: a page has at most {MOST_FLOWS}")
    if not any(flow.is_tcp for flow in flows):
        raise ScenarioError("flows: at least one must have a controller")
    for flow in flows:
        if flow.spec.group is not None:
            raise ScenarioError(f"flow {flow.name!r}: group: a page has single flows only")
    narrowest = bottleneck(scenario.net)
    if not (narrowest.record or (narrowest.record is None and math.isfinite(narrowest.buffer))):
        net = scenario.net
        links = [link.replace(record=True) if link is narrowest else link for link in net.links]
        scenario = scenario.replace(net=net.replace(links=links))
    return scenario.replace(
        flows=[
            flow.spec.replace(name=flow.name, **({"record": True} if flow.is_tcp else {}))
            for flow in flows
        ]
    )


def with_controller(scenario: Scenario, i: int, controller: str) -> Scenario:
    """The scenario with another controller in flow `i`, at its default parameters."""
    flows = list(scenario.flows)
    flow = flows[i]
    assert isinstance(flow, Flow)
    if flow.controller != controller:
        flows[i] = flow.replace(controller=controller, params=(), recovery=None)
    return scenario.replace(flows=flows)


def fits(scenario: Scenario, i: int, controller: str) -> bool:
    """Whether flow `i` can have another controller with its own slow start and transport."""
    try:
        with_controller(scenario, i, controller)
    except ScenarioError:
        return False
    return True


def with_start(scenario: Scenario, i: int, start: float) -> Scenario:
    """The scenario with another start of flow `i`, s."""
    flows = list(scenario.flows)
    flows[i] = flows[i].replace(start=start)
    return scenario.replace(flows=flows)


def with_queue(scenario: Scenario, queue: QueueSpec) -> Scenario:
    return _with_link(scenario, lambda link, back: {} if back else {"queue": queue})


def with_value(scenario: Scenario, name: str, value: float) -> Scenario:
    """The scenario with another value of a slider, in units of the model.

    Rate and delay also change in the reverse direction if they are equal there.
    """
    narrowest = bottleneck(scenario.net)

    def change(link: Link, back: bool) -> dict[str, Any]:
        if name == "buffer":
            return {} if back else {"buffer": value, "buffer_unit": link.buffer_unit}
        if name == "loss":
            return {} if back else {"loss": value}
        return {name: value} if getattr(link, name) == getattr(narrowest, name) else {}

    return _with_link(scenario, change)


def _with_link(scenario: Scenario, change: Callable[[Link, bool], dict[str, Any]]) -> Scenario:
    narrowest = bottleneck(scenario.net)
    links = []
    for link in scenario.net.links:
        back = (link.src, link.dst) == (narrowest.dst, narrowest.src)
        links.append(link.replace(**change(link, back)) if link is narrowest or back else link)
    return scenario.replace(net=scenario.net.replace(links=links))
