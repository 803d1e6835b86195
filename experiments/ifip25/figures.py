"""Figures in the shape of the paper: measures of ten flows; share of BBR beside one other flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import charts
from experiments.ifip25 import scenarios as s
from experiments.ifip25 import tables
from experiments.ifip25.scenarios import Cell, Single, Ten
from experiments.ifip25.tables import PUBLISHED
from experiments.testbeds import TESTBED, Key, Numbers
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {"jain": "Jain's index", "loss": "Loss (%)", "occupancy": "Buffer filled (%)"}

LOOKS: Mapping[str, Mapping[str, Any]] = {
    TESTBED: {"label": "test-bed", "color": plots.BLACK, "marker": "s", "ls": "none", "ms": 4},
    PUBLISHED: {"label": "published fluid model", "color": plots.VERMILION, "ls": ":"},
    "packet": {"label": "packets", "color": plots.BLUE, "lw": 1.3},
    "fluid": {"label": "fluid", "color": plots.ORANGE, "ls": plots.FLUID_LOOK["ls"], "lw": 1.3},
}


def _series(
    ax: Axes, numbers: Numbers, source: str, cells: Mapping[int, Cell], measure: str
) -> None:
    """Means against the buffer: bars for the test-bed's range, a band for the range over seeds."""
    by_buffer = {x: numbers.get(Key(source, cell, measure)) for x, cell in cells.items()}
    x = [at for at, values in by_buffer.items() if values]
    series = [np.array(values) for values in by_buffer.values() if values]
    if not series:
        return
    look = dict(LOOKS[source])
    low, high = [v.min() for v in series], [v.max() for v in series]
    if source == TESTBED:
        ax.vlines(x, low, high, color=look["color"], lw=1.2)
    elif len(series[0]) > 1:
        ax.fill_between(x, low, high, color=look["color"], alpha=0.2, lw=0)
    ax.plot(x, [v.mean() for v in series], **look)


def _buffers(ax: Axes, ticks: tuple[int, ...]) -> None:
    ax.set_xscale("log", base=2)
    ax.set_xticks(ticks, [f"{b}" for b in ticks])
    ax.minorticks_off()


def draw_ten(numbers: Numbers) -> Figure:
    """Measures of ten flows against the buffer: a row for each measure, a column for each pair."""
    measures = tables.MEASURES
    drawing = charts.panels(len(measures), len(s.PAIRS), sharex=True, sharey="row", height=5.4)
    with drawing as (figure, axes):
        for k, names in enumerate(s.PAIRS):
            cells = {b: Ten(*names, b) for b in s.TEN_BUFFERS}
            for ax, measure in zip(axes[:, k], measures, strict=True):
                for source in LOOKS:
                    _series(ax, numbers, source, cells, measure)
                _buffers(ax, (1, 4, 16, 64))
            charts.title(axes[0, k], k, s.title(*names))
        for ax, measure in zip(axes[:, 0], measures, strict=True):
            ax.set_ylabel(LABELS[measure])
        axes[0, 0].set_ylim(0, 1.05)
        axes[1, 0].set_ylim(-0.7, 22)
        axes[2, 0].set_ylim(0, 105)
        figure.supxlabel("Buffer (10 ms at 100 Mb/s)", fontsize="medium")
        charts.legend_above(figure, axes.flat, 4)
    return figure


def draw_single(numbers: Numbers) -> Figure:
    """BBR's share against the buffer: a row for each set, a column for each number of flows."""
    columns = s.SINGLE_FLOWS
    drawing = charts.panels(len(s.SETS), len(columns), sharex=True, sharey=True, height=6.4)
    with drawing as (figure, axes):
        for row, setting in zip(axes, s.SETS, strict=True):
            rate = setting[2].rate
            shares = {
                key: tuple(v / rate for v in values)
                for key, values in numbers.items()
                if key.cell[:3] == setting
            }
            for ax, n in zip(row, columns, strict=True):
                cells = {b: Single(*setting, b, n) for b in s.SINGLE_BUFFERS}
                ax.axhline(n / (n + 1), color=plots.GREY, lw=0.8)
                for source in (TESTBED, "packet", "fluid"):
                    _series(ax, shares, source, cells, tables.RATE)
                _buffers(ax, (1, 4, 16, 64))
            row[0].set_ylabel(f"{s.title(*setting[:2])}\n{setting[2]}")
        for ax, n in zip(axes[0], columns, strict=True):
            ax.set_title(f"{n} BBR flow{'s' * (n > 1)}", loc="left")
        axes[0, 0].set(ylim=(0, 1.02), yticks=(0, 0.5, 1))
        figure.supxlabel("Buffer (BDP)", fontsize="medium")
        figure.supylabel("BBR's share of the link", fontsize="medium")
        charts.legend_above(figure, axes.flat, 3)
    return figure


DRAW = {"ten": draw_ten, "single": draw_single}
"""Figures by item."""
