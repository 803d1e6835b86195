"""Controllers that Linux ships, beside their papers' and kernel's equations worked out by hand."""

import math

import pytest
from by_hand import Rules
from every_model import EVERY_MODEL, WAYS, simulate_in
from on_a_link import mean_over_seeds, on_a_link

import tcpcc as tc
from tcpcc.controllers.htcp import factor


def at(name, cwnd=100.0, *, queueing=0.0, params=None, **state):
    """In congestion avoidance at `cwnd`; packets wait for `queueing` s, 0.1 s at most."""
    rtts = dict.fromkeys(("rtt", "round_rtt", "round_min_rtt"), 0.1 + queueing)
    longest = 0.2 if queueing else 0.1
    sample = {"base_rtt": 0.1, "max_rtt": longest, **rtts}
    return Rules(name, params=params, sample=sample, cwnd=cwnd, **state)


def queueing(end, delay):
    """From now on packets wait for so long."""
    end.a.rtt = end.a.round_rtt = end.a.round_min_rtt = end.a.base_rtt + delay
    end.a.max_rtt = end.a.base_rtt + 0.1


# --- H-TCP


@pytest.mark.parametrize(
    ("elapsed", "rtt", "scaled", "f"),
    [
        *((t, 0.1, False, f) for t, f in ((0.5, 1), (1, 1), (2, 11.25), (3, 22), (5, 45))),
        (5, 0.1, True, 45), (5, 0.05, True, 45 / 2), (5, 0.2, True, 90), (5, 1.0, True, 90),
        (5, 1e-3, True, 4.5),
    ],
)  # fmt: skip
def test_htcp_grows_with_the_time_since_the_last_loss(elapsed, rtt, scaled, f):
    """By rtt / 0.1 s, a half to ten, if it is scaled."""
    p = at("htcp", params={"rtt_scaling": scaled}).p
    assert factor(p, float(elapsed), rtt) == pytest.approx(f)


def test_htcp_increases_by_alpha_per_window():
    end = at("htcp", params={"rtt_scaling": False}, beta=0.75, last_loss=1.0)
    assert end.ack(now=3.0, clock=3.0).cwnd == pytest.approx(100 + 2 * 0.25 * 11.25 / 100)


def test_htcp_backs_off_as_far_as_the_queue_is_long():
    end = at("htcp", rtt_max=0.15, b_max=100.0, b_old=95.0)
    assert end.lose().cwnd == 50  # the first ordinary loss
    end.s.b_max = 105.0
    s = end.lose()
    longest = 0.1 + 0.95 * 0.05
    assert s.beta == pytest.approx(0.1 / longest)
    assert s.cwnd == pytest.approx(100 * 0.1 / longest)
    s.b_max = 130.0  # by more than a fifth
    end.lose()
    assert (s.cwnd, s.adaptive) == (50, 0)


def test_htcp_forgets_a_spurious_loss():
    """R, B_old and the time of the last congestion event are those before it; a second cut before
    the next ACK belongs to the same loss."""
    end = at("htcp", rtt_max=0.15, b_max=130.0, b_old=100.0, last_loss=1.0)
    end.lose(now=3.0, clock=3.0)
    s = end.time_out()
    assert (s.last_loss, s.b_old) == (3, 130)
    end.undo()
    assert (s.rtt_max, s.b_old, s.last_loss) == (0.15, 100, 1)
    assert end.ack(now=4.0, clock=4.0).last_loss == 1


def test_htcp_measures_its_throughput_round_by_round():
    run = tc.simulate(on_a_link("htcp", rate="20 Mbps", duration=30))
    assert run.utilization(after=10) > 0.95


# --- Hybla


@pytest.mark.parametrize(("rtt", "rho"), [(0.01, 1.0), (0.025, 1.0), (0.1, 4.0)])
def test_hybla_grows_as_reno_with_a_short_round_trip(rtt, rho):
    for cwnd, ssthresh, after in (
        (100.0, 2.0, 100 + rho**2 / 100),
        (10.0, math.inf, 10 + 2**rho - 1),
        (10.0, 10.5, 10.5),
    ):
        assert at("hybla", cwnd, ssthresh=ssthresh).ack(base_rtt=rtt).cwnd == pytest.approx(after)


