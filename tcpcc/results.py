"""The record of a run: an `xarray.Dataset` with units, the questions asked of it, its file.

`VARIABLES` lists what a record holds. Series are kept in bins: `time` is the END of each bin, and
the first bin starts at 0. Engines hand their plain arrays to `build`, the only place where a
record is put together.

Windows. Every question takes `after` and `before` (s) and looks at the bins whose END lies in
(after, before]. A window that does not fall on bin edges is therefore rounded to whole bins;
rates divide by the time that these bins cover.
"""

from __future__ import annotations

import html
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc import metrics
from tcpcc.errors import ScenarioError, TcpccError, real, unknown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from tcpcc.routing import Resolved
    from tcpcc.scenario import Scenario

Selection = str | Iterable[str] | None
"""Flows: a flow's name, a controller's name (all its flows), several of them, None for all."""

FORMAT = "tcpcc-run-1"

VARIABLES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "cwnd": (("time", "flow"), "packets", "congestion window at the bin's end"),
    "ssthresh": (("time", "flow"), "packets", "slow-start threshold at the bin's end"),
    "rtt": (("time", "flow"), "s", "last round-trip time sample"),
    "sent": (("time", "flow"), "packets", "sent in the bin, retransmissions included"),
    "retransmitted": (("time", "flow"), "packets", "sent again in the bin"),
    "delivered": (("time", "flow"), "packets", "reached the receiver for the first time"),
    "dropped": (("time", "flow"), "packets", "dropped in the network in the bin"),
    "queue": (("time", "link"), "packets", "packets waiting, mean over the bin"),
    "queue_max": (("time", "link"), "packets", "packets waiting, largest in the bin"),
    "busy": (("time", "link"), "1", "share of the bin in which the link was sending"),
    "arrived": (("time", "link"), "packets", "packets that arrived at the link in the bin"),
    "drops": (("time", "link"), "packets", "packets that the link dropped in the bin"),
    "sent_bits": (("time", "link"), "bit", "sent on the link in the bin"),
    "capacity": (("time", "link"), "bit", "most that the link could have sent in the bin"),
    "controller": (("flow",), "", "congestion controller, or cbr"),
    "start": (("flow",), "s", "start of the flow"),
    "stop": (("flow",), "s", "no new data after this"),
    "packet_size": (("flow",), "byte", "size of a packet on the wire"),
    "payload": (("flow",), "byte", "data in a packet"),
    "base_rtt": (("flow",), "s", "round-trip time with empty queues"),
    "timeouts": (("flow",), "1", "retransmission timeouts"),
    "loss_events": (("flow",), "1", "losses that the sender reacted to, one per window"),
    "finished": (("flow",), "s", "time when all data had been acknowledged"),
    "rate": (("link",), "bit/s", "rate of the link at the start"),
    "delay": (("link",), "s", "one-way propagation delay of the link at the start"),
    "buffer": (("link",), "", "room for waiting packets, in buffer_unit"),
    "buffer_unit": (("link",), "", "packets or bytes"),
    "crosses": (("flow", "link"), "1", "whether the flow's data use the link"),
}
"""Name -> dimensions, unit, meaning, for every variable of a record.

Besides these a record has, for each state variable that a queue discipline of a recorded link
records, ``queue_<variable>`` with dims (time, link): its value after the last arrival, NaN for
links whose discipline has none (RED: ``queue_avg``).
"""

EVENTS = ("send", "retransmit", "ack", "dupack", "loss", "timeout", "deliver", "drop")
"""What `event` in a trace counts: 0 is "send", 1 "retransmit", ...

`seq` is the packet's number, for "ack" and "dupack" the next one that the receiver wants. `value`
is the window after the event (packets) for "send", "retransmit", "loss" and "timeout", the
round-trip time (s, NaN if none) for "ack" and "dupack", the link's index in
`scenario.resolve().links` for "drop", and means nothing for "deliver".
"""

EVENT_DTYPE = np.dtype(
    [("time", "f8"), ("flow", "i4"), ("event", "i4"), ("seq", "i8"), ("value", "f8")]
)
"""One event of a trace (`trace=True`)."""

_VOLATILE = ("cpu_seconds", "driver", "version")  # may differ between two runs that are the same


