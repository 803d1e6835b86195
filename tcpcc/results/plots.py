"""Publication-quality figures of a `Run`, as in papers on congestion control.

Functions that draw one panel take and return a matplotlib `Axes` (`ax=None` makes a new one).
Functions that draw several panels return a `Figure`, which a notebook shows if it ends a cell. The
colours are those of Okabe and Ito, distinguishable by colour-blind readers; line styles differ too,
for greyscale prints. Draw inside `style()` to give other figures the same style.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError
from tcpcc.results.comparison_plot import compare
from tcpcc.results.flow_rows import controllers, recorded_rows
from tcpcc.results.plot_style import (
    BLACK,
    BLUE,
    COLOURS,
    DASHES,
    FLUID_LOOK,
    GREEN,
    GREY,
    ORANGE,
    PACKET_LOOK,
    PALETTE,
    PUBLISHED_LOOK,
    PURPLE,
    REFERENCE_LOOK,
    SKY,
    VERMILION,
    WIDTH,
    colour,
    dress,
    finished,
    legend,
    look,
    new_axes,
    one,
    queue_label,
    rate_unit,
    shade,
    shown_link,
    style,
    times_of,
)
from tcpcc.results.run import Run, Selection
from tcpcc.results.topology_plot import topology, topology_height
from tcpcc.results.vegas_trace_plot import vegas_trace
from tcpcc.scenario.traffic import Flow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


__all__ = [
    "BLACK", "BLUE", "COLOURS", "DASHES", "FLUID_LOOK", "GREEN", "GREY", "ORANGE", "PACKET_LOOK",
    "PALETTE", "PUBLISHED_LOOK", "PURPLE", "REFERENCE_LOOK", "SKY", "VERMILION", "WIDTH",
    "basic_behaviour", "colour", "compare", "cwnd", "in_flight", "look", "phase_plane", "queue",
    "rate_unit", "rtt", "shade", "style", "throughput", "topology", "topology_height",
    "vegas_trace",
]  # fmt: skip


def cwnd(
    run: Run,
    ax: Axes | None = None,
    *,
    flows: Selection = None,
    after: float = 0.0,
    before: float | None = None,
    ssthresh: bool = False,
) -> Axes:
    """Draw congestion windows over time, packets.

    Args:
        run: the run.
        ax: axes to draw on. Default: a new figure.
        flows: flows to draw, as in `Run.select`. Default: all that have a window.
        after, before: time window, s.
        ssthresh: draw the slow-start thresholds too, as thin dotted lines.
    """
    dotted = None
    if ssthresh:
        window, dotted = (run.variable(name).values for name in ("cwnd", "ssthresh"))
        dotted = np.where(np.isfinite(dotted) & ~np.isnan(window), dotted, np.nan)
    return _lines(run, ax, "cwnd", 1.0, "Window (packets)", flows, after, before, dotted)


def rtt(
    run: Run,
    ax: Axes | None = None,
    *,
    flows: Selection = None,
    after: float = 0.0,
    before: float | None = None,
) -> Axes:
    """Draw the last RTT sample of each bin, ms.

    Args:
        run: the run.
        ax: axes to draw on. Default: a new figure.
        flows: flows to draw, as in `Run.select`. Default: all with a controller.
        after, before: time window, s.
    """
    return _lines(run, ax, "rtt", 1e3, "RTT (ms)", flows, after, before)


def in_flight(
    run: Run,
    ax: Axes | None = None,
    *,
    flows: Selection = None,
    after: float = 0.0,
    before: float | None = None,
) -> Axes:
    """Draw the packets that a capture shows to be sent and not acknowledged.

    Arguments are those of `rtt`; the run must be one of `tcpcc.traces.read_pcap` or the like.
    """
    return _lines(run, ax, "in_transit", 1.0, "In flight (packets)", flows, after, before)


def _lines(
    run: Run,
    ax: Axes | None,
    name: str,
    scale: float,
    label: str,
    flows: Selection,
    after: float,
    before: float | None,
    dotted: NDArray[np.float64] | None = None,
) -> Axes:
    """Draw a variable with the dimensions time and flow, times `scale`, and `dotted` below it."""
    with style():
        ax = ax or new_axes()
        times, bins = times_of(run, after, before)
        if name not in run.data:
            raise ScenarioError(f"{name}: not in this run: only traces of other programs have it")
        series = run.variable(name).values[bins] * scale
        names = _controlled(run) if flows is None else run.select(flows)
        for members, look in _groups(run, names):
            crowd: dict[str, Any] = {"lw": 0.6, "alpha": 0.6} if len(members) > 1 else {}
            columns = [run.flows.index(member) for member in members]
            text = look.pop("label")
            ax.plot(times, series[:, columns], **look, **crowd)[0].set_label(text)
            if dotted is not None:
                ax.plot(times, dotted[bins][:, columns], color=look["color"], lw=0.7, ls=":")
        dress(ax, run, label, after, before)
        legend(ax)
    return ax


def queue(
    run: Run,
    ax: Axes | None = None,
    *,
    link: str | None = None,
    after: float = 0.0,
    before: float | None = None,
) -> Axes:
    """Draw the packets waiting at a link: mean of each bin, maximum shaded, buffer dashed.

    Args:
        run: the run.
        ax: axes to draw on. Default: a new figure.
        link: name of the link. Default: the first recorded link.
        after, before: time window, s.
    """
    with style():
        ax = ax or new_axes()
        times, bins = times_of(run, after, before)
        name = shown_link(run, link)
        run.variable("queue")
        record = run.data.sel(link=name)
        mean, peak = record["queue"].values[bins], record["queue_max"].values[bins]
        ax.fill_between(times, mean, peak, color=BLUE, alpha=0.25, lw=0, label="largest")
        ax.plot(times, mean, color=BLUE, lw=1, label="mean")
        room = float(record["buffer"])
        top = float(np.nanmax(peak, initial=1.0))
        if str(record["buffer_unit"].item()) == "packets" and room <= 2 * top:
            ax.axhline(room, color=BLACK, lw=0.8, ls=DASHES[1], label="buffer")
        dress(ax, run, queue_label(run, name), after, before)
        legend(ax)
    return ax


def throughput(
    run: Run,
    ax: Axes | None = None,
    *,
    flows: Selection = None,
    width: float | None = None,
    after: float = 0.0,
    before: float | None = None,
    payload: bool = False,
    link: str | None = None,
) -> Axes:
    """Draw the throughput of flows over time, with the capacity of a link dashed.

    With more flows than colours, the sum over the flows of each controller is drawn.

    Args:
        run: the run.
        ax: axes to draw on. Default: a new figure.
        flows: flows to draw, as in `Run.select`. Default: all, including CBR.
        width: averaging time, s. Default: 1/100 of the run.
        after, before: time window, s.
        payload: count only the data, without headers.
        link: link whose capacity is drawn. Default: the first recorded link, if any.
    """
    with style():
        ax = ax or new_axes()
        names = run.select(flows)
        series = run.throughput_series(run.duration / 100 if width is None else width, payload)
        ends = series["time"].values
        middles = ends - np.diff(ends, prepend=0.0) / 2
        times, bins = times_of(run, after, before)
        shown = (ends > after) & (middles < times[-1])
        capacity = _capacity(run, link)[bins]
        drawn = [
            (series.sel(flow=members).sum("flow").values[shown], look)
            for members, look in _groups(run, names)
        ]
        top = max(float(np.max(rate, initial=0.0)) for rate, _ in drawn)
        scale, unit = rate_unit(max(top, float(np.nanmax(capacity, initial=0.0))))
        for rate, look in drawn:
            ax.plot(middles[shown], rate / scale, **look)
        if np.isfinite(capacity).all():
            ax.plot(
                times,
                capacity / scale,
                color=BLACK,
                lw=0.8,
                ls=DASHES[1],
                label=shown_link(run, link) if len(run.links) > 1 else "link",
            )
        dress(ax, run, f"{'Goodput' if payload else 'Throughput'} ({unit})", after, before)
        legend(ax)
    return ax


def phase_plane(
    run: Run,
    a: str,
    b: str,
    ax: Axes | None = None,
    *,
    after: float = 0.0,
    before: float | None = None,
) -> Axes:
    """Draw the window of flow `b` against that of flow `a`.

    Colour is time; the dashed line is equality. After D.-M. Chiu and R. Jain, Analysis of the
    increase and decrease algorithms for congestion avoidance in computer networks, 1989, figure 4.

    Args:
        run: the run.
        a, b: names of two flows.
        ax: axes to draw on. Default: a new figure.
        after, before: time window, s.
    """
    from matplotlib.collections import LineCollection

    with style():
        ax = ax or new_axes((WIDTH * 0.55, WIDTH * 0.45))
        times, bins = times_of(run, after, before)
        x, y = (run.data["cwnd"].sel(flow=one(run, name)).values[bins] for name in (a, b))
        both = ~(np.isnan(x) | np.isnan(y))
        if not both.any():
            raise ScenarioError(f"flows {a!r} and {b!r}: never active together in this time window")
        times, x, y = times[both], x[both], y[both]
        points = np.stack([x, y], axis=1)
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        path = LineCollection(list(pieces), cmap="viridis", lw=1.1, array=times[:-1])
        ax.add_collection(path)
        top = 1.06 * max(x.max(), y.max(), 1.0)
        ax.plot([0, top], [0, top], color=GREY, lw=0.8, ls=DASHES[1], zorder=1)
        ax.plot(x[0], y[0], "o", color=BLACK, mfc="white", ms=5, label="start", zorder=4)
        ax.plot(x[-1], y[-1], "o", color=BLACK, ms=5, label="end", zorder=4)
        ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
        ax.set(xlabel=f"Window of {a} (packets)", ylabel=f"Window of {b} (packets)")
        colours = ax.figure.colorbar(path, ax=ax, shrink=0.9, pad=0.02)
        colours.set_label("Time (s)")
        colours.outline.set_visible(False)
        legend(ax)
    return ax


def basic_behaviour(
    run: Run,
    *,
    flows: Selection = None,
    link: str | None = None,
    width: float | None = None,
    after: float = 0.0,
    before: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draw window, queue and throughput in three panels, as in Figure 2 of the Quick Vegas paper.

    Thin vertical lines mark the start and stop of flows. The queue is left out if no link was
    recorded. Of another program's trace the RTT is drawn in place of the queue, the packets in
    flight in place of a window that the trace does not contain.

    Args:
        run: the run.
        flows: flows to draw, as in `Run.select`. Default: all.
        link: link whose queue and capacity are drawn. Default: the first recorded link.
        width: averaging time of the throughput, s. Default: 1/100 of the run.
        after, before: time window, s.
        title: title of the figure.
    """
    import matplotlib.pyplot as plt

    with style():
        windows = None if flows is None else [f for f in run.select(flows) if f in _controlled(run)]
        span: dict[str, Any] = {"after": after, "before": before}
        panels = {
            "cwnd": partial(cwnd, flows=windows, **span),
            "in_transit": partial(in_flight, flows=windows, **span),
            "rtt": partial(rtt, flows=windows, **span),
            "queue": partial(queue, link=link, **span),
            "delivered": partial(throughput, flows=flows, width=width, link=link, **span),
        }
        unknown = {n for n, v in run.data.data_vars.items() if "missing" in v.attrs}
        if "source" not in run.data.attrs:
            unknown |= {"rtt", "in_transit"}
        elif "cwnd" not in unknown or "in_transit" not in run.data:
            unknown.add("in_transit")
        if not run.links:
            unknown.add("queue")
        drawn = [draw for name, draw in panels.items() if name not in unknown]
        rows = len(drawn)
        figure, grid = plt.subplots(
            rows, 1, sharex=True, squeeze=False, figsize=(WIDTH, 1.65 * rows + 0.3)
        )
        axes = grid[:, 0]
        for draw, ax in zip(drawn, axes, strict=True):
            draw(run, ax)
        for ax in axes:
            _mark_lives(run, ax, after, run.duration if before is None else before)
            ax.label_outer()
        figure.align_ylabels(axes)
        if title:
            figure.suptitle(title, fontsize=10)
        return finished(figure)


