"""The Fusion paper's figures in its layout.

Each variant has a fixed colour; experiments/charts.py describes the styles of packets and fluid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments import charts
from experiments.harness import Cells, Runs
from experiments.measured_numbers import Measured
from experiments.tcp_fusion import scenarios as s
from experiments.tcp_fusion import tables as t
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

D_MIN = 4e-3
"""s: below this queueing delay Fusion's window grows fast; above three times this it falls."""

Numbers = Mapping[str, Cells]
"""Numbers by model."""

COLOURS, MARKERS = (
    {name: plots.look(kind)[k] for name, kind in {**s.VARIANTS, "FAST": "fast"}.items()}
    for k in (0, 1)
)


# Figure 1: window after a loss, computed from the algorithms' rules.


def draw_1(runs: Mapping[str, Runs]) -> Figure:
    ratios = np.linspace(1, 4, 301)
    looks = {
        "Reno": (COLOURS["Reno"], "-"),
        "Westwood": (plots.colour("westwood"), "-"),
        "ARENO, 1.5": (COLOURS["ARENO"], plots.DASHES[1]),
        "ARENO, 2": (COLOURS["ARENO"], "-"),
        "Fusion": (COLOURS["Fusion"], plots.DASHES[1]),
    }
    with charts.panels(width=0.75, height=plots.WIDTH * 0.45) as (figure, ax):
        for row, (controller, congested) in t.CURVES.items():
            colour, dashes = looks[row]
            label = row if "," not in row else f"{row.replace(', ', ', congested at ')} RTTmin"
            left = [t.reduction(controller, ratio, congested) for ratio in ratios]
            ax.plot(ratios, left, color=colour, ls=dashes, lw=2 if row == "Westwood" else 1.2,
                    alpha=0.5 if row == "Westwood" else 1, label=label)  # fmt: skip
        ax.set(
            xlabel="RTT / RTTmin",
            ylabel="Window after a loss / before",
            xlim=(1, 4),
            ylim=(0, 1.03),
        )
        charts.legend_above(figure, [ax], 2)
    return figure


# Figure 2: windows of Fusion and Reno.


def draw_2(runs: Mapping[str, Runs]) -> Figure:
    drawing = charts.panels(2, 1, sharex=True, height=plots.WIDTH * 0.5, height_ratios=(2, 1))
    with drawing as (figure, axes):
        for model, of_model in runs.items():
            data = of_model["half"].data
            times = data["time"].values
            for k, name in enumerate(("Fusion", "Reno")):
                look = charts.of_model(s.VARIANTS[name], model)
                look["label"] = f"{name}, {look['label']}"
                axes[0].plot(times, data["cwnd"].values[:, k], **look | {"lw": 1})
            of_queue: dict[str, Any] = charts.of_model("", model) | {"label": None}
            axes[1].plot(times, data["queue"].values[:, 0], **of_queue)
        axes[0].set_ylabel("Window (packets)")
        axes[1].set(xlabel="Time (s)", ylabel="Queue (packets)", xlim=(0, times[-1]))
        for ax in axes:
            ax.set_ylim(bottom=0)
        charts.legend_above(figure, axes)
        figure.align_ylabels(axes)
    return figure


def draw_band(runs: Mapping[str, Runs]) -> Figure:
    """Fusion's window in the fluid model, beside the windows with which d_min and 3 d_min queue.

    These are C (d + d_min) and C (d + 3 d_min), with the link's rate C and the base RTT d. Below
    the band the window grows fast, in it the window rests, until the Reno window overtakes it.
    Until 10 s half of the link is taken.
    """
    with charts.panels(1, 2, height=plots.WIDTH * 0.36) as (figure, axes):
        for k, (ax, (name, rate)) in enumerate(zip(axes, s.BAND_RATES.items(), strict=True)):
            run = runs["fluid"][name]
            base, packets = float(run.data["base_rtt"][0]), rate / (8 * s.PACKET)
            edges = [packets * (base + share * D_MIN) for share in (1, 3)]
            ax.axhspan(*edges, color=plots.GREY, alpha=0.25, lw=0, label="band, closed form")
            ax.plot(run.data["time"], run.data["cwnd"].isel(flow=0), color=COLOURS["Fusion"],
                    label="Fusion, fluid")  # fmt: skip
            full = packets * base + s.BUFFER * rate / 100e6
            ax.axhline(full, color=plots.BLACK, lw=0.8, ls=":", label="link and buffer full")
            ax.set(xlabel="Time (s)", xlim=(0, 120), ylim=(0, 1.08 * full))
            charts.title(ax, k, name)
        axes[0].set_ylabel("Window (packets)")
        charts.legend_above(figure, axes)
    return figure


