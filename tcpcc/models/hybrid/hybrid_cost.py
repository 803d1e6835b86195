"""The cost of a run of the hybrid model: its foreground as packets, its background as trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.models.estimates import Estimate, Options, record_memory
from tcpcc.models.hybrid import check_background
from tcpcc.models.packet.packet_cost import packets_sent, seconds_for, traffic_memory, workloads
from tcpcc.models.trains import PER_RTT, REPRESENTATIVES

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved


def cost(scenario: Scenario, resolved: Resolved, options: Options) -> Estimate:
    raise NotImplementedError
