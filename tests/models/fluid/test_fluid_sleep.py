"""Fluid skips idle flows and slots; this must not change any result."""

import math

import numpy as np
import pytest

import tcpcc as tc
from tcpcc.engine.jit import address
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.fluid.kernel import call_end_step, end_step, run_until
from tcpcc.models.fluid.timeline import events


def series(scenario, sleepless):
    """The series of a run, and the mean share of sleeping flows. With `sleepless` all flows are
    woken before each step."""
    world = FluidWorld(scenario)
    due = events(world)
    asleep = []
    for until in [*(at for at, _ in due), scenario.duration]:
        while True:
            world.w["pause"] = world.w["k"] + 1
            more = run_until(address(world.w), until, call_end_step.address(end_step))
            if not more:
                break
            if world.w["short"][0]:
                world.grow()
                world.w["short"] = 0
            asleep.append(np.mean(world.wakes > world.w["now"]))
            if sleepless:
                world.wakes[:] = -math.inf
                world.awake[:] = 1
        while due and due[0][0] <= until:
            due.pop(0)[1]()
    found = world.series()
    return {**vars(found.flows), **vars(found.links)}, np.mean(asleep)


def dumbbell(**link):
    return tc.dumbbell("10 Mbps", "20 ms", 15, **link)


SCENARIOS = {
    "timeouts, stops": (dumbbell(), [tc.Flow("reno", start=0.05 * k, stop=2) for k in range(20)]),
    "fine timers": (dumbbell(), [tc.Flow("vegas", start=0.1 * k) for k in range(8)]),
    "files, constant rate": (
        dumbbell(loss=0.01),
        [tc.Flow("newreno", start=0.1 * k, size=200) for k in range(10)]
        + [tc.CBR("3 Mbps", on=[(0.5, 1), (2, None)])],
    ),
    "three links": (
        tc.parking_lot(3, "10 Mbps", "5 ms", 20),
        [tc.Flow("newreno", source="r0", target="r3", start=0.1 * k) for k in range(4)]
        + [tc.Flow("cubic", source="r1", target="r2"), tc.Flow("reno", source="r3", target="r0")],
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.filterwarnings("ignore::tcpcc.models.fluid.limits.FluidWarning")
def test_skipping_idle_flows_changes_no_bit(name):
    net, flows = SCENARIOS[name]
    scenario = tc.Scenario(net, flows, duration=3, interval=0.1)
    usual, asleep = series(scenario, False)
    woken, _ = series(scenario, True)
    assert asleep > 0.1
    for key in ("cwnd", "sent", "delivered", "dropped", "retransmitted", "queue", "queue_max"):
        assert np.array_equal(usual[key], woken[key], equal_nan=True), key
    assert np.array_equal(usual["timeouts"], woken["timeouts"])
