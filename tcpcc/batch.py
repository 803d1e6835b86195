"""Thousands of scenarios in one call, with means over time as one labelled dataset.

`sweep` keeps or measures a run for each scenario; a batch keeps only means over time. The mean
field adds them up while it runs and makes no record. A scenario without random numbers runs once
for all seeds.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    model: str = "meanfield",
    after: float = 0.0,
    step: float | None = None,
    jobs: int | None = None,
    chunk: int = 250,
    progress: bool = False,
    **axes: Iterable[Any],
) -> xr.Dataset:
    """Means over time for a grid of scenarios.

    Args:
        make: returns the scenario for one value of each axis, by name. All scenarios must have the
            same number of flows and of recorded links.
        model: "meanfield", "fluid" or "packet".
        after: time from which means are taken, s.
        step: mean field: longest time step, s. Default: half the shortest base RTT, since nothing
            is recorded.
        jobs: number of parallel simulations. Default: one per processor.
        chunk: number of scenarios in memory at a time.
        progress: show a progress bar.
        **axes: values of each axis; the last one varies fastest.

    Returns:
        a dataset with the axes, `flow` and `link` as dimensions: `cwnd`, `rtt`, `throughput`,
        `loss` per flow, `queue`, `queue_min`, `queue_max`, `utilization`, `drop_rate` per link.
        In the packet and the fluid model, `queue_min` is the smallest mean over an interval.

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
    means: list[Means] = []
    labels: tuple[list[str], list[str]] | None = None
    with bar(total, progress, "scenarios") as shown, ThreadPoolExecutor(workers) as pool:
        while part := list(itertools.islice(points, size)):
            scenarios = (make(**dict(zip(values, point, strict=True))) for point in part)
            for found, names in MODELS[model](scenarios, model, after, step, pool, workers):
                if labels is None:
                    labels = names
                elif tuple(map(len, names)) != tuple(map(len, labels)):
                    raise ScenarioError(
                        f"make: a scenario with {len(names[0])} flows and {len(names[1])} recorded"
                        f" links, and one with {len(labels[0])} and {len(labels[1])}: must be equal"
                    )
                means.append(found)
                shown.update()
    if labels is None:
        raise ScenarioError("axes: the grid has no points")
    return _dataset(values, labels, means, model, after)


def _dataset(
    axes: Mapping[str, list[Any]],
    labels: tuple[list[str], list[str]],
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


def _mean_field(
    scenarios: Iterable[Scenario],
    model: str,
    after: float,
    step: float | None,
    pool: ThreadPoolExecutor,
    workers: int,
) -> Iterable[tuple[Means, tuple[list[str], list[str]]]]:
    from tcpcc.models.meanfield.many_worlds import run_all

    for world_means, resolved in run_all(scenarios, step, after, pool, workers):
        names = [flow.name for flow in resolved.flows]
        links = [link.name for link in resolved.links if link.record]
        yield world_means, (names, links)


def _of_runs(
    scenarios: Iterable[Scenario],
    model: str,
    after: float,
    step: float | None,
    pool: ThreadPoolExecutor,
    workers: int,
) -> Iterable[tuple[Means, tuple[list[str], list[str]]]]:
    from tcpcc.many import simulate_many

    options: dict[str, Any] = {} if step is None else {"step": step}
    scenarios = list(scenarios)
    runs = simulate_many(scenarios, model=model, jobs=workers, progress=False, **options)
    for scenario, run in zip(scenarios, runs, strict=True):
        series = {name: run.data[name].values for name in AVERAGED}
        sizes = run.data["packet_size"].values
        yield _over_time(series, sizes, scenario.interval, after), (run.flows, run.links)


AVERAGED = (
    "time", "cwnd", "rtt", "sent", "delivered", "dropped",
    "queue", "queue_max", "sent_bits", "capacity", "drops", "arrived",
)  # fmt: skip


def _over_time(
    series: Mapping[str, NDArray[np.float64]],
    sizes: NDArray[np.float64],
    interval: float,
    after: float,
) -> Means:
    """Means of a run's series (`AVERAGED`, shaped as in a record) over the bins that end later than
    `after`, s; `sizes` are the flows' packet sizes, bytes."""
    from tcpcc.results.metrics import mean_of_known
    from tcpcc.results.recording import late_bins

    ends = series["time"]
    first, begin = late_bins(ends, interval, after)
    seconds = ends[-1] - begin
    late = {name: series[name][first:] for name in AVERAGED}
    total = {name: late[name].sum(axis=0) for name in AVERAGED}
    with np.errstate(invalid="ignore", divide="ignore"):
        flows = {
            **{name: mean_of_known(late[name]) for name in ("cwnd", "rtt")},
            "throughput": total["delivered"] * sizes * 8 / seconds,
            "loss": total["dropped"] / total["sent"],
        }
        links = {
            "queue": late["queue"].mean(axis=0),
            "queue_min": late["queue"].min(axis=0),
            "queue_max": late["queue_max"].max(axis=0),
            "utilization": total["sent_bits"] / total["capacity"],
            "drop_rate": total["drops"] / total["arrived"],
        }
    return flows, links


MODELS = {"meanfield": _mean_field, "fluid": _of_runs, "packet": _of_runs}
