"""Many simulations: in parallel, resumable, with progress.

Simulations run in threads, since the engines release the interpreter lock, or in processes for
the SimPy driver, which does not. Inside `with joblib.parallel_config(backend="dask")` (or "ray")
they run where that engine puts them.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.engine.source import code_digest
from tcpcc.errors import TcpccError, refuse, whole
from tcpcc.files import clean
from tcpcc.results import Run, shelf
from tcpcc.scenario.traffic import Flow

if TYPE_CHECKING:
    from tcpcc.definition import Definition
    from tcpcc.scenario import Scenario

_Key = tuple[str, str]
"""Of simulations that are the same: what the scenario comes to, and the model."""


class SweepError(TcpccError):
    """Some simulations of a sweep failed; the others were finished first.

    Attributes:
        finished: as in `SweepInterrupted`.
        failed: the errors by the number of the scenario (from `sweep`: of the grid point).
    """

    def __init__(self, message: str, finished: Any, failed: dict[int, Exception]) -> None:
        super().__init__(message)
        self.finished = finished
        self.failed = failed

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.finished, self.failed)


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep.

    Attributes:
        finished: what there was by then: from `simulate_many` the list of runs, None for those
            not finished; from `sweep` the table with the rows measured.
    """

    def __init__(self, message: str, finished: Any) -> None:
        super().__init__(message)
        self.finished = finished


def simulate_many(
    scenarios: Iterable[Scenario],
    *,
    model: str = "packet",
    jobs: int | None = None,
    cache: str | Path | None = None,
    keep_from: float = 0.0,
    processes: bool = False,
    progress: bool | None = None,
    title: str | None = None,
    **options: Any,
) -> list[Run]:
    """Simulate every scenario; the runs come back in the order of the scenarios.

    Scenarios that are the same are simulated once.

    Args:
        scenarios: what to simulate.
        model: as in `simulate`.
        jobs: how many at a time. Default: one per processor.
        cache: folder where each run is kept as soon as it is finished, made if need be. Runs that
            are there are loaded, not simulated, so an interrupted sweep resumes where it was. A
            run is found again only if scenario, model, options, the controllers' rules and the
            code of tcpcc are all the same.
        keep_from: CPU seconds that a run must have taken to be kept. To keep and to find one takes
            some milliseconds.
        processes: simulate in processes in place of threads, which cannot share what each run
            takes beside the compiled loop: some milliseconds. It is for hundreds of short runs,
            since a process takes seconds to start. The SimPy driver always does. A backend chosen
            by `joblib.parallel_config` comes before this.
        progress: show a bar. Default: only on a terminal or in a notebook.
        title: of the bar.
        **options: for `simulate`: driver, trace, ...

    Raises:
        SweepInterrupted: on Ctrl-C; finished runs are in its `finished`, and in the cache.
        SweepError: some scenarios failed, after all others were simulated; names the first, has
            the finished runs, and all errors.
        ScenarioError: an option that a cache cannot tell apart by its text.
    """
    settings: dict[str, Any] = {"cache": cache, "keep_from": keep_from, "processes": processes}
    with Simulations(scenarios, model, jobs=jobs, **settings, **options) as simulations:
        return simulations.runs(progress, title)


