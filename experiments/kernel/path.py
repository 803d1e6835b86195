"""A path between two hosts inside one machine.

The hosts are two network namespaces with a TUN device each. The program ``path.c``, compiled when
it is first used, emulates the bottleneck and the delay between them: it reads whole IP packets from
one device and writes them to the other when they have crossed the link. Namespaces use system calls
and addresses use ioctl, so only Linux and a C compiler are required.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

import numpy as np

CLONE_NEWNET = 0x40000000  # linux/sched.h
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
SIOCSIFADDR, SIOCSIFNETMASK = 0x8916, 0x891C  # linux/sockios.h
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
SIOCSIFTXQLEN = 0x8943
LONGEST_BURST = 4096  # packets that wait in the device until the path program reads them

DEVICE = "/dev/net/tun"
COMPILER = "cc"
FIRST_PORT = 5000
FORWARDED, MARKED, FULL, LOST = range(4)
ARRIVAL = np.dtype(
    [
        ("time", "f8"), ("sequence", "u4"), ("connection", "u2"), ("payload", "u2"),
        ("waiting", "u2"), ("fate", "u2"),
    ],
    align=True,
)  # fmt: skip
"""An arrival of a data packet at the bottleneck: s of `time.monotonic()`, sequence number and
length in bytes, number of packets in the buffer, and what became of it."""
SETTINGS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv4/tcp_no_metrics_save": "1",  # connections do not inherit metrics of earlier ones
}

libc = ctypes.CDLL(None, use_errno=True)


def missing() -> str | None:
    """The requirement that this machine lacks, in one line, or None."""
    if os.name != "posix" or os.uname().sysname != "Linux":
        return "needs Linux"
    if shutil.which(COMPILER) is None:
        return f"needs a C compiler, {COMPILER}"
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    try:
        namespace = own_namespace()
        os.close(os.open(DEVICE, os.O_RDWR))
        call("unshare", CLONE_NEWNET)
        call("setns", namespace, CLONE_NEWNET)
        os.close(namespace)
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
        settings: its sysctl settings, besides `SETTINGS`.
        tun: file descriptor of the device.
    """

    address: str
    settings: Mapping[str, str]
    tun: int = field(init=False)
    _namespace: int = field(init=False)

    def __post_init__(self) -> None:
        before = own_namespace()
        call("unshare", CLONE_NEWNET)
        try:
            self._namespace = own_namespace()
            for name, value in {**SETTINGS, **self.settings}.items():
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
            fcntl.ioctl(control, SIOCSIFTXQLEN, struct.pack("16si20x", name, LONGEST_BURST))
            interface = struct.pack("16sH22x", name, 0)
            flags = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, interface), 16)[0]
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


class Path:
    """Two hosts, `near` and `far`, with a link each way.

    Args:
        rate: bit/s of both links.
        delay: s, one way.
        buffer: packets, of the link from near to far, with the one in transmission, as in tcpcc;
            the reverse buffer is unlimited.
        extra: additional delay of each connection's ACKs, s; connections are numbered by the far
            host's port from `FIRST_PORT` on.
        segments: smallest number of packets that the near host's TCP passes down at once.
        mark: both hosts use ECN, and arrivals that find more packets waiting are marked; None: no.
        loss: probability that a packet from near to far is lost.
        seed: of these losses.

    Attributes:
        log: the data packets that arrived at the link from near to far, of type `ARRIVAL`.
        late: lateness of each forwarded packet, s.
    """

    def __init__(
        self,
        rate: float,
        delay: float,
        buffer: int,
        extra: Sequence[float],
        segments: int = 2,
        mark: int | None = None,
        loss: float = 0.0,
        seed: int = 1,
    ) -> None:
        settings = {
            "net/ipv4/tcp_min_tso_segs": str(segments),
            "net/ipv4/tcp_ecn": "0" if mark is None else "1",
        }
        self.near, self.far = Host("10.77.0.1", settings), Host("10.77.0.2", settings)
        threshold = -1 if mark is None else mark
        self._link = [rate, delay, buffer, threshold, loss, seed]
        self._extra = list(extra)
        self.log = np.empty(0, ARRIVAL)
        self.late = np.empty(0)

    def carry(self, until: float) -> None:
        """Forward packets until `time.monotonic()` reaches `until`."""
        ends = self.near.tun, self.far.tun
        self.log, self.late = carry(ends, self._link, self._extra, until)

    def close(self) -> None:
        self.near.close()
        self.far.close()


def carry(
    ends: tuple[int, int], link: Sequence[float], extra: Sequence[float], until: float
) -> tuple[np.ndarray, np.ndarray]:
    """Forward packets between two file descriptors with the program ``path.c``.

    Args:
        ends: file descriptors, near and far; a read or a write is one packet.
        link: rate, delay, buffer, mark, loss and seed, as the program has them.
        extra: as in `Path`.
        until: end, s of `time.monotonic()`.

    Returns:
        The arrivals, of type `ARRIVAL`, and the lateness of each forwarded packet, s.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "log")
        words = [*ends, *link, until, log, *extra]
        subprocess.run([program(), *map(str, words)], pass_fds=ends, check=True)
        count = int(np.fromfile(log, "i8", 1)[0])
        arrivals = np.fromfile(log, ARRIVAL, count, offset=8)
        return arrivals, np.fromfile(log, "f4", offset=8 + arrivals.nbytes).astype(float)


@cache
def program() -> pathlib.Path:
    """``path.c``, compiled for as long as this process runs."""
    folder = tempfile.TemporaryDirectory(prefix="path")
    atexit.register(folder.cleanup)
    file = pathlib.Path(folder.name, "path")
    source = pathlib.Path(__file__).with_suffix(".c")
    subprocess.run([COMPILER, "-O2", "-pthread", "-o", file, source], check=True)
    return file