# Curves against a variable.


def line(
    ax: Axes, x: Iterable[float], cells: Sequence[Measured], name: str, model: str,
    label: str | None = None,
) -> None:  # fmt: skip
    """Draw a variant's curve; fluid curves have no markers and no label (see `fluid_label`)."""
    of_packets = model == "packet"
    look: dict[str, Any] = {"color": COLOURS[name], "marker": MARKERS[name] if of_packets else ""}
    charts.curve(ax, list(x), cells, model, (label or name) if of_packets else None, **look)


def fluid_label(ax: Axes) -> None:
    """Add a legend entry for dashed lines."""
    ax.plot([], [], color=plots.GREY, ls=plots.DASHES[1], lw=0.9, label="fluid")


def of_losses(ax: Axes, top: float = 100.0) -> None:
    ax.set(xscale="log", xlabel="Random loss rate", ylim=(0, top))
    ax.set_xticks(list(s.LOSSES.values()))
    ax.minorticks_off()


def loss_cells(cells: Cells, row: str) -> list[Measured]:
    return [cells[row, loss] for loss in s.LOSSES]


def draw_4(numbers: Numbers) -> Figure:
    """Figure 4: goodput of one flow on a linear scale, as in the paper, and on a log scale."""
    losses = np.array(list(s.LOSSES.values()))
    with charts.panels(1, 2, height=plots.WIDTH * 0.42) as (figure, axes):
        for model, cells in numbers.items():
            for ax in axes:
                for variant in s.VARIANTS:
                    line(ax, losses, loss_cells(cells, variant), variant, model)
        law = t.root_law(losses)
        for ax in axes:
            of_losses(ax)
            ax.plot(
                losses, law, color=plots.GREY, lw=3, alpha=0.4, zorder=0, label=r"$1.22/\sqrt{2p}$"
            )
            ax.set_ylabel("Goodput (Mb/s)")
        axes[1].set(yscale="log", ylim=(0.2, 130))
        for k, (ax, scale) in enumerate(zip(axes, ("Linear", "Logarithmic"), strict=True)):
            charts.title(ax, k, f"{scale} scale")
        fluid_label(axes[0])
        charts.legend_above(figure, axes.flat, 5)
    return figure


def draw_lossy(variants: Sequence[str], numbers: Numbers) -> Figure:
    """Figures 5 and 6: a panel for each variant that shares the link with Reno."""
    losses = list(s.LOSSES.values())
    with charts.panels(1, len(variants), sharey=True, height=plots.WIDTH * 0.38) as (figure, axes):
        for k, (ax, variant) in enumerate(zip(axes, variants, strict=True)):
            for model, cells in numbers.items():
                line(ax, losses, loss_cells(cells, variant), variant, model)
                beside = loss_cells(cells, f"Reno beside {variant}")
                line(ax, losses, beside, "Reno", model, label="Reno beside the variant")
            of_losses(ax)
            ax.axhline(50, color=plots.GREY, lw=0.7, ls=":")
            charts.title(ax, k, variant)
        fluid_label(axes[0])
        axes[0].set_ylabel("Goodput (Mb/s)")
        charts.legend_above(figure, axes, 5)
    return figure


def draw_8(runs: Mapping[str, Runs]) -> Figure:
    """Figure 8: windows of three flows, a row for each variant and a column for each model.

    Six lines in one panel would not be readable.
    """
    variants = [v for v in s.VARIANTS if v != "Reno"]
    drawing = charts.panels(
        len(variants),
        len(runs),
        sharex=True,
        sharey=True,
        squeeze=False,
        height=1.05 * len(variants) + 0.6,
    )
    with drawing as (figure, axes):
        for column, (model, of_model) in zip(axes.T, runs.items(), strict=True):
            for k, (ax, variant) in enumerate(zip(column, variants, strict=True)):
                run = of_model[(variant,), 1]
                look = charts.of_model(s.VARIANTS[variant], model)
                for flow, colour in enumerate((plots.BLUE, plots.VERMILION, plots.GREEN)):
                    ax.plot(
                        run.data["time"], run.data["cwnd"].values[:, flow], color=colour, lw=0.8,
                        ls=look.get("ls", "-"), label=("first", "second", "third")[flow],
                    )  # fmt: skip
                charts.title(ax, k, f"{variant}, {look['label']}")
                ax.set(xlim=(0, run.duration))
        axes[0, 0].set_ylim(bottom=0)
        charts.outer_labels(axes, "Time (s)", "Window")
        charts.legend_above(figure, axes.flat)
    return figure


