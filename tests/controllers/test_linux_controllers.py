"""Controllers that Linux ships, beside their papers' and kernel's equations worked out by hand."""

import math
from types import SimpleNamespace

import pytest
from by_hand import rules_of
from every_model import EVERY_MODEL, WAYS, simulate_in

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.htcp import factor


def at(name, cwnd=100.0, **params):
    """State in congestion avoidance at `cwnd`, parameters, a sample with an empty queue."""
    rtts = dict.fromkeys(("rtt", "base_rtt", "max_rtt", "round_rtt", "round_min_rtt"), 0.1)
    sample = {"window": cwnd, **rtts}
    return rules_of(name, params=params, sample=sample, cwnd=cwnd, ssthresh=2.0)[1:]


def queueing(a, delay, most=0.1):
    a.rtt = a.round_rtt = a.round_min_rtt = a.base_rtt + delay
    a.max_rtt = a.base_rtt + most


# --- H-TCP


@pytest.mark.parametrize(("elapsed", "f"), [(0.5, 1), (1, 1), (2, 11.25), (3, 22), (5, 45)])
def test_htcp_grows_with_the_time_since_the_last_loss(elapsed, f):
    _, p, _ = at("htcp", rtt_scaling=False)
    assert factor(p, elapsed, 0.1) == pytest.approx(f)


@pytest.mark.parametrize(
    ("rtt", "scale"), [(0.1, 1.0), (0.05, 2.0), (0.2, 0.5), (1.0, 0.5), (1e-3, 10.0)]
)
def test_htcp_scales_its_increase_by_the_round_trip_time(rtt, scale):
    _, p, _ = at("htcp")
    assert factor(p, 5.0, rtt) == pytest.approx(45 / scale)


def test_htcp_increases_by_alpha_per_window():
    s, p, a = at("htcp", rtt_scaling=False)
    s.beta, s.last_loss, a.now, a.clock = 0.75, 1.0, 3.0, 3.0
    CONTROLLERS.find("htcp").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(100 + 2 * 0.25 * 11.25 / 100)


def test_htcp_backs_off_as_far_as_the_queue_is_long():
    s, p, a = at("htcp")
    s.rtt_max, s.b_max, s.b_old = 0.15, 100.0, 95.0
    CONTROLLERS.find("htcp").on_loss(s, p, a)
    assert s.cwnd == 50  # the first ordinary loss
    s.b_max = 105.0
    CONTROLLERS.find("htcp").on_loss(s, p, a)
    longest = 0.1 + 0.95 * 0.05
    assert s.beta == pytest.approx(0.1 / longest)
    assert s.cwnd == pytest.approx(100 * 0.1 / longest)
    s.b_max = 130.0  # by more than a fifth
    CONTROLLERS.find("htcp").on_loss(s, p, a)
    assert (s.cwnd, s.adaptive) == (50, 0)


def test_htcp_forgets_a_spurious_loss():
    """R, B_old and the time of the last congestion event are those before it; a second cut before
    the next ACK belongs to the same loss."""
    s, p, a = at("htcp")
    s.rtt_max, s.b_max, s.b_old, s.last_loss = 0.15, 130.0, 100.0, 1.0
    a.now = a.clock = 3.0
    htcp = CONTROLLERS.find("htcp")
    htcp.on_loss(s, p, a)
    htcp.on_timeout(s, p, a)
    assert (s.last_loss, s.b_old) == (3, 130)
    htcp.on_undo(s, p, a)
    assert (s.rtt_max, s.b_old, s.last_loss) == (0.15, 100, 1)
    a.now = a.clock = 4.0
    htcp.on_ack(s, p, a)
    assert s.last_loss == 1


def test_htcp_measures_its_throughput_round_by_round():
    run = tc.simulate(
        tc.Scenario(
            tc.dumbbell(rate="20 Mbps", delay="20 ms", buffer=50), [tc.Flow("htcp")], duration=30
        )
    )
    assert run.utilization(after=10) > 0.95


