"""Many simulations in the background: parallel, resumable, with a progress bar.

Simulations run in threads, since the engines release the interpreter lock. The SimPy driver does
not release it and runs in processes. Inside `with on_cluster("dask")` (or "ray"), or joblib's own
`parallel_config`, the simulations go to a cluster.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache as once
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tcpcc.engine.cache import stored
from tcpcc.engine.framing import digest
from tcpcc.engine.source import PACKAGE, code_of, encoded
from tcpcc.errors import (
    ModelWarning,
    ScenarioWarning,
    SweepError,
    SweepInterrupted,
    TcpccError,
    refuse,
    unknown,
    warn,
    whole,
)
from tcpcc.files import clean
from tcpcc.progress_bars import bar
from tcpcc.results import Run, run_store
from tcpcc.scenario.sources import definitions
from tcpcc.scenario.spec import require_scenario
from tcpcc.scenario.traffic import Flow

if TYPE_CHECKING:
    from tcpcc.definition import Definition
    from tcpcc.scenario import Scenario

_log = logging.getLogger(__name__)


@contextmanager
def on_cluster(where: str) -> Iterator[None]:
    """Within a `with` block simulations run on a cluster of Dask or Ray.

    Args:
        where: "dask" or "ray" for processes of this machine, or with the address of a running
            cluster: "dask=tcp://host:8786", "ray=auto". Its workers need this version of tcpcc.

    Raises:
        ScenarioError: another kind of cluster.
        TcpccError: the package is missing.
    """
    from joblib import parallel_config

    kind, _, address = where.partition("=")
    if kind not in CLUSTERS:
        raise unknown("cluster", kind, CLUSTERS)
    try:
        if kind == "dask":
            from dask.distributed import Client
        else:
            import ray
            from ray.util.joblib import register_ray
    except ImportError as error:
        raise TcpccError(f"cluster {kind!r}: {error}; pip install 'tcpcc[cluster]'") from None
    if kind == "dask":
        with Client(address or None) as client, parallel_config(backend="dask"):
            _log.info("cluster dask: %s", client)
            yield
    else:
        register_ray()
        with ray.init(address=address or None) as context, parallel_config(backend="ray"):
            _log.info("cluster ray: %s", context)
            yield


CLUSTERS = ("dask", "ray")

PART = 8
"""Simulations per processor whose results arrive together where a backend returns lists (Ray)."""


class Simulations:
    """Simulations of many scenarios, in the background.

    `begin` starts them and `runs` waits for the results. At the end of a `with` block unfinished
    simulations are stopped.

    Args:
        scenarios: the scenarios to simulate.
        model: one model for all scenarios, or a list with one per scenario.
        jobs, cache, cache_from, processes, **options: as in `tcpcc.sweep`.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario],
        model: str | Sequence[str] = "packet",
        *,
        jobs: int | None = None,
        cache: str | Path | None = None,
        cache_from: float = 0.0,
        processes: bool = False,
        **options: Any,
    ) -> None:
        self._jobs = -1 if jobs is None else whole("jobs", jobs, low=1)
        self._scenarios = list(scenarios)
        for index, scenario in enumerate(self._scenarios):
            require_scenario(scenario, f"scenarios[{index}]")
        self._cache = cache
        self._cache_from = cache_from
        self._prefer = "processes" if processes or options.get("driver") == "simpy" else "threads"
        self._options = options
        self._models = [model] * len(self._scenarios) if isinstance(model, str) else list(model)
        first: dict[Any, int] = {}
        self._same: dict[int, list[int]] = {}  # equal simulations, by the index of the first
        for index, (scenario, model_name) in enumerate(
            zip(self._scenarios, self._models, strict=True)
        ):
            # equal scenarios may have different controllers of one name
            identity = scenario, model_name, tuple(map(id, definitions(scenario)))
            self._same.setdefault(first.setdefault(identity, index), []).append(index)
        self._places: dict[int, Path | None] = dict.fromkeys(self._same)
        if cache is not None:
            Path(cache).mkdir(parents=True, exist_ok=True)
            clean(Path(cache))
            codes: dict[int, bytes] = {}  # of definitions, which many scenarios share
            for key in self._same:
                name = _cache_name(self._scenarios[key], self._models[key], options, codes)
                self._places[key] = Path(cache) / f"{name}{run_store.SUFFIX}"
        self._id = (os.getpid(), next(_numbers))
        self._todo: list[int] = []
        self._kept: list[tuple[int, Run]] = []
        self._work: Any = None

    def __enter__(self) -> Simulations:
        return self

    def __exit__(self, *error: object) -> None:
        if hasattr(self._work, "close"):
            self._work.close()
        with _saving:
            _running.discard(self._id)

    def begin(self) -> None:
        """Load saved runs and start the other simulations in the background."""
        self._kept = list(self._load())
        self._start()

    def runs(
        self,
        progress: bool | None = None,
        title: str | None = None,
        at_last: Callable[[], None] | None = None,
        finished: Callable[[int], None] | None = None,
    ) -> list[Run]:
        """All runs, in the order of the scenarios.

        Args:
            progress, title: as in `tcpcc.sweep`.
            finished: called with the index of each scenario when its run is finished.
            at_last: called when the last simulations are running and a processor becomes idle; in
                any case before `runs` returns.

        Raises:
            SweepInterrupted: as in `tcpcc.sweep`.
            SweepError: as in `tcpcc.sweep`.
        """
        runs: list[Run | None] = [None] * len(self._scenarios)
        failed: dict[int, Exception] = {}
        try:
            for index, run in self.finished(progress, title, at_last):
                if finished is not None:
                    finished(index)
                if isinstance(run, Run):
                    runs[index] = run
                else:
                    failed[index] = run
        except KeyboardInterrupt:
            done = sum(run is not None for run in runs)
            raise SweepInterrupted(interruption_text(done, len(runs), self._cache), runs) from None
        if failed:
            first = min(failed)
            name = title_of(first, self._scenarios[first])
            raise SweepError(failure_text(failed, len(runs), name), runs, failed)
        return [run for run in runs if run is not None]

    def finished(
        self,
        progress: bool | None = None,
        title: str | None = None,
        at_last: Callable[[], None] | None = None,
    ) -> Iterator[tuple[int, Run | Exception]]:
        """Iterate over (index, run or its error) as they finish, saved runs first; arguments as in
        `runs`."""
        from joblib import effective_n_jobs

        left = len(self._same)
        with bar(len(self._scenarios), progress, title, unit="run") as shown:
            for key, run in self._each():
                shown.update(len(self._same[key]))
                left -= 1
                if at_last is not None and left < effective_n_jobs(self._jobs):
                    at_last()
                    at_last = None
                yield from ((index, run) for index in self._same[key])
        if at_last is not None:
            at_last()

    def _each(self) -> Iterator[tuple[int, Run | Exception]]:
        if self._work is None:
            yield from self._load()
            self._start()
        yield from self._kept
        missing = dict.fromkeys(self._todo)
        warned = False
        try:
            for key, run, unsaved in self._work:
                del missing[key]
                yield key, run
                if unsaved is not None and not warned:
                    warned = True
                    _log.warning("%s", unsaved)
                    line = f"cache {self._cache}: a run is not saved: {unsaved}; the sweep goes on"
                    warn(line, RuntimeWarning)
        except Exception as error:  # of joblib or the cluster; errors of runs are results
            _log.exception("a worker was lost, %d runs are missing", len(missing))
            lost = _lost(error)
            for key in missing:
                place = self._places[key]
                saved = None if place is None else run_store.take(place)
                yield key, lost if saved is None else saved

    def _load(self) -> Iterator[tuple[int, Run]]:
        for key, place in self._places.items():
            run = None if place is None else run_store.take(place)
            if run is None:
                self._todo.append(key)
            else:
                yield key, run

    def _start(self) -> None:
        _log.info("%d of %d runs to simulate", len(self._todo), len(self._places))
        if not self._todo:  # start no processes
            self._work = ()
            return
        _running.add(self._id)
        from joblib import Parallel, delayed, effective_n_jobs
        from joblib.parallel import get_active_backend

        backend, _ = get_active_backend(prefer=self._prefer)
        streams = backend.supports_return_generator  # Ray: no, all results arrive at the end
        return_as = "generator_unordered" if streams else "list"
        parallel = Parallel(n_jobs=self._jobs, prefer=self._prefer, return_as=return_as)
        threads = getattr(backend, "uses_threads", False)
        silent = [] if threads else _silenced()
        pack = _Packer()
        jobs = (
            delayed(_one)(
                key,
                self._scenarios[key] if threads else pack(self._scenarios[key]),
                self._models[key],
                self._options,
                self._places[key],
                self._cache_from,
                self._id,
                silent,
            )
            for key in self._todo
        )
        if streams:
            self._work = parallel(jobs)
        else:  # so that the loss of a worker loses one part
            part = PART * effective_n_jobs(self._jobs)
            parts = iter(lambda: list(itertools.islice(jobs, part)), [])
            self._work = (result for chunk in parts for result in parallel(chunk))


