"""The figures of the Quick Vegas paper in its layout; the fluid model is dashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import charts, published_numbers
from experiments.harness import Cells, Runs
from experiments.quick_vegas import scenarios as s
from experiments.quick_vegas import tables
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_basic(runs: Mapping[str, Runs]) -> Figure:
    """Figures 2 and 3: window, queue and throughput over time."""
    labels = ("Window (packets)", "Queue (packets)", "Throughput (Mb/s)")
    with charts.panels(3, 1, sharex=True, height=1.65 * 3 + 0.3) as (figure, axes):
        for ax, label in zip(axes, labels, strict=True):
            ax.set_ylabel(label)
        axes[-1].set_xlabel("Time (s)")
        figure.align_ylabels(axes)
        for model, of_model in runs.items():
            run = of_model[0.0]
            kind = str(run.data["controller"].values[0])
            look = charts.of_model(kind, model)
            times = run.data["time"].values
            rate = run.throughput_series(1.0).isel(flow=0) / 1e6
            axes[0].plot(times, run.data["cwnd"].isel(flow=0), **look)
            axes[1].plot(times, run.queue(), **look)
            axes[2].plot(rate["time"] - 0.5, rate, **look)
        for ax in axes:
            ax.set(xlim=(0, 200))
            ax.set_ylim(bottom=0)
            for edge in (80, 160):
                ax.axvline(edge, color=plots.GREY, lw=0.7, ls=":", zorder=0)
        _mark_published(axes, kind)
        low = axes[0].get_xaxis_transform()
        axes[0].text(120, 0.06, "CBR traffic on", transform=low, ha="center", size=8)
        charts.legend_above(figure, axes[:1])
    return figure


def _mark_published(axes: Sequence[Axes], kind: str) -> None:
    """Draw rings at published values: settling times, largest queue, throughput at 85 s."""
    item, row = {"vegas": ("figure_2", "Vegas")}.get(kind, ("figure_3", "Quick Vegas"))
    printed = published_numbers.of("quick_vegas").printed(item)
    starts = {"new connection": 0, "halved": 80, "doubled": 160}
    for event, start in starts.items():
        settled = start + float(printed[row, event] or 0)
        line = axes[0].get_lines()[0]
        height = np.interp(settled, line.get_xdata(), line.get_ydata())  # type: ignore[arg-type]
        charts.published(axes[0], [settled], [height])
    times, queue = map(np.asarray, axes[1].get_lines()[0].get_data())
    charts.published(axes[1], [times[np.argmax(queue)]], [printed[row, "largest queue"]])
    charts.published(axes[2], [85], [printed[row, "throughput at 85 s"]])


def chart_convergence(cells: Mapping[str, Cells]) -> Figure:
    """Figures 4 to 6: convergence time against the bandwidth-delay product, on log scales."""
    from matplotlib.ticker import ScalarFormatter

    with charts.panels(width=0.62, height=plots.WIDTH * 0.44) as (figure, ax):
        for model, of_model in cells.items():
            for controller in s.VEGAS_KIND:
                colour, marker = plots.look(controller)
                name = s.NAMES[controller]
                line = [of_model[name, tables.bdp_column(bdp)] for bdp in s.BDPS]
                at = [bdp / 1e3 for bdp in s.BDPS]
                charts.curve(ax, at, line, model, name, color=colour, marker=marker)
        ax.set(xscale="log", yscale="log", xlim=(220, 11500))
        ax.set(xlabel="Bandwidth-delay product (Kb)", ylabel="Convergence time (base RTTs)")
        ax.set_xticks([250, 500, 1000, 2000, 5000, 10000])
        ax.set_yticks([10, 20, 50, 100, 200, 500, 1000])
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(ScalarFormatter())
        ax.minorticks_off()
        charts.legend_above(figure, [ax], 2)
    return figure


def draw_queues(runs: Mapping[str, Runs]) -> Figure:
    """Figure 7: queue of the bottleneck with 60 flows of each kind.

    Each model has its own column, because overlapping sawtooth curves are not readable. Rings are
    the published largest queues.
    """
    printed = published_numbers.of("quick_vegas").printed("figure_7")
    drawing = charts.panels(3, len(runs), sharex=True, sharey=True, squeeze=False, height=5.2)
    with drawing as (figure, axes):
        for column, (model, of_model) in zip(axes.T, runs.items(), strict=True):
            for k, (ax, (controller, name)) in enumerate(zip(column, s.NAMES.items(), strict=True)):
                run, look = of_model[controller, 0], charts.of_model(controller, model)
                times = run.data["time"].values
                queue = run.data["queue_max"].isel(link=0).values
                ax.plot(times, queue, **look | {"lw": 0.9})
                largest = printed[name, "largest queue"]
                if largest is not None:
                    charts.published(ax, [float(times[int(queue.argmax())])], [largest])
                ax.axhline(1250, color=plots.GREY, lw=0.7, ls=":", zorder=0)
                ax.set(xlim=(0, 500), ylim=(0, 1300))
                charts.title(ax, k, f"{name}, {look['label']}")
        charts.outer_labels(axes, "Time (s)", "Queue (packets)")
        figure.align_ylabels(axes[:, 0])
    return figure


def draw_ramps(runs: Mapping[str, Runs]) -> Figure:
    """Windows after the CBR traffic stops, and the time in which they double, in the fluid model.

    Dashed: with an empty queue Vegas adds 1 packet in each RTT R. Quick Vegas adds beta, 2 beta, 3
    beta ... in every other RTT: beta (t / 2R)^2 / 2 packets in the time t.
    """
    rtt, beta = 0.1, s.THRESHOLDS["beta"]
    forms = {
        "vegas": lambda far: rtt * far,
        "quick_vegas": lambda far: 2 * rtt * np.sqrt(2 * far / beta),
    }
    sizes = s.BDPS[1:]
    far = np.array(sizes) / 16e3  # half of it, in packets of 8 kb
    dashed: dict[str, Any] = {"color": plots.BLACK, "lw": 0.9, "ls": plots.DASHES[1]}
    with charts.panels(1, 2, height=plots.WIDTH * 0.38) as (figure, (left, right)):
        for kind, form in forms.items():
            colour, marker = plots.look(kind)
            of_kind = [runs["fluid"][kind, bdp] for bdp in sizes]
            window = of_kind[sizes.index(5e6)].data["cwnd"].isel(flow=0).sel(time=slice(160, 195))
            left.plot(window["time"] - 160, window, color=colour, label=s.NAMES[kind])
            added = np.linspace(0, float(window[-1] - window[0]), 100)
            left.plot(form(added), float(window[0]) + added, **dashed)
            times = [tables.settling("doubled", run) for run in of_kind]
            right.plot(far, times, marker, color=colour, ms=5)
            right.plot(far, form(far), **dashed)
        left.set(xlabel="Time since the CBR traffic stopped (s)", ylabel="Window (packets)")
        right.set(xscale="log", yscale="log", xlabel="Packets added (half a BDP)")
        right.set_ylabel("Time to double the window (s)")
        right.set_xticks([30, 100, 300], ["30", "100", "300"])
        right.set_xticks([], minor=True)
        left.plot([], [], **dashed, label="closed form")
        charts.legend_above(figure, [left])
    return figure
