"""Records as tables: for the screen, for notebooks, for ``docs/scorecard.md``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.harness import Record, agree, papers

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("reproduced", "direction holds", "deviates", "no published number")


def scorecard(records: Sequence[Record]) -> pd.DataFrame:
    """The records as a table: `error` is (packet - published) / published, `fluid_error` is
    (fluid - packet) / packet; other columns as in `Record`."""
    import pandas as pd

    table = pd.DataFrame([{**r.as_dict(), "spread": r.spread} for r in records])
    numbers = ["published", "packet", "fluid", "tolerance"]
    table[numbers] = table[numbers].astype(float)
    table.insert(8, "error", table["packet"] / table["published"] - 1)
    table.insert(9, "fluid_error", table["fluid"] / table["packet"] - 1)
    return table


def summary(records: Sequence[Record]) -> pd.DataFrame:
    """One row per item: cells by verdict, the median error of the packet model, and how many of
    the fluid model's numbers agree with it."""
    import numpy as np
    import pandas as pd

    rows = []
    for (paper, item), group in groupby(records, key=lambda r: (r.paper, r.item)):
        cells = list(group)
        counts = {verdict: sum(r.verdict == verdict for r in cells) for verdict in VERDICTS}
        errors = [
            abs(r.packet / r.published - 1)
            for r in cells
            if r.published and r.packet is not None and not math.isnan(r.packet)
        ]
        pairs = [(r.packet, r.fluid) for r in cells if r.packet is not None and r.fluid is not None]
        rows.append(
            {
                "paper": paper,
                "item": item,
                "cells": len(cells),
                **counts,
                "median_error": float(np.median(errors)) if errors else math.nan,
                "fluid_agrees": f"{sum(agree(*p) for p in pairs)} of {len(pairs)}" if pairs else "",
            }
        )
    return pd.DataFrame(rows)


def markdown(records: Sequence[Record]) -> str:
    """The scorecard as Markdown: a summary, then every number, with the causes below each table."""
    lines = [
        "# Scorecard",
        "",
        "Written by `make reproduce`. *Reproduced*: the packet model's number is within the stated "
        "tolerance of the published one. *Direction holds*: it is not, but what the paper says of "
        "the number (an ordering) is true of ours, and the cause is stated. *Deviates*: neither, "
        "and the cause is stated. The fluid model is held against the packet model: a difference "
        "of more than 10 % has its cause stated. A range in brackets, and a standard deviation "
        "before it, is over phases or seeds that the paper does not give. Tolerances with their "
        "reasons are in `experiments/data/`.",
        "",
        summary_markdown(records),
    ]
    known = papers()
    for name, of_paper in groupby(records, key=lambda r: r.paper):
        lines += ["", f"## {known[name].title}"]
        for item, group in groupby(of_paper, key=lambda r: r.item):
            lines += ["", f"### {_heading(item)}: {known[name].published.titles[item]}", ""]
            lines += _item_lines(list(group))
    return "\n".join(lines) + "\n"


def write(records: Sequence[Record], path: Path) -> None:
    """Write `markdown` to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(records), encoding="utf-8")


def summary_markdown(records: Sequence[Record]) -> str:
    """`summary` as a Markdown table."""
    lines = [
        "| Paper | Item | Cells | Reproduced | Direction holds | Deviates | No published number "
        "| Median error | Fluid agrees |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in summary(records).to_dict("records"):
        error = "" if math.isnan(row["median_error"]) else f"{row['median_error']:.1%}"
        counts = " | ".join(str(row[verdict]) for verdict in VERDICTS)
        lines.append(
            f"| {row['paper']} | {_heading(row['item'])} | {row['cells']} | {counts} | {error} "
            f"| {row['fluid_agrees']} |"
        )
    return "\n".join(lines)


def _item_lines(records: Sequence[Record]) -> list[str]:
    lines = [
        "| | | Unit | Published | Packet | Fluid | Tolerance | Verdict |",
        "|---|---|---|--:|--:|--:|--:|---|",
    ]
    causes: dict[str, int] = {}
    for r in records:
        verdict: str = r.verdict
        if r.cause:
            verdict += f" [{causes.setdefault(r.cause, len(causes) + 1)}]"
        spread = "" if r.sd is None else f" ± {number(r.sd)}"
        if r.spread is not None:
            spread += f" ({number(r.spread[0])} to {number(r.spread[1])})"
        tolerance = "" if r.tolerance is None else f"± {r.tolerance:.3g}"
        printed = "" if r.published is None else f"{r.published:g}"
        lines.append(
            f"| {r.row} | {r.column} | {r.unit if r.unit != '1' else ''} | {printed} "
            f"| {number(r.packet)}{spread} | {number(r.fluid)} | {tolerance} | {verdict} |"
        )
    return lines + [line for cause, k in causes.items() for line in ("", f"[{k}] {cause}")]


def number(value: float | None) -> str:
    """Four digits, at most three after the point; nothing for None."""
    if value is None:
        return ""
    if math.isnan(value):
        return "never"
    digits = max(0, min(3, 3 - math.floor(math.log10(abs(value))))) if value else 3
    return f"{value:.{digits}f}"


def _heading(item: str) -> str:
    """ "Table 3.1" for table_3_1."""
    return re.sub(r"(\d) (\d)", r"\1.\2", item.replace("_", " ").capitalize())
