"""Every rule of every controller against its equation, worked out here once more."""

import math
import pickle
import warnings
from types import SimpleNamespace

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers import controller as contract
from tcpcc.controllers.vegas import backlog, trend
from tcpcc.errors import ScenarioError
from tcpcc.transport.recovery import RECOVERIES

LOSS_BASED = ("tahoe", "reno", "newreno")
VEGAS_KIND = ("vegas", "quick_vegas", "newvegas", "vegas_a", "vegas_plus")
windows = st.floats(1, 1e5)
shares = st.floats(1e-3, 2)


def records(name, *, cwnd=10.0, ssthresh=5.0, p=None, **sample):
    """State, parameters and sample of a controller; the window in force is cwnd unless told."""
    s, params, a = CONTROLLERS.find(name).example()
    s.cwnd, s.ssthresh = cwnd, ssthresh
    vars(params).update(p or {})
    vars(a).update({"window": cwnd, "inflight": float(math.floor(cwnd))} | sample)
    return s, params, a


def with_delta(a, delta, window, base=0.1):
    """Make the sample of a round in which a full window's backlog was `delta` packets:
    W - W BaseRTT / RTT = delta."""
    a.inflight = a.round_packets = window
    a.base_rtt, a.round_rtt = base, base * window / (window - delta)
    return a


# Tahoe, Reno, NewReno


@pytest.mark.parametrize("name", LOSS_BASED)
@given(windows, shares)
def test_slow_start_adds_what_was_acknowledged(name, cwnd, acked):
    """RFC 5681, eq. 2."""
    s, p, a = records(name, cwnd=cwnd, ssthresh=math.nextafter(cwnd, math.inf), acked=acked)
    CONTROLLERS.find(name).on_ack(s, p, a)
    assert s.cwnd == cwnd + acked


@pytest.mark.parametrize("name", LOSS_BASED)
@given(windows, shares)
def test_congestion_avoidance_adds_one_packet_per_window(name, cwnd, acked):
    """RFC 5681, eq. 3: the increment times the window is what was acknowledged."""
    s, p, a = records(name, cwnd=cwnd, ssthresh=cwnd, acked=acked)
    CONTROLLERS.find(name).on_ack(s, p, a)
    assert s.cwnd * cwnd == pytest.approx(cwnd**2 + acked, rel=1e-15)


@pytest.mark.parametrize("name", ["reno", "newreno"])
@given(windows, st.floats(0.5, 1))
def test_a_loss_halves_the_window_in_force(name, cwnd, used):
    """RFC 5681, eq. 4, of the window in force (the receiver may allow less than cwnd)."""
    s, p, a = records(name, cwnd=cwnd, ssthresh=math.inf, window=used * cwnd)
    CONTROLLERS.find(name).on_loss(s, p, a)
    assert (s.cwnd, s.ssthresh) == (max(used * cwnd / 2, 2),) * 2


@pytest.mark.parametrize(
    ("name", "rule"),
    [("tahoe", "on_loss"), *((name, "on_timeout") for name in LOSS_BASED)],
)
@given(windows)
def test_slow_start_begins_again_at_one_packet(name, rule, cwnd):
    """ssthresh is half of the window before, so first the threshold, then the window."""
    s, p, a = records(name, cwnd=cwnd, ssthresh=math.inf)
    getattr(CONTROLLERS.find(name), rule)(s, p, a)
    assert (s.cwnd, s.ssthresh) == (1, max(cwnd / 2, 2))


@pytest.mark.parametrize(
    ("settings", "window", "cwnd", "ssthresh"),
    [
        ({}, 11.9, 5.95, 5.95),
        ({"integer_ssthresh": 1}, 11.9, 5.95, 5),
        ({"integer_ssthresh": 1}, 3.0, 1.5, 2),
        ({"integer_ssthresh": 1}, 1.5, 1, 2),
        ({"integer_window": 1}, 11.9, 5, 5),
        ({"integer_window": 1}, 12.9, 6, 6),
        ({"integer_ssthresh": 1, "integer_window": 1}, 13.9, 6, 6),
    ],
)
def test_reno_counts_in_whole_packets_where_ns_2_does(settings, window, cwnd, ssthresh):
    s, p, a = records("reno", cwnd=window, window=window, p=settings)
    CONTROLLERS.find("reno").on_loss(s, p, a)
    assert (s.cwnd, s.ssthresh) == (pytest.approx(cwnd), pytest.approx(ssthresh))
    s, p, a = records("reno", cwnd=window, window=window, p=settings)
    CONTROLLERS.find("reno").on_timeout(s, p, a)
    assert (s.cwnd, s.ssthresh) == (1, pytest.approx(ssthresh))


