"""Prague: its steps, its rate with short RTTs, its fallback beside CUBIC."""

import math

import pytest
from by_hand import rules_of

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS

PRAGUE = CONTROLLERS.find("prague")


def begin(window, *, rounds=0, **params):
    """A flow in congestion avoidance with that window and an RTT of 10 ms, at 1 s."""
    window, rounds = float(window), float(rounds)
    state = {"cwnd": window, "frac_cwnd": window, "ssthresh": 2.0, "rounds": rounds}
    sample = {"now": 1.0, "srtt": 0.01, "rtt": 0.01, "delivered": 1.0}
    zero = dict.fromkeys(("ce", "phase", "limited"), 0.0)
    return rules_of(PRAGUE, params=params, sample=sample | zero, round_end=math.inf, **state)[1:]


@pytest.mark.parametrize(
    ("rounds", "srtt", "step"), [(0, 0.01, 1), (500, 0.01, 0.16), (500, 0.05, 1)]
)
def test_the_increase_is_that_of_the_virtual_rtt_after_500_rounds(rounds, srtt, step):
    s, p, a = begin(20, rounds=rounds)
    a.srtt = srtt
    PRAGUE.on_ack(s, p, a)
    assert s.frac_cwnd == pytest.approx(20 + step / 20)


def test_marked_packets_do_not_grow_the_window():
    s, p, a = begin(20)
    a.delivered, a.ce = 2.0, 2.0
    PRAGUE.on_ack(s, p, a)
    assert s.frac_cwnd == 20
    a.ce = 1.0
    PRAGUE.on_ack(s, p, a)
    assert s.frac_cwnd == pytest.approx(20 + 1 / 20)


def test_alpha_is_the_mean_share_of_marks_once_per_round_and_virtual_rtt():
    s, p, a = begin(20, rounds=500)
    s.round_end, s.alpha_stamp, s.alpha, s.saw_ce = 0.0, 0.98, 0.5, 1.0
    a.total_delivered, a.pipe, a.delivered, a.ce = 100.0, 20.0, 8.0, 2.0
    PRAGUE.on_ack(s, p, a)
    assert s.alpha == 0.5  # 20 ms after the last step
    a.now = 1.006
    PRAGUE.on_ack(s, p, a)
    assert s.alpha == pytest.approx(0.5 + (4 / 16 - 0.5) / 16)
    assert (s.acked, s.marked, s.round_end) == (0, 0, 120)


@pytest.mark.parametrize("rounds", [0, 500])
def test_a_mark_takes_half_of_alpha_once_per_virtual_rtt(rounds):
    s, p, a = begin(40, rounds=rounds)
    s.alpha = 0.25
    PRAGUE.on_mark(s, p, a)
    assert s.frac_cwnd == 35
    a.now += 0.02
    PRAGUE.on_mark(s, p, a)
    assert s.frac_cwnd == (35 if rounds else 35 * 0.875)
    a.now += 0.006
    PRAGUE.on_mark(s, p, a)
    assert s.frac_cwnd == pytest.approx(35 * 0.875 ** (1 if rounds else 2))


def test_a_call_for_many_acks_does_what_the_acks_do():
    """The fluid model calls the rule once a step."""
    windows = []
    for packets in (2.0, 20.0):
        s, p, a = begin(40)
        s.alpha, a.delivered, a.ce = 0.5, packets, packets
        PRAGUE.on_mark(s, p, a)
        for _ in range(int(20 / packets)):
            PRAGUE.on_ack(s, p, a)
        windows.append(s.cwnd)
    assert windows == [30, 30]


def test_a_mark_ends_slow_start_also_beside_packets_without_one():
    s, p, a = begin(40)
    s.ssthresh, s.alpha = math.inf, 1.0
    a.delivered, a.ce = 10.0, 1.0
    PRAGUE.on_mark(s, p, a)
    PRAGUE.on_ack(s, p, a)
    assert s.cwnd < 40
    assert s.frac_cwnd == pytest.approx(20 + 9 / 20)


def test_a_loss_halves_the_window():
    s, p, a = begin(40)
    PRAGUE.on_loss(s, p, a)
    assert s.frac_cwnd == 20
    PRAGUE.on_undo(s, p, a)
    assert s.frac_cwnd == 40


def test_cwnd_follows_by_one_packet_per_ack_and_pacing_at_once():
    s, p, a = begin(40)
    s.alpha = 0.5
    PRAGUE.on_mark(s, p, a)
    a.delivered, a.ce = 2.0, 2.0
    for cwnd in (39, 38, 37):
        PRAGUE.on_ack(s, p, a)
        assert s.cwnd == s.ssthresh == cwnd
        assert s.pacing_rate == pytest.approx(30 / 0.01)


def test_a_window_below_two_packets_is_paced():
    s, p, a = begin(0.5)
    s.cwnd = 2.0
    a.delivered, a.ce = 1.0, 1.0
    PRAGUE.on_ack(s, p, a)
    assert s.cwnd == 2
    assert s.pacing_rate == pytest.approx(0.5 / 0.01)


