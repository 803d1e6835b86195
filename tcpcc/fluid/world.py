"""A scenario laid out in the records of the fluid model; what happens to it at set times."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.controllers.contract import sample_dtype as controller_sample
from tcpcc.fluid import records as r
from tcpcc.fluid.layout import find_routes, queueing_links, route_of
from tcpcc.jit import INTERPRETED, rule_address
from tcpcc.queues.contract import sample_dtype as queue_sample
from tcpcc.results import Run, build
from tcpcc.streams import seed_stream, uniform
from tcpcc.traffic import CBR
from tcpcc.transport import records as t
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.controllers.contract import Controller
    from tcpcc.routing import Resolved, ResolvedChange, ResolvedFlow
    from tcpcc.scenario import Scenario

FIRST_ROWS = 256  # of the history; doubled when a round trip takes more steps
import os

STEPS = float(os.environ.get("STEPS", "50"))  # time steps in a base round-trip time, at least
DRAIN_STEPS = float(
    os.environ.get("DRAIN", "10")
)  # in the time that a full buffer takes to drain, at least
MOST_STEPS = 200  # in a base round-trip time, however small a buffer is
FINER = 20  # how much shorter they may be while a window is a clump in slow start
TINY = 1e-4  # of a step: the first one after a flow has started, so that its window leaves at once


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


class World:
    """The memory of one run of the fluid model; `events` are the calls due at set times."""

    def __init__(self, scenario: Scenario, step: float | None = None) -> None:
        self.scenario = scenario
        self.resolved: Resolved = scenario.resolve()
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.kept = queueing_links(self.resolved)
        self.place = {link: k for k, link in enumerate(self.kept)}
        self.plans = find_routes(self.resolved, self.kept)
        self._owned: list[np.ndarray] = []
        self._rules: dict[int, dict[str, Any]] = {}
        self._params: dict[int, np.ndarray] = {}
        self.current = list(self.resolved.links)

        self.w = np.zeros(1, r.WORLD)
        self.routes = np.zeros(len(self.plans), r.ROUTE)
        self.hops = np.zeros(sum(len(plan.links) for plan in self.plans), r.HOP)
        self.slots = np.zeros(sum(len(p.links) * len(p.flows) for p in self.plans), r.SLOT)
        self.losses = np.zeros((len(self.slots), r.LOSSES), r.LOST)
        self.links = np.zeros(len(self.kept), r.LINK)
        self.flows = np.zeros(len(self.resolved.flows), r.FLOW)
        self.active = np.zeros(len(self.flows), np.int64)
        self.flow_bins = np.zeros((len(self.flows), self.n_bins), r.FLOW_BIN)
        for name in ("cwnd", "ssthresh", "rtt"):
            self.flow_bins[name] = np.nan
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.link_bins = np.zeros((len(self.recorded), self.n_bins), r.LINK_BIN)

        self.coarse = step or self._default_step()
        self._lay_out_routes()
        for k, link in enumerate(self.kept):
            self._lay_out_link(k, link)
        for k, flow in enumerate(self.resolved.flows):
            self._lay_out_flow(k, flow)
        self._lay_out_world()
        self.events = self._all_events()

    # ------------------------------------------------------------------------- layout

    def _own(self, array: np.ndarray) -> int:
        self._owned.append(array)
        return address(array)

    def _lay_out_routes(self) -> None:
        """Routes, hops, slots, and the columns of all of them."""
        column = r.FIRST_COLUMN + r.LINK_COLUMNS * len(self.kept)
        hop = slot = 0
        self.links["column"] = r.FIRST_COLUMN + r.LINK_COLUMNS * np.arange(len(self.kept))
        self.slots["losses"] = address(self.losses) + self.losses.strides[0] * np.arange(
            len(self.slots)
        )
        for k, plan in enumerate(self.plans):
            row = self.routes[k]
            row["first_hop"], row["n_hops"], row["n_forward"] = hop, len(plan.links), plan.n_forward
            row["column"] = row["ack_column"] = column
            row["base_rtt"] = plan.base_rtt
            row["grown"] = column + len(plan.flows)
            column += 2 * len(plan.flows)
            sizes = [self.resolved.flows[f].spec for f in plan.flows]
            for j, link in enumerate(plan.links):
                h = self.hops[hop]
                h["route"], h["link"], h["place"] = k, self.place[link], j
                h["source"], h["through"] = row["ack_column"], -1
                if j > 0:
                    previous = self.place[plan.links[j - 1]]
                    h["through"] = self.links["column"][previous] + r.ARRIVED
                    h["behind"] = previous > self.place[link]
                h["column"] = row["ack_column"] = column
                h["first_slot"], h["n_slots"] = slot, len(plan.flows)
                mine = self.slots[slot : slot + len(plan.flows)]
                mine["flow"] = plan.flows
                mine["carries_ack"] = j >= plan.n_forward
                mine["size"] = [
                    getattr(spec, "ack_size" if j >= plan.n_forward else "packet_size")
                    for spec in sizes
                ]
                column += len(plan.flows)
                slot += len(plan.flows)
                hop += 1
            for m, f in enumerate(plan.flows):
                self.flows["route"][f], self.flows["member"][f] = k, m
        self.n_columns = column

    def _set_delays(self) -> None:
        for row, plan in zip(self.routes, self.plans, strict=True):
            first = int(row["first_hop"])
            before = self.hops["before"][first : first + len(plan.before)]
            before[:] = plan.before
            # The way to the first link takes whole steps: who is ahead of it by less than one
            # step cannot be told from outside, and its fluid then meets no rounding on its way.
            shift = before[0] % self.coarse if len(before) else 0.0
            before[:1] -= shift
            row["after"], row["to_receiver"] = plan.after + shift, plan.to_receiver
            if plan.n_forward < 2:
                row["to_receiver"] += shift

    def _lay_out_link(self, k: int, index: int) -> None:
        row, link = self.links[k], self.resolved.links[index]
        row["rate"], row["loss"] = link.rate, link.loss
        row["in_bytes"] = link.buffer_unit == "bytes"
        row["limit"] = self._limit(index, link.buffer)
        row["size"] = 1.0
        seed_stream(row, self.scenario.seed, f"link {link.name}: fluid losses")
        row["loss_at"] = self._first_loss(row)
        row["drop_at"] = 1.0
        if link.record:
            row["bins"] = address(self.link_bins[self.recorded.index(index)])
        discipline = link.queue.discipline
        if discipline.on_fluid is not None:
            state = np.zeros(1, discipline.state_dtype)
            for name, variable in discipline.state.items():
                state[name] = variable.initial
            seed_stream(state[0], self.scenario.seed, f"link {link.name}: queue")
            params = np.zeros(1, discipline.params_dtype)
            params[0] = tuple(discipline.check(dict(link.queue.params)).values()) or (0.0,)
            row["on_fluid"] = rule_address(
                discipline.on_fluid, discipline.state_dtype, discipline.params_dtype, queue_sample
            )
            self._params[index] = params
            row["state"], row["params"] = self._own(state), self._own(params)
            row["sample"] = self._own(np.zeros(1, queue_sample))

    def _limit(self, index: int, buffer: float) -> float:
        """Room of a link; a part of a packet takes a whole one."""
        in_bytes = self.resolved.links[index].buffer_unit == "bytes"
        return buffer if in_bytes or math.isinf(buffer) else math.ceil(buffer)

    def _first_loss(self, row: Any) -> float:
        """Packets until the first random loss."""
        if not row["loss"]:
            return math.inf
        return math.log(uniform(np.rec.array(row, copy=False))) / math.log(1 - row["loss"])

    def _lay_out_flow(self, k: int, flow: ResolvedFlow) -> None:
        row, spec = self.flows[k], flow.spec
        row["index"] = k
        row["bins"] = address(self.flow_bins[k])
        row["finished"] = math.nan
        row["limit"] = math.inf
        if isinstance(spec, CBR):
            row["kind"] = t.CBR
            return
        row["kind"] = t.TCP
        settings = spec.transport
        for name in (
            "initial_window", "handshake", "rwnd", "dupack_threshold", "limited_transmit",
            "initial_rto", "min_rto", "max_rto", "backoff_limit",
        ):  # fmt: skip
            row[name] = getattr(settings, name)
        row["tick"] = settings.tick or 1e-9
        per_ack = settings.ack_every if settings.delayed_ack > 0 else 1
        row["counted"] = min(settings.abc_limit / per_ack, 1.0)
        if spec.size is not None:
            row["limit"] = spec.size
        recovery = RECOVERIES[flow.recovery]
        row["impatient"], row["fine"] = recovery.impatient, recovery.family == t.FINE_GRAINED
        row["holes_per_round"] = recovery.holes_per_round
        row["holes_at_most"] = recovery.holes_at_most
        rates = [self.resolved.links[i].rate for i in flow.forward]
        row["spacing"] = 8 * spec.packet_size / min(rates)
        row["syn_shorter"] = sum(8 * (spec.packet_size - spec.ack_size) / rate for rate in rates)
        assert flow.controller is not None
        known = self._controller(flow.controller)
        for name in ("on_ack", "on_round", "on_loss", "on_timeout"):
            row[name] = known[name]
        state = known["state"].copy()
        params = np.array(list(flow.params.values()) or [0.0])
        row["state"], row["params"] = self._own(state), self._own(params)
        row["sample"] = self._own(np.zeros(1, controller_sample))

    def _controller(self, controller: Controller) -> dict[str, Any]:
        """Addresses of a controller's rules, and its state at the start."""
        if id(controller) not in self._rules:
            dtypes = (controller.state_dtype, controller.params_dtype, controller_sample)
            known: dict[str, Any] = {
                name: rule_address(rule, *dtypes) for name, rule in controller.rules.items()
            }
            known["state"] = np.zeros(1, dtypes[0])
            known["state"][0] = controller.initial_state
            self._rules[id(controller)] = known
        return self._rules[id(controller)]

    def _lay_out_world(self) -> None:
        self.routes["finest"] = self.coarse / FINER
        self._set_delays()
        by_link: list[int] = []
        for k in range(len(self.kept)):
            mine = np.flatnonzero(self.hops["link"] == k)
            self.links["first_hop"][k], self.links["n_hops"][k] = len(by_link), len(mine)
            by_link.extend(mine)
        self.by_link = np.array(by_link, dtype=np.int64)
        w = self.w[0]
        for name in ("routes", "hops", "slots", "flows", "active", "links", "by_link"):
            w[name] = address(getattr(self, name))
        w["n_routes"], w["n_links"] = len(self.routes), len(self.links)
        w["duration"], w["interval"] = self.scenario.duration, self.scenario.interval
        w["n_bins"] = self.n_bins
        w["coarse"] = w["wanted"] = w["step"] = w["ramp"] = self.coarse
        w["k"] = 1
        self._set_history(np.zeros((FIRST_ROWS, self.n_columns)))
        past = 1 + 2 * max(plan.base_rtt for plan in self.plans)
        self.history[0, r.TIME] = -past
        self.history[1, r.PER_STEP] = 1 / past
        self.history[0, self.links["column"] + r.ARRIVED] = -past

    def _default_step(self) -> float:
        """A part of the shortest round trip, or of the time that the smallest buffer drains in."""
        trips = [plan.base_rtt for plan in self.plans if self._answers(plan.flows[0])]
        shortest = min(trips, default=min(plan.base_rtt for plan in self.plans))
        if not shortest:
            return self.scenario.duration / 1000
        drains = []
        for i in self.kept:
            link = self.resolved.links[i]
            in_bytes = link.buffer_unit == "bytes"
            drains.append(8 * link.buffer * (1 if in_bytes else self._largest(i)) / link.rate)
        drain = min(drains, default=math.inf)
        return max(min(shortest / STEPS, drain / DRAIN_STEPS), shortest / MOST_STEPS)

    def _largest(self, link: int) -> float:
        """The largest packet that passes a link, bytes."""
        flows = self.resolved.flows
        return max((f.spec.packet_size for f in flows if link in f.forward), default=0.0)

    def _answers(self, flow: int) -> bool:
        return not isinstance(self.resolved.flows[flow].spec, CBR)

    # ------------------------------------------------------------------- while running

    def _all_events(self) -> list[tuple[float, Callable[[], None]]]:
        """Starts, stops, on-times and changes by time; where times are equal, in that order."""
        events: list[tuple[float, Callable[[], None]]] = []
        for k, flow in enumerate(self.resolved.flows):
            spec = flow.spec
            if isinstance(spec, CBR):
                rate = spec.rate / (8 * spec.packet_size)
                for begin, end in spec.on:
                    events.append((begin, partial(self._switch, k, rate)))
                    if end is not None:
                        events.append((end, partial(self._switch, k, 0.0)))
            else:
                events.append((spec.start + self._turn(k), partial(self._start, k)))
                if spec.stop is not None:
                    events.append((spec.stop, partial(self._stop, k)))
        for change in self.resolved.changes:
            events.append((change.spec.at, partial(self._change, change)))
        return sorted(events, key=lambda event: event[0])

    def _turn(self, k: int) -> float:
        """How much later than others that start at the same moment a flow does, s.

        Their first packets would arrive together, and queue one behind the other.
        """
        import os

        if os.environ.get("TURN") == "0":
            return 0.0
        spec, route = self.resolved.flows[k].spec, self.flows["route"][k]
        before = [
            j
            for j in range(k)
            if self.flows["route"][j] == route and self.resolved.flows[j].spec.start == spec.start
        ]
        return len(before) * float(self.flows["spacing"][k])

    def _activate(self, k: int) -> None:
        route = self.routes[self.flows["route"][k]]
        first = int(route["first_hop"])
        mine = self.hops[first : first + int(route["n_hops"])]
        if not route["active"]:
            oldest = max(int(self.w["k"][0]) - len(self.history) + 8, 0)
            route["cursor"] = oldest
            for name in ("back", "left", "cursor"):
                mine[name] = oldest
        route["active"] += 1
        self.slots["active"][mine["first_slot"] + self.flows["member"][k]] = 1
        self._list_active(np.union1d(self._active_flows(), [k]))
        self.w["ramp"] = TINY * self.coarse

    def _retire(self, flows: np.ndarray) -> None:
        for k in flows:
            route = self.routes[self.flows["route"][k]]
            first = int(route["first_hop"])
            mine = self.hops[first : first + int(route["n_hops"])]
            route["active"] -= 1
            self.slots["active"][mine["first_slot"] + self.flows["member"][k]] = 0
        self._list_active(np.setdiff1d(self._active_flows(), flows))

    def _active_flows(self) -> np.ndarray:
        return self.active[: int(self.w["n_active"][0])]

    def _list_active(self, flows: np.ndarray) -> None:
        self.active[: len(flows)] = flows
        self.w["n_active"] = len(flows)

    def _start(self, k: int) -> None:
        from tcpcc.fluid.senders import start_at

        self._activate(k)
        start_at(self.w["flows"][0], k, self.w["now"][0])

    def _switch(self, k: int, rate: float) -> None:
        if k not in self._active_flows():
            self._activate(k)
        self.flows["rate"][k] = rate

    def _stop(self, k: int) -> None:
        f = self.flows[k]
        f["limit"] = min(f["limit"], f["next_seq"] - f["known_lost"])

    def _change(self, change: ResolvedChange) -> None:
        """A scheduled change of a link; fluid in flight takes the new delay from where it is."""
        spec, index = change.spec, change.link
        if index not in self.place:
            return  # no flow passes it
        row = self.links[self.place[index]]
        for name, value in (("loss", spec.loss), ("rate", spec.rate)):
            if value is not None:
                row[name] = value
        if spec.buffer is not None:
            row["limit"] = self._limit(index, spec.buffer)
        if spec.loss:
            row["loss_at"], row["loss_clock"] = self._first_loss(row), 0.0
        if spec.queue:
            params = self._params[index]
            for name, value in spec.queue:
                params[name] = value
        if spec.rate is not None or spec.delay is not None:
            link = self.current[index]
            self.current[index] = link.replace(
                rate=link.rate if spec.rate is None else spec.rate,
                delay=link.delay if spec.delay is None else spec.delay,
            )
            kept = set(self.kept)
            for plan in self.plans:
                if index in plan.links:
                    flow = self.resolved.flows[plan.flows[0]]
                    new = route_of(self.current, flow, kept)
                    plan.before, plan.after = new.before, new.after
                    plan.to_receiver = new.to_receiver
            self._set_delays()

    def settle(self) -> None:
        """Between slices: let go of the flows that have finished."""
        flows = self._active_flows()
        recorded = self.w["bin"][0] * self.scenario.interval
        done = flows[self.flows["finished"][flows] <= recorded]
        if len(done):
            self._retire(done)

    def grow(self) -> None:
        """Double the history."""
        old, k = self.history, int(self.w["k"][0])
        self._set_history(np.zeros((2 * len(old), old.shape[1])))
        rows = np.arange(max(k - len(old) + 1, 0), k + 1)
        self.history[rows % len(self.history)] = old[rows % len(old)]

    def _set_history(self, rows: np.ndarray) -> None:
        self.history = rows
        self.w["history"] = address(rows)
        self.w["mask"], self.w["columns"] = len(rows) - 1, rows.shape[1]

    @property
    def address(self) -> int:
        return address(self.w)

    # ----------------------------------------------------------------------- results

    def result(self, cpu_seconds: float) -> Run:
        """The record of the run."""
        interval = self.scenario.interval
        edges = np.minimum(interval * np.arange(1, self.n_bins + 1), self.scenario.duration)
        widths = np.diff(edges, prepend=0.0)[:, None]
        flow_bins, link_bins = self.flow_bins.T, self.link_bins.T
        active = ~(edges[:, None] > self.flows["finished"])
        return build(
            self.scenario,
            self.resolved,
            model="fluid",
            driver="compiled" + (", interpreted" if INTERPRETED else ""),
            time=edges,
            **{
                name: np.where(active, flow_bins[name], np.nan)
                for name in ("cwnd", "ssthresh", "rtt")
            },
            **{
                name: np.diff(np.maximum.accumulate(flow_bins[name], axis=0), axis=0, prepend=0.0)
                for name in ("sent", "retransmitted", "delivered", "dropped")
            },
            queue=link_bins["waiting"] / widths,
            busy=link_bins["busy"] / widths,
            **{name: link_bins[name] for name in ("queue_max", "arrived", "drops", "sent_bits")},
            timeouts=self.flows["timeouts"],
            loss_events=self.flows["loss_events"],
            finished=self.flows["finished"],
            cpu_seconds=cpu_seconds,
        )
