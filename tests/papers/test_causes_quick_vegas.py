"""Evidence for causes: Quick Vegas' paper. See test_causes.py."""

from functools import cache

import numpy as np
import pytest

import tcpcc as tc
from experiments.quick_vegas import scenarios as s

pytestmark = pytest.mark.papers


@cache
def of_the_first_group(controller, duration):
    """The run of section IV-C while its first twenty flows are alone."""
    whole = s.sharing(controller)
    flows = [flow.replace(stop=None) for flow in whole.flows if flow.start < duration]
    return tc.simulate(whole.replace(flows=flows, duration=duration))


def test_new_renos_first_overflow_is_of_thousands_of_packets():
    run = of_the_first_group("newreno", 10)
    drops = run.data["drops"].isel(link=0).cumsum("time")
    assert float(drops.sel(time=3, method="nearest")) == float(drops[-1]) > 4700
    again = np.sort(run.retransmissions())
    assert again[-1] > 80  # of these the tenth second, a round trip each, sees no end


def test_vegas_queue_stands_between_alpha_and_beta():
    run = of_the_first_group("vegas", 100)
    standing = run.queue_mean(60, 100)
    assert standing == pytest.approx(68, abs=1)
    assert 2 < standing / 20 < 4
    assert run.queue_mean(0, 100) == pytest.approx(33.3, abs=0.5)
    needed = (28 * 100 - run.queue_mean(0, 60) * 60) / 40
    assert needed / 20 == pytest.approx(2.8, abs=0.1)
