"""`sweep`: many simulations, of a grid or a list of scenarios, and what is kept of them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from tcpcc.errors import (
    ScenarioError,
    SweepError,
    SweepInterrupted,
    nonnegative,
    refuse,
    unknown,
    whole,
)
from tcpcc.models import MODELS, check_model
from tcpcc.results import Run
from tcpcc.scenario import Scenario
from tcpcc.scenario.spec import require_scenario
from tcpcc.sweeps.parallel import Simulations, failure_text, interruption_text, title_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Metric = Callable[[Run], Any]
Make = Callable[..., Scenario]

OPTIONS = frozenset({"force", *(name for model in MODELS.values() for name in model.options)})
"""Keywords that are options of `simulate`, not axes."""


@overload
def sweep(
    scenarios: Iterable[Scenario],
    keep: Literal["runs"] = "runs",
    *,
    model: str = "packet",
    **settings: Any,
) -> list[Run]: ...
@overload
def sweep(
    scenarios: Make | Iterable[Scenario], keep: Literal["means"], **settings: Any
) -> xr.Dataset: ...
@overload
def sweep(
    scenarios: Make | Iterable[Scenario],
    keep: Literal["runs"] | Metric | Mapping[str, Metric] = "runs",
    **settings: Any,
) -> pd.DataFrame: ...
def sweep(
    scenarios: Make | Iterable[Scenario],
    keep: str | Metric | Mapping[str, Metric] = "runs",
    *,
    model: str | Sequence[str] = "packet",
    after: float = 0.0,
    jobs: int | None = None,
    cache: str | Path | None = None,
    cache_from: float = 0.0,
    processes: bool = False,
    progress: bool | None = None,
    title: str | None = None,
    **options_and_axes: Any,
) -> list[Run] | pd.DataFrame | xr.Dataset:
    """Simulate many scenarios, in parallel, and keep of each its run, some numbers, or its means.

    Equal scenarios are simulated once.

    Args:
        scenarios: a list of scenarios; or a function that makes one from a value of each axis, by
            name. Then all combinations are simulated; the last axis varies fastest. Use `seed` as
            an axis to see the spread.
        keep: what is kept of each run:

            "runs": the run itself.
            A function of a `Run`, or several by column name: what they return; the run is
            discarded. A function that returns a mapping or a Series fills one column per key.
            "means": means over time, for thousands of scenarios, which must have the same number of
            flows and of recorded links. A flow with a `count` is one entry.
        model: "packet", "fluid" or "hybrid"; or a list of them, which becomes the first axis.
        after: for "means": the time from which they are taken, s.
        jobs: number of parallel simulations. Default: one per processor.
        cache: folder in which each run is saved as soon as it is finished; created if necessary.
            Saved runs are loaded, not simulated, so an interrupted sweep can resume. A saved run
            is used only if scenario, model, options, the controllers' rules and the code of tcpcc
            are all unchanged. If a run cannot be saved, a warning says so, once.
        cache_from: least CPU time of a run that is saved, s. Saving and loading take some
            milliseconds per run.
        processes: use processes instead of threads. Threads run the compiled loop in parallel, but
            not the few milliseconds that each run takes outside it. Useful for hundreds of short
            runs, since a process takes seconds to start. The SimPy driver always uses processes. A
            backend chosen with `joblib.parallel_config` takes precedence.
        progress: show a progress bar. Default: only on a terminal or in a notebook.
        title: title of the bar.
        **options_and_axes: options of `simulate` by their names there (driver, trains, steps,
            senders, trace, ...); every other keyword is an axis with its values. A single number
            or string counts as one value.

    Returns:
        "runs" of a list: the runs in the order of the scenarios. Numbers, or runs of a grid: a
        DataFrame with one row per simulation, the axes and then the numbers (or `run`); a list of
        scenarios is the axis `scenario`, numbered from 0. For such a table `d`,
        `d.set_index(["buffer", "seed"]).to_xarray()` is a dataset. "means": a dataset with the
        axes, `flow` and `link` as dimensions: `cwnd`, `rtt`, `throughput`, `loss` per flow;
        `queue`, `queue_min`, `queue_max`, `utilization`, `drop_rate` per link. `queue_min` is the
        smallest mean over an interval.

    Raises:
        SweepInterrupted: on Ctrl-C; finished results are in its `finished`, and in the cache.
        SweepError: some simulations failed; all others are finished. The error names the first
            failure and holds the finished results and all errors.
        ScenarioError: an unknown model, option or axis; an axis without values or with the name of
            a result; with a cache, an option that is not a number, a string or None.

    >>> import tcpcc as tc
    >>> def make(buffer, seed):
    ...     net = tc.dumbbell("10 Mbps", "20 ms", buffer, queue="red")
    ...     return tc.Scenario(net, [tc.Flow("reno")] * 2, duration=10, seed=seed)
    >>> table = tc.sweep(make, {"jain": tc.Run.jain_index}, buffer=[20, 50], seed=range(3))
    >>> list(table.columns), len(table)
    (['buffer', 'seed', 'jain'], 6)
    >>> tc.sweep(make, "means", model="fluid", buffer=[20, 50], seed=1).sizes["buffer"]
    2
    """
    _check_keep(keep)
    options = {name: options_and_axes.pop(name) for name in OPTIONS & options_and_axes.keys()}
    models = [model] if isinstance(model, str) else list(model)
    for name in models:
        check_model(name)
    if callable(scenarios):
        check_axes(scenarios, list(options_and_axes))
        make: Callable[..., Scenario] = scenarios
        axes = {name: _values(name, axis) for name, axis in options_and_axes.items()}
    else:
        listed = _listed(scenarios, options_and_axes)
        make, axes = (lambda scenario: listed[scenario]), {"scenario": list(range(len(listed)))}
    if not isinstance(model, str):
        axes = {"model": models, **axes}
    settings: dict[str, Any] = {"cache": cache, "cache_from": cache_from, "processes": processes}
    if keep == "means":
        jobs = None if jobs is None else whole("jobs", jobs, low=1)
        late = nonnegative("after", after, "s")
        return _means(make, models, axes, late, jobs, settings, options, progress, title)
    if after:
        raise refuse("after", after, '0, except with keep="means"; functions have their own')
    rows = _rows(axes)
    cases = [make(**{k: v for k, v in row.items() if k != "model"}) for row in rows]
    of_each = [row.get("model", models[0]) for row in rows] if models else []
    with Simulations(cases, of_each, jobs=jobs, **settings, **options) as simulations:
        if keep == "runs" and not callable(scenarios) and isinstance(model, str):
            return simulations.runs(progress, title)
        return _table(simulations, keep, rows, cases, progress, title, cache)


def _check_keep(keep: Any) -> None:
    known = isinstance(keep, str) and keep in ("runs", "means")
    if not known and not callable(keep) and not isinstance(keep, Mapping):
        raise refuse("keep", keep, '"runs", "means", a function of a Run, or a dict of functions')


def _listed(scenarios: Any, unknown_names: Iterable[str]) -> list[Scenario]:
    """The scenarios of a list, which has no axes."""
    for name in unknown_names:
        raise unknown("option", name, OPTIONS)
    if isinstance(scenarios, Scenario) or not isinstance(scenarios, Iterable):
        raise refuse("scenarios", scenarios, "a list of scenarios, or a function that makes them")
    return list(scenarios)


def check_axes(make: Make, axes: Sequence[str]) -> None:
    """Refuse axes that `make` does not take, and too few of them."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # of some builtins
        return
    try:
        signature.bind(**dict.fromkeys(axes))
    except TypeError as error:
        taken = [n for n, p in signature.parameters.items() if p.kind in _BY_NAME]
        for name in axes:
            if name not in taken:
                raise unknown("axis", name, taken) from None
        for name in OPTIONS & set(taken):
            text = "is an option of `simulate`: name the argument of the function otherwise"
            raise ScenarioError(f"axis {name!r}: {text}") from None
        raise ScenarioError(
            f"axes {', '.join(axes) or '(none)'}: {error} of the function"
        ) from None


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _values(name: str, axis: Any) -> list[Any]:
    if isinstance(axis, str) or not isinstance(axis, Iterable):
        return [axis]
    values = list(axis)
    if not values:
        raise ScenarioError(f"{name} = []: an axis needs at least one value")
    return values


