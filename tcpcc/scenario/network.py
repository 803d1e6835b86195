"""The network of a scenario: links, access links and their scheduled changes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from tcpcc import html_tables
from tcpcc.definition import Flag, Param
from tcpcc.errors import (
    ScenarioError,
    flag,
    nonnegative,
    positive,
    probability,
    real,
    refuse,
    shown,
    suggestion,
    text,
    unknown,
)
from tcpcc.scenario import units
from tcpcc.scenario.frozen import (
    BitRate,
    BitRateOrNone,
    Record,
    Seconds,
    SecondsOrNone,
    Setting,
    as_given,
    bit_rate,
    instance,
    optional,
    propagation,
    record,
    seconds,
    setting,
    tuple_of,
    window,
)
from tcpcc.scenario.units import Quantity

if TYPE_CHECKING:
    from tcpcc.queues.discipline import QueueSpec


Queue = Setting["QueueSpec | str | Mapping[str, Any] | None", "QueueSpec"]
Numbers = Mapping[str, float | bool] | Sequence[tuple[str, float | bool]]
"""Names and numbers: parameters of a queue discipline or a controller."""


def share(name: str, value: float) -> float:
    """A probability above 0."""
    if not probability(name, value) > 0:
        raise refuse(name, value, "above 0; for no jitter set jitter = 0")
    return float(value)


def node_name(field: str, node: Hashable, allowed: str = "a node name") -> str:
    """The name of a node: a string itself, or the `str` of another key of a networkx graph."""
    if isinstance(node, bool | float | None) or not isinstance(node, Hashable):
        raise refuse(field, node, allowed)
    return text(field, str(node), allowed)


def node_path(field: str, nodes: Sequence[Hashable]) -> tuple[str, ...]:
    """The names of at least two distinct nodes."""
    if isinstance(nodes, str) or not isinstance(nodes, Sequence) or len(nodes) < 2:
        raise refuse(field, nodes, "a list of at least two nodes")
    names = [node_name(field, node, "a list of node names") for node in nodes]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise ScenarioError(f"{field} = {names!r}: goes through node {name!r} twice")
    return tuple(names)


def number_pairs(
    field: str, values: object, params: Mapping[str, Param] | None = None
) -> tuple[tuple[str, float], ...]:
    """A mapping or pairs of name and number as a sorted tuple of pairs.

    Args:
        params: the parameters of these names; those that are flags may be true or false. Names that
            are not known are left to the caller.
    """
    try:
        pairs = dict(values)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise refuse(field, values, "a mapping of names to numbers") from None
    if not pairs:
        return ()
    numbers = {k for k, param in params.items() if not isinstance(param, Flag)} if params else pairs
    checked = {
        text(field, k): float(v)
        if k not in numbers and isinstance(v, bool)
        else real(f"{field} {k}", v)
        for k, v in pairs.items()
    }
    return tuple(sorted(checked.items()))


def _queue_pairs(name: str, values: Numbers) -> tuple[tuple[str, float], ...]:
    """New parameters of a queue discipline. A change does not know its link's discipline: a name is
    a flag if it is one in any."""
    by_name = None
    if isinstance(values, Mapping) and any(isinstance(v, bool) for v in values.values()):
        from tcpcc.queues.discipline import QUEUES

        params = [pair for queue in QUEUES.values() for pair in queue.params.items()]
        by_name = dict(sorted(params, key=lambda pair: isinstance(pair[1], Flag)))
    return number_pairs(name, values, by_name)


@record
class Link(Record):
    """One direction of a link: a queue, then a transmitter, then a propagation delay.

    Args:
        src: sending node.
        dst: receiving node.
        rate: bit/s, may be inf (transmission takes no time).
        delay: one-way propagation delay in s.
        buffer: size in packets, or in bytes if given with such a unit ("64 kB"); unlimited by
            default. The queue discipline decides whether the packet in transmission counts.
        queue: queue discipline, such as `tc.queues.RED(min_thresh=5)`, its name, or a mapping
            with its name and parameters. Default: drop-tail.
        loss: probability in [0, 1) that a packet is lost at random.
        name: default "src>dst".
        record: whether a run records this link's queue and throughput; None: if its buffer is
            finite or its queue is not drop-tail.
        variable: whether a user's own process may change the link during a run. Scheduled
            changes set it automatically.
        buffer_unit: "packets" or "bytes", the unit of a `buffer` given without one.
        jitter: largest extra delay of a packet, s. It is drawn uniformly between 0 and this value
            from the scenario's seed. Packets stay in order: a packet that would overtake leaves
            together with the one before it. Models without packets add the mean to the delay.
        jitter_share: probability in (0, 1] that a packet has jitter.
        reordering: whether packets with less jitter overtake others.
        aggregation: s; packets leave together, at the next multiple of this time after the link
            and its jitter, like the frames of a wireless network or the interrupts of a network
            card; 0: one by one. Models without packets add half of it to the delay.
    """

    src: str = setting(text, what="a node name")
    dst: str = setting(text, what="a node name")
    _: KW_ONLY
    rate: BitRate = setting(bit_rate, inf=True)
    delay: Seconds = setting(propagation)
    buffer: Setting[Quantity, float] = setting(as_given, default=math.inf)
    queue: Queue = setting(lambda name, queue: queue_spec(queue), default=None)
    loss: float = setting(probability, default=0.0, one=False)
    name: Setting[str | None, str] = setting(optional(text), default=None)
    record: bool | None = setting(optional(flag), default=None)
    variable: bool = setting(flag, default=False)
    buffer_unit: str = setting(as_given, default="packets")
    jitter: Seconds = setting(seconds, default=0.0)
    jitter_share: float = setting(share, default=1.0)
    reordering: bool = setting(flag, default=False)
    aggregation: Seconds = setting(seconds, default=0.0)

    def _check(self) -> None:
        if self.src == self.dst:
            raise ScenarioError(
                f"link {self.src!r} > {self.dst!r}: must connect two different nodes"
            )
        for name in ("jitter_share", "reordering"):
            value = getattr(self, name)
            if self.jitter == 0 and value != self._defaults[name]:
                raise ScenarioError(f"{name} = {value!r}: needs a jitter")
        room, unit = buffer_room(self.buffer, self.buffer_unit)
        name = self.name or f"{self.src}>{self.dst}"
        self._store(buffer=room, buffer_unit=unit, name=name)

    @property
    def mean_delay(self) -> float:
        """One-way propagation delay plus the mean jitter and the mean wait for aggregation, s."""
        return self.delay + (self.jitter_share * self.jitter + self.aggregation) / 2

    @property
    def has_stage(self) -> bool:
        """Whether packets are delayed further after the link, by jitter or aggregation."""
        return self.jitter > 0 or self.aggregation > 0

    def _implied(self) -> dict[str, Any]:
        return {"name": f"{self.src}>{self.dst}", "queue": queue_spec(None)}


@record
class Access(Record):
    """Access links: every flow has its own pair at its source and at its sink.

    Their buffers are unlimited.

    Args:
        rate: bit/s, default inf.
        delay: propagation delay of each access link in s, default 0. With 1 ms here and a
            bottleneck of 48 ms each way, the base RTT is 100 ms.
    """

    rate: BitRate = setting(bit_rate, default=math.inf, inf=True)
    delay: Seconds = setting(propagation, default=0.0)

    _of: ClassVar[str] = "access "


@record
class Network(Record):
    """Links between nodes. At most one link leads from one node to another.

    Args:
        links: the links; each direction is a separate `Link`.
        access: access links of every flow, or None.
        default_path: (source node, target node) of flows that do not name their own, or None.
    """

    links: Setting[Iterable[Link], tuple[Link, ...]] = setting(tuple_of, kinds=(Link,))
    access: Access | None = setting(
        optional(instance), default=None, kind=Access, allowed="an Access or None"
    )
    default_path: Setting[Sequence[str] | None, tuple[str, str] | None] = setting(
        optional(node_path), default=None
    )

    def _check(self) -> None:
        if not self.links:
            raise ScenarioError("links: a network needs at least one")
        names: set[str] = set()
        ends: set[tuple[str, str]] = set()
        for link in self.links:
            if link.name in names:
                raise ScenarioError(f"duplicate link name {link.name!r}: give each link its own")
            if (link.src, link.dst) in ends:
                raise ScenarioError(
                    f"link {link.name!r}: a second link from {link.src!r} to {link.dst!r}; "
                    "put a node between them, since a path is a list of nodes"
                )
            names.add(link.name)
            ends.add((link.src, link.dst))
        if self.default_path is not None:
            if len(self.default_path) != 2:
                raise refuse("default_path", self.default_path, "two nodes, (source, target)")
            nodes = {node for end in ends for node in end}
            for node in self.default_path:
                if node not in nodes:
                    raise unknown("node in default_path", node, nodes)

    def _repr_html_(self) -> str:
        return html_tables.headed("Network", self._told(), self._links_html())

    def _told(self) -> str:
        """The network's size and access links, in words."""
        nodes = {node for link in self.links for node in (link.src, link.dst)}
        words = f"{len(nodes)} nodes, {len(self.links)} links"
        if self.access is not None:
            words += (
                f"; each flow's access links: {self.access.rate:g} bit/s, {self.access.delay:g} s"
            )
        return words

    def _links_html(self) -> str:
        rows = [
            (link.name, link.src, link.dst, link.rate, link.delay,
             link.buffer if math.isinf(link.buffer) else f"{link.buffer:g} {link.buffer_unit}",
             repr(link.queue), link.loss or None)
            for link in self.links
        ]  # fmt: skip
        head = ("link", "from", "to", "rate (bit/s)", "delay (s)", "buffer", "queue", "loss")
        return html_tables.table(head, rows)


