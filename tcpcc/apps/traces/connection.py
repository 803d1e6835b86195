"""From connections in traces of other programs to a `Run`: what the readers of this folder share.

A packet of the `Run` has `packet_size` bytes. Packets of a trace may be of any size and count as
that part of it, so that numbers of packets times `packet_size` are bytes.

Quantities that a trace does not contain are NaN; the variable's attribute ``missing`` is the
reason.
A part of a file that cannot be read is left out: `Unread` counts it, a warning and the run's
attribute ``unread`` say so.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import TcpccError, TraceWarning, positive, warn
from tcpcc.results import Run
from tcpcc.results.recording import EVENT_DTYPE, EVENTS, FORMAT, TRACED, VARIABLES
from tcpcc.scenario import units

if TYPE_CHECKING:
    import xarray as xr

BINS = 500
"""Least number of bins of a trace whose interval is not given."""

MOST_BINS = 1e7
"""Largest number of bins of a trace."""

LINK = "bottleneck"
NOTHING: tuple[Any, Any] = ((), ())  # no samples


class Kind(IntEnum):
    """The events of a run, as numbers."""

    SEND, RETRANSMIT, ACK, DUPACK, LOSS, TIMEOUT, DELIVER, DROP = range(len(EVENTS))


NO_QUEUE = "a trace of an end host does not see the link's queue"
NO_ACK_DROPS = "a trace of an end host does not see dropped ACKs"

_BY_EVENT = {
    "sent": (Kind.SEND, Kind.RETRANSMIT),
    "retransmitted": (Kind.RETRANSMIT,),
    "dropped": (Kind.DROP,),
}
_COUNTED = {"timeouts": Kind.TIMEOUT, "loss_events": Kind.LOSS}


@dataclass
class Connection:
    """A connection of a trace.

    Attributes:
        name: its name in the run.
        events: shape [event], in order of time (s), with the fields of a run's `events`.
        amounts: packets that each event counts as, shape [event]: of an ACK those that it
            acknowledges for the first time.
        samples: times and values of `cwnd`, `ssthresh`, `in_transit` (packets) and `rtt` (s).
        packet_size: bytes of a full packet.
        payload: bytes of data in it.
        missing: variable of the record -> why the trace does not contain it.
        delivered_by: the events that deliver.
        controller: name of the congestion control.
        start, finished: s.
        base_rtt: s. Default: the smallest sample.
        counters: variable -> times and packets so far, in place of events.
    """

    name: str
    events: NDArray[Any]
    amounts: NDArray[np.float64]
    samples: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    packet_size: float
    payload: float = math.nan
    missing: dict[str, str] = field(default_factory=dict)
    delivered_by: tuple[int, ...] = (Kind.ACK,)
    controller: str = "unknown"
    start: float = 0.0
    finished: float = math.nan
    base_rtt: float = math.nan
    counters: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def end(self) -> float:
        times = [self.events["time"]]
        if not self.events.size:
            times = [times for times, _ in self.samples.values()]
        last = max((float(column[-1]) for column in times if column.size), default=0.0)
        return last if math.isnan(self.finished) else max(last, self.finished)


def events_of(columns: Mapping[str, Any], further: Sequence[str] = ()) -> NDArray[Any]:
    """Columns as a run's events, in order of time; what is missing is NaN or 0.

    Args:
        columns: `time`, `event` and others of a run's events, shape [event].
        further: names of further columns.
    """
    names = [*TRACED, *further]
    table = np.zeros(
        len(columns["time"]), np.dtype([*EVENT_DTYPE.descr, *((n, "f8") for n in names)])
    )
    for name in ("value", *names):
        table[name] = math.nan
    for name, values in columns.items():
        table[name] = values
    return table


@dataclass
class Unread:
    """The parts of a file that could not be read.

    Attributes:
        count: number of events that were left out.
        first: place of the first one, and the reason.
        cut: where and why the file ends too early; "": it does not.
        notes: further sentences for the user.
    """

    count: int = 0
    first: str = ""
    cut: str = ""
    notes: list[str] = field(default_factory=list)

    def skip(self, place: str, reason: str) -> None:
        self.first = self.first or f"{place}: {reason}"
        self.count += 1

    def reason(self) -> str:
        """The first reason why nothing was read; "": there is none."""
        return self.first or self.cut

    def text(self) -> str:
        """One line for the user; "": everything was read."""
        parts = [f"{self.cut}; read up to there"] if self.cut else []
        if self.count:
            events = "1 event" if self.count == 1 else f"{self.count} events"
            parts.append(f"{events} left out, the first: {self.first}")
        return "; ".join([*parts, *self.notes])


def contents(path: str | Path, unread: Unread | None = None) -> bytes:
    """A file, unpacked if it is compressed with gzip.

    Args:
        path: the file.
        unread: is told if a gzip file ends too early. Default: such a file raises an error.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: a damaged gzip file.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    data = Path(path).read_bytes()
    parts: list[bytes] = []
    if not data.startswith(b"\x1f\x8b"):
        return data
    while data.startswith(b"\x1f\x8b"):  # a gzip file may have several members
        member = zlib.decompressobj(wbits=31)
        try:
            parts.append(member.decompress(data))
        except zlib.error as error:
            raise TcpccError(f"{path}: damaged gzip file ({error})") from None
        if not member.eof:
            if unread is None or not parts[-1]:
                raise TcpccError(f"{path}: damaged gzip file (the file is cut off)")
            unread.cut = "the gzip file is cut off"
        data = member.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def run_of(
    connections: Sequence[Connection],
    *,
    path: str | Path,
    kind: str,
    rate: float | str | None = None,
    interval: float | str | None = None,
    duration: float | None = None,
    unread: Unread | None = None,
) -> Run:
    """A run with these connections as its flows.

    Args:
        connections: at least one.
        path: the file, for messages and the headline.
        kind: of the file: "qlog", ....
        rate: rate of the bottleneck that they share, bit/s. Default: no link.
        interval: width of the bins, s. Default: a round number, so that there are at least `BINS`.
        duration: s. Default: up to the last event.
        unread: parts of the file that could not be read: a warning names them.

    Raises:
        TcpccError: there is no connection, or its events span no time.
    """
    import xarray as xr

    from tcpcc import __version__

    note = "" if unread is None else unread.text()
    if not connections:
        raise TcpccError(f"{path}: {(unread and unread.reason()) or 'has no connection with data'}")
    _unique(connections)
    length = duration or max(connection.end for connection in connections)
    if not length > 0:
        raise TcpccError(f"{path}: has a single event: there is no time over which to measure")
    if note:
        warn(f"{path}: {note}", TraceWarning)
    width = _round(length / BINS) if interval is None else units.seconds(interval, "interval")
    positive("interval", width, "s")
    if length / width > MOST_BINS:
        raise TcpccError(
            f"{path}: interval = {width:g}: gives {length / width:.3g} bins in {length:g} s:"
            f" must be at most {MOST_BINS:g}"
        )
    ends = width * np.arange(1.0, max(math.ceil(length / width - 1e-9), 1) + 1)
    series = [_series(connection, ends) for connection in connections]
    values: dict[str, Any] = {
        name: np.stack([connection[name] for connection in series], axis=-1) for name in series[0]
    }
    values |= {
        "controller": np.array([connection.controller for connection in connections], dtype=str),
        "group": np.array([connection.name for connection in connections], dtype=str),
        "count": np.ones(len(connections), dtype=int),
        "start": np.array([connection.start for connection in connections]),
        "stop": np.full(len(connections), math.nan),
        "packet_size": np.array([float(connection.packet_size) for connection in connections]),
        "payload": np.array([float(connection.payload) for connection in connections]),
        "base_rtt": np.array([_base_rtt(connection) for connection in connections]),
    }
    links = [] if rate is None else [LINK]
    values |= _link(connections, values, width, len(ends), rate)
    data = xr.Dataset(
        {name: _variable(name, values[name], connections) for name in VARIABLES},
        coords={
            "time": ("time", ends, {"long_name": "end of the bin", "units": "s"}),
            "flow": np.array([connection.name for connection in connections], dtype=str),
            "link": np.array(links, dtype=str),
        },
        attrs={
            "format": FORMAT,
            "model": "trace",
            "driver": kind,
            "source": Path(path).name,
            "scenario": "",
            "digest": "",
            "seed": 0,
            "duration": float(length),
            "interval": float(width),
            "version": __version__,
            "cpu_seconds": math.nan,
        }
        | ({"unread": note} if note else {}),
    )
    flights = [connection.samples.get("in_transit", NOTHING) for connection in connections]
    if any(len(times) for times, _ in flights):
        pairs = zip(flights, connections, strict=True)
        columns = [_last_values(flight, ends, connection) for flight, connection in pairs]
        unit, long_name = TRACED["in_transit"]
        attrs = {"long_name": long_name, "units": unit}
        data["in_transit"] = ("time", "flow"), np.stack(columns, axis=-1), attrs
    events = _merged([connection.events for connection in connections])
    return Run(data, events if events.size else None)


