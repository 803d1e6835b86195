"""ABE: what a mark leaves of the window, and what that is good for (RFC 8511)."""

import pytest
from by_hand import Rules
from on_a_link import on_a_link

import tcpcc as tc


@pytest.mark.parametrize(("window", "beta", "kept"), [(100, 0.8, 80), (40, 0.85, 34), (2, 0.8, 2)])
def test_a_mark_leaves_four_fifths_and_a_loss_half(window, beta, kept):
    """Of the window in force."""
    end = Rules("abe", cwnd=2.0 * window, params={"beta_ecn": beta})
    s = end.mark(window=float(window))
    assert s.cwnd == s.ssthresh == pytest.approx(kept)
    assert end.lose().ssthresh == max(window / 2, 2)


def test_a_shallow_marking_threshold_costs_less_of_the_link_than_with_reno():
    """Marks from 10 packets on, where the pipe holds 100: Reno's sawtooth spans 55 to 110."""
    link = {"rate": "20 Mbps", "buffer": 200, "queue": tc.queues.StepMark(threshold=10)}
    used = {}
    for name in ("reno", "abe"):
        flow = tc.Flow(name, transport=tc.Transport(ecn="classic"))
        used[name] = tc.simulate(on_a_link(flow, duration=40, **link)).utilization(after=10)
    assert used["reno"] < 0.87
    assert used["abe"] > 0.95
