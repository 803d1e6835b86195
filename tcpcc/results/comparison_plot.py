"""Two runs in one figure, to compare models, controllers or settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.errors import ScenarioError
from tcpcc.results.flow_rows import controllers
from tcpcc.results.metrics import mean_of_known
from tcpcc.results.plot_style import (
    BLACK,
    DASHES,
    WIDTH,
    colour,
    finished,
    legend,
    queue_label,
    rate_unit,
    shade,
    style,
)
from tcpcc.results.run import Run, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALONE = 3
"""Largest number of flows of a controller drawn individually; above it their mean is drawn."""


def compare(
    run: Run,
    other: Run,
    *,
    names: Sequence[str] | None = None,
    flows: Selection = None,
    width: float | None = None,
    after: float = 0.0,
    before: float | None = None,
) -> Figure:
    """Draw windows, throughput and queue of two runs on the same axes; RTTs beside a trace.

    The first run is solid, the second dashed and darker.

    Args:
        run, other: two runs, of the same scenario with two models, or of two scenarios.
        names: names of both, for the legend. Default: the models if they differ, else the
            controllers, else the seeds, else "first" and "second".
        flows: flows of each run, as in `Run.select`. Default: all with a controller.
        width: averaging time of the throughput, s. Default: 1/100 of the longer run.
        after, before: time window, s. Default: the longer run.

    Raises:
        ScenarioError: `names` are not two different names, or a flow is unknown.
    """
    import matplotlib.pyplot as plt

    both = (run, other)
    run_names = _names(run, other) if names is None else list(names)
    if len(run_names) != 2 or run_names[0] == run_names[1]:
        raise ScenarioError(f"names = {names!r}: must be two different names")
    last = max(r.duration for r in both) if before is None else before
    mean_over = max(r.duration for r in both) / 100 if width is None else width
    top = max(float(r.throughput().max()) for r in both)
    scale, unit = rate_unit(2 * top)
    labels = ["Window (packets)", f"Throughput ({unit})"]
    first = [(r, r.links[0]) for r in both if r.links]
    traces = any("source" in r.data.attrs for r in both)
    labels += ["RTT (ms)"] if traces else [queue_label(r, link) for r, link in first][:1]
    with style():
        figure, axes = plt.subplots(
            len(labels), 1, sharex=True, figsize=(WIDTH, 1.65 * len(labels) + 0.3)
        )
        for k, (r, name) in enumerate(zip(both, run_names, strict=True)):
            _draw(axes, r, name, bool(k), flows, mean_over, scale, traces)
        for ax, label in zip(axes, labels, strict=True):
            ax.set_ylabel(label)
            ax.set_ylim(bottom=0)
        axes[-1].set(xlabel="Time (s)", xlim=(after, last))
        legend(axes[0], columns=4)
        figure.align_ylabels(axes)
        return finished(figure)


def _draw(
    axes: Sequence[Axes],
    run: Run,
    name: str,
    second: bool,
    flows: Selection,
    width: float,
    scale: float,
    rtts: bool,
) -> None:
    times = run.data["time"].values
    series = run.throughput_series(width)
    middles = series["time"].values - np.diff(series["time"].values, prepend=0.0) / 2
    for label, own, columns in _groups(run, flows):
        look = _look(own, second)
        counts = run.data["count"].values[columns]
        window = mean_of_known(run.data["cwnd"].values[:, columns], axis=1, weights=counts)
        axes[0].plot(times, window, label=f"{label}, {name}", **look)
        rate = series.values[:, columns].sum(axis=1) / counts.sum()
        axes[1].plot(middles, rate / scale, **look)
        if rtts:
            samples = mean_of_known(run.data["rtt"].values[:, columns], axis=1, weights=counts)
            axes[2].plot(times, 1e3 * samples, **look)
    if run.links and not rtts:
        axes[2].plot(times, run.queue(run.links[0]).values, **_look(BLACK, second))


def _look(own: str, second: bool) -> dict[str, Any]:
    if second:
        return {"color": shade(own, -0.45), "ls": DASHES[1], "lw": 1.0, "zorder": 3}
    return {"color": own, "lw": 1.4, "ls": "-"}


def _groups(run: Run, flows: Selection) -> Iterator[tuple[str, str, list[int]]]:
    """(label, colour, columns) of each line."""
    kinds = controllers(run)
    chosen = [name for name in run.select(flows) if kinds[name] != "cbr"]
    for kind in dict.fromkeys(kinds[name] for name in chosen):
        members = [name for name in chosen if kinds[name] == kind]
        columns = [run.flows.index(name) for name in members]
        if len(members) > ALONE:
            number = run.data["count"].values[columns].sum()
            yield f"mean of {number} {kind}", colour(kind), columns
            continue
        for name, column in zip(members, columns, strict=True):
            yield kind if len(members) == 1 else name, colour(kind), [column]


def _names(run: Run, other: Run) -> list[str]:
    """Short names that distinguish two runs."""
    pairs: list[list[str]] = [
        [_model(r) for r in (run, other)],
        [" and ".join(dict.fromkeys(controllers(r).values())) for r in (run, other)],
        [f"seed {r.data.attrs['seed']}" for r in (run, other)],
    ]
    return next((pair for pair in pairs if pair[0] != pair[1]), ["first", "second"])


def _model(run: Run) -> str:
    model = str(run.data.attrs["model"])
    if model == "trace":
        return str(run.data.attrs["driver"])
    return "packets" if model == "packet" else model
