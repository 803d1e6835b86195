"""Figures that congestion-control papers draw, from a `Run`, ready for print.

Functions that draw one panel take and return a matplotlib `Axes` (`ax=None` makes a new one);
those that draw several return a `Figure`, which a notebook shows when it ends a cell. Colours are
those of Okabe and Ito, told apart by colour-blind readers; line styles tell them apart in print.
Draw inside `style()` to give other figures the same look.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError, unknown
from tcpcc.results.recording import EVENTS
from tcpcc.results.run import Run, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
)  # fmt: skip
GREY = "0.55"
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (1.6, 1)), (0, (6, 1.2, 1.4, 1.2)))

WIDTH = 6.9
"""Width of a figure, inches: the text width of a two-column paper."""


@contextmanager
def style() -> Iterator[None]:
    """The look shared by all figures, as a context manager."""
    import matplotlib as mpl
    from cycler import cycler

    settings: dict[Any, Any] = {
        "axes.axisbelow": True,
        "axes.grid": True,
        "axes.labelsize": 9,
        "axes.linewidth": 0.7,
        "axes.prop_cycle": cycler(color=PALETTE),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 9,
        "figure.constrained_layout.use": True,
        "figure.dpi": 150,
        "figure.figsize": (WIDTH, WIDTH * 0.42),
        "font.size": 9,
        "grid.color": "0.9",
        "grid.linewidth": 0.6,
        "legend.borderaxespad": 0.2,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "legend.handlelength": 2.2,
        "lines.linewidth": 1.2,
        "pdf.fonttype": 42,  # text stays text, as publishers ask
        "savefig.dpi": 300,
        "xtick.labelsize": 8,
        "xtick.major.width": 0.7,
        "ytick.labelsize": 8,
        "ytick.major.width": 0.7,
    }
    with mpl.rc_context(settings):
        yield


def cwnd(
    run: Run,
    ax: Axes | None = None,
    *,
    flows: Selection = None,
    after: float = 0.0,
    before: float | None = None,
    ssthresh: bool = False,
) -> Axes:
    """Congestion windows over time, packets.

    Args:
        run: to draw.
        ax: to draw on. Default: a new figure.
        flows: which, as in `Run.select`. Default: all that have a window.
        after, before: the window of time, s.
        ssthresh: draw the slow-start thresholds too, thin and dotted.
    """
    with style():
        ax = ax or _new_axes()
        times, bins = _times(run, after, before)
        windows = run.data["cwnd"].values[bins]
        thresholds = run.data["ssthresh"].values[bins]
        names = _controlled(run) if flows is None else run.select(flows)
        for members, look in _groups(run, names):
            crowd: dict[str, Any] = {"lw": 0.6, "alpha": 0.6} if len(members) > 1 else {}
            columns = [run.flows.index(name) for name in members]
            label = look.pop("label")
            lines = ax.plot(times, windows[:, columns], **look, **crowd)
            lines[0].set_label(label)
            for column in columns if ssthresh else ():
                there = np.isfinite(thresholds[:, column]) & ~np.isnan(windows[:, column])
                threshold = np.where(there, thresholds[:, column], np.nan)
                ax.plot(times, threshold, color=look["color"], lw=0.7, ls=":")
        _dress(ax, run, "Window (packets)", after, before)
        _legend(ax)
    return ax


def queue(
    run: Run,
    ax: Axes | None = None,
    *,
    link: str | None = None,
    after: float = 0.0,
    before: float | None = None,
) -> Axes:
    """Packets waiting at a link: the mean of each bin, the largest shaded, the buffer dashed.

    Args:
        run: to draw.
        ax: to draw on. Default: a new figure.
        link: name. Default: the first that was recorded.
        after, before: the window of time, s.
    """
    with style():
        ax = ax or _new_axes()
        times, bins = _times(run, after, before)
        one = run.data.sel(link=run.queue(link)["link"])
        mean, peak = one["queue"].values[bins], one["queue_max"].values[bins]
        ax.fill_between(times, mean, peak, color=BLUE, alpha=0.25, lw=0, label="largest")
        ax.plot(times, mean, color=BLUE, lw=1, label="mean")
        room = float(one["buffer"])
        top = float(np.nanmax(peak, initial=1.0))
        if str(one["buffer_unit"].item()) == "packets" and room <= 2 * top:
            ax.axhline(room, color=BLACK, lw=0.8, ls=DASHES[1], label="buffer")
        _dress(ax, run, "Queue (packets)", after, before)
        _legend(ax)
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
    """Throughput of flows over time, with the capacity of a link dashed.

    With more flows than there are colours, the sum over those of each controller.

    Args:
        run: to draw.
        ax: to draw on. Default: a new figure.
        flows: which, as in `Run.select`. Default: all, CBR included.
        width: of the averaging windows, s. Default: a hundredth of the run.
        after, before: the window of time, s.
        payload: count the data only, without headers.
        link: whose capacity is drawn. Default: the first that was recorded, if any.
    """
    with style():
        ax = ax or _new_axes()
        names = run.select(flows)
        series = run.throughput_series(run.duration / 100 if width is None else width, payload)
        ends = series["time"].values
        middles = ends - np.diff(ends, prepend=0.0) / 2
        times, bins = _times(run, after, before)
        shown = (ends > after) & (middles < times[-1])
        capacity = _capacity(run, link)[bins]
        drawn = [
            (series.sel(flow=members).sum("flow").values[shown], look)
            for members, look in _groups(run, names)
        ]
        top = max(float(np.max(rate, initial=0.0)) for rate, _ in drawn)
        scale, unit = _rate_unit(max(top, float(np.nanmax(capacity, initial=0.0))))
        for rate, look in drawn:
            ax.plot(middles[shown], rate / scale, **look)
        if np.isfinite(capacity).all():
            ax.plot(times, capacity / scale, color=BLACK, lw=0.8, ls=DASHES[1], label="link")
        _dress(ax, run, f"{'Goodput' if payload else 'Throughput'} ({unit})", after, before)
        _legend(ax)
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
    """Window of flow `b` against that of flow `a`; colour is time, the dashed line is equality.

    After D.-M. Chiu and R. Jain, Analysis of the increase and decrease algorithms for congestion
    avoidance in computer networks, 1989, figure 4.

    Args:
        run: to draw.
        a, b: names of two flows.
        ax: to draw on. Default: a new figure.
        after, before: the window of time, s.
    """
    from matplotlib.collections import LineCollection

    with style():
        ax = ax or _new_axes((WIDTH * 0.55, WIDTH * 0.45))
        times, bins = _times(run, after, before)
        x, y = (run.data["cwnd"].sel(flow=_one(run, name)).values[bins] for name in (a, b))
        both = ~(np.isnan(x) | np.isnan(y))
        if not both.any():
            raise ScenarioError(f"flows {a!r} and {b!r}: never active together in this window")
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
        _legend(ax)
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
    """Window, queue and throughput above one another, as in Figure 2 of the Quick Vegas paper.

    Thin vertical lines mark when flows start and stop. The queue is left out when no link was
    recorded.

    Args:
        run: to draw.
        flows: which, as in `Run.select`. Default: all.
        link: whose queue and capacity are drawn. Default: the first that was recorded.
        width: of the throughput's averaging windows, s. Default: a hundredth of the run.
        after, before: the window of time, s.
        title: over the figure.
    """
    import matplotlib.pyplot as plt

    with style():
        rows = 3 if run.links else 2
        figure, axes = plt.subplots(rows, 1, sharex=True, figsize=(WIDTH, 1.65 * rows + 0.3))
        windows = None if flows is None else [f for f in run.select(flows) if f in _controlled(run)]
        cwnd(run, axes[0], flows=windows, after=after, before=before)
        if run.links:
            queue(run, axes[1], link=link, after=after, before=before)
        throughput(run, axes[-1], flows=flows, width=width, after=after, before=before, link=link)
        for ax in axes:
            _mark_lives(run, ax, after, run.duration if before is None else before)
            ax.label_outer()
        figure.align_ylabels(axes)
        if title:
            figure.suptitle(title, fontsize=10)
        return _finished(figure)


def vegas_trace(
    run: Run,
    flow: str,
    *,
    after: float = 0.0,
    before: float | None = None,
    link: str | None = None,
) -> Figure:
    """The trace graph of Brakmo and Peterson's Vegas paper for one flow; needs a traced run.

    Windows: the congestion window (thick), the slow-start threshold (dashed) and what is in
    transit (thin); marks at the top are packets sent, with the number of the packet, marks at the
    bottom are ACKs; vertical lines stand where a packet was first sent that had to be sent again,
    circles where the timer expired. Below: the sending rate over the last 12 packets; Expected
    and Actual rates with the band from alpha to beta, for a controller that has these; the queue.

    Args:
        run: made with `trace=True`.
        flow: name.
        after, before: the window of time, s. A few seconds are readable.
        link: whose queue is drawn. Default: the first that was recorded, if any.
    """
    import matplotlib.pyplot as plt

    if run.events is None:
        raise ScenarioError("vegas_trace: the run has no events; simulate with trace=True")
    index = run.flows.index(_one(run, flow))
    thresholds = _vegas_thresholds(run, index)
    events = run.events[run.events["flow"] == index]
    with style():
        rows = 2 + (thresholds is not None) + bool(run.links)
        heights = [2.6, *[1.2] * (rows - 1)]
        figure, axes = plt.subplots(
            rows, 1, sharex=True, figsize=(WIDTH, 1.1 * sum(heights)), height_ratios=heights
        )
        rest = iter(axes[1:])
        _trace_windows(run, axes[0], index, events, after, before)
        _trace_rate(run, next(rest), index, events, after, before)
        if thresholds is not None:
            _trace_cam(run, next(rest), index, thresholds, after, before)
        if run.links:
            queue(run, next(rest), link=link, after=after, before=before)
        for ax in axes:
            ax.label_outer()
        figure.align_ylabels(axes)
        return _finished(figure)


# The panels of the trace.


def _trace_windows(
    run: Run, ax: Axes, index: int, events: NDArray[Any], after: float, before: float | None
) -> None:
    times, bins = _times(run, after, before)
    last = run.duration if before is None else before
    window = run.data["cwnd"].values[bins, index]
    threshold = run.data["ssthresh"].values[bins, index]
    in_transit_times, in_transit = _in_transit(events)
    top = 1.25 * float(np.nanmax(window, initial=2.0))
    near = np.where(threshold <= 2 * top, threshold, np.nan)
    ax.plot(times, window, color="0.72", lw=2.6, solid_capstyle="butt", label="congestion window")
    if not np.isnan(near).all():
        ax.plot(times, near, color=VERMILION, lw=1, ls=DASHES[1], label="threshold")
    shown = (in_transit_times > after) & (in_transit_times <= last)
    ax.plot(
        in_transit_times[shown], in_transit[shown],
        color=BLUE, lw=0.8, drawstyle="steps-post", label="in transit",
    )  # fmt: skip
    first_sent = {int(e["seq"]): float(e["time"]) for e in _of(events, "send")}
    lost = {first_sent.get(int(e["seq"]), math.nan) for e in _of(events, "retransmit")}
    for k, moment in enumerate(sorted(t for t in lost if after < t <= last)):
        ax.axvline(moment, color=PURPLE, lw=0.7, zorder=0, label="" if k else "lost packet sent")
    edge = ax.get_xaxis_transform()
    marks: dict[str, Any] = {"transform": edge, "ls": "", "clip_on": False, "rasterized": True}
    for kinds, y, colour in ((("send", "retransmit"), 1.0, BLACK), (("ack", "dupack"), 0.0, GREEN)):
        moments = _of(events, *kinds)["time"]
        moments = moments[(moments > after) & (moments <= last)]
        ax.plot(moments, np.full(moments.size, y), "|", color=colour, ms=6, mew=0.5, **marks)
    expired = _of(events, "timeout")["time"]
    expired = expired[(expired > after) & (expired <= last)]
    if expired.size:
        marks |= {"mfc": "none", "label": "timeout"}
        ax.plot(expired, np.full(expired.size, 0.93), "o", color=VERMILION, ms=5, **marks)
    sends = _of(events, "send")
    sends = sends[(sends["time"] > after) & (sends["time"] <= last)]
    for e in sends[_every(sends["seq"], 12)]:
        ax.annotate(
            f"{e['seq']}", (e["time"], 1.0), (0, 5), xycoords=edge, textcoords="offset points",
            ha="center", fontsize=6.5, color="0.3", annotation_clip=False,
        )  # fmt: skip
    _dress(ax, run, "Windows (packets)", after, before)
    ax.set_ylim(0, top)
    _legend(ax, 1.07)  # clear of the packet numbers


def _trace_rate(
    run: Run, ax: Axes, index: int, events: NDArray[Any], after: float, before: float | None
) -> None:
    last = run.duration if before is None else before
    moments = _of(events, "send", "retransmit")["time"]
    span = moments[12:] - moments[:-12]
    bits = 12 * 8 * float(run.data["packet_size"][index])
    rate = np.divide(bits, span, out=np.full(span.size, np.nan), where=span > 0)
    shown = (moments[12:] > after) & (moments[12:] <= last)
    scale, unit = _rate_unit(float(np.nanmax(rate[shown], initial=1.0)))
    ax.plot(moments[12:][shown], rate[shown] / scale, color=BLACK, lw=0.8)
    _dress(ax, run, f"Sending rate\n({unit})", after, before)


def _trace_cam(
    run: Run, ax: Axes, index: int, thresholds: tuple[float, float],
    after: float, before: float | None,
) -> None:  # fmt: skip
    times, bins = _times(run, after, before)
    window, rtt = (run.data[v].values[:, index] for v in ("cwnd", "rtt"))
    base = np.fmin.accumulate(rtt)
    expected, actual, base = (window / base)[bins], (window / rtt)[bins], base[bins]
    alpha, beta = thresholds
    ax.fill_between(
        times, expected - beta / base, expected - alpha / base,
        color=ORANGE, alpha=0.35, lw=0, label=f"{alpha:g} to {beta:g} packets less",
    )  # fmt: skip
    ax.plot(times, expected, color=GREY, lw=1.6, label="Expected")
    ax.plot(times, actual, color=BLACK, lw=0.9, label="Actual")
    _dress(ax, run, "Rates\n(packets/s)", after, before)
    _legend(ax)


def _vegas_thresholds(run: Run, index: int) -> tuple[float, float] | None:
    """Alpha and beta of the flow's controller, packets; None when it has no such parameters."""
    params = run.scenario.resolve().flows[index].params
    return (params["alpha"], params["beta"]) if {"alpha", "beta"} <= set(params) else None


