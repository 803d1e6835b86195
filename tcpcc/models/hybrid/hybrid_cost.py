"""The cost of a run of the hybrid model: at most that of its packets one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tcpcc.models.estimates import PER_SENDER, Estimate, Options, record_memory, sender_counts
from tcpcc.models.fluid import fluid_cost
from tcpcc.models.hybrid import check_background
from tcpcc.models.packet import packet_cost
from tcpcc.models.packet.packet_cost import packets_sent, seconds_for, traffic_memory, workloads
from tcpcc.models.trains import SENDERS
from tcpcc.scenario.resolve import Senders

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run of the hybrid model.

    Raises:
        ScenarioError: no flow has ``background=True``, or an unknown driver.
    """
    check_background(scenario)
    if options.steps is not None:
        return _beside_fluid(scenario, resolved, options)
    limits = Senders(math.inf, options.limits(SENDERS).background)
    sent, outstanding = packets_sent(scenario, resolved, limits)
    items, carried = workloads(scenario, resolved)
    sent += carried
    memory = record_memory(scenario, resolved, options, limits)
    memory += traffic_memory(sent, outstanding, items, options.trace)
    seconds = seconds_for(sent, items, options.driver)
    seconds += PER_SENDER * sum(sender_counts(resolved, limits))
    return Estimate("hybrid", sent, 0.0, seconds, memory)


def _beside_fluid(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run with its background as fluid: that of the background in the fluid model, and
    that of the foreground in the packet model."""
    parts: tuple[list[ResolvedFlow], list[ResolvedFlow]] = [], []
    for flow in resolved.flows:
        parts[flow.spec.background].append(flow)
    front, back = (replace(resolved, flows=tuple(flows)) for flows in parts)
    packets = packet_cost.cost(scenario, front, options)
    fluid = fluid_cost.cost(scenario, replace(back, workloads=()), options)
    seconds, memory = packets.seconds + fluid.seconds, packets.memory + fluid.memory
    return Estimate("hybrid", packets.packets, fluid.steps, seconds, memory)
