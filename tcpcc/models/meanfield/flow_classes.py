"""Group the flows of a scenario into classes for the mean field, and refuse unsupported traffic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError
from tcpcc.scenario.traffic import CBR, Flow

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved


@dataclass(frozen=True)
class FlowClass:
    """Identical flows: their indices in the scenario, their number, and when they send (s)."""

    flows: tuple[int, ...]
    count: int
    start: float
    stop: float

    @property
    def flow(self) -> int:
        """The first of these flows."""
        return self.flows[0]


def flow_classes(resolved: Resolved) -> list[FlowClass]:
    """One class for all flows that differ only in name. An on-off source has one class for each
    time that it is on."""
    classes: list[FlowClass] = []
    alike: dict[Any, list[int]] = {}
    for k, flow in enumerate(resolved.flows):
        if isinstance(flow.spec, CBR):
            times = [(a, math.inf if b is None else b) for a, b in flow.spec.on]
            classes += [FlowClass((k,), 1, a, b) for a, b in times]
        else:
            spec = flow.spec.replace(name=None) if flow.spec.name else flow.spec
            alike.setdefault((spec, flow.controller), []).append(k)
    for (spec, _), flows in alike.items():
        stop = math.inf if spec.stop is None else spec.stop
        start = spec.start + spec.jitter / 2
        classes.append(FlowClass(tuple(flows), len(flows) * spec.count, start, stop))
    return classes


def refuse_what_is_not_smooth(resolved: Resolved) -> None:
    """Refuse workloads, flows of a finite size, scheduled changes and queues with timers.

    Raises:
        ScenarioError: the scenario has one of these.
    """
    if resolved.workloads:
        raise ScenarioError(
            f"workload {resolved.workloads[0].name!r}: the meanfield model takes only endless"
            " flows; use the packet model"
        )
    for flow in resolved.flows:
        if isinstance(flow.spec, Flow) and flow.spec.size is not None:
            raise ScenarioError(
                f"flow {flow.name!r}: size = {flow.spec.size}: the meanfield model takes only"
                " endless flows; use the packet or the fluid model"
            )
    for link in resolved.links:
        discipline = link.queue.discipline
        if discipline.on_interval is not None:
            raise ScenarioError(
                f"link {link.name!r}: queue {discipline.name!r} has a timer (on_interval), which"
                " the meanfield model does not run; use the packet model"
            )
    if resolved.changes:
        change = resolved.changes[0].spec
        raise ScenarioError(
            f"change of link {change.link!r} at {change.at:g}: the meanfield model takes only"
            " constant links; use the packet or the fluid model"
        )
