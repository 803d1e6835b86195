"""The figures of the Westwood paper in its layout.

Each algorithm has a fixed colour; experiments/charts.py describes the styles of packets and fluid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments import charts, published_numbers
from experiments.harness import Cells, Runs
from experiments.measured_numbers import Measured
from experiments.westwood_rbe import scenarios as s
from experiments.westwood_rbe import tables
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    import tcpcc as tc

COLOURS, MARKERS = (
    {
        name: plots.look(kind)[k]
        for name, kind in {"Westwood": "westwood", "Proposal": "westwood_rbe"}.items()
    }
    for k in (0, 1)
)
SIDES = {"Westwood": -1.5, "Proposal": 1.5}
"""Horizontal shift of the ranges, points."""


def curve(ax: Axes, x: Sequence[float], cells: Sequence[Measured], model: str, name: str) -> None:
    """Draw means over seeds with ranges: Westwood's left of the marker, the proposal's right."""
    look: dict[str, Any] = {"color": COLOURS[name], "marker": MARKERS[name]}
    charts.curve(ax, x, cells, model, name, shift=SIDES[name], **look)


def logarithmic_ratio(ax: Axes, low: float, high: float) -> None:
    ax.set(yscale="log", ylim=(low, high))
    ticks = [tick for tick in (0.5, 0.7, 1, 1.4, 2, 3, 4, 6) if low <= tick <= high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.axhline(1, color=plots.GREY, lw=0.8, zorder=0)


# A loss in the fluid model.


def draw_reductions(runs: Mapping[str, Runs]) -> Figure:
    """A flow alone: window and rate x RTTmin around a loss; share of the window that a loss leaves.

    The dashed line is the closed form: at a loss the window fills link and buffer, and rate x
    RTTmin is 1 / (1 + b) of it. The proposal compensates for b and leaves one half.
    """
    with charts.panels(1, 2, height=plots.WIDTH * 0.38) as (figure, (left, right)):
        for name in s.PROPOSALS:
            of_kind = {b: runs["fluid"][name, b] for b in s.LAW_BUFFERS}
            shares = {b: _left(run) for b, run in of_kind.items()}
            right.plot(
                list(shares), list(shares.values()), MARKERS[name], color=COLOURS[name], ms=5
            )
            window = of_kind[0.5].data["cwnd"].isel(flow=0)
            left.plot(window["time"], window, color=COLOURS[name], label=name)
        rate = runs["fluid"]["Westwood", 0.5].throughput_series(1.0).isel(flow=0) / (8 * s.PACKET)
        left.plot(rate["time"], rate * s.PAIRS.rtt, color=plots.GREY, lw=0.9, label="rate x RTTmin")
        left.set(xlim=(60, 120), ylim=(0, 600), xlabel="Time (s)", ylabel="Window (packets)")
        charts.title(left, 0, "b = 1/2")
        fine = np.linspace(s.LAW_BUFFERS[0], s.LAW_BUFFERS[-1], 100)
        look: dict[str, Any] = {"color": plots.BLACK, "lw": 0.9, "ls": plots.DASHES[1]}
        right.plot(fine, 1 / (1 + fine), **look, label="1 / (1 + b)")
        right.axhline(0.5, color=plots.GREY, lw=0.8, zorder=0)
        right.set(xlabel="Buffer b (BDP)", ylabel="Window after a loss / before", ylim=(0, 1))
        charts.legend_above(figure, [left, right])
    return figure


def _left(run: tc.Run) -> float:
    """Share of the window that the last loss leaves, a third of a second later."""
    window = run.data["cwnd"].isel(flow=0).values
    last = int(np.flatnonzero(window[1:] < 0.95 * window[:-1])[-1])
    before = window[max(last - 6, 0) : last + 1].max()
    return float(window[min(last + 7, len(window) - 1)] / before)


# Figure 1.


def draw_ratios(values: Mapping[str, Cells]) -> Figure:
    """Figure 1: throughput ratio against the buffer, a panel for each legacy protocol.

    Rings are the text's "friendly".
    """
    printed = published_numbers.of("westwood_rbe").printed("figure_1")
    sizes = list(s.BUFFERS.values())
    fine = np.geomspace(sizes[0], sizes[-1], 100)
    with charts.panels(1, 3, sharey=True, height=2.6) as (figure, axes):
        for k, (ax, legacy) in enumerate(zip(axes, s.LEGACY, strict=True)):
            ax.plot(fine, [tables.LAWS["sawtooth"](b) for b in fine], color=plots.BLACK, lw=0.8,
                    ls=plots.DASHES[2], label="(2 + b) / (3 b)")  # fmt: skip
            for model, numbers in values.items():
                for name in s.PROPOSALS:
                    cells = [numbers[f"{name} / {legacy}", column] for column in s.BUFFERS]
                    curve(ax, sizes, cells, model, name)
            points = [printed[f"Proposal / {legacy}", column] for column in s.BUFFERS]
            charts.published(ax, sizes, points, mfc="none", ms=8)
            ax.set_xscale("log")
            logarithmic_ratio(ax, 0.45, 4)
            ax.set_xticks(sizes, [f"{b:g}" for b in sizes])
            ax.minorticks_off()
            ax.set_xlabel("Buffer b (BDP)")
            charts.title(ax, k, legacy)
        axes[0].set_ylabel("Throughput ratio")
        charts.legend_above(figure, axes, 3)
    return figure


# Equations 4 to 7.


def draw_laws(values: Mapping[str, Cells]) -> Figure:
    """Westwood and SACK: both readings of the equations, the sawtooth law, the simulations."""
    fine = np.geomspace(s.LAW_BUFFERS[0], s.LAW_BUFFERS[-1], 200)
    looks = zip(
        tables.LAWS.items(), (plots.GREEN, plots.ORANGE, plots.BLACK), plots.DASHES[1:], strict=True
    )
    with charts.panels(width=0.72, height=plots.WIDTH * 0.46) as (figure, ax):
        for (name, law), colour, dashes in looks:
            ax.plot(fine, [law(b) for b in fine], color=colour, ls=dashes, label=name)
        for model, numbers in values.items():
            cells = [numbers[tables.SIMULATED, tables.column(b)] for b in s.LAW_BUFFERS]
            label, colour = tables.SIMULATED, COLOURS["Westwood"]
            charts.curve(ax, s.LAW_BUFFERS, cells, model, label, color=colour)
            ax.lines[-1].set_linestyle("none")
        ax.set_xscale("log")
        logarithmic_ratio(ax, 0.5, 7)
        ax.set_xticks([1 / 8, 1 / 4, 1 / 2, 1, 2], ["1/8", "1/4", "1/2", "1", "2"])
        ax.minorticks_off()
        ax.set(xlabel="Buffer b (BDP)", ylabel="Westwood's throughput / SACK's")
        charts.legend_above(figure, [ax], 3)
    return figure


# Figures 2, 3 and 4.


class Panel(NamedTuple):
    """A panel of Figure 3 or 4: algorithms, and columns by the points' labels."""

    title: str
    names: Sequence[str]
    columns: Mapping[str, str]


