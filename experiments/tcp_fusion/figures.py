"""The Fusion paper's figures, in its arrangement.

A colour belongs to a variant throughout. Packets are solid, with the range over seeds; fluid is
dashed or a dash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tcpcc as tc
from experiments.harness import Cells, Measured, Runs, Values
from experiments.tcp_fusion import scenarios as s
from experiments.tcp_fusion import tables as t
from tcpcc import plots
from tcpcc.controllers import get

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Numbers = Mapping[str, Cells]
"""By model."""

COLOURS = {
    "Reno": plots.BLACK,
    "Fusion": plots.VERMILION,
    "ARENO": plots.BLUE,
    "CTCP": plots.GREEN,
    "HSTCP": plots.PURPLE,
    "BIC": plots.ORANGE,
    "CUBIC": plots.SKY,
    "FAST": "0.45",
}
MARKERS = dict(zip(COLOURS, "xosv^D*P", strict=True))


def nothing(runs: Runs) -> Values:
    """A figure without numbers."""
    return {}


# Figure 1: what a loss leaves, from the rules themselves.

CURVES: dict[str, tuple[str, float]] = {
    "Reno": ("reno", math.nan),
    "Westwood": ("westwood_re", math.nan),
    "ARENO, 1.5": ("areno", 1.5),
    "ARENO, 2": ("areno", 2.0),
    "Fusion": ("fusion", math.nan),
}
"""Controller by row; of ARENO, RTT at congestion over RTTmin."""

RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0)
"""RTT/RTTmin of the cells."""


def reduction(controller: str, ratio: float, congested: float = math.nan) -> float:
    """Share of a large window that a loss leaves when RTT is `ratio` times RTTmin.

    Args:
        controller: its `on_loss` is called in congestion avoidance.
        ratio: at least 1.
        congested: RTT_cong/RTTmin, for ARENO.
    """
    c = get(controller)
    state, params, ack = c.example()
    window, base = 1000.0, 0.1
    ack.rtt = ack.srtt = ratio * base
    ack.min_rtt, ack.window, ack.inflight = base, window, window
    state.cwnd, state.ssthresh = window, 2.0
    for name, value in {
        "rtt": ack.rtt,
        "re": window / ack.rtt,
        "rtt_cong": congested * base,
    }.items():
        if hasattr(state, name):
            setattr(state, name, value)
    if controller == "areno":
        params.a = 1.0  # RTT_cong as it was given
    assert c.on_loss
    c.on_loss(state, params, ack)
    return min(state.ssthresh, window) / window


def figure_1(runs: Runs) -> Values:
    return {
        (row, f"{ratio:g}"): reduction(controller, ratio, congested)
        for row, (controller, congested) in CURVES.items()
        for ratio in RATIOS
    }


def draw_1(runs: Mapping[str, Runs]) -> Figure:
    import matplotlib.pyplot as plt

    ratios = np.linspace(1, 4, 301)
    looks = {
        "Reno": (plots.BLACK, "-"),
        "Westwood": (plots.GREEN, "-"),
        "ARENO, 1.5": (plots.BLUE, plots.DASHES[1]),
        "ARENO, 2": (plots.BLUE, "-"),
        "Fusion": (plots.VERMILION, plots.DASHES[1]),
    }
    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.55, plots.WIDTH * 0.4))
        for row, (controller, congested) in CURVES.items():
            colour, dashes = looks[row]
            label = row if "," not in row else f"{row.replace(', ', ' (congested at ')} RTTmin)"
            left = [reduction(controller, ratio, congested) for ratio in ratios]
            ax.plot(ratios, left, color=colour, ls=dashes, lw=2 if row == "Westwood" else 1.2,
                    alpha=0.5 if row == "Westwood" else 1, label=label)  # fmt: skip
        ax.set(
            xlabel="RTT / RTTmin",
            ylabel="Window after a loss / before",
            xlim=(1, 4),
            ylim=(0, 1.03),
        )
        ax.legend()
    return figure


# Figure 2: windows beside Reno.


def figure_2_runs() -> dict[Any, tc.Scenario]:
    """Half a BDP of buffer."""
    return {
        "half": s.laboratory(
            ["Fusion", "Reno"], buffer=s.BUFFER // 2, seed=1, receiver="every packet", interval=0.05
        )
    }


def draw_2(runs: Mapping[str, Runs]) -> Figure:
    import matplotlib.pyplot as plt

    with plots.style():
        figure, axes = plt.subplots(
            2, 1, sharex=True, figsize=(plots.WIDTH, plots.WIDTH * 0.5), height_ratios=(2, 1)
        )
        for model, of_model in runs.items():
            data = of_model["half"].data
            times = data["time"].values
            look: dict[str, Any] = (
                {} if model == "packet" else {"ls": plots.DASHES[2], "alpha": 0.8}
            )
            for k, name in enumerate(("Fusion", "Reno")):
                label = name if model == "packet" else f"{name}, fluid model"
                axes[0].plot(
                    times, data["cwnd"].values[:, k], color=COLOURS[name], lw=1, label=label, **look
                )
            axes[1].plot(times, data["queue"].values[:, 0], color=plots.BLACK, lw=0.8, **look)
        axes[0].set_ylabel("Window (packets)")
        axes[1].set(xlabel="Time (s)", ylabel="Queue (packets)", xlim=(0, times[-1]))
        for ax in axes:
            ax.set_ylim(bottom=0)
        axes[0].set_ylim(top=np.nanpercentile(data["cwnd"].values[len(times) // 6 :], 100) * 1.3)
        axes[0].legend(loc="lower right", ncols=4, bbox_to_anchor=(1, 1))
        figure.align_ylabels(axes)
    return figure


# Curves over a variable.


def line(
    ax: Axes, x: Iterable[float], cells: Sequence[Measured], name: str, model: str, **look: Any
) -> None:
    """A variant's curve: packets with the range over seeds, fluid dashed and unlabelled."""
    x, y = list(x), [cell.value for cell in cells]
    look = {"color": COLOURS[name], **look}
    if model == "fluid":
        ax.plot(x, y, **{**look, "ls": plots.DASHES[2], "lw": 0.9, "label": None})
        return
    ax.plot(x, y, marker=MARKERS[name], ms=4, **{"label": name, **look})
    for at, cell in zip(x, cells, strict=True):
        if cell.low is not None and cell.high is not None:
            ax.vlines(at, cell.low, cell.high, color=look["color"], lw=2, alpha=0.3)


