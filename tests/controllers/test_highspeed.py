"""The loss-based high-speed controllers: their rules, branch by branch, and response to loss."""

import math
from itertools import repeat

import numpy as np
import pytest
from by_hand import Rules
from every_model import EVERY_MODEL, WAYS, simulate_in
from on_a_link import mean_over_seeds, on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.hstcp import TABLE, decrease, increase


def begin(name, window=100.0, rtt=0.1, params=None, **state):
    """A flow in congestion avoidance at `window`."""
    sample = {"now": 0.0, **dict.fromkeys(("rtt", "srtt", "base_rtt", "max_rtt"), rtt)}
    return Rules(name, params=params, sample=sample, cwnd=window, **state)


def growth(name, window, state=None, **params):
    """Packets that a round trip adds, were all its ACKs as the first."""
    s = begin(name, window, params=params, **(state or {})).ack()
    return (s.cwnd - window) * window


def kept(name, window, **params):
    """Share of the window that a loss leaves."""
    s = begin(name, window, params=params).lose()
    assert s.ssthresh == s.cwnd
    return s.cwnd / window


# Rules


@pytest.mark.parametrize("name", ["hstcp", "scalable", "bic", "africa", "ghstcp"])
@pytest.mark.parametrize("window", [4.0, 10.0, 14.0])
def test_small_windows_are_reno_s(name, window):
    assert growth(name, window) == pytest.approx(1)
    assert kept(name, window) == 0.5


@pytest.mark.parametrize("ssthresh", [1000.0, 2.0], ids=["slow start", "congestion avoidance"])
@pytest.mark.parametrize("name", ["hstcp", "scalable", "bic_2004", "africa", "ghstcp"])
def test_an_ack_of_two_packets_adds_twice_as_much(name, ssthresh):
    one, two = (begin(name, ssthresh=ssthresh).ack(acked=n).cwnd - 100 for n in (1.0, 2.0))
    assert two == pytest.approx(2 * one)
    assert (one == 1) == (ssthresh > 100)


HSTCP = [
    (60, 1.302, 0.4762),  # by hand: p = 1e-3 (60/38)^-1.198, a = 60^2 p 2b/(2 - b)
    (118, 2.03, 0.441), (221, 3.04, 0.408), (347, 4.06, 0.385), (1058, 8.14, 0.327),
    (5036, 20.4, 0.246), (10661, 30.6, 0.207), (51258, 62.4, 0.125), (83000, 72.5, 0.1),
]  # fmt: skip


@pytest.mark.parametrize(("window", "a", "b"), HSTCP)
def test_hstcp_increases_and_decreases_by_the_formulas(window, a, b):
    assert growth("hstcp", window) == pytest.approx(a, abs=0.006 * a)
    assert 1 - kept("hstcp", window) == pytest.approx(b, abs=6e-4)


def test_hstcp_table_is_the_rfc_s():
    """Rows of Appendix B; between them the upper row holds, as in Linux."""
    rows = {1: 38, 2: 118, 3: 221, 4: 347, 5: 495, 8: 1058, 20: 5036, 30: 10661, 61: 51258}
    assert {i: TABLE[i - 1] for i in rows} == rows
    assert TABLE[-3:-1] == (84035, 89053)
    for window, a, b in [(38.5, 2, 0.44), (118, 2, 0.44), (118.5, 3, 0.41), (10661, 30, 0.21)]:
        assert growth("hstcp", window, table=True) == pytest.approx(a)
        assert 1 - kept("hstcp", window, table=True) == pytest.approx(b)
    assert growth("hstcp", 2e5, table=True) == pytest.approx(len(TABLE))


@pytest.mark.parametrize("window", [40, 100, 1000, 10_000, 80_000])
def test_hstcp_table_is_the_formula_in_steps(window):
    p, steps = (begin("hstcp", params={"table": table}).p for table in (0, 1))
    assert 0 <= increase(steps, window) - increase(p, window) + 1.6 <= 2.7
    assert decrease(steps, window) == pytest.approx(decrease(p, window), abs=0.06)


