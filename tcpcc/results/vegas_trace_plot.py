"""Graphs of one connection's trace, as in Brakmo and Peterson (JSAC 13(8), 1995)."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

    from tcpcc.scenario.resolve import ResolvedFlow


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
    trace = _Trace(run, index, events, after, run.duration if before is None else before)
    panels: list[tuple[float, Any]] = [(2.6, trace.windows), (1.1, trace.rate)]
    names = set(events.dtype.names or ())
    if {"decided", "expected", "actual"} <= names and not np.isnan(events["expected"]).all():
        panels.append((1.3, trace.avoidance))
    if traffic is not None:
        panels.append((1.1, lambda ax: trace.traffic(ax, traffic, window)))
    if run.links:
        panels.append((1.1, lambda ax: trace.queue(ax, link)))
        if output:
            panels.append((1.1, lambda ax: trace.output(ax, link, window)))
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


@dataclass(frozen=True)
class _Trace:
    """The events of a connection, the flow number `index` of a run, and the time window (after,
    last], s. Its methods draw one panel each."""

    run: Run
    index: int
    events: NDArray[Any]
    after: float
    last: float

    @property
    def row(self) -> ResolvedFlow:
        """The flow in the scenario."""
        return recorded_rows(self.run)[self.index]

    def inside(self, moments: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each moment is in the time window."""
        return (moments > self.after) & (moments <= self.last)

    def dress(self, ax: Axes, label: str) -> None:
        dress(ax, self.run, label, self.after, self.last)

    def windows(self, ax: Axes) -> None:
        sender = self.events[~np.isnan(self.events["cwnd"])]
        # values are valid until the next event: start with the last event before the span
        shown = slice(max(int(np.searchsorted(sender["time"], self.after)) - 1, 0), None)
        sender = sender[shown][sender["time"][shown] <= self.last]
        top = 1.25 * float(np.nanmax(np.maximum(sender["cwnd"], sender["in_transit"]), initial=2.0))
        steps: dict[str, Any] = {"drawstyle": "steps-post"}
        look: dict[str, Any] = {"color": "0.75", "lw": 2.6, "solid_capstyle": "butt"}
        ax.plot(sender["time"], sender["cwnd"], label="congestion window", **steps, **look)
        allowed = float(self.row.tcp.transport.rwnd)
        if allowed <= 4 * top:
            top = max(top, 1.1 * allowed)
            ax.axhline(allowed, color="0.35", lw=1.4, label="receiver's window")
        threshold = np.where(sender["ssthresh"] <= 2 * top, sender["ssthresh"], np.nan)
        if not np.isnan(threshold).all():
            look = {"color": VERMILION, "lw": 1, "ls": DASHES[1], "label": "threshold"}
            ax.plot(sender["time"], threshold, **look, **steps)
        look = {"color": BLUE, "lw": 0.8, "label": "in transit"}
        ax.plot(sender["time"], sender["in_transit"], **look, **steps)
        for k, moment in enumerate(self.first_sent()):
            ax.axvline(
                moment, color=PURPLE, lw=0.7, zorder=0, label="" if k else "lost packet sent"
            )
        self.marks(ax)
        self.dress(ax, "Windows (packets)")
        ax.set_ylim(0, top)
        legend(ax, 1.07, columns=4)  # clear of the packet numbers

    def marks(self, ax: Axes) -> None:
        """Draw marks along the edges: packets, ACKs, timeouts, ticks of a coarse clock."""
        small: dict[str, Any] = {"ms": 6, "mew": 0.5, "rasterized": True}
        _at_edge(ax, self.of("send", "retransmit")["time"], 1.0, "|", color=BLACK, **small)
        _at_edge(ax, self.of("ack", "dupack")["time"], 0.0, "|", color=GREEN, **small)
        hollow: dict[str, Any] = {"mfc": "none", "rasterized": True}
        expired, ticks = self.of("timeout")["time"], self.ticks()
        if expired.size:
            _at_edge(ax, expired, 0.93, "o", color=VERMILION, ms=5, label="timeout", **hollow)
        if ticks.size:
            look: dict[str, Any] = {"ms": 2.5, "mew": 0.6, "label": "clock ticks", **hollow}
            _at_edge(ax, ticks, 0.97, "D", color=GREY, **look)
        sends = self.of("send")
        for event in sends[_every(sends["seq"], 12)]:
            ax.annotate(
                f"{event['seq']}", (event["time"], 1.0), (0, 5), textcoords="offset points",
                xycoords=ax.get_xaxis_transform(), ha="center", fontsize=6.5, color="0.3",
                annotation_clip=False,
            )  # fmt: skip

    def of(self, *kinds: str) -> NDArray[Any]:
        """The events of these kinds in the time window."""
        events = _of(self.events, *kinds)
        return events[self.inside(events["time"])]

    def ticks(self) -> NDArray[Any]:
        """Times of the ticks of a coarse clock, s."""
        settings = self.row.tcp.transport
        if settings.tick < COARSE:
            return np.empty(0)
        first = math.floor((self.after + settings.clock_phase) / settings.tick)
        final = math.ceil((self.last + settings.clock_phase) / settings.tick)
        ticks = np.arange(first, final + 1) * settings.tick - settings.clock_phase
        return ticks[self.inside(ticks)]

    def first_sent(self) -> list[float]:
        """Times of the first transmission of packets that were retransmitted, in order, s."""
        first = {int(e["seq"]): float(e["time"]) for e in _of(self.events, "send")}
        lost = {first.get(int(e["seq"]), math.nan) for e in _of(self.events, "retransmit")}
        return sorted(t for t in lost if self.after < t <= self.last)

    def rate(self, ax: Axes) -> None:
        moments = _of(self.events, "send", "retransmit")["time"]
        span = moments[PACKETS:] - moments[:-PACKETS]
        bits = PACKETS * 8 * float(self.run.data["packet_size"][self.index])
        rate = np.divide(bits, span, out=np.full(span.size, np.nan), where=span > 0)
        shown = self.inside(moments[PACKETS:])
        scale, unit = rate_unit(float(np.nanmax(rate[shown], initial=1.0)))
        ax.plot(moments[PACKETS:][shown], rate[shown] / scale, color=BLACK, lw=0.8)
        self.dress(ax, f"Sending rate\n({unit})")

    def avoidance(self, ax: Axes) -> None:
        sender = self.events[self.events["expected"] > 0]
        rounds = sender[np.flatnonzero(np.diff(sender["decided"], prepend=-1.0))]
        bits = 8 * float(self.run.data["packet_size"][self.index])
        shown = self.inside(rounds["time"])
        scale, unit = rate_unit(float(np.max(rounds["expected"][shown], initial=1.0)) * bits)
        steps: dict[str, Any] = {"drawstyle": "steps-post"}
        times, expected = rounds["time"], rounds["expected"] * bits / scale
        ax.plot(times, expected, color=GREY, lw=1.8, label="Expected", **steps)
        params = self.row.params
        if {"alpha", "beta", "base_rtt"} <= {*params, *(rounds.dtype.names or ())}:
            for name, dashes in (("alpha", DASHES[1]), ("beta", DASHES[2])):
                line = expected - params[name] * bits / scale / rounds["base_rtt"]
                label = rf"$\{name}$ = {params[name]:g}"
                ax.plot(times, line, color=ORANGE, lw=0.9, ls=dashes, label=label, **steps)
        actual = rounds["actual"] * bits / scale
        ax.plot(times, actual, color=BLACK, lw=0.9, label="Actual", **steps)
        _at_edge(ax, times[shown], 0.0, "|", color=GREEN, ms=6, mew=0.5)
        self.dress(ax, f"Avoidance\n({unit})")
        legend(ax)

    def traffic(self, ax: Axes, flows: Selection, window: float) -> None:
        data = self.run.data.sel(flow=self.run.select(flows))
        bits = data["sent"] * data["packet_size"] * 8
        unit = self.averaged(ax, bits.sum("flow").values, window)[1]
        self.dress(ax, f"Other traffic\n({unit})")

    def output(self, ax: Axes, link: str | None, window: float) -> None:
        at = self.run.data.sel(link=shown_link(self.run, link))
        lengths = np.diff(at["time"].values, prepend=0.0)
        capacity = float(at["rate"])
        scale, unit = self.averaged(ax, at["busy"].values * lengths * capacity, window)
        ax.axhline(capacity / scale, color=GREY, lw=0.7, ls=":")
        self.dress(ax, f"Output\n({unit})")

    def averaged(self, ax: Axes, bits: NDArray[Any], window: float) -> tuple[float, str]:
        """Draw the rate of `bits` per bin, and its mean over three windows; returns the unit."""
        sums = np.append(0.0, np.cumsum(bits))
        edges = np.arange(0.0, self.run.duration + 0.5 * window, window)
        ends = np.append(0.0, self.run.data["time"].values)
        rate = np.diff(np.interp(edges, ends, sums)) / window
        scale, unit = rate_unit(float(np.max(rate, initial=1.0)))
        middle = (edges[1:] + edges[:-1]) / 2
        mean = np.convolve(rate, np.full(3, 1 / 3), mode="same")
        ax.plot(middle, rate / scale, color=GREY, lw=0.6)
        ax.plot(middle[1:-1], mean[1:-1] / scale, color=BLACK, lw=1.3)
        return scale, unit

    def queue(self, ax: Axes, link: str | None) -> None:
        """Draw the mean queue of each bin, the maximum in pale, and crosses at drops."""
        name = shown_link(self.run, link)
        at = self.run.data.sel(link=name)
        times = at["time"].values
        ax.fill_between(times, at["queue_max"].values, step="pre", color="0.85", lw=0)
        ax.plot(times, at["queue"].values, color=BLACK, lw=0.8, drawstyle="steps-pre")
        drops = times[(at["drops"].values > 0) & self.inside(times)]
        _at_edge(ax, drops, 1.0, "x", color=VERMILION, ms=3.5, mew=0.8)
        self.dress(ax, queue_label(self.run, name))


def _at_edge(ax: Axes, moments: NDArray[Any], y: float, shape: str, **look: Any) -> None:
    """Draw marks at a height of the panel: 0 is its lower edge, 1 its upper one."""
    look |= {"transform": ax.get_xaxis_transform(), "ls": "", "clip_on": False}
    ax.plot(moments, np.full(moments.size, y), shape, **look)


def _of(events: NDArray[Any], *kinds: str) -> NDArray[Any]:
    return events[np.isin(events["event"], [EVENTS.index(kind) for kind in kinds])]


def _every(numbers: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Select about `count` of the packet numbers, all multiples of a round number."""
    span = float(np.ptp(numbers)) if numbers.size else 0.0
    power = 10.0 ** math.floor(math.log10(max(span / count, 1.0)))
    step = next(int(power * m) for m in (1, 2, 5, 10) if power * m * count >= span)
    return np.asarray(numbers % step == 0)
