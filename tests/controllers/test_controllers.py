"""Every rule of every controller against its equation, worked out here once more."""

import math
import pickle
import warnings
from types import SimpleNamespace

import cloudpickle
import pytest
from by_hand import Rules
from hypothesis import given
from hypothesis import strategies as st
from vegas_sender import Sender

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers import controller as contract
from tcpcc.controllers.vegas import backlog, trend
from tcpcc.errors import ScenarioError, ScenarioWarning
from tcpcc.transport.recovery import RECOVERIES

LOSS_BASED = ("tahoe", "reno", "newreno")
VEGAS_KIND = pytest.mark.parametrize(
    "name", ["vegas", "quick_vegas", "newvegas", "vegas_a", "vegas_plus"]
)
REAL_DELTA = {"integer_delta": False}
windows = st.floats(1, 1e5)
shares = st.floats(1e-3, 2)


# Tahoe, Reno, NewReno


@pytest.mark.parametrize("name", LOSS_BASED)
@given(windows, shares)
def test_slow_start_adds_what_was_acknowledged(name, cwnd, acked):
    """RFC 5681, eq. 2."""
    s = Rules(name, cwnd=cwnd, ssthresh=math.nextafter(cwnd, math.inf)).ack(acked=acked)
    assert s.cwnd == cwnd + acked


@pytest.mark.parametrize("name", LOSS_BASED)
@given(windows, shares)
def test_congestion_avoidance_adds_one_packet_per_window(name, cwnd, acked):
    """RFC 5681, eq. 3: the increment times the window is what was acknowledged."""
    s = Rules(name, cwnd=cwnd, ssthresh=cwnd).ack(acked=acked)
    assert s.cwnd * cwnd == pytest.approx(cwnd**2 + acked, rel=1e-15)


@pytest.mark.parametrize("name", ["reno", "newreno"])
@given(windows, st.floats(0.5, 1))
def test_a_loss_halves_the_window_in_force(name, cwnd, used):
    """RFC 5681, eq. 4, of the window in force (the receiver may allow less than cwnd)."""
    s = Rules(name, cwnd=cwnd, ssthresh=math.inf).lose(window=used * cwnd)
    assert (s.cwnd, s.ssthresh) == (max(used * cwnd / 2, 2),) * 2


@pytest.mark.parametrize(
    ("name", "rule"),
    [("tahoe", "on_loss"), *((name, "on_timeout") for name in LOSS_BASED)],
)
@given(windows)
def test_slow_start_begins_again_at_one_packet(name, rule, cwnd):
    """ssthresh is half of the window before, so first the threshold, then the window."""
    s = Rules(name, cwnd=cwnd, ssthresh=math.inf).call(rule)
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
    for rule, left in (("on_loss", cwnd), ("on_timeout", 1)):
        s = Rules("reno", cwnd=window, params=settings).call(rule)
        assert (s.cwnd, s.ssthresh) == pytest.approx((left, ssthresh))


# Vegas


@given(st.integers(2, 5000), st.floats(0, 0.9), st.floats(1e-3, 1))
def test_vegas_backlog_is_the_window_times_the_share_of_queueing(window, share, base):
    """(1) with a full window: Delta = W (1 - BaseRTT/RTT)."""
    end = Sender("vegas", params=REAL_DELTA).full(share * window, window, base)
    assert backlog(end.s, end.p, end.a) == pytest.approx(share * window, rel=1e-9, abs=1e-9)


@given(st.floats(-3, 50))
def test_vegas_rounds_its_backlog_as_a_cast_in_c_does(delta):
    """int(x + 0.5) cuts towards zero: half up for x >= 0, one higher below -0.5."""
    end = Sender("vegas").full(delta, 100.0)
    a = end.a
    exact = (a.inflight / a.base_rtt - a.round_packets / a.round_rtt) * a.base_rtt
    expected = math.floor(exact + 0.5) if exact >= -0.5 else math.ceil(exact + 0.5)
    assert backlog(end.s, end.p, a) == expected


def test_vegas_backlog_counts_what_was_sent_in_the_round():
    """Actual is packets sent over RTT, also when that is less than the window."""
    sample = {"inflight": 20.0, "round_packets": 10.0, "base_rtt": 0.1, "round_rtt": 0.125}
    end = Rules("vegas", sample=sample, params=REAL_DELTA)
    assert backlog(end.s, end.p, end.a) == pytest.approx((20 / 0.1 - 10 / 0.125) * 0.1)
    traced = end.s.expected, end.s.actual, end.s.base_rtt
    assert traced == (20 / 0.1, 10 / 0.125, 0.1)


