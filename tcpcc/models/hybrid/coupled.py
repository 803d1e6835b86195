"""Couple packets and fluid in one run: shared links, time steps, one record.

Packets run up to the end of a fluid step, with the queues extrapolated from the previous step
(:mod:`tcpcc.models.shared_link`). Then the fluid takes the step, with the packets that arrived.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import INTERPRETED, address
from tcpcc.engine.streams import seed_stream
from tcpcc.models.blame import RuleError, blame
from tcpcc.models.automaton.fluid_world import FluidWorld
from tcpcc.models.automaton.limits import look
from tcpcc.models.automaton.timeline import events
from tcpcc.models.hybrid.crowds import warn_of_crowds
from tcpcc.models.hybrid.foreground import split_traffic
from tcpcc.models.packet import read_out
from tcpcc.models.packet.packet_world import PacketWorld
from tcpcc.models.queue_memory import QueueMemory, recorded_states
from tcpcc.models.shared_link import SHARED, no_victims
from tcpcc.results import Run
from tcpcc.results.recording import (
    TOTALS,
    FlowSeries,
    LinkSeries,
    Series,
    base_rtts,
    dataset,
    sums,
)

if TYPE_CHECKING:
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario

RETIRE = 50  # times in a run that finished fluid flows are removed

BY_LINK = ("queue", "queue_max", "busy", "arrived", "drops", "sent_bits")


class Coupled:
    """The memory of one run of the hybrid model.

    Args:
        scenario: the scenario to run.
        step: longest time step of the fluid in s; None: the default.
        representatives: largest number of flows simulated for one flow with a count.
        trace: keep every event of every packet flow, or only of the named flows.

    Raises:
        ScenarioError: the background is empty or is all traffic; a `step` that is too long.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: float | None,
        representatives: int,
        trace: bool | Selection,
    ) -> None:
        self.scenario = scenario
        front, back = split_traffic(scenario)
        self.fluid = FluidWorld(back, step, representatives)
        look(self.fluid.resolved)
        warn_of_crowds(front.resolve(expand=False), back.resolve(expand=False))
        self.shared = np.zeros(len(self.fluid.kept), SHARED)
        self.victims = no_victims(len(self.fluid.kept))
        self.packets = PacketWorld(front, trace, self._share(front), self._in_amounts())
        self.at = address(self.fluid.w)
        self.events = iter(events(self.fluid))
        self.event = next(self.events, None)
        self.retire_at = 0.0
        self.until = scenario.duration  # s, latest possible end of the present step
        self.now = self.begin_step()  # s, end of the present step; inf after the end of the run

    def _share(self, front: Scenario) -> dict[int, int]:
        """Make the records of the links that packets and fluid share; return their addresses."""
        passed: set[int] = set()
        for flow in front.resolve().rows:
            passed |= {*flow.forward, *flow.reverse}
        found = {}
        for k, index in enumerate(self.fluid.kept):
            if index >= len(front.net.links) or index not in passed:
                continue
            s, link = self.shared[k], self.fluid.resolved.links[index]
            seed_stream(s, self.scenario.seed, f"link {link.name}: packets over fluid")
            mine = [f for f, x in enumerate(self.fluid.resolved.flows) if index in x.forward]
            mine = mine or list(range(len(self.fluid.resolved.flows)))
            trips = self.fluid.routes["base_rtt"][self.fluid.flows["route"][mine]]
            s["trip"] = np.average(trips, weights=self.fluid.counts[mine])
            s["size"] = self.fluid.resolved.flows[mine[0]].spec.packet_size
            s["victims"] = address(self.victims[k])
            s["outflow"], s["limit"], s["together"] = link.rate / 8, math.inf, 1.0
            found[index] = self.fluid.links["shared"][k] = address(self.shared[k : k + 1])
        return {index: int(at) for index, at in found.items()}

    def _in_amounts(self) -> dict[int, QueueMemory]:
        """Memories of the disciplines with `in_amounts`, which packets and fluid share."""
        links, queues = self.fluid.resolved.links, self.fluid.queues
        return {i: queues[i] for i in queues if links[i].queue.discipline.in_amounts}

    def begin_step(self) -> float:
        """Begin the next step; return the time of its end in s, inf when the run is over."""
        from tcpcc.models.automaton.kernel import begin_step

        world, end = self.fluid, self.scenario.duration
        now = float(world.w["now"][0])
        while self.event is not None and self.event[0] <= now:
            self.event[1]()
            self.event = next(self.events, None)
        if now >= end:
            return math.inf
        if now >= self.retire_at:
            world.retire()
            self.retire_at += end / RETIRE
        self.until = min(end, self.event[0]) if self.event is not None else end
        while (time := begin_step(self.at, self.until)) < 0:
            world.grow()
        return float(time)

    def end_step(self) -> None:
        """Let the fluid take the step that its packets have finished, and begin the next step."""
        from tcpcc.models.automaton.kernel import end_step

        end_step(self.at)
        self.now = self.begin_step()

    def explain(self, error: ArithmeticError) -> RuleError:
        """The error to raise for an arithmetic error in a rule of a packet flow or of the fluid."""
        now = float(self.packets.w["now"][0])
        return blame(error, now, chain(self.packets.suspects(), self.fluid.suspects()))

    def result(self, driver: str, cpu_seconds: float) -> Run:
        """The recorded run: foreground flows, background flows, workloads."""
        front, back = read_out.series(self.packets), self.fluid.series()
        ours, theirs = self.packets.resolved, self.fluid.resolved
        first = sum(row < len(ours.flows) for row in ours.recorded)
        flows = {
            name: _between(array, getattr(back.flows, name), first)
            for name, array in vars(front.flows).items()
            if array is not None
        }
        trips = _between(base_rtts(ours), base_rtts(theirs), len(ours.flows))
        resolved = replace(ours, flows=ours.flows + theirs.flows)
        totals = None
        if len(resolved.recorded) < len(resolved.rows):
            in_front, behind = (x.totals or sums(x.flows) for x in (front, back))
            n = len(ours.flows)
            totals = {name: _between(in_front[name], behind[name], n) for name in TOTALS}
        items = front.items
        if items:
            row = items["item_flow"]
            items = {
                **items,
                "item_flow": np.where(row < first, row, row + len(self.fluid.shown)),
            }
        queues = {**self.packets.queues, **self.fluid.queues}
        links = LinkSeries(
            **{name: getattr(front.links, name) + getattr(back.links, name) for name in BY_LINK},
            states=recorded_states(ours.links, queues, slice(0, self.packets.n_bins)),
        )
        of_flows = FlowSeries(**flows | {"base_rtt": trips[list(resolved.recorded)]})
        record = dataset(
            self.scenario,
            resolved,
            Series(front.time, of_flows, links, items=items, totals=totals),
            model="hybrid",
            driver=driver + (", interpreted" if INTERPRETED else ""),
            cpu_seconds=cpu_seconds,
        )
        events = self.packets.trace.events(self.scenario.duration)
        if events is not None:  # workload connections are numbered after all flows
            events["flow"][events["flow"] >= first] += len(self.fluid.shown)
        return Run(record, events)


def _between(front: np.ndarray, back: np.ndarray, first: int) -> np.ndarray:
    """Insert `back` into `front` before row `first`; rows are the last dimension."""
    return np.concatenate([front[..., :first], back, front[..., first:]], axis=-1)
