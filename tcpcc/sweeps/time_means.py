"""Means over time of many scenarios as one labelled dataset: what `sweep(..., "means")` returns.

No run is kept. In the fluid model none is even made: means are taken from the series in memory.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError, unknown

if TYPE_CHECKING:
    import xarray as xr

    from tcpcc.results.recording import Means
    from tcpcc.scenario import Scenario

Names = tuple[list[str], list[str]]  # of flows and of recorded links

Found = tuple["Means", Names] | Exception
"""Means of scenarios, shape [scenario, flow] and [scenario, link], and the names of flows and
links; or the error of a run."""

CHUNK = 250  # scenarios of other models in memory at a time

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


def check_names(axes: Iterable[str]) -> None:
    """Refuse axes with the name of a variable or dimension of the dataset."""
    for name in axes:
        if name in (*FLOW_MEANS, *LINK_MEANS, "flow", "link"):
            raise ScenarioError(
                f"axis {name!r}: the result has a variable of this name; use another name"
            )


class MeansTable:
    """Means of scenarios by their index; all must have as many flows and recorded links.

    Args:
        axes: values of each axis; the last one varies fastest.

    Attributes:
        known: whether the means of each scenario are in the table.
    """

    def __init__(self, axes: Mapping[str, Sequence[Any]]) -> None:
        self.axes = axes
        self.labels: Names | None = None
        self.known = np.zeros(math.prod(map(len, axes.values())), bool)
        self._columns: dict[str, NDArray[np.float64]] = {}  # of each variable

    def add(self, indices: Sequence[int], means: Means, names: Names) -> None:
        if self.labels is None:
            self.labels = names
        elif tuple(map(len, names)) != tuple(map(len, self.labels)):
            raise ScenarioError(
                f"scenarios: one with {len(names[0])} flows and {len(names[1])} recorded links, and"
                f" one with {len(self.labels[0])} and {len(self.labels[1])}: must be equal"
            )
        for name, values in (means[0] | means[1]).items():
            if name not in self._columns:
                self._columns[name] = np.full((len(self.known), values.shape[1]), np.nan)
            self._columns[name][indices] = values
        self.known[indices] = True

    def dataset(self, **attrs: Any) -> xr.Dataset:
        """The means with the axes, `flow` and `link` as dimensions; NaN where there are none."""
        import xarray as xr

        shape = [len(axis) for axis in self.axes.values()]
        labels = self.labels or ([], [])
        variables = {}
        for place, dim, table in ((0, "flow", FLOW_MEANS), (1, "link", LINK_MEANS)):
            none = np.full((len(self.known), len(labels[place])), np.nan)
            for name, (unit, text) in table.items():
                array = self._columns.get(name, none).reshape(*shape, len(labels[place]))
                variables[name] = ((*self.axes, dim), array, {"units": unit, "long_name": text})
        coords = {**self.axes, "flow": labels[0], "link": labels[1]}
        return xr.Dataset(variables, coords, attrs)


def means_of_all(
    scenarios: Iterable[Scenario],
    model: str,
    after: float,
    jobs: int | None,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Iterator[tuple[list[int], Found]]:
    """(indices, means or error) of some scenarios at a time, as they finish.

    Args:
        scenarios: made when they are simulated.
        model, jobs: as in `tcpcc.sweep`.
        after: time from which means are taken, s.
        options: options of `tcpcc.simulate`.
        settings: cache, cache_from and processes, as in `tcpcc.sweep`.
    """
    if model == "fluid" and not any(settings.values()) and _threads_are_used():
        yield from _of_fluid(scenarios, after, jobs or os.cpu_count() or 1, options)
        return
    scenarios = iter(scenarios)
    begin = 0
    while chunk := list(itertools.islice(scenarios, CHUNK)):
        for index, means in _of_runs(chunk, model, after, jobs, {**options, **settings}):
            yield [begin + index], means
        begin += CHUNK


def _threads_are_used() -> bool:
    """Whether no other backend of joblib, such as a cluster, was chosen."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "uses_threads", False))


