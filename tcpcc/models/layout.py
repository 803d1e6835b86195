"""The links of a scenario that can hold a queue, and the routes over them.

A link where no queue can form is only a delay. Examples are a fast access link in front of a slower
bottleneck, and a link that carries only ACKs. The dumbbell of the papers keeps a single queue
for any number of flows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tcpcc.scenario.traffic import CBR

SENSIBLE = 2**22  # packets; smaller windows are accepted on any path
#: The ECN field of a flow's packets: 0 not ECN-capable, 1 ECT(0), 2 ECT(1).
ECT = {"off": 0, "classic": 1, "accurate": 1, "l4s": 2}

if TYPE_CHECKING:
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow


@dataclass
class Route:
    """The queueing links on the path of a flow, and the delays between these links.

    Attributes:
        links: indices into the scenario's links, data path first.
        n_forward: number of these links that carry data; the rest carry ACKs.
        before: delay in s to each link, from the sender or the previous queueing link. The
            transmission and propagation delay of a link belong to the delay after it.
        after: delay in s from the last link back to the sender.
        to_receiver: delay in s from the last data link to the receiver.
    """

    links: tuple[int, ...]
    n_forward: int
    before: list[float]
    after: float
    to_receiver: float

    @property
    def base_rtt(self) -> float:
        return sum(self.before) + self.after


def queueing_links(resolved: Resolved) -> list[int]:
    """Indices of the links that can hold a queue, in an order in which data passes them."""
    rates = [link.rate for link in resolved.links]
    loads = _loads(resolved)
    queueing = [
        i
        for i, link in enumerate(resolved.links)
        if i in loads
        and (
            link.record
            or link.variable
            or link.loss > 0
            or math.isfinite(link.buffer)
            or link.queue.discipline.fluid_rule is not None
            or link.queue.discipline.decides_by_packet
            or sum(loads[i].values()) > rates[i] * (1 + 1e-9)
        )
    ]
    return _in_order(resolved, queueing)


def _loads(resolved: Resolved) -> dict[int, dict[tuple[str, int], float]]:
    """For each link, the highest arrival rate in bit/s from each previous link or sender.

    Traffic that has passed a link is at most as fast as the link. A sender in slow start is at most
    twice as fast as its share of the slowest link on its path.
    """
    links = resolved.links
    users = Counter(i for flow in resolved.flows for i in flow.forward)
    narrowest = [
        min(flow.forward, key=lambda i: (links[i].rate, -users[i])) for flow in resolved.flows
    ]
    starts: dict[int, list[float]] = {}
    for flow, narrow in zip(resolved.flows, narrowest, strict=True):
        starts.setdefault(narrow, []).append(flow.spec.start)
    for times in starts.values():
        times.sort()
    loads: dict[int, dict[tuple[str, int], float]] = {}

    def add(link: int, source: tuple[str, int], rate: float) -> None:
        sources = loads.setdefault(link, {})
        sources[source] = max(sources.get(source, 0.0), rate)

    for k, (flow, narrow) in enumerate(zip(resolved.flows, narrowest, strict=True)):
        if isinstance(flow.spec, CBR):
            source, rate = ("flow", k), flow.spec.rate
        else:
            sharing = bisect_right(starts[narrow], flow.spec.start)
            source, rate = ("flow", k), 2 * links[narrow].rate / sharing
        for i in flow.forward:
            add(i, source, rate)
            if links[i].rate < rate:
                source, rate = ("link", i), links[i].rate
        rate *= flow.spec.ack_size / flow.spec.packet_size
        for i in flow.reverse:
            add(i, (f"acks, {source[0]}", source[1]), rate)
    return loads


def _in_order(resolved: Resolved, queueing: list[int]) -> list[int]:
    """`queueing`, sorted so that a link precedes the links that it feeds, except in cycles."""
    wanted = set(queueing)
    feeds: dict[int, set[int]] = {i: set() for i in queueing}
    for flow in resolved.flows:
        way = [i for i in (*flow.forward, *flow.reverse) if i in wanted]
        for a, b in pairwise(way):
            feeds[a].add(b)
    order: list[int] = []
    visited: set[int] = set()
    for root in queueing:
        stack = [(root, iter(sorted(feeds[root])))] if root not in visited else []
        visited.add(root)
        while stack:
            link, following = stack[-1]
            for after in following:
                if after not in visited:
                    visited.add(after)
                    stack.append((after, iter(sorted(feeds[after]))))
                    break
            else:
                order.append(link)
                stack.pop()
    return order[::-1]


def route_of(links: Sequence[Link], flow: ResolvedFlow, queueing: set[int]) -> Route:
    """The route of one flow over `links`; the links in `queueing` can hold a queue."""
    bits = 8.0 * flow.spec.packet_size
    passed: list[int] = []
    before: list[float] = []
    delay = 0.0
    n_forward = 0
    to_receiver = 0.0
    for number, i in enumerate((*flow.forward, *flow.reverse)):
        if number == len(flow.forward):
            to_receiver, n_forward = delay, len(passed)
            bits = 8.0 * flow.spec.ack_size
        if i in queueing:
            passed.append(i)
            before.append(delay)
            delay = 0.0
        delay += bits / links[i].rate + links[i].mean_delay
    if not flow.reverse:
        to_receiver, n_forward = delay, len(passed)
    return Route(tuple(passed), n_forward, before, delay, to_receiver)


def packets_in_run(resolved: Resolved, flow: ResolvedFlow, duration: float) -> float:
    """The packets that the slowest link of a flow's path can send in `duration`, s."""
    rates = {i: resolved.links[i].rate for i in flow.forward}
    for change in resolved.changes:
        if change.link in rates and change.spec.rate is not None:
            rates[change.link] = max(rates[change.link], change.spec.rate)
    return min(rates.values(), default=math.inf) * duration / (8 * flow.spec.packet_size)


def beyond_run(packets: float) -> str:
    """Why a window of more packets than a run can carry is refused."""
    return f"the slowest link of its path carries {packets:.3g} packets in the whole run"


def in_single_packets(resolved: Resolved, trains: float, duration: float) -> bool:
    """Whether `trains` in a round trip have one packet each, in a run of `duration`, s: on no path
    a round trip with full buffers is longer than so many packets on its slowest link.

    Where a link changes or a queue has no limit, only the run's duration bounds a round trip.
    Packets of a source of constant rate are its interval apart.
    """
    largest = max((row.spec.packet_size for row in resolved.rows), default=0)

    def longest_delay(i: int, unlimited: Collection[int]) -> float:
        link = resolved.links[i]
        if link.variable or i in unlimited:
            return math.inf
        room = link.buffer * (largest if link.buffer_unit == "packets" else 1)
        waits = 8 * room / link.rate if math.isfinite(room) else 0.0
        return link.delay + link.jitter + link.aggregation + waits

    def fit(unlimited: Collection[int] = ()) -> bool:
        """Whether trains have one packet if the queues of these links have no limit."""
        for row in resolved.rows:
            hops = (*row.forward, *(row.reverse or row.forward))
            longest = min(sum(longest_delay(i, unlimited) for i in hops), duration)
            packets = packets_in_run(resolved, row, longest)
            if isinstance(row.spec, CBR):
                packets = row.spec.rate * longest / (8 * row.spec.packet_size)
            if packets > trains:
                return False
        return True

    if not fit():  # saves the search for queues in nearly all runs
        return False
    return fit({i for i in queueing_links(resolved) if math.isinf(resolved.links[i].buffer)})
