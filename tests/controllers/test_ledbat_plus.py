"""LEDBAT++: its gain, its two regimes, its slowdowns, and what they do to a late flow."""

import math

import pytest
from by_hand import Rules
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers.ledbat_plus import AVOIDING, FROZEN, RAMPING, STARTING, change, gain


def begin(**state):
    """A flow on a path of 100 ms without a queue."""
    sample = {"srtt": 0.1, "base_rtt": 0.1, "rtt": 0.1, "inflight": 1e6, "phase": 0.0}
    return Rules("ledbat_plus", sample=sample, **({"ssthresh": math.inf} | state))


@pytest.mark.parametrize(
    ("base", "expected"),
    [(0.2, 1), (0.12, 1), (0.1, 1 / 2), (0.04, 1 / 3), (0.01, 1 / 12), (1e-3, 1 / 16)],
)
def test_the_gain_falls_with_the_base_rtt(base, expected):
    """Section 4.2 of the draft: 1 / min(16, ceil(2 TARGET/base)), TARGET 60 ms."""
    assert gain(begin().p, base) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("queueing", "expected"),
    [
        (0.0, 0.5),
        (0.06, 0.5),
        (0.066, 0.5 - 40 * 0.1),
        (0.078, 0.5 - 40 * 0.3),
        (0.12, -20),
        (0.6, -20),
    ],
)
def test_additive_increase_up_to_the_target_and_multiplicative_decrease_above(queueing, expected):
    """Section 4.3, per round trip, for W = 40 and GAIN = 1/2; never more than W/2."""
    end = begin(cwnd=40.0, queueing=queueing)
    assert change(end.s, end.p, 0.1) == pytest.approx(expected)


def test_the_first_slow_start_ends_at_three_quarters_of_the_target():
    end = begin(cwnd=10.0)
    for k in range(4):
        s = end.ack(now=0.1 + k / 100)
    assert s.cwnd == pytest.approx(10 + 4 * 0.5)
    for k in range(4):  # the smallest of four
        assert s.mode == STARTING
        end.ack(now=1 + k / 100, rtt=0.1 + 0.046)
    assert s.mode == AVOIDING
    assert s.next_slowdown == pytest.approx(1.03 + 2 * 0.1)


def test_a_slowdown_is_two_round_trips_at_two_packets_and_slow_start_to_the_window_before():
    end = begin(cwnd=40.0, ssthresh=40.0, mode=AVOIDING, next_slowdown=5.0)
    s = end.ack(now=4.99)
    assert s.mode == AVOIDING
    before = s.cwnd
    for now in (5.0, 5.1, 5.199):
        end.ack(now=now)
        assert (s.mode, s.cwnd, s.ssthresh) == (FROZEN, 2.0, before)
    end.ack(now=5.2, rtt=0.3)  # a queue does not end this slow start
    assert s.mode == RAMPING
    while s.mode == RAMPING:
        end.ack(now=end.a.now + 0.01)
    ended = 5.2 + 0.01 * (before - 2) / 0.5
    assert end.a.now == pytest.approx(ended, abs=0.021)
    assert s.next_slowdown == pytest.approx(end.a.now + 9 * (end.a.now - 5.0))


def shares(name, other, *, start, buffer, duration, after):
    flows = [tc.Flow(name), tc.Flow(other, start=start)]
    run = tc.simulate(on_a_link(*flows, rate="20 Mbps", buffer=buffer, duration=duration))
    rates = run.throughput(after=after).values
    return rates / rates.sum(), run


def test_a_late_flow_gets_its_share_within_a_minute_and_no_more():
    """LEDBAT gives the late flow nearly all: it takes the first one's queue for the path."""
    late = {
        name: shares(name, name, start=20, buffer=1000, duration=110, after=80)[0][1]
        for name in ("ledbat", "ledbat_plus")
    }
    assert late["ledbat"] > 0.65
    assert late["ledbat_plus"] == pytest.approx(0.5, abs=0.05)


def test_it_holds_the_queue_at_its_target_and_yields_to_reno():
    (own, _), run = shares("ledbat_plus", "reno", start=30, buffer=300, duration=70, after=40)
    assert own < 0.1
    packets = 0.06 * 20e6 / 8000
    assert run.queue_mean(after=10, before=30) == pytest.approx(packets, rel=0.25)


def test_a_queue_below_three_quarters_of_the_target_does_not_end_slow_start():
    end = begin(cwnd=10.0)
    for k in range(12):
        s = end.ack(now=0.1 + k / 100, rtt=0.1 if k < 4 else 0.1 + 0.044)
    assert (s.queueing, s.mode) == (pytest.approx(0.044), STARTING)


@pytest.mark.parametrize(
    ("mode", "began"), [(STARTING, 7), (AVOIDING, 7), (FROZEN, 3), (RAMPING, 3)]
)
def test_a_timeout_begins_a_slowdown_unless_one_goes_on(mode, began):
    s = begin(cwnd=20.0, mode=mode, slowed_at=3.0).time_out(now=7.0)
    assert (s.slowed_at, s.mode, s.cwnd, s.ssthresh) == (began, RAMPING, 1, 10)