# Vegas


@given(st.integers(2, 5000), st.floats(0, 0.9), st.floats(1e-3, 1))
def test_vegas_backlog_is_the_window_times_the_share_of_queueing(window, share, base):
    """(1) with a full window: Delta = W (1 - BaseRTT/RTT)."""
    s, p, a = records("vegas", p={"integer_delta": 0.0})
    with_delta(a, share * window, window, base)
    assert backlog(s, p, a) == pytest.approx(share * window, rel=1e-9, abs=1e-9)


@given(st.floats(-3, 50))
def test_vegas_rounds_its_backlog_as_a_cast_in_c_does(delta):
    """int(x + 0.5) cuts towards zero: half up for x >= 0, one higher below -0.5."""
    s, p, a = records("vegas", p={"integer_delta": 1.0})
    with_delta(a, delta, 100.0)
    exact = (a.inflight / a.base_rtt - a.round_packets / a.round_rtt) * a.base_rtt
    expected = math.floor(exact + 0.5) if exact >= -0.5 else math.ceil(exact + 0.5)
    assert backlog(s, p, a) == expected


def test_vegas_backlog_counts_what_was_sent_in_the_round():
    """Actual is packets sent over RTT, also when that is less than the window."""
    s, p, a = records(
        "vegas", inflight=20.0, round_packets=10.0, base_rtt=0.1, round_rtt=0.125,
        p={"integer_delta": 0.0},
    )  # fmt: skip
    assert backlog(s, p, a) == pytest.approx((20 / 0.1 - 10 / 0.125) * 0.1)
    assert (s.expected, s.actual, s.base_rtt) == (20 / 0.1, 10 / 0.125, 0.1)  # what a trace shows


@pytest.mark.parametrize(
    ("delta", "cwnd", "incr"),
    [(0, 50, 1 / 50), (0.9, 50, 1 / 50), (1, 50, 0), (2, 50, 0), (3, 50, 0), (3.1, 49, 0)],
)
def test_vegas_steps_by_one_packet_outside_alpha_beta(delta, cwnd, incr):
    """(2) with alpha, beta = 1, 3, the real Delta; an increase is spread over the next round."""
    s, p, a = records("vegas", cwnd=50.0, ssthresh=2.0, p={"integer_delta": 0.0})
    # the bounds themselves belong to the region of no change, whatever rounding does to Delta
    with_delta(a, delta + {1: 1e-9, 3: -1e-9}.get(delta, 0), 50.0)
    s.incr = 0.5
    CONTROLLERS.find("vegas").on_round(s, p, a)
    assert (s.cwnd, s.incr) == (cwnd, incr)


@pytest.mark.parametrize("name", VEGAS_KIND)
def test_vegas_increase_of_a_round_adds_up_to_one_packet(name):
    """W ACKs that bring 1/W each, W being the window when the round began."""
    s, p, a = records(name, cwnd=64.0, ssthresh=2.0)
    s.incr = 1 / 64
    for _ in range(64):
        CONTROLLERS.find(name).on_ack(s, p, a)
    assert s.cwnd == 65


@pytest.mark.parametrize("name", VEGAS_KIND)
@pytest.mark.parametrize(("inflight", "grows"), [(10, True), (8, True), (7.99, False), (3, False)])
def test_vegas_grows_only_while_the_window_is_used(name, inflight, grows):
    s, p, a = records(name, cwnd=10.0, ssthresh=2.0, inflight=inflight)
    s.incr = 0.1
    CONTROLLERS.find(name).on_ack(s, p, a)
    assert s.cwnd == (10.1 if grows else 10.0)


@pytest.mark.parametrize("name", VEGAS_KIND)
def test_vegas_slow_start_doubles_every_other_round(name):
    """(3): in one of two rounds each ACK adds a packet, in the other the window is frozen."""
    s, p, a = records(name, cwnd=2.0, ssthresh=math.inf)
    sizes = []
    for _ in range(8):
        window = s.cwnd
        CONTROLLERS.find(name).on_round(s, p, with_delta(a, 0.0, window))
        for _ in range(int(window)):
            a.inflight = s.cwnd
            CONTROLLERS.find(name).on_ack(s, p, a)
        sizes.append(s.cwnd)
    assert sizes == [2, 4, 4, 8, 8, 16, 16, 32]


