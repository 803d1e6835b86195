"""The figures of the Vegas paper, in its arrangement: Reno is vermilion, Vegas blue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments import charts
from experiments.harness import Cells, Runs
from experiments.tcp_vegas import scenarios as s
from experiments.tcp_vegas import tables as t
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "Reno": plots.VERMILION,
    "Vegas": plots.BLUE,
    "Vegas-1,3": plots.BLUE,
    "Vegas-2,4": plots.PURPLE,
}


def _rows(heights: Sequence[float], columns: int = 1) -> tuple[Figure, np.ndarray]:
    import matplotlib.pyplot as plt

    return plt.subplots(
        len(heights),
        columns,
        sharex="col",
        sharey="row",
        squeeze=False,
        height_ratios=heights,
        figsize=(plots.WIDTH, 1.3 * sum(heights) + 0.5),
    )


def _kilobytes(packets: Any) -> Any:
    return packets * s.PAYLOAD


def _windows(ax: Axes, run: tc.Run) -> None:
    """The connection's windows, and vertical lines where a lost segment was sent again."""
    flow = run.data.isel(flow=0)
    time = flow["time"].values
    threshold = np.minimum(flow["ssthresh"].values, 64 / s.PAYLOAD)
    threshold[np.isnan(flow["cwnd"].values)] = np.nan
    again = time[flow["retransmitted"].values > 0]
    ax.vlines(again, 0, 1, transform=ax.get_xaxis_transform(), color="0.82", lw=0.7, zorder=0)
    ax.plot(
        time, _kilobytes(threshold), color="0.45", ls=plots.DASHES[1], lw=0.8, label="threshold"
    )
    limit = s.SEND_BUFFER if flow["cwnd"].notnull().any() else 0
    ax.axhline(limit, color="0.6", lw=0.8, label="send window")
    ax.plot(time, _kilobytes(flow["cwnd"]), color=plots.BLUE, lw=1.0, label="congestion window")
    ax.set_ylabel("KB")
    ax.set_ylim(0, 70)


