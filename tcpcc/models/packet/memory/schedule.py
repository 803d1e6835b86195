"""The events of a scenario: starts, stops, timers of queues, changes of links."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, longer
from tcpcc.models.packet import packet_records as r
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.resolve import ResolvedChange


class Schedule:
    """The event list of a world and the scheduled changes of its links.

    Attributes:
        heap: records EVENT; the first ``w.heap_size`` are in use.
        by_hand: changes made during the run; the scenario of the result includes them.
    """

    def __init__(self, world: PacketWorld) -> None:
        self.world = world
        rows = 4 * len(world.resolved.rows) + 2 * len(world.links)
        self.heap = blank(rows + 2 * r.MARGIN, r.EVENT)
        self.by_hand: list[ResolvedChange] = []
        self._changes = np.zeros(max(len(world.resolved.changes), 1), r.CHANGES)
        self._n_changes = 0
        w = world.w[0]
        w["heap"], w["heap_room"] = address(self.heap), len(self.heap)
        w["in_order"] = 1
        w["changes"] = address(self._changes)

    def beginning(self) -> None:
        """Schedule timers of queues, starts and stops of flows, conversations and changes.

        Simultaneous events are handled in this order.
        """
        world = self.world
        for i, queue in world.queues.items():
            if queue.timer is not None and i not in world.fluid_links:
                self.add(0.0, r.QUEUE_TIMER, i)
        for i, flow in enumerate(world.resolved.flows):
            spec = flow.spec
            if isinstance(spec, CBR):
                for begin, end in spec.on:
                    self.add(begin, r.FLOW_START, i)
                    if end is not None and math.isfinite(end):
                        self.add(end, r.FLOW_STOP, i)
            elif i not in world.fluid_flows:
                self.add_flow(i)
        if world.conversations is not None and len(world.conversations.conversations):
            first = world.conversations.conversations[0]  # each schedules the next one
            self.add(first["start"], r.BEGINNING, 0)
        for change in world.resolved.changes:
            self._add_change(change)

    def add(self, time: float, kind: Any, ident: int) -> None:
        from tcpcc.models.packet.handlers import schedule_from_outside

        self.grow()
        schedule_from_outside(self.world.address, float(time), kind, ident)

    def add_flow(self, i: int) -> None:
        """Schedule the start and the stop of a TCP flow, and what its application writes."""
        spec: Any = self.world.resolved.flows[i].spec
        self.add(spec.start, r.FLOW_START, i)
        for k, (time, _) in enumerate(spec.writes):
            if k > 0 or time > 0:  # the start hands over what is there at once
                self.add(spec.start + time, r.WRITE, i)
        if spec.stop is not None:
            self.add(spec.stop, r.FLOW_STOP, i)

    def change_now(self, change: ResolvedChange) -> None:
        """Schedule a change that the scenario does not have yet."""
        self.by_hand.append(change)
        self._add_change(change)

    def _add_change(self, change: ResolvedChange) -> None:
        for values in self._rows_of(change):
            self.add(change.spec.at, r.CHANGE, self._write(values))

    def _rows_of(self, change: ResolvedChange) -> list[dict[str, Any]]:
        """A row for each flow; or one for the link, its jitter, and each parameter of its queue."""
        world, spec, link = self.world, change.spec, change.link
        if spec.flow is not None:
            return [{"flow": i, "rwnd": spec.rwnd} for i in change.flows]
        rows: list[dict[str, Any]] = [
            {
                "link": link,
                "rate": spec.rate, "delay": spec.delay, "capacity": spec.buffer, "loss": spec.loss,
            }
        ]  # fmt: skip
        if spec.jitter is not None or spec.jitter_share is not None:
            late = {"jitter": spec.jitter, "share": spec.jitter_share}
            rows.append({"link": world.paths.stages[link], **late})
        names = list(world.resolved.links[link].queue.discipline.params)
        for name, value in dict(spec.queue).items():
            place = int(world.links["params"][link]) + 8 * names.index(name)
            rows.append({"link": link, "param": place, "value": value})
        return rows

    def _write(self, values: dict[str, Any]) -> int:
        """Write a row of a change; returns its number. NaN means no change."""
        row = self._n_changes
        self._n_changes += 1
        if row >= len(self._changes):
            self._changes = np.concatenate([self._changes, np.zeros_like(self._changes)])
            self.world.w["changes"] = address(self._changes)
        unset = {"link": 0, "flow": -1, "param": 0, "value": 0.0}
        for name in r.CHANGES.names or ():
            value = values.get(name, unset.get(name))
            self._changes[name][row] = math.nan if value is None else value
        return row

    def grow(self) -> None:
        """Double the event list if it is nearly full."""
        w = self.world.w
        if w["heap_size"][0] + 2 * r.MARGIN > len(self.heap):
            self.heap = longer(self.heap, len(self.heap))
            w["heap"], w["heap_room"] = address(self.heap), len(self.heap)