def _unique(connections: Sequence[Connection]) -> None:
    """Number connections of one name: "a", "a#2"."""
    counts: Counter[str] = Counter()
    for connection in connections:
        counts[connection.name] += 1
        if counts[connection.name] > 1:
            connection.name = f"{connection.name}#{counts[connection.name]}"


def _series(connection: Connection, ends: NDArray[np.float64]) -> dict[str, Any]:
    """The variables of `FlowSeries` of a connection, shape [time] or []."""
    event_kinds = connection.events["event"]
    bins = np.minimum(np.searchsorted(ends, connection.events["time"]), len(ends) - 1)
    result: dict[str, Any] = {}
    for name, kinds in (_BY_EVENT | {"delivered": connection.delivered_by}).items():
        chosen = np.isin(event_kinds, kinds)
        amounts = np.bincount(bins[chosen], connection.amounts[chosen], len(ends))
        result[name] = amounts.astype(float)
    for name, (times, counted) in connection.counters.items():
        finite = np.isfinite(counted)
        so_far = np.interp(np.append(0.0, ends), times[finite], counted[finite])
        result[name] = np.diff(so_far)
    for name in ("cwnd", "ssthresh", "rtt"):
        result[name] = _last_values(connection.samples.get(name, NOTHING), ends, connection)
    result["acks_dropped"] = np.full(len(ends), math.nan)
    result |= {name: float(np.sum(event_kinds == event)) for name, event in _COUNTED.items()}
    result["finished"] = connection.finished
    for name in connection.missing:
        if name in result:
            result[name] = np.full(np.shape(result[name]), math.nan)
    return result


