"""What the papers' figures share: ranges over seeds, curves, bars, titles, legends.

Packets are solid, with a bar from the least to the largest number where chance plays a part; fluid
is dashed with open marks, or a dash over a bar; what the paper prints is a ring. Legends say
"packets", "fluid", "published", "reference" and nothing else for these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.records import Measured
    from tcpcc import Scenario


def ranges(
    ax: Axes,
    places: Iterable[float],
    cells: Iterable[Measured],
    *,
    across: bool = False,
    shift: float = 0.0,
    **look: Any,
) -> None:
    """Lines from the least to the largest number, of the cells that have these.

    Args:
        ax: where to draw.
        places: of the cells, on the axis that the numbers are not on.
        cells: the numbers.
        across: horizontal lines.
        shift: points to the right.
        **look: of `Axes.vlines`.
    """
    from matplotlib.transforms import offset_copy

    known = [(at, c.low, c.high) for at, c in zip(places, cells, strict=True) if c.low is not None]
    if not known:
        return
    if shift:
        look["transform"] = offset_copy(ax.transData, ax.figure.figure, x=shift, units="points")
    draw: Any = ax.hlines if across else ax.vlines
    draw(*zip(*known, strict=True), **look)


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
    """Means over seeds against `x`.

    Args:
        ax: where to draw.
        x: of the cells.
        cells: the numbers.
        model: "packet" or "fluid", whose label says so.
        label: in the legend; None: none.
        shift: of the ranges, points, so that those of two curves stand side by side.
        **look: of the line; a colour at least.
    """
    values = [cell.value for cell in cells]
    look = {"marker": "o", "ms": 3.5, **look}
    if model == "fluid":
        look |= {**plots.FLUID_LOOK, "lw": 0.9}
        ax.plot(x, values, label=label and f"{label}, fluid", **look)
        return
    ax.plot(x, values, label=label, **look)
    ranges(ax, x, cells, shift=shift, color=look["color"], lw=2.5, alpha=0.35)


def bars(
    ax: Axes, places: np.ndarray, cells: Sequence[Measured], width: float, **look: Any
) -> None:
    """Bars with the range over seeds."""
    ax.bar(places, [cell.value for cell in cells], width, **look)
    ranges(ax, places, cells, color=plots.BLACK, lw=0.7)


def dashes(ax: Axes, places: Any, values: Sequence[float], size: float) -> None:
    """The fluid model's values over bars, also of dark ones."""
    from matplotlib.patheffects import withStroke

    seen = [withStroke(linewidth=2.8, foreground="white")]
    ax.plot(places, values, "_", color=plots.BLACK, ms=size, mew=1.4, label="fluid",
            path_effects=seen)  # fmt: skip


def published(ax: Axes, x: Any, y: Any, **look: Any) -> None:
    """What the paper prints, as rings."""
    ax.plot(x, y, **{**plots.PUBLISHED_LOOK, "zorder": 5, **look})


def of_model(algorithm: str, model: str) -> dict[str, Any]:
    """Look of a line over time that is a model's: packets solid and a little lighter, fluid dashed
    and darker, so that it is seen where both are the same."""
    own = plots.colour(algorithm)
    if model == "packet":
        return {"color": own, "lw": 1.4, "label": "packets"}
    return {
        "color": plots.shade(own, -0.45), "lw": 0.9, "ls": plots.FLUID_LOOK["ls"], "label": "fluid"
    }  # fmt: skip


def networks(scenarios: Mapping[str, Scenario]) -> Figure:
    """The networks of scenarios, with their hosts, below one another, each under its title."""
    import matplotlib.pyplot as plt

    heights = [0.25 + plots.topology_height(scenario) for scenario in scenarios.values()]
    with plots.style():
        figure, axes = plt.subplots(
            len(scenarios),
            1,
            squeeze=False,
            figsize=(plots.WIDTH * 1.15, sum(heights)),
            height_ratios=heights,
        )
        for ax, (name, scenario) in zip(axes.flat, scenarios.items(), strict=True):
            plots.topology(scenario, ax)
            ax.set_title(name, loc="left")
    return figure


def flows_in_words(letters: str, kinds: Mapping[str, str]) -> str:
    """ "8 Vegas, 2 Reno" for "8V2R", "Vegas beside Reno" for "V vs R"; other texts as they are."""
    words = {letter: kind.capitalize() for letter, kind in kinds.items()}
    if match := re.fullmatch(r"(\w) vs (\w)", letters):
        return " beside ".join(words[letter] for letter in match.groups())
    counts = re.findall(r"(\d+)(\D)", letters)
    if "".join(map("".join, counts)) != letters or any(k not in words for _, k in counts):
        return letters
    return ", ".join(f"{count} {words[letter]}" for count, letter in counts)


def title(ax: Axes, k: int, text: str) -> None:
    """ "(a) text" over the panel with the number `k`, from 0."""
    ax.set_title(f"({'abcdefghijkl'[k]}) {text}", loc="left")


def _labels(axes: Iterable[Axes]) -> dict[str, Any]:
    """Handles by label, each once."""
    labels: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    return labels


GENERAL = ("packets", "fluid", "range over seeds", "tolerance", "published", "reference")
"""What a line or mark is of, whichever algorithm's: last in every legend."""


def legend_above(
    figure: Figure, axes: Iterable[Axes], columns: int = 12, order: Sequence[str] = ()
) -> None:
    """One legend for all panels, each label once: those in `order` as there, then the others, then
    those of `GENERAL` as there."""
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
