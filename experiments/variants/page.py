"""docs/variants.md, from the stored numbers and the template."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.harness import HERE
from experiments.variants import references
from experiments.variants.measures import MAIN, MEASURES, TIMES
from experiments.variants.networks import NETWORKS, PHASES
from experiments.variants.references import Key, Reference
from experiments.variants.tables import (
    MODELS,
    NAMES,
    SEEDS,
    Entry,
    Row,
    Table,
    agree,
    distinct,
    equal_to,
    far_apart,
    goodness,
    over_networks,
    ranks,
    stored,
)

if TYPE_CHECKING:
    import pandas as pd

PAGE = HERE.parent / "docs" / "variants.md"
TEMPLATES = HERE / "templates"

LEVELS: Mapping[str, tuple[float, ...]] = {
    "s": (-0.05, -0.15, -0.4, -0.999),
    "jain": (0.98, 0.95, 0.85, 0.7),
    "utilization": (0.98, 0.95, 0.9, 0.8),
    "ratio": (-math.log(1.2), -math.log(1.5), -math.log(2), -math.log(4)),
}
"""Least `goodness` of the colours, best first; of a time as a share of its limit."""


NEAR = 0.03
"""Distance of Jain's index from the level of `fair_time` that decides about a time to fair."""

CAUSES = {
    "windows": "small windows",
    "longer": "phases",
    "level": "near the level",
    "": "not traced",
}
"""Names of the causes of differences, by the runs that show them (references.py)."""


class Shown(NamedTuple):
    """A cell of a table: text, half width of the interval, and `level`."""

    text: str
    spread: str
    level: int


def level(measure: str, value: float) -> int:
    """Colour of a value, 0 (best) to 4; -1 if no value is better than another."""
    good = goodness(measure, value / MEASURES[measure].limit if measure in TIMES else value)
    bounds = LEVELS.get("s" if measure in TIMES else measure)
    return -1 if bounds is None else sum(good < bound for bound in bounds)


def cell(measure: str, entry: Entry) -> Shown:
    """A measure as text, such as "12.3", "never", or "at least 93"."""
    value = entry.mean
    if MEASURES[measure].unit != "s":
        digits = 2 if measure == "ratio" and value >= 0.1 else 3
        spread = "" if math.isnan(entry.half_width) else f"{entry.half_width:.{digits}f}"
        return Shown(f"{value:.{digits}f}", spread, level(measure, value))
    if entry.never == entry.seeds:
        return Shown("never", "", 4)
    spread = "" if math.isnan(entry.half_width) else f"{entry.half_width:.0f}"
    if entry.never:
        return Shown(f"≥ {value:.0f}", f"{spread}, never in {entry.never}", level(measure, value))
    return Shown(f"{value:.1f}", spread, level(measure, value))


def headline(table: Table) -> str:
    """What the table says, in one sentence, for the README."""
    controllers = len({key[1] for key in table})
    fair = {
        model: sum(
            all(
                row.entries and row.entries["jain"].mean >= 0.95
                for (_, name, of), row in table.items()
                if (name, of) == (controller, model)
            )
            for controller in {key[1] for key in table}
        )
        for model in MODELS
    }
    differ = far_apart(table)
    pairs = sum(len(MAIN) for key, row in table.items() if key[2] == "fluid" and row.entries)
    return (
        f"{controllers} controllers in {len(NETWORKS)} networks: {fair['packet']} share fairly"
        f" (Jain index 0.95) in all of them by packets, {fair['fluid']} by fluid; fluid agrees with"
        f" packets in {pairs - len(differ)} of {pairs} numbers"
    )