def fluid_label(ax: Axes) -> None:
    """An entry of the legend that tells what dotted lines are."""
    ax.plot([], [], color=plots.GREY, ls=plots.DASHES[2], lw=0.9, label="fluid model")


def of_losses(ax: Axes, top: float = 100.0) -> None:
    ax.set(xscale="log", xlabel="Random loss rate", ylim=(0, top))
    ax.set_xticks(list(t.LOSSES.values()))
    ax.minorticks_off()


def loss_cells(cells: Cells, row: str) -> list[Measured]:
    return [cells[row, loss] for loss in t.LOSSES]


def draw_4(numbers: Numbers) -> Figure:
    """Throughput of one flow, on a linear scale as in the paper and on a logarithmic one."""
    import matplotlib.pyplot as plt

    losses = np.array(list(t.LOSSES.values()))
    with plots.style():
        figure, axes = plt.subplots(1, 2, figsize=(plots.WIDTH, plots.WIDTH * 0.42))
        for model, cells in numbers.items():
            for ax in axes:
                for variant in s.VARIANTS:
                    line(ax, losses, loss_cells(cells, variant), variant, model)
        law = root_law(losses)
        for ax in axes:
            of_losses(ax)
            ax.plot(
                losses, law, color=plots.GREY, lw=3, alpha=0.4, zorder=0, label=r"$1.22/\sqrt{2p}$"
            )
            ax.set_ylabel("Goodput (Mb/s)")
        axes[1].set(yscale="log", ylim=(0.2, 130))
        fluid_label(axes[0])
        labels = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
        figure.legend(labels.values(), labels.keys(), loc="outside upper center", ncols=5)
    return figure


