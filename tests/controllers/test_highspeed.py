"""The loss-based high-speed controllers: their rules, branch by branch, and response to loss."""

import math
from itertools import repeat

import numpy as np
import pytest
from by_hand import rules_of
from every_model import EVERY_MODEL, simulate_in

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.hstcp import TABLE, decrease, increase


def begin(name, window=100.0, rtt=0.1, **params):
    """A controller's state in congestion avoidance at `window`, its parameters, a sample."""
    rtts = dict.fromkeys(("rtt", "srtt", "base_rtt", "max_rtt"), rtt)
    sample = {"window": window, "now": 0.0, **rtts}
    return rules_of(name, params=params, sample=sample, cwnd=window, ssthresh=2.0)


def growth(name, window, **settings):
    """Packets that a round trip adds, were all its ACKs as the first."""
    controller, s, p, a = begin(name, window, **settings)
    controller.on_ack(s, p, a)
    return (s.cwnd - window) * window


def kept(name, window, **settings):
    """Share of the window that a loss leaves."""
    controller, s, p, a = begin(name, window, **settings)
    controller.on_loss(s, p, a)
    assert s.ssthresh == s.cwnd
    return s.cwnd / window


# Rules


@pytest.mark.parametrize("name", ["hstcp", "scalable", "bic", "africa", "ghstcp"])
@pytest.mark.parametrize("window", [4.0, 10.0, 14.0])
def test_small_windows_are_reno_s(name, window):
    assert growth(name, window) == pytest.approx(1)
    assert kept(name, window) == 0.5


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
    p, steps = (begin("hstcp", table=table)[2] for table in (0, 1))
    assert 0 <= increase(steps, window) - increase(p, window) + 1.6 <= 2.7
    assert decrease(steps, window) == pytest.approx(decrease(p, window), abs=0.06)


def test_hstcp_beyond_high_window_decreases_by_the_least_share():
    assert kept("hstcp", 83000) == pytest.approx(0.9)
    assert kept("hstcp", 5e5) == pytest.approx(0.9)


def test_hstcp_parameters_must_span_a_range():
    with pytest.raises(tc.ScenarioError, match="low_window = 90000: must be below high_window"):
        tc.Flow("hstcp", low_window=90000)
    with pytest.raises(tc.ScenarioError, match=r"high_p = 0\.01: must be below low_p = 0\.001"):
        tc.Flow("hstcp", high_p=0.01)


@pytest.mark.parametrize("window", [100.0, 1e4, 1e6])
def test_scalable_recovers_in_as_many_rounds_whatever_the_window(window):
    """-ln(1 - b)/ln(1 + a) = 13.4; the ACKs of a round are one growth by 1.01 here."""
    controller, s, p, a = begin("scalable", window)
    controller.on_loss(s, p, a)
    rounds = 0.0
    while s.cwnd < window:
        a.acked = a.growing = before = s.cwnd
        controller.on_ack(s, p, a)
        part = math.log(min(s.cwnd, window) / before) / math.log(s.cwnd / before)
        rounds += part
    assert rounds == pytest.approx(13.42, abs=0.01)


@pytest.mark.parametrize(("window", "expected"), [(10, 1), (50, 1), (100, 2), (1000, 20)])
def test_scalable_of_linux_adds_one_in_min_w_50_packets(window, expected):
    assert growth("scalable", window, ai_limit=50) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("window", "last_max", "expected"),
    [
        (100, 200, 16), (100, 140, 10), (100, 104, 0.2), (100, 101, 0.2),
        (100, 97, 0.2), (100, 91, 3), (100, 60, 40 / 3), (100, 40, 16), (12, 100, 1),
    ],
)  # fmt: skip
def test_bic_searches_and_probes(window, last_max, expected):
    controller, s, p, a = begin("bic", window)
    s.last_max, s.lost = last_max, 1.0
    controller.on_ack(s, p, a)
    assert (s.cwnd - window) * window == pytest.approx(expected)


def test_bic_grows_by_a_twentieth_until_a_loss_and_after_a_timeout():
    """(4), at 1000 packets, where probing adds 16 at most and the search near its end 0.2."""
    assert growth("bic", 1000) == pytest.approx(50)
    controller, s, p, a = begin("bic", 1000)
    controller.on_loss(s, p, a)
    for after, expected in ((controller.on_loss, 0.2), (controller.on_timeout, 50)):
        after(s, p, a)
        s.cwnd, s.ssthresh, a.window = 1000.0, 2.0, 1000.0
        s.last_max = 1000.0
        controller.on_ack(s, p, a)
        assert (s.cwnd - 1000) * 1000 == pytest.approx(expected)
    controller.on_timeout(s, p, a)
    assert (s.cwnd, s.last_max) == (1, 0)


