"""Scheduled events: flows start and stop, sources switch, links change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from tcpcc.models.automaton.rows import room
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.automaton.fluid_world import FluidWorld
    from tcpcc.scenario.resolve import ResolvedChange

Event = tuple[float, Callable[[], None]]


def events(world: FluidWorld) -> list[Event]:
    """Times and calls, ordered by time; simultaneous events of flows precede changes of links."""
    found = [event for k in range(len(world.flows)) for event in _of_flow(world, k)]
    started: Counter[tuple[int, float]] = Counter()
    for k, flow in enumerate(world.resolved.flows):
        if isinstance(flow.spec, CBR):
            continue
        # Flows on a route with equal start times start one after another, each a packet's
        # transmission later, because their first packets queue in this order.
        together = int(world.flows["route"][k]), flow.spec.start
        turn = started[together] * float(world.flows["spacing"][k])
        started[together] += 1
        found.append((flow.spec.start + turn, partial(begin_flow, world, k)))
    found += [(c.spec.at, partial(change, world, c)) for c in world.resolved.changes]
    return sorted(found, key=lambda event: event[0])


def _of_flow(world: FluidWorld, k: int) -> Iterator[Event]:
    spec = world.resolved.flows[k].spec
    if not isinstance(spec, CBR):
        if spec.stop is not None:
            yield spec.stop, partial(stop_flow, world, k)
        return
    for begin, end in spec.on:
        yield begin, partial(switch, world, k, spec.rate / (8 * spec.packet_size))
        if end is not None:
            yield end, partial(switch, world, k, 0.0)


def begin_flow(world: FluidWorld, k: int) -> None:
    """Open the connection of a flow with a controller."""
    from tcpcc.models.automaton.senders import start_flow

    world.activate(k)
    world.flows["open"][k] = 1
    start_flow(world.w["flows"][0], k, world.w["now"][0])


def stop_flow(world: FluidWorld, k: int) -> None:
    """Send no new data from now on; outstanding packets are still repaired."""
    flow = world.flows[k]
    flow["open"] = 0
    flow["limit"] = min(flow["limit"], flow["next_seq"] - flow["known_lost"])


def switch(world: FluidWorld, k: int, rate: float) -> None:
    """Let a source of constant bit rate send `rate` packets per second from now on."""
    if not world.is_active(k):
        world.activate(k)
    world.flows["rate"][k] = rate
    world.flows["open"][k] = rate > 0


def change(world: FluidWorld, change: ResolvedChange) -> None:
    """Apply a scheduled change of a link; a new delay applies at once to the fluid in flight."""
    spec, index = change.spec, change.link
    if index not in world.place:
        return  # no flow passes it
    row = world.links[world.place[index]]
    if spec.buffer is not None:
        row["limit"] = room(world.resolved.links[index], spec.buffer)
    if spec.loss is not None:
        row["loss"], row["loss_at"], row["loss_clock"] = spec.loss, 0.0, 0.0
    for name, value in spec.queue:
        world.queues[index].params[name] = value
    if spec.rate is not None:
        row["rate"] = spec.rate
    if spec.delay is not None and index in world.queues:
        world.queues[index].sample["delay"] = spec.delay
    if spec.rate is not None or spec.delay is not None:
        world.set_delay(index, rate=spec.rate, delay=spec.delay)
