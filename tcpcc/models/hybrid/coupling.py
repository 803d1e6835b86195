"""The memory of packets beside fluid: two worlds, and the links that they share.

Both worlds have all flows of the scenario, in the same order. The packets' world starts only the
foreground, the fluid's world only the background. A link on the path of background flows has its
queue in the fluid: a packet waits there as long as the fluid before it, and is an arrival of the
fluid's next step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.engine.jit import Caller, address
from tcpcc.errors import ScenarioError
from tcpcc.models.failing_rule import Suspect, suspects
from tcpcc.models.fluid.fluid_case import FluidCase
from tcpcc.models.fluid.fluid_packet_memory import takes_packets
from tcpcc.models.fluid.fluid_read_out import recorded_series
from tcpcc.models.fluid.fluid_world import FluidWorld
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.results.recording import AMOUNTS, Series
from tcpcc.scenario.resolve import Senders

if TYPE_CHECKING:
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

Items = Mapping[str, NDArray[Any]] | None

#: Sums over the links of both worlds.
ADDED = ("arrived", "drops")


class CoupledWorld(PacketWorld):
    """The packets' world, with the fluid beside it.

    Args:
        scenario: the scenario to run.
        trace: as in `tcpcc.simulate`.
        steps: steps of the fluid in the shortest base round-trip time.
        senders: largest number of senders of a background flow with a `count`.

    Raises:
        ScenarioError: a link with fluid changes, or its discipline acts on single packets; a flow
            in the background is to be traced.
    """

    model = "hybrid"

    def __init__(
        self, scenario: Scenario, trace: bool | Selection, steps: float, senders: float
    ) -> None:
        from tcpcc.models.hybrid.coupling_step import COUPLING, run_fluid_step

        resolved = scenario.resolve(senders=Senders(background=senders))
        loads = tuple(load.kinds[0] for load in resolved.workloads)
        every = replace(resolved, flows=resolved.flows + loads, workloads=())
        self.fluid_flows = {i for i, flow in enumerate(resolved.flows) if flow.spec.background}
        as_packets = set(range(len(every.flows))) - self.fluid_flows
        case = FluidCase(scenario, every, steps)
        self.fluid = FluidWorld(scenario, case=case, as_packets=as_packets)
        of_fluid = self.fluid.routes
        self.fluid_links = sorted({k for i in self.fluid_flows for k in of_fluid[i].links})
        _check_links(resolved, self.fluid_links)
        super().__init__(scenario, trace, resolved=resolved)
        for i in sorted(self.fluid_flows) if trace is not True else ():
            if self.flows["traced"][i]:
                name = resolved.flows[i].name
                raise ScenarioError(f"trace: flow {name!r} is fluid: must be one of the foreground")
        self.rows_of_fluid: Any = np.zeros(len(self.fluid_links), r.FLUID_LINK)
        self.rows_of_fluid["queue"] = [self.fluid.place[link] for link in self.fluid_links]
        self.rows_of_fluid["link"] = [self.paths.row_of[link] for link in self.fluid_links]
        self.links["fluid"][self.rows_of_fluid["link"]] = address(
            self.rows_of_fluid
        ) + self.rows_of_fluid.itemsize * (np.arange(len(self.rows_of_fluid)))
        self._columns = self._columns_of_hops()
        self._coupling: Any = np.zeros(1, COUPLING)
        rows = address(self.rows_of_fluid), len(self.rows_of_fluid)
        self._coupling[0] = (address(self.fluid.w), *rows, address(self.links))
        w = self.w[0]
        w["columns"], w["coupling"] = address(self._columns), address(self._coupling)
        w["step"], w["advance_fluid"] = self.fluid.step, Caller(bool, int).address(run_fluid_step)
        try:
            run_fluid_step(address(self._coupling))
        except ArithmeticError as error:
            raise self.explain(error) from None
        self.schedule.add(self.fluid.step, r.FLUID_STEP, 1)

    def _columns_of_hops(self) -> np.ndarray:
        """For each hop of packets its place in the tables of the fluid's link; -1: it has none."""
        columns = np.full(len(self.paths.hops), -1)
        for number, flow in self.paths.numbered():
            hops = self.paths.hops_of((*flow.forward, *flow.reverse))
            route = list(self.fluid.routes[number].links)
            for k, row in enumerate(hops):
                if route and row == self.paths.row_of[route[0]]:
                    place = len(self.fluid.routes[number].links) - len(route)
                    first = self.fluid.links["first"][self.fluid.place[route.pop(0)]]
                    columns[self.paths.path_of[number] + k] = (
                        self.fluid.columns[number, place] - first
                    )
        return columns

    def grow(self) -> None:
        """As `PacketWorld.grow`; the fluid's tables become longer."""
        from tcpcc.models.hybrid.coupling_step import find_arrivals

        if self.fluid.w["need"][0]:
            self.fluid.make_room()
            find_arrivals(address(self._coupling))
        super().grow()

    def suspects(self) -> Iterator[Suspect]:
        yield from suspects(self.fluid.senders(), self.resolved.links, self.fluid.queues)
        yield from super().suspects()

    def joined(self, series: Series) -> Series:
        """The packets' series, in which flows and links of the fluid have theirs."""
        self.fluid.run(self.fluid.end)
        other = recorded_series(self.fluid)
        flows, whole = series.flows, other.flows
        rows = [k for k, row in enumerate(self.kept) if row in self.fluid_flows]
        for name in ("cwnd", "ssthresh", "rtt", *AMOUNTS, "timeouts", "loss_events", "finished"):
            getattr(flows, name)[..., rows] = getattr(whole, name)[..., rows]
        for name, values in flows.controller_states.items():
            values[:, rows] = whole.controller_states[name][:, rows]
        columns = [k for k, link in enumerate(self.recorded) if link in self.fluid_links]
        for name in ("queue", "busy", "queue_max", "sent_bits", *ADDED):
            values = getattr(other.links, name)[:, columns]
            if name in ADDED:
                values = values + getattr(series.links, name)[:, columns]
            getattr(series.links, name)[:, columns] = values
        if series.links.marks is not None and other.links.marks is not None:
            series.links.marks[:, columns] += other.links.marks[:, columns]
        for name, values in series.links.states.items():
            values[:, columns] = other.links.states[name][:, columns]
        if series.totals is not None and other.totals is not None:
            in_fluid = list(self.fluid_flows)
            for name, total in series.totals.items():
                total[in_fluid] = other.totals[name][in_fluid]
        return replace(series, items=_joined_items(series.items, other.items))


def _joined_items(packets: Items, fluid: Items) -> Items:
    """The items of both worlds in the order of a run of one model: flows by row, then
    conversations."""
    if packets is None or fluid is None:
        return packets if fluid is None else fluid
    items = {name: np.concatenate([packets[name], fluid[name]]) for name in packets}
    rows = np.where(items["item_conversation"] < 0, items["item_flow"], np.inf)
    order = np.argsort(rows, kind="stable")
    return {name: values[order] for name, values in items.items()}


def _check_links(resolved: Resolved, links: list[int]) -> None:
    for i in links:
        link = resolved.links[i]
        discipline = link.queue.discipline
        if link.variable or discipline.in_amounts or takes_packets(discipline):
            what = "changes" if link.variable else f"has the queue {link.queue.name!r}"
            raise ScenarioError(
                f"hybrid with steps: link {link.name!r}, on the path of background flows, {what}:"
                " give trains=16 instead of steps"
            )
