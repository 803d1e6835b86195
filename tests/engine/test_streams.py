"""What selects a stream of random numbers: the seed and the name of a link, flow or workload."""

from types import SimpleNamespace

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.engine.streams import normal, seed_stream


def starts(*flows, **settings):
    net = tc.dumbbell("10 Mbps", "20 ms", 30)
    resolved = tc.Scenario(net, flows, duration=9, **settings).resolve()
    return {flow.spec.controller: flow.spec.start for flow in resolved.flows}


def test_a_named_flow_keeps_its_random_numbers_when_another_is_inserted():
    flow = tc.Flow("bbr", jitter=1, name="mine")
    assert starts(flow)["bbr"] == starts(tc.Flow("reno"), flow)["bbr"]
    assert starts(flow)["bbr"] != starts(flow, seed=2)["bbr"]


def test_a_default_name_changes_with_the_flows_number_and_so_do_its_random_numbers():
    flow = tc.Flow("bbr", jitter=1)
    assert starts(flow)["bbr"] == starts(flow, tc.Flow("reno"))["bbr"]
    assert starts(flow)["bbr"] != starts(tc.Flow("reno"), flow)["bbr"]


def test_normal_numbers_have_the_moments_and_tails_of_their_distribution():
    stream = {}
    seed_stream(stream, 1, "of test")
    stream = SimpleNamespace(**{name: int(word) for name, word in stream.items()})
    x = np.array([normal(stream) for _ in range(40_000)])
    moments = [np.mean(x**k) for k in (1, 2, 3, 4)]
    assert moments == pytest.approx([0, 1, 0, 3], abs=0.1)
    assert np.mean(abs(x) > 2) == pytest.approx(0.0455, abs=0.004)
    assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.02