# Bars.


def draw_9(numbers: Numbers) -> Figure:
    """Figure 9: throughput ratio by variant, as points on a log scale because ranges are wide."""
    shades = (plots.SKY, plots.BLUE, plots.BLACK)
    with charts.panels(width=0.8, height=plots.WIDTH * 0.4) as (figure, ax):
        places = np.arange(len(s.VARIANTS))
        for model, cells in numbers.items():
            for k, longer in enumerate(s.LONGER):
                values = [cells[v, longer] for v in s.VARIANTS]
                at = places + 0.27 * (k - 1)
                look: dict[str, Any] = {
                    "color": shades[k],
                    "marker": "osD"[k],
                    "ls": "none",
                    "ms": 4.5,
                }
                middle = [v.value for v in values]
                if model == "packet":
                    ax.plot(at, middle, label=f"20 ms and {longer}", **look)
                    charts.ranges(ax, at, values, color=shades[k], lw=2.5, alpha=0.35)
                else:
                    ax.plot(at + 0.1, middle, **look, mfc="white", mew=1)
        ax.plot([], [], "o", ms=4.5, color=plots.GREY, label="packets")
        ax.plot([], [], "o", ms=4.5, color=plots.GREY, mfc="white", mew=1, label="fluid")
        ax.plot([], [], color=plots.GREY, lw=2.5, alpha=0.35, label="range over seeds")
        ax.set_xticks(places, list(s.VARIANTS))
        ax.set(yscale="log", ylim=(0.2, 150), ylabel="Goodput, short / long RTT")
        marks = (0.5, 1, 2, 5, 10, 20, 50, 100)
        ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
        ax.minorticks_off()
        ax.axhline(1, color=plots.GREY, lw=0.7, ls=":")
        charts.legend_above(figure, [ax], 3)
    return figure


def pairs_of_bars(ax: Axes, numbers: Numbers, variants: Sequence[str], column: str) -> None:
    """Draw a bar for each variant and one for the competing Reno flow, with ranges over seeds."""
    places = np.arange(len(variants))
    for model, cells in numbers.items():
        for shift, prefix, look in (
            (-0.2, "", {"color": [COLOURS[v] for v in variants], "label": None}),
            (0.2, "Reno beside ", {"color": COLOURS["Reno"], "label": "Reno beside the variant"}),
        ):
            values = [cells[prefix + v, column] for v in variants]
            hatch = {"hatch": "....", "ec": "white", "lw": 0} if prefix else {}
            charts.bars(ax, places + shift, values, 0.36, model, 9, alpha=0.8, **look, **hatch)
    ax.set_xticks(places, variants)


def draw_10(numbers: Numbers) -> Figure:
    with charts.panels(width=0.75, height=plots.WIDTH * 0.36) as (figure, ax):
        pairs_of_bars(ax, numbers, list(s.VARIANTS), "Route 2")
        ax.set_ylabel("Goodput (Mb/s)")
        charts.legend_above(figure, [ax])
    return figure


def draw_11(numbers: Numbers) -> Figure:
    """Figure 11: shares of the link, a panel for each rate."""
    with charts.panels(2, 2, sharex=True, sharey=True, height=plots.WIDTH * 0.6) as (figure, axes):
        for k, (ax, rate) in enumerate(zip(axes.flat, s.RATES, strict=True)):
            pairs_of_bars(ax, numbers, s.SIMULATED_VARIANTS, rate)
            charts.title(ax, k, rate)
            ax.tick_params(axis="x", labelrotation=35)
        charts.outer_labels(axes, y="Share of the link")
        charts.legend_above(figure, axes.flat, 3)
    return figure


