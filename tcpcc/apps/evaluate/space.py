"""What an attack may vary: named quantities with their ranges, and the scenario of a point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tcpcc.apps.evaluate.bottleneck import PACKET, Bottleneck
from tcpcc.apps.evaluate.criterion import OTHER, TESTED
from tcpcc.apps.evaluate.measures import BOTTLENECK
from tcpcc.errors import one_of, refuse
from tcpcc.queues import Policer
from tcpcc.scenario import CBR, Flow, Link, Network, Scenario
from tcpcc.scenario.link_changes import rate_series

if TYPE_CHECKING:
    import optuna
    import pandas as pd

NONE = "none"
PULSES = "pulses"
FAR = "far"

Point = Mapping[str, Any]
"""A value for each quantity."""


@dataclass(frozen=True)
class Range:
    """A quantity that an attack varies.

    Attributes:
        low, high: its range.
        plain: the value that means nothing special, to which shrinking returns.
        unit: its unit; "" for a number.
        meaning: what it is.
        log: whether it is drawn on a logarithmic scale.
        whole: whether it is a whole number.
    """

    low: float
    high: float
    plain: float
    unit: str
    meaning: str
    log: bool = False
    whole: bool = False

    def drawn(self, trial: optuna.Trial, name: str) -> float:
        if self.whole:
            return trial.suggest_int(name, int(self.low), int(self.high))
        return trial.suggest_float(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Choice:
    """A quantity with names as values; attributes as of `Range`."""

    names: tuple[str, ...]
    plain: str
    meaning: str

    def drawn(self, trial: optuna.Trial, name: str) -> str:
        return str(trial.suggest_categorical(name, self.names))


QUANTITIES: dict[str, Range | Choice] = {
    "rate": Range(1e6, 1e8, 2e7, "bit/s", "rate of the bottleneck", log=True),
    "rtt": Range(0.005, 0.3, 0.04, "s", "base RTT", log=True),
    "buffer": Range(0.1, 8.0, 1.0, "BDP", "buffer of the bottleneck", log=True),
    "queue": Choice(("droptail", "red", "codel", "pie", "fq_codel"), "droptail", "discipline"),
    "loss": Range(0.0, 0.02, 0.0, "", "probability of random loss"),
    "flows": Range(1, 10, 1, "", "number of tested flows", whole=True),
    "longer": Range(1.0, 10.0, 1.0, "", "RTT of the last tested flow over that of the others"),
    "jitter": Range(0.0, 0.02, 0.0, "s", "random delay of the last tested flow's packets"),
    "aggregation": Range(0.0, 0.02, 0.0, "s", "aggregation of ACKs"),
    "competitor": Choice((NONE, "reno", "cubic", "bbr"), NONE, "controller of other flows"),
    "competitors": Range(1, 10, 1, "", "number of other flows", whole=True),
    "late": Range(0.0, 20.0, 0.0, "s", "start of the tested flows after the others"),
    "swing": Range(1.0, 10.0, 1.0, "", "factor between the largest and the smallest rate"),
    "swing_period": Range(0.5, 20.0, 10.0, "s", "period of the rate's square wave", log=True),
    "pulse": Range(0.0, 0.5, 0.0, "s", "length of bursts of unresponsive traffic"),
    "pulse_period": Range(0.3, 5.0, 2.0, "s", "period of these bursts"),
    "reordering": Range(0.0, 0.02, 0.0, "s", "random delay by which packets overtake others"),
    "policer": Range(0.1, 1.0, 1.0, "", "rate of a policer over the link's; 1: none"),
}
"""Everything that can be varied, by name."""


def table() -> pd.DataFrame:
    """The quantities: `quantity`, `from`, `to`, `plain`, `unit`, `meaning`."""
    import pandas as pd

    rows = []
    for name, of in QUANTITIES.items():
        if isinstance(of, Choice):
            rows.append([name, *(of.names[k] for k in (0, -1)), of.plain, "", of.meaning])
        else:
            ends = [f"{x:g}" for x in (of.low, of.high, of.plain)]
            rows.append([name, *ends, of.unit, of.meaning])
    return pd.DataFrame(rows, columns=["quantity", "from", "to", "plain", "unit", "meaning"])


def chosen(ranges: Iterable[str] | Mapping[str, Any] | None) -> dict[str, Range | Choice]:
    """The quantities to vary: names, or names with (low, high) or a sequence of names.

    Raises:
        ScenarioError: an unknown quantity, or a range outside of its own.
    """
    if ranges is None:
        return dict(QUANTITIES)
    choices: Mapping[str, Any] = ranges if isinstance(ranges, Mapping) else dict.fromkeys(ranges)
    return {name: _narrowed(name, value) for name, value in choices.items()}


def _narrowed(name: str, value: Any) -> Range | Choice:
    full = QUANTITIES[one_of("quantity", name, known=QUANTITIES)]
    if value is None:
        return full
    if isinstance(full, Choice):
        names = (value,) if isinstance(value, str) else tuple(value)
        return Choice(names, full.plain if full.plain in names else names[0], full.meaning)
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        raise refuse(f"ranges[{name!r}]", value, "two numbers, the least and the largest") from None
    least = 0.0 if full.low == 0 else 1e-9
    if not least <= low < high:
        raise refuse(f"ranges[{name!r}]", value, f"two rising numbers >= {full.low:g}", full.unit)
    plain = min(max(full.plain, low), high)
    return Range(low, high, plain, full.unit, full.meaning, full.log and low > 0, full.whole)


def plain() -> dict[str, Any]:
    """The point with nothing special: one flow at 20 Mb/s, 40 ms, 1 BDP."""
    return {name: of.plain for name, of in QUANTITIES.items()}


def scenario(flow: Flow, point: Point, seconds: float, seed: int = 1) -> Scenario:
    """The scenario of a point; quantities that it does not name have their plain values.

    A policer takes the place of the discipline; its burst is the buffer.
    """
    at = {**plain(), **point}
    path = Bottleneck(
        at["rate"], at["rtt"], at["buffer"], queue=at["queue"], loss=at["loss"],
        jitter=at["reordering"], reordering=at["reordering"] > 0, variable=at["swing"] > 1,
    )  # fmt: skip
    if at["policer"] < 1:
        burst = float(path.buffer * PACKET)
        path = replace(path, queue=Policer(rate=at["policer"] * at["rate"], burst=burst))
    count, start = int(at["flows"]), at["late"] if at["competitor"] != NONE else 0.0
    apart = at["jitter"] > 0 or at["longer"] > 1
    tested = flow.replace(start=start)
    flows: list[Flow | CBR] = []
    if count > apart:
        flows.append(tested.replace(name=TESTED, count=count - apart))
    if apart:
        flows.append(tested.replace(name=f"{TESTED}.far", source=FAR))
    if at["competitor"] != NONE:
        flows.append(Flow(at["competitor"], name=OTHER, count=int(at["competitors"])))
    if at["pulse"] > 0:
        flows.append(_pulses(at, seconds))
    changes = _swings(at, seconds) if at["swing"] > 1 else []
    net = _network(path.network, at, apart=apart)
    return path.scenario(flows, seconds, changes=changes, net=net).replace(seed=seed)


def _network(net: Network, at: Point, *, apart: bool) -> Network:
    """The dumbbell with ACK aggregation, and a farther host where a flow needs one."""
    there, back = net.links
    if at["aggregation"] > 0:
        back = back.replace(aggregation=at["aggregation"])
    links: Sequence[Link] = (there, back)
    if apart:
        near, rate, delay = there.src, 100 * at["rate"], (at["longer"] - 1) * at["rtt"] / 2
        links = (
            *links,
            Link(FAR, near, rate=rate, delay=delay, jitter=at["jitter"], name=FAR),
            Link(near, FAR, rate=rate, delay=delay, name=f"{FAR}<"),
        )
    return Network(links, net.access, net.default_path)


def _pulses(at: Point, seconds: float) -> CBR:
    """Bursts at twice the rate of the bottleneck."""
    period, length = at["pulse_period"], min(at["pulse"], 0.9 * at["pulse_period"])
    begins = [k * period for k in range(int(seconds / period) + 1) if k * period < seconds]
    on = [(begin, min(begin + length, seconds)) for begin in begins]
    return CBR(2.0 * at["rate"], packet_size=1500, on=on, name=PULSES)


def _swings(at: Point, seconds: float) -> list[Any]:
    rates = [at["rate"], at["rate"] / at["swing"]]
    return rate_series(BOTTLENECK, rates, interval=at["swing_period"] / 2, until=seconds)
