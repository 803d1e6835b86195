"""The runs that a page can show: windows, queue and throughput over time, thinned for the screen.

A run is shown where it is cheap: the packets that its busiest link could send are counted, and an
item's runs are taken, the first seed of each, until they come to `PACKETS`.
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
from experiments.paper_table import place
from experiments.records import Measured
from tcpcc import Run, Scenario, plots

PACKETS = 4e6
"""What an item's shown runs may send together; about a second of simulation."""

MOST = 12
"""Runs that a page shows."""

BYTES = 1000.0
"""Of a packet, for that count."""

POINTS = 400
"""Of a curve; at most."""

FLOWS = 6
"""Flows drawn one by one; of more, the mean of each algorithm's."""


@dataclass(frozen=True)
class Choice:
    """Which runs of an item are shown, and what is not.

    Attributes:
        keys: of the runs shown.
        seeds: how many runs were left out as other seeds of these.
        costly: how many because they would send too many packets.
    """

    keys: Sequence[Hashable]
    seeds: int
    costly: int

    @property
    def left_out(self) -> str:
        """What is not shown and why, in a sentence; empty if nothing is left out."""
        told = []
        if self.seeds:
            told.append(f"{self.seeds} with other seeds")
        if self.costly:
            limit = f"{PACKETS / 1e6:g} million packets or {MOST} runs a page"
            told.append(f"{self.costly} that go beyond {limit}")
        return f"Left out: {' and '.join(told)}." if told else ""


def choose(scenarios: Mapping[Any, Scenario], known: Iterable[Hashable] = ()) -> Choice:
    """The runs of an item that are shown; those `known` are there already and cost nothing."""
    free = set(known)
    first: dict[Hashable, Hashable] = {}
    for key in scenarios:
        first.setdefault(key[:-1] if _has_seed(key) else key, key)
    keys: list[Hashable] = []
    spent = 0.0
    for key in first.values():
        cost = 0.0 if key in free else packets(scenarios[key])
        if len(keys) < MOST and spent + cost <= PACKETS:
            spent += cost
            keys.append(key)
    return Choice(keys, len(scenarios) - len(first), len(first) - len(keys))


def packets(scenario: Scenario) -> float:
    """About how many packets the busiest recorded link could send."""
    rates = [link.rate for link in scenario.net.links if math.isfinite(link.rate)]
    return max(rates, default=0.0) * scenario.duration / (8 * BYTES)


def _has_seed(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) > 1 and type(key[-1]) is int


def title(key: Any) -> str:
    """A run's key in words."""
    if _has_seed(key):
        return f"{title(key[:-1])} (seed {key[-1]})"
    words = ", ".join(_words(key))
    return words if any(letter.isalpha() for letter in words) else f"run {words}"


def _words(key: Any) -> list[str]:
    if isinstance(key, tuple):
        return [word for part in key for word in _words(part)]
    return [f"{key:g}" if isinstance(key, float) else str(key)]


def cells_of(item: Item, name: str, key: Any, run: Run) -> list[dict[str, Any]]:
    """Row, column, place in the table and number of the cells that this run alone gives one; none
    where the item's numbers are taken from several runs together."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = item.measure({key: run})
        except (LookupError, ValueError, ArithmeticError, StopIteration):
            return []
    values = {k: v.value if isinstance(v, Measured) else v for k, v in found.items()}
    return [
        {"row": row, "column": column, "place": place(name, row, column), "value": _short(value)}
        for (row, column), value in values.items()
        if math.isfinite(value)
    ]


def trace(item: Item, name: str, key: Any, runs: Mapping[str, Runs]) -> dict[str, Any]:
    """What the page's script draws of the runs of one key: {"title", "cells", "models"}."""
    models = {model: _curves(of_model[key]) for model, of_model in runs.items()}
    cells = {model: cells_of(item, name, key, of_model[key]) for model, of_model in runs.items()}
    return {"title": title(key), "cells": cells, "models": models}


def _curves(run: Run) -> dict[str, Any]:
    """Panels by label: [{"label", "colour", "x", "y"}]."""
    times = run.data["time"].values
    step = max(1, -(-times.size // POINTS))
    at = times[: times.size // step * step].reshape(-1, step)[:, -1]
    series = run.throughput_series(run.duration / 200)
    scale, unit = plots.rate_unit(float(np.max(series.values, initial=1.0)))
    groups = _groups(run)
    windows = [
        _line(at, _thin(_mean(run.data["cwnd"].values[:, columns]), step), label, colour)
        for label, colour, columns in groups
        if np.isfinite(run.data["cwnd"].values[:, columns]).any()
    ]
    width = float(series["time"].values[0])
    middles = series["time"].values - width / 2
    rates = [
        _line(middles, _mean(series.values[:, columns]) / scale, label, colour)
        for label, colour, columns in groups
    ]
    panels = {"Window (packets)": windows, f"Throughput ({unit})": rates}
    if run.links:
        queue = run.data["queue"].isel(link=0).values
        name = f"Queue at {run.links[0]} (packets)"
        panels[name] = [_line(at, _thin(queue, step), "mean", plots.BLACK)]
    return {"panels": panels, "duration": run.duration}


def _groups(run: Run) -> list[tuple[str, str, list[int]]]:
    """(label, colour, columns) of what is drawn as one line."""
    kinds = [str(kind) for kind in run.data["controller"].values]
    if len(kinds) <= FLOWS:
        seen: dict[str, int] = {}
        found = []
        for column, (name, kind) in enumerate(zip(run.flows, kinds, strict=True)):
            lighter = 0.28 * (seen.setdefault(kind, 0) % 3)
            seen[kind] += 1
            found.append((name, to_hex(plots.shade(plots.colour(kind), lighter)), [column]))
        return found
    members = {kind: [k for k, each in enumerate(kinds) if each == kind] for kind in kinds}
    return [
        (
            f"mean of {len(columns)} {kind}" if len(columns) > 1 else kind,
            plots.colour(kind),
            columns,
        )
        for kind, columns in members.items()
    ]


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no flow there at a time
        return np.asarray(np.nanmean(values, axis=1))


def _thin(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Means of `step` bins."""
    return _mean(values[: values.size // step * step].reshape(-1, step))


def _line(x: NDArray[Any], y: NDArray[Any], label: str, colour: str) -> dict[str, Any]:
    return {
        "label": label, "colour": colour,
        "x": [_short(v) for v in x], "y": [_short(v) if math.isfinite(v) else None for v in y],
    }  # fmt: skip


def _short(value: Any) -> float:
    return float(f"{float(value):.4g}")
