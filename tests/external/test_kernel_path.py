"""The bottleneck of the kernel's recordings, ``experiments/kernel/path.c``, between two sockets."""

import select
import shutil
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from experiments.kernel.path import (
    COMPILER,
    FIRST_PORT,
    FORWARDED,
    FULL,
    LOST,
    MARKED,
    carry,
    program,
)

pytestmark = pytest.mark.skipif(shutil.which(COMPILER) is None, reason="needs a C compiler")

RATE, DELAY, SIZE = 8e6, 0.02, 1000  # a packet takes 1 ms
ECT = 2


def checksum(words):
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(sequence, tos=0, port=FIRST_PORT, size=SIZE, home=False, identification=0):
    """An IP packet with TCP; `port` is the far host's."""
    ends = (port, 40000) if home else (40000, port)
    hosts = b"\x0a\x4d\0\x01\x0a\x4d\0\x02"
    ip = struct.pack(">BBHHHBBH8s", 0x45, tos, size, identification, 0, 64, 6, 0, hosts)
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    tcp = struct.pack(">HHIIBBHHH", *ends, sequence, 0, 5 << 4, 0, 0, 0, 0)
    return ip + tcp + bytes(size - 40)


def crossed(there, home=(), *, arrive, buffer=1000, mark=-1, loss=0.0, seed=1, extra=(0.0,)):
    """Send packets at once, until `arrive` of them have arrived.

    Returns:
        The log, (arrival time, packet) at the far and at the near end, and the latenesses.
    """
    program()  # compiled before the clock starts
    (near, a), (far, b) = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in "ab"]
    a.setblocking(False)
    b.setblocking(False)
    for end, packets in ((near, there), (far, home)):
        for data in packets:
            end.send(data)
    link = RATE, DELAY, buffer, mark, loss, seed
    found = {far: [], near: []}
    with ThreadPoolExecutor(1) as pool:
        ends = a.fileno(), b.fileno()
        task = pool.submit(carry, ends, link, extra, time.monotonic() + 60)
        while sum(map(len, found.values())) < arrive:
            for end in select.select([near, far], [], [], 60)[0]:
                found[end].append((time.monotonic(), end.recv(2000)))
        time.sleep(0.05)  # for what should not arrive
        near.shutdown(socket.SHUT_WR)
        log, late = task.result()
    return log, found[far], found[near], late


def test_packets_leave_in_order_at_the_rate_of_the_link():
    log, far, _, late = crossed([packet(k) for k in range(5)], arrive=5)
    assert [data for _, data in far] == [packet(k) for k in range(5)]
    left = log["time"][0] + DELAY + 1e-3 * np.arange(1, 6)
    assert (np.array([at for at, _ in far]) >= left).all()
    assert (late >= 0).all()
    assert len(late) == 5


def test_what_a_full_buffer_cannot_take_is_dropped():
    """Room for two packets, with the one in transmission."""
    log, far, _, _ = crossed([packet(k) for k in range(4)], buffer=2, arrive=2)
    assert log["fate"].tolist() == [FORWARDED, FORWARDED, FULL, FULL]
    assert log["waiting"].tolist() == [0, 1, 2, 2]
    assert log["payload"].tolist() == [SIZE - 40] * 4
    assert log["sequence"].tolist() == [0, 1, 2, 3]
    assert len(far) == 2


def test_packets_are_marked_if_more_wait_and_they_are_capable():
    """The third and later arrivals find more than one packet waiting, one being in transmission."""
    log, far, _, _ = crossed([packet(k, tos=ECT) for k in range(4)], mark=1, arrive=4)
    assert log["fate"].tolist() == [FORWARDED] * 3 + [MARKED]
    assert [data[1] for _, data in far] == [ECT] * 3 + [3]
    assert all(checksum(data[:20]) == 0 for _, data in far)
    log, far, _, _ = crossed([packet(k) for k in range(4)], mark=1, arrive=4)
    assert log["fate"].tolist() == [FORWARDED] * 4


@pytest.mark.parametrize(
    ("tos", "before", "after"), [(ECT, 0, 0xFFFE), (1, 0, 0xFFFD), (1, 1, 0xFFFE), (ECT, 1, 0)]
)
def test_a_mark_keeps_the_checksum_correct_where_the_sum_overflows_twice(tos, before, after):
    """The codepoint grows by one or two, the checksum falls by as much: below 0 it goes on at
    0xFFFE, since 0 and 0xFFFF are one number in one's complement."""
    old = int.from_bytes(packet(0, tos)[10:12], "big")
    one = packet(0, tos, identification=(old - before) % 0xFFFF)
    assert int.from_bytes(one[10:12], "big") == before
    _, far, _, _ = crossed([packet(1), packet(2), packet(3), one], mark=1, arrive=4)
    marked = far[-1][1]
    assert (marked[1], int.from_bytes(marked[10:12], "big")) == (3, after)
    assert checksum(marked[:20]) == 0


def test_acks_have_the_delay_of_their_connection():
    acks = [packet(0, port=FIRST_PORT + k, size=40, home=True) for k in (1, 0)]
    begin = time.monotonic()
    _, _, near, _ = crossed([], acks, extra=(0.0, 0.1), arrive=2)
    assert [data for _, data in near] == acks[::-1]
    assert near[0][0] - begin >= DELAY
    assert near[1][0] - near[0][0] > 0.09


def uniform(seed, n):
    """SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), in [0, 1)."""
    mask, found = 2**64 - 1, []
    for k in range(1, n + 1):
        z = (seed + k * 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        found.append(((z ^ z >> 31) >> 11) / 2**53)
    return np.array(found)


@pytest.mark.parametrize("seed", [1, 2])
def test_packets_are_lost_at_random(seed):
    packets = [packet(k, size=60) for k in range(200)]
    lost = uniform(seed, 200) < 0.1
    log, far, _, _ = crossed(packets, loss=0.1, seed=seed, arrive=int((~lost).sum()))
    assert ((log["fate"] == LOST) == lost).all()
    assert len(far) == (~lost).sum()