@pytest.mark.parametrize("name", VEGAS_KIND)
@pytest.mark.parametrize(("cwnd", "after"), [(64.0, 56.0), (2.2, 2.0)])
def test_vegas_leaves_slow_start_when_the_backlog_passes_gamma(name, cwnd, after):
    s, p, a = records(name, cwnd=cwnd, ssthresh=math.inf)
    s.frozen = 1.0
    with_delta(a, 2.0, cwnd * 4)
    CONTROLLERS.find(name).on_round(s, p, a)
    assert (s.cwnd, s.ssthresh, s.incr) == (after, 2, 0)


@pytest.mark.parametrize("name", VEGAS_KIND)
def test_vegas_slow_start_goes_on_at_gamma_itself(name):
    s, p, a = records(name, cwnd=64.0, ssthresh=math.inf)
    s.frozen = 1.0
    CONTROLLERS.find(name).on_round(s, p, with_delta(a, 1.0, 64.0))
    assert (s.cwnd, s.ssthresh, s.incr) == (64, math.inf, 1)


@pytest.mark.parametrize("name", VEGAS_KIND)
def test_vegas_slow_start_after_a_timeout_ends_at_ssthresh(name):
    s, p, a = records(name, cwnd=2.0, ssthresh=4.0)
    s.incr = 1.0
    sizes = []
    for _ in range(4):
        a.inflight = s.cwnd
        CONTROLLERS.find(name).on_ack(s, p, a)
        sizes.append(s.cwnd)
    assert (sizes, s.incr) == ([3, 4, 4, 4], 0)


@pytest.mark.parametrize("name", VEGAS_KIND)
@given(st.floats(1, 1e4), st.integers(1, 4))
def test_vegas_cuts_a_quarter_or_half_in_whole_packets(name, window, transmits):
    """(4): within a packet of 3W/4, or W/2 if the lost packet had been sent before; at least 2."""
    s, p, a = records(name, cwnd=window, ssthresh=math.inf, transmits=transmits)
    CONTROLLERS.find(name).on_loss(s, p, a)
    share = 3 / 4 if transmits == 1 else 1 / 2
    assert s.cwnd == max(s.cwnd, 2)
    assert s.cwnd == int(s.cwnd)
    if window >= 4:
        assert abs(s.cwnd - share * window) <= 1
    else:
        assert s.cwnd == 2
    assert s.ssthresh == 2


@pytest.mark.parametrize("name", VEGAS_KIND)
@given(windows)
def test_vegas_times_out_to_two_packets(name, window):
    s, p, a = records(name, cwnd=window, ssthresh=math.inf)
    CONTROLLERS.find(name).on_timeout(s, p, a)
    assert (s.cwnd, s.ssthresh) == (2, max(math.floor(window) // 2, 2))


@pytest.mark.parametrize("name", ["vegas", "vegas_a"])
def test_vegas_never_steps_below_two_packets(name):
    s, p, a = records(name, cwnd=2.5, ssthresh=2.0)
    CONTROLLERS.find(name).on_round(s, p, with_delta(a, 9.0, 40.0))
    assert s.cwnd == 2


# Quick Vegas


def quick_vegas_reference(deltas, cwnd, alpha=2.0, beta=4.0):
    """Section III-B of the paper in packets per round: every other Delta is not looked at; yields
    the window after each round, increases being complete at the round's end."""
    succ, mid = 0, (alpha + beta) / 2
    for k, delta in enumerate(deltas):
        if k % 2 == 1:  # the first round after slow start is a frozen one
            if delta < alpha:
                succ += 1
                cwnd += min((beta - delta) * succ, cwnd)
            else:
                succ = 0
                if delta > beta:
                    cwnd = max(cwnd - (delta - mid), 2.0)
                elif delta > mid:
                    cwnd = max(cwnd - 1, 2.0)
                elif delta < mid:
                    cwnd += 1
        yield cwnd


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.9, 2.5, 3.0, 3.5, 4.5, 7.0, 30.0]), max_size=40),
    st.floats(4, 500),
)
def test_quick_vegas_follows_the_paper(deltas, cwnd):
    s, p, a = records("quick_vegas", cwnd=cwnd, ssthresh=2.0, p={"integer_delta": 0.0})
    rule = CONTROLLERS.find("quick_vegas")
    for delta, expected in zip(deltas, quick_vegas_reference(deltas, cwnd), strict=True):
        a.base_rtt, a.round_rtt = 0.1, 0.2  # Delta = 1000 - sent / 2
        a.inflight, a.round_packets = 1000.0, 2 * (1000 - delta)
        rule.on_round(s, p, a)
        window = s.cwnd
        a.acked, a.inflight = window, window  # all ACKs of the round in one
        rule.on_ack(s, p, a)
        assert s.cwnd == pytest.approx(expected, rel=1e-9)


