"""Comparison of our means over seeds with those of ns-2, for every column with RED.

The random numbers differ from those of ns-2, so the two samples are independent. With the same
random numbers the runs are identical (tests/external/test_mixed_against_ns2.py).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from experiments import harness, number_store, published_numbers
from experiments.red_fairness import scenarios as s
from experiments.red_fairness import tables
from experiments.seeds import Quantities, of_each_seed, over_seeds
from tcpcc.sweeps import sweep

if TYPE_CHECKING:
    import pandas as pd

ITEMS: dict[str, tuple[Callable[..., dict[Any, Any]], Callable[..., Quantities]]] = {
    **{
        table: (lambda setting, table=table: s.mix_runs(table, setting=setting), tables.of_mix)
        for table in s.TABLES
    },
    "table_4_3": (lambda setting: s.joining_runs(setting=setting), tables.of_joining),
    "table_4_4": (lambda setting: s.routers_runs(setting=setting), tables.of_routers),
}
"""For each table: the scenarios for a RED setting, and the measured quantities."""


NS2_SEEDS = 20
"""Number of seeds of the ns-2 results."""


@cache
def ns2() -> dict[str, Any]:
    """Results of ns-2.35 by setting ("A", "B", "drop-tail"), table, column and row."""
    with (published_numbers.DATA / "red_fairness_ns2.toml").open("rb") as file:
        return tomllib.load(file)


BySeed = dict[tuple[str, Any], dict[int, float]]
"""(row, column) -> seed -> value."""


@cache
def by_seed(setting: str) -> dict[str, BySeed]:
    """Table -> values by seed, for every column including drop-tail; stored after the first call.

    Args:
        setting: RED setting, "A" or "B".
    """
    return {table: _stored_by_seed(table, setting) for table in ITEMS}


def _stored_by_seed(table: str, setting: str) -> BySeed:
    code = number_store.digest(*ITEMS[table])
    place = (
        harness.numbers_of(harness.CACHE),
        "red_fairness",
        f"{table}_by_seed_{setting}",
        "packet",
        code,
    )
    stored = number_store.load(*place)
    if stored is not None:
        return {key: _pairs(numbers) for key, numbers in stored.items()}
    values = _by_seed(table, setting)
    number_store.store(*place, {key: tuple(chain(*of.items())) for key, of in values.items()})
    return values


def _pairs(numbers: Sequence[float | None]) -> dict[int, float]:
    """Values by seed, from a stored sequence seed, value, seed, value ..."""
    values = [value for value in numbers if value is not None]
    return {int(seed): value for seed, value in zip(values[::2], values[1::2], strict=True)}


def _by_seed(table: str, setting: str) -> BySeed:
    scenarios, quantities = ITEMS[table]
    chosen = scenarios(setting)
    runs = sweep(list(chosen.values()), progress=False)
    return of_each_seed(quantities, dict(zip(chosen, runs, strict=True)))


def agreement(setting: str) -> pd.DataFrame:
    """Compare each quantity of each column with RED that the ns-2 results have.

    Args:
        setting: RED setting, "A" or "B".

    Returns:
        One row each: table, column, row; `ns2`, `ns2_sd`, `ours`, `sd`: means and standard
        deviations over seeds (`NS2_SEEDS` and `scenarios.SEEDS`); `z`: difference of the means in
        standard errors; `published`; `ns2_covers`, `ours_cover`: whether the published value is in
        the range over seeds.
    """
    import pandas as pd

    printed = {cell.key: cell.published for cell in published_numbers.of("red_fairness").cells}
    lines = []
    for table, values in by_seed(setting).items():
        for column, rows in ns2()[setting][table].items():
            for row, (mean, sd, low, high) in rows.items():
                ours = over_seeds(values[row, column])
                value = printed[table, row, column]
                lines.append(
                    {
                        "table": table,
                        "column": column,
                        "row": row,
                        "ns2": mean,
                        "ns2_sd": sd,
                        "ours": ours.value,
                        "sd": ours.sd,
                        "z": standard_errors(ours.value - mean, sd, ours.sd or 0.0),
                        "published": math.nan if value is None else value,
                        "ns2_covers": value is not None and low <= value <= high,
                        "ours_cover": value is not None
                        and ours.low is not None
                        and ours.high is not None
                        and ours.low <= value <= ours.high,
                    }
                )
    table_of_means = pd.DataFrame(lines)
    table_of_means.attrs["setting"] = setting
    return table_of_means


def standard_errors(difference: float, ns2_sd: float, sd: float) -> float:
    """Difference between our mean and the ns-2 mean, in units of its standard error."""
    error = math.sqrt(ns2_sd**2 / NS2_SEEDS + sd**2 / len(s.SEEDS))
    if error < 1e-9:  # neither depends on the seed
        return 0.0 if abs(difference) < 0.01 else math.inf
    return difference / error
