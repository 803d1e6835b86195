"""The length of the time steps: the default, and what a user may ask for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, positive
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.layout import Route
    from tcpcc.scenario.resolve import Resolved

STEPS = 25  # in the shortest base round-trip time, at least,
STEPS_OF_MANY = 12  # where a flow stands for many, of whose windows none is seen as a clump
STEPS_BEFORE_FULL = 10  # where, besides, every queue drops by a rule before its buffer is full
DRAIN_STEPS = 8  # and in the time that the smallest full buffer takes to drain, at least,
MOST_STEPS = 200  # but not more than so many in a round trip
FEWEST_STEPS = 10  # in a round trip, that may be asked for

FINER = 40  # how much shorter steps may be while a window is a clump in slow start,
PACKET_STEPS = 10  # but not more than so many in the time of a packet
TINY = 1e-4  # of a step: the first one after a flow has started, whose window leaves at once
MANY_FLOWS = (
    30  # flows; where there are more, a flow's slow start is seen less sharply, else the short
)
# steps of all of them would cost more than the rest


def step_length(
    resolved: Resolved, kept: list[int], routes: list[Route], step: float | None, many: bool = False
) -> float:
    """The time step in s: `step` if one is given, else a part of the shortest base round-trip time
    and of the time that the smallest buffer takes to drain. `many`: some flow stands for many.

    Raises ``ScenarioError`` for a `step` that no round trip would be seen with.
    """
    flows = resolved.flows
    trips = [p.base_rtt for p in routes if not isinstance(flows[p.flows[0]].spec, CBR)]
    trip = min(trips, default=max(min(route.base_rtt for route in routes), 1e-3))
    if step is not None:
        if positive("step", step, "s") > trip / FEWEST_STEPS:
            raise ScenarioError(
                f"step = {step!r}: must be at most a tenth of the shortest base round-trip time, "
                f"{trip / FEWEST_STEPS:g} (s)"
            )
        return float(step)
    drain = min((_drain_time(resolved, index) for index in kept), default=math.inf)
    steps = STEPS
    if many:
        early = all(resolved.links[index].queue.discipline.on_fluid for index in kept)
        steps = STEPS_BEFORE_FULL if early else STEPS_OF_MANY
    return max(min(trip / steps, drain / DRAIN_STEPS), trip / MOST_STEPS)


def first_step(n_flows: int) -> float:
    """The first step after a flow has started, as a part of a step, in a world of `n_flows`."""
    return min(TINY * max(n_flows / MANY_FLOWS, 1.0) ** 2, 1.0)


def _drain_time(resolved: Resolved, index: int) -> float:
    """How long a link takes to send a buffer full of the largest packets that pass it, s."""
    link = resolved.links[index]
    if link.buffer_unit == "bytes":
        return 8 * link.buffer / link.rate
    sizes = [flow.spec.packet_size for flow in resolved.flows if index in flow.forward]
    return 8 * link.buffer * max(sizes) / link.rate if sizes else math.inf