def test_quick_vegas_window_grows_with_the_square_of_its_updates():
    """n updates in a row at Delta = 0 add beta n (n + 1)/2: 312 packets take 12 (erratum A1)."""
    deltas = [0.0] * 24
    *_, last = quick_vegas_reference(deltas, 313.0)
    assert last - 313 == 4 * 12 * 13 / 2 == 312
    s, p, a = records("quick_vegas", cwnd=313.0, ssthresh=2.0)
    for _ in deltas:
        CONTROLLERS.find("quick_vegas").on_round(s, p, with_delta(a, 0.0, s.cwnd))
        a.acked = a.inflight = s.cwnd
        CONTROLLERS.find("quick_vegas").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(625)
    assert s.succ == 12


def test_quick_vegas_at_most_doubles():
    s, p, a = records("quick_vegas", cwnd=8.0, ssthresh=2.0)
    s.frozen, s.succ = 1.0, 10.0
    CONTROLLERS.find("quick_vegas").on_round(s, p, with_delta(a, 0.0, 8.0))
    assert (s.succ, s.incr) == (11, 1)


def test_quick_vegas_holds_its_window_in_the_frozen_round():
    s, p, a = records("quick_vegas", cwnd=40.0, ssthresh=2.0)
    s.frozen, s.incr = 0.0, 0.1
    CONTROLLERS.find("quick_vegas").on_round(s, p, with_delta(a, 20.0, 40.0))
    assert (s.cwnd, s.incr, s.frozen) == (40, 0, 1)


# Variants of Vegas whose thresholds move


def end_round(name, s, p, a, delta, window=100.0, **sample):
    """End a round in which a full window's backlog was `delta`; returns the step of the window,
    an increase being complete at the next round's end."""
    with_delta(a, delta, window)
    vars(a).update(sample)
    before = s.cwnd
    CONTROLLERS.find(name).on_round(s, p, a)
    return s.cwnd - before + round(s.incr * s.cwnd)


@pytest.mark.parametrize(("share", "expected"), [(1e-8, 1), (1e-12, 0), (-1e-12, 0), (-1e-8, -1)])
def test_a_trend_is_a_difference_above_rounding(share, expected):
    assert trend(0.1 * (1 + share), 0.1) == expected


def test_a_change_by_one_ack_of_queueing_is_a_trend():
    """The clock's last digit at 1000 s is none, 40 bytes at 100 Gb/s are."""
    assert trend(0.1 + math.ulp(1000.0), 0.1) == 0
    assert trend(0.1 + 320 / 100e9, 0.1) == 1


def watched(name, *, rtt=0.1, grown=0.0, **more):
    """Records in congestion avoidance, the last target packet having taken 100 ms; `rtt` is the
    present one's."""
    s, p, a = records(name, cwnd=100.0, ssthresh=2.0, rtt=rtt)
    s.target_rtt, s.target_window, s.grown = 0.1, 100.0, grown
    vars(s).update(more)
    return s, p, a


@pytest.mark.parametrize(
    ("rtt", "grown", "extra", "after"),
    [
        (0.11, 0, 0, 1),  # others fill the queue
        (0.11, 0, 4, 5),
        (0.11, 1, 4, 4),  # this flow may have done so itself
        (0.10, 0, 4, 3),
        (0.10, 1, 4, 3),
        (0.09, 0, 4, 3),
        (0.09, 1, 0, 0),
        (0.10, 0, 0, 0),
        (0.10 * (1 + 1e-13), 0, 0, 0),  # but for the clock's last digit
    ],
)
def test_newvegas_raises_its_thresholds_while_others_fill_the_queue(rtt, grown, extra, after):
    s, p, a = watched("newvegas", rtt=rtt, grown=grown, extra=extra)
    end_round("newvegas", s, p, a, 2.0)
    assert (s.extra, s.target_rtt) == (after, rtt)