def _in_transit(events: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Packets sent and not yet acknowledged after each event, and the times of these."""
    moves = _of(events, "send", "ack")
    sent = moves["event"] == EVENTS.index("send")
    highest = np.maximum.accumulate(np.where(sent, moves["seq"] + 1, 0))
    wanted = np.maximum.accumulate(np.where(sent, 0, moves["seq"]))
    return moves["time"], highest - wanted


def _of(events: NDArray[Any], *kinds: str) -> NDArray[Any]:
    return events[np.isin(events["event"], [EVENTS.index(kind) for kind in kinds])]


def _every(numbers: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Marks about `count` of the packet numbers, all multiples of a round number."""
    span = float(np.ptp(numbers)) if numbers.size else 0.0
    power = 10.0 ** math.floor(math.log10(max(span / count, 1.0)))
    step = next(int(power * m) for m in (1, 2, 5, 10) if power * m * count >= span)
    return np.asarray(numbers % step == 0)


# What the panels share.


def _new_axes(size: tuple[float, float] | None = None) -> Axes:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size)[1]


def _finished(figure: Figure) -> Figure:
    """The figure, forgotten by pyplot where a notebook would otherwise show it twice."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    if "inline" in mpl.get_backend():
        plt.close(figure)
    return figure


def _times(run: Run, after: float, before: float | None) -> tuple[NDArray[np.float64], slice]:
    bins, _ = run._window(after, before)
    return run.data["time"].values[bins], bins


def _one(run: Run, name: str) -> str:
    if name not in run.flows:
        raise unknown("flow", name, run.flows)
    return name


def _controlled(run: Run) -> list[str]:
    kinds = run.data["controller"].values
    return [name for name, kind in zip(run.flows, kinds, strict=True) if kind != "cbr"]


def _groups(run: Run, names: Sequence[str]) -> list[tuple[list[str], dict[str, Any]]]:
    """Flows that are drawn alike, and how: each by itself, or a crowd by controller."""
    kinds = dict(zip(run.flows, (str(k) for k in run.data["controller"].values), strict=True))
    controlled = _controlled(run)
    groups: dict[str, list[str]] = {name: [name] for name in names}
    order = controlled if len(controlled) <= len(PALETTE) else list(names)
    if len(names) > len(PALETTE):
        order = list(dict.fromkeys(kinds[name] for name in controlled))
        groups = {kind: [n for n in names if kinds[n] == kind] for kind in [*order, "cbr"]}
    result = []
    for label, members in groups.items():
        if not members:
            continue
        k = order.index(label) if label in order and kinds[members[0]] != "cbr" else -1
        look: dict[str, Any] = {"color": GREY, "ls": "-"}
        if k >= 0:
            look = {"color": PALETTE[k % len(PALETTE)], "ls": DASHES[k % len(DASHES)]}
        many = f" ({len(members)} flows)" if len(members) > 1 else ""
        result.append((members, look | {"label": label + many}))
    return result


def _capacity(run: Run, link: str | None) -> NDArray[np.float64]:
    """Rate of a link in each bin, bit/s; NaN where there is none to draw."""
    ends = run.data["time"].values
    if not run.links:
        return np.full(ends.size, np.nan)
    bits = run.data["capacity"].sel(link=run.queue(link)["link"]).values
    rate = bits / np.diff(ends, prepend=0.0)
    return np.where(np.isfinite(rate), rate, np.nan)


def _rate_unit(largest: float) -> tuple[float, str]:
    for scale, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if largest >= scale:
            return scale, unit
    return 1.0, "bit/s"


def _dress(ax: Axes, run: Run, label: str, after: float, before: float | None) -> None:
    ax.set(
        xlabel="Time (s)", ylabel=label, xlim=(after, run.duration if before is None else before)
    )
    ax.set_ylim(bottom=0)


def _legend(ax: Axes, height: float = 1.0) -> None:
    """Labels in one row above the panel, at `height` in units of it; none for a single line."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    if len(handles) < 2:
        return
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, height)}
    for handle in ax.legend(handles, labels, ncols=len(labels), **place).legend_handles:
        if isinstance(handle, Line2D) and handle.get_alpha():
            handle.set(alpha=1, linewidth=1.2)


def _mark_lives(run: Run, ax: Axes, after: float, before: float) -> None:
    """Thin lines where flows and CBR sources start and stop, unless there are more than 8."""
    moments = {float(t) for t in np.append(run.data["start"].values, run.data["stop"].values)}
    inside = sorted(t for t in moments if after < t < before)
    for moment in inside if len(inside) <= 8 else ():
        ax.axvline(moment, color=GREY, lw=0.7, ls=":", zorder=0)
