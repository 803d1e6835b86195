"""Links that packets of several flows reach in the order in which they left an earlier link.

In a dumbbell whose flows have access links of one kind, the bottleneck sends packets one by one, so
their ACKs reach the link back in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Way(NamedTuple):
    """The way of a flow's packets to its receiver, and of their ACKs back.

    Attributes:
        hops: rows of the world's links; the first `n_forward` are those of data.
        sizes, ack_sizes: bytes of the smallest and the largest packets, and ACKs.
        answers: whether every packet stands for itself, and is acknowledged at once.
    """

    hops: list[int]
    n_forward: int
    sizes: tuple[int, int]
    ack_sizes: tuple[int, int]
    answers: bool


def keeps_order(
    row: int,
    ways: Sequence[Way],
    own: Mapping[int, tuple[float, float]],
    rates: Mapping[int, float],
) -> bool:
    """Whether packets reach link `row` in the order in which they left a link that all `ways` have
    in common: between the two each flow has links of its own, alike for all, and no packet waits.

    Args:
        row: the link.
        ways: of all flows that cross it.
        own: rates (bit/s) and delays of the links with one feeder, on which nothing changes.
        rates: of the links that packets leave in the order in which they reach them.
    """
    before = [way.hops[: way.hops.index(row)] for way in ways]
    common = (k for k in reversed(before[0]) if all(k in hops for hops in before))
    source = next(common, None)
    if source is None or source not in rates or not all(way.answers for way in ways):
        return False
    begins = [hops.index(source) + 1 for hops in before]
    between = {
        tuple(own.get(k) for k in hops[at:]) for hops, at in zip(before, begins, strict=True)
    }
    n_data = {way.n_forward - at for way, at in zip(ways, begins, strict=True)}
    links, *others = between
    if others or len(n_data) > 1:
        return False
    sizes = [_range(way.sizes for way in ways), _range(way.ack_sizes for way in ways)]
    (n,) = n_data
    low, _ = sizes[n < 0]
    apart = 8 * low / rates[source]  # the time between two packets, at least
    for at, link in enumerate(links):
        low, high = sizes[at >= n]
        if link is None or 8 * high / link[0] > apart:
            return False
        apart -= 8 * (high - low) / link[0]
    return apart > 0


def _range(ranges: Iterable[tuple[int, int]]) -> tuple[int, int]:
    lows, highs = zip(*ranges, strict=True)
    return min(lows), max(highs)
