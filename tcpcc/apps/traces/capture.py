"""Captures of packets, pcap and pcapng: their TCP headers as columns.

The headers of many packets are read at once with numpy. dpkt reads one packet at a time, knows one
interface per pcapng file and takes a packet that is cut off for a whole one.

Source: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng; RFC 791, 8200, 9293, 7323, 2018.
"""

from __future__ import annotations

import ipaddress
import mmap
import struct
from array import array
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.apps.traces.connection import Unread, contents
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
TCP, UDP = 6, 17
TUNNELS = {  # packets whose TCP headers lie deeper than they are looked for
    "Ethernet type": {
        0x8864: "PPPoE", 0x8863: "PPPoE", 0x8847: "MPLS", 0x8848: "MPLS", 0x88E5: "MACsec",
        0x894F: "NSH",
    },
    "protocol": {
        4: "IP in IP", 41: "IPv6 in IP", 47: "GRE", 50: "IPsec", 51: "IPsec", 94: "IP in IP",
        97: "Ethernet in IP", 115: "L2TP", 137: "MPLS in IP",
    },
    "port": {
        4789: "VXLAN", 8472: "VXLAN", 6081: "Geneve", 2152: "GTP", 1701: "L2TP", 3544: "Teredo",
        51820: "WireGuard", 4754: "GRE in UDP", 4500: "IPsec", 6635: "MPLS in UDP",
    },
}  # fmt: skip
CHUNK = 1 << 13
"""Packets whose headers are read at once; bounds the memory for intermediate results."""

SYN, FIN, ACK = 2, 1, 16

Ints = NDArray[np.int64]


@dataclass
class Packets:
    """Where the packets of a file lie, shape [packet].

    Attributes:
        time: ns.
        start, captured: first byte in the file, and number of bytes there.
        length: bytes of the packet when it was captured.
        interface: number in `link_types` and `names`.
    """

    time: Ints
    start: Ints
    captured: Ints
    length: Ints
    interface: Ints
    link_types: list[int]
    names: list[str]


def packets(path: str | Path, data: bytes, unread: Unread) -> Packets:
    """The packets of a pcap or pcapng file, without one that is cut off at the file's end.

    Raises:
        TcpccError: another file, or a damaged one; the message names the packet.
    """
    magic = data[:4]
    if magic in PCAP:
        return _pcap(path, data, *PCAP[magic], unread)
    if magic == struct.pack(">I", SECTION):
        return _pcapng(path, data, unread)
    raise TcpccError(f"{path}: not a pcap or pcapng file: begins with {magic.hex() or 'nothing'}")


def _cut_off(number: int, missing: int) -> str:
    return f"packet {number}: the file is cut off, {missing} bytes are missing"


RELEASED = 1 << 20
"""Bytes of a mapped file after which those that were read are given back to the system."""


def mapped(path: str | Path, unread: Unread) -> Any:
    """The bytes of a capture; a file that is not compressed is mapped, not read into memory."""
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            if file.read(2) not in (b"", b"\x1f\x8b"):
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return contents(path, unread)


