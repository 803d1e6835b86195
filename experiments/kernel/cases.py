"""Cases in which the kernel's sender and ours are compared, and their scenarios in tcpcc."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tcpcc as tc

RATE = 10e6  # bit/s
DELAY = 0.02  # s, one way
DURATION = 40.0  # s
STEP = 0.02  # s, between records
PACKET, HEADER = tc.Flow.linux("reno").packet_size, tc.Flow.linux("reno").header  # bytes
PAYLOAD = PACKET - HEADER  # bytes
BDP = round(2 * RATE * DELAY / (8 * PACKET))  # packets
SMALL, LARGE = 20, 100  # packets: 0.6 and 3 BDP
QUICK_ACKS = 740
"""Number of packets that the kernel's receiver acknowledges one by one at the start, measured: this
lasts until its window (8 MB socket buffers) has its largest size. It matters for HyStart, which
ends slow start after a train of ACKs at most 2 ms apart: with one ACK per packet they are 1.2 ms
apart and CUBIC's slow start ends at 38 packets, with delayed ACKs at 90."""
PROCESSING = 10e-6
"""s, longest time that a host takes to send a packet, as measured. Without it arrivals and
departures at the bottleneck coincide: with a buffer of 3 packets Reno then gets 7.5 Mb/s instead of
1.4 (Linux: 1.2), since a burst of three packets fits if the packet that is leaving has left."""
HOST_RATE = 6e9
"""bit/s at which a host sends a write, as measured: 2 us per packet. If a burst overflows the
buffer, the last packets then find room, and SACK tells of the loss; else only the timer does."""
GSO = 2  # packets; ``tcp_min_tso_segs`` of Linux
STAGGER = 0.5  # s, between the starts of two connections

Writes = tuple[tuple[float, int], ...]
"""An application: (s after the connection's start, bytes that it writes then), in order. The first
write is at the start."""


@dataclass(frozen=True)
class Case:
    """Connections over one bottleneck.

    Args:
        controls: congestion control of each connection; the kernel and tcpcc use the same name.
        buffer: packets.
        extra: additional RTT of each connection, s; default none.
        segments: smallest number of packets that the kernel's sender passes down at once (GSO).
        runs: number of recorded runs of the kernel; shares of two connections differ between runs.
        rate: bit/s.
        delay: s, one way.
        duration: s.
        mark: ECN: number of waiting packets above which arrivals are marked; None: drop-tail.
        loss: probability that a data packet is lost at random.
        writes: of the application of each connection, in whole packets; None: it always has data.
        rwnd: receiver's window, packets; None: never limits.
        cross: CBR traffic beside the connections: bit/s, from and to, s; None: none.
    """

    controls: tuple[str, ...]
    buffer: int
    extra: tuple[float, ...] = ()
    segments: int = GSO
    runs: int = 1
    rate: float = RATE
    delay: float = DELAY
    duration: float = DURATION
    mark: int | None = None
    loss: float = 0.0
    writes: Writes | None = None
    rwnd: int | None = None
    cross: tuple[float, float, float] | None = None

    @property
    def starts(self) -> list[float]:
        return [STAGGER * k for k in range(len(self.controls))]

    @property
    def longer(self) -> tuple[float, ...]:
        return self.extra or (0.0,) * len(self.controls)


def path(mbps: int, rtt: float, bdps: float, **settings: Any) -> dict[str, Any]:
    """Settings of a case: rate in Mb/s, RTT in s, buffer in bandwidth-delay products."""
    rate = 1e6 * mbps
    buffer = round(bdps * rate * rtt / (8 * PACKET))
    return {"rate": rate, "delay": rtt / 2, "buffer": buffer, **settings}


def every(period: float, packets: int, begin: float, end: float) -> Writes:
    """Writes of `packets` every `period` s, from `begin` to before `end`."""
    count = math.ceil((end - begin) / period)
    return tuple((round(begin + k * period, 6), packets * PAYLOAD) for k in range(count))


def on_off(packets: int, busy: float) -> Writes:
    """Six writes of `packets`, each sent in about `busy` s, and between them no data for 0.25 s to
    5 s."""
    times = np.cumsum([0.0, *(busy + pause for pause in (0.25, 0.5, 1.0, 2.0, 5.0))])
    return tuple((round(float(at), 6), packets * PAYLOAD) for at in times)


def responses(period: float) -> Writes:
    """Responses of 20 to 200 kB, one every `period` s."""
    sizes = (14, 35, 140, 70) * 4
    return tuple((round(k * period, 6), size * PAYLOAD) for k, size in enumerate(sizes))


def trickle(packets: int, begin: float, end: float) -> Writes:
    """`packets`, from `begin` on four packets every 40 ms, and at `end` so many `packets`."""
    bulk = packets * PAYLOAD
    return ((0.0, bulk), *every(0.04, 4, begin, end), (end, bulk))


