"""How long must random times in hosts be, so that no phase decides who loses? docs/variants.md."""

from dataclasses import replace

import numpy as np
import pytest

import tcpcc as tc
from experiments.random_hosts import packet_time, with_random_hosts
from experiments.variants import NETWORKS, beside_reno, sharing, tables
from experiments.variants.measures import of_beside_reno, of_sharing

SMALL = NETWORKS["small"]
PACKET_TIME = packet_time(beside_reno("reno", "small"))
SEEDS = range(1, 6)


def ratios(times):
    """BIC of 2004 over Reno with base RTTs that are longer by parts of a packet time."""
    found = []
    for part in np.arange(0, 1, 0.125):
        setting = replace(SMALL, delay=SMALL.delay + part * PACKET_TIME / 2)
        cases = [with_random_hosts(beside_reno("bic_2004", setting, k), times) for k in SEEDS]
        found.append(np.mean([of_beside_reno(tc.simulate(case))["ratio"] for case in cases]))
    return min(found), max(found)


def test_with_times_of_one_packet_time_parts_of_the_rtt_decide_who_loses():
    if tables.elsewhere():
        pytest.skip("the page's numbers are of another platform, where rounding may differ")
    assert ratios(1) == pytest.approx((1.7, 5.4), abs=0.1)
    assert ratios(3) == pytest.approx((1.63, 1.82), abs=0.05)


def test_vegas_takes_times_of_three_packet_times_for_a_queue():
    case = sharing("vegas", "large", 1)
    used = [of_sharing(tc.simulate(with_random_hosts(case, n)))["utilization"] for n in (1, 3)]
    assert used == pytest.approx([0.91, 0.48], abs=0.03)