def _of_runs(
    scenarios: Sequence[Scenario],
    model: str,
    after: float,
    jobs: int | None,
    options: Mapping[str, Any],
) -> Iterator[tuple[int, Found]]:
    """Means of simulated scenarios, in the order in which they finish. No run is kept."""
    from tcpcc.results.flow_rows import recorded_rows
    from tcpcc.sweeps.parallel import Simulations

    with Simulations(scenarios, model, jobs=jobs, **options) as simulations:
        for index, run in simulations.finished(progress=False):
            if isinstance(run, Exception):
                yield index, run
                continue
            series = {name: run.data[name].values for name in AVERAGED}
            series |= {name: series[name][None] for name in SERIES}
            rows = [flow.name for flow in recorded_rows(run)]
            means, names = _over_time(series.__getitem__, rows, run.scenario.interval, after)
            yield index, (means, (names, run.links))


def _of_fluid(
    scenarios: Iterable[Scenario], after: float, jobs: int, options: Mapping[str, Any]
) -> Iterator[tuple[list[int], Found]]:
    """As `means_of_all`, for the fluid model: without records."""
    from tcpcc.models import MODELS
    from tcpcc.models.fluid.fluid_batch import integrate_all
    from tcpcc.models.fluid.fluid_read_out import columns_by_name

    settings = {name: value for name, value in options.items() if name != "force"}
    for name in settings.keys() - set(MODELS["fluid"].options):
        raise unknown("option of the fluid model", name, MODELS["fluid"].options)

    def means_of(world: Any, cases: Any, of: Any) -> Found:
        series, rows = columns_by_name(world, cases, of)
        means, names = _over_time(series, rows, world.scenario.interval, after)
        return means, (names, [link.name for link in world.resolved.links if link.record])

    return integrate_all(scenarios, means_of, jobs, **settings)


SERIES = (
    "cwnd", "rtt", "sent", "delivered", "dropped",
    "queue", "queue_max", "sent_bits", "capacity", "drops", "arrived",
)  # fmt: skip
AVERAGED = ("time", "count", "packet_size", *SERIES)


def _over_time(
    series: Callable[[str], NDArray[np.float64]], rows: list[str], interval: float, after: float
) -> tuple[Means, list[str]]:
    """Means of series (`SERIES`, shape [scenario, time, row or link]) over the bins that end later
    than `after`, s, and the names of the flows. Rows of one flow, `rows`, are one entry: amounts
    are added up, windows and RTTs are means over its flows."""
    from tcpcc.results.metrics import mean_of_known
    from tcpcc.results.recording import late_bins

    names = list(dict.fromkeys(rows))
    number = {name: k for k, name in enumerate(names)}
    entry = [number[row] for row in rows]
    ends, counts = series("time"), series("count")
    first, begin = late_bins(ends, interval, after)
    seconds = ends[-1] - begin

    def late(name: str) -> np.ndarray:
        return series(name)[:, first:]

    def total(of_rows: np.ndarray) -> np.ndarray:
        totals = np.zeros((len(of_rows), len(names)))
        np.add.at(totals.T, entry, of_rows.T)
        return totals

    def added(name: str, factor: np.ndarray | float = 1.0) -> np.ndarray:
        return total(late(name).sum(axis=1) * factor)

    def mean(name: str) -> np.ndarray:
        values = mean_of_known(late(name), axis=1)
        finite = np.isfinite(values)
        return total(np.where(finite, values * counts, 0.0)) / total(finite * counts)

    queue = late("queue")
    with np.errstate(invalid="ignore", divide="ignore"):
        flows = {
            "cwnd": mean("cwnd"),
            "rtt": mean("rtt"),
            "throughput": added("delivered", 8 * series("packet_size")) / seconds,
            "loss": added("dropped") / added("sent"),
        }
        links = {
            "queue": queue.mean(axis=1),
            "queue_min": queue.min(axis=1),
            "queue_max": late("queue_max").max(axis=1),
            "utilization": late("sent_bits").sum(axis=1) / late("capacity").sum(axis=1),
            "drop_rate": late("drops").sum(axis=1) / late("arrived").sum(axis=1),
        }
    return (flows, links), names
