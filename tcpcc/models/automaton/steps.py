"""The length of the time steps: the default, and the check of a given one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, positive
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.layout import Route
    from tcpcc.scenario.resolve import Resolved

STEPS = 25  # least number of steps in the shortest base round-trip time
STEPS_OF_MANY = 12  # the same if a flow stands for several; bursts are then not resolved
STEPS_BEFORE_FULL = 10  # the same if, besides, every queue drops before its buffer is full
DRAIN_STEPS = 8  # least number of steps in which the smallest full buffer drains
MOST_STEPS = 200  # largest default number of steps in a round trip
FEWEST_STEPS = 10  # least number of steps in a round trip that a user may set

FINER = 40  # factor by which steps may be shorter during a burst in slow start
PACKET_STEPS = 10  # largest number of steps in the transmission time of a packet during a burst
TINY = 1e-4  # steps; length of the first step after a start, in which a window leaves at once
# Flows; with more, the short steps of slow starts are longer, so that they do not dominate the cost
MANY_FLOWS = 30


def step_length(
    resolved: Resolved, kept: list[int], routes: list[Route], step: float | None, many: bool = False
) -> float:
    """The time step in s: `step` if it is given, else the default.

    The default is a fraction of the shortest base round-trip time or of the time in which the
    smallest full buffer drains. `many`: a flow stands for several.

    Raises:
        ScenarioError: `step` is not positive or too long to resolve a round trip.
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
    """The length of the first step after a flow starts, in steps, in a world of `n_flows`."""
    return min(TINY * max(n_flows / MANY_FLOWS, 1.0) ** 2, 1.0)


def _drain_time(resolved: Resolved, index: int) -> float:
    """The time in which a link sends a buffer full of the largest packets that pass it, s."""
    link = resolved.links[index]
    if link.buffer_unit == "bytes":
        return 8 * link.buffer / link.rate
    sizes = [flow.spec.packet_size for flow in resolved.flows if index in flow.forward]
    return 8 * link.buffer * max(sizes) / link.rate if sizes else math.inf
