"""Captures made by hand."""

import struct


def tcp(
    *, seq=0, ack=0, flags=16, payload=0, back=False, options=b"", ident=0, six=False, kept=None,
    hop_by_hop=False,
):  # fmt: skip
    """IP and TCP headers with a payload of zeros, of which the capture has `kept`; IPv6 if `six`,
    with a hop-by-hop header if asked for."""
    options += b"\x01" * (-len(options) % 4)
    ends = (b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x02")
    ends = tuple(bytes(12) + end for end in ends) if six else ends
    source, target = ends[::-1] if back else ends
    ports = struct.pack(">HH", *((80, 99) if back else (99, 80)))
    size = 20 + len(options)
    numbers = (seq % 2**32, ack % 2**32, size // 4 << 4, flags, 1000, 0, 0)
    body = ports + struct.pack(">IIBBHHH", *numbers) + options
    if six:
        body = (struct.pack(">BB6x", 6, 0) if hop_by_hop else b"") + body
        after = 0 if hop_by_hop else 6
        first = struct.pack(">IHBB", 6 << 28, len(body) + payload, after, 64)
    else:
        first = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size + payload, ident, 0, 64, 6, 0)
    return first + source + target + body + bytes(payload if kept is None else kept)


def pcap(path, packets, link=101, order="<", magic=0xA1B2C3D4, whole_size=None):
    """A file of packets, (time, bytes) each; `whole_size` in place of their own sizes."""
    file = bytearray(struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link))
    ticks = 10**6 if magic == 0xA1B2C3D4 else 10**9
    for time, body in packets:
        whole, part = divmod(round(time * ticks), ticks)
        size = len(body) if whole_size is None else whole_size
        file += struct.pack(order + "IIII", whole, part, len(body), size) + body
    path.write_bytes(file)
    return path


def pcapng(*blocks, order="<"):
    """A section of blocks, (type, body) each."""
    section = (0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    file = b""
    for kind, body in (section, *blocks):
        length = struct.pack(order + "I", 12 + len(body))
        file += struct.pack(order + "I", kind) + length + body + length
    return file
