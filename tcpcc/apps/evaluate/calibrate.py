"""Estimate the path of a trace (rate, RTT, buffer, cross traffic, policer): `tcpcc.calibrate`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError
from tcpcc.results import Run
from tcpcc.scenario import CBR, Flow, Network, Scenario
from tcpcc.scenario.topologies import dumbbell

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("time", "rtt", "delivered")

QUEUED = 1.1
"""RTT over base RTT above which the bottleneck is taken to be busy."""

ROUNDS = 4.0
"""Width of the window over which delivery rates are measured, in base RTTs."""


BURST = 1.5
"""Packets in a quarter of a window over the median quarter, above which ACKs waited in a host."""

BUSY = 0.1
"""Share of the time with a queue below which a path counts as one without."""

SUSTAINED = 1.0
"""Least time that a queueing delay lasts, in base RTTs; in a shorter one ACKs waited in a host."""

STEADY, FELL = 1.25, 1.3
"""Largest ratio of rates that are alike, and least ratio of a burst's to the steady rate."""


@dataclass(frozen=True)
class Path:
    """The path of a trace, as estimated from the trace.

    Attributes:
        rate: rate of the bottleneck, bit/s: the largest delivery rate over some RTTs.
        base_rtt: smallest RTT, s.
        buffer: packets: the rate times the largest queueing delay. NaN if the queue never filled.
        cross: rate of cross traffic while the bottleneck was busy, bit/s: what the trace's flow did
            not get.
        busy: share of the time in which the bottleneck had a queue; where it is small, `rate` and
            `buffer` are only lower bounds.
        policer: whether packets are dropped without a queue; `rate` is then the policer's, and
            `buffer` the burst that it lets pass.
        packet_size: bytes of a packet.
    """

    rate: float
    base_rtt: float
    buffer: float
    cross: float
    busy: float
    policer: bool
    packet_size: int

    @property
    def network(self) -> Network:
        """A dumbbell with this bottleneck.

        Raises:
            ScenarioError: the buffer is not known.
        """
        if math.isnan(self.buffer):
            raise ScenarioError("buffer = nan: the trace never filled the queue")
        return dumbbell(self.rate, self.base_rtt / 2, max(round(self.buffer), 1))

    def scenario(self, controller: str, duration: float, **settings: Any) -> Scenario:
        """A flow over this path, beside a source of constant rate in place of the cross traffic.

        Args:
            controller: its controller.
            duration: s.
            **settings: of the `Flow`.
        """
        flow = Flow(controller, packet_size=self.packet_size, **settings)
        flows: list[Flow | CBR] = [flow]
        if self.cross > 0.02 * self.rate:
            flows.append(CBR(self.cross, packet_size=self.packet_size, name="cross"))
        return Scenario(self.network, flows, duration=duration)