def _last_values(
    samples: tuple[Any, Any], ends: NDArray[np.float64], connection: Connection
) -> NDArray[np.float64]:
    """The last sample up to each bin's end; NaN before the first and after the connection's end."""
    times, values = samples
    finite = ~np.isnan(np.asarray(values, dtype=float))
    moments, padded = np.asarray(times)[finite], np.append(math.nan, np.asarray(values)[finite])
    last = padded[np.searchsorted(moments, ends, side="right")]
    begins = np.append(0.0, ends[:-1])
    finished = connection.finished
    lives = begins < connection.end if math.isnan(finished) else ends < finished
    return np.where(lives, last, math.nan)


def _base_rtt(connection: Connection) -> float:
    samples = np.asarray(connection.samples.get("rtt", NOTHING)[1], dtype=float)
    if not math.isnan(connection.base_rtt) or not np.isfinite(samples).any():
        return connection.base_rtt
    return float(np.nanmin(samples))


def _link(
    connections: Sequence[Connection], values: Mapping[str, Any], width: float, bins: int, rate: Any
) -> dict[str, Any]:
    """The variables of the link, if its rate is known."""
    count = int(rate is not None)
    unknown = np.full((bins, count), math.nan)
    bits = units.rate(rate) if rate is not None else math.nan
    units.look_for_units({"rate": rate}, {})
    delivered = np.sum(values["delivered"] * values["packet_size"] * 8, axis=1, keepdims=True)
    return {
        **dict.fromkeys(("queue", "queue_max", "busy", "arrived", "drops"), unknown),
        "sent_bits": delivered[:, :count],
        "capacity": np.full((bins, count), bits * width),
        "rate": np.full(count, bits),
        "delay": np.full(count, math.nan),
        "buffer": np.full(count, math.nan),
        "buffer_unit": np.full(count, "packets"),
        "crosses": np.ones((len(connections), count), dtype=bool),
    }


def _variable(name: str, values: Any, connections: Sequence[Connection]) -> xr.Variable:
    import xarray as xr

    dims, unit, long_name = VARIABLES[name]
    attrs = {"long_name": long_name} | ({"units": unit} if unit else {})
    reasons = [connection.missing.get(name) for connection in connections]
    if all(reasons):
        attrs["missing"] = str(reasons[0])
    elif name == "acks_dropped":
        attrs["missing"] = NO_ACK_DROPS
    elif name in ("queue", "queue_max", "busy", "arrived", "drops", "delay", "buffer"):
        attrs["missing"] = NO_QUEUE
    return xr.Variable(dims, values, attrs)


def _merged(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The events of all connections in order of time, with their numbers."""
    further: dict[str, None] = {}
    for part in parts:
        further |= dict.fromkeys((part.dtype.names or ())[len(EVENT_DTYPE.descr) :])
    if len(parts) == 1:  # without a copy: it may be large
        (only,) = parts
        only["flow"] = 0
        sorted_ = (only["time"][1:] >= only["time"][:-1]).all()
        return only if sorted_ else only[np.argsort(only["time"], kind="stable")]
    whole = np.concatenate(
        [
            events_of(
                {name: part[name] for name in part.dtype.names or ()} | {"flow": number},
                [name for name in further if name not in TRACED],
            )
            for number, part in enumerate(parts)
        ]
    )
    return whole[np.argsort(whole["time"], kind="stable")]


def _round(width: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not larger."""
    power = 10.0 ** math.floor(math.log10(width))
    return max(m * power for m in (1, 2, 5) if m * power <= width * (1 + 1e-9))
