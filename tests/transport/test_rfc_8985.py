"""Sentences of RFC 8985 (RACK-TLP), by section."""

import math
from types import SimpleNamespace

import pytest
from endpoint import ALARM, Endpoint, started

import tcpcc as tc
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY
from tcpcc.transport.recovery import rack

RTT = 0.1


def sender(window=10, make=tc.Transport, **settings):
    """Packets 0 to `window` - 1 are sent at 0 s; 0 is acknowledged after an RTT."""
    end = started("rack-tlp", make=make, initial_window=window, **settings)
    end.ack(RTT, 0)
    return end


# 6.2, step 2: the most recently sent segment that has been delivered


@pytest.mark.parametrize(("after", "taken"), [(0.5 * RTT, False), (RTT, True), (1.1 * RTT, True)])
def test_6_2_a_retransmission_answered_before_the_smallest_rtt_is_ignored(after, taken):
    """The ACK is that of the original. An ACK after exactly the smallest RTT counts."""
    end = sender()
    end.dupack(0.12, 2)
    sent = end.recheck_at
    assert end.sends(ALARM, sent)[0] == 1
    end.ack(sent + after, 2, 1)
    assert (end.newest == 1) == taken
    assert end.sent_at == (sent if taken else 0.0)


@pytest.mark.parametrize(("first", "second", "newest"), [(3, 5, 5), (5, 3, 5), (3, 11, 11)])
def test_6_2_of_segments_sent_together_the_higher_one_was_sent_later(first, second, newest):
    """10 and 11 were sent an RTT after the others."""
    end = sender()
    end.dupack(0.105, first)
    end.dupack(0.106 if second < 10 else 0.205, second)
    assert end.newest == newest
    assert end.sent_at == (RTT if newest >= 10 else 0.0)


# 6.2, step 3: reordering


@pytest.mark.parametrize(
    ("arrivals", "seen"), [((2, 3), 0), ((3, 2), 1), ((5, 2), 1), ((2, 5, 3), 1), ((5, 6, 7), 0)]
)
def test_6_2_a_segment_below_the_highest_delivered_one_shows_reordering(arrivals, seen):
    end = sender()
    for k, trigger in enumerate(arrivals):
        end.dupack(0.101 + k / 1000, trigger)
    assert end.reordered == seen


def test_6_2_a_retransmission_below_the_highest_delivered_one_shows_no_reordering():
    end = sender()
    end.dupack(0.12, 3)
    sent = end.recheck_at
    assert end.sends(ALARM, sent)[0] == 1
    end.ack(sent + RTT, 1)
    assert (end.highest, end.reordered) == (3, 0)


# 6.2, step 4: the reordering window


@pytest.mark.parametrize(
    ("reordered", "phase", "sacked", "quarters", "window"),
    [
        (0, OPEN, 0, 1, RTT / 4),
        (0, OPEN, 2, 1, RTT / 4),
        (0, OPEN, 3, 1, 0),  # DupThresh
        (0, RECOVERY, 1, 1, 0),
        (0, LOSS, 1, 1, 0),
        (1, OPEN, 3, 1, RTT / 4),
        (1, RECOVERY, 9, 1, RTT / 4),
        (1, RECOVERY, 9, 3, 3 * RTT / 4),
        (1, OPEN, 0, 4, RTT),
        (1, OPEN, 0, 6, 1.2 * RTT),  # at most SRTT
    ],
)
def test_6_2_the_reordering_window(reordered, phase, sacked, quarters, window):
    s = SimpleNamespace(reordered=reordered, quarters=quarters)
    f = SimpleNamespace(phase=phase, high_ack=9, dupack_threshold=3)
    d = SimpleNamespace(total=10 + sacked, base_rtt=RTT, srtt=1.2 * RTT)
    assert rack.reordering_window(s, f, d) == pytest.approx(window)


# 6.2, step 5, and 6.3: losses


def test_6_2_a_segment_is_lost_once_its_rtt_and_the_reordering_window_have_passed():
    """Not before: a timer is set for the remaining time (6.3)."""
    end = sender()
    assert end.dupack(0.12, 2) == [12]
    assert end.recheck_at == pytest.approx(0 + 0.12 + RTT / 4)
    assert end.sends(ALARM, end.recheck_at - 1e-6) == []
    assert end.loss_events == 0
    assert end.sends(ALARM, end.recheck_at)[0] == 1
    assert (end.phase, end.loss_events, end.lost) == (RECOVERY, 1, 1)


def test_6_2_only_segments_sent_before_the_newest_delivered_one_can_be_lost():
    end = sender()
    end.dupacks(0.12, 2, 3, 4)
    assert (end.loss_events, end.lost) == (1, 1)  # 5 to 11 are not
    assert end.recheck_at == math.inf


def test_6_2_the_loss_of_a_retransmission_is_detected():
    """By a segment sent after it, without the timer."""
    end = sender()
    sent = [seq for k in range(2, 12) for seq in end.dupack(0.12 + k / 1000, k)]
    assert sent == [12, 13, 1, 14, 15]
    end.dupack(0.23, 12)
    assert (end.lost, end.retransmitted) == (1, 1)
    assert 1 in end.dupack(0.24, 14)  # sent after it
    assert (end.loss_events, end.timeouts) == (1, 0)


# 7.2: when a probe is sent


@pytest.mark.parametrize(
    ("size", "ack_delay", "wait"),
    [(3, 0.0, 2 * RTT), (3, 0.05, 2 * RTT), (2, 0.0, 2 * RTT), (2, 0.05, 2 * RTT + 0.05)],
)
def test_7_2_a_probe_waits_for_two_srtt_and_for_a_delayed_ack_of_a_single_segment(
    size, ack_delay, wait
):
    end = sender(size, size=size, delayed_ack=ack_delay)
    assert end.recheck_at == pytest.approx(RTT + wait)


