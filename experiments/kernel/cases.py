"""Cases in which the kernel's sender and ours are compared, and their scenarios in tcpcc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tcpcc as tc

RATE = 10e6  # bit/s
DELAY = 0.02  # s, one way
DURATION = 40.0  # s
STEP = 0.02  # s, between records
PACKET, HEADER = tc.Flow.linux("reno").packet_size, tc.Flow.linux("reno").header  # bytes
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
GSO = 2  # packets; ``tcp_min_tso_segs`` of Linux
STAGGER = 0.5  # s, between the starts of two connections


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
        item: packets that the application sends at the start and every so many s; None: it always
            has data.
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
    item: tuple[int, float] | None = None
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
    "10 Mb/s, 40 ms, 400 packets every 3 s": {"buffer": 40, "item": (400, 3.0)},
    "50 Mb/s, 100 ms, 7000 packets every 5 s": path(50, 0.1, 1, item=(7000, 5.0)),
    "10 Mb/s, 40 ms, 3 % loss": {"buffer": 40, "loss": 0.03, "runs": 3, "duration": 30.0},
    "50 Mb/s, 100 ms, 3 % loss": path(50, 0.1, 1, loss=0.03, runs=3, duration=30.0),
    "50 Mb/s, 100 ms, 20 % loss": path(50, 0.1, 1, loss=0.2, runs=10, duration=30.0),
    "50 Mb/s, 50 ms, 1 BDP": path(50, 0.05, 1, runs=5),
    "30 Mb/s, 50 ms, 2 BDP": path(30, 0.05, 2, runs=5),
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
WIDE = {
    f"{controls}, {where}": Case(tuple(controls.split(" beside ")), **_PATHS[where])
    for where, known in _WIDE.items()
    for controls in known
}
"""Cases over a wide range of paths."""


def scenario(
    case: Case,
    duration: float | None = None,
    shift: float = 0.0,
    seed: int = 1,
    plain: bool = False,
    processing: float = PROCESSING,
    **changes: Any,
) -> tc.Scenario:
    """The case as a scenario of tcpcc.

    Args:
        case: the case.
        duration: s; default: the case's.
        shift: delay of the second connection's start, s.
        seed: of random losses and of the hosts' times.
        plain: flows with tcpcc's defaults, `tc.Flow(control)`, instead of `tc.Flow.linux`.
        processing: longest time that a Linux host takes to send a packet, s.
        **changes: transport settings that differ.
    """
    queue = None if case.mark is None else tc.StepMark(threshold=case.mark)
    net = tc.dumbbell(
        case.rate, case.delay, case.buffer, access_delay=0.0, loss=case.loss, queue=queue
    )
    ecn = {} if case.mark is None else {"ecn": "classic"}
    flows = []
    for k, control in enumerate(case.controls):
        settings: dict[str, Any] = {
            "start": case.starts[k] + (shift if k else 0.0),
            "access_delay": case.longer[k] / 2,
        }
        if case.item is None:
            settings["name"] = f"{control}{k}"
        if plain:
            sizes: dict[str, Any] = {"packet_size": PACKET, "header": HEADER, "ack_size": HEADER}
            flow = tc.Flow(control, transport={**ecn, **changes}, **sizes, **settings)
        else:
            known = {"gso_segments": case.segments, "quick_acks": QUICK_ACKS, **ecn}
            transport = {**known, **changes}
            flow = tc.Flow.linux(control, transport=transport, processing=processing, **settings)
        flows.append(flow)
    length = case.duration if duration is None else duration
    if case.item is None:
        return tc.Scenario(net, flows, duration=length, interval=STEP, seed=seed)
    packets, period = case.item
    items = tc.Conversation(packets * (PACKET - HEADER), items=None, gap=period, waits=False)
    loads = [tc.Workload(flow, items, interarrival=0, count=1) for flow in flows]
    return tc.Scenario(net, [], duration=length, interval=STEP, seed=seed, workloads=loads)
