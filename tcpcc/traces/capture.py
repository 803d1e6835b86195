"""Captures of packets, pcap and pcapng: their TCP headers as columns.

The headers of all packets are read at once with numpy. dpkt reads one packet at a time, knows one
interface per pcapng file and takes a packet that is cut off for a whole one.

Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; RFC 791, 8200, 9293, 7323, 2018.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import TcpccError

PCAP = {  # magic number -> byte order, ns per tick
    b"\xa1\xb2\xc3\xd4": (">", 1000), b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1), b"\x4d\x3c\xb2\xa1": ("<", 1),
}  # fmt: skip
SECTION, INTERFACE, SIMPLE, PACKET = 0x0A0D0D0A, 1, 3, 6
ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
NAME, RESOLUTION, OFFSET, PROGRAM = 2, 9, 14, 4  # options

LINK_TYPES = {  # name, place of the Ethernet type or None, place of the IP header
    0: ("null", None, 4), 1: ("Ethernet", 12, 14), 12: ("raw IP", None, 0),
    14: ("raw IP", None, 0), 101: ("raw IP", None, 0), 108: ("loop", None, 4),
    113: ("Linux cooked", 14, 16), 228: ("IPv4", None, 0), 229: ("IPv6", None, 0),
    276: ("Linux cooked 2", 0, 20),
}  # fmt: skip
IPV4, IPV6, TAGS = 0x0800, 0x86DD, (0x8100, 0x88A8)
EXTENSIONS = (0, 43, 60)  # hop by hop, routing, destination options
TCP = 6
SYN, FIN, ACK = 2, 1, 16

Ints = NDArray[np.int64]


@dataclass
class Packets:
    """Where the packets of a file lie, shape [packet].

    Attributes:
        time: ns.
        start, kept: first byte in the file, and number of bytes there.
        length: bytes of the packet when it was captured.
        interface: number in `link_types` and `names`.
    """

    time: Ints
    start: Ints
    kept: Ints
    length: Ints
    interface: Ints
    link_types: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def packets(path: str | Path, data: bytes) -> Packets:
    """The packets of a pcap or pcapng file.

    Raises:
        TcpccError: another file, or a damaged one; the message names the packet.
    """
    magic = data[:4]
    if magic in PCAP:
        return _pcap(path, data, *PCAP[magic])
    if magic == struct.pack(">I", SECTION):
        return _pcapng(path, data)
    raise TcpccError(f"{path}: not a pcap or pcapng file: begins with {magic.hex() or 'nothing'}")


def _cut_off(path: str | Path, number: int, missing: int) -> TcpccError:
    return TcpccError(f"{path}: packet {number}: the file is cut off, {missing} bytes are missing")


def _packets(rows: list[tuple[int, ...]], link_types: list[int], names: list[str]) -> Packets:
    time, start, kept, length, interface = np.array(rows, dtype=np.int64).reshape(-1, 5).T.copy()
    return Packets(time, start, kept, length, interface, link_types, names)


def _pcap(path: str | Path, data: bytes, order: str, tick: int) -> Packets:
    if len(data) < 24:
        raise TcpccError(f"{path}: the header of the file is cut off")
    link_type = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    head, at, size = struct.Struct(order + "IIII"), 24, len(data)
    rows: list[tuple[int, ...]] = []
    while at < size:
        if at + 16 > size:
            raise _cut_off(path, len(rows) + 1, at + 16 - size)
        seconds, ticks, kept, length = head.unpack_from(data, at)
        at += 16
        if kept > max(length, 1 << 18):
            raise TcpccError(f"{path}: packet {len(rows) + 1}: damaged, has {kept} bytes")
        if at + kept > size:
            raise _cut_off(path, len(rows) + 1, at + kept - size)
        rows.append((seconds * 10**9 + ticks * tick, at, kept, length, 0))
        at += kept
    return _packets(rows, [link_type], [""])


def _pcapng(path: str | Path, data: bytes) -> Packets:
    rows: list[tuple[int, ...]] = []
    types: list[int] = []
    names: list[str] = []
    clocks: list[tuple[int, int, int]] = []  # ns per tick as a fraction, offset in ns
    first, at, size, order, ours = 0, 0, len(data), "<", False
    block, fixed = struct.Struct("<II"), struct.Struct("<IIIII")
    while at < size:
        number = len(rows) + 1
        if at + 12 > size:
            raise _cut_off(path, number, at + 12 - size)
        if data[at : at + 4] == struct.pack(">I", SECTION):
            if data[at + 8 : at + 12] not in ORDERS:
                raise TcpccError(f"{path}: packet {number}: damaged section header before it")
            order = ORDERS[data[at + 8 : at + 12]]
            block, fixed = struct.Struct(order + "II"), struct.Struct(order + "IIIII")
            first = len(types)
        kind, length = block.unpack_from(data, at)
        if length < 12 or length % 4:
            raise TcpccError(f"{path}: packet {number}: damaged, its block has {length} bytes")
        if at + length > size:
            raise _cut_off(path, number, at + length - size)
        end = at + length - 4
        if kind == PACKET:
            interface, high, low, kept, whole = fixed.unpack_from(data, at + 8)
            if first + interface >= len(types) or at + 28 + kept > end:
                raise TcpccError(f"{path}: packet {number}: damaged, or of an unknown interface")
            ticks, divisor, offset = clocks[first + interface]
            time = ((high << 32) + low) * ticks // divisor + offset
            rows.append((time, at + 28, kept, whole, first + interface))
        elif kind == INTERFACE:
            told = _options(data, at + 16, end, order)
            if len(told.get(RESOLUTION, b"?")) != 1 or len(told.get(OFFSET, bytes(8))) != 8:
                raise TcpccError(
                    f"{path}: packet {number}: damaged clock of an interface before it"
                )
            raw = told.get(RESOLUTION, b"\x06")[0]
            ticks_per_s = 2 ** (raw & 0x7F) if raw & 0x80 else 10**raw
            offset = struct.unpack(order + "q", told[OFFSET])[0] if OFFSET in told else 0
            clocks.append((10**9, ticks_per_s, offset * 10**9))
            types.append(struct.unpack_from(order + "H", data, at + 8)[0])
            names.append(told.get(NAME, b"").decode(errors="replace") if ours else "")
        elif kind == SECTION:
            ours = _options(data, at + 24, end, order).get(PROGRAM) == b"tcpcc"
        elif kind == SIMPLE:
            raise TcpccError(f"{path}: packet {number}: a simple packet block, which has no time")
        at += length
    return _packets(rows, types, names)


def _options(data: bytes, at: int, end: int, order: str) -> dict[int, bytes]:
    """The options of a block by their numbers."""
    found: dict[int, bytes] = {}
    while at + 4 <= end:
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + length].rstrip(
            b"\0" if code in (NAME, PROGRAM) else b""
        )
        at += 4 + length + -length % 4
    return found


@dataclass
class Segments:
    """The TCP segments of a capture, in order of time, shape [segment].

    Attributes:
        time: s since the first packet of the file.
        source, target: endpoints, as numbers in `endpoints`.
        seq, ack, flags, window, payload: of the header; bytes of data.
        header: bytes of the IP and TCP headers.
        mss: of the option, or 0.
        value, echo: of the timestamps, or -1.
        low, high: edges of the SACK blocks, shape [segment, 4]; -1 where there is none.
        interface: number of the interface.
        endpoints: "address:port" of each endpoint.
        names: of the interfaces, if tcpcc wrote the file.
    """

    time: NDArray[np.float64]
    source: Ints
    target: Ints
    seq: Ints
    ack: Ints
    flags: Ints
    window: Ints
    payload: Ints
    header: Ints
    mss: Ints
    value: Ints
    echo: Ints
    low: Ints
    high: Ints
    interface: Ints
    endpoints: list[str]
    names: list[str]


class _Bytes:
    """The file as big-endian numbers at given places."""

    def __init__(self, data: bytes) -> None:
        self._bytes = np.frombuffer(data + bytes(64), dtype=np.uint8)  # room after the last header
        self._last = len(data)

    def __call__(self, places: Ints, count: int = 1) -> Ints:
        places = np.minimum(places, self._last)
        number = self._bytes[places].astype(np.int64)
        for k in range(1, count):
            number = (number << 8) | self._bytes[places + k]
        return number


def segments(path: str | Path, data: bytes) -> Segments:
    """The TCP segments of a pcap or pcapng file; other packets and fragments are left out.

    Raises:
        TcpccError: a damaged file, an unknown link type, or no TCP header.
    """
    found = packets(path, data)
    read = _Bytes(data)
    kinds = np.array([*found.link_types, 0])[found.interface]
    ip, is_ip = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), bool)
    for kind in np.unique(kinds).tolist():
        if kind not in LINK_TYPES:
            known = ", ".join(f"{k} ({name})" for k, (name, _, _) in LINK_TYPES.items())
            raise TcpccError(f"{path}: link type {kind}: must be one of {known}")
        mine = np.flatnonzero(kinds == kind)
        start, (_, type_at, head) = found.start[mine], LINK_TYPES[kind]
        at = start + head
        if type_at is None:
            is_ip[mine] = True
        else:
            told = read(start + type_at, 2)
            for _ in range(2):
                tagged = np.isin(told, TAGS)
                at = at + 4 * tagged
                told = np.where(tagged, read(at - 2, 2), told)
            is_ip[mine] = np.isin(told, (IPV4, IPV6))
        ip[mine] = at
    version = read(ip) >> 4
    four, six = is_ip & (version == 4), is_ip & (version == 6)
    size = np.where(four, (read(ip) & 15) * 4, 40)
    following = np.where(four, read(ip + 9), read(ip + 6))
    for _ in range(4):
        more = six & np.isin(following, EXTENSIONS)
        place = ip + size
        following = np.where(more, read(place), following)
        size = np.where(more, size + 8 + 8 * read(place + 1), size)
    whole = np.where(four, read(ip + 2, 2), 40 + read(ip + 4, 2))
    offloaded = whole <= np.where(four, 0, 40)  # longer than the field allows
    whole = np.where(offloaded, found.length - (ip - found.start), whole)
    later = four & ((read(ip + 6, 2) & 0x1FFF) > 0)  # fragments without the TCP header
    end = found.start + found.kept
    chosen = (four | six) & (following == TCP) & ~later & (ip + size + 20 <= end)
    if not chosen.any():
        raise TcpccError(f"{path}: has no TCP header in its {len(kinds)} packets")
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(found.time[rows], kind="stable")]
    ip, size, whole, end = (each[rows] for each in (ip, size, whole, end))
    tcp = ip + size
    length = (read(tcp + 12) >> 4) * 4
    source, target, endpoints = _endpoints(read, ip, tcp, six[rows])
    mss, value, echo, low, high = _tcp_options(read, tcp, np.minimum(tcp + length, end))
    begin = int(found.time.min())
    return Segments(
        (found.time[rows] - begin) / 1e9, source, target,
        read(tcp + 4, 4), read(tcp + 8, 4), read(tcp + 13), read(tcp + 14, 2),
        np.maximum(whole - size - length, 0), size + length, mss, value, echo, low, high,
        found.interface[rows], endpoints, found.names,
    )  # fmt: skip


def _endpoints(
    read: _Bytes, ip: Ints, tcp: Ints, six: NDArray[np.bool_]
) -> tuple[Ints, Ints, list[str]]:
    """Numbers of source and target of each packet, and the endpoints' names."""
    sides = []
    for v4, v6, port in ((12, 8, 0), (16, 24, 2)):
        address = ip + np.where(six, v6, v4)
        words = [read(address, 4), *(np.where(six, read(address + k, 4), 0) for k in (4, 8, 12))]
        sides.append(np.stack([*words, read(tcp + port, 2) | (six.astype(np.int64) << 16)]))
    both = np.concatenate(sides, axis=1)
    odd = np.array(
        [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93,
         0xA0761D6478BD642F], dtype=np.uint64,
    )  # fmt: skip
    hashed = (both.astype(np.uint64) * odd[:, None]).sum(axis=0)  # wraps
    _, first, number = np.unique(hashed, return_index=True, return_inverse=True)
    names = []
    for *words, port in both[:, first].T.tolist():
        packed = struct.pack(">4I", *words)
        host = f"[{ipaddress.IPv6Address(packed)}]"
        if not port >> 16:
            host = str(ipaddress.IPv4Address(packed[:4]))
        names.append(f"{host}:{port & 0xFFFF}")
    count = len(ip)
    return number[:count].astype(np.int64), number[count:].astype(np.int64), names


