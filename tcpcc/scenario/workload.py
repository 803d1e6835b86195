"""Workloads: many conversations that start at random times, each on its own connection.

A conversation is one TCP connection that sends items one after the other. Its start time, its kind,
the number and the sizes of its items and the pauses between them are drawn from distributions. Each
quantity has its own random stream, named after the workload: the same seed and name give the same
conversations, whatever else a scenario contains. The default name contains the workload's number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcpcc.errors import ScenarioError, flag, positive, refuse, text, whole
from tcpcc.scenario import units
from tcpcc.scenario.distributions import Distribution, Empirical, distribution
from tcpcc.scenario.frozen import Record, named
from tcpcc.scenario.network import tuple_of
from tcpcc.scenario.traffic import Flow
from tcpcc.scenario.units import Quantity

#: Settings of a flow that its template for connections must not have, and their defaults.
_OF_ONE_FLOW = {"size": None, "writes": (), "name": None, "group": None, "record": True}

Spec = Any
"""A distribution as `tcpcc.scenario.distributions.distribution` accepts it."""


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Conversation(Record):
    """A kind of conversation: the data that one connection sends.

    A distribution is a `Distribution`, an `Empirical`, a frozen distribution of `scipy.stats`, a
    sample (any sequence), or a number.

    Args:
        size: bytes of payload of an item; sent in whole packets, at least one.
        items: number of items in a conversation, rounded up, at least 1; None: items follow until
            the end of the run.
        gap: pause before every item except the first, s.
        idle_first: whether there is a pause before the first item too; the connection opens after
            that pause.
        waits: whether the pause begins when the last packet of the previous item is acknowledged
            (files sent one by one, a user who reads). False: it begins when the previous item is
            handed to the sender (keys typed, independent of the network).
        lasting: time during which items are handed to the sender, s; alternative to `items`, needs
            waits=False.
        packet_size: bytes of a data packet on the wire. Default: that of the workload.
        header: bytes of the packet that are not payload. Default: that of the workload.
        share: weight of this kind among the workload's conversations, relative to the other kinds.
        name: default: "conversation" and its number.
    """

    size: Distribution | Empirical
    items: Distribution | Empirical | None
    gap: Distribution | Empirical
    idle_first: bool
    waits: bool
    lasting: Distribution | Empirical | None
    packet_size: int | None
    header: int | None
    share: float
    name: str | None

    def __init__(
        self,
        size: Spec,
        *,
        items: Spec | None = 1,
        gap: Spec = 0,
        idle_first: bool = False,
        waits: bool = True,
        lasting: Spec | None = None,
        packet_size: Quantity | None = None,
        header: Quantity | None = None,
        share: float = 1.0,
        name: str | None = None,
    ) -> None:
        pause = distribution("gap", gap, units.seconds)
        if lasting is not None:
            items = None
            if flag("waits", waits):
                raise ScenarioError("lasting: needs waits=False")
        if isinstance(items, float) and math.isinf(items):
            items = None
        if items is None and not pause.quantile(0.999) > 0:
            raise ScenarioError("gap = 0: must be a positive time if items has no end (s)")
        wire, overhead = (
            None if value is None else whole(name, units.size_bytes(value, name), "bytes", low=low)
            for name, value, low in (("packet_size", packet_size, 1), ("header", header, 0))
        )
        self._store(
            size=distribution("size", size, units.size_bytes),
            items=None if items is None else distribution("items", items),
            gap=pause,
            idle_first=flag("idle_first", idle_first),
            waits=flag("waits", waits),
            lasting=None if lasting is None else distribution("lasting", lasting, units.seconds),
            packet_size=wire,
            header=overhead,
            share=positive("share", share),
            name=None if name is None else text("name", name),
        )

    def _implied(self) -> dict[str, Any]:
        implied: dict[str, Any] = {"gap": distribution("gap", 0)}
        implied["items"] = None if self.lasting is not None else distribution("items", 1)
        return implied


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Workload(Record):
    """Conversations that start at random times, on connections with one controller.

    All connections take the path of `flow` and share its access links: they go from one host to
    one other host.

    Args:
        flow: template of every connection: its controller, path, recovery, transport, packet size.
            Conversations start between its `start` and `stop` and then run to their end. It must
            have no size, no writes, no name, no group and record=True.
        conversations: a `Conversation`, or several kinds, drawn according to their shares.
        interarrival: time between the starts of conversations, s, a distribution as in
            `Conversation`; "expon" with the mean as its scale gives a Poisson process.
        count: largest number of conversations; None: no limit.
        name: default: "workload" and its number. It selects the workload's random numbers. With
            several kinds of conversation each kind is a row of the record, "workload1/ftp".
    """

    flow: Flow
    conversations: tuple[Conversation, ...]
    interarrival: Distribution | Empirical
    count: int | None
    name: str | None

    def __init__(
        self,
        flow: Flow | Mapping[str, Any] | str,
        conversations: Conversation | Sequence[Conversation],
        *,
        interarrival: Spec,
        count: int | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(flow, Mapping):
            flow = Flow(**flow)
        if isinstance(flow, str):
            flow = Flow(flow)
        if not isinstance(flow, Flow):
            raise refuse("flow", flow, "a Flow(...), the template of every connection")
        for setting, default in _OF_ONE_FLOW.items():
            if getattr(flow, setting) != default:
                raise ScenarioError(
                    f"flow: {setting} = {getattr(flow, setting)!r}: must be left out"
                )
        kinds = tuple_of("conversations", conversations, Conversation)
        if not kinds:
            raise refuse("conversations", [], "a Conversation(...), or several")
        between = distribution("interarrival", interarrival, units.seconds)
        if count is None and not between.quantile(0.999) > 0:
            raise ScenarioError("interarrival = 0: must be a positive time if count is None (s)")
        labels = [kind.name or f"conversation{k}" for k, kind in enumerate(kinds, 1)]
        repeated = next((x for k, x in enumerate(labels) if x in labels[:k]), None)
        if repeated is not None:
            raise ScenarioError(f"conversations: duplicate name {repeated!r}: give each its own")
        self._store(
            flow=flow,
            conversations=kinds,
            interarrival=between,
            count=None if count is None else whole("count", count, low=1),
            name=None if name is None else text("name", name),
        )
        self.connections()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the kinds of conversation."""
        kinds = enumerate(self.conversations, 1)
        return tuple(kind.name or f"conversation{k}" for k, kind in kinds)

    def connections(self) -> tuple[Flow, ...]:
        """The flow that describes the connections of each kind of conversation."""
        made = []
        for kind in self.conversations:
            own = {"packet_size": kind.packet_size, "header": kind.header}
            made.append(self.flow.replace(**{k: v for k, v in own.items() if v is not None}))
        return tuple(made)