CASES = {
    "reno, small buffer": Case(("reno",), SMALL),
    "reno, small buffer, single segments": Case(("reno",), SMALL, segments=1),
    "reno, large buffer": Case(("reno",), LARGE),
    "reno, 100 ms": Case(("reno",), 40, (0.06,)),
    "cubic, small buffer": Case(("cubic",), SMALL),
    "cubic, large buffer": Case(("cubic",), LARGE),
    "cubic, 100 ms": Case(("cubic",), 40, (0.06,)),
    "bbr, small buffer": Case(("bbr",), SMALL),
    "bbr, large buffer": Case(("bbr",), LARGE),
    "cubic beside reno": Case(("cubic", "reno"), 40, runs=3),
    "cubic beside bbr, small buffer": Case(("cubic", "bbr"), SMALL, runs=3),
    "cubic beside bbr, large buffer": Case(("cubic", "bbr"), LARGE, runs=3),
    "reno, 40 beside 100 ms": Case(("reno", "reno"), 40, (0.0, 0.06), runs=3),
    "cubic, 40 beside 100 ms": Case(("cubic", "cubic"), 40, (0.0, 0.06), runs=5),
}
"""Cases at 10 Mb/s that are compared in detail."""


def _applied(mbps: int, rtt: float, writes: Writes, duration: float, **more: Any) -> dict[str, Any]:
    return path(mbps, rtt, 1.2, writes=writes, duration=duration, runs=2, **more)


_PATHS: dict[str, dict[str, Any]] = {
    "50 Mb/s, 20 ms, 0.3 BDP": path(50, 0.02, 0.3),
    "50 Mb/s, 100 ms, 1 BDP": path(50, 0.1, 1, duration=60.0),
    "30 Mb/s, 50 ms, 4 BDP": path(30, 0.05, 4, duration=60.0),
    "10 Mb/s, 200 ms, 1 BDP": path(10, 0.2, 1, duration=60.0),
    "10 Mb/s, 40 ms, 3 packets": {"buffer": 3},
    "50 Mb/s, 100 ms, 0.3 BDP": path(50, 0.1, 0.3, duration=60.0),
    "50 Mb/s, 200 ms, 1 BDP": path(50, 0.2, 1, duration=60.0),
    "10 Mb/s, 40 ms, marks above 20": {"buffer": LARGE, "mark": 20},
    "50 Mb/s, 100 ms, marks above 100": path(50, 0.1, 1, mark=100),
    "10 Mb/s, 40 ms, 400 packets every 3 s": {
        "buffer": 40,
        "writes": every(3.0, 400, 0.0, DURATION),
    },
    "50 Mb/s, 100 ms, 7000 packets every 5 s": path(
        50, 0.1, 1, writes=every(5.0, 7000, 0.0, DURATION)
    ),
    "10 Mb/s, 40 ms, 3 % loss": {"buffer": 40, "loss": 0.03, "runs": 3, "duration": 30.0},
    "50 Mb/s, 100 ms, 3 % loss": path(50, 0.1, 1, loss=0.03, runs=3, duration=30.0),
    "50 Mb/s, 100 ms, 20 % loss": path(50, 0.1, 1, loss=0.2, runs=10, duration=30.0),
    "50 Mb/s, 50 ms, 1 BDP": path(50, 0.05, 1, runs=5),
    "30 Mb/s, 50 ms, 2 BDP": path(30, 0.05, 2, runs=5),
    "10 Mb/s, 40 ms, on/off": _applied(10, 0.04, on_off(700, 0.95), 14.9),
    "30 Mb/s, 50 ms, on/off": _applied(30, 0.05, on_off(2000, 1.0), 15.2),
    "50 Mb/s, 100 ms, on/off": _applied(50, 0.1, on_off(700, 0.7), 13.4),
    "10 Mb/s, 40 ms, responses": _applied(10, 0.04, responses(0.35), 6.2),
    "30 Mb/s, 50 ms, responses": _applied(30, 0.05, responses(0.45), 7.6),
    "50 Mb/s, 100 ms, responses": _applied(50, 0.1, responses(0.75), 12.2),
    "10 Mb/s, 40 ms, trickle": _applied(10, 0.04, trickle(700, 1.0, 4.0), 5.5),
    "30 Mb/s, 50 ms, trickle": _applied(30, 0.05, trickle(2000, 1.2, 4.2), 6.0),
    "50 Mb/s, 100 ms, trickle": _applied(50, 0.1, trickle(1400, 1.2, 4.2), 6.0),
    "30 Mb/s, 50 ms, window of 90": _applied(30, 0.05, on_off(1000, 0.65), 13.2, rwnd=90),
}
_WIDE: dict[str, Sequence[str]] = {
    "50 Mb/s, 20 ms, 0.3 BDP": ("reno", "cubic", "bbr"),
    "50 Mb/s, 100 ms, 1 BDP": ("reno", "cubic", "bbr"),
    "30 Mb/s, 50 ms, 4 BDP": ("reno", "cubic", "bbr"),
    "10 Mb/s, 200 ms, 1 BDP": ("reno", "cubic", "bbr"),
    "50 Mb/s, 100 ms, 0.3 BDP": ("cubic",),
    "50 Mb/s, 200 ms, 1 BDP": ("cubic",),
    "10 Mb/s, 40 ms, 3 packets": ("reno",),
    "10 Mb/s, 40 ms, marks above 20": ("reno",),
    "50 Mb/s, 100 ms, marks above 100": ("cubic",),
    "10 Mb/s, 40 ms, 400 packets every 3 s": ("reno",),
    "50 Mb/s, 100 ms, 7000 packets every 5 s": ("cubic", "bbr"),
    "10 Mb/s, 40 ms, 3 % loss": ("reno",),
    "50 Mb/s, 100 ms, 3 % loss": ("cubic", "bbr"),
    "50 Mb/s, 100 ms, 20 % loss": ("bbr",),
    "50 Mb/s, 50 ms, 1 BDP": ("cubic beside reno",),
    "30 Mb/s, 50 ms, 2 BDP": ("cubic beside bbr", "bbr beside bbr"),
}
_ALL = ("reno", "cubic", "bbr")
_APPLICATIONS: dict[str, Sequence[str]] = {
    "10 Mb/s, 40 ms, on/off": _ALL,
    "30 Mb/s, 50 ms, on/off": _ALL,
    "50 Mb/s, 100 ms, on/off": _ALL,
    "10 Mb/s, 40 ms, responses": ("reno", "bbr"),
    "30 Mb/s, 50 ms, responses": ("cubic",),
    "50 Mb/s, 100 ms, responses": ("cubic", "bbr"),
    "10 Mb/s, 40 ms, trickle": ("cubic",),
    "30 Mb/s, 50 ms, trickle": _ALL,
    "50 Mb/s, 100 ms, trickle": ("reno",),
    "30 Mb/s, 50 ms, window of 90": _ALL,
}