def _tcp_options(read: _Bytes, tcp: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Segment size, timestamps and SACK blocks; all packets are walked through at once."""
    count = len(tcp)
    mss, value, echo = np.zeros(count, np.int64), np.full(count, -1), np.full(count, -1)
    low, high = np.full((count, 4), -1), np.full((count, 4), -1)
    rows, at = np.arange(count), tcp + 20
    while rows.size:
        inside = at < end[rows]
        rows, at = rows[inside], at[inside]
        kind = read(at)
        length = np.where(kind == 1, 1, read(at + 1))
        valid = (kind != 0) & ((kind == 1) | (length >= 2)) & (at + length <= end[rows])
        rows, at, kind, length = rows[valid], at[valid], kind[valid], length[valid]
        one = kind == 2
        mss[rows[one]] = read(at[one] + 2, 2)
        one = (kind == 8) & (length == 10)
        value[rows[one]], echo[rows[one]] = read(at[one] + 2, 4), read(at[one] + 6, 4)
        for k in range(4):
            one = (kind == 5) & (length >= 10 + 8 * k)
            low[rows[one], k], high[rows[one], k] = (
                read(at[one] + 2 + 8 * k, 4), read(at[one] + 6 + 8 * k, 4)
            )  # fmt: skip
        at = at + length
    return mss, value, echo, low, high
