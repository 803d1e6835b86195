"""Files of qlog: QUIC stacks' traces, and those that `Run.to_qlog` writes.

Read are versions 0.3 and later, as one JSON document, as JSON text sequences and as JSON lines.
Events are known by their names after the colon, as these differ between drafts:

==================================== =============================================================
`packet_sent`, `packet_received`     packets and ACK frames
`packet_lost`                        a packet that the sender declared lost (`drop` in a trace)
`metrics_updated`                    window, ssthresh, bytes in flight, RTT
`congestion_state_updated`           entering recovery is a loss event; in a log without such events
                                     the loss of a packet sent after the last loss event is one
`loss_timer_updated`                 a probe timeout that expired
==================================== =============================================================

QUIC in the terms of a run:

- Packets of the handshake are left out.
- A packet is a QUIC packet: `packet_size` is the longest, without the headers of UDP and IP.
- `seq` is the packet number; of an ACK, the largest acknowledged number plus one.
- QUIC sends no packet twice. A packet with data of an earlier one counts as retransmitted.
- Without `packet_sent` of data, at a receiver, `delivered` are the packets that it received.

Source: draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events; RFC 7464 (sequences);
RFC 9002, section 7.3.2 (a loss event).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import TcpccError, positive
from tcpcc.results import Run
from tcpcc.results.recording import TRACED
from tcpcc.traces.traced import (
    ACK,
    DELIVER,
    DROP,
    DUPACK,
    LOSS,
    RETRANSMIT,
    SEND,
    TIMEOUT,
    Traced,
    contents,
    events_of,
    run_of,
)  # fmt: skip

Event = dict[str, Any]

METRICS = {
    "cwnd": ("congestion_window", "cwnd"),  # aioquic writes cwnd
    "ssthresh": ("ssthresh",),
    "in_transit": ("bytes_in_flight",),
    "rtt": ("latest_rtt",),
    "srtt": ("smoothed_rtt",),
    "base_rtt": ("min_rtt",),
}
"""Names here -> names in the data of `metrics_updated`."""

HANDSHAKE = ("initial", "handshake", "retry", "version_negotiation")
ABSOLUTE = 1e11
"""ms; times without a format are since 1970 if they are later."""


def read_qlog(
    path: str | Path,
    *,
    rate: float | str | None = None,
    interval: float | str | None = None,
    packet_size: float | None = None,
    controller: str = "unknown",
) -> Run:
    """Read a trace of a QUIC stack, or one of `Run.to_qlog`, as a run.

    Each connection is a flow: each trace of the file, and in it each `group_id`. A trace tells of
    the end where it was made: at a sender `delivered` counts packets when they are acknowledged. A
    file of `Run.to_qlog` gives the numbers of its run, without its links.

    Args:
        path: a file with one JSON document, JSON text sequences (.sqlog) or JSON lines; may be
            compressed with gzip.
        rate: rate of the bottleneck, bit/s, for `utilization`. Default: the run has no link.
        interval: width of the bins, s. Default: that of the run which wrote the file, or a round
            number, so that there are at least 500.
        packet_size: bytes of a full packet. Default: the longest in the trace.
        controller: name of the congestion control, which qlog does not tell.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: a damaged file, or one without a connection.
        ScenarioError: an invalid argument.
    """
    if packet_size is not None:
        positive("packet_size", packet_size, "byte")
    found: list[Traced] = []
    attrs: dict[str, Any] = {}
    traces = list(_traces(path))
    begin = min((_reference(trace) for trace, _ in traces), default=0.0)
    for trace, where in traces:
        own = trace.get("tcpcc")
        timed, absolute = _timed(trace, where, path)
        offset = 0.0 if absolute else _reference(trace) - begin
        for name, events in timed.items():
            made: Traced | None
            try:
                if own is not None:
                    attrs = {k: own[k] for k in ("duration", "interval")}
                    made = _own(name, events, own)
                else:
                    made = _quic(name, events, offset, packet_size, controller)
            except _EventError as error:
                raise TcpccError(f"{path}: {where(error.place)}: {error}") from None
            except (KeyError, TypeError) as error:
                if own is None:
                    raise
                raise TcpccError(f"{path}: line 1: damaged header: lacks {error}") from None
            if made is not None:
                found.append(made)
    if attrs and interval is None:
        interval = attrs["interval"]
    return run_of(
        found, path=path, kind="qlog", rate=rate, interval=interval,
        duration=attrs.get("duration"),
    )  # fmt: skip


# The file.


def _traces(path: str | Path) -> Iterator[tuple[Event, Callable[[int], str]]]:
    """Each trace with its `events`, and a function from an event's place to the line to name."""
    try:
        text = contents(path).decode()
    except UnicodeDecodeError as error:
        raise TcpccError(f"{path}: not UTF-8 at byte {error.start}: not a qlog") from None
    if text.lstrip()[:1] not in ("{", "\x1e"):
        raise TcpccError(f"{path}: line 1: not a qlog: no JSON object")
    first = text.split("\n", 1)[0]
    if "\x1e" in text:
        pieces = _sequence(text)
    elif first.count("{") == first.count("}") and text.count("\n{") > 0:
        pieces = ((k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip())
    else:
        yield from _document(path, _parsed(path, 1, text))
        return
    trace: Event | None = None
    lines: list[int] = []
    for line, piece in pieces:
        record = _parsed(path, line, piece)
        if {"trace", "qlog_version", "qlog_format", "file_schema"} & record.keys():
            if trace is not None:
                yield trace, _line_of(lines)
            head = record.get("trace", {})
            trace, lines = {**head, "events": []}, []
        elif trace is None:
            raise TcpccError(f"{path}: line {line}: the first object is not a qlog header")
        else:
            trace["events"].append(record)
            lines.append(line)
    if trace is not None:
        yield trace, _line_of(lines)


def _line_of(lines: list[int]) -> Callable[[int], str]:
    return lambda place: f"line {lines[place]}"


def _sequence(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each record of RFC 7464."""
    line = 1
    for piece in text.split("\x1e"):
        if piece.strip():
            yield line, piece
        line += piece.count("\n")


def _parsed(path: str | Path, line: int, text: str) -> Event:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        short = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        cut = "; the file is cut off" if short else ""
        raise TcpccError(
            f"{path}: line {at}: not JSON: {error.msg} at column {error.colno}{cut}"
        ) from None
    if not isinstance(found, dict):
        raise TcpccError(f"{path}: line {line}: not a qlog: no JSON object")
    return found


def _document(path: str | Path, whole: Event) -> Iterator[tuple[Event, Callable[[int], str]]]:
    traces = whole.get("traces")
    if not isinstance(traces, list):
        raise TcpccError(f"{path}: not a qlog: has no list of traces")
    failed = [t["error_description"] for t in traces if "error_description" in t]
    if failed and len(failed) == len(traces):
        raise TcpccError(f"{path}: has no trace but an error: {failed[0]}")
    for number, trace in enumerate(traces):
        if isinstance(trace.get("events"), list):
            yield trace, lambda place, n=number: f"trace {n}, event {place}"  # type: ignore[misc]
        elif "error_description" not in trace:
            raise TcpccError(f"{path}: trace {number}: has no list of events")


class _EventError(Exception):
    """An event that cannot be read; `place` is its place in the trace."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


# Times and connections.


def _reference(trace: Event) -> float:
    """Reference time of a trace's relative times, ms; 0 if it does not tell a number."""
    told = trace.get("common_fields", {}).get("reference_time", 0.0)
    if isinstance(told, dict):
        told = told.get("wall_clock_time") or told.get("epoch", 0.0)
    if isinstance(told, str):
        try:
            return datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp() * 1e3
        except ValueError:
            return 0.0
    return float(told)


Timed = list[tuple[int, float, str, Event]]
"""Place in the trace, time (ms), name after the colon, data."""


def _timed(
    trace: Event, where: Callable[[int], str], path: str | Path
) -> tuple[dict[str, Timed], bool]:
    """The events of each connection; and whether their times are absolute."""
    common = trace.get("common_fields", {})
    form = common.get("time_format")
    delta = form in ("delta", "relative_to_previous_event")
    result: dict[str, Timed] = {}
    now, earliest = 0.0, math.inf
    for place, event in enumerate(trace["events"]):
        try:
            time, name, data = float(event["time"]), event["name"], event.get("data", {})
            group = str(event.get("group_id") or common.get("group_id") or _id(event, common))
            name = name.rpartition(":")[2].removeprefix("recovery_")
            now = now + time if delta else time
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(event, list):
                reason = "a list: qlog before 0.3 is not read"
            raise TcpccError(f"{path}: {where(place)}: not an event: {reason}") from None
        if not isinstance(data, dict) or not math.isfinite(now):
            raise TcpccError(f"{path}: {where(place)}: not an event: its time or data")
        earliest = min(earliest, now)
        result.setdefault(group, []).append((place, now, name, data))
    absolute = form == "absolute" or (form is None and earliest > ABSOLUTE)
    if absolute:
        result = {
            group: [(place, time - earliest, name, data) for place, time, name, data in events]
            for group, events in result.items()
        }
    return result, absolute


def _id(event: Event, common: Event) -> str:
    return str(event.get("ODCID") or common.get("ODCID") or "connection")


# A connection of a QUIC stack.


def _quic(
    name: str, events: Timed, offset: float, packet_size: float | None, controller: str
) -> Traced | None:
    """The connection, or None if it has no packets after the handshake."""
    reader = _Quic()
    for place, time, kind, data in events:
        method = _HANDLERS.get(kind)
        if method is None:
            continue
        try:
            method(reader, (time + offset) / 1e3, data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise _EventError(place, f"{kind}: {reason}") from None
    return reader.traced(name, packet_size, controller)


class _Quic:
    """What the events of a connection tell, as columns."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, int, int, float]] = []  # time, event, seq, bytes
        self.metrics: dict[str, list[tuple[float, float]]] = {n: [] for n in METRICS}
        self.sizes: dict[int, float] = {}  # of packets in flight
        self.frames: dict[int, list[tuple[int, int, int]]] = {}
        self.tops: dict[int, int] = {}  # stream -> bytes sent
        self.sent_bytes = self.received_bytes = 0.0
        self.received: list[tuple[float, int, int, float]] = []
        self.received_frames: list[tuple[int, int, int]] = []
        self.acked: list[tuple[int, int, int]] = []
        self.latest_ack: list[tuple[int, int]] = []
        self.largest_sent = self.latest_loss = -1
        self.first_sent = 0
        self.states = self.sizes_told = False
        self.state = ""
        self.streams = False

    def packet_sent(self, time: float, data: Event) -> None:
        if _space(data) is None:
            return
        number, size, frames = int(_header(data)["packet_number"]), self._size(data), _streams(data)
        again = False
        for stream, first, end in frames:
            again |= first < self.tops.get(stream, 0)
            self.tops[stream] = max(end, self.tops.get(stream, 0))
        self.streams |= bool(frames)
        self.first_sent = number if self.largest_sent < 0 else self.first_sent
        self.sent_bytes += size
        self.sizes[number], self.frames[number] = size, frames
        self.largest_sent = max(self.largest_sent, number)
        self.rows.append((time, RETRANSMIT if again else SEND, number, size))

    def packet_received(self, time: float, data: Event) -> None:
        if _space(data) is None:
            return
        size, frames = self._size(data), _streams(data)
        self.received_bytes += size
        self.received_frames += frames
        self.received.append((time, DELIVER, int(_header(data).get("packet_number", 0)), size))
        for frame in data.get("frames", ()):
            if frame.get("frame_type") == "ack":
                self._ack(time, _ranges(frame))

    def _ack(self, time: float, ranges: list[tuple[int, int]]) -> None:
        acked = 0.0
        for low, high in ranges:
            known = next((end + 1 for first, end in self.latest_ack if first <= low <= end), low)
            for number in range(max(known, self.first_sent), min(high, self.largest_sent) + 1):
                if number in self.sizes:
                    acked += self.sizes.pop(number)
                    self.acked += self.frames.pop(number)
        self.latest_ack = ranges
        largest = max(high for _, high in ranges)
        self.rows.append((time, ACK if acked else DUPACK, largest + 1, acked))

    def packet_lost(self, time: float, data: Event) -> None:
        header = _header(data)
        if _space({**data, "header": header}) is None:
            return
        number = int(header["packet_number"])
        self.rows.append((time, DROP, number, self.sizes.get(number, math.nan)))
        if not self.states and number > self.latest_loss:
            self.latest_loss = self.largest_sent
            self.rows.append((time, LOSS, number, 0.0))

    def congestion_state_updated(self, time: float, data: Event) -> None:
        old, self.state = data.get("old", self.state), str(data["new"])
        if self.state.startswith("recovery") and not str(old).startswith("recovery"):
            if not self.states:  # the losses that were found before
                self.rows = [row for row in self.rows if row[1] != LOSS]
            self.rows.append((time, LOSS, self.largest_sent, 0.0))
        self.states |= self.state.startswith("recovery")

    def loss_timer_updated(self, time: float, data: Event) -> None:
        if data.get("event_type") == "expired" and data.get("timer_type", "pto") in ("pto", "rto"):
            self.rows.append((time, TIMEOUT, self.largest_sent, 0.0))

    def metrics_updated(self, time: float, data: Event) -> None:
        for name, theirs in METRICS.items():
            for key in theirs:
                if data.get(key) is not None:
                    self.metrics[name].append((time, float(data[key])))

    def _size(self, data: Event) -> float:
        told = data.get("raw", {}).get("length") or _header(data).get("packet_size")
        self.sizes_told |= told is not None
        return math.nan if told is None else float(told)

    def traced(self, name: str, packet_size: float | None, controller: str) -> Traced | None:
        if not self.rows and not self.received:
            return None
        received = self.received_bytes > self.sent_bytes  # made at the receiver
        rows = self.received if received else self.rows
        table = np.array(sorted(rows, key=lambda row: row[0]), dtype=float).reshape(-1, 4)
        untold = _untold(self, received)
        whole = np.isin(table[:, 1], (SEND, RETRANSMIT, DELIVER))
        size = packet_size or float(np.nanmax(table[whole, 3], initial=0.0)) or math.nan
        amounts = table[:, 3] / size
        if not self.sizes_told:
            untold |= dict.fromkeys(
                ("delivered", "sent", "retransmitted", "dropped"),
                "the qlog has no length of packets",
            )
        samples = self._samples(size, received)
        events = events_of(
            {"time": table[:, 0], "event": table[:, 1], "seq": table[:, 2]}
            | {n: _at(table[:, 0], *samples[n]) for n in ("cwnd", "ssthresh", "in_transit")}
        )
        events["value"] = np.where(
            np.isin(events["event"], (ACK, DUPACK)),
            _at(table[:, 0], *samples["rtt"]),
            events["cwnd"],
        )
        for told in ("cwnd", "ssthresh", "rtt"):
            if not samples[told][0].size:
                untold.setdefault(told, f"the qlog has no {METRICS[told][0]}")
        frames, total = (
            (self.received_frames, self.received_bytes)
            if received
            else (self.acked, float(np.nansum(table[table[:, 1] == ACK, 3])))
        )
        data = _union(frames)
        if not data:
            untold["payload"] = "the qlog has no stream frames"
        minima = [value for _, value in self.metrics["base_rtt"]]
        return Traced(
            name, events, amounts, samples, size,
            payload=size * data / total if data and total else math.nan,
            untold=untold,
            delivered_by=(DELIVER,) if received else (ACK,),
            controller=controller,
            start=float(table[0, 0]),
            base_rtt=min(minima) / 1e3 if minima else math.nan,
        )  # fmt: skip

    def _samples(self, size: float, received: bool) -> dict[str, Any]:
        columns = {n: np.array(found).reshape(-1, 2) for n, found in self.metrics.items()}
        if not columns["rtt"].size:
            columns["rtt"] = columns["srtt"]
        scale = {"rtt": 1e3} | dict.fromkeys(("cwnd", "ssthresh", "in_transit"), size)
        windows = ("cwnd", "ssthresh", "in_transit")
        return {
            n: (found[:0, 0], found[:0, 1])
            if received and n in windows
            else (found[:, 0], found[:, 1] / scale[n])
            for n, found in columns.items()
            if n in scale
        }


_HANDLERS: dict[str, Callable[[_Quic, float, Event], None]] = {
    each.__name__: each
    for each in (
        _Quic.packet_sent,
        _Quic.packet_received,
        _Quic.packet_lost,
        _Quic.congestion_state_updated,
        _Quic.loss_timer_updated,
        _Quic.metrics_updated,
    )
}


def _untold(reader: _Quic, received: bool) -> dict[str, str]:
    if received:
        reason = "the qlog was made at the receiver"
        names = ("sent", "retransmitted", "dropped", "timeouts", "loss_events", "cwnd", "ssthresh")
        return dict.fromkeys(names, reason)
    return {} if reader.streams else {"retransmitted": "the qlog has no stream frames"}


def _header(data: Event) -> Event:
    return data.get("header") or data


def _space(data: Event) -> str | None:
    """The packet number space of data, or None for packets of the handshake."""
    header = _header(data)
    kind = str(header.get("packet_type") or data.get("packet_type") or data.get("type") or "1RTT")
    return None if kind.lower() in HANDSHAKE else "data"


def _streams(data: Event) -> list[tuple[int, int, int]]:
    """Stream, first byte and the byte after the last of each stream frame that tells them."""
    return [
        (int(f["stream_id"]), int(f["offset"]), int(f["offset"]) + int(_length(f)))
        for f in data.get("frames", ())
        if f.get("frame_type") == "stream" and "offset" in f and _length(f) is not None
    ]


def _length(frame: Event) -> Any:
    told = frame.get("length")
    return told if told is not None else frame.get("raw", {}).get("payload_length")


def _ranges(frame: Event) -> list[tuple[int, int]]:
    """The acknowledged packet numbers; a range of one number may be a list of one."""
    return [(int(each[0]), int(each[-1])) for each in frame["acked_ranges"]]


def _union(frames: list[tuple[int, int, int]]) -> float:
    """Bytes in these frames, each byte once."""
    total, stream, top = 0, -1, 0
    for number, first, end in sorted(frames):
        if number != stream:
            stream, top = number, 0
        total += max(end - max(first, top), 0)
        top = max(top, end)
    return float(total)


def _at(
    moments: NDArray[np.float64], times: NDArray[np.float64], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The last sample up to each moment."""
    return np.append(math.nan, values)[np.searchsorted(times, moments, side="right")]


# A connection of `Run.to_qlog`.


def _own(name: str, events: Timed, told: Event) -> Traced:
    """The connection as the run had it; see `tcpcc.results.qlog`."""
    facts = told["flows"][name]
    size = facts["packet_size"]
    rows: list[Event] = []
    for place, time, kind, data in events:
        try:
            if kind == "metrics_updated":
                rows[-1] |= _own_metrics(data, size, rows[-1])
            else:
                rows.append({"time": time / 1e3} | _own_event(kind, data, told["links"]))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise _EventError(place, f"{kind}: {reason}") from None
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {key: [row.get(key, math.nan) for row in rows] for key in names}
    columns["seq"] = [row.get("seq", 0) for row in rows]
    known = {"time", "flow", "event", "seq", "value"}
    made = events_of(columns, [n for n in names if n not in known and n not in TRACED])
    times = made["time"]
    acks = np.isin(made["event"], (ACK, DUPACK))
    return Traced(
        name,
        made,
        np.where((made["event"] == DELIVER) & (made["seq"] < facts["syn"]), 0.0, 1.0),
        {
            "cwnd": (times, made["cwnd"]),
            "ssthresh": (times, made["ssthresh"]),
            "in_transit": (times, made["in_transit"]),
            "rtt": (times[acks], made["value"][acks]),
        },
        size,
        facts["payload"],
        delivered_by=(DELIVER,),
        controller=facts["controller"],
        start=facts["start"],
        finished=facts["finished"] if facts["finished"] is not None else math.nan,
        base_rtt=facts["base_rtt"] if facts["base_rtt"] is not None else math.nan,
    )


def _own_event(kind: str, data: Event, links: list[str]) -> Event:
    """The fields of a run's event, without those of `metrics_updated`."""
    if kind == "packet_received":
        frame = data["frames"][0]
        (_, last), *blocks = frame["acked_ranges"]
        low, high = (blocks[0][0], blocks[0][1] + 1) if blocks else (math.nan, math.nan)
        return {
            "event": DUPACK if frame["duplicate"] else ACK, "seq": last + 1,
            "sack_low": low, "sack_high": high,
        }  # fmt: skip
    if kind == "loss_timer_updated":
        return {"event": TIMEOUT, "seq": data.get("packet_number", 0)}
    row = {"seq": data["header"]["packet_number"]}
    if kind == "packet_sent":
        return row | {"event": RETRANSMIT if data["is_retransmission"] else SEND}
    if kind == "packet_dropped":
        return row | {"event": DROP, "value": links.index(data["link"])}
    return row | {"event": {"packet_lost": LOSS, "packet_delivered": DELIVER}[kind]}


def _own_metrics(data: Event, size: float, row: Event) -> Event:
    """The fields of `metrics_updated` after the event `row`."""
    cwnd = data["congestion_window"] / size
    known = ("congestion_window", "bytes_in_flight", "ssthresh", "latest_rtt")
    made = {
        "cwnd": cwnd,
        "in_transit": data["bytes_in_flight"] / size,
        "ssthresh": data["ssthresh"] / size if "ssthresh" in data else math.inf,
        **{name: value for name, value in data.items() if name not in known},
    }
    if row["event"] not in (ACK, DUPACK):
        made["value"] = cwnd
    elif "latest_rtt" in data:
        made["value"] = data["latest_rtt"] / 1e3
    return made
