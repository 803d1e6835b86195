"""A run: its record (:mod:`tcpcc.results.recording`) and methods to analyse it.

Methods with `after` and `before` (s) look at a time window, (0, end] by default: they are those of
:mod:`tcpcc.results.time_window`.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError, real, unknown
from tcpcc.files import whole_file
from tcpcc.results import completion_times, convergence, flow_rows, metrics, netcdf, tables
from tcpcc.results.recording import ROUNDING
from tcpcc.results.time_window import Count, Window

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from tcpcc.scenario import Scenario

Selection = str | Iterable[str] | None
"""A flow's name, a controller's name (all its flows), a workload's name, several of these, or
None for all flows."""

_VOLATILE = ("cpu_seconds", "driver", "version")  # may differ between identical runs


class Run:
    """The result of a simulation: the record, the trace if any, and methods to analyse them.

    Args:
        data: the record, made by `recording.dataset`; `recording.VARIABLES` describes its
            variables.
        events: the trace, shape [event], in order of time; a structured array with the fields of
            `recording.EVENT_DTYPE`, `recording.TRACED` and the variables that controllers record;
            None without a trace.
        scenario: what was simulated. Default: rebuilt from its text in the record, for which its
            controllers and disciplines must be registered.
    """

    def __init__(
        self,
        data: xr.Dataset,
        events: NDArray[Any] | None = None,
        scenario: Scenario | None = None,
    ) -> None:
        self.data = data
        self.events = events
        self._scenario = scenario

    def __getstate__(self) -> dict[str, Any]:
        """Without the scenario, whose rules not every process can read."""
        return self.__dict__ | {"_scenario": None}

    # Contents.

    @property
    def flows(self) -> list[str]:
        """Names of the recorded flows, including CBR, in the scenario's order."""
        return [str(name) for name in self.data["flow"].values]

    @property
    def links(self) -> list[str]:
        """Names of the recorded links, in the scenario's order."""
        return [str(name) for name in self.data["link"].values]

    @property
    def duration(self) -> float:
        """Simulated time, s."""
        return float(self.data.attrs["duration"])

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run.

        Raises:
            ScenarioError: the run is a trace of another program, or was read from a file and has
                an unknown controller.
        """
        from tcpcc.scenario import Scenario

        if self._scenario is not None:
            return self._scenario
        if "source" in self.data.attrs:
            raise ScenarioError(f"scenario: {self.data.attrs['source']} is a trace and has none")
        return Scenario.from_toml(self.data.attrs["scenario"])

    def cite(self, *more: str) -> str:
        """BibTeX of the literature behind the run: `Scenario.cite` of its scenario.

        A trace of another program has no scenario: only this package and `more` are cited.
        """
        from tcpcc.scenario.sources import cite

        return cite(None if "source" in self.data.attrs else self.scenario, more)

    # Time windows.

    def window(self, after: float = 0.0, before: float | None = None) -> Window:
        """A time window, which has the measures below.

        >>> settled = run.window(after=20)  # doctest: +SKIP
        >>> settled.jain_index(), settled.utilization("bottleneck")  # doctest: +SKIP

        Args:
            after: start, s.
            before: end, s. Default: the end of the run.
        """
        return Window(self, after, before)

    def throughput(
        self,
        after: float = 0.0,
        before: float | None = None,
        payload: bool = False,
        count: Count = "delivered",
    ) -> xr.DataArray:
        """Mean throughput of each flow, bit/s, dims (flow): `Window.throughput`."""
        return self.window(after, before).throughput(payload, count)

    def goodput(self, after: float = 0.0, before: float | None = None) -> xr.DataArray:
        """Mean rate of payload delivered to each receiver, each byte once, bit/s, dims (flow)."""
        return self.window(after, before).goodput()

    def utilization(
        self,
        link: str | None = None,
        after: float = 0.0,
        before: float | None = None,
        payload: bool = False,
    ) -> float:
        """Used fraction of a link's capacity: `Window.utilization`."""
        return self.window(after, before).utilization(link, payload)

    def busiest_link(self, after: float = 0.0, before: float | None = None) -> str:
        """Name of the recorded link with the largest `utilization`."""
        return self.window(after, before).busiest_link()

    def jain_index(
        self, after: float = 0.0, before: float | None = None, flows: Selection = None
    ) -> float:
        """Jain's fairness index of the throughputs of active flows: `Window.jain_index`."""
        return self.window(after, before).jain_index(flows)

    def throughput_ratio(
        self, a: Selection, b: Selection, after: float = 0.0, before: float | None = None
    ) -> float:
        """Ratio of the mean throughputs of flows `a` and `b`: `Window.throughput_ratio`.

        >>> run.throughput_ratio("vegas", "reno", after=20)  # doctest: +SKIP
        """
        return self.window(after, before).throughput_ratio(a, b)

    def queue_stats(
        self, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> metrics.QueueStats:
        """Mean, standard deviation, median, 95 % quantile and maximum of a queue, packets."""
        return self.window(after, before).queue_stats(link)

    def queue_mean(
        self, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> float:
        """Time-averaged number of waiting packets."""
        return self.window(after, before).queue_stats(link).mean

    def queue_max(
        self, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> float:
        """Largest number of waiting packets."""
        return self.window(after, before).queue_stats(link).max

    def queue_quantile(
        self, q: float, after: float = 0.0, before: float | None = None, link: str | None = None
    ) -> float:
        """Queue length not exceeded for a fraction `q` of the time, packets (from bin means)."""
        return self.window(after, before).queue_quantile(q, link)

    def loss_rate(self, after: float = 0.0, before: float | None = None) -> xr.DataArray:
        """Dropped over sent data packets, dims (flow): `Window.loss_rate`."""
        return self.window(after, before).loss_rate()

    def drop_rate(
        self, link: str | None = None, after: float = 0.0, before: float | None = None
    ) -> float:
        """Packets dropped at a link over packets that arrived at it; NaN if no packet arrived."""
        return self.window(after, before).drop_rate(link)

    def summary(self, after: float = 0.0, before: float | None = None) -> pd.DataFrame:
        """Table with one row per flow: rates, window, RTT, losses; see `Window.summary`."""
        return self.window(after, before).summary()

    def link_summary(self, after: float = 0.0, before: float | None = None) -> pd.DataFrame:
        """Table with one row per recorded link: rate, utilization, queue, drop rate."""
        return self.window(after, before).link_summary()

    def active(self, after: float = 0.0, before: float | None = None) -> list[str]:
        """Flows with a controller that were active, from start to stop or finish, in the window."""
        return self.window(after, before).active()

    # The whole run.

    def by_group(self, values: xr.DataArray) -> xr.DataArray:
        """Sums over the flows of each group, of values with the dimension flow.

        The dimension becomes group. A flow without a group is one of its own, by its name:
        ``run.by_group(run.throughput(after=20))``.
        """
        import xarray as xr

        groups = self.data["group"].sel(flow=values["flow"]).values.astype(str)
        names = list(dict.fromkeys(groups))
        sums = [values.isel(flow=groups == name).sum("flow", keep_attrs=True) for name in names]
        return xr.concat(sums, xr.IndexVariable("group", names), combine_attrs="override")

    def throughput_series(self, width: float | None = None, payload: bool = False) -> xr.DataArray:
        """Throughput over time, bit/s, dims (time, flow).

        Args:
            width: averaging time, s, rounded to whole bins; the last interval may be shorter.
                Default: the bins of the record.
            payload: count only the data, without headers.
        """
        size = self.variable("payload" if payload else "packet_size")
        return _per_second(self.variable("delivered") * size * 8, width).rename("throughput")

    def queue(self, link: str | None = None) -> xr.DataArray:
        """Packets waiting at a link, mean over each bin, dims (time).

        Args:
            link: name of the link. May be left out if only one is recorded.
        """
        name = self.recorded_link(link)
        return self.variable("queue").sel(link=name)

    def retransmissions(self) -> xr.DataArray:
        """Retransmitted packets in the whole run, dims (flow)."""
        return self.variable("retransmitted").sum("time", keep_attrs=True, skipna=False)

    def timeouts(self) -> xr.DataArray:
        """Retransmission timeouts in the whole run, dims (flow)."""
        return self.variable("timeouts")

    def totals(self) -> pd.DataFrame:
        """Totals of every flow over the whole run, including flows with ``record=False``.

        One row for each flow, by name, and for each kind of conversation of a workload; a row that
        represents several flows has their sums. Columns:
        `controller`, `count` (flows that the row stands for), `start_s`, `sent`, `retransmitted`,
        `delivered` (packets; see `recording.TOTALS`), `throughput_mbps` (of delivered packets, over
        the whole run), `loss_events`, `timeouts`, `finished_s`.
        """
        return tables.totals(self)

    # Completion times.

    def fct(self) -> pd.DataFrame:
        """Completion times of flows with a size, of a flow's writes, and of items of workloads.

        A row of the record that stands for N flows gives N equal rows.

        Columns:

        - `flow`: name of the flow, or of the row of its workload.
        - `conversation`, `item`: numbers within a workload; `item` numbers a flow's writes, too.
        - `size`: packets.
        - `start_s`: time at which the connection opens; for writes, and later items of a
          conversation, the time at which the item is handed to the sender.
        - `fct_s`: time from `start_s` until all packets are acknowledged; NaN if the run ended
          earlier.
        - `ideal_s`: shortest possible time in the network as it is at the start: one round trip
          for the handshake if the item opens the connection, one for its first packet, and the
          transmission time of each further packet on the slowest link.
        - `slowdown`: `fct_s` / `ideal_s`.
        """
        return completion_times.table(self)

    def fct_summary(self, sizes: Sequence[float] | None = None) -> pd.DataFrame:
        """Means and quantiles (50, 95, 99 %) of `fct`, one row for each flow or row of a workload.

        Args:
            sizes: packets; if given, the rows are divided into classes: up to the first size, up
                to the second, and so on.

        Unfinished transfers enter only `count`. In a congested run the times therefore look too
        good: compare `finished` with `count`.
        """
        return completion_times.summary(self.fct(), sizes)

    # Transients.

    def convergence_time(
        self,
        flow: str,
        event: float | None = None,
        *,
        before: float | None = None,
        band: float = metrics.BAND,
        in_base_rtt: bool = False,
    ) -> float:
        """Time from `event` until the flow's window settles; see `metrics.convergence_time`.

        Args:
            flow: name.
            event: time of the event, s. Default: the flow's start.
            before: end of the time window, s, such as the time of the next event. Default: the end
                of the run.
            band: half width of the band that counts as settled, packets.
            in_base_rtt: return the time in base RTTs of the flow.

        Returns:
            seconds, or base RTTs; NaN if the window does not settle. The resolution is one bin.
        """
        of_flow = self.data.sel(flow=self.recorded_flow(flow))
        self.variable("cwnd")
        begin = float(of_flow["start"]) if event is None else real("event", event, unit="s")
        rounding = ROUNDING * float(self.data.attrs["interval"])  # of a bin's end
        seconds = metrics.convergence_time(
            of_flow["time"].values,
            of_flow["cwnd"].values,
            begin,
            None if before is None else real("before", before, unit="s") + rounding,
            band,
        )
        return metrics.in_base_rtts(seconds, float(of_flow["base_rtt"])) if in_base_rtt else seconds

    def averaging_time(
        self,
        after: float = 0.0,
        before: float | None = None,
        flows: Selection = None,
        *,
        cycles: float = convergence.CYCLES,
    ) -> float:
        """Time over which rates are averaged to see them converge, s.

        Ten cycles (the time between loss events) of the flow with the longest cycle, or as many as
        fit in a fifth of the time, but at least two; and at least ten round-trip times. See
        `convergence.averaging_time`.

        Args:
            after, before: time window, s, in which losses and round-trip times are looked at.
                Default: the whole run.
            flows: flows to include. Default: as in `jain_index`.
            cycles: number of cycles.
        """
        return self.window(after, before).sliding(flows, cycles).width

    def delta_fair_time(
        self,
        event: float,
        *,
        before: float | None = None,
        flows: Selection = None,
        delta: float = 0.1,
        cycles: float = convergence.CYCLES,
    ) -> float:
        """Time from `event` until every flow's share first is within `delta` of fair, s.

        See `convergence.delta_fair_time`. Shares are averaged over `averaging_time`.

        Args:
            event: time of the event, such as a flow's start, s.
            before: end of the time window, s, such as the time of the next event. Default: the end
                of the run.
            flows: flows to include. Default: as in `jain_index`.
            delta: largest relative distance from the fair share, in [0, 1].
            cycles: number of cycles in a sliding window; see `averaging_time`.

        Returns:
            seconds; NaN if the shares are never fair, or if the time window is shorter than two
            sliding windows.

        Source: Bansal, Balakrishnan, Floyd, Shenker, SIGCOMM 2001, section 4.2.2.
        """
        time, amounts, width, end, count = self.window(event, before).sliding(flows, cycles)
        return convergence.delta_fair_time(
            time, amounts, event, width, end=end, delta=delta, count=count
        )

    def fair_time(
        self,
        event: float,
        *,
        before: float | None = None,
        flows: Selection = None,
        level: float = 0.95,
        cycles: float = convergence.CYCLES,
    ) -> float:
        """Time from `event` until Jain's index stays at least at `level`, s.

        See `convergence.fair_time`. The index is that of rates averaged over `averaging_time`.

        Args:
            event, before, flows, cycles: as in `delta_fair_time`.
            level: least index, in [0, 1].

        Returns:
            seconds; NaN if it does not stay there, or if the time window is shorter than two
            sliding windows.

        Source: RFC 5166, section 2.3.
        """
        time, amounts, width, end, count = self.window(event, before).sliding(flows, cycles)
        return convergence.fair_time(time, amounts, event, width, end=end, level=level, count=count)

    def settling_time(
        self,
        flow: str,
        event: float | None = None,
        *,
        before: float | None = None,
        band: float = 0.1,
        cycles: float = convergence.CYCLES,
    ) -> float:
        """Time from `event` until the flow's rate stays within `band` of its final value, s.

        See `convergence.settling_time`. The rate is averaged over `averaging_time`. The event may
        be the end of another flow. For the window of a flow without a sawtooth there is
        `convergence_time`.

        Args:
            flow: name.
            event: time of the event, s. Default: the flow's start.
            before, cycles: as in `delta_fair_time`.
            band: largest relative distance from the final value.

        Returns:
            seconds; NaN if the rate does not settle, or if the time window is shorter than two
            sliding windows.
        """
        name = self.recorded_flow(flow)
        begin = float(self.data["start"].sel(flow=name)) if event is None else event
        time, amounts, width, end, _ = self.window(begin, before).sliding(name, cycles)
        return convergence.settling_time(time, amounts, begin, width, end=end, band=band)

    # Tables.

    def to_dataframe(self, of: Literal["flow", "link"] = "flow") -> pd.DataFrame:
        """The time series as a tidy table: one row per (time, flow), or per (time, link)."""
        if of not in ("flow", "link"):
            raise unknown("table", of, ["flow", "link"])
        series = [name for name, v in self.data.data_vars.items() if v.dims == ("time", of)]
        return self.data[series].to_dataframe(dim_order=["time", of]).reset_index()

    def trace(self, flows: Selection = None) -> pd.DataFrame:
        """The events of the traced connections as a table, one row per event, in order of time.

        Columns: `time` (s); `flow`, the name of the flow, or for a connection of a workload the
        name of the row with the number of the conversation ("web#17"); `event`, one of
        `recording.EVENTS`; `seq` and `value`, described there; the window, the packets in transit
        and the ACK's block, described in `recording.TRACED`; the variables that the controller
        records.

        Args:
            flows: names or controllers of traced flows, or of rows of workloads. Default: all.

        Raises:
            ScenarioError: the run has no trace, or no trace of these flows.
        """
        return tables.trace(self, flows)

    def states(self, flow: str) -> pd.DataFrame:
        """The state variables of a flow's controller that `Flow.record` names, at the ends of bins.

        One row per bin, its index the time in s. A variable whose values have names, such as the
        `mode` of BBR, is categorical. NaN before the flow starts and after it has finished.

        Raises:
            ScenarioError: no such flow, or it records no variables.
        """
        return tables.states(self, flow)

    def delays(self, flows: Selection = None) -> pd.DataFrame:
        """Delay of each packet of the traced connections, one row per packet, in order of arrival.

        Duplicates and lost packets are left out.

        Columns:

        - `flow`: as in `trace`.
        - `seq`: number of the packet.
        - `sent`: time of its first transmission, s.
        - `delivered`: time of its first arrival, s.
        - `delay`: `delivered` - `sent`, s; it includes the time for retransmissions.
        - `transmissions`: how often the packet was sent up to its arrival; if 1, the delay is that
          of the network.

        Args:
            flows: names or controllers of traced flows, or of rows of workloads. Default: all.

        Raises:
            ScenarioError: the run has no trace, or no trace of these flows.
        """
        return tables.delays(self.trace(flows))

    def connections(self, flows: Selection) -> list[int]:
        """The numbers of the selected traced connections, in order."""
        if self.events is None and "source" in self.data.attrs:
            raise ScenarioError(f"events: {self.data.attrs['source']} has samples only")
        if self.events is None:
            raise ScenarioError("the run has no events: simulate with trace=True")
        numbers = [int(number) for number in np.unique(self.events["flow"])]
        rows = {self.flows.index(name) for name in self.select(flows)}
        chosen = [number for number in numbers if self.row_of(number) in rows]
        if not chosen:
            raise ScenarioError(f"flows = {flows!r}: the run has no trace of them: see trace=")
        return chosen

    def row_of(self, number: int) -> int:
        """The row in `flows` of the connection with this number in `events`."""
        if number < len(self.flows):
            return number
        items = self.data["item_conversation"].values
        place = np.searchsorted(items, number - len(self.flows))
        return int(self.data["item_flow"].values[place])

    def connection(self, number: int) -> str:
        """The name of the connection with this number in `events`."""
        if number < len(self.flows):
            return self.flows[number]
        return f"{self.flows[self.row_of(number)]}#{number - len(self.flows)}"

    # Files.

    def to_csv(self, path: str | Path, of: Literal["flow", "link"] = "flow") -> None:
        """Write `to_dataframe` as CSV, with enough digits to read the same numbers back."""
        table = self.to_dataframe(of)
        with whole_file(path) as part:
            table.to_csv(part, index=False)

    def to_pcap(self, path: str | Path, flows: Selection = None) -> int:
        """Write the traced connections as pcapng, for Wireshark and tshark.

        The file is written atomically; `tcpcc.results.pcapng` describes its content.

        Args:
            path: path of the file.
            flows: names or controllers of traced flows, or of rows of workloads. Default: all.

        Returns:
            the number of packets.

        Raises:
            ScenarioError: the run has no trace, or no trace of these flows.
        """
        from tcpcc.results import pcapng

        numbers = self.connections(flows)
        with whole_file(path) as part, part.open("wb") as file:
            return pcapng.write(file, self, numbers)

    def to_qlog(self, path: str | Path, flows: Selection = None) -> int:
        """Write the traced connections as JSON lines in the style of qlog.

        See `tcpcc.results.qlog`. Arguments and errors are those of `to_pcap`.

        Returns:
            the number of events.
        """
        from tcpcc.results import qlog

        numbers = self.connections(flows)
        with whole_file(path) as part, part.open("w", encoding="utf-8") as file:
            return qlog.write(file, self, numbers)

    def save(self, path: str | Path) -> None:
        """Write the record and its events as one standard NetCDF 4 file.

        The file is written atomically: it appears when it is complete.
        """
        netcdf.save(path, self.data, self.events)

    @classmethod
    def load(cls, path: str | Path, lazy: bool = False) -> Run:
        """Read a file of `save` or ``simulate(..., stream=path)``.

        Args:
            path: path of the file.
            lazy: leave the time series in the file, which must then remain; each method reads the
                values that it needs. Default: the whole file is read into memory.

        Raises:
            FileNotFoundError: no such file.
            TcpccError: not a saved run, or a damaged file.
        """
        return cls(*netcdf.load(path, lazy))

    def identical(self, other: Run) -> bool:
        """Whether both runs have exactly the same record and trace.

        The driver, the version and the CPU time may differ.
        """
        if not _lasting(self.data).identical(_lasting(other.data)):
            return False
        if self.events is None or other.events is None:
            return self.events is other.events
        return self.events.tobytes() == other.events.tobytes()

    # Pictures and display.

    def plot(self, **options: Any) -> Figure:
        """Draw windows, queue and throughput; see `tcpcc.results.plots.basic_behaviour`."""
        from tcpcc.results import plots

        return plots.basic_behaviour(self, **options)

    def compare(self, other: Run, **options: Any) -> Figure:
        """Draw this run and another on the same axes; see `tcpcc.results.comparison_plot.compare`.

        >>> run.compare(tc.simulate(run.scenario, model="fluid"))  # doctest: +SKIP
        """
        from tcpcc.results import comparison_plot

        return comparison_plot.compare(self, other, **options)

    def plot_trace(self, flow: str, **options: Any) -> Figure:
        """Draw the graphs of a traced connection; see `tcpcc.results.vegas_trace_plot.vegas_trace`.

        >>> run.plot_trace("vegas1", after=2, before=6)  # doctest: +SKIP
        """
        from tcpcc.results.vegas_trace_plot import vegas_trace

        return vegas_trace(self, flow, **options)

    def explore(self, path: str | Path | None = None, **options: Any) -> str:
        """Write the run's scenario as a page that simulates it; see `tcpcc.to_html`.

        As the last line of a cell it shows the page in the notebook, where it stays alive when the
        notebook is exported to HTML.

        >>> run.explore(controls=["rate", "buffer"])  # doctest: +SKIP
        """
        import tcpcc  # the public name: an app is above the results

        page: str = tcpcc.to_html(self.scenario, path, **options)
        return page

    def __repr__(self) -> str:
        return f"<Run: {self._headline()}>"

    def _repr_html_(self) -> str:
        table = self.summary().dropna(axis="columns", how="all").rename_axis(None)
        body = table.to_html(max_rows=12, float_format=lambda x: f"{x:.4g}", border=0)
        return f"<div><b>Run</b>: {html.escape(self._headline())}{body}</div>"

    def _headline(self) -> str:
        attrs = self.data.attrs
        kinds: Counter[str] = Counter()
        for name, count in zip(
            flow_rows.controllers(self).values(), self.data["count"].values, strict=True
        ):
            kinds[name] += int(count)
        flows = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        trains = f", {attrs['trains']:g} trains per RTT" if "trains" in attrs else ""
        line = f"{attrs['model']} model{trains}, {flows}, {self.duration:g} s, seed {attrs['seed']}"
        if "source" in attrs:
            line = f"{attrs['driver']} {attrs['source']}, {flows}, {self.duration:g} s"
        if self.links:
            link = self.busiest_link()
            used = self.utilization(link)
            line += f", {link} {used:.1%} used" if not math.isnan(used) else ""
        return line

    # Selection.

    def select(self, flows: Selection) -> list[str]:
        """Names of the selected flows.

        Args:
            flows: name of a flow, a controller (all its flows) or a workload (all its rows),
                several of these, or None for all.
        """
        if flows is None:
            return self.flows
        controllers = flow_rows.controllers(self)
        left_out = self.data["each"].values if "each" in self.data.dims else ()
        chosen = []
        is_one = isinstance(flows, str) or not isinstance(flows, Iterable)
        for name in [flows] if is_one else flows:
            if name in self.flows:
                chosen.append(name)
            elif name in controllers.values():
                chosen += [flow for flow, kind in controllers.items() if kind == name]
            elif parts := [f for f in self.flows if f.startswith(f"{name}/")]:
                chosen += parts
            elif name in left_out:
                raise ScenarioError(f"flow {name!r}: is not recorded; run.totals() has its totals")
            else:
                raise unknown("flow", name, {*controllers, *controllers.values()})
        return list(dict.fromkeys(chosen))

    def recorded_flow(self, name: str) -> str:
        """The name of a flow.

        Raises:
            ScenarioError: there is no such flow, or it is not recorded.
        """
        if name not in self.flows:
            self.select(name)
            raise unknown("flow", name, self.flows)
        return name

    def recorded_link(self, name: str | None) -> str:
        """The name of a link; None: the only one.

        Raises:
            ScenarioError: there is no such link, or it is not recorded, or there are several.
        """
        if not self.links and "source" in self.data.attrs:
            raise ScenarioError("link: a trace has no link; read it with rate= of the bottleneck")
        if not self.links:
            raise ScenarioError("no link was recorded: give one a finite buffer or record=True")
        if name is None and len(self.links) > 1:
            raise ScenarioError(
                f"link = None: {len(self.links)} links are recorded: name one, such as"
                f" {self.busiest_link()!r}, the busiest"
            )
        if name is None:
            return self.links[0]
        if name not in self.links:
            raise unknown("recorded link", name, self.links)
        return name

    def variable(self, name: str) -> xr.DataArray:
        """A variable of the record.

        Raises:
            ScenarioError: the run is a trace of another program, which does not contain it.
        """
        variable = self.data[name]
        if "missing" in variable.attrs:
            raise ScenarioError(
                f"{name}: not in {self.data.attrs['source']}: {variable.attrs['missing']}"
            )
        return variable


def _per_second(amount: xr.DataArray, width: float | None) -> xr.DataArray:
    """Convert amounts per bin, dims (time, ...), to rates over blocks of about `width` s."""
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


def _lasting(data: xr.Dataset) -> xr.Dataset:
    lasting = data.copy()
    lasting.attrs = {k: v for k, v in data.attrs.items() if k not in _VOLATILE}
    return lasting