# --- Hybla


@pytest.mark.parametrize(("rtt", "rho"), [(0.01, 1.0), (0.025, 1.0), (0.1, 4.0)])
def test_hybla_grows_as_reno_with_a_short_round_trip(rtt, rho):
    s, p, a = at("hybla")
    a.base_rtt = rtt
    CONTROLLERS.find("hybla").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(100 + rho**2 / 100)
    s.cwnd, s.ssthresh = 10.0, math.inf
    CONTROLLERS.find("hybla").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(10 + 2**rho - 1)
    s.cwnd, s.ssthresh = 10.0, 10.5
    CONTROLLERS.find("hybla").on_ack(s, p, a)
    assert s.cwnd == 10.5


@EVERY_MODEL
def test_hybla_has_the_rate_of_the_reference_round_trip(model):
    """Mean over ten seeds within a tenth of sqrt(3/(2p))/RTT0 at 100 ms, where Reno has a quarter
    of it."""
    p = 1e-3

    def rate(controller):
        net = tc.dumbbell(rate="1 Gbps", delay="50 ms", buffer=math.inf, loss=p)
        runs = tc.sweep(
            [tc.Scenario(net, [tc.Flow(controller)], duration=60, seed=s) for s in range(10)],
            **WAYS[model],
        )
        return sum(float(r.throughput(after=5)[0]) for r in runs) / len(runs) / 8e3

    law = math.sqrt(3 / (2 * p)) / 0.025
    assert rate("hybla") == pytest.approx(law, rel=0.15)
    assert rate("newreno") == pytest.approx(law / 4, rel=0.15)


# --- Illinois


@pytest.mark.parametrize(
    ("share", "alpha", "beta"),
    [(0.005, 10, 0.125), (0.05, 4.336, 0.125), (0.1, 2.538, 0.125), (0.3, 0.955, 0.232),
     (0.5, 0.588, 0.339), (0.8, 0.373, 0.5), (1.0, 0.3, 0.5)],
)  # fmt: skip
def test_illinois_alpha_and_beta_follow_the_delay(share, alpha, beta):
    s, p, a = at("illinois")
    queueing(a, share * 0.1)
    CONTROLLERS.find("illinois").on_round(s, p, a)
    assert (s.alpha, s.beta) == pytest.approx((alpha, beta), abs=5e-4)
    CONTROLLERS.find("illinois").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(100 + s.alpha / 100)
    CONTROLLERS.find("illinois").on_loss(s, p, a)
    assert s.cwnd == pytest.approx(100 * (1 - s.beta))


def test_illinois_is_reno_in_small_windows_and_after_a_timeout():
    s, p, a = at("illinois", cwnd=14.0)
    CONTROLLERS.find("illinois").on_round(s, p, a)
    assert (s.alpha, s.beta) == (1, 0.5)
    s.alpha = 7.0
    CONTROLLERS.find("illinois").on_timeout(s, p, a)
    assert (s.alpha, s.beta, s.cwnd) == (1, 0.5, 1)


def test_illinois_waits_for_five_calm_rounds():
    s, p, a = at("illinois")
    queueing(a, 0.05)
    CONTROLLERS.find("illinois").on_round(s, p, a)
    held = s.alpha
    queueing(a, 0.0)
    seen = []
    for _ in range(6):
        CONTROLLERS.find("illinois").on_round(s, p, a)
        seen.append(s.alpha)
    assert seen == [held] * 4 + [10, 10]


# --- Veno


@pytest.mark.parametrize(("delay", "share", "kept"), [(0.002, 1, 0.8), (0.01, 0.5, 0.5)])
def test_veno_asks_how_long_the_queue_is(delay, share, kept):
    """100 packets at 102 ms have 2 in the queue, at 110 ms 9."""
    s, p, a = at("veno")
    queueing(a, delay)
    CONTROLLERS.find("veno").on_ack(s, p, a)
    assert s.backlog == pytest.approx(100 * delay / (0.1 + delay))
    assert s.cwnd == pytest.approx(100 + share / 100)
    CONTROLLERS.find("veno").on_loss(s, p, a)
    assert s.cwnd == pytest.approx(100 * kept)


