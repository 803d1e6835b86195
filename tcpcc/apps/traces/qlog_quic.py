"""A connection of a QUIC stack in a qlog file.

Events are known by their names after the colon, in lower case; drafts and stacks have other names
for some of them (`_NAMES`):

==================================== =============================================================
`packet_sent`, `packet_received`     packets and ACK frames
`packet_lost`                        a packet that the sender declared lost (`drop` in a trace), or
                                     several in one event (mvfst)
`metrics_updated`                    window, ssthresh, bytes in flight, RTT
`congestion_state_updated`           entering recovery is a loss event; in a log without such events
                                     the loss of a packet sent after the last loss event is one
`timer_updated`                      a probe timeout that expired
==================================== =============================================================

QUIC in the terms of a run:

- Packets of the handshake are left out.
- A packet is a QUIC packet: `packet_size` is the longest, without the headers of UDP and IP.
- `seq` is the packet number; of an ACK, the largest acknowledged number plus one.
- QUIC sends no packet twice. A packet with data of an earlier one counts as retransmitted.
- Without `packet_sent` of data, at a receiver, `delivered` are the packets that it received.

Source: draft-ietf-quic-qlog-quic-events; RFC 9002, section 7.3.2 (a loss event).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.apps.traces.connection import Connection, Kind, Unread, events_of
from tcpcc.apps.traces.qlog_events import Event, Timed

METRICS = {
    "cwnd": ("congestion_window", "cwnd"),  # aioquic writes cwnd
    "ssthresh": ("ssthresh",),
    "in_transit": ("bytes_in_flight",),
    "rtt": ("latest_rtt",),
    "srtt": ("smoothed_rtt",),
    "base_rtt": ("min_rtt",),
}
"""Names here -> names in the data of `metrics_updated`."""

_NAMES = {
    "packets_lost": "packet_lost",  # mvfst
    "metric_update": "metrics_updated",  # draft-00
    "cc_state_update": "congestion_state_updated",  # draft-00
    "loss_timer_updated": "timer_updated",  # before qlog issue 496
    "loss_timer_expired": "timer_updated",  # draft-01
    "loss_timer_fired": "timer_updated",
    "loss_alarm_fired": "timer_updated",  # draft-00
    "loss_alarm": "timer_updated",  # mvfst, when it fires
}
"""Names of drafts and stacks -> names here."""

EXPIRED = ("loss_timer_expired", "loss_timer_fired", "loss_alarm_fired", "loss_alarm")

HANDSHAKE = ("initial", "handshake", "retry", "version_negotiation")


def quic_connection(
    name: str, events: Timed, offset: float, packet_size: float | None, controller: str, *,
    unit: float, where: Callable[[int], str], unread: Unread,
) -> Connection | None:  # fmt: skip
    """The connection, or None if it has no packets after the handshake.

    Args:
        offset: ms, added to their times.
        packet_size, controller: as in `read_qlog`.
        unit: of the RTTs, ms.
        where: an event's place -> its place in the file.
        unread: is told the events that cannot be read.
    """
    reader = _Quic(unit)
    for place, time, kind, data in events:
        method = _HANDLERS.get(_NAMES.get(kind, kind))
        if method is None:
            continue
        if kind in EXPIRED:
            data = {"event_type": "expired", **data}
        try:
            method(reader, (time + offset) / 1e3, data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            unread.skip(where(place), f"{kind}: {reason}")
    return reader.connection(name, packet_size, controller)


class _Quic:
    """The events of a connection, as columns."""

    def __init__(self, unit: float) -> None:
        self.unit = unit
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
        self.states = self.has_sizes = False
        self.state = ""
        self.streams = self.acks = self.timers = False

    def packet_sent(self, time: float, data: Event) -> None:
        if _is_handshake(data):
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
        self.rows.append((time, Kind.RETRANSMIT if again else Kind.SEND, number, size))

    def packet_received(self, time: float, data: Event) -> None:
        if _is_handshake(data):
            return
        size, frames = self._size(data), _streams(data)
        self.received_bytes += size
        self.received_frames += frames
        self.received.append((time, Kind.DELIVER, int(_header(data).get("packet_number", 0)), size))
        for frame in _frames(data):
            if str(frame.get("frame_type")).lower() == "ack":
                self._ack(time, _ranges(frame))

    def _ack(self, time: float, ranges: list[tuple[int, int]]) -> None:
        acked = 0.0
        for low, high in ranges:
            fresh = next((end + 1 for first, end in self.latest_ack if first <= low <= end), low)
            numbers = range(max(fresh, self.first_sent), min(high, self.largest_sent) + 1)
            if numbers.stop - numbers.start > len(self.sizes):  # a range may have 2^62 numbers
                found = sorted(number for number in self.sizes if number in numbers)
            else:
                found = [number for number in numbers if number in self.sizes]
            for number in found:
                acked += self.sizes.pop(number)
                self.acked += self.frames.pop(number)
        self.acks = True
        self.latest_ack = ranges
        largest = max(high for _, high in ranges)
        self.rows.append((time, Kind.ACK if acked else Kind.DUPACK, largest + 1, acked))

    def packet_lost(self, time: float, data: Event) -> None:
        header = _header(data)
        if _is_handshake(data):
            return
        if "packet_number" not in header and "lost_packets" in data:  # mvfst: several in one event
            number, size = int(data["largest_lost_packet_num"]), float(data["lost_bytes"])
        else:
            number = int(header["packet_number"])
            size = self.sizes.get(number, math.nan)
        self.rows.append((time, Kind.DROP, number, size))
        if not self.states and number > self.latest_loss:
            self.latest_loss = self.largest_sent
            self.rows.append((time, Kind.LOSS, number, 0.0))

    def congestion_state_updated(self, time: float, data: Event) -> None:
        old, self.state = data.get("old", self.state), str(data["new"]).lower()
        old = str(old).lower()
        if self.state.startswith("recovery") and not old.startswith("recovery"):
            if not self.states:  # the losses that were found before
                self.rows = [row for row in self.rows if row[1] != Kind.LOSS]
            self.rows.append((time, Kind.LOSS, self.largest_sent, 0.0))
        self.states |= self.state.startswith("recovery")

    def timer_updated(self, time: float, data: Event) -> None:
        self.timers = True
        kind = str(data.get("timer_type") or data.get("type") or "pto").lower()
        fires = data.get("event_type") == "expired" or "alarm_count" in data  # mvfst: when it fires
        if fires and kind.startswith(("pto", "rto")):
            self.rows.append((time, Kind.TIMEOUT, self.largest_sent, 0.0))

    def metrics_updated(self, time: float, data: Event) -> None:
        for name, keys in METRICS.items():
            for key in keys:
                if data.get(key) is not None:
                    self.metrics[name].append((time, float(data[key])))

    def _size(self, data: Event) -> float:
        size = _first(
            (data.get("raw"), "length"), (_header(data), "packet_size"), (data, "packet_size"),
            (data.get("raw"), "payload_length"), (_header(data), "payload_length"),
        )  # fmt: skip
        self.has_sizes |= size is not None
        return math.nan if size is None else float(size)

    def connection(
        self, name: str, packet_size: float | None, controller: str
    ) -> Connection | None:
        if not self.rows and not self.received:
            return None
        received = self.received_bytes > self.sent_bytes  # made at the receiver
        rows = self.received if received else self.rows
        table = np.array(sorted(rows, key=lambda row: row[0]), dtype=float).reshape(-1, 4)
        missing = _missing(self, received)
        whole = np.isin(table[:, 1], (Kind.SEND, Kind.RETRANSMIT, Kind.DELIVER))
        size = packet_size or float(np.nanmax(table[whole, 3], initial=0.0)) or math.nan
        amounts = table[:, 3] / size
        if not self.has_sizes:
            missing |= dict.fromkeys(
                ("delivered", "sent", "retransmitted", "dropped"),
                "the qlog has no length of packets",
            )
        samples = self._samples(size, received)
        events = events_of(
            {"time": table[:, 0], "event": table[:, 1], "seq": table[:, 2]}
            | {n: _at(table[:, 0], *samples[n]) for n in ("cwnd", "ssthresh", "in_transit")}
        )
        events["value"] = np.where(
            np.isin(events["event"], (Kind.ACK, Kind.DUPACK)),
            _at(table[:, 0], *samples["rtt"]),
            events["cwnd"],
        )
        for variable in ("cwnd", "ssthresh", "rtt"):
            if not samples[variable][0].size:
                missing.setdefault(variable, f"the qlog has no {METRICS[variable][0]}")
        frames, total = (
            (self.received_frames, self.received_bytes)
            if received
            else (self.acked, float(np.nansum(table[table[:, 1] == Kind.ACK, 3])))
        )
        data = _union(frames)
        if not data:
            missing["payload"] = "the qlog has no stream frames"
        unit = self.unit
        minima = [value for _, value in self.metrics["base_rtt"]]
        return Connection(
            name, events, amounts, samples, size,
            payload=size * data / total if data and total else math.nan,
            missing=missing,
            delivered_by=(Kind.DELIVER,) if received else (Kind.ACK,),
            controller=controller,
            start=float(table[0, 0]),
            base_rtt=min(minima) * unit / 1e3 if minima else math.nan,
        )  # fmt: skip

    def _samples(self, size: float, received: bool) -> dict[str, Any]:
        columns = {n: np.array(samples).reshape(-1, 2) for n, samples in self.metrics.items()}
        if not columns["rtt"].size:
            columns["rtt"] = columns["srtt"]
        scale = {"rtt": 1e3 / self.unit} | dict.fromkeys(("cwnd", "ssthresh", "in_transit"), size)
        windows = ("cwnd", "ssthresh", "in_transit")
        return {
            n: (samples[:0, 0], samples[:0, 1])
            if received and n in windows
            else (samples[:, 0], samples[:, 1] / scale[n])
            for n, samples in columns.items()
            if n in scale
        }


_HANDLERS: dict[str, Callable[[_Quic, float, Event], None]] = {
    handler.__name__: handler
    for handler in (
        _Quic.packet_sent,
        _Quic.packet_received,
        _Quic.packet_lost,
        _Quic.congestion_state_updated,
        _Quic.timer_updated,
        _Quic.metrics_updated,
    )
}


def _missing(reader: _Quic, received: bool) -> dict[str, str]:
    if received:
        reason = "the qlog was made at the receiver"
        names = ("sent", "retransmitted", "dropped", "timeouts", "loss_events", "cwnd", "ssthresh")
        return dict.fromkeys(names, reason)
    missing = {} if reader.streams else {"retransmitted": "the qlog has no stream frames"}
    if not reader.timers:
        missing["timeouts"] = "the qlog has no events of the loss timer"
    kinds = {event for _, event, _, _ in reader.rows}
    if Kind.RETRANSMIT in kinds and Kind.DROP not in kinds:
        missing["dropped"] = "the qlog has no events of lost packets"
        if not reader.states:
            missing["loss_events"] = missing["dropped"]
    if not reader.acks:
        missing["delivered"] = "the qlog has no ACK frames"
    return missing


def _header(data: Event) -> Event:
    return data.get("header") or data


def _is_handshake(data: Event) -> bool:
    header = _header(data)
    kind = header.get("packet_type") or data.get("packet_type") or data.get("type")
    return str(kind).lower() in HANDSHAKE


def _frames(data: Event) -> list[Event]:
    return data.get("frames") or []


def _first(*places: tuple[Any, str]) -> Any:
    """The first value that is there, of these keys of these objects."""
    return next((t[k] for t, k in places if isinstance(t, dict) and t.get(k) is not None), None)


def _streams(data: Event) -> list[tuple[int, int, int]]:
    """Stream, first byte and the byte after the last of each stream frame that has them."""
    frames_ = []
    for frame in _frames(data):
        length = _length(frame)
        stream = _first((frame, "stream_id"), (frame, "id"))
        if str(frame.get("frame_type")).lower() == "stream" and None not in (
            length, stream, frame.get("offset"),
        ):  # fmt: skip
            first = int(frame["offset"])
            frames_.append((int(stream), first, first + int(length)))
    return frames_


def _length(frame: Event) -> Any:
    """Bytes of data in a stream frame; mvfst gives them as the length of the frame."""
    raw = frame.get("raw")
    return _first(
        (frame, "length"), (frame, "payload_length"), (raw, "payload_length"), (raw, "length")
    )


def _ranges(frame: Event) -> list[tuple[int, int]]:
    """The acknowledged packet numbers; a range of one number may be a list of one."""
    ranges = frame["acked_ranges"]
    lists = [numbers if isinstance(numbers, list) else [numbers] for numbers in ranges]
    return [(int(numbers[0]), int(numbers[-1])) for numbers in lists]


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