def _rates(ax: Axes, run: tc.Run, width: float, **look: Any) -> None:
    """Sending rate of the connection, retransmissions included."""
    flow = run.data.isel(flow=0)
    edges = flow["time"].values
    step = max(round(width / (edges[1] - edges[0])), 1)
    sent = flow["sent"].values[: len(edges) // step * step].reshape(-1, step).sum(axis=1)
    at = edges[step - 1 :: step][: len(sent)] - width / 2
    ax.plot(at, _kilobytes(sent) / width, **{"color": plots.BLACK, "lw": 0.8, **look})
    ax.set_ylabel("Sending\nKB/s")
    ax.set_ylim(bottom=0)


def _queue(ax: Axes, run: tc.Run) -> None:
    data = run.data.isel(link=0)
    ax.plot(data["time"], data["queue_max"], color=plots.BLACK, lw=0.6)
    room = float(data["buffer"])
    ax.axhline(room, color=plots.GREY, lw=0.7, ls=":")
    ax.set_ylim(0, room * 1.15)
    ax.set_ylabel("Queue\n(packets)")


def _avoidance(ax: Axes, run: tc.Run) -> None:
    """The CAM panel: Expected, Actual, and the rates at which Vegas would act, from the record."""
    flow = run.data.isel(flow=0)
    window, rtt = _kilobytes(flow["cwnd"].values), flow["rtt"].values
    base = np.nanmin(rtt)
    time = flow["time"].values
    ax.plot(time, window / base, color=plots.GREY, lw=0.9, label="Expected")
    for packets, name in ((1, "alpha"), (3, "beta")):
        ax.plot(
            time, (window - _kilobytes(packets)) / base, color="0.5", lw=0.6,
            ls=plots.DASHES[packets], label=f"at {name}",
        )  # fmt: skip
    ax.plot(time, window / rtt, color=plots.BLACK, lw=0.9, label="Actual")
    ax.set_ylabel("CAM\nKB/s")
    ax.set_ylim(0, 260)
    ax.legend(loc="lower right", ncols=4, size=7)


def draw_alone(runs: Mapping[str, Runs]) -> Figure:
    """Figures 5 and 7: windows, sending rate, Vegas' CAM, the router's queue; the fluid model's
    window dashed. The lines of KB of a packet are of the first run."""
    run = next(iter(runs["packet"].values())) if "packet" in runs else None
    shown = run or next(iter(runs["fluid"].values()))
    is_vegas = str(shown.data["controller"][0].values) == "vegas"
    with plots.style():
        figure, axes = _rows([2, 1, 1.3, 1] if is_vegas else [2, 1, 1])
        column = axes[:, 0]
        _windows(column[0], shown)
        if run is not None and "fluid" in runs:
            other = next(iter(runs["fluid"].values())).data.isel(flow=0)
            column[0].plot(
                other["time"], _kilobytes(other["cwnd"]), color=plots.VERMILION, lw=0.8,
                ls=plots.DASHES[1], label="the same, fluid",
            )  # fmt: skip
        column[0].legend(loc="upper right", ncols=2, size=7)
        _rates(column[1], shown, 0.2)
        if is_vegas:
            _avoidance(column[2], shown)
        _queue(column[-1], shown)
        column[-1].set(xlabel="Time (s)", xlim=(0, float(shown.data["finished"][0]) + 0.3))
        column[0].set_title(f"1 MB in {t.throughput(shown):.0f} KB/s", loc="left")
    return figure


def draw_beside_traffic(runs: Mapping[str, Runs]) -> Figure:
    """Figures 9 and 10: the connection, the background traffic's rate (in 100 ms, and the mean of
    three such), the output of the bottleneck."""
    ((_, run),) = runs["packet"].items()
    data = run.data
    begin = float(data["start"][0])
    end = float(data["finished"][0])
    time = data["time"].values
    width = time[1] - time[0]
    conversations = data["payload"].values[1:] * data["sent"].values[:, 1:]
    others = conversations.sum(axis=1) / s.KB / width
    with plots.style():
        figure, axes = _rows([2, 1, 1, 1])
        column = axes[:, 0]
        _windows(column[0], run)
        column[0].legend(loc="upper right", ncols=3, size=7)
        _rates(column[1], run, 0.2)
        column[2].plot(time, others, color=plots.GREY, lw=0.5)
        smooth = np.convolve(others, np.ones(3) / 3, "same")
        column[2].plot(time, smooth, color=plots.BLACK, lw=1.0)
        column[2].set_ylabel("Traffic\nKB/s")
        output = data["sent_bits"].isel(link=0).values / 8 / s.KB / width
        column[3].plot(time, np.convolve(output, np.ones(3) / 3, "same"), color=plots.BLACK, lw=0.8)
        column[3].axhline(s.RATE, color=plots.GREY, lw=0.7, ls=":")
        column[3].set_ylabel("Output\nKB/s")
        for ax in column[2:]:
            ax.set_ylim(0, 250)
        column[3].set(xlabel="Time (s)", xlim=(begin - 1, end + 1))
        column[0].set_title(f"1 MB in {t.throughput(run):.0f} KB/s", loc="left")
    return figure


def draw_start_up(runs: Mapping[str, Runs]) -> Figure:
    """Figure 11: the first two seconds of Vegas and of Vegas*."""
    of_model = runs.get("packet") or runs["fluid"]
    with plots.style():
        figure, axes = _rows([1.6, 1, 1], 2)
        for k, ((name, _), run) in enumerate(of_model.items()):
            column = axes[:, k]
            _windows(column[0], run)
            _rates(column[1], run, 0.1)
            column[1].axhline(300, color=plots.GREY, lw=0.7, ls=":")
            _queue(column[2], run)
            charts.title(column[0], k, name)
            column[2].set(xlabel="Time (s)", xlim=(0, 2.5))
        axes[0, 0].legend(loc="upper left", size=7)
        for ax in axes[:, 1]:
            ax.set_ylabel("")
    return figure


def chart_predecessors(values: Mapping[str, Cells]) -> Figure:
    """What Vegas is compared with in section III-B: throughput and retransmissions of 1 MB."""
    import matplotlib.pyplot as plt

    at = np.arange(len(s.PREDECESSORS))
    with plots.style():
        figure, axes = plt.subplots(1, 3, figsize=(plots.WIDTH, 2.4))
        panels = ("throughput", "retransmissions", "queue")
        labels = ("Throughput (KB/s)", "Retransmitted (KB)", "Mean queue (packets)")
        for k, (ax, row, label) in enumerate(zip(axes, panels, labels, strict=True)):
            for model, found in values.items():
                cells = [found[row, kind] for kind in s.PREDECESSORS]
                if model == "packet":
                    charts.bars(ax, at, cells, 0.65, color=plots.SKY, label="packets")
                else:
                    charts.dashes(ax, at, [c.value for c in cells], 11)
            names = [kind.split("-1")[0] for kind in s.PREDECESSORS]
            ax.set_xticks(at, names, rotation=40, ha="right")
            charts.title(ax, k, label)
        charts.legend_above(figure, axes)
    return figure


def chart_pairs(values: Mapping[str, Cells]) -> Figure:
    """Table III: throughput and retransmissions of both transfers, beside the printed ones."""
    import matplotlib.pyplot as plt

    from experiments import published

    printed = published.of("tcp_vegas").printed("table_3")
    columns = [t.column(*pair) for pair in s.PAIRS]
    at = np.arange(len(columns))
    with plots.style():
        figure, axes = plt.subplots(2, 2, sharex=True, figsize=(plots.WIDTH, 3.9))
        rows = (("throughput", "KB/s"), ("retransmissions", "KB sent again"))
        for line, (row, label) in zip(axes, rows, strict=True):
            for k, (ax, size) in enumerate(zip(line, ("300 KB", "1 MB"), strict=True)):
                key = f"{row} {size}"
                ax.plot(
                    at, [printed[key, c] for c in columns], "o", ms=5.5, mfc="white",
                    color=plots.BLACK, label="published",
                )  # fmt: skip
                for model, found in values.items():
                    cells = [found[key, c] for c in columns]
                    if model == "packet":
                        charts.bars(ax, at, cells, 0.6, color=plots.SKY, label="packets")
                    else:
                        charts.dashes(ax, at, [c.value for c in cells], 13)
                ax.set_xticks(at, columns, size=7)
                charts.title(ax, k + 2 * (row != "throughput"), f"{size}, {label}")
        charts.legend_above(figure, axes.flat)
    return figure


def chart_transfers(values: Mapping[str, Cells]) -> Figure:
    """Table IV."""
    import matplotlib.pyplot as plt

    from experiments import published

    printed = published.of("tcp_vegas").printed("table_4")
    found = values["packet"]
    at = np.arange(len(s.TABLE))
    with plots.style():
        figure, axes = plt.subplots(1, 3, figsize=(plots.WIDTH, 2.3))
        rows = {
            "throughput": "Throughput (KB/s)",
            "retransmissions": "Retransmitted (KB)",
            "coarse timeouts": "Coarse timeouts",
        }
        for k, (ax, (row, label)) in enumerate(zip(axes, rows.items(), strict=True)):
            cells = [found[row, kind] for kind in s.TABLE]
            colours = [COLOURS[kind] for kind in s.TABLE]
            ax.bar(at, [c.value for c in cells], 0.6, color=colours, alpha=0.75)
            errors = [2 * c.error for c in cells]
            ax.errorbar(at, [c.value for c in cells], errors, fmt="none", color=plots.BLACK, lw=0.9)
            ax.plot(
                at, [printed[row, kind] for kind in s.TABLE], "o", ms=5.5, mfc="white",
                color=plots.BLACK, label="published",
            )  # fmt: skip
            ax.set_xticks(at, s.TABLE, size=7)
            charts.title(ax, k, label)
        axes[0].legend()
    return figure


def chart_send_buffers(values: Mapping[str, Cells]) -> Figure:
    """Section V-C: throughput and retransmissions against the send buffer."""
    import matplotlib.pyplot as plt

    found = values["packet"]
    with plots.style():
        figure, axes = plt.subplots(1, 2, figsize=(plots.WIDTH, 2.5))
        for k, (ax, row, label) in enumerate(
            zip(
                axes,
                ("throughput", "retransmissions"),
                ("Throughput (KB/s)", "Retransmitted (KB)"),
                strict=True,
            )
        ):
            for kind in s.BOTH:
                cells = [found[f"{row} {kind}", f"{size} KB"] for size in s.SEND_BUFFERS]
                ax.errorbar(
                    s.SEND_BUFFERS, [c.value for c in cells], [2 * c.error for c in cells],
                    marker="o", ms=3.5, capsize=2, color=COLOURS[kind], label=kind.split("-")[0],
                )  # fmt: skip
            ax.set(xlabel="Send buffer (KB)", xlim=(0, 55))
            ax.set_ylim(bottom=0)
            charts.title(ax, k, label)
        axes[0].legend(loc="lower right")
    return figure


def chart_fairness(values: Mapping[str, Cells]) -> Figure:
    """Jain's index beside the printed ones."""
    import matplotlib.pyplot as plt

    from experiments import published

    printed = published.of("tcp_vegas").printed("fairness")
    columns = list(dict.fromkeys(column for _, column in printed))
    at = np.arange(len(columns))
    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.75, 2.6))
        for side, kind in ((-0.2, "Reno"), (0.2, "Vegas")):
            for model, found in values.items():
                cells = [found[kind, column] for column in columns]
                if model == "packet":
                    charts.bars(ax, at + side, cells, 0.36, color=COLOURS[kind], alpha=0.75,
                                label=kind)  # fmt: skip
                else:
                    charts.dashes(ax, at + side, [c.value for c in cells], 12)
            ax.plot(
                at + side, np.array([printed[kind, c] for c in columns], float), "D", ms=5,
                mfc="none", color=plots.BLACK, label="published",
            )  # fmt: skip
        ax.set_xticks(at, [c.replace(", ", ",\n") for c in columns], size=7)
        ax.set(ylim=(0.85, 1.005), ylabel="Jain's index")
        charts.legend_above(figure, [ax])
    return figure