# --- YeAH


def test_yeah_is_scalable_without_a_queue_and_reno_with_one():
    s, p, a = at("yeah", cwnd=400.0)
    CONTROLLERS.find("yeah").on_round(s, p, a)
    CONTROLLERS.find("yeah").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(400 + 1 / 100)
    queueing(a, 0.013)  # more than d/8, though only 46 packets
    s.cwnd = 400.0
    CONTROLLERS.find("yeah").on_round(s, p, a)
    assert (s.cwnd, s.reno_count) == (400, 200)
    CONTROLLERS.find("yeah").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(400 + 1 / 400)


def test_yeah_empties_a_long_queue_but_not_below_reno():
    s, p, a = at("yeah", cwnd=1000.0)
    queueing(a, 0.025)  # 200 packets
    CONTROLLERS.find("yeah").on_round(s, p, a)
    assert s.cwnd == s.ssthresh == pytest.approx(800)
    assert s.reno_count == pytest.approx(400)
    s.cwnd = 500.0
    queueing(a, 0.1)  # 250 packets, half the window
    CONTROLLERS.find("yeah").on_round(s, p, a)
    assert s.cwnd == 400
    assert s.reno_count == 401


@pytest.mark.parametrize(
    ("queue", "slow", "left"), [(0, 0, 350), (100, 0, 300), (300, 0, 200), (0, 16, 200)]
)
def test_yeah_gives_up_its_queue_at_a_loss(queue, slow, left):
    s, p, a = at("yeah", cwnd=400.0)
    s.queue, s.slow_rounds = float(queue), float(slow)
    CONTROLLERS.find("yeah").on_loss(s, p, a)
    assert s.cwnd == left


def test_yeah_forgets_reno_after_fifty_fast_rounds():
    s, p, a = at("yeah", cwnd=400.0)
    s.reno_count = 80.0
    for _ in range(50):
        CONTROLLERS.find("yeah").on_round(s, p, a)
    assert s.reno_count == 80
    CONTROLLERS.find("yeah").on_round(s, p, a)
    assert s.reno_count == 2


@pytest.mark.parametrize("name", ["htcp", "illinois", "veno", "yeah"])
def test_a_timeout_leaves_one_packet_and_what_a_loss_would(name):
    s, p, a = at(name)
    CONTROLLERS.find(name).on_loss(s, p, a)
    after_loss = SimpleNamespace(**vars(s))
    s, p, a = at(name)
    CONTROLLERS.find(name).on_timeout(s, p, a)
    assert (s.cwnd, s.ssthresh) == (1, after_loss.ssthresh)


# --- NV


def measured(calls=100.0, **state):
    """NV with a decision due: 1000 packets/s in 0.1 s, so that W_max is 110."""
    s, p, a = at("nv")
    vars(s).update(
        {"rtt": 0.1, "base_rtt": 0.1, "rate": 1000.0, "calls": calls, "rounds": 5.0, "cwnd": 100.0}
        | state
    )
    return s, p, a


def test_nv_keeps_the_largest_rate_and_the_smallest_mean_rtt():
    s, p, a = at("nv")
    a.round_packets = 50.0
    seen = []
    for rtt in (0.1, 0.2, 0.1):
        a.rtt = rtt
        CONTROLLERS.find("nv").on_ack(s, p, a)
        seen.append((s.rtt, s.rate, s.base_rtt))
    assert seen == [
        pytest.approx(x) for x in [(0.1, 500, 0.1), (0.15, 500, 0.1), (0.125, 500, 0.1)]
    ]
    assert s.calls == 3