def _rows(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations of the axes' values; the last axis varies fastest."""
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def _table(
    simulations: Simulations,
    keep: Any,
    rows: Sequence[dict[str, Any]],
    cases: Sequence[Scenario],
    progress: bool | None,
    title: str | None,
    cache: str | Path | None,
) -> pd.DataFrame:
    """What is kept of every run, below the names of the axes."""
    import pandas as pd

    if isinstance(keep, Mapping) and rows:
        _no_axis(keep.keys() & rows[0].keys())
    measured: dict[int, dict[str, Any]] = {}
    failed: dict[int, Exception] = {}

    def table() -> pd.DataFrame:
        return pd.DataFrame([measured[index] for index in sorted(measured)])

    try:
        for index, run in simulations.finished(progress, title):
            if not isinstance(run, Run):
                failed[index] = run
                continue
            values = {"run": run} if keep == "runs" else _measure(keep, run)
            _no_axis(values.keys() & rows[index].keys())
            measured[index] = {**rows[index], **values}
    except KeyboardInterrupt:
        text = interruption_text(len(measured), len(rows), cache)
        raise SweepInterrupted(text, table()) from None
    if failed:
        first = min(failed)
        text = failure_text(failed, len(rows), _place(rows[first], cases[first]))
        raise SweepError(text, table(), failed)
    return table()


def _place(row: Mapping[str, Any], case: Scenario) -> str:
    """A simulation's name in messages."""
    if "scenario" in row:
        return title_of(row["scenario"], case)
    return f"at {', '.join(f'{name} = {value!r}' for name, value in row.items())}"


def _no_axis(clash: Iterable[str]) -> None:
    for name in clash:
        raise ScenarioError(f"keep: {name!r} is the name of an axis; use another name")


def _measure(metrics: Metric | Mapping[str, Metric], run: Run) -> dict[str, Any]:
    """Columns of one row; a metric that returns several numbers fills several columns."""
    if callable(metrics):
        name = str(getattr(metrics, "__name__", "metric")).strip("<>")
        return {key or name: value for key, value in _parts(metrics(run)).items()}
    columns: dict[str, Any] = {}
    for name, metric in metrics.items():
        columns |= {f"{name}_{k}" if k else name: v for k, v in _parts(metric(run)).items()}
    return columns


def _parts(result: Any) -> dict[str, Any]:
    """A metric's numbers by name; a single number has the name ""."""
    if hasattr(result, "to_series") and getattr(result, "ndim", None) == 1:  # DataArray
        result = result.to_series()
    if hasattr(result, "_asdict"):  # named tuple
        result = result._asdict()
    if hasattr(result, "items"):  # mapping or Series
        return {str(key): value for key, value in result.items()}
    return {"": result.item() if hasattr(result, "item") else result}


def _made(make: Make, points: Sequence[dict[str, Any]]) -> Iterator[Scenario]:
    for index, point in enumerate(points):
        case = make(**point)
        require_scenario(case, f"scenarios[{index}]")
        yield case


def _means(
    make: Make,
    models: Sequence[str],
    axes: Mapping[str, Sequence[Any]],
    after: float,
    jobs: int | None,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
    progress: bool | None,
    title: str | None,
) -> xr.Dataset:
    """The means of all scenarios; of the models one after the other."""
    from tcpcc.progress_bars import bar
    from tcpcc.sweeps.time_means import MeansTable, check_names, means_of_all

    check_names(axes)
    table = MeansTable(axes)
    points = _rows({name: values for name, values in axes.items() if name != "model"})
    total = len(points) * len(models)
    failed: dict[int, Exception] = {}
    attrs = {"after": after} if "model" in axes else {"model": models[0], "after": after}
    try:
        with bar(total, progress, title, unit="scenario") as shown:
            for begin, model in zip(itertools.count(0, len(points)), models, strict=False):
                cases = _made(make, points)
                for indices, result in means_of_all(cases, model, after, jobs, options, settings):
                    shown.update(len(indices))
                    places = [begin + index for index in indices]
                    if isinstance(result, Exception):
                        failed |= dict.fromkeys(places, result)
                    else:
                        table.add(places, *result)
    except KeyboardInterrupt:
        text = interruption_text(int(table.known.sum()), total, settings["cache"])
        raise SweepInterrupted(text, table.dataset(**attrs)) from None
    if failed:
        first = min(failed)
        point = points[first % len(points)]
        place = _place({**_rows(axes)[first]}, make(**point))
        raise SweepError(failure_text(failed, total, place), table.dataset(**attrs), failed)
    return table.dataset(**attrs)
