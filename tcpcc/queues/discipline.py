"""The contract of a queue discipline: parameters, private state, rules.

=========================  =====================================================================
``on_arrival(s, p, q)``    a packet arrives: set `q.drop` to 1 to drop it, `q.mark` to mark it
``on_fluid(s, p, q)``      for models without packets: `q.arrivals` packets (a real number) arrived.
                           Set `q.prob`, the drop probability, and `q.spread`, how irregular the
                           spacing of drops is; `q.anew` = 1 restarts the spacing
``on_interval(s, p, q)``   a timer: called at the start, then at the time `q.wake` that it sets
``on_departure(s, p, q)``  a packet is about to be sent after waiting for `q.sojourn`: set `q.drop`
                           or `q.mark`. After a drop the next packet follows at once
``on_select(s, p, q)``     with several inner queues: set `q.inner` to the one that sends next
=========================  =====================================================================

`s` is the state, `p` the parameters, `q` the sample (:data:`SAMPLE`). A full buffer drops the
packet in any case (`q.full`), but ``on_arrival`` is called. A mark drops a packet that is not
ECN-capable; an AQM with a parameter `ecn` calls :func:`notify`.

A discipline that only acts on arrival costs no event. ``on_departure`` makes its link a scheduled
one, with an event per departure; it runs in packets only, unless it has ``on_fluid`` or
`in_amounts`. With several `inner` queues ``on_arrival`` sets `q.inner`, the packet's queue (0, 1,
...). It may also make room in a full buffer: `q.evict` is an inner queue and `q.evictions`
the number of packets dropped from its head; ``on_departure`` is called for each with `q.evicted`.

A discipline with `reads_headers` reads and writes four fields of a packet's header. A discipline
with `in_amounts` never drops or marks, and counts `q.arrivals` packets with each call of
``on_arrival`` and ``on_departure``; the fluid model then calls these rules with the amount of each
flow in a time step, and needs no ``on_fluid``. ``uniform(s)`` of `engine.streams` gives random
numbers: every queue's state has a stream. Packet and fluid model share one drop law, because
both rules call the same helper functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tcpcc.definition import Definition, Flag, Param, Registry, Rule, State
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.engine.subset import check_rule

#: What a rule may read, and set where it says "out": name -> (unit, meaning).
SAMPLE: dict[str, tuple[str, str]] = {
    "now": ("s", "time of the event"),
    "queue": ("packets", "waiting, without the arriving packet and the one being sent"),
    "queue_bytes": ("bytes", "the same in bytes"),
    "size": ("bytes", "of the packet"),
    "arrivals": ("packets", "that this call stands for: 1, or a real number in the fluid model"),
    "idle": ("s", "how long the link has been idle; 0 while it sends"),
    "rate": ("bit/s", "of the link; while the link is down, the rate before"),
    "delay": ("s", "propagation delay of the link"),
    "limit": ("packets", "of this size that fit, with the one being sent; may be infinite"),
    "full": ("0 or 1", "the buffer is full: the packet will be dropped in any case"),
    "flow": ("", "number of the packet's flow (packet model)"),
    "flows": ("", "open sources with data or ACKs on the link"),
    "ect": ("0 or 1", "the packet is ECN-capable (packet model)"),
    "words": ("0 or 1", "the packet carries header fields (`reads_headers`); 0 for an ACK"),
    "word0": ("", "in, out: first header field, as the controller defines it"),
    "word1": ("", "in, out: second header field"),
    "word2": ("", "in, out: third header field"),
    "word3": ("", "in, out: fourth header field"),
    "sojourn": ("s", "(on_departure) waiting time of the packet"),
    "again": ("0 or 1", "(on_departure) the previous packet of this inner queue was dropped"),
    "inner": ("", "inner queue of the packet; out (on_arrival, on_select)"),
    "inner_queue": ("packets", "(on_departure) waiting in its inner queue, without it"),
    "inner_bytes": ("bytes", "the same in bytes"),
    "evict": ("", "out (on_arrival): inner queue that makes room in a full buffer; -1: none"),
    "evictions": ("packets", "out (on_arrival): number of packets dropped from its head"),
    "evicted": ("0 or 1", "(on_departure) the packet is evicted; no decision is needed"),
    "drop": ("0 or 1", "out: drop the packet"),
    "mark": ("0 or 1", "out: mark the packet (ECN), or drop it if it is not ECN-capable"),
    "prob": ("", "out (on_fluid): drop probability"),
    "spread": ("", "out (on_fluid): drop spacing is uniform on mean x [1 - spread, 1 + spread]"),
    "memory": ("packets", "out (on_fluid): how far back `concentration` looks; 0: not needed"),
    "concentration": ("", "(on_fluid) probability that a past arrival is of the same flow"),
    "anew": ("0 or 1", "out (on_fluid): the drop spacing restarts with the next arrival"),
    "wake": ("s", "out (on_interval): time of the next call; must be later than `now`"),
}

#: The packet's header, and all that a rule may set.
WORDS = tuple(name for name in SAMPLE if name.startswith("word") and name != "words")
OUT = (
    *("drop", "mark", "prob", "spread", "memory", "anew", "wake", "inner", "evict", "evictions"),
    *WORDS,
)
#: A parameter of disciplines that can mark.
ECN = Flag(False, "mark ECN-capable packets instead of dropping them early")


def notify(p, q):
    """Tell the sender of the packet of congestion: mark it, or drop it."""
    if p.ecn:
        q.mark = 1.0
    else:
        q.drop = 1.0


sample_dtype = np.dtype([(name, np.float64) for name in SAMPLE], align=True)


@dataclass(frozen=True, eq=False)
class Discipline(Definition):
    """A queue discipline that every model can run.

    Args:
        name: unique name.
        summary: one line.
        on_arrival: called for each arriving packet; None: only a full buffer drops.
        on_fluid: the drop law for models without packets.
        on_interval: called by a timer.
        on_departure: called before a packet is sent.
        on_select: chooses the inner queue that sends next.
        inner: number of inner queues; more than one need ``on_select`` and ``on_departure``.
        params: name -> `Param`.
        state: name -> `State`.
        source: paper or RFC.
        validate: takes the dict of all parameters, returns a complaint or None.
        record: state variables that a run records as ``queue_<name>`` of ``run.data``. A name that
            another discipline records too must have the same unit and text.
        reads_headers: the rules read and write header fields.
        in_amounts: the rules never drop, and count `q.arrivals` packets per call.
    """

    name: str
    summary: str
    on_arrival: Rule | None = None
    on_fluid: Rule | None = None
    on_interval: Rule | None = None
    on_departure: Rule | None = None
    on_select: Rule | None = None
    inner: int = 1
    params: Mapping[str, Param] = field(default_factory=dict)
    state: Mapping[str, State] = field(default_factory=dict)
    source: str = ""
    validate: Callable[[dict[str, float]], str | None] | None = None
    record: tuple[str, ...] = ()
    reads_headers: bool = False
    in_amounts: bool = False

    def __post_init__(self) -> None:
        if self.in_amounts and (self.on_fluid or self.on_arrival is None or self.inner != 1):
            raise ValueError(
                f"queue {self.name!r}: in_amounts needs on_arrival and one inner queue, and takes"
                " no on_fluid"
            )
        if self.on_interval and not (self.on_departure or (self.on_arrival and self.fluid_rule)):
            raise ValueError(
                f"queue {self.name!r}: on_interval needs on_arrival and on_fluid, or on_departure"
            )
        if (self.on_select or self.inner != 1) and not (
            self.on_select and self.on_arrival and self.on_departure and self.inner > 1
        ):
            raise ValueError(
                f"queue {self.name!r}: inner = {self.inner}: several inner queues need on_arrival,"
                " on_select and on_departure"
            )
        listed = (f"{n} : {p.doc} ({p.unit}; {p.text(p.default)})" for n, p in self.params.items())
        object.__setattr__(self, "__doc__", "\n".join([self.summary, "", *listed]))
        for rule_name, rule in self.rules.items():
            if rule is not None:
                check_rule(f"queue {self.name!r}, {rule_name}", rule, self.records(SAMPLE, OUT))
        for name in self.record:
            if name not in self.state or self.state[name].size > 1:
                raise ValueError(
                    f"queue {self.name!r}: record {name!r} is not a number of its state:"
                    f" {', '.join(n for n, v in self.state.items() if v.size == 1)}"
                )

    def __call__(self, **params: float | bool) -> QueueSpec:
        """The discipline with these parameters, for a link: ``tc.RED(min_thresh=5)``.

        Raises:
            ScenarioError: a name that is not a parameter, a value out of its range.
        """
        self.check(params)
        return QueueSpec(self.name, tuple(sorted((k, float(v)) for k, v in params.items())))

    @property
    def rules(self) -> dict[str, Rule | None]:
        return {
            "on_arrival": self.on_arrival,
            "on_fluid": self.on_fluid,
            "on_interval": self.on_interval,
            "on_departure": self.on_departure,
            "on_select": self.on_select,
        }

    @property
    def decides_by_packet(self) -> bool:
        """Whether it has to see packets as they come or go."""
        return self.on_arrival is not None or self.on_departure is not None

    @property
    def fluid_rule(self) -> Rule | None:
        """The rule for what arrives in fluid."""
        return self.on_arrival if self.in_amounts else self.on_fluid

    @property
    def runs_in_fluid(self) -> bool:
        """Whether a model without packets can say what it drops."""
        return self.in_amounts or self.on_fluid is not None or not self.decides_by_packet

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the state: the random stream first, then the private variables."""
        private = (v.column(n) for n, v in self.state.items())
        return np.dtype([*STREAM_FIELDS, *private], align=True)


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A discipline by name with the parameters that differ from its defaults."""

    name: str
    params: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        self.discipline.check(dict(self.params))

    @property
    def discipline(self) -> Discipline:
        return QUEUES.find(self.name)

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{k}={v if isinstance(v, bool) else format(v, 'g')}"
            for k, v in self.discipline.plain(self.params).items()
        )
        return f"{self.name}({inside})"


class _Disciplines(Registry[Discipline]):
    def add(self, definition: Discipline) -> Discipline:
        """Make a discipline known.

        Raises:
            ValueError: it records a name that means something else in another discipline.
        """
        for other in self.values():
            if other.name != definition.name:
                _check_meaning(definition, other)
        return super().add(definition)


def _check_meaning(discipline: Discipline, other: Discipline) -> None:
    for name in sorted({*discipline.record} & {*other.record}):
        a, b = discipline.state[name], other.state[name]
        if (a.unit, a.doc) != (b.unit, b.doc):
            raise ValueError(
                f"queue {discipline.name!r}: record {name!r} is {a.doc!r} ({a.unit}), but in"
                f" {other.name!r} it is {b.doc!r} ({b.unit})"
            )


QUEUES: Registry[Discipline] = _Disciplines("queue")
Discipline.registry = QUEUES
