"""A scenario as the fluid model runs it: its senders, links with a queue, routes and time step; and
which scenarios have worlds that are alike."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import ScenarioError
from tcpcc.models.fluid.fluid_packet_memory import takes_packets
from tcpcc.models.layout import Route, queueing_links, route_of
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

SHORTER = 0.2  # part of a step
TRIED = 100  # steps
SHORTEST_REACH = 64  # steps of waiting at a link for which the tables have room at first
LONGEST_REACH = 1024  # for which a batch has room at first
ALL = 10_000  # flows; more are not simulated each where a sender cannot stand for several


def with_senders(scenario: Scenario, senders: float) -> Resolved:
    """The scenario with at most so many `senders` of a flow. If they share a link of whole
    packets, every flow has a sender.

    Raises:
        ScenarioError: these are more than `ALL` flows.
    """
    resolved = scenario.resolve(senders=senders)
    for flow in resolved.flows:
        if flow.spec.count == 1:
            continue
        for link in (resolved.links[i] for i in (*flow.forward, *flow.reverse)):
            discipline = link.queue.discipline
            if not takes_packets(discipline):
                continue
            number = sum(flow.spec.count for flow in resolved.flows)
            if number > ALL:
                why = "keeps them apart" if discipline.inner > 1 else "decides about each packet"
                raise ScenarioError(
                    f"count: {number:,} flows on link {link.name!r}, whose queue"
                    f" {link.queue.name!r} {why}: must be at most {ALL:,}"
                )
            return scenario.resolve()
    return resolved


class FluidCase:
    """A resolved scenario and what follows from its numbers.

    Args:
        scenario: the scenario.
        resolved: the resolved scenario.
        steps: option of `tcpcc.simulate`.

    Attributes:
        rows: `resolved.rows`.
        kept: indices of the links that can hold a queue, in the order in which data pass them.
        routes: over these links, of each of the `rows`.
        noises: mean of the random delays on the path of each of the `rows`, s.
        step: the time step, s.
        end, n_bins: number of steps and of recording intervals.
        reach: of each kept link, the steps of waiting for which a batch has room at first.
        kind: equal for scenarios whose worlds differ in nothing but the numbers that
            `FluidWorld.write_numbers` writes; None if only an equal scenario has such a world.
    """

    def __init__(self, scenario: Scenario, resolved: Resolved, steps: float) -> None:
        self.scenario, self.resolved = scenario, resolved
        self.rows = resolved.rows
        self.kept = queueing_links(replace(resolved, flows=self.rows))
        queueing = set(self.kept)
        self.routes = [route_of(resolved.links, flow, queueing) for flow in self.rows]
        jitter = [link.jitter for link in resolved.links]
        self.noises = [
            sum(jitter[k] for k in (*flow.forward, *flow.reverse)) / 2 for flow in self.rows
        ]
        self.step = step_of(resolved, self.routes, scenario.interval, steps)
        self.end = math.ceil(scenario.duration / self.step - 1e-9)
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.work = self.end * len(resolved.flows)  # steps of all flows
        delays = max((route.base_rtt for route in self.routes), default=0.0)
        delays += sum(change.spec.delay or 0.0 for change in resolved.changes)
        self.ahead = math.ceil(delays / self.step) + len(self.kept) + 1  # rows of future steps
        self.reach = {k: self._reach(resolved.links[k]) for k in self.kept}
        self.kind = self._kind()

    def _reach(self, link: Link) -> int:
        """A power of two, for the wait in the link's buffer if it is full."""
        largest = max((row.spec.packet_size for row in self.rows), default=0)
        room = link.buffer * (largest if link.buffer_unit == "packets" else 1)
        full = 8 * room / link.rate / self.step + 2
        return _power_of_two(min(max(SHORTEST_REACH, full), LONGEST_REACH))

    def table_rows(self, reach: dict[int, int]) -> int:
        """Rows of the tables of the past: a power of two, for the longest round trip of what waits
        for at most `reach` steps at each link."""
        waits = max((sum(reach[k] for k in route.links) for route in self.routes), default=0)
        return _power_of_two(1.5 * (self.ahead + waits) + 64)

    def link_rows(self, reach: int) -> int:
        """Rows of the tables of a link, for waits of at most `reach` steps and for a delay."""
        return _power_of_two(self.ahead + reach + 2)

    def _kind(self) -> Hashable:
        resolved = self.resolved
        if resolved.workloads or resolved.changes:
            return None
        scenario = self.scenario
        return (
            scenario.duration, scenario.interval, len(scenario.net.links), tuple(self.kept),
            self.table_rows(self.reach), *self.reach.values(),
            *map(self.link_rows, self.reach.values()),
            *(_kind_of_link(link) for link in resolved.links),
            *(_kind_of_flow(flow) for flow in resolved.flows),
        )  # fmt: skip


def _power_of_two(least: float) -> int:
    return 1 << math.ceil(math.log2(least))


def _kind_of_link(link: Link) -> Hashable:
    discipline = link.queue.discipline
    room = link.buffer if takes_packets(discipline) else 0.0
    return link.name, link.record, link.buffer_unit, room, discipline


def _kind_of_flow(flow: ResolvedFlow) -> Hashable:
    spec = flow.spec
    settings = spec if isinstance(spec, CBR) else _settings(spec)
    return _identity(flow), settings


_identity = attrgetter("name", "owner", "forward", "reverse", "controller", "recovery")
_settings = attrgetter(
    "count", "writes", "packet_size", "ack_size", "traffic_class", "transport", "group", "record"
)


def step_of(resolved: Resolved, routes: list[Route], interval: float, steps: float) -> float:
    """The time step in s: at most 1/`steps` of the shortest base RTT, a whole part of `interval`.

    The RTT is that of the largest packets: smaller ones wait for them. Of the steps that are up to
    `SHORTER` shorter, it is the one of which the base RTTs are whole multiples most nearly.
    """
    closed = [(x, f) for x, f in zip(routes, resolved.rows, strict=True) if f.controller]
    largest = max((f.spec.packet_size for _, f in closed), default=0)
    trips = []
    for route, flow in closed:
        per_byte = sum(8 / resolved.links[k].rate for k in flow.forward)
        trips.append(route.base_rtt + per_byte * (largest - flow.spec.packet_size))
    trip = min([rtt for rtt in trips if rtt > 0], default=interval)
    return _step_near(trip / steps, tuple(route.base_rtt for route, _ in closed), interval)


@lru_cache(maxsize=128)
def _step_near(longest: float, base_rtts: tuple[float, ...], interval: float) -> float:
    least = float(max(math.ceil(interval / longest - 1e-9), 1))
    parts = _parts_from(least)
    steps = np.array(base_rtts)[:, None] * parts / interval
    return interval / float(parts[np.abs(steps - steps.round()).sum(0).argmin()])


@lru_cache(maxsize=128)
def _parts_from(least: float) -> NDArray[np.float64]:
    """Whole numbers from `least` on: steps of an interval, up to `SHORTER` shorter."""
    most = max(least / (1 - SHORTER) // 1, least)
    return np.unique(np.linspace(least, most, int(min(most - least + 1, TRIED))).round())
