"""In a first slow start fluid takes short steps while a burst passes and long ones in between."""

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.models.fluid.fluid_records import TIME
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.fluid.steps import FINER, PACKET_STEPS
from tcpcc.models.fluid.timeline import begin_flow


def doubling(flows=1, duration=0.8, delay="55 ms"):
    """Flows in slow start until the end, which start 0.1 s one after the other."""
    net = tc.dumbbell("10 Mbps", delay, 2000)
    starts = [tc.Flow("newreno", start=0.1 * k, transport=tc.Transport.ns2()) for k in range(flows)]
    return tc.Scenario(net, starts, duration=duration, interval=0.01)


def test_steps_are_short_only_while_a_burst_passes():
    world = FluidWorld(doubling())
    begin_flow(world, 0)
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
def test_burst_steps_are_as_accurate_as_short_steps(flows):
    """The delivered packets are at any time within half a packet of a run with a quarter of the
    step."""
    case = doubling(flows, duration=0.7)
    usual, exact = (
        tc.simulate(case, "fluid", step=step).data["delivered"].values.cumsum(axis=0)
        for step in (None, FluidWorld(case).coarse / 4)
    )
    assert exact[-1].min() > 10
    assert usual == pytest.approx(exact, abs=0.5)


def test_the_finest_step_scales_with_the_step():
    usual = FluidWorld(doubling(delay="20 ms"))
    finer = FluidWorld(doubling(delay="20 ms"), step=usual.coarse / 4)
    assert usual.flows["finest"][0] == pytest.approx(0.8e-3 / PACKET_STEPS)
    assert usual.flows["finest"][0] > usual.coarse / FINER
    assert finer.flows["finest"] == pytest.approx(usual.flows["finest"] / 4)


def test_vegas_queue_does_not_depend_on_the_step():
    """Eight flows that start in pairs end their slow starts in the same round trip. If steps
    changed by more than half, bursts would be smeared, and at one in four of these step lengths a
    flow would double for one more round trip: 4 packets more in the queue for good."""
    from experiments.red_fairness.scenarios import joining

    case = joining("+20%", 2)
    case = case.replace(flows=case.flows[:8], duration=39.9, interval=0.1)
    coarse = FluidWorld(case).coarse
    queues = [
        float(tc.simulate(case, "fluid", step=coarse * part).data["queue"].values[-1, 0])
        for part in np.geomspace(1, 0.1, 24)
    ]
    assert max(queues) - min(queues) < 1.5
    packets = tc.simulate(case).data["queue"].values[-1, 0]
    assert queues == pytest.approx([packets] * len(queues), abs=1.5)
