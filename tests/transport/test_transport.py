"""The TCP sender and receiver without a network: handlers called by hand, or connected by a wire
that loses exactly the given packets. Tests that depend on a network read traces."""

import math

import numpy as np
import pytest
from endpoint import (
    ACK,
    ACK_TIMER,
    ALARM,
    CONTROLLER,
    DATA,
    MEASURE,
    RELEASE,
    STOP,
    TIMER,
    Endpoint,
    Wire,
    opened,
    started,
    view,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from on_a_link import on_a_link
from traced import events

import tcpcc as tc
from tcpcc.results.recording import EVENTS
from tcpcc.transport import sender
from tcpcc.transport.flow_record import (
    LOSS,
    OPEN,
    OUTBOX_SIZE,
    PUSHED,
    RECOVERY,
    SEGMENT,
    tcp_at,
)
from tcpcc.transport.output import is_worth_waiting
from tcpcc.transport.recovery import RECOVERIES
from tcpcc.transport.recovery.classic import count_duplicate, leave


def simulate(*flows, **case):
    return tc.simulate(on_a_link(*flows, **case), trace=True)


# The retransmission timeout

rtts = st.lists(st.floats(1e-3, 5), min_size=1, max_size=40)


@given(rtts)
@settings(deadline=None, max_examples=50)
def test_rto_is_that_of_rfc_6298(samples):
    """With a tick of nearly 0: SRTT = R, RTTVAR = R/2 at first; then gains 1/8 and 1/4."""
    end = started(tick=1e-9, min_rto=0)
    srtt = rttvar = None
    for k, r in enumerate(samples):
        end.call(MEASURE, 100.0 + k, rtt=r)
        if srtt is None:
            srtt, rttvar = r, r / 2
        else:
            rttvar = 3 / 4 * rttvar + 1 / 4 * abs(srtt - r)
            srtt = 7 / 8 * srtt + 1 / 8 * r
        assert end.rto == pytest.approx(srtt + 4 * rttvar, rel=1e-6, abs=1e-6)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from([0.2, 0.5, 0.8])), min_size=1),
    st.sampled_from([0.5, 0.1, 0.01]),
)
@settings(deadline=None, max_examples=50)
def test_rto_is_that_of_bsd_in_whole_ticks(samples, tick):
    """4.3BSD's integers, as in Jacobson 1988, appendix A: srtt in 1/8, rttvar in 1/4 of a tick; an
    RTT is the number of ticks between sending and acknowledgement."""
    end = started(tick=tick, min_rto=0)
    sa = sv = whole = 0
    now = 0.2 * tick
    for ticks, part in samples:
        whole += ticks
        sent, now = now, (whole + part) * tick
        if now <= sent:
            continue
        end.call(MEASURE, now, rtt=now - sent)
        m = max(round(now / tick - part) - math.floor(sent / tick), 1)
        if sa == 0:
            sa, sv = m * 8, m * 2
        else:
            m -= sa >> 3
            sa = max(sa + m, 1)
            m = -m if m < 0 else m
            m -= sv >> 2
            sv = max(sv + m, 1)
        assert end.rto == pytest.approx(((sa >> 3) + sv) * tick)


@pytest.mark.parametrize(
    ("settings_", "expected"),
    [({"min_rto": 1.0}, 1.0), ({"min_rto": 0.2}, 0.2), ({"min_rto": 0.0}, 0.03)],
)
def test_the_timeout_is_at_least_min_rto(settings_, expected):
    """A first RTT of one tick of 10 ms would give three ticks."""
    end = Endpoint(**settings_)
    end.start(10.0)
    end.ack(10.01, 0)
    assert end.deadline == pytest.approx(10.01 + expected)


@pytest.mark.parametrize(
    ("settings_", "expected"),
    [
        ({"initial_rto": 2.5}, 2.5),
        ({"initial_rto": 0.3, "min_rto": 0, "tick": 0.5}, 1),  # two ticks
        ({"initial_rto": 9.0, "max_rto": 4.0}, 4),
    ],
)
def test_the_timeout_before_any_measurement_is_the_initial_one_within_its_limits(
    settings_, expected
):
    end = Endpoint(**settings_)
    end.start(10.0)
    assert end.deadline == 10 + expected


@pytest.mark.parametrize(
    ("settings_", "timeouts"),
    [
        ({}, [3, 6, 12, 24, 48, 60, 60]),  # at last max_rto
        ({"backoff_limit": 4, "max_rto": math.inf}, [3, 6, 12, 12, 12]),
    ],
)
def test_repeated_timeouts_back_off_by_doubling(settings_, timeouts):
    end = started(**settings_)
    times = [0.0]
    for _ in timeouts:
        times.append(end.deadline)
        end.time_out()
    assert np.diff(times).tolist() == timeouts
    assert end.timeouts == len(timeouts)


def test_karn_segments_sent_twice_give_no_rtt():
    """The backoff stays until a segment that was sent once is acknowledged."""
    end = started(initial_window=1)
    assert end.time_out() == [0]
    assert end.backoff == 2
    assert end.ack(3.1, 0) == [1, 2]
    assert end.srtt == 0
    assert end.rto == 3
    assert end.backoff == 2
    end.ack(3.2, 1)
    assert end.backoff == 1
    assert end.srtt == pytest.approx(0.1)
    assert end.rto == pytest.approx(0.3)


def test_after_three_doublings_the_rtt_estimate_is_discarded():
    """As BSD: the smoothed RTT is moved to the variance, and the next sample starts afresh."""
    end = opened(initial_window=2)
    before = end.srtt8 >> 3, end.rttvar4
    for _ in range(3):
        end.time_out()
    assert end.srtt8 > 0
    end.time_out()
    assert (end.srtt8, end.rttvar4) == (0, sum(before))


def test_without_timestamps_one_segment_per_window_is_timed():
    """The estimator gets one sample per window."""
    end = opened(initial_window=4, tick=1e-9)
    first = end.rto
    assert first == pytest.approx(0.3, rel=1e-6)
    end.ack(0.15, 1)
    end.ack(0.2, 2)
    assert end.rto == first
    stamped = started(initial_window=4, tick=1e-9, timestamps=True)
    for k, now in enumerate((0.1, 0.15, 0.2)):
        stamped.ack(now, k)
    assert stamped.rto != pytest.approx(0.3, rel=1e-2)


def test_the_timer_stops_when_nothing_is_outstanding():
    end = started(size=2)
    assert end.ack(0.1, 0) == []
    assert end.deadline == pytest.approx(0.1 + 0.3)
    end.ack(0.12, 1)
    assert end.deadline == math.inf
    assert end.finished == 0.12


def test_the_timer_starts_when_data_is_sent_after_an_idle_period():
    """RFC 6298, 5.1."""
    end = opened(size=1, awaits=1)
    assert end.write(0.2, 2) == [1]
    assert end.deadline == pytest.approx(0.2 + end.rto)


@pytest.mark.parametrize(
    ("recovery", "restarts"), [("newreno", (1, 0)), ("newreno-steady", (1, 1))]
)
def test_the_first_partial_ack_of_each_recovery_restarts_the_timer(recovery, restarts):
    """RFC 6582, 4: "impatient" and "slow-but-steady"."""
    end = started(recovery, initial_window=12, limited_transmit=False)
    now, first = 0.1, -1
    for _ in range(2):
        for k in (2, 3, 4):
            end.dupack(now, first + k)
        seen = []
        for k in (2, 4):
            expires = end.deadline
            now += 0.01
            end.ack(now, first + k)
            seen.append(int(end.deadline != expires))
        assert seen == list(restarts)
        now, first = now + 0.01, end.recover + 1
        end.ack(now, first - 1)
        end.ack(now, first)


