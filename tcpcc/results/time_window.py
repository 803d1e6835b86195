"""A time window of a run, and what it measures there.

A window uses the bins whose END lies in (after, before]. A window that does not coincide with bin
edges is therefore rounded to whole bins; rates are divided by the time that these bins cover.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError, real, unknown
from tcpcc.results import convergence, metrics
from tcpcc.results.recording import bins_within

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from tcpcc.results.run import Run, Selection

Count = Literal["delivered", "sent"]


class Sliding(NamedTuple):
    """Rates over a sliding window, for the functions of `tcpcc.results.convergence`.

    Attributes:
        time: ends of all bins of the run, s, shape [time].
        amounts: bits delivered, shape [time, flow].
        width: width of the sliding window, s.
        end: end of the time window, s.
        counts: number of flows that each of the flows stands for, shape [flow].
    """

    time: NDArray[np.float64]
    amounts: NDArray[np.float64]
    width: float
    end: float
    counts: NDArray[np.float64]


class Window:
    """A time window of a run: `run.window(after, before)`.

    A row that stands for several flows (``data["count"]``: the fluid model and the hybrid run a
    large `count` as representatives) has their sums.

    Attributes:
        run: the run.
        after: start, s.
        before: end, s; None: the end of the run.

    Raises:
        ScenarioError: on use: the window contains no bin.
    """

    def __init__(self, run: Run, after: float = 0.0, before: float | None = None) -> None:
        self.run, self.after, self.before = run, after, before
        self.data = run.data

    def __repr__(self) -> str:
        return f"<Window {self.span}>"

    @property
    def span(self) -> str:
        return f"({self.after:g}, {self.run.duration if self.before is None else self.before:g}] s"

    @cached_property
    def bins(self) -> slice:
        ends, interval = self.data["time"].values, float(self.data.attrs["interval"])
        last = math.inf if self.before is None else real("before", self.before, unit="s")
        first, stop = bins_within(ends, interval, real("after", self.after, unit="s"), last)
        if first >= stop:
            raise ScenarioError(
                f"window {self.span}: contains no bin; bins of "
                f"{interval:g} s end at {ends[0]:g} ... {ends[-1]:g} s"
            )
        return slice(first, stop)

    @property
    def seconds(self) -> float:
        """The time that the bins cover, s."""
        first, ends = self.bins.start, self.data["time"].values
        return float(ends[self.bins.stop - 1] - (ends[first - 1] if first else 0.0))

    def _widths(self) -> NDArray[np.float64]:
        return np.diff(self.data["time"].values, prepend=0.0)[self.bins]

    def _total(self, variable: xr.DataArray) -> xr.DataArray:
        """The sum over the bins; NaN where a trace does not contain one."""
        return variable.isel(time=self.bins).sum("time", skipna=False)

    # Rates.

    def throughput(self, payload: bool = False, count: Count = "delivered") -> xr.DataArray:
        """Mean throughput of each flow, bit/s, dims (flow).

        The mean is over the whole time window, even if the flow was active only in part of it.

        Args:
            payload: count only the data, without headers (this is `goodput`).
            count: "delivered" counts a packet when it first reaches the receiver; "sent" when it
                is first sent, like ns-2 scripts that read the highest sequence number.
        """
        variable = self.run.variable
        variable("payload" if payload else "packet_size")
        if count == "delivered":
            return self._rate(variable("delivered"), payload)
        if count == "sent":
            return self._rate(variable("sent") - variable("retransmitted"), payload)
        raise unknown("count", count, ["delivered", "sent"])

    def _rate(self, packets: xr.DataArray, payload: bool) -> xr.DataArray:
        """Packets in each bin as a mean rate; NaN where a trace does not contain them."""
        size = self.data["payload" if payload else "packet_size"]
        rate = self._total(packets) * size * 8 / self.seconds
        kind = "goodput" if payload else "throughput"
        return rate.rename(kind).assign_attrs(units="bit/s", long_name=f"mean {kind}")

    def goodput(self) -> xr.DataArray:
        """Mean rate of payload delivered to each receiver, each byte once, bit/s, dims (flow)."""
        return self.throughput(payload=True)

    def utilization(self, link: str | None = None, payload: bool = False) -> float:
        """Used fraction of a link's capacity; see `metrics.utilization`.

        Args:
            link: name of the link. May be left out if only one is recorded.
            payload: count the payload delivered by the flows over this link, not the bits that the
                link sent.
        """
        name = self.run.recorded_link(link)
        at_link = self.data[["capacity", "sent_bits"]].sel(link=name).isel(time=self.bins)
        capacity = float(at_link["capacity"].sum())
        if payload:
            rates = self.goodput().values
            crossing = self.data["crosses"].sel(link=name).values
            bits = float(rates[crossing].sum() * self.seconds)
        else:
            bits = float(at_link["sent_bits"].sum())
        if not capacity:
            return math.nan
        return metrics.utilization(bits, capacity / self.seconds, self.seconds)

    def busiest_link(self) -> str:
        """Name of the recorded link with the largest `utilization`."""
        links = self.run.links
        first = self.run.recorded_link(links[0] if links else None)
        at_work = self.data[["sent_bits", "capacity"]].isel(time=self.bins)
        bits, capacity = (at_work[name].sum("time").values for name in ("sent_bits", "capacity"))
        shares = np.divide(bits, capacity, out=np.zeros(len(bits)), where=capacity > 0)
        return links[int(shares.argmax())] if shares.any() else first

    def jain_index(self, flows: Selection = None) -> float:
        """Jain's fairness index of the flows' throughputs; see `metrics.jain_index`.

        A row that stands for N flows counts as N flows with 1/N of its throughput.

        Args:
            flows: flows to include. Default: the flows with a controller that were active in the
                time window, so that a flow that has not started or has stopped does not lower the
                index.
        """
        names = self.compared(flows)
        rates = self.throughput().sel(flow=names)
        return metrics.jain_index(rates.values, count=self._counts(names))

    def throughput_ratio(self, a: Selection, b: Selection) -> float:
        """Ratio of the mean throughputs of flows `a` and `b`; see `metrics.throughput_ratio`.

        A row that stands for N flows counts as N flows.

        >>> run.window(after=20).throughput_ratio("vegas", "reno")  # doctest: +SKIP
        """
        rates = self.throughput()
        first, second = self.run.select(a), self.run.select(b)
        return metrics.throughput_ratio(
            rates.sel(flow=first).values,
            rates.sel(flow=second).values,
            self._counts(first),
            self._counts(second),
        )

    # Queues and losses.

    def queue_stats(self, link: str | None = None) -> metrics.QueueStats:
        """Mean, standard deviation, median, 95 % quantile and maximum of a queue, packets."""
        self.run.variable("queue")
        return self._queue_stats(link)

    def _queue_stats(self, link: str | None) -> metrics.QueueStats:
        """`queue_stats`; NaN where a trace does not contain it."""
        at_link = self.data.sel(link=self.run.recorded_link(link))
        queue, peak = (at_link[name].values[self.bins] for name in ("queue", "queue_max"))
        return metrics.queue_stats(queue, self._widths(), peak)

    def queue_quantile(self, q: float, link: str | None = None) -> float:
        """Queue length not exceeded for a fraction `q` of the time, packets (from bin means)."""
        return metrics.quantile(self.run.queue(link).values[self.bins], q, self._widths())

    def loss_rate(self) -> xr.DataArray:
        """Dropped over sent data packets, dims (flow); NaN if no packet was sent.

        Lost ACKs do not count: ``data["acks_dropped"]`` has them.
        """
        for name in ("dropped", "sent"):
            self.run.variable(name)
        return self._loss_rate()

    def _loss_rate(self) -> xr.DataArray:
        """`loss_rate`; NaN where a trace does not contain it."""
        dropped, sent = (self._total(self.data[name]) for name in ("dropped", "sent"))
        return (dropped / sent.where(sent > 0)).rename("loss_rate").assign_attrs(units="1")

    def drop_rate(self, link: str | None = None) -> float:
        """Packets dropped at a link over packets that arrived at it; NaN if no packet arrived."""
        self.run.variable("drops")
        return self._drop_rate(link)

    def _drop_rate(self, link: str | None) -> float:
        """`drop_rate`; NaN where a trace does not contain it."""
        at_link = self.data.sel(link=self.run.recorded_link(link)).isel(time=self.bins)
        return metrics.loss_rate(float(at_link["drops"].sum()), float(at_link["arrived"].sum()))

    # Tables.

    def summary(self) -> pd.DataFrame:
        """Table with one row per flow, or per representative of several flows with their sums.

        Counters and means are over the time window; loss events and timeouts are over the whole
        run.
        """
        import pandas as pd

        data = self.data
        rate, goodput = (self._rate(data["delivered"], p).values for p in (False, True))
        return pd.DataFrame(
            {
                "controller": data["controller"].values,
                "start_s": data["start"].values,
                "throughput_mbps": rate / 1e6,
                "goodput_mbps": goodput / 1e6,
                "share": rate / rate.sum() if rate.sum() else math.nan,
                "cwnd_mean": metrics.mean_of_known(data["cwnd"].values[self.bins]),
                "rtt_mean_ms": metrics.mean_of_known(data["rtt"].values[self.bins]) * 1e3,
                "base_rtt_ms": data["base_rtt"].values * 1e3,
                "sent": self._total(data["sent"]).values,
                "retransmitted": self._total(data["retransmitted"]).values,
                "loss_percent": self._loss_rate().values * 100,
                "loss_events": data["loss_events"].values,
                "timeouts": data["timeouts"].values,
                "finished_s": data["finished"].values,
            },
            index=pd.Index(self.run.flows, name="flow"),
        )

    def link_summary(self) -> pd.DataFrame:
        """Table with one row per recorded link: rate, utilization, queue, drop rate."""
        import pandas as pd

        links = self.run.links
        queues = [self._queue_stats(name) for name in links]
        return pd.DataFrame(
            {
                "rate_mbps": self.data["rate"].values / 1e6,
                "utilization": [self.utilization(name) for name in links],
                "queue_mean": [queue.mean for queue in queues],
                "queue_p95": [queue.p95 for queue in queues],
                "queue_max": [queue.max for queue in queues],
                "loss_percent": [self._drop_rate(name) * 100 for name in links],
            },
            index=pd.Index(links, name="link"),
        )

    # Flows.

    def active(self) -> list[str]:
        """Flows with a controller that were active, from start to stop or finish."""
        last = self.run.duration if self.before is None else self.before
        end = np.fmin(self.data["stop"].values, self.data["finished"].values)
        lives = (self.data["start"].values < last) & ~(end <= self.after)
        lives &= self.data["controller"].values != "cbr"
        return [name for name, alive in zip(self.run.flows, lives, strict=True) if alive]

    def compared(self, flows: Selection = None) -> list[str]:
        """The selected flows. Default: those with a controller that are active."""
        names = self.active() if flows is None else self.run.select(flows)
        if not names:
            raise ScenarioError(f"flows = []: no flow is active in {self.span}")
        return names

    def _counts(self, names: list[str]) -> NDArray[np.float64]:
        """The number of flows that each of these rows stands for."""
        return self.data["count"].sel(flow=names).values.astype(float)

    def sliding(self, flows: Selection = None, cycles: float = convergence.CYCLES) -> Sliding:
        """Rates of the `compared` flows over a sliding window of so many cycles.

        See `convergence.averaging_time`; losses and round-trip times are those in this window.
        """
        bins = self.bins
        names = self.compared(flows)
        lost = "retransmitted" if "missing" in self.data["dropped"].attrs else "dropped"
        self.run.variable(lost)
        data = self.data[["rtt", "base_rtt", lost, "delivered", "packet_size"]].sel(flow=names)
        times = data["time"].values
        rtts = metrics.mean_of_known(data["rtt"].values[bins])
        rtts = np.where(np.isnan(rtts), data["base_rtt"].values, rtts)  # of a flow without samples
        lengths = [
            convergence.cycle(times[bins], losses, rtt)
            for losses, rtt in zip(data[lost].values[bins].T, rtts, strict=True)
        ]
        end = float(times[bins.stop - 1])
        width = convergence.averaging_time(lengths, rtts, end - self.after, cycles)
        amounts = (data["delivered"] * data["packet_size"]).values * 8
        return Sliding(times, amounts, width, end, self._counts(names))
