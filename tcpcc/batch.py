"""Thousands of scenarios in one call, with means over time as one labelled dataset.

`sweep` keeps or measures a run for each scenario; a batch keeps only means over time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.bars import bar
from tcpcc.errors import ScenarioError, nonnegative, unknown, whole

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.results.recording import Means
    from tcpcc.scenario import Scenario

Names = tuple[list[str], list[str]]  # of flows and of recorded links

FLOW_MEANS = {
    "cwnd": ("packets", "congestion window, mean over time"),
    "rtt": ("s", "round-trip time, mean over time"),
    "throughput": ("bit/s", "delivered, sum over the flows of an entry"),
    "loss": ("1", "share of the sent packets that were dropped"),
}
LINK_MEANS = {
    "queue": ("packets", "queue, mean over time"),
    "queue_min": ("packets", "smallest queue"),
    "queue_max": ("packets", "largest queue"),
    "utilization": ("1", "share of the link's rate that was used"),
    "drop_rate": ("1", "share of the arrivals that the link dropped"),
}


def batch(
    make: Callable[..., Scenario],
    *,
    model: str = "fluid",
    after: float = 0.0,
    steps: int | None = None,
    trains: float | None = None,
    jobs: int | None = None,
    chunk: int = 250,
    progress: bool = False,
    **axes: Iterable[Any],
) -> xr.Dataset:
    """Means over time for a grid of scenarios.

    Args:
        make: returns the scenario for one value of each axis, by name. All scenarios must have the
            same number of flows and of recorded links; a flow may have any `count`.
        model: "fluid" or "packet".
        after: time from which means are taken, s.
        steps, trains: options of the fluid and of the packet model, as in `simulate`.
        jobs: number of parallel simulations. Default: one per processor.
        chunk: number of scenarios in memory at a time.
        progress: show a progress bar.
        **axes: values of each axis; the last one varies fastest.

    Returns:
        a dataset with the axes, `flow` and `link` as dimensions: `cwnd`, `rtt`, `throughput`,
        `loss` per flow, `queue`, `queue_min`, `queue_max`, `utilization`, `drop_rate` per link.
        A flow with a `count` is one entry. `queue_min` is the smallest mean over an interval.

    Raises:
        ScenarioError: scenarios with different numbers of flows or links, an unknown model, a
            feature that the model does not support, or an axis with the name of a result variable.

    >>> import tcpcc as tc
    >>> def make(flows, buffer):
    ...     net = tc.dumbbell("10 Mbps", "20 ms", buffer)
    ...     return tc.Scenario(net, [tc.Flow("reno", count=flows)], duration=10)
    >>> tc.batch(make, flows=[2, 5, 10], buffer=[20, 50]).sizes["buffer"]
    2
    """
    from tcpcc.many import check_axes

    if model not in MODELS:
        raise unknown("model of a batch", model, MODELS)
    options = {k: v for k, v in {"steps": steps, "trains": trains}.items() if v is not None}
    after, size = nonnegative("after", after, "s"), whole("chunk", chunk, low=1)
    workers = whole("jobs", os.cpu_count() or 1 if jobs is None else jobs, low=1)
    for name in axes:
        if name in (*FLOW_MEANS, *LINK_MEANS, "flow", "link"):
            raise ScenarioError(
                f"axis {name!r}: the result has a variable of this name; use another name"
            )
    check_axes(make, list(axes))
    values = {name: list(axis) for name, axis in axes.items()}
    points = itertools.product(*values.values())
    total = int(np.prod([len(axis) for axis in values.values()]))
    means: dict[int, Means] = {}
    labels: Names | None = None
    with bar(total, progress, "scenarios") as shown:
        while part := list(itertools.islice(points, size)):
            begin = len(means)
            scenarios = (make(**dict(zip(values, point, strict=True))) for point in part)
            for index, found, names in MODELS[model](scenarios, model, after, workers, options):
                if labels is None:
                    labels = names
                elif tuple(map(len, names)) != tuple(map(len, labels)):
                    raise ScenarioError(
                        f"make: a scenario with {len(names[0])} flows and {len(names[1])} recorded"
                        f" links, and one with {len(labels[0])} and {len(labels[1])}: must be equal"
                    )
                means[begin + index] = found
                shown.update()
    if labels is None:
        raise ScenarioError("axes: the grid has no points")
    return _dataset(values, labels, [means[k] for k in range(total)], model, after)


def _dataset(
    axes: Mapping[str, list[Any]],
    labels: Names,
    means: Sequence[Means],
    model: str,
    after: float,
) -> xr.Dataset:
    import xarray as xr

    shape = [len(axis) for axis in axes.values()]
    variables = {}
    for place, dim, table in ((0, "flow", FLOW_MEANS), (1, "link", LINK_MEANS)):
        for name, (unit, text) in table.items():
            array = np.reshape([one[place][name] for one in means], [*shape, len(labels[place])])
            variables[name] = ((*axes, dim), array, {"units": unit, "long_name": text})
    coords = {**axes, "flow": labels[0], "link": labels[1]}
    return xr.Dataset(variables, coords, {"model": model, "after": after})


def _of_runs(
    scenarios: Iterable[Scenario], model: str, after: float, jobs: int, options: dict[str, Any]
) -> Iterator[tuple[int, Means, Names]]:
    """Means of simulated scenarios, in the order in which they finish. No run is kept."""
    from tcpcc.many import Simulations
    from tcpcc.results.flow_rows import recorded_rows

    with Simulations(scenarios, model, jobs=jobs, **options) as simulations:
        for index, run in simulations.finished(progress=False):
            if isinstance(run, Exception):
                raise run
            series = {name: run.data[name].values for name in AVERAGED}
            rows = [flow.name for flow in recorded_rows(run)]
            means, names = _over_time(series, rows, run.scenario.interval, after)
            yield index, means, (names, run.links)


def _of_fluid(
    scenarios: Iterable[Scenario], model: str, after: float, jobs: int, options: dict[str, Any]
) -> Iterator[tuple[int, Means, Names]]:
    """As `_of_runs`, for the fluid model: without records, with the rules compiled once, and while
    scenarios are still made."""
    from tcpcc.models.controller_memory import ControllerMemory
    from tcpcc.models.fluid import integrate
    from tcpcc.models.fluid.fluid_read_out import series_by_name

    for name in options.keys() - {"steps"}:
        raise unknown("option of the fluid model", name, ["steps"])
    memory = ControllerMemory()

    def means_of(scenario: Scenario) -> tuple[Means, Names]:
        world = integrate(scenario, controllers=memory, **options)
        series, rows = series_by_name(world, AVERAGED)
        means, names = _over_time(series, rows, scenario.interval, after)
        return means, (names, [link.name for link in world.resolved.links if link.record])

    with ThreadPoolExecutor(jobs) as pool:
        for index, (means, names) in enumerate(pool.map(means_of, scenarios)):
            yield index, means, names


AVERAGED = (
    "time", "cwnd", "rtt", "sent", "delivered", "dropped", "count", "packet_size",
    "queue", "queue_max", "sent_bits", "capacity", "drops", "arrived",
)  # fmt: skip


def _over_time(
    series: Mapping[str, NDArray[np.float64]], rows: list[str], interval: float, after: float
) -> tuple[Means, list[str]]:
    """Means of series (`AVERAGED`, shaped as in a record) over the bins that end later than
    `after`, s, and the names of the flows. Rows of one flow, `rows`, are one entry: amounts are
    added up, windows and RTTs are means over its flows."""
    from tcpcc.results.metrics import mean_of_known
    from tcpcc.results.recording import late_bins

    names = list(dict.fromkeys(rows))
    groups = [np.flatnonzero([row == flow for row in rows]) for flow in names]
    ends, counts = series["time"], series["count"]
    first, begin = late_bins(ends, interval, after)
    seconds = ends[-1] - begin

    def late(name: str) -> np.ndarray:
        return series[name][first:]

    def added(name: str, each: np.ndarray | float = 1.0) -> np.ndarray:
        amounts = late(name).sum(axis=0) * each
        return np.array([amounts[k].sum() for k in groups])

    def mean(name: str) -> np.ndarray:
        values = mean_of_known(late(name))
        return np.array([mean_of_known(values[k], weights=counts[k]) for k in groups])

    with np.errstate(invalid="ignore", divide="ignore"):
        flows = {
            "cwnd": mean("cwnd"),
            "rtt": mean("rtt"),
            "throughput": added("delivered", 8 * series["packet_size"]) / seconds,
            "loss": added("dropped") / added("sent"),
        }
        links = {
            "queue": late("queue").mean(axis=0),
            "queue_min": late("queue").min(axis=0),
            "queue_max": late("queue_max").max(axis=0),
            "utilization": late("sent_bits").sum(axis=0) / late("capacity").sum(axis=0),
            "drop_rate": late("drops").sum(axis=0) / late("arrived").sum(axis=0),
        }
    return (flows, links), names


#: How a batch in a model finds the means of scenarios; yields (index, means, names).
MODELS = {"fluid": _of_fluid, "packet": _of_runs}