def test_a_reused_sender_begins_anew():
    """The next connection of a workload may have the memory of a finished one."""
    end = Endpoint(initial_window=3)
    assert not sender.is_opened(tcp_at(end.address, 0))
    end.start()
    assert sender.is_opened(tcp_at(end.address, 0))
    end.set(coasting=1, run=7, phase=LOSS, dupacks=2, backoff=8, inflation=0)
    assert end.start(5.0) == [0, 1, 2]
    assert (end.phase, end.backoff, end.deadline) == (OPEN, 1, 8.0)


# The window


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("window", [10, 300])
def test_the_initial_window_is_sent_at_once(recovery, window):
    """Also one that is larger than the outbox."""
    assert Endpoint(recovery, initial_window=window).start() == list(range(window))


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_the_handshake_is_one_packet_before_the_initial_window(recovery):
    """The SYN is segment 0. Its ACK releases the initial window, whatever the controller sets, and
    segment 1 is the first data segment."""
    end = Endpoint(recovery, handshake=True, initial_window=4)
    assert end.start() == [0]
    assert end.ack(0.1, 0) == [1, 2, 3, 4]
    assert end.cwnd == 4


def test_the_syn_does_not_set_the_base_rtt():
    """The SYN is shorter than a data packet: with its RTT as BaseRTT a lone Vegas would see a
    backlog without a queue, and leave a third of this link unused."""
    end = opened("vegas", handshake=True)
    assert end.base_rtt == math.inf
    end.ack(0.22, 1)
    assert end.base_rtt == end.max_rtt == pytest.approx(0.12)
    assert end.srtt == pytest.approx(0.10 + 0.02 / 8)
    run = simulate(tc.Flow("vegas"), rate="4 Mbps", delay="10 ms", duration=20)
    assert run.utilization(after=5) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("recovery", ["reno", "newreno", "sack", "vegas"])
def test_going_back_does_not_change_the_base_rtt(recovery):
    """After a timeout the ACKs of packets that had arrived before may end rounds within a
    moment."""
    end = opened(recovery, initial_window=8)
    end.time_out()
    now = end.deadline
    for number in range(1, 8):
        now += 0.001
        end.ack(now, number)
    assert end.base_rtt == pytest.approx(0.1)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_the_receivers_window_is_a_limit(recovery):
    """At most rwnd packets are outstanding, through slow start, loss and recovery."""
    end = Endpoint(recovery, rwnd=12)
    wire = Wire(end, lose=[40, 42, 44])
    outstanding = 0
    for until in np.arange(0.01, 3, 0.01):
        wire.run(until)
        outstanding = max(outstanding, end.max_seq - end.high_ack)
    assert outstanding == 12
    assert end.high_ack > 150


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("burst", [1, 4, OUTBOX_SIZE + 4])
def test_no_ack_sends_more_than_max_burst(recovery, burst):
    end = Endpoint(recovery, initial_window=60, max_burst=burst)
    assert end.start() == list(range(burst))
    assert end.ack(0.1, 0) == list(range(burst, 2 * burst))
    assert end.ack(0.2, 1) == list(range(2 * burst, 3 * burst))


def test_slow_start_then_congestion_avoidance():
    """2, 4, 8 packets a round; above ssthresh one more each round."""
    wire = Wire(Endpoint(initial_window=2, ssthresh=8.0), rate=1e6).run(0.65)
    rounds = [sum(0.1 * k <= t + 1e-3 < 0.1 * (k + 1) for t, _ in wire.sent) for k in range(6)]
    assert rounds == [2, 4, 8, 8, 9, 10]


@pytest.mark.parametrize("recovery", ["reno", "sack", "rack-tlp"])
def test_a_partial_piece_waits_for_an_imminent_ack(recovery):
    """Linux' tcp_tso_should_defer. The first piece does not wait: no packet was sent for a round
    trip."""
    end = started(recovery, initial_window=10, gso_segments=2, ssthresh=2.0)
    sent = [end.ack(now, k) for k, now in enumerate((0.1, 0.1005, 0.1008))]
    assert sent == [[10], [], [11, 12]]


@pytest.mark.parametrize(("size", "sent"), [(None, []), (13, []), (12, [11])])
def test_a_partial_piece_does_not_wait_at_the_end_of_the_data(size, sent):
    end = started("sack", initial_window=10, gso_segments=2, size=size, ssthresh=2.0)
    assert end.ack(0.1, 0) == [10]
    assert end.ack(0.1005, 1) == sent


def test_with_delay_growth_the_window_opens_with_the_second_ack():
    """ns-2's ``delay_growth_``."""
    end = Endpoint(delay_growth=True, initial_window=6)
    end.set(ssthresh=2.0)
    assert end.start() == [0]
    assert end.ack(0.1, 0) == [1, 2]
    assert end.cwnd == 2
    assert end.ack(0.2, 1) == list(range(3, 8))
    assert end.cwnd == pytest.approx(6 + 1 / 6)


@pytest.mark.parametrize(
    ("srtt", "now", "due_soon"),
    [
        (0.0015, 0.0008, True),
        (0.1, 0.0995, False),  # the newest packet was not sent just now
        (0.001, 0.0002, False),  # more than half an RTT
        (0.004, 0.001, False),  # more than a millisecond
    ],
)
def test_an_ack_is_due_soon_within_a_millisecond_and_half_an_rtt(srtt, now, due_soon):
    end = started(initial_window=10)
    end.set(srtt=srtt)
    assert is_worth_waiting(tcp_at(end.address, 0), now) == due_soon


@pytest.mark.parametrize("piece_wait", [1e-3, 0.04, math.inf])
def test_a_part_of_a_piece_waits_for_piece_wait_at_most(piece_wait):
    """The ACK of the first packet, sent at 0, is due at 0.1 s; the newest was sent just now."""
    end = started(initial_window=10, piece_wait=piece_wait)
    end.set(srtt=0.1)
    newest = view(end.segments + end.max_seq * SEGMENT.itemsize, SEGMENT)
    for now, due_soon in ((0.045, False), (0.055, piece_wait > 0.045), (0.065, piece_wait > 0.035)):
        newest["sent_at"] = now - 0.0005
        assert is_worth_waiting(tcp_at(end.address, 0), now) == due_soon


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("cwnd", [0.3, 1e-9])
def test_a_window_below_one_packet_allows_one_packet(recovery, cwnd):
    """Linux, and RFC 5681's loss window: otherwise no ACK would ever arrive to open it."""
    end = Endpoint(recovery, controller=shrinking(cwnd))
    Wire(end).run(20)
    assert end.high_ack > 150
    assert end.sample("window") == (1.0,)


def shrink(s, p, a):
    s.cwnd = p.to


def shrinking(cwnd):
    """A controller that always sets this window."""
    return tc.Controller(
        name="shrinking", summary="", on_ack=shrink, on_loss=shrink, on_timeout=shrink,
        params={"to": tc.Param(cwnd, "packets", "cwnd")}, recovery="reno",
    )  # fmt: skip


# The sample


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_inflight_at_a_loss_is_flight_size(recovery):
    """RFC 5681: sent and not yet cumulatively acknowledged, including two packets of limited
    transmit."""
    end = started(recovery, initial_window=20)
    for trigger in (1, 2, 3):
        end.ack(0.1, -1, trigger, (1, trigger + 1))
    extra = 0 if recovery.startswith("vegas") else 2
    assert end.loss_events == 1
    assert end.sample("inflight", "transmits") == (20 + extra, 1)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_inflight_at_timeouts_is_flight_size(recovery):
    end = started(recovery, initial_window=20)
    for times in (1, 2, 3):
        end.time_out()
        assert end.sample("inflight", "transmits") == (20, times)


