"""Performance metrics as pure functions on arrays; `tcpcc.results.Run` applies them to a run.

Each docstring gives the formula and its source. A ratio whose denominator is 0 (no packet sent, no
throughput) is NaN.

Sources named more than once:
    [Jain91] R. Jain, The Art of Computer Systems Performance Analysis, Wiley 1991.
    [RFC5166] S. Floyd (ed.), Metrics for the Evaluation of Congestion Control Mechanisms, 2008.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.errors import ScenarioError, nonnegative, positive, probability

TAIL = 0.05
"""Fraction at the end of a time window from which `convergence_time` takes the final value."""

BAND = 1.5
"""Half width of the band in which `convergence_time` calls a window settled, packets; it gives the
times published in the Quick Vegas paper."""


def jain_index(
    x: ArrayLike, fair: ArrayLike | None = None, count: ArrayLike | None = None
) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2), in [1/n, 1]; 1 when all are equal.

    Source: [Jain91], eq. 5 of Chan et al. (Quick Vegas), RFC 5166 section 2.3.

    Args:
        x: throughput per flow, shape [flow], any unit, non-negative.
        fair: fair share of each flow, shape [flow]; the index is then that of x / fair. Default:
            equal shares.
        count: number of equal flows that each value is the sum of, shape [flow]; `fair` is then
            that sum's fair share divided by the number. Default: 1.

    Returns:
        the index; NaN if every throughput is zero.

    Raises:
        ScenarioError: no flow, or a negative throughput.

    >>> jain_index([1, 1, 1, 0])
    0.75
    >>> jain_index([3, 1], count=[3, 1])
    1.0
    """
    numbers = flow_counts(np.size(x), count)
    shares = _vector("x", x) / numbers
    if fair is not None:
        shares = shares / np.asarray(fair, dtype=float)
    largest = shares.max()
    if not largest > 0:
        return math.nan
    shares = shares / largest  # scale-free, and squares of raw bit rates may overflow
    total, squares = (numbers * shares).sum(), (numbers * shares**2).sum()
    return float(total**2 / (numbers.sum() * squares))


def min_max_ratio(x: ArrayLike) -> float:
    """Lowest over highest throughput, min x / max x, in [0, 1]; 1 when all are equal.

    Source: [RFC5166] section 2.3. NaN if every throughput is zero.
    """
    values = _vector("x", x)
    return _quotient(values.min(), values.max())


def throughput_ratio(
    x: ArrayLike,
    y: ArrayLike,
    x_count: ArrayLike | None = None,
    y_count: ArrayLike | None = None,
) -> float:
    """Ratio of the mean throughputs of two groups of flows, mean(x) / mean(y).

    This is "Fairness" in the Vegas/Reno tables of the RED thesis (mean Vegas over mean Reno) and
    eq. 14 of the Westwood paper (one flow each). NaN if the throughput of the second group is zero.

    Args:
        x, y: throughputs, shape [flow], any unit.
        x_count, y_count: number of flows that each value is the sum of, shape [flow]. Default: 1.
    """
    return _quotient(
        _vector("x", x).sum() / flow_counts(np.size(x), x_count).sum(),
        _vector("y", y).sum() / flow_counts(np.size(y), y_count).sum(),
    )


def tradeoff(
    legacy_before: ArrayLike,
    legacy_after: ArrayLike,
    utilization_before: float,
    utilization_after: float,
) -> tuple[float, float]:
    """A point (L, G) of the efficiency/friendliness graph.

    L is the mean legacy throughput with the new protocol over that without it; G is the
    utilization with it over that without it. L = 1 and a large G is best. Source: eq. 15 of the
    Westwood paper, after Wang et al., ISCC 2002.

    Args:
        legacy_before: throughput of the legacy flows when all flows are legacy, shape [flow].
        legacy_after: throughput of the remaining legacy flows when half are replaced, shape [flow].
        utilization_before: utilization of the bottleneck in the first run.
        utilization_after: utilization of the bottleneck in the second run.
    """
    friendliness = throughput_ratio(legacy_after, legacy_before)
    return friendliness, _quotient(utilization_after, utilization_before)


def utilization(bits: float, rate: float, seconds: float) -> float:
    """Used fraction of a link's capacity, bits / (rate x seconds).

    Source: [Jain91]; Table I of the Quick Vegas paper. NaN for a link of infinite rate.

    Args:
        bits: bits sent in the time window (or delivered payload, for the useful fraction).
        rate: rate of the link, bit/s.
        seconds: length of the time window, s.
    """
    if math.isinf(positive("rate", rate, "bit/s", inf=True)):
        return math.nan
    return nonnegative("bits", bits, "bits") / (rate * positive("seconds", seconds, "s"))


def loss_rate(dropped: float, sent: float) -> float:
    """Lost packets over sent packets, both with retransmissions; NaN if no packet was sent.

    Source: [RFC5166] section 2.1.3 (packet loss rates).
    """
    return _quotient(nonnegative("dropped", dropped), nonnegative("sent", sent))