CROWD_PANELS = tuple(
    Panel(
        f"Buffer of {size} packets",
        tuple(s.PROPOSALS),
        {f"N = {n}": tables.place(size, n) for n in s.COUNTS},
    )
    for size in s.CROWD_BUFFERS.values()
)
PAIR_COLUMNS = {f"B = {size}": tables.place(size, 2) for size in s.PAIR_BUFFERS.values()}
PAIR_PANELS = tuple(Panel(name, (name,), PAIR_COLUMNS) for name in s.PROPOSALS)

REGIONS = {
    (0.03, 0.95): "probable trade-off",
    (0.97, 0.95): "unlikely",
    (0.03, 0.05): "negative impact",
    (0.97, 0.05): "improbable trade-off",
}
"""Names of the regions in Figure 2, by position in the panel."""


def draw_regions(runs: Mapping[str, Runs]) -> Figure:
    """Figure 2: meaning of a point's position; L and G are relative to Reno alone."""
    with charts.panels(width=0.55, height=plots.WIDTH * 0.42) as (figure, ax):
        ax.set(xlim=(0.5, 1.5), ylim=(0.9, 1.1), xticks=[1], yticks=[1])
        ax.set(xlabel="Legacy throughput L", ylabel="Utilization gain G")
        ax.plot(1, 1, "o", color=plots.BLACK, ms=4)
        ax.annotate(
            "Reno alone", (1, 1), (8, 6), textcoords="offset points", size=8, color=plots.BLACK
        )
        _regions([ax])
    return figure


def draw_tradeoff(panels: Sequence[Panel], values: Mapping[str, Cells]) -> Figure:
    """Figures 3 and 4: points (L, G), means over seeds with ranges."""
    with charts.panels(1, 2, sharex=True, sharey=True, height=plots.WIDTH * 0.5) as (figure, axes):
        for k, (ax, panel) in enumerate(zip(axes, panels, strict=True)):
            for model, numbers in values.items():
                for name in panel.names:
                    _points(ax, name, panel.columns, model, numbers)
            ax.set_xlabel("Legacy throughput L")
            charts.title(ax, k, panel.title)
        axes[0].set_ylabel("Utilization gain G")
        _regions(axes)
        _legend(axes[0], panels, values)
        charts.legend_above(figure, axes[:1], 4)
    return figure


SHAPES = "os^D"
"""Markers of a panel's columns."""