STANDARD = {"make": tc.Transport, "slow_start_rule": False}


@pytest.mark.parametrize("how", ["loss", "loss while data wait", "timeout"])
@pytest.mark.parametrize(("controller", "left"), [("reno", 0.5), ("cubic", 0.7), ("htcp", 0.5)])
def test_ssthresh_is_a_share_of_the_packets_in_flight(controller, left, how):
    """RFC 5681, equation 4 ("easy mistake: cwnd"); RFC 9438, 4.6: the application had no more than
    ten packets for a window of 600. What it writes between duplicate ACKs waits for the next."""

    def ssthresh(**settings):
        end = started("sack", controller=controller, **STANDARD, **settings, awaits=1)
        end.set(cwnd=600.0, ssthresh=300.0)
        end.ack(0.1, 9)
        end.set(to_send=20)
        end.write(0.1, 20)
        end.ack(0.2, 9 + end.max_seq - 19)
        if how == "timeout":
            end.time_out()
        else:
            end.dupacks(0.21, 11, 12)
            if how == "loss while data wait":
                end.set(to_send=24)
            end.dupacks(0.21, 13, 14)
        return end.ssthresh

    net = dict(size=10, initial_window=10)
    assert ssthresh(**net) == pytest.approx(left * 10)
    assert ssthresh(flight_ssthresh=False, **net) == pytest.approx(left * 600, abs=1)


def test_a_window_in_full_use_is_cut_to_a_share_of_the_window():
    """FlightSize is its whole part, and limited transmit does not count (RFC 5681, 3.2)."""
    end = started("sack", **STANDARD, initial_window=10)
    end.set(cwnd=10.5, ssthresh=2.0)
    end.dupacks(0.1, *range(1, 5))
    assert end.ssthresh == pytest.approx(5.25)


@pytest.mark.parametrize("cwnd", [0.0, -1.0, math.inf])
def test_a_window_that_is_not_positive_and_finite_is_an_error(cwnd):
    end = started(controller=shrinking(cwnd))
    with pytest.raises(FloatingPointError, match="cwnd"):
        end.ack(0.1, 0)


def test_the_rtts_of_a_round_are_those_of_its_packets():
    """Even if it has a single sample; its duration is longer."""
    end = opened("sack", initial_window=1)
    end.ack(0.25, 2)
    names = ("round_time", "round_rtt", "round_min_rtt", "rtt")
    assert end.sample(*names) == pytest.approx((0.15, 0.1, 0.1, 0.15))


def test_samples_of_losses_and_timeouts_have_no_values_of_an_ack():
    """The values of the last ACK are gone. The last complete round, and packets delivered during
    recovery, are known."""
    end = opened("newreno", initial_window=8)
    end.ack(0.2, 1)
    told = ("acked", "delivered", "rtt", "transmits")
    assert end.sample(*told) == (1, 1, pytest.approx(0.2), 0)
    end.dupacks(0.3, 3, 4, 5)
    assert end.sample("now", *told, "round_time") == (0.3, 0, 0, 0, 1, pytest.approx(0.1))
    end.ack(0.4, 4)
    expires = end.deadline
    end.time_out()
    assert end.sample("now", *told) == (expires, 0, 3, 0, 2)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_karn_an_ack_that_covers_a_retransmission_gives_no_rtt(recovery):
    """Of eight losses in a window of twenty. ns-2's Vegas uses such RTTs, and so those of holes."""
    end = Endpoint(recovery, initial_window=20)
    Wire(end, lose=range(2, 18, 2), rate=1e4).run(20 if recovery == "reno" else 5)
    assert end.high_ack > 100
    assert (end.max_rtt > 0.2) if recovery == "vegas-ns2" else (end.max_rtt < 0.11)


# Windows that are not used


WINDOWED = [c.name for c in tc.controllers.CONTROLLERS.values() if not c.extras and not c.header]
"""Controllers whose window follows from ACKs only: not from deliveries or router feedback."""


@pytest.mark.parametrize("controller", WINDOWED)
def test_a_window_limited_by_the_receiver_stops_growing(controller):
    """Linux: in slow start at twice the used window plus the step of the last ACK (Hybla's at 100
    ms is 2^4 - 1), in congestion avoidance at the used window plus this step (FAST's last step from
    below may double)."""
    end = Endpoint(controller=controller, recovery="sack", rwnd=20)
    Wire(end).run(6)
    assert end.cwnd <= 40 + {"hybla": 15}.get(controller, 1)
    assert end.high_ack > 500
    cautious = Endpoint(controller=controller, recovery="sack", rwnd=20)
    cautious.set(ssthresh=10.0)
    Wire(cautious).run(6)
    assert cautious.cwnd <= (40 if controller == "fast" else 22)


def test_a_limited_window_grows_without_bound_in_ns2():
    end = Endpoint(rwnd=20, window_validation=False)
    Wire(end).run(100)
    assert end.cwnd > 19_000


def test_a_limited_window_grows_again_once_it_is_used():
    """After a loss the window is below the receiver's, which then stops it again."""
    end = Endpoint("newreno", rwnd=20)
    wire = Wire(end, lose=[500])
    wire.run(1)
    assert end.cwnd == 40
    wire.run(4)
    assert end.loss_events == 1
    assert 10 < end.cwnd < 20
    wire.run(10)
    assert 21 <= end.cwnd < 22


def test_an_application_limited_window_stops_growing():
    """The last packets of a file, fewer than the window allows, do not open it in congestion
    avoidance."""
    end = started(size=30, initial_window=20, ssthresh=2.0)
    end.ack(0.1, 9)
    grown = end.cwnd
    assert grown == pytest.approx(20.05)
    end.ack(0.2, 11)
    assert end.sample("limited") == (0,)
    end.ack(0.2, 12)
    assert end.sample("limited") == (1,)
    assert end.cwnd == pytest.approx(20.1, abs=1e-3)


def test_the_clock_stands_still_while_the_receiver_limits_the_sender():
    """RFC 9438, 4.2 and 5.8: time in which cwnd is not updated does not count."""
    end = Endpoint(rwnd=20)
    end.set(ssthresh=10.0)
    wire = Wire(end).run(0.75)  # until W is 10
    now, clock, growing = end.sample("now", "clock", "growing")
    assert (now, growing) == (clock, 1)
    wire.run(3.0)
    limited_from = end.sample("clock")
    assert end.sample("limited", "growing", "acked") == (1, 0, 1)
    wire.run(9.0)
    assert end.sample("clock") == pytest.approx(limited_from)
    assert end.sample("clock")[0] < 2.5


def test_the_clock_of_an_endless_flow_is_the_time():
    end = Endpoint("sack", initial_window=2)
    Wire(end, lose=[300, 500]).run(5.0)
    assert end.sample("now") == end.sample("clock")
    assert end.sample("growing") == end.sample("acked") == (1,)


@pytest.mark.parametrize("decay", [False, True])
def test_the_clock_stands_still_in_idle_periods(decay):
    """Since the last ACK; in Linux since the last packet sent (bictcp_cwnd_event)."""
    end = started(size=4, initial_window=2, window_decay=decay)
    end.write(0.0, 4)
    end.ack(0.1, 1)
    end.ack(0.2, 3)
    end.write(5.0, 6)
    end.ack(5.1, 5)
    now, clock = end.sample("now", "clock")
    assert now - clock == pytest.approx(4.9 if decay else 4.8)