def root_law(losses: np.ndarray) -> np.ndarray:
    """Goodput of Reno by 1.22/sqrt(2p) packets a round trip, of 40 ms, with an ACK for every second
    packet, Mb/s; not above the link's."""
    base = s.laboratory(["Reno"], seed=1).resolve()
    rate = base.links[0].rate * (s.PACKET - s.HEADER) / s.PACKET
    window = math.sqrt(3 / 4) / np.sqrt(losses)
    return np.minimum(window / 0.040 * 8 * (s.PACKET - s.HEADER), rate) / 1e6


def draw_lossy(variants: Sequence[str], numbers: Numbers) -> Figure:
    """Figures 5 and 6: a panel for each variant, beside Reno."""
    import matplotlib.pyplot as plt

    losses = list(t.LOSSES.values())
    with plots.style():
        figure, axes = plt.subplots(
            1, len(variants), sharey=True, figsize=(plots.WIDTH, plots.WIDTH * 0.38)
        )
        for k, (ax, variant) in enumerate(zip(axes, variants, strict=True)):
            for model, cells in numbers.items():
                line(ax, losses, loss_cells(cells, variant), variant, model)
                beside = loss_cells(cells, f"Reno beside {variant}")
                line(ax, losses, beside, "Reno", model, label="Reno beside it")
            fluid_label(ax)
            of_losses(ax, 125)
            ax.set_yticks(range(0, 101, 20))
            ax.axhline(50, color=plots.GREY, lw=0.7, ls=":")
            ax.set_title(f"({'abc'[k]}) {variant}", loc="left")
            ax.legend(loc="upper right")
        axes[0].set_ylabel("Goodput (Mb/s)")
    return figure


def draw_8(runs: Mapping[str, Runs]) -> Figure:
    """Windows of three flows, a panel for each variant."""
    import matplotlib.pyplot as plt

    variants = [v for v in s.VARIANTS if v != "Reno"]
    shown = next(iter(runs.values()))
    with plots.style():
        figure, axes = plt.subplots(
            3, 2, sharex=True, sharey=True, figsize=(plots.WIDTH, plots.WIDTH * 0.75)
        )
        for k, (ax, variant) in enumerate(zip(axes.flat, variants, strict=True)):
            run = shown[(variant,), 1]
            times = run.data["time"].values
            for flow, colour in enumerate((plots.BLUE, plots.VERMILION, plots.GREEN)):
                label = ("first", "second", "third")[flow]
                ax.plot(times, run.data["cwnd"].values[:, flow], color=colour, lw=0.8, label=label)
            ax.set_title(f"({'abcdef'[k]}) {variant}", loc="left")
            ax.set(xlim=(0, run.duration), ylim=(0, 1100))
        for ax in axes[:, 0]:
            ax.set_ylabel("Window (packets)")
        for ax in axes[-1]:
            ax.set_xlabel("Time (s)")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


# Bars.


def bars(
    ax: Axes, places: np.ndarray, cells: Sequence[Measured], width: float, bottom: Any = 0.0,
    spread: bool = True, **look: Any,
) -> None:  # fmt: skip
    """Bars with the range over seeds."""
    heights = np.array([cell.value for cell in cells])
    ax.bar(places, heights, width, bottom=bottom, **look)
    if spread:
        for at, cell in zip(places, cells, strict=True):
            if cell.low is not None and cell.high is not None:
                ax.vlines(at, cell.low, cell.high, color=plots.BLACK, lw=0.7)


def dashes(ax: Axes, places: Any, values: Sequence[float], size: float) -> None:
    """The fluid model's values over bars."""
    ax.plot(places, values, "_", color=plots.BLACK, ms=size, mew=1.4, label="fluid model")


