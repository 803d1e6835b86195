"""What takes too long for a test: `python tests/endurance.py kills 100`, `... runs 1000`.

kills: a sweep with a cache is killed (SIGKILL) at random moments and begun again, so often. What
was kept stays and is right, nothing is left beside it, and the sweep goes on where it was.
runs: so many runs in one process, of both models and drivers; its memory does not grow.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import psutil

import tcpcc as tc
from tcpcc.results import run_store

NET = tc.dumbbell("10 Mbps", "20 ms", 20)


def scenarios(count: int, duration: float = 2) -> list[tc.Scenario]:
    flows = [tc.Flow("reno"), tc.Flow("cubic", jitter=1)]
    return [tc.Scenario(NET, flows, duration=duration, seed=k) for k in range(1, count + 1)]


def kept(folder: Path) -> set[str]:
    """The runs in the cache; each is whole."""
    files = {path.name for path in folder.glob(f"*{run_store.SUFFIX}")}
    assert all(run_store.take(folder / name) is not None for name in files), "a damaged run is kept"
    return files


def begin(todo: list[tc.Scenario], folder: Path) -> int:
    """Start the sweep in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            tc.sweep(todo, cache=folder, jobs=2)
        finally:
            os._exit(0)
    return child


def kills(count: int, seed: int = 1) -> None:
    draw = random.Random(seed)
    todo = scenarios(5 * count)
    tc.simulate(todo[0])  # compiled once, before the processes part
    landed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        there: set[str] = set()
        for _ in range(count):
            child = begin(todo, folder)
            wanted = len(there) + draw.randint(0, 4)
            while len(list(folder.glob(f"*{run_store.SUFFIX}"))) < wanted:
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            landed += os.WIFSIGNALED(status)
            now = kept(folder)
            assert there <= now, "a run that was kept is gone"
            there = now
        resumed = len(there)
        runs = tc.sweep(todo, cache=folder)
        litter = {path.name for path in folder.iterdir()} - kept(folder)
        assert not litter, f"left over: {sorted(litter)}"
        assert len(kept(folder)) == len(todo)
        for case, run in zip(todo, runs, strict=True):
            assert run.identical(tc.simulate(case)), "a kept run is another one"
    print(f"{landed} of {count} kills in the midst of a sweep; {resumed} of {len(todo)} runs were "
          "kept by then, all are right, nothing is left over")  # fmt: skip


def runs(count: int) -> None:
    process, marks = psutil.Process(), []
    for k, case in enumerate(scenarios(count)):
        ways = ({"driver": "simpy"} if k % 10 == 0 else {}, {"trains": 16}, {"model": "fluid"})
        tc.simulate(case, **ways[k % 3]).summary()
        if (k + 1) % (count // 10) == 0:
            gc.collect()
            marks.append(process.memory_info().rss / 2**20)
    print(f"{count} runs, resident memory after each tenth, MiB: "
          f"{', '.join(f'{mark:.0f}' for mark in marks)}")  # fmt: skip
    assert marks[-1] < 1.05 * marks[1], "memory grows"


if __name__ == "__main__":
    {"kills": kills, "runs": runs}[sys.argv[1]](int(sys.argv[2]))
