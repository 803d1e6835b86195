"""Captures as they come: cut off, Fast Open, mirror ports, FIN, tunnels.

The captures in data/stacks are one synthetic transfer of 100 x 1460 bytes (RTT 50 ms): plain; with
500 bytes in the SYN; with a FIN; each packet twice, 20 us apart; in PPPoE; in VXLAN.
"""

import gzip
import struct
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import capture_file
import pytest
from capture_file import tcp

import tcpcc as tc
from tcpcc.errors import TraceWarning

STACKS = Path(__file__).parent / "data" / "stacks"
BYTES = 146_000
pcap = partial(capture_file.pcap, whole_size=2**17)  # as of packets that the card cuts


def delivered(run):
    return float(run.data["delivered"].sum()) * float(run.data["payload"][0])


@pytest.mark.parametrize("at", ["sender", "receiver"])
@pytest.mark.parametrize(
    ("name", "expected"), [("plain", BYTES), ("fin", BYTES), ("fastopen", BYTES + 500)]
)
def test_every_byte_counts_once(name, expected, at):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = tc.traces.read_pcap(STACKS / f"{name}.pcap.gz", at=at)
    assert delivered(run) == pytest.approx(expected, abs=1e-6)
    if at == "sender":
        assert float(run.retransmissions()[0]) == 0
        assert float(run.data["sent"].sum()) * 1460 == pytest.approx(expected)


def test_copies_of_a_mirror_port_are_left_out():
    with pytest.warns(TraceWarning, match="203 of 406 packets are copies") as told:
        run = tc.traces.read_pcap(STACKS / "twice.pcap.gz")
    assert len(told) == 1
    plain = tc.traces.read_pcap(STACKS / "plain.pcap.gz")
    assert float(run.retransmissions()[0]) == float(run.data["loss_events"][0]) == 0
    assert run.summary()["rtt_mean_ms"].to_list() == pytest.approx(
        plain.summary()["rtt_mean_ms"].to_list(), rel=1e-3
    )


@pytest.mark.parametrize(("name", "kind"), [("pppoe", "PPPoE"), ("vxlan", "VXLAN")])
def test_a_tunnel_is_named(name, kind):
    with pytest.raises(tc.TcpccError, match=rf"no TCP header in its 203 packets: 203 of {kind}"):
        tc.traces.read_pcap(STACKS / f"{name}.pcap.gz")


# ------------------------------------------------------------------------ packets by hand


def pcapng(path, packets):
    """Packets without a time are "simple" ones."""
    blocks = [(1, struct.pack("<HHI", 101, 0, 0))]
    for time, body in packets:
        size, padded = len(body), body + bytes(-len(body) % 4)
        if time is None:
            blocks.append((3, struct.pack("<I", size) + padded))
        else:
            blocks.append((6, struct.pack("<5I", 0, 0, round(time * 1e6), size, size) + padded))
    path.write_bytes(capture_file.pcapng(*blocks))
    return path


def transfer(count=20, six=False, numbered=False):
    """Segments of 100 bytes, 10 ms apart, acknowledged after 5 ms, of IP packets with numbers."""
    packets = []
    for k in range(count):
        ident = 7 * k + 1 if numbered else 0
        data = tcp(seq=1 + 100 * k, payload=100, six=six, ident=ident)
        packets.append((0.01 * k, data))
        back = tcp(ack=101 + 100 * k, back=True, six=six, ident=ident)
        packets.append((0.01 * k + 0.005, back))
    return packets


@pytest.mark.parametrize("write", [pcap, pcapng])
@pytest.mark.parametrize("missing", [1, 5, 20, 59])
@pytest.mark.parametrize("packed", [False, True])
def test_a_capture_that_is_cut_off_is_read_up_to_there(tmp_path, write, missing, packed):
    path = write(tmp_path / "cut.cap", transfer())
    data = path.read_bytes()
    path.write_bytes(gzip.compress(data)[:-missing] if packed else data[:-missing])
    cut = "file is cut off" if packed else r"packet \d+: the file is cut off, \d+ bytes"
    with pytest.warns(TraceWarning, match=f"{cut}.*; read up to there"):
        run = tc.traces.read_pcap(path)
    assert delivered(run) >= 1500
    assert "cut off" in run.data.attrs["unread"]


def test_packets_without_a_time_are_left_out_and_counted(tmp_path):
    packets = transfer()
    packets.insert(3, (None, packets[3][1]))
    with pytest.warns(TraceWarning, match="1 event left out, the first: packet 4: a simple packet"):
        run = tc.traces.read_pcap(pcapng(tmp_path / "a.pcapng", packets))
    assert delivered(run) == 2000


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("gap", [2e-6, 0.002])
def test_a_capture_with_each_packet_twice_is_that_of_one(tmp_path, six, numbered, gap):
    packets = transfer(six=six, numbered=numbered)
    twice = sorted([*packets, *((time + gap, body) for time, body in packets)], key=lambda p: p[0])
    with pytest.warns(TraceWarning, match="40 of 80 packets are copies"):
        run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", twice))
    assert float(run.retransmissions()[0]) == 0
    assert run.data["base_rtt"].values == pytest.approx([0.005])


