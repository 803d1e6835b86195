"""A world: the packet model's senders, laid out over fluid links."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tcpcc.engine.jit import INTERPRETED, address, blank, rule_address
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import ScenarioError
from tcpcc.models.blame import blame, suspects
from tcpcc.models.coast import coast_records as r
from tcpcc.models.layout import find_routes, queueing_links, route_of
from tcpcc.models.packet.packet_world import PacketWorld
from tcpcc.models.packet.read_out import _series
from tcpcc.models.queue_memory import QueueMemory
from tcpcc.results import Run
from tcpcc.results.recording import dataset
from tcpcc.scenario import Scenario
from tcpcc.scenario.network import Link
from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t
from tcpcc.transport.recovery import RECOVERIES

STEPS = 25  # in the shortest base round trip
AT_ONCE = 2**18
FIRST_ROWS = 256
FIRST_ORDERS = 256
FIRST_EVENTS = 64
SPARE = 64
ROOM = 2**14  # packets of one step at a link; more wait for the next step


class CoastWorld(PacketWorld):
    """The memory of one run."""

    def __init__(
        self, scenario: Scenario, step: float | None = None, part: float = 1 / 8,
        small: float = 60.0, others: float = 0.5, packets: float = 2.0, steps: float = STEPS,
    ) -> None:  # fmt: skip
        super().__init__(scenario)
        if self.resolved.workloads:
            raise ScenarioError("workloads: use scenario.spelled_out()")
        self.live: list[Link] = list(self.resolved.links)
        self.queued = queueing_links(self.resolved)
        self.place = {link: k for k, link in enumerate(self.queued)}
        self.plans = find_routes(self.resolved, self.queued)
        flows = self.resolved.flows
        n, n_links = len(flows), len(self.queued)
        self.cw = np.zeros(1, r.WORLD)
        self.curves = blank(n, r.CURVE)
        self.ways = np.zeros(len(self.plans), r.ROUTE)
        self.stages = np.zeros(sum(len(p.links) + 1 for p in self.plans), r.STAGE)
        self.slots = np.zeros(sum(len(p.links) * len(p.flows) for p in self.plans) or 1, r.SLOT)
        self.pipes = np.zeros(n_links, r.LINK)
        self.cursors: list[np.ndarray] = []
        self.orders: dict[int, np.ndarray] = {}
        self.events: dict[int, np.ndarray] = {}
        self.running = np.zeros(n, np.int64)
        self.sending = np.zeros(n, np.int64)  # in this step
        self.wakes = np.zeros(n)
        self.packets = np.zeros(ROOM, r.PACKET)
        self.delay = np.zeros(n)
        self._lay_out_routes()
        self._lay_out_links()
        for i, flow in enumerate(flows):
            self._lay_out_flow(i, flow)
        trips = [p.base_rtt for p in self.plans if not isinstance(flows[p.flows[0]].spec, CBR)]
        trip = min(trips, default=max(min(p.base_rtt for p in self.plans), 1e-3))
        w = self.cw[0]
        w["usual"] = trip / steps if step is None else step
        finest = [
            8
            * packets
            * float(f.spec.packet_size)
            / min(self.resolved.links[i].rate for i in f.forward)
            for f in flows
        ]
        w["finest"] = max(min(finest), w["usual"] / 40)
        w["part"], w["small"], w["others"] = part, small, others
        w["room"] = ROOM
        w["n_flows"], w["n_links"], w["n_routes"] = n, n_links, len(self.plans)
        w["far"] = any(len(p.links) > 1 for p in self.plans)
        w["interval"], w["n_bins"] = scenario.interval, self.n_bins
        by_link: list[int] = []
        for k in range(n_links):
            mine = [
                j for j in np.flatnonzero(self.stages["link"] == k)
                if 0 < self.stages["place"][j] < self.ways["n_hops"][self.stages["route"][j]]
            ]  # fmt: skip
            self.pipes["first_stage"][k], self.pipes["n_stages"][k] = len(by_link), len(mine)
            by_link.extend(map(int, mine))
        self.by_link = np.array(by_link or [0], np.int64)
        for name, array in (
            ("active", self.running), ("emitted", self.sending), ("wakes", self.wakes),
            ("packets", self.packets), ("curves", self.curves), ("tcp", self.tcp),
            ("routes", self.ways), ("stages", self.stages), ("slots", self.slots),
            ("links", self.pipes), ("by_link", self.by_link),
        ):  # fmt: skip
            w[name] = address(array)
        self.columns = 1 + n_links + n * (2 if w["far"] else 1)
        self._set_history(np.zeros((FIRST_ROWS, self.columns)))
        ago = 1 + 2 * max(p.base_rtt for p in self.plans)
        self.history[0, : 1 + n_links] = -ago
        w["reach"] = 1.1 * max(p.base_rtt for p in self.plans) + 4 * w["usual"]
        self.running[:] = np.argsort(self.curves["opens"], kind="stable")
        self.wakes[:] = [
            math.inf if isinstance(f.spec, CBR) else self.curves["opens"][i]
            for i, f in enumerate(flows)
        ]
        w["n_active"] = n
        w["k"] = 1

    def _lay_out_routes(self) -> None:
        stage = slot = 0
        for k, plan in enumerate(self.plans):
            row, m = self.ways[k], len(plan.flows)
            row["first_stage"], row["n_hops"] = stage, len(plan.links)
            row["n_forward"], row["n_flows"] = plan.n_forward, m
            self.curves["route"][plan.flows] = k
            self.curves["place"][plan.flows] = np.arange(m)
            self.curves["link"][plan.flows] = self.place[plan.links[0]] if plan.links else -1
            for j in range(len(plan.links) + 1):
                s = self.stages[stage]
                self.cursors.append(np.zeros(max(j, 1), np.int64))
                s["cursors"] = address(self.cursors[-1])
                s["route"], s["place"], s["first_slot"] = k, j, slot
                s["link"] = -1
                if j < len(plan.links):
                    s["link"] = self.place[plan.links[j]]
                    ack = j >= plan.n_forward
                    mine = self.slots[slot : slot + m]
                    mine["flow"], mine["ack"] = plan.flows, ack
                    name = "ack_size" if ack else "packet_size"
                    mine["size"] = [getattr(self.resolved.flows[f].spec, name) for f in plan.flows]
                    mine["stage"] = stage
                    slot += m
                stage += 1
        self._set_delays()

    def _set_delays(self) -> None:
        for row, plan in zip(self.ways, self.plans, strict=True):
            first = int(row["first_stage"])
            for j, before in enumerate((*plan.before, plan.after)):
                self.stages["before"][first + j] = before
            head = plan.before[0] if plan.before else 0.0
            self.stages["before"][first + len(plan.before)] += head if plan.links else 0.0
            row["to_receiver"] = plan.to_receiver
            self.delay[plan.flows] = head

    def _lay_out_links(self) -> None:
        for k, index in enumerate(self.queued):
            row, link = self.pipes[k], self.resolved.links[index]
            row["rate"], row["loss"] = link.rate, link.loss
            row["size"] = row["in_queue"] = 1000.0
            row["arriving"] = -1
            row["in_bytes"], row["limit"] = link.buffer_unit == "bytes", link.buffer
            row["column"] = 1 + k
            seed_stream(row, self.scenario.seed, f"link {link.name}: coast losses")
            if link.record:
                place = self.recorded.index(index)
                row["bins"] = address(self.link_bins) + place * self.link_bins.strides[0]
            discipline = link.queue.discipline
            if discipline.decides_by_packet:
                if discipline.on_fluid is None:
                    raise ScenarioError(
                        f"link {link.name!r}: queue {discipline.name!r} has no on_fluid"
                    )
                memory = QueueMemory(link, discipline.on_fluid, self.scenario.seed, self.n_bins)
                self.queues[index] = memory
                memory.fill(row)
                names = dict(discipline.params)
                row["ecn"] = discipline.name == "step_mark" or (
                    "ecn" in names and bool(memory.params["ecn"][0])
                )

    def _lay_out_flow(self, i: int, flow: Any) -> None:
        c = self.curves[i]
        c["slot"], c["size"] = i, flow.spec.packet_size
        c["bins"] = self.bins_of(i)
        c["noise"] = getattr(flow.spec, "processing", 0.0)
        self.events[i] = np.zeros(FIRST_EVENTS, r.EVENT)
        c["events"], c["event_mask"] = address(self.events[i]), FIRST_EVENTS - 1
        c["next_event"] = math.inf
        if isinstance(flow.spec, CBR):
            return
        c["opens"] = flow.spec.start + self.delay[i]
        if flow.controller.header:
            raise ScenarioError(f"flow {flow.name!r}: header fields are not supported yet")
        self.orders[i] = np.zeros(FIRST_ORDERS, r.ORDER)
        c["orders"], c["order_mask"] = address(self.orders[i]), FIRST_ORDERS - 1
        recovery, tcp = RECOVERIES[flow.recovery], self.tcp[i]
        rejoin = recovery.on_rejoin
        c["rejoin"] = rule_address(rejoin, recovery.state_dtype, recovery.params_dtype, t.TCP_FLOW)
        c["may_coast"] = (
            tcp["delivery"] == 0
            and (not recovery.state or rejoin is not None)
            and tcp["whole_window"] == 0
            and tcp["gso_segments"] <= 1
            and tcp["delayed_ack"] == 0
            and tcp["pacing_rate"] == 0
            and not flow.controller.extras
        )

    # ------------------------------------------------------------------- while running

    def timeline(self) -> list[tuple[float, Callable[[], None]]]:
        found: list[tuple[float, Callable[[], None]]] = []
        for i, flow in enumerate(self.resolved.flows):
            found += self._of_flow(i, flow.spec)
        found += [(c.spec.at, partial(self.change, c)) for c in self.resolved.changes]
        return sorted(found, key=lambda event: event[0])

    def _of_flow(self, i: int, spec: Any) -> Iterator[tuple[float, Callable[[], None]]]:
        shift = float(self.delay[i])
        if isinstance(spec, CBR):
            for begin, end in spec.on:
                yield begin + shift, partial(self.switch, i, spec.rate / (8 * spec.packet_size))
                if end is not None and math.isfinite(end):
                    yield end + shift, partial(self.switch, i, 0.0)
            return
        if spec.stop is not None:
            yield spec.stop + shift, partial(self.stop, i)

    def _open(self, i: int, sign: int) -> None:
        if self.curves["is_open"][i] == (sign > 0) and self.curves["mode"][i] == r.STEADY:
            return
        self.curves["is_open"][i] = sign > 0
        plan = self.plans[self.curves["route"][i]]
        for link in set(plan.links):
            self.pipes["open"][self.place[link]] += sign

    def stop(self, i: int) -> None:
        from tcpcc.models.coast.kernel import stop_flow

        stop_flow(address(self.cw), i)
        self._open(i, -1)

    def switch(self, i: int, rate: float) -> None:
        if self.curves["mode"][i] == r.OFF:
            self.curves["mode"][i] = r.STEADY
            self.ways["active"][self.curves["route"][i]] += 1
        self.curves["rate"][i] = rate
        self.wakes[i] = 0.0
        self._open(i, 1 if rate > 0 else -1)

    def change(self, change: Any) -> None:
        spec, index = change.spec, change.link
        if index not in self.place:
            return
        row = self.pipes[self.place[index]]
        if spec.buffer is not None:
            row["limit"] = spec.buffer
        if spec.loss is not None:
            row["loss"], row["loss_at"], row["loss_clock"] = spec.loss, 0.0, 0.0
        for name, value in spec.queue:
            self.queues[index].params[name] = value
        if spec.rate is not None:
            if spec.rate == 0:
                raise ScenarioError("rate = 0: not supported")
            now, column = float(self.cw["now"][0]), int(row["column"])
            late = self.history[:, column] > now
            self.history[late, column] = (
                now + (self.history[late, column] - now) * float(row["rate"]) / spec.rate
            )
            row["rate"] = spec.rate
        if spec.rate is not None or spec.delay is not None:
            link = self.live[index]
            self.live[index] = link.replace(
                rate=link.rate if spec.rate is None else spec.rate,
                delay=link.delay if spec.delay is None else spec.delay,
            )
            for plan in self.plans:
                if index in plan.links:
                    flow = self.resolved.flows[plan.flows[0]]
                    new = route_of(self.live, flow, set(self.queued))
                    plan.before, plan.after = new.before, new.after
                    plan.to_receiver = new.to_receiver
            self._set_delays()

    def run(self, until: float) -> None:
        from tcpcc.models.coast.kernel import run_until

        w = self.cw[0]
        try:
            more = True
            while more:
                if w["need"]:
                    self.grow()
                w["pause"] = w["k"] + max(AT_ONCE // max(int(w["n_active"]), 1), 1)
                more = run_until(address(self.cw), until)
            if w["need"]:
                self.grow()
        except ArithmeticError as error:
            flows = self.resolved.flows
            active = ((flows[k].name, flows[k].controller, self.tcp[k]) for k in range(len(flows)))
            raise blame(
                error, float(w["now"]), suspects(active, self.resolved.links, self.queues)
            ) from None

    def _set_history(self, rows: np.ndarray) -> None:
        self.history = rows
        self.cw["history"] = address(rows)
        self.cw["mask"], self.cw["columns"] = len(rows) - 1, rows.shape[1]

    def grow(self) -> None:
        """Make room: rows of the history, rings of flows."""
        w = self.cw[0]
        if w["need"] == 2:
            old, k = self.history, int(w["k"])
            self._set_history(np.zeros((2 * len(old), old.shape[1])))
            rows = np.arange(max(k - len(old) + 1, 0), k + 1)
            self.history[rows % len(self.history)] = old[rows % len(old)]
        else:
            c, tcp = self.curves, self.tcp
            out = tcp["next_seq"] - tcp["high_ack"]
            for i in map(int, np.flatnonzero(2 * out + SPARE > tcp["segment_mask"])):
                while 2 * out[i] + SPARE > tcp["segment_mask"][i]:
                    for name in ("segments", "stamps"):
                        if (name, i) in self.rings.arrays:
                            self.rings.enlarge(self.tcp, name, i)
            out = np.maximum(c["next_order"], c["sent"]) - np.floor(c["acked"])
            self._double(self.orders, "order", out)
            self._double(self.events, "event", c["last"] - c["first"])
        w["need"] = 0

    def _double(self, rings: dict[int, np.ndarray], name: str, used: np.ndarray) -> None:
        """Double the rings that are more than half full."""
        masks = self.curves[f"{name}_mask"]
        for i in map(int, np.flatnonzero((2 * used + SPARE > masks) & (masks > 0))):
            while 2 * used[i] + SPARE > masks[i]:
                rings[i] = np.concatenate([rings[i], rings[i]])
                self.curves[f"{name}s"][i], masks[i] = address(rings[i]), len(rings[i]) - 1

    # ----------------------------------------------------------------------- results

    def finish(self, cpu_seconds: float) -> Run:
        from tcpcc.models.coast.kernel import finish

        finish(address(self.cw))
        edges = self.scenario.interval * np.arange(1, self.n_bins + 1)
        edges = np.minimum(edges, self.scenario.duration)
        self.tcp["finished"] -= self.delay
        record = dataset(
            self.scenario, self.resolved, _series(self, edges), model="coast",
            driver="compiled" + (", interpreted" if INTERPRETED else ""), cpu_seconds=cpu_seconds,
        )  # fmt: skip
        return Run(record)
