"""Graphs of one connection's trace, as in Brakmo and Peterson (JSAC 13(8), 1995)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError
from tcpcc.results.flow_rows import recorded_rows
from tcpcc.results.plot_style import (
    BLACK,
    BLUE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    WIDTH,
    dress,
    finished,
    legend,
    one,
    queue_label,
    rate_unit,
    shown_link,
    style,
)
from tcpcc.results.recording import EVENTS, TRACED
from tcpcc.results.run import Run, Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PACKETS = 12
"""Number of packets over which the sending rate is computed, as in the paper."""
COARSE = 0.1
"""Clock ticks are drawn if their interval is at least this long, s."""


def vegas_trace(
    run: Run,
    flow: str,
    *,
    after: float = 0.0,
    before: float | None = None,
    link: str | None = None,
    traffic: Selection = None,
    output: bool = False,
    window: float = 0.1,
) -> Figure:
    """Draw the graphs of the Vegas paper for one traced connection.

    Panels, from top to bottom:

    1. Windows: the congestion window (thick, light), the receiver's window (dark), the slow-start
       threshold (dashed), the packets in transit (thin). Marks at the top are packets sent, with
       packet numbers; marks at the bottom are ACKs. Vertical lines mark the first transmission of
       packets that were retransmitted, circles mark timeouts, diamonds the ticks of a coarse clock.
    2. Sending rate, over the last 12 packets.
    3. Congestion avoidance, if the controller records `decided`, `expected` and `actual`: both
       rates of the last round and a mark for each decision. If it has parameters `alpha` and
       `beta`, lines `alpha` and `beta` packets below Expected bound the range for Actual.
    4. Rate of other traffic, if requested.
    5. Queue.
    6. Output of the link, if requested: its rate of sending, and dotted its capacity.

    Args:
        run: a run made with `trace=True`, or with this flow's name.
        flow: name of the flow.
        after, before: time window, s. A few seconds are readable.
        link: link whose queue and output are drawn. Default: the first recorded link, if any.
        traffic: other flows or workloads whose total sending rate is drawn: thin in intervals of
            `window`, thick as the mean over three intervals.
        output: draw the output of the link in the same way.
        window: averaging interval for `traffic` and `output`, s.

    Raises:
        ScenarioError: the flow was not traced.
    """
    import matplotlib.pyplot as plt

    index = run.flows.index(one(run, flow))
    events = _events(run, index, flow)
    names = events.dtype.names or ()
    panels: list[tuple[float, Any]] = [
        (2.6, lambda ax: _windows(run, ax, index, events, after, before)),
        (1.1, lambda ax: _rate(run, ax, index, events, after, before)),
    ]
    if {"decided", "expected", "actual"} <= set(names) and not np.isnan(events["expected"]).all():
        panels.append((1.3, lambda ax: _avoidance(run, ax, index, events, after, before)))
    if traffic is not None:
        panels.append((1.1, lambda ax: _traffic(run, ax, traffic, window, after, before)))
    if run.links:
        panels.append((1.1, lambda ax: _queue(run, ax, link, after, before)))
        if output:
            panels.append((1.1, lambda ax: _output(run, ax, link, window, after, before)))
    heights = [height for height, _ in panels]
    with style():
        figure, axes = plt.subplots(
            len(panels), 1, sharex=True, figsize=(WIDTH, 1.1 * sum(heights)), height_ratios=heights
        )
        for ax, (_, draw) in zip(axes, panels, strict=True):
            draw(ax)
            ax.label_outer()
        figure.align_ylabels(axes)
        return finished(figure)


def _events(run: Run, index: int, flow: str) -> NDArray[Any]:
    if run.events is None:
        raise ScenarioError(f"flow {flow!r} was not traced: simulate with trace=True")
    events = run.events[run.events["flow"] == index]
    if not len(events):
        raise ScenarioError(f"flow {flow!r} was not traced: simulate with trace={flow!r}")
    if not set(TRACED) <= set(events.dtype.names or ()):
        raise ScenarioError("the trace of an older version has no windows: simulate again")
    return events


def _span(run: Run, before: float | None) -> float:
    return run.duration if before is None else before


def _windows(
    run: Run, ax: Axes, index: int, events: NDArray[Any], after: float, before: float | None
) -> None:
    last = _span(run, before)
    sender = events[~np.isnan(events["cwnd"])]
    # values are valid until the next event: start with the last event before the span
    shown = slice(max(int(np.searchsorted(sender["time"], after)) - 1, 0), None)
    sender = sender[shown][sender["time"][shown] <= last]
    top = 1.25 * float(np.nanmax(np.maximum(sender["cwnd"], sender["in_transit"]), initial=2.0))
    steps: dict[str, Any] = {"drawstyle": "steps-post"}
    look: dict[str, Any] = {"color": "0.75", "lw": 2.6, "solid_capstyle": "butt"}
    ax.plot(sender["time"], sender["cwnd"], label="congestion window", **steps, **look)
    allowed = _allowed(run, index)
    if allowed <= 4 * top:
        top = max(top, 1.1 * allowed)
        ax.axhline(allowed, color="0.35", lw=1.4, label="receiver's window")
    threshold = np.where(sender["ssthresh"] <= 2 * top, sender["ssthresh"], np.nan)
    if not np.isnan(threshold).all():
        ax.plot(
            sender["time"], threshold,
            color=VERMILION, lw=1, ls=DASHES[1], label="threshold", **steps,
        )  # fmt: skip
    ax.plot(sender["time"], sender["in_transit"], color=BLUE, lw=0.8, label="in transit", **steps)
    for k, moment in enumerate(_first_sent(events, after, last)):
        ax.axvline(moment, color=PURPLE, lw=0.7, zorder=0, label="" if k else "lost packet sent")
    _marks(run, ax, index, events, after, last)
    dress(ax, run, "Windows (packets)", after, before)
    ax.set_ylim(0, top)
    legend(ax, 1.07, columns=4)  # clear of the packet numbers


def _marks(run: Run, ax: Axes, index: int, events: NDArray[Any], after: float, last: float) -> None:
    """Draw marks along the edges: packets, ACKs, timeouts, ticks of a coarse clock."""
    edge = ax.get_xaxis_transform()
    place: dict[str, Any] = {"transform": edge, "ls": "", "clip_on": False, "rasterized": True}
    for kinds, y, colour in ((("send", "retransmit"), 1.0, BLACK), (("ack", "dupack"), 0.0, GREEN)):
        moments = _inside(_of(events, *kinds)["time"], after, last)
        ax.plot(moments, np.full(moments.size, y), "|", color=colour, ms=6, mew=0.5, **place)
    expired = _inside(_of(events, "timeout")["time"], after, last)
    place["mfc"] = "none"
    if expired.size:
        height = np.full(expired.size, 0.93)
        ax.plot(expired, height, "o", color=VERMILION, ms=5, label="timeout", **place)
    ticks = _ticks(run, index, after, last)
    if ticks.size:
        height = np.full(ticks.size, 0.97)
        ax.plot(ticks, height, "D", color=GREY, ms=2.5, mew=0.6, label="clock ticks", **place)
    sends = _of(events, "send")
    sends = sends[(sends["time"] > after) & (sends["time"] <= last)]
    for event in sends[_every(sends["seq"], 12)]:
        ax.annotate(
            f"{event['seq']}", (event["time"], 1.0), (0, 5), xycoords=edge,
            textcoords="offset points", ha="center", fontsize=6.5, color="0.3",
            annotation_clip=False,
        )  # fmt: skip


def _allowed(run: Run, index: int) -> float:
    """The receiver's window, packets."""
    return float(recorded_rows(run)[index].tcp.transport.rwnd)


