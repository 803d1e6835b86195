"""The links of a scenario that can hold a queue, and the routes over them.

A link where no queue can form is only a delay. Examples are a fast access link in front of a slower
bottleneck, and a link that carries only ACKs. The dumbbell of the papers keeps a single queue
for any number of flows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from tcpcc.scenario.traffic import CBR

SENSIBLE = 2**22  # packets; smaller windows are accepted on any path
#: The ECN field of a flow's packets: 0 not ECN-capable, 1 ECT(0), 2 ECT(1).
ECT = {"off": 0, "classic": 1, "accurate": 1, "l4s": 2}

if TYPE_CHECKING:
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

    #: Of a flow: its links there and back, start, rate if it is constant, ACKs' share of its bytes.
    _Traffic = tuple[tuple[int, ...], tuple[int, ...], float, float | None, float]


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
    links = tuple((link.rate, _always_queues(link)) for link in resolved.links)
    flows = tuple(
        (
            flow.forward,
            flow.reverse,
            flow.spec.start,
            flow.spec.rate if isinstance(flow.spec, CBR) else None,
            flow.spec.ack_size / flow.spec.packet_size,
        )
        for flow in resolved.flows
    )
    return list(_queueing_links(links, flows))


def _always_queues(link: Link) -> bool:
    """Whether a link is kept whatever arrives."""
    discipline = link.queue.discipline
    return (
        bool(link.record)
        or link.variable
        or link.loss > 0
        or math.isfinite(link.buffer)
        or discipline.fluid_rule is not None
        or discipline.decides_by_packet
    )


@lru_cache(maxsize=128)
def _queueing_links(
    links: tuple[tuple[float, bool], ...], flows: tuple[_Traffic, ...]
) -> tuple[int, ...]:
    loads = _loads([rate for rate, _ in links], flows)
    kept = [
        i
        for i, (rate, always) in enumerate(links)
        if i in loads and (always or sum(loads[i].values()) > rate * (1 + 1e-9))
    ]
    return tuple(_in_order(flows, kept))


def _loads(
    rates: list[float], flows: Sequence[_Traffic]
) -> dict[int, dict[tuple[str, int], float]]:
    """For each link, the highest arrival rate in bit/s from each previous link or sender.

    Traffic that has passed a link is at most as fast as the link. A sender in slow start is at most
    twice as fast as its share of the slowest link on its path.
    """
    users = Counter(i for forward, *_ in flows for i in forward)
    narrowest = [min(forward, key=lambda i: (rates[i], -users[i])) for forward, *_ in flows]
    starts: dict[int, list[float]] = {}
    for (_, _, start, *_), narrow in zip(flows, narrowest, strict=True):
        starts.setdefault(narrow, []).append(start)
    for times in starts.values():
        times.sort()
    loads: dict[int, dict[tuple[str, int], float]] = {}

    def add(link: int, source: tuple[str, int], rate: float) -> None:
        sources = loads.setdefault(link, {})
        sources[source] = max(sources.get(source, 0.0), rate)

    for k, (flow, narrow) in enumerate(zip(flows, narrowest, strict=True)):
        forward, reverse, start, constant, acks = flow
        source = ("flow", k)
        rate = constant
        if rate is None:
            rate = 2 * rates[narrow] / bisect_right(starts[narrow], start)
        for i in forward:
            add(i, source, rate)
            if rates[i] < rate:
                source, rate = ("link", i), rates[i]
        rate *= acks
        for i in reverse:
            add(i, (f"acks, {source[0]}", source[1]), rate)
    return loads


def _in_order(flows: Sequence[_Traffic], kept: list[int]) -> list[int]:
    """`kept`, sorted so that a link precedes the links that it feeds, except in cycles."""
    wanted = set(kept)
    feeds: dict[int, set[int]] = {i: set() for i in kept}
    for forward, reverse, *_ in flows:
        way = [i for i in (*forward, *reverse) if i in wanted]
        for a, b in pairwise(way):
            feeds[a].add(b)
    order: list[int] = []
    seen: set[int] = set()
    for root in kept:
        stack = [(root, iter(sorted(feeds[root])))] if root not in seen else []
        seen.add(root)
        while stack:
            link, following = stack[-1]
            for after in following:
                if after not in seen:
                    seen.add(after)
                    stack.append((after, iter(sorted(feeds[after]))))
                    break
            else:
                order.append(link)
                stack.pop()
    return order[::-1]


def route_of(links: Sequence[Link], flow: ResolvedFlow, kept: set[int]) -> Route:
    """The route of one flow over `links`; the links in `kept` can hold a queue."""
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
        if i in kept:
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
