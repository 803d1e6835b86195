"""A path between two hosts inside one machine.

The hosts are two network namespaces with a TUN device each. This process emulates the bottleneck
and the delay between them: it reads whole IP packets from one device and writes them to the other
at the time when they leave the link. Namespaces use system calls and addresses use ioctl, so only
Linux is required.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import math
import os
import pathlib
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

CLONE_NEWNET = 0x40000000  # linux/sched.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
SIOCSIFADDR, SIOCSIFNETMASK = 0x8916, 0x891C  # linux/sockios.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
PR_SET_TIMERSLACK = 29  # linux/prctl.h

DEVICE = "/dev/net/tun"
FIRST_PORT = 5000
SETTINGS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv4/tcp_no_metrics_save": "1",  # connections do not inherit metrics of earlier ones
}

libc = ctypes.CDLL(None, use_errno=True)


def missing() -> str | None:
    """The requirement that this machine lacks, in one line, or None."""
    if os.name != "posix" or os.uname().sysname != "Linux":
        return "needs Linux"
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    try:
        here = own_namespace()
        os.close(os.open(DEVICE, os.O_RDWR))
        call("unshare", CLONE_NEWNET)
        call("setns", here, CLONE_NEWNET)
        os.close(here)
    except OSError as error:
        return f"needs {DEVICE} and network namespaces: {error.strerror}"
    return None


def call(name: str, *arguments: int) -> None:
    """Call a libc function.

    Raises:
        OSError: the call failed.
    """
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


def own_namespace() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


@dataclass
class Host:
    """One end: a network namespace with a TUN device and an address.

    Attributes:
        address: IP address.
        segments: smallest number of packets that TCP passes down at once (Linux: 2).
        tun: file descriptor of the device.
    """

    address: str
    segments: int = 2
    tun: int = field(init=False)
    _namespace: int = field(init=False)

    def __post_init__(self) -> None:
        before = own_namespace()
        call("unshare", CLONE_NEWNET)
        try:
            self._namespace = own_namespace()
            settings = {**SETTINGS, "net/ipv4/tcp_min_tso_segs": str(self.segments)}
            for name, value in settings.items():
                setting = pathlib.Path("/proc/sys", name)
                if setting.exists():
                    setting.write_text(value)
            self.tun = self._open()
        finally:
            call("setns", before, CLONE_NEWNET)
            os.close(before)

    def _open(self) -> int:
        tun = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK)
        name = b"path"
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name, IFF_TUN | IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for request, address in (
                (SIOCSIFADDR, self.address),
                (SIOCSIFNETMASK, "255.255.255.0"),
            ):
                place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
                fcntl.ioctl(control, request, struct.pack("16s16s8x", name, place))
            asked = struct.pack("16sH22x", name, 0)
            flags = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, asked), 16)[0]
            fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", name, flags | IFF_UP))
        return tun

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Enter the namespace; sockets opened in this context belong to the host permanently."""
        before = own_namespace()
        call("setns", self._namespace, CLONE_NEWNET)
        try:
            yield
        finally:
            call("setns", before, CLONE_NEWNET)
            os.close(before)

    def close(self) -> None:
        os.close(self.tun)
        os.close(self._namespace)


@dataclass
class Link:
    """A FIFO link; its buffer includes the packet in transmission, as in tcpcc.

    Args:
        rate: bit/s.
        delay: s.
        buffer: packets; inf for unlimited.
    """

    rate: float
    delay: float
    buffer: float
    _leaves: deque[float] = field(default_factory=deque)

    def waiting(self, now: float) -> int:
        """Packets in its buffer."""
        while self._leaves and self._leaves[0] <= now:
            self._leaves.popleft()
        return len(self._leaves)

    def take(self, now: float, size: int) -> float | None:
        """Time at which a packet of `size` bytes arrives at the other end; None if dropped."""
        if self.waiting(now) >= self.buffer:
            return None
        begins = self._leaves[-1] if self._leaves else now
        self._leaves.append(begins + 8 * size / self.rate)
        return self._leaves[-1] + self.delay


class Path:
    """Two hosts, `near` and `far`, with a link each way.

    Args:
        rate: bit/s of both links.
        delay: s, one way.
        buffer: packets, of the link from near to far; the reverse buffer is unlimited.
        extra: additional delay of each connection's ACKs, s; connections are numbered by the far
            host's port from `FIRST_PORT` on.
        segments: smallest number of packets that the near host's TCP passes down at once.

    Attributes:
        log: for each data packet: arrival time, connection, sequence number in bytes, length in
            bytes, packets in the buffer on arrival, whether it was dropped.
        late: lateness of each forwarded packet, s.
    """

    def __init__(
        self, rate: float, delay: float, buffer: float, extra: Sequence[float], segments: int = 2
    ) -> None:
        self.near, self.far = Host("10.77.0.1", segments), Host("10.77.0.2")
        self.there = Link(rate, delay, buffer)
        self.back = Link(rate, delay, math.inf)
        self.extra = list(extra)
        self.log: list[tuple[float, int, int, int, int, bool]] = []
        self.late: list[float] = []
        self._heap: list[tuple[float, int, int, bytes]] = []

    def carry(self, until: float) -> None:
        """Forward packets until `time.monotonic()` reaches `until`."""
        libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
        near, far, heap = self.near.tun, self.far.tun, self._heap
        now = time.monotonic()
        while now < until:
            if heap and heap[0][0] <= now:
                due, _, target, whole = heapq.heappop(heap)
                os.write(target, whole)
                self.late.append(now - due)
                now = time.monotonic()
                continue
            wait = min(heap[0][0] if heap else until, until) - now
            for device in select.select([near, far], [], [], wait)[0]:
                while (packet := read(device)) is not None:
                    now = time.monotonic()
                    if device == near:
                        self._forth(now, packet)
                    else:
                        self._home(now, packet)
            now = time.monotonic()

    def _forth(self, now: float, packet: bytes) -> None:
        waiting = self.there.waiting(now)
        arrives = self.there.take(now, len(packet))
        header = 4 * (packet[0] & 15)
        port, sequence = struct.unpack_from(">HI", packet, header + 2)
        payload = len(packet) - header - 4 * (packet[header + 12] >> 4)
        if payload > 0:
            row = now, port - FIRST_PORT, sequence, payload, waiting, arrives is None
            self.log.append(row)
        if arrives is not None:
            self._put(arrives, self.far.tun, packet)

    def _home(self, now: float, packet: bytes) -> None:
        arrives = self.back.take(now, len(packet))
        port = struct.unpack_from(">H", packet, 4 * (packet[0] & 15))[0]
        if arrives is not None:
            self._put(arrives + self.extra[port - FIRST_PORT], self.near.tun, packet)

    def _put(self, at: float, target: int, packet: bytes) -> None:
        heapq.heappush(self._heap, (at, len(self.late) + len(self._heap), target, packet))

    def close(self) -> None:
        self.near.close()
        self.far.close()


def read(device: int) -> bytes | None:
    """The next packet from a device, or None if no packet waits."""
    try:
        return os.read(device, 65535)
    except BlockingIOError:
        return None
