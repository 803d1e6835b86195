"""The thesis' figures in its layout: drop-tail on the left, RED on the right.

Vegas is blue and Reno is vermilion, with a line per flow. The fluid model's lines are dashed and
darker; more than two flows of a kind are drawn as their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments import charts, published_numbers
from experiments.harness import Cells, Runs
from experiments.measured_numbers import Measured
from experiments.red_fairness import scenarios as s
from tcpcc import plots
from tcpcc.queues.red import base_probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = {
    "vegas": ("#0072B2", "#56B4E9", "#00486F", "#7FB9DE", "#3A8FC4"),
    "reno": ("#D55E00", "#E69F00", "#8F3F00", "#F0A56B", "#B85000"),
}
"""Colours of the flows of a kind, used cyclically."""

SMOOTH = 2.0
"""Averaging interval of throughput, s."""

LEGEND = (
    "Vegas, packets", "Vegas, fluid", "Vegas, fluid mean", "Reno, packets", "Reno, fluid",
    "Reno, fluid mean", "queue, packets", "queue, fluid", "average", "thresholds", "drop",
)  # fmt: skip
"""Order of legend entries."""

Panel = Callable[["Axes", Mapping[str, tc.Run]], None]
"""Draws the runs of each model, {"packet": run, "fluid": run}, of one column of a table."""


# Panels.


def _kind(run: tc.Run, k: int) -> str:
    return "reno" if str(run.data["controller"].values[k]) == "reno" else "vegas"


def _lines(ax: Axes, run: tc.Run, times: Any, values: Any) -> None:
    """Draw one line per flow with a shade of its kind; each kind is labelled once."""
    drawn: dict[str, int] = {}
    for k in range(len(run.flows)):
        kind = _kind(run, k)
        shade = SHADES[kind][drawn.setdefault(kind, 0) % len(SHADES[kind])]
        label = f"{kind.capitalize()}, packets" if drawn[kind] == 0 else None
        drawn[kind] += 1
        ax.plot(times, values[:, k], color=shade, lw=0.9, label=label)


def throughput(ax: Axes, runs: Mapping[str, tc.Run]) -> None:
    """Draw throughput over time, kb/s, averaged over `SMOOTH` seconds."""
    for model, run in runs.items():
        series = run.throughput_series(SMOOTH) / 1e3
        times = series["time"].values - SMOOTH / 2
        if model == "packet":
            _lines(ax, run, times, series.values)
            continue
        begun = run.data["start"].values <= times[:, None]
        _fluid_lines(ax, run, times, np.where(begun, series.values, np.nan))
    ax.set_ylabel("Throughput (kb/s)")


def _fluid_lines(ax: Axes, run: tc.Run, times: Any, values: Any) -> None:
    """Draw the fluid model's flows by kind: one or two separately, more as their mean."""
    for kind in ("vegas", "reno"):
        members = [k for k in range(len(run.flows)) if _kind(run, k) == kind]
        if not members:
            continue
        of_kind, label = values[:, members], f"{kind.capitalize()}, fluid"
        if len(members) > 2:
            there = np.isfinite(of_kind).sum(axis=1)
            with np.errstate(invalid="ignore"):
                of_kind, label = (np.nansum(of_kind, axis=1) / there)[:, None], f"{label} mean"
        look = charts.of_model(kind, "fluid")
        lines = ax.plot(times, of_kind, **{**look, "label": None})
        lines[0].set_label(label)


