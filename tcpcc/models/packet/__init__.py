"""The packet model: every packet, every ACK, in two drivers over the same handlers.

With `trains` several packets of a flow share an event (:mod:`tcpcc.models.trains`).
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from tcpcc.errors import unknown, whole
from tcpcc.scenario.resolve import Senders

if TYPE_CHECKING:
    from pathlib import Path

    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario

DRIVERS = ("compiled", "simpy")


def simulate(
    scenario: Scenario,
    *,
    driver: str = "compiled",
    trace: bool | Selection = False,
    stream: str | Path | None = None,
    trains: float | None = None,
    senders: int | None = None,
    progress: bool = False,
) -> Run:
    """Run `scenario` packet by packet with one of the `DRIVERS`; see `tcpcc.simulate`."""
    from tcpcc.models.limits import warn_of_two_ways
    from tcpcc.models.packet.memory.packet_world import PacketWorld

    begin = time.thread_time()
    limit = math.inf if senders is None else whole("senders", senders, low=1)
    if trains is None:
        world = PacketWorld(scenario, trace, stream=stream, senders=limit)
    else:
        from tcpcc.models.trains.train_world import TrainWorld

        world = TrainWorld(scenario, trains, Senders(limit, limit), trace=trace, stream=stream)
        warn_of_two_ways(world.resolved, "trains")
    return run_to_end(world, driver, progress, begin)


def run_to_end(world: PacketWorld, driver: str, progress: bool, begin: float) -> Run:
    """Run a world to its scenario's end and return the record.

    Ctrl-C raises ``KeyboardInterrupt`` within a second, whatever the duration.

    Args:
        world: the memory of the run; it knows the handlers of its events.
        driver: one of the `DRIVERS`.
        progress: show a progress bar.
        begin: the value of ``time.thread_time()`` from which the run's CPU time counts.

    Raises:
        ScenarioError: an unknown driver.
    """
    from tcpcc.models.packet import read_out
    from tcpcc.models.packet.compiled_driver import CompiledSimulation
    from tcpcc.models.packet.simpy_driver import PacketSimulation
    from tcpcc.models.progress import Progress

    end = world.scenario.duration
    if driver == "compiled":
        with Progress(end, progress) as bar:
            CompiledSimulation(world.scenario, world).advance(end, bar)
    elif driver == "simpy":
        PacketSimulation(world.scenario, world=world).advance(progress=progress)
    else:
        raise unknown("driver", driver, DRIVERS)
    return read_out.result(world, driver, time.thread_time() - begin)
