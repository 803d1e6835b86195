"""The network of a scenario: links, access links and their scheduled changes."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpcc import rich
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
    warn,
)
from tcpcc.scenario import units
from tcpcc.scenario.frozen import Record, named
from tcpcc.scenario.units import Quantity

if TYPE_CHECKING:
    from tcpcc.queues.discipline import QueueSpec


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
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

    src: str
    dst: str
    rate: float
    delay: float
    buffer: float
    queue: QueueSpec
    loss: float
    name: str
    record: bool | None
    variable: bool
    buffer_unit: str
    jitter: float
    jitter_share: float
    reordering: bool
    aggregation: float

    def __init__(
        self,
        src: str,
        dst: str,
        *,
        rate: Quantity,
        delay: Quantity,
        buffer: Quantity = math.inf,
        queue: QueueSpec | str | Mapping[str, Any] | None = None,
        loss: float = 0.0,
        name: str | None = None,
        record: bool | None = None,
        variable: bool = False,
        buffer_unit: str = "packets",
        jitter: Quantity = 0.0,
        jitter_share: float = 1.0,
        reordering: bool = False,
        aggregation: Quantity = 0.0,
    ) -> None:
        text("src", src, "a node name")
        if text("dst", dst, "a node name") == src:
            raise ScenarioError(f"link {src!r} > {dst!r}: must connect two different nodes")
        room, unit = buffer_room(buffer, buffer_unit)
        late = nonnegative("jitter", units.seconds(jitter, "jitter"), "s")
        if late == 0 and (jitter_share != 1 or reordering):
            setting = {"jitter_share": jitter_share, "reordering": reordering}
            wrong = next(k for k, v in setting.items() if v != Link._defaults[k])
            raise ScenarioError(f"{wrong} = {setting[wrong]!r}: needs a jitter")
        self._store(
            src=src,
            dst=dst,
            rate=positive("rate", units.rate(rate), "bit/s", inf=True),
            delay=nonnegative("delay", units.seconds(delay, "delay"), "s"),
            buffer=room,
            queue=queue_spec(queue),
            loss=probability("loss", loss, one=False),
            name=f"{src}>{dst}" if name is None else text("name", name),
            record=None if record is None else flag("record", record),
            variable=flag("variable", variable),
            buffer_unit=unit,
            jitter=late,
            jitter_share=share_of("jitter_share", jitter_share),
            reordering=flag("reordering", reordering),
            aggregation=nonnegative("aggregation", units.seconds(aggregation, "aggregation"), "s"),
        )

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


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Access(Record):
    """Access links: every flow has its own pair at its source and at its sink.

    Their buffers are unlimited.

    Args:
        rate: bit/s, default inf.
        delay: propagation delay of each access link in s, default 0. With 1 ms here and a
            bottleneck of 48 ms each way, the base RTT is 100 ms.
    """

    rate: float
    delay: float

    def __init__(self, rate: Quantity = math.inf, delay: Quantity = 0.0) -> None:
        self._store(
            rate=positive("access rate", units.rate(rate, "access rate"), "bit/s", inf=True),
            delay=nonnegative("access delay", units.seconds(delay, "access delay"), "s"),
        )


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Network(Record):
    """Links between nodes. At most one link leads from one node to another.

    Args:
        links: the links; each direction is a separate `Link`.
        access: access links of every flow, or None.
        default_path: (source node, target node) of flows that do not name their own, or None.
    """

    links: tuple[Link, ...]
    access: Access | None
    default_path: tuple[str, str] | None

    def __init__(
        self,
        links: Iterable[Link],
        access: Access | None = None,
        default_path: Sequence[str] | None = None,
    ) -> None:
        links = tuple_of("links", links, Link)
        if not links:
            raise ScenarioError("links: a network needs at least one")
        if access is not None and not isinstance(access, Access):
            raise refuse("access", access, "an Access or None")
        names: set[str] = set()
        ends: set[tuple[str, str]] = set()
        for link in links:
            if link.name in names:
                raise ScenarioError(f"duplicate link name {link.name!r}: give each link its own")
            if (link.src, link.dst) in ends:
                raise ScenarioError(
                    f"link {link.name!r}: a second link from {link.src!r} to {link.dst!r}; "
                    "put a node between them, since a path is a list of nodes"
                )
            names.add(link.name)
            ends.add((link.src, link.dst))
        pair = None if default_path is None else node_path("default_path", default_path)
        if pair is not None:
            if len(pair) != 2:
                raise refuse("default_path", default_path, "two nodes, (source, target)")
            nodes = {node for end in ends for node in end}
            for node in pair:
                if node not in nodes:
                    raise unknown("node in default_path", node, nodes)
            pair = (pair[0], pair[1])
        self._store(links=links, access=access, default_path=pair)

    def _repr_html_(self) -> str:
        return rich.headed("Network", self._told(), self._links_html())

    def _told(self) -> str:
        """The network's size and access links, in words."""
        nodes = {node for link in self.links for node in (link.src, link.dst)}
        told = f"{len(nodes)} nodes, {len(self.links)} links"
        if self.access is not None:
            told += (
                f"; each flow's access links: {self.access.rate:g} bit/s, {self.access.delay:g} s"
            )
        return told

    def _links_html(self) -> str:
        rows = [
            (link.name, link.src, link.dst, link.rate, link.delay,
             link.buffer if math.isinf(link.buffer) else f"{link.buffer:g} {link.buffer_unit}",
             repr(link.queue), link.loss or None)
            for link in self.links
        ]  # fmt: skip
        head = ("link", "from", "to", "rate (bit/s)", "delay (s)", "buffer", "queue", "loss")
        return rich.table(head, rows)


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
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

    at: float
    link: str | None
    rate: float | None
    delay: float | None
    buffer: float | None
    loss: float | None
    queue: tuple[tuple[str, float], ...]
    buffer_unit: str
    jitter: float | None
    jitter_share: float | None
    flow: str | None
    rwnd: float | None

    def __init__(
        self,
        at: Quantity,
        link: str | None = None,
        *,
        rate: Quantity | None = None,
        delay: Quantity | None = None,
        buffer: Quantity | None = None,
        loss: float | None = None,
        queue: Mapping[str, float | bool] | Sequence[tuple[str, float | bool]] = (),
        buffer_unit: str = "packets",
        jitter: Quantity | None = None,
        jitter_share: float | None = None,
        flow: str | None = None,
        rwnd: float | None = None,
    ) -> None:
        room, unit = (None, "packets") if buffer is None else buffer_room(buffer, buffer_unit)
        pairs = number_pairs("queue", queue, _queue_params(queue))
        given = (rate, delay, buffer, loss, jitter, jitter_share)
        if (link is None) == (flow is None):
            raise ScenarioError(f"change at {at!r}: give either a link or a flow")
        of_link = bool(pairs) or any(value is not None for value in given)
        if flow is not None and (of_link or rwnd is None):
            raise ScenarioError(f"change of flow {flow!r} at {at!r}: give an rwnd and nothing else")
        if link is not None and rwnd is not None:
            raise ScenarioError(f"change of link {link!r} at {at!r}: rwnd needs a flow, not a link")
        if link is not None and not of_link:
            raise ScenarioError(
                f"change of link {link!r} at {at!r}: changes nothing; "
                "give a rate, delay, buffer, loss, queue, jitter or jitter_share"
            )
        self._store(
            at=nonnegative("at", units.seconds(at, "at"), "s"),
            link=None if link is None else text("link", link, "the name of a link"),
            rate=None if rate is None else nonnegative("rate", units.rate(rate), "bit/s", inf=True),
            delay=None
            if delay is None
            else nonnegative("delay", units.seconds(delay, "delay"), "s"),
            buffer=room,
            loss=None if loss is None else probability("loss", loss, one=False),
            queue=pairs,
            buffer_unit=unit,
            jitter=None
            if jitter is None
            else nonnegative("jitter", units.seconds(jitter, "jitter"), "s"),
            jitter_share=None if jitter_share is None else share_of("jitter_share", jitter_share),
            flow=None if flow is None else text("flow", flow, "the name of a flow"),
            rwnd=None if rwnd is None else receive_window(rwnd),
        )


