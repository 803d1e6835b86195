"""Workloads: many conversations that start at random times, each on its own connection.

A conversation is one TCP connection that sends items one after the other. Its start time, its kind,
the number and the sizes of its items and the pauses between them are drawn from distributions. Each
quantity has its own random stream, named after the workload: the same seed and name give the same
conversations, whatever else a scenario contains. The default name contains the workload's number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

from tcpcc.errors import ScenarioError, flag, positive, refuse, text, whole
from tcpcc.scenario import units
from tcpcc.scenario.distributions import Distribution, Empirical, distribution
from tcpcc.scenario.frozen import (
    BytesOrNone,
    Record,
    Setting,
    optional,
    record,
    setting,
    tuple_of,
    whole_bytes,
)
from tcpcc.scenario.traffic import Flow

#: Settings of a flow that its template for connections must not have, and their defaults.
_OF_ONE_FLOW = {"size": None, "writes": (), "name": None, "group": None, "record": True}

Spec = Any
"""A distribution as `tcpcc.scenario.distributions.distribution` accepts it."""

Drawn = Distribution | Empirical


def _items(name: str, value: Spec | None) -> Drawn | None:
    endless = value is None or (isinstance(value, float) and math.isinf(value))
    return None if endless else distribution(name, value)


def _template(name: str, flow: Flow | Mapping[str, Any] | str) -> Flow:
    if isinstance(flow, Mapping):
        flow = Flow(**flow)
    if isinstance(flow, str):
        flow = Flow(flow)
    if not isinstance(flow, Flow):
        raise refuse(name, flow, "a Flow(...), the template of every connection")
    for own, default in _OF_ONE_FLOW.items():
        if getattr(flow, own) != default:
            raise ScenarioError(f"flow: {own} = {getattr(flow, own)!r}: must be left out")
    return flow


@record
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

    size: Setting[Spec, Drawn] = setting(distribution, of=units.size_bytes)
    _: KW_ONLY
    items: Setting[Spec | None, Drawn | None] = setting(_items, default=1)
    gap: Setting[Spec, Drawn] = setting(distribution, default=0, of=units.seconds)
    idle_first: bool = setting(flag, default=False)
    waits: bool = setting(flag, default=True)
    lasting: Setting[Spec | None, Drawn | None] = setting(
        optional(distribution), default=None, of=units.seconds
    )
    packet_size: BytesOrNone = setting(optional(whole_bytes), default=None, low=1)
    header: BytesOrNone = setting(optional(whole_bytes), default=None)
    share: float = setting(positive, default=1.0)
    name: str | None = setting(optional(text), default=None)

    def _check(self) -> None:
        if self.lasting is not None:
            self._store(items=None)
            if self.waits:
                raise ScenarioError("lasting: needs waits=False")
        if self.items is None and not self.gap.quantile(0.999) > 0:
            raise ScenarioError("gap = 0: must be a positive time if items has no end (s)")

    def _implied(self) -> dict[str, Any]:
        implied: dict[str, Any] = {"gap": distribution("gap", 0)}
        implied["items"] = None if self.lasting is not None else distribution("items", 1)
        return implied


@record
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

    flow: Setting[Flow | Mapping[str, Any] | str, Flow] = setting(_template)
    conversations: Setting[Conversation | Sequence[Conversation], tuple[Conversation, ...]] = (
        setting(tuple_of, kinds=(Conversation,))
    )
    _: KW_ONLY
    interarrival: Setting[Spec, Drawn] = setting(distribution, of=units.seconds)
    count: int | None = setting(optional(whole), default=None, low=1)
    name: str | None = setting(optional(text), default=None)

    def _check(self) -> None:
        if not self.conversations:
            raise refuse("conversations", [], "a Conversation(...), or several")
        if self.count is None and not self.interarrival.quantile(0.999) > 0:
            raise ScenarioError("interarrival = 0: must be a positive time if count is None (s)")
        repeated = next((x for k, x in enumerate(self.labels) if x in self.labels[:k]), None)
        if repeated is not None:
            raise ScenarioError(f"conversations: duplicate name {repeated!r}: give each its own")
        self.connections()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the kinds of conversation."""
        kinds = enumerate(self.conversations, 1)
        return tuple(kind.name or f"conversation{k}" for k, kind in kinds)

    def connections(self) -> tuple[Flow, ...]:
        """The flow that describes the connections of each kind of conversation."""
        flows = []
        for kind in self.conversations:
            own = {"packet_size": kind.packet_size, "header": kind.header}
            flows.append(self.flow.replace(**{k: v for k, v in own.items() if v is not None}))
        return tuple(flows)
