"""The quantities that envelopes bound: numbers, or names of states, at times of a trace.

An observable takes the traces of all flows, the case's path, the number of the flow and its own
settings. It returns a `Reading`: every number that the envelope must contain, with its time. It
raises `NotInTraceError` if the trace lacks what it needs.
"""

from __future__ import annotations

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


Observable = Callable[..., Reading]
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


def observable(function: Observable) -> Observable:
    OBSERVABLES[function.__name__] = function
    return function


def column(trace: FlowTrace, name: str) -> NDArray[np.float64]:
    values = trace.columns.get(name)
    if values is None or np.isnan(values).all():
        raise NotInTraceError(name)
    return values


def _visits(trace: FlowTrace, mode: str, after: float, before: float) -> list[tuple[int, int]]:
    """Visits to a mode that begin in the window."""
    column(trace, "mode")
    return [(a, b) for a, b in trace.visits(mode) if after <= trace.time[a] < before]


def _ended(trace: FlowTrace, visits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that are over before the trace is."""
    return [(a, b) for a, b in visits if b < len(trace.time)]


def _needs_sends(trace: FlowTrace) -> None:
    if not len(trace.sent_at):
        raise NotInTraceError("packets sent")


def _needs_delivered(trace: FlowTrace) -> None:
    if not len(trace.delivered):
        raise NotInTraceError("packets delivered")


def _one(time: float, value: float) -> Reading:
    return Reading([time], [value])


# Samples.


@observable
def sample(
    traces: Sequence[FlowTrace],
    path: KnownPath,
    flow: int,
    *,
    of: str,
    take: str,
    mode: str = "",
    after: float = 0.0,
    before: float = math.inf,
    skip: float = 0.0,
    per: str = "",
) -> Reading:
    """A sample in each visit to `mode`, or of all samples between two times.

    `of`: the column. `take`: first, last, least or most. `skip`: s at the beginning of each visit
    that are left out. `per`: what the value is divided by: rate, bdp, rtt of the path, or another
    column.
    """
    trace = traces[flow]
    values = column(trace, of)
    if per in path.UNITS:
        scale = path.unit(per, flow, trace.time)
    else:
        scale = column(trace, per) if per else np.ones(len(values))
    if mode:
        spans = _visits(trace, mode, after, before)
        if take != "first" and trace.end < (1 - SLACK) * path.duration:
            spans = _ended(trace, spans)  # the trace may end within a visit
    else:
        first, stop = np.searchsorted(trace.time, [after, before])
        spans = [(int(first), int(stop))]
    times, found = [], []
    for first, stop in spans:
        inside = np.arange(first, stop)
        inside = inside[trace.time[inside] >= trace.time[first] + skip] if stop > first else inside
        inside = inside[~np.isnan(values[inside]) & ~np.isnan(scale[inside])]
        if len(inside):
            ratios = values[inside] / scale[inside]
            place = TAKES[take](ratios)
            times.append(float(trace.time[inside[place]]))
            found.append(float(ratios[place]))
    return Reading(times, found)


# States.


@observable
def next_mode(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, mode: str, after: float = 0.0,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """The state that follows each visit to `mode`."""
    trace = traces[flow]
    ended = _ended(trace, _visits(trace, mode, after, before))
    numbers = trace.columns["mode"]
    return Reading(
        [float(trace.time[b]) for _, b in ended],
        [trace.modes[int(numbers[b])] for _, b in ended if math.isfinite(numbers[b])],
    )


@observable
def visits(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, mode: str, after: float = 0.0,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """Number of visits to `mode` that begin between two times."""
    found = _visits(traces[flow], mode, after, before)
    time = float(traces[flow].time[found[-1][0]]) if found else min(before, path.duration)
    return _one(time, float(len(found)))


@observable
def time_in_mode(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, mode: str, after: float = 0.0,
    before: float = math.inf, per: str = "",
) -> Reading:  # fmt: skip
    """Duration of each visit to `mode` that is over, s, or in `per`: rtt or rounds of the trace."""
    trace = traces[flow]
    ended = _ended(trace, _visits(trace, mode, after, before))
    begins = np.array([trace.time[a] for a, _ in ended])
    ends = np.array([trace.time[b] for _, b in ended])
    if per == "rounds":
        column(trace, "rtt")
        rounds = trace.rounds()
        lengths = np.searchsorted(rounds, ends, "right") - np.searchsorted(rounds, begins, "right")
    else:
        lengths = ends - begins
        lengths = lengths / path.unit(per, flow, begins) if per else lengths
    return Reading([float(x) for x in ends], [float(x) for x in lengths])


@observable
def time_between(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, mode: str, after: float = 0.0,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """Time from the end of each visit to `mode` to the beginning of the next, s."""
    trace = traces[flow]
    found = _visits(trace, mode, after, before)
    times = [float(trace.time[a]) for a, _ in found[1:]]
    gaps = [float(trace.time[b[0]] - trace.time[a[1]]) for a, b in pairwise(found)]
    return Reading(times, gaps)


@observable
def mode_ends(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, mode: str, after: float = 0.0,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """When each visit to `mode` ends, s."""
    trace = traces[flow]
    ends = [float(trace.time[b]) for _, b in _ended(trace, _visits(trace, mode, after, before))]
    return Reading(ends, ends)


# Rates.


@observable
def throughput(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, before: float,
) -> Reading:  # fmt: skip
    """Delivered packets as a share of what the path could carry between two times."""
    _needs_delivered(traces[flow])
    packets = float(np.diff(traces[flow].total_delivered([after, before]))[0])
    return _one(before, packets / path.capacity(flow, after, before))


@observable
def share(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, before: float,
) -> Reading:  # fmt: skip
    """Share of the flow in the packets that all flows deliver between two times."""
    amounts = []
    for each in traces:
        _needs_delivered(each)
        amounts.append(float(np.diff(each.total_delivered([after, before]))[0]))
    if len(amounts) < 2:
        raise NotInTraceError("other flows")
    return _one(before, amounts[flow] / max(sum(amounts), 1.0))


@observable
def time_to_throughput(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, level: float, width: float,
    after: float = 0.0, per: str = "",
) -> Reading:  # fmt: skip
    """Time from `after` until `level` of the path's rate is delivered over `width` s; s or `per`.

    Infinite if this does not happen.
    """
    trace = traces[flow]
    _needs_delivered(trace)
    ends = np.arange(after + width, path.duration + 1e-9, width / 10)
    amounts = trace.total_delivered(ends) - trace.total_delivered(ends - width)
    able = np.array([path.capacity(flow, end - width, end) for end in ends])
    there = np.flatnonzero(amounts >= level * able)
    if not len(there):
        return _one(path.duration, math.inf)
    time = float(ends[there[0]])
    return _one(time, (time - after) / (float(path.unit(per, flow, time)) if per else 1.0))


@observable
def send_rate(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, mode: str, skip: float = 0.0,
    after: float = 0.0, before: float = math.inf,
) -> Reading:  # fmt: skip
    """Mean rate of sending in each visit to `mode`, as a share of the path's rate."""
    trace = traces[flow]
    _needs_sends(trace)
    times, rates = [], []
    for a, b in _ended(trace, _visits(trace, mode, after, before)):
        begin, end = trace.time[a] + skip, trace.time[b]
        sent = np.diff(np.searchsorted(trace.sent_at, [begin, end]))[0]
        if end > begin and sent > 2:
            times.append(float(end))
            rates.append(float(sent) / path.capacity(flow, begin, end))
    return Reading(times, rates)


# Losses.


@observable
def retransmitted(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, before: float,
) -> Reading:  # fmt: skip
    """Share of retransmissions in the packets sent between two times."""
    trace = traces[flow]
    _needs_sends(trace)
    inside = (trace.sent_at > after) & (trace.sent_at <= before)
    return _one(before, float(trace.again[inside].sum()) / max(int(inside.sum()), 1))


@observable
def timeouts(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float = 0.0,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """Number of retransmission timeouts between two times."""
    found = traces[flow].timeouts
    if found is None:
        raise NotInTraceError("timeouts")
    found = found[(found > after) & (found <= before)]
    return _one(float(found[0]) if len(found) else min(before, path.duration), float(len(found)))


@observable
def silence(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, before: float,
    per: str = "",
) -> Reading:  # fmt: skip
    """Longest time without a packet sent between two times, s or `per`."""
    trace = traces[flow]
    _needs_sends(trace)
    inside = trace.sent_at[(trace.sent_at >= after) & (trace.sent_at <= before)]
    sends = np.concatenate([[after], inside, [before]])
    place = int(np.argmax(np.diff(sends)))
    length, time = float(np.diff(sends)[place]), float(sends[place])
    return _one(time, length / (float(path.unit(per, flow, time)) if per else 1.0))


@observable
def first_retransmission(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, per: str = "",
) -> Reading:  # fmt: skip
    """Time from the last new packet to the first retransmission after `after`, s or `per`."""
    trace = traces[flow]
    _needs_sends(trace)
    repeats = trace.sent_at[trace.again & (trace.sent_at > after)]
    before = trace.sent_at[~trace.again & (trace.sent_at < min(repeats, default=0.0))]
    if not len(before):
        return Reading([], [])
    time = float(repeats[0])
    length = time - float(before[-1])
    return _one(time, length / (float(path.unit(per, flow, time)) if per else 1.0))


def _recoveries(trace: FlowTrace, after: float, before: float) -> list[tuple[float, float]]:
    """Beginning, s, and RTT, s, of each recovery: a retransmission with none in an RTT before."""
    _needs_sends(trace)
    rtt = column(trace, "rtt")
    known = ~np.isnan(rtt)
    found: list[tuple[float, float]] = []
    last = -math.inf
    for time in trace.sent_at[trace.again]:
        place = int(np.searchsorted(trace.time[known], time)) - 1
        now = float(rtt[known][max(place, 0)])
        if after <= time < before and time - last > now:
            found.append((float(time), now))
        last = float(time)
    return found


@observable
def recovery_pace(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, part: float, after: float,
    before: float = math.inf, take: str = "",
) -> Reading:  # fmt: skip
    """Packets sent over packets delivered in the first `part` of an RTT of each recovery.

    `take` = "first": of the first recovery only.
    """
    trace = traces[flow]
    _needs_delivered(trace)
    times, values = [], []
    for begin, rtt in _recoveries(trace, after, before)[: 1 if take else None]:
        end = begin + part * rtt
        sent = float(np.diff(np.searchsorted(trace.sent_at, [begin, end]))[0])
        arrived = float(np.diff(trace.total_delivered([begin, end]))[0])
        if arrived > 0 and end <= trace.sent_at[-1]:
            times.append(begin)
            values.append(sent / arrived)
    return Reading(times, values)


@observable
def burst(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, width: float, after: float,
    before: float,
) -> Reading:  # fmt: skip
    """Most packets sent within `width` s between two times."""
    trace = traces[flow]
    _needs_sends(trace)
    sends = trace.sent_at[(trace.sent_at >= after) & (trace.sent_at < before)]
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
    known = ~np.isnan(window) & (trace.time >= after) & (trace.time < before)
    times, window = trace.time[known], window[known]
    found: list[tuple[float, float, float]] = []
    peak = low = 0
    for k in range(len(window)):
        if window[k] < window[low]:
            low = k
        elif window[k] > 1.01 * window[low] + 0.5 and window[low] < (1 - least) * window[peak]:
            found.append((float(times[peak]), float(window[peak]), float(window[low])))
            peak = low = k
        elif window[k] >= window[peak]:
            peak = low = k
    return found


@observable
def cut(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """Window after each reduction over the window before it."""
    found = falls(traces[flow], after, before, 0.1)
    return Reading([time for time, _, _ in found], [low / peak for _, peak, low in found])


@observable
def cut_interval(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, c: float, beta: float,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """Time from each reduction of the window to the next, over K as in `regrowth`."""
    found = falls(traces[flow], after, before, 0.1)
    scale = [math.cbrt(peak * (1 - beta) / c) for _, peak, _ in found]
    times = [time for time, _, _ in found]
    gaps = [float(gap / k) for gap, k in zip(np.diff(times), scale, strict=False)]
    return Reading(times[1:], gaps)


@observable
def regrowth(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float, part: float,
    c: float, beta: float, before: float = math.inf,
) -> Reading:  # fmt: skip
    """Window a `part` of K after each reduction, over the window before the reduction.

    K = cbrt(W (1 - beta) / c) s, with W the window before the reduction (RFC 9438, section 4.2).
    """
    trace = traces[flow]
    window = column(trace, "cwnd")
    known = ~np.isnan(window)
    times, values = [], []
    found = falls(trace, after, before, 0.1)
    for k, (time, peak, _) in enumerate(found):
        at = time + part * math.cbrt(peak * (1 - beta) / c)
        if at < min(found[k + 1][0] if k + 1 < len(found) else math.inf, before, trace.time[-1]):
            times.append(at)
            values.append(float(np.interp(at, trace.time[known], window[known])) / peak)
    return Reading(times, values)


@observable
def increase(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float,
    before: float = math.inf,
) -> Reading:  # fmt: skip
    """Growth of the window from each reduction to the next, packets per RTT."""
    trace = traces[flow]
    rtt = column(trace, "rtt")
    known = rtt > 0
    times, values = [], []
    at = trace.time[known]
    elapsed = np.concatenate([[0.0], np.cumsum(np.diff(at) / rtt[known][1:])])
    for (begin, _, low), (end, peak, _) in pairwise(falls(trace, after, before, 0.1)):
        passed = np.diff(np.interp([begin, end], at, elapsed))[0]
        times.append(end)
        values.append(float((peak - low) / passed))
    return Reading(times, values)


def _windows_by_round(trace: FlowTrace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of rounds, and the window there."""
    window = column(trace, "cwnd")
    column(trace, "rtt")
    known = ~np.isnan(window)
    ends = trace.rounds()
    place = np.searchsorted(trace.time[known], ends, "right") - 1
    return ends, window[known][np.maximum(place, 0)]


def _doubling_ends(windows: ArrayLike, least: float) -> int:
    """Number of the first round in which the window grows by less than `least`.

    The first round is the handshake and ends with the first ACK of data.
    """
    grown = np.asarray(windows)[2:] / np.asarray(windows)[1:-1]
    slow = np.flatnonzero(grown < least)
    return int(slow[0]) + 1 if len(slow) else len(grown) + 1


@observable
def doubling_ends(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, of: str, least: float,
    per: str = "",
) -> Reading:  # fmt: skip
    """A column when the window first grows by less than `least` in a round, divided by `per`."""
    trace = traces[flow]
    ends, windows = _windows_by_round(trace)
    if len(ends) < 3:
        raise NotInTraceError("round trips")
    time = float(ends[_doubling_ends(windows, least)])
    values = column(trace, of)
    known = ~np.isnan(values)
    value = float(values[known][np.searchsorted(trace.time[known], time + 1e-9) - 1])
    return _one(time, value / (float(path.unit(per, flow, time)) if per else 1.0))


@observable
def growth(
    traces: Sequence[FlowTrace], path: KnownPath, flow: int, *, after: float = 0.0,
    before: float = math.inf, since_slow: bool = False, rounds: int = 0,
) -> Reading:  # fmt: skip
    """Window at the end of each round over that at its beginning.

    Rounds that end between two times; with `since_slow` the `rounds` that follow the first round in
    which the window grows by less than 1.5.
    """
    ends, windows = _windows_by_round(traces[flow])
    grown = windows[1:] / windows[:-1]
    if since_slow:
        first = _doubling_ends(windows, 1.5) + 1
        chosen = np.arange(first, min(first + rounds, len(grown)))
    else:
        chosen = np.flatnonzero((ends[1:] > after) & (ends[1:] <= before))
    return Reading([float(ends[k + 1]) for k in chosen], [float(grown[k]) for k in chosen])
