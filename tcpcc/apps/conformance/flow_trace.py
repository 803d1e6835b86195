"""The trace of one flow, from a run, a file or a kernel, which a case judges.

It has two tables: samples at the sender, and the packets that it sent. All else is derived from
them, so that a stack that records little can be judged, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import TcpccError
from tcpcc.files import whole_file
from tcpcc.results.recording import EVENT_DTYPE, EVENTS

if TYPE_CHECKING:
    from tcpcc.results import Run

MODES = CONTROLLERS.find("bbr3").state["mode"].names
"""Names of the numbers in the column ``mode``: the states of draft-ietf-ccwg-bbr."""

NO_FLOATS = np.empty(0)

_AT_SENDER = [EVENTS.index(kind) for kind in ("send", "retransmit", "ack", "dupack", "loss")]
_RENAMED = {"in_transit": "in_flight"}
_COUNTS = ("delivered", "sent", "retransmitted")
_POSITIVE = ("rtt", "cwnd", "packet_size")
_FINITE = ("time", "rtt", "cwnd", "packet_size", *_COUNTS)
_POSITIONS = ("trigger", "sack_low", "sack_high")


@dataclass
class FlowTrace:
    """The trace of a flow.

    Args:
        time: times of the samples, s, shape [n], in order.
        columns: samples at these times, shape [n]; NaN where a sample is missing. ``cwnd``,
            ``in_flight``, ``ssthresh``, ``inflight_*`` (packets), ``rtt`` (s),
            ``pacing_rate``, ``max_bw``, ``bw_*`` (packets/s), ``mode`` (a
            number, see `modes`) and others.
        delivered_at, delivered: times (s) and the packets delivered up to them.
        sent_at: times at which data packets were sent, s.
        again: whether each of them is a retransmission.
        timeouts: times of retransmission timeouts, s; None: unknown.
        modes: names of the numbers in the column ``mode``.
        packet_size: bytes of a packet on the wire; NaN: that of the case's scenario.
        name: of the flow.
    """

    time: NDArray[np.float64]
    columns: Mapping[str, NDArray[np.float64]]
    delivered_at: NDArray[np.float64] = field(default_factory=lambda: NO_FLOATS)
    delivered: NDArray[np.float64] = field(default_factory=lambda: NO_FLOATS)
    sent_at: NDArray[np.float64] = field(default_factory=lambda: NO_FLOATS)
    again: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    timeouts: NDArray[np.float64] | None = None
    modes: Sequence[str] = MODES
    packet_size: float = math.nan
    name: str = "flow"

    @classmethod
    def of_run(cls, run: Run, name: str) -> FlowTrace:
        """The trace of a flow of a run; with ``trace=True`` each event, else the bins."""
        of_flow = run.data.sel(flow=name)
        bins = run.data["time"].values.astype(float)
        events = _events_of(run, name)
        if events is None:
            columns = {n: of_flow[n].values.astype(float) for n in ("cwnd", "ssthresh", "rtt")}
            finite = np.isfinite(columns["cwnd"])
            trace = cls(bins[finite], {k: v[finite] for k, v in columns.items()})
        else:
            trace = cls._of_events(events)
        arrived = of_flow["delivered"].values
        if not np.isnan(arrived).all():
            trace.delivered_at, trace.delivered = bins, np.nancumsum(arrived)
        if np.isnan(of_flow["sent"].values).all():
            trace.sent_at, trace.again = NO_FLOATS, np.empty(0, bool)
        if np.isnan(of_flow["timeouts"]):
            trace.timeouts = None
        trace.modes = _modes(str(of_flow["controller"].values))
        trace.packet_size = float(of_flow["packet_size"])
        trace.name = name
        return trace

    @classmethod
    def _of_events(cls, events: NDArray[Any]) -> FlowTrace:
        """The trace of a connection from its events."""
        kinds = events["event"]
        sends = events[np.isin(kinds, _AT_SENDER[:2])]
        samples = events[np.isin(kinds, _AT_SENDER)]
        columns = {
            _RENAMED.get(name, name): samples[name].astype(float)
            for name in (samples.dtype.names or ())[len(EVENT_DTYPE.descr) :]
            if name not in _POSITIONS and not np.isnan(samples[name]).all()
        }
        acked = np.isin(samples["event"], _AT_SENDER[2:4])
        columns["rtt"] = np.where(acked, samples["value"], math.nan)
        return cls(
            samples["time"].astype(float),
            columns,
            sent_at=sends["time"].astype(float),
            again=sends["event"] == EVENTS.index("retransmit"),
            timeouts=events["time"][kinds == EVENTS.index("timeout")].astype(float),
        )

    @classmethod
    def of_csv(cls, path: str | Path) -> FlowTrace:
        """Read a CSV of `to_csv`, or one written by another stack with the same columns.

        Column ``time`` (s) is needed; ``delivered`` and ``sent``, ``retransmitted`` count packets
        up to each row; ``mode`` has names; ``packet_size`` is in bytes, the same in all rows.
        Others are those of `columns`.

        Raises:
            TcpccError: a column is missing, or times are not in order.
        """
        import pandas as pd

        try:
            table = pd.read_csv(path)
        except (ValueError, UnicodeDecodeError) as error:
            raise TcpccError(f"{path}: not a CSV: {error}") from None
        if "time" not in table or not table["time"].is_monotonic_increasing:
            raise TcpccError(f"{path}: needs a column time, s, in rising order")
        for name in table.columns.difference(["mode"]):
            if not pd.api.types.is_numeric_dtype(table[name]):
                raise TcpccError(f"{path}: column {name}: must have numbers")
            values = table[name].to_numpy(float)
            if name in _COUNTS and not (np.diff(values, prepend=0.0) >= 0).all():
                raise TcpccError(f"{path}: column {name}: must have numbers >= 0 that never fall")
            if name in _POSITIVE and not (values[~np.isnan(values)] > 0).all():
                raise TcpccError(f"{path}: column {name}: must have numbers > 0, or nothing")
            if name in _FINITE and np.isinf(values).any():
                raise TcpccError(f"{path}: column {name}: must have finite numbers")
        trace = cls(table.pop("time").to_numpy(float), {}, name=Path(path).stem)
        if "delivered" in table:
            trace.delivered_at, trace.delivered = trace.time, table.pop("delivered").to_numpy(float)
        if "sent" in table:
            counts = table.pop("sent").to_numpy(float)
            repeats = np.zeros(len(counts))
            if "retransmitted" in table:
                repeats = table.pop("retransmitted").to_numpy(float)
            trace.sent_at, trace.again = _spread(trace.time, counts, repeats)
        if "mode" in table:
            names = table["mode"].astype("string")
            trace.modes = (*MODES, *sorted(set(names.dropna()) - set(MODES)))
            table["mode"] = names.map({m: k for k, m in enumerate(trace.modes)}).astype("Float64")
        if "packet_size" in table:
            trace.packet_size = float(table.pop("packet_size").iloc[0])
        trace.columns = {
            str(column): table[column].to_numpy(float, na_value=math.nan) for column in table
        }
        return trace

    def to_csv(self, path: str | Path, interval: float = 0.01) -> None:
        """Write the samples at the end of every interval, s, as CSV; see `of_csv`."""
        import pandas as pd

        last = max((times[-1] for times in (self.time, self.delivered_at) if len(times)), default=0)
        ends = np.arange(1, round(last / interval) + 1) * interval
        place = np.searchsorted(self.time, ends + 1e-9, side="right") - 1
        table = pd.DataFrame({"time": np.round(ends, 9)})
        for name, values in self.columns.items():
            filled = pd.Series(values).ffill().to_numpy() if name == "rtt" else values
            table[name] = np.where(place >= 0, filled[np.maximum(place, 0)], math.nan)
        if "mode" in table:
            table["mode"] = table["mode"].map(dict(enumerate(self.modes)))
        table["delivered"] = self.total_delivered(ends)
        if len(self.sent_at):
            table["sent"] = np.searchsorted(self.sent_at, ends + 1e-9, side="right")
            repeats = self.sent_at[self.again]
            table["retransmitted"] = np.searchsorted(repeats, ends + 1e-9, side="right")
        if math.isfinite(self.packet_size):
            table["packet_size"] = self.packet_size
        with whole_file(path) as part:
            table.to_csv(part, index=False, float_format="%.9g")

    @property
    def end(self) -> float:
        """Time of the last thing that the trace records, s; 0 if it records nothing."""
        recorded = (self.time, self.delivered_at, self.sent_at)
        return max((float(times[-1]) for times in recorded if len(times)), default=0.0)

    def total_delivered(self, times: Any) -> NDArray[np.float64]:
        """Packets delivered up to each time; 0 before the first."""
        return np.interp(times, self.delivered_at, self.delivered, left=0.0)

    def rounds(self) -> NDArray[np.float64]:
        """Times at which packet-timed round trips end, s.

        A round ends with the first RTT sample of a packet that was sent after the round began.
        """
        rtt = self.columns.get("rtt", NO_FLOATS)
        ends: list[float] = []
        begin = -math.inf
        for now, sample in zip(self.time, rtt, strict=False):
            if math.isfinite(sample) and now - sample >= begin - 1e-9:
                ends.append(float(now))
                begin = float(now)
        return np.array(ends)

    def visits(self, mode: str) -> list[tuple[int, int]]:
        """Samples [first, stop) of each time in a mode, in order."""
        if mode not in self.modes:
            return []
        inside = self.columns["mode"] == self.modes.index(mode)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
        return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _modes(controller: str) -> Sequence[str]:
    """Names of the values of a controller's state variable ``mode``."""
    mode = CONTROLLERS.find(controller).state.get("mode") if controller in CONTROLLERS else None
    return mode.names if mode is not None and mode.names else MODES


def _events_of(run: Run, name: str) -> NDArray[Any] | None:
    """The events of a flow, or of the first connection of a workload's row; None: no trace."""
    if run.events is None:
        return None
    row = run.flows.index(name)
    for number in np.unique(run.events["flow"]):
        if run.row_of(int(number)) == row:
            return run.events[run.events["flow"] == number]
    return None


def _spread(
    time: NDArray[np.float64], counts: NDArray[np.float64], repeats: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Times of packets, and whether each was a retransmission, from counts up to each time."""
    added = np.diff(counts, prepend=0.0).astype(int)
    repeated = np.diff(repeats, prepend=0.0).astype(int)
    first = np.concatenate([[0], np.cumsum(added)])[:-1]
    sent_at = np.repeat(time, added)
    place = np.arange(len(sent_at)) - np.repeat(first, added)
    return sent_at, place < np.repeat(repeated, added)