@EVERY_MODEL
def test_hybla_has_the_rate_of_the_reference_round_trip(model):
    """Mean over ten seeds within a tenth of sqrt(3/(2p))/RTT0 at 100 ms, where Reno has a quarter
    of it."""
    p = 1e-3

    def rate(controller):
        link = {"rate": "1 Gbps", "delay": "50 ms", "buffer": math.inf, "loss": p}
        case = on_a_link(controller, duration=60, **link)
        rates = mean_over_seeds(range(10), lambda run: run.throughput(after=5), case, **WAYS[model])
        return rates.item() / 8e3

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
    end = at("illinois", queueing=share * 0.1)
    s = end.round()
    assert (s.alpha, s.beta) == pytest.approx((alpha, beta), abs=5e-4)
    assert end.ack().cwnd == pytest.approx(100 + s.alpha / 100)
    assert end.lose().cwnd == pytest.approx(100 * (1 - s.beta))


def test_illinois_is_reno_in_small_windows_and_after_a_timeout():
    end = at("illinois", cwnd=14.0)
    s = end.round()
    assert (s.alpha, s.beta) == (1, 0.5)
    s.alpha = 7.0
    end.time_out()
    assert (s.alpha, s.beta, s.cwnd) == (1, 0.5, 1)


def test_illinois_waits_for_five_calm_rounds():
    """Each time, and from the beginning after a timeout."""
    end = at("illinois", queueing=0.05)
    held = end.round().alpha
    for calm in (6, 3):
        queueing(end, 0.0)
        assert [end.round().alpha for _ in range(calm)] == ([held] * 4 + [10, 10])[:calm]
        queueing(end, 0.05)
        assert end.round().alpha == held
    end.time_out()
    end.s.cwnd = 100.0
    assert end.round().alpha == held
    queueing(end, 0.0)
    assert [end.round().alpha for _ in range(5)] == [held] * 4 + [10]


# --- Veno


@pytest.mark.parametrize(("delay", "share", "kept"), [(0.002, 1, 0.8), (0.01, 0.5, 0.5)])
def test_veno_asks_how_long_the_queue_is(delay, share, kept):
    """100 packets at 102 ms have 2 in the queue, at 110 ms 9."""
    end = at("veno", queueing=delay)
    s = end.ack()
    assert s.backlog == pytest.approx(100 * delay / (0.1 + delay))
    assert s.cwnd == pytest.approx(100 + share / 100)
    assert end.lose().cwnd == pytest.approx(100 * kept)


# --- YeAH


def test_yeah_is_scalable_without_a_queue_and_reno_with_one():
    end = at("yeah", cwnd=400.0)
    end.round()
    assert end.ack().cwnd == pytest.approx(400 + 1 / 100)
    queueing(end, 0.013)  # more than d/8, though only 46 packets
    end.s.cwnd = 400.0
    s = end.round()
    assert (s.cwnd, s.reno_count) == (400, 200)
    assert end.ack().cwnd == pytest.approx(400 + 1 / 400)


def test_yeah_empties_a_long_queue_but_not_below_reno():
    end = at("yeah", cwnd=1000.0, queueing=0.025)  # 200 packets
    s = end.round()
    assert s.cwnd == s.ssthresh == pytest.approx(800)
    assert s.reno_count == pytest.approx(400)
    s.cwnd = 500.0
    queueing(end, 0.1)  # 250 packets, half the window
    end.round()
    assert (s.cwnd, s.reno_count) == (400, 401)


@pytest.mark.parametrize(
    ("queue", "slow", "left"), [(0, 0, 350), (100, 0, 300), (300, 0, 200), (0, 16, 200)]
)
def test_yeah_gives_up_its_queue_at_a_loss(queue, slow, left):
    end = at("yeah", cwnd=400.0, queue=float(queue), slow_rounds=float(slow))
    assert end.lose().cwnd == left


def test_yeah_forgets_reno_after_fifty_fast_rounds():
    end = at("yeah", cwnd=400.0, reno_count=80.0)
    assert [end.round().reno_count for _ in range(51)] == [80] * 50 + [2]


@pytest.mark.parametrize("name", ["htcp", "illinois", "veno", "yeah"])
def test_a_timeout_leaves_one_packet_and_what_a_loss_would(name):
    s = at(name).time_out()
    assert (s.cwnd, s.ssthresh) == (1, at(name).lose().ssthresh)