@pytest.mark.parametrize(
    ("delta", "step"), [(2, 1), (3, 1), (4, 0), (5, 0), (6, 0), (7, -1), (9, -1)]
)
def test_newvegas_steps_by_the_thresholds_as_they_have_just_become(delta, step):
    """alpha, beta = 1 + 3, 3 + 3, after (1) has raised them from 1 + 2, 3 + 2."""
    s, p, a = watched("newvegas", rtt=0.11, extra=2.0)
    assert end_round("newvegas", s, p, a, delta) == step


@pytest.mark.parametrize("rule", ["on_loss", "on_timeout"])
@pytest.mark.parametrize(("name", "after"), [("newvegas", 0), ("vegas_a", 7)])
def test_newvegas_takes_back_its_thresholds_on_a_loss_and_vegas_a_keeps_them(name, after, rule):
    s, p, a = watched(name, extra=7.0)
    getattr(CONTROLLERS.find(name), rule)(s, p, a)
    assert s.extra == after


@pytest.mark.parametrize("name", ["newvegas", "vegas_plus"])
def test_the_window_that_counts_is_the_one_with_which_the_target_packet_was_sent(name):
    """100, 101, 101 packets: the growth belongs to the second target packet, whose round-trip time
    is measured when the window stands still again."""
    s, p, a = records(name, cwnd=100.0, ssthresh=2.0)
    told = []
    for window in (100.0, 101.0, 101.0, 100.0):
        s.cwnd = window
        end_round(name, s, p, a, 2.0)
        told.append((s.target_window, s.grown))
    assert told == [(100, 1), (101, 1), (101, 0), (100, 0)]


@pytest.mark.parametrize("name", ["newvegas", "vegas_plus"])
def test_a_target_packet_that_was_sent_twice_tells_nothing(name):
    s, p, a = watched(name, rtt=0.0)
    end_round(name, s, p, a, 2.0)
    assert s.target_rtt == 0.1
    assert (s.count if name == "vegas_plus" else s.extra) == 0


@pytest.mark.parametrize("name", ["newvegas", "vegas_plus", "vegas_a"])
def test_slow_start_moves_no_thresholds(name):
    s, p, a = records(name, cwnd=64.0, ssthresh=math.inf)
    for k in range(8):
        end_round(name, s, p, a, 0.0, window=64.0, rtt=0.1 + k / 100, round_packets=64.0 + k)
    assert (s.count if name == "vegas_plus" else s.extra) == 0
    assert s.ssthresh == math.inf


@pytest.mark.parametrize(
    ("delta", "throughput", "extra", "step", "change"),
    [
        # (1) with alpha, beta = 1, 3 and 4, 6; both bounds belong to it
        (1, "up", 0, 1, 1), (2, "up", 0, 1, 1), (3, "up", 0, 1, 1),
        (4, "up", 3, 1, 1), (5, "up", 3, 1, 1), (6, "up", 3, 1, 1),
        (1, "same", 0, 0, 0), (2, "same", 0, 0, 0), (3, "down", 0, 0, 0), (5, "down", 3, 0, 0),
        # (2)
        (0, "up", 0, 1, 0), (0, "same", 0, 1, 0), (0, "down", 0, 1, 0),
        (3, "up", 3, 1, 0), (3, "same", 3, 0, 0), (3, "down", 3, -1, -1), (0, "down", 1, -1, -1),
        # (3), whatever the throughput
        (4, "up", 0, -1, 0), (4, "same", 0, -1, 0), (4, "down", 0, -1, 0),
        (7, "up", 3, -1, -1), (7, "same", 3, -1, -1), (9, "down", 1, -1, -1),
    ],
)  # fmt: skip
def test_vegas_a_follows_the_original(delta, throughput, extra, step, change):
    """IPCCC 2003, section IV; the thesis misprints the signs of (1) and (2)."""
    s, p, a = records("vegas_a", cwnd=100.0, ssthresh=2.0)
    with_delta(a, delta, 100.0)
    now = a.round_packets / a.round_rtt
    s.throughput = now * {"up": 0.9, "same": 1 + 1e-13, "down": 1.1}[throughput]
    s.extra, s.incr = float(extra), 0.5
    assert end_round("vegas_a", s, p, a, delta) == step
    assert s.extra == extra + change
    assert s.throughput == now


