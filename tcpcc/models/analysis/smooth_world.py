"""A scenario as classes of equal flows over the links that can hold a queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import Records, address
from tcpcc.models.analysis.drift import CLASS, VECTORS
from tcpcc.models.analysis.queue_drift import LINK, QueueDrift
from tcpcc.models.analysis.unsupported import refuse_unsupported
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.layout import ECT, Route, queueing_links, route_of
from tcpcc.scenario.spec import require_scenario

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

ACK_BYTES = 40.0  # size of the packets of a link without data


@dataclass(frozen=True)
class FlowClass:
    """Equal flows, or a source without a controller.

    Attributes:
        flow: the first of them.
        members: indices of the flows in the scenario.
        count: number of flows.
        route: their path over the queueing links.
        hops: the links of the route: places in `SmoothWorld.links`, not numbers in the scenario.
        bits: of a packet at each hop.
        ect: see `ECT`.
    """

    flow: ResolvedFlow
    members: tuple[int, ...]
    count: int
    route: Route
    hops: tuple[int, ...]
    bits: tuple[float, ...]
    ect: int

    @property
    def name(self) -> str:
        return self.flow.name


def flow_classes(resolved: Resolved, queueing: list[int]) -> list[FlowClass]:
    """One class for all flows that differ only in name, and one for each other source."""
    alike: dict[Any, list[int]] = {}
    for k, flow in enumerate(resolved.flows):
        same = (flow.spec.replace(name=None),) if flow.is_tcp else (k, None)
        alike.setdefault((*same, flow.controller), []).append(k)
    classes = []
    for members in alike.values():
        flow = resolved.flows[members[0]]
        spec = flow.spec
        route = route_of(resolved.links, flow, set(queueing))
        hops = tuple(queueing.index(link) for link in route.links)
        bits = [8.0 * (spec.packet_size if j < route.n_forward else spec.ack_size)
                for j in range(len(hops))]  # fmt: skip
        count, ect = len(members) * spec.count, ECT[flow.tcp.transport.ecn] if flow.is_tcp else 0
        classes.append(FlowClass(flow, tuple(members), count, route, hops, tuple(bits), ect))
    return classes


class SmoothWorld:
    """The classes and links of a scenario, with the records that compiled rules work on.

    Args:
        scenario: the scenario to analyse.

    Attributes:
        classes, rows, states: the classes, and their records and controllers' states.
        links, link_rows: the queueing links in the order in which data passes them, and records.
        queues: disciplines that drop early or mark, by number of the link.

    Raises:
        ScenarioError: the analysis does not support a feature of the scenario.
    """

    def __init__(self, scenario: Scenario) -> None:
        require_scenario(scenario)
        self.resolved = scenario.resolve(expand=False)
        refuse_unsupported(self.resolved)
        queueing = queueing_links(self.resolved)
        self.links = [self.resolved.links[index] for index in queueing]
        self.classes = flow_classes(self.resolved, queueing)
        self.rows: Records = np.zeros(len(self.classes), CLASS)
        self.link_rows: Records = np.zeros(len(queueing), LINK)
        self.queues: dict[int, QueueDrift] = {}
        self._controllers = ControllerMemory(scenario.seed)
        self.states: list[np.ndarray] = []
        self._vectors: list[np.ndarray] = []  # kept alive for the addresses in the rows
        for row, flow_class in zip(self.rows, self.classes, strict=True):
            self._lay_out_class(row, flow_class)
        for k, index in enumerate(queueing):
            self._lay_out_link(k, index, scenario.seed)

    def _lay_out_class(self, row: Any, flow_class: FlowClass) -> None:
        row["base_rtt"] = flow_class.route.base_rtt
        if not flow_class.flow.is_tcp:
            self.states.append(np.zeros(0))
            return
        controller, transport = flow_class.flow.algorithm, flow_class.flow.tcp.transport
        state = self._controllers.fill(row, flow_class.flow)
        self.states.append(state)
        row["settles"] = len(controller.state) > 0
        if controller.on_mark is None:
            row["on_mark"] = row["on_loss"]
        row["initial_window"], row["rwnd"] = transport.initial_window, transport.rwnd
        row["n"] = state.dtype.itemsize // 8
        for name in VECTORS:
            self._vectors.append(np.zeros(row["n"]))
            row[name] = address(self._vectors[-1])

    def _lay_out_link(self, k: int, index: int, seed: int) -> None:
        row, link = self.link_rows[k], self.links[k]
        sizes = [f.spec.packet_size for f in self.resolved.flows if index in f.forward]
        row["rate"] = link.rate
        row["flows"] = max(
            sum(x.count for x in self.classes if k in x.hops[: x.route.n_forward]), 1
        )
        row["size"] = size = float(np.mean(sizes)) if sizes else ACK_BYTES
        row["room"] = 8 * link.buffer * (1 if link.buffer_unit == "bytes" else size)
        if link.queue.discipline.on_fluid is not None:
            self.queues[k] = QueueDrift(self.link_rows, k, link, seed)
