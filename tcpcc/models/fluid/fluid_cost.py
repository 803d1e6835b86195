"""The cost of a run of the fluid model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.models.estimates import (
    PER_ITEM,
    PER_SENDER,
    PER_STEP,
    Estimate,
    Options,
    record_memory,
    sender_counts,
    workloads,
)
from tcpcc.models.fluid import SENDERS, STEPS
from tcpcc.models.fluid.fluid_case import FluidCase
from tcpcc.models.fluid.fluid_conversation_memory import FIRST_PLACES

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

TRIPS = 10  # round trips of a transfer: handshake, slow start, a loss


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run of the fluid model; no memory is laid out and no rule compiled."""
    limits = options.limits(SENDERS)
    case = FluidCase(scenario, resolved, options.steps or STEPS)
    steps = scenario.duration / case.step
    items, _ = workloads(scenario, resolved)
    trip = max([x.base_rtt for x in case.routes[len(resolved.flows) :]], default=0.0)
    places = items * TRIPS * trip / scenario.duration + FIRST_PLACES * len(resolved.workloads)
    alone = sum(sender_counts(resolved, limits))
    seconds = PER_STEP * steps * (alone + places) + PER_SENDER * alone
    memory = record_memory(scenario, resolved, options, limits) + PER_ITEM * items
    return Estimate("fluid", 0.0, steps, seconds, memory)