def test_bic_grows_as_reno_up_to_low_window_whatever_its_ack_ratio():
    """Linux returns before it multiplies."""
    assert growth("bic", 14, ack_ratio=2) == pytest.approx(1)
    assert growth("bic", 14.5, ack_ratio=2) > 1


def rounds_beyond(name, packets, last=100.0, **params):
    """Round trips from a loss at `last` until the window is larger by so many packets."""
    controller, s, p, a = begin(name, last, **params)
    controller.on_loss(s, p, a)
    rounds = 0
    while s.cwnd < last + packets:
        rounds += 1
        for _ in range(int(s.cwnd)):
            controller.on_ack(s, p, a)
    return rounds


def test_bic_of_the_paper_finds_its_maximum_and_leaves_it():
    """The INFOCOM listing: half of the distance a round, until that is Smin, then 1, 2, 4, 8.
    ln(12.5 / 0.02) / (1/2) + 3.4 = 16.3. Linux' creeps for B/smooth_part a round."""
    assert rounds_beyond("bic_2004", 10) in (16, 17)
    assert rounds_beyond("bic_2004", 0) in (13, 14)
    assert rounds_beyond("bic", 10) > 40


@pytest.mark.parametrize(
    ("window", "last_max", "expected"),
    [(1000, 1200, 32), (1000, 1040, 20), (1000, 1002, 1), (10, 1000, 1), (1000, math.inf, 32)],
)
def test_bic_of_the_paper_searches(window, last_max, expected):
    controller, s, p, a = begin("bic_2004", window)
    s.last_max = last_max
    controller.on_ack(s, p, a)
    assert (s.cwnd - window) * window == pytest.approx(expected)


def test_bic_of_the_paper_probes_by_doubling_up_to_smax():
    controller, s, p, a = begin("bic_2004", 1000)
    s.last_max = 1000.0
    steps = []
    for _ in range(8):
        before = s.cwnd
        for _ in range(int(before)):
            controller.on_ack(s, p, a)
        steps.append(s.cwnd - before)
    assert steps == pytest.approx([1, 2, 4, 8, 16, 32, 32, 32], rel=0.05)


def test_bic_of_the_paper_makes_room_where_its_maximum_falls():
    controller, s, p, a = begin("bic_2004", 1000)
    controller.on_loss(s, p, a)
    assert (s.last_max, s.cwnd) == (1000, 875)
    a.window = 900.0
    controller.on_loss(s, p, a)
    assert (s.last_max, s.cwnd) == ((900 + 787.5) / 2, 787.5)
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
    controller, s, p, a = begin(name, 200)
    for window, last_max in [(200, 200), (100, (1 + beta) / 2 * 100), (100, 100)]:
        a.window = window
        controller.on_loss(s, p, a)
        assert s.cwnd == pytest.approx(beta * window)
        assert s.last_max == pytest.approx(last_max)
    controller, s, p, a = begin(name, 200, fast_convergence=False)
    for window in (200, 100):
        a.window = window
        controller.on_loss(s, p, a)
        assert s.last_max == window


def after_loss(name, rounds, window=1000.0, rtt=0.1, **params):
    """Windows at the end of each round after a loss at `window`."""
    controller, s, p, a = begin(name, window, rtt, **params)
    controller.on_loss(s, p, a)
    windows = [s.cwnd]
    for _ in range(rounds):
        for _ in range(50):
            a.now += rtt / 50
            a.clock, a.acked = a.now, s.cwnd / 50
            a.growing = a.acked
            controller.on_ack(s, p, a)
        windows.append(s.cwnd)
    return np.array(windows)


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


def test_cubic_2005_before_a_loss_grows_by_a_fiftieth():
    assert growth("cubic_2005", 1000) == pytest.approx(20)


@pytest.mark.parametrize(("name", "window", "settings"), [
    ("bic", 1000.0, {"ack_ratio": 2}), ("cubic_2005", 1000.0, {"ack_ratio": 2}),
])  # fmt: skip
def test_linux_reckons_with_delayed_acks(name, window, settings):
    plain = growth(name, window)
    assert growth(name, window, **settings) == pytest.approx(2 * plain)


