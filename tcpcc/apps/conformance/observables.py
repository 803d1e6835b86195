"""The quantities that envelopes bound: numbers, or names of states, at times of a trace.

An observable takes a `Look` and its own settings. It yields every value that the envelope must
contain, after its time. It raises `NotInTraceError` if the trace lacks what it needs.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.apps.conformance.flow_trace import FlowTrace
from tcpcc.apps.conformance.known_path import KnownPath

Values = Iterator[tuple[float, float | str]]
"""Times, s, and values of an observable."""


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
        return [(a, b) for a, b in self.visits if b < len(self.trace.time)]

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

    function: Callable[..., Values]
    settings: dict[str, bool]

    def __call__(
        self, traces: Sequence[FlowTrace], path: KnownPath, flow: int, **settings: Any
    ) -> Reading:
        own = {k: settings.pop(k) for k in settings.keys() - Look.__dataclass_fields__.keys()}
        found = list(self.function(Look(traces, path, flow, **settings), **own))
        return Reading(
            [float(time) for time, _ in found],
            [value if isinstance(value, str) else float(value) for _, value in found],
        )


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
) -> Callable[[Callable[..., Values]], Callable[..., Values]]:
    """Register an observable, which reads these settings of its `Look`."""

    def registered(function: Callable[..., Values]) -> Callable[..., Values]:
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


def _with_sends(trace: FlowTrace) -> FlowTrace:
    if not len(trace.sent_at):
        raise NotInTraceError("packets sent")
    return trace


def _with_delivered(trace: FlowTrace) -> FlowTrace:
    if not len(trace.delivered):
        raise NotInTraceError("packets delivered")
    return trace


# Samples.


@observable(takes="mode after before per")
def sample(look: Look, *, of: str, take: str, skip: float = 0.0) -> Values:
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
        is_whole = take == "first" or trace.end >= (1 - SLACK) * look.path.duration
        spans = look.visits if is_whole else look.ended  # the trace may end within a visit
    else:
        first, stop = np.searchsorted(trace.time, [look.after, look.before])
        spans = [(int(first), int(stop))]
    for first, stop in spans:
        inside = np.arange(first, stop)
        inside = inside[trace.time[inside] >= trace.time[first] + skip] if stop > first else inside
        inside = inside[~np.isnan(values[inside]) & ~np.isnan(scale[inside])]
        if len(inside):
            ratios = values[inside] / scale[inside]
            place = TAKES[take](ratios)
            yield trace.time[inside[place]], ratios[place]


# States.


@observable(needs="mode", takes="after before")
def next_mode(look: Look) -> Values:
    """The state that follows each visit to `mode`."""
    trace = look.trace
    for _, b in look.ended:
        number = trace.columns["mode"][b]
        if math.isfinite(number):
            yield trace.time[b], trace.modes[int(number)]


@observable(needs="mode", takes="after before")
def visits(look: Look) -> Values:
    """Number of visits to `mode` that begin between two times."""
    spans = look.visits
    time = look.trace.time[spans[-1][0]] if spans else min(look.before, look.path.duration)
    yield time, len(spans)


@observable(needs="mode", takes="after before per")
def time_in_mode(look: Look) -> Values:
    """Duration of each visit to `mode` that is over, s, or in `per`: rtt or rounds of the trace."""
    trace, ended = look.trace, look.ended
    if look.per == "rounds":
        column(trace, "rtt")
        rounds = trace.rounds()
    for a, b in ended:
        begin, end = trace.time[a], trace.time[b]
        if look.per == "rounds":
            yield end, np.diff(np.searchsorted(rounds, [begin, end], "right"))[0]
        else:
            yield end, (end - begin) / look.unit(begin)


@observable(needs="mode", takes="after before")
def time_between(look: Look) -> Values:
    """Time from the end of each visit to `mode` to the beginning of the next, s."""
    time = look.trace.time
    for (_, end), (begin, _) in pairwise(look.visits):
        yield time[begin], time[begin] - time[end]


@observable(needs="mode", takes="after before")
def mode_ends(look: Look) -> Values:
    """When each visit to `mode` ends, s."""
    for _, b in look.ended:
        yield look.trace.time[b], look.trace.time[b]


# Rates.


@observable(needs="after before")
def throughput(look: Look) -> Values:
    """Delivered packets as a share of what the path could carry between two times."""
    trace = _with_delivered(look.trace)
    packets = float(np.diff(trace.total_delivered([look.after, look.before]))[0])
    yield look.before, packets / look.path.capacity(look.flow, look.after, look.before)


@observable(needs="after before")
def share(look: Look) -> Values:
    """Share of the flow in the packets that all flows deliver between two times."""
    amounts = [
        np.diff(_with_delivered(trace).total_delivered([look.after, look.before]))[0]
        for trace in look.traces
    ]
    if len(amounts) < 2:
        raise NotInTraceError("other flows")
    yield look.before, amounts[look.flow] / max(sum(amounts), 1.0)


@observable(takes="after per")
def time_to_throughput(look: Look, *, level: float, width: float) -> Values:
    """Time from `after` until `level` of the path's rate is delivered over `width` s; s or `per`.

    Infinite if this does not happen.
    """
    trace = _with_delivered(look.trace)
    ends = np.arange(look.after + width, look.path.duration + 1e-9, width / 10)
    amounts = trace.total_delivered(ends) - trace.total_delivered(ends - width)
    able = np.array([look.path.capacity(look.flow, end - width, end) for end in ends])
    there = ends[amounts >= level * able]
    if len(there):
        yield there[0], (there[0] - look.after) / look.unit(there[0])
    else:
        yield look.path.duration, math.inf


@observable(needs="mode", takes="after before")
def send_rate(look: Look, *, skip: float = 0.0) -> Values:
    """Mean rate of sending in each visit to `mode`, as a share of the path's rate."""
    trace = _with_sends(look.trace)
    for a, b in look.ended:
        begin, end = trace.time[a] + skip, trace.time[b]
        sent = np.diff(np.searchsorted(trace.sent_at, [begin, end]))[0]
        if end > begin and sent > 2:
            yield end, float(sent) / look.path.capacity(look.flow, begin, end)


