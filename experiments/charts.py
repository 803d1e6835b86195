"""Parts shared by the papers' figures: ranges over seeds, curves, bars, titles, legends.

The packet model is a solid line, with a vertical bar for the range over seeds. The fluid model is a
dashed line with open markers, or a dash over a bar. Published values are rings. Legends use the
labels "packets", "fluid", "published" and "reference".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.measured_numbers import Measured
    from tcpcc import Scenario


@contextmanager
def panels(
    rows: int = 1, columns: int = 1, *, width: float = 1.0, height: float, **settings: Any
) -> Iterator[tuple[Figure, Any]]:
    """A figure in the style of all figures, and its axes.

    Args:
        rows, columns: number of panels.
        width: share of the page's width.
        height: inches.
        **settings: of `plt.subplots`.
    """
    import matplotlib.pyplot as plt

    with plots.style():
        yield plt.subplots(rows, columns, figsize=(width * plots.WIDTH, height), **settings)


def outer_labels(axes: np.ndarray, x: str = "", y: str = "") -> None:
    """Label the horizontal axes of the last row and the vertical axes of the first column."""
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)


def ranges(
    ax: Axes,
    places: Iterable[float],
    cells: Iterable[Measured],
    *,
    across: bool = False,
    shift: float = 0.0,
    **look: Any,
) -> None:
    """Draw a line from the smallest to the largest number of each cell that has a range.

    Args:
        ax: axes to draw on.
        places: positions of the cells on the other axis.
        cells: the numbers.
        across: draw horizontal lines.
        shift: shift to the right, points.
        **look: keyword arguments of `Axes.vlines` or `Axes.hlines`.
    """
    from matplotlib.transforms import offset_copy

    spans = [(at, c.low, c.high) for at, c in zip(places, cells, strict=True) if c.low is not None]
    if not spans:
        return
    if shift:
        look["transform"] = offset_copy(ax.transData, ax.figure.figure, x=shift, units="points")
    draw: Any = ax.hlines if across else ax.vlines
    draw(*zip(*spans, strict=True), **look)


def curve(
    ax: Axes,
    x: Sequence[float],
    cells: Sequence[Measured],
    model: str,
    label: str | None,
    *,
    shift: float = 0.0,
    **look: Any,
) -> None:
    """Plot means over seeds against `x`.

    Args:
        ax: axes to draw on.
        x: positions of the cells.
        cells: the numbers.
        model: "packet" or "fluid"; the label of a fluid curve ends with ", fluid".
        label: label in the legend; None for no label.
        shift: shift of the ranges in points, so that ranges of two curves do not overlap.
        **look: keyword arguments of `Axes.plot`; `color` is required.
    """
    values = [cell.value for cell in cells]
    look = {"marker": "o", "ms": 3.5, **look}
    if model == "fluid":
        look |= {**plots.FLUID_LOOK, "lw": 0.9}
        ax.plot(x, values, label=label and f"{label}, fluid", **look)
        return
    ax.plot(x, values, label=label, **look)
    ranges(ax, x, cells, shift=shift, color=look["color"], lw=2.5, alpha=0.35)


def name_models(ax: Axes) -> None:
    """Add the looks of both models' curves to the legend, in black."""
    look: dict[str, Any] = {"color": plots.BLACK, "marker": "o", "ms": 3.5}
    ax.plot([], [], label="packets", **look)
    ax.plot([], [], label="fluid", **{**look, **plots.FLUID_LOOK, "lw": 0.9})


def bars(
    ax: Axes,
    places: np.ndarray,
    cells: Sequence[Measured],
    width: float,
    model: str,
    dash: float,
    **look: Any,
) -> None:
    """Draw bars with the range over seeds; of the fluid model dashes of the size `dash`, points."""
    if model == "fluid":
        dashes(ax, places, [cell.value for cell in cells], dash)
        return
    ax.bar(places, [cell.value for cell in cells], width, **look)
    ranges(ax, places, cells, color=plots.BLACK, lw=0.7)