@record
class Change(Record):
    """A change of one link, or of a flow's receive window, at a given time of the run.

    Settings that are None do not change.

    Args:
        at: time of the change, s.
        link: name of the link; access links are called "<flow>:access" and "<flow>:egress".
        rate: new rate in bit/s; 0: the link sends nothing (packets wait) until the next change.
        delay: new one-way propagation delay in s.
        buffer: new size, in the unit of the link's own buffer (packets or bytes).
        loss: new probability of random loss, in [0, 1).
        queue: new parameters of its queue discipline, such as {"max_p": 0.05}.
        buffer_unit: as in `Link`.
        jitter: new largest jitter, s.
        jitter_share: new probability that a packet has jitter, in (0, 1].
        flow: in place of a link, the name of a flow, for `rwnd`; all flows of a `count`.
        rwnd: new receive window, at least 1 packet, from the time at which the sender learns of it.
            A larger one releases data at once. The right edge of the window does not move back, as
            in Linux (``tcp_select_window``; RFC 9293, 3.8.6): a smaller one is reached as data are
            acknowledged. An unlimited window has its edge at the newest packet sent.

    `Link.reordering` cannot change during a run.
    """

    at: Seconds = setting(seconds)
    link: str | None = setting(optional(text), default=None, what="the name of a link")
    _: KW_ONLY
    rate: BitRateOrNone = setting(optional(bit_rate), default=None, check=nonnegative, inf=True)
    delay: SecondsOrNone = setting(optional(propagation), default=None)
    buffer: Setting[Quantity | None, float | None] = setting(as_given, default=None)
    loss: float | None = setting(optional(probability), default=None, one=False)
    queue: Setting[Numbers, tuple[tuple[str, float], ...]] = setting(_queue_pairs, default=())
    buffer_unit: str = setting(as_given, default="packets")
    jitter: SecondsOrNone = setting(optional(seconds), default=None)
    jitter_share: float | None = setting(optional(share), default=None)
    flow: str | None = setting(optional(text), default=None, what="the name of a flow")
    rwnd: float | None = setting(optional(window), default=None, inf=True)

    def _check(self) -> None:
        room, unit = (None, "packets")
        if self.buffer is not None:
            room, unit = buffer_room(self.buffer, self.buffer_unit)
        self._store(buffer=room, buffer_unit=unit)
        names = ("rate", "delay", "buffer", "loss", "jitter", "jitter_share")
        of_link = bool(self.queue) or any(getattr(self, name) is not None for name in names)
        if (self.link is None) == (self.flow is None):
            raise ScenarioError(f"change at {self.at:g}: give either a link or a flow")
        if self.flow is not None and (of_link or self.rwnd is None):
            raise ScenarioError(f"{self.words}: give an rwnd and nothing else")
        if self.link is not None and self.rwnd is not None:
            raise ScenarioError(f"{self.words}: rwnd needs a flow, not a link")
        if self.link is not None and not of_link:
            raise ScenarioError(
                f"{self.words}: changes nothing; "
                "give a rate, delay, buffer, loss, queue, jitter or jitter_share"
            )

    @property
    def words(self) -> str:
        """What it changes and when, for messages."""
        of = f"link {self.link!r}" if self.flow is None else f"flow {self.flow!r}"
        return f"change of {of} at {self.at:g}"