@pytest.mark.parametrize(
    ("delta", "cwnd", "incr"),
    [(0, 50, 1 / 50), (0.9, 50, 1 / 50), (1, 50, 0), (2, 50, 0), (3, 50, 0), (3.1, 49, 0)],
)
def test_vegas_steps_by_one_packet_outside_alpha_beta(delta, cwnd, incr):
    """(2) with alpha, beta = 1, 3, the real Delta; an increase is spread over the next round."""
    # the bounds themselves belong to the region of no change, whatever rounding does to Delta
    delta += {1: 1e-9, 3: -1e-9}.get(delta, 0)
    s = Sender("vegas", cwnd=50.0, params=REAL_DELTA, incr=0.5).full(delta, 50.0).round()
    assert (s.cwnd, s.incr) == (cwnd, incr)


@VEGAS_KIND
def test_vegas_increase_of_a_round_adds_up_to_one_packet(name):
    """W ACKs that bring 1/W each, W being the window when the round began."""
    end = Rules(name, cwnd=64.0, incr=1 / 64)
    for _ in range(64):
        end.ack()
    assert end.s.cwnd == 65


@VEGAS_KIND
@pytest.mark.parametrize(("inflight", "grows"), [(10, True), (8, True), (7.99, False), (3, False)])
def test_vegas_grows_only_while_the_window_is_used(name, inflight, grows):
    s = Rules(name, cwnd=10.0, incr=0.1).ack(inflight=inflight)
    assert s.cwnd == (10.1 if grows else 10.0)


@VEGAS_KIND
def test_vegas_slow_start_doubles_every_other_round(name):
    """(3): in one of two rounds each ACK adds a packet, in the other the window is frozen."""
    end = Sender(name, cwnd=2.0, ssthresh=math.inf)
    sizes = []
    for _ in range(8):
        window = end.s.cwnd
        end.full(0.0, window).round()
        for _ in range(int(window)):
            end.ack(inflight=end.s.cwnd)
        sizes.append(end.s.cwnd)
    assert sizes == [2, 4, 4, 8, 8, 16, 16, 32]


@VEGAS_KIND
@pytest.mark.parametrize(
    ("cwnd", "delta", "after"),
    [(64.0, 2.0, (56, 2, 0)), (2.2, 2.0, (2, 2, 0)), (64.0, 1.0, (64, math.inf, 1))],
)
def test_vegas_leaves_slow_start_when_the_backlog_passes_gamma(name, cwnd, delta, after):
    """At gamma itself, 1, it goes on."""
    s = Sender(name, cwnd=cwnd, ssthresh=math.inf, frozen=1.0).full(delta, cwnd * 4).round()
    assert (s.cwnd, s.ssthresh, s.incr) == after


@VEGAS_KIND
def test_vegas_slow_start_after_a_timeout_ends_at_ssthresh(name):
    end = Rules(name, cwnd=2.0, ssthresh=4.0, incr=1.0)
    sizes = [end.ack(inflight=end.s.cwnd).cwnd for _ in range(4)]
    assert (sizes, end.s.incr) == ([3, 4, 4, 4], 0)


@VEGAS_KIND
@given(st.floats(1, 1e4), st.integers(1, 4))
def test_vegas_cuts_a_quarter_or_half_in_whole_packets(name, window, transmits):
    """(4): within a packet of 3W/4, or W/2 if the lost packet had been sent before; at least 2."""
    s = Rules(name, cwnd=window, ssthresh=math.inf).lose(transmits=transmits)
    share = 3 / 4 if transmits == 1 else 1 / 2
    assert s.cwnd == max(int(s.cwnd), 2)
    assert abs(s.cwnd - share * window) <= 1 if window >= 4 else s.cwnd == 2
    assert s.ssthresh == 2


