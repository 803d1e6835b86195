"""What the analysis refuses, each in one line that says what to use instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

AT_MEANS = "and the analysis calls rules at mean values"
INSTEAD = 'use tc.simulate(..., model="fluid")'


def refuse_unsupported(resolved: Resolved) -> None:
    """Refuse traffic that ends, links that change, and rules that have no mean.

    Raises:
        ScenarioError: the scenario has one of these.
    """
    if resolved.workloads:
        raise ScenarioError(
            f"workload {resolved.workloads[0].name!r}: the analysis takes only endless flows;"
            f" {INSTEAD}"
        )
    if resolved.changes:
        change = resolved.changes[0].spec.words
        raise ScenarioError(
            f"{change}: the analysis takes only constant links and flows; {INSTEAD}"
        )
    for link in resolved.links:
        if not link.queue.discipline.runs_in_fluid:
            raise ScenarioError(
                f"link {link.name!r}: queue {link.queue.discipline.name!r} has no on_fluid, so the"
                f" analysis does not know which share it drops; {INSTEAD}"
            )
    for flow in resolved.flows:
        if reason := _reason(flow):
            raise ScenarioError(f"flow {flow.name!r}: {reason}; {INSTEAD}")


def _reason(flow: ResolvedFlow) -> str:
    """Why the analysis refuses a flow; "" if it does not."""
    if not flow.is_tcp:
        return ""
    spec, controller = flow.spec, flow.algorithm
    if spec.size is not None:
        return f"size = {spec.size}: the analysis takes only endless flows"
    if spec.writes:
        return "writes: the analysis takes only flows that always have data"
    if spec.group is not None and controller.coupled:
        return f"group = {spec.group!r}: the analysis treats flows as independent"
    name = f"controller {controller.name!r}"
    if needs := [*controller.extras, *(["header"] if controller.header else [])]:
        return f"{name} needs packets ({needs[0]}), and the analysis has none"
    if controller.chance:
        return f"{name} draws random numbers (chance), {AT_MEANS}"
    if controller.exact:
        return f"{name} depends on exact values (exact), {AT_MEANS}"
    return ""
