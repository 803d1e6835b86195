"""ABE: what a mark leaves of the window, and what that is good for (RFC 8511)."""

import pytest

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS

ABE = CONTROLLERS.find("abe")


@pytest.mark.parametrize(("window", "beta", "kept"), [(100, 0.8, 80), (40, 0.85, 34), (2, 0.8, 2)])
def test_a_mark_leaves_four_fifths_and_a_loss_half(window, beta, kept):
    s, p, a = ABE.example()
    s.cwnd, a.window, p.beta_ecn = float(window), float(window), beta
    ABE.on_mark(s, p, a)
    assert s.cwnd == s.ssthresh == pytest.approx(kept)
    ABE.on_loss(s, p, a)
    assert s.ssthresh == max(window / 2, 2)


def test_a_mark_cuts_the_window_in_force():
    s, p, a = ABE.example()
    s.cwnd, a.window = 100.0, 50.0
    ABE.on_mark(s, p, a)
    assert s.cwnd == s.ssthresh == 40


def test_a_shallow_marking_threshold_costs_less_of_the_link_than_with_reno():
    """Marks from 10 packets on, where the pipe holds 100: Reno's sawtooth spans 55 to 110."""
    net = tc.dumbbell("20 Mbps", "20 ms", 200, queue=tc.queues.StepMark(threshold=10))
    used = {}
    for name in ("reno", "abe"):
        flow = tc.Flow(name, transport=tc.Transport(ecn="classic"))
        used[name] = tc.simulate(tc.Scenario(net, [flow], duration=40)).utilization(after=10)
    assert used["reno"] < 0.87
    assert used["abe"] > 0.95