class Run:
    """What a simulation gave: `data` (see `VARIABLES`), `events` if traced, and answers.

    Args:
        data: the record, as `build` makes it.
        events: shape [event], dtype `EVENT_DTYPE`, in order of time; None without a trace.
    """

    def __init__(self, data: xr.Dataset, events: NDArray[Any] | None = None) -> None:
        self.data = data
        self.events = events

    # What it is.

    @property
    def flows(self) -> list[str]:
        """Names of the flows, CBR included, in the scenario's order."""
        return [str(name) for name in self.data["flow"].values]

    @property
    def links(self) -> list[str]:
        """Names of the links that were recorded, in the scenario's order."""
        return [str(name) for name in self.data["link"].values]

    @property
    def duration(self) -> float:
        """Simulated time, s."""
        return float(self.data.attrs["duration"])

    @property
    def scenario(self) -> Scenario:
        """The scenario that was run, rebuilt from the text kept in the record."""
        from tcpcc.scenario import Scenario

        return Scenario.from_toml(self.data.attrs["scenario"])

    # Rates.

    def throughput(
        self,
        after: float = 0.0,
        before: float | None = None,
        payload: bool = False,
        count: Literal["delivered", "sent"] = "delivered",
    ) -> xr.DataArray:
        """Mean throughput of each flow over the window, bit/s, dims (flow).

        A flow that was active in a part of the window only is averaged over all of it.

        Args:
            after, before: the window, s. Default: the whole run.
            payload: count the data only, without headers (this is `goodput`).
            count: "delivered" counts a packet when it first reaches the receiver; "sent" when it
                is first sent, as ns-2 scripts do that read the highest sequence number.
        """
        bins, seconds = self._window(after, before)
        packets = self._packets(count).isel(time=bins).sum("time")
        size = self.data["payload" if payload else "packet_size"]
        rate = packets * size * 8 / seconds
        kind = "goodput" if payload else "throughput"
        return rate.rename(kind).assign_attrs(units="bit/s", long_name=f"mean {kind}")

    def goodput(self, after: float = 0.0, before: float | None = None) -> xr.DataArray:
        """Mean rate of payload that reached each receiver, once, bit/s, dims (flow)."""
        return self.throughput(after, before, payload=True)

    def throughput_series(self, width: float | None = None, payload: bool = False) -> xr.DataArray:
        """Throughput over time, bit/s, dims (time, flow).

        Args:
            width: of the averaging windows, s, rounded to whole bins; the last may be shorter.
                Default: the bins of the record.
            payload: count the data only.
        """
        bits = self._packets("delivered") * self.data["payload" if payload else "packet_size"] * 8
        return _per_second(bits, width).rename("throughput")

    def utilization(
        self,
        link: str | None = None,
        after: float = 0.0,
        before: float | None = None,
        payload: bool = False,
    ) -> float:
        """Share of a link's capacity used in the window; see `metrics.utilization`.

        Args:
            link: name. Default: the first that was recorded.
            after, before: the window, s. Default: the whole run.
            payload: count the payload that the flows over this link delivered, not the bits that
                the link sent.
        """
        name = self._link(link)
        bins, seconds = self._window(after, before)
        capacity = float(self.data["capacity"].sel(link=name).isel(time=bins).sum())
        if payload:
            rates = self.goodput(after, before).values
            bits = float(rates[self.data["crosses"].sel(link=name).values].sum() * seconds)
        else:
            bits = float(self.data["sent_bits"].sel(link=name).isel(time=bins).sum())
        return metrics.utilization(bits, capacity / seconds, seconds) if capacity else math.nan

    def jain_index(
        self, after: float = 0.0, before: float | None = None, flows: Selection = None
    ) -> float:
        """Jain's fairness index of the flows' throughputs; see `metrics.jain_index`.

        Args:
            after, before: the window, s. Default: the whole run.
            flows: which. Default: every flow with a controller that was active at some time in
                the window, so that one that has not begun or has stopped counts as no unfairness.
        """
        names = self.active(after, before) if flows is None else self.select(flows)
        if not names:
            raise ScenarioError(f"flows = []: no flow is active in {self._span(after, before)}")
        return metrics.jain_index(self.throughput(after, before).sel(flow=names).values)

    def throughput_ratio(
        self, a: Selection, b: Selection, after: float = 0.0, before: float | None = None
    ) -> float:
        """Mean throughput of flows `a` over that of flows `b`; see `metrics.throughput_ratio`.

        >>> run.throughput_ratio("vegas", "reno", after=20)  # doctest: +SKIP
        """
        rates = self.throughput(after, before)
        return metrics.throughput_ratio(
            rates.sel(flow=self.select(a)).values, rates.sel(flow=self.select(b)).values
        )

    # Queues.

    def queue(self, link: str | None = None) -> xr.DataArray:
        """Packets waiting at a link, mean over each bin, dims (time). Default: as `utilization`."""
        return self.data["queue"].sel(link=self._link(link))

    def queue_stats(
        self, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> metrics.QueueStats:
        """Mean, deviation, median, 95 % quantile and maximum of a queue, packets."""
        name = self._link(link)
        bins, _ = self._window(after, before)
        queue, peak = (self.data[v].sel(link=name).values[bins] for v in ("queue", "queue_max"))
        return metrics.queue_stats(queue, self._widths()[bins], peak)

    def queue_mean(
        self, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> float:
        """Time mean of the packets waiting in the window."""
        return self.queue_stats(after, before, link).mean

    def queue_max(
        self, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> float:
        """Most packets that ever waited in the window."""
        return self.queue_stats(after, before, link).max

    def queue_quantile(
        self, q: float, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> float:
        """The length that the queue did not exceed for a share `q` of the window (bin means)."""
        bins, _ = self._window(after, before)
        return metrics.quantile(self.queue(link).values[bins], q, self._widths()[bins])

    # Losses.

    def loss_rate(self, after: float = 0.0, before: float | None = None) -> xr.DataArray:
        """Packets dropped in the network over packets sent, dims (flow); NaN if none was sent."""
        bins, _ = self._window(after, before)
        dropped, sent = (self.data[v].isel(time=bins).sum("time") for v in ("dropped", "sent"))
        return (dropped / sent.where(sent > 0)).rename("loss_rate").assign_attrs(units="1")

    def drop_rate(
        self, link: str | None = None, after: float = 0.0, before: float | None = None
    ) -> float:
        """Packets dropped at a link over packets that arrived there; NaN if none did."""
        at_link = self.data.sel(link=self._link(link)).isel(time=self._window(after, before)[0])
        return metrics.loss_rate(float(at_link["drops"].sum()), float(at_link["arrived"].sum()))

    @property
    def retransmissions(self) -> xr.DataArray:
        """Packets sent again in the whole run, dims (flow)."""
        return self.data["retransmitted"].sum("time", keep_attrs=True)

    @property
    def timeouts(self) -> xr.DataArray:
        """Retransmission timeouts in the whole run, dims (flow)."""
        return self.data["timeouts"]

    # Transients.

    def convergence_time(
        self,
        flow: str,
        event: float | None = None,
        *,
        before: float | None = None,
        band: float = 1.5,
        in_base_rtt: bool = False,
    ) -> float:
        """Seconds from `event` until the flow's window settles; see `metrics.convergence_time`.

        Args:
            flow: name.
            event: s. Default: the flow's start.
            before: last moment looked at, s; give the next event. Default: the run's end.
            band: half width of what counts as settled, packets.
            in_base_rtt: answer in base round-trip times of the flow.

        Returns:
            NaN when the window does not settle. The resolution is one bin.
        """
        one = self.data.sel(flow=self._flow(flow))
        begin = float(one["start"]) if event is None else real("event", event, unit="s")
        tick = self._rounding()
        seconds = metrics.convergence_time(
            one["time"].values,
            one["cwnd"].values,
            begin,
            None if before is None else real("before", before, unit="s") + tick,
            band,
        )
        return metrics.in_base_rtts(seconds, float(one["base_rtt"])) if in_base_rtt else seconds

    # Tables.

    def summary(self, after: float = 0.0, before: float | None = None) -> pd.DataFrame:
        """One row per flow; counters and means over the window, timeouts over the whole run."""
        import pandas as pd

        bins, _ = self._window(after, before)
        series = self.data[["sent", "retransmitted", "dropped"]].isel(time=bins).sum("time")
        rate = self.throughput(after, before).values
        table = pd.DataFrame(
            {
                "controller": self.data["controller"].values,
                "start_s": self.data["start"].values,
                "throughput_mbps": rate / 1e6,
                "goodput_mbps": self.goodput(after, before).values / 1e6,
                "share": rate / rate.sum() if rate.sum() else math.nan,
                "cwnd_mean": _mean(self.data["cwnd"].values[bins]),
                "rtt_mean_ms": _mean(self.data["rtt"].values[bins]) * 1e3,
                "base_rtt_ms": self.data["base_rtt"].values * 1e3,
                "sent": series["sent"].values,
                "retransmitted": series["retransmitted"].values,
                "loss_percent": self.loss_rate(after, before).values * 100,
                "loss_events": self.data["loss_events"].values,
                "timeouts": self.data["timeouts"].values,
                "finished_s": self.data["finished"].values,
            },
            index=pd.Index(self.flows, name="flow"),
        )
        return table

    def link_summary(self, after: float = 0.0, before: float | None = None) -> pd.DataFrame:
        """One row per recorded link: rate, utilization, queue and drops over the window."""
        import pandas as pd

        rows = []
        for name in self.links:
            stats = self.queue_stats(after, before, name)
            rows.append(
                {
                    "link": name,
                    "rate_mbps": float(self.data["rate"].sel(link=name)) / 1e6,
                    "utilization": self.utilization(name, after, before),
                    "queue_mean": stats.mean,
                    "queue_p95": stats.p95,
                    "queue_max": stats.max,
                    "loss_percent": self.drop_rate(name, after, before) * 100,
                }
            )
        columns = ["link", "rate_mbps", "utilization", "queue_mean", "queue_p95", "queue_max"]
        return pd.DataFrame(rows, columns=[*columns, "loss_percent"]).set_index("link")

    def to_dataframe(self, of: Literal["flow", "link"] = "flow") -> pd.DataFrame:
        """The series as a tidy table: one row per (time, flow), or per (time, link)."""
        if of not in ("flow", "link"):
            raise unknown("table", of, ["flow", "link"])
        series = [name for name, v in self.data.data_vars.items() if v.dims == ("time", of)]
        return self.data[series].to_dataframe(dim_order=["time", of]).reset_index()

    # Files.

    def to_csv(self, path: str | Path, of: Literal["flow", "link"] = "flow") -> None:
        """Write `to_dataframe` as CSV; numbers are printed so that they read back unchanged."""
        table = self.to_dataframe(of)
        with _whole_file(path) as part:
            table.to_csv(part, index=False)

    def save(self, path: str | Path) -> None:
        """Write the record and its events as one NetCDF 4 file, readable by any tool for these.

        The file appears under its name when it is complete, or not at all.
        """
        import xarray as xr

        series = [name for name, v in self.data.variables.items() if v.ndim == 2]
        encoding = {name: {"zlib": True, "complevel": 1, "shuffle": True} for name in series}
        with _whole_file(path) as part:
            self.data.to_netcdf(part, engine="h5netcdf", encoding=encoding)
            if self.events is not None:
                fields = {n: ("event_index", self.events[n]) for n in self.events.dtype.names or ()}
                xr.Dataset(fields).to_netcdf(part, engine="h5netcdf", group="events", mode="a")

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read what `save` wrote, exactly, all of it into memory.

        Raises:
            FileNotFoundError: no such file.
            TcpccError: not a saved run, or one that is damaged.
        """
        import xarray as xr

        if not Path(path).is_file():
            raise FileNotFoundError(f"{path}: no such file")
        try:
            groups = xr.open_groups(path, engine="h5netcdf", decode_times=False)
            try:
                loaded = {name: group.load().drop_encoding() for name, group in groups.items()}
            finally:
                for group in groups.values():
                    group.close()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise TcpccError(f"{path}: not a saved run, or damaged ({reason})") from error
        data = loaded["/"]
        if data.attrs.get("format") != FORMAT:
            raise TcpccError(f"{path}: not a saved run (it is not marked {FORMAT!r})")
        data.attrs = {
            k: v.item() if isinstance(v, np.generic) else v for k, v in data.attrs.items()
        }
        if "/events" not in loaded:
            return cls(data)
        columns = loaded["/events"]
        events = np.empty(columns.sizes["event_index"], EVENT_DTYPE)
        for field in EVENT_DTYPE.names or ():
            events[field] = columns[field].values
        return cls(data, events)

    def identical(self, other: Run) -> bool:
        """Whether both runs gave exactly the same record and trace.

        The driver, the version and the processor time may differ.
        """
        if not _lasting(self.data).identical(_lasting(other.data)):
            return False
        if self.events is None or other.events is None:
            return self.events is other.events
        return self.events.tobytes() == other.events.tobytes()

    # Pictures and display.

    def plot(self, **options: Any) -> Figure:
        """Windows, queue and throughput over time; see `tcpcc.plots.basic_behaviour`."""
        from tcpcc import plots

        return plots.basic_behaviour(self, **options)

    def __repr__(self) -> str:
        return f"<Run: {self._headline()}>"

    def _repr_html_(self) -> str:
        table = self.summary().dropna(axis="columns", how="all").rename_axis(None)
        body = table.to_html(max_rows=12, float_format=lambda x: f"{x:.4g}", border=0)
        return f"<div><b>Run</b>: {html.escape(self._headline())}{body}</div>"

    def _headline(self) -> str:
        attrs = self.data.attrs
        kinds = Counter(str(name) for name in self.data["controller"].values)
        flows = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        line = f"{attrs['model']} model, {flows}, {self.duration:g} s, seed {attrs['seed']}"
        if self.links:
            used = self.utilization()
            line += f", {self.links[0]} {used:.1%} used" if not math.isnan(used) else ""
        return line

    # Selection.

    def select(self, flows: Selection) -> list[str]:
        """Names of the flows meant: flow names, controller names, several of these, None = all."""
        if flows is None:
            return self.flows
        controllers = [str(name) for name in self.data["controller"].values]
        chosen = []
        for name in [flows] if isinstance(flows, str) else flows:
            if name in self.flows:
                chosen.append(name)
            elif name in controllers:
                chosen += [
                    f for f, kind in zip(self.flows, controllers, strict=True) if kind == name
                ]
            else:
                raise unknown("flow", name, {*self.flows, *controllers})
        return list(dict.fromkeys(chosen))

    def active(self, after: float = 0.0, before: float | None = None) -> list[str]:
        """Flows with a controller whose life, from start to stop or finish, meets the window."""
        last = self.duration if before is None else before
        end = np.fmin(self.data["stop"].values, self.data["finished"].values)
        lives = (self.data["start"].values < last) & ~(end <= after)
        lives &= self.data["controller"].values != "cbr"
        return [name for name, alive in zip(self.flows, lives, strict=True) if alive]

    def _flow(self, name: str) -> str:
        if name not in self.flows:
            raise unknown("flow", name, self.flows)
        return name

    def _link(self, name: str | None) -> str:
        if not self.links:
            raise ScenarioError("no link was recorded: give one a finite buffer or record=True")
        if name is None:
            return self.links[0]
        if name not in self.links:
            raise unknown("recorded link", name, self.links)
        return name

    def _window(self, after: float, before: float | None) -> tuple[slice, float]:
        """The bins of a window, and the seconds they cover."""
        ends = self.data["time"].values
        last = math.inf if before is None else real("before", before, unit="s")
        limits = np.array([real("after", after, unit="s"), last]) + self._rounding()
        first, stop = (int(i) for i in np.searchsorted(ends, limits, side="right"))
        if first >= stop:
            raise ScenarioError(
                f"window {self._span(after, before)}: holds no bin; bins of "
                f"{self.data.attrs['interval']:g} s end at {ends[0]:g} ... {ends[-1]:g} s"
            )
        return slice(first, stop), float(ends[stop - 1] - (ends[first - 1] if first else 0.0))

    def _span(self, after: float, before: float | None) -> str:
        return f"({after:g}, {self.duration if before is None else before:g}] s"

    def _rounding(self) -> float:
        """Time by which a bin's end may miss the round number that a user writes, s."""
        return 1e-6 * float(self.data.attrs["interval"])

    def _widths(self) -> NDArray[np.float64]:
        return np.diff(self.data["time"].values, prepend=0.0)

    def _packets(self, count: str) -> xr.DataArray:
        if count == "delivered":
            return self.data["delivered"]
        if count == "sent":
            return self.data["sent"] - self.data["retransmitted"]
        raise unknown("count", count, ["delivered", "sent"])


def build(
    scenario: Scenario,
    resolved: Resolved,
    *,
    model: str,
    driver: str,
    time: ArrayLike,
    cwnd: ArrayLike,
    ssthresh: ArrayLike,
    rtt: ArrayLike,
    sent: ArrayLike,
    retransmitted: ArrayLike,
    delivered: ArrayLike,
    dropped: ArrayLike,
    queue: ArrayLike,
    queue_max: ArrayLike,
    busy: ArrayLike,
    arrived: ArrayLike,
    drops: ArrayLike,
    sent_bits: ArrayLike,
    timeouts: ArrayLike,
    loss_events: ArrayLike,
    finished: ArrayLike,
    base_rtt: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
    recorded: Sequence[int] | None = None,
    queue_states: Mapping[str, ArrayLike] | None = None,
    events: NDArray[Any] | None = None,
    cpu_seconds: float = math.nan,
) -> Run:
    """Put an engine's arrays together as a `Run`; `VARIABLES` says what each holds.

    Args:
        scenario, resolved: what was run; names, sizes and the rest are read from these.
        model, driver: which engine ran it.
        time: ends of the bins, shape [time], s; the first bin starts at 0.
        cwnd, ssthresh, rtt: shape [time, flow]; NaN where there is no value.
        sent, retransmitted, delivered, dropped: shape [time, flow], packets.
        queue, queue_max, busy, arrived, drops, sent_bits: shape [time, recorded link].
        timeouts, loss_events, finished: shape [flow].
        base_rtt: shape [flow], s. Default: `base_rtts(resolved)`.
        capacity: shape [time, recorded link], bit; give it when something but the scenario's own
            changes set a link's rate. Default: `capacities(resolved, recorded, time)`.
        recorded: indices into `resolved.links`. Default: those with `record` set.
        queue_states: what the queue disciplines record, by the state variable's name, shape
            [time, recorded link].
        events: the trace, shape [event], dtype `EVENT_DTYPE`; None without one.
        cpu_seconds: processor time that the run took.

    Raises:
        ValueError: an array has the wrong shape, or a queue's state variable the name of another.
    """
    import xarray as xr

    from tcpcc import __version__

    if recorded is None:
        recorded = [i for i, link in enumerate(resolved.links) if link.record]
    indices = [int(i) for i in recorded]
    links = [resolved.links[i] for i in indices]
    flows = [f.spec for f in resolved.flows]
    crosses = np.zeros((len(flows), len(links)), dtype=bool)
    for row, flow in zip(crosses, resolved.flows, strict=True):
        row[:] = np.isin(indices, flow.forward)
    ends = np.asarray(time, dtype=float)
    values: dict[str, Any] = {
        "cwnd": cwnd,
        "ssthresh": ssthresh,
        "rtt": rtt,
        "sent": sent,
        "retransmitted": retransmitted,
        "delivered": delivered,
        "dropped": dropped,
        "queue": queue,
        "queue_max": queue_max,
        "busy": busy,
        "arrived": arrived,
        "drops": drops,
        "sent_bits": sent_bits,
        "capacity": capacities(resolved, indices, ends) if capacity is None else capacity,
        "controller": np.array(
            [f.controller.name if f.controller else "cbr" for f in resolved.flows]
        ),
        "start": [f.start for f in flows],
        "stop": [math.nan if f.stop is None else f.stop for f in flows],
        "packet_size": [float(f.packet_size) for f in flows],
        "payload": [float(f.packet_size - getattr(f, "header", 0)) for f in flows],
        "base_rtt": base_rtts(resolved) if base_rtt is None else base_rtt,
        "timeouts": timeouts,
        "loss_events": loss_events,
        "finished": finished,
        "rate": [float(link.rate) for link in links],
        "delay": [float(link.delay) for link in links],
        "buffer": [float(link.buffer) for link in links],
        "buffer_unit": np.array([link.buffer_unit for link in links], dtype=str),
        "crosses": crosses,
    }
    sizes = {"time": len(ends), "flow": len(flows), "link": len(links)}
    table = dict(VARIABLES)
    for name, series in (queue_states or {}).items():
        state = next(q.state[name] for q in (x.queue.discipline for x in links) if name in q.record)
        if f"queue_{name}" in table:
            raise ValueError(f"queue_{name} is a variable of every record: record another name")
        table[f"queue_{name}"] = (("time", "link"), state.unit, state.doc)
        values[f"queue_{name}"] = series
    variables = {}
    for name, (dims, units, long_name) in table.items():
        array = np.ascontiguousarray(values[name])  # no view of an engine's memory
        shape = tuple(sizes[dim] for dim in dims)
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}: must be {shape}, dims {dims}")
        attrs = {"long_name": long_name} | ({"units": units} if units else {})
        variables[name] = (dims, array, attrs)
    data = xr.Dataset(
        variables,
        coords={
            "time": ("time", ends, {"long_name": "end of the bin", "units": "s"}),
            "flow": np.array([f.name for f in resolved.flows], dtype=str),
            "link": np.array([link.name for link in links], dtype=str),
        },
        attrs={
            "format": FORMAT,
            "model": model,
            "driver": driver,
            "scenario": scenario.to_toml(),
            "digest": scenario.digest,
            "seed": scenario.seed,
            "duration": float(scenario.duration),
            "interval": float(scenario.interval),
            "version": __version__,
            "cpu_seconds": float(cpu_seconds),
        },
    )
    return Run(data, events)


def base_rtts(resolved: Resolved) -> NDArray[np.float64]:
    """Round-trip time of each flow with empty queues, s, shape [flow]; NaN for CBR.

    Propagation both ways, one packet's transmission on each link out, one ACK's on each back.
    """
    result = np.full(len(resolved.flows), math.nan)
    for i, flow in enumerate(resolved.flows):
        if flow.controller is not None:
            out = [resolved.links[k] for k in flow.forward]
            back = [resolved.links[k] for k in flow.reverse]
            size, ack_size = flow.spec.packet_size, getattr(flow.spec, "ack_size", 0)
            result[i] = sum(link.delay + 8 * size / link.rate for link in out)
            result[i] += sum(link.delay + 8 * ack_size / link.rate for link in back)
    return result


def capacities(
    resolved: Resolved, recorded: Sequence[int], ends: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bits that each recorded link could send in each bin, shape [time, recorded link].

    The scenario's changes of a rate are followed; a change inside a bin counts from its moment.
    """
    edges = np.concatenate([[0.0], ends])
    result = np.empty((len(ends), len(recorded)))
    for column, index in enumerate(recorded):
        steps = [(0.0, resolved.links[index].rate)]
        for change in resolved.changes:
            if change.link == index and change.spec.rate is not None:
                steps.append((change.spec.at, change.spec.rate))
        bits = np.zeros(len(ends))
        for (begin, rate), (end, _) in zip(steps, [*steps[1:], (math.inf, 0.0)], strict=True):
            inside = np.diff(np.clip(edges, begin, end))
            bits[inside > 0] += inside[inside > 0] * rate
        result[:, column] = bits
    return result


def _per_second(amount: xr.DataArray, width: float | None) -> xr.DataArray:
    """Amounts per bin, dims (time, ...), as rates over blocks of about `width` seconds."""
    import xarray as xr

    ends = amount["time"].values
    bins = 1 if width is None else max(1, round(real("width", width, unit="s") / ends[0]))
    first = np.arange(0, len(ends), bins)
    last = np.append(first[1:], len(ends)) - 1
    seconds = np.diff(ends[last], prepend=0.0)
    total: NDArray[np.float64] = np.add.reduceat(amount.values, first, axis=0)
    coords = {"time": amount["time"][last], "flow": amount["flow"]}
    attrs = {"units": "bit/s", "long_name": "throughput"}
    return xr.DataArray(total / seconds[:, None], coords, ("time", "flow"), attrs=attrs)


def _mean(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over time of the samples that are there, shape [time, flow] -> [flow]."""
    there = ~np.isnan(series)
    total, count = np.where(there, series, 0.0).sum(axis=0), there.sum(axis=0)
    mean = np.full(count.shape, math.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _lasting(data: xr.Dataset) -> xr.Dataset:
    lasting = data.copy()
    lasting.attrs = {k: v for k, v in data.attrs.items() if k not in _VOLATILE}
    return lasting


@contextmanager
def _whole_file(path: str | Path) -> Iterator[Path]:
    """A path to write to; the file takes its real name only if the block ends well."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent}: no such directory")
    part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