@pytest.mark.parametrize("window", [83000, 5e5])
def test_hstcp_beyond_high_window_decreases_by_the_least_share(window):
    assert kept("hstcp", window) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"low_window": 90000}, "low_window = 90000: must be below high_window"),
        ({"high_p": 0.01}, r"high_p = 0\.01: must be below low_p = 0\.001"),
    ],
)
def test_hstcp_parameters_must_span_a_range(params, message):
    with pytest.raises(tc.ScenarioError, match=message):
        tc.Flow("hstcp", **params)


@pytest.mark.parametrize("window", [100.0, 1e4, 1e6])
def test_scalable_recovers_in_as_many_rounds_whatever_the_window(window):
    """-ln(1 - b)/ln(1 + a) = 13.4; the ACKs of a round are one growth by 1.01 here."""
    end = begin("scalable", window)
    s = end.lose()
    rounds = 0.0
    while s.cwnd < window:
        before = s.cwnd
        end.ack(acked=before, growing=before)
        rounds += math.log(min(s.cwnd, window) / before) / math.log(s.cwnd / before)
    assert rounds == pytest.approx(13.42, abs=0.01)


@pytest.mark.parametrize(("window", "expected"), [(10, 1), (50, 1), (100, 2), (1000, 20)])
def test_scalable_of_linux_adds_one_in_min_w_50_packets(window, expected):
    assert growth("scalable", window, ai_limit=50) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "window", "last_max", "expected"),
    [
        *(("bic", 100, last, step) for last, step in (
            (200, 16), (140, 10), (104, 0.2), (101, 0.2), (97, 0.2), (91, 3), (60, 40 / 3), (40, 16)
        )),
        ("bic", 12, 100, 1),
        *(("bic_2004", 1000, last, step) for last, step in (
            (1200, 32), (1040, 20), (1002, 1), (math.inf, 32)
        )),
        ("bic_2004", 10, 1000, 1),
    ],
)  # fmt: skip
def test_bic_searches_and_probes(name, window, last_max, expected):
    """Linux' and the INFOCOM paper's."""
    state = {"last_max": last_max} | ({"lost": 1.0} if name == "bic" else {})
    assert growth(name, window, state) == pytest.approx(expected)


def test_bic_grows_by_a_twentieth_until_a_loss_and_after_a_timeout():
    """(4), at 1000 packets, where probing adds 16 at most and the search near its end 0.2."""
    assert growth("bic", 1000) == pytest.approx(50)
    end = begin("bic", 1000)
    end.lose()
    for after, expected in (("on_loss", 0.2), ("on_timeout", 50)):
        s = end.call(after)
        s.cwnd = s.last_max = 1000.0
        s.ssthresh = 2.0
        end.ack()
        assert (s.cwnd - 1000) * 1000 == pytest.approx(expected)
    end.time_out()
    assert (s.cwnd, s.last_max) == (1, 0)


def test_bic_grows_as_reno_up_to_low_window_whatever_its_ack_ratio():
    """Linux returns before it multiplies."""
    assert growth("bic", 14, ack_ratio=2) == pytest.approx(1)
    assert growth("bic", 14.5, ack_ratio=2) > 1


def rounds_beyond(name, packets, last=100.0):
    """Round trips from a loss at `last` until the window is larger by so many packets."""
    end = begin(name, last)
    s = end.lose()
    rounds = 0
    while s.cwnd < last + packets:
        rounds += 1
        for _ in range(int(s.cwnd)):
            end.ack()
    return rounds


def test_bic_of_the_paper_finds_its_maximum_and_leaves_it():
    """The INFOCOM listing: half of the distance a round, until that is Smin, then 1, 2, 4, 8.
    ln(12.5 / 0.02) / (1/2) + 3.4 = 16.3. Linux' creeps for B/smooth_part a round."""
    assert rounds_beyond("bic_2004", 10) in (16, 17)
    assert rounds_beyond("bic_2004", 0) in (13, 14)
    assert rounds_beyond("bic", 10) > 40


def test_bic_of_the_paper_probes_by_doubling_up_to_smax():
    end = begin("bic_2004", 1000, last_max=1000.0)
    steps = []
    for _ in range(8):
        before = end.s.cwnd
        for _ in range(int(before)):
            end.ack()
        steps.append(end.s.cwnd - before)
    assert steps == pytest.approx([1, 2, 4, 8, 16, 32, 32, 32], rel=0.05)