def coefficient_of_variation(x: ArrayLike, width: ArrayLike | None = None) -> float:
    """Standard deviation over mean, a measure of oscillation of a rate, a window or a queue.

    Source: [RFC5166] section 2.2 (response times and oscillations); the "stability index" of
    Jin, Wei and Low (FAST TCP) is its mean over flows. NaN if the mean is zero.

    Args:
        x: samples, shape [time].
        width: duration of each sample, s, shape [time]. Default: all equal.
    """
    values = _vector("x", x, negative=True)
    weight = _weights(values, width)
    mean = np.average(values, weights=weight)
    spread = math.sqrt(np.average((values - mean) ** 2, weights=weight))
    return _quotient(spread, mean)


def convergence_time(
    time: ArrayLike, cwnd: ArrayLike, event: float, end: float | None = None, band: float = BAND
) -> float:
    """Time from `event` until the window stays within `band` packets of its final value, s.

    The final value is the median of the last 5 % of the samples in [event, end] (at least one), so
    that an outlier does not move it. The result is the time of the first sample after the last one
    outside the band; its resolution is the sampling interval.

    Source: "convergence time", S. Vanichpun and W. Feng, On the transient behavior of TCP Vegas,
    ICCCN 2002: the time needed to reach a new stable state, there counted in base RTTs
    (`in_base_rtts`). For rates that oscillate see `Run.settling_time`.

    Args:
        time: times of the samples, shape [time], s, increasing.
        cwnd: window at these times, shape [time], packets; NaN while the flow was not active.
        event: time of the change (a flow's start, a change of the free bandwidth), s.
        end: end of the time window, s, such as the time of the next event. Default: the last
            sample.
        band: half width of the band, packets.

    Returns:
        seconds; 0 if the window never left the band; NaN if it did not settle, that is, if one of
        the last 5 % of the samples is outside the band or NaN.

    Raises:
        ScenarioError: no sample in [event, end].

    >>> convergence_time([1, 2, 3, 4, 5], [10, 20, 30, 40, 40], event=1)
    3.0
    """
    times, values = np.asarray(time, dtype=float), np.asarray(cwnd, dtype=float)
    nonnegative("band", band, "packets")
    inside = (times >= event) & (times <= (math.inf if end is None else end))
    if not inside.any():
        span = f"{event:g}" if end is None else f"{event:g} .. {end:g}"
        raise ScenarioError(f"event = {span} s: there are no samples of the congestion window")
    times, values = times[inside], values[inside]
    tail = max(1, math.ceil(TAIL * values.size))
    settled = np.abs(values - np.median(values[-tail:])) <= band
    if not settled[-tail:].all():
        return math.nan
    outside = np.flatnonzero(~settled)
    return float(times[outside[-1] + 1] - event) if outside.size else 0.0


def in_base_rtts(seconds: float, base_rtt: float) -> float:
    """A time in units of a flow's base RTT (s), the scale of the convergence-time figures."""
    return float(seconds) / positive("base_rtt", base_rtt, "s")


class QueueStats(NamedTuple):
    """Statistics of a queue over time, all in packets."""

    mean: float
    sd: float
    median: float
    p95: float
    max: float


def queue_stats(
    queue: ArrayLike, width: ArrayLike | None = None, peak: ArrayLike | None = None
) -> QueueStats:
    """Time-weighted statistics of a queue from its mean in each bin.

    Args:
        queue: mean number of waiting packets in each bin, shape [time].
        width: length of each bin, shape [time], s. Default: all equal.
        peak: largest number in each bin, shape [time]. Default: `queue`.
    """
    values = _vector("queue", queue)
    weight = _weights(values, width)
    mean = float(np.average(values, weights=weight))
    return QueueStats(
        mean=mean,
        sd=math.sqrt(np.average((values - mean) ** 2, weights=weight)),
        median=quantile(values, 0.5, weight),
        p95=quantile(values, 0.95, weight),
        max=float(values.max() if peak is None else np.max(np.asarray(peak, dtype=float))),
    )


def quantile(x: ArrayLike, q: float, width: ArrayLike | None = None) -> float:
    """Time-weighted quantile: the smallest sample not exceeded for a fraction `q` of the time.

    Args:
        x: samples, shape [time].
        q: fraction of the time, in [0, 1].
        width: duration of each sample, s, shape [time]. Default: all equal.
    """
    probability("q", q)
    values = _vector("x", x, negative=True)
    order = np.argsort(values, kind="stable")
    share = np.cumsum(_weights(values, width)[order])
    # the tolerance makes five bins of ten count as half in spite of rounding
    index = np.searchsorted(share, q * share[-1] * (1 - 1e-12))
    return float(values[order[min(index, values.size - 1)]])