@VEGAS_KIND
@given(windows)
def test_vegas_times_out_to_two_packets(name, window):
    s = Rules(name, cwnd=window, ssthresh=math.inf).time_out()
    assert (s.cwnd, s.ssthresh) == (2, max(math.floor(window) // 2, 2))


@pytest.mark.parametrize("name", ["vegas", "vegas_a"])
def test_vegas_never_steps_below_two_packets(name):
    assert Sender(name, cwnd=2.5).full(9.0, 40.0).round().cwnd == 2


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
    end = Rules("quick_vegas", cwnd=cwnd, params=REAL_DELTA)
    for delta, expected in zip(deltas, quick_vegas_reference(deltas, cwnd), strict=True):
        # Delta = 1000 - sent / 2
        sent = {"inflight": 1000.0, "round_packets": 2 * (1000 - delta)}
        end.round(base_rtt=0.1, round_rtt=0.2, **sent)
        end.ack(acked=end.s.cwnd, inflight=end.s.cwnd)  # all ACKs of the round in one
        assert end.s.cwnd == pytest.approx(expected, rel=1e-9)


def test_quick_vegas_window_grows_with_the_square_of_its_updates():
    """n updates in a row at Delta = 0 add beta n (n + 1)/2: 312 packets take 12 (erratum A1)."""
    *_, last = quick_vegas_reference([0.0] * 24, 313.0)
    assert last - 313 == 4 * 12 * 13 / 2 == 312
    end = Sender("quick_vegas", cwnd=313.0)
    for _ in range(24):
        end.full(0.0, end.s.cwnd).round()
        end.ack(acked=end.s.cwnd, inflight=end.s.cwnd)
    assert end.s.cwnd == pytest.approx(625)
    assert end.s.succ == 12


@pytest.mark.parametrize("ssthresh", [2.0, 6.0])
def test_quick_vegas_at_most_doubles(ssthresh):
    """Also after a timeout, from which slow start ends at ssthresh > 2; the capped step is not slow
    start's."""
    end = Sender("quick_vegas", cwnd=8.0, ssthresh=ssthresh, frozen=1.0, succ=10.0)
    s = end.full(0.0, 8.0).round()
    assert (s.succ, s.incr) == (11, 1)
    for _ in range(8):
        end.ack(inflight=s.cwnd)
    assert s.cwnd == 16


def test_quick_vegas_holds_its_window_in_the_frozen_round():
    s = Sender("quick_vegas", cwnd=40.0, frozen=0.0, incr=0.1).full(20.0, 40.0).round()
    assert (s.cwnd, s.incr, s.frozen) == (40, 0, 1)


@pytest.mark.parametrize("rule", ["on_loss", "on_timeout"])
def test_quick_vegas_forgets_its_successes_at_a_loss(rule):
    assert Rules("quick_vegas", succ=9.0).call(rule).succ == 0


# Variants of Vegas whose thresholds move


@pytest.mark.parametrize(("share", "expected"), [(1e-8, 1), (1e-12, 0), (-1e-12, 0), (-1e-8, -1)])
def test_a_trend_is_a_difference_above_rounding(share, expected):
    assert trend(0.1 * (1 + share), 0.1) == expected


def test_a_change_by_one_ack_of_queueing_is_a_trend():
    """The clock's last digit at 1000 s is none, 40 bytes at 100 Gb/s are."""
    assert trend(0.1 + math.ulp(1000.0), 0.1) == 0
    assert trend(0.1 + 320 / 100e9, 0.1) == 1


def watched(name, *, rtt=0.1, grown=0.0, **state):
    """A sender in congestion avoidance, the last target packet having taken 100 ms; `rtt` is the
    present one's."""
    last = {"target_rtt": 0.1, "target_window": 100.0, "grown": grown}
    return Sender(name, cwnd=100.0, sample={"rtt": rtt}, **(last | state))


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
    end = watched("newvegas", rtt=rtt, grown=grown, extra=extra)
    end.end_round(2.0)
    assert (end.s.extra, end.s.target_rtt) == (after, rtt)


@pytest.mark.parametrize(
    ("delta", "step"), [(2, 1), (3, 1), (4, 0), (5, 0), (6, 0), (7, -1), (9, -1)]
)
def test_newvegas_steps_by_the_thresholds_as_they_have_just_become(delta, step):
    """alpha, beta = 1 + 3, 3 + 3, after (1) has raised them from 1 + 2, 3 + 2."""
    assert watched("newvegas", rtt=0.11, extra=2.0).end_round(delta) == step


@pytest.mark.parametrize("rule", ["on_loss", "on_timeout"])
@pytest.mark.parametrize(("name", "after"), [("newvegas", 0), ("vegas_a", 7)])
def test_newvegas_takes_back_its_thresholds_on_a_loss_and_vegas_a_keeps_them(name, after, rule):
    assert Rules(name, extra=7.0).call(rule).extra == after


@pytest.mark.parametrize("name", ["newvegas", "vegas_plus"])
def test_the_window_that_counts_is_the_one_with_which_the_target_packet_was_sent(name):
    """100, 101, 101 packets: the growth belongs to the second target packet, whose round-trip time
    is measured when the window stands still again."""
    end = Sender(name, cwnd=100.0)
    told = []
    for end.s.cwnd in (100.0, 101.0, 101.0, 100.0):
        end.end_round(2.0)
        told.append((end.s.target_window, end.s.grown))
    assert told == [(100, 1), (101, 1), (101, 0), (100, 0)]


@pytest.mark.parametrize(("name", "moved"), [("newvegas", "extra"), ("vegas_plus", "count")])
def test_a_target_packet_that_was_sent_twice_tells_nothing(name, moved):
    end = watched(name, rtt=0.0)
    end.end_round(2.0)
    assert (end.s.target_rtt, getattr(end.s, moved)) == (0.1, 0)


@pytest.mark.parametrize(
    ("name", "moved"), [("newvegas", "extra"), ("vegas_plus", "count"), ("vegas_a", "extra")]
)
def test_slow_start_moves_no_thresholds(name, moved):
    end = Sender(name, cwnd=64.0, ssthresh=math.inf)
    for k in range(8):
        end.end_round(0.0, 64.0, rtt=0.1 + k / 100, round_packets=64.0 + k)
    assert (getattr(end.s, moved), end.s.ssthresh) == (0, math.inf)


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
    end = Sender("vegas_a", cwnd=100.0, extra=float(extra), incr=0.5).full(delta, 100.0)
    now = end.a.round_packets / end.a.round_rtt
    end.s.throughput = now * {"up": 0.9, "same": 1 + 1e-13, "down": 1.1}[throughput]
    assert end.end_round(delta) == step
    assert end.s.extra == extra + change
    assert end.s.throughput == now


@pytest.mark.parametrize(("delta", "step"), [(1, 0), (2, 1), (3, 0)])
def test_vegas_a_by_the_letter_of_its_paper_does_nothing_at_the_thresholds(delta, step):
    end = Sender("vegas_a", cwnd=100.0, params={"closed": False})
    assert (end.end_round(delta), end.s.extra) == (step, step)


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
    end = watched("vegas_plus", rtt=rtt, grown=grown, count=count, aggressive=aggressive)
    end.end_round(2.0)
    assert end.s.count == after


@pytest.mark.parametrize(("count", "aggressive", "incr"), [(6.0, 0, 1 / 100), (7.0, 1, 0)])
def test_vegas_plus_becomes_aggressive_when_the_count_reaches_its_limit(count, aggressive, incr):
    end = watched("vegas_plus", rtt=0.11, count=count, incr=0.01)
    end.end_round(0.0)
    assert (end.s.aggressive, end.s.incr) == (aggressive, incr)


def test_vegas_plus_becomes_moderate_when_the_count_is_used_up():
    end = watched("vegas_plus", rtt=0.09, count=1.0, aggressive=1.0)
    end.s.cwnd = end.s.ssthresh = 50.0
    assert end.end_round(9.0) == -1  # as Vegas at once
    assert (end.s.aggressive, end.s.ssthresh) == (0, 2)


@pytest.mark.parametrize("delta", [0.0, 2.0, 50.0])
def test_aggressive_vegas_plus_is_reno(delta):
    plus, reno = watched("vegas_plus", count=5.0, aggressive=1.0), Rules("reno", cwnd=100.0)
    for _ in range(3):
        assert plus.end_round(delta) == 0
        assert plus.ack().cwnd == reno.ack().cwnd > 100
    plus.lose(window=plus.s.cwnd)
    reno.lose(window=reno.s.cwnd)
    assert (plus.s.cwnd, plus.s.ssthresh) == (reno.s.cwnd, reno.s.ssthresh)


@pytest.mark.parametrize(("count", "after"), [(9, 4), (8, 4), (3, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("aggressive", [0.0, 1.0])
def test_vegas_plus_halves_its_count_on_a_loss(aggressive, count, after):
    s = watched("vegas_plus", count=count, aggressive=aggressive).lose()
    assert (s.count, s.aggressive) == (after, aggressive if after else 0)
    assert s.cwnd == (50 if aggressive else 75)
    assert s.ssthresh == (50 if s.aggressive else 2)


@pytest.mark.parametrize("aggressive", [0.0, 1.0])
def test_vegas_plus_begins_anew_after_a_timeout(aggressive):
    s = watched("vegas_plus", count=20.0, aggressive=aggressive).time_out()
    assert (s.count, s.aggressive, s.cwnd, s.ssthresh) == (0, 0, 2, 50)


# Parameters


def test_defaults_are_those_of_the_papers():
    defaults = {name: CONTROLLERS.find(name).check({}) for name in CONTROLLERS}
    vegas = {
        "alpha": 1, "beta": 3, "gamma": 1,
        "integer_delta": 1, "distinguished": 0, "start_cut": 1 / 8,
    }  # fmt: skip
    assert defaults["vegas"] == vegas
    assert defaults["quick_vegas"] == {**vegas, "alpha": 2, "beta": 4}
    for name in ("newvegas", "vegas_a", "vegas_plus"):
        assert vegas.items() <= defaults[name].items()
    assert defaults["vegas_plus"]["count_max"] == 8
    assert defaults["vegas_a"]["closed"] == 1
    for name in LOSS_BASED:
        assert defaults[name] == {"integer_ssthresh": 0, "integer_window": 0}


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


def test_a_function_that_uses_a_registry_as_a_module_goes_to_another_process():
    names = {"queues": tc.queues}
    exec("def capacity(): return queues.RED(min_thresh=3, max_thresh=9)", names)
    copy = pickle.loads(cloudpickle.dumps(names["capacity"]))
    assert copy() == tc.queues.RED(min_thresh=3, max_thresh=9)
    assert copy.__globals__["queues"] is tc.queues
