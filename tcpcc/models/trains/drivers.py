"""The two drivers of runs in trains, compiled and SimPy; both give bit-identical results."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.engine.jit import address
from tcpcc.models.packet import read_out
from tcpcc.models.packet.compiled import EVENTS_AT_ONCE
from tcpcc.models.packet.simpy_driver import PacketSimulation
from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.models.trains import TrainMemory
    from tcpcc.results import Run


def run_compiled(memory: TrainMemory, model: str, progress: bool, begin: float) -> Run:
    """Run to the end in compiled code, in parts between which the run can be interrupted.

    `begin` is the value of ``time.thread_time()`` from which the run's CPU time counts.
    """
    from tcpcc.models.trains.train_events import run_trains

    world, w, duration = memory.world, memory.world.w[0], memory.world.scenario.duration
    with Progress(duration, progress) as bar:
        more = True
        while more:
            w["pause"] = w["events"] + EVENTS_AT_ONCE
            try:
                more = run_trains(world.address, address(memory.x), duration)
            except ArithmeticError as error:
                raise world.explain(error) from None
            if w["need"]:
                memory.grow()
            bar.reach(min(float(w["now"]), duration) if more else duration)
    return _record(memory, "compiled", begin, model)


class TrainSimulation(PacketSimulation):
    """Trains in a SimPy environment; each event of the model is an event of the environment."""

    def __init__(self, memory: TrainMemory) -> None:
        super().__init__(memory.world.scenario, world=memory.world)
        self._memory = memory

    def _advance(self) -> float:
        from tcpcc.models.trains.train_events import step_trains

        return step_trains(self._address, address(self._memory.x))

    def _grow(self) -> None:
        self._memory.grow()


def run_simpy(memory: TrainMemory, model: str, progress: bool, begin: float) -> Run:
    """Run to the end in a SimPy environment; arguments as of :func:`run_compiled`."""
    simulation = TrainSimulation(memory)
    simulation.advance(progress=progress)
    return _record(memory, "simpy", begin, model)


def _record(memory: TrainMemory, driver: str, begin: float, model: str) -> Run:
    run = read_out.result(memory.world, driver, time.thread_time() - begin, model=model)
    run.data.attrs["trains"] = float(memory.x["per_rtt"][0])
    return run


RUN = {"compiled": run_compiled, "simpy": run_simpy}
