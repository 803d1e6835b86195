"""Swift: its target, its steps, and the queue of few and of very many flows."""

import math

import pytest
from by_hand import Rules
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS
from tcpcc.controllers.swift import target_delay

SWIFT = CONTROLLERS.find("swift")
BASE = 50e-6


def begin(window, rtt=1e-4, **sample):
    """A flow with that window, an RTT of 100 us, and its last cut long ago."""
    params = {"base_target": BASE, "hop_share": 0.2}
    told = {"now": 1.0, "srtt": 1e-4, "rtt": rtt, "hops": 3.0, "delivered": 1.0, "growing": 1.0}
    own = {"window": window, "cwnd": max(window, 1.0), "ssthresh": math.inf}
    return Rules(SWIFT, params=params, sample=told | sample, **own)


def target(window):
    """Section 3.5, with the paper's alpha and beta, in s."""
    reach = 5 * BASE
    alpha = reach / (1 / math.sqrt(0.1) - 1 / math.sqrt(100))
    beta = -alpha / math.sqrt(100)
    return BASE + 3 * 0.2 * BASE + max(0, min(alpha / math.sqrt(window) + beta, reach))


@pytest.mark.parametrize("window", [0.01, 0.1, 0.5, 1, 4, 30, 100, 1000])
def test_the_target_grows_with_hops_and_shrinks_with_the_window(window):
    for part, grows in ((0.999, True), (1.001, False)):
        s = begin(float(window)).ack(rtt=part * target(window))
        assert (s.window > window) == grows


@pytest.mark.parametrize(
    ("window", "packets", "grown"), [(10, 1, 10.1), (10, 5, 10.5), (1, 1, 2), (0.25, 1, 1.25)]
)
def test_additive_increase_below_the_target(window, packets, grown):
    s = begin(float(window)).ack(rtt=BASE, growing=float(packets))
    assert s.window == pytest.approx(grown)


@pytest.mark.parametrize("excess", [1.1, 1.5, 2.0, 10.0])
def test_multiplicative_decrease_above_it_once_per_round_trip(excess):
    rtt = excess * target(20.0)
    end = begin(20.0, rtt)
    kept = max(1 - 0.8 * (rtt - target(20.0)) / rtt, 0.5)
    assert end.ack().window == pytest.approx(20 * kept)
    assert end.ack(now=1 + 0.99e-4).window == pytest.approx(20 * kept)
    assert end.ack(now=1 + 1.01e-4).window < 20 * kept


def test_losses_and_timeouts():
    end = begin(20.0)
    end.lose()
    assert end.lose().window == 10
    for k in range(4):
        assert end.time_out(now=2.0 + k).window == 10 / 2 ** (k + 1)
    assert end.time_out().window == 0.01


def test_a_window_below_a_packet_is_paced():
    end = begin(1.0)
    s = end.lose()
    assert (s.window, s.cwnd) == (0.5, 1)
    assert s.pacing_rate == pytest.approx(0.5 / 1e-4)
    end.ack(rtt=BASE)
    assert s.cwnd == s.window == 1.5
    assert s.pacing_rate == math.inf


@pytest.mark.parametrize(("flows", "overshoot"), [(10, 0.05), (100, 0.35), (1000, 0.6)])
def test_the_queue_stays_near_the_target_also_below_a_packet_per_round_trip(flows, overshoot):
    """10 Gb/s and an RTT of 11 us, which holds 9 packets: 1000 windows of one packet would queue
    990. Swift's mean window is then a quarter of a packet. Steps of a packet overshoot the target
    the more, the smaller the window."""
    sender = {"packet_size": 1500, "transport": {"initial_window": 1}, "jitter": "5 ms"}
    flow = tc.Flow("swift", base_target=BASE, count=flows, **sender)
    link = {"rate": "10 Gbps", "delay": "5 us", "buffer": 5000}
    run = tc.simulate(on_a_link(flow, duration=0.08, interval=0.001, **link))
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
    end = begin(20.0)
    for _ in range(3):
        end.ack()
        for _ in range(4):
            end.time_out()
    assert end.s.window > 5


@pytest.mark.parametrize(
    ("window", "growing", "rate"), [(1.0, 0.0, math.inf), (0.5, 0.25, 0.75 / 1e-4)]
)
def test_a_window_of_one_packet_is_not_paced(window, growing, rate):
    assert begin(window).ack(rtt=BASE, growing=growing).pacing_rate == pytest.approx(rate)


def test_a_cut_is_due_exactly_one_round_trip_after_the_last():
    end = begin(20.0)
    end.s.cut_at = 1.0
    assert end.lose(now=1.5, srtt=0.5).window == 10


def test_the_window_stays_at_the_target():
    end = begin(20.0)
    assert end.ack(rtt=target_delay(end.s, end.p, end.a)).window == 20
