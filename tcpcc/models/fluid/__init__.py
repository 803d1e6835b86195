"""The fluid model: an ordinary differential equation with jumps, in fixed steps."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from tcpcc.errors import positive, whole
from tcpcc.models.limits import warn_of_small_windows, warn_of_two_ways
from tcpcc.models.progress import Progress
from tcpcc.scenario.spec import require_scenario

if TYPE_CHECKING:
    from tcpcc.models.controller_memory import ControllerMemory
    from tcpcc.models.fluid.fluid_world import FluidWorld
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50  # parts of a long run; it can be interrupted between two of them
LONG = 2e7  # steps of flows; about 1 s
STEPS = 20.0  # steps in the shortest base round-trip time
SENDERS = 100  # senders of a flow with a count, at most, by default


def simulate(
    scenario: Scenario,
    *,
    steps: float = STEPS,
    senders: int = SENDERS,
    progress: bool = False,
) -> Run:
    """Integrate `scenario` and return the recorded run; see `tcpcc.simulate`."""
    from tcpcc.models.fluid.fluid_read_out import recorded_run

    begin = time.thread_time()
    world = integrate(scenario, steps, senders, progress)
    return recorded_run(world, time.thread_time() - begin)


def integrate(
    scenario: Scenario,
    steps: float = STEPS,
    senders: int = SENDERS,
    progress: bool = False,
    controllers: ControllerMemory | None = None,
) -> FluidWorld:
    """Integrate `scenario` to its end. Calls with the same `controllers` share compiled rules."""
    from tcpcc.models.fluid.fluid_world import FluidWorld

    require_scenario(scenario)
    senders = whole("senders", senders, low=1)
    world = FluidWorld(scenario, positive("steps", steps), controllers, senders)
    warn_of_two_ways(world.resolved, "fluid model")
    warn_of_small_windows(world.resolved, "fluid model")
    slices = math.ceil(SLICES * min(world.end * len(world.flows) / LONG, 1))
    with Progress(scenario.duration, progress) as bar:
        for k in range(1, slices + 1):
            world.run(world.end * k // slices)
            bar.reach(scenario.duration * k / slices)
    return world


__all__ = ["integrate", "simulate"]