def queue(ax: Axes, runs: Mapping[str, tc.Run]) -> None:
    """Draw the queue, RED's average and thresholds, and a tick at the top for each drop."""
    run = runs.get("packet") or next(iter(runs.values()))
    link = run.data.isel(link=0)
    times = link["time"].values
    ax.plot(times, link["queue_max"], color=plots.SKY, lw=0.6, label="queue, packets")
    if "packet" in runs and "fluid" in runs:
        other = runs["fluid"].data.isel(link=0)
        look = charts.of_model("", "fluid") | {"lw": 0.6, "label": "queue, fluid"}
        ax.plot(other["time"], other["queue_max"], **look)
    if "queue_avg" in link and np.isfinite(link["queue_avg"]).any():
        ax.plot(times, link["queue_avg"], color=plots.BLUE, lw=1.1, label="average")
    drops = times[link["drops"].values > 0]
    top = max(float(link["queue_max"].max()) * 1.06, 5.0)
    ax.plot(
        drops, np.full(drops.size, top), "|", color=plots.VERMILION, ms=4, mew=0.5, label="drop"
    )
    for threshold in _thresholds(run):
        ax.axhline(threshold, color=plots.BLACK, lw=0.7, ls=":", label="thresholds")
    ax.set_ylabel("Queue (packets)")


def _thresholds(run: tc.Run) -> Sequence[float]:
    params = dict(run.scenario.resolve().links[0].queue.params)
    thresholds = [params.get(name) for name in ("min_thresh", "max_thresh")]
    return [value for value in thresholds if value is not None]


def window(ax: Axes, runs: Mapping[str, tc.Run]) -> None:
    """Draw congestion windows, packets."""
    run = runs.get("packet") or next(iter(runs.values()))
    _lines(ax, run, run.data["time"].values, run.data["cwnd"].values)
    if "packet" in runs and "fluid" in runs:
        other = runs["fluid"]
        _fluid_lines(ax, other, other.data["time"].values, other.data["cwnd"].values)
    ax.set_ylabel("cwnd (packets)")


