"""Dot plot of ratios between our numbers and the published ones, for any table.

Ratios put numbers with different units on one axis. A ring at 1 is the published value, a diamond
is a reference, and the grey band is the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import charts
from experiments.records import GRADES, MODELS, Record
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Lines = list[tuple[str, Record | None]]
"""Names and records; the record of a heading is None."""

LEAST, MOST = 0.4, 2.5
"""Range of ratios drawn; a number beyond it is an arrow at the edge, with its ratio."""

HIGHEST = 36
"""Largest number of lines in a panel; further lines go into another panel beside it."""

LINE = 0.17
"""Height of a line, inches."""

LOOKS: dict[str, dict[str, Any]] = {
    "packet": {"color": plots.BLUE, "marker": "s", "ms": 4, "label": "packets"},
    "fluid": {"color": plots.VERMILION, "marker": "D", "ms": 4.5, "mfc": "none", "label": "fluid"},
}


def can_be_drawn(record: Record) -> bool:
    """Whether the record has a ratio: a target that is not 0, and a model's number."""
    return bool(record.target) and record.formula is None and _ratios(record) != {}


def dot_plot(records: Sequence[Record]) -> Figure | None:
    """Draw published value, tolerance, packets and fluid of every number of an item.

    Args:
        records: records of one item.

    Returns:
        The figure, or None if no record can be drawn.
    """
    drawn = [record for record in records if can_be_drawn(record)]
    if not drawn:
        return None
    panels = list(_panels(list(_groups(drawn))))
    rows = max(len(lines) for lines in panels)
    drawing = charts.panels(1, len(panels), sharex=True, squeeze=False, height=LINE * rows + 1.0)
    with drawing as (figure, axes):
        for ax, lines in zip(axes.flat, panels, strict=True):
            _panel(ax, lines, rows)
        figure.supxlabel("Ours / published")
        charts.legend_above(figure, axes.flat, order=("published", "reference"))
    return figure


def _groups(records: Sequence[Record]) -> Iterator[Lines]:
    """A heading for each column of the table, with its numbers below.

    A table with one row has no headings.
    """
    columns = list(dict.fromkeys(record.column for record in records))
    ordered = sorted(records, key=lambda record: columns.index(record.column))
    several = len({record.row for record in records}) > 1
    for column, of_column in groupby(ordered, key=lambda record: record.column):
        if several:
            yield [(column, None), *((record.row, record) for record in of_column)]
        else:
            yield [(column, record) for record in of_column]


def _panels(groups: Sequence[Lines]) -> Iterator[Lines]:
    """Distribute groups over panels of about the same height."""
    total = sum(map(len, groups))
    most = total / -(-total // HIGHEST)
    lines: Lines = []
    for group in groups:
        if lines and len(lines) + len(group) / 2 > most:
            yield lines
            lines = []
        lines = lines + group
    yield lines


def _panel(ax: Axes, lines: Lines, rows: int) -> None:
    heights = {k: -k for k, (_, record) in enumerate(lines) if record is not None}
    for k, y in heights.items():
        record = lines[k][1]
        assert record is not None
        assert record.target is not None
        if record.tolerance is not None:
            width = record.tolerance / abs(record.target)
            low, high = (min(max(1 + s * width, LEAST), MOST) for s in (-1, 1))
            ax.barh(y, high - low, 0.8, low, color="0.9", label="tolerance", zorder=0)
        look = plots.PUBLISHED_LOOK if record.reference is None else plots.REFERENCE_LOOK
        ax.plot(1, y, **{**look, "zorder": 3})
        for model, ratio in _ratios(record).items():
            _dot(ax, model, ratio, y)
        ends = record.spread
        if ends is not None:
            low, high = (min(max(end / record.target, LEAST), MOST) for end in ends)
            ax.hlines(y, low, high, color=LOOKS["packet"]["color"], lw=1, alpha=0.6, zorder=2)
    ax.set_yticks([-k for k in range(len(lines))], [name for name, _ in lines])
    for tick, (_, record) in zip(ax.get_yticklabels(), lines, strict=True):
        if record is None:
            tick.set_fontweight("bold")
    for grade in GRADES:
        for ratio in (1 - grade, 1 + grade):
            ax.axvline(ratio, color="0.85", lw=0.5, zorder=-1)
    ax.set(xscale="log", xlim=(LEAST / 1.06, MOST * 1.06), ylim=(-rows, 1))
    marks = (0.5, 0.75, 1, 1.5, 2)
    ax.set_xticks(marks, [f"{mark:g}" for mark in marks])
    ax.minorticks_off()
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _ratios(record: Record) -> dict[str, float]:
    """Ratios by model, for models that give a number."""
    target = record.target or math.nan
    ratios = {model: (record.number(model) or 0.0) / target for model in MODELS
             if record.number(model) is not None}  # fmt: skip
    return {model: ratio for model, ratio in ratios.items() if not math.isnan(ratio)}


def _dot(ax: Axes, model: str, ratio: float, y: float) -> None:
    look = {**LOOKS[model], "ls": "none", "zorder": 4}
    if LEAST <= ratio <= MOST:
        ax.plot(ratio, y, **look)
        return
    edge, marker, side = (LEAST, "<", "left") if ratio < LEAST else (MOST, ">", "right")
    ax.plot(edge, y, **{**look, "marker": marker, "label": None})
    if model == "packet" or np.isfinite(ratio):
        ax.annotate(
            f"{ratio:.2g}", (edge, y), (6 if side == "left" else -6, 0), size=7,
            va="bottom" if model == "packet" else "top",
            textcoords="offset points", ha=side, color=look["color"],
        )  # fmt: skip
