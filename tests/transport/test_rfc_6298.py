"""Sentences of RFC 6298 (retransmission timer), by section."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from endpoint import Endpoint, opened, started

import tcpcc as tc
from tcpcc.transport.flow_record import RECOVERY
from tcpcc.transport.recovery import RECOVERIES
from tcpcc.transport.rto import measure, reset_timer

TIMED = ["newreno", "sack", "sack-prr", "rack-tlp"]


def sender(recovery, window=10, **settings):
    end = opened(recovery, make=tc.Transport, initial_window=window, **settings)
    return end


def test_2_1_the_first_timeout_is_a_second():
    end = Endpoint(make=tc.Transport)
    end.start(5.0)
    assert end.deadline == 6.0


@pytest.mark.parametrize(("rtt", "rto"), [(0.01, 0.21), (0.4, 1.2), (2.0, 6.0), (30.0, 60.0)])
def test_2_2_to_2_5_the_timeout_after_the_first_sample(rtt, rto):
    """R + max(G, 4 R/2); G is 0.2 s here as in Linux (2.3 would be the clock's tick), and the
    timeout is at most 60 s."""
    end = started(make=tc.Transport, initial_rto=60.0)
    end.ack(rtt, 0)
    assert end.deadline == pytest.approx(rtt + rto, abs=0.01)


@pytest.mark.parametrize("tick", [0.5, 0.01, 1e-3, 1e-9])
def test_2_3_samples_that_leave_the_estimate_need_no_update(tick):
    """The comparison that replaces the update gives the same bits as an update for each sample."""
    rows = [
        SimpleNamespace(
            coarse_timer=0, clock_phase=0.0, tick=tick, last_tick=0.0, last_tick_low=0.0,
            initial_rto=1.0, rto_margin=0.2, min_rto=0.2, max_rto=60.0,
        )
        for _ in range(2)
    ]  # fmt: skip
    draw = np.random.default_rng(1)
    for row in rows:
        reset_timer(row)
    now, rtt, skipped = 0.0, 0.1, 0
    for _ in range(20_000):
        now += draw.choice([1e-4, tick, draw.uniform(0, 1e-3)])
        rtt = abs(rtt + draw.choice([0.0, 0.0, draw.normal(0, 1e-3), tick]) * draw.choice([-1, 1]))
        rows[1].settled_from = math.inf
        measure(rows[0], now, rtt)
        measure(rows[1], now, rtt)
        settled = ("settled_from", "settled_until")
        first, second = ({k: v for k, v in vars(x).items() if k not in settled} for x in rows)
        assert first == second
        skipped += rows[0].settled_from < math.inf
    assert (skipped > 1000) == (tick > 1e-6)


def acknowledged_twice(recovery):
    """Retransmission and original of packet 1 may both have caused the ACK at 0.5 s."""
    end = sender(recovery)
    end.dupacks(0.2, 2, 3, 4, 5)
    assert (end.phase, end.retransmitted) == (RECOVERY, 1)
    return end


@pytest.mark.parametrize("recovery", [name for name in RECOVERIES if name != "vegas-ns2"])
def test_3_a_segment_that_was_sent_twice_gives_no_sample(recovery):
    end = sender(recovery, window=2)
    rto = end.rto
    end.time_out()
    end.ack(9.0, 1)
    assert (end.rto, end.backoff) == (rto, 2)


def test_3_a_selective_acknowledgement_gives_a_sample_and_ends_the_backoff():
    """With RACK, as in Linux: an ACK that advances nothing, of a packet sent once."""
    end = acknowledged_twice("rack-tlp")
    end.set(backoff=4)
    before = end.srtt8, end.rttvar4
    end.dupack(0.3, 7)
    assert end.backoff == 1
    assert (end.srtt8, end.rttvar4) != before


def test_3_an_ack_that_reports_nothing_new_gives_no_sample():
    end = acknowledged_twice("rack-tlp")
    end.dupack(0.3, 7)
    end.set(backoff=4)
    before = end.srtt8, end.rttvar4
    end.dupack(0.5, 7)
    assert (end.backoff, end.srtt8, end.rttvar4) == (4, *before)


def test_3_an_ack_of_a_timed_segment_ends_the_backoff_though_a_repair_caused_it():
    """The newest delivered segment is a retransmission, so the ACK gives no other sample."""
    end = acknowledged_twice("rack-tlp")
    end.set(backoff=4, timing=1, timed_seq=5)
    end.ack(0.31, 5, 1)
    assert (end.phase, end.backoff) == (RECOVERY, 1)


@pytest.mark.parametrize("recovery", TIMED)
def test_5_1_a_running_timer_is_not_restarted_by_new_data(recovery):
    end = sender(recovery)
    expires = end.deadline
    end.set(to_send=12, awaits=1, cwnd=20.0)
    assert end.write(0.15, 100) != []
    assert end.deadline == expires


@pytest.mark.parametrize("recovery", TIMED)
def test_5_3_an_ack_of_new_data_restarts_the_timer_and_a_duplicate_does_not(recovery):
    end = sender(recovery)
    expires = end.deadline
    end.dupack(0.15, 2)
    assert end.deadline == expires
    end.ack(0.16, 2, 1)
    assert end.deadline == pytest.approx(0.16 + end.rto)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_5_4_to_5_6_expiry_repeats_the_first_segment_doubles_the_timeout_and_starts_it(recovery):
    end = sender(recovery)
    rto = end.rto
    for doubled in (2, 4, 8):
        now = end.deadline
        assert end.time_out()[0] == 1
        assert end.deadline == pytest.approx(now + doubled * rto)


@pytest.mark.parametrize("recovery", ["newreno", "sack-prr", "rack-tlp"])
@pytest.mark.parametrize(
    ("make", "repeats", "waits", "rto", "window"),
    [
        (tc.Transport, 0, [1], 0.3, 10),
        (tc.Transport, 1, [1, 2], 2, 1),
        (tc.Transport, 2, [1, 2, 4], 4, 1),
        (tc.Transport.ns2, 1, [3, 6], 6, 1),
    ],
)
def test_5_5_the_timer_doubles_for_each_syn_until_the_first_sample(
    recovery, make, repeats, waits, rto, window
):
    """Section 5.7 would make it 3 s. RFC 5681, 3.1: the initial window is one packet if the SYN was
    sent more than once."""
    end = started(recovery, make=make, handshake=True)
    at = [0.0, end.deadline]
    for _ in range(repeats):
        assert end.time_out() == [0]
        at.append(end.deadline)
    assert np.diff(at).tolist() == waits
    now = at[-2] + 0.1
    end.set(echoes_repair=1)
    assert len(end.ack(now, 0)) == window
    assert end.deadline - now == pytest.approx(rto, abs=0.02)


@pytest.mark.parametrize("repeats", [1, 2])
def test_5_7_the_next_sample_replaces_the_backoff(repeats):
    end = started("rack-tlp", make=tc.Transport, handshake=True)
    for _ in range(repeats):
        end.time_out()
    end.set(echoes_repair=1)
    end.ack(8.0, 0)
    end.ack(8.1, 1)
    assert (end.rto, end.backoff) == (pytest.approx(0.3, abs=0.02), 1)
    assert not math.isinf(end.deadline)
