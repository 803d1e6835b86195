"""Disciplines that count connections: SRED's estimate, SRED, and RED with thresholds that follow
it."""

from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import Queue, stream
from every_model import EVERY_MODEL, simulate_in
from hypothesis import given
from hypothesis import strategies as st
from on_a_link import on_a_link

import tcpcc as tc
from tcpcc.engine.streams import uniform
from tcpcc.queues import QUEUES, flow_count, sred
from tcpcc.queues.red import base_probability

DUMBBELL = {"rate": "4 Mbps", "delay": "20 ms", "buffer": 40}


class Plain(Queue):
    """A discipline's rules on plain objects."""

    def __init__(self, name, seed=1, **params):
        sample = {"rate": 10e6, "size": 1000.0, "arrivals": 1.0, "limit": 31.0}
        super().__init__(name, seed, params=params, sample=sample)


# The estimate


@pytest.mark.parametrize("warm_up", [0, 1])
def test_the_estimate_follows_the_papers_equations(warm_up):
    """(1) and (2), packet by packet, with a list that grows to 50 zombies."""
    sred, rng = Plain("sred", zombies=50, overwrite=0.25, warm_up=warm_up), np.random.default_rng(1)
    source = SimpleNamespace(**stream(1))
    zombies, frequency, compared = [], 0.0, 0
    for flow in rng.integers(0, 4, 3000):
        sred.arrive(flow=float(flow), queue=0.0)
        if zombies:
            chosen = int(uniform(source) * len(zombies))
            hit = zombies[chosen] == flow
            compared += 1
            gain = max(0.25 / 50, 1 / compared) if warm_up else 0.25 / 50
            frequency = (1 - gain) * frequency + gain * hit
        if len(zombies) < 50:
            zombies.append(flow)
        elif not hit and uniform(source) < 0.25:
            zombies[chosen] = flow
        uniform(source)  # to drop or not
        assert sred.s.hit_frequency == pytest.approx(frequency, rel=1e-9)
    assert list(sred.s.zombies[:50]) == zombies
    assert not sred.s.zombies[50:].any()