def grid(panels: Sequence[tuple[str, Panel, Mapping[str, tc.Run]]], columns: int = 2) -> Figure:
    """Draw panels with titles "(a) ...", with a common vertical scale per row and one legend."""
    rows = -(-len(panels) // columns)
    drawing = charts.panels(
        rows, columns, sharex=True, sharey="row", squeeze=False, height=1.55 * rows + 0.5
    )
    with drawing as (figure, axes):
        for k, (ax, (title, panel, runs)) in enumerate(zip(axes.flat, panels, strict=True)):
            panel(ax, runs)
            charts.title(ax, k, title)
            ax.set_xlim(0, next(iter(runs.values())).duration)
            if k % columns:
                ax.set_ylabel("")
        for ax in axes[:, 0]:
            ax.set_ylim(bottom=0)
        for ax in axes[-1]:
            ax.set_xlabel("Time (s)")
        charts.legend_above(figure, axes.flat, 5, order=LEGEND)
    return figure


def of(runs: Mapping[str, Runs], key: Any) -> dict[str, tc.Run]:
    """Runs of one key, by model."""
    return {model: of_model[key] for model, of_model in runs.items()}


def draw_columns(panel: Panel, runs: Mapping[str, Runs]) -> Figure:
    """Draw a panel for every column, as in Figures 3.4, 3.6, 3.7 and 4.2 to 4.4."""
    keys = list(next(iter(runs.values())))
    return grid([(_in_words(key), panel, of(runs, key)) for key in keys])


ROUTERS = {"ALL": "RED at every router", "R1": "RED at R1 alone", "R3": "RED at R3 alone"}
"""Columns of Table 4.4 in words."""


def _in_words(key: str) -> str:
    """ "RED, 4 Vegas, 1 Reno" for "RED 4V1R"."""
    if key in ROUTERS:
        return ROUTERS[key]
    if key in s.ERRORS:
        error = s.ERRORS[key]
        return (
            f"RED, estimate {error:+.0%} off".replace("%", " %") if error else "RED, exact estimate"
        )
    for queue in s.QUEUES:
        if key.startswith(f"{queue} "):
            return f"{queue}, {charts.flows_in_words(key.removeprefix(queue).strip(), s.KINDS)}"
    return charts.flows_in_words(key, s.KINDS)


def draw_some(panel: Panel, keys: Iterable[str], runs: Mapping[str, Runs]) -> Figure:
    return grid([(_in_words(key), panel, of(runs, key)) for key in keys])


def draw_joining(runs: Mapping[str, Runs]) -> Figure:
    """Figure 4.6: throughput, queue and windows."""
    return grid(
        [
            ("RED" if key == "8V2R" else key, panel, of(runs, key))
            for panel in (throughput, queue, window)
            for key in ("drop-tail", "8V2R")
        ]
    )


# Shares: Figures 4.5 and 4.7.


def chart_shares(item: str, columns: Mapping[str, str], values: Mapping[str, Cells]) -> Figure:
    """Draw each flow's share of the total as bars with the range over seeds.

    Rings are the published shares, dashes those of the fluid model.

    Args:
        item: table with the published numbers.
        columns: its columns, with a letter for each flow as in `scenarios.KINDS`.
        values: the table's numbers by model.
    """
    printed = published_numbers.of("red_fairness").printed(item)
    rows = -(-len(columns) // 2)
    drawing = charts.panels(rows, 2, sharex=True, sharey=True, height=1.55 * rows + 0.5)
    with drawing as (figure, axes):
        for k, (ax, (column, letters)) in enumerate(zip(axes.flat, columns.items(), strict=True)):
            flows = [row for row, name in printed if name == column and row[-1].isdigit()]
            _shares(ax, letters, [printed[row, column] for row in flows], {
                model: [cells[row, column] for row in flows] for model, cells in values.items()
            })  # fmt: skip
            charts.title(ax, k, _in_words(column))
            ax.set_xticks(range(1, len(flows) + 1))
        charts.outer_labels(axes, "Flow", "Share of total")
        axes.flat[0].set_ylim(bottom=0)
        charts.legend_above(figure, axes.flat[:1])
    return figure


def _shares(
    ax: Axes,
    letters: str,
    printed: Sequence[float | None],
    values: Mapping[str, Sequence[Measured]],
) -> None:
    total = sum(cell.value for cell in values["packet"])
    shares = [cell.over(total) for cell in values["packet"]]
    places = np.arange(1, len(shares) + 1)
    for letter, kind in s.KINDS.items():
        members = [k for k, other in enumerate(letters) if other == letter]
        look: dict[str, Any] = {"color": SHADES[kind][0], "alpha": 0.7, "label": kind.capitalize()}
        ax.bar(places[members], [shares[k].value for k in members], 0.7, **look)
    charts.ranges(ax, places, shares, color=plots.BLACK, lw=0.8, label="range over seeds")
    printed_shares = np.array(printed, float)
    charts.published(ax, places, printed_shares / printed_shares.sum(), ms=4)
    if "fluid" in values:
        fluid = np.array([cell.value for cell in values["fluid"]])
        charts.dashes(ax, places, list(fluid / fluid.sum()), 9)


def draw_drop_probability(runs: Mapping[str, Runs]) -> Figure:
    """Figure 3.2: drop probability against the average queue, for the RED of Table 4.1."""
    low, high = s.TABLES["table_4_1"].thresholds
    average = np.linspace(0, 2.2 * high, 1000)
    with charts.panels(width=0.62, height=plots.WIDTH * 0.4) as (figure, ax):
        for gentle, label, look in (
            (False, "the thesis", {"color": plots.BLACK}),
            (True, "gentle, as in its simulator", {"color": plots.BLUE, "ls": plots.DASHES[1]}),
        ):
            p = SimpleNamespace(max_p=s.RED_SETTINGS["B"]["max_p"], gentle=gentle)
            drops = [base_probability(mean, low, high, p) for mean in average]
            ax.plot(average, drops, label=label, **look)
        ticks = {0: "0", low: "MinThresh", high: "MaxThresh", 2 * high: "2 MaxThresh"}
        ax.set_xticks(list(ticks), list(ticks.values()))
        names = ax.get_xticklabels()
        names[1].set_horizontalalignment("right")
        names[2].set_horizontalalignment("left")
        ax.set_yticks([0, s.RED_SETTINGS["B"]["max_p"], 1], ["0", "MaxP", "1"])
        ax.set(xlim=(0, average[-1]), ylim=(0, 1.03))
        ax.set(xlabel="AvgLen", ylabel="TempP")
        charts.legend_above(figure, [ax], 2)
    return figure