def _legend(ax: Axes, panels: Sequence[Panel], models: Iterable[str]) -> None:
    """Name colours (algorithms), shapes (columns) and fillings (models)."""
    look: dict[str, Any] = {"ls": "none", "ms": 5}
    for name in dict.fromkeys(name for panel in panels for name in panel.names):
        ax.plot([], [], "s", label=name, color=COLOURS[name], **look)
    for shape, label in zip(SHAPES, panels[0].columns, strict=False):
        ax.plot([], [], shape, label=label, color=plots.GREY, **look)
    for model in models:
        filling: dict[str, Any] = {"mfc": "none"} if model == "fluid" else {}
        label = "fluid" if model == "fluid" else "packets"
        ax.plot([], [], "o", label=label, color=plots.BLACK, **look, **filling)


def _points(ax: Axes, name: str, columns: Mapping[str, str], model: str, numbers: Cells) -> None:
    legacy, gain = (
        [numbers[f"{axis} {name}", column] for column in columns.values()] for axis in "LG"
    )
    look: dict[str, Any] = {"color": COLOURS[name], "ls": "none", "ms": 5}
    if model == "fluid":
        look |= {"mfc": "none", "mew": 0.9}
    for x, y, shape in zip(legacy, gain, SHAPES, strict=False):
        ax.plot(x.value, y.value, shape, **look)
    if model == "packet":
        bars: dict[str, Any] = {"color": COLOURS[name], "lw": 2, "alpha": 0.35, "zorder": 1}
        charts.ranges(ax, [cell.value for cell in gain], legacy, across=True, **bars)
        charts.ranges(ax, [cell.value for cell in legacy], gain, **bars)


def _regions(axes: Sequence[Axes]) -> None:
    """Draw Figure 2 as the background, with room for the regions' names in the corners."""
    ends = np.array([(*ax.get_xlim(), *ax.get_ylim()) for ax in axes])
    wide, high = np.abs(ends[:, :2] - 1).max() * 1.15, np.abs(ends[:, 2:] - 1).max() * 1.5
    axes[0].set(xlim=(1 - wide, 1 + wide), ylim=(1 - 1.2 * high, 1 + 1.3 * high))
    for ax in axes:
        for line in (ax.axhline, ax.axvline):
            line(1, color=plots.BLACK, lw=0.8, zorder=0)
        for (x, y), name in REGIONS.items():
            ax.text(
                x, y, name, transform=ax.transAxes, color="0.4", size=8, style="italic",
                ha="left" if x < 0.5 else "right", va="bottom" if y < 0.5 else "top",
                bbox={"fc": "white", "ec": "none", "pad": 1},
            )  # fmt: skip


# Figure 5.


def draw_fairness(values: Mapping[str, Cells]) -> Figure:
    """Figure 5: Jain's index against the number of flows, a panel for each rate."""
    with charts.panels(1, 2, sharey=True, height=2.7) as (figure, axes):
        for k, (ax, link) in enumerate(zip(axes, s.RTT_LINKS, strict=True)):
            for model, numbers in values.items():
                for name in s.PROPOSALS:
                    cells = [numbers[f"{name}, {link}", f"N = {n}"] for n in s.RTT_COUNTS]
                    curve(ax, s.RTT_COUNTS, cells, model, name)
            ax.set_xticks(s.RTT_COUNTS)
            ax.set_xlabel("Number of flows N")
            charts.title(ax, k, link)
        axes[0].set_ylabel("Fairness index")
        axes[0].set_ylim(0, 1.02)
        charts.legend_above(figure, axes, 4)
    return figure


def draw_classes(values: Mapping[str, Cells]) -> Figure:
    """Ratio of Westwood and the proposal to Reno flows of similar RTT, a panel for each rate.

    Lines are the equations and the sawtooth law for a buffer of 240 ms.
    """
    middle = [1e3 * float(np.mean(ends)) for ends in s.RTT_CLASSES.values()]
    fine = np.linspace(0.022, 0.25, 200)
    looks = list(
        zip(list(tables.LAWS)[1:], (plots.ORANGE, plots.BLACK), plots.DASHES[2:4], strict=True)
    )
    with charts.panels(1, 2, sharey=True, height=2.8) as (figure, axes):
        for k, (ax, link) in enumerate(zip(axes, s.RTT_LINKS, strict=True)):
            rate, buffer = s.RTT_LINKS[link]
            own = buffer * 8 * s.PACKET / rate / fine  # the buffer in a flow's own BDPs
            for name, colour, dashes in looks:
                law = [tables.LAWS[name](b) for b in own]
                ax.plot(1e3 * fine, law, color=colour, ls=dashes, lw=0.9, label=name)
            for model, numbers in values.items():
                for name in s.PROPOSALS:
                    cells = [numbers[of, f"{name} / Reno, {link}"] for of in s.RTT_CLASSES]
                    curve(ax, middle, cells, model, name)
            logarithmic_ratio(ax, 0.35, 2)
            ax.set_xlabel("Round-trip time without queueing (ms)")
            charts.title(ax, k, link)
        axes[0].set_ylabel("Ratio to Reno with similar RTT")
        charts.legend_above(figure, axes, 3)
    return figure