def test_the_clock_runs_while_a_trickle_flows_in_linux_only():
    for decay in (False, True):
        end = started(size=4, initial_window=4, window_decay=decay, ssthresh=2.0)
        end.write(0.0, 4)
        end.ack(0.1, 3)
        end.write(0.1, 5)
        for k in range(20):  # never idle
            end.write(0.15 + k / 10, 6 + k)
            end.ack(0.2 + k / 10, 4 + k)
        now, clock, growing = end.sample("now", "clock", "growing")
        assert growing == 0
        assert now == pytest.approx(2.1)
        assert clock == pytest.approx(2.0 if decay else 0.1)


def test_an_ack_counts_for_at_most_abc_limit_packets():
    """RFC 3465: an ACK of four packets adds one, or two with a limit of 2."""
    for limit, grown in ((1.0, 9.0), (2.0, 10.0), (math.inf, 12.0)):
        end = started(initial_window=8, abc_limit=limit)
        end.ack(0.1, 3)
        assert end.cwnd == grown


def test_a_stopped_sender_only_retransmits():
    end = started(initial_window=4)
    end.call(STOP)
    assert end.ack(0.1, 0) == []
    assert end.time_out() == [1]
    assert end.ack(9.0, 1) == [2, 3]
    assert end.ack(9.1, 3) == []
    assert end.finished == 9.1
    assert end.deadline == math.inf


# Timeouts


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_after_a_timeout_the_sender_goes_back(recovery):
    """All segments from the first unacknowledged one on are sent again, in slow start; segments
    that the receiver already has are skipped as its ACKs show them."""
    end = started(recovery, initial_window=8)
    again = end.time_out()
    assert again == list(range(int(end.cwnd)))
    assert end.phase == LOSS
    last = again[-1]
    assert end.ack(3.1, last)[:2] == [last + 1, last + 2]
    assert end.ack(3.2, 7)[0] == 8
    if recovery == "vegas-ns2":  # only what was sent after the timeout ends it
        assert end.phase == LOSS
        end.ack(3.3, 8)
    assert end.phase == OPEN


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_duplicates_of_a_window_sent_before_a_timeout_cause_no_retransmission(recovery):
    """RFC 6582's `recover`, which RFC 5681 alone does not have: ACKs caused by segments sent twice
    look like duplicate ACKs."""
    end = started(recovery, initial_window=10)
    end.time_out()
    end.ack(3.1, 3)
    losses = end.loss_events
    for _ in range(6):
        end.ack(3.2, 3, trigger=3)
    assert end.loss_events == losses + (recovery == "reno-rfc5681")


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_the_timer_has_no_effect_when_all_is_acknowledged(recovery):
    end = started(recovery, size=2)
    end.ack(0.1, 1)
    assert end.sends(TIMER, 50.0) == []
    assert end.timeouts == 0


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_duplicate_acks_with_no_data_outstanding_are_ignored(recovery):
    """They are caused by unnecessary retransmissions."""
    end = started(recovery, size=4, initial_window=4)
    end.ack(0.1, 3)
    assert [end.dupack(0.2 + k, 3) for k in range(5)] == [[]] * 5
    assert (end.loss_events, end.deadline) == (0, math.inf)


# Fast retransmit


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("handshake", [True, False])
def test_the_loss_of_the_first_packet_is_repaired_by_fast_retransmit(recovery, handshake):
    end = Endpoint(recovery, handshake=handshake, initial_window=8)
    Wire(end, lose=[int(handshake)]).run(1)
    assert (end.timeouts, end.loss_events) == (0, 1)
    assert end.high_ack > 20


@pytest.mark.parametrize("recovery", ["reno", "newreno", "newreno-steady"])
def test_the_third_duplicate_retransmits_and_halves(recovery):
    """RFC 5681, 3.2: the window is inflated by the three packets that have left the network, then
    by one for each further duplicate ACK. It allows new data once it covers the outstanding
    packets."""
    end = opened(recovery, initial_window=21, limited_transmit=False)
    before = end.cwnd
    first_new = end.next_seq
    assert end.dupack(0.2, 2) == end.dupack(0.2, 3) == []
    assert end.dupack(0.2, 4) == [1]
    assert end.cwnd == before / 2 == 11
    assert end.inflation == 3
    sent = end.dupacks(0.2, *range(5, 21))
    # 22 outstanding from 1 on: the window 11 + 3 + n lets new data out from n = 9
    assert sent == [[]] * 8 + [[first_new + k] for k in range(8)]
    end.ack(0.3, end.recover)
    assert end.inflation == 0
    assert end.cwnd == pytest.approx(11 + 1 / 11)
    assert end.phase == OPEN


def test_the_duplicate_ack_threshold_is_a_setting():
    end = opened("newreno", initial_window=20, dupack_threshold=5, limited_transmit=False)
    assert end.dupacks(0.2, *range(2, 6)) == [[]] * 4
    assert end.dupack(0.2, 6) == [1]


def test_tahoe_goes_back_without_fast_recovery():
    end = opened("tahoe", initial_window=21, limited_transmit=False)
    assert end.dupacks(0.2, 2, 3, 4) == [[], [], [1]]
    assert end.cwnd == 1
    assert end.dupacks(0.2, *range(5, 15)) == [[]] * 10
    assert end.ack(0.3, 1) == [2, 3]


def test_limited_transmit_sends_new_data_on_the_first_two_duplicates():
    """RFC 3042, if the receiver's window allows it."""
    end = opened("reno", initial_window=10)
    new = end.next_seq
    assert end.dupack(0.2, 2) == [new]
    assert end.dupack(0.2, 3) == [new + 1]
    assert end.dupack(0.2, 4) == [1]
    assert end.cwnd == pytest.approx(11 / 2)
    closed = opened("reno", initial_window=10, rwnd=10)
    assert closed.dupack(0.2, 2) == []


def test_reno_repairs_one_hole_of_a_window():
    """A partial ACK ends Reno's recovery. A second hole of the same window gets no fast retransmit,
    as in ns-2 with its `bugFix_`, and waits for the timer; NewReno repairs it."""
    for recovery, timeouts in (("reno", 1), ("newreno", 0)):
        end = Endpoint(recovery)
        Wire(end, lose=[40, 50]).run(3)
        assert (end.loss_events, end.timeouts) == (1, timeouts)


# NewReno


def test_newreno_repairs_one_hole_per_round_trip():
    """Each partial ACK retransmits the next hole; the window is cut once."""
    holes = [40, 42, 44, 46, 48]
    end = Endpoint("newreno-steady")
    wire = Wire(end, lose=holes)
    wire.run(5)
    repairs = [wire.at(seq)[-1] for seq in holes]
    assert np.diff(repairs) == pytest.approx([0.1] * 4, abs=0.02)
    assert (end.loss_events, end.timeouts, end.retransmitted) == (1, 0, 5)


def test_impatient_newreno_times_out_where_the_steady_one_does_not():
    """RFC 6582: twelve holes take twelve round trips, the timer three or four."""
    holes = list(range(40, 64, 2))
    impatient, steady = Endpoint("newreno"), Endpoint("newreno-steady")
    for end in (impatient, steady):
        Wire(end, lose=holes).run(6)
    assert (impatient.timeouts, steady.timeouts) == (1, 0)
    assert steady.retransmitted == 12
    assert min(impatient.high_ack, steady.high_ack) > 100


