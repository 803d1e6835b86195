"""The routes of flow classes in the mean field, and the time step that these need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError, positive
from tcpcc.models.layout import Route, route_of
from tcpcc.models.meanfield.lookback import LINK_COLUMNS

if TYPE_CHECKING:
    from tcpcc.models.meanfield.flow_classes import FlowClass
    from tcpcc.scenario.resolve import Resolved

STEPS = 5  # per shortest base round-trip time, if series are recorded
FEWEST_STEPS = 2  # the same without series; changes the extremes of a long oscillation by 1e-4


def class_routes(
    resolved: Resolved, kinds: Sequence[FlowClass], kept: Sequence[int]
) -> list[Route]:
    """The route of each class over the links in `kept`. Classes with the same path and packet sizes
    share one object."""
    known: dict[Any, Route] = {}
    routes, queues = [], set(kept)
    for kind in kinds:
        flow = resolved.flows[kind.flow]
        sizes = flow.spec.packet_size, getattr(flow.spec, "ack_size", 0)
        key = flow.forward, flow.reverse, sizes
        if key not in known:
            known[key] = route_of(resolved.links, flow, queues)
        routes.append(known[key])
    return routes


def closed_routes(
    resolved: Resolved, kinds: Sequence[FlowClass], routes: Sequence[Route]
) -> list[Route]:
    """The routes of classes with feedback; if there are no such classes, of all classes."""
    closed = [
        route
        for kind, route in zip(kinds, routes, strict=True)
        if resolved.flows[kind.flow].controller is not None
    ]
    return closed or [replace(route, after=route.after + 1e-3) for route in routes]


def history_columns(kept: Sequence[int], routes: Sequence[Route]) -> int:
    """Numbers in a row of the history: those of the queueing links, and the sending rate of each
    class and its rate at each link of its route."""
    return LINK_COLUMNS * len(kept) + sum(1 + len(route.links) for route in routes)


def integration_step(closed: Sequence[Route], step: float | None, interval: float | None) -> float:
    """The time step in s.

    It is `step`, if given. Otherwise it is a fifth of the shortest base round-trip time (half of it
    without an `interval`), but at most the shortest delay from a link back to a sender. If
    `interval` is given, the step is shortened so that an interval is a whole number of steps.

    Raises:
        ScenarioError: `step` is longer than the shortest delay from a link back to a sender.
    """
    ways = [
        route.base_rtt - sum(route.before[: j + 1])
        for route in closed
        for j in range(len(route.before))
    ]
    trip = min(route.base_rtt for route in closed)
    longest = min([trip, *(way for way in ways if way > 0)])
    if step is None:
        step = min(trip / (FEWEST_STEPS if interval is None else STEPS), longest)
    elif positive("step", step, "s") > longest * (1 + 1e-9):
        raise ScenarioError(
            f"step = {step!r}: must be at most the shortest delay from a link back to a sender, "
            f"{longest:g} (s)"
        )
    return step if interval is None else interval / max(math.ceil(interval / step - 1e-9), 1)
