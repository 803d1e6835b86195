"""The memory of paths: the hops of every flow, and the lanes of packets in flight."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank
from tcpcc.models.packet import packet_records as r
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.resolve import ResolvedFlow

NOWHERE = -1  # no link


class PathMemory:
    """Hops and lanes of a world.

    Attributes:
        hops: records HOP; the hops of one path are contiguous.
        lanes: records LANE: one for each row of the world's links, then the joint ones.
        row_of: a link's row in the world's links.
        stages: the row of a link's stage of jitter, by link, if it has one at any time.
        feeders: of each row of links, the rows, or ends of paths, from which packets come.
    """

    def __init__(self, world: PacketWorld) -> None:
        self.world = world
        links = world.resolved.links
        self.row_of = list(range(len(links)))
        later = {c.link for c in world.resolved.changes if c.spec.jitter is not None}
        followed = [i for i, link in enumerate(links) if link.has_stage or i in later]
        self.stages = {i: len(links) + k for k, i in enumerate(followed)}

    def lay_out(self) -> None:
        """Write the hops of all flows, and make the lanes of the links."""
        rows = self.lay_out_hops()
        for number, flow in enumerate(self.world.resolved.flows):
            self.fill(self.world.flows[number : number + 1], number, flow)
        self._lay_out_lanes(rows)

    def lay_out_hops(self) -> list[tuple[int, int, bool, int]]:
        """Write the hops of all flows; returns their rows.

        A row is the link, what follows the hop, whether the path crosses the link again, and how
        many packets a packet stands for there.

        A packet goes on to the next link without an event if packets reach that link in the order
        in which they are handled, neither link changes during the run, and, at a receiver, ACKs are
        not delayed. The order is known if the link's only feeder is the link before it (or the
        flow's own sender or receiver), and by :meth:`_in_order`. A discipline that decides on
        arrival must see the queue at that time, so packets reach its link by an event.
        """
        world, resolved = self.world, self.world.resolved
        later: set[Any] = {("later", 1), ("later", 2)} if world.growing else set()
        feeders = self.feeders = {i: {*later} for i in range(len(world.scenario.net.links))}
        for number, flow in self.numbered():
            for end, way in (("sender", flow.forward), ("receiver", flow.reverse)):
                before: Any = (end, number)
                for link in self.hops_of(way):
                    feeders.setdefault(link, set()).add(before)
                    before = link
        rows_of = list(zip(self.row_of, resolved.links, strict=True))
        variable = {
            row for row, link in rows_of if link.variable or link.queue.discipline.is_scheduled
        }
        decides = {
            row
            for i, (row, link) in enumerate(rows_of)
            if i in world.fluid_links or link.queue.discipline.decides_by_packet
        }
        reorders = {k for i, k in self.stages.items() if resolved.links[i].reordering}

        own = {row for row in feeders if len(feeders[row]) == 1} - variable - decides
        several = set() if world.growing else feeders.keys() - own - variable - decides
        is_open = own | self._in_order(several)

        rows: list[tuple[int, int, bool, int]] = []
        common = set(self.row_of[: len(world.scenario.net.links)])
        self.path_of: list[int] = []  # each path's first hop
        for _, flow in self.numbered():
            self.path_of.append(len(rows))
            passed: set[int] = set()
            forward, reverse = self.hops_of(flow.forward), self.hops_of(flow.reverse)
            at_once = not _holds_acks(flow) and is_open.issuperset(reverse[:1])
            receiver = r.RECEIVER if at_once else r.BY_EVENT
            for hops, last in ((forward, receiver), (reverse, r.BY_EVENT)):
                for k, link in enumerate(hops):
                    if link in reorders:
                        then = r.OVERTAKEN
                    elif link in variable:
                        then = r.BY_EVENT
                    elif k + 1 < len(hops):
                        then = r.NEXT_LINK if hops[k + 1] in is_open else r.BY_EVENT
                    else:
                        then = last
                    count = flow.spec.count if link in common else 1
                    rows.append((link, then, link in passed, count))
                    passed.add(link)
        self.hops = np.array(rows, r.HOP)
        self.margin = np.full(len(world.links), r.MARGIN)
        np.maximum.at(self.margin, self.hops["link"], r.MARGIN * self.hops["count"])
        self.hops["link"] = address(world.links) + world.links.itemsize * self.hops["link"]
        return rows

    def _in_order(self, rows: set[int]) -> set[int]:
        """Of the links in `rows`, which have several feeders, those that only ACKs enter, of data
        from one link: they come in the order in which that link has sent the data."""
        pairs = zip(self.row_of, self.world.resolved.links, strict=True)
        spaced = {row for row, link in pairs if link.rate < math.inf}
        ends: dict[int, set[int]] = {row: set() for row in rows}
        for _, flow in self.numbered():
            forward, back = self.hops_of(flow.forward), self.hops_of(flow.reverse)
            answers = flow.spec.count == 1 and not _holds_acks(flow)
            for row in rows & {*forward, *back}:
                first = back[:1] == [row] and (forward + back).count(row) == 1
                ends[row].add(forward[-1] if first and answers else NOWHERE)
        return {row for row, end in ends.items() if len(end) == 1 and end <= spaced}

    def _lay_out_lanes(self, rows: list[tuple[int, int, bool, int]]) -> None:
        """Make a lane for each link from which packets go on by an event, and joint lanes.

        The event list holds one entry per lane. Links with the same delay that end where the same
        link begins, or that end at hosts, have a joint lane. Packets mostly arrive from these links
        in the order in which they were sent, so one entry serves all of them.
        """
        world = self.world
        ends: dict[int, set[int]] = {}
        for (link, then, *_), (following, *_) in zip(rows, [*rows[1:], rows[0]], strict=True):
            if then == r.BY_EVENT:
                ends.setdefault(link, set()).add(following)
        last = {self.path_of[k] - 1 for k in range(len(self.path_of))} | {len(rows) - 1}
        for place, (link, then, *_) in enumerate(rows):
            if then == r.BY_EVENT and place in last:
                ends[link] = {-1}
        groups: dict[tuple[float, ...], list[int]] = {}
        links = world.resolved.links
        for number, places in ends.items():
            is_stage = number >= len(links)  # its delays are random
            if len(places) == 1 and not is_stage and not links[number].variable:
                groups.setdefault((*places, links[number].delay), []).append(number)
        joint = [group for group in groups.values() if len(group) > 1]
        self.lanes = blank(len(world.links) + len(joint), r.LANE)
        self.lane_of = np.arange(len(world.links))
        self.joint_of = np.full(len(world.links), -1)
        for place, group in enumerate(joint, len(world.links)):
            self.joint_of[group] = place
        self.point_at_lanes()
        some = set(range(len(world.scenario.net.links))) if world.growing else set()
        for i in sorted({*ends, *some, *range(len(world.links), len(self.lanes))}):
            world.rings.place(self.lanes, "flight", i, blank(r.FIRST_RING, r.PACKET))

    def point_at_lanes(self) -> None:
        """Write the addresses of the lanes into the links."""
        links = self.world.links
        self.lanes["ident"] = np.arange(len(self.lanes))
        base, size = address(self.lanes), self.lanes.itemsize
        links["lane"] = base + size * self.lane_of
        links["joint"] = np.where(self.joint_of < 0, 0, base + size * self.joint_of)

    def numbered(self) -> Iterator[tuple[int, ResolvedFlow]]:
        """Numbered paths through the network: one per flow, then one per workload.

        All connections of a workload have the same two hosts. Their packets reach the first link,
        and their ACKs the first link of the reverse path, in the order in which they are handled.
        """
        resolved = self.world.resolved
        yield from enumerate(resolved.flows)
        loads = enumerate(resolved.workloads, len(resolved.flows))
        yield from ((number, load.kinds[0]) for number, load in loads)

    def fill(self, row: Any, path: int, flow: ResolvedFlow) -> None:
        """Write the place of a flow's hops into its record."""
        row["path"] = self.path_of[path]
        row["n_forward"] = len(self.hops_of(flow.forward))
        row["n_hops"] = row["n_forward"] + len(self.hops_of(flow.reverse))

    def hops_of(self, way: tuple[int, ...]) -> list[int]:
        """The rows of a path's links, each followed by its stage of jitter if it has one."""
        pairs = ((self.row_of[i], self.stages.get(i)) for i in way)
        return [k for pair in pairs for k in pair if k is not None]


def _holds_acks(flow: ResolvedFlow) -> bool:
    return not isinstance(flow.spec, CBR) and flow.spec.transport.delayed_ack > 0