def test_7_2_the_delayed_ack_of_a_single_segment_causes_no_probe():
    """It arrives 140 ms after the segment; two SRTTs are 80 ms."""
    flow = tc.Flow("reno", size=1, recovery="rack-tlp", transport={"delayed_ack": 0.1})
    run = tc.simulate(tc.Scenario(tc.dumbbell("1 Gbps", "20 ms", 100), [flow], duration=2))
    assert float(run.data["finished"][0]) == pytest.approx(2 * 0.04 + 0.1, abs=0.001)
    assert int(run.data["retransmitted"].sum()) == 0


def test_7_2_without_an_rtt_sample_the_probe_waits_for_a_second():
    end = Endpoint("rack-tlp", initial_rto=3.0, initial_window=4)
    end.start(2.0)
    assert end.recheck_at == 2.0 + 1.0


def test_7_2_no_probe_is_sent_after_the_retransmission_timer():
    """A difference from the RFC and Linux, where the probe takes the timer's place."""
    rtt = 0.4
    end = started("rack-tlp", make=tc.Transport, rwnd=1)
    for k in range(60):
        assert end.ack((k + 1) * rtt, k) == [k + 1]
    assert end.deadline == pytest.approx(60 * rtt + rtt + 0.2, abs=0.01)
    assert end.recheck_at == math.inf


def test_7_2_new_data_and_cumulative_acks_restart_the_wait():
    end = sender(4, size=6)
    assert end.recheck_at == pytest.approx(RTT + 2 * RTT)
    end.ack(0.15, 1)
    srtt = RTT + (0.15 - RTT) / 8
    assert end.recheck_at == pytest.approx(0.15 + 2 * srtt)


def test_7_2_no_probe_is_scheduled_in_recovery():
    end = sender(10, size=10)
    end.dupacks(0.12, 2, 3, 4)
    assert (end.phase, end.recheck_at) == (RECOVERY, math.inf)


def test_7_2_no_probe_is_scheduled_between_a_timeout_and_the_ack_of_what_was_outstanding():
    """RTO recovery; in Linux the state is Open or CWR (``tcp_schedule_loss_probe``). New data sent
    in it are probed for once it has ended."""
    end = sender(4, size=9, frto=False)
    end.sends(ALARM, end.recheck_at)
    assert end.time_out() == [1]
    assert (end.phase, end.recheck_at) == (LOSS, math.inf)
    at = end.deadline - 0.1
    sent = [seq for k in range(1, 5) for seq in end.ack(at + k / 100, k)]
    assert (end.phase, end.recheck_at) == (LOSS, math.inf)
    assert max(sent) > end.recover
    end.ack(at + 0.05, end.recover)
    assert end.phase == OPEN
    assert end.recheck_at == pytest.approx(at + 0.05 + 2 * end.srtt)


def test_7_2_a_write_that_sends_nothing_does_not_postpone_the_probe():
    """Only new data sent and cumulative ACKs start the wait (Linux, ``tcp_write_xmit``)."""
    end = sender(4, size=9)
    at = end.recheck_at
    assert end.write(0.2, 20) == []
    assert end.recheck_at == at
    end = sender(4, size=5)
    assert end.write(0.15, 6) == [5]
    assert end.recheck_at == pytest.approx(0.15 + 2 * RTT)


# 7.3: what a probe sends


@pytest.mark.parametrize(("settings", "probe"), [({}, 12), ({"rwnd": 10}, 10), ({"size": 10}, 9)])
def test_7_3_a_probe_is_new_data_if_allowed_or_the_last_segment(settings, probe):
    """The congestion window does not matter, the receiver's does."""
    end = sender(**settings)
    assert end.sends(ALARM, end.recheck_at) == [probe]
    assert end.probed == probe
    assert end.repeats == (1 if settings else 0)


def test_7_3_there_is_one_probe_at_a_time_and_the_timer_starts_again():
    end = sender()
    at = end.recheck_at
    end.sends(ALARM, at)
    assert end.recheck_at == math.inf
    assert end.deadline == pytest.approx(at + end.rto)


def test_7_3_new_data_cause_no_second_probe_while_the_first_is_unanswered():
    """Also if the probe repeated segment 0."""
    end = Endpoint("rack-tlp", make=tc.Transport.ns2)
    end.set(to_send=1, awaits=1)
    end.start()
    assert end.sends(ALARM, end.recheck_at) == [0]
    assert end.write(1.1, 2) == [1]
    assert end.recheck_at == math.inf


# 7.4: whether a probe has repaired a loss


@pytest.mark.parametrize(
    "acks",
    [
        [(9, 9)],  # of the original or of the probe
        [(9, 9), (9, 9)],  # of both
        [(8, 8), (9, 9), (9, 9)],
    ],
)
def test_7_4_a_probe_that_was_received_twice_shows_no_loss(acks):
    end = sender(size=10)
    at = end.recheck_at
    end.sends(ALARM, at)
    for k, (number, trigger) in enumerate(acks):
        end.ack(at + 0.05 + k / 100, number, trigger)
    assert (end.loss_events, end.phase) == (0, OPEN)


def test_7_4_a_probe_of_new_data_is_no_repair():
    end = sender()
    at = end.recheck_at
    assert end.sends(ALARM, at) == [12]
    end.ack(at + RTT, 12)
    assert (end.probed, end.loss_events) == (-1, 0)