def _release(data: Any, first: int, last: int) -> None:
    """Give the pages of a mapped file between two places back; they are read again if needed."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        begin = first - first % mmap.PAGESIZE
        data.madvise(mmap.MADV_DONTNEED, begin, last - begin)


def _column(values: array[int]) -> Ints:
    return np.frombuffer(values, values.typecode) if len(values) else np.zeros(0, np.int64)


def _columns() -> list[array[int]]:
    """Columns of `Packets`: time, start, captured, length, interface."""
    return [array(kind) for kind in "qqIII"]


def _pcap(path: str | Path, data: bytes, order: str, tick: int, unread: Unread) -> Packets:
    if len(data) < 24:
        raise TcpccError(f"{path}: the header of the file is cut off")
    link_type = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    head, at, size = struct.Struct(order + "IIII"), 24, len(data)
    columns = _columns()
    freed = 0
    while at < size:
        if at - freed > RELEASED:
            _release(data, freed, at)
            freed = at
        if at + 16 > size:
            unread.cut = _cut_off(len(columns[0]) + 1, at + 16 - size)
            break
        seconds, ticks, captured, length = head.unpack_from(data, at)
        at += 16
        if captured > max(length, 1 << 18):
            raise TcpccError(f"{path}: packet {len(columns[0]) + 1}: damaged, has {captured} bytes")
        if at + captured > size:
            unread.cut = _cut_off(len(columns[0]) + 1, at + captured - size)
            break
        row = (seconds * 10**9 + ticks * tick, at, captured, length, 0)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
        at += captured
    time, start, captured, lengths, interfaces = map(_column, columns)
    return Packets(time, start, captured, lengths, interfaces, [link_type], [""])


def _pcapng(path: str | Path, data: bytes, unread: Unread) -> Packets:
    columns = _columns()
    types: list[int] = []
    names: list[str] = []
    clocks: list[tuple[int, int]] = []  # ticks per s, offset in ns
    first, at, size, order, own = 0, 0, len(data), "<", False
    block, fixed = struct.Struct("<II"), struct.Struct("<IIIII")
    simple = freed = 0
    while at < size:
        if at - freed > RELEASED:
            _release(data, freed, at)
            freed = at
        number = len(columns[0]) + simple + 1
        if at + 12 > size:
            unread.cut = _cut_off(number, at + 12 - size)
            break
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
            unread.cut = _cut_off(number, at + length - size)
            break
        end = at + length - 4
        if kind == PACKET:
            interface, high, low, captured, whole = fixed.unpack_from(data, at + 8)
            if first + interface >= len(types) or at + 28 + captured > end:
                raise TcpccError(f"{path}: packet {number}: damaged, or of an unknown interface")
            ticks_per_s, offset = clocks[first + interface]
            time = ((high << 32) + low) * 10**9 // ticks_per_s + offset
            if not -(2**63) <= time < 2**63:
                raise TcpccError(f"{path}: packet {number}: damaged, its time is {time} ns")
            row = (time, at + 28, captured, whole, first + interface)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
        elif kind == INTERFACE:
            options = _options(data, at + 16, end, order)
            if len(options.get(RESOLUTION, b"?")) != 1 or len(options.get(OFFSET, bytes(8))) != 8:
                raise TcpccError(
                    f"{path}: packet {number}: damaged clock of an interface before it"
                )
            raw = options.get(RESOLUTION, b"\x06")[0]
            ticks_per_s = 2 ** (raw & 0x7F) if raw & 0x80 else 10**raw
            offset = struct.unpack(order + "q", options[OFFSET])[0] if OFFSET in options else 0
            clocks.append((ticks_per_s, offset * 10**9))
            types.append(struct.unpack_from(order + "H", data, at + 8)[0])
            names.append(options.get(NAME, b"").decode(errors="replace") if own else "")
        elif kind == SECTION:
            own = _options(data, at + 24, end, order).get(PROGRAM) == b"tcpcc"
        elif kind == SIMPLE:
            unread.skip(f"packet {number}", "a simple packet block, which has no time")
            simple += 1
        at += length
    time, start, captured, lengths, interfaces = map(_column, columns)
    return Packets(time, start, captured, lengths, interfaces, types, names)


def _options(data: bytes, at: int, end: int, order: str) -> dict[int, bytes]:
    """The options of a block by their numbers."""
    options: dict[int, bytes] = {}
    while at + 4 <= end:
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            break
        value = data[at + 4 : at + 4 + length]
        options[code] = value.rstrip(b"\0") if code in (NAME, PROGRAM) else value
        at += 4 + length + -length % 4
    return options


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
        sack: row of `blocks` with its SACK blocks; -1: it has none.
        ident: identification of the IPv4 packet; -1 for IPv6.
        interface: number of the interface.
        blocks: edges of SACK blocks, shape [segments with SACK, 4, 2]; -1 where there is none.
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
    sack: Ints
    ident: Ints
    interface: Ints
    blocks: Ints
    endpoints: list[str]
    names: list[str]


COMPACT = {
    "time": np.float64, "source": np.int32, "target": np.int32, "seq": np.uint32,
    "ack": np.uint32, "flags": np.uint8, "window": np.uint16, "payload": np.int32,
    "header": np.uint16, "mss": np.uint16, "sack": np.int32, "ident": np.int32,
    "interface": np.int32,
}  # fmt: skip
"""Types of the columns that are not 64-bit integers: a capture has many packets."""


class _Bytes:
    """The file as big-endian numbers at given places; zeros beyond its end."""

    def __init__(self, data: bytes) -> None:
        self._bytes = np.frombuffer(data, dtype=np.uint8)
        self._size = len(data)

    def __call__(self, places: Ints, count: int = 1) -> Ints:
        number = np.zeros(len(places), np.int64)
        for k in range(count):
            at = places + k
            inside = at < self._size
            number = (number << 8) | np.where(inside, self._bytes[np.where(inside, at, 0)], 0)
        return number


def segments(path: str | Path, data: bytes, unread: Unread) -> Segments:
    """The TCP segments of a pcap or pcapng file; other packets and fragments are left out.

    Raises:
        TcpccError: a damaged file, an unknown link type, or no TCP header.
    """
    table = packets(path, data, unread)
    begin = table.time.min() if table.time.size else 0
    table.time = table.time - begin  # exact as a float for 100 days
    count = len(table.time)
    if not count:
        raise TcpccError(f"{path}: {unread.reason() or 'has no TCP header in its 0 packets'}")
    for kind in table.link_types:
        if kind not in LINK_TYPES and (kind in np.array(table.link_types)[table.interface]):
            kinds = ", ".join(f"{k} ({name})" for k, (name, _, _) in LINK_TYPES.items())
            raise TcpccError(f"{path}: link type {kind}: must be one of {kinds}")
    read = _Bytes(data)
    tunnels: Counter[str] = Counter()
    blocks: list[Ints] = []
    numbers: dict[int, int] = {}
    names: list[str] = []
    # made for all packets at once: parts to be joined would leave holes in memory
    whole: dict[str, Any] = {
        column.name: np.empty(count, COMPACT.get(column.name, np.int64))
        for column in fields(Segments)
        if column.name not in ("blocks", "endpoints", "names")
    }
    segment_count = block_count = 0
    for first in range(0, count, CHUNK):
        part, words = _segments(read, table, slice(first, first + CHUNK), tunnels)
        part.source, part.target = _numbered(words, numbers, names)
        part.sack[part.sack >= 0] += block_count
        blocks.append(part.blocks)
        block_count += len(part.blocks)
        rows = slice(segment_count, segment_count + len(part.time))
        for name, column in whole.items():
            column[rows] = getattr(part, name)
        segment_count = rows.stop
        _release(data, int(table.start[first]), int(table.start[min(first + CHUNK, count) - 1]))
    named = table.names
    del read, data, table, part, words
    whole = {name: column[:segment_count] for name, column in whole.items()}
    wrapped = ", ".join(f"{n} of {name}" for name, n in tunnels.most_common(3))
    if not len(whole["time"]):
        wrapped = f": {wrapped}, in which it does not look" if wrapped else ""
        raise TcpccError(f"{path}: has no TCP header in its {count} packets{wrapped}")
    if tunnels.total() > len(whole["time"]):
        unread.notes.append(f"packets in tunnels are left out: {wrapped}")
    order = np.argsort(whole["time"], kind="stable")
    if (order[1:] < order[:-1]).any():
        for name in whole:
            whole[name] = whole[name][order]
    whole["time"] /= 1e9
    return Segments(blocks=np.concatenate(blocks), endpoints=names, names=named, **whole)


def _segments(
    read: _Bytes, packets: Packets, chunk: slice, tunnels: Counter[str]
) -> tuple[Segments, Ints]:
    """The segments among the packets of a chunk, with times in ns; and their endpoints' words.
    `tunnels` counts packets whose headers lie deeper."""
    start, captured, length = (
        column[chunk].astype(np.int64)
        for column in (packets.start, packets.captured, packets.length)
    )
    kinds = np.array(packets.link_types)[packets.interface[chunk]]
    ip, is_ip = np.zeros(len(kinds), np.int64), np.zeros(len(kinds), bool)
    for kind in np.unique(kinds).tolist():
        rows_of_kind = np.flatnonzero(kinds == kind)
        _, type_at, head = LINK_TYPES[kind]
        at = start[rows_of_kind] + head
        if type_at is None:
            is_ip[rows_of_kind] = True
        else:
            ether_type = read(start[rows_of_kind] + type_at, 2)
            for _ in range(2):
                tagged = np.isin(ether_type, TAGS)
                at = at + 4 * tagged
                ether_type = np.where(tagged, read(at - 2, 2), ether_type)
            is_ip[rows_of_kind] = np.isin(ether_type, (IPV4, IPV6))
            _count(tunnels, "Ethernet type", ether_type)
        ip[rows_of_kind] = at
    version = read(ip) >> 4
    four, six = is_ip & (version == 4), is_ip & (version == 6)
    size = np.where(four, (read(ip) & 15) * 4, 40)
    following = np.where(four, read(ip + 9), read(ip + 6))
    for _ in range(4):
        more = six & np.isin(following, EXTENSIONS)
        place = ip + size
        following = np.where(more, read(place), following)
        size = np.where(more, size + 8 + 8 * read(place + 1), size)
    _count(tunnels, "protocol", following[four | six])
    datagrams = np.flatnonzero((four | six) & (following == UDP))
    if datagrams.size:
        ports = read(ip[datagrams] + size[datagrams] + 2, 2)
        _count(tunnels, "port", ports)
    whole = np.where(four, read(ip + 2, 2), 40 + read(ip + 4, 2))
    offloaded = whole <= np.where(four, 0, 40)  # longer than the field allows
    whole = np.where(offloaded, length - (ip - start), whole)
    later = four & ((read(ip + 6, 2) & 0x1FFF) > 0)  # fragments without the TCP header
    end = start + captured
    chosen = (four | six) & (following == TCP) & ~later & (ip + size + 20 <= end)
    rows = np.flatnonzero(chosen)
    ip, size, whole, end = (column[rows] for column in (ip, size, whole, end))
    six = six[rows]
    tcp = ip + size
    length = (read(tcp + 12) >> 4) * 4
    mss, value, echo, low, high = _tcp_options(read, tcp, np.minimum(tcp + length, end))
    nobody = np.zeros(0, np.int64)
    has = np.flatnonzero((low >= 0).any(axis=1))
    sack = np.full(len(rows), -1)
    sack[has] = np.arange(len(has))
    result = Segments(
        packets.time[chunk][rows].astype(float), nobody, nobody,
        read(tcp + 4, 4), read(tcp + 8, 4), read(tcp + 13), read(tcp + 14, 2),
        np.maximum(whole - size - length, 0), size + length, mss, value, echo, sack,
        np.where(six, -1, read(ip + 4, 2)), packets.interface[chunk][rows],
        np.stack([low[has], high[has]], axis=-1), [], [],
    )  # fmt: skip
    return result, _endpoints(read, ip, tcp, six)


def _count(tunnels: Counter[str], place: str, values: Ints) -> None:
    for value, name in TUNNELS[place].items():
        number = int((values == value).sum())
        if number:
            tunnels[name] += number


def _endpoints(read: _Bytes, ip: Ints, tcp: Ints, six: NDArray[np.bool_]) -> Ints:
    """Words of address and port of the sources, then of the targets, shape [5, 2 segments]."""
    sides = []
    for v4, v6, port in ((12, 8, 0), (16, 24, 2)):
        address = ip + np.where(six, v6, v4)
        words = [read(address, 4), *(np.where(six, read(address + k, 4), 0) for k in (4, 8, 12))]
        sides.append(np.stack([*words, read(tcp + port, 2) | (six.astype(np.int64) << 16)]))
    return np.stack(sides, axis=-1).reshape(5, -1)


def _numbered(words: Ints, numbers: dict[int, int], names: list[str]) -> tuple[Any, Any]:
    """Numbers of source and target of each packet.

    Args:
        words: of the endpoints, as `_endpoints` returns them.
        numbers: hash of an endpoint -> its number; new ones are added.
        names: of the endpoints; new ones are added.
    """
    odd = np.array(
        [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93,
         0xA0761D6478BD642F], dtype=np.uint64,
    )  # fmt: skip
    hashed = (words.astype(np.uint64) * odd[:, None]).sum(axis=0)  # wraps
    values, first, number = np.unique(hashed, return_index=True, return_inverse=True)
    rows = []
    for value, (*parts, port) in zip(values.tolist(), words[:, first].T.tolist(), strict=True):
        if value not in numbers:
            numbers[value] = len(names)
            packed = struct.pack(">4I", *parts)
            host = f"[{ipaddress.IPv6Address(packed)}]"
            if not port >> 16:
                host = str(ipaddress.IPv4Address(packed[:4]))
            names.append(f"{host}:{port & 0xFFFF}")
        rows.append(numbers[value])
    pairs = np.array(rows, np.int32)[number].reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


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
        matches = kind == 2
        mss[rows[matches]] = read(at[matches] + 2, 2)
        matches = (kind == 8) & (length == 10)
        value[rows[matches]] = read(at[matches] + 2, 4)
        echo[rows[matches]] = read(at[matches] + 6, 4)
        for k in range(4):
            matches = (kind == 5) & (length >= 10 + 8 * k)
            low[rows[matches], k] = read(at[matches] + 2 + 8 * k, 4)
            high[rows[matches], k] = read(at[matches] + 6 + 8 * k, 4)
        at = at + length
    return mss, value, echo, low, high
