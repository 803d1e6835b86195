"""The values of an explorer's controls, and the scenario that they define."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tcpcc.errors import ScenarioError
from tcpcc.scenario import CBR, Flow, Network, Scenario
from tcpcc.scenario.network import bottleneck


@dataclass(frozen=True)
class Lane:
    """Flows of one controller.

    Args:
        controller: its name.
        count: number of flows.
        params: parameters that differ from the controller's defaults.
    """

    controller: str
    count: int = 1
    params: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """Values of all controls.

    Args:
        rate: rate of the bottleneck, bit/s.
        rtt: base RTT of the first flow without queueing and transmission, s.
        buffer: buffer of the bottleneck, in its own unit; may be infinite.
        queue: name of its queue discipline.
        duration: s.
        lanes: the controllers.
    """

    rate: float
    rtt: float
    buffer: float
    queue: str
    duration: float
    lanes: tuple[Lane, ...]


def base_rtt(scenario: Scenario) -> float:
    """Round-trip propagation delay of the first flow that has a controller, s."""
    resolved = scenario.resolve(expand=False)
    first = next(flow for flow in resolved.flows if flow.is_tcp)
    return sum(resolved.links[k].delay for k in (*first.forward, *first.reverse))


def setting_of(scenario: Scenario) -> Setting:
    """The values of the controls for a scenario, which must have a flow with a controller."""
    groups = _groups(scenario)
    if not groups:
        raise ScenarioError("flows: at least one must have a controller to explore")
    link = bottleneck(scenario.net)
    lanes = tuple(
        Lane(flows[0].controller, sum(flow.count for flow in flows), dict(flows[0].params))
        for flows in groups
    )
    return Setting(
        link.rate, base_rtt(scenario), link.buffer, link.queue.name, scenario.duration, lanes
    )


def scenario_of(start: Scenario, setting: Setting) -> Scenario:
    """The initial scenario with the changes made by the controls.

    The flows of a lane have start, size, transport and route of the corresponding group of flows,
    or of the last group. Additional flows are copies of the last flow of the group.

    Raises:
        ScenarioError: an invalid value.
    """
    before = setting_of(start)
    groups = _groups(start)
    flows: list[Flow | CBR] = []
    for k, lane in enumerate(setting.lanes):
        initial = before.lanes[k] if k < len(groups) else None
        flows += _flows(groups[min(k, len(groups) - 1)], lane, initial)
    if not flows:
        raise ScenarioError("flows: at least one must remain")
    others = [flow for flow in start.flows if isinstance(flow, CBR)]
    return start.replace(
        net=_network(start, before, setting), flows=[*flows, *others], duration=setting.duration
    )


def _groups(scenario: Scenario) -> list[list[Flow]]:
    """Flows with a controller, grouped if consecutive flows share it and its parameters."""
    flows = [flow for flow in scenario.flows if isinstance(flow, Flow)]
    return [list(of) for _, of in groupby(flows, key=lambda flow: (flow.controller, flow.params))]


def _flows(templates: Sequence[Flow], lane: Lane, initial: Lane | None) -> list[Flow]:
    changes: dict[str, Any] = {}
    if initial is None or lane.controller != initial.controller:
        changes = {"controller": lane.controller, "params": lane.params, "name": None}
        changes["recovery"] = None  # the controller's own
    elif dict(lane.params) != dict(initial.params):
        changes = {"params": lane.params}
    flows = []
    left = lane.count
    for k, template in enumerate(templates):
        last = k == len(templates) - 1
        count = left if last else min(template.count, left)
        if count:
            own = template.name if count <= template.count else None
            flows.append(template.replace(**{"name": own, **changes, "count": count}))
        left -= count
    return flows


def _network(start: Scenario, before: Setting, setting: Setting) -> Network:
    link = bottleneck(start.net)
    longer = (setting.rtt - before.rtt) / 2
    if link.delay + longer < 0:
        least = 1e3 * (before.rtt - 2 * link.delay)
        raise ScenarioError(f"rtt = {1e3 * setting.rtt:g}: must be at least {least:g} (ms)")
    changes: dict[str, Any] = {"rate": setting.rate, "delay": link.delay + longer}
    if math.isfinite(link.buffer):
        changes["buffer"] = f"{setting.buffer:g} {link.buffer_unit}"
    if setting.queue != before.queue:
        changes["queue"] = setting.queue
    links = []
    for edge in start.net.links:
        if edge is link:
            links.append(edge.replace(**changes))
        elif (edge.src, edge.dst) == (link.dst, link.src):
            rate = setting.rate if edge.rate == link.rate else edge.rate
            links.append(edge.replace(rate=rate, delay=max(edge.delay + longer, 0.0)))
        else:
            links.append(edge)
    return start.net.replace(links=links)