def cases(paths: Mapping[str, Sequence[str]]) -> dict[str, Case]:
    """A case for each path of `_PATHS` and each of its senders."""
    return {
        f"{controls}, {where}": Case(tuple(controls.split(" beside ")), **_PATHS[where])
        for where, senders in paths.items()
        for controls in senders
    }


WIDE = cases(_WIDE)
"""Cases over a wide range of paths."""
APPLICATIONS = cases(_APPLICATIONS)
"""Cases of applications that do not always have data."""


def scenario(
    case: Case,
    duration: float | None = None,
    shift: float = 0.0,
    seed: int = 1,
    plain: bool = False,
    processing: float = PROCESSING,
    **changes: Any,
) -> tc.Scenario:
    """The case as a scenario of tcpcc; a flow has the first of its writes.

    Args:
        case: the case.
        duration: s; default: the case's.
        shift: delay of the second connection's start, s.
        seed: of random losses and of the hosts' times.
        plain: flows with tcpcc's defaults, `tc.Flow(control)`, instead of `tc.Flow.linux`.
        processing: longest time that a Linux host takes to send a packet, s.
        **changes: transport settings that differ.
    """
    queue = None if case.mark is None else tc.queues.StepMark(threshold=case.mark)
    net = tc.dumbbell(
        case.rate, case.delay, case.buffer, access_delay=0.0, loss=case.loss, queue=queue
    )
    host: dict[str, Any] = {} if case.mark is None else {"ecn": "classic"}
    if case.rwnd is not None:
        host["rwnd"] = case.rwnd
    flows = []
    for k, control in enumerate(case.controls):
        settings: dict[str, Any] = {
            "start": case.starts[k] + (shift if k else 0.0),
            "access_delay": case.longer[k] / 2,
            "name": f"{control}{k}",
        }
        if case.writes is not None:
            settings |= {"size": case.writes[0][1] // PAYLOAD, "access_rate": HOST_RATE}
        if plain:
            sizes: dict[str, Any] = {"packet_size": PACKET, "header": HEADER, "ack_size": HEADER}
            flow = tc.Flow(control, transport={**host, **changes}, **sizes, **settings)
        else:
            defaults = {"gso_segments": case.segments, "quick_acks": QUICK_ACKS, **host}
            transport = {**defaults, **changes}
            flow = tc.Flow.linux(control, transport=transport, processing=processing, **settings)
        flows.append(flow)
    length = case.duration if duration is None else duration
    return tc.Scenario(net, flows, duration=length, interval=STEP, seed=seed)
