"""The compiled driver: runs the events in machine code, in pieces that can be interrupted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario

EVENTS_AT_ONCE = 2**19  # events between two checks for Ctrl-C; some tenths of a second


def simulate(
    scenario: Scenario,
    *,
    trace: bool | Selection = False,
    stream: Path | None = None,
    progress: bool = False,
) -> Run:
    """Run `scenario` in the packet model and return its record.

    Ctrl-C raises ``KeyboardInterrupt`` within a second, whatever the duration.
    """
    from tcpcc.models.packet import read_out
    from tcpcc.models.packet.handlers import run_events
    from tcpcc.models.packet.packet_world import PacketWorld

    begin = time.thread_time()
    world = PacketWorld(scenario, trace, stream=stream)
    w = world.w[0]
    with Progress(scenario.duration, progress) as bar:
        more = True
        while more:
            w["pause"] = w["events"] + EVENTS_AT_ONCE
            try:
                more = run_events(world.address, scenario.duration)
            except ArithmeticError as error:
                raise world.explain(error) from None
            if w["need"]:
                world.grow()
            world.release()
            bar.reach(min(float(w["now"]), scenario.duration) if more else scenario.duration)
    return read_out.result(world, "compiled", time.thread_time() - begin)