def _ticks(run: Run, index: int, after: float, last: float) -> NDArray[np.float64]:
    """Times of the ticks of a coarse clock, s."""
    settings = recorded_rows(run)[index].tcp.transport
    if settings.tick < COARSE:
        return np.empty(0)
    first = math.floor((after + settings.clock_phase) / settings.tick)
    final = math.ceil((last + settings.clock_phase) / settings.tick)
    return _inside(np.arange(first, final + 1) * settings.tick - settings.clock_phase, after, last)


def _first_sent(events: NDArray[Any], after: float, last: float) -> list[float]:
    """Times of the first transmission of packets that were retransmitted, in order, s."""
    first = {int(e["seq"]): float(e["time"]) for e in _of(events, "send")}
    lost = {first.get(int(e["seq"]), math.nan) for e in _of(events, "retransmit")}
    return sorted(t for t in lost if after < t <= last)


def _rate(
    run: Run, ax: Axes, index: int, events: NDArray[Any], after: float, before: float | None
) -> None:
    moments = _of(events, "send", "retransmit")["time"]
    span = moments[PACKETS:] - moments[:-PACKETS]
    bits = PACKETS * 8 * float(run.data["packet_size"][index])
    rate = np.divide(bits, span, out=np.full(span.size, np.nan), where=span > 0)
    shown = (moments[PACKETS:] > after) & (moments[PACKETS:] <= _span(run, before))
    scale, unit = rate_unit(float(np.nanmax(rate[shown], initial=1.0)))
    ax.plot(moments[PACKETS:][shown], rate[shown] / scale, color=BLACK, lw=0.8)
    dress(ax, run, f"Sending rate\n({unit})", after, before)