@pytest.mark.parametrize(
    ("cwnd", "calls", "left"),
    [(150, 60, 138), (150, 59, 150), (115, 60, 113), (111, 60, 110), (110, 60, 110)],
)
def test_nv_gives_up_three_tenths_of_what_is_too_much(cwnd, calls, left):
    """After 60 measurements: at least 2 packets, and W_max itself when that is near."""
    s, p, a = measured(calls=calls, cwnd=float(cwnd))
    CONTROLLERS.find("nv").on_round(s, p, a)
    assert s.cwnd == pytest.approx(left)
    decided = cwnd > 110 and calls >= 60
    assert (s.growing, s.calls) == ((0, 0) if decided else (1, calls))


def test_nv_waits_for_two_rounds_and_stops_after_ten():
    s, p, a = measured(cwnd=150.0, rounds=0.0)
    CONTROLLERS.find("nv").on_round(s, p, a)
    assert s.cwnd == 150
    s, p, a = measured(calls=10.0, cwnd=150.0, rounds=10.0)
    CONTROLLERS.find("nv").on_round(s, p, a)
    assert (s.cwnd, s.growing) == (150, 0)


@pytest.mark.parametrize(("cwnd", "growing"), [(108, 1), (109, 0)])
def test_nv_grows_two_packets_below(cwnd, growing):
    s, p, a = measured(calls=20.0, cwnd=float(cwnd), growing=0.0)
    CONTROLLERS.find("nv").on_round(s, p, a)
    assert s.growing == growing
    s.cwnd = 100.0
    a.rtt = 0.0
    CONTROLLERS.find("nv").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(100 + growing / 100)


def test_nv_grows_slower_after_each_timeout():
    s, p, a = measured()
    for _ in range(2):
        CONTROLLERS.find("nv").on_timeout(s, p, a)
    assert (s.cwnd, s.slowness, s.growing) == (1, 2, 0)
    s, p, a = measured(slowness=2.0)
    a.rtt = 0.0
    CONTROLLERS.find("nv").on_ack(s, p, a)
    assert s.cwnd == pytest.approx(100 + 1 / 400)
    for _ in range(9):
        vars(s).update(calls=20.0, rate=1000.0, rounds=5.0, cwnd=100.0)
        CONTROLLERS.find("nv").on_round(s, p, a)
    assert s.slowness == 1


@EVERY_MODEL
def test_nv_queues_at_most_its_pad_and_loses_nothing(model):
    """In a data centre, 1 Gb/s and 0.2 ms: as the kernel has it, and nothing beyond 10 packets."""
    net = tc.dumbbell("1 Gbps", "100 us", buffer=200)
    scenario = tc.Scenario(net, [tc.Flow("nv")], duration=2, interval=0.01)
    run = simulate_in(model, scenario)
    assert run.utilization(after=0.5) > 0.99
    assert 2 < run.queue_mean(after=0.5) < 11
    assert run.data["drops"].sum() == 0


# --- CUBIC, as today's kernel runs it


def test_cubic_with_what_the_kernel_puts_around_it():
    """HyStart ends slow start before anything is lost; RACK repairs what is lost later, and
    proportional rate reduction (part of it) leaves 0.7 of the window."""
    net = tc.dumbbell("20 Mbps", "25 ms", buffer=100)
    flow = tc.Flow(
        "cubic",
        slow_start="hystart",
        recovery="rack-tlp",
        transport=tc.Transport(initial_window=10, delayed_ack=0.04),
    )
    run = tc.simulate(tc.Scenario(net, [flow], duration=60), trace=True)
    plain = tc.simulate(tc.Scenario(net, [tc.Flow("cubic")], duration=60))
    assert run.utilization(after=10) > 0.97
    assert int(run.data["timeouts"].sum()) == 0
    start = slice(0, 1.5)
    assert (
        int(run.data["drops"].sel(time=start).sum())
        == 0
        < plain.data["drops"].sel(time=start).sum()
    )
