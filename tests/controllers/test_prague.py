"""Prague: its steps, its rate with short RTTs, its fallback beside CUBIC."""

import math

import pytest
from by_hand import Rules
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS

PRAGUE = CONTROLLERS.find("prague")


def begin(window, *, rounds=0, params=None, sample=None, **state):
    """A flow in congestion avoidance with that window and an RTT of 10 ms, at 1 s."""
    window = float(window)
    sample = {"now": 1.0, "srtt": 0.01, "rtt": 0.01, "delivered": 1.0} | (sample or {})
    state = {"frac_cwnd": window, "rounds": float(rounds), "round_end": math.inf} | state
    none = dict.fromkeys(("ce", "phase", "limited"), 0.0)
    return Rules(PRAGUE, params=params, sample=none | sample, cwnd=window, **state)


@pytest.mark.parametrize(
    ("rounds", "srtt", "step"), [(0, 0.01, 1), (500, 0.01, 0.16), (500, 0.05, 1)]
)
def test_the_increase_is_that_of_the_virtual_rtt_after_500_rounds(rounds, srtt, step):
    assert begin(20, rounds=rounds).ack(srtt=srtt).frac_cwnd == pytest.approx(20 + step / 20)


@pytest.mark.parametrize(
    ("told", "step"), [({"delivered": 2.0, "ce": 2.0}, 0), ({"delivered": 2.0, "ce": 1.0}, 1),
                       ({"phase": 1.0}, 0)],
)  # fmt: skip
def test_marked_packets_and_a_recovery_do_not_grow_the_window(told, step):
    assert begin(20).ack(**told).frac_cwnd == pytest.approx(20 + step / 20)


def test_alpha_is_the_mean_share_of_marks_once_per_round_and_virtual_rtt():
    last = {"round_end": 0.0, "alpha_stamp": 0.98, "alpha": 0.5, "saw_ce": 1.0}
    told = {"total_delivered": 100.0, "pipe": 20.0, "delivered": 8.0, "ce": 2.0}
    end = begin(20, rounds=500, sample=told, **last)
    assert end.ack().alpha == 0.5  # 20 ms after the last step
    s = end.ack(now=1.006)
    assert s.alpha == pytest.approx(0.5 + (4 / 16 - 0.5) / 16)
    assert (s.acked, s.marked, s.round_end) == (0, 0, 120)


@pytest.mark.parametrize(("rounds", "cuts"), [(0, (1, 2, 3)), (500, (1, 1, 2))])
def test_a_mark_takes_half_of_alpha_once_per_virtual_rtt(rounds, cuts):
    end = begin(40, rounds=rounds, alpha=0.25)
    found = [end.mark(now=now).frac_cwnd for now in (1.0, 1.02, 1.026)]
    assert found == pytest.approx([40 * 0.875**n for n in cuts])


def test_a_call_for_many_acks_does_what_the_acks_do():
    """The fluid model calls the rule once a step."""
    windows = []
    for packets in (2.0, 20.0):
        end = begin(40, alpha=0.5, sample={"delivered": packets, "ce": packets})
        end.mark()
        for _ in range(int(20 / packets)):
            end.ack()
        windows.append(end.s.cwnd)
    assert windows == [30, 30]


def test_a_mark_ends_slow_start_also_beside_packets_without_one():
    end = begin(40, ssthresh=math.inf, alpha=1.0, sample={"delivered": 10.0, "ce": 1.0})
    end.mark()
    s = end.ack()
    assert s.cwnd < 40
    assert s.frac_cwnd == pytest.approx(20 + 9 / 20)


def test_a_loss_halves_the_window():
    end = begin(40)
    assert end.lose().frac_cwnd == 20
    assert end.undo().frac_cwnd == 40


def test_cwnd_follows_by_one_packet_per_ack_and_pacing_at_once():
    end = begin(40, alpha=0.5)
    end.mark()
    for cwnd in (39, 38, 37):
        s = end.ack(delivered=2.0, ce=2.0)
        assert s.cwnd == s.ssthresh == cwnd
        assert s.pacing_rate == pytest.approx(30 / 0.01)


def test_a_window_below_two_packets_is_paced():
    end = begin(0.5)
    end.s.cwnd = 2.0
    s = end.ack(ce=1.0)
    assert (s.cwnd, s.pacing_rate) == (2, pytest.approx(0.5 / 0.01))