@pytest.mark.parametrize("name", ["bic", "cubic_2005"])
def test_early_linux_begins_with_a_threshold(name):
    controller, s, p, a = begin(name, 50, initial_ssthresh=100)
    s.ssthresh = math.inf
    controller.on_ack(s, p, a)
    assert (s.cwnd, s.ssthresh) == (51, 100)


@pytest.mark.parametrize("queue", [0.0, 1.0, 1.5, 1.8, 30.0])
def test_africa_is_hstcp_below_alpha_and_reno_above(queue):
    controller, s, p, a = begin("africa", 1000)
    a.base_rtt = a.srtt * (1 - queue / 1000)
    controller.on_ack(s, p, a)
    fast = growth("hstcp", 1000)
    assert (s.cwnd - 1000) * 1000 == pytest.approx(fast if queue < 1.641 else 1)
    assert kept("africa", 1000) == kept("hstcp", 1000)


def gentle_after(rtts, window=100, round_rtt=0.11):
    """Whether ghstcp is in Reno mode after a round with these round-trip times, above 0.1 s."""
    controller, s, p, a = begin("ghstcp", window)
    a.round_rtt = round_rtt
    for rtt in rtts:
        a.rtt, a.window = rtt, window
        controller.on_ack(s, p, a)
    controller.on_round(s, p, a)
    return s.gentle == 1


@pytest.mark.long
@EVERY_MODEL
def test_ghstcp_is_hstcp_where_nothing_queues(model):
    """Random losses keep its window below the path's; what single packets, or trains, wait for
    each other is no trend."""
    net = tc.dumbbell("100 Mbps", "20 ms", 333, access_rate="1 Gbps", loss=3e-4)
    rates = [
        np.mean(
            [
                simulate_in(
                    model,
                    tc.Scenario(net, [tc.Flow(name, packet_size=1500)], duration=60, seed=seed),
                ).throughput(after=10)
                for seed in range(30)
            ]
        )
        for name in ("ghstcp", "hstcp")
    ]
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
    controller, s, p, a = begin("ghstcp", 1000)
    s.gentle = 1.0
    controller.on_ack(s, p, a)
    assert (s.cwnd - 1000) * 1000 == pytest.approx(1)
    controller.on_loss(s, p, a)
    assert s.gentle == 0
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
    controller, s, p, a = begin("ghstcp")
    s.gentle = before
    for a.rtt in means(*steps):
        controller.on_ack(s, p, a)
        s.cwnd = 100.0
    controller.on_round(s, p, a)
    assert s.gentle == after


def test_ghstcp_judges_each_round_by_itself():
    controller, s, p, a = begin("ghstcp")
    controller.on_round(s, p, a)  # nothing was measured
    assert s.gentle == 0
    for steps, gentle in ((FALLING, 0), (RISING, 1), (FALLING, 0), (RISING, 1)):
        for a.rtt in means(*steps):
            controller.on_ack(s, p, a)
        controller.on_round(s, p, a)
        assert s.gentle == gentle
    controller.on_timeout(s, p, a)
    assert (s.cwnd, s.gentle) == (1, 0)


def test_cubic_2005_has_no_loss_to_reckon_from_after_a_timeout():
    controller, s, p, a = begin("cubic_2005", 1000)
    controller.on_loss(s, p, a)
    controller.on_timeout(s, p, a)
    assert (s.cwnd, s.ssthresh) == (1, pytest.approx(1000 * 819 / 1024))
    s.cwnd, s.ssthresh = 1000.0, 2.0
    controller.on_ack(s, p, a)
    assert (s.cwnd - 1000) * 1000 == pytest.approx(20)


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
    controller, s, p, a = begin(name, start, rtt, **params)
    controller.on_loss(s, p, a)
    begun = sent = 0.0

    for number, gap in enumerate(gaps):
        if number == skip:
            begun, sent = a.now, 0.0
        sent += gap
        while gap > 0:
            a.acked = a.growing = a.delivered = min(gap, s.cwnd / 10)
            gap -= a.acked
            a.now += a.acked * rtt / s.cwnd
            a.clock = a.now
            controller.on_ack(s, p, a)
        a.window = s.cwnd
        controller.on_loss(s, p, a)
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
    net = tc.dumbbell("100 Mbps", "20 ms", 333)
    flows = [
        tc.Flow(name, packet_size=1500, **params),
        tc.Flow("reno", recovery="sack", packet_size=1500, start=0.3),
    ]
    run = simulate_in(model, tc.Scenario(net, flows, duration=330))
    assert run.throughput(after=30).values[0] / 1e6 == pytest.approx(expected, abs=3)
