"""Connections over a :class:`~experiments.kernel.path.Path`, with plain sockets.

The socket option ``TCP_CONGESTION`` selects the congestion control, ``TCP_INFO`` reads its state.
"""

from __future__ import annotations

import heapq
import math
import multiprocessing
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path as File

import numpy as np

from experiments.kernel.cases import PACKET, STEP
from experiments.kernel.path import FIRST_PORT, Path, program

SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # asm-generic/socket.h
ROOM = 1 << 23  # bytes, size of the socket buffers; large enough that they never limit
BLOCK = bytes(1 << 16)
UDP_HEADER = 28  # bytes, with IP's

TCP_INFO = struct.Struct("<8B24I4Q6I4Q2I2Q")
"""linux/tcp.h, struct tcp_info, up to tcpi_bytes_retrans."""
FIELDS = {"cwnd": 26, "ssthresh": 25, "rtt": 23, "retransmitted": 31, "delivered": 46}
"""Positions of the recorded fields in it. Units: packets, packets, us, packets, packets."""


def available() -> list[str]:
    """Congestion controls available in the kernel."""
    known = File("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return known.read_text().split() if known.exists() else []


def urgent(level: int) -> None:
    """Raise the priority of this process: it needs little time but must not be late."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(level))
    except PermissionError:
        os.setpriority(os.PRIO_PROCESS, 0, -15)


def receive(listeners: Sequence[socket.socket]) -> None:
    """Accept connections and discard their data, forever."""
    urgent(1)
    watch = select.epoll()
    sockets = {one.fileno(): one for one in listeners}
    for number in sockets:
        watch.register(number, select.EPOLLIN)
    while True:
        for number, _ in watch.poll():
            if sockets[number] in listeners:
                taken = sockets[number].accept()[0]
                sockets[taken.fileno()] = taken
                watch.register(taken.fileno(), select.EPOLLIN)
            else:
                sockets[number].recv(1 << 20, socket.MSG_TRUNC)


@dataclass
class Source:
    """A connection, and the data that its application hands to TCP.

    Args:
        number: of the connection.
        socket: not yet connected.
        start: time at which it connects, s of `time.monotonic()`.
        item: bytes handed over at the start and again every `period`; None: always more.
        period: s.
    """

    number: int
    socket: socket.socket
    start: float
    item: int | None = None
    period: float = math.inf
    left: float = field(default=0.0, init=False)

    def open(self, far: str, watch: select.epoll) -> None:
        self.socket.connect_ex((far, FIRST_PORT + self.number))
        self.left = math.inf if self.item is None else self.item
        watch.register(self.socket, select.EPOLLOUT)

    def write(self, watch: select.epoll) -> None:
        """Hand over what the socket takes of the present item."""
        try:
            while self.left > 0:
                self.left -= self.socket.send(BLOCK[: int(min(len(BLOCK), self.left))])
            watch.modify(self.socket, 0)
        except BlockingIOError:
            pass

    def told(self) -> list[int]:
        """The values of `FIELDS`."""
        told = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
        values = TCP_INFO.unpack(told)
        return [values[k] for k in FIELDS.values()]


def send(sources: Sequence[Source], until: float, far: str, to: Connection) -> None:
    """Open each connection at its start time and give it data.

    At the end, send rows of time, connection and `FIELDS` to `to`.
    """
    urgent(1)
    watch, rows = select.epoll(), []
    by_file = {one.socket.fileno(): one for one in sources}
    look = min(one.start for one in sources)
    # times at which something is to be done: a connection opens, or has its next item
    events = sorted((one.start, one.number, True) for one in sources)
    running: list[Source] = []
    while (now := time.monotonic()) < until:
        while events and events[0][0] <= now:
            at, number, opens = heapq.heappop(events)
            one = sources[number]
            if opens:
                one.open(far, watch)
                running.append(one)
            elif one.item is not None:
                one.left += one.item
                watch.modify(one.socket, select.EPOLLOUT)
            if at + one.period < until:
                heapq.heappush(events, (at + one.period, number, False))
        if now >= look:
            rows += [(now, one.number, *one.told()) for one in running]
            look += STEP
        soon = min([look, until, *(event[0] for event in events[:1])])
        for found, _ in watch.poll(max(soon - time.monotonic(), 0)):
            by_file[found].write(watch)
    to.send(np.array(rows))


def beat(noise: socket.socket, rate: float, begin: float, end: float) -> None:
    """Send a datagram of `PACKET` bytes every so often, which nobody reads.

    Args:
        noise: a connected UDP socket.
        rate: bit/s.
        begin, end: s of `time.monotonic()`.
    """
    urgent(1)
    due, block = begin, bytes(PACKET - UDP_HEADER)
    while due < end:
        time.sleep(max(due - time.monotonic(), 0))
        noise.send(block)
        due += 8 * PACKET / rate


def run(
    path: Path,
    controls: Sequence[str],
    starts: Sequence[float],
    duration: float,
    item: tuple[int, float] | None = None,
    cross: tuple[float, float, float] | None = None,
) -> tuple[float, np.ndarray]:
    """Run connections from near to far.

    Args:
        path: the path.
        controls: congestion control of each connection.
        starts: start time of each connection, s.
        duration: s.
        item: bytes that each connection sends at its start and every so many s; None: it always
            has data to send.
        cross: UDP traffic beside the connections: bit/s, from and to, s; None: none.

    Returns:
        Start of the run (`time.monotonic()`), and rows of time, connection and `FIELDS`.
    """
    with path.far.inside():
        listeners = [opened() for _ in controls]
    for number, one in enumerate(listeners):
        one.bind((path.far.address, FIRST_PORT + number))
        one.listen()
    with path.near.inside():
        senders = [opened() for _ in controls]
    for one, control in zip(senders, controls, strict=True):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        one.setblocking(False)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    program()
    begin = time.monotonic() + 0.2
    until = begin + duration
    sources = [
        Source(k, one, begin + start, *(item or ()))
        for k, (one, start) in enumerate(zip(senders, starts, strict=True))
    ]
    children = [
        context.Process(target=receive, args=(listeners,), daemon=True),
        context.Process(target=send, args=(sources, until, path.far.address, theirs), daemon=True),
    ]
    if cross is not None:
        rate, on, off = cross
        with path.far.inside():
            sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind((path.far.address, FIRST_PORT))
        with path.near.inside():
            noise = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        noise.connect((path.far.address, FIRST_PORT))
        between = begin + on, begin + off
        children.append(context.Process(target=beat, args=(noise, rate, *between), daemon=True))
    for child in children:
        child.start()
    try:
        path.carry(until)
        rows = ours.recv()
    finally:
        for child in children:
            child.terminate()
            child.join()
        for one in (*listeners, *senders):
            one.close()
    return begin, rows


def opened() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    one.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, ROOM)
    one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    return one
