"""Cases in which the kernel's sender and ours are compared, and their scenarios in tcpcc."""

from __future__ import annotations

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
STAGGER = 0.5  # s, between the starts of two connections


@dataclass(frozen=True)
class Case:
    """Connections over one drop-tail bottleneck.

    Args:
        controls: congestion control of each connection; the kernel and tcpcc use the same name.
        buffer: packets.
        extra: additional RTT of each connection, s; default none.
        segments: smallest number of packets that the kernel's sender passes down at once (GSO).
        runs: number of recorded runs of the kernel; shares of two connections differ between runs.
    """

    controls: tuple[str, ...]
    buffer: int
    extra: tuple[float, ...] = ()
    segments: int = 2
    runs: int = 1

    @property
    def starts(self) -> list[float]:
        return [STAGGER * k for k in range(len(self.controls))]

    @property
    def longer(self) -> tuple[float, ...]:
        return self.extra or (0.0,) * len(self.controls)


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
    "cubic, 40 beside 100 ms": Case(("cubic", "cubic"), 40, (0.0, 0.06), runs=3),
}


def scenario(
    case: Case, duration: float = DURATION, shift: float = 0.0, **changes: Any
) -> tc.Scenario:
    """The case as a scenario of tcpcc.

    Args:
        case: the case.
        duration: s.
        shift: delay of the second connection's start, s.
        **changes: transport settings that differ from Linux.
    """
    known = {"gso_segments": case.segments, "quick_acks": QUICK_ACKS}
    net = tc.dumbbell(RATE, DELAY, case.buffer, access_delay=0.0)
    flows = [
        tc.Flow.linux(
            control,
            start=start + (shift if k else 0.0),
            access_delay=longer / 2,
            transport={**known, **changes},
            name=f"{control}{k}",
        )
        for k, (control, start, longer) in enumerate(
            zip(case.controls, case.starts, case.longer, strict=True)
        )
    ]
    return tc.Scenario(net, flows, duration=duration, interval=STEP)
