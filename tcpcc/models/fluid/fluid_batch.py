"""Many scenarios in the fluid model.

Scenarios of one kind have worlds that are copies of one: its objects are made once for all of them,
and the numbers in which they differ are written as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.fluid import SENDERS, STEPS, case_of
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.memory_copies import Mould, Of, alone

if TYPE_CHECKING:
    from tcpcc.models.fluid.fluid_case import FluidCase
    from tcpcc.scenario import Scenario

Read = Callable[[FluidWorld, Sequence["FluidCase"], Of], Any]
Numbered = tuple[int, "FluidCase"]

LARGEST = 32  # worlds of a batch: their memory fits in a cache
WORK = 5e6  # steps of flows in a batch; a quarter of a second
HELD = 250  # scenarios that wait for others of their kind
WAITING = 1  # batches of each thread that wait for it
MOULDS = 16


def integrate_all(
    scenarios: Iterable[Scenario],
    read: Read,
    jobs: int,
    steps: float = STEPS,
    senders: int = SENDERS,
) -> Iterator[tuple[list[int], Any]]:
    """Integrate all scenarios in threads; iterate over (indices, what `read` returns or the error)
    of some of them at a time, as they finish.

    Args:
        scenarios: made while others are simulated.
        read: called after a run with a world, the cases of its kind that have run, and their
            arrays; see `FluidWorld.write_numbers`.
        jobs: number of threads.
        steps, senders: as in `tcpcc.simulate`.
    """
    batches = _Batches(read, steps)
    waiting: dict[Hashable, list[Numbered]] = {}
    running: set[Future[list[tuple[list[int], Any]]]] = set()
    pool = ThreadPoolExecutor(jobs)

    def finished(most: int) -> Iterator[tuple[list[int], Any]]:
        """Results, until at most so many batches are running."""
        while len(running) > most:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            running.difference_update(done)
            for future in done:
                yield from future.result()

    def begin(kind: Hashable) -> None:
        running.add(pool.submit(batches.run, kind, waiting.pop(kind)))

    try:
        for index, scenario in enumerate(scenarios):
            try:
                case = case_of(scenario, steps, senders)
                kind = case.kind()
            except Exception as error:
                yield [index], error
                continue
            mine = waiting.setdefault(kind, [])
            mine.append((index, case))
            if kind is None or len(mine) == LARGEST or len(mine) * case.work >= WORK:
                begin(kind)
            elif sum(map(len, waiting.values())) == HELD:
                for kind in list(waiting):
                    begin(kind)
            yield from finished((1 + WAITING) * jobs)
        for kind in list(waiting):
            begin(kind)
        yield from finished(0)
    finally:
        pool.shutdown(cancel_futures=True)


class _Batches:
    """Runs cases of one kind at a time, in any thread."""

    def __init__(self, read: Read, steps: float) -> None:
        self._read, self._steps = read, steps
        self._controllers = ControllerMemory()
        self._moulds: dict[Hashable, tuple[FluidWorld, Mould]] = {}
        self._lock = Lock()

    def run(self, kind: Hashable, numbered: list[Numbered]) -> list[tuple[list[int], Any]]:
        """Indices and results of cases of one kind."""
        if len(numbered) == 1 and kind not in self._moulds:
            return [self._alone(*numbered[0])]
        numbered.sort(key=lambda one: one[1].end)
        cases = [case for _, case in numbered]
        try:
            world, mould = self._mould(kind, cases[0])
        except Exception:  # of each world its own
            return [self._alone(*one) for one in numbered]
        of = mould.copies(len(cases))
        world.write_numbers(cases, of)
        is_done = _run(of(world.w)[:, 0], [case.end for case in cases])
        found = [self._alone(*numbered[k]) for k in np.flatnonzero(~is_done)]
        done = np.flatnonzero(is_done)
        if len(done):
            cases = [cases[k] for k in done]
            columns = of if is_done.all() else lambda array: of(array)[done]
            found.append(([numbered[k][0] for k in done], self._read(world, cases, columns)))
        return found

    def _mould(self, kind: Hashable, case: FluidCase) -> tuple[FluidWorld, Mould]:
        with self._lock:
            if kind not in self._moulds:
                world = self._world(case)
                while len(self._moulds) >= MOULDS:
                    del self._moulds[next(iter(self._moulds))]
                self._moulds[kind] = world, Mould(world)
            return self._moulds[kind]

    def _world(self, case: FluidCase) -> FluidWorld:
        return FluidWorld(case.scenario, self._steps, self._controllers, resolved=case.resolved)

    def _alone(self, index: int, case: FluidCase) -> tuple[list[int], Any]:
        """Index and result of a case in a world of its own."""
        try:
            world = self._world(case)
            world.run(world.end)
            return [index], self._read(world, [world.case], alone)
        except Exception as error:
            return [index], error


def _run(w: np.ndarray, ends: Sequence[int]) -> np.ndarray:
    """Advance worlds to their ends; whether each one is there. Others need more room than a copy
    has, or one of their rules has failed."""
    from tcpcc.models.fluid.fluid_step import run_steps

    here = w.ctypes.data + w.strides[0] * np.arange(len(w))
    begin = 0
    for end, group in groupby(ends):
        stop = begin + len(list(group))
        while begin < stop:
            try:
                run_steps(address(here[begin:]), stop - begin, end)
                begin = stop
            except ArithmeticError:
                stopped = (w["k"] < end) & (w["need"] == 0)
                begin += int(stopped[begin:].argmax()) + 1
    return w["k"] == np.array(ends)
