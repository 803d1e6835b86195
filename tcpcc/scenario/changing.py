"""Links that change with time: arrays of rates, traces of mobile networks, outages.

Each function gives `Change`s for ``Scenario(..., changes=[...])``; lists can be added. In the
packet model a rate of 0 stands for a link that sends nothing, while packets wait; the fluid model
refuses such changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcpcc.errors import ScenarioError, nonnegative, positive, refuse, unknown
from tcpcc.scenario import units
from tcpcc.scenario.frozen import named
from tcpcc.scenario.network import Change, Network
from tcpcc.scenario.units import Quantity

OPPORTUNITY = 1504 * 8  # bits that one line of a Mahimahi trace lets through
MOST = 1_000_000  # changes that one trace may make


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
    """A link that follows an array of rates.

    Args:
        link: its name.
        rates: shape [n], bit/s, each held until the next; 0: nothing is sent.
        interval: s between them; or give `times`.
        times: shape [n], s, when each begins, in rising order; 0 is `start`.
        start: s, when the series begins.
        until: s; with it the series is repeated until then (with `times` it lasts as long after
            the last of them as between the last two).

    Raises:
        ScenarioError: arrays that do not go together, a negative rate.

    >>> [(c.at, c.rate) for c in rate_series("bottleneck", [2e6, 1e6], interval=5)]
    [(0.0, 2000000.0), (5.0, 1000000.0)]
    """
    values = np.asarray(rates, dtype=float)
    if values.ndim != 1 or not len(values) or not np.all(values >= 0):
        raise refuse("rates", rates, "numbers >= 0, at least one (bit/s)")
    if (interval is None) == (times is None):
        raise ScenarioError("rate_series: give an interval or times, one of the two")
    if interval is not None:
        width = positive("interval", units.seconds(interval, "interval"), "s")
        at = width * np.arange(len(values))
    else:
        at = np.asarray(times, dtype=float)
        if at.shape != values.shape or np.any(np.diff(at) <= 0) or at[0] < 0:
            raise refuse("times", times, f"{len(values)} rising numbers >= 0, one for each rate")
        width = float(at[-1] - at[-2]) if len(at) > 1 else 1.0
    begin = nonnegative("start", units.seconds(start, "start"), "s")
    period = float(at[-1]) + width
    end = None if until is None else positive("until", units.seconds(until, "until"), "s")
    rounds = 1 if end is None else max(int(np.ceil((end - begin) / period)), 1)
    if rounds * len(values) > MOST:
        raise refuse("rates", len(values), f"at most {MOST:.0e} changes with all repetitions")
    changes: list[Change] = []
    held = -1.0
    for turn in range(rounds):
        for time, rate in zip((begin + turn * period + at).tolist(), values.tolist(), strict=True):
            if rate != held and (end is None or time < end):
                changes.append(Change(time, link, rate=rate))
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
    """A link that follows a trace of the emulator Mahimahi (R. Netravali and others, USENIX ATC
    2015): each line is the ms at which 1504 bytes may leave; the file is repeated.

    Args:
        link: its name.
        trace: the file.
        until: s, when the run ends.
        interval: s, over which opportunities are made a rate. 1 ms keeps them one by one.
        start: s, when the trace begins.

    Raises:
        ScenarioError: a file that cannot be read, or is not such a trace.
    """
    width = positive("interval", units.seconds(interval, "interval"), "s")
    try:
        stamps = [int(line) for line in Path(trace).read_text().split()]
    except (OSError, ValueError) as error:
        raise ScenarioError(f"trace {str(trace)!r}: not a Mahimahi trace ({error})") from None
    if not stamps or stamps[-1] <= 0 or min(stamps) < 0 or stamps != sorted(stamps):
        raise ScenarioError(f"trace {str(trace)!r}: must be rising whole numbers of ms")
    bins = max(int(np.ceil(stamps[-1] * 1e-3 / width - 1e-9)), 1)
    # an opportunity at the end of a millisecond is the work of that millisecond
    counts = Counter(min(int(max(ms - 0.5, 0) * 1e-3 / width), bins - 1) for ms in stamps)
    rates = [counts[k] * OPPORTUNITY / width for k in range(bins)]
    return rate_series(link, rates, interval=width, start=start, until=until)


@named
def outage(net: Network, link: str, at: Quantity, until: Quantity) -> list[Change]:
    """A link that sends nothing for a while; packets wait in its queue, as far as it has room.

    Args:
        net: the network, for the rate that the link comes back with.
        link: its name.
        at, until: s, from when until when.

    Raises:
        ScenarioError: no such link, or an end before the beginning.
    """
    rates = {one.name: one.rate for one in net.links}
    if link not in rates:
        raise unknown("link", link, rates)
    begin, end = units.seconds(at, "at"), units.seconds(until, "until")
    if not end > begin:
        raise ScenarioError(f"until = {end:g}: must be later than at = {begin:g} (s)")
    return [Change(begin, link, rate=0.0), Change(end, link, rate=rates[link])]
