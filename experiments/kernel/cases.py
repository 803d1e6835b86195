"""What the kernel and our sender are compared in, and our side of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import tcpcc as tc

RATE = 10e6  # bit/s
DELAY = 0.02  # s, one way
DURATION = 40.0  # s
PACKET, HEADER = 1500, 52  # bytes: IP, TCP, and TCP's timestamps
BDP = round(2 * RATE * DELAY / (8 * PACKET))  # packets
SMALL, LARGE = 20, 100  # packets: 0.6 and 3 BDP
STAGGER = 0.5  # s, between the starts of two connections


@dataclass(frozen=True)
class Case:
    """Connections over one drop-tail bottleneck.

    Args:
        controls: congestion control of each, as the kernel and we both call it.
        buffer: packets.
        extra: s by which each one's round trip is longer; default none.
    """

    controls: tuple[str, ...]
    buffer: int
    extra: tuple[float, ...] = ()

    @property
    def starts(self) -> list[float]:
        return [STAGGER * k for k in range(len(self.controls))]

    @property
    def longer(self) -> tuple[float, ...]:
        return self.extra or (0.0,) * len(self.controls)


CASES = {
    "reno, small buffer": Case(("reno",), SMALL),
    "reno, large buffer": Case(("reno",), LARGE),
    "cubic, small buffer": Case(("cubic",), SMALL),
    "cubic, large buffer": Case(("cubic",), LARGE),
    "bbr, small buffer": Case(("bbr",), SMALL),
    "bbr, large buffer": Case(("bbr",), LARGE),
    "reno, 100 ms": Case(("reno",), 40, (0.06,)),
    "cubic, 100 ms": Case(("cubic",), 40, (0.06,)),
    "cubic beside reno": Case(("cubic", "reno"), 40),
    "cubic beside bbr, small buffer": Case(("cubic", "bbr"), SMALL),
    "cubic beside bbr, large buffer": Case(("cubic", "bbr"), LARGE),
    "reno, 40 beside 100 ms": Case(("reno", "reno"), 40, (0.0, 0.06)),
    "cubic, 40 beside 100 ms": Case(("cubic", "cubic"), 40, (0.0, 0.06)),
}

TRANSPORT = tc.Transport(
    initial_window=10,
    delayed_ack=0.04,
    abc_limit=math.inf,
    count_delivered=True,
    whole_window=True,
    timestamps=True,
    initial_rto=1.0,
    tick=0.004,
)
"""As Linux has them: RFC 6928; TCP_DELACK_MIN; every packet of an ACK counts; RFC 7323; RFC 6298."""


def scenario(case: Case, duration: float = DURATION, interval: float = 0.02) -> tc.Scenario:
    """The same in ours."""
    net = tc.dumbbell(RATE, DELAY, case.buffer, access_delay=0.0)
    flows = [
        tc.Flow(
            control,
            start=start,
            packet_size=PACKET,
            header=HEADER,
            ack_size=HEADER,
            access_delay=longer / 2,
            recovery="rack-tlp",
            slow_start="hystart" if control == "cubic" else "standard",
            transport=TRANSPORT,
            name=f"{control}{k}",
        )
        for k, (control, start, longer) in enumerate(
            zip(case.controls, case.starts, case.longer, strict=True)
        )
    ]
    return tc.Scenario(net, flows, duration=duration, interval=interval)