# Losses.


@observable(needs="after before")
def retransmitted(look: Look) -> Values:
    """Share of retransmissions in the packets sent between two times."""
    trace = _with_sends(look.trace)
    inside = (trace.sent_at > look.after) & (trace.sent_at <= look.before)
    yield look.before, trace.again[inside].sum() / max(inside.sum(), 1)


@observable(takes="after before")
def timeouts(look: Look) -> Values:
    """Number of retransmission timeouts between two times."""
    times = look.trace.timeouts
    if times is None:
        raise NotInTraceError("timeouts")
    times = times[(times > look.after) & (times <= look.before)]
    yield (times[0] if len(times) else min(look.before, look.path.duration)), len(times)


@observable(needs="after before", takes="per")
def silence(look: Look) -> Values:
    """Longest time without a packet sent between two times, s or `per`."""
    trace = _with_sends(look.trace)
    inside = trace.sent_at[(trace.sent_at >= look.after) & (trace.sent_at <= look.before)]
    sends = np.concatenate([[look.after], inside, [look.before]])
    gaps = np.diff(sends)
    place = int(np.argmax(gaps))
    yield sends[place], gaps[place] / look.unit(sends[place])


@observable(needs="after", takes="per")
def first_retransmission(look: Look) -> Values:
    """Time from the last new packet to the first retransmission after `after`, s or `per`."""
    trace = _with_sends(look.trace)
    repeats = trace.sent_at[trace.again & (trace.sent_at > look.after)]
    before = trace.sent_at[~trace.again & (trace.sent_at < min(repeats, default=0.0))]
    if len(before):
        yield repeats[0], (repeats[0] - before[-1]) / look.unit(repeats[0])


def _recoveries(trace: FlowTrace, after: float, before: float) -> Iterator[tuple[float, float]]:
    """Beginning, s, and RTT, s, of each recovery: a retransmission with none in an RTT before."""
    rtt = column(_with_sends(trace), "rtt")
    finite = ~np.isnan(rtt)
    last = -math.inf
    for time in trace.sent_at[trace.again]:
        place = int(np.searchsorted(trace.time[finite], time)) - 1
        now = float(rtt[finite][max(place, 0)])
        if after <= time < before and time - last > now:
            yield float(time), now
        last = float(time)