def test_bic_of_the_paper_makes_room_where_its_maximum_falls():
    end = begin("bic_2004", 1000)
    for window, after in ((1000.0, (1000, 875)), (900.0, ((900 + 787.5) / 2, 787.5))):
        s = end.lose(window=window)
        assert (s.last_max, s.cwnd) == after
    assert kept("bic_2004", 10) == 0.5


@pytest.mark.parametrize(
    ("name", "beta"),
    [
        ("bic", 819 / 1024),
        ("bic_2004", 0.875),
        ("cubic_2005", 819 / 1024),
        ("cubic_2008", 0.8),
        ("cubic", 0.7),
    ],
)
def test_fast_convergence_makes_room(name, beta):
    """After a loss below the last maximum the next one is taken lower than the window."""
    end, without = (begin(name, 200, params={"fast_convergence": on}) for on in (True, False))
    for window, last_max in [(200, 200), (100, (1 + beta) / 2 * 100), (100, 100)]:
        s = end.lose(window=window)
        assert (s.cwnd, s.last_max) == pytest.approx((beta * window, last_max))
        assert without.lose(window=window).last_max == window


def after_loss(name, rounds, window=1000.0, rtt=0.1, **params):
    """Windows at the end of each round after a loss at `window`."""
    end = begin(name, window, rtt, params)
    windows = [end.lose().cwnd]
    for _ in range(rounds):
        for _ in range(50):
            now, acked = end.a.now + rtt / 50, end.s.cwnd / 50
            end.ack(now=now, clock=now, acked=acked, growing=acked)
        windows.append(end.s.cwnd)
    return np.array(windows)


def test_cubic_2005_before_a_loss_and_after_a_timeout_grows_by_a_fiftieth():
    """It has no loss then to reckon from."""
    assert growth("cubic_2005", 1000) == pytest.approx(20)
    end = begin("cubic_2005", 1000)
    end.lose()
    s = end.time_out()
    assert (s.cwnd, s.ssthresh) == (1, pytest.approx(1000 * 819 / 1024))
    s.cwnd, s.ssthresh = 1000.0, 2.0
    end.ack()
    assert (s.cwnd - 1000) * 1000 == pytest.approx(20)


@pytest.mark.parametrize(("name", "beta"), [("cubic_2008", 0.8), ("cubic", 0.7)])
def test_cubic_follows_its_curve(name, beta):
    """W_max - C (t - K)^3, within what it moves in the round trip that it looks ahead."""
    windows = after_loss(name, 160)
    t = 0.1 * np.arange(161)
    k = (1000 * (1 - beta) / 0.4) ** (1 / 3)
    law = 1000 + 0.4 * (t - k) ** 3
    ahead = 1000 + 0.4 * (t + 0.1 - k) ** 3
    assert np.all(windows >= law - 0.5)
    assert np.all(windows <= ahead + 0.5)
    assert windows[round(10 * k)] == pytest.approx(1000, abs=0.5)


def test_cubic_grows_by_half_a_window_per_round_at_most():
    windows = after_loss("cubic", 30, rtt=2.0)
    assert windows.max() > 1e4
    assert np.all(windows[1:] <= windows[:-1] * math.exp(0.5) + 1e-9)


def test_cubic_2005_hurries_to_the_last_maximum_and_stays():
    """Version 2.0: 2 packets per 100 ms instead of 16, then C' = C/12.8; version 2.1 is on the
    curve below W_max and adds at most 16 per 100 ms above it."""
    old = after_loss("cubic_2005", 400)
    assert np.diff(old)[:30] == pytest.approx(2, rel=0.01)
    assert np.diff(old).max() <= 2.01
    new = after_loss("cubic_2005", 400, window=1e4, fixed=True)
    k = (1e4 * (1 - 819 / 1024) / 0.4) ** (1 / 3)
    assert new[round(10 * k)] == pytest.approx(1e4, abs=1)
    assert np.diff(new)[0] == pytest.approx(3 * 0.4 * k**2 * 0.1, rel=0.02)
    assert np.diff(new)[0] > 30
    assert np.diff(new)[-1] == pytest.approx(16, rel=0.01)