def test_a_partial_ack_deflates_by_the_acknowledged_packets_less_one():
    """RFC 6582, 3.2 step 3; without partial deflation (ns-2's other setting) the whole inflation is
    removed."""
    for deflation, left in ((True, 9 - 4 + 1), (False, 0)):
        end = opened(
            "newreno", initial_window=31, limited_transmit=False, partial_deflation=deflation
        )
        end.dupacks(0.2, *range(2, 11))
        assert end.inflation == 9
        cwnd = end.cwnd
        sent = end.ack(0.3, 4)
        assert sent[0] == 5
        assert end.inflation == left
        assert end.cwnd == cwnd
        assert end.phase == RECOVERY


def test_deflation_beyond_the_inflation_reduces_the_window():
    end = opened("newreno", initial_window=31, limited_transmit=False)
    end.dupacks(0.2, 2, 3, 4)
    total = end.cwnd + end.inflation
    end.ack(0.3, 11)
    assert end.cwnd + end.inflation == total - 11 + 1


def test_newreno_sends_at_most_two_packets_per_ack_in_recovery():
    end = opened("newreno", initial_window=41, limited_transmit=False)
    sent = end.dupacks(0.2, *range(2, 41))
    sent.append(end.ack(0.3, 20))
    assert max(len(x) for x in sent[3:]) <= 3  # a partial ACK: the hole and two


# SACK


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("holes", [1, 5, 15])
@pytest.mark.parametrize("recovery", ["sack", "sack-prr"])
def test_sack_repairs_any_number_of_holes_in_about_one_round_trip(recovery, holes, step):
    """All retransmissions leave within a round trip of the first, and their ACKs return after one
    more; NewReno needs a round trip for each."""
    lost = list(range(60, 60 + step * holes, step))
    end = Endpoint(recovery)
    wire = Wire(end, lose=lost)
    wire.run(5)
    repairs = [wire.at(seq)[-1] for seq in lost]
    assert all(len(wire.at(seq)) == 2 for seq in lost)
    assert max(repairs) - min(repairs) <= 0.1
    acked = next(t for t, number in wire.acks if number >= lost[-1])
    assert acked - repairs[0] <= 2 * 0.1 + 0.02
    assert (end.loss_events, end.timeouts, end.retransmitted) == (1, 0, holes)
    assert end.known == end.high_ack + 1  # each is known to have come once, by SACK or without


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["sack", "sack-prr"]),
    st.sets(st.tuples(st.integers(0, 120), st.integers(1, 2)), max_size=40),
)
def test_sack_pipe_is_empty_when_all_is_acknowledged(recovery, lose):
    end = Endpoint(recovery, size=121)
    Wire(end, lose=lose).run(900)
    assert end.finished > 0
    assert end.pipe == 0
    assert end.delivered == 121


def test_sack_retransmits_only_lost_segments():
    """A segment overtaken by two others is not marked lost; by three it is. Two segments passed the
    first hole; two more do not make three for the second."""
    for recovery in ("sack", "sack-prr"):
        end = opened(recovery, initial_window=20)
        assert 1 not in end.dupack(0.2, 2) + end.ack(0.2, 0, 3, (2, 4))
        assert end.ack(0.2, 3, 1) == [24, 25]
        end.dupacks(0.2, 5, 6)
        assert end.lost_edge <= 4
        assert end.loss_events == 0
        end.dupack(0.2, 7)
        assert (end.lost_edge, end.loss_events) == (5, 1)


def test_sack_does_not_repair_segments_that_arrived_late():
    """1, 5, 6 and 7 are marked lost, 1 is retransmitted; 5 and 6 arrive, but the ACKs of that are
    lost."""
    end = opened("sack", initial_window=20)
    sent = [seq for k in (2, 3, 4, *range(8, 15)) for seq in end.dupack(0.2, k)]
    assert (end.lost_edge > 7, sent) == (True, [22, 23, 1])
    assert end.ack(0.3, 6, 1) == [7]


def test_sack_keeps_a_window_of_packets_in_flight():
    """After the reduction no new data leaves until half of the window has been received."""
    end, sent = cut_of_forty("sack")  # 1 .. 42 outstanding
    assert sent[:2] == [[43], [44]]  # the pipe leaks by what was received: limited transmit
    assert sent[2] == [1]
    assert end.cwnd == 21
    silent = sent[3:].index([45])
    assert sent[3 : 3 + silent] == [[]] * silent
    # outstanding 44 - 2 - 1 + 1 = 42 at the cut; 21 must go first
    assert 19 <= silent <= 21


def cut_of_forty(recovery):
    """Segments sent on each duplicate ACK, caused by 2 to 44, after the loss of segment 1 of 42."""
    end = opened(recovery, initial_window=41)
    return end, [end.ack(0.2, 0, k, (2, k + 1)) for k in range(2, 45)]


def test_proportional_rate_reduction_sends_half_of_the_delivered_packets():
    """RFC 6937: evenly from the beginning, while RFC 6675 is silent at first."""
    end, sent = cut_of_forty("sack-prr")
    assert sent[2] == [1]
    assert end.cwnd == 21
    reducing = sent[3:]
    for delivered in range(1, 38):
        out = 1 + sum(len(each) for each in reducing[: delivered - 1])
        assert out == math.ceil(delivered * 21 / 44)
    assert max(len(each) for each in reducing) <= 1


@pytest.mark.parametrize("recovery", ["sack", "sack-prr"])
def test_a_reduction_ends_with_a_window_of_packets_in_flight(recovery):
    end, _ = cut_of_forty(recovery)
    assert end.pipe == pytest.approx(21, abs=1)
    end.ack(0.3, 44, 1)
    assert (end.phase, end.pipe) == (OPEN, 21)


@pytest.mark.parametrize(("recovery", "most"), [("sack-prr", 1), ("sack-prr-6937", 2)])
def test_a_duplicate_ack_releases_one_packet_and_one_more_by_rfc_6937(recovery, most):
    """RFC 9937's SafeACK: otherwise retransmissions would leave at twice the rate of the full
    queue."""
    end, sent = lost_thirty(recovery)
    assert max(len(each) for each in sent) == most
    assert end.pipe <= end.cwnd == 21
    assert [seq for each in sent for seq in each][3:6] == [2, 3, 4]


def test_an_ack_that_advances_and_reports_no_loss_sends_one_packet_more():
    end, _ = lost_thirty("sack-prr")
    assert [len(end.ack(0.3, k, k, (31, 43))) for k in (1, 2)] == [2, 2]


def test_bursts_of_repairs_after_a_deep_overshoot_are_lost_again():
    """Slow start over a fast access link loses every second packet. RFC 6675's bursts then overflow
    the queue, which has not drained, and wait for the timer; an even reduction does not."""
    path = {"rate": "50 Mbps", "delay": "19 ms", "buffer": 83}
    access = {"access_rate": "1 Gbps", "access_delay": "0.5 ms"}
    for recovery, timeouts in (("sack", 1), ("sack-prr", 0)):
        flow = tc.Flow("reno", recovery=recovery, packet_size=1500)
        run = tc.simulate(on_a_link(flow, duration=2, **path, **access))
        assert run.data["timeouts"].item() == timeouts


def test_a_lost_retransmission_needs_the_timer():
    end = Endpoint("sack")
    wire = Wire(end, lose=[(60, 1), (60, 2)])
    wire.run(5)
    assert end.timeouts == 1
    assert end.high_ack > 100


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sack_rtts_are_correct_after_repairs(seed):
    """An ACK that fills a hole also acknowledges packets that arrived long before; they give no
    RTT. With this small window nothing else can make an RTT of 40 ms longer by a tenth."""
    flow = tc.Flow("reno", recovery="sack")
    run = simulate(flow, rate="100 Mbps", buffer=500, loss=0.01, seed=seed, interval=0.001)
    assert np.nanmax(run.data["rtt"].values) < 1.1 * 0.040