def _avoidance(
    run: Run, ax: Axes, index: int, events: NDArray[Any], after: float, before: float | None
) -> None:
    sender = events[events["expected"] > 0]
    rounds = sender[np.flatnonzero(np.diff(sender["decided"], prepend=-1.0))]
    bits = 8 * float(run.data["packet_size"][index])
    shown = (rounds["time"] > after) & (rounds["time"] <= _span(run, before))
    scale, unit = rate_unit(float(np.max(rounds["expected"][shown], initial=1.0)) * bits)
    steps: dict[str, Any] = {"drawstyle": "steps-post"}
    times, expected = rounds["time"], rounds["expected"] * bits / scale
    ax.plot(times, expected, color=GREY, lw=1.8, label="Expected", **steps)
    params = recorded_rows(run)[index].params
    if {"alpha", "beta", "base_rtt"} <= {*params, *(rounds.dtype.names or ())}:
        for name, dashes in (("alpha", DASHES[1]), ("beta", DASHES[2])):
            line = expected - params[name] * bits / scale / rounds["base_rtt"]
            label = rf"$\{name}$ = {params[name]:g}"
            ax.plot(times, line, color=ORANGE, lw=0.9, ls=dashes, label=label, **steps)
    ax.plot(times, rounds["actual"] * bits / scale, color=BLACK, lw=0.9, label="Actual", **steps)
    edge: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ls": "", "clip_on": False}
    moments = times[shown]
    ax.plot(moments, np.zeros(moments.size), "|", color=GREEN, ms=6, mew=0.5, **edge)
    dress(ax, run, f"Avoidance\n({unit})", after, before)
    legend(ax)


def _traffic(
    run: Run, ax: Axes, traffic: Selection, window: float, after: float, before: float | None
) -> None:
    chosen = run.select(traffic)
    bits = run.data["sent"].sel(flow=chosen) * run.data["packet_size"].sel(flow=chosen) * 8
    unit = _averaged(run, ax, bits.sum("flow").values, window)[1]
    dress(ax, run, f"Other traffic\n({unit})", after, before)


def _output(
    run: Run, ax: Axes, link: str | None, window: float, after: float, before: float | None
) -> None:
    at = run.data.sel(link=shown_link(run, link))
    lengths = np.diff(run.data["time"].values, prepend=0.0)
    capacity = float(at["rate"])
    scale, unit = _averaged(run, ax, at["busy"].values * lengths * capacity, window)
    ax.axhline(capacity / scale, color=GREY, lw=0.7, ls=":")
    dress(ax, run, f"Output\n({unit})", after, before)


def _averaged(run: Run, ax: Axes, bits: NDArray[Any], window: float) -> tuple[float, str]:
    """Draw the rate of `bits` per bin, and its mean over three windows; returns the unit."""
    sums = np.append(0.0, np.cumsum(bits))
    edges = np.arange(0.0, run.duration + 0.5 * window, window)
    rate = np.diff(np.interp(edges, np.append(0.0, run.data["time"].values), sums)) / window
    scale, unit = rate_unit(float(np.max(rate, initial=1.0)))
    middle = (edges[1:] + edges[:-1]) / 2
    mean = np.convolve(rate, np.full(3, 1 / 3), mode="same")
    ax.plot(middle, rate / scale, color=GREY, lw=0.6)
    ax.plot(middle[1:-1], mean[1:-1] / scale, color=BLACK, lw=1.3)
    return scale, unit


def _queue(run: Run, ax: Axes, link: str | None, after: float, before: float | None) -> None:
    """Draw the mean queue of each bin, the maximum in pale, and crosses at drops."""
    name = shown_link(run, link)
    at = run.data.sel(link=name)
    times = at["time"].values
    ax.fill_between(times, at["queue_max"].values, step="pre", color="0.85", lw=0)
    ax.plot(times, at["queue"].values, color=BLACK, lw=0.8, drawstyle="steps-pre")
    drops = _inside(times[at["drops"].values > 0], after, _span(run, before))
    edge: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "ls": "", "clip_on": False}
    ax.plot(drops, np.ones(drops.size), "x", color=VERMILION, ms=3.5, mew=0.8, **edge)
    dress(ax, run, queue_label(run, name), after, before)


def _of(events: NDArray[Any], *kinds: str) -> NDArray[Any]:
    return events[np.isin(events["event"], [EVENTS.index(kind) for kind in kinds])]


def _inside(moments: NDArray[Any], after: float, last: float) -> NDArray[Any]:
    return moments[(moments > after) & (moments <= last)]


def _every(numbers: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Select about `count` of the packet numbers, all multiples of a round number."""
    span = float(np.ptp(numbers)) if numbers.size else 0.0
    power = 10.0 ** math.floor(math.log10(max(span / count, 1.0)))
    step = next(int(power * m) for m in (1, 2, 5, 10) if power * m * count >= span)
    return np.asarray(numbers % step == 0)
