"""How long must random times in hosts be, so that no phase decides who loses? docs/variants.md."""

from dataclasses import replace

import numpy as np
import pytest

import tcpcc as tc
from experiments.random_hosts import LONGER, packet_time, with_longer_times, with_random_hosts
from experiments.variants import NETWORKS, beside_reno, sharing, tables
from experiments.variants.measures import of_beside_reno, of_sharing
from experiments.variants.networks import PHASES

SMALL = NETWORKS["small"]
PACKET_TIME = packet_time(beside_reno("reno", "small"))
SEEDS = range(1, 1 + 5 * PHASES, PHASES)  # the base RTT is that of the setting


def ratios(times, model="packet"):
    """BIC of 2004 over Reno with base RTTs that are longer by parts of a packet time."""
    found = []
    for part in np.arange(0, 1, 0.125):
        setting = replace(SMALL, delay=SMALL.delay + part * PACKET_TIME / 2)
        cases = [with_random_hosts(beside_reno("bic_2004", setting, k), times) for k in SEEDS]
        found.append(np.mean([of_beside_reno(tc.simulate(case, model))["ratio"] for case in cases]))
    return np.array(found)


@pytest.mark.long
def test_with_times_of_one_packet_time_parts_of_the_rtt_decide_who_loses():
    if tables.elsewhere():
        pytest.skip("the page's numbers are of another platform, where rounding may differ")
    of_one, of_longer = ratios(1), ratios(LONGER)
    assert (of_one.min(), of_one.max()) == pytest.approx((1.7, 5.4), abs=0.1)
    assert (of_longer.min(), of_longer.max()) == pytest.approx((1.63, 1.82), abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("times", [0.3, 1])
def test_the_fluid_model_sees_these_phases(times):
    """Also which part of a packet time has the largest ratio, and which the smallest."""
    packets, fluid = ratios(times), ratios(times, "fluid")
    assert packets.max() > 3 * packets.min()
    assert np.corrcoef(np.log(packets), np.log(fluid))[0, 1] > 0.9
    assert fluid.argmin() == packets.argmin()
    assert np.exp(np.abs(np.log(fluid / packets)).mean()) < 1.3


def test_vegas_takes_times_of_three_packet_times_for_a_queue():
    case = sharing("vegas", "large", 1)
    cases = case, with_longer_times(case)
    used = [of_sharing(tc.simulate(one))["utilization"] for one in cases]
    assert used == pytest.approx([0.91, 0.48], abs=0.03)
