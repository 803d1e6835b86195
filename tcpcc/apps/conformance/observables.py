"""The quantities that envelopes bound: numbers, or names of states, at times of a trace.

An observable takes a `Look` and its own settings. It returns a `Reading`: every number that the
envelope must contain, with its time. It raises `NotInTraceError` if the trace lacks what it needs.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.apps.conformance.flow_trace import FlowTrace
from tcpcc.apps.conformance.known_path import KnownPath


class NotInTraceError(Exception):
    """The trace does not record what an observable needs."""


@dataclass(frozen=True)
class Reading:
    """Values of an observable, and the times at which it has them, s; equally long."""

    times: Sequence[float]
    values: Sequence[float | str]


@dataclass(frozen=True)
class Look:
    """What an observable looks at.

    Attributes:
        traces: those of all flows.
        path: the case's path.
        flow: number of the flow.
        mode: a state of its controller.
        after, before: times, s.
        per: unit of the result: "rtt" of the path, "rounds" of the trace, or "": s.
    """

    traces: Sequence[FlowTrace]
    path: KnownPath
    flow: int
    mode: str = ""
    after: float = 0.0
    before: float = math.inf
    per: str = ""

    @property
    def trace(self) -> FlowTrace:
        return self.traces[self.flow]

    @property
    def visits(self) -> list[tuple[int, int]]:
        """Visits to the mode that begin in the window."""
        time = self.trace.time
        column(self.trace, "mode")
        visits = self.trace.visits(self.mode)
        return [(a, b) for a, b in visits if self.after <= time[a] < self.before]

    @property
    def ended(self) -> list[tuple[int, int]]:
        """Those that are over before the trace is."""
        return self.over(self.visits)

    def over(self, visits: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(a, b) for a, b in visits if b < len(self.trace.time)]

    def unit(self, time: float) -> float:
        """What a duration is divided by at this time, s."""
        return float(self.path.unit(self.per, self.flow, time)) if self.per else 1.0


@dataclass(frozen=True)
class Observable:
    """An observable and its settings.

    Attributes:
        function: called with a `Look` and the settings that the look does not have.
        settings: names of its settings -> whether one must be given.
    """

    function: Callable[..., Reading]
    settings: dict[str, bool]

    def __call__(
        self, traces: Sequence[FlowTrace], path: KnownPath, flow: int, **settings: Any
    ) -> Reading:
        own = {name: settings.pop(name) for name in inspect.signature(self.function).parameters
               if name in settings}  # fmt: skip
        return self.function(Look(traces, path, flow, **settings), **own)


OBSERVABLES: dict[str, Observable] = {}

SLACK = 0.02
"""Share of a case's or a check's time by which a trace may be shorter."""

TAKES: dict[str, Callable[[NDArray[Any]], int]] = {
    "first": lambda x: 0,
    "last": lambda x: len(x) - 1,
    "least": lambda x: int(np.argmin(x)),
    "most": lambda x: int(np.argmax(x)),
}
"""Which sample of a selection is taken."""


def observable(
    needs: str = "", takes: str = ""
) -> Callable[[Callable[..., Reading]], Callable[..., Reading]]:
    """Register an observable, which reads these settings of its `Look`."""

    def registered(function: Callable[..., Reading]) -> Callable[..., Reading]:
        _, *own = inspect.signature(function).parameters.values()
        needed = dict.fromkeys(needs.split(), True) | dict.fromkeys(takes.split(), False)
        needed |= {setting.name: setting.default is setting.empty for setting in own}
        OBSERVABLES[function.__name__] = Observable(function, needed)
        return function

    return registered


def column(trace: FlowTrace, name: str) -> NDArray[np.float64]:
    values = trace.columns.get(name)
    if values is None or np.isnan(values).all():
        raise NotInTraceError(name)
    return values


def _needs_sends(trace: FlowTrace) -> None:
    if not len(trace.sent_at):
        raise NotInTraceError("packets sent")


def _needs_delivered(trace: FlowTrace) -> None:
    if not len(trace.delivered):
        raise NotInTraceError("packets delivered")


def _one(time: float, value: float) -> Reading:
    return Reading([time], [value])


# Samples.


@observable(takes="mode after before per")
def sample(look: Look, *, of: str, take: str, skip: float = 0.0) -> Reading:
    """A sample in each visit to `mode`, or of all samples between two times.

    `of`: the column. `take`: first, last, least or most. `skip`: s at the beginning of each visit
    that are left out. `per`: what the value is divided by: rate, bdp, rtt of the path, or another
    column.
    """
    trace = look.trace
    values = column(trace, of)
    if look.per in look.path.UNITS:
        scale = look.path.unit(look.per, look.flow, trace.time)
    else:
        scale = column(trace, look.per) if look.per else np.ones(len(values))
    if look.mode:
        spans = look.visits
        if take != "first" and trace.end < (1 - SLACK) * look.path.duration:
            spans = look.over(spans)  # the trace may end within a visit
    else:
        first, stop = np.searchsorted(trace.time, [look.after, look.before])
        spans = [(int(first), int(stop))]
    times, readings = [], []
    for first, stop in spans:
        inside = np.arange(first, stop)
        inside = inside[trace.time[inside] >= trace.time[first] + skip] if stop > first else inside
        inside = inside[~np.isnan(values[inside]) & ~np.isnan(scale[inside])]
        if len(inside):
            ratios = values[inside] / scale[inside]
            place = TAKES[take](ratios)
            times.append(float(trace.time[inside[place]]))
            readings.append(float(ratios[place]))
    return Reading(times, readings)


# States.


@observable(needs="mode", takes="after before")
def next_mode(look: Look) -> Reading:
    """The state that follows each visit to `mode`."""
    trace = look.trace
    ended = look.ended
    numbers = trace.columns["mode"]
    return Reading(
        [float(trace.time[b]) for _, b in ended],
        [trace.modes[int(numbers[b])] for _, b in ended if math.isfinite(numbers[b])],
    )


@observable(needs="mode", takes="after before")
def visits(look: Look) -> Reading:
    """Number of visits to `mode` that begin between two times."""
    spans = look.visits
    time = float(look.trace.time[spans[-1][0]]) if spans else min(look.before, look.path.duration)
    return _one(time, float(len(spans)))


@observable(needs="mode", takes="after before per")
def time_in_mode(look: Look) -> Reading:
    """Duration of each visit to `mode` that is over, s, or in `per`: rtt or rounds of the trace."""
    trace = look.trace
    ended = look.ended
    begins = np.array([trace.time[a] for a, _ in ended])
    ends = np.array([trace.time[b] for _, b in ended])
    if look.per == "rounds":
        column(trace, "rtt")
        rounds = trace.rounds()
        lengths = np.searchsorted(rounds, ends, "right") - np.searchsorted(rounds, begins, "right")
    else:
        lengths = ends - begins
        lengths = lengths / look.path.unit(look.per, look.flow, begins) if look.per else lengths
    return Reading([float(x) for x in ends], [float(x) for x in lengths])


@observable(needs="mode", takes="after before")
def time_between(look: Look) -> Reading:
    """Time from the end of each visit to `mode` to the beginning of the next, s."""
    trace = look.trace
    spans = look.visits
    times = [float(trace.time[a]) for a, _ in spans[1:]]
    gaps = [float(trace.time[b[0]] - trace.time[a[1]]) for a, b in pairwise(spans)]
    return Reading(times, gaps)


@observable(needs="mode", takes="after before")
def mode_ends(look: Look) -> Reading:
    """When each visit to `mode` ends, s."""
    ends = [float(look.trace.time[b]) for _, b in look.ended]
    return Reading(ends, ends)


# Rates.


@observable(needs="after before")
def throughput(look: Look) -> Reading:
    """Delivered packets as a share of what the path could carry between two times."""
    _needs_delivered(look.trace)
    packets = float(np.diff(look.trace.total_delivered([look.after, look.before]))[0])
    return _one(look.before, packets / look.path.capacity(look.flow, look.after, look.before))


@observable(needs="after before")
def share(look: Look) -> Reading:
    """Share of the flow in the packets that all flows deliver between two times."""
    amounts = []
    for trace in look.traces:
        _needs_delivered(trace)
        amounts.append(float(np.diff(trace.total_delivered([look.after, look.before]))[0]))
    if len(amounts) < 2:
        raise NotInTraceError("other flows")
    return _one(look.before, amounts[look.flow] / max(sum(amounts), 1.0))


@observable(takes="after per")
def time_to_throughput(look: Look, *, level: float, width: float) -> Reading:
    """Time from `after` until `level` of the path's rate is delivered over `width` s; s or `per`.

    Infinite if this does not happen.
    """
    trace = look.trace
    _needs_delivered(trace)
    ends = np.arange(look.after + width, look.path.duration + 1e-9, width / 10)
    amounts = trace.total_delivered(ends) - trace.total_delivered(ends - width)
    able = np.array([look.path.capacity(look.flow, end - width, end) for end in ends])
    there = np.flatnonzero(amounts >= level * able)
    if not len(there):
        return _one(look.path.duration, math.inf)
    time = float(ends[there[0]])
    return _one(time, (time - look.after) / look.unit(time))


@observable(needs="mode", takes="after before")
def send_rate(look: Look, *, skip: float = 0.0) -> Reading:
    """Mean rate of sending in each visit to `mode`, as a share of the path's rate."""
    trace = look.trace
    _needs_sends(trace)
    times, rates = [], []
    for a, b in look.ended:
        begin, end = trace.time[a] + skip, trace.time[b]
        sent = np.diff(np.searchsorted(trace.sent_at, [begin, end]))[0]
        if end > begin and sent > 2:
            times.append(float(end))
            rates.append(float(sent) / look.path.capacity(look.flow, begin, end))
    return Reading(times, rates)