def calibrate(
    trace: Run | pd.DataFrame, flow: str | None = None, *, packet_size: int | None = None
) -> Path:
    """Estimate the path of a flow from what its sender saw.

    Args:
        trace: a run, or a table with the columns `time` (s), `rtt` (s) and `delivered` (packets
            acknowledged so far), from rising times; `ss` and `TCP_INFO` give these.
        flow: name of the run's flow. Default: the only one.
        packet_size: bytes of a packet on the wire. Default: the run's; of a table 1500.

    Raises:
        ScenarioError: a column is missing, there are fewer than 20 RTTs, or the flow never sends
            for some RTTs without a pause.
    """
    time, rtt, delivered, size = _series(trace, flow, packet_size)
    valid = np.isfinite(rtt) & (rtt > 0)
    if not valid.any():
        raise ScenarioError("trace: has no RTT")
    base = float(rtt[valid].min())
    if time[-1] - time[0] < 20 * base:
        raise ScenarioError(
            f"trace: lasts {time[-1] - time[0]:g} s, less than 20 RTTs of {base:g} s"
        )
    width = max(ROUNDS * base, 4 * float(np.median(np.diff(time))))
    ends = np.arange(time[0] + width, time[-1], width / 4)
    counts = np.stack([np.interp(ends - k * width / 4, time, delivered) for k in range(5)])
    rates = (counts[0] - counts[-1]) / width
    sending = np.all(np.diff(counts, axis=0) < 0, axis=0)  # in every quarter of the window
    if not sending.any():
        raise ScenarioError(f"trace: data are never sent for {width:g} s without a pause")
    times, rtts = _sustained(time[valid], rtt[valid], SUSTAINED * base)
    busy = sending & (np.interp(ends, times, rtts) > QUEUED * base)
    if busy.sum() < BUSY * sending.sum():
        return _policed(rates, base, time, delivered, size)
    quarters = -np.diff(counts, axis=0)
    even = busy & (quarters.max(axis=0) < BURST * np.median(quarters, axis=0))
    samples = np.stack(
        [np.searchsorted(time, ends - k * width / 4, side="right") for k in range(5)]
    )
    even &= np.all(np.diff(samples, axis=0) < 0, axis=0)  # between samples `delivered` is a guess
    full = rates[even if even.any() else busy]
    rate = float(np.quantile(full, 0.95))
    largest = float(np.quantile(rtts, 0.999)) - base
    cross = max(rate - float(full.mean()), 0.0)
    bits, share = 8 * size, float(busy.sum() / sending.sum())
    return Path(rate * bits, base, largest * rate, cross * bits, share, False, size)


def _sustained(
    time: NDArray[np.float64], rtt: NDArray[np.float64], width: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times, and the RTT that lasts for `width` s, or two samples, around each of them.

    A queue fills over round trips. A large RTT of a moment, also of many ACKs at once, is no queue.
    """
    from scipy.ndimage import maximum_filter1d, minimum_filter1d

    steps = np.diff(time)
    step = max(float(np.median(steps[steps > 0])), width / 8)
    grid = np.arange(time[0], time[-1] + step, step)
    after = np.searchsorted(time, grid, side="right")
    both = rtt[np.maximum(after - 1, 0)], rtt[np.minimum(after, len(rtt) - 1)]
    least = np.minimum(*both)  # between two samples the smaller one
    samples = max(math.ceil(width / step), 2)
    samples += 1 - samples % 2  # odd: centred
    opened: NDArray[np.float64] = maximum_filter1d(minimum_filter1d(least, samples), samples)
    return grid, opened


def _series(
    trace: Run | pd.DataFrame, flow: str | None, packet_size: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    if isinstance(trace, Run):
        names = [flow] if flow else trace.active()
        if len(names) != 1:
            raise ScenarioError(f"flow = {flow}: name one of {', '.join(names)}")
        data = trace.data.sel(flow=names[0])
        size = int(data["packet_size"])
        arrived = data["delivered"].values.cumsum()
        return data["time"].values, data["rtt"].values, arrived, packet_size or size
    for name in COLUMNS:
        if name not in trace.columns:
            raise ScenarioError(f"trace: needs the columns {', '.join(COLUMNS)}; has no {name!r}")
    time, rtt, arrived = (trace[name].to_numpy(float) for name in COLUMNS)
    return time, rtt, arrived, packet_size or 1500


def _policed(
    rates: NDArray[np.float64],
    base: float,
    time: NDArray[np.float64],
    delivered: NDArray[np.float64],
    size: int,
) -> Path:
    """A path without a queue: a policer, if the rate fell once and is then steady; or never filled.

    Packets that pass a policer are bounded by its rate over any long time, so that the rates of
    eighths of the second half are alike; after random losses they are not.
    """
    ends = np.linspace((time[0] + time[-1]) / 2, time[-1], 9)
    eighths = np.diff(np.interp(ends, time, delivered)) / np.diff(ends)
    later = float(eighths.mean())
    steady = eighths.min() > 0 and eighths.max() < STEADY * eighths.min()
    if not steady or rates.max() < FELL * later:
        return Path(float(rates.max()) * 8 * size, base, math.nan, 0.0, 0.0, False, size)
    excess = delivered - delivered[0] - later * (time - time[0])
    return Path(later * 8 * size, base, max(float(excess.max()), 1.0), 0.0, 0.0, True, size)
