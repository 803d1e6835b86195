"""Figures: BBR's share by network, Nash equilibria, harm, unlike RTTs, starvation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import charts
from experiments.bbr_cubic import scenarios as s
from experiments.bbr_cubic import studies, tables
from experiments.bbr_cubic.scenarios import Network, Throughputs
from experiments.measured_numbers import Measured
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cells = Mapping[Any, Measured]

COLOURS = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.VERMILION, plots.PURPLE, plots.SKY)


def draw_shares(network: Network, results: Throughputs) -> Figure:
    """BBR's share of the link against the number of BBR flows, a panel for each buffer.

    Flows of both kinds have equal throughput on the grey line: an intersection is a Nash
    equilibrium. The dotted line is Ware et al.'s closed form.
    """
    full = (s.PACKET - s.HEADER) / s.PACKET
    fine = s.ALL
    with charts.panels(2, 4, sharex=True, sharey=True, height=4.2) as (figure, axes):
        for k, (ax, b) in enumerate(zip(axes.flat, s.BUFFERS, strict=False)):
            ax.plot([0, s.FLOWS], [0, full], color=plots.GREY, lw=0.8, label="equal throughput")
            testbed = tables.shares(s.testbed(), network, b)
            ax.plot(list(testbed), list(testbed.values()), ".", color=plots.BLACK, ms=3, alpha=0.6,
                    label="test-bed")  # fmt: skip
            packets = tables.shares(results, network, b)
            ax.plot(
                list(packets), list(packets.values()), "o-", color=plots.BLUE, ms=4, label="packets"
            )
            ax.plot(fine, [full * tables.ware(network, b, n) for n in fine], ls=":",
                    color=plots.VERMILION, label="Ware et al.")  # fmt: skip
            charts.title(ax, k, f"{b:g} BDP")
        axes.flat[-1].set_axis_off()
        axes[0, 0].set(xlim=(0, s.FLOWS), ylim=(0, 1), xticks=(0, 25, 50))
        axes[0, 3].xaxis.set_tick_params(labelbottom=True)
        charts.outer_labels(axes, "BBR flows of 50", "BBR's share of the link")
        charts.legend_above(figure, axes.flat[:-1], 4)
    return figure


def draw_equilibria(results: Throughputs) -> Figure:
    """Nash equilibria against the buffer, a panel for each network; the band is 6 flows."""
    nets = list(dict.fromkeys(point.network for point in results))
    with charts.panels(2, 3, sharex=True, sharey=True, height=3.9) as (figure, axes):
        for k, (ax, net) in enumerate(zip(axes.flat, nets, strict=True)):
            pairs = tables.equilibria(results, net)
            packets, testbed = np.array(list(pairs.values())).T
            x = list(pairs)
            band = tables.EQUILIBRIUM
            ax.fill_between(x, testbed - band, testbed + band, color=plots.GREY, alpha=0.25, lw=0)
            ax.plot(x, testbed, "s--", color=plots.BLACK, ms=4, label="test-bed")
            ax.plot(x, packets, "o-", color=plots.BLUE, ms=4, label="packets")
            closed = [tables.equilibrium(_of_ware(net, b), net, b) for b in x]
            ax.plot(x, closed, ":", color=plots.VERMILION, label="Ware et al.")
            charts.title(ax, k, str(net))
        axes[0, 0].set(ylim=(0, s.FLOWS + 1), xticks=(5, 20, 35, 50))
        charts.outer_labels(axes, "Buffer (BDP)", "BBR flows of 50")
        charts.legend_above(figure, axes.flat, 3)
    return figure


def _of_ware(network: Network, buffer: float) -> Throughputs:
    """Throughputs, as shares of the link, of the closed form."""
    shares = {n: tables.ware(network, buffer, n) for n in s.ALL}
    return {s.Point(network, buffer, n): (share, 1 - share) for n, share in shares.items()}


def draw_harm(cells: Cells) -> Figure:
    """Share of one flow beside five CUBIC flows, a panel for each rate.

    The dotted line is the published share of BBRv3 (Zeynali et al.), "more than 99 %".
    """
    names = list(studies.queues(1e8))
    lines = {"color": plots.GREY, "lw": 0.8}
    with charts.panels(1, 2, sharey=True, height=2.9) as (figure, axes):
        for k, (ax, rate) in enumerate(zip(axes, studies.HARM_RATES, strict=True)):
            ax.axhline(1 / (1 + studies.CUBIC_FLOWS), label="fair share", **lines)
            ax.axhline(0.99, ls=":", label="BBRv3, published", **lines)
            for j, contender in enumerate(studies.CONTENDERS):
                indices = [i for i, q in enumerate(names) if (rate, q, contender) in cells]
                row = [cells[rate, names[i], contender] for i in indices]
                x = np.array(indices) + 0.15 * (j - 1)
                ax.plot(
                    x, [c.value for c in row], "os^"[j], ms=5, color=COLOURS[j], label=contender
                )
                charts.ranges(ax, x, row, color=COLOURS[j], lw=2, alpha=0.4)
            ax.set_xticks(range(len(names)), [q.replace(" above ", "\nabove ") for q in names])
            charts.title(ax, k, rate)
        axes[0].set(ylabel="Share of the link beside 5 CUBIC", ylim=(0, 1.03))
        charts.legend_above(figure, axes[:1], 5, order=list(studies.CONTENDERS))
    return figure


def draw_round_trips(cells: Cells) -> Figure:
    """Throughput of the flow with the long RTT divided by the other's, against the buffer."""
    with charts.panels(width=0.62, height=2.9) as (figure, ax):
        ax.axhline(1, color=plots.GREY, lw=0.8)
        for j, kind in enumerate(studies.TRIP_KINDS):
            row = [cells[kind, b] for b in studies.TRIP_BUFFERS]
            ax.plot(studies.TRIP_BUFFERS, [c.value for c in row], "os^D"[j] + "-", ms=4,
                    color=COLOURS[j], label=kind)  # fmt: skip
            charts.ranges(ax, studies.TRIP_BUFFERS, row, color=COLOURS[j], lw=2, alpha=0.4)
        ax.set(xscale="log", yscale="log", xlabel="Buffer (BDP of 30 ms)",
               ylabel="Throughput, 30 ms / 5 ms")  # fmt: skip
        ax.set_xticks(studies.TRIP_BUFFERS, [f"{b:g}" for b in studies.TRIP_BUFFERS])
        ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4]
        ax.set_yticks(ticks, [f"{ratio:g}" for ratio in ticks])
        ax.minorticks_off()
        charts.legend_above(figure, [ax], 4)
    return figure


