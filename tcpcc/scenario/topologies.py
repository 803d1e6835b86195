"""Common network topologies."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError, positive, refuse, whole
from tcpcc.scenario.frozen import named
from tcpcc.scenario.network import Access, Link, Network
from tcpcc.scenario.units import Checked, Quantity, seconds
from tcpcc.scenario.units import rate as bits_per_second

if TYPE_CHECKING:
    from tcpcc.queues.discipline import QueueSpec

    Queue = QueueSpec | str | Mapping[str, Any] | None


@named
def dumbbell(
    rate: Quantity,
    delay: Quantity,
    buffer: Quantity,
    *,
    queue: Queue = None,
    access_rate: Quantity | None = None,
    access_delay: Quantity | None = None,
    reverse_buffer: Quantity = math.inf,
    loss: float = 0.0,
    jitter: Quantity = 0.0,
    reordering: bool = False,
    variable: bool = False,
) -> Network:
    """One bottleneck that all flows share, from node "left" to node "right".

    Args:
        rate: rate of the bottleneck in both directions, bit/s.
        delay: one-way propagation delay of the bottleneck, s.
        buffer: buffer of the bottleneck: packets, bytes with a unit, or "2 BDP": this many times
            the rate times the base RTT, in bytes.
        queue: queue discipline of the bottleneck, default drop-tail. The reverse direction is
            drop-tail.
        access_rate: rate of each flow's own access links, bit/s; inf if only access_delay is given.
        access_delay: propagation delay of each access link, s; 0 if only access_rate is given. The
            base RTT is 2 (delay + 2 access_delay).
        reverse_buffer: buffer of the reverse direction, which carries ACKs; default unlimited.
        loss: random loss probability of the bottleneck, in [0, 1).
        jitter, reordering, variable: settings of the bottleneck, as in `Link`.

    Returns:
        a network with the links "bottleneck" (always recorded) and "bottleneck<", and
        default_path ("left", "right"). It has access links if either access setting is given.
    """
    rtt = _base_rtt([delay], access_delay)
    there = Link(
        "left", "right", rate=rate, delay=delay, buffer=_room(buffer, rate, rtt), queue=queue,
        loss=loss, jitter=jitter, reordering=reordering, variable=variable, name="bottleneck",
        record=True,
    )  # fmt: skip
    back = Link(
        "right", "left", rate=Checked(there.rate), delay=Checked(there.delay),
        buffer=_room(reverse_buffer, rate, rtt), name="bottleneck<",
    )  # fmt: skip
    return Network((there, back), _access(access_rate, access_delay), ("left", "right"))


@named
def chain(
    hops: int,
    rate: Quantity | Sequence[Quantity],
    delay: Quantity | Sequence[Quantity],
    buffer: Quantity | Sequence[Quantity],
    *,
    queue: Queue | Sequence[Queue] = None,
    access_rate: Quantity | None = None,
    access_delay: Quantity | None = None,
) -> Network:
    """Links in a row: nodes "r0" to "r<hops>", links "r0>r1" ... and the reverse "r1>r0" ....

    Args:
        hops: number of links, at least 1.
        rate, delay, buffer, queue: as in `dumbbell`; one value for all hops or one for each. A BDP
            is of the hop's rate and the base RTT from end to end. The reverse links have the same
            rate and delay, and unlimited drop-tail buffers.
        access_rate, access_delay: as in `dumbbell`.

    Returns:
        a network with a default path from end to end; its forward links are always recorded.
    """
    hops = whole("hops", hops, low=1)
    there, back = [], []
    rtt = _base_rtt(_per_hop("delay", delay, hops), access_delay)
    settings = zip(
        _per_hop("rate", rate, hops),
        _per_hop("delay", delay, hops),
        _per_hop("buffer", buffer, hops),
        _per_hop("queue", queue, hops),
        strict=True,
    )
    for k, (hop_rate, hop_delay, hop_buffer, hop_queue) in enumerate(settings):
        left, right = f"r{k}", f"r{k + 1}"
        hop = Link(
            left, right, rate=hop_rate, delay=hop_delay,
            buffer=_room(hop_buffer, hop_rate, rtt), queue=hop_queue, record=True,
        )  # fmt: skip
        there.append(hop)
        back.append(Link(right, left, rate=Checked(hop.rate), delay=Checked(hop.delay)))
    return Network((*there, *back), _access(access_rate, access_delay), ("r0", f"r{hops}"))


@named
def parking_lot(
    hops: int,
    rate: Quantity | Sequence[Quantity],
    delay: Quantity | Sequence[Quantity],
    buffer: Quantity | Sequence[Quantity],
    *,
    queue: Queue | Sequence[Queue] = None,
    access_rate: Quantity | None = None,
    access_delay: Quantity | None = None,
) -> Network:
    """The parking lot: a `chain` with long flows end to end and cross flows over single hops.

    A long flow needs no source and target; a flow over the second hop is
    `Flow(..., source="r1", target="r2")`. Arguments and result are those of `chain`, with at least
    2 hops.
    """
    if whole("hops", hops, low=1) == 1:
        raise refuse("hops", hops, "a whole number >= 2; with one hop it is a dumbbell")
    return chain(
        hops, rate, delay, buffer,
        queue=queue, access_rate=access_rate, access_delay=access_delay,
    )  # fmt: skip


def from_networkx(graph: Any, *, default_path: Sequence[Any] | None = None) -> Network:
    """A network from a networkx graph.

    Args:
        graph: a `DiGraph` (an edge is one direction) or a `Graph` (an edge is both directions, each
            with its own buffer and queue). Edge attributes: rate and delay; optionally the other
            settings of `Link`: buffer, queue, loss, jitter, record, variable, ..., and name on a
            `DiGraph`. Nodes may be of any type; a node's name is its `str`, and flows accept the
            node or its name (``source=(0, 1)``).
        default_path: (source, target) nodes of flows that do not name their own.

    Returns:
        a network without access links; `.replace(access=tc.Access(...))` adds them.
    """
    if not hasattr(graph, "is_multigraph"):
        raise refuse("graph", graph, "a networkx Graph or DiGraph")
    if graph.is_multigraph():
        raise ScenarioError("graph: must not be a multigraph, since a path is a list of nodes")
    called: dict[str, Any] = {}
    for node in graph.nodes:
        if str(node) in called:
            raise ScenarioError(
                f"graph: nodes {called[str(node)]!r} and {node!r} are both called {str(node)!r}"
            )
        called[str(node)] = node
    links = []
    for a, b, settings in graph.edges(data=True):
        ends = [(str(a), str(b))] if graph.is_directed() else [(str(a), str(b)), (str(b), str(a))]
        try:
            links += [Link(src, dst, **settings) for src, dst in ends]
        except ScenarioError as error:
            raise ScenarioError(f"edge {a!r} > {b!r}: {error}") from None
    pair = None if default_path is None else [str(node) for node in default_path]
    return Network(links, default_path=pair)


BDP = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*BDP\s*", re.IGNORECASE)


def _base_rtt(delays: Sequence[Quantity], access_delay: Quantity | None) -> float:
    """The base RTT of a path with two access links, s, without transmission times."""
    one_way = sum(seconds(delay, "delay") for delay in delays)
    access = 0.0 if access_delay is None else seconds(access_delay, "access delay")
    return 2 * (one_way + 2 * access)


def _room(buffer: Any, rate: Quantity, rtt: float) -> Any:
    """A buffer, with one in BDP as whole bytes."""
    match = BDP.fullmatch(buffer) if isinstance(buffer, str) else None
    if match is None:
        return buffer
    amount = float(match[1]) * bits_per_second(rate) * rtt / 8
    return f"{round(positive('buffer', amount, 'bytes'))} B"


def _access(rate: Quantity | None, delay: Quantity | None) -> Access | None:
    if rate is None and delay is None:
        return None
    return Access(math.inf if rate is None else rate, 0.0 if delay is None else delay)


def _per_hop(field: str, value: Any, hops: int) -> Sequence[Any]:
    """A value for each hop: a list unchanged, anything else repeated."""
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        return [value] * hops
    if len(value) != hops:
        raise refuse(field, value, f"one value, or a list of {hops}, one for each hop")
    return value


TOPOLOGIES: dict[str, Callable[..., Network]] = {
    "dumbbell": dumbbell,
    "chain": chain,
    "parking_lot": parking_lot,
}
"""The topologies that a TOML file can name."""