@pytest.mark.parametrize(("delta", "step"), [(1, 0), (2, 1), (3, 0)])
def test_vegas_a_by_the_letter_of_its_paper_does_nothing_at_the_thresholds(delta, step):
    s, p, a = records("vegas_a", cwnd=100.0, ssthresh=2.0, p={"closed": 0.0})
    assert end_round("vegas_a", s, p, a, delta) == step
    assert s.extra == step


@pytest.mark.parametrize(
    ("rtt", "grown", "count", "after"),
    [
        (0.11, 0, 3, 4),
        (0.11, 1, 3, 3),
        (0.10, 0, 3, 3),
        (0.10 * (1 - 1e-13), 0, 3, 3),
        (0.09, 0, 3, 2),
        (0.09, 1, 3, 2),
        (0.09, 0, 0, 0),
    ],
)
@pytest.mark.parametrize("aggressive", [0.0, 1.0])
def test_vegas_plus_counts_how_often_others_fill_the_queue(aggressive, rtt, grown, count, after):
    s, p, a = watched("vegas_plus", rtt=rtt, grown=grown, count=count, aggressive=aggressive)
    end_round("vegas_plus", s, p, a, 2.0)
    assert s.count == after


@pytest.mark.parametrize(("count", "aggressive"), [(6.0, 0), (7.0, 1)])
def test_vegas_plus_becomes_aggressive_when_the_count_reaches_its_limit(count, aggressive):
    s, p, a = watched("vegas_plus", rtt=0.11, count=count, incr=0.01)
    end_round("vegas_plus", s, p, a, 0.0)
    assert s.aggressive == aggressive
    assert s.incr == (0 if aggressive else 1 / 100)


def test_vegas_plus_becomes_moderate_when_the_count_is_used_up():
    s, p, a = watched("vegas_plus", rtt=0.09, count=1.0, aggressive=1.0)
    s.cwnd = s.ssthresh = 50.0
    assert end_round("vegas_plus", s, p, a, 9.0) == -1  # as Vegas at once
    assert (s.aggressive, s.ssthresh) == (0, 2)


@pytest.mark.parametrize("delta", [0.0, 2.0, 50.0])
def test_aggressive_vegas_plus_is_reno(delta):
    s, p, a = watched("vegas_plus", count=5.0, aggressive=1.0)
    r, rp, _ = records("reno", cwnd=100.0, ssthresh=2.0)
    for _ in range(3):
        assert end_round("vegas_plus", s, p, a, delta) == 0
        CONTROLLERS.find("vegas_plus").on_ack(s, p, a)
        CONTROLLERS.find("reno").on_ack(r, rp, a)
        assert s.cwnd == r.cwnd > 100
    a.window = s.cwnd
    CONTROLLERS.find("vegas_plus").on_loss(s, p, a)
    CONTROLLERS.find("reno").on_loss(r, rp, a)
    assert (s.cwnd, s.ssthresh) == (r.cwnd, r.ssthresh)


