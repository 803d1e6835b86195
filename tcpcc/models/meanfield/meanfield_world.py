"""A world: a resolved scenario laid out in the records of the mean field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import INTERPRETED, address
from tcpcc.errors import ScenarioError, positive
from tcpcc.models.bins import FLOW_BIN, LINK_BIN
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.layout import Route, queueing_links, route_of
from tcpcc.models.meanfield import meanfield_records as r
from tcpcc.models.meanfield.lookback import LINK_COLUMNS
from tcpcc.models.queue_memory import QueueMemory, recorded_states
from tcpcc.models.refusals import refuse_what_needs_packets
from tcpcc.results import Run
from tcpcc.results.recording import dataset
from tcpcc.scenario.traffic import CBR, Flow
from tcpcc.transport import flow_record as t

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

STEPS = 5  # in the shortest base round-trip time, where series are recorded
FEWEST_STEPS = 2  # likewise, where they are not: a long swing's extremes differ by 1e-4
FIRST_ROWS = 64  # of the history, a power of two; doubled when a round trip takes more steps


@dataclass(frozen=True)
class FlowClass:
    """Flows that are alike: the scenario's flows that it stands for, all of them counted, when
    they send."""

    flows: tuple[int, ...]
    count: int
    start: float
    stop: float

    @property
    def flow(self) -> int:
        """The first of them."""
        return self.flows[0]


def flow_classes(resolved: Resolved) -> list[FlowClass]:
    """One class for flows that are the same but for their names; a source that is on and off has
    one for each time that it is on."""
    classes: list[FlowClass] = []
    alike: dict[Any, list[int]] = {}
    for k, flow in enumerate(resolved.flows):
        if isinstance(flow.spec, CBR):
            times = [(a, math.inf if b is None else b) for a, b in flow.spec.on]
            classes += [FlowClass((k,), 1, a, b) for a, b in times]
        else:
            spec = flow.spec.replace(name=None) if flow.spec.name else flow.spec
            alike.setdefault(spec, []).append(k)
    for spec, flows in alike.items():
        stop = math.inf if spec.stop is None else spec.stop
        start = spec.start + spec.jitter / 2
        classes.append(FlowClass(tuple(flows), len(flows) * spec.count, start, stop))
    return classes


def refuse_what_is_not_smooth(resolved: Resolved) -> None:
    """A mean field has no files, no workloads and no scheduled changes.

    Raises:
        ScenarioError: the scenario has one.
    """
    if resolved.workloads:
        raise ScenarioError(
            f"workload {resolved.workloads[0].name!r}: the meanfield model takes endless flows;"
            " use the packet model"
        )
    for flow in resolved.flows:
        if isinstance(flow.spec, Flow) and flow.spec.size is not None:
            raise ScenarioError(
                f"flow {flow.name!r}: size = {flow.spec.size}: the meanfield model takes endless"
                " flows; use the packet or the fluid model"
            )
    if resolved.changes:
        change = resolved.changes[0].spec
        raise ScenarioError(
            f"change of link {change.link!r} at {change.at:g}: the meanfield model takes constant"
            " links; use the packet or the fluid model"
        )


def step_length(
    plans: list[Route], step: float | None, interval: float | None, steps: float = STEPS
) -> float:
    """The time step in s: a part of the shortest round trip, and at most the shortest way from a
    link back to a sender, or the `step` asked for; a whole number of steps is an interval, if one
    is given.

    Raises:
        ScenarioError: a `step` longer than the shortest way back.
    """
    ways = [
        plan.base_rtt - sum(plan.before[: j + 1]) for plan in plans for j in range(len(plan.before))
    ]
    trip = min(plan.base_rtt for plan in plans)
    longest = min([trip, *(way for way in ways if way > 0)])
    if step is None:
        step = min(trip / steps, longest)
    elif positive("step", step, "s") > longest * (1 + 1e-9):
        raise ScenarioError(
            f"step = {step!r}: must be at most the shortest way from a link back to a sender, "
            f"{longest:g} (s)"
        )
    return step if interval is None else interval / max(math.ceil(interval / step - 1e-9), 1)


class World:
    """The memory of one integration.

    Arrays are owned here; the compiled functions see their addresses in the records.

    Args:
        scenario: what to integrate.
        step: s, at most this; None: the default.
        after: s, from when on sums are taken.
        bins: whether series are recorded.
        marking: whether queue disciplines mark what they would drop, as with ECN.
        controllers: where rules and states are kept, if several worlds are to share one.

    Raises:
        ScenarioError: a flow with a size, a scheduled change, a step that is too long.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: float | None = None,
        after: float = 0.0,
        bins: bool = True,
        marking: bool = False,
        controllers: ControllerMemory | None = None,
    ) -> None:
        self.scenario = scenario
        self.marking = marking
        self.resolved = scenario.resolve(expand=False)
        refuse_what_is_not_smooth(self.resolved)
        if not marking:
            refuse_what_needs_packets(self.resolved, "meanfield")
        self.kinds = flow_classes(self.resolved)
        self.kept = queueing_links(self.resolved)
        self.place = {link: k for k, link in enumerate(self.kept)}
        kept = set(self.kept)
        flows = self.resolved.flows
        self.plans = [route_of(self.resolved.links, flows[x.flow], kept) for x in self.kinds]
        plans, interval = self._closed_plans(), scenario.interval if bins else None
        self.step = step_length(plans, step, interval, STEPS if bins else FEWEST_STEPS)
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1) if bins else 0
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.controllers = controllers or ControllerMemory(scenario.seed)
        self.queues: dict[int, QueueMemory] = {}
        n, m = len(self.kinds), len(self.kept)
        self.w = np.zeros(1, r.WORLD)
        self.classes = np.zeros(n, r.CLASS)
        self.slots = np.zeros(sum(len(plan.links) for plan in self.plans), r.SLOT)
        self.links = np.zeros(m, r.LINK)
        self.flow_bins = np.zeros((n, self.n_bins), FLOW_BIN)
        self.link_bins = np.zeros((m, self.n_bins), LINK_BIN)
        self.states: list[np.ndarray] = []
        self.vectors: list[np.ndarray] = []
        self.n_columns = LINK_COLUMNS * m
        for k, index in enumerate(self.kept):
            self._lay_out_link(k, index)
        slot = 0
        ways: dict[Any, int] = {}
        for k, (kind, plan) in enumerate(zip(self.kinds, self.plans, strict=True)):
            self._lay_out_class(k, kind, plan, slot)
            slot += len(plan.links)
            way = plan.links, plan.n_forward, tuple(plan.before), plan.after
            self.classes[k]["way"] = ways.setdefault(way, k)
        self._lay_out_world(after)

    def _closed_plans(self) -> list[Route]:
        """The routes of those that hear back; of all, if none does."""
        flows = self.resolved.flows
        closed = [
            plan
            for kind, plan in zip(self.kinds, self.plans, strict=True)
            if flows[kind.flow].controller is not None
        ]
        return closed or [replace(plan, after=plan.after + 1e-3) for plan in self.plans]

    def _lay_out_link(self, k: int, index: int) -> None:
        row, link = self.links[k], self.resolved.links[index]
        row["rate"], row["loss"] = link.rate, link.loss
        row["limit"], row["in_bytes"] = link.buffer, link.buffer_unit == "bytes"
        row["column"], row["marks"] = LINK_COLUMNS * k, self.marking
        row["least_queue"] = math.inf
        sizes = [f.spec.packet_size for f in self.resolved.flows if index in f.forward]
        row["size"] = float(np.mean(sizes)) if sizes else 40.0
        if link.record and self.n_bins:
            row["bins"] = address(self.link_bins[k])
        discipline = link.queue.discipline
        if discipline.on_fluid is not None:
            memory = QueueMemory(link, discipline.on_fluid, self.scenario.seed, self.n_bins)
            memory.fill(row)
            self.queues[index] = memory

    def _lay_out_class(self, k: int, kind: FlowClass, plan: Route, first: int) -> None:
        row, flow = self.classes[k], self.resolved.flows[kind.flow]
        row["count"], row["start"], row["stop"] = kind.count, kind.start, kind.stop
        row["first_slot"], row["n_slots"], row["n_forward"] = first, len(plan.links), plan.n_forward
        row["after"], row["base_rtt"] = plan.after, plan.base_rtt
        row["min_rtt"], row["rtt"] = math.inf, plan.base_rtt
        row["column"] = self._column()
        if self.n_bins:
            row["bins"] = address(self.flow_bins[k])
        for j, index in enumerate(plan.links):
            slot = self.slots[first + j]
            acks = j >= plan.n_forward
            slot["link"], slot["before"], slot["carries_ack"] = (
                self.place[index],
                plan.before[j],
                acks,
            )
            slot["size"] = getattr(flow.spec, "ack_size", 0) if acks else flow.spec.packet_size
            slot["column"] = self._column()
        if isinstance(flow.spec, CBR):
            row["kind"] = t.CBR
            row["rate"] = flow.spec.rate / (8 * flow.spec.packet_size)
            self.states.append(np.zeros(1, np.dtype([("cwnd", float), ("ssthresh", float)])))
            row["state"] = row["trial"] = address(self.states[-1])
            return
        row["kind"] = t.TCP
        self._lay_out_controller(row, flow, flow.spec)

    def _lay_out_controller(self, row: Any, flow: ResolvedFlow, spec: Flow) -> None:
        settings = spec.transport
        row["initial_window"], row["rwnd"] = settings.initial_window, settings.rwnd
        state = self.controllers.fill(row, flow)
        self.states.append(state)
        n = state.dtype.itemsize // r.BYTES
        row["n"], row["settles"] = n, flow.controller is not None and len(flow.controller.state) > 0
        vectors = np.zeros((4, n))
        self.vectors.append(vectors)
        for name, vector in zip(("first", "second", "trial", "scratch"), vectors, strict=True):
            row[name] = address(vector)

    def _column(self) -> int:
        self.n_columns += 1
        return self.n_columns - 1

    def _lay_out_world(self, after: float) -> None:
        w = self.w[0]
        for name in ("classes", "slots", "links"):
            w[name] = address(getattr(self, name))
        w["n_classes"], w["n_links"] = len(self.classes), len(self.links)
        w["step"], w["interval"], w["n_bins"] = self.step, self.scenario.interval, self.n_bins
        w["after"] = after
        self.end = math.ceil(self.scenario.duration / self.step - 1e-9)
        w["end"] = self.end
        self._set_history(np.zeros((FIRST_ROWS, self.n_columns)))

    def _set_history(self, rows: np.ndarray) -> None:
        self.history = rows
        self.w["history"] = address(rows)
        self.w["mask"], self.w["columns"] = len(rows) - 1, rows.shape[1]

    def _grow(self) -> None:
        """Double the history."""
        old, k = self.history, int(self.w["k"][0])
        self._set_history(np.zeros((2 * len(old), old.shape[1])))
        rows = np.arange(max(k - len(old) + 1, 0), k + 1)
        self.history[rows % len(self.history)] = old[rows % len(old)]

    def start(self) -> None:
        """Put the world at time 0."""
        from tcpcc.models.meanfield.heun import start_world

        start_world(address(self.w))

    def run(self, until: int) -> None:
        """Advance to step `until`, with as long a history as that takes.

        Raises:
            FloatingPointError: a window came to be no positive finite number.
        """
        from tcpcc.models.meanfield.heun import FAILED, GROW, run_world

        while (told := run_world(address(self.w), until)) == GROW:
            self._grow()
        if told == FAILED:
            flow = self.resolved.flows[self.kinds[int(self.w["failed"][0]) - 1].flow]
            raise FloatingPointError(
                f"flow {flow.name!r} at {self.w['k'][0] * self.step:.6g} s: cwnd is not a positive"
                " finite number"
            )

    def means(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What was summed up since `after`: by flow, and by recorded link.

        Flows: cwnd, rtt (nan if it has not sent), throughput in bit/s and loss. Links: queue,
        queue_min, queue_max in packets, utilization and loss. Of flows with a count, throughput is
        that of all.
        """
        c = self.classes
        seconds = max((self.end * self.step) - float(self.w["after"][0]), self.step)
        by_flow = self._by_flow(np.array([c[name] for name in r.CLASS_SUMS]))
        sums = {name.removeprefix("sum_"): x for name, x in zip(r.CLASS_SUMS, by_flow, strict=True)}
        sizes = np.array([flow.spec.packet_size for flow in self.resolved.flows])
        with np.errstate(invalid="ignore", divide="ignore"):
            flows = {
                "cwnd": sums["cwnd"] / sums["time"],
                "rtt": sums["rtt"] / sums["time"],
                "throughput": sums["acked"] * self.counts * sizes * 8 / seconds,
                "loss": sums["lost"] / sums["sent"],
            }
            rows = [self.place[index] for index in self.recorded if index in self.place]
            x = self.links[rows]
            links = {
                "queue": x["sum_queue"] / seconds,
                "queue_min": np.where(np.isfinite(x["least_queue"]), x["least_queue"], 0.0),
                "queue_max": x["most_queue"],
                "utilization": x["sum_bits"] / seconds / x["rate"],
                "drop_rate": x["sum_dropped"] / x["sum_arrived"],
            }
        return flows, links

    def result(self, cpu_seconds: float) -> Run:
        """The record of the run."""
        n = self.n_bins
        edges = np.minimum(self.scenario.interval * np.arange(1, n + 1), self.scenario.duration)
        flows: dict[str, np.ndarray] = {}
        tcp = self.classes["kind"] == t.TCP
        on = (edges[:, None] > self.classes["start"]) & (
            edges[:, None] <= self.classes["stop"] + 1e-9
        )
        for name in ("cwnd", "ssthresh", "rtt"):
            flows[name] = self._by_flow(np.where(on & tcp, self.flow_bins[name].T, np.nan))
        for name in ("sent", "delivered", "dropped"):
            steps = np.diff(self.flow_bins[name].T, axis=0, prepend=0.0)
            flows[name] = self._by_flow(steps) * self.counts
        flows["retransmitted"] = flows["dropped"]
        links = {name: np.zeros((n, len(self.recorded))) for name in LINK_BIN.names or ()}
        for column, index in enumerate(self.recorded):
            if index in self.place:
                for name, series in links.items():
                    series[:, column] = self.link_bins[name][self.place[index]]
        widths = np.diff(edges, prepend=0.0)[:, None]
        nothing = np.zeros(len(self.resolved.flows))
        record = dataset(
            self.scenario,
            self.resolved,
            model="meanfield",
            driver="compiled" + (", interpreted" if INTERPRETED else ""),
            time=edges,
            queue=links["waiting"] / widths,
            busy=links["busy"] / widths,
            queue_max=links["queue_max"],
            arrived=links["arrived"],
            drops=links["drops"],
            sent_bits=links["sent_bits"],
            timeouts=nothing,
            loss_events=flows["dropped"].sum(axis=0),
            finished=np.full(len(nothing), np.nan),
            queue_states=recorded_states(self.resolved.links, self.queues, slice(0, n)),
            cpu_seconds=cpu_seconds,
            cwnd=flows["cwnd"],
            ssthresh=flows["ssthresh"],
            rtt=flows["rtt"],
            sent=flows["sent"],
            retransmitted=flows["retransmitted"],
            delivered=flows["delivered"],
            dropped=flows["dropped"],
        )
        return Run(record)

    @property
    def counts(self) -> np.ndarray:
        """How many flows each of the scenario's stands for."""
        return np.array([getattr(flow.spec, "count", 1) for flow in self.resolved.flows], float)

    def _by_flow(self, series: np.ndarray) -> np.ndarray:
        """Series of classes, shape [time, class], as those of the scenario's flows; the times that
        a source is on are added up."""
        total = np.zeros((series.shape[0], len(self.resolved.flows)))
        owners = np.array([k for k, kind in enumerate(self.kinds) for _ in kind.flows])
        flows = np.array([flow for kind in self.kinds for flow in kind.flows])
        np.add.at(total.T, flows, series.T[owners])
        return total


def run_many(worlds: Sequence[World]) -> None:
    """Start and run worlds to their ends, in one go without the interpreter's lock."""
    from tcpcc.models.meanfield.heun import run_worlds

    addresses = np.array([address(world.w) for world in worlds], np.int64)
    run_worlds(address(addresses), len(addresses))
    for world in worlds:
        world.run(world.end)  # what is left: those that ran short of history, or failed
