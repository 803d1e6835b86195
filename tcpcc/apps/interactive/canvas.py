"""Windows, throughput and queue of a scenario as SVG text: packets solid, fluid dashed.

The SVG is generated directly because matplotlib takes longer to draw three panels than the fluid
model to simulate them.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from tcpcc.results import plots
from tcpcc.results.metrics import mean_of_known
from tcpcc.results.plot_style import queue_label
from tcpcc.results.run import Run

WIDTH, HEIGHT = 760, 165
"""Size of a panel, pixels."""

LEFT, RIGHT, TOP, BOTTOM = 52, 8, 22, 20

POINTS = 500
"""Largest number of points of a curve."""

ALONE = 4
"""Largest number of flows of a controller drawn individually; above it their mean is drawn."""

MODELS = {"packet": "packets", "fluid": "fluid"}


@dataclass(frozen=True)
class Curve:
    """A line of a panel."""

    name: str
    model: str
    colour: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @property
    def look(self) -> str:
        wide, dashes = (1.8, "") if self.model == "packet" else (1.4, ' stroke-dasharray="6 3"')
        return f'fill="none" stroke="{self.colour}" stroke-width="{wide}"{dashes}'


def svg(runs: Mapping[str, Run]) -> str:
    """Draw the runs of one scenario, by model, as SVG."""
    duration = max(run.duration for run in runs.values())
    panels = list(_panels(runs))
    legend, room = _legend(panels[0][1])
    high = room + HEIGHT * len(panels)
    panels_svg = [
        f'<g transform="translate(0 {room + HEIGHT * k})">{_panel(name, curves, duration)}</g>'
        for k, (name, curves) in enumerate(panels)
    ]
    label = "; ".join(name for name, _ in panels)
    return (
        f'<svg viewBox="0 0 {WIDTH} {high}" width="100%" role="img" '
        f'aria-label="{html.escape(label)}" style="background:#fff;max-width:{WIDTH}px" '
        f'font-family="sans-serif" font-size="12" fill="#333">{legend}{"".join(panels_svg)}</svg>'
    )


def _panels(runs: Mapping[str, Run]) -> Iterator[tuple[str, list[Curve]]]:
    scale, unit = plots.rate_unit(2 * max(float(run.throughput().max()) for run in runs.values()))
    windows, rates, queues = [], [], []
    for model, run in runs.items():
        series = run.throughput_series(run.duration / 200)
        ends = series["time"].values
        middles = ends - np.diff(ends, prepend=0.0) / 2
        for label, colour, columns in groups(run, model):
            times, window = _mean(run, run.data["cwnd"].values[:, columns])
            rate = series.values[:, columns].mean(axis=1) / scale
            windows.append(Curve(label, model, colour, times, window))
            rates.append(Curve(label, model, colour, middles, rate))
        if run.links:
            times, waiting = _mean(run, run.data["queue"].values[:, :1])
            queues.append(Curve("queue", model, plots.BLACK, times, waiting))
            queue = queue_label(run, run.links[0])
    yield "Window (packets)", windows
    yield f"Throughput ({unit})", rates
    if queues:
        yield queue, queues


def groups(run: Run, model: str) -> Iterator[tuple[str, str, list[int]]]:
    """(label, colour, columns) of each line: a flow, or the mean of a controller's many flows.

    CBR is left out. Fluid is darker, to be visible on top of packets.
    """
    kinds = [str(kind) for kind in run.data["controller"].values]
    colours: list[str] = []  # so far; a second algorithm of the same colour is lighter
    for kind in dict.fromkeys(kinds):
        columns = [k for k, other in enumerate(kinds) if other == kind]
        if kind == "cbr":
            continue
        base_colour = plots.colour(kind)
        twin, many = colours.count(base_colour), len(columns) > ALONE
        colours.append(base_colour)
        for k, of_line in enumerate([columns] if many else [[column] for column in columns]):
            name = f"mean of {len(columns)} {kind}" if many else run.flows[of_line[0]]
            lightness = 0.2 * k + 0.4 * twin + (0.15 if model == "packet" else -0.25)
            colour = to_hex(plots.shade(base_colour, min(lightness, 0.75)))
            yield name if len(columns) > 1 else kind, colour, of_line


def _panel(name: str, curves: Sequence[Curve], duration: float) -> str:
    highest = [float(np.nanmax(curve.y)) for curve in curves if np.isfinite(curve.y).any()]
    top = 1.05 * max([*highest, 1e-9])
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    floor = HEIGHT - BOTTOM
    parts = [f'<text x="{LEFT}" y="14">{html.escape(name)}</text>']
    for tick in _ticks(top, 4):
        y = floor - up * tick / top
        parts.append(f'<path d="M{LEFT} {y:.1f}h{across}" stroke="#e6e6e6"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    moments = _ticks(duration, 8)
    for tick in moments:
        x = LEFT + across * tick / duration
        anchor = "end" if x > WIDTH - RIGHT - 12 else "middle"
        text = f"{tick:g} s" if tick == moments[-1] else f"{tick:g}"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 5}" text-anchor="{anchor}">{text}</text>')
    parts.append(f'<path d="M{LEFT} {TOP}V{floor}h{across}" stroke="#999" fill="none"/>')
    for curve in curves:
        line = _path(LEFT + across * curve.x / duration, floor - up * curve.y / top)
        parts.append(f'<path d="{line}" {curve.look}/>')
    return "".join(parts)


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """A line, interrupted at NaN."""
    commands, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if math.isnan(b):
            pen = "M"
            continue
        commands.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(commands)


def _legend(curves: Sequence[Curve]) -> tuple[str, int]:
    """The legend, in rows above the panels, and its height."""
    parts, x, y = [], float(LEFT), 14
    for curve in curves:
        text = f"{curve.name}, {MODELS[curve.model]}"
        width = 40 + 6.6 * len(text)
        if x > LEFT and x + width > WIDTH:
            x, y = float(LEFT), y + 16
        parts.append(f'<path d="M{x:.0f} {y - 4}h22" {curve.look}/>')
        parts.append(f'<text x="{x + 27:.0f}" y="{y}">{html.escape(text)}</text>')
        x += width
    return "".join(parts), y + 8


def _ticks(top: float, most: int) -> list[float]:
    """About `most` round numbers from 0 to `top`."""
    size = 10 ** math.floor(math.log10(top / most))
    step = next(k * size for k in (1, 2, 5, 10) if k * size >= top / most)
    return [step * k for k in range(int(top / step * 1.0001) + 1)]


def _mean(run: Run, values: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mean over active flows, and over groups of bins so that at most `POINTS` remain."""
    times = run.data["time"].values
    step = max(1, -(-times.size // POINTS))
    whole = times.size // step * step
    groups = values[:whole].reshape(-1, step * values.shape[1])
    mean = mean_of_known(groups, axis=1)
    return times[:whole].reshape(-1, step)[:, -1], mean
