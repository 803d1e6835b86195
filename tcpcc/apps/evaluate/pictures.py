"""Pictures of findings: the value beside the standards', a sketch of the run, and the run at large.

Strips and sketches are places in pixels, which a template writes as SVG.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.apps.evaluate.criterion import OTHER, TESTED, WITH
from tcpcc.apps.evaluate.measures import BOTTLENECK, named
from tcpcc.results import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tcpcc.apps.evaluate.findings import Finding
    from tcpcc.results import Run

STRIP = 120
"""Width of a row's strip, pixels."""

SINGLE = 2
"""Most flows of a role that a picture draws one by one."""

SKETCH, RATES, QUEUE, POINTS = 190, 34, 14, 95
"""Of a row's sketch: width, height of the throughput and of the queue, pixels; points in time."""


def strip(
    value: float, half_width: float, standards: Mapping[str, float], unit: str
) -> dict[str, Any]:
    """Places of a value and the standards' on a line from the least to the greatest."""
    half = 0.0 if math.isnan(half_width) else half_width
    means = {name: mean for name, mean in standards.items() if not math.isnan(mean)}
    if math.isnan(value) or not means:
        return {}
    ends = [*means.values(), value]
    low = 0.0 if unit in ("", "ms", "s", "slowdown") else min(ends)
    width = max(*ends, low + 1e-9) - low

    def at(x: float) -> float:
        return round(6 + (STRIP - 12) * min(max((x - low) / width, 0.0), 1.0), 1)

    return {
        "width": STRIP,
        "value": at(value),
        "ends": (at(value - half), at(value + half)),
        "standards": [(name, at(mean)) for name, mean in means.items()],
    }


def sketch(finding: Finding) -> dict[str, Any]:
    """Lines of the tested flows' throughput, the standards' and the link's rate, and the queue."""
    if WITH not in finding.runs:
        return {}
    run = finding.runs[WITH]
    width = run.duration / POINTS
    own = _throughput(run, width)
    standards = {
        name: _throughput(runs[WITH], width)
        for name, runs in finding.standard_runs.items()
        if WITH in runs
    }
    of_link = run.data.sel(link=BOTTLENECK)
    interval = float(run.data.attrs["interval"])
    rate = _means(of_link["capacity"].values / interval)
    top = max(
        1.0, *(float(np.max(rates, initial=0.0)) for rates in (own, rate, *standards.values()))
    )
    queue = _means(of_link["queue"].values)
    most = max(float(np.max(queue, initial=0.0)), 1.0)
    room = float(of_link["buffer"])
    full = room if math.isfinite(room) and room < 3 * most else most
    scale, unit = plots.rate_unit(top)
    bottom = RATES + 4 + QUEUE
    return {
        "width": SKETCH,
        "height": bottom,
        "own": _line(own / top, RATES, RATES),
        "standards": [
            (name, _line(rates / top, RATES, RATES)) for name, rates in standards.items()
        ],
        "rate": _line(rate / top, RATES, RATES),
        "queue": f"0,{bottom} {_line(queue / full, QUEUE, bottom)} {SKETCH},{bottom}",
        "text": f"0 to {run.duration:g} s, 0 to {top / scale:.3g} {unit}; queue up to {most:.3g} of"
        f" {room:g} {of_link['buffer_unit'].item()}",
    }


def _throughput(run: Run, width: float) -> NDArray[np.float64]:
    """Sum over the tested flows, or the others if none is recorded, bit/s."""
    names = named(run, TESTED) or named(run, OTHER)
    values: NDArray[np.float64] = run.throughput_series(width).sel(flow=names).sum("flow").values
    return values


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over `POINTS` intervals."""
    edges = np.linspace(0, len(values), POINTS + 1).astype(int)[:-1]
    sizes = np.diff(np.append(edges, len(values)))
    return np.add.reduceat(np.nan_to_num(values), edges) / np.maximum(sizes, 1)


def _line(shares: NDArray[np.float64], height: float, bottom: float) -> str:
    """Points of a line, "x,y x,y ...", from the left to the right edge."""
    x = np.linspace(0, SKETCH, len(shares))
    y = bottom - height * np.clip(shares, 0.0, 1.0)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _draw_rates(run: Run, ax: Axes) -> None:
    """Throughputs, those of more than `SINGLE` flows of a role as a sum, and the link's rate."""
    series = run.throughput_series(run.duration / POINTS)
    ends = series["time"].values
    lines: dict[str, NDArray[np.float64]] = {}
    for role in (TESTED, OTHER):
        names = named(run, role)
        if len(names) <= SINGLE:
            lines |= {_label(run, [name]): series.sel(flow=name).values for name in names}
        else:
            lines[_label(run, names)] = series.sel(flow=names).sum("flow").values
    capacity = run.data["capacity"].sel(link=BOTTLENECK).values
    link = _means(capacity / float(run.data.attrs["interval"]))
    scale, unit = plots.rate_unit(max(float(np.max(rates)) for rates in (link, *lines.values())))
    times = np.linspace(0, run.duration, POINTS)
    ax.plot(times, link / scale, color=plots.BLACK, lw=0.8, ls=plots.DASHES[1], label="link")
    for k, (label, rates) in enumerate(lines.items()):
        look = {"color": plots.PALETTE[k], "ls": plots.DASHES[k % 4]}
        ax.plot(ends - np.diff(ends, prepend=0.0) / 2, rates / scale, label=label, **look)
    ax.set(xlabel="Time (s)", ylabel=f"Throughput ({unit})", xlim=(0, run.duration))
    ax.set_ylim(bottom=0)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(lines) + 1)


def _label(run: Run, names: list[str]) -> str:
    """ "vegas", "vegas 1" or "1000 vegas"."""
    rows = run.data.sel(flow=names)
    count, controller = int(rows["count"].sum()), str(rows["controller"].values[0])
    if len(names) > 1:
        return f"{count} {controller}"
    number = names[0].partition(".")[2]
    return f"{controller} {number}".rstrip()


def picture(finding: Finding | None) -> dict[str, str] | None:
    """Throughputs and queue of a finding's first run, as a PNG in a data address."""
    if finding is None:
        return None
    import matplotlib.pyplot as plt

    run = finding.runs[WITH]
    with plots.style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(plots.WIDTH, 2.1))
        _draw_rates(run, left)
    plots.queue(run, right, link=BOTTLENECK)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    plt.close(figure)
    encoded = base64.b64encode(buffer.getvalue()).decode()
    criterion = finding.criterion
    return {
        "address": f"data:image/png;base64,{encoded}",
        "text": f"{criterion.measure}: {criterion.setting}",
    }
