"""Connections over a :class:`~experiments.kernel.path.Path`, with plain sockets.

The socket option ``TCP_CONGESTION`` selects the congestion control, ``TCP_INFO`` reads its state.
"""

from __future__ import annotations

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

from experiments.kernel.cases import PACKET, PAYLOAD, STEP, Writes
from experiments.kernel.path import FIRST_PORT, Path, program

SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # asm-generic/socket.h
TCP_WINDOW_CLAMP = 10  # linux/tcp.h
ROOM = 1 << 23  # bytes, size of the socket buffers; large enough that they never limit
BLOCK = memoryview(bytes(ROOM))  # a write is one call: its end alone may be a partial segment
UDP_HEADER = 28  # bytes, with IP's

TCP_INFO = struct.Struct("<8B24I4Q6I4Q2I2Q")
"""linux/tcp.h, struct tcp_info, up to tcpi_bytes_retrans."""
FIELDS = {"cwnd": 26, "ssthresh": 25, "rtt": 23, "retransmitted": 31, "delivered": 46}
"""Positions of the recorded fields in it. Units: packets, packets, us, packets, packets."""
ACKNOWLEDGED = 34  # position of the acknowledged bytes, which include the SYN as one
LOOK = 1e-3  # s, between looks whether a write is acknowledged
AHEAD = 1.0  # s; the path program must run when the first connection opens


def available() -> list[str]:
    """Congestion controls available in the kernel."""
    file = File("/proc/sys/net/ipv4/tcp_available_congestion_control")
    return file.read_text().split() if file.exists() else []


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
    sockets = {listener.fileno(): listener for listener in listeners}
    for number in sockets:
        watch.register(number, select.EPOLLIN)
    while True:
        for number, _ in watch.poll():
            if sockets[number] in listeners:
                accepted = sockets[number].accept()[0]
                sockets[accepted.fileno()] = accepted
                watch.register(accepted.fileno(), select.EPOLLIN)
            else:
                sockets[number].recv(1 << 20, socket.MSG_TRUNC)


@dataclass
class Source:
    """A connection, and the data that its application hands to TCP.

    Args:
        number: of the connection.
        socket: not yet connected.
        start: time at which it connects, s of `time.monotonic()`.
        writes: of its application; None: always more.

    Attributes:
        written: rows of time (s of `time.monotonic()`), cwnd and ssthresh (packets) after each
            write, and the time at which all its bytes were acknowledged (NaN: never).
    """

    number: int
    socket: socket.socket
    start: float
    writes: Writes | None = None
    written: list[list[float]] = field(default_factory=list, init=False)
    left: float = field(default=0.0, init=False)

    def open(self, far: str, watch: select.epoll) -> None:
        self.socket.connect_ex((far, FIRST_PORT + self.number))
        watch.register(self.socket, 0)

    def write(self, size: float, now: float, watch: select.epoll) -> None:
        """The application writes `size` bytes."""
        self.left += size
        self.push(watch)
        info = self.tcp_info()
        self.written.append([now, info[FIELDS["cwnd"]], info[FIELDS["ssthresh"]], math.nan])

    def push(self, watch: select.epoll) -> None:
        """Hand over what the socket takes."""
        try:
            while self.left > 0:
                self.left -= self.socket.send(BLOCK[: int(min(len(BLOCK), self.left))])
            watch.modify(self.socket, 0)
        except BlockingIOError:
            watch.modify(self.socket, select.EPOLLOUT)

    def tcp_info(self) -> tuple[int, ...]:
        """The fields of `TCP_INFO`."""
        packed = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
        return TCP_INFO.unpack(packed)

    def row(self) -> list[int]:
        """The values of `FIELDS`."""
        info = self.tcp_info()
        return [info[k] for k in FIELDS.values()]

    def is_waiting(self, now: float) -> bool:
        """Whether a write is not yet acknowledged; notes `now` for those that are."""
        waiting = [k for k, row in enumerate(self.written) if math.isnan(row[-1])]
        if self.writes is None or not waiting:
            return False
        acked = self.tcp_info()[ACKNOWLEDGED]
        ends = 1 + np.cumsum([size for _, size in self.writes])
        for k in waiting:
            if acked >= ends[k]:
                self.written[k][-1] = now
        return acked < ends[waiting[-1]]


def send(sources: Sequence[Source], until: float, far: str, to: Connection) -> None:
    """Open each connection at its start time and give it data.

    At the end, send rows of time, connection and `FIELDS` to `to`, and `Source.written` of each.
    """
    urgent(1)
    watch, rows = select.epoll(), []
    by_file = {source.socket.fileno(): source for source in sources}
    look = min(source.start for source in sources)
    # times at which a connection opens, and at which it writes so many bytes
    events = [(source.start, source.number, 0.0) for source in sources]
    for source in sources:
        writes = ((0.0, math.inf),) if source.writes is None else source.writes
        events += [(source.start + at, source.number, size) for at, size in writes]
    events.sort(reverse=True)
    running: list[Source] = []
    while (now := time.monotonic()) < until:
        while events and events[-1][0] <= now:
            _, number, size = events.pop()
            source = sources[number]
            if size == 0:
                source.open(far, watch)
                running.append(source)
            else:
                source.write(size, now, watch)
        if now >= look:
            rows += [(now, source.number, *source.row()) for source in running]
            look += STEP
        waits = any([source.is_waiting(now) for source in running])
        soon = min([look, until, *(event[0] for event in events[-1:]), *([now + LOOK] * waits)])
        for file, _ in watch.poll(max(soon - time.monotonic(), 0)):
            by_file[file].push(watch)
    to.send((np.array(rows), [source.written for source in sources]))


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
    writes: Writes | None = None,
    cross: tuple[float, float, float] | None = None,
    rwnd: int | None = None,
) -> tuple[float, np.ndarray, list[list[list[float]]]]:
    """Run connections from near to far.

    Args:
        path: the path.
        controls: congestion control of each connection.
        starts: start time of each connection, s.
        duration: s.
        writes: of each connection's application; None: it always has data to send.
        cross: UDP traffic beside the connections: bit/s, from and to, s; None: none.
        rwnd: largest window of the receivers, packets; None: as their buffers allow.

    Returns:
        Start of the run (`time.monotonic()`), rows of time, connection and `FIELDS`, and
        `Source.written` of each connection.
    """
    with path.far.inside():
        listeners = [opened() for _ in controls]
    for number, listener in enumerate(listeners):
        if rwnd is not None:
            listener.setsockopt(socket.IPPROTO_TCP, TCP_WINDOW_CLAMP, rwnd * PAYLOAD)
        listener.bind((path.far.address, FIRST_PORT + number))
        listener.listen()
    with path.near.inside():
        senders = [opened() for _ in controls]
    for sender, control in zip(senders, controls, strict=True):
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, writes is not None)
        sender.setblocking(False)
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    program()
    begin = time.monotonic() + AHEAD
    until = begin + duration
    sources = [
        Source(k, sender, begin + start, writes)
        for k, (sender, start) in enumerate(zip(senders, starts, strict=True))
    ]
    children = [
        context.Process(target=receive, args=(listeners,), daemon=True),
        context.Process(target=send, args=(sources, until, path.far.address, sending), daemon=True),
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
        rows, written = receiving.recv()
    finally:
        for child in children:
            child.terminate()
            child.join()
        for endpoint in (*listeners, *senders):
            endpoint.close()
    return begin, rows, written


def opened() -> socket.socket:
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, ROOM)
    tcp.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    return tcp
