"""Connections over a :class:`~experiments.kernel.path.Path`, with plain sockets.

The socket option ``TCP_CONGESTION`` selects the congestion control, ``TCP_INFO`` reads its state.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path as File

import numpy as np

from experiments.kernel.cases import STEP
from experiments.kernel.path import FIRST_PORT, Path

SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33  # asm-generic/socket.h
ROOM = 1 << 23  # bytes, size of the socket buffers; large enough that they never limit

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


def send(
    senders: Sequence[socket.socket],
    starts: Sequence[float],
    until: float,
    far: str,
    to: Connection,
) -> None:
    """Open each connection at its start time and keep it busy.

    At the end, send rows of time, connection and `FIELDS` to `to`.
    """
    urgent(1)
    watch, block, rows = select.epoll(), bytes(1 << 16), []
    sockets = {one.fileno(): one for one in senders}
    waiting = sorted(zip(starts, range(len(senders)), strict=True))
    running: list[int] = []
    look = min(starts)
    while (now := time.monotonic()) < until:
        while waiting and waiting[0][0] <= now:
            _, number = waiting.pop(0)
            senders[number].connect_ex((far, FIRST_PORT + number))
            watch.register(senders[number], select.EPOLLOUT)
            running.append(number)
        if now >= look:
            for number in running:
                told = senders[number].getsockopt(
                    socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size
                )
                values = TCP_INFO.unpack(told)
                rows.append((now, number, *(values[k] for k in FIELDS.values())))
            look += STEP
        soon = min([look, until, *(w[0] for w in waiting[:1])])
        for found, _ in watch.poll(max(soon - time.monotonic(), 0)):
            try:
                while sockets[found].send(block) == len(block):
                    pass
            except BlockingIOError:
                pass
    to.send(np.array(rows))


def run(
    path: Path, controls: Sequence[str], starts: Sequence[float], duration: float
) -> tuple[float, np.ndarray]:
    """Run connections from near to far that always have data to send.

    Args:
        path: the path.
        controls: congestion control of each connection.
        starts: start time of each connection, s.
        duration: s.

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
    begin = time.monotonic() + 0.2
    until = begin + duration
    times = [begin + start for start in starts]
    children = [
        context.Process(target=receive, args=(listeners,), daemon=True),
        context.Process(
            target=send, args=(senders, times, until, path.far.address, theirs), daemon=True
        ),
    ]
    for child in children:
        child.start()
    try:
        urgent(2)
        path.carry(until)
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    rows = ours.recv()
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