def _lost(error: Exception) -> TcpccError:
    """The error of simulations whose worker has ended."""
    reason = " ".join(str(error).split())
    reason = reason if len(reason) <= 200 else reason[:197] + "..."
    return TcpccError(
        f"a worker was lost ({type(error).__name__}: {reason}); finished runs are kept, run the"
        " others again"
    )


def title_of(index: int, scenario: Scenario) -> str:
    """A scenario's name in messages."""
    kinds = [f.controller if isinstance(f, Flow) else "cbr" for f in scenario.flows]
    shown = ", ".join(kinds[:3]) + (f" and {len(kinds) - 3} more" if len(kinds) > 3 else "")
    return f"scenarios[{index}] ({shown}; {scenario.duration:g} s, seed {scenario.seed})"


def failure_text(failed: Mapping[int, Exception], total: int, name: str) -> str:
    first = failed[min(failed)]
    kind = "" if isinstance(first, TcpccError) else f"{type(first).__name__}: "
    return f"{len(failed)} of {total} runs failed; {name}: {kind}{' '.join(str(first).split())}"


def interruption_text(done: int, total: int, cache: str | Path | None) -> str:
    where = f"kept in {cache}; run it again to resume" if cache else "in this error's `finished`"
    return f"interrupted with {done} of {total} runs finished, {where}"