def receive_window(rwnd: float) -> float:
    """A receiver's window in packets, at least 1."""
    if positive("rwnd", rwnd, "packets", inf=True) < 1:
        raise ScenarioError(f"rwnd = {rwnd:g}: must be at least 1 (packets)")
    return float(rwnd)


def _queue_params(values: object) -> dict[str, Param]:
    """The parameters of all queue disciplines, by name; a change does not know its link's
    discipline. A name is a flag if it is one in any discipline."""
    if not isinstance(values, Mapping) or not any(isinstance(v, bool) for v in values.values()):
        return {}
    from tcpcc.queues.discipline import QUEUES

    params = [pair for one in QUEUES.values() for pair in one.params.items()]
    return dict(sorted(params, key=lambda pair: isinstance(pair[1], Flag)))


def share_of(field: str, value: float) -> float:
    """A probability above 0."""
    if not probability(field, value) > 0:
        raise refuse(field, value, "above 0; for no jitter set jitter = 0")
    return float(value)


LEAST_RATE, LARGEST_DELAY = 1000, 5.0
"""bit/s and s: plain numbers beyond these are probably meant in other units."""


def look_for_units(rate: Quantity, delay: Quantity) -> None:
    """Warn if plain numbers look as if they were meant in other units than bit/s and s."""
    plain_rate, plain_delay = (
        v if isinstance(v, int | float) and not isinstance(v, bool) else math.nan
        for v in (rate, delay)
    )  # fmt: skip
    both = plain_rate <= 10_000 and plain_delay >= 1
    odd, write = [], []
    if 0 < plain_rate <= (10_000 if both else LEAST_RATE):
        odd.append(f"rate = {plain_rate:g} bit/s")
        write.append(f'"{plain_rate:g} Mbps"')
    if math.inf > plain_delay >= (1 if both else LARGEST_DELAY):
        odd.append(f"delay = {plain_delay:g} s")
        write.append(f'"{plain_delay:g} ms"')
    if odd:
        warn(f"{', '.join(odd)}: are units missing? write {', '.join(write)}")


