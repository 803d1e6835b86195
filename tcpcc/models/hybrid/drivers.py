"""The two drivers of the packet model, with fluid behind it.

In both the fluid takes its step when all packets up to its end have run, so that both give the same
bits.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.models.hybrid.coupled import Coupled
    from tcpcc.results import Run


def run_compiled(coupled: Coupled, progress: bool) -> Run:
    """Run to the end in machine code, step by step; it can be interrupted after each."""
    from tcpcc.models.packet.handlers import run_until

    begin = time.thread_time()
    world, duration = coupled.packets, coupled.scenario.duration
    at = world.address
    with Progress(duration, progress) as bar:
        while coupled.now < math.inf:
            try:
                while run_until(at, coupled.now):
                    world.grow()
            except ArithmeticError as error:
                world.explain(error)
                raise
            bar.reach(coupled.now)
            coupled.end_step()
    return coupled.result("compiled", time.thread_time() - begin)


class HybridSimulation(PacketSimulation):
    """Packets inside a SimPy environment, over fluid."""

    def __init__(self, coupled: Coupled) -> None:
        self.coupled = coupled
        super().__init__(coupled.packets.scenario, world=coupled.packets)

    def _fire(self, event: Any) -> None:
        while self.coupled.now < self._due:
            self.coupled.end_step()
        super()._fire(event)

    def result(self) -> Run:
        while self.coupled.now < math.inf:
            self.coupled.end_step()
        return self.coupled.result("simpy", self._cpu)


def run_simpy(coupled: Coupled, progress: bool) -> Run:
    """Run to the end, each event of the packets one of a SimPy environment."""
    simulation = HybridSimulation(coupled)
    simulation.advance(progress=progress)
    return simulation.result()