def test_a_quick_retransmission_is_no_copy(tmp_path):
    packets = transfer(numbered=True)
    again = tcp(seq=1, payload=100, ident=9999)
    run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", [packets[0], (0.001, again), *packets[1:]]))
    assert float(run.retransmissions()[0]) == 1
    assert "unread" not in run.data.attrs


@pytest.mark.parametrize("after", [False, True])
def test_the_fin_of_a_transfer_of_more_than_two_gigabytes_is_found(tmp_path, after):
    """Sequence numbers wrap; the FIN comes with the last data, or after them."""
    size = 60_000
    count = (2**31 + 2**29) // size
    packets = [(0.0, tcp(seq=0, flags=2)), (0.001, tcp(ack=1, flags=18, back=True))]
    for k in range(0, count, 10):
        begin = 1 + k * size
        packets.append((0.01 * k, tcp(seq=begin, payload=size, kept=0)))
        packets.append((0.01 * k + 0.001, tcp(ack=begin + size, back=True)))
    end = begin + size
    packets.append((0.01 * count, tcp(seq=end, flags=17, payload=0 if after else 500)))
    last = end + 1 + (0 if after else 500)
    packets.append((0.01 * count + 0.002, tcp(ack=last, back=True)))
    run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", packets), packet_size=1040, at="sender")
    assert run.data["finished"].values == pytest.approx([0.01 * count + 0.002])
    assert delivered(run) == last - 2


@pytest.mark.parametrize(
    ("link", "frame", "kind"),
    [
        (1, bytes(12) + b"\x88\x64" + bytes(8), "PPPoE"),
        (1, bytes(12) + b"\x88\x47" + bytes(4), "MPLS"),
        (101, struct.pack(">BBHHHBBHII", 0x45, 0, 60, 0, 0, 64, 47, 0, 1, 2), "GRE"),
        (101, struct.pack(">BBHHHBBHII", 0x45, 0, 60, 0, 0, 64, 4, 0, 1, 2), "IP in IP"),
        (101, struct.pack(">IHBB", 6 << 28, 60, 41, 64) + bytes(32), "IPv6 in IP"),
        (
            101,
            struct.pack(">BBHHHBBHIIHH", 0x45, 0, 60, 0, 0, 64, 17, 0, 1, 2, 9, 2152),
            "GTP",
        ),
    ],
    ids=["pppoe", "mpls", "gre", "ipip", "ipv6", "gtp"],
)
def test_every_kind_of_tunnel_is_named(tmp_path, link, frame, kind):
    packets = [(time, frame + body) for time, body in transfer()]
    with pytest.raises(tc.TcpccError, match=f"has no TCP header in its 40 packets: 40 of {kind}"):
        tc.traces.read_pcap(pcap(tmp_path / "a.pcap", packets, link))


def test_a_capture_mostly_of_a_tunnel_says_so(tmp_path):
    frame = bytes(12) + b"\x88\x64" + bytes(8)
    ethernet = bytes(12) + b"\x08\x00"
    packets = [(t, (ethernet if t < 0.05 else frame) + body) for t, body in transfer()]
    with pytest.warns(TraceWarning, match="packets in tunnels are left out: 30 of PPPoE"):
        run = tc.traces.read_pcap(pcap(tmp_path / "a.pcap", packets, 1))
    assert delivered(run) == 500


MEMORY = """
import sys
import tcpcc as tc
import tcpcc.apps.traces.from_pcap, xarray, pandas

def peak():  # of this process: ru_maxrss begins with that of the process that started it
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

tc.traces.read_pcap(sys.argv[1])
before = peak()
run = tc.traces.read_pcap(sys.argv[2])
print((peak() - before) * 1024)
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("kept", "stamps"), [(46, False), (34, True)])
def test_a_capture_takes_at_most_three_times_its_size_in_memory(tmp_path, kept, stamps):
    """Five times before. Records of 79 bytes and of 85: short data and whole ACKs."""
    options = b"\x01\x01\x08\x0a" + bytes(8) if stamps else b""
    data = bytearray(tcp(seq=1, payload=1460, kept=kept, options=options))
    back = bytearray(tcp(ack=1, back=True, options=options))
    packets = []
    for k in range(100_000):
        struct.pack_into(">I", data, 24, 1 + 1460 * k & 0xFFFFFFFF)
        struct.pack_into(">I", back, 28, 1461 + 1460 * k & 0xFFFFFFFF)
        if stamps:
            struct.pack_into(">II", data, 44, k, k)
            struct.pack_into(">II", back, 44, k + 1, k)
        packets += [(1e-3 * k, bytes(data)), (1e-3 * k + 5e-4, bytes(back))]
    small = pcap(tmp_path / "small.pcap", packets[:100])
    large = pcap(tmp_path / "large.pcap", packets)
    told = subprocess.run(
        [sys.executable, "-c", MEMORY, small, large], capture_output=True, text=True, check=True
    ).stdout
    assert int(told) < 3 * large.stat().st_size
