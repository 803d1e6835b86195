"""The contract of a congestion controller: parameters, private state, rules.

A controller is a set of plain functions (rules) on three records. It is written once, and every
model runs it:

=======================  ===========================================================================
``on_ack(s, p, a)``      an ACK acknowledges `a.acked` new packets, a **real** number. Not called in
                         fast recovery, unless `every_ack` or ``window="own"``
``on_round(s, p, a)``    a round trip ends: the first packet of the last round is acknowledged
``on_loss(s, p, a)``     a loss event, at most one per window of data
``on_timeout(s, p, a)``  the retransmission timer expires
=======================  ===========================================================================

`s` is the state: the window (``cwnd``, ``ssthresh``, in packets) and the controller's variables.
`p` holds the parameters, `a` the sample (:data:`SAMPLE`). Every rule may read every field; a field
that the event does not have is NaN. A rule may use arithmetic, ``if``, loops, and functions of
``math``; this subset of Python is compiled. Times are in seconds, windows in packets, rates in
packets per second.

The packet model calls ``on_ack`` with ``acked = 1``, or the number of packets in a train, the fluid
model with the real number of packets that return in a step. A rule that is linear in `acked` means
the same in all of them.

Optional rules and settings. What a controller does not have is neither called nor measured:

===========================  =======================================================================
`every_ack`                  ``on_ack`` is called for every ACK that reports `a.delivered` new
                             packets, in recovery too (`a.phase`), after ``on_loss`` and before
                             anything is sent. Its growth of cwnd is not taken back or rounded
``window="own"``             `every_ack`, and the transport never changes cwnd: no rate reduction or
                             inflation in recovery, no restart after idle periods. Its growth must
                             stop while the flow is limited: it adds `a.growing`, or its model of
                             the path leaves out samples with `a.app_limited`
``on_lost_packet(s, p, a)``  a packet is marked lost; called once for each, before ``on_ack``
``on_mark(s, p, a)``         an ACK reports an ECN mark: at most once per window of data, not in
                             recovery. Without it ``on_loss`` is called
``on_timer(s, p, a)``        the time in the state variable `wake_at` has come; it is infinite until
                             a rule sets it
``on_restart(s, p, a)``      the application has data again after everything sent was acknowledged;
                             called before any of it is sent. `a.idle` is the time since then
``on_start(s, p, a)``        before the first segment (the SYN if there is a handshake)
``on_open(s, p, a)``         the SYN is acknowledged and cwnd is the initial window; called before
                             anything is sent. Only with a handshake
``on_send(s, p, a)``         a packet leaves, for the first time or again (`a.retransmitted`); not
                             the SYN. `a.inflight` and `a.pipe` include it. A new window applies to
                             what is sent later. The fluid model calls the rule once for all that
                             leaves in a step (`a.sent`)
``on_undo(s, p, a)``         the last loss or timeout was spurious (`Transport.dsack`, `eifel`,
                             `frto`). cwnd and ssthresh are restored already, unless
                             ``window="own"``
state `pacing_rate`          packets per second at which the sender paces; infinite: no pacing
state `wake_at`              s, time of the next ``on_timer``
`stamps`                     state variables that are saved with each packet when it is sent, and
                             restored before ``on_ack`` (from the newest packet delivered) and
                             ``on_lost_packet``; saved after ``on_send``
`chance`                     the state has a random stream: ``uniform(s)`` of `engine.streams`
`exact`                      rules depend on values that means hide, such as a flag that changes
                             every round, or the sign of the difference of two RTTs. All models run
                             the controller; `tc.analysis` refuses it
`coupled`                    the state has `members`, the number of flows in the flow's group
                             (``Flow(group=...)``), 1 without a group. ``member(s, i)`` of
                             `engine.jit` is the state of each, for a rule to read
===========================  =======================================================================

``update_max`` of `windowed` keeps the largest value of a sliding window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Number
from types import SimpleNamespace
from typing import Any

import numpy as np

from tcpcc.definition import (
    Definition,
    Param,
    Registry,
    Rule,
    State,
    check_header,
    header_columns,
)
from tcpcc.engine.jit import GROUP_FIELDS
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.engine.subset import Fields, check_rule, fields_read
from tcpcc.errors import ScenarioError, refuse, shown

#: State that every controller has: (initial value, unit, meaning).
WINDOW: dict[str, tuple[float, str, str]] = {
    "cwnd": (1.0, "packets", "congestion window"),
    "ssthresh": (math.inf, "packets", "slow-start threshold"),
}

#: State of a `coupled` controller that the models set: name -> (unit, meaning).
GROUP: dict[str, tuple[str, str]] = {
    "members": (
        "flows",
        "in the flow's group, 1 without one; ``member(s, i)`` is the state of each, from 0. Only of"
        " a controller with ``coupled=True``",
    ),
}

MOST_STAMPS = 4  # that a packet has room for

#: What a rule may read of the event: name -> (unit, meaning, plausible value).
SAMPLE: dict[str, tuple[str, str, float]] = {
    "now": ("s", "time of the event", 1.0),
    "acked": (
        "packets",
        "newly acknowledged, at most `abc_limit` per ACK (RFC 3465, 2.3); 0 in fast recovery, on a "
        "loss and on a timeout",
        1.0,
    ),
    "delivered": (
        "packets",
        "acknowledged since the last ``on_ack``, in recovery too; without that limit. With "
        "`every_ack`: newly reported by this ACK, in any order",
        1.0,
    ),
    "rtt": (
        "s",
        "RTT of the newest acknowledged packet. 0 where there is no sample: if the ACK covers a "
        "retransmission (Karn), if the packet was selectively acknowledged before, on a loss and "
        "on a timeout. A rule tests ``ack.rtt > 0``, or uses `srtt`",
        0.11,
    ),
    "srtt": (
        "s",
        "smoothed RTT, gain 1/8 (RFC 6298). With `every_ack` srtt, rtt and base_rtt include "
        "selective acknowledgements, except in ``on_loss``, ``on_timeout`` and ``on_mark``",
        0.11,
    ),
    "base_rtt": ("s", "smallest RTT so far (BaseRTT)", 0.1),
    "max_rtt": ("s", "largest RTT so far", 0.12),
    "round_rtt": ("s", "mean RTT of the last round; 0 in the first, as the next three", 0.11),
    "round_min_rtt": ("s", "smallest RTT of the last round", 0.105),
    "round_time": ("s", "duration of the last round", 0.11),
    "round_packets": ("packets", "sent in the last round", 10.0),
    "inflight": (
        "packets",
        "FlightSize (RFC 5681): sent and not cumulatively acknowledged. On an ACK and at the end "
        "of a round it includes one packet that this ACK acknowledges, so that a window in full "
        "use is all in flight. After a timeout only packets sent since then count (as in ns-2)",
        10.0,
    ),
    "window": (
        "packets",
        "window in force: min(cwnd, receiver's window), at least 1. On a loss or timeout at most "
        "the packets in flight if the application limits the sender (`flight_ssthresh`)",
        10.0,
    ),
    "transmits": (
        "",
        "on a loss or timeout: how often the lost packet was sent before; else 0",
        1.0,
    ),
    "limited": (
        "0 or 1",
        "the receiver or the application limits sending, not cwnd (RFC 7661). The transport then "
        "takes back what ``on_ack`` and ``on_round`` add to cwnd, unless ``on_ack`` is called for "
        "every ACK. A second window grows by `growing`, and `clock` counts time since a loss. 0 on "
        "a loss or timeout",
        0.0,
    ),
    "growing": (
        "packets",
        "newly acknowledged and used to the full: `acked`, or `delivered` where ``on_ack`` is "
        "called for every ACK; 0 while `limited`, on a loss and on a timeout",
        1.0,
    ),
    "clock": (
        "s",
        "`now` less the time for which sending was `limited` and less idle periods: measures time "
        "since a loss (RFC 9438, 4.2 and 5.8). With the sender of Linux less idle periods only",
        1.0,
    ),
    "marked": ("packets", "ECN-marked, of those that ACKs reported since the last on_ack", 0.0),
    "ce": (
        "packets",
        "ECN-marked, of those that this ACK reports (classic ECN: 1 for an ACK with ECE)",
        0.0,
    ),
    "phase": ("", "loss recovery: 0 none, 1 fast recovery, 2 after a timeout", 0.0),
    "pipe": ("packets", "in the network: sent, neither delivered nor marked lost", 9.0),
    "total_delivered": ("packets", "delivered since the start, in any order", 100.0),
    "delivery_rate": (
        "packets/s",
        "`rate_delivered` / `rate_interval`, or 0 if there is no valid sample "
        "(draft-cheng-iccrg-delivery-rate-estimation, 3.3). This field and those below, up to "
        "`owd`, describe the newest packet that the ACK reports: NaN except in ``on_ack``, "
        "``on_round`` and ``on_mark``",
        90.0,
    ),
    "rate_interval": (
        "s",
        "time from the delivery before the newest packet was sent until now, or the time it took "
        "to send as many packets, if longer",
        0.11,
    ),
    "rate_delivered": (
        "packets",
        "delivered since the newest packet was sent. This field and the next three are known in "
        "``on_lost_packet`` too, of the lost packet",
        10.0,
    ),
    "app_limited": (
        "0 or 1",
        "the application or the receiver limited the rate when that packet was sent (with "
        "`window_decay`, as in Linux, the application only)",
        0.0,
    ),
    "lost": ("packets", "marked lost since that packet was sent", 0.0),
    "lost_inflight": ("packets", "`pipe` when that packet was sent", 10.0),
    "owd": (
        "s",
        "one-way delay of the newest packet (synchronized clocks); 0 if it was sent twice",
        0.06,
    ),
    "piece": (
        "packets",
        "that leave together at the pacing rate of the last sending (`Transport.gso_time`,"
        " `gso_segments`)",
        1.0,
    ),
    "idle": ("s", "in ``on_restart``: time since the last packet was sent; else 0", 0.0),
    "sent": ("packets", "in ``on_send``: sent now, a real number; else 0", 1.0),
    "retransmitted": ("packets", "in ``on_send``: of `sent`, those sent before; else 0", 0.0),
    "packet_size": ("bytes", "of a full data packet with headers; constant", 1000.0),
    "hops": ("", "number of links on the path of the data, without access links; constant", 1.0),
}

#: Fields of single packets. A record of each is kept only for a controller that reads one.
OF_PACKETS = (
    "pipe", "total_delivered", "delivery_rate", "rate_interval", "rate_delivered", "app_limited",
    "lost", "lost_inflight", "owd", "piece",
)  # fmt: skip

#: The numbers of a sample. :attr:`Controller.sample_dtype` has the header fields after it.
sample_dtype = np.dtype([(name, np.float64) for name in SAMPLE], align=True)


def sizes_sent(
    owner: str, header: Mapping[str, str | int], state: Mapping[str, State]
) -> dict[str, int]:
    """Number of words of the header fields that a sender fills from its `state`.

    Raises:
        ScenarioError: a field names a variable that is not of real numbers.
    """
    sizes = {}
    for name, source in header.items():
        if isinstance(source, str):
            if source not in state or state[source].kind is not float:
                real = (n for n, v in state.items() if v.kind is float)
                allowed = f"a real variable of its state ({', '.join(real) or 'none'})"
                raise refuse(f"{owner}: header {name!r}", source, f"{allowed} or a number of words")
            source = state[source].size
        sizes[name] = source
    return sizes


#: The names of a controller's rules.
RULES = (
    "on_ack", "on_round", "on_loss", "on_timeout", "on_lost_packet", "on_mark", "on_timer",
    "on_restart", "on_start", "on_open", "on_undo", "on_send",
)  # fmt: skip


def nothing(s: Any, p: Any, ack: Any) -> None:
    """The rule where there is nothing to do."""


@dataclass(frozen=True, eq=False)
class Controller(Definition):
    """A congestion-control algorithm that every model can run.

    Args:
        name: unique name, lower case.
        summary: one line.
        on_ack: called as ``on_ack(s, p, a)`` for an ACK of new data outside fast recovery; with
            `every_ack` for each ACK that reports delivered packets. Default: nothing to do.
        on_loss: called for a loss event, at most once per window of data. Default: nothing to do.
        on_timeout: called when the retransmission timer expires. Default: nothing to do.
        on_round: called once per round trip.
        params: name -> `Param`.
        state: name -> `State`, in addition to cwnd and ssthresh.
        recovery: default loss recovery, one of ``tcpcc.recoveries()``. "sack-prr" unless given.
        slow_start: default slow-start rule, one of ``tcpcc.slow_starts()``. "standard", the
            controller's own slow start, unless given; built-in controllers that start as Reno does
            have "hystart++".
        source: paper or RFC.
        validate: takes the dict of all parameters, returns a complaint or None.
        record: state variables that a trace shows, as columns of ``run.trace()`` after
            ``simulate(scenario, trace=True)``; ``Flow(record=...)`` chooses variables for series.
        on_lost_packet: called for each packet that is marked lost.
        on_mark: called for an ECN mark; None: ``on_loss`` is called.
        on_timer: called at the time in the state variable `wake_at`.
        on_restart: called when the application has data again after an idle period.
        on_start: called before the first segment.
        on_open: called when the SYN is acknowledged.
        on_undo: called when the last loss or timeout was spurious.
        on_send: called for each packet sent, retransmissions too.
        stamps: state variables saved with each packet -> the variables they are restored to.
        every_ack: ``on_ack`` is called in recovery too, and nothing takes its growth of cwnd back.
        window: "shared": the transport too changes cwnd, in recovery and after idle periods; "own":
            only the rules do, and `every_ack` is set.
        chance: the state has a random stream.
        exact: rules depend on values that means hide; `tc.analysis` refuses the controller.
        coupled: rules read the states of all flows of the flow's group.
        header: header fields that every data packet carries, for routers to read and write: name ->
            the state variable with the value sent, or a number of words sent as 0. ``a.name`` is
            the value that the newest ACK returned, ``a.name[i]`` if the field has several words.
        look: colour and marker in figures: a colour of `plots.COLOURS` or of Matplotlib, and one of
            Matplotlib's markers.

    All branches and helpers of each rule are checked when the controller is made, and the rule is
    run once, so that a misspelt field is an error at once. The types in branches that this run
    does not reach are checked when the rule is compiled, before the first simulation.

    Raises:
        ScenarioError: a rule that does not compile or reads an unknown field; one line with its
            name and the line of its file.
    """

    name: str
    summary: str
    on_ack: Rule = nothing
    on_loss: Rule = nothing
    on_timeout: Rule = nothing
    on_round: Rule | None = None
    params: Mapping[str, Param] = field(default_factory=dict)
    state: Mapping[str, State] = field(default_factory=dict)
    recovery: str = "sack-prr"
    slow_start: str = "standard"
    source: str = ""
    validate: Callable[[dict[str, float]], str | None] | None = None
    record: tuple[str, ...] = ()
    on_lost_packet: Rule | None = None
    on_mark: Rule | None = None
    on_timer: Rule | None = None
    on_restart: Rule | None = None
    on_start: Rule | None = None
    on_open: Rule | None = None
    on_undo: Rule | None = None
    on_send: Rule | None = None
    stamps: Mapping[str, str] = field(default_factory=dict)
    every_ack: bool = False
    window: str = "shared"
    chance: bool = False
    exact: bool = False
    coupled: bool = False
    header: Mapping[str, str | int] = field(default_factory=dict)
    look: tuple[str, str] = ("#777777", "")

    def __post_init__(self) -> None:
        common = {*WINDOW, *(dict(GROUP_FIELDS) if self.coupled else ())}
        for name in self.state:
            if name in common:
                raise ScenarioError(f"{self.owner}: state {name!r} is common to all")
        self._check_extras()
        object.__setattr__(self, "every_ack", self.every_ack or self.window == "own")
        object.__setattr__(self, "record", tuple(self.record))
        check_header(self.owner, self.header_sizes, SAMPLE)
        for name in self.record:
            if name not in self.numbers:
                raise ScenarioError(
                    f"{self.owner}: record {name!r} is not a real number of its state:"
                    f" {', '.join(self.numbers) or 'none'}"
                )
        for rule_name, rule in self.rules.items():
            owner = f"{self.owner}, {rule_name}"
            if rule is not None:
                check_rule(owner, rule, self._records)
                self._try(rule_name, rule)
            elif getattr(Controller, rule_name) is nothing:
                raise refuse(owner, rule, "a function; leave it out if there is nothing to do")

    def _check_extras(self) -> None:
        """What `stamps` and `on_timer` name is there, and `window` is a choice."""
        if self.window not in ("shared", "own"):
            raise refuse(f"{self.owner}: window", self.window, '"shared" or "own"')
        numbers = {*WINDOW, *self.numbers}
        for name in (*self.stamps, *self.stamps.values()):
            if name not in numbers:
                raise ScenarioError(
                    f"{self.owner}: stamps: {name!r} is not a real number of its state"
                )
        if len(self.stamps) > MOST_STAMPS:
            raise ScenarioError(f"{self.owner}: {len(self.stamps)} stamps: at most {MOST_STAMPS}")
        if (self.on_timer is None) != ("wake_at" not in self.state):
            raise ScenarioError(f"{self.owner}: on_timer and the state wake_at go together")

    @property
    def numbers(self) -> list[str]:
        """The variables of its private state that are single real numbers."""
        return [n for n, v in self.state.items() if v.size == 1 and v.kind is float]

    @property
    def rules(self) -> dict[str, Rule | None]:
        return {name: getattr(self, name) for name in RULES}

    @property
    def extras(self) -> list[str]:
        """What it has that needs packets: rules, state and settings of the second table, and fields
        of the sample."""
        rules = ("on_lost_packet", "on_timer", "on_start", "on_open", "on_send")
        extras = [n for n in ("every_ack", "stamps") if getattr(self, n)]
        extras += [n for n in rules if self.rules[n]]
        extras += [n for n in ("pacing_rate",) if n in self.state]
        return extras + [f"a.{name}" for name in self.reads_of_packets]

    @cached_property
    def reads_of_packets(self) -> list[str]:
        """The fields of :data:`OF_PACKETS` that a rule reads."""
        return [name for name in OF_PACKETS if name in self._fields_read]

    @property
    def reads_base_rtt(self) -> bool:
        """Whether a rule reads the smallest RTT so far."""
        return "base_rtt" in self._fields_read

    @cached_property
    def _fields_read(self) -> frozenset[str]:
        return fields_read(self.rules.values(), self._records)

    @property
    def _records(self) -> tuple[Fields | None, ...]:
        fields = (*SAMPLE, *self.header)
        return self.records(fields, fields)

    @cached_property
    def header_sizes(self) -> dict[str, int]:
        """Number of words of each header field."""
        return sizes_sent(self.owner, self.header, self.state)

    @cached_property
    def sample_dtype(self) -> np.dtype:
        """Record of the sample: the fields of all controllers, then the header fields."""
        numbers = [(name, np.float64) for name in SAMPLE]
        return np.dtype([*numbers, *header_columns(self.header_sizes)])

    @cached_property
    def state_dtype(self) -> np.dtype:
        """Record of the state: the common window first, then the private variables."""
        private = (v.column(n) for n, v in self.state.items())
        group = GROUP_FIELDS if self.coupled else ()
        stream = STREAM_FIELDS if self.chance else ()
        return np.dtype([*((n, np.float64) for n in WINDOW), *private, *stream, *group], align=True)

    @property
    def initial_state(self) -> tuple[Any, ...]:
        common = (initial for initial, _, _ in WINDOW.values())
        stream = (12345 + i for i in range(len(STREAM_FIELDS) if self.chance else 0))
        group = (1, 0) if self.coupled else ()
        return (*common, *(v.start() for v in self.state.values()), *stream, *group)

    def _try(self, rule_name: str, rule: Rule) -> None:
        owner = f"{self.owner}, {rule_name}"
        s, p, a = self.example()
        names = {"s": set(vars(s)), "p": set(vars(p)), "a": set(vars(a))}
        try:
            rule(s, p, a)
        except AttributeError as error:
            allowed = {"s": "state", "p": "parameters", "a": "sample"}
            raise ScenarioError(
                f"{owner}: {error}; "
                + "; ".join(f"{allowed[k]}: {', '.join(sorted(names[k]))}" for k in names)
            ) from None
        except (ArithmeticError, ValueError, IndexError):
            pass  # the example's numbers, and its group of one, need not suit every algorithm
        except TypeError as error:
            raise ScenarioError(f"{owner}: {error}") from None
        for name, value in vars(s).items():
            if not isinstance(value, Number | np.ndarray):
                raise ScenarioError(f"{owner}: s.{name} = {shown(value)}: must be a number")
        extra = set(vars(s)) - names["s"]
        if extra:
            raise ScenarioError(
                f"{owner}: writes s.{extra.pop()}, which is not in its state: "
                + ", ".join(sorted(names["s"]))
            )

    def example(self) -> tuple[SimpleNamespace, SimpleNamespace, SimpleNamespace]:
        """State, parameters and a plausible sample, as plain objects to try rules on."""
        first = np.array([self.initial_state], self.state_dtype)[0]
        values = {name: first[name] for name in self.state_dtype.names or ()}
        s = SimpleNamespace(**{n: v if v.ndim else v.item() for n, v in values.items()})
        s.cwnd, s.ssthresh = 10.0, 5.0
        p = SimpleNamespace(**{n: float(v.default) for n, v in self.params.items()})
        words = {name: 0.0 if k == 1 else np.zeros(k) for name, k in self.header_sizes.items()}
        defaults = {name: value for name, (_, _, value) in SAMPLE.items()}
        a = SimpleNamespace(**defaults, **words)
        return s, p, a


CONTROLLERS: Registry[Controller] = Registry(
    "controller", "tcpcc.controllers", ("recovery", "slow_start", "source")
)
Controller.registry = CONTROLLERS
