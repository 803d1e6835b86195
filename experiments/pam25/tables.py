"""Numbers from runs, beside the mean and the spread of the test-bed's ten trials."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

import tcpcc as tc
from experiments.l4s import scenarios as l4s
from experiments.pam25 import scenarios as s
from experiments.pam25.scenarios import Mixture
from experiments.published_numbers import DATA
from experiments.testbeds import MODELS, Item, Key, Numbers, renew_tables, stored

RATES = ("prague", "rival")
"""Throughput of all flows of a kind, Mb/s."""
MEASURES = (*RATES, "prague_rtt", "rival_rtt")
"""And the RTT of the first flow of a kind, ms."""

NEAR = 0.1 * l4s.RATE / 1e6
"""Mb/s, a tenth of the link."""


class Trials(NamedTuple):
    """Mean and standard deviation of the test-bed's ten trials."""

    mean: float
    deviation: float


def of_mixture(cell: Mixture, run: tc.Run) -> dict[str, float]:
    """The measures of a run."""
    rates = run.goodput().values / 1e6
    trips = 1e3 * run.data["rtt"].mean("time").values
    n = cell.prague
    numbers = (rates[:n].sum(), rates[n:].sum(), trips[0], trips[n])
    return dict(zip(MEASURES, map(float, numbers), strict=True))


def _parse(row: Mapping[str, str]) -> tuple[Mixture, str]:
    numbers = int(row["prague"]), int(row["others"])
    cell = Mixture(*numbers, row["rival"], row["bottleneck"], float(row["buffer_bdp"]))
    return cell, row["measure"]


def _columns(key: Key) -> tuple[object, ...]:
    *names, buffer = key.cell
    return *names, f"{buffer:g}", key.measure


ITEM = Item(
    "pam25", "shares", s.mixtures, s.SEEDS,
    ("prague", "others", "rival", "bottleneck", "buffer_bdp", "measure"),
    _parse, _columns,
)  # fmt: skip


@cache
def published() -> Mapping[tuple[Mixture, str], Trials]:
    """The test-bed's numbers by cell and measure."""
    with ITEM.published.open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {_parse(row): Trials(float(row["mean"]), float(row["deviation"])) for row in rows}


def everything() -> Numbers:
    """Our accepted numbers, one for each seed."""
    return stored(ITEM)


# Comparison.


def difference(numbers: Numbers, model: str, cell: Mixture, measure: str) -> float:
    """Mean of the seeds less the mean of the trials."""
    return float(np.mean(numbers[Key(model, cell, measure)])) - published()[cell, measure].mean


def within(numbers: Numbers, model: str, cells: Sequence[Mixture]) -> tuple[int, int]:
    """How many throughputs are within a tenth of the link, and of how many."""
    verdicts = [abs(difference(numbers, model, cell, m)) <= NEAR for cell in cells for m in RATES]
    return sum(verdicts), len(verdicts)


GROUPS: Mapping[str, tuple[Mixture, ...]] = {
    **{
        f"1 Prague, 1 {rival}": tuple(c for c in s.mixtures() if c.rival == rival)
        for rival in s.PAIRS
    },
    **{
        f"{n} Prague, {m} CUBIC with ECN": tuple(
            c for c in s.mixtures() if c[:3] == (n, m, "CUBIC ECN")
        )
        for n, m in s.NUMBERS
    },
}
"""Cells by their flows."""


def summary(numbers: Numbers, models: Sequence[str] = MODELS) -> list[dict[str, object]]:
    """A row for each kind of mixture: spread of the test-bed, mean errors, throughputs within a
    tenth of the link."""
    rows = []
    for name, cells in {**GROUPS, "all": tuple(s.mixtures())}.items():
        spread = np.mean([published()[cell, m].deviation for cell in cells for m in RATES])
        row: dict[str, object] = {"flows": name, "deviation of trials": float(spread)}
        for model in models:
            if all(Key(model, cell, RATES[0]) in numbers for cell in cells):
                errors = [difference(numbers, model, cell, m) for cell in cells for m in RATES]
                near, total = within(numbers, model, cells)
                row[f"{model}: error"] = float(np.mean(np.abs(errors)))
                row[f"{model}: near"] = f"{near} of {total}"
        rows.append(row)
    return rows


# The page.

PAGE = DATA.parents[1] / "docs" / "pam25.md"
HEADS = {"shares": "|---|--:|--:|--:|--:|--:|\n", "mixtures": "|---|---|---|---|---|---|---|\n"}
"""Last lines of the heads of the page's tables."""


def page_rows() -> dict[str, list[str]]:
    """The rows of the tables in docs/pam25.md."""
    numbers = everything()
    shares = [
        f"| {row['flows']} | {row['deviation of trials']:.1f} | {row['packet: error']:.1f} | "
        f"{row['packet: near']} | {row['fluid: error']:.1f} | {row['fluid: near']} |"
        for row in summary(numbers)
    ]
    return {"shares": shares, "mixtures": _of_mixtures(numbers)}


def _of_mixtures(numbers: Numbers) -> list[str]:
    """Prague's throughput in a buffer of 2 BDP, as in the paper's bar chart."""
    rows = []
    for bottleneck in s.BOTTLENECKS:
        texts = []
        for n, m in s.NUMBERS:
            cell = Mixture(n, m, "CUBIC ECN", bottleneck, 2.0)
            means = (np.mean(numbers[Key(model, cell, "prague")]) for model in MODELS)
            trials = published()[cell, "prague"]
            texts.append(" / ".join(f"{value:.0f}" for value in (trials.mean, *means)))
        rows.append(f"| {bottleneck} | " + " | ".join(texts) + " |")
    return rows


def renew_page() -> None:
    """Write `page_rows` into the tables of the page."""
    renew_tables(PAGE, HEADS, page_rows())
