"""TCP connections of a capture, from the headers seen at one end.

Each connection is a flow: its direction with more data. A capture at the sender gives

- `sent` and `retransmitted`; a loss event is a retransmission of data sent after the last one;
- `delivered`: bytes acknowledged for the first time, by number or by a SACK block;
- `rtt`: the time from the only transmission of a byte to the ACK that first acknowledges it (Karn);
- `in_transit`: packets from the cumulative ACK up to the last byte sent.

A capture at the receiver gives `delivered` when data arrive, and `rtt` from timestamps: the time
from an ACK to the first data that echo its timestamp. That includes waiting of the sender's
application. Neither end sees the sender's window, timers, or dropped packets.

Where each packet was captured twice (a mirror port, a bridge), the copies are left out: they have
the IPv4 identification of the first, which a retransmission does not have.

Source: Karn and Partridge, SIGCOMM 1987; RFC 7323, section 4; RFC 2018; RFC 9293.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tcpcc.apps.traces import capture
from tcpcc.apps.traces.capture import FIN, SYN, Ints, Segments
from tcpcc.apps.traces.connection import Connection, Kind, Unread, events_of, run_of
from tcpcc.apps.traces.guard import guarded
from tcpcc.errors import TcpccError, one_of, positive
from tcpcc.results import Run

LARGEST = 9000
"""Bytes of data; longer segments were joined by the host (offload)."""

ALWAYS_MISSING = {
    "cwnd": "a capture does not contain the sender's window; see in_transit",
    "ssthresh": "a capture does not contain the sender's threshold",
    "dropped": "a capture does not see drops; see retransmissions",
    "timeouts": "a capture does not see the sender's timers",
}
AT_RECEIVER = "the capture was made at the receiver"
COPY = 0.05
"""Most s from a packet to its copy."""

Floats = NDArray[np.float64]


@guarded
def read_pcap(
    path: str | Path,
    *,
    at: Literal["sender", "receiver"] | None = None,
    rate: float | str | None = None,
    interval: float | str | None = None,
    packet_size: float | None = None,
    controller: str = "unknown",
) -> Run:
    """Read the TCP connections of a capture (pcap or pcapng) as a run.

    Args:
        path: the file; may be compressed with gzip.
        at: where it was made. Default: found from the times of the handshake, without a handshake
            from timestamps, without these "sender".
        rate: rate of the bottleneck, bit/s, for `utilization`. Default: the run has no link.
        interval: width of the bins, s. Default: a round number, so that there are at least 500.
        packet_size: bytes of a full packet with its IP header. Default: from the handshake's MSS,
            without a handshake the longest packet.
        controller: name of the congestion control, which a capture does not contain.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: a damaged file, or one without TCP data.
        ScenarioError: an invalid argument.
    """
    if at is not None:
        one_of("at", at, known=("sender", "receiver"))
    if packet_size is not None:
        positive("packet_size", packet_size, "byte")
    unread = Unread()
    table = _without_copies(capture.segments(path, capture.mapped(path, unread), unread), unread)
    connections = []
    parts = sorted(_connections(table), key=len)
    parts = [rows for rows in parts if table.payload[rows].any()]
    while parts:
        ends = list(_directions(table, parts.pop(0)))
        if not parts:  # the largest connection: the columns of all are no longer needed
            del table
        connections.append(_connection(path, ends, at, packet_size, controller))
    if not connections:
        raise TcpccError(
            f"{path}: {unread.cut + ': ' if unread.cut else ''}no TCP connection in it has data"
        )
    connections.sort(key=lambda connection: connection.start)
    return run_of(connections, path=path, kind="pcap", rate=rate, interval=interval, unread=unread)


def _of(table: Segments, rows: Any, names: Sequence[str] = ()) -> Segments:
    """Some of the segments; only with these columns, the others are empty. Default: all."""
    values = {column.name: getattr(table, column.name) for column in fields(table)}
    empty: Any = np.zeros(0, np.int64)  # a part of a column would keep all of it in memory
    whole = ("blocks", "endpoints", "names")
    chosen = names or tuple(values)
    return Segments(
        **{n: v if n in whole else v[rows] if n in chosen else empty for n, v in values.items()}
    )


def _connections(table: Segments) -> Iterator[Ints]:
    """The rows of each connection; a SYN with another number begins a new one of the same ends."""
    pair = np.minimum(table.source, table.target).astype(np.int64) * len(table.endpoints)
    pair += np.maximum(table.source, table.target)
    order = np.argsort(pair, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        opens = np.flatnonzero((table.flags[rows] & (SYN | capture.ACK)) == SYN)
        numbers = table.seq[rows][opens]
        again = opens[1:][np.diff(numbers) != 0] if opens.size else opens
        yield from np.split(rows, again)


def _directions(table: Segments, rows: Ints) -> tuple[Segments, Segments]:
    """The segments with the data, and those of the other direction."""
    forth = table.source[rows] == table.source[rows[0]]
    first, other = _of(table, rows[forth]), _of(table, rows[~forth])
    return (first, other) if first.payload.sum() >= other.payload.sum() else (other, first)


def _sizes(
    path: str | Path, out: Segments, back: Segments, packet_size: float | None
) -> tuple[float, float]:
    """Bytes of data in a full packet, and of the packet."""
    data = out.payload > 0
    header = float(np.bincount(out.header[data]).argmax())
    if packet_size is not None:
        return packet_size - header, packet_size
    mss = np.append(out.mss, back.mss)
    if (mss > 0).any():
        largest = float(mss[mss > 0].min())
        stamps = 12.0 if (out.value[data] >= 0).any() else 0.0
        longest = out.payload[data & (out.payload <= largest)].max(initial=0)
        largest = max(largest - stamps, float(longest))
    else:
        largest = float(out.payload.max())
        if largest > LARGEST:
            raise TcpccError(
                f"{path}: packet_size: not known: no handshake, and segments of {largest:g} bytes,"
                " which the host joined (offload): give packet_size="
            )
    return largest, largest + header


def _unwrapped(numbers: Ints, base: int) -> Ints:
    """Sequence numbers as bytes after `base`, which lies within 2^31 of the first."""
    whole: Ints = np.append(base, numbers.astype(np.int64))
    steps = (whole[1:] - whole[:-1] + 2**31) % 2**32 - 2**31
    return np.cumsum(steps)


def _connection(
    path: str | Path,
    ends: list[Segments],
    at: str | None,
    packet_size: float | None,
    controller: str,
) -> Connection:
    """A connection.

    Args:
        path: for messages.
        ends: the segments with the data, and those of the other direction; emptied, since both
            take much memory.
        at, packet_size, controller: as in `read_pcap`.
    """
    back, out = ends.pop(), ends.pop()
    full = out.payload > 0
    data = _of(out, full, ("time", "seq", "payload", "echo"))
    syn = (out.flags & SYN) > 0
    base = int(out.seq[syn][0]) + 1 if syn.any() else int(data.seq[0])
    # a SYN takes the number before its data (Fast Open)
    places = _unwrapped(out.seq.astype(np.int64) + syn, base)
    first = places[full]
    end = first + data.payload
    closing = np.flatnonzero((out.flags & FIN) > 0)[:1]
    last = int((places + out.payload)[closing][0]) if closing.size else None
    answers = (back.flags & capture.ACK) > 0
    acks = _of(back, answers, ("time", "ack", "flags", "window", "payload", "value", "sack"))
    payload, size = _sizes(path, out, back, packet_size)
    del places
    columns = ("time", "flags", "source", "target", "interface")
    out, back = (_of(segments, slice(None), columns) for segments in (out, back))
    sent = _Sent(data.time, first, end)
    acknowledged = _Acks(acks, base)
    echoed = _echoed(acks, data)
    if at is None:
        at = _place(out, back, acknowledged.samples(sent), echoed)
    name = f"{out.endpoints[out.source[0]]}>{out.endpoints[out.target[0]]}"
    if out.names and out.names[out.interface[0]]:
        name = out.names[out.interface[0]]
    start = float(min(out.time[0], back.time[0] if back.time.size else math.inf))
    missing = dict(ALWAYS_MISSING)
    del out, back
    if at == "sender":
        if not acks.time.size:
            missing |= dict.fromkeys(("delivered", "rtt"), "the capture has no ACKs")
        del data, first, end, acks, echoed
        events, amounts, samples = _sender(sent, acknowledged, payload, last)
    else:
        names = ("sent", "retransmitted", "loss_events")
        missing |= dict.fromkeys(names, AT_RECEIVER)
        del acks
        events = events_of({"time": data.time, "event": Kind.DELIVER, "seq": first // payload})
        amounts = _new(first, end) / payload
        samples = {"rtt": echoed}
    if not samples["rtt"][0].size:
        missing.setdefault("rtt", "the capture has no RTT samples")
    return Connection(
        name,
        events,
        amounts,
        samples,
        size,
        payload,
        missing=missing,
        delivered_by=(Kind.ACK, Kind.DUPACK) if at == "sender" else (Kind.DELIVER,),
        controller=controller,
        start=start,
        finished=_finished(last, acknowledged),
    )


def _finished(last: int | None, acknowledged: _Acks) -> float:
    """When a FIN was acknowledged, and with it all data; NaN if it was not."""
    if last is None:
        return math.nan
    acked = np.flatnonzero(acknowledged.number > last)
    return float(acknowledged.time[acked[0]]) if acked.size else math.nan


def _without_copies(table: Segments, unread: Unread) -> Segments:
    """The segments without those that were captured a second time.

    IPv6 has no identification. There, and where it is 0, equal segments are copies only if nearly
    every segment has one: an ACK may be sent twice.
    """
    same = (
        table.source, table.target, table.seq, table.ack, table.flags, table.window, table.payload,
        table.value, table.echo, table.ident,
    )  # fmt: skip
    key = np.zeros(len(table.time), np.uint64)
    for column in same:
        key = (key ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)  # wraps
        key ^= key >> np.uint64(29)
    has = table.sack >= 0
    key[has] ^= table.blocks[table.sack[has]].astype(np.uint64).sum(axis=(1, 2))
    order = np.lexsort((table.time, key))
    near = (np.diff(key[order]) == 0) & (np.diff(table.time[order]) < COPY)
    copies = np.zeros(len(order), bool)
    copies[order[1:][near]] = True
    if 2 * copies.sum() < 0.9 * len(copies):
        copies &= table.ident > 0
    if not copies.any():
        return table
    unread.notes.append(
        f"{int(copies.sum())} of {len(copies)} packets are copies of others (a mirror port or a"
        " bridge captures each packet twice) and are left out"
    )
    return _of(table, ~copies)


@dataclass
class _Sent:
    """Transmissions of data: times, first bytes, bytes after the last."""

    time: Floats
    first: Ints
    end: Ints

    def __post_init__(self) -> None:
        before = np.append(0, np.maximum.accumulate(self.end)[:-1]) if self.end.size else self.end
        self.top = np.maximum(before, self.end)
        self.again = self.first < before
        fresh = ~self.again
        self.fresh_end, self.fresh_time = self.end[fresh], self.time[fresh]
        covered = np.zeros(len(self.fresh_end) + 1)  # by retransmissions
        begin = np.searchsorted(self.fresh_end, self.first[self.again], side="right")
        stop = np.searchsorted(self.fresh_end - 1, self.end[self.again] - 1, side="left") + 1
        np.add.at(covered, begin, 1)
        np.add.at(covered, np.minimum(np.maximum(stop, begin), len(covered) - 1), -1)
        self.once = np.cumsum(covered)[:-1] == 0


class _Acks:
    """Data of the ACKs, each of shape [ack]."""

    def __init__(self, acks: Segments, base: int) -> None:
        self.time = acks.time
        self.number = _unwrapped(acks.ack, base)
        self.rows = np.flatnonzero(acks.sack >= 0)  # with SACK blocks
        blocks, at = acks.blocks[acks.sack[self.rows]], self.rows[:, None]
        self.low, self.high = (
            np.where(edges >= 0, self.number[at] + _apart(edges, acks.ack[at]), -1)
            for edges in (blocks[..., 0], blocks[..., 1])
        )
        top = np.maximum.accumulate(self.number) if self.number.size else self.number
        self.before = np.append(0, top)[: len(top)]
        self.top = np.maximum(top, 0)
        self.plain = (acks.payload == 0) & ((acks.flags & (SYN | FIN)) == 0)
        same = np.diff(acks.window.astype(np.int32), prepend=-1) == 0
        self.duplicate = self.plain & (self.number == self.before)
        self.duplicate &= (same | (acks.sack >= 0)) & (self.before > 0)
        self.selective = bool(self.rows.size)

    def samples(self, sent: _Sent) -> tuple[Floats, Floats]:
        """Times and values of RTT samples."""
        highest = self.number.copy()
        highest[self.rows] = np.maximum(highest[self.rows], self.high.max(axis=1, initial=-1))
        before = np.append(0, np.maximum.accumulate(highest))[: len(highest)]
        news = (highest > before) & (highest > 0)
        place = np.searchsorted(sent.fresh_end, highest)
        news &= place < len(sent.fresh_end)
        if not self.selective:  # an ACK of data sent again may be of any data after it
            again = np.append(0, np.cumsum(~sent.once))
            first = np.searchsorted(sent.fresh_end, before, side="right")
            news &= again[np.minimum(place, len(sent.once))] == again[first]
        place = place[news]
        once = sent.once[place]
        moments = self.time[news]
        values = moments - sent.fresh_time[place]
        good = once & (values > 0)
        return moments[good], values[good]

    def delivered(self) -> Ints:
        """Bytes acknowledged or in a SACK block, up to each ACK."""
        result = self.top.copy()
        blocks: list[tuple[int, int]] = []  # disjoint, in order
        tells = np.any(self.high > self.number[self.rows, None], axis=1)
        for place in np.flatnonzero(tells).tolist():
            row = int(self.rows[place])
            for low, high in zip(self.low[place].tolist(), self.high[place].tolist(), strict=True):
                if high > low >= self.top[row]:
                    _insert(blocks, low, high)
            top = int(self.top[row])
            while blocks and blocks[0][1] <= top:
                blocks.pop(0)
            result[row] += sum(high - max(low, top) for low, high in blocks)
        return np.maximum.accumulate(result) if result.size else result


def _insert(blocks: list[tuple[int, int]], low: int, high: int) -> None:
    """Add a block to disjoint blocks in order."""
    first = bisect.bisect_left(blocks, (low, low))
    if first and blocks[first - 1][1] >= low:
        first -= 1
    last = first
    while last < len(blocks) and blocks[last][0] <= high:
        low, high = min(low, blocks[last][0]), max(high, blocks[last][1])
        last += 1
    blocks[first:last] = [(low, high)]


def _apart(numbers: Ints, others: Ints) -> Ints:
    """Signed distance of sequence numbers."""
    return (numbers.astype(np.int64) - others + 2**31) % 2**32 - 2**31


def _new(first: Ints, end: Ints) -> Floats:
    """Bytes of each arrival that had not arrived before."""
    before = np.append(0, np.maximum.accumulate(end))[: len(end)]
    result = (end - np.maximum(first, before)).clip(0).astype(float)
    holes: list[tuple[int, int]] = []
    for row in np.flatnonzero(first != before).tolist():
        if first[row] > before[row]:
            holes.append((int(before[row]), int(first[row])))
            continue
        left = []
        for low, high in holes:
            a, b = max(low, int(first[row])), min(high, int(end[row]))
            if a >= b:
                left.append((low, high))
                continue
            result[row] += b - a
            left += [(x, y) for x, y in ((low, a), (b, high)) if x < y]
        holes = left
    return result


def _echoed(acks: Segments, data: Segments) -> tuple[Floats, Floats]:
    """Times and values of RTTs from an ACK to the first data that echo its timestamp."""
    stamps, first = np.unique(acks.value, return_index=True)
    echoes, place = np.unique(data.echo, return_index=True)
    _, stamp_at, echo_at = np.intersect1d(stamps, echoes, assume_unique=True, return_indices=True)
    valid = stamps[stamp_at] >= 0
    moments = data.time[place[echo_at]][valid]
    values = moments - acks.time[first[stamp_at]][valid]
    order = np.argsort(moments[values > 0], kind="stable")
    return moments[values > 0][order], values[values > 0][order]


def _place(
    out: Segments, back: Segments, acked: tuple[Floats, Floats], echoed: tuple[Floats, Floats]
) -> str:
    """Where the capture was made."""
    for opener, other in ((out, back), (back, out)):
        opens = np.flatnonzero((opener.flags & (SYN | capture.ACK)) == SYN)
        answers = np.flatnonzero((other.flags & (SYN | capture.ACK)) == SYN | capture.ACK)
        if opens.size and answers.size:
            answer = other.time[answers[-1]]
            acking = (opener.flags & capture.ACK) > 0
            earlier, later = opener.time[opens], opener.time[acking & (opener.time >= answer)]
            if later.size and earlier[0] < answer:
                opened = earlier[earlier < answer][-1]  # a SYN may be sent several times
                at_opener = answer - opened > later[0] - answer
                return "sender" if at_opener == (opener is out) else "receiver"
    if echoed[0].size and acked[0].size and np.median(echoed[1]) > np.median(acked[1]):
        return "receiver"
    return "sender"


def _sender(
    sent: _Sent, acknowledged: _Acks, payload: float, last: int | None
) -> tuple[NDArray[Any], Floats, dict[str, tuple[Floats, Floats]]]:
    """Events, amounts and samples of a capture at the sender; `last` is the number of the FIN."""
    kinds = np.where(sent.again, Kind.RETRANSMIT, Kind.SEND)
    total = acknowledged.delivered()
    if last is not None:
        total = np.minimum(total, last)  # the FIN has a number but is no byte
    top_acks = acknowledged.top
    fresh = np.diff(total, prepend=0).astype(float)
    answers = np.where(acknowledged.duplicate, Kind.DUPACK, Kind.ACK)
    reported = acknowledged.plain | (fresh > 0)
    losses = _losses(sent)
    columns: dict[str, tuple[Any, ...]] = {
        "time": (sent.time, acknowledged.time[reported], sent.time[losses]),
        "event": tuple(
            column.astype(np.int32)
            for column in (kinds, answers[reported], np.full(len(losses), Kind.LOSS))
        ),
        "start": (sent.first, top_acks[reported], sent.first[losses]),
        "bytes": ((sent.end - sent.first).astype(float), fresh[reported], np.zeros(len(losses))),
    }
    order = np.argsort(np.concatenate(columns["time"]), kind="stable")
    events = events_of({"time": np.empty(len(order))})  # filled column by column: they are large
    for name in ("time", "event"):
        events[name] = np.concatenate(columns.pop(name))[order]
    events["seq"] = np.concatenate(columns.pop("start"))[order] // payload
    amounts = np.concatenate(columns.pop("bytes"))[order] / payload
    del order
    time = events["time"]
    top = np.append(0, sent.top)[np.searchsorted(sent.time, time, side="right")]
    top -= np.append(0, top_acks)[np.searchsorted(acknowledged.time, time, side="right")]
    events["in_transit"] = top.clip(0) / payload
    del top
    moments, values = acknowledged.samples(sent)
    place = np.searchsorted(moments, time)
    exact = np.isin(events["event"], (Kind.ACK, Kind.DUPACK)) & (place < len(moments))
    exact[exact] = moments[place[exact]] == time[exact]
    events["value"][exact] = values[place[exact]]
    return events, amounts, {"rtt": (moments, values), "in_transit": (time, events["in_transit"])}


def _losses(sent: _Sent) -> Ints:
    """Retransmissions that begin a loss event: of data sent after the last event."""
    losses, recover = [], 0
    for row in np.flatnonzero(sent.again).tolist():
        if sent.first[row] >= recover:
            losses.append(row)
            recover = int(sent.top[row])
    return np.array(losses, dtype=np.int64)
