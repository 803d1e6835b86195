"""Drawing the conversations and items of a workload from a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.streams import generator
from tcpcc.errors import ScenarioError
from tcpcc.scenario.distributions import Distribution, Empirical
from tcpcc.scenario.traffic import Flow
from tcpcc.scenario.workload import Conversation, Workload

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario

MOST = 10_000_000
"""Largest number of conversations, and of items, in a workload."""

_BLOCK = 256  # times that are drawn and summed together
_BLOCKS = 64  # at most, in one call of NumPy
_KEPT = 4  # workloads: a run's cost is estimated from the conversations that it then has


@dataclass(frozen=True)
class Drawn:
    """The conversations of a workload, in the order in which they begin.

    Attributes:
        start: time at which the connection opens, s, shape [conversation].
        kind: index into the workload's conversations, shape [conversation].
        first: index of the first item, shape [conversation + 1]; the items of conversation k are
            first[k] ... first[k+1] - 1.
        packets: size of each item in packets, shape [item].
        gap: pause before each item, s, shape [item]; 0 for the first item of a conversation.
    """

    start: NDArray[np.float64]
    kind: NDArray[np.int64]
    first: NDArray[np.int64]
    packets: NDArray[np.int64]
    gap: NDArray[np.float64]


@lru_cache(_KEPT)
def drawn(workload: Workload, name: str, seed: int, duration: float) -> Drawn:
    """Draw the conversations of `workload` in a run of `duration` s.

    Args:
        workload: the workload.
        name: its name, which selects the random streams.
        seed: seed of the scenario.
        duration: s.

    Raises:
        ScenarioError: more than `MOST` conversations or items.
    """
    end = duration if workload.flow.stop is None else min(workload.flow.stop, duration)
    between = _blocks(workload.interarrival, generator(seed, f"{name}: beginnings"))
    start = workload.flow.start + _sums(between, end - workload.flow.start, workload.count, name)
    shares = np.cumsum([kind.share for kind in workload.conversations])
    chosen = generator(seed, f"{name}: kinds").random(len(start))
    kind = np.searchsorted(shares / shares[-1], chosen, side="right")
    kind = np.minimum(kind, len(shares) - 1)
    counts = np.zeros(len(start), dtype=np.int64)
    parts = []
    for k, spec in enumerate(workload.conversations):
        of = np.flatnonzero(kind == k)
        label = f"{name}: {workload.labels[k]}"
        number, gaps = _items(spec, seed, label, duration - start[of])
        if spec.idle_first:
            start[of] += spec.gap.quantile(generator(seed, f"{label}: idle").random(len(of)))
        counts[of] = number
        if counts.sum() > MOST:
            raise _too_many(name, "items")
        parts.append((of, gaps, _packets(spec, workload.flow, seed, label, int(number.sum()))))
    first = np.concatenate([[0], np.cumsum(counts)])
    packets, gap = np.empty(first[-1], dtype=np.int64), np.empty(first[-1])
    for of, gaps, sizes in parts:
        places = np.repeat(first[:-1][of], counts[of]) + _places(counts[of])
        packets[places], gap[places] = sizes, gaps
    return _sorted(Drawn(start, kind, first, packets, gap), duration)


def spelled_out(workload: Workload, name: str, scenario: Scenario) -> list[Flow]:
    """One flow for each conversation of `workload`; see `Scenario.spelled_out`."""
    own = workload.flow.access_rate is not None or workload.flow.access_delay is not None
    if scenario.net.access is not None or own:
        raise ScenarioError(
            f"workload {name!r}: its connections share access links, but flows cannot"
        )
    draws = drawn(workload, name, scenario.seed, scenario.duration)
    if len(draws.packets) > len(draws.start):
        raise ScenarioError(
            f"workload {name!r}: has conversations of several items; a flow has one"
        )
    connections = workload.connections()
    rows = zip(draws.start.tolist(), draws.kind.tolist(), draws.packets.tolist(), strict=True)
    return [
        connections[kind].replace(start=start, stop=None, size=packets, name=f"{name}-{number}")
        for number, (start, kind, packets) in enumerate(rows)
    ]


def _sorted(all_of: Drawn, duration: float) -> Drawn:
    """The conversations in order of their start, without those that start after the run."""
    order = np.argsort(all_of.start, kind="stable")
    order = order[all_of.start[order] < duration]
    counts = np.diff(all_of.first)[order]
    places = np.repeat(all_of.first[:-1][order], counts) + _places(counts)
    first = np.concatenate([[0], np.cumsum(counts)])
    in_order = Drawn(
        all_of.start[order],
        all_of.kind[order],
        first,
        all_of.packets[places],
        all_of.gap[places],
    )
    for column in vars(in_order).values():  # `drawn` gives the same arrays to all
        column.flags.writeable = False
    return in_order


def _places(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ..., counts[0] - 1, 0, 1, ..., counts[1] - 1, ..."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _packets(
    spec: Conversation, flow: Flow, seed: int, label: str, number: int
) -> NDArray[np.int64]:
    wire = flow.packet_size if spec.packet_size is None else spec.packet_size
    payload = wire - (flow.header if spec.header is None else spec.header)
    size = spec.size.quantile(generator(seed, f"{label}: sizes").random(number))
    return np.maximum(np.ceil(np.minimum(size / payload, 2.0**53)), 1.0).astype(np.int64)


def _items(
    spec: Conversation, seed: int, label: str, left: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Number of items of each conversation, and the pause before each item, 0 before the first.

    `left` is the time from the start of each conversation to the end of the run, s. Pauses beyond
    it are not drawn.
    """
    pauses = generator(seed, f"{label}: gaps")
    number = generator(seed, f"{label}: items").random(len(left))
    if spec.items is not None:
        counts = np.maximum(np.ceil(spec.items.quantile(number)), 1.0).astype(np.int64)
        if counts.sum() > MOST:
            raise _too_many(label, "items")
        gaps = spec.gap.quantile(pauses.random(int(counts.sum())))
        gaps[_places(counts) == 0] = 0.0
        return counts, gaps
    limits = left
    if spec.lasting is not None:
        limits = np.minimum(left, spec.lasting.quantile(number))
    blocks = _blocks(spec.gap, pauses, min(max(len(left), 1), _BLOCKS))
    times = [_sums(blocks, limit, None, label) for limit in limits.tolist()]
    counts = np.array([1 + len(of) for of in times], dtype=np.int64)
    if counts.sum() > MOST:
        raise _too_many(label, "items")
    # a conversation is [0, *times]: its pauses are the differences, 0 before the first item
    parts = [part for of in times for part in ([0.0], of)]
    gaps = np.diff(np.concatenate([*parts, []]), prepend=0.0)
    gaps[_places(counts) == 0] = 0.0
    return counts, gaps


def _blocks(
    between: Distribution | Empirical, stream: np.random.Generator, at_once: int = 1
) -> Iterator[NDArray[np.float64]]:
    """The sums of drawn times, `_BLOCK` at a time, each block from 0; `at_once` are drawn together,
    with the numbers of one after the other."""
    while True:
        yield from between.quantile(stream.random((at_once, _BLOCK))).cumsum(axis=1)


def _sums(
    blocks: Iterator[NDArray[np.float64]], end: float, count: int | None, name: str
) -> NDArray[np.float64]:
    """The first sums of drawn times: those below `end`, at most `count`."""
    parts = [np.empty(0)]
    last, number = 0.0, 0
    while last < end and (count is None or number < count):
        sums = last + next(blocks)
        parts.append(sums[: np.searchsorted(sums, end)])
        last, number = float(sums[-1]), number + _BLOCK
        if number > MOST:
            raise _too_many(name, "beginnings")
        if math.isnan(last):
            raise ScenarioError(f"workload {name!r}: a drawn time is NaN")
    return np.concatenate(parts)[:count]


def _too_many(name: str, what: str) -> ScenarioError:
    return ScenarioError(f"workload {name!r}: has more than {MOST:,} {what}")
