"""The cost of a run of the model of trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.models.estimates import Estimate, Options, record_memory
from tcpcc.models.packet.packet_cost import packets_sent, traffic_memory

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

PER_PACKET = 5e-8  # CPU s


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    """Estimate a run of the model of trains: an upper bound of its time."""
    sent, outstanding = packets_sent(scenario, resolved)
    memory = record_memory(scenario, resolved, options) + traffic_memory(
        sent, outstanding, 0, False
    )
    return Estimate("trains", sent, 0.0, PER_PACKET * sent, memory)
