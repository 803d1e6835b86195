"""The mean field as an integrator: known solutions, order, scaling, bounds; and packet runs."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import tcpcc as tc
from tcpcc.models.meanfield.meanfield_world import FIRST_ROWS, MeanFieldWorld


def scenario(*flows, rate="10 Mbps", delay="50 ms", buffer=1e6, duration=60, **link):
    net = tc.dumbbell(rate, delay, buffer, **link)
    return tc.Scenario(net, flows, duration=duration, interval=duration / 100)


def world_after(case, step, at=None):
    world = MeanFieldWorld(case, step, bins=False)
    world.start()
    world.run(round((at or case.duration) / world.step))
    return world


def convergence(errors):
    return np.log2(np.array(errors[:-1]) / errors[1:])


def test_second_order_on_reno_growth_with_a_known_solution():
    """Below capacity W W' = W(t - R) / R. By the method of steps, with time in round trips and W1
    at 1: W^2 = W1^2 + 2 W0 (t - 1) up to 2; after that its root is integrated once more.

    W1 is taken from the run: no ACK has returned by then, and at the first ACKs the rate jumps,
    which costs or adds half a step.
    """
    rtt, first = 0.1, 10.0
    flow = tc.Flow("reno", transport={"initial_window": first})
    case = scenario(flow, rate="1 Tbps", delay=rtt / 2 - 1e-8, duration=1)
    errors = []
    for steps in (5, 10, 20, 40):
        world = MeanFieldWorld(case, rtt / steps, bins=False)
        world.start()
        world.states[0]["ssthresh"] = 2.0
        world.classes["slow"] = 0
        world.run(steps)
        one = float(world.states[0]["cwnd"][0]) ** 2
        world.run(3 * steps)
        two = one + 2 * first
        known = math.sqrt(two + 2 / (3 * first) * (two**1.5 - one**1.5))
        errors.append(abs(float(world.states[0]["cwnd"][0]) - known) / known)
    assert errors[-1] < 1e-5
    assert (convergence(errors) > 1.8).all()


def test_second_order_with_a_state_dependent_delay():
    """Compared with a hundredth of the step; the delay depends on the state throughout."""
    queue = tc.RED(min_thresh=5, max_thresh=200, wait=False)
    case = scenario(tc.Flow("reno", count=10), queue=queue, duration=20)

    def states(step):
        world = world_after(case, step)
        return np.array([float(world.states[0]["cwnd"][0]), float(world.links["backlog"][0]) / 8e3])

    exact = states(0.1 / 640)
    errors = [np.abs(states(0.1 / steps) / exact - 1).max() for steps in (5, 10, 20, 40)]
    assert errors[0] < 0.01
    assert convergence(errors).mean() > 1.6


def test_scipy_settles_at_the_equilibrium_of_the_right_hand_side():
    """The equilibrium does not depend on the delays either."""
    queue = tc.RED(min_thresh=5, max_thresh=80, wait=False)
    case = scenario(tc.Flow("reno", count=10), queue=queue)
    f = tc.right_hand_side(case)
    end = solve_ivp(f, (0, 100), f.y0, method="LSODA", rtol=1e-6).y[:, -1]
    rest = tc.equilibrium(case)
    assert end[f.names.index("reno1.cwnd")] == pytest.approx(float(rest.cwnd[0]), rel=1e-3)
    assert end[-1] / 8000 == pytest.approx(float(rest.queue[0]), rel=1e-3)


@settings(max_examples=15)
@given(
    controllers=st.lists(
        st.sampled_from(["reno", "cubic", "vegas", "hstcp", "fast", "westwood", "compound", "bic"]),
        min_size=1, max_size=4,
    ),
    rate=st.sampled_from([1e6, 1e7, 1e9]),
    delay=st.floats(0.002, 0.2),
    buffer=st.integers(2, 300),
    count=st.integers(1, 100),
    red=st.booleans(),
    loss=st.sampled_from([0.0, 0.001, 0.3]),
    start=st.floats(0, 3),
)  # fmt: skip
def test_no_rate_or_backlog_is_ever_negative(
    controllers, rate, delay, buffer, count, red, loss, start
):
    queue = tc.RED(min_thresh=buffer / 4, max_thresh=buffer) if red else None
    flows = [tc.Flow(name, count=count, start=start * k) for k, name in enumerate(controllers)]
    net = tc.dumbbell(rate, delay, buffer, queue=queue, loss=loss, access_delay=0.001)
    world = MeanFieldWorld(tc.Scenario(net, flows, duration=10), bins=False)
    world.start()
    for k in range(1, min(world.end, 250)):
        world.run(k)
        assert (world.links["backlog"] >= 0).all()
        assert (world.links["backlog"] <= 8 * 1000 * buffer * (1 + 1e-9)).all()
        assert ((world.links["prob"] >= 0) & (world.links["prob"] <= 1)).all()
        assert (world.slots["rate"] >= 0).all()
        for name in ("now_rate", "acks", "losses", "rtt"):
            assert (world.classes[name] >= 0).all(), name
        assert all(state["cwnd"][0] > 0 for state in world.states)


def scaled(k, model, seed=1, duration=60):
    """N, C, buffer and thresholds times k. RED averages over the same time, and the base RTT, which
    includes a packet's transmission time, stays the same."""
    weight = 1 - (1 - 0.002) ** (1 / k)
    queue = tc.RED(
        min_thresh=20 * k, max_thresh=400 * k, max_p=0.02, weight=weight, mean_packet=1000
    )
    delay = 0.05 - 8 * 1040 / (2 * 10e6 * k)
    net = tc.dumbbell(10e6 * k, delay, 3000 * k, queue=queue)
    flows = [
        tc.Flow("reno", count=4 * k, jitter=1, transport={"rwnd": 30}),
        tc.Flow("cubic", count=4 * k, jitter=1, access_delay=0.01, transport={"rwnd": 30}),
    ]
    case = tc.Scenario(net, flows, duration=duration, interval=0.1, seed=seed)
    return tc.simulate(case, model)