def beside_cubic(queue, ecn="off", rtt=0.01, **params):
    """Goodputs of a Prague and a CUBIC flow, Mb/s."""
    near = (rtt - 1e-3) / 4
    prague = tc.Flow.linux("prague", access_delay=near, **params)
    cubic = tc.Flow.linux("cubic", access_delay=near, transport={"ecn": ecn})
    link = {"rate": "40 Mbps", "delay": "0.5 ms", "buffer": 4000, "access_rate": "10 Gbps"}
    run = tc.simulate(on_a_link(prague, cubic, queue=queue, duration=60, seed=1, **link))
    return run.goodput(after=10).values / 1e6


@pytest.mark.parametrize("rtt", [0.005, 0.01, 0.02])
def test_short_rtts_do_not_give_prague_more(rtt):
    """With the virtual RTT the shares in DualPI2 stay within 2; without it Prague has 1.6 to 5
    times its share."""
    prague, cubic = beside_cubic(tc.queues.DualPI2(), rtt=rtt)
    assert 0.5 < prague / cubic < 2
    free, _ = beside_cubic(tc.queues.DualPI2(), rtt=rtt, rtt_transition=1e9)
    assert free > 1.15 * prague


def test_the_fallback_shares_a_classic_ecn_queue():
    """In a single queue with CoDel, CUBIC with ECN is left a tenth; with the fallback a third."""
    queue = tc.queues.CoDel(ecn=True)
    prague, cubic = beside_cubic(queue, "classic")
    assert prague > 5 * cubic
    prague, cubic = beside_cubic(queue, "classic", ecn_fallback=True)
    assert prague < 2.5 * cubic


@pytest.mark.parametrize(
    ("deviation", "queueing", "step"),
    [(3e-3, 1e-3, 1), (3e-3, 1.9e-3, 1), (3e-3, 8e-3, 2), (0.75e-3, 0.0, 0), (0.1875e-3, 0.0, -1)],
)
def test_evidence_of_a_classic_queue_grows_with_deviation_and_queue(deviation, queueing, step):
    """(8): half the binary logarithm of deviation / 0.75 ms and, above 2 ms, of queueing / 2 ms."""
    last = {"classic_ecn": 5.0, "deviation": deviation, "mean_rtt": 0.01 + queueing}
    end = begin(20, params={"ecn_fallback": True}, round_end=0.0, saw_ce=1.0, **last)
    s = end.ack(total_delivered=100.0, rtt=0.0, base_rtt=0.01)
    assert s.classic_ecn == pytest.approx(5 + step)


def test_the_mean_deviation_moves_half_as_fast_as_the_mean():
    end = begin(20, params={"ecn_fallback": True}, ssthresh=4.0, mean_rtt=0.01)
    s = end.ack(rtt=0.026)
    assert (s.mean_rtt, s.deviation) == pytest.approx((0.01 + 0.016 / 16, 0.016 / 32))


@pytest.mark.parametrize(("evidence", "kept"), [(8.0, 0.95), (8.5, 0.84375), (12.0, 0.6875)])
def test_with_such_evidence_a_mark_takes_up_to_five_sixteenths(evidence, kept):
    end = begin(40, params={"ecn_fallback": True}, alpha=0.1, classic_ecn=evidence)
    assert end.mark().frac_cwnd == pytest.approx(40 * kept)


@pytest.mark.parametrize(("window", "gain"), [(40, 2), (60, 1)])
def test_slow_start_is_paced_at_twice_the_rate_below_half_of_ssthresh(window, gain):
    s = begin(window, ssthresh=100.0).ack(delivered=0.0)
    assert s.pacing_rate == pytest.approx(gain * window / 0.01)


def test_linux_paces_by_whole_packets_and_counts_their_payload():
    flow = tc.Flow.linux("prague")
    gain = dict(flow.params)["pacing_gain"]
    assert gain == pytest.approx(flow.packet_size / (flow.packet_size - flow.header))
    s = begin(10, params={"pacing_gain": gain}).ack(delivered=0.0)
    assert s.pacing_rate == pytest.approx(gain * 10 / 0.01)


def test_an_undo_keeps_a_window_that_has_grown_beyond():
    end = begin(40)
    end.lose().frac_cwnd = 50.0
    assert end.undo().frac_cwnd == 50
