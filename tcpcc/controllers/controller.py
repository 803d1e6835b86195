"""The contract of a congestion controller: parameters, private state, rules.

A controller is four plain functions on records, written once and run by every model:

===================  =========================================================================
``on_ack(s, p, a)``      new data was acknowledged: `a.acked` packets, a **real** number
``on_round(s, p, a)``    one round trip ended: the first packet of the last round came back
``on_loss(s, p, a)``     a loss event; at most one per window of data
``on_timeout(s, p, a)``  the retransmission timer expired
===================  =========================================================================

`s` is the state: the window that all share (``cwnd``, ``ssthresh``, in packets) and the
controller's own variables. `p` holds the parameters, `a` the sample (:data:`SAMPLE`). A rule may
use arithmetic, ``if``, loops, ``math`` and other such functions, and nothing else: that subset
compiles. Times are in seconds, windows in packets, rates in packets per second.

What a controller may have beside these; nothing is called, kept or measured for one that has not:

==========================  ==================================================================
``on_delivery(s, p, a)``    an ACK brought news, in recovery too: `a.delivered` packets. After
                            ``on_ack`` and ``on_loss`` and before anything is sent
``on_lost_packet(s, p, a)``  a packet is deemed lost, each one by itself; before ``on_delivery``
``on_mark(s, p, a)``        an ACK tells of a mark (ECN), once per window of data and not in
                            recovery; None: ``on_loss`` is called
``on_timer(s, p, a)``       the time of the state variable `wake_at` has come; it is infinite
                            until a rule sets it anew
``on_restart(s, p, a)``     the application has data again after all that was sent had been
                            acknowledged; before any of it goes
``on_start(s, p, a)``       before the first segment, the SYN if there is a handshake
``on_open(s, p, a)``        the SYN is acknowledged, cwnd is the transport's initial window; before
                            anything is sent in it. Only with a handshake
``on_undo(s, p, a)``        the last loss or timeout was none, as D-SACK tells (`Transport.dsack`):
                            what it did to the state may be taken back; cwnd and ssthresh are again
                            at least what they were, unless the controller owns its recovery
state `pacing_rate`         packets per second at which the sender spaces what it sends;
                            infinite: as the window lets it
state `wake_at`             s, when ``on_timer`` is to be called
`stamps`                    state that is noted with each packet when it is sent, and given back
                            before ``on_delivery`` (of the packet sent last among those
                            delivered) and ``on_lost_packet``
`owns_recovery`             no rate reduction, no inflation: in recovery cwnd is what the rules say
`owns_start`                no window of the transport's after the first: none after a silence, nor
                            is growth taken back
`chance`                    the state carries a random stream of its own: ``uniform(s)`` of
                            `engine.streams`
==========================  ==================================================================

Rules that keep a largest or smallest value over a time: ``update_max`` of `windowed`.

A packet model calls ``on_ack`` with ``acked = 1``; a fluid model with ``acked = rate * dt``. A rule
that is linear in `acked` therefore means the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from tcpcc.definition import Definition, Param, Registry, Rule, State
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.engine.subset import check_rule
from tcpcc.errors import ScenarioError

#: State that every controller has: (initial value, unit, meaning).
WINDOW: dict[str, tuple[float, str, str]] = {
    "cwnd": (1.0, "packets", "congestion window"),
    "ssthresh": (math.inf, "packets", "slow-start threshold"),
}

MOST_STAMPS = 4  # that a packet has room for

#: What a rule learns about the event, field by field: (unit, meaning).
SAMPLE: dict[str, tuple[str, str]] = {
    "now": ("s", "time of the event"),
    "acked": (
        "packets",
        "newly acknowledged, at most `abc_limit` per ACK (RFC 3465, 2.3); 0 on a loss or timeout",
    ),
    "delivered": ("packets", "acknowledged since the last on_ack, in recovery too; not limited"),
    "rtt": (
        "s",
        "round-trip time of the newest acknowledged packet; 0 if one that the ACK covers was sent "
        "twice (Karn), if it had been selectively acknowledged before, on a loss and a timeout",
    ),
    "srtt": ("s", "smoothed round-trip time, gain 1/8 (RFC 6298)"),
    "base_rtt": ("s", "smallest round-trip time measured so far (BaseRTT)"),
    "max_rtt": ("s", "largest round-trip time measured so far"),
    "round_rtt": ("s", "mean round-trip time over the round that ended last"),
    "round_min_rtt": ("s", "smallest round-trip time in the round that ended last"),
    "round_time": ("s", "length of the round that ended last"),
    "round_packets": ("packets", "sent during the round that ended last"),
    "inflight": (
        "packets",
        "FlightSize (RFC 5681): sent and not yet cumulatively acknowledged. On an ACK, and where a "
        "round ends, one packet that this ACK acknowledges still counts, so that a window in use "
        "is all in flight; and after a timeout only what was sent since (as ns-2's Vegas has it)",
    ),
    "window": ("packets", "window in force: cwnd, or the receiver's if smaller; at least 1"),
    "transmits": ("", "on a loss or timeout: how often the lost packet had been sent; else 0"),
    "limited": (
        "0 or 1",
        "the receiver or the application, not cwnd, limits what is sent (RFC 7661): whatever "
        "``on_ack`` and ``on_round`` add to cwnd is taken back, and parts of a window that a "
        "controller keeps by itself should not grow; 0 on a loss or timeout. In ``on_delivery``: "
        "the rate is of a time in which the application had nothing to send",
    ),
    "marked": ("packets", "marked (ECN), of those that ACKs have told of since the last on_ack"),
    "pipe": (
        "packets",
        "in the network: sent, neither delivered nor deemed lost. Like all that follows, only in "
        "``on_delivery`` and ``on_lost_packet``, where rtt, srtt and base_rtt take in what "
        "selective acknowledgements tell; this and `total_delivered` in ``on_mark`` and "
        "``on_undo``, `phase` in ``on_undo`` as well",
    ),
    "total_delivered": ("packets", "known to have arrived since the start, in any order"),
    "delivery_rate": (
        "packets/s",
        "`rate_delivered` over `rate_interval`, or 0 where these are no measure "
        "(draft-cheng-iccrg-delivery-rate-estimation, 3.3)",
    ),
    "rate_interval": (
        "s",
        "from the delivery before the newest of these packets was sent until now, or what it took "
        "to send as many, if longer",
    ),
    "rate_delivered": ("packets", "delivered since the newest of these packets was sent"),
    "lost": ("packets", "deemed lost since that packet, or the lost one, was sent"),
    "lost_inflight": ("packets", "`pipe` when that packet, or the lost one, had been sent"),
    "phase": ("", "of the loss recovery: 0: none, 1: repairing, 2: after a timeout"),
    "owd": (
        "s",
        "one-way delay of the newest packet, by clocks that agree; 0 if it was sent twice",
    ),
    "word0": ("", "first header word as the ACK brought it back, of a controller with `header`"),
    "word1": ("", "second header word"),
    "word2": ("", "third header word"),
    "word3": ("", "fourth header word"),
    "idle": ("s", "in ``on_restart``: time since the last packet was sent; else 0"),
    "packet_size": ("bytes", "of a full data packet, with headers; always the same"),
    "hops": (
        "",
        "links of the network on the way of its data, as the TTL tells; not its own access links; "
        "always the same",
    ),
}

sample_dtype = np.dtype([(name, np.float64) for name in SAMPLE], align=True)


def nothing(s: Any, p: Any, ack: Any) -> None:
    """The rule where there is nothing to do."""


@dataclass(frozen=True, eq=False)
class Controller(Definition):
    """A congestion-control algorithm, ready for every model.

    Args:
        name: registered name, lower case
        summary: one line
        on_ack, on_round, on_loss, on_timeout: the rules; ``None`` where there is nothing to do
        params: name -> :class:`Param`
        state: name -> :class:`State`, beside ``cwnd`` and ``ssthresh``
        recovery: default loss recovery (one of ``tcpcc.recoveries()``)
        source: the paper or RFC
        validate: of the complete dict of parameters, to a complaint or ``None``; may be ``None``
        header: state variables, at most 4, that every data packet carries as its header words, for
            routers to read and write; they come back as `a.word0`, `a.word1`, ...
        record: state variables that a trace shows, beside the window: columns of ``run.trace()``
        on_delivery, on_lost_packet, on_mark, on_timer, on_restart, on_start, on_open, on_undo: see
            above
        stamps: from a state variable to the one that it is given back in
        owns_recovery, owns_start, chance: see above

    Each rule is read when the controller is made, all its branches and helpers, and tried once, so
    that a misspelt field is an error here and not in the middle of a run.

    Raises
    ------
    ScenarioError : a rule that cannot be meant; one line with its name and the line of its file
    """

    name: str
    summary: str
    on_ack: Rule | None
    on_loss: Rule | None
    on_timeout: Rule | None
    on_round: Rule | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    state: Mapping[str, State] = field(default_factory=dict)
    recovery: str = "newreno"
    source: str = ""
    validate: Callable[[dict[str, float]], str | None] | None = None
    record: tuple[str, ...] = ()
    on_delivery: Rule | None = None
    on_lost_packet: Rule | None = None
    on_mark: Rule | None = None
    on_timer: Rule | None = None
    on_restart: Rule | None = None
    on_start: Rule | None = None
    on_open: Rule | None = None
    on_undo: Rule | None = None
    stamps: Mapping[str, str] = field(default_factory=dict)
    owns_recovery: bool = False
    owns_start: bool = False
    chance: bool = False
    header: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.state:
            if name in WINDOW:
                raise ScenarioError(f"controller {self.name!r}: state {name!r} is common to all")
        self._check_extras()
        object.__setattr__(self, "record", tuple(self.record))
        numbers = [n for n, v in self.state.items() if v.size == 1 and v.kind is float]
        for name in self.header:
            if name not in numbers or len(self.header) > 4:
                raise ScenarioError(
                    f"controller {self.name!r}: header {name!r}: at most 4 real numbers of its"
                    f" state: {', '.join(numbers) or 'none'}"
                )
        for name in self.record:
            if name not in numbers:
                raise ScenarioError(
                    f"controller {self.name!r}: record {name!r} is not a real number of its state:"
                    f" {', '.join(numbers) or 'none'}"
                )
        for rule_name in ("on_ack", "on_loss", "on_timeout"):
            if getattr(self, rule_name) is None:
                object.__setattr__(self, rule_name, nothing)
        for rule_name, rule in self.rules.items():
            if rule is not None:
                owner = f"controller {self.name!r}, {rule_name}"
                check_rule(owner, rule, self.records(SAMPLE, SAMPLE))
                self._try(rule_name, rule)

    def _check_extras(self) -> None:
        """What `stamps` and `on_timer` name is there."""
        numbers = {*WINDOW, *(n for n, v in self.state.items() if v.size == 1 and v.kind is float)}
        for name in (*self.stamps, *self.stamps.values()):
            if name not in numbers:
                raise ScenarioError(
                    f"controller {self.name!r}: stamps: {name!r} is not a real number of its state"
                )
        if len(self.stamps) > MOST_STAMPS:
            raise ScenarioError(
                f"controller {self.name!r}: {len(self.stamps)} stamps: at most {MOST_STAMPS}"
            )
        if (self.on_timer is None) != ("wake_at" not in self.state):
            raise ScenarioError(
                f"controller {self.name!r}: on_timer and the state wake_at go together"
            )

    @property
    def rules(self) -> dict[str, Rule | None]:
        return {
            "on_ack": self.on_ack,
            "on_round": self.on_round,
            "on_loss": self.on_loss,
            "on_timeout": self.on_timeout,
            "on_delivery": self.on_delivery,
            "on_lost_packet": self.on_lost_packet,
            "on_mark": self.on_mark,
            "on_timer": self.on_timer,
            "on_restart": self.on_restart,
            "on_start": self.on_start,
            "on_open": self.on_open,
            "on_undo": self.on_undo,
        }

    @property
    def extras(self) -> list[str]:
        """What it has that needs packets: rules, state and flags of the second table."""
        told = ("on_delivery", "on_lost_packet", "on_timer", "on_start", "on_open")
        found = [n for n in told if self.rules[n]]
        found += [n for n in ("pacing_rate",) if n in self.state]
        return found + [n for n in ("stamps", "owns_recovery", "owns_start") if getattr(self, n)]

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the state: the common window first, then the private variables."""
        private = (v.column(n) for n, v in self.state.items())
        stream = STREAM_FIELDS if self.chance else ()
        return np.dtype([*((n, np.float64) for n in WINDOW), *private, *stream], align=True)

    @property
    def initial_state(self) -> tuple[Any, ...]:
        common = (initial for initial, _, _ in WINDOW.values())
        stream = (12345 + i for i in range(len(STREAM_FIELDS) if self.chance else 0))
        return (*common, *(v.start() for v in self.state.values()), *stream)

    def _try(self, rule_name: str, rule: Rule) -> None:
        s, p, a = self.example()
        known = {"s": set(vars(s)), "p": set(vars(p)), "a": set(vars(a))}
        try:
            rule(s, p, a)
        except AttributeError as error:
            allowed = {"s": "state", "p": "parameters", "a": "sample"}
            raise ScenarioError(
                f"controller {self.name!r}, {rule_name}: {error}; "
                + "; ".join(f"{allowed[k]}: {', '.join(sorted(known[k]))}" for k in known)
            ) from None
        except ArithmeticError:
            pass  # the example's numbers need not suit every algorithm
        extra = set(vars(s)) - known["s"]
        if extra:
            raise ScenarioError(
                f"controller {self.name!r}, {rule_name}: writes s.{extra.pop()}, "
                f"which is not in its state: {', '.join(sorted(known['s']))}"
            )

    def example(self) -> tuple[SimpleNamespace, SimpleNamespace, SimpleNamespace]:
        """State, parameters and a plausible sample, as plain objects to try rules on."""
        s = SimpleNamespace(
            **dict(zip(self.state_dtype.names or (), self.initial_state, strict=True))
        )
        s.cwnd, s.ssthresh = 10.0, 5.0
        p = SimpleNamespace(**{n: float(v.default) for n, v in self.params.items()})
        a = SimpleNamespace(
            now=1.0, acked=1.0, delivered=1.0, rtt=0.11, srtt=0.11, base_rtt=0.1, max_rtt=0.12,
            round_rtt=0.11, round_min_rtt=0.105, round_time=0.11, round_packets=10.0,
            inflight=10.0, window=10.0, transmits=1.0, limited=0.0, marked=0.0,
            pipe=9.0, total_delivered=100.0, delivery_rate=90.0, rate_interval=0.11,
            rate_delivered=10.0, lost=0.0, lost_inflight=10.0, phase=0.0, owd=0.06,
            word0=0.0, word1=0.0, word2=0.0, word3=0.0, packet_size=1000.0, hops=1.0, idle=0.0,
        )  # fmt: skip
        return s, p, a


CONTROLLERS: Registry[Controller] = Registry("controller", ("recovery", "source"))
Controller.registry = CONTROLLERS

get = CONTROLLERS.find
names = CONTROLLERS.names
