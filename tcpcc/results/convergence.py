"""Convergence of rates that oscillate, as pure functions on arrays; `Run` applies them to a run.

A flow that reacts to losses never holds a rate: its window is a sawtooth. It has converged when the
rate averaged over whole cycles has. So each measure here takes means over a sliding window of fixed
width, which `averaging_time` chooses: up to ten cycles, where a cycle is the time between loss
events, and at least ten round trips, for controllers without losses.

The time in which a window settles, such as that of Vegas, is `metrics.convergence_time`.

Times count from an event, such as the start or the end of a flow, to the middle of the first window
that satisfies the criterion; they are 0 if the first window after the event does. Their resolution
is therefore half the width.

Sources named more than once:
    [Bansal01] D. Bansal et al., Dynamic Behavior of Slowly-Responsive Algorithms, SIGCOMM 2001.
    [RFC5166] S. Floyd (ed.), Metrics for the Evaluation of Congestion Control Mechanisms, 2008.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.errors import ScenarioError, nonnegative, positive, probability
from tcpcc.results.metrics import flow_counts

CYCLES = 10.0
"""Cycles in the sliding window, if they fit in `PART` of the time; means over fewer are noisy."""

LEAST = 2.0
"""Least number of cycles: two, because flows may lose in turns."""

PART = 0.2
"""Share of the time after the event that more cycles than `LEAST` may take."""

ROUNDS = 10.0
"""Least number of round-trip times in the sliding window; a cycle of BBR's gains takes 8."""

LAST = 0.2
"""Share of the time after the event, at its end, in which a criterion must hold without a break."""


def cycle(time: ArrayLike, dropped: ArrayLike, rtt: float) -> float:
    """Length of a flow's cycle: the mean time between loss events, each weighted by itself, s.

    It is the expected length of the cycle at a random time, sum g^2 / sum g over the gaps g, so the
    short gaps at the end of a slow start have little weight. Drops within one round trip of the
    first are one loss event, since a sender reacts once per round trip (RFC 9002, section 7.3.1).
    The bins limit the resolution.

    Args:
        time: ends of the bins, shape [time], s.
        dropped: packets of the flow that were dropped in each bin, shape [time].
        rtt: round-trip time, s.

    Returns:
        seconds; NaN for fewer than two loss events.

    >>> import numpy as np
    >>> cycle(np.arange(1, 31), [0, 0, 0, 0, 1, 0, 0, 0, 0, 0] * 3, rtt=0.5)
    10.0
    """
    losing = np.asarray(time, dtype=float)[np.asarray(dropped, dtype=float) > 0]
    positive("rtt", rtt, "s")
    begins: list[float] = []
    for at in losing.tolist():
        if not begins or at - begins[-1] > rtt:
            begins.append(at)
    if len(begins) < 2:
        return math.nan
    gaps = np.diff(begins)
    return float((gaps**2).sum() / gaps.sum())


def averaging_time(
    cycles_of_flows: ArrayLike,
    rtts: ArrayLike,
    span: float,
    cycles: float = CYCLES,
) -> float:
    """Width of the sliding window for several flows, s.

    It is `cycles` cycles of the flow with the longest cycle, or as many as fit in a fifth of the
    time after the event, but at least two (at least `cycles` if that is less). It is no shorter
    than ten round-trip times of the flow with the longest.

    Args:
        cycles_of_flows: cycle of each flow, shape [flow], s; NaN for a flow without one.
        rtts: round-trip time of each flow, shape [flow], s.
        span: time after the event, s.
        cycles: number of cycles.
    """
    of_flows = np.asarray(cycles_of_flows, dtype=float)
    longest = float(np.nanmax(of_flows)) if np.isfinite(of_flows).any() else 0.0
    target = min(positive("cycles", cycles) * longest, PART * positive("span", span, "s"))
    rounds = ROUNDS * float(np.max(np.asarray(rtts, dtype=float)))
    return max(target, min(cycles, LEAST) * longest, rounds)