def estimate(shares, arrivals=60_000, seed=3, **params):
    """Mean of P over the second half of `arrivals` independent arrivals."""
    sred, rng = Plain("sred", seed, **params), np.random.default_rng(seed)
    found = []
    for flow in rng.choice(len(shares), arrivals, p=shares):
        sred.arrive(flow=float(flow), queue=0.0)
        found.append(sred.s.hit_frequency)
    return np.mean(found[arrivals // 2 :])


@pytest.mark.parametrize("n", [1, 50])
def test_flows_of_equal_rate_are_counted(n):
    assert 1 / estimate([1 / n] * n) == pytest.approx(n, rel=0.05)


@pytest.mark.parametrize("shares", [[0.75, 0.25], [0.5, 0.2, 0.2, 0.1]])
def test_the_frequency_of_hits_is_the_sum_of_squared_shares(shares):
    assert estimate(shares) == pytest.approx(sum(x**2 for x in shares), rel=0.05)


def test_p_starts_at_0_or_with_warm_up_at_the_mean():
    """After k packets of one flow: P = 1 - (1 - a)^(k - 1), or 1 at once with `warm_up`."""
    slow, fast = Plain("sred", warm_up=False), Plain("sred", warm_up=True)
    for _ in range(1001):
        slow.arrive(flow=7.0)
        fast.arrive(flow=7.0)
    assert slow.s.hit_frequency == pytest.approx(1 - (1 - 0.25 / 1000) ** 1000)
    assert fast.s.hit_frequency == 1


def test_the_flow_count_is_at_most_the_number_of_zombies():
    sred = Plain("sred", zombies=20)
    for flow in range(500):
        sred.arrive(flow=float(flow))
        assert 1 <= sred.s.flows <= 20


CHANGING = [
    *(tc.CBR("0.6 Mbps", on=[(0, 30)], name=f"first{k}") for k in range(2)),
    tc.CBR("0.3 Mbps", name="always"),
    *(tc.CBR("0.3 Mbps", on=[(30, None)], name=f"later{k}") for k in range(7)),
]


@pytest.mark.parametrize("warm_up", [0, 1])
@pytest.mark.parametrize("queue", ["sred", "connection_red"])
def test_the_estimate_in_trains_is_that_of_packets(queue, warm_up):
    """Three sources, and eight from 30 s on: means of P over seeds at all times.

    At the end the shares are equal, and the list has forgotten the first two.
    """
    params = {"zombies": 300, "warm_up": warm_up}
    on = {"estimator": 1} if queue == "connection_red" else {}
    case = on_a_link(*CHANGING, **DUMBBELL, queue=QUEUES[queue](**on, **params), duration=60)
    means = []
    for options in ({}, {"trains": 8}):
        runs = [tc.simulate(case.replace(seed=seed), **options) for seed in range(12)]
        assert all(("trains" in run.data.attrs) == bool(options) for run in runs)
        means.append(np.mean([1 / run.data.queue_flows.values[50:, 0] for run in runs], axis=0))
        assert means[-1][-1] == pytest.approx(1 / 8, rel=0.1)
    assert np.abs(means[1] - means[0]).max() < 0.03


# RED whose thresholds follow


@pytest.mark.parametrize(
    ("n", "params", "low", "high"),
    [
        (2, {}, 6, 8), (5, {}, 15, 20), (0, {}, 3, 4), (7, {}, 21, 28), (8, {}, 24, 30),
        (10, {}, 30, 30), (50, {}, 30, 30), (5, {"error": 0.2}, 18, 24),
        (5, {"error": -0.2}, 12, 16), (9, {"error": 0.1}, 29.7, 30), (4, {"beta": 1}, 4, 8),
    ],
)  # fmt: skip
def test_the_thresholds_follow_the_number_of_connections(n, params, low, high):
    """(1) with beta = 3 and room for B = 30 packets beside the one being sent."""
    red = Plain("connection_red", **params)
    for rule in (red.arrive, red.arrive_as_fluid):
        rule(flows=float(n), limit=31.0)
        assert (red.s.min_thresh, red.s.max_thresh) == pytest.approx((low, high))
        assert red.s.flows == pytest.approx(max(n, 1) * (1 + params.get("error", 0)))


@given(st.integers(0, 500), st.floats(-0.9, 2), st.floats(0, 20), st.floats(1, 1000))
def test_thresholds_stay_in_the_buffer_and_grow_with_n(n, error, beta, limit):
    red = Plain("connection_red", beta=beta, error=error)
    seen = []
    for flows in (n, n + 1):
        red.arrive(flows=float(flows), limit=limit)
        assert 0 <= red.s.min_thresh <= red.s.max_thresh <= limit - 1
        seen.append((red.s.min_thresh, red.s.max_thresh))
    assert seen[0] <= seen[1]


def test_equal_thresholds_keep_the_gentle_branch():
    p = SimpleNamespace(max_p=0.1, gentle=True)
    assert [base_probability(avg, 20.0, 20.0, p) for avg in (19.9, 20, 30, 40)] == pytest.approx(
        [0, 0.1, 0.55, 1]
    )


@EVERY_MODEL
@pytest.mark.parametrize("n", [2, 3])
def test_connection_red_with_a_constant_count_equals_red(n, model):
    """The same law, and the estimator draws no random numbers while it is off."""
    flows = [tc.Flow(("vegas", "reno", "newreno")[k]) for k in range(n)]
    runs = [
        simulate_in(model, on_a_link(*flows, **DUMBBELL, queue=queue, duration=20))
        for queue in (
            tc.queues.ConnectionRED(weight=0.01),
            tc.queues.RED(min_thresh=3 * n, max_thresh=4 * n, weight=0.01),
        )
    ]
    assert runs[0].data.drops.sum() > 10
    for name in ("cwnd", "queue", "drops", "delivered", "queue_avg"):
        assert runs[0].data[name].identical(runs[1].data[name]), name


@EVERY_MODEL
def test_thresholds_follow_the_open_connections(model):
    """One, then three, then two connections, of which one finishes: 1, 3, 2, 1."""
    flows = [
        tc.Flow("vegas", transport=tc.Transport.ns2()),
        tc.Flow("vegas", start=4, stop=8, transport=tc.Transport.ns2()),
        tc.Flow("vegas", start=4, size=800, transport=tc.Transport.ns2()),
    ]
    net = tc.dumbbell(**DUMBBELL, queue=tc.queues.ConnectionRED(error=0.1))
    run = simulate_in(model, tc.Scenario(net, flows, duration=20))
    end = float(run.data.finished[2])
    assert 8.5 < end < 19
    at = run.data.queue_min_thresh[:, 0].sel(time=[3.9, 7.9, end - 0.2, 20], method="nearest")
    assert at.values == pytest.approx(3 * 1.1 * np.array([1, 3, 2, 1]))


def test_a_larger_assumed_flow_count_gives_a_longer_queue():
    flows = [tc.Flow(("vegas", "reno")[k % 2], start=0.1 * k) for k in range(4)]
    queues = []
    for error in (-0.2, 0, 0.2):
        queue = tc.queues.ConnectionRED(error=error)
        case = on_a_link(*flows, **DUMBBELL, queue=queue, duration=60)
        queues.append(tc.simulate(case).queue_mean(after=10))
    assert queues == sorted(queues)
    assert queues[2] > 1.15 * queues[0]


def test_vegas_gets_a_larger_share_beside_reno_than_with_droptail():
    """The purpose of the discipline (thesis, Tables 3.1 and 4.1)."""
    link = {"rate": "1.5 Mbps", "delay": "40 ms", "buffer": 21}
    ratios = []
    for queue in ("droptail", tc.queues.ConnectionRED(), tc.queues.ConnectionRED(estimator=1)):
        run = tc.simulate(on_a_link("vegas", "reno", duration=100, queue=queue, **link))
        ratios.append(run.throughput_ratio("vegas", "reno"))
    assert ratios[0] < 0.5
    assert min(ratios[1:]) > 1.5 * ratios[0]


# SRED


@pytest.mark.parametrize(
    ("queue", "share"), [(0, 0), (4, 0), (4.99, 0), (5, 0.25), (9.99, 0.25), (10, 1), (30, 1)]
)
def test_sred_drops_by_sixths_and_thirds_of_the_buffer(queue, share):
    """(1) with room for 30 packets."""
    p, q = SimpleNamespace(max_p=0.15), SimpleNamespace(queue=queue, limit=31.0)
    assert sred.queue_probability(p, q) == pytest.approx(0.15 * share)


@pytest.mark.parametrize(
    ("n", "full", "hit", "factor"),
    [(256, 0, 1, 1), (900, 0, 0, 1), (128, 0, 1, 1 / 4), (16, 0, 0, 1 / 256), (16, 1, 0, 1 / 256),
     (16, 1, 1, 17 / 256), (2, 1, 1, 3 / 128**2)],
)  # fmt: skip
def test_sred_drops_by_the_square_of_the_number_of_flows(n, full, hit, factor):
    """(2) and (3)."""
    p = SimpleNamespace(max_p=0.15, most_flows=256, full=full)
    s, q = SimpleNamespace(flows=n), SimpleNamespace(queue=20, limit=31.0)
    assert sred.drop_probability(s, p, q, hit) == pytest.approx(0.15 * factor)


@pytest.mark.parametrize("full", [0, 1])
def test_both_rules_drop_the_same_share(full):
    """20 flows of equal rate. P moves by a twentieth around its mean."""
    packets, amounts = (Plain("sred", full=full, most_flows=32) for _ in range(2))
    rng = np.random.default_rng(2)
    drops = [packets.arrive(flow=float(f), queue=15.0) for f in rng.integers(0, 20, 60_000)]
    for _ in range(600):
        share = amounts.arrive_as_fluid(queue=15.0, arrivals=100.0, concentration=1 / 20)
    assert amounts.s.flows == pytest.approx(20, rel=0.001)
    assert np.mean(drops[20_000:]) == pytest.approx(share, rel=0.1)


def test_full_sred_drops_more_of_the_fastest_flow():
    """With full SRED a flow with half of the packets loses a larger share than the others; simple
    SRED makes no distinction."""
    ratios = []
    for full in (1, 0):
        queue, rng = Plain("sred", full=full, most_flows=4), np.random.default_rng(4)
        flows = rng.choice(9, 40_000, p=[0.5, *[1 / 16] * 8])
        drops = np.array([queue.arrive(flow=float(f), queue=15.0) for f in flows])
        ratios.append(drops[flows == 0].mean() / drops[flows > 0].mean())
    assert ratios[0] > 1.5
    assert ratios[1] == pytest.approx(1, abs=0.1)


@EVERY_MODEL
def test_sred_keeps_the_queue_near_a_third_of_the_buffer(model):
    """The drop probability changes by a factor of four at a third, so the queue stays about a third
    of the buffer."""
    flows = [tc.Flow("reno", start=0.05 * k, recovery="sack") for k in range(30)]
    queue = tc.queues.SRED(most_flows=64)
    case = on_a_link(*flows, rate="20 Mbps", buffer=300, queue=queue, duration=60)
    run = simulate_in(model, case)
    assert 20 < run.data.queue_flows[-1, 0] < 35
    assert run.queue_mean(after=20) == pytest.approx(100, rel=0.2)


def test_both_disciplines_share_the_estimator():
    for name in ("sred", "connection_red"):
        discipline = QUEUES.find(name)
        assert flow_count.ESTIMATOR_PARAMS.items() <= discipline.params.items()
        assert discipline.state["zombies"].size == flow_count.ROOM