def draw_starvation(cells: Cells) -> Figure:
    """Unfairness against jitter over the controller's own range of delays, a panel per jitter."""
    places = range(len(studies.MULTIPLES))
    with charts.panels(1, 2, sharey=True, height=3.0) as (figure, axes):
        for k, (ax, jitter) in enumerate(zip(axes, studies.JITTERS, strict=True)):
            ax.axvline(studies.MULTIPLES.index(2.0), color=plots.GREY, lw=0.8, ls="--")
            for j, kind in enumerate(studies.KINDS):
                row = [cells[kind, jitter, m] for m in studies.MULTIPLES]
                ax.plot(places, [c.value for c in row], "os^Dv"[j] + "-", ms=4,
                        color=COLOURS[j], label=kind)  # fmt: skip
                charts.ranges(ax, places, row, color=COLOURS[j], lw=2, alpha=0.35)
            ax.set_xticks(places, [f"{m:g}" for m in studies.MULTIPLES])
            ax.set_xlabel("Jitter / range of delays")
            charts.title(ax, k, f"{jitter} jitter")
        axes[0].set(yscale="log", ylabel="Larger / smaller throughput")
        axes[0].set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axes[0].minorticks_off()
        charts.legend_above(figure, axes, 5)
    return figure


STUDIES: Mapping[str, Callable[[Cells], Figure]] = {
    "harm": draw_harm,
    "round_trips": draw_round_trips,
    "starvation": draw_starvation,
}