# --- NV


def measured(calls=100.0, **state):
    """NV with a decision due: 1000 packets/s in 0.1 s, so that W_max is 110."""
    known = {"rtt": 0.1, "base_rtt": 0.1, "rate": 1000.0, "calls": calls, "rounds": 5.0}
    return at("nv", **(known | state))


def test_nv_keeps_the_largest_rate_and_the_smallest_mean_rtt():
    end = at("nv")
    for rtt, expected in (
        (0.1, (0.1, 500, 0.1)),
        (0.2, (0.15, 500, 0.1)),
        (0.1, (0.125, 500, 0.1)),
    ):
        s = end.ack(round_packets=50.0, rtt=rtt)
        assert (s.rtt, s.rate, s.base_rtt) == pytest.approx(expected)
    assert s.calls == 3


@pytest.mark.parametrize(
    ("cwnd", "calls", "left"),
    [(150, 60, 138), (150, 59, 150), (115, 60, 113), (111, 60, 110), (110, 60, 110)],
)
def test_nv_gives_up_three_tenths_of_what_is_too_much(cwnd, calls, left):
    """After 60 measurements: at least 2 packets, and W_max itself when that is near."""
    s = measured(calls=calls, cwnd=float(cwnd)).round()
    assert s.cwnd == pytest.approx(left)
    decided = cwnd > 110 and calls >= 60
    assert (s.growing, s.calls) == ((0, 0) if decided else (1, calls))


def test_nv_waits_for_two_rounds_and_stops_after_ten():
    assert measured(cwnd=150.0, rounds=0.0).round().cwnd == 150
    s = measured(calls=10.0, cwnd=150.0, rounds=10.0).round()
    assert (s.cwnd, s.growing) == (150, 0)


@pytest.mark.parametrize(("cwnd", "growing"), [(108, 1), (109, 0)])
def test_nv_grows_two_packets_below(cwnd, growing):
    end = measured(calls=20.0, cwnd=float(cwnd), growing=0.0)
    s = end.round()
    assert s.growing == growing
    s.cwnd = 100.0
    assert end.ack(rtt=0.0).cwnd == pytest.approx(100 + growing / 100)


def test_nv_grows_slower_after_each_timeout():
    end = measured()
    end.time_out()
    s = end.time_out()
    assert (s.cwnd, s.slowness, s.growing) == (1, 2, 0)
    end = measured(slowness=2.0)
    assert end.ack(rtt=0.0).cwnd == pytest.approx(100 + 1 / 400)
    for _ in range(9):
        vars(end.s).update(calls=20.0, rate=1000.0, rounds=5.0, cwnd=100.0)
        end.round()
    assert end.s.slowness == 1


@EVERY_MODEL
def test_nv_queues_at_most_its_pad_and_loses_nothing(model):
    """In a data centre, 1 Gb/s and 0.2 ms: as the kernel has it, and nothing beyond 10 packets."""
    link = {"rate": "1 Gbps", "delay": "100 us", "buffer": 200}
    run = simulate_in(model, on_a_link("nv", duration=2, interval=0.01, **link))
    assert run.utilization(after=0.5) > 0.99
    assert 2 < run.queue_mean(after=0.5) < 11
    assert run.data["drops"].sum() == 0


# --- CUBIC, as today's kernel runs it


def test_cubic_with_what_the_kernel_puts_around_it():
    """HyStart ends slow start before anything is lost; RACK repairs what is lost later, and
    proportional rate reduction (part of it) leaves 0.7 of the window."""
    kernel = {"initial_window": 10, "delayed_ack": 0.04}
    flow = tc.Flow("cubic", slow_start="hystart", recovery="rack-tlp", transport=kernel)
    run, plain = (
        tc.simulate(on_a_link(each, rate="20 Mbps", delay="25 ms", buffer=100, duration=60))
        for each in (flow, "cubic")
    )
    assert run.utilization(after=10) > 0.97
    assert int(run.data["timeouts"].sum()) == 0
    drops, others = (x.data["drops"].sel(time=slice(0, 1.5)).sum() for x in (run, plain))
    assert int(drops) == 0 < others
