"""The cost of a run in trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.models.estimates import PER_SENDER, Estimate, Options, record_memory, sender_counts
from tcpcc.models.packet.packet_cost import PER_TRANSFER, packets_sent, traffic_memory, workloads

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

PER_PACKET, PER_TRAIN = 1e-8, 4e-7  # CPU s


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run in trains with drop-tail queues or AQM that acts on arrival.

    Other links and ECN cost as much as in the packet model.
    """
    limits = options.limits()
    sent, outstanding = packets_sent(scenario, resolved, limits)
    items, carried = workloads(scenario, resolved)
    flows = sum(sender_counts(resolved, limits))
    length = max(outstanding / max(flows, 1) / options.trains, 1)
    seconds = PER_PACKET * (sent + carried) + PER_TRAIN * (sent / length + carried)
    seconds += PER_SENDER * flows
    memory = record_memory(scenario, resolved, options, limits)
    memory += traffic_memory(sent + carried, outstanding, items, False)
    return Estimate("packet", sent + carried, 0.0, seconds + PER_TRANSFER * items, memory)
