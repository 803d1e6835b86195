"""The compiled driver: the whole run in machine code, in slices that can be interrupted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario

SLICES = 200


def simulate(scenario: Scenario, *, trace: bool | Selection = False, progress: bool = False) -> Run:
    """Run `scenario` in the packet model; returns its record.

    Interrupting it (Ctrl-C) raises ``KeyboardInterrupt`` at the next slice of simulated time.
    """
    from tcpcc.models.packet.handlers import run_until
    from tcpcc.models.packet.packet_world import World

    begin = time.thread_time()
    world = World(scenario, trace)
    with Progress(scenario.duration, progress) as bar:
        for k in range(1, SLICES + 1):
            until = scenario.duration * k / SLICES
            try:
                while run_until(world.address, until):
                    world.grow()
            except ArithmeticError as error:
                world.explain(error)
                raise
            bar.reach(until)
    return world.result("compiled", time.thread_time() - begin)