# Losses.


@observable(needs="after before")
def retransmitted(look: Look) -> Reading:
    """Share of retransmissions in the packets sent between two times."""
    trace = look.trace
    _needs_sends(trace)
    inside = (trace.sent_at > look.after) & (trace.sent_at <= look.before)
    return _one(look.before, float(trace.again[inside].sum()) / max(int(inside.sum()), 1))


@observable(takes="after before")
def timeouts(look: Look) -> Reading:
    """Number of retransmission timeouts between two times."""
    times = look.trace.timeouts
    if times is None:
        raise NotInTraceError("timeouts")
    times = times[(times > look.after) & (times <= look.before)]
    time = float(times[0]) if len(times) else min(look.before, look.path.duration)
    return _one(time, float(len(times)))


@observable(needs="after before", takes="per")
def silence(look: Look) -> Reading:
    """Longest time without a packet sent between two times, s or `per`."""
    trace = look.trace
    _needs_sends(trace)
    inside = trace.sent_at[(trace.sent_at >= look.after) & (trace.sent_at <= look.before)]
    sends = np.concatenate([[look.after], inside, [look.before]])
    place = int(np.argmax(np.diff(sends)))
    length, time = float(np.diff(sends)[place]), float(sends[place])
    return _one(time, length / look.unit(time))