# Helpers.


def _controlled(run: Run) -> list[str]:
    return [name for name, kind in controllers(run).items() if kind != "cbr"]


def _groups(run: Run, names: Sequence[str]) -> list[tuple[list[str], dict[str, Any]]]:
    """Groups of flows and their line styles: single flows, or with many flows the controllers.

    Flows that the user has named are a group of their own, unless there are too many names.
    """
    kinds = controllers(run)
    counts = dict(zip(run.flows, run.data["count"].values.astype(int).tolist(), strict=True))
    controlled = _controlled(run)
    groups: dict[str, list[str]] = {name: [name] for name in names}
    order = controlled if len(controlled) <= len(PALETTE) else list(names)
    if len(names) > len(PALETTE):
        flow_names = _names_given(run)
        group_of = {name: flow_names.get(name, kind) for name, kind in kinds.items()}
        order = list(dict.fromkeys(group_of[name] for name in controlled))
        groups = {key: [n for n in names if group_of[n] == key] for key in [*order, "cbr"]}
    result = []
    for label, members in groups.items():
        if not members:
            continue
        k = order.index(label) if label in order and kinds[members[0]] != "cbr" else -1
        look: dict[str, Any] = {"color": GREY, "ls": "-"}
        if k >= 0:
            look = {"color": PALETTE[k % len(PALETTE)], "ls": DASHES[k % len(DASHES)]}
        number = sum(counts[name] for name in members)
        many = f" ({number} flows)" if number > 1 else ""
        result.append((members, look | {"label": label + many}))
    return result


