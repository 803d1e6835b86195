"""Loss recovery, chosen per flow; every controller names a default.

It decides answers: one NewReno flow at 100 Mb/s delivers 98 Mb/s with one recovery and 20 with
another. A result therefore says which it was made with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tcpcc.definition import Definition, Param, Registry, register


@dataclass(frozen=True)
class Recovery(Definition):
    """A loss recovery: the sender's settings, and what the fluid model needs to know of it.

    Args:
        family: 0 duplicate ACKs, 1 SACK scoreboard, 2 Vegas' checks, 3 these as in ns-2
        go_back, stay, impatient: see :mod:`tcpcc.transport.recovery.classic`
        proportional: see :mod:`tcpcc.transport.recovery.sack`
        stale_rounds: a timeout does not end the round; a round of one packet sets BaseRTT anew
        burst: packets sent at most per duplicate or partial ACK
        keeps_inflation: a window that no later duplicate ACK inflates further stays inflated, and a
            fast retransmit backs off the coarse timer (fluid model)
        holes_per_round: losses of one window that a round trip repairs (fluid model)
        holes_at_most: losses of one window that it repairs without a timeout (fluid model)
    """

    name: str
    summary: str
    family: int
    go_back: bool = False
    stay: bool = False
    impatient: bool = False
    proportional: bool = False
    stale_rounds: bool = False
    burst: float = float("inf")
    keeps_inflation: bool = False
    holes_per_round: float = 1.0
    holes_at_most: float = float("inf")
    source: str = ""
    params: Mapping[str, Param] = field(default_factory=dict)
    validate: Callable[[dict[str, float]], str | None] | None = None


RECOVERIES: Registry[Recovery] = Registry("recovery", ())
Recovery.registry = RECOVERIES

for _recovery in (
    Recovery("tahoe", "go-back-N in slow start", 0, go_back=True, holes_per_round=float("inf")),
    Recovery("reno", "fast recovery until the first new ACK", 0, holes_at_most=1),
    Recovery(
        "newreno",
        "impatient NewReno (RFC 6582): the first partial ACK restarts the timer",
        0,
        stay=True,
        impatient=True,
        burst=2.0,
    ),
    Recovery(
        "newreno-steady",
        "slow-but-steady NewReno (RFC 6582): each partial ACK restarts the timer",
        0,
        stay=True,
        burst=2.0,
    ),
    Recovery("sack", "RFC 6675 pipe", 1, holes_per_round=float("inf")),
    Recovery(
        "sack-prr",
        "the same with proportional rate reduction (RFC 6937), as Linux",
        1,
        proportional=True,
        holes_per_round=float("inf"),
    ),
    Recovery("vegas", "fine-grained timeouts checked on ACKs", 2),
    Recovery(
        "vegas-ns2",
        "the same with all that ns-2.35 does differently, packet for packet",
        3,
        stale_rounds=True,
        keeps_inflation=True,
    ),
):
    register(_recovery)

recoveries = RECOVERIES.table

__all__ = ["RECOVERIES", "Recovery", "recoveries"]
