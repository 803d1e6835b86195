"""The figures of the Quick Vegas paper, in its arrangement; the fluid model is dashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments import charts
from experiments.harness import Cells, Runs
from experiments.quick_vegas import scenarios as s
from experiments.quick_vegas import tables
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_basic(runs: Mapping[str, Runs]) -> Figure:
    """Figures 2 and 3: window, queue and throughput over time."""
    with plots.style():
        figure, axes = _panels("Window (packets)", "Queue (packets)", "Throughput (Mb/s)")
        for model, of_model in runs.items():
            run, look = of_model[0.0], _look(model)
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
        low = axes[0].get_xaxis_transform()
        axes[0].text(120, 0.06, "CBR traffic on", transform=low, ha="center", size=8)
        _legend(axes[0], runs)
    return figure


def chart_convergence(cells: Mapping[str, Cells]) -> Figure:
    """Figures 4 to 6: convergence time against the bandwidth-delay product, both logarithmic."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import ScalarFormatter

    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.62, plots.WIDTH * 0.44))
        for model, of_model in cells.items():
            for controller, colour, marker in zip(s.VEGAS_KIND, plots.PALETTE, "os", strict=False):
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
        ax.legend(loc="upper left")
    return figure


def draw_queues(runs: Mapping[str, Runs]) -> Figure:
    """Figure 7: the bottleneck's queue with 60 flows of each kind."""
    with plots.style():
        figure, axes = _panels(*["Queue (packets)"] * 3)
        for k, (ax, (controller, name)) in enumerate(zip(axes, s.NAMES.items(), strict=True)):
            for model, of_model in runs.items():
                run = of_model[controller, 0]
                ax.plot(run.data["time"], run.data["queue_max"].isel(link=0), **_look(model))
            ax.axhline(1250, color=plots.GREY, lw=0.7, ls=":", zorder=0)
            ax.set(xlim=(0, 500), ylim=(0, 1300))
            charts.title(ax, k, name)
        _legend(axes[0], runs)
    return figure


def _panels(*labels: str) -> tuple[Figure, Sequence[Axes]]:
    import matplotlib.pyplot as plt

    rows = len(labels)
    figure, axes = plt.subplots(rows, 1, sharex=True, figsize=(plots.WIDTH, 1.65 * rows + 0.3))
    for ax, label in zip(axes, labels, strict=True):
        ax.set_ylabel(label)
    axes[-1].set_xlabel("Time (s)")
    figure.align_ylabels(axes)
    return figure, axes


def _look(model: str) -> dict[str, Any]:
    if model == "packet":
        return {"color": plots.BLUE, "lw": 1.2, "label": "packet model"}
    return {"color": plots.VERMILION, "lw": 0.9, "ls": (0, (4, 1.5)), "label": "fluid model"}


def _legend(ax: Axes, runs: Mapping[str, Runs]) -> None:
    if len(runs) > 1:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