def max_min_allocation(
    capacity: ArrayLike, crosses: ArrayLike, demand: ArrayLike | None = None
) -> NDArray[np.float64]:
    """The max-min fair rate of each flow.

    No flow can get more without reducing a flow that has no more than it. Computed by progressive
    filling: all rates rise together, and the rates of a link's flows stop when the link is full.
    Source: D. Bertsekas and R. Gallager, Data Networks, 2nd ed., section 6.5.2.

    Args:
        capacity: capacity of each link, shape [link], bit/s; inf allowed.
        crosses: whether a flow uses a link, shape [flow, link].
        demand: largest rate a flow can use, shape [flow], bit/s. Default: no limit.

    Returns:
        rates, shape [flow], bit/s; inf for an unlimited flow.

    >>> max_min_allocation([1.0, 2.0], [[1, 1], [1, 0], [0, 1]])  # long, short, short
    array([0.5, 0.5, 1.5])
    """
    limits = np.asarray(capacity, dtype=float)
    uses = np.asarray(crosses, dtype=bool)
    demands = np.full(len(uses), np.inf) if demand is None else np.asarray(demand, dtype=float)
    rates = np.zeros(len(uses))
    rising = np.ones(len(uses), dtype=bool)
    while rising.any():
        sharing = uses[rising].sum(axis=0)
        fixed = rates[~rising] @ uses[~rising]
        level = np.full(limits.size, np.inf)
        np.divide(limits - fixed, sharing, out=level, where=sharing > 0)
        per_flow = np.where(uses, level, np.inf).min(axis=1, initial=np.inf)
        reach = np.minimum(per_flow, demands)
        lowest = reach[rising].min()
        stops = rising & (reach <= lowest * (1 + 1e-12))
        rates[stops] = lowest
        rising &= ~stops
    return rates


class Mean(NamedTuple):
    """A mean with the half width of its confidence interval, the deviation and the sample size."""

    mean: float
    half_width: float
    sd: float
    n: int


def mean_ci(x: ArrayLike, level: float = 0.95) -> Mean:
    """Mean over independent runs (seeds) with Student's confidence interval.

    half width = t(n - 1, (1 + level) / 2) x sd / sqrt(n), with sd of n - 1 degrees of freedom.
    Source: [Jain91] chapter 13. For a single run the half width and sd are NaN.

    Args:
        x: one value per run, shape [run]; NaN are ignored.
        level: confidence level, in [0, 1).
    """
    from scipy.stats import t

    probability("level", level, one=False)
    values = np.asarray(x, dtype=float).ravel()
    values = values[~np.isnan(values)]
    n = values.size
    if n < 2:
        return Mean(float(values[0]) if n else math.nan, math.nan, math.nan, n)
    sd = float(values.std(ddof=1))
    return Mean(float(values.mean()), float(t.ppf((1 + level) / 2, n - 1)) * sd / n**0.5, sd, n)


def mean_of_known(
    values: ArrayLike, axis: int = 0, weights: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """Mean along an axis of the values that are not NaN; NaN where there is none.

    Args:
        values: such as windows, shape [time, flow], NaN while a flow is not active.
        axis: 0 for the mean over time of each flow, 1 for that over flows at each time.
        weights: such as the number of flows that each row stands for, shape [flow].

    >>> mean_of_known([[1, 10], [3, math.nan]]).tolist()
    [2.0, 10.0]
    >>> mean_of_known([[1, 10], [3, math.nan]], axis=1, weights=[2, 1]).tolist()
    [4.0, 3.0]
    """
    array = np.asarray(values, dtype=float)
    valid = ~np.isnan(array)
    if np.ndim(weights) or weights != 1:
        valid = valid & (np.asarray(weights) > 0)
        array = array * weights
        count = np.where(valid, weights, 0.0).sum(axis=axis)
    else:
        count = valid.sum(axis=axis)
    total = np.where(valid, array, 0.0).sum(axis=axis)
    mean = np.full(count.shape, math.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def flow_counts(n: int, count: ArrayLike | None) -> NDArray[np.float64]:
    """The number of flows that each of `n` values stands for: 1 unless given, shape [n]."""
    return np.ones(n) if count is None else np.asarray(count, dtype=float).ravel()


def _vector(name: str, x: ArrayLike, *, negative: bool = False) -> NDArray[np.float64]:
    values = np.asarray(x, dtype=float).ravel()
    if not values.size:
        raise ScenarioError(f"{name} = []: must contain at least one number")
    if not negative and (values < 0).any():
        raise ScenarioError(f"{name} = {values.min():g}: must not be negative")
    return values


def _weights(values: NDArray[np.float64], width: ArrayLike | None) -> NDArray[np.float64]:
    return np.ones(values.shape) if width is None else np.asarray(width, dtype=float).ravel()


def _quotient(top: float, bottom: float) -> float:
    return float(top) / float(bottom) if bottom else math.nan