@pytest.mark.parametrize("k", [3, 1000])
def test_scaling_leaves_windows_and_delays_unchanged(k):
    """Exact while no queue is within a packet of full or empty, because a packet does not scale."""
    one, many = scaled(1, "meanfield"), scaled(k, "meanfield")
    assert np.allclose(many.data["cwnd"], one.data["cwnd"], rtol=1e-9, equal_nan=True)
    assert np.allclose(many.data["rtt"], one.data["rtt"], rtol=1e-9, equal_nan=True)
    assert np.allclose(many.data["queue"], k * one.data["queue"], rtol=1e-9)


def test_scaling_holds_in_packets_within_noise():
    few, many = (scaled(k, "packet", duration=100) for k in (5, 20))
    late = {"time": slice(20, None)}
    for name in ("cwnd", "rtt"):
        means = [run.data[name].sel(late).mean() for run in (few, many)]
        assert float(means[1] / means[0]) == pytest.approx(1, abs=0.03)


def test_rates_and_rtts_agree_with_many_packet_flows():
    """100 Reno flows with two round-trip times under RED: rates within 5 %, RTTs within 4 %.

    Flows with random losses have a window 8 % below the mean field's, so RED's queue is longer in
    the mean field.
    """
    queue = tc.RED(min_thresh=100, max_thresh=900)
    net = tc.dumbbell("100 Mbps", "40 ms", 2000, queue=queue)
    flows = [
        tc.Flow("reno", count=50, jitter=2),
        tc.Flow("reno", count=50, jitter=2, access_delay=0.03),
    ]
    case = tc.Scenario(net, flows, duration=60)
    packets, mean = tc.simulate(case), tc.simulate(case, "meanfield")
    waits = [0.08 + run.queue_mean(after=20) / 12500 for run in (packets, mean)]
    assert waits[1] == pytest.approx(waits[0], rel=0.04)
    rates = packets.throughput(after=20).values
    near, far = rates[:50].sum(), rates[50:].sum()
    assert mean.throughput(after=20).values == pytest.approx([near, far], rel=0.05)


def test_cost_depends_on_classes_not_on_bandwidth_or_flows():
    small = MeanFieldWorld(scenario(tc.Flow("reno")))
    large = MeanFieldWorld(scenario(tc.Flow("reno", count=100_000), rate="100 Gbps"))
    alike = MeanFieldWorld(scenario(*[tc.Flow("reno") for _ in range(10)]))
    assert small.end == large.end == alike.end
    assert len(small.classes) == len(large.classes) == len(alike.classes) == 1
    assert alike.classes["count"][0] == 10


def test_controllers_with_equal_names_are_separate_classes():
    """For example two versions of a rule that a notebook defines under one name."""
    reno = tc.controllers.get("reno")
    slower = dataclasses.replace(reno, params={**reno.params})
    world = MeanFieldWorld(scenario(tc.Flow(reno), tc.Flow(slower), tc.Flow(reno)))
    assert [kind.flows for kind in world.kinds] == [(0, 2), (1,)]


@pytest.mark.parametrize(
    ("flow", "changes", "line"),
    [
        ({"size": 100}, [], "takes only endless flows"),
        ({}, [tc.Change(1, "bottleneck", rate="5 Mbps")], "takes only constant links"),
    ],
)
def test_finite_flows_and_changes_are_refused(flow, changes, line):
    net = tc.dumbbell("10 Mbps", "10 ms", 50)
    case = tc.Scenario(net, [tc.Flow("reno", **flow)], duration=5, changes=changes)
    with pytest.raises(tc.ScenarioError, match=line):
        tc.simulate(case, "meanfield")


def test_a_step_longer_than_the_feedback_delay_is_refused():
    with pytest.raises(tc.ScenarioError, match=r"step = 0.2: must be at most"):
        tc.simulate(scenario(tc.Flow("reno")), "meanfield", step=0.2)


def test_the_history_covers_only_a_round_trip():
    """A minute of a path of 0.1 s in steps of 0.05 s, over one link and over three."""
    one = scenario(tc.Flow("reno", count=10), buffer=50, rate="10 Mbps")
    lot = tc.parking_lot(3, "10 Mbps", "15 ms", 50)
    long = tc.Flow("reno", source="r0", target="r3", count=3)
    for case in (one, tc.Scenario(lot, [long], duration=60)):
        world = MeanFieldWorld(case, bins=False)
        world.start()
        world.run(world.end)
        assert world.end > 1000
        assert len(world.history) == FIRST_ROWS


@pytest.mark.parametrize("batch", [False, True])
def test_a_rule_that_divides_by_zero_is_named(batch):
    def on_ack(s, p, a):
        s.cwnd += 1 / (s.cwnd - s.cwnd)

    faulty = tc.Controller("faulty", "", on_ack=on_ack, on_loss=on_ack, on_timeout=on_ack)
    case = tc.Scenario(tc.dumbbell("10 Mbps", "20 ms", 50), [tc.Flow(faulty)], duration=5)
    runs = {
        False: lambda: tc.simulate(case, "meanfield"),
        True: lambda: tc.batch(lambda seed: case, model="meanfield", seed=[1, 2], progress=False),
    }
    with pytest.raises(tc.RuleError, match=r"controller 'faulty', on_ack, line"):
        runs[batch]()
