"""Time series of runs on a page: windows, queue and throughput, with fewer points for the screen.

Only cheap runs are shown. The cost of a run is the number of packets that its fastest link can
send. The first seed of each run of an item is shown, up to a total cost of `PACKETS`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from experiments.harness import Item, Runs
from experiments.keys import in_words, without_seed
from experiments.paper_table import place
from experiments.records import Measured
from tcpcc import Run, Scenario, plots
from tcpcc.results.metrics import mean_of_known

PACKETS = 4e6
"""Largest total number of packets in an item's shown runs; about one second of simulation."""

MOST = 12
"""Largest number of runs on a page."""

BYTES = 1000.0
"""Packet size assumed for the cost."""

POINTS = 400
"""Approximate largest number of points of a curve."""

FLOWS = 6
"""Largest number of flows drawn separately; with more, the mean of each algorithm is drawn."""


@dataclass(frozen=True)
class Choice:
    """Runs of an item that are shown, and the number of runs that are not.

    Attributes:
        keys: keys of the runs shown.
        seeds: number of runs left out because they only have another seed.
        costly: number of runs left out because of their cost or `MOST`.
    """

    keys: Sequence[Hashable]
    seeds: int
    costly: int

    @property
    def left_out(self) -> str:
        """Sentence about the runs left out; empty if there are none."""
        parts = []
        if self.seeds:
            parts.append(f"{self.seeds} with other seeds")
        if self.costly:
            limit = f"{PACKETS / 1e6:g} million packets and {MOST} runs per page"
            parts.append(f"{self.costly} above the limit of {limit}")
        return f"Runs not shown: {' and '.join(parts)}." if parts else ""


def choose(
    scenarios: Mapping[Any, Scenario],
    known: Iterable[Hashable] = (),
    parts: Sequence[str] = (),
) -> Choice:
    """Choose the runs of an item to show; `known` runs are already simulated and cost nothing.

    `parts` are the names of the keys' parts, as in `harness.Item`.
    """
    free = set(known)
    first: dict[Hashable, Hashable] = {}
    for key in scenarios:
        first.setdefault(without_seed(key, parts), key)
    keys: list[Hashable] = []
    spent = 0.0
    for key in first.values():
        cost = 0.0 if key in free else packets(scenarios[key])
        if len(keys) < MOST and spent + cost <= PACKETS:
            spent += cost
            keys.append(key)
    return Choice(keys, len(scenarios) - len(first), len(first) - len(keys))


def packets(scenario: Scenario) -> float:
    """Approximate number of packets that the fastest link can send."""
    rates = [link.rate for link in scenario.net.links if math.isfinite(link.rate)]
    return max(rates, default=0.0) * scenario.duration / (8 * BYTES)


def cells_of(item: Item, name: str, key: Any, run: Run) -> list[dict[str, Any]]:
    """Row, column, anchor and number of the cells that can be computed from this run alone.

    Empty if the item's numbers need several runs.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            numbers = item.measure({key: run})
        except (LookupError, ValueError, ArithmeticError, StopIteration):
            return []
    values = {k: v.value if isinstance(v, Measured) else v for k, v in numbers.items()}
    return [
        {"row": row, "column": column, "place": place(name, row, column), "value": _short(value)}
        for (row, column), value in values.items()
        if math.isfinite(value)
    ]


def trace(item: Item, name: str, key: Any, runs: Mapping[str, Runs]) -> dict[str, Any]:
    """Data for the page's script about the runs of one key: {"title", "cells", "models"}."""
    models = {model: _curves(of_model[key]) for model, of_model in runs.items()}
    cells = {model: cells_of(item, name, key, of_model[key]) for model, of_model in runs.items()}
    return {"title": in_words(key, item.parts), "cells": cells, "models": models}


def _curves(run: Run) -> dict[str, Any]:
    """Panels by label, each a list of lines {"label", "colour", "x", "y"}, and the duration."""
    times = run.data["time"].values
    step = max(1, -(-times.size // POINTS))
    at = times[: times.size // step * step].reshape(-1, step)[:, -1]
    series = run.throughput_series(run.duration / 200)
    scale, unit = plots.rate_unit(float(np.max(series.values, initial=1.0)))
    groups = _groups(run)
    cwnd = run.data["cwnd"].values
    windows = [
        _line(at, _thin(mean_of_known(cwnd[:, columns], axis=1), step), label, colour)
        for label, colour, columns in groups
        if np.isfinite(cwnd[:, columns]).any()
    ]
    middles = series["time"].values - float(series["time"].values[0]) / 2
    rates = [
        _line(middles, series.values[:, columns].mean(axis=1) / scale, label, colour)
        for label, colour, columns in groups
    ]
    panels = {"Window (packets)": windows, f"Throughput ({unit})": rates}
    if run.links:
        queue = run.data["queue"].isel(link=0).values
        name = f"Queue at {run.links[0]} (packets)"
        panels[name] = [_line(at, _thin(queue, step), "mean", plots.BLACK)]
    return {"panels": panels, "duration": run.duration}


def _groups(run: Run) -> list[tuple[str, str, list[int]]]:
    """(label, colour, columns) of each line."""
    kinds = [str(kind) for kind in run.data["controller"].values]
    if len(kinds) <= FLOWS:
        drawn: dict[str, int] = {}
        groups = []
        for column, (name, kind) in enumerate(zip(run.flows, kinds, strict=True)):
            lighter = 0.28 * (drawn.setdefault(kind, 0) % 3)
            drawn[kind] += 1
            groups.append((name, to_hex(plots.shade(plots.colour(kind), lighter)), [column]))
        return groups
    members = {kind: [k for k, other in enumerate(kinds) if other == kind] for kind in kinds}
    return [
        (
            f"mean of {len(columns)} {kind}" if len(columns) > 1 else kind,
            plots.colour(kind),
            columns,
        )
        for kind, columns in members.items()
    ]


def _thin(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Means of `step` bins."""
    return mean_of_known(values[: values.size // step * step].reshape(-1, step), axis=1)


def _line(x: NDArray[Any], y: NDArray[Any], label: str, colour: str) -> dict[str, Any]:
    return {
        "label": label, "colour": colour,
        "x": [_short(v) for v in x], "y": [_short(v) if math.isfinite(v) else None for v in y],
    }  # fmt: skip


def _short(value: Any) -> float:
    return float(f"{float(value):.4g}")