@observable(needs="after", takes="per")
def first_retransmission(look: Look) -> Reading:
    """Time from the last new packet to the first retransmission after `after`, s or `per`."""
    trace = look.trace
    _needs_sends(trace)
    repeats = trace.sent_at[trace.again & (trace.sent_at > look.after)]
    before = trace.sent_at[~trace.again & (trace.sent_at < min(repeats, default=0.0))]
    if not len(before):
        return Reading([], [])
    time = float(repeats[0])
    length = time - float(before[-1])
    return _one(time, length / look.unit(time))


def _recoveries(trace: FlowTrace, after: float, before: float) -> list[tuple[float, float]]:
    """Beginning, s, and RTT, s, of each recovery: a retransmission with none in an RTT before."""
    _needs_sends(trace)
    rtt = column(trace, "rtt")
    finite = ~np.isnan(rtt)
    recoveries: list[tuple[float, float]] = []
    last = -math.inf
    for time in trace.sent_at[trace.again]:
        place = int(np.searchsorted(trace.time[finite], time)) - 1
        now = float(rtt[finite][max(place, 0)])
        if after <= time < before and time - last > now:
            recoveries.append((float(time), now))
        last = float(time)
    return recoveries


@observable(needs="after", takes="before")
def recovery_pace(look: Look, *, part: float, take: str = "") -> Reading:
    """Packets sent over packets delivered in the first `part` of an RTT of each recovery.

    `take` = "first": of the first recovery only.
    """
    trace = look.trace
    _needs_delivered(trace)
    times, values = [], []
    for begin, rtt in _recoveries(trace, look.after, look.before)[: 1 if take else None]:
        end = begin + part * rtt
        sent = float(np.diff(np.searchsorted(trace.sent_at, [begin, end]))[0])
        arrived = float(np.diff(trace.total_delivered([begin, end]))[0])
        if arrived > 0 and end <= trace.sent_at[-1]:
            times.append(begin)
            values.append(sent / arrived)
    return Reading(times, values)


@observable(needs="after before")
def burst(look: Look, *, width: float) -> Reading:
    """Most packets sent within `width` s between two times."""
    trace = look.trace
    _needs_sends(trace)
    sends = trace.sent_at[(trace.sent_at >= look.after) & (trace.sent_at < look.before)]
    if not len(sends):
        return Reading([], [])
    counts = np.searchsorted(sends, sends + width) - np.arange(len(sends))
    place = int(np.argmax(counts))
    return _one(float(sends[place]), float(counts[place]))


# The window.


def falls(
    trace: FlowTrace, after: float, before: float, least: float
) -> list[tuple[float, float, float]]:
    """Reductions of the window: (time of the peak, window there, window afterwards).

    A fall begins at a peak, from which the window loses at least the share `least` before it rises
    by 1 % again; the window afterwards is the smallest in between. Falls less than an RTT apart
    are one.
    """
    window = column(trace, "cwnd")
    inside = ~np.isnan(window) & (trace.time >= after) & (trace.time < before)
    times, window = trace.time[inside], window[inside]
    reductions: list[tuple[float, float, float]] = []
    peak = low = 0
    for k in range(len(window)):
        if window[k] < window[low]:
            low = k
        elif window[k] > 1.01 * window[low] + 0.5 and window[low] < (1 - least) * window[peak]:
            reductions.append((float(times[peak]), float(window[peak]), float(window[low])))
            peak = low = k
        elif window[k] >= window[peak]:
            peak = low = k
    return reductions


