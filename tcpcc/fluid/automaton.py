"""The fluid model: :func:`simulate`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.errors import positive
from tcpcc.progress import Progress

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50


def simulate(scenario: Scenario, *, step: float | None = None, progress: bool = False) -> Run:
    """Run `scenario` in the fluid model; returns its record.

    Parameters
    ----------
    step : time step in s; default a hundredth of the shortest base round-trip time. Slow start
        takes shorter ones as it needs.
    progress : show a progress bar
    """
    from tcpcc.fluid.kernel import run_until
    from tcpcc.fluid.world import World

    begin = time.thread_time()
    world = World(scenario, None if step is None else positive("step", step, "s"))
    duration = scenario.duration
    slices = [duration * (k + 1) / SLICES for k in range(SLICES)]
    times = sorted({at for at, _ in world.events if at < duration} | set(slices))
    due = iter(world.events)
    event = next(due, None)
    with Progress(duration, progress) as bar:
        for until in times:
            while run_until(world.address, until):
                world.grow()
            while event is not None and event[0] <= until:
                event[1]()
                event = next(due, None)
            world.settle()
            bar.reach(until)
    return world.result(time.thread_time() - begin)