def draw_9(numbers: Numbers) -> Figure:
    """Ratio of the throughputs, bars by variant, on a logarithmic scale: ranges are wide."""
    import matplotlib.pyplot as plt

    shades = (plots.SKY, plots.BLUE, plots.BLACK)
    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.8, plots.WIDTH * 0.4))
        places = np.arange(len(s.VARIANTS))
        for model, cells in numbers.items():
            for k, longer in enumerate(t.LONGER):
                values = [cells[v, longer] for v in s.VARIANTS]
                at = places + 0.27 * (k - 1)
                if model == "packet":
                    bars(
                        ax, at, values, 0.24, color=shades[k], alpha=0.8, label=f"20 ms : {longer}"
                    )
                else:
                    dashes(ax, at, [v.value for v in values], 8)
        ax.set_xticks(places, list(s.VARIANTS))
        ax.set(yscale="log", ylim=(0.2, 150), ylabel="Throughput ratio, short : long")
        marks = (0.5, 1, 2, 5, 10, 20, 50, 100)
        ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
        ax.minorticks_off()
        ax.axhline(1, color=plots.GREY, lw=0.7, ls=":")
        unique(ax, loc="lower right", bbox_to_anchor=(1, 1), ncols=4)
    return figure


def unique(ax: Axes, **place: Any) -> None:
    """A legend that names nothing twice."""
    labels = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.legend(labels.values(), labels.keys(), **place)


def pairs_of_bars(ax: Axes, numbers: Numbers, variants: Sequence[str], column: str) -> None:
    """A variant's bar and that of Reno beside it, with the range over seeds."""
    places = np.arange(len(variants))
    for model, cells in numbers.items():
        for shift, prefix, colour in (
            (-0.2, "", plots.VERMILION), (0.2, "Reno beside ", plots.BLACK)
        ):  # fmt: skip
            values = [cells[prefix + v, column] for v in variants]
            label = "variant" if not prefix else "Reno beside it"
            if model == "packet":
                bars(ax, places + shift, values, 0.36, color=colour, alpha=0.7, label=label)
            else:
                dashes(ax, places + shift, [v.value for v in values], 9)
    ax.set_xticks(places, variants)