def beside_cubic(queue, ecn="off", rate="40 Mbps", rtts=(0.01,), **params):
    """Goodputs of Prague and CUBIC flows, Mb/s."""
    net = tc.dumbbell(rate, "0.5 ms", 4000, queue=queue, access_rate="10 Gbps")
    flows = [tc.Flow.linux("prague", access_delay=(r - 1e-3) / 4, **params) for r in rtts]
    flows += [
        tc.Flow.linux("cubic", access_delay=(r - 1e-3) / 4, transport={"ecn": ecn}) for r in rtts
    ]
    run = tc.simulate(tc.Scenario(net, flows, duration=60, seed=1))
    return run.goodput(after=10).values / 1e6, run


@pytest.mark.parametrize("rtt", [0.005, 0.01, 0.02])
def test_short_rtts_do_not_give_prague_more(rtt):
    """With the virtual RTT the shares in DualPI2 stay within 2; without it Prague has 1.6 to 5
    times its share."""
    (prague, cubic), _ = beside_cubic(tc.queues.DualPI2(), rtts=(rtt,))
    assert 0.5 < prague / cubic < 2
    (free, _), _ = beside_cubic(tc.queues.DualPI2(), rtts=(rtt,), rtt_transition=1e9)
    assert free > 1.15 * prague


def test_the_fallback_shares_a_classic_ecn_queue():
    """In a single queue with CoDel, CUBIC with ECN is left a tenth; with the fallback a third."""
    queue = tc.queues.CoDel(ecn=True)
    (prague, cubic), _ = beside_cubic(queue, "classic")
    assert prague > 5 * cubic
    (prague, cubic), _ = beside_cubic(queue, "classic", ecn_fallback=True)
    assert prague < 2.5 * cubic


@pytest.mark.parametrize(
    ("deviation", "queueing", "step"),
    [(3e-3, 1e-3, 1), (3e-3, 1.9e-3, 1), (3e-3, 8e-3, 2), (0.75e-3, 0.0, 0), (0.1875e-3, 0.0, -1)],
)
def test_evidence_of_a_classic_queue_grows_with_deviation_and_queue(deviation, queueing, step):
    """(8): half the binary logarithm of deviation / 0.75 ms and, above 2 ms, of queueing / 2 ms."""
    s, p, a = begin(20, ecn_fallback=True)
    s.classic_ecn, s.deviation, s.mean_rtt = 5.0, deviation, 0.01 + queueing
    s.round_end, s.saw_ce, a.total_delivered, a.rtt, a.base_rtt = 0.0, 1.0, 100.0, 0.0, 0.01
    PRAGUE.on_ack(s, p, a)
    assert s.classic_ecn == pytest.approx(5 + step)


def test_the_mean_deviation_moves_half_as_fast_as_the_mean():
    s, p, a = begin(20, ecn_fallback=True)
    s.ssthresh, s.mean_rtt, a.rtt = 4.0, 0.01, 0.026
    PRAGUE.on_ack(s, p, a)
    assert s.mean_rtt == pytest.approx(0.01 + 0.016 / 16)
    assert s.deviation == pytest.approx(0.016 / 32)


@pytest.mark.parametrize(("evidence", "kept"), [(8.0, 0.95), (8.5, 0.84375), (12.0, 0.6875)])
def test_with_such_evidence_a_mark_takes_up_to_five_sixteenths(evidence, kept):
    s, p, a = begin(40, ecn_fallback=True)
    s.alpha, s.classic_ecn = 0.1, evidence
    PRAGUE.on_mark(s, p, a)
    assert s.frac_cwnd == pytest.approx(40 * kept)


@pytest.mark.parametrize(("window", "gain"), [(40, 2), (60, 1)])
def test_slow_start_is_paced_at_twice_the_rate_below_half_of_ssthresh(window, gain):
    s, p, a = begin(window)
    s.ssthresh = 100.0
    a.delivered, a.ce = 0.0, 0.0
    PRAGUE.on_ack(s, p, a)
    assert s.pacing_rate == pytest.approx(gain * window / 0.01)


def test_linux_paces_by_whole_packets_and_counts_their_payload():
    flow = tc.Flow.linux("prague")
    gain = dict(flow.params)["pacing_gain"]
    assert gain == pytest.approx(flow.packet_size / (flow.packet_size - flow.header))
    s, p, a = begin(10)
    p.pacing_gain = gain
    a.delivered, a.ce = 0.0, 0.0
    PRAGUE.on_ack(s, p, a)
    assert s.pacing_rate == pytest.approx(gain * 10 / 0.01)


def test_an_undo_keeps_a_window_that_has_grown_beyond():
    s, p, a = begin(40)
    PRAGUE.on_loss(s, p, a)
    s.frac_cwnd = 50.0
    PRAGUE.on_undo(s, p, a)
    assert s.frac_cwnd == 50


def test_recovery_does_not_grow_the_window():
    s, p, a = begin(20)
    a.phase = 1.0
    PRAGUE.on_ack(s, p, a)
    assert s.frac_cwnd == 20