@observable(needs="after", takes="before")
def recovery_pace(look: Look, *, part: float, take: str = "") -> Values:
    """Packets sent over packets delivered in the first `part` of an RTT of each recovery.

    `take` = "first": of the first recovery only.
    """
    trace = _with_delivered(look.trace)
    for begin, rtt in islice(_recoveries(trace, look.after, look.before), 1 if take else None):
        end = begin + part * rtt
        sent = np.diff(np.searchsorted(trace.sent_at, [begin, end]))[0]
        arrived = np.diff(trace.total_delivered([begin, end]))[0]
        if arrived > 0 and end <= trace.sent_at[-1]:
            yield begin, sent / arrived


@observable(needs="after before")
def burst(look: Look, *, width: float) -> Values:
    """Most packets sent within `width` s between two times."""
    trace = _with_sends(look.trace)
    sends = trace.sent_at[(trace.sent_at >= look.after) & (trace.sent_at < look.before)]
    if len(sends):
        counts = np.searchsorted(sends, sends + width) - np.arange(len(sends))
        place = int(np.argmax(counts))
        yield sends[place], counts[place]


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
def cut(look: Look) -> Values:
    """Window after each reduction over the window before it."""
    for time, peak, low in falls(look.trace, look.after, look.before, 0.1):
        yield time, low / peak


@observable(needs="after", takes="before")
def cut_interval(look: Look, *, c: float, beta: float) -> Values:
    """Time from each reduction of the window to the next, over K as in `regrowth`."""
    reductions = falls(look.trace, look.after, look.before, 0.1)
    for (time, peak, _), (following, _, _) in pairwise(reductions):
        yield following, (following - time) / math.cbrt(peak * (1 - beta) / c)


@observable(needs="after", takes="before")
def regrowth(look: Look, *, part: float, c: float, beta: float) -> Values:
    """Window a `part` of K after each reduction, over the window before the reduction.

    K = cbrt(W (1 - beta) / c) s, with W the window before the reduction (RFC 9438, section 4.2).
    """
    trace = look.trace
    window = column(trace, "cwnd")
    finite = ~np.isnan(window)
    reductions = [*falls(trace, look.after, look.before, 0.1), (math.inf, 0.0, 0.0)]
    for (time, peak, _), (following, _, _) in pairwise(reductions):
        at = time + part * math.cbrt(peak * (1 - beta) / c)
        if at < min(following, look.before, trace.time[-1]):
            yield at, np.interp(at, trace.time[finite], window[finite]) / peak


@observable(needs="after", takes="before")
def increase(look: Look) -> Values:
    """Growth of the window from each reduction to the next, packets per RTT."""
    trace = look.trace
    rtt = column(trace, "rtt")
    valid = rtt > 0
    at = trace.time[valid]
    elapsed = np.concatenate([[0.0], np.cumsum(np.diff(at) / rtt[valid][1:])])
    for (begin, _, low), (end, peak, _) in pairwise(falls(trace, look.after, look.before, 0.1)):
        passed = np.diff(np.interp([begin, end], at, elapsed))[0]
        yield end, (peak - low) / passed


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
def doubling_ends(look: Look, *, of: str, least: float) -> Values:
    """A column when the window first grows by less than `least` in a round, divided by `per`."""
    trace = look.trace
    ends, windows = _windows_by_round(trace)
    if len(ends) < 3:
        raise NotInTraceError("round trips")
    time = ends[_doubling_ends(windows, least)]
    values = column(trace, of)
    finite = ~np.isnan(values)
    value = values[finite][np.searchsorted(trace.time[finite], time + 1e-9) - 1]
    yield time, value / look.unit(time)


@observable(takes="after before")
def growth(look: Look, *, since_slow: bool = False, rounds: int = 0) -> Values:
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
    yield from zip(ends[1:][chosen], grown[chosen], strict=True)
