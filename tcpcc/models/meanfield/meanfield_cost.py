"""The cost of a run of the mean field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.models.estimates import PER_STEP, Estimate, Options, record_memory
from tcpcc.models.layout import queueing_links
from tcpcc.models.meanfield.class_routes import (
    class_routes,
    closed_routes,
    history_columns,
    integration_step,
)
from tcpcc.models.meanfield.flow_classes import flow_classes, refuse_what_is_not_smooth

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run of the mean field; no memory is laid out and no rule compiled.

    Raises:
        ScenarioError: traffic that the mean field does not take, or a step that is too long.
    """
    refuse_what_is_not_smooth(resolved)
    kinds, kept = flow_classes(resolved), queueing_links(resolved)
    routes = class_routes(resolved, kinds, kept)
    step = integration_step(closed_routes(resolved, kinds, routes), options.step, interval=None)
    longest = max(route.base_rtt for route in routes)
    memory = record_memory(scenario, resolved, options, 1, 1, all_flows=True)
    memory += 2 * 8 * history_columns(kept, routes) * min(longest, scenario.duration) / step
    steps = scenario.duration / step
    seconds = PER_STEP * steps * (len(resolved.flows) + 1)
    return Estimate("meanfield", 0.0, steps, seconds, memory)
