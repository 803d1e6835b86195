"""The figures of the Vegas paper in its layout: Reno is vermilion, Vegas is blue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments import charts, published_numbers
from experiments.harness import Cells, Runs
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "throughput": "Throughput (KB/s)",
    "retransmissions": "Retransmitted (KB)",
    "coarse timeouts": "Coarse timeouts",
    "queue": "Mean queue (packets)",
}
"""Titles of panels, by row."""

COLOURS = {
    "Reno": plots.VERMILION,
    "Vegas": plots.BLUE,
    "Vegas-1,3": plots.BLUE,
    "Vegas-2,4": plots.PURPLE,
}


def _kilobytes(packets: Any) -> Any:
    return packets * s.PAYLOAD


def _windows(ax: Axes, run: tc.Run) -> None:
    """Draw the congestion window, the slow-start threshold and lines at retransmissions."""
    flow = run.data.isel(flow=0)
    time = flow["time"].values
    again = time[flow["retransmitted"].values > 0]
    lines = ax.vlines(again, 0, 1, transform=ax.get_xaxis_transform(), color=plots.PURPLE, lw=0.7)
    lines.set(zorder=0, label="retransmission" if again.size else None)
    threshold = _kilobytes(flow["ssthresh"]).where(flow["ssthresh"] < 1e3)
    look: dict[str, Any] = {"drawstyle": "steps-pre"}
    ax.plot(time, _kilobytes(flow["cwnd"]), color=plots.BLUE, label="congestion window", **look)
    ax.plot(
        time, threshold, color=plots.VERMILION, ls=plots.DASHES[1], lw=1, label="threshold", **look
    )
    ax.set_ylabel("Window\n(KB)")
    ax.set_ylim(0, 70)


def _rates(ax: Axes, run: tc.Run, width: float, **look: Any) -> None:
    """Draw the sending rate of the connection, including retransmissions."""
    flow = run.data.isel(flow=0)
    edges = flow["time"].values
    step = max(round(width / (edges[1] - edges[0])), 1)
    sent = flow["sent"].values[: len(edges) // step * step].reshape(-1, step).sum(axis=1)
    at = edges[step - 1 :: step][: len(sent)] - width / 2
    ax.plot(at, _kilobytes(sent) / width, **{"color": plots.BLACK, "lw": 0.8, **look})
    ax.set_ylabel("Sending\n(KB/s)")
    ax.set_ylim(bottom=0)


def _queue(ax: Axes, run: tc.Run) -> None:
    data = run.data.isel(link=0)
    ax.plot(data["time"], data["queue_max"], color=plots.BLACK, lw=0.6)
    room = float(data["buffer"])
    ax.axhline(room, color=plots.GREY, lw=0.7, ls=":")
    ax.set_ylim(0, room * 1.15)
    ax.set_ylabel("Queue\n(packets)")


def _fluid(column: np.ndarray, run: tc.Run) -> None:
    """Draw the fluid model's window and queue over those of the packet model."""
    data, look = run.data, charts.of_model("vegas", "fluid")
    window = _kilobytes(data["cwnd"].isel(flow=0))
    column[0].plot(data["time"], window, **look | {"label": "congestion window, fluid"})
    column[2].plot(data["time"], data["queue_max"].isel(link=0), **look | {"label": None})


def _traced(runs: Mapping[str, Runs]) -> tc.Run:
    """Simulate the first scenario in the packet model with a trace of its first transfer."""
    scenario = next(iter(next(iter(runs.values())).values())).scenario
    return tc.simulate(scenario, trace=scenario.resolve().flows[0].name)


def draw_alone(runs: Mapping[str, Runs]) -> Figure:
    """Figures 5 and 7: trace of the first run."""
    run = _traced(runs)
    figure = run.plot_trace(run.flows[0], before=float(run.data["finished"][0]) + 0.2)
    kind = next(iter(next(iter(runs.values()))))[0]
    item = {s.RENO: "figure_5", s.VEGAS: "figure_7"}[kind]
    _tell(figure, run, published_numbers.of("tcp_vegas").printed(item)["throughput", kind])
    return figure


def draw_beside_traffic(runs: Mapping[str, Runs]) -> Figure:
    """Figures 9 and 10: trace from 1 s before the transfer until 10 s after its start."""
    run = _traced(runs)
    begin = float(run.data["start"][0])
    figure = run.plot_trace(
        run.flows[0], after=begin - 1, before=begin + 10, traffic="tcplib", output=True
    )
    _tell(figure, run)
    return figure


def draw_detail(runs: Mapping[str, Runs]) -> Figure:
    """Figure 8: the end of slow start and the first decisions of Figure 7."""
    run = _traced(runs)
    figure = run.plot_trace(run.flows[0], after=0.5, before=2.5)
    _tell(figure, run)
    return figure


UNITS = {"packets": ("KB", s.PAYLOAD), "Mb/s": ("KB/s", 1e3 / 8), "kb/s": ("KB/s", 1 / 8)}
"""The paper's units, with their factors."""


