"""The cost of a run of the fluid model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.models.estimates import PER_STEP, Estimate, Options, record_memory, senders
from tcpcc.models.fluid.automaton import REPRESENTATIVES
from tcpcc.models.fluid.limits import refuse_workloads
from tcpcc.models.fluid.steps import step_length
from tcpcc.models.layout import find_routes, queueing_links

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run of the fluid model.

    Raises:
        ScenarioError: workloads, or a step that is too long.
    """
    refuse_workloads(scenario)
    steps, history = _history(scenario, resolved, options.step)
    memory = record_memory(scenario, resolved, options, REPRESENTATIVES, REPRESENTATIVES)
    seconds = PER_STEP * steps * (sum(senders(resolved, REPRESENTATIVES, REPRESENTATIVES)) + 1)
    return Estimate("fluid", 0.0, steps, seconds, memory + history)


def _history(scenario: Scenario, resolved: Resolved, step: float | None) -> tuple[float, float]:
    """Time steps of a run, and bytes of its history, which covers the longest RTT."""
    kept = queueing_links(resolved)
    routes = find_routes(resolved, kept)
    many = any(getattr(flow.spec, "count", 1) > REPRESENTATIVES for flow in resolved.flows)
    length = step_length(resolved, kept, routes, step, many)
    links = [resolved.links[i] for i in kept]
    size = max(flow.spec.packet_size for flow in resolved.flows)
    waiting = sum(
        8 * link.buffer * (1 if link.buffer_unit == "bytes" else size) / link.rate
        for link in links
        if math.isfinite(link.buffer) and math.isfinite(link.rate)
    )
    longest = max(route.base_rtt for route in routes) + waiting
    columns = 2 + 3 * len(kept) + sum((2 + len(route.links)) * len(route.flows) for route in routes)
    rows = min(longest, scenario.duration) / length
    return scenario.duration / length, 2 * 8 * columns * rows