def draw_10(numbers: Numbers) -> Figure:
    import matplotlib.pyplot as plt

    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.75, plots.WIDTH * 0.36))
        pairs_of_bars(ax, numbers, list(s.VARIANTS), "Route 2")
        ax.set_ylabel("Goodput (Mb/s)")
        unique(ax, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def draw_11(numbers: Numbers) -> Figure:
    """Shares of the link, a panel for each rate."""
    import matplotlib.pyplot as plt

    with plots.style():
        figure, axes = plt.subplots(
            2, 2, sharex=True, sharey=True, figsize=(plots.WIDTH, plots.WIDTH * 0.6)
        )
        for k, (ax, rate) in enumerate(zip(axes.flat, t.RATES, strict=True)):
            pairs_of_bars(ax, numbers, t.SIMULATED, rate)
            ax.set_title(f"({'abcd'[k]}) {rate}", loc="left")
            ax.tick_params(axis="x", labelrotation=35)
        for ax in axes[:, 0]:
            ax.set_ylabel("Share of the link")
        labels = dict(zip(*reversed(axes.flat[0].get_legend_handles_labels()), strict=True))
        figure.legend(labels.values(), labels.keys(), loc="outside upper center", ncols=3)
    return figure


def draw_13(numbers: Numbers) -> Figure:
    """Goodput of each forward flow, stacked by hop count, without and with reverse traffic."""
    import matplotlib.pyplot as plt

    colours = dict(
        zip(t.FORWARD, ("0.25", "0.5", "0.75", "#A23B00", "#E0722A", "#F6B98B"), strict=True)
    )
    with plots.style():
        figure, axes = plt.subplots(1, 2, sharey=True, figsize=(plots.WIDTH, plots.WIDTH * 0.48))
        places = np.arange(len(t.SIMULATED))
        for k, (ax, reverse) in enumerate(zip(axes, t.TRAFFIC, strict=True)):
            for model, cells in numbers.items():
                bottom = np.zeros(len(places))
                for flow in t.FORWARD:
                    values = [cells[flow, f"{v} {reverse}"] for v in t.SIMULATED]
                    if model == "packet":
                        bars(ax, places, values, 0.7, bottom=bottom, spread=False,
                             color=colours[flow], label=flow)  # fmt: skip
                    bottom += [v.value for v in values]
                    if model == "fluid":
                        dashes(ax, places, list(bottom), 12)
            ax.set_title(f"({'ab'[k]}) {reverse} reverse traffic", loc="left")
            ax.set_xticks(places, t.SIMULATED, rotation=35)
        axes[0].set_ylabel("Goodput (Mb/s)")
        labels = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
        figure.legend(labels.values(), labels.keys(), loc="outside upper center", ncols=7)
    return figure


# Packets beside fluid.


def draw_models(numbers: Numbers) -> Figure:
    """Every variant: throughput under random loss, and share beside Reno."""
    import matplotlib.pyplot as plt

    places = np.arange(len(t.FAMILY))[::-1]
    with plots.style():
        figure, axes = plt.subplots(1, 2, sharey=True, figsize=(plots.WIDTH, plots.WIDTH * 0.62))
        for ax, what in zip(axes, ("loss 1e-4", "beside Reno"), strict=True):
            for model, of_model in numbers.items():
                of_what = [of_model[v, what] for v in t.FAMILY]
                values = [cell.value for cell in of_what]
                if model == "packet":
                    ax.barh(places, values, 0.6, color=plots.SKY, alpha=0.7, label="packets")
                    for at, cell in zip(places, of_what, strict=True):
                        if cell.low is not None and cell.high is not None:
                            ax.hlines(at, cell.low, cell.high, color=plots.BLUE, lw=1.2)
                else:
                    ax.plot(values, places, "|", color=plots.BLACK, ms=11, mew=1.6, label="fluid")
            ax.set_xlim(left=0)
        axes[0].set_yticks(places, t.FAMILY)
        axes[0].grid(False, axis="y")
        axes[1].grid(False, axis="y")
        axes[0].set_xlabel("Goodput alone, loss rate 1e-4 (Mb/s)")
        axes[1].set(xlabel="Share beside Reno, no random loss", xlim=(0, 1))
        axes[1].axvline(0.5, color=plots.GREY, lw=0.8, ls=":")
        axes[1].legend(loc="lower right")
    return figure


# Table 1, as shares.


def draw_table_1(numbers: Numbers) -> Figure:
    """Share of the first flow of each pair, beside the printed one and what it can be held to."""
    import matplotlib.pyplot as plt

    printed = t.printed_shares()
    places = np.arange(len(printed))[::-1]
    with plots.style():
        figure, ax = plt.subplots(figsize=(plots.WIDTH * 0.75, plots.WIDTH * 0.75))
        of_paper = np.array(list(printed.values()))
        ax.barh(places, 2 * t.SHARE, 0.5, of_paper - t.SHARE, color="0.9", label="tolerance")
        ax.plot(of_paper, places, "o", ms=6, mfc="white", color=plots.BLACK, label="published")
        for model, of_model in numbers.items():
            cells = t.shares(of_model)
            values = [cells[pair].value for pair in printed]
            if model == "packet":
                ax.plot(values, places, "s", ms=4, color=plots.VERMILION, label="packets")
                for at, pair in zip(places, printed, strict=True):
                    low, high = cells[pair].low, cells[pair].high
                    if low is not None and high is not None:
                        ax.hlines(at, low, high, color=plots.VERMILION, lw=1)
            else:
                ax.plot(values, places, "|", ms=9, mew=1.4, color=plots.BLUE, label="fluid model")
        ax.set_yticks(places, [f"{first} : {second}" for first, second in printed])
        ax.set(xlabel="Share of the first", xlim=(0, 1))
        ax.axvline(0.5, color=plots.GREY, lw=0.8, ls=":")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4)
    return figure