def _in_the_papers_units(figure: Figure) -> None:
    """Write windows in KB and rates in KB/s; the queue is in buffers, as in the paper."""
    from matplotlib.ticker import MaxNLocator

    for ax in figure.axes:
        name, _, unit = ax.get_ylabel().rstrip(")").rpartition("(")
        if name.startswith("Queue"):
            ax.set_ylabel("Queue\n(packets)")
        if unit not in UNITS or name.startswith("Queue"):
            continue
        other, factor = UNITS[unit]
        low, high = ax.get_ylim()
        ticks = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low * factor, high * factor)
        visible = [tick for tick in ticks if low <= tick / factor <= high]
        ax.set_yticks([tick / factor for tick in visible], [f"{tick:g}" for tick in visible])
        ax.set_ylabel(f"{name}({other})")


def _tell(figure: Figure, run: tc.Run, printed: float | None = None) -> None:
    _in_the_papers_units(figure)
    label = f"Time (s); throughput {t.throughput(run):.0f} KB/s"
    figure.axes[-1].set_xlabel(f"{label}, published {printed:g} KB/s" if printed else label)


def draw_start_up(runs: Mapping[str, Runs]) -> Figure:
    """Figure 11: the first 2.5 s of Vegas and Vegas*; window and queue also in the fluid model."""
    of_model = runs.get("packet") or runs["fluid"]
    heights = (1.6, 1, 1)
    drawing = charts.panels(
        3, 2, sharex="col", sharey="row", height_ratios=heights, height=1.3 * sum(heights) + 0.5
    )
    with drawing as (figure, axes):
        for k, ((name, seed), run) in enumerate(of_model.items()):
            column = axes[:, k]
            _windows(column[0], run)
            _rates(column[1], run, 0.1)
            column[1].axhline(300, color=plots.GREY, lw=0.7, ls=":")
            _queue(column[2], run)
            if len(runs) > 1:
                _fluid(column, runs["fluid"][name, seed])
            charts.title(column[0], k, name)
            column[2].set(xlabel="Time (s)", xlim=(0, 2.5))
        charts.legend_above(figure, axes[0])
        for ax in axes[:, 1]:
            ax.set_ylabel("")
    return figure


def chart_predecessors(values: Mapping[str, Cells]) -> Figure:
    """Predecessors of Vegas (section III-B): throughput, retransmissions and queue with 1 MB."""
    at = np.arange(len(s.PREDECESSORS))
    with charts.panels(1, 3, height=2.4) as (figure, axes):
        rows = ("throughput", "retransmissions", "queue")
        for k, (ax, row) in enumerate(zip(axes, rows, strict=True)):
            for model, numbers in values.items():
                cells = [numbers[row, kind] for kind in s.PREDECESSORS]
                charts.bars(ax, at, cells, 0.65, model, 11, color=plots.SKY, label="packets")
            names = [kind.split("-1")[0] for kind in s.PREDECESSORS]
            ax.set_xticks(at, names, rotation=40, ha="right")
            charts.title(ax, k, LABELS[row])
        charts.legend_above(figure, axes)
    return figure


def chart_pairs(values: Mapping[str, Cells]) -> Figure:
    """Table III: throughput and retransmissions of both transfers, with the published numbers."""
    printed = published_numbers.of("tcp_vegas").printed("table_3")
    columns = [t.column(*pair) for pair in s.PAIRS]
    at = np.arange(len(columns))
    with charts.panels(2, 2, sharex=True, height=3.9) as (figure, axes):
        rows = (("throughput", "KB/s"), ("retransmissions", "KB retransmitted"))
        for line, (row, label) in zip(axes, rows, strict=True):
            for k, (ax, size) in enumerate(zip(line, ("300 KB", "1 MB"), strict=True)):
                key = f"{row} {size}"
                ax.plot(
                    at, [printed[key, c] for c in columns], "o", ms=5.5, mfc="white",
                    color=plots.BLACK, label="published",
                )  # fmt: skip
                for model, numbers in values.items():
                    cells = [numbers[key, c] for c in columns]
                    charts.bars(ax, at, cells, 0.6, model, 13, color=plots.SKY, label="packets")
                ax.set_xticks(at, columns)
                charts.title(ax, k + 2 * (row != "throughput"), f"{size}, {label}")
        charts.legend_above(figure, axes.flat)
    return figure


def chart_transfers(values: Mapping[str, Cells]) -> Figure:
    """Table IV: throughput, retransmissions and timeouts, with the published numbers."""
    printed = published_numbers.of("tcp_vegas").printed("table_4")
    numbers = values["packet"]
    at = np.arange(len(s.TABLE))
    with charts.panels(1, 3, height=2.3) as (figure, axes):
        for k, (ax, row) in enumerate(zip(axes, t.OF_TRANSFER, strict=True)):
            cells = [numbers[row, kind] for kind in s.TABLE]
            colours = [COLOURS[kind] for kind in s.TABLE]
            ax.bar(at, [c.value for c in cells], 0.6, color=colours, alpha=0.75)
            errors = [2 * c.error for c in cells]
            ax.errorbar(at, [c.value for c in cells], errors, fmt="none", color=plots.BLACK, lw=0.9)
            ax.plot(
                at, [printed[row, kind] for kind in s.TABLE], "o", ms=5.5, mfc="white",
                color=plots.BLACK, label="published",
            )  # fmt: skip
            ax.set_xticks(at, s.TABLE)
            charts.title(ax, k, LABELS[row])
        charts.legend_above(figure, axes)
    return figure


