"""A run's traced connections as pcapng: the capture that tcpdump would make at the senders.

Each connection has its own interface, named after it. The capture has the packets that it sends and
the ACKs that reach it, with IPv4 and TCP headers: sequence numbers in bytes, the SYN and its
options, timestamps (RFC 7323), and selective acknowledgements if the sender reads them (RFC 2018;
only the first block, since the model's receiver reports one). Of the payload, which is zeros, only
the length is stored. CBR sources send UDP.

Values that the model does not define are fixed: addresses (10.0.x.y sends to 10.1.x.y, where x.y is
the number of the connection), ports, and initial sequence numbers. The length of a packet is that
of its payload and these headers; it may differ from the `packet_size` of the model. There is no
FIN, since connections in the model do not close.

Source: draft-ietf-opsawg-pcapng; RFC 791, 9293, 7323, 2018, 768.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tcpcc.results.flow_rows import recorded_rows
from tcpcc.results.recording import EVENTS
from tcpcc.scenario.traffic import CBR, Flow
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.results.run import Run

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
RAW_IP = 101  # LINKTYPE_RAW: a packet begins with its IP header
TCP, UDP = 6, 17
SYN, ACK, PSH = 0x02, 0x10, 0x08
PORT, FIRST_PORT = 5001, 10000
FIRST_SENT, FIRST_SENT_BACK = 1_000_000, 2_000_000  # initial sequence numbers
MILLISECOND = 1000  # ticks of the timestamp clock per second
WIDEST = 14  # largest window scale

SENDS = ("send", "retransmit")


def write(file: BinaryIO, run: Run, numbers: Iterable[int]) -> int:
    """Write the connections with these numbers in `run.events`; returns the number of packets."""
    file.write(_block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1), _option(4, b"tcpcc")))
    assert run.events is not None
    rows = recorded_rows(run)
    packets: list[tuple[float, int, bytes, int]] = []
    for interface, number in enumerate(numbers):
        row = rows[run.row_of(number)]
        name = run.connection(number)
        options = _option(2, name.encode()) + _option(9, b"\x09")  # interface name; times in ns
        file.write(_block(INTERFACE, struct.pack("<HHI", RAW_IP, 0, 0), options))
        events = run.events[run.events["flow"] == number]
        if isinstance(row.spec, CBR):
            frames = _datagrams(events, row.spec, number)
        else:
            frames = _segments(events, row.spec, number, RECOVERIES[row.recovery].selective)
        packets += [(time, interface, head, length) for time, head, length in frames]
    packets.sort(key=lambda packet: packet[0])
    for time, interface, head, length in packets:
        at = round(time * 1e9)
        fixed = struct.pack("<IIIII", interface, at >> 32, at & 0xFFFFFFFF, len(head), length)
        file.write(_block(PACKET, fixed + _padded(head)))
    return len(packets)


def _segments(
    events: Any, spec: Flow, number: int, selective: bool
) -> Iterator[tuple[float, bytes, int]]:
    """The packets of a TCP connection: time, headers, length including the payload."""
    payload = spec.packet_size - spec.header
    shake = int(spec.transport.handshake)
    scale = _window_scale(spec.transport.rwnd * payload)
    window = 65535 if math.isinf(spec.transport.rwnd) else 0
    if not window:
        window = min(int(spec.transport.rwnd * payload) >> scale, 65535)
    ports = struct.pack(">HH", FIRST_PORT + number % 50000, PORT)
    sender, receiver = _addresses(number)
    clock = _Clocks(events, spec)

    def offset(packet: int) -> int:
        """Bytes before a packet; the SYN counts as one."""
        return 0 if packet == 0 else shake + (packet - shake) * payload

    for event in events:
        kind, seq, time = EVENTS[event["event"]], int(event["seq"]), float(event["time"])
        if kind in SENDS:
            opens = seq == 0 and shake
            options = _opening(payload, scale, selective) if opens else b""
            options += _timestamps(clock.sent(seq, time), 0 if opens else clock.echo_back)
            head = _tcp(
                sender, receiver, ports,
                seq=FIRST_SENT + offset(seq),
                ack=0 if opens else FIRST_SENT_BACK + 1,
                flags=SYN if opens else ACK | PSH,
                window=window if not opens else min(window << scale, 65535),
                options=options,
                payload=0 if opens else payload,
            )  # fmt: skip
            yield time, head, len(head) + (0 if opens else payload)
        elif kind in ("ack", "dupack"):
            opens = shake and seq == 1 and kind == "ack"
            options = _opening(payload, scale, selective) if opens else b""
            options += _timestamps(*clock.acknowledged(event))
            low, high = event["sack_low"], event["sack_high"]
            if low > high:  # D-SACK
                low, high = high, low
            elif low < seq:
                high = low
            if selective and high > low:
                edges = (FIRST_SENT + offset(int(low)), FIRST_SENT + offset(int(high)))
                options += struct.pack(">BBBBII", 1, 1, 5, 10, *edges)
            head = _tcp(
                receiver, sender, ports[2:] + ports[:2],
                seq=FIRST_SENT_BACK + (0 if opens else 1),
                ack=FIRST_SENT + offset(seq),
                flags=SYN | ACK if opens else ACK,
                window=window if not opens else min(window << scale, 65535),
                options=options,
                payload=0,
            )  # fmt: skip
            yield time, head, len(head)


class _Clocks:
    """The timestamps of both ends: milliseconds since the start of the run, plus one."""

    def __init__(self, events: Any, spec: Flow) -> None:
        deliveries = events[events["event"] == EVENTS.index("deliver")]
        self._delivered = dict(
            zip(deliveries["seq"].tolist(), deliveries["time"].tolist(), strict=True)
        )
        self._delayed = spec.transport.ack_every - 1 if spec.transport.delayed_ack > 0 else 0
        self._sent: dict[int, int] = {}
        self._next = 0
        self._recent = 0  # TS.Recent at the receiver, RFC 7323 section 4.3
        self.echo_back = 0
        """The receiver's latest timestamp, echoed by the sender."""

    def sent(self, seq: int, time: float) -> int:
        self._sent[seq] = int(time * MILLISECOND) + 1
        return self._sent[seq]

    def acknowledged(self, event: Any) -> tuple[int, int]:
        """Value and echo of an ACK; the echo is from the packet at the window's left edge."""
        trigger, seq = int(event["trigger"]), int(event["seq"])
        if seq > self._next:
            first = max(self._next, trigger - self._delayed) if trigger < seq else self._next
            self._recent = self._sent.get(first, self._recent)
            self._next = seq
        arrived = self._delivered.get(trigger, float(event["time"]))
        self.echo_back = max(self.echo_back, int(arrived * MILLISECOND) + 1)
        return self.echo_back, self._recent


