"""Common style, colours and axes of all figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.controllers.controller import CONTROLLERS, Controller
from tcpcc.errors import unknown
from tcpcc.results.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
)  # fmt: skip
COLOURS = dict(
    zip(("blue", "vermilion", "green", "purple", "orange", "sky", "black"), PALETTE, strict=True)
)
"""By the names that controllers use (`Controller.look`), instead of Matplotlib's."""
GREY = "0.55"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (1.6, 1)), (0, (6, 1.2, 1.4, 1.2)))

PACKET_LOOK: Mapping[str, Any] = {"ls": "-"}
FLUID_LOOK: Mapping[str, Any] = {"ls": DASHES[1], "mfc": "white"}
PUBLISHED_LOOK: Mapping[str, Any] = {
    "marker": "o", "ms": 5.5, "mfc": "white", "mec": BLACK, "color": BLACK, "ls": "none",
    "label": "published",
}  # fmt: skip
REFERENCE_LOOK: Mapping[str, Any] = {**PUBLISHED_LOOK, "marker": "D", "ms": 4.5,
                                     "label": "reference"}  # fmt: skip
"""Lines and markers in every figure: packet model solid, fluid model dashed with open markers,
published values circles, values from other sources diamonds."""

WIDTH = 6.9
"""Width of a figure in inches: the text width of a two-column paper."""


@contextmanager
def style() -> Iterator[None]:
    """The look shared by all figures, as a context manager."""
    import matplotlib as mpl
    from cycler import cycler

    settings: dict[Any, Any] = {
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.labelsize": 9,
        "axes.linewidth": 0.7,
        "axes.prop_cycle": cycler(color=PALETTE),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 9,
        "figure.constrained_layout.use": True,
        "figure.dpi": 150,
        "figure.labelsize": 9,
        "figure.titlesize": 9,
        "figure.figsize": (WIDTH, WIDTH * 0.42),
        "font.size": 9,
        "grid.color": "0.9",
        "grid.linewidth": 0.6,
        "legend.borderaxespad": 0.2,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "legend.handlelength": 2.2,
        "lines.linewidth": 1.2,
        "pdf.fonttype": 42,  # embeds fonts as text, as publishers require
        "savefig.dpi": 300,
        "xtick.labelsize": 8,
        "xtick.major.width": 0.7,
        "ytick.labelsize": 8,
        "ytick.major.width": 0.7,
    }
    with mpl.rc_context(settings):
        yield


def look(controller: str) -> tuple[str, str]:
    """Colour and marker of a controller, the same in every figure; grey if it is not registered.

    Two built-in controllers of the same colour have different markers; those that papers draw
    together also differ in greyscale.
    """
    if controller not in CONTROLLERS:
        return Controller.look
    name, marker = CONTROLLERS[controller].look
    return COLOURS.get(name, name), marker


def colour(controller: str) -> str:
    """Colour of a controller; see `look`."""
    return look(controller)[0]


def shade(of: str, lightness: float) -> tuple[float, float, float]:
    """A colour made darker (`lightness` from 0 down to -1: black) or lighter (up to 1: white)."""
    from matplotlib.colors import to_rgb

    end = 1.0 if lightness > 0 else 0.0
    red, green, blue = ((1 - abs(lightness)) * c + abs(lightness) * end for c in to_rgb(of))
    return red, green, blue


def new_axes(size: tuple[float, float] | None = None) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size)[1]


def finished(figure: Figure) -> Figure:
    """The figure, closed in pyplot if a notebook would otherwise show it twice."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    if "inline" in mpl.get_backend():
        plt.close(figure)
    return figure


def times_of(run: Run, after: float, before: float | None) -> tuple[NDArray[np.float64], slice]:
    bins = run.window(after, before).bins
    return run.data["time"].values[bins], bins


def one(run: Run, name: str) -> str:
    if name not in run.flows:
        raise unknown("flow", name, run.flows)
    return name


def rate_unit(largest: float) -> tuple[float, str]:
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if largest >= scale:
            return scale, unit
    return 1.0, "bit/s"


def dress(ax: Axes, run: Run, label: str, after: float, before: float | None) -> None:
    ax.set(
        xlabel="Time (s)", ylabel=label, xlim=(after, run.duration if before is None else before)
    )
    ax.set_ylim(bottom=0)


def legend(ax: Axes, height: float = 1.0, columns: int | None = None) -> None:
    """Add a legend above the panel, with all labels in one row or in rows of `columns`.

    `height` is in units of the panel's height. A panel with a single line gets no legend.
    """
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    if len(handles) < 2:
        return
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, height)}
    for handle in ax.legend(handles, labels, ncols=columns or len(labels), **place).legend_handles:
        if isinstance(handle, Line2D) and handle.get_alpha():
            handle.set(alpha=1, linewidth=1.2)


def shown_link(run: Run, link: str | None) -> str:
    """The named link, or the first recorded one.

    Raises:
        ScenarioError: the link is unknown, or no link was recorded.
    """
    return run.recorded_link(link or next(iter(run.links), None))


def queue_label(run: Run, link: str) -> str:
    """Label of an axis with a link's queue; it names the link if the run has several."""
    return "Queue (packets)" if len(run.links) == 1 else f"Queue at {link}\n(packets)"