def test_cubic_2005_comes_to_the_last_maximum_with_c_over_12_8_and_the_k_of_c():
    """Version 2.0 at 100 packets, where two packets a round trip do not bound it any more."""
    windows = after_loss("cubic_2005", 30, window=100)
    c = 410 / 1024
    k = (100 * (1 - 819 / 1024) / c) ** (1 / 3)
    for n in range(16, 24):
        assert 100 - windows[n] == pytest.approx(c / 12.8125 * (k - 0.1 * n) ** 3, rel=0.02)


@pytest.mark.parametrize("name", ["bic", "cubic_2005"])
def test_linux_reckons_with_delayed_acks(name):
    assert growth(name, 1000, ack_ratio=2) == pytest.approx(2 * growth(name, 1000))


@pytest.mark.parametrize("name", ["bic", "cubic_2005"])
def test_early_linux_begins_with_a_threshold(name):
    s = begin(name, 50, params={"initial_ssthresh": 100}, ssthresh=math.inf).ack()
    assert (s.cwnd, s.ssthresh) == (51, 100)


@pytest.mark.parametrize("queue", [0.0, 1.0, 1.5, 1.8, 30.0])
def test_africa_is_hstcp_below_alpha_and_reno_above(queue):
    s = begin("africa", 1000).ack(base_rtt=0.1 * (1 - queue / 1000))
    fast = growth("hstcp", 1000)
    assert (s.cwnd - 1000) * 1000 == pytest.approx(fast if queue < 1.641 else 1)
    assert kept("africa", 1000) == kept("hstcp", 1000)


def gentle_after(rtts, *, gentle=0.0, round_rtt=0.11):
    """Whether ghstcp is in Reno mode after a round with these round-trip times, above 0.1 s."""
    end = begin("ghstcp", gentle=gentle)
    for rtt in rtts:
        end.ack(rtt=rtt, round_rtt=round_rtt).cwnd = 100.0
    return end.round().gentle == 1


@pytest.mark.long
@EVERY_MODEL
def test_ghstcp_is_hstcp_where_nothing_queues(model):
    """Random losses keep its window below the path's; what single packets, or trains, wait for
    each other is no trend."""
    link = {"rate": "100 Mbps", "buffer": 333, "access_rate": "1 Gbps", "loss": 3e-4}
    rates = []
    for name in ("ghstcp", "hstcp"):
        case = on_a_link(tc.Flow(name, packet_size=1500), duration=60, **link)
        rate = mean_over_seeds(range(30), lambda run: run.throughput(after=10), case, **WAYS[model])
        rates.append(rate.item())
    assert rates[0] == pytest.approx(rates[1], rel=0.05)
    assert not gentle_after(np.linspace(0.1, 0.1009, 100), round_rtt=0.1005)


def test_ghstcp_turns_to_reno_while_round_trip_times_rise():
    """Rising, falling, level, and up and down again; single packets do not decide."""
    ramp = np.linspace(0.1, 0.12, 100)
    jitter = np.random.default_rng(1).uniform(0, 0.002, 100)
    assert gentle_after(ramp)
    assert gentle_after(ramp + jitter)
    assert not gentle_after(ramp[::-1])
    assert not gentle_after(0.1 + 0 * ramp)
    assert not gentle_after(np.concatenate([ramp[::2], ramp[::-2]]))
    end = begin("ghstcp", 1000, gentle=1.0)
    assert (end.ack().cwnd - 1000) * 1000 == pytest.approx(1)
    assert end.lose().gentle == 0
    assert growth("ghstcp", 1000) == pytest.approx(growth("hstcp", 1000))


def means(*steps):
    """Round-trip times of a round of 100 packets: ten groups of ten, each longer than the one
    before by as many ms as `steps` say."""
    return np.repeat(0.1 + np.cumsum([0, *steps]) / 1000, 10)


RISING, FALLING = 9 * [1], 9 * [-1]


@pytest.mark.parametrize(
    ("steps", "before", "after"),
    [
        (5 * [10] + 4 * [-1], 0, 1),  # PCT 0.56 says nothing, PDT 46/54 rising
        (5 * [1] + 4 * [-10], 1, 0),  # PCT 0.56 says nothing, PDT -35/45 not rising
        (8 * [1] + [-20], 0, 0),  # PCT 8/9 rising, PDT -12/28 not: as it was
        (8 * [1] + [-20], 1, 1),
        ([30] + 8 * [-1], 0, 0),  # PCT 1/9 not rising, PDT 22/38 rising: as it was
        ([30] + 8 * [-1], 1, 1),
    ],
)
def test_ghstcp_asks_both_of_pathloads_metrics(steps, before, after):
    assert gentle_after(means(*steps), gentle=before) == after