# After the end of a sweep nothing is saved; the end waits for a save in progress.
_saving = threading.Lock()
_running: set[tuple[int, int]] = set()  # sweeps of this process
_numbers = itertools.count()


def _silenced() -> list[type[Warning]]:
    """The warnings before a run that this process ignores."""

    def action(category: type[Warning]) -> str:
        plain = ((what, of) for what, text, of, file, _ in warnings.filters if not (text or file))
        return next((what for what, of in plain if issubclass(category, of)), "default")

    return [c for c in (ModelWarning, ScenarioWarning) if action(c) == "ignore"]


def _one(
    key: int,
    work: Scenario | Packed,
    model: str,
    options: dict[str, Any],
    place: Path | None,
    cache_from: float,
    sweep_id: tuple[int, int],
    silent: Sequence[type[Warning]] = (),
) -> tuple[int, Run | Exception, str | None]:
    """A run or its error, and why it could not be saved; without the `silent` warnings."""
    from tcpcc import models

    for category in silent:
        warnings.simplefilter("ignore", category)
    try:
        scenario = _unpacked(work, sweep_id[0]) if isinstance(work, tuple) else work
        run = models.simulate(scenario, model=model, **options)
    except Exception as error:
        return key, error, None
    if place is not None and not run.data.attrs["cpu_seconds"] < cache_from:
        with _saving:
            if sweep_id in _running or sweep_id[0] != os.getpid():
                try:
                    run_store.put(place, run)
                except Exception as error:  # the run is not lost
                    return key, run, str(error) or type(error).__name__
    return key, run, None


