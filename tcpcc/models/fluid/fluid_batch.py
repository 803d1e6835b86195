"""Many scenarios in the fluid model.

Scenarios of one kind have worlds that are copies of one: its objects are made once for all of them,
and the numbers in which they differ are written as columns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import address
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.fluid import SENDERS, STEPS, case_of
from tcpcc.models.fluid.fluid_records import LONGER_TABLES
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.memory_copies import Mould, Of, alone

if TYPE_CHECKING:
    from tcpcc.models.fluid.fluid_case import FluidCase
    from tcpcc.scenario import Scenario

Read = Callable[[FluidWorld, Sequence["FluidCase"], Of], Any]
Numbered = tuple[int, "FluidCase"]
Found = list[tuple[list[int], Any]]

LARGEST = 32  # worlds of a batch: their memory fits in a cache
WORK = 5e6  # steps of flows in a batch; a quarter of a second
HELD = 250  # scenarios that wait for others of their kind
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
            arrays; see `FluidWorld.write_numbers`. Later runs overwrite these.
        jobs: number of threads.
        steps, senders: as in `tcpcc.simulate`.
    """
    batches = _Batches(read)
    waiting: dict[Hashable, list[Numbered]] = {}
    running: set[Future[Found]] = set()

    def begin(*kinds: Hashable) -> None:
        running.update(pool.submit(batches.run, waiting.pop(kind)) for kind in kinds)

    def finished(most: int) -> Iterator[tuple[list[int], Any]]:
        """Results, until at most so many batches are running."""
        while len(running) > most:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                running.remove(future)
                yield from future.result()

    pool = ThreadPoolExecutor(jobs)
    try:
        for index, scenario in enumerate(scenarios):
            try:
                case = case_of(scenario, steps, senders)
            except Exception as error:
                yield [index], error
                continue
            batch = waiting.setdefault(case.kind, [])
            batch.append((index, case))
            if case.kind is None or len(batch) == LARGEST or len(batch) * case.work >= WORK:
                begin(case.kind)
            elif sum(map(len, waiting.values())) == HELD:
                begin(*waiting)
            yield from finished(jobs)
        begin(*waiting)
        yield from finished(0)
    finally:
        pool.shutdown(cancel_futures=True)


class _Batches:
    """Runs cases of one kind at a time, in any thread."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._controllers = ControllerMemory()
        self._moulds: dict[Hashable, Mould] = {}
        self._of_thread = threading.local()

    def run(self, numbered: list[Numbered]) -> Found:
        """Indices and results of cases of one kind."""
        numbered.sort(key=lambda pair: pair[1].end)
        cases = [case for _, case in numbered]
        done = np.zeros(len(cases), bool)
        results: Found = []
        mould = self._mould(cases[0]) if len(cases) > 1 else None
        if mould is not None:
            of = mould.copies(self._memory(len(cases), mould.words))
            mould.world.write_numbers(cases, of)
            done = _run(of(mould.world.w)[:, 0], [case.end for case in cases])
            indices = np.flatnonzero(done).tolist()
            of_done = of if done.all() else lambda array: of(array)[done]
            if indices:
                result = self._read(mould.world, [cases[k] for k in indices], of_done)
                results.append(([numbered[k][0] for k in indices], result))
        for k in np.flatnonzero(~done).tolist():
            index, case = numbered[k]
            try:
                world = self._world(case)
                world.run(world.end)
            except Exception as error:
                results.append(([index], error))
                continue
            results.append(([index], self._read(world, [case], alone)))
        return results

    def _memory(self, n: int, words: int) -> NDArray[np.int64]:
        """Memory for `n` worlds, the same for all batches of a thread: new pages cost more than
        what is written into them."""
        held = getattr(self._of_thread, "memory", None)
        if held is None or len(held) < n * words:
            held = self._of_thread.memory = np.empty(n * words, np.int64)
        return held[: n * words].reshape(n, words)

    def _mould(self, case: FluidCase) -> Mould | None:
        """That of the case's kind; None if its world has an error."""
        mould = self._moulds.get(case.kind)
        if mould is None:
            if len(self._moulds) == MOULDS:
                self._moulds.clear()
            try:
                world = self._world(case)
                world.links["reach"], world.w["need"] = [*case.reach.values()], LONGER_TABLES
                world.make_room()
                mould = self._moulds[case.kind] = Mould(world)
            except Exception:  # which each case raises with its own numbers
                return None
        return mould

    def _world(self, case: FluidCase) -> FluidWorld:
        return FluidWorld(case.scenario, controllers=self._controllers, case=case)


def _run(w: np.ndarray, ends: Sequence[int]) -> np.ndarray:
    """Advance worlds to their ends; whether each one is there. Others need more room than a copy
    has, or one of their rules has failed."""
    from tcpcc.models.fluid.fluid_step import run_steps

    addresses = w.ctypes.data + w.strides[0] * np.arange(len(w))
    begin = 0
    for end, group in groupby(ends):
        stop = begin + len(list(group))
        while begin < stop:
            try:
                run_steps(address(addresses[begin:]), stop - begin, end)
                begin = stop
            except ArithmeticError:
                failed = (w["k"] < end) & (w["need"] == 0)
                begin += int(failed[begin:].argmax()) + 1
    return w["k"] == np.array(ends)
