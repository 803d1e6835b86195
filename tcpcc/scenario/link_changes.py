"""Links that change with time: arrays of rates, mobile networks from traces or a law, outages.

Each function returns a list of `Change` for ``Scenario(..., changes=[...])``; lists can be added.
A link of rate 0 sends nothing and its packets wait. If the rate changes while a packet is being
sent, the rest of the packet is sent at the new rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcpcc.errors import ScenarioError, positive, refuse, unknown, whole
from tcpcc.scenario import units
from tcpcc.scenario.frozen import bit_rate, named, seconds
from tcpcc.scenario.network import Change, Network
from tcpcc.scenario.units import Quantity

OPPORTUNITY = 1504 * 8  # bits that one line of a Mahimahi trace allows to leave
MOST = 1_000_000  # changes per series; bounds memory

__all__ = ["cellular", "mahimahi", "outage", "rate_series"]


@named
def rate_series(
    link: str,
    rates: Sequence[float] | Any,
    *,
    interval: Quantity | None = None,
    times: Sequence[float] | Any = None,
    start: Quantity = 0.0,
    until: Quantity | None = None,
) -> list[Change]:
    """The changes of a link whose rate follows an array.

    Args:
        link: its name.
        rates: shape [n], bit/s, each valid until the next one; 0: the link sends nothing.
        interval: time between rates, s; alternative to `times`.
        times: shape [n], time at which each rate begins, s after `start`, in rising order.
        start: time at which the series begins, s.
        until: time at which the series ends, s; the series is repeated until then. With `times`
            the last rate lasts as long as the one before it. None: one pass.

    Returns:
        one change for each time the rate changes.

    Raises:
        ScenarioError: the arrays differ in length, or a rate is negative.

    >>> [(c.at, c.rate) for c in rate_series("bottleneck", [2e6, 1e6], interval=5)]
    [(0.0, 2000000.0), (5.0, 1000000.0)]
    """
    values = np.asarray(rates, dtype=float)
    if values.ndim != 1 or not len(values) or not np.all(values >= 0):
        raise refuse("rates", rates, "numbers >= 0, at least one (bit/s)")
    units.look_for_units({"largest of rates": values.max()}, {})
    if (interval is None) == (times is None):
        raise ScenarioError("rate_series: give either an interval or times")
    if interval is not None:
        width = seconds("interval", interval, positive)
        at = width * np.arange(len(values))
    else:
        at = np.asarray(times, dtype=float)
        rising = at.shape == values.shape and np.all(np.isfinite(at)) and np.all(np.diff(at) > 0)
        if not rising or at[0] < 0:
            raise refuse("times", times, f"{len(values)} rising numbers >= 0, one for each rate")
        width = float(at[-1] - at[-2]) if len(at) > 1 else 1.0
    begin = seconds("start", start)
    period = float(at[-1]) + width
    end = None if until is None else seconds("until", until, positive)
    rounds = 1 if end is None else max(int(np.ceil((end - begin) / period)), 1)
    if rounds * len(values) > MOST:
        raise refuse("rates", len(values), f"at most {MOST:.0e} changes with all repetitions")
    changes: list[Change] = []
    # Checked once: the others are copies of it with another time and rate.
    checked = Change(begin, link, rate=units.Checked(float(values.max())))
    held = -1.0
    for turn in range(rounds):
        for time, rate in zip((begin + turn * period + at).tolist(), values.tolist(), strict=True):
            if rate != held and (end is None or time < end):
                changes.append(checked._with(at=time, rate=rate))
            held = rate
    return changes


@named
def mahimahi(
    link: str,
    trace: str | Path,
    *,
    until: Quantity,
    interval: Quantity = "20 ms",
    start: Quantity = 0.0,
) -> list[Change]:
    """The changes of a link that follows a trace of the emulator Mahimahi.

    Each line of a trace is a time in ms at which 1504 bytes may leave. The trace is repeated.

    Args:
        link: its name.
        trace: the file.
        until: end of the run, s.
        interval: bin over which opportunities are averaged to a rate, s. 1 ms is the resolution of
            the trace.
        start: time at which the trace begins, s.

    Raises:
        ScenarioError: the file cannot be read or is not such a trace.

    Source: R. Netravali and others, USENIX ATC 2015.
    """
    width = seconds("interval", interval, positive)
    try:
        stamps = [int(line) for line in Path(trace).read_text().split()]
    except (OSError, ValueError) as error:
        raise ScenarioError(
            f"trace {str(trace)!r}: cannot be read as a Mahimahi trace ({error})"
        ) from None
    if not stamps or stamps[-1] <= 0 or min(stamps) < 0 or stamps != sorted(stamps):
        raise ScenarioError(f"trace {str(trace)!r}: must be rising whole numbers of ms")
    bins = max(int(np.ceil(stamps[-1] * 1e-3 / width - 1e-9)), 1)
    # an opportunity at the end of a millisecond belongs to that millisecond
    counts = Counter(min(int(max(ms - 0.5, 0) * 1e-3 / width), bins - 1) for ms in stamps)
    rates = [counts[k] * OPPORTUNITY / width for k in range(bins)]
    return rate_series(link, rates, interval=width, start=start, until=until)


@named
def cellular(
    link: str,
    *,
    until: Quantity,
    most: Quantity = "12 Mbps",
    wander: Quantity = "2.4 Mbps",
    silence: Quantity = "100 ms",
    interval: Quantity = "20 ms",
    start: Quantity = 0.0,
    seed: int = 1,
) -> list[Change]:
    """The changes of a link whose capacity is as random as that of a cellular network.

    Opportunities to send 1504 bytes are a Poisson process, whose rate is a Brownian motion between
    0 and `most`. It is reflected at `most`; at 0 it stays for an exponential time. That is the
    model of a cellular link in Sprout.

    Args:
        link: its name.
        until: end of the run, s.
        most: largest mean rate, bit/s; the process begins at its half.
        wander: standard deviation of the mean rate after 1 s, bit/s; Sprout: 200 packets/s.
        silence: mean time at rate 0, s.
        interval: bin over which opportunities are averaged to a rate, s.
        start: time at which the process begins, s.
        seed: seed of the process; equal seeds give equal changes.

    Raises:
        ScenarioError: a rate or a time is not positive, or the process has too many changes.

    Source: K. Winstein, A. Sivaraman, H. Balakrishnan, NSDI 2013, section 3.
    """
    width = seconds("interval", interval, positive)
    begin = seconds("start", start)
    end = seconds("until", until, positive)
    units.look_for_units({"most": most}, {})
    top = bit_rate("most", most)
    spread = bit_rate("wander", wander)
    stay = math.exp(-width / seconds("silence", silence, positive))
    bins = max(math.ceil((end - begin) / width - 1e-9), 1)
    if bins > MOST:
        raise refuse("interval", interval, f"at most {MOST:.0e} changes until the end (s)")
    draw = np.random.default_rng(whole("seed", seed, low=0))
    steps, leaves = draw.normal(0.0, spread * math.sqrt(width), bins), draw.random(bins) >= stay
    mean, means = top / 2, np.empty(bins)
    for k in range(bins):
        if mean > 0:
            mean = max(top - abs(top - mean - steps[k]), 0.0)
        elif leaves[k]:
            mean = min(abs(steps[k]), top)
        means[k] = mean
    rates = draw.poisson(means * width / OPPORTUNITY) * OPPORTUNITY / width
    return rate_series(link, rates, interval=width, start=begin, until=end)


@named
def outage(net: Network, link: str, at: Quantity, until: Quantity) -> list[Change]:
    """The changes of a link that sends nothing for a while; packets wait in its buffer.

    Args:
        net: the network; after the outage the link has its rate there.
        link: its name.
        at, until: beginning and end of the outage, s.

    Raises:
        ScenarioError: no such link, or an end that is not after the beginning.
    """
    rates = {item.name: item.rate for item in net.links}
    if link not in rates:
        raise unknown("link", link, rates)
    begin, end = units.seconds(at, "at"), units.seconds(until, "until")
    if not end > begin:
        raise ScenarioError(f"until = {end:g}: must be later than at = {begin:g} (s)")
    return [Change(begin, link, rate=0.0), Change(end, link, rate=units.Checked(rates[link]))]