Packed = tuple[bytes, bytes]
"""A scenario, and its registered definitions."""


class _Packer:
    """Packs scenarios for other processes.

    Rules go by value, since the process cannot import a notebook or the user's file. Definitions
    are packed once, although many scenarios use them.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Definition, ...], tuple[list[ModuleType], bytes]] = {}

    def __call__(self, scenario: Scenario) -> Packed:
        used = tuple(definitions(scenario))
        if used not in self._known:
            own = _modules_of(used)
            self._known[used] = own, _by_value(own, _registered(scenario))
        own, registered = self._known[used]
        return _by_value(own, scenario), registered


def _modules_of(used: Iterable[Definition]) -> list[ModuleType]:
    """Modules of the rules that another process cannot import."""
    import cloudpickle

    names = {
        getattr(getattr(definition, setting.name), "__module__", None)
        for definition in used
        for setting in fields(definition)
    }
    by_value = {"__main__", *cloudpickle.list_registry_pickle_by_value()}
    return [
        sys.modules[name]
        for name in names - by_value
        if name in sys.modules and name.partition(".")[0] not in ("tcpcc", "builtins")
    ]


def _by_value(modules: Sequence[ModuleType], what: Any) -> bytes:
    """Pickled, with what these modules define."""
    import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps(what)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def _unpacked(packed: Packed, process: int) -> Scenario:
    """The scenario; a process other than the one that packed it registers its definitions."""
    from tcpcc.definition import register

    scenario, registered = packed
    if os.getpid() != process:
        for definition in _definitions_in(registered):
            register(definition)
    unpacked: Scenario = pickle.loads(scenario)
    return unpacked


@lru_cache(maxsize=64)
def _definitions_in(registered: bytes) -> list[Definition]:
    """The same objects for all scenarios with them, since models keep what they have compiled."""
    loaded: list[Definition] = pickle.loads(registered)
    return loaded


def _registered(scenario: Scenario) -> list[Definition]:
    """The scenario's registered definitions; a flow carries an unregistered one itself."""
    return [d for d in definitions(scenario) if type(d).registry.get(d.name) is d]


def _cache_name(
    scenario: Scenario, model: str, options: Mapping[str, Any], codes: dict[int, bytes]
) -> str:
    """Name of a run in a cache: a hash of everything that determines its content.

    `codes` has the definitions encoded so far, by identity.
    """
    plain = (str, int, float, bool, type(None))
    for name, value in options.items():
        if not isinstance(value, plain):
            raise refuse(name, value, "a number, a string or None when runs are cached")
    settings = encoded(tuple(sorted(options.items())))
    return digest(package_digest(), _fingerprint(scenario, codes), model, settings)[:32]


def _fingerprint(scenario: Scenario, codes: dict[int, bytes]) -> str:
    """Hash of the scenario's digest and the code of its rules, which may change between runs."""
    used = definitions(scenario)
    for definition in used:
        if id(definition) not in codes:
            codes[id(definition)] = _encoded(definition)
    return digest(scenario.digest, *(codes[id(definition)] for definition in used))


def _encoded(definition: Definition) -> bytes:
    return encoded(
        tuple(
            (type(definition).__name__, setting.name, getattr(definition, setting.name))
            for setting in fields(definition)
            if setting.name not in _WORDS
        )
    )


_WORDS = ("summary", "source")  # text for readers, which does not change the result


@once
def package_digest() -> str:
    """Hash of the package's code: an edited engine must not load old runs.

    Reading the code of all files takes seconds, so it is kept for the bytes of the files.
    """
    files = {file.relative_to(PACKAGE).as_posix(): file for file in sorted(PACKAGE.rglob("*.py"))}

    def of_code() -> bytes:
        parts = [part for name, file in files.items() for part in (name, code_of(file))]
        return digest(*parts).encode()

    raw = [part for name, file in files.items() for part in (name, file.read_bytes())]
    return stored(f"{digest(*raw)[:32]}.code", of_code).decode()
