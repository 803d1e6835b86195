"""The cost of a run of the hybrid model: its background as fluid plus its foreground as packets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.models.bins import FLOW_BIN
from tcpcc.models.estimates import COPIES, PER_FLOW, Estimate, Options
from tcpcc.models.automaton import automaton_cost
from tcpcc.models.hybrid.foreground import split_traffic
from tcpcc.models.packet.packet_cost import packets_sent, seconds_for, traffic_memory, workloads

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run of the hybrid model.

    Raises:
        ScenarioError: the foreground or the background is empty, an unknown driver, or a step that
            is too long.
    """
    front, back = split_traffic(scenario)
    fluid = automaton_cost.cost(back, back.resolve(expand=False), Options(step=options.step))
    sent, outstanding = packets_sent(scenario, resolved, foreground=True)
    items, carried = workloads(front, front.resolve(expand=False))
    sent += carried
    memory = traffic_memory(sent, outstanding, items, options.trace)
    bins = math.ceil(scenario.duration / scenario.interval - 1e-9)
    memory += (COPIES * bins * FLOW_BIN.itemsize + PER_FLOW) * len(front.flows)
    seconds = seconds_for(sent, items, options.driver) + fluid.seconds
    return Estimate("hybrid", sent, fluid.steps, seconds, memory + fluid.memory)
