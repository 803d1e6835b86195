"""Group the flows of a scenario into classes for the mean field, and refuse unsupported traffic."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError
from tcpcc.models.refusals import FluidWarning
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


def warn_of_late_starts(resolved: Resolved) -> None:
    """Warn of flows that measure their base RTT in the queue of flows that started earlier.

    In packets such a queue empties now and then, so that a later flow finds its base RTT.
    """
    flows = [flow for flow in resolved.flows if flow.controller is not None]
    if len({flow.spec.start for flow in flows if isinstance(flow.spec, Flow)}) < 2:
        return
    for flow in flows:
        if flow.controller is not None and flow.controller.reads_base_rtt:
            warnings.warn(
                f"meanfield model: flow {flow.name!r}: controller {flow.controller.name!r} reads"
                " base_rtt and flows start at different times: a later flow takes a queue for its"
                " base RTT for good, so queues can be several times too long: check with packets",
                FluidWarning,
                stacklevel=5,
            )
            return


def refuse_what_is_not_smooth(resolved: Resolved) -> None:
    """Refuse workloads, flows of a finite size, scheduled changes, and a timer without `on_fluid`.

    Raises:
        ScenarioError: the scenario has one of these.
    """
    if resolved.workloads:
        raise ScenarioError(
            f"workload {resolved.workloads[0].name!r}: the meanfield model takes only endless"
            " flows; use the packet or the fluid model"
        )
    for flow in resolved.flows:
        if isinstance(flow.spec, Flow) and flow.spec.size is not None:
            raise ScenarioError(
                f"flow {flow.name!r}: size = {flow.spec.size}: the meanfield model takes only"
                " endless flows; use the packet or the fluid model"
            )
    for link in resolved.links:
        discipline = link.queue.discipline
        if discipline.on_interval is not None and discipline.on_fluid is None:
            raise ScenarioError(
                f"link {link.name!r}: queue {discipline.name!r} has a timer (on_interval) and no"
                " on_fluid, so the meanfield model cannot run it; use the packet or the fluid model"
            )
    if resolved.changes:
        change = resolved.changes[0].spec
        raise ScenarioError(
            f"change of link {change.link!r} at {change.at:g}: the meanfield model takes only"
            " constant links; use the packet or the fluid model"
        )