# Vegas


def test_vegas_fine_timeout_is_bsd_estimate_and_a_sixteenth():
    """srtt + 2 dev, with gains 1/8 and 1/4, times 1 + 1/16."""
    end = started("vegas", initial_window=6)
    sa = sd = 0.0
    for k, now in enumerate((0.1, 0.13, 0.11, 0.2)):
        end.ack(now, k)
        if sa == 0:
            sa, sd = now * 8, now
        error = now - sa / 8
        sa += error
        sd += abs(error) - sd / 4
        assert end.fine_rto == pytest.approx((sa / 8 + sd / 2) * (17 / 16))


def test_vegas_retransmits_on_the_first_duplicate_past_the_fine_timeout():
    end = opened("vegas", initial_window=6)
    fine = end.fine_rto
    assert end.dupack(0.11, 2) == []
    assert end.dupack(fine - 1e-6, 3) == []
    early = opened("vegas", initial_window=6)
    assert early.dupack(fine, 2)[0] == 1
    assert early.loss_events == 1
    assert early.timeouts == 0


def test_vegas_retransmits_on_the_third_duplicate_at_the_latest():
    end = opened("vegas", initial_window=8)
    assert end.dupacks(0.11, 2, 3) == [[], []]
    assert end.dupack(0.11, 4) == [1, 9]  # a window of 6 and 3 duplicates, 1 .. 8 outstanding
    assert end.cwnd == 6


def test_vegas_checks_the_next_segment_on_the_ack_after_a_retransmission():
    """The second hole of a window is repaired by the first ACK of new data, without duplicate ACKs.
    Its loss is older than the reduction, so the window is not reduced again."""
    end = opened("vegas", initial_window=12)
    end.dupacks(0.12, 3, 4, 5)
    assert end.loss_events == 1
    cwnd = end.cwnd
    assert end.ack(0.5, 1)[0] == 2
    assert end.loss_events == 1
    assert end.cwnd == pytest.approx(cwnd, abs=1)


def test_vegas_checks_no_segment_that_was_not_sent():
    """The ACK after a retransmission acknowledges all data. ns-2 sends the next segment twice."""
    end = opened("vegas", initial_window=6, size=7, awaits=1)
    end.dupacks(0.12, 2, 3, 4)
    assert end.worried == 2
    assert end.ack(9.0, 6) == []
    assert (end.sent, end.max_seq) == (8, 6)


def test_vegas_reduces_its_window_only_for_losses_after_the_last_reduction():
    """JSAC, III-A: a retransmission of a segment sent before the reduction leaves the window
    unchanged."""
    end = opened("vegas", initial_window=16)
    end.dupacks(0.12, 2, 3, 5)
    assert (end.cwnd, end.loss_events) == (12, 1)
    end.ack(0.13, 3, 1)
    assert [4 in end.dupack(0.14, k) for k in (5, 6, 7)] == [False, False, True]
    assert (end.cwnd, end.loss_events) == (12, 1)
    end.ack(0.15, 16, 4)  # from 17 on all is sent after the cut
    end.dupacks(0.16, 18, 19, 20)
    assert (end.cwnd, end.loss_events) == (9, 2)


def test_vegas_raises_its_fine_timeout_when_it_retransmits():
    end = opened("vegas", initial_window=8)
    fine = end.fine_rto
    end.dupacks(0.11, 2, 3, 4)
    assert end.fine_rto == pytest.approx(fine * 9 / 8)
    end.dupack(10.0, 5)
    assert end.fine_rto == pytest.approx(fine * 9 / 4)


@pytest.mark.parametrize("recovery", ["vegas", "vegas-ns2"])
def test_the_ack_of_a_retransmission_does_not_set_vegas_fine_timeout(recovery):
    """Karn's rule. The ACK of a segment sent once after it does."""
    end = opened(recovery, controller="vegas", initial_window=8)
    end.dupacks(0.11, 2, 3, 4)
    fine = end.fine_rto
    end.ack(0.15, 1)
    assert end.fine_rto == fine
    end.ack(0.25, 9)
    assert end.fine_rto != fine


@pytest.mark.parametrize(("duplicates", "seen"), [(3, [9]), (4, [9, 10]), (5, [9, 10, 11])])
def test_ns2s_vegas_deflates_only_after_the_fourth_duplicate(duplicates, seen):
    """tcp-vegas.cc: then to the reduced window, and slow start is over."""
    end = opened("vegas-ns2", controller="vegas", initial_window=8)
    inflated = []
    for k in range(2, 2 + duplicates):
        end.dupack(0.11, k)
        inflated.append(end.cwnd)
    assert inflated[2:] == seen
    end.ack(0.15, 1)
    kept = duplicates == 3
    assert end.cwnd == (9 if kept else 6)
    assert end.ssthresh == (math.inf if kept else 2)


# RFC 5681's Reno


@pytest.mark.parametrize("recovery", ["sack", "sack-prr"])
@pytest.mark.parametrize("threshold", [1, 2, 3, 5])
def test_sack_marks_segments_lost_by_the_number_of_segments_above(recovery, threshold):
    """RFC 6675: DupThresh of them, for the first hole and the next."""
    end = opened(recovery, initial_window=30, dupack_threshold=threshold)
    repairs = {}
    for number, trigger in enumerate([*range(2, 10), *range(11, 25)], 1):
        for seq in end.dupack(0.2, trigger):
            repairs.setdefault(seq, number)
    assert repairs[1] == threshold
    assert repairs[10] >= 8 + threshold
    assert end.lost_edge >= 11
    lost = opened(recovery, initial_window=30, dupack_threshold=threshold)
    for trigger in [*range(2, 10), *range(11, 11 + threshold - 1)]:
        lost.dupack(0.2, trigger)
    assert lost.lost_edge <= 10
    lost.dupack(0.2, 10 + threshold)
    assert lost.lost_edge > 10


# The receiver