@observable(needs="after", takes="before")
def cut(look: Look) -> Reading:
    """Window after each reduction over the window before it."""
    reductions = falls(look.trace, look.after, look.before, 0.1)
    return Reading([time for time, _, _ in reductions], [low / peak for _, peak, low in reductions])


@observable(needs="after", takes="before")
def cut_interval(look: Look, *, c: float, beta: float) -> Reading:
    """Time from each reduction of the window to the next, over K as in `regrowth`."""
    reductions = falls(look.trace, look.after, look.before, 0.1)
    scale = [math.cbrt(peak * (1 - beta) / c) for _, peak, _ in reductions]
    times = [time for time, _, _ in reductions]
    gaps = [float(gap / k) for gap, k in zip(np.diff(times), scale, strict=False)]
    return Reading(times[1:], gaps)


@observable(needs="after", takes="before")
def regrowth(look: Look, *, part: float, c: float, beta: float) -> Reading:
    """Window a `part` of K after each reduction, over the window before the reduction.

    K = cbrt(W (1 - beta) / c) s, with W the window before the reduction (RFC 9438, section 4.2).
    """
    trace = look.trace
    window = column(trace, "cwnd")
    finite = ~np.isnan(window)
    times, values = [], []
    reductions = falls(trace, look.after, look.before, 0.1)
    for k, (time, peak, _) in enumerate(reductions):
        at = time + part * math.cbrt(peak * (1 - beta) / c)
        if at < min(
            reductions[k + 1][0] if k + 1 < len(reductions) else math.inf,
            look.before,
            trace.time[-1],
        ):
            times.append(at)
            values.append(float(np.interp(at, trace.time[finite], window[finite])) / peak)
    return Reading(times, values)


@observable(needs="after", takes="before")
def increase(look: Look) -> Reading:
    """Growth of the window from each reduction to the next, packets per RTT."""
    trace = look.trace
    rtt = column(trace, "rtt")
    valid = rtt > 0
    times, values = [], []
    at = trace.time[valid]
    elapsed = np.concatenate([[0.0], np.cumsum(np.diff(at) / rtt[valid][1:])])
    for (begin, _, low), (end, peak, _) in pairwise(falls(trace, look.after, look.before, 0.1)):
        passed = np.diff(np.interp([begin, end], at, elapsed))[0]
        times.append(end)
        values.append(float((peak - low) / passed))
    return Reading(times, values)


def _windows_by_round(trace: FlowTrace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of rounds, and the window there."""
    window = column(trace, "cwnd")
    column(trace, "rtt")
    finite = ~np.isnan(window)
    ends = trace.rounds()
    place = np.searchsorted(trace.time[finite], ends, "right") - 1
    return ends, window[finite][np.maximum(place, 0)]


def _doubling_ends(windows: ArrayLike, least: float) -> int:
    """Number of the first round in which the window grows by less than `least`.

    The first round is the handshake and ends with the first ACK of data.
    """
    grown = np.asarray(windows)[2:] / np.asarray(windows)[1:-1]
    slow = np.flatnonzero(grown < least)
    return int(slow[0]) + 1 if len(slow) else len(grown) + 1


@observable(takes="per")
def doubling_ends(look: Look, *, of: str, least: float) -> Reading:
    """A column when the window first grows by less than `least` in a round, divided by `per`."""
    trace = look.trace
    ends, windows = _windows_by_round(trace)
    if len(ends) < 3:
        raise NotInTraceError("round trips")
    time = float(ends[_doubling_ends(windows, least)])
    values = column(trace, of)
    finite = ~np.isnan(values)
    value = float(values[finite][np.searchsorted(trace.time[finite], time + 1e-9) - 1])
    return _one(time, value / look.unit(time))


@observable(takes="after before")
def growth(look: Look, *, since_slow: bool = False, rounds: int = 0) -> Reading:
    """Window at the end of each round over that at its beginning.

    Rounds that end between two times; with `since_slow` the `rounds` that follow the first round in
    which the window grows by less than 1.5.
    """
    ends, windows = _windows_by_round(look.trace)
    grown = windows[1:] / windows[:-1]
    if since_slow:
        first = _doubling_ends(windows, 1.5) + 1
        chosen = np.arange(first, min(first + rounds, len(grown)))
    else:
        chosen = np.flatnonzero((ends[1:] > look.after) & (ends[1:] <= look.before))
    return Reading([float(ends[k + 1]) for k in chosen], [float(grown[k]) for k in chosen])
