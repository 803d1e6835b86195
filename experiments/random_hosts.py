"""Random times in hosts, without which equal packets reach a full buffer in the same order for
minutes (S. Floyd, V. Jacobson, "On traffic phase effects in packet-switched gateways",
Internetworking 3(3), 1992)."""

from __future__ import annotations

import tcpcc as tc


def packet_time(scenario: tc.Scenario) -> float:
    """Time that the slowest link needs for the largest packet, s."""
    flows = [*scenario.flows, *(load.flow for load in scenario.workloads)]
    size = max(flow.packet_size for flow in flows)
    return 8 * size / min(link.rate for link in scenario.net.links)


def with_random_hosts(scenario: tc.Scenario, times: float = 1.0) -> tc.Scenario:
    """Hosts take a random time for each packet, up to `times` packet times of the slowest link."""
    return scenario.jittered(processing=times * packet_time(scenario))


LONGER = 3.0
"""Packet times that leave hardly any phases (tests/papers/test_random_hosts.py)."""


def with_longer_times(scenario: tc.Scenario) -> tc.Scenario:
    """`with_random_hosts`, for `LONGER` packet times."""
    return with_random_hosts(scenario, LONGER)