def cause(table: Table, key: Key, reference_of: Mapping[Key, Reference]) -> tuple[str, str]:
    """Why a number of fluid differs from that of packets: a key of `CAUSES`, and the evidence.

    A time to fair is a time to pass a level. Where Jain's indices agree, and one model's is at most
    `NEAR` from that level, the times may differ by anything.
    """
    network, controller, measure = key
    reference = reference_of.get(key)
    if reference and references.explains(table, key, *reference[:2]):
        both = " and ".join(_entry_text(measure, e) for e in (reference.packet, reference.fluid))  # type: ignore[arg-type]
        return "windows", f"with larger windows: {both}"
    if reference and references.explains(table, key, *reference[2:]):
        entries = (reference.packet_longer, reference.fluid_longer)
        both = " and ".join(_entry_text(measure, e) for e in entries)  # type: ignore[arg-type]
        return "longer", f"with longer random times: {both}"
    indices = [table[network, controller, m].entries["jain"] for m in ("packet", "fluid")]
    near = min(abs(index.mean - 0.95) for index in indices) <= NEAR
    if measure == "fair" and near and agree("jain", *indices):
        return "level", f"Jain indices {indices[0].mean:.3f} and {indices[1].mean:.3f}"
    return "", ""


def _entry_text(measure: str, entry: Entry) -> str:
    text, spread, _ = cell(measure, entry)
    return f"{text} &plusmn; {spread}" if spread else text


def page(table: Table) -> str:
    """The page as Markdown with HTML tables."""
    import jinja2

    same, table = equal_to(table), distinct(table)
    order = ranks(table)
    reference_of = references.stored()
    causes = {key: cause(table, key, reference_of) for key in far_apart(table)}
    counts = Counter(which for which, _ in causes.values())
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    text = templates.get_template("variants.md").render(
        headline=headline(table),
        near=_near(table),
        same=same,
        networks=NETWORKS,
        measures=MEASURES,
        main=MAIN,
        others=[m for m in MEASURES if m not in MAIN],
        models=[NAMES[m] for m in MODELS],
        seeds=len(SEEDS),
        ranking=[
            (
                k,
                name,
                f"{rank:.1f}",
                [_mean(table, name, m, model) for m in MAIN for model in MODELS],
            )
            for k, (name, rank) in enumerate(order.items(), 1)
        ],
        rows={
            network: [
                (name, [_block(table[network, name, model]) for model in MODELS]) for name in order
            ]
            for network in NETWORKS
        },
        differences=[
            (
                NETWORKS[network].title,
                controller,
                MEASURES[m].title,
                cell(m, table[network, controller, "packet"].entries[m]),
                cell(m, table[network, controller, "fluid"].entries[m]),
                CAUSES[causes[network, controller, m][0]],
                causes[network, controller, m][1],
            )
            for network, controller, m in causes
        ],
        counts=[(name, counts[which]) for which, name in CAUSES.items()],
        times=references.TIMES,
        phases=[f"{k / PHASES:g}" for k in range(PHASES)],
    )
    return re.sub(r"\n\s*\n(?=</?t)", "\n", text)  # a blank line would end the HTML


def _near(table: Table) -> int:
    """Number of means of fluid that agree with packets without their intervals."""
    return sum(
        agree(m, *(table[*key[:2], of].entries[m]._replace(half_width=0.0) for of in MODELS))
        for key, row in table.items()
        if key[2] == "fluid" and row.entries
        for m in MAIN
    )


class Sortable:
    """A data frame that a notebook shows with headings that sort it (docs/static/sort.js)."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def _repr_html_(self) -> str:
        script = (PAGE.parent / "static" / "sort.js").read_text(encoding="utf-8")
        return f'<div class="variants">{self.frame.to_html()}</div>\n<script>{script}</script>'

    def __repr__(self) -> str:
        return repr(self.frame)


def _mean(table: Table, controller: str, measure: str, model: str) -> Shown:
    value = over_networks(table, controller, model, measure)
    if math.isnan(value):
        return Shown("", "", -1)
    digits = 0 if MEASURES[measure].unit == "s" else 2
    return Shown(f"{value:.{digits}f}", "", level(measure, value))


def _block(row: Row) -> dict[str, Any]:
    """The cells of one model: by measure, or why there are none."""
    return {"refused": row.refused, "cells": {m: cell(m, e) for m, e in row.entries.items()}}


def write_page(file: Path = PAGE, table: Table | None = None) -> None:
    """Write the page.

    Args:
        file: its path.
        table: the means. Default: those stored.
    """
    file.write_text(page(stored() if table is None else table), encoding="utf-8")