def queue_spec(queue: QueueSpec | str | Mapping[str, Any] | None) -> QueueSpec:
    """The queue discipline for a spec, a name, a mapping with "name", or None (drop-tail)."""
    from tcpcc.queues.discipline import QUEUES, QueueSpec

    if isinstance(queue, QueueSpec):
        return queue
    if queue is None:
        return _drop_tail()
    if isinstance(queue, str):
        return QueueSpec(queue, ())
    name, params = name_and_params("queue", queue, "a queue discipline such as tc.queues.RED(...)")
    return QueueSpec(name, number_pairs("queue", params, QUEUES.find(name).params))


@cache
def _drop_tail() -> QueueSpec:
    from tcpcc.queues import DropTail

    return DropTail()


def buffer_room(buffer: Quantity, unit: str) -> tuple[float, str]:
    """A buffer's size and its unit; a unit in the string overrides `unit`."""
    if unit not in ("packets", "bytes"):
        raise unknown("buffer_unit", unit, ("packets", "bytes"))
    room, own_unit = units.packets_or_bytes(buffer)
    if isinstance(buffer, str) and math.isfinite(room):  # "inf" has no unit of its own
        unit = own_unit
    room = positive("buffer", room, unit, inf=True)
    if unit == "packets" and room < 1:
        raise refuse("buffer", buffer, "at least 1", unit)
    return room, unit


def name_and_params(field: str, spec: object, what: str) -> tuple[Any, dict[str, Any]]:
    """The name and the other entries of a mapping such as ``{"name": "red", "min_thresh": 5}``.

    Args:
        what: what else the field may be, for the message.
    """
    if isinstance(spec, Mapping):
        if "name" in spec:
            return spec["name"], {k: v for k, v in spec.items() if k != "name"}
        refuse_misspelt(field, spec, ("name",))
    raise refuse(field, spec, f'{what}, its name, or a mapping with "name"')


def refuse_misspelt(field: str, table: Mapping[str, Any], needed: Sequence[str]) -> None:
    """Raise an error if none of the `needed` keys is there and a key is spelt like one of them."""
    for key in () if set(needed) & set(table) else table:
        if hint := suggestion(key, needed):
            raise ScenarioError(f"{field} = {shown(table)}: unknown key {key!r}{hint}")


def bottleneck(net: Network) -> Link:
    """The first slowest link with a finite buffer; if there is none, the slowest link."""
    finite = [link for link in net.links if math.isfinite(link.buffer)]
    return min(finite or net.links, key=lambda link: link.rate)
