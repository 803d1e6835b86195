"""In a first slow start fluid takes short steps while a clump passes, and long ones in between."""

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.models.fluid.fluid_records import TIME
from tcpcc.models.fluid.fluid_world import World
from tcpcc.models.fluid.steps import FINER, PACKET_STEPS
from tcpcc.models.fluid.timeline import start


def doubling(flows=1, duration=0.8, delay="55 ms"):
    """Flows that double their windows until the end, a tenth of a second one after the other."""
    net = tc.dumbbell("10 Mbps", delay, 2000)
    starts = [tc.Flow("newreno", start=0.1 * k, transport=tc.Transport.ns2()) for k in range(flows)]
    return tc.Scenario(net, starts, duration=duration, interval=0.01)


def test_steps_are_short_only_while_something_of_the_flow_moves():
    world = World(doubling())
    start(world, 0)
    times, sent, taken = [0.0], [0.0], [0.0]
    for until in np.arange(1, 801) * 1e-3:
        world.run(until)
        for row in range(len(times) + 1, int(world.w["k"][0]) + 1):
            now = world.history[row % len(world.history)]
            times.append(now[TIME])
            sent.append(now[world.flows["column"][0]])
            taken.append(now[world.hops["column"][0]])
    steps = np.diff(times)
    moves = (np.diff(sent) > 0) | (np.diff(taken) > 0)
    quiet = ~np.convolve(moves, np.ones(9), "same").astype(bool)
    after = np.array(times[1:]) > 0.12  # the first window has left, by steps that begin tiny
    assert steps[moves & after].max() < 0.2 * world.coarse
    assert (steps[quiet & after] > 0.9e-3).sum() > 200  # `until` is every millisecond
    assert len(steps) < 6000


@pytest.mark.parametrize("flows", [1, 2, 4])
def test_that_is_as_exact_as_short_steps_throughout(flows):
    """What is delivered by any time is within half a packet of a run with a quarter of the step."""
    case = doubling(flows, duration=0.7)
    usual, exact = (
        tc.simulate(case, "fluid", step=step).data["delivered"].values.cumsum(axis=0)
        for step in (None, World(case).coarse / 4)
    )
    assert exact[-1].min() > 10
    assert usual == pytest.approx(exact, abs=0.5)


def test_with_a_shorter_step_the_shortest_are_shorter_too():
    usual = World(doubling(delay="20 ms"))
    finer = World(doubling(delay="20 ms"), step=usual.coarse / 4)
    assert usual.flows["finest"][0] == pytest.approx(0.8e-3 / PACKET_STEPS)
    assert usual.flows["finest"][0] > usual.coarse / FINER
    assert finer.flows["finest"] == pytest.approx(usual.flows["finest"] / 4)


def test_vegas_flows_settle_alike_whatever_the_step():
    """Eight that start two by two leave their slow starts in the same round trip. Where steps
    change by more than half, what passes is smeared, and with one in four of these lengths a flow
    doubles for a round trip more: 4 packets in the queue for good."""
    from experiments.red_fairness.scenarios import joining

    case = joining("+20%", 2)
    case = case.replace(flows=case.flows[:8], duration=39.9, interval=0.1)
    coarse = World(case).coarse
    queues = [
        float(tc.simulate(case, "fluid", step=coarse * part).data["queue"].values[-1, 0])
        for part in np.geomspace(1, 0.1, 24)
    ]
    assert max(queues) - min(queues) < 1.5
    packets = tc.simulate(case).data["queue"].values[-1, 0]
    assert queues == pytest.approx([packets] * len(queues), abs=1.5)
