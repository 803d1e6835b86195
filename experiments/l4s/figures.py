"""The figures of the L4S paper: packets solid, fluid dashed, published values as rings in the
colour and with the marker of their curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments import charts, published_numbers
from experiments.harness import Cells
from experiments.l4s import scenarios as s
from experiments.l4s.tables import column
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = dict(
    zip(s.RIVALS, ((plots.BLUE, "o"), (plots.GREEN, "s"), (plots.ORANGE, "^")), strict=True)
)

RING = {"mfc": "none", "ms": 9}


def curve(
    ax: Axes, item: str, row: str, of: Mapping[str, Cells], name: str, look: tuple[str, str]
) -> None:
    """One row over the buffers in each model, with rings at its published values."""
    colour, marker = look
    places = list(range(len(s.BUFFERS)))
    for model, cells in of.items():
        line = [cells[row, column(buffer)] for buffer in s.BUFFERS]
        label = name if model == "packet" else None
        charts.curve(ax, places, line, model, label, color=colour, marker=marker)
    printed = published_numbers.of("l4s").printed(item)
    ring = {**RING, "mec": colour, "marker": marker, "label": "_"}
    for x, buffer in zip(places, s.BUFFERS, strict=True):
        value = printed[row, column(buffer)]
        if value is not None:
            charts.published(ax, [x], [value], **ring)
    ax.set_xticks(places, [f"{buffer:g}" for buffer in s.BUFFERS])


def chart_throughputs(cells: Mapping[str, Cells]) -> Figure:
    """Prague's throughput beside each rival, a panel for each bottleneck."""
    with charts.panels(2, 3, sharex=True, sharey=True, height=4.6) as (figure, axes):
        for k, (ax, bottleneck) in enumerate(zip(axes.flat, s.BOTTLENECKS, strict=True)):
            for rival, look in LOOKS.items():
                row = f"{bottleneck}, {rival}"
                curve(ax, "throughput", row, cells, f"beside {rival}", look)
            charts.title(ax, k, bottleneck)
            ax.set_ylim(0, 100)
        charts.outer_labels(axes, "Buffer (BDP)", "Prague (Mb/s)")
        charts.name_models(axes[0, 0])
        charts.published(axes[0, 0], [], [], **RING)
        charts.legend_above(figure, [axes[0, 0]], 3)
    return figure


def chart_delays(cells: Mapping[str, Cells]) -> Figure:
    """Queueing delay of Prague beside CUBIC, on a log scale."""
    with charts.panels(width=0.72, height=plots.WIDTH * 0.55) as (figure, ax):
        for k, bottleneck in enumerate(s.BOTTLENECKS):
            look = (plots.PALETTE[k], "os^vDp"[k])
            curve(ax, "delay", bottleneck, cells, bottleneck, look)
        ax.set(yscale="log", xlabel="Buffer (BDP)", ylabel="Queueing delay of Prague (ms)")
        ax.set_yticks([0.2, 0.5, 1, 2, 5, 10, 20, 50, 100])
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
        charts.name_models(ax)
        charts.published(ax, [], [], **RING)
        charts.legend_above(figure, [ax], 3)
    return figure
