"""The picture: a heat map of all controllers by measure, network and model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import charts
from experiments.variants.measures import MAIN, MEASURES
from experiments.variants.networks import NETWORKS
from experiments.variants.tables import MODELS, Table, distinct, ranks, stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

SHORT = {
    "small": "small BDP",
    "large": "large BDP",
    "shallow": "shallow",
    "deep": "deep",
    "red": "RED",
    "unlike": "two RTTs",
}
"""Names of the networks over the columns."""

GAP = 0.7
"""Width between two networks, in columns."""

REFUSED = "0.88"
"""Colour of a model that refuses a controller."""

TITLES = {
    "fair": "Time to fair (s)",
    "jain": "Jain index",
    "utilization": "Utilization",
    "ratio": "Ratio to Reno",
}


def draw(table: Table | None = None) -> Figure:
    """Rows: controllers, best mean rank first. Four panels: the main measures. In each, a block for
    each network with a column for packets and fluid.

    Args:
        table: the means. Default: those stored.
    """
    entries = distinct(stored() if table is None else table)
    networks = [name for name in NETWORKS if any(key[0] == name for key in entries)]
    order = list(ranks(entries))
    drawing = charts.panels(1, len(MAIN), sharey=True, height=1.6 + 0.152 * len(order))
    with drawing as (figure, axes):
        for ax, measure in zip(axes, MAIN, strict=True):
            bar = _panel(ax, entries, measure, order, networks)
            _scale(figure, ax, bar, measure)
        axes[0].set_yticks(np.arange(len(order)) + 0.5, order)
        axes[0].set_ylim(len(order), 0)
        _key(figure)
    return figure


def _panel(
    ax: Axes, table: Table, measure: str, order: list[str], networks: list[str]
) -> ScalarMappable:
    """Draw one measure; returns what its colour bar shows."""
    from matplotlib.cm import ScalarMappable

    colours, norm = _colours(measure)
    for k, network in enumerate(networks):
        left = k * (len(MODELS) + GAP)
        values = np.full((len(order), len(MODELS)), math.nan)
        for i, controller in enumerate(order):
            for j, model in enumerate(MODELS):
                entries = table[network, controller, model].entries
                if entries:
                    values[i, j] = entries[measure].mean
        x, y = left + np.arange(len(MODELS) + 1), np.arange(len(order) + 1)
        ax.pcolormesh(
            x, y, np.clip(values, norm.vmin, norm.vmax), cmap=colours, norm=norm, lw=0,
            rasterized=True,
        )  # fmt: skip
        ax.text(
            left + len(MODELS) / 2,
            -0.4,
            SHORT[network],
            rotation=60,
            size=8,
            rotation_mode="anchor",
        )
    ax.set_xlim(0, len(networks) * (len(MODELS) + GAP) - GAP)
    ax.set_xticks([])
    ax.grid(False)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    for row in range(5, len(order), 5):
        ax.axhline(row, color="white", lw=1.2)
    return ScalarMappable(norm, colours)


def _colours(measure: str) -> tuple[Any, Any]:
    import matplotlib as mpl
    from matplotlib.colors import LogNorm, Normalize

    norm: Any = Normalize(*{"jain": (0.5, 1)}.get(measure, (0.7, 1)))
    colours = mpl.colormaps["viridis"]
    if measure == "ratio":
        colours, norm = mpl.colormaps["RdBu_r"], LogNorm(1 / 8, 8)
    elif measure == "fair":
        colours, norm = mpl.colormaps["viridis_r"], Normalize(0, MEASURES["fair"].limit)
    return colours.with_extremes(bad=REFUSED), norm


def _scale(figure: Figure, ax: Axes, mapped: ScalarMappable, measure: str) -> None:
    from matplotlib.ticker import NullLocator

    bar = figure.colorbar(mapped, ax=ax, location="bottom", fraction=0.02, pad=0.015, aspect=18)
    ticks = {
        "fair": ([0, 100, MEASURES["fair"].limit], ["0", "100", "never"]),
        "jain": ([0.5, 0.75, 1], ["0.5", "0.75", "1"]),
        "utilization": ([0.7, 0.85, 1], ["≤ 0.7", "0.85", "1"]),
        "ratio": ([1 / 8, 1 / 2, 2, 8], ["≤ ⅛", "½", "2", "≥ 8"]),
    }[measure]
    bar.set_ticks(ticks[0], labels=ticks[1])
    bar.ax.xaxis.set_minor_locator(NullLocator())
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=8)
    bar.set_label(TITLES[measure])


def _key(figure: Figure) -> None:
    figure.supxlabel(
        "In each block: packets, fluid. Grey: the model refuses the controller.",
        size=8,
    )