def queue_spec(queue: QueueSpec | str | Mapping[str, Any] | None) -> QueueSpec:
    """The queue discipline for a spec, a name, a mapping with "name", or None (drop-tail)."""
    from tcpcc.queues.discipline import QUEUES, QueueSpec

    if isinstance(queue, QueueSpec):
        return queue
    if queue is None:
        from tcpcc.queues import DropTail

        return DropTail()
    if isinstance(queue, str):
        return QueueSpec(queue, ())
    name, params = name_and_params("queue", queue, "a queue discipline such as tc.queues.RED(...)")
    return QueueSpec(name, number_pairs("queue", params, QUEUES.find(name).params))


def buffer_room(buffer: Quantity, unit: str) -> tuple[float, str]:
    """A buffer's size and its unit; a unit in the string overrides `unit`."""
    if unit not in ("packets", "bytes"):
        raise unknown("buffer_unit", unit, ("packets", "bytes"))
    room, told = units.packets_or_bytes(buffer)
    if isinstance(buffer, str) and math.isfinite(room):  # "inf" has no unit of its own
        unit = told
    room = positive("buffer", room, unit, inf=True)
    if unit == "packets" and room < 1:
        raise refuse("buffer", buffer, "at least 1", unit)
    return room, unit


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


def number_pairs(
    field: str, values: object, known: Mapping[str, Param] | None = None
) -> tuple[tuple[str, float], ...]:
    """A mapping or pairs of name and number as a sorted tuple of pairs.

    Args:
        known: the parameters of these names; those that are flags may be true or false. Names that
            are not known are left to the caller.
    """
    try:
        pairs = dict(values)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise refuse(field, values, "a mapping of names to numbers") from None
    numbers = {k for k, param in known.items() if not isinstance(param, Flag)} if known else pairs
    checked = {
        text(field, k): float(v)
        if k not in numbers and isinstance(v, bool)
        else real(f"{field} {k}", v)
        for k, v in pairs.items()
    }
    return tuple(sorted(checked.items()))


def tuple_of(field: str, values: Any, *kinds: type) -> tuple[Any, ...]:
    """A tuple of members that are all of one of `kinds`; a single value becomes a tuple of one."""
    if isinstance(values, kinds):
        return (values,)
    allowed = " or ".join(f"{kind.__name__}(...)" for kind in kinds)
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise refuse(field, values, f"a list of {allowed}")
    members = tuple(values)
    for k, member in enumerate(members):
        if not isinstance(member, kinds):
            raise refuse(f"{field}[{k}]", member, allowed)
    return members


def bottleneck(net: Network) -> Link:
    """The first slowest link with a finite buffer; if there is none, the slowest link."""
    finite = [link for link in net.links if math.isfinite(link.buffer)]
    return min(finite or net.links, key=lambda link: link.rate)
