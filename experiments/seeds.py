"""How thoroughly the papers are simulated, and statistics over seeds: runs by (key, seed) to a mean
with its range."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments.measured_numbers import Measured

if TYPE_CHECKING:
    from experiments.harness import Runs

QUICK = os.environ.get("TCPCC_QUICK", "0") not in ("", "0")
"""Whether to use only `QUICK_SEEDS` seeds; read once, when the first paper is imported."""

QUICK_SEEDS = 2


def seeds_up_to(count: int) -> range:
    """The seeds 1 to `count`, or the first `QUICK_SEEDS` if `QUICK`."""
    return range(1, 1 + (min(count, QUICK_SEEDS) if QUICK else count))


Quantities = Mapping[str, float]
"""Numbers of one run, by row."""


def over_seeds(of_seed: Mapping[int, float]) -> Measured:
    """Combine the numbers of several seeds into one.

    The value is that of the deterministic run (seed 0) if there is one, else the mean. The standard
    deviation is over the other seeds, the range over all runs. `seeds` is set only for a mean.
    """
    chance = np.array([value for seed, value in of_seed.items() if seed != 0])
    value = of_seed.get(0, float(chance.mean()) if chance.size else np.nan)
    if chance.size < 2:
        return Measured(value)
    low, high = float(min(of_seed.values())), float(max(of_seed.values()))
    seeds = None if 0 in of_seed else chance.size
    return Measured(value, low, high, float(chance.std(ddof=1)), seeds)


def tabulate(
    quantities: Callable[[tc.Run], Quantities], runs: Runs
) -> dict[tuple[str, Any], Measured]:
    """Cells of a table by (row, column), from runs by (column, seed)."""
    return {key: over_seeds(seeds) for key, seeds in of_each_seed(quantities, runs).items()}


def of_each_seed(
    quantities: Callable[[tc.Run], Quantities], runs: Runs
) -> dict[tuple[str, Any], dict[int, float]]:
    """The numbers of `tabulate` before they are combined: (row, column) -> seed -> value."""
    of: dict[tuple[str, Any], dict[int, float]] = {}
    for (name, seed), run in runs.items():
        for row, value in quantities(run).items():
            of.setdefault((row, name), {})[seed] = value
    return of


def means(metric: Callable[[tc.Run], float], runs: Runs) -> dict[Any, Measured]:
    """One number per run, combined over seeds.

    Args:
        metric: function from a run to its number.
        runs: runs by (..., seed).

    Returns:
        Numbers by the key without seed: (a, b) for (a, b, seed), a for (a, seed).
    """
    values: dict[Any, dict[int, float]] = {}
    for (*key, seed), run in runs.items():
        values.setdefault(key[0] if len(key) == 1 else tuple(key), {})[seed] = metric(run)
    return {key: over_seeds(seeds) for key, seeds in values.items()}
