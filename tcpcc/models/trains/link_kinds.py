"""How trains cross each link of a scenario."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tcpcc.models.trains.train_records import FREE, LONE, OWN, SHARED, SINGLE, STAGE
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import ResolvedFlow


@dataclass
class Use:
    """What crosses a row of the world's links.

    Attributes:
        hops: numbers of the hops.
        paths: numbers of the paths.
        sizes, ack_sizes: of data packets, of ACKs.
        slowest: of each path whose ACKs come here, the data link with the lowest rate.
        counts: flows that the packets stand for, of senders that stand for several.
    """

    hops: list[int] = field(default_factory=list)
    paths: list[int] = field(default_factory=list)
    sizes: set[int] = field(default_factory=set)
    ack_sizes: set[int] = field(default_factory=set)
    slowest: set[int] = field(default_factory=set)
    counts: list[int] = field(default_factory=list)


def uses_of_links(world: PacketWorld) -> dict[int, Use]:
    """What crosses each row of the world's links, of those on a path."""
    paths, links, n_flows = world.paths, world.resolved.links, len(world.resolved.flows)
    uses: dict[int, Use] = defaultdict(Use)
    for number, flow in paths.numbered():
        specs: list[Any] = [flow.spec]
        if number >= n_flows:
            specs = [kind.spec for kind in world.resolved.workloads[number - n_flows].kinds]
        forward = paths.hops_of(flow.forward)
        slowest = min(flow.forward, key=lambda i: links[i].rate)
        for k, row in enumerate(forward + paths.hops_of(flow.reverse), paths.path_of[number]):
            use = uses[row]
            use.hops.append(k)
            use.paths.append(number)
            if flow.spec.count > 1:
                use.counts.append(flow.spec.count)
            if k < paths.path_of[number] + len(forward):
                use.sizes.update(spec.packet_size for spec in specs)
            else:
                use.ack_sizes.update(spec.ack_size for spec in specs)
                use.slowest.add(slowest)
    return uses


def kinds_of_links(world: PacketWorld, uses: dict[int, Use]) -> dict[int, int]:
    """The kind of every row of the world's links on a path; see `train_records`."""
    links = world.resolved.links
    kinds = {
        row: SINGLE if links[i].aggregation > 0 or links[i].reordering else STAGE
        for i, row in world.paths.stages.items()
    }
    specs = [flow.spec for _, flow in world.paths.numbered() if flow.reverse]
    ratio = min((spec.packet_size / spec.ack_size for spec in specs), default=math.inf)
    for i in uses.keys() - kinds.keys():
        kinds[i] = _kind_of_link(world, i, links[i], uses[i], ratio)
    for flow in world.resolved.flows:
        hop, i = first_queue(kinds, world.paths.hops_of(flow.forward))
        if hop >= 0 and _is_lone(flow, links[i], uses[i]):
            kinds[i] = LONE
    return kinds


def first_queue(kinds: dict[int, int], hops: list[int]) -> tuple[int, int]:
    """The first hop, and its link, with a fluid queue or one of the flow alone; -1, -1: there is
    none, or a link of the packet model comes before."""
    for hop, link in enumerate(hops):
        if kinds[link] in (SHARED, LONE):
            return hop, link
        if kinds[link] == SINGLE:
            break
    return -1, -1


def lag_at(world: PacketWorld, flow: ResolvedFlow, hop: int) -> float:
    """How long before a packet of a sender reaches a hop its last transmission began, s: that of
    the link before, or of the ACK that releases it, unless these have waited."""
    links = world.resolved.links
    before = [row for row in world.paths.hops_of(flow.forward)[:hop] if row < len(links)]
    if not before and not flow.reverse:
        return math.inf
    link = links[before[-1] if before else flow.reverse[-1]]
    size = flow.spec.packet_size if before else flow.spec.ack_size
    return 8 * size / link.rate + link.delay if link.rate > 0 else math.inf


def _kind_of_link(world: PacketWorld, i: int, link: Link, use: Use, ratio: float) -> int:
    """Kind of link `i`; an ACK has 1/`ratio` of a packet's bytes, at most."""
    # fluid would mix a burst with what waits
    mixed = len(use.sizes) > 1 and not use.counts
    queue = link.queue.discipline
    if link.variable or queue.is_scheduled or link.buffer_unit == "bytes" or mixed:
        return SINGLE
    of_one_flow = i >= len(world.scenario.net.links) or not use.counts
    if not world.links["tracked"][i] and of_one_flow and not _meet(world, i, link, use):
        return OWN
    plain = queue.on_arrival is None and link.loss == 0
    if math.isinf(link.rate):  # nothing ever waits
        return FREE if plain else SINGLE
    if plain and not world.resolved.changes and not use.sizes:
        needed = sum(world.resolved.links[k].rate for k in use.slowest) / ratio
        if link.rate >= needed:
            return FREE
    return SHARED


def _meet(world: PacketWorld, i: int, link: Link, use: Use) -> bool:
    """Whether packets of several flows can wait for each other: they come from several links, or
    from one link that is faster, or changes."""
    feeders = world.paths.feeders[i]
    if len(feeders) > 1:
        return True
    if len(use.paths) == 1:
        return False
    (feeder,) = feeders
    changes = feeder < len(world.resolved.links) and world.resolved.links[feeder].variable
    return changes or bool(world.links["rate"][feeder] > link.rate)


def _is_lone(flow: ResolvedFlow, link: Link, use: Use) -> bool:
    """Whether a link with a queue is drop-tail, and one sender's alone."""
    return (
        not isinstance(flow.spec, CBR)
        and len(use.paths) == 1
        and not use.counts
        and link.queue.discipline.on_arrival is None
    )
