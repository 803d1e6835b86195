"""A connection of a QUIC stack in a qlog file.

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

Source: draft-ietf-quic-qlog-quic-events; RFC 9002, section 7.3.2 (a loss event).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.traces.qlog_events import Event, EventError, Timed
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
    events_of,
)

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


def quic_connection(
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
            raise EventError(place, f"{kind}: {reason}") from None
    return reader.traced(name, packet_size, controller)


class _Quic:
    """The events of a connection, as columns."""

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
    """Stream, first byte and the byte after the last of each stream frame that has them."""
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