def test_ghstcp_judges_each_round_by_itself():
    end = begin("ghstcp")
    assert end.round().gentle == 0  # nothing was measured
    for steps, gentle in ((FALLING, 0), (RISING, 1), (FALLING, 0), (RISING, 1)):
        for rtt in means(*steps):
            end.ack(rtt=rtt)
        assert end.round().gentle == gentle
    s = end.time_out()
    assert (s.cwnd, s.gentle) == (1, 0)


# Response to loss

RTT = 0.1
LAWS = {
    "hstcp": lambda p: 0.12 / p**0.835,
    "scalable": lambda p: 0.0749 / p,
    "cubic": lambda p: 1.0538 * (RTT / p) ** 0.75,
    "cubic_2008": lambda p: 1.17 * (RTT / p) ** 0.75,
}


def response(name, start, gaps, *, rtt=RTT, skip, **params):
    """Mean window of the rules alone, in a fluid of ACKs, after a loss at `start` and with `gaps`
    packets between the next ones, of which the first `skip` do not count."""
    end = begin(name, start, rtt, params)
    s, a = end.lose(), end.a
    begun = sent = 0.0

    for number, gap in enumerate(gaps):
        if number == skip:
            begun, sent = a.now, 0.0
        sent += gap
        while gap > 0:
            acked = min(gap, s.cwnd / 10)
            gap -= acked
            now = a.now + acked * rtt / s.cwnd
            end.ack(now=now, clock=now, acked=acked, growing=acked, delivered=acked)
        end.lose(window=s.cwnd)
    return sent / (a.now - begun) * rtt


@pytest.mark.parametrize("p", [1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("name", LAWS)
def test_a_loss_every_1_over_p_packets_gives_the_closed_form(name, p):
    """RFC 3649, 5; Kelly 2003 (the mean of 0.08/p at the peak); RFC 9438, 5.1; Ha et al. 2008.

    CUBIC's suppose that W_max is the window at each loss, of which (3 + beta)/4 is the mean. It
    takes long to get there from elsewhere; with fast convergence the last digit would decide
    whether a loss is a little early and the flow to make room.
    """
    law, start, settings = LAWS[name](p), LAWS[name](p), {}
    if name in ("cubic", "cubic_2008"):
        settings = {"fast_convergence": 0}
        start *= 4 / (3 + CONTROLLERS.find(name).params["beta"].default)
    mean = response(name, start, repeat(1 / p, 24), skip=16, **settings)
    assert mean == pytest.approx(law, rel=0.015)


@pytest.mark.parametrize("name", ["cubic_2005", "cubic_2008", "cubic"])
def test_cubic_is_friendly_where_reno_is_faster(name):
    """At p = 0.001 and an RTT of 5 ms the cubic is slow; an AIMD(alpha, beta) that shares with
    Reno has Reno's mean, sqrt(1.5/p)."""
    law = math.sqrt(1.5 / 0.001)
    mean = response(name, law, repeat(1000, 40), rtt=0.005, skip=20)
    assert mean == pytest.approx(law, rel=0.04)


# Beside Reno


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("hstcp", {}, 87.9),
        ("scalable", {"ai_limit": 50}, 96.6),
        ("bic", {"ack_ratio": 31 / 16}, 93.4),
    ],
)
@EVERY_MODEL
def test_share_beside_reno_is_that_of_ns_2(model, name, params, expected):
    """Mb/s of 100, RTT 40 ms, a buffer of the BDP; ns-2.35 with its Linux agents, which give BIC
    nearly twice its growth (`ack_ratio`)."""
    own = tc.Flow(name, packet_size=1500, **params)
    reno = tc.Flow("reno", recovery="sack", packet_size=1500, start=0.3)
    run = simulate_in(model, on_a_link(own, reno, rate="100 Mbps", buffer=333, duration=330))
    assert run.throughput(after=30).values[0] / 1e6 == pytest.approx(expected, abs=3)