class Simulations:
    """Simulations of many scenarios, which go on in the background from `begin` until `runs` waits
    for them; what is left of them ends with a `with` of this.

    Args:
        scenarios: what to simulate.
        model: of all, or of each.
        jobs, cache, keep_from, processes, **options: as in `simulate_many`.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario],
        model: str | Sequence[str] = "packet",
        *,
        jobs: int | None = None,
        cache: str | Path | None = None,
        keep_from: float = 0.0,
        processes: bool = False,
        **options: Any,
    ) -> None:
        self._jobs = -1 if jobs is None else whole("jobs", jobs, low=1)
        self._scenarios = list(scenarios)
        self._cache = cache
        self._keep_from = keep_from
        self._prefer = "processes" if processes or options.get("driver") == "simpy" else "threads"
        self._options = options
        models = [model] * len(self._scenarios) if isinstance(model, str) else model
        self._same: dict[_Key, list[int]] = {}
        for index, (scenario, one) in enumerate(zip(self._scenarios, models, strict=True)):
            self._same.setdefault((_fingerprint(scenario), one), []).append(index)
        self._places: dict[_Key, Path | None] = dict.fromkeys(self._same)
        if cache is not None:
            Path(cache).mkdir(parents=True, exist_ok=True)
            clean(Path(cache))
            for key in self._same:
                self._places[key] = Path(cache) / f"{_cache_name(*key, options)}{shelf.SUFFIX}"
        self._id = (os.getpid(), next(_numbers))
        self._todo: list[_Key] = []
        self._kept: list[tuple[_Key, Run]] = []
        self._work: Any = None

    def __enter__(self) -> Simulations:
        return self

    def __exit__(self, *error: object) -> None:
        if hasattr(self._work, "close"):
            self._work.close()
        with _saving:
            _ended.add(self._id)

    def begin(self) -> None:
        """Load what is kept and simulate the rest, in the background."""
        self._kept = list(self._load())
        self._start()

    def runs(
        self,
        progress: bool | None = None,
        title: str | None = None,
        at_last: Callable[[], None] | None = None,
    ) -> list[Run]:
        """All runs, in the order of the scenarios.

        Args:
            progress, title: as in `simulate_many`, as are the errors.
            at_last: called when the last is under way, so that a processor would have nothing to
                do; before this returns in any case.
        """
        runs: list[Run | None] = [None] * len(self._scenarios)
        failed: dict[int, Exception] = {}
        try:
            for index, run in self.finished(progress, title, at_last):
                if isinstance(run, Run):
                    runs[index] = run
                else:
                    failed[index] = run
        except KeyboardInterrupt:
            done = sum(run is not None for run in runs)
            raise SweepInterrupted(told_interrupted(done, len(runs), self._cache), runs) from None
        if failed:
            first = min(failed)
            name = _title(first, self._scenarios[first])
            raise SweepError(told_failed(failed, len(runs), name), runs, failed)
        return [run for run in runs if run is not None]

    def finished(
        self,
        progress: bool | None = None,
        title: str | None = None,
        at_last: Callable[[], None] | None = None,
    ) -> Iterator[tuple[int, Run | Exception]]:
        """(index, run or its error) in the order in which they are finished, kept ones first;
        arguments as of `runs`."""
        from joblib import effective_n_jobs

        left = len(self._same)
        with _bar(len(self._scenarios), progress, title) as bar:
            for key, run in self._each():
                bar.update(len(self._same[key]))
                left -= 1
                if at_last is not None and left < effective_n_jobs(self._jobs):
                    at_last()
                    at_last = None
                yield from ((index, run) for index in self._same[key])
        if at_last is not None:
            at_last()

    def _each(self) -> Iterator[tuple[_Key, Run | Exception]]:
        if self._work is None:
            yield from self._load()
            self._start()
        yield from self._kept
        yield from self._work

    def _load(self) -> Iterator[tuple[_Key, Run]]:
        for key, place in self._places.items():
            run = None if place is None else shelf.take(place)
            if run is None:
                self._todo.append(key)
            else:
                yield key, run

    def _start(self) -> None:
        if not self._todo:  # for which no process is started
            self._work = ()
            return
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend

        backend, _ = get_active_backend(prefer=self._prefer)
        streams = backend.supports_return_generator  # Ray does not: all come at the end
        return_as = "generator_unordered" if streams else "list"
        parallel = Parallel(n_jobs=self._jobs, prefer=self._prefer, return_as=return_as)
        work = ((key, self._scenarios[self._same[key][0]]) for key in self._todo)
        self._work = parallel(
            delayed(_one)(
                key,
                scenario,
                self._options,
                self._places[key],
                self._keep_from,
                _registered(scenario),
                self._id,
            )
            for key, scenario in work
        )


def _title(index: int, scenario: Scenario) -> str:
    """How a message calls a scenario."""
    kinds = [f.controller if isinstance(f, Flow) else "cbr" for f in scenario.flows]
    shown = ", ".join(kinds[:3]) + (f" and {len(kinds) - 3} more" if len(kinds) > 3 else "")
    return f"scenarios[{index}] ({shown}; {scenario.duration:g} s, seed {scenario.seed})"


def told_failed(failed: Mapping[int, Exception], total: int, name: str) -> str:
    first = failed[min(failed)]
    kind = "" if isinstance(first, TcpccError) else f"{type(first).__name__}: "
    return (
        f"{len(failed)} of {total} runs failed, the finished ones are in this error's `finished`;"
        f" {name}: {kind}{first}"
    )


def told_interrupted(done: int, total: int, cache: str | Path | None) -> str:
    where = f"kept in {cache}; run it again to resume" if cache else "in this error's `finished`"
    return f"interrupted with {done} of {total} runs finished, {where}"


# Nothing is saved any more once a sweep has ended, and its end waits for a save in progress.
_saving = threading.Lock()
_ended: set[tuple[int, int]] = set()
_numbers = itertools.count()


def _one(
    key: _Key,
    scenario: Scenario,
    options: dict[str, Any],
    place: Path | None,
    keep_from: float,
    definitions: list[Definition],
    sweep_id: tuple[int, int],
) -> tuple[_Key, Run | Exception]:
    from tcpcc import models
    from tcpcc.definition import register

    if os.getpid() != sweep_id[0]:  # another process does not know what a notebook registered
        for definition in definitions:
            register(definition)
    try:
        run = models.simulate(scenario, model=key[1], **options)
    except Exception as error:
        return key, error
    if place is not None and not run.data.attrs["cpu_seconds"] < keep_from:
        with _saving:
            if sweep_id not in _ended:
                shelf.put(place, run)
    return key, run


def _definitions(scenario: Scenario) -> list[Definition]:
    """The controllers, slow-start rules, loss recoveries and queue disciplines that a scenario
    uses, each once."""
    from tcpcc.transport.recovery import RECOVERIES

    found: dict[Definition, None] = {}
    for flow in (*scenario.flows, *(load.flow for load in scenario.workloads)):
        if isinstance(flow, Flow):
            controller = flow.definition
            recovery = RECOVERIES.find(flow.recovery or controller.recovery)
            found |= dict.fromkeys((controller, flow.slow_start.rule, recovery))
    return list(found | dict.fromkeys(link.queue.discipline for link in scenario.net.links))


def _registered(scenario: Scenario) -> list[Definition]:
    """Those that are known by their names; a flow carries one that was given to it itself."""
    return [d for d in _definitions(scenario) if type(d).registry.get(d.name) is d]


def _cache_name(scenario: str, model: str, options: Mapping[str, Any]) -> str:
    """Name of a run in a cache: a hash of everything that decides what it holds."""
    plain = (str, int, float, bool, type(None))
    for name, value in options.items():
        if not isinstance(value, plain):
            raise refuse(name, value, "a number, a string or None when runs are cached")
    parts = [_code_digest(), scenario, model, *(f"{k}={v!r}" for k, v in sorted(options.items()))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _fingerprint(scenario: Scenario) -> str:
    """The scenario's digest and the code of its rules, which a user edits between runs."""
    digest = hashlib.sha256(scenario.digest.encode())
    for definition in _definitions(scenario):
        for setting in fields(definition):  # type: ignore[arg-type]
            value = getattr(definition, setting.name)
            if setting.name in _WORDS:
                continue
            if isinstance(value, Mapping):
                value = dict(value)
            text = code_digest(value) if callable(value) else repr(value)
            digest.update(f"{type(definition).__name__}.{setting.name}={text}\n".encode())
    return digest.hexdigest()


_WORDS = ("summary", "source")  # what a definition says of itself, for readers


@once
def _code_digest() -> str:
    """Hash of the package's source: an edited engine must not find its old runs."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for file in sorted(here.rglob("*.py")):
        digest.update(file.relative_to(here).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


def _bar(total: int, progress: bool | None, title: str | None = None) -> Any:
    """A progress bar; one that shows nothing unless asked for or watched."""
    from tqdm import tqdm

    terminal = sys.stderr is not None and sys.stderr.isatty()
    watched = terminal or "ipykernel" in sys.modules
    shown = watched if progress is None else progress
    return tqdm(total=total, desc=title, unit="run", disable=not shown, dynamic_ncols=True)