def _datagrams(events: Any, spec: CBR, number: int) -> Iterator[tuple[float, bytes, int]]:
    sender, receiver = _addresses(number)
    length = max(spec.packet_size - 28, 0)
    for time in events["time"][events["event"] == EVENTS.index("send")].tolist():
        ports = struct.pack(">HH", FIRST_PORT + number % 50000, PORT)
        head = ports + struct.pack(">HH", 8 + length, 0)  # no checksum, as RFC 768 allows
        head = _ip(sender, receiver, UDP, len(head) + length) + head
        yield time, head, len(head) + length


def _tcp(
    source: bytes, target: bytes, ports: bytes, *,
    seq: int, ack: int, flags: int, window: int, options: bytes, payload: int,
) -> bytes:  # fmt: skip
    """IP and TCP header, with the checksum of a payload of zeros."""
    options += b"\x01" * (-len(options) % 4)
    size = 20 + len(options)
    fields = (seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, size // 4 << 4, flags, window)
    head = ports + struct.pack(">IIBBH", *fields)
    pseudo = source + target + struct.pack(">HH", TCP, size + payload)
    checksum = _checksum(pseudo + head + b"\0\0\0\0" + options)
    head += struct.pack(">HH", checksum, 0) + options
    return _ip(source, target, TCP, len(head) + payload) + head


def _ip(source: bytes, target: bytes, protocol: int, length: int) -> bytes:
    start = struct.pack(">BBHHHBB", 0x45, 0, min(20 + length, 65535), 0, 0x4000, 64, protocol)
    checksum = _checksum(start + b"\0\0" + source + target)
    return start + struct.pack(">H", checksum) + source + target


def _checksum(data: bytes) -> int:
    """The Internet checksum, RFC 1071."""
    total = int(np.frombuffer(data + b"\0" * (len(data) % 2), dtype=">u2").sum(dtype=np.int64))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _opening(payload: int, scale: int, selective: bool) -> bytes:
    """Options of a SYN: segment size, window scale, SACK permitted."""
    options = struct.pack(">BBH", 2, 4, min(payload, 65535)) + struct.pack(">BBBB", 1, 3, 3, scale)
    return options + (b"\x04\x02\x01\x01" if selective else b"")


def _timestamps(value: int, echo: int) -> bytes:
    return struct.pack(">BBBBII", 1, 1, 8, 10, value & 0xFFFFFFFF, echo & 0xFFFFFFFF)


def _window_scale(size: float) -> int:
    """The smallest scale that can represent a window of `size` bytes."""
    if math.isinf(size):
        return WIDEST
    return next((s for s in range(WIDEST) if size < 65536 << s), WIDEST)


def _addresses(number: int) -> tuple[bytes, bytes]:
    host = struct.pack(">H", number % 65536)
    return b"\x0a\x00" + host, b"\x0a\x01" + host


def _block(kind: int, body: bytes, options: bytes = b"") -> bytes:
    if options:
        body += options + struct.pack("<HH", 0, 0)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