def sliding_means(
    time: ArrayLike, amounts: ArrayLike, event: float, end: float, width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean rates in all windows of `width` between `event` and `end`, one starting in each bin.

    Args:
        time: ends of the bins, shape [time], s, increasing.
        amounts: what each flow delivered in each bin, shape [time, flow], any unit.
        event, end: start of the first window and end of the last, s.
        width: width of a window, s; need not be a multiple of the bins.

    Returns:
        starts of the windows, shape [window], s; rates, shape [window, flow], unit per s. Both are
        empty if the interval is shorter than two windows, too short to see a rate settle.

    Raises:
        ScenarioError: no bin ends in (event, end].
    """
    times = np.asarray(time, dtype=float)
    if not ((times > event) & (times <= end)).any():
        raise ScenarioError(f"event = {event:g} .. {end:g} s: there are no bins")
    delivered = np.asarray(amounts, dtype=float).reshape(times.size, -1)
    width = positive("width", width, "s")
    if end - event < 2 * width:
        return np.empty(0), np.empty((0, delivered.shape[1]))
    starts = np.append(event, times[(times > event) & (times <= end - width)])
    return starts, _mean_rates(times, delivered, starts, width)


def _mean_rates(
    times: NDArray[np.float64], amounts: NDArray[np.float64], starts: ArrayLike, width: float
) -> NDArray[np.float64]:
    """Rates over `width` from each start, shape [start, flow]."""
    first = 2 * times[0] - times[1] if times.size > 1 else 0.0
    edges, begins = np.append(first, times), np.asarray(starts, dtype=float)
    totals = np.vstack([np.zeros(amounts.shape[1]), amounts.cumsum(axis=0)]).T
    sums = [np.interp(begins + width, edges, t) - np.interp(begins, edges, t) for t in totals]
    return np.stack(sums, axis=1) / width


def delta_fair_time(
    time: ArrayLike,
    amounts: ArrayLike,
    event: float,
    width: float,
    *,
    end: float | None = None,
    delta: float = 0.1,
    count: ArrayLike | None = None,
) -> float:
    """Delta-fair convergence time: when every flow's share first is within delta of fair, s.

    Among n flows a share is within delta of fair between (1 - delta) / n and (1 + delta) / n.

    Source: [Bansal01] section 4.2.2, for two flows: the time to get from one flow with all of the
    bandwidth to shares of (1 + delta) / 2 and (1 - delta) / 2; they plot delta = 0.1.

    Args:
        time: ends of the bins, shape [time], s, increasing.
        amounts: what each flow delivered in each bin, shape [time, flow], any unit.
        event: time of the change (a flow's start), s.
        width: width of the sliding window, s; see `averaging_time`.
        end: end of the time after the event, s. Default: the end of the last bin.
        delta: largest relative distance from the fair share, in [0, 1].
        count: number of flows that each column of `amounts` is the sum of, shape [flow]; their
            share is divided by it. Default: 1.

    Returns:
        seconds; NaN if no window is fair, or if there is no room for two windows.
    """
    probability("delta", delta)
    starts, rates = _means(time, amounts, event, end, width)
    sums = rates.sum(axis=1)
    shares = np.divide(rates, sums[:, None], out=np.zeros_like(rates), where=sums[:, None] > 0)
    numbers = flow_counts(rates.shape[1], count)
    fair = (np.abs(shares / numbers * numbers.sum() - 1) <= delta).all(axis=1)
    return _after(event, starts, int(fair.argmax()), width) if fair.any() else math.nan


def fair_time(
    time: ArrayLike,
    amounts: ArrayLike,
    event: float,
    width: float,
    *,
    end: float | None = None,
    level: float = 0.95,
    count: ArrayLike | None = None,
) -> float:
    """Time until Jain's index of the windowed rates is at least `level` for good, s.

    Source: [RFC5166] section 2.3 (fairness and convergence).

    Args:
        time, amounts, event, width, end, count: as in `delta_fair_time`.
        level: least index, in [0, 1].

    Returns:
        seconds; NaN if the index is below `level` in one of the windows of the last fifth of the
        time, or if there is no room for two windows.
    """
    probability("level", level)
    starts, rates = _means(time, amounts, event, end, width)
    numbers = flow_counts(rates.shape[1], count)
    squares = numbers.sum() * (rates**2 / numbers).sum(axis=1)
    index = np.divide(
        rates.sum(axis=1) ** 2, squares, out=np.zeros_like(squares), where=squares > 0
    )
    return _for_good(event, starts, index >= level, width)


def settling_time(
    time: ArrayLike,
    amounts: ArrayLike,
    event: float,
    width: float,
    *,
    end: float | None = None,
    band: float = 0.1,
) -> float:
    """Time until a flow's windowed rate is within `band` of its final value for good, s.

    The final value is the mean rate over the last fifth of the time after the event, at least over
    one window. This is the settling time of control theory, for cycle means.

    Source: [RFC5166] section 2.2 (response times).

    Args:
        time, event, width, end: as in `delta_fair_time`.
        amounts: what the flow delivered in each bin, shape [time], any unit.
        band: largest relative distance from the final value.

    Returns:
        seconds; NaN if a window of the last fifth of the time is outside the band, if the final
        value is 0, or if there is no room for two windows.
    """
    nonnegative("band", band)
    starts, rates = _means(time, amounts, event, end, width)
    if not starts.size:
        return math.nan
    times = np.asarray(time, dtype=float)
    last = float(times[-1]) if end is None else end
    tail = max(width, LAST * (last - event))
    delivered = np.asarray(amounts, dtype=float).reshape(-1, 1)
    final = float(_mean_rates(times, delivered, [last - tail], tail)[0, 0])
    if not final > 0:
        return math.nan
    return _for_good(event, starts, np.abs(rates[:, 0] / final - 1) <= band, width)


def _means(
    time: ArrayLike, amounts: ArrayLike, event: float, end: float | None, width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    last = float(np.asarray(time, dtype=float)[-1]) if end is None else end
    return sliding_means(time, amounts, event, last, width)


def _for_good(
    event: float, starts: NDArray[np.float64], holds: NDArray[np.bool_], width: float
) -> float:
    """Time of the first window from which a criterion holds until the end."""
    if not holds.size or not holds[starts >= starts[-1] - LAST * (starts[-1] - event)].all():
        return math.nan
    broken = np.flatnonzero(~holds)
    return _after(event, starts, int(broken[-1]) + 1 if broken.size else 0, width)


def _after(event: float, starts: NDArray[np.float64], window: int, width: float) -> float:
    return float(starts[window] - event + width / 2) if window else 0.0
