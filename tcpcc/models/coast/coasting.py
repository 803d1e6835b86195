"""Coast in fluid, recover in packets.

The links are fluid: real amounts, FIFO queues, delays. The sender is always the transport's own
record and code (`tcpcc.transport`).

* A flow *coasts* while it has no loss, mark or timer near: its controller gets real amounts of
  acknowledged packets, and its sent curve follows the window.
* In an *episode* its outstanding window is a list of packets. The transport's receiver and sender
  handle each packet when the flow's ACK curve passes a whole number. So every loss recovery, every
  timer and every controller is the same code as in the packet model.

An episode begins with the start of a flow, when a loss or a mark is acknowledged past, before the
retransmission timer expires, and before the end of a transfer. It ends when nothing is lost or
marked, and the window is larger than a few packets and no longer in slow start.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50


def simulate(
    scenario: Scenario, *, step: float | None = None, progress: bool = False, **tuning: float
) -> Run:
    """Run `scenario` and return its record.

    Args:
        scenario: what to simulate.
        step: longest time step in s; default 1/80 of the shortest base round-trip time.
        progress: show a progress bar.
    """
    from tcpcc.models.coast.coast_world import CoastWorld

    begin = time.thread_time()
    world = CoastWorld(scenario, step, **tuning)
    with Progress(scenario.duration, progress) as bar:
        for at, act in world.timeline():
            if at >= scenario.duration:
                break
            world.run(at)
            act()
            bar.reach(at)
        world.run(scenario.duration)
        bar.reach(scenario.duration)
    return world.finish(time.thread_time() - begin)
