"""Workloads: conversations that come and go by the thousand, each on a connection of its own.

A conversation is one TCP connection over which items are sent one after the other. When it begins,
of which kind it is, how many items it has, how large they are and how long it pauses between them
is drawn from distributions, each from a random stream of its own that is named after the workload,
so that the same seed gives the same conversations whatever else a scenario holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tcpcc.errors import ScenarioError, flag, nonnegative, positive, refuse, text, whole
from tcpcc.scenario import units
from tcpcc.scenario.distributions import Distribution, Empirical, distribution
from tcpcc.scenario.frozen import Record, named
from tcpcc.scenario.network import tuple_of
from tcpcc.scenario.traffic import Flow
from tcpcc.scenario.units import Quantity

Spec = Any
"""What stands for a distribution; see `tcpcc.scenario.distributions.distribution`."""


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Conversation(Record):
    """A kind of conversation: what one connection has to carry.

    Distributions are a `Distribution`, an `Empirical`, a frozen one of `scipy.stats`, a sample
    (any sequence), or a number.

    Args:
        size: bytes of payload of an item; sent as whole packets, at least one.
        items: items in a conversation, rounded up, at least 1; None: it goes on to the end of the
            run.
        gap: s, pause before every item but the first.
        idle_first: whether there is a pause before the first item too; the connection opens after.
        waits: whether the pause begins when the item before has been acknowledged to the last
            packet (a file after the other, a user who reads); if not, when that was handed over
            (keys typed, whatever the network does).
        lasting: s, in place of `items`: items are handed over for so long; needs waits=False.
        packet_size: bytes of a data packet on the wire. Default: the workload's.
        header: bytes of these that are not payload. Default: the workload's.
        share: of the workload's conversations that are of this kind, relative to the others'.
        name: default "conversation" and its number.
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
                raise ScenarioError("lasting: needs waits=False, items that wait for none")
        if isinstance(items, float) and math.isinf(items):
            items = None
        if items is None and not pause.quantile(0.999) > 0:
            raise ScenarioError("gap = 0: must be a positive time where items has no end (s)")
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
    """Conversations that begin at random times, over connections with one controller.

    All have the network's path of `flow`, and share its access links: they come from one host and
    go to one other.

    Args:
        flow: what every connection is: its controller, path, recovery, transport, packet size.
            `start` and `stop` are the times between which conversations begin; what has begun
            goes on. It has no size and no name, and is recorded.
        conversations: a `Conversation`, or several kinds, drawn with their shares.
        interarrival: s between the beginnings of conversations, a distribution as in
            `Conversation`; "expon" with the mean as its scale makes a Poisson process.
        count: most conversations that begin; None: no limit.
        name: default "workload" and its number. With several kinds of conversation each is a row
            of the record, "workload1/ftp".
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
            raise refuse("flow", flow, "a Flow(...), what every connection is")
        for setting, default in (("size", None), ("name", None), ("record", True)):
            if getattr(flow, setting) != default:
                raise ScenarioError(
                    f"flow: {setting} = {getattr(flow, setting)!r}: must be left out"
                )
        kinds = tuple_of("conversations", conversations, Conversation)
        if not kinds:
            raise refuse("conversations", [], "a Conversation(...), or several")
        between = distribution("interarrival", interarrival, units.seconds)
        if count is None and not between.quantile(0.999) > 0:
            raise ScenarioError("interarrival = 0: must be a positive time where count is None (s)")
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
        """What the connection of each kind of conversation is."""
        made = []
        for kind in self.conversations:
            own = {"packet_size": kind.packet_size, "header": kind.header}
            made.append(self.flow.replace(**{k: v for k, v in own.items() if v is not None}))
        return tuple(made)


def poisson(rate: float) -> Distribution:
    """Interarrival times of a Poisson process of `rate` conversations a second."""
    return Distribution("expon", scale=1 / positive("rate", rate, "1/s"))


def on_off(
    flow: Flow | str, *, sources: int, size: Spec, off: Spec, name: str | None = None
) -> Workload:
    """A `Workload` of on/off sources.

    Each is one connection that sends an item as fast as it can, then is silent.

    Args:
        flow: as in `Workload`.
        sources: how many there are. All start with the flow.
        size: bytes of an item; heavy-tailed sizes make traffic that is bursty at all time scales
            (Willinger et al., IEEE/ACM ToN 5(1), 1997: Pareto, 1 < shape < 2).
        off: s of silence, before each item.
    """
    silence = distribution("off", off, units.seconds)
    endless = Conversation(size, items=None, gap=silence, idle_first=True)
    return Workload(flow, endless, interarrival=0, count=sources, name=name)


def web(
    flow: Flow | str, *, rate: float, size: Spec | None = None, name: str | None = None
) -> Workload:
    """A `Workload` of transfers that arrive as a Poisson process, each on its own connection.

    Args:
        flow: as in `Workload`.
        rate: transfers a second.
        size: bytes. Default: Pareto with shape 1.2 and mean 12 kB, near to what was measured of
            web files (Crovella, Bestavros, IEEE/ACM ToN 5(6), 1997: shape 1.1 to 1.2).
    """
    pareto = Distribution("pareto", b=1.2, scale=2000)
    return Workload(
        flow,
        Conversation(pareto if size is None else size),
        interarrival=poisson(nonnegative("rate", rate)),
        name=name,
    )
