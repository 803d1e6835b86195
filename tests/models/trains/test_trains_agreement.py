"""Trains compared with closed forms, and with single packets."""

import math

import numpy as np
import pytest
from every_model import BESIDE_PACKETS, simulate_in

import tcpcc as tc

NS2 = tc.Transport.ns2()


def lone(controller, rate=20e6, delay=0.0498, buffer=math.inf, loss=0.0, duration=300, **flow):
    net = tc.dumbbell(rate, delay, buffer, loss=loss)
    return tc.Scenario(net, [tc.Flow(controller, **{"transport": NS2} | flow)], duration=duration)


@pytest.mark.parametrize("b", [0.125, 0.25, 0.5, 1.0])
@BESIDE_PACKETS
def test_reno_utilization_is_that_of_its_sawtooth(model, b):
    """U(b) = mean of the sawtooth between (1 + b)/2 and 1 + b bandwidth-delay products."""
    case = lone("reno", buffer=round(250 * b) + 1, recovery="sack", duration=600)
    used = simulate_in(model, case).utilization(after=100)
    low, high = (1 + b) / 2, 1 + b
    rtts = np.maximum(np.linspace(low, high, 100_001), 1)  # time per round, in base RTTs
    windows = np.linspace(low, high, 100_001)
    assert used == pytest.approx(windows.mean() / rtts.mean(), abs=0.01)


@pytest.mark.parametrize("p", [1e-3, 1e-2])
def test_reno_under_random_loss_follows_the_square_root_law(p):
    """W = sqrt(3/(2p)) with periodic losses, sqrt(2/p) x 0.93 with random ones."""
    windows = []
    for seed in range(6):
        case = lone("reno", rate=1e9, loss=p, recovery="sack").replace(seed=seed)
        run = tc.simulate(case, trains=16)
        rate = float(run.throughput(after=50)[0]) / 8000
        windows.append(rate * float(run.data["base_rtt"][0]))
    assert np.mean(windows) == pytest.approx(math.sqrt(1.5 / p), rel=0.12)


@BESIDE_PACKETS
def test_vegas_keeps_alpha_to_beta_packets_per_flow(model):
    net = tc.dumbbell("20 Mbps", "20 ms", 500)
    flows = [tc.Flow("vegas", alpha=2, beta=4, start=0.0) for _ in range(5)]
    run = simulate_in(model, tc.Scenario(net, flows, duration=60))
    assert 5 * 2 - 1 <= run.queue_mean(after=40) <= 5 * 4 + 1


@pytest.mark.parametrize(
    "queue", [tc.queues.DropTail(), tc.queues.RED(min_thresh=5, max_thresh=25)]
)
@pytest.mark.parametrize("controller", ["reno", "vegas", "quick_vegas"])
def test_packets_and_trains_agree_for_four_flows(controller, queue):
    net = tc.dumbbell("20 Mbps", "20 ms", 60, queue=queue)
    recovery = "sack" if controller == "reno" else None
    flows = [tc.Flow(controller, start=0.5 * k, recovery=recovery) for k in range(4)]
    case = tc.Scenario(net, flows, duration=100)
    one, other = tc.simulate(case), tc.simulate(case, trains=16)
    assert other.utilization(after=20) == pytest.approx(one.utilization(after=20), rel=0.05)
    assert other.queue_mean(after=20) == pytest.approx(one.queue_mean(after=20), rel=0.25, abs=2)


@pytest.mark.parametrize("trains", [16, 1e9])
def test_a_threshold_in_bytes_marks_the_packets_that_it_marks_one_by_one(trains):
    """A discipline once saw half a packet more in bytes than in packets, and marked one too early:
    the mean queue was 19.0 packets for 20.0."""
    queue = tc.queues.StepMark(threshold=20, byte_queue=True)
    flow = tc.Flow("dctcp", packet_size=1500, transport={"ecn": "accurate"})
    case = tc.Scenario(tc.dumbbell("20 Mbps", "5 ms", 200, queue=queue), [flow] * 2, duration=10)
    one, other = tc.simulate(case), tc.simulate(case, trains=trains)
    assert other.queue_mean(after=2) == pytest.approx(one.queue_mean(after=2), abs=0.1)
    assert float(other.data["marks"].sum()) == pytest.approx(
        float(one.data["marks"].sum()), rel=5e-3
    )


def test_the_order_of_different_flows_does_not_matter():
    net = tc.dumbbell("10 Mbps", "20 ms", 500)
    flows = [tc.Flow("vegas"), tc.Flow("vegas", start=3, alpha=4, beta=6), tc.CBR("2 Mbps")]
    runs = [
        tc.simulate(tc.Scenario(net, each, duration=30), trains=16) for each in (flows, flows[::-1])
    ]
    there, back = (run.throughput(after=10).values for run in runs)
    assert there == pytest.approx(back[::-1], abs=8000 / 20)  # a packet


def test_queues_of_slow_flows_stay_within_the_buffer():
    """A packet is lost whole, although its flow brings less than one packet in a step; so is an
    ACK."""
    ways = [("r0", "r1"), ("r1", "r0"), ("r1", "r2"), ("r2", "r1")]
    net = tc.Network([tc.Link(*way, rate="10 Mbps", delay="5 ms", buffer=20) for way in ways])
    flows = [
        tc.Flow("cubic", source=a, target=b, start=0.05 * k)
        for k, (a, b) in enumerate([("r0", "r2"), ("r2", "r0"), ("r0", "r1"), ("r1", "r2")] * 8)
    ]
    run = tc.simulate(tc.Scenario(net, flows, duration=10), trains=16)
    assert 15 < run.data.queue_max.max() <= 20


def test_without_a_queue_controllers_see_the_base_rtt():
    """A packet waits for the packets before it, not for itself. Otherwise algorithms that use the
    difference between RTT and base RTT would see a queue."""
    run = tc.simulate(lone("areno", loss=1e-3), trains=16)
    packets = tc.simulate(lone("areno", loss=1e-3))
    assert run.throughput(after=50).mean() == pytest.approx(
        float(packets.throughput(after=50).mean()), rel=0.05
    )


def test_tiny_windows_lose_and_time_out_as_in_packets():
    """A hundred flows with buffer for one packet each lose a sixth of all packets. The timeout
    stays doubled until a packet that was sent once is acknowledged (Karn's rule); without this rule
    there were 1.5 times as many timeouts and 1.25 times as many losses."""
    from experiments.background import DELAYS, JITTER, several_sizes

    found = []
    for seed in (1, 2):
        flows = [
            tc.Flow("newreno", access_delay=DELAYS[k % 4], jitter=JITTER, transport=NS2)
            for k in range(100)
        ]
        net = tc.dumbbell("10 Mbps", "20 ms", 100)
        case = several_sizes(tc.Scenario(net, flows, duration=60, seed=seed))
        for run in (tc.simulate(case), tc.simulate(case, trains=16)):
            late = run.data.sel(time=slice(20, None))
            found.append([float(late.drops.sum() / late.arrived.sum()), run.data.timeouts.sum()])
    packet, trains = np.mean(found[::2], axis=0), np.mean(found[1::2], axis=0)
    assert packet[0] > 0.13
    assert trains == pytest.approx(packet, rel=0.15)
