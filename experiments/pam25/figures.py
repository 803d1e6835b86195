"""Figures in the shape of the paper's: Prague's share against the buffer, and bars of mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments import charts
from experiments.ifip25.figures import LOOKS
from experiments.l4s.scenarios import BUFFERS
from experiments.pam25 import scenarios as s
from experiments.pam25.scenarios import Mixture
from experiments.pam25.tables import published
from experiments.testbeds import MODELS, TESTBED, Key, Numbers
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _panel(ax: Axes, numbers: Numbers, cells: list[Mixture]) -> None:
    """Prague's throughput against the buffer: two deviations of the trials, range of the seeds."""
    places = list(range(len(cells)))
    testbed = [published()[cell, "prague"] for cell in cells]
    look = LOOKS[TESTBED]
    for x, trials in zip(places, testbed, strict=True):
        ends = trials.mean - 2 * trials.deviation, trials.mean + 2 * trials.deviation
        ax.vlines(x, *ends, color=look["color"], lw=1.2)
    ax.plot(places, [trials.mean for trials in testbed], **look)
    for model in MODELS:
        series = [numbers.get(Key(model, cell, "prague")) for cell in cells]
        if all(series):
            values = np.array(series)
            line = LOOKS[model]
            ax.fill_between(
                places, values.min(axis=1), values.max(axis=1), color=line["color"], alpha=0.2, lw=0
            )
            ax.plot(places, values.mean(axis=1), **line)
    ax.set_xticks(places, [f"{cell.buffer:g}" for cell in cells])
    ax.set(ylim=(0, 100), yticks=(0, 50, 100))


def _grid(numbers: Numbers, rows: dict[str, tuple[int, int, str]], bottlenecks: tuple[str, ...],
          height: float) -> Figure:  # fmt: skip
    """A row of panels for each mixture, a column for each bottleneck."""
    drawing = charts.panels(len(rows), len(bottlenecks), sharex=True, sharey=True, height=height)
    with drawing as (figure, axes):
        for line, (name, (n, m, rival)) in zip(axes, rows.items(), strict=True):
            for ax, bottleneck in zip(line, bottlenecks, strict=True):
                ax.axhline(100 * n / (n + m), color=plots.GREY, lw=0.8)
                _panel(ax, numbers, [Mixture(n, m, rival, bottleneck, b) for b in BUFFERS])
            line[0].set_ylabel(name)
        for ax, bottleneck in zip(axes[0], bottlenecks, strict=True):
            ax.set_title(bottleneck, loc="left")
        figure.supxlabel("Buffer (BDP)", fontsize="medium")
        figure.supylabel("Throughput of Prague (Mb/s)", fontsize="medium")
        charts.legend_above(figure, axes.flat, 3)
    return figure


def draw_pairs(numbers: Numbers) -> Figure:
    """One Prague flow beside one other flow."""
    return _grid(
        numbers, {f"beside {rival}": (1, 1, rival) for rival in s.PAIRS}, s.PAIR_BOTTLENECKS, 3.2
    )


def draw_mixtures(numbers: Numbers) -> Figure:
    """Prague flows beside CUBIC flows with ECN."""
    rows = {f"{n} + {m}": (n, m, "CUBIC ECN") for n, m in s.NUMBERS}
    return _grid(numbers, rows, s.BOTTLENECKS, 7.4)


DRAW = {"pairs": draw_pairs, "mixtures": draw_mixtures}
"""Figures by name."""
