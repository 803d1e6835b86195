"""Figures of the parameter studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments import charts
from experiments.harness import Cells, Runs
from experiments.red_fairness import scenarios as s
from experiments.red_fairness import studies
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def chart_pairs(first: str, label: str, numbers: Mapping[str, Cells]) -> Figure:
    """Throughput of both flows against the varied parameter, with ranges over seeds."""
    with charts.panels(width=0.62, height=plots.WIDTH * 0.42) as (figure, ax):
        for model, of_model in numbers.items():
            columns = list(dict.fromkeys(column for _, column in of_model))
            values = [float(column.split(" = ")[1]) for column in columns]
            for row, colour in ((first, plots.BLUE), ("Reno", plots.VERMILION)):
                cells = [of_model[row, c] for c in columns]
                charts.curve(ax, values, cells, model, row, color=colour)
        ax.set(xlabel=label, ylabel="Throughput (kb/s)")
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        charts.legend_above(figure, [ax])
    return figure


def chart_family(values: Mapping[str, Cells]) -> Figure:
    """Bars for each variant and buffer; a ratio of 1 is Reno's throughput."""
    with charts.panels(width=0.75, height=plots.WIDTH * 0.4) as (figure, ax):
        for k, (room, colour) in enumerate(zip(studies.ROOMS, plots.PALETTE, strict=False)):
            places = np.arange(len(studies.FAMILY)) + 0.25 * (k - 1)
            look = {"color": colour, "alpha": 0.8, "label": f"buffer of {room} packets"}
            for model, of_model in values.items():
                cells = [of_model[kind, f"buffer {room}"] for kind in studies.FAMILY]
                charts.bars(ax, places, cells, 0.22, model, 9, **look)
        ax.axhline(1, color=plots.GREY, lw=0.8, ls=":")
        ax.set_xticks(range(len(studies.FAMILY)), ["Vegas", "NewVegas", "Vegas-A", "Vegas+"])
        ax.set_ylabel("Throughput / Reno's")
        charts.legend_above(figure, [ax], 2)
    return figure


def chart_recovery(values: Mapping[str, Cells]) -> Figure:
    """Drop-tail and RED with both loss recoveries; a ratio of 1 is Reno's throughput."""
    mixes = [mix for mixes in studies.SHARED.values() for mix in mixes]
    with charts.panels(1, 2, sharey=True, height=plots.WIDTH * 0.4) as (figure, axes):
        for number, (ax, row) in enumerate(zip(axes, studies.RECOVERED, strict=True)):
            for k, (queue, colour) in enumerate(zip(s.QUEUES, plots.PALETTE, strict=False)):
                places = np.arange(len(mixes)) + 0.4 * (k - 0.5)
                look = {"color": colour, "alpha": 0.8, "label": queue}
                for model, of_model in values.items():
                    cells = [of_model[row, f"{queue} {mix}"] for mix in mixes]
                    charts.bars(ax, places, cells, 0.36, model, 9, **look)
            ax.axhline(1, color=plots.GREY, lw=0.8, ls=":")
            charts.title(ax, number, row)
            words = [charts.flows_in_words(mix, s.KINDS) for mix in mixes]
            ax.set_xticks(range(len(mixes)), [_two_lines(word) for word in words])
        axes[0].set_ylabel("Vegas' throughput / Reno's")
        charts.legend_above(figure, axes)
    return figure


def chart_estimator(cells: Mapping[str, Cells]) -> Figure:
    """Estimated against true number, and the estimate over time while flows join (Table 4.3)."""
    with charts.panels(1, 2, height=plots.WIDTH * 0.4) as (figure, (left, right)):
        for model, of_model in cells.items():
            for row, colour in zip(
                studies.CROWDS, (plots.BLUE, plots.VERMILION, plots.GREEN), strict=True
            ):
                shares = [of_model[row, f"n = {n}"] for n in studies.COUNTS]
                charts.curve(left, studies.COUNTS, shares, model, row, color=colour)
        left.axhspan(0.8, 1.2, color=plots.GREY, alpha=0.15, lw=0)
        left.axhline(1, color=plots.GREY, lw=0.8)
        left.set(
            xscale="log", xlabel="True number n", ylabel="Estimate 1/P divided by n", ylim=(0, 1.3)
        )
        left.set_xticks(studies.COUNTS, [str(n) for n in studies.COUNTS])
        left.minorticks_off()
        joined = tc.simulate(studies.joining_estimated(1))
        data = joined.data.isel(link=0)
        true = [sum(start <= t for start in s.JOINING) for t in data["time"].values]
        right.step(data["time"], true, color=plots.BLACK, lw=1, where="post", label="true number")
        right.plot(
            data["time"], data["queue_flows"], color=plots.BLUE, label="estimate 1/P, packets"
        )
        right.set(xlabel="Time (s)", ylabel="Connections", xlim=(0, joined.duration))
        right.set_ylim(bottom=0)
        charts.legend_above(figure, (left, right), 4)
        for k, (ax, text) in enumerate(
            {left: "Estimate divided by true number", right: "Estimate while flows join"}.items()
        ):
            charts.title(ax, k, text)
    return figure


def _two_lines(words: str) -> str:
    return words.replace(", ", ",\n").replace(" beside ", ",\n")


def draw_limit(runs: Mapping[str, Runs]) -> Figure:
    """Vegas' share beside Reno, and RED's queue, against the lower threshold; five flows of each.

    Dots are runs of the fluid model after 20 s, over seeds. The dashed line is the equilibrium of
    its smooth limit, where there is one. The thesis chooses 30 and 40 packets.
    """
    lowers = np.array(studies.LOWER_THRESHOLDS)
    with charts.panels(1, 2, height=plots.WIDTH * 0.38) as (figure, (left, right)):
        for (lower, _), run in runs["fluid"].items():
            rates = run.goodput(20).values
            look: dict[str, Any] = {"color": plots.BLUE, "ms": 4, "alpha": 0.6}
            left.plot(lower, rates[:5].mean() / rates[5:].mean(), "o", **look)
            right.plot(lower, run.queue_mean(after=20), "o", **look)
        points = {lower: _equilibrium(lower) for lower in np.linspace(lowers[0], lowers[-1], 26)}
        for ax, k in ((left, 0), (right, 1)):
            ax.plot(list(points), [of[k] for of in points.values()], color=plots.BLACK, lw=0.9,
                    ls=plots.DASHES[1], label="smooth limit")  # fmt: skip
            ax.axvline(30, color=plots.GREY, lw=0.8, ls=":", zorder=0)
            ax.set_xlabel("Lower threshold (packets)")
        left.set_ylim(bottom=0)
        right.set_ylim(0, 72)
        right.fill_between(
            lowers, lowers, lowers + 10, color=plots.GREY, alpha=0.2, label="between the thresholds"
        )
        left.plot([], [], "o", **look, label="fluid")
        left.set_ylabel("Vegas' throughput / Reno's")
        right.set_ylabel("Queue (packets)")
        charts.legend_above(figure, [left, right])
    return figure


def _equilibrium(lower: float) -> tuple[float, float]:
    """Vegas' rate divided by Reno's, and the queue, packets; NaN without an equilibrium."""
    try:
        state = tc.analysis.equilibrium(studies.limit(lower))
    except tc.errors.NoEquilibriumError:
        return np.nan, np.nan
    rates = state["rate"].values
    return rates[:5].mean() / rates[5:].mean(), float(state["queue"][0])