def draw_13(numbers: Numbers) -> Figure:
    """Figure 13: goodput of the forward flows by hop count, without and with reverse traffic.

    The left bar of a variant is packets, the right, hatched bar is fluid.
    """
    shades = (("0.3", "0.55", "0.8"), ("#A23B00", "#E0722A", "#F6B98B"))
    colours, labels = {}, {}
    for kind, of_kind in (("Variant", shades[0]), ("Reno", shades[1])):
        for hops, shade in enumerate(of_kind, 1):
            colours[f"{kind}{hops}"] = shade
            labels[f"{kind}{hops}"] = (
                f"{kind.lower() if kind == 'Variant' else kind}, {hops} hop{'s' * (hops > 1)}"
            )
    with charts.panels(1, 2, sharey=True, height=plots.WIDTH * 0.48) as (figure, axes):
        places = np.arange(len(s.SIMULATED_VARIANTS))
        for k, (ax, reverse) in enumerate(zip(axes, s.TRAFFIC, strict=True)):
            for model, cells in numbers.items():
                bottom = np.zeros(len(places))
                for flow in t.FORWARD:
                    values = [cells[flow, f"{v} {reverse}"] for v in s.SIMULATED_VARIANTS]
                    heights = [v.value for v in values]
                    look: dict[str, Any] = {"color": colours[flow], "label": labels[flow]}
                    if model == "fluid":
                        look = {"color": colours[flow], "hatch": "////", "ec": "white", "lw": 0}
                    side = -0.2 if model == "packet" else 0.2
                    ax.bar(places + side, heights, 0.38, bottom=bottom, **look)
                    bottom += heights
            charts.title(ax, k, f"{reverse} reverse traffic")
            ax.set_xticks(places, s.SIMULATED_VARIANTS, rotation=35)
        if "fluid" in numbers:
            axes[0].bar(0, 0, color=plots.GREY, hatch="////", ec="white", label="fluid")
        axes[0].set_ylabel("Goodput (Mb/s)")
        charts.legend_above(figure, axes.flat, 4)
    return figure


# Comparison of packets and fluid.


def draw_models(numbers: Numbers) -> Figure:
    """Every variant: goodput with random loss, and share of the goodput with a Reno flow."""
    places = np.arange(len(s.FAMILY))[::-1]
    with charts.panels(1, 2, sharey=True, height=plots.WIDTH * 0.62) as (figure, axes):
        for ax, what in zip(axes, ("loss 1e-4", "beside Reno"), strict=True):
            for model, of_model in numbers.items():
                of_what = [of_model[v, what] for v in s.FAMILY]
                values = [cell.value for cell in of_what]
                if model == "packet":
                    ax.barh(places, values, 0.6, color=plots.SKY, alpha=0.7, label="packets")
                    charts.ranges(ax, places, of_what, across=True, color=plots.BLUE, lw=1.2)
                else:
                    ax.plot(values, places, "|", color=plots.BLACK, ms=11, mew=1.6, label="fluid")
            ax.set_xlim(left=0)
        axes[0].set_yticks(places, s.FAMILY)
        axes[0].grid(False, axis="y")
        axes[1].grid(False, axis="y")
        axes[0].set_xlabel("Goodput alone, loss rate 1e-4 (Mb/s)")
        axes[1].set(xlabel="Share beside Reno, no random loss", xlim=(0, 1))
        axes[1].axvline(0.5, color=plots.GREY, lw=0.8, ls=":")
        charts.legend_above(figure, axes)
    return figure


# Table 1, as shares.


def draw_table_1(numbers: Numbers) -> Figure:
    """Table 1: share of the first flow of each pair, with the published share and its tolerance."""
    printed = t.printed_shares()
    places = np.arange(len(printed))[::-1]
    with charts.panels(width=0.75, height=plots.WIDTH * 0.75) as (figure, ax):
        of_paper = np.array(list(printed.values()))
        near = t.share_tolerance()
        ax.barh(places, 2 * near, 0.5, of_paper - near, color="0.9", label="tolerance")
        ax.plot(of_paper, places, "o", ms=6, mfc="white", color=plots.BLACK, label="published")
        for model, of_model in numbers.items():
            cells = t.shares(of_model)
            values = [cells[pair].value for pair in printed]
            if model == "packet":
                ax.plot(values, places, "s", ms=4, color=plots.VERMILION, label="packets")
                of_pairs = [cells[pair] for pair in printed]
                charts.ranges(ax, places, of_pairs, across=True, color=plots.VERMILION, lw=1)
            else:
                ax.plot(values, places, "|", ms=9, mew=1.4, color=plots.BLUE, label="fluid")
        ax.set_yticks(places, [f"{first} : {second}" for first, second in printed])
        ax.set(xlabel="Share of the first flow", xlim=(0, 1))
        ax.axvline(0.5, color=plots.GREY, lw=0.8, ls=":")
        charts.legend_above(figure, [ax])
    return figure
