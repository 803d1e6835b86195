"""Claims of the thesis about its single runs, checked for every seed.

A claim that compares drop-tail with RED holds for every seed if the smallest ratio of the RED runs
is above the largest ratio of the drop-tail runs. Start times of the latter are spread over 0.1 s.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.red_fairness import against_ns2
from experiments.red_fairness import scenarios as s
from experiments.seeds import Quantities

if TYPE_CHECKING:
    import pandas as pd

Column = Mapping[int, Quantities]
"""Rows of a column, by seed."""


def by_seed(setting: str = "B") -> Mapping[tuple[str, str], Column]:
    """All columns of all tables, including drop-tail: (table, column) -> seed -> row -> value.

    Args:
        setting: RED setting, "A" or "B".
    """
    columns: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    for table, values in against_ns2.by_seed(setting).items():
        for (row, column), seeds in values.items():
            of_column = columns.setdefault((table, column), {})
            for seed, value in seeds.items():
                if seed != 0:
                    of_column.setdefault(seed, {})[row] = value
    return columns


def fairness_pairs() -> list[tuple[str, str, str]]:
    """(table, drop-tail column, RED column) of all columns with Vegas and Reno flows."""
    pairs = [
        (table, f"drop-tail {mix}", f"RED {mix}")
        for table, columns in s.TABLES.items()
        for mix, kinds in columns.mixes.items()
        if len(set(kinds)) == 2
    ]
    pairs += [("table_4_3", "drop-tail", column) for column in s.ERRORS]
    return pairs + [("table_4_4", "drop-tail", c) for c in s.DEPLOYED if c != "drop-tail"]


def improvements(columns: Mapping[tuple[str, str], Column]) -> pd.DataFrame:
    """The claim "RED gives Vegas a larger share", column by column.

    Returns:
        table, column; `drop_tail_most`, `red_least`, `red_mean`: largest, smallest and mean ratio;
        `gain`: ratio of the means; `seeds`: share of RED seeds above the largest drop-tail ratio;
        `always`: whether all are above it.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for table, plain, red in fairness_pairs():
        before = ratios(columns[table, plain])
        after = ratios(columns[table, red])
        rows.append(
            {
                "table": table,
                "column": red,
                "drop_tail_most": before.max(),
                "red_least": after.min(),
                "red_mean": after.mean(),
                "gain": after.mean() / before.mean(),
                "seeds": float((after > before.max()).mean()),
                "always": bool(after.min() > before.max()),
            }
        )
    return pd.DataFrame(rows)


def ratios(column: Column) -> np.ndarray:
    """Fairness ratios of a column, in the order of seeds."""
    return np.array([column[seed]["Fairness"] for seed in sorted(column)])


def strict_order(columns: Mapping[tuple[str, str], Column]) -> tuple[np.ndarray, float]:
    """The claim that a smaller estimated number of connections gives more fairness.

    Returns:
        Mean ratios in the order of `ERRORS`, and the share of seeds with all five in this order.
    """
    all_of = np.array([ratios(columns["table_4_3", column]) for column in s.ERRORS])
    return all_of.mean(axis=1), float((np.diff(all_of, axis=0) > 0).all(axis=0).mean())


def more_reno_more_drops(by_column: Mapping[tuple[str, str], Column]) -> bool:
    """Whether a mix with more Reno flows drops more packets, for every pair of seeds."""
    for table, columns in s.TABLES.items():
        for queue in s.QUEUES:
            lost = [
                [column["Drop"] for column in by_column[table, f"{queue} {mix}"].values()]
                for mix in columns.mixes
            ]
            if any(max(less) >= min(more) for less, more in itertools.pairwise(lost)):
                return False
    return True
