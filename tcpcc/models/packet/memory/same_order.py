"""Links that packets of several flows reach in the order in which they left an earlier link.

In a dumbbell whose flows have access links of one kind, the bottleneck sends packets one by one, so
their ACKs reach the link back in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Way(NamedTuple):
    """The way of a flow's packets to its receiver, and of their ACKs back.

    Attributes:
        hops: rows of the world's links; a receiver that acknowledges each packet at once is one.
        sizes: bytes of the smallest and of the largest packet on each hop.
    """

    hops: list[int]
    sizes: list[tuple[int, int]]


def keeps_order(
    row: int,
    ways: Sequence[Way],
    own: Mapping[int, tuple[float, float]],
    rates: Mapping[int, float],
) -> bool:
    """Whether packets reach link `row` in the order in which they left a link that all `ways` have
    in common: between the two each flow has hops of its own, alike for all, and no packet waits.

    Args:
        row: the link.
        ways: of all flows that cross it.
        own: rates (bit/s) and delays of the hops of single flows, on which nothing changes.
        rates: of the links that packets leave in the order in which they reach them.
    """
    before = [way.hops[: way.hops.index(row)] for way in ways]
    once = (k for k in reversed(before[0]) if k in rates and all(x.count(k) == 1 for x in before))
    source = next(once, None)
    if source is None or any(way.hops.count(row) > 1 for way in ways):
        return False
    begins = [hops.index(source) for hops in before]
    between = {tuple(map(own.get, hops[at + 1 :])) for hops, at in zip(before, begins, strict=True)}
    links, *others = between
    if others:
        return False
    parts = [way.sizes[at : at + 1 + len(links)] for way, at in zip(ways, begins, strict=True)]
    sizes = [
        (min(low for low, _ in x), max(high for _, high in x)) for x in zip(*parts, strict=True)
    ]
    apart = 8 * sizes[0][0] / rates[source]  # the time between two packets, at least
    for link, (low, high) in zip(links, sizes[1:], strict=True):
        if link is None or 8 * high / link[0] > apart:
            return False
        apart -= 8 * (high - low) / link[0]
    return apart > 0
