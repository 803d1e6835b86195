"""The two drivers of the hybrid model, compiled and SimPy.

In both the fluid takes a step when all packet events up to the step's end have run, so both give
bit-identical results.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.packet.compiled import EVENTS_AT_ONCE
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.models.hybrid.coupled import Coupled
    from tcpcc.results import Run


def run_compiled(coupled: Coupled, progress: bool) -> Run:
    """Run to the end in compiled code, in parts between which the run can be interrupted."""
    from tcpcc.models.automaton import kernel
    from tcpcc.models.hybrid import turns
    from tcpcc.models.packet import handlers

    begin = time.thread_time()
    world, w, duration = coupled.packets, coupled.packets.w[0], coupled.scenario.duration
    memory = np.zeros(1, turns.TURNS)
    t = memory[0]
    t["run_packets"] = turns.call_packets.address(handlers.run_events)
    t["begin_step"] = turns.call_begin_step.address(kernel.begin_step)
    t["end_step"] = kernel.call_end_step.address(kernel.end_step)
    t["packets"], t["fluid"] = world.address, coupled.at
    with Progress(duration, progress) as bar:
        while coupled.now < math.inf:
            t["now"], t["until"] = coupled.now, coupled.until
            t["stop"] = min(coupled.until, coupled.retire_at)
            t["steps"] = coupled.fluid.steps_at_once()
            w["pause"] = w["events"] + EVENTS_AT_ONCE
            try:
                waiting = turns.take_turns(address(memory))
            except ArithmeticError as error:
                raise coupled.explain(error) from None
            coupled.now = float(t["now"])
            bar.reach(coupled.now)
            if not waiting:
                coupled.now = coupled.begin_step()
            elif w["need"]:
                world.grow()
    return coupled.result("compiled", time.thread_time() - begin)


class HybridSimulation(PacketSimulation):
    """Packets in a SimPy environment, with a fluid background."""

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
    """Run to the end; each packet event is an event of a SimPy environment."""
    simulation = HybridSimulation(coupled)
    simulation.advance(progress=progress)
    return simulation.result()