def _names_given(run: Run) -> dict[str, str]:
    """The name that the user has given to a flow, by the name of each of its rows; no names if
    there are more than colours."""
    if "source" in run.data.attrs:  # a trace of another program
        return {}
    specs = dict(zip(run.flows, (row.spec for row in recorded_rows(run)), strict=True))
    flow_names = {
        name: spec.name
        for name, spec in specs.items()
        if isinstance(spec, Flow) and spec.name is not None
    }
    return flow_names if len(set(flow_names.values())) < len(PALETTE) else {}


def _capacity(run: Run, link: str | None) -> NDArray[np.float64]:
    """Rate of a link in each bin, bit/s; NaN if it is infinite or no link is recorded."""
    ends = run.data["time"].values
    if not run.links:
        return np.full(ends.size, np.nan)
    bits = run.data["capacity"].sel(link=shown_link(run, link)).values
    rate = bits / np.diff(ends, prepend=0.0)
    return np.where(np.isfinite(rate), rate, np.nan)


def _mark_lives(run: Run, ax: Axes, after: float, before: float) -> None:
    """Thin lines at the starts and stops of flows and CBR sources, unless there are more than 8."""
    moments = {float(t) for t in np.append(run.data["start"].values, run.data["stop"].values)}
    inside = sorted(t for t in moments if after < t < before)
    for moment in inside if len(inside) <= 8 else ():
        ax.axvline(moment, color=GREY, lw=0.7, ls=":", zorder=0)