@pytest.mark.parametrize(("count", "after"), [(9, 4), (8, 4), (3, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("aggressive", [0.0, 1.0])
def test_vegas_plus_halves_its_count_on_a_loss(aggressive, count, after):
    s, p, a = watched("vegas_plus", count=count, aggressive=aggressive)
    CONTROLLERS.find("vegas_plus").on_loss(s, p, a)
    assert s.count == after
    assert s.aggressive == (aggressive if after else 0)
    assert s.cwnd == (50 if aggressive else 75)
    assert s.ssthresh == (50 if s.aggressive else 2)


@pytest.mark.parametrize("aggressive", [0.0, 1.0])
def test_vegas_plus_begins_anew_after_a_timeout(aggressive):
    s, p, a = watched("vegas_plus", count=20.0, aggressive=aggressive)
    CONTROLLERS.find("vegas_plus").on_timeout(s, p, a)
    assert (s.count, s.aggressive, s.cwnd, s.ssthresh) == (0, 0, 2, 50)


# Parameters


def test_defaults_are_those_of_the_papers():
    assert CONTROLLERS.find("vegas").check({}) == {
        "alpha": 1, "beta": 3, "gamma": 1,
        "integer_delta": 1, "distinguished": 0, "start_cut": 1 / 8,
    }  # fmt: skip
    assert CONTROLLERS.find("quick_vegas").check({}) == {
        **CONTROLLERS.find("vegas").check({}),
        "alpha": 2,
        "beta": 4,
    }
    for name in ("newvegas", "vegas_a", "vegas_plus"):
        assert (
            CONTROLLERS.find("vegas").check({}).items() <= CONTROLLERS.find(name).check({}).items()
        )
    assert CONTROLLERS.find("vegas_plus").check({})["count_max"] == 8
    assert CONTROLLERS.find("vegas_a").check({})["closed"] == 1
    assert CONTROLLERS.find("reno").check({}) == {"integer_ssthresh": 0, "integer_window": 0}
    assert (
        CONTROLLERS.find("newreno").check({})
        == CONTROLLERS.find("tahoe").check({})
        == CONTROLLERS.find("reno").check({})
    )


def test_given_parameters_go_over_the_defaults():
    values = CONTROLLERS.find("vegas").check({"alpha": 2, "beta": 4.5})
    assert values == {**CONTROLLERS.find("vegas").check({}), "alpha": 2.0, "beta": 4.5}
    assert all(type(v) is float for v in values.values())


# The registry and the contract


def make(name="mine", **changes):
    def hold(s, p, a):
        s.cwnd = max(s.cwnd, 1.0)

    rules = {"on_ack": hold, "on_loss": hold, "on_timeout": hold}
    return tc.Controller(name=name, summary="holds", **rules | changes)


def test_a_misspelt_controller_gets_a_suggestion():
    with pytest.raises(ScenarioError, match="unknown controller 'vegass': did you mean 'vegas'"):
        CONTROLLERS.find("vegass")


def test_a_controller_is_taken_where_its_name_is():
    mine = make("handed_over")
    assert CONTROLLERS.find(mine) is mine
    assert "handed_over" not in CONTROLLERS.names()


def test_a_variant_differs_in_what_is_named():
    reno = CONTROLLERS["reno"]
    slower = reno.variant(
        name="slower",
        on_loss=reno.on_timeout,
        params={"integer_window": tc.Flag(True), "b": tc.Param(0.5)},
        state={"n": tc.State(0, "", "losses")},
    )
    assert (slower.name, slower.source, slower.on_ack) == ("slower", reno.source, reno.on_ack)
    assert slower.on_loss is reno.on_timeout
    assert {name: param.default for name, param in slower.params.items()} == {
        "integer_ssthresh": 0, "integer_window": 1, "b": 0.5
    }  # fmt: skip
    assert [*slower.state] == ["n"]
    assert reno.params["integer_window"].default == 0
    assert "slower" not in CONTROLLERS


def test_registering_again_replaces():
    first = tc.register(make())
    assert CONTROLLERS.find("mine") is first
    second = tc.register(make())
    assert CONTROLLERS.find("mine") is second
    assert CONTROLLERS.names().count("mine") == 1


def test_registering_the_name_of_another_says_so(monkeypatch):
    """Once: what is registered again from the same module replaces its own."""
    from tcpcc.controllers.controller import CONTROLLERS
    from tcpcc.errors import ScenarioWarning

    monkeypatch.setattr(CONTROLLERS, "_known", dict(CONTROLLERS._known))
    monkeypatch.setattr(CONTROLLERS, "_by", dict(CONTROLLERS._by))
    mine = make("reno")
    with pytest.warns(ScenarioWarning, match="controller 'reno' replaces the built-in one"):
        tc.register(mine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tc.register(make("reno"))
        tc.register(make("a_name_of_mine"))
    other = {"__name__": "other_module", "tc": tc, "one": mine}
    with pytest.warns(ScenarioWarning, match=f"'reno' replaces the one of {__name__}"):
        exec("tc.register(one)", other)


@pytest.mark.parametrize("name", CONTROLLERS.names())
def test_every_controller_is_documented(name):
    controller = CONTROLLERS.find(name)
    assert controller.name == name == name.lower()
    assert controller.recovery in RECOVERIES
    assert controller.summary
    assert controller.source
    for thing in [*controller.params.values(), *controller.state.values()]:
        assert thing.doc
    for param in controller.params.values():
        assert param.low <= param.default <= param.high


def test_the_table_has_a_row_for_every_parameter():
    table = tc.controllers()
    assert sorted(set(table["controller"])) == CONTROLLERS.names()
    vegas = table[table["controller"] == "vegas"].set_index("parameter")
    assert vegas["default"].to_dict() == CONTROLLERS.find("vegas").check({})
    assert vegas.loc["alpha", "unit"] == "packets"
    assert set(vegas["recovery"]) == {"vegas"}
    reno = table[table["controller"] == "reno"]
    assert list(reno["parameter"]) == ["integer_ssthresh", "integer_window"]


def reads(s, p, a):
    s.cwnd += a.ackd


def writes(s, p, a):
    s.cwmd = 1.0


def tunes(s, p, a):
    s.cwnd += p.gian


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ({"on_ack": reads}, r"'mine', on_ack, line \d+ .*a\.ackd.*acked"),
        ({"on_loss": writes}, r"on_loss, .*s\.cwmd: .*cwnd, ssthresh"),
        (
            {"on_round": tunes, "params": {"gain": tc.Param(1, "", "gain")}},
            r"p\.gian: not in the parameters.*it has gain",
        ),
        ({"state": {"cwnd": tc.State(1, "", "")}}, r"'mine': state 'cwnd' is common to all"),
    ],
)
def test_a_misspelt_field_is_refused_when_the_controller_is_made(made, says):
    with pytest.raises(ValueError, match=says) as error:
        make(**made)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["on_ack", "on_loss", "on_timeout"])
def test_a_rule_that_every_controller_has_is_a_function_or_left_out(name):
    with pytest.raises(ScenarioError, match=f"'mine', {name} = None: must be a function; leave"):
        tc.Controller("mine", "", **{name: None})
    s, p, a = tc.Controller("mine", "").example()
    getattr(tc.Controller("mine", ""), name)(s, p, a)
    assert (s.cwnd, s.ssthresh) == (10, 5)


def test_rules_whose_arithmetic_fails_on_the_example_are_accepted():
    def rule(s, p, a):
        s.cwnd += 1 / (a.rtt - 0.11)

    assert make(on_round=rule).on_round is rule


def test_the_example_has_the_fields_of_the_records():
    s, p, a = CONTROLLERS.find("quick_vegas").example()
    assert set(vars(s)) == {*contract.WINDOW, *CONTROLLERS.find("quick_vegas").state}
    assert set(vars(p)) == set(CONTROLLERS.find("quick_vegas").params)
    assert set(vars(a)) == set(contract.SAMPLE) == set(contract.sample_dtype.names)
    assert isinstance(s, SimpleNamespace)


def test_the_state_begins_with_the_common_window():
    vegas = CONTROLLERS.find("vegas")
    assert vegas.state_dtype.names[:4] == ("cwnd", "ssthresh", "incr", "frozen")
    assert vegas.initial_state[:4] == (1, math.inf, 0, 0)


def test_quick_vegas_doubles_also_after_a_slow_start_that_ended_at_ssthresh():
    """After a timeout slow start ends at ssthresh > 2; the capped step is not slow start's."""
    c = CONTROLLERS.find("quick_vegas")
    s, p, a = c.example()
    s.cwnd, s.ssthresh, s.frozen, s.succ = 8.0, 6.0, 1.0, 5.0
    a.round_rtt = a.base_rtt = 0.1
    a.inflight = a.round_packets = 8.0
    c.on_round(s, p, a)
    for _ in range(8):
        a.inflight = s.cwnd
        c.on_ack(s, p, a)
    assert s.cwnd == 16


def test_quick_vegas_forgets_its_successes_at_a_loss():
    c = CONTROLLERS.find("quick_vegas")
    for rule in (c.on_loss, c.on_timeout):
        s, p, a = c.example()
        s.succ = 9.0
        rule(s, p, a)
        assert s.succ == 0


def test_a_function_that_uses_a_registry_as_a_module_goes_to_another_process():
    names = {"queues": tc.queues}
    exec("def capacity(): return queues.RED(min_thresh=3, max_thresh=9)", names)
    copy = pickle.loads(cloudpickle.dumps(names["capacity"]))
    assert copy() == tc.queues.RED(min_thresh=3, max_thresh=9)
    assert copy.__globals__["queues"] is tc.queues
