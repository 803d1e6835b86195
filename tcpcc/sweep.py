"""Grids of scenarios and their metrics, as tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.definition import callable_module
from tcpcc.errors import ScenarioError, refuse
from tcpcc.many import (
    Simulations,
    SweepError,
    SweepInterrupted,
    check_axes,
    told_failed,
    told_interrupted,
)
from tcpcc.results import Run

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.scenario import Scenario

Metric = Callable[[Run], Any]


def grid(
    make: Callable[..., Scenario], **axes: Iterable[Any]
) -> list[tuple[dict[str, Any], Scenario]]:
    """A scenario for every combination of values; the last axis varies fastest.

    Args:
        make: called with one value of each axis, by name.
        **axes: values of each axis; a single number or string counts as one value.

    Returns:
        (values, scenario) pairs.

    Raises:
        ScenarioError: `make` has no argument of an axis' name, or needs one more; an empty axis.

    >>> grid(lambda buffer, seed: (buffer, seed), buffer=[10, 20], seed=[1])
    [({'buffer': 10, 'seed': 1}, (10, 1)), ({'buffer': 20, 'seed': 1}, (20, 1))]
    """
    check_axes(make, list(axes))
    values = [_values(name, axis) for name, axis in axes.items()]
    points = [dict(zip(axes, point, strict=True)) for point in itertools.product(*values)]
    return [(point, make(**point)) for point in points]


def sweep(
    make: Callable[..., Scenario],
    metrics: Metric | Mapping[str, Metric],
    *,
    model: str | Sequence[str] = "packet",
    jobs: int | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
    options: Mapping[str, Any] | None = None,
    **axes: Iterable[Any],
) -> pd.DataFrame:
    """Metrics over a grid of scenarios, as a tidy table; each run is discarded once measured.

    Args:
        make: returns the scenario for one value of each axis, by name. Use `seed` as an axis to
            see the spread.
        metrics: functions of a `Run` by column name, or one function, which gives its name to the
            column. A metric that returns a mapping (or a Series) fills one column per key.
        model: "packet", "fluid", or a list of models, which becomes the first axis.
        jobs, cache, progress: as in `simulate_many`.
        options: options of `simulate`.
        **axes: values of each axis, as in `grid`.

    Returns:
        a DataFrame with one row per grid point: the axes, then the metrics. For a table `d`,
        `d.set_index(["buffer", "seed"]).to_xarray()` returns a dataset with these axes.

    >>> sweep(make, {"jain": Run.jain_index}, buffer=[10, 50], seed=range(5))  # doctest: +SKIP
    """
    import pandas as pd

    if not callable(metrics):
        if not isinstance(metrics, Mapping):
            raise refuse("metrics", metrics, "a function of a Run, or a dict of such functions")
        _no_axis(metrics.keys() & (axes.keys() | {"model"}))
    points = grid(make, **axes)
    models = [model] if isinstance(model, str) else list(model)
    rows: list[dict[str, Any]] = []
    for one in models:
        rows += [{**({} if isinstance(model, str) else {"model": one}), **at} for at, _ in points]
    scenarios = [scenario for _ in models for _, scenario in points]
    each_model = [one for one in models for _ in points]
    simulations = Simulations(scenarios, each_model, jobs=jobs, cache=cache, **dict(options or {}))
    measured: dict[int, dict[str, Any]] = {}
    failed: dict[int, Exception] = {}
    try:
        with simulations:
            for index, run in simulations.finished(progress):
                if not isinstance(run, Run):
                    failed[index] = run
                    continue
                found = _measure(metrics, run)
                _no_axis(found.keys() & rows[index].keys())
                measured[index] = {**rows[index], **found}
    except KeyboardInterrupt:
        table = pd.DataFrame([measured[index] for index in sorted(measured)])
        line = told_interrupted(len(measured), len(rows), cache)
        raise SweepInterrupted(line, table) from None
    if failed:
        table = pd.DataFrame([measured[index] for index in sorted(measured)])
        at = ", ".join(f"{k} = {v!r}" for k, v in rows[min(failed)].items())
        raise SweepError(told_failed(failed, len(rows), f"at {at}"), table, failed)
    return pd.DataFrame([measured[index] for index in range(len(rows))])


def _no_axis(clash: Iterable[str]) -> None:
    for name in clash:
        raise ScenarioError(f"metrics: {name!r} is the name of an axis; use another name")


def _measure(metrics: Metric | Mapping[str, Metric], run: Run) -> dict[str, Any]:
    """Columns of one row; a metric that returns several numbers fills several columns."""
    if callable(metrics):
        name = str(getattr(metrics, "__name__", "metric")).strip("<>")
        return {key or name: value for key, value in _parts(metrics(run)).items()}
    columns: dict[str, Any] = {}
    for name, metric in metrics.items():
        columns |= {f"{name}_{k}" if k else name: v for k, v in _parts(metric(run)).items()}
    return columns


def _parts(found: Any) -> dict[str, Any]:
    """A metric's numbers by name; a single number has the name ""."""
    if hasattr(found, "to_series") and getattr(found, "ndim", None) == 1:  # DataArray
        found = found.to_series()
    if hasattr(found, "_asdict"):  # named tuple
        found = found._asdict()
    if hasattr(found, "items"):  # mapping or Series
        return {str(key): value for key, value in found.items()}
    return {"": found.item() if hasattr(found, "item") else found}


def _values(name: str, axis: Any) -> list[Any]:
    if isinstance(axis, str) or not isinstance(axis, Iterable):
        return [axis]
    values = list(axis)
    if not values:
        raise ScenarioError(f"{name} = []: an axis needs at least one value")
    return values


callable_module(__name__, sweep)
