"""Swift: its target, its steps, and the queue of few and of very many flows."""

import math

import pytest
from by_hand import rules_of

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.swift import target_delay

SWIFT = CONTROLLERS.find("swift")
BASE = 50e-6


def begin(window, **params):
    """A flow with that window, an RTT of 100 us, and its last cut long ago."""
    params = {"base_target": BASE, "hop_share": 0.2, **params}
    sample = {"now": 1.0, "srtt": 1e-4, "rtt": 1e-4, "hops": 3.0, "delivered": 1.0, "growing": 1.0}
    return rules_of(SWIFT, params=params, sample=sample, window=window, cwnd=max(window, 1.0))[1:]


def target(window):
    """Section 3.5, with the paper's alpha and beta, in s."""
    reach = 5 * BASE
    alpha = reach / (1 / math.sqrt(0.1) - 1 / math.sqrt(100))
    beta = -alpha / math.sqrt(100)
    return BASE + 3 * 0.2 * BASE + max(0, min(alpha / math.sqrt(window) + beta, reach))


@pytest.mark.parametrize("window", [0.01, 0.1, 0.5, 1, 4, 30, 100, 1000])
def test_the_target_grows_with_hops_and_shrinks_with_the_window(window):
    for rtt, grows in ((0.999 * target(window), True), (1.001 * target(window), False)):
        s, p, a = begin(float(window))
        a.rtt = rtt
        SWIFT.on_ack(s, p, a)
        assert (s.window > window) == grows


@pytest.mark.parametrize(
    ("window", "packets", "grown"), [(10, 1, 10.1), (10, 5, 10.5), (1, 1, 2), (0.25, 1, 1.25)]
)
def test_additive_increase_below_the_target(window, packets, grown):
    s, p, a = begin(float(window))
    a.rtt, a.growing = BASE, float(packets)
    SWIFT.on_ack(s, p, a)
    assert s.window == pytest.approx(grown)


@pytest.mark.parametrize("excess", [1.1, 1.5, 2.0, 10.0])
def test_multiplicative_decrease_above_it_once_per_round_trip(excess):
    s, p, a = begin(20.0)
    a.rtt = excess * target(20.0)
    kept = max(1 - 0.8 * (a.rtt - target(20.0)) / a.rtt, 0.5)
    SWIFT.on_ack(s, p, a)
    assert s.window == pytest.approx(20 * kept)
    a.now += 0.99e-4
    SWIFT.on_ack(s, p, a)
    assert s.window == pytest.approx(20 * kept)
    a.now += 0.02e-4
    SWIFT.on_ack(s, p, a)
    assert s.window < 20 * kept


def test_losses_and_timeouts():
    s, p, a = begin(20.0)
    SWIFT.on_loss(s, p, a)
    SWIFT.on_loss(s, p, a)
    assert s.window == 10
    for k in range(4):
        a.now += 1
        SWIFT.on_timeout(s, p, a)
        assert s.window == 10 / 2 ** (k + 1)
    SWIFT.on_timeout(s, p, a)
    assert s.window == 0.01


def test_a_window_below_a_packet_is_paced():
    s, p, a = begin(1.0)
    SWIFT.on_loss(s, p, a)
    assert (s.window, s.cwnd) == (0.5, 1)
    assert s.pacing_rate == pytest.approx(0.5 / a.srtt)
    a.rtt = BASE
    SWIFT.on_ack(s, p, a)
    assert s.cwnd == s.window == 1.5
    assert s.pacing_rate == math.inf


@pytest.mark.parametrize(("flows", "overshoot"), [(10, 0.05), (100, 0.35), (1000, 0.6)])
def test_the_queue_stays_near_the_target_also_below_a_packet_per_round_trip(flows, overshoot):
    """10 Gb/s and an RTT of 11 us, which holds 9 packets: 1000 windows of one packet would queue
    990. Swift's mean window is then a quarter of a packet. Steps of a packet overshoot the target
    the more, the smaller the window."""
    net = tc.dumbbell("10 Gbps", "5 us", 5000)
    sender = {"packet_size": 1500, "transport": {"initial_window": 1}, "jitter": "5 ms"}
    flow = tc.Flow("swift", base_target=BASE, count=flows, **sender)
    run = tc.simulate(tc.Scenario(net, [flow], duration=0.08, interval=0.001))
    queue = run.queue_mean(after=0.04)
    pipe, rate = 9.3, 10e9 / 12000
    window = (pipe + queue) / flows
    hops = 1
    reach = 5 / (1 / math.sqrt(0.1) - 0.1)
    aim = rate * BASE * (1 + hops / 6.55 + reach * (1 / math.sqrt(window) - 0.1)) - pipe
    assert run.utilization(after=0.04) > 0.99
    assert run.data.dropped.sum() == 0
    assert aim < queue < (1 + overshoot) * aim
    assert (window < 1) == (flows == 1000)


def test_an_acknowledged_packet_ends_a_row_of_timeouts():
    s, p, a = begin(20.0)
    for _ in range(3):
        SWIFT.on_ack(s, p, a)
        for _ in range(4):
            SWIFT.on_timeout(s, p, a)
    assert s.window > 5


def test_a_window_of_one_packet_is_not_paced():
    for window, rate in ((1.0, math.inf), (0.5, 0.75 / 1e-4)):
        s, p, a = begin(window)
        a.rtt, a.growing = BASE, 0.25 if window < 1 else 0.0
        SWIFT.on_ack(s, p, a)
        assert s.pacing_rate == pytest.approx(rate)


def test_a_cut_is_due_exactly_one_round_trip_after_the_last():
    s, p, a = begin(20.0)
    s.cut_at, a.now, a.srtt = 1.0, 1.5, 0.5
    SWIFT.on_loss(s, p, a)
    assert s.window == 10


def test_the_window_stays_at_the_target():
    s, p, a = begin(20.0)
    a.rtt = target_delay(s, p, a)
    SWIFT.on_ack(s, p, a)
    assert s.window == 20