@pytest.mark.parametrize(
    ("settings_", "due"),
    [
        ({}, [1, 1, 1, 1]),
        ({"delayed_ack": 0.2}, [0, 1, 0, 1]),
        ({"delayed_ack": 0.2, "quick_acks": 3}, [1, 1, 1, 0, 1, 0, 1]),
        ({"delayed_ack": 0.2, "ack_every": 1}, [1, 1, 1, 1]),
        ({"delayed_ack": 0.2, "ack_every": 5}, [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
        ({"delayed_ack": 0.2, "handshake": True}, [1, 0, 1, 0, 1]),  # a SYN at once
    ],
)
def test_every_packet_is_acknowledged_unless_acks_are_delayed(settings_, due):
    end = Endpoint(**settings_)
    assert [end.call(DATA, 0.01 * seq, seq) for seq in range(len(due))] == due
    assert end.expected == len(due)


def test_delayed_acks_wait_for_the_timer_at_most():
    end = Endpoint(delayed_ack=0.2)
    assert not end.call(DATA, 1.0, 0)
    assert end.held_until == 1.2
    assert end.call(ACK_TIMER, 1.2)
    assert end.held_until == math.inf
    assert not end.call(ACK_TIMER, 1.2)


@pytest.mark.parametrize("push_acks", [True, False])
def test_the_end_of_a_piece_is_acknowledged_at_once_with_push_acks(push_acks):
    end = Endpoint(delayed_ack=0.2, push_acks=push_acks)
    for seq in (0, 3):
        view(end.segments + seq * SEGMENT.itemsize, SEGMENT)["flags"] |= PUSHED
    due = [end.call(DATA, 0.01 * seq, seq) for seq in range(4)]
    assert due == ([True, False, True, True] if push_acks else [False, True, False, True])


def test_holes_duplicates_and_repairs_are_acknowledged_at_once():
    """RFC 5681, 4.2, even with delayed ACKs."""
    end = Endpoint(delayed_ack=0.2)
    end.call(DATA, 0.0, 0)
    end.call(DATA, 0.0, 1)
    assert end.call(DATA, 0.0, 4)
    assert (end.expected, end.sack_low, end.sack_high) == (2, 4, 5)
    assert end.call(DATA, 0.0, 4)
    assert end.call(DATA, 0.0, 2)
    assert end.call(DATA, 0.0, 3)
    assert end.expected == 5


@pytest.mark.parametrize("dsack", [False, True])
def test_a_duplicate_is_reported_by_d_sack_only(dsack):
    """RFC 2883; low > high."""
    end = Endpoint("sack", dsack=dsack)
    for seq in (0, 1, 3):
        end.call(DATA, 0.0, seq)
    for seq in (1, 3):
        end.call(DATA, 0.1, seq, 1)
        assert (end.sack_low, end.sack_high) == ((seq + 1, seq) if dsack else (0, 0))


@given(st.permutations(range(20)), st.lists(st.integers(0, 19), max_size=10))
@settings(deadline=None, max_examples=60)
def test_the_receiver_reassembles_any_order(order, again):
    """`expected` is the first missing segment, the block around the newest segment is right, and
    duplicates count as such."""
    end = Endpoint()
    held, copies = set(), 0
    for seq in [*order[:10], *again, *order[10:]]:
        assert end.call(DATA, 0.0, seq)
        copies += seq in held
        held.add(seq)
        missing = next(k for k in range(21) if k not in held)
        assert end.expected == missing
        if end.sack_high > 0:
            low = high = seq
            while low - 1 in held and low - 1 >= missing:
                low -= 1
            while high in held:
                high += 1
            assert (end.sack_low, end.sack_high) == (low, high)
    assert (end.delivered, end.duplicates, end.arrived) == (20, copies, 20 + len(again))


def test_with_delayed_acks_slow_start_grows_by_half():
    """One ACK for two packets, counted once (abc_limit 1): 3/2 per round; with a limit of 2, 2."""
    for limit, factor in ((1.0, 1.5), (2.0, 2.0)):
        end = Endpoint(initial_window=32, delayed_ack=0.5, abc_limit=limit)
        Wire(end, rate=1e6).run(0.35)
        assert end.cwnd == pytest.approx(32 * factor**3, rel=0.01)


# In a network


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("handshake", [True, False])
def test_a_transfer_delivers_exactly_its_size(recovery, handshake):
    """With random loss of data and ACKs, over several seeds, no packet is missing or extra."""
    net = tc.dumbbell("10 Mbps", "5 ms", 30)
    net = net.replace(links=[link.replace(loss=0.03) for link in net.links])
    transport = tc.Transport(handshake=handshake, max_rto=2)
    flow = tc.Flow(
        CONTROLLER.get(recovery, "reno"), recovery=recovery, size=400, transport=transport
    )
    for seed in range(6):
        run = tc.simulate(tc.Scenario(net, [flow], duration=200, seed=seed), trace=True)
        delivered = events(run, "deliver")["seq"]
        assert sorted(delivered) == list(range(400 + handshake))
        assert run.data["delivered"].sum() == 400
        last = events(run, "ack")[-1]
        assert last["seq"] == 400 + handshake
        assert run.data["finished"].item() == last["time"]


def test_a_transfer_in_bytes_is_rounded_up_to_packets():
    run = simulate(tc.Flow("reno", size="10001 B", packet_size=1040, header=40))
    assert run.data["delivered"].sum() == 11


def test_a_lost_syn_is_sent_again_after_the_initial_timeout():
    flow = tc.Flow("reno", transport=tc.Transport(initial_rto=1.5))
    changes = [tc.Change(4, "bottleneck", loss=0)]
    run = simulate(flow, duration=20, loss=0.9, changes=changes, seed=2)
    syn = [float(e["time"]) for e in events(run, "send", "retransmit") if e["seq"] == 0]
    assert syn[:3] == [0, 1.5, 4.5]
    sent = events(run, "send", "retransmit")
    assert (sent["seq"][sent["time"] < syn[-1] + 0.03] == 0).all()
    answered = events(run, "ack")["time"][0]
    assert (sent["time"] == answered).sum() == 1  # RFC 5681, 3.1: then the window is one packet


def probed():
    """A sender of one packet, whose application may write more, that has sent it again as a
    probe."""
    end = Endpoint("rack-tlp")
    end.set(to_send=1, awaits=1)
    end.start()
    assert end.sends(ALARM, end.recheck_at) == [0]
    return end


def test_an_outage_is_survived_by_backing_off():
    """No packet arrives for twenty seconds: the timer doubles, then the flow fills the link."""
    changes = [tc.Change(5, "bottleneck", loss=0.999999), tc.Change(25, "bottleneck", loss=0)]
    run = simulate(tc.Flow("newreno"), duration=60, changes=changes)
    during = events(run, "timeout")["time"]
    during = during[(during > 6) & (during < 25)]
    gaps = np.diff(during)
    assert gaps[1:] / gaps[:-1] == pytest.approx([2] * (len(gaps) - 1), rel=1e-3)
    assert run.throughput(after=45).item() > 9e6


def test_a_sender_never_exceeds_its_window_outside_recovery():
    """From the trace: at most cwnd packets, rounded down, are outstanding after a packet was sent,
    and two more by limited transmit."""
    run = simulate(tc.Flow("vegas"), tc.Flow("newreno", start=1), duration=20)
    for flow in (0, 1):
        acked, high, clean = 0, -1, True
        for e in run.events[run.events["flow"] == flow]:
            kind = EVENTS[e["event"]]
            if kind == "ack":
                acked, clean = max(acked, int(e["seq"])), clean or acked > high
            elif kind in ("loss", "timeout"):
                clean = False
            elif kind == "send":
                high = int(e["seq"])
                if clean:
                    assert high - acked + 1 <= math.floor(e["value"]) + 2


def test_every_ack_belongs_to_a_delivered_packet():
    run = simulate(tc.Flow("newreno"), tc.Flow("reno", recovery="sack"), duration=10, buffer=15)
    for flow in (0, 1):
        delivered = set()
        edge = 0
        for e in run.events[run.events["flow"] == flow]:
            kind = EVENTS[e["event"]]
            if kind == "deliver":
                assert int(e["seq"]) not in delivered
                delivered.add(int(e["seq"]))
            elif kind in ("ack", "dupack"):
                while edge in delivered:
                    edge += 1
                assert e["seq"] <= edge


# What only some controllers are told


def nothing(s, p, a):
    pass


def note_mark(s, p, a):
    s.pipe, s.told = a.pipe, a.total_delivered


@pytest.fixture
def noting():
    """A controller with a constant window and a packet every 0.1 s that notes the sample of a
    mark."""
    numbers = {"pacing_rate": 10.0, "pipe": 0.0, "told": 0.0}
    return tc.Controller(
        "noting", "", nothing, nothing, nothing, on_mark=note_mark, every_ack=True,
        state={name: tc.State(start, "", "") for name, start in numbers.items()},
    )  # fmt: skip


@pytest.mark.parametrize("recovery", [name for name, r in RECOVERIES.items() if r.selective])
def test_the_sample_of_a_mark_has_deliveries_and_packets_in_flight(recovery, noting):
    end = started(recovery, controller=noting, initial_window=10)
    for k in range(1, 5):
        assert end.sends(RELEASE, end.release_at) == [k]
    end.set(marked=1)
    end.ack(0.45, 1)
    assert (end.state["pipe"], end.state["told"]) == (3, 2)
    assert end.sample("acked", "delivered", "transmits") == (1, 2, 0)  # of on_ack


def test_packets_leave_at_the_pacing_rate(noting):
    end = Endpoint("sack", controller=noting, initial_window=10)
    assert end.start() == [0]
    for k in range(1, 5):
        assert end.release_at == pytest.approx(k / 10)
        assert end.sends(RELEASE, end.release_at - 1e-6) == []
        assert end.sends(RELEASE, end.release_at) == [k]
    assert end.sends(RELEASE, 7.0) == [5]
    assert end.release_at == pytest.approx(7.1)


def test_a_write_may_send_a_whole_burst_after_paced_packets(noting):
    """`max_burst`, although the packets before left one by one."""
    end = Endpoint("sack", controller=noting, initial_window=20, max_burst=3)
    end.set(to_send=3, awaits=1)
    assert end.start() == [0]
    for k in (1, 2):
        assert end.sends(RELEASE, end.release_at) == [k]
    assert end.write(1.0, 30) == [3]
    for k in (4, 5):
        assert end.release_at < math.inf
        assert end.sends(RELEASE, end.release_at) == [k]
    assert end.release_at == math.inf


def test_paced_packets_of_a_recovery_count_as_sent(noting):
    """RFC 9937, 6.3; pacing delays what an ACK has allowed (6.2), and sends no more."""
    end = started("sack-prr", controller=noting, initial_window=10)
    for k in range(1, 6):
        end.sends(RELEASE, k / 10)
    sent = [seq for k in (1, 2, 3, 4) for seq in end.dupack(0.5 + k / 1000, k)]
    assert (end.phase, sent, end.prr_out) == (RECOVERY, [0], 1)
    sent += end.sends(RELEASE, 2.0)
    assert end.prr_out == len(sent) == 2
    assert end.sends(RELEASE, 3.0) == []


def test_the_sample_of_a_restart_is_limited_by_the_application():
    def note(s, p, a):
        s.idle, s.limited, s.out = a.idle, a.limited, a.inflight

    state = {name: tc.State(-1, "", "") for name in ("idle", "limited", "out")}
    idle = tc.Controller("idle", "", nothing, nothing, nothing, on_restart=note, state=state)
    end = started("sack", controller=idle, size=2, awaits=1)
    end.ack(0.1, 1)
    end.write(5.0, 4)
    assert [float(end.state[name][0]) for name in state] == [5.0, 1.0, 0.0]
    assert end.sample("idle") == (0.0,)


def test_every_ack_is_counted():
    end = started("sack", initial_window=4)
    for number in (1, 1, 0, 3):  # new, duplicate, old, new
        end.sends(ACK, 0.1, number, number, 0, 0)
    assert end.acks == 4


def count_only(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        count_duplicate(f, f.now)


def test_paced_packets_do_not_wait_between_a_duplicate_ack_and_loss_detection(noting):
    """RFC 5681, 3.2: they are within cwnd."""
    tc.register(tc.Recovery("counting", "", count_only, selective=True))
    end = started("counting", controller=noting, initial_window=10, limited_transmit=False)
    assert end.sends(RELEASE, 0.1) == [1]
    end.dupack(0.15, 1)
    assert end.sends(RELEASE, 0.2) == [2]


def test_samples_are_application_limited_until_data_before_the_pause_is_delivered():
    """Whether or not an ACK arrives in the pause."""
    end = Endpoint("rack-tlp", initial_window=10)
    end.set(to_send=2, awaits=1)
    end.start()
    assert end.write(0.05, 4) == [2, 3]
    assert end.write(0.06, 100) == [4, 5, 6, 7, 8, 9]
    limited = []
    for k in range(2, 6):
        end.ack(0.1, k)
        limited.append(end.limited_until)
    assert limited == [4, 4, 0, 0]


def test_no_probe_is_sent_before_the_syn_is_acknowledged():
    """RFC 8985, 7.2, applies to established connections: a SYN waits for the timer, and data for
    the SYN."""
    end = started("rack-tlp", handshake=True, initial_window=4)
    assert end.recheck_at == math.inf
    assert end.time_out() == [0]
    assert end.ack(4.0, 0) == [1]


def test_a_probe_of_the_first_packet_is_evaluated_like_others():
    """It arrived as a duplicate; the next packet may be probed again."""
    end = probed()
    end.ack(1.1, 0)
    assert end.probed == 0
    end.ack(1.2, 0)
    assert end.probed == -1
    assert end.write(1.3, 2) == [1]
    assert 1.3 < end.recheck_at < end.deadline


def test_a_probe_without_a_second_answer_has_repaired_a_loss():
    """RFC 8985, 7.4.2: an ACK beyond it arrives before any duplicate."""
    end = probed()
    end.ack(1.1, 0)
    assert end.write(1.3, 2) == [1]
    assert (end.probed, end.loss_events) == (0, 0)
    end.ack(1.4, 1)
    assert (end.probed, end.loss_events) == (-1, 1)


def lost_thirty(recovery):
    """A sender of 1 to 42, of which 1 to 30 are lost, and what it sends on each duplicate ACK."""
    end = opened(recovery, initial_window=41)
    return end, [end.ack(0.2, 0, k, (31, k + 1)) for k in range(31, 43)]


def in_recovery():
    """A sender that has lost segment 1, repaired it, and sent 14 and 15 in recovery (up to 13)."""
    end = opened("rack-tlp", make=tc.Transport, initial_window=10)
    for k in range(2, 14):
        end.dupack(0.1 + 0.001 * k, k)
    assert (end.phase, end.loss_events, end.recover) == (RECOVERY, 1, 13)
    return end


def test_a_recovery_that_ends_with_lost_packets_begins_again():
    """Linux, ``tcp_fastretrans_alert``: in the same ACK, if packets marked lost are outstanding."""
    end = in_recovery()
    end.ack(0.24, 13, 1)
    assert (end.phase, end.loss_events) == (OPEN, 1)
    end = in_recovery()
    end.dupack(0.23, 15)  # 14, sent in recovery, is lost
    assert (end.phase, end.loss_events) == (RECOVERY, 1)
    end.ack(0.24, 13, 1)
    assert (end.phase, end.loss_events) == (RECOVERY, 2)
    assert end.recover > 15
    end.ack(0.25, end.recover, 14)
    assert (end.phase, end.loss_events) == (OPEN, 2)


def test_packets_marked_lost_are_in_the_network_again_after_an_undo():
    """Eifel shows that 1, retransmitted, was late: 2 to 8 are, too. They are not sent again."""
    end = opened("rack-tlp", make=tc.Transport, initial_window=12, eifel=True)
    for k in (9, 10, 11):
        end.dupack(0.1 + 0.001 * k, k)
    assert (end.phase, end.lost, end.pipe, end.cwnd) == (RECOVERY, 8, 4 + 1 - 1, 6.5)
    sent = end.ack(0.13, 1, 1)
    assert sent == [16, 17, 18]
    assert (end.phase, end.lost, end.cwnd) == (OPEN, 1, 14.0)
    assert end.pipe == len(range(2, 9)) + len(range(12, 16))  # before this ACK released others
