"""What the controls of an explorer say, and the scenario that this makes of the one begun with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tcpcc.errors import ScenarioError
from tcpcc.scenario import CBR, Flow, Link, Network, Scenario


@dataclass(frozen=True)
class Lane:
    """Flows of one controller.

    Args:
        controller: name.
        count: how many flows.
        params: that differ from the controller's defaults.
    """

    controller: str
    count: int = 1
    params: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """What can be changed.

    Args:
        rate: of the bottleneck, bit/s.
        rtt: base round-trip time of the first flow, s, without queues and transmission.
        buffer: of the bottleneck, in its own unit; may be infinite.
        queue: its discipline, a name.
        duration: s.
        lanes: who races.
    """

    rate: float
    rtt: float
    buffer: float
    queue: str
    duration: float
    lanes: tuple[Lane, ...]


def bottleneck(net: Network) -> Link:
    """The slowest link with a finite buffer; of several the first. Without one, the slowest."""
    finite = [link for link in net.links if math.isfinite(link.buffer)]
    return min(finite or net.links, key=lambda link: link.rate)


def base_rtt(scenario: Scenario) -> float:
    """Propagation delay there and back of the first flow that has a controller, s."""
    resolved = scenario.resolve(expand=False)
    first = next(flow for flow in resolved.flows if flow.controller is not None)
    return sum(resolved.links[k].delay for k in (*first.forward, *first.reverse))


def setting_of(scenario: Scenario) -> Setting:
    """What the controls say of a scenario.

    Raises:
        ScenarioError: it has no flow with a controller.
    """
    groups = _groups(scenario)
    if not groups:
        raise ScenarioError("flows: none has a controller, so there is nothing to explore")
    link = bottleneck(scenario.net)
    lanes = tuple(
        Lane(flows[0].controller, sum(flow.count for flow in flows), dict(flows[0].params))
        for flows in groups
    )
    return Setting(
        link.rate, base_rtt(scenario), link.buffer, link.queue.name, scenario.duration, lanes
    )


def scenario_of(start: Scenario, setting: Setting) -> Scenario:
    """The scenario begun with, changed as the controls say.

    A lane takes over start, size, transport and route of the group of flows in its place, or of the
    last group; beyond these flows there are more like the last of them.

    Raises:
        ScenarioError: a value that cannot be meant.
    """
    before = setting_of(start)
    groups = _groups(start)
    flows: list[Flow | CBR] = []
    for k, lane in enumerate(setting.lanes):
        known = before.lanes[k] if k < len(groups) else None
        flows += _flows(groups[min(k, len(groups) - 1)], lane, known)
    if not flows:
        raise ScenarioError("flows: at least one must be left")
    others = [flow for flow in start.flows if isinstance(flow, CBR)]
    return start.replace(
        net=_network(start, before, setting), flows=[*flows, *others], duration=setting.duration
    )


def _groups(scenario: Scenario) -> list[list[Flow]]:
    """Flows with a controller; neighbours that share it and its parameters are together."""
    flows = [flow for flow in scenario.flows if isinstance(flow, Flow)]
    return [list(of) for _, of in groupby(flows, key=lambda flow: (flow.controller, flow.params))]


def _flows(templates: Sequence[Flow], lane: Lane, known: Lane | None) -> list[Flow]:
    changes: dict[str, Any] = {}
    if known is None or lane.controller != known.controller:
        changes = {"controller": lane.controller, "params": lane.params, "name": None}
        changes["recovery"] = None  # the controller's own
    elif dict(lane.params) != dict(known.params):
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
    for one in start.net.links:
        if one is link:
            links.append(one.replace(**changes))
        elif (one.src, one.dst) == (link.dst, link.src):
            rate = setting.rate if one.rate == link.rate else one.rate
            links.append(one.replace(rate=rate, delay=max(one.delay + longer, 0.0)))
        else:
            links.append(one)
    return start.net.replace(links=links)