def dashes(ax: Axes, places: Any, values: Sequence[float], size: float) -> None:
    """Draw the fluid model's values over bars, with a white outline for dark bars."""
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=2.8, foreground="white")]
    ax.plot(places, values, "_", color=plots.BLACK, ms=size, mew=1.4, label="fluid",
            path_effects=outline)  # fmt: skip


def published(ax: Axes, x: Any, y: Any, **look: Any) -> None:
    """Draw published values as rings."""
    ax.plot(x, y, **{**plots.PUBLISHED_LOOK, "zorder": 5, **look})


def of_model(algorithm: str, model: str) -> dict[str, Any]:
    """Keyword arguments of `Axes.plot` for a model's time series.

    Packets are solid; fluid is dashed and darker, so both are visible where they coincide.
    """
    own = plots.colour(algorithm)
    if model == "packet":
        return {"color": own, "lw": 1.4, "label": "packets"}
    return {
        "color": plots.shade(own, -0.45), "lw": 0.9, "ls": plots.FLUID_LOOK["ls"], "label": "fluid"
    }  # fmt: skip


NAMES = {
    "left": "R1", "right": "R2", "red": "RED", "cbr": "CBR", "reno": "Reno",
    "newreno": "New Reno", "vegas": "Vegas", "quick_vegas": "Quick Vegas", "fusion": "Fusion",
}  # fmt: skip
"""Names of nodes, controllers and disciplines in drawings of networks, as papers write them."""


def networks(scenarios: Mapping[str, Scenario]) -> Figure:
    """Draw the networks of scenarios with their hosts, one below the other, each with its title."""
    heights = [0.25 + plots.topology_height(scenario) for scenario in scenarios.values()]
    drawing = panels(len(scenarios), 1, squeeze=False, height=sum(heights), height_ratios=heights)
    with drawing as (figure, axes):
        for ax, (name, scenario) in zip(axes.flat, scenarios.items(), strict=True):
            plots.topology(scenario, ax, names=NAMES)
            ax.set_title(name, loc="left")
    return figure


def flows_in_words(letters: str, kinds: Mapping[str, str]) -> str:
    """ "8 Vegas, 2 Reno" for "8V2R", "Vegas beside Reno" for "V vs R"; other texts unchanged."""
    words = {letter: kind.capitalize() for letter, kind in kinds.items()}
    if match := re.fullmatch(r"(\w) vs (\w)", letters):
        return " beside ".join(words[letter] for letter in match.groups())
    counts = re.findall(r"(\d+)(\D)", letters)
    if "".join(map("".join, counts)) != letters or any(k not in words for _, k in counts):
        return letters
    return ", ".join(f"{count} {words[letter]}" for count, letter in counts)


def title(ax: Axes, k: int, text: str) -> None:
    """Set the title "(a) text" of panel `k`, counted from 0."""
    ax.set_title(f"({'abcdefghijkl'[k]}) {text}", loc="left")


def _labels(axes: Iterable[Axes]) -> dict[str, Any]:
    """Legend handles by label, without duplicates."""
    labels: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    return labels


GENERAL = ("packets", "fluid", "range over seeds", "tolerance", "published", "reference")
"""Labels that do not name an algorithm; they come last in every legend."""


def legend_above(
    figure: Figure, axes: Iterable[Axes], columns: int = 12, order: Sequence[str] = ()
) -> None:
    """Draw one legend for all panels, each label once.

    Labels come in this sequence: `order`, then labels in neither tuple, then `GENERAL`.
    """
    labels = _labels(axes)
    own = [*order, *(name for name in labels if name not in {*order, *GENERAL})]
    last = [name for name in GENERAL if name not in order]
    names = [name for name in [*own, *last] if name in labels]
    figure.legend(
        [labels[name] for name in names],
        names,
        loc="outside upper center",
        ncols=min(len(names), columns),
    )
