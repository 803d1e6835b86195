"""The cost of a run of the hybrid model: at most that of its packets one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from tcpcc.models.estimates import Estimate, Options
from tcpcc.models.fluid import fluid_cost
from tcpcc.models.hybrid import check_background
from tcpcc.models.packet import packet_cost
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
    return packet_cost.cost(scenario, resolved, replace(options, trains=0.0), limits, "hybrid")


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