def chart_loads(values: Mapping[str, Cells]) -> Figure:
    """Table IV against the load; published numbers are at the load chosen to fit its Reno."""
    printed = published_numbers.of("tcp_vegas").printed("table_4")
    numbers = values["packet"]
    with charts.panels(1, 3, height=2.4) as (figure, axes):
        for k, (ax, row) in enumerate(zip(axes, t.OF_TRANSFER, strict=True)):
            for kind in s.BOTH:
                cells = [numbers[f"{row} {kind.split('-')[0]}", f"{load}"] for load in s.LOADS]
                look: dict[str, Any] = {"color": COLOURS[kind], "ms": 3.5}
                ax.errorbar(
                    s.LOADS, [c.value for c in cells], [2 * c.error for c in cells],
                    marker="o", capsize=2, label=kind.split("-")[0], **look,
                )  # fmt: skip
                ax.plot(
                    s.CONVERSATIONS, printed[row, kind], "o", mfc="white",
                    label="published" if kind == s.RENO else None, **look,
                )  # fmt: skip
            ax.set(xlabel="Conversations (1/s)", ylim=(0, None))
            charts.title(ax, k, LABELS[row])
        charts.legend_above(figure, axes)
    return figure


def chart_send_buffers(values: Mapping[str, Cells]) -> Figure:
    """Section V-C: throughput and retransmissions against the send buffer."""
    numbers = values["packet"]
    with charts.panels(1, 2, height=2.5) as (figure, axes):
        for k, (ax, row) in enumerate(zip(axes, ("throughput", "retransmissions"), strict=True)):
            for kind in s.BOTH:
                cells = [numbers[f"{row} {kind}", f"{size} KB"] for size in s.SEND_BUFFERS]
                ax.errorbar(
                    s.SEND_BUFFERS, [c.value for c in cells], [2 * c.error for c in cells],
                    marker="o", ms=3.5, capsize=2, color=COLOURS[kind], label=kind.split("-")[0],
                )  # fmt: skip
            ax.set(xlabel="Send buffer (KB)", xlim=(0, 55))
            ax.set_ylim(bottom=0)
            charts.title(ax, k, LABELS[row])
        charts.legend_above(figure, axes)
    return figure


def chart_fairness(values: Mapping[str, Cells]) -> Figure:
    """Jain's index, with the published numbers."""
    printed = published_numbers.of("tcp_vegas").printed("fairness")
    columns = list(dict.fromkeys(column for _, column in printed))
    at = np.arange(len(columns))
    with charts.panels(width=0.75, height=2.6) as (figure, ax):
        for side, kind in ((-0.15, "Reno"), (0.15, "Vegas")):
            for model, numbers in values.items():
                cells = [numbers[kind, column] for column in columns]
                middle = [cell.value for cell in cells]
                if model == "packet":
                    look: dict[str, Any] = {"color": COLOURS[kind], "ls": "none", "label": kind}
                    ax.plot(at + side, middle, "s", ms=6, **look)
                    charts.ranges(ax, at + side, cells, color=COLOURS[kind], lw=2.5, alpha=0.35)
                else:
                    charts.dashes(ax, at + side, middle, 12)
            printed_values = np.array([printed[kind, c] for c in columns], float)
            charts.published(ax, at + side, printed_values)
        ax.set_xticks(at, [c.replace(", ", ",\n") for c in columns])
        ax.set(xlim=(-0.5, at[-1] + 0.5), ylim=(0.65, 1.02), ylabel="Jain's index")
        charts.legend_above(figure, [ax])
    return figure


def draw_equilibrium(runs: Mapping[str, Runs]) -> Figure:
    """Queue of n Vegas flows in the fluid model, over the last 20 s, against alpha.

    The band is the closed form: each flow keeps alpha to beta packets queued.
    """
    looks = {1: (plots.BLUE, "o"), 2: (plots.GREEN, "s"), 4: (plots.VERMILION, "^")}
    with charts.panels(width=0.62, height=plots.WIDTH * 0.42) as (figure, ax):
        for n, (colour, marker) in looks.items():
            alphas = np.array([alpha for flows, alpha in s.EQUILIBRIA if flows == n])
            of_n = [runs["fluid"][n, alpha] for alpha in alphas]
            queues = [run.queue_mean(after=40, link="bottleneck") for run in of_n]
            ax.fill_between(alphas, n * alphas, n * (alphas + s.BETA), color=colour, alpha=0.15)
            name = f"{n} flow{'s' if n > 1 else ''}, fluid"
            ax.plot(alphas, queues, marker, color=colour, ms=5, label=name)
        ax.fill_between([], [], color=plots.GREY, alpha=0.3, label="n alpha to n beta")
        ax.set(xlabel="alpha (packets); beta is 2 more", ylabel="Queue (packets)")
        charts.legend_above(figure, [ax], 3)
    return figure
