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
    from tcpcc.models.fluid.fluid_case import FluidCase
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
) -> FluidWorld:
    """Integrate `scenario` to its end."""
    from tcpcc.models.fluid.fluid_world import FluidWorld

    world = FluidWorld(scenario, case=case_of(scenario, steps, senders))
    slices = math.ceil(SLICES * min(world.end * len(world.flows) / LONG, 1))
    with Progress(scenario.duration, progress) as bar:
        for k in range(1, slices + 1):
            world.run(world.end * k // slices)
            bar.reach(scenario.duration * k / slices)
    return world


def case_of(scenario: Scenario, steps: float, senders: int) -> FluidCase:
    """The scenario as the model runs it; options as in `tcpcc.simulate`. Warns of inaccuracies."""
    from tcpcc.models.fluid.fluid_case import FluidCase, with_senders

    require_scenario(scenario)
    resolved = with_senders(scenario, whole("senders", senders, low=1))
    warn_of_two_ways(resolved, "fluid model")
    warn_of_small_windows(resolved, "fluid model")
    return FluidCase(scenario, resolved, positive("steps", steps))


__all__ = ["case_of", "integrate", "simulate"]
