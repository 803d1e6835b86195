"""The contract of a queue discipline: parameters, private state, rules.

=========================  =====================================================================
``on_arrival(s, p, q)``    a packet arrives: set `q.drop` to 1 to drop it, `q.mark` to mark it
``on_fluid(s, p, q)``      for amounts of packets: `q.arrivals` packets (a real number) arrived.
                           Set `q.prob`, the drop probability, and `q.spread`, how irregular the
                           spacing of drops is; `q.anew` = 1 restarts the spacing; also `q.marks`,
                           and `q.prob_l4s` and `q.bypass` for ECT(1)
``on_interval(s, p, q)``   a timer: called at the start, then at the time `q.wake` that it sets
``on_departure(s, p, q)``  a packet is about to be sent after waiting for `q.sojourn`: set `q.drop`
                           or `q.mark`. After a drop the next packet follows at once
``on_select(s, p, q)``     packets wait and the link is free: set `q.inner`, the inner queue that
                           sends next, or `q.not_before`, a time before which nothing is sent
=========================  =====================================================================

`s` is the state, `p` the parameters, `q` the sample (:data:`SAMPLE`). A rule may read every field;
a field that is not known there is NaN. A full buffer drops the packet in any case (`q.full`), but
``on_arrival`` is called. A mark drops a packet that is not ECN-capable; an AQM with a parameter
`ecn` calls :func:`notify`.

A discipline that only acts on arrival costs no event. ``on_departure`` or ``on_select`` makes its
link a scheduled one, with an event per departure. `tcpcc.analysis` takes a discipline only if it
has ``on_fluid`` or `in_amounts`; in the fluid model the others decide about whole packets.

With several `inner` queues ``on_arrival`` sets `q.inner`, the packet's queue (0, 1, ...);
`q.waiting[i]`, `q.waiting_bytes[i]`, `q.head_at[i]` and `q.head_size[i]` describe inner queue `i`.
``on_arrival`` may also make room in a full buffer:
`q.evict` is an inner queue and `q.evictions` the number of packets dropped from its head, and more
if they were too small; ``on_departure`` is called for each with `q.evicted`. A shaper sets
`q.not_before`; ``on_select`` is called again at that time, or when a packet arrives before it.

A discipline with `header` reads and writes fields of a packet's header: ``q.name``, or
``q.name[i]`` if the field has several words. They are NaN unless the packet carries all of them,
see `q.words`. A discipline with `in_amounts` never drops or marks, and counts `q.arrivals`
packets with each call of
``on_arrival`` and ``on_departure``, so it needs no ``on_fluid`` where a packet stands for several.
``uniform(s)`` of `engine.streams` gives random
numbers: every queue's state has a stream. All models share one drop law, because
both rules call the same helper functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tcpcc.definition import (
    Definition,
    Flag,
    Param,
    Registry,
    Rule,
    State,
    check_header,
    header_columns,
)
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.engine.subset import Fields, check_rule, fields_read
from tcpcc.errors import ScenarioError

#: What a rule may read, and set where it says "out": name -> (unit, meaning).
SAMPLE: dict[str, tuple[str, str]] = {
    "now": ("s", "time of the event"),
    "queue": ("packets", "waiting, without the arriving packet and the one being sent"),
    "queue_bytes": ("bytes", "the same in bytes"),
    "size": ("bytes", "of the packet"),
    "arrivals": ("packets", "that this call stands for: 1, or a real number in `on_fluid`"),
    "idle": ("s", "how long the link has been idle; 0 while it sends"),
    "rate": ("bit/s", "of the link; while the link is down, the rate before"),
    "delay": ("s", "propagation delay of the link"),
    "limit": ("packets", "of this size that fit, with the one being sent; may be infinite"),
    "full": ("0 or 1", "the buffer is full: the packet will be dropped in any case"),
    "flow": ("", "number of the packet's flow (packet model)"),
    "flows": ("", "open sources with data or ACKs on the link"),
    "ecn": (
        "0 to 3",
        "ECN field of the packet: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE (packet model)",
    ),
    "ect": ("0 or 1", "the packet is ECN-capable: `ecn` is not 0"),
    "traffic_class": ("0 to 63", "of the packet's flow, as its DSCP (packet model)"),
    "words": ("0 or 1", "the packet carries the header fields in `header`; 0 for an ACK"),
    "sojourn": ("s", "(on_departure) waiting time of the packet"),
    "again": ("0 or 1", "(on_departure) the previous packet of this inner queue was dropped"),
    "inner": ("", "inner queue of the packet; out (on_arrival, on_select)"),
    "inner_queue": ("packets", "(on_departure) waiting in its inner queue, without it"),
    "inner_bytes": ("bytes", "(on_departure) the same in bytes"),
    "evict": ("", "out (on_arrival): inner queue that makes room in a full buffer; -1: none"),
    "evictions": ("packets", "out (on_arrival): number of packets dropped from its head"),
    "evicted": ("0 or 1", "(on_departure) the packet is evicted; no decision is needed"),
    "drop": ("0 or 1", "out: drop the packet"),
    "mark": ("0 or 1", "out: mark the packet (ECN), or drop it if it is not ECN-capable"),
    "prob": ("", "out (on_fluid): drop probability"),
    "spread": ("", "out (on_fluid): drop spacing is uniform on mean x [1 - spread, 1 + spread]"),
    "concentration": ("", "(on_fluid) probability that two arrivals are of the same flow"),
    "marks": ("0 or 1", "out (on_fluid): ECN-capable packets are marked instead of dropped"),
    "prob_l4s": ("", "out (on_fluid): `prob` of ECT(1) packets; NaN: the same"),
    "bypass": ("", "out (on_fluid): share of the link up to which ECT(1) packets do not wait"),
    "anew": ("0 or 1", "out (on_fluid): the drop spacing restarts with the next arrival"),
    "wake": ("s", "out (on_interval): time of the next call; must be later than `now`"),
    "not_before": ("s", "out (on_select): the link sends nothing before this time"),
}
#: What a rule may read of each inner queue, ``q.waiting[i]``: name -> (unit, meaning). A link that
#: is not a scheduled one has one inner queue, with NaN for its head.
EACH: dict[str, tuple[str, str]] = {
    "waiting": ("packets", "in inner queue `i`, without the packet that arrives or leaves"),
    "waiting_bytes": ("bytes", "the same in bytes"),
    "head_at": ("s", "arrival time of the packet at the head of inner queue `i`; NaN if empty"),
    "head_size": ("bytes", "size of that packet; NaN if empty"),
}

#: All that a rule may set, besides header fields.
OUT = (
    *("drop", "mark", "prob", "spread", "anew", "wake", "inner", "evict", "evictions"),
    *("not_before", "marks", "prob_l4s", "bypass"),
)
RULES = ("on_arrival", "on_fluid", "on_interval", "on_departure", "on_select")
#: A parameter of disciplines that can mark.
ECN = Flag(False, "mark ECN-capable packets instead of dropping them early")


def notify(p, q):
    """Tell the sender of the packet of congestion: mark it, or drop it."""
    if p.ecn:
        q.mark = 1.0
    else:
        q.drop = 1.0


#: The numbers of a sample. :attr:`Discipline.sample_dtype` has the arrays of :data:`EACH` after it,
#: then the header fields.
sample_dtype = np.dtype([(name, np.float64) for name in SAMPLE], align=True)


@dataclass(frozen=True, eq=False)
class Discipline(Definition):
    """A queue discipline that every model can run.

    Args:
        name: unique name.
        summary: one line.
        on_arrival: called for each arriving packet; None: only a full buffer drops.
        on_fluid: the drop law for amounts of packets; it sets `q.prob`, the drop probability of
            `q.arrivals` packets.
        on_interval: called by a timer.
        on_departure: called before a packet is sent.
        on_select: chooses the inner queue that sends next, or the time before which none does.
        inner: number of inner queues; more than one need ``on_arrival`` and ``on_select``.
        params: name -> `Param`.
        state: name -> `State`.
        source: paper or RFC.
        validate: takes the dict of all parameters, returns a complaint or None.
        record: state variables that a run records as ``queue_<name>`` of ``run.data``, or as
            ``queue_<name>_state`` if every record has a variable of that name (``queue_max``).
        header: header fields that the rules read and write: name -> number of words.
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
    header: Mapping[str, int] = field(default_factory=dict)
    in_amounts: bool = False

    def __post_init__(self) -> None:
        if self.in_amounts and (self.on_fluid or self.on_arrival is None or self.inner != 1):
            raise ScenarioError(
                f"{self.owner}: in_amounts needs on_arrival and one inner queue, and takes"
                " no on_fluid"
            )
        if self.on_interval and not (self.is_scheduled or (self.on_arrival and self.fluid_rule)):
            raise ScenarioError(
                f"{self.owner}: on_interval needs on_arrival and on_fluid, or on_departure"
                " or on_select"
            )
        if self.inner != 1 and not (self.on_select and self.on_arrival and self.inner > 1):
            raise ScenarioError(
                f"{self.owner}: inner = {self.inner}: several inner queues need on_arrival"
                " and on_select"
            )
        check_header(self.owner, self.header, (*SAMPLE, *EACH))
        listed = (f"{n} : {p.doc} ({p.unit}; {p.text(p.default)})" for n, p in self.params.items())
        object.__setattr__(self, "__doc__", "\n".join([self.summary, "", *listed]))
        for rule_name, rule in self.rules.items():
            if rule is not None:
                check_rule(f"{self.owner}, {rule_name}", rule, self._records)
        for name in self.record:
            if name not in self.state or self.state[name].size > 1:
                raise ScenarioError(
                    f"{self.owner}: record {name!r} is not a number of its state:"
                    f" {', '.join(n for n, v in self.state.items() if v.size == 1)}"
                )

    def __call__(self, **params: float | bool) -> QueueSpec:
        """The discipline with these parameters, for a link: ``tc.queues.RED(min_thresh=5)``.

        Raises:
            ScenarioError: a name that is not a parameter, a value out of its range.
        """
        self.check(params)
        return QueueSpec(self.name, tuple(sorted((k, float(v)) for k, v in params.items())))

    @property
    def rules(self) -> dict[str, Rule | None]:
        return {name: getattr(self, name) for name in RULES}

    @property
    def decides_by_packet(self) -> bool:
        """Whether it has to see packets as they come or go."""
        return self.on_arrival is not None or self.is_scheduled

    @property
    def is_scheduled(self) -> bool:
        """Whether it decides when a packet's turn comes, so that each departure is an event."""
        return self.on_departure is not None or self.on_select is not None

    @property
    def fluid_rule(self) -> Rule | None:
        """The rule for what arrives in fluid."""
        return self.on_arrival if self.in_amounts else self.on_fluid

    @property
    def runs_in_fluid(self) -> bool:
        """Whether a model can say what it drops of an amount of packets."""
        return self.in_amounts or self.on_fluid is not None or not self.decides_by_packet

    @cached_property
    def reads_concentration(self) -> bool:
        """Whether the drop law for amounts reads how much of the arrivals is of one flow."""
        return "concentration" in fields_read(filter(None, [self.on_fluid]), self._records)

    @property
    def _records(self) -> tuple[Fields | None, ...]:
        return self.records((*SAMPLE, *EACH, *self.header), (*OUT, *self.header))

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the state: the random stream first, then the private variables."""
        private = (v.column(n) for n, v in self.state.items())
        return np.dtype([*STREAM_FIELDS, *private], align=True)

    @property
    def sample_dtype(self) -> np.dtype:
        """Record of the sample: the numbers of all disciplines, then arrays over inner queues, then
        header fields."""
        numbers = [(name, np.float64) for name in SAMPLE]
        per_queue = [(name, np.float64, (self.inner,)) for name in EACH]
        return np.dtype([*numbers, *per_queue, *header_columns(self.header)])

    def blank_sample(self) -> np.ndarray:
        """A sample in which nothing is known: NaN, and 0 for what a rule sets."""
        sample = np.zeros(1, self.sample_dtype)
        for name in (*SAMPLE, *EACH, *self.header):
            if name not in OUT:
                sample[name] = np.nan
        return sample


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


QUEUES: Registry[Discipline] = Registry("queue", "tcpcc.queues")
Discipline.registry = QUEUES
