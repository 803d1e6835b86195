"""The world of the mean field: a resolved scenario laid out in the model's records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import INTERPRETED, Records, address
from tcpcc.models.bins import FLOW_BIN, LINK_BIN
from tcpcc.models.blame import RuleError, blame, suspects
from tcpcc.models.controller_memory import ControllerMemory
from tcpcc.models.layout import queueing_links
from tcpcc.models.meanfield import meanfield_records as r
from tcpcc.models.meanfield.class_routes import (
    class_routes,
    closed_routes,
    history_columns,
    integration_step,
)
from tcpcc.models.meanfield.flow_classes import flow_classes, refuse_what_is_not_smooth
from tcpcc.models.meanfield.lookback import LINK_COLUMNS
from tcpcc.models.queue_memory import QueueMemory, recorded_states
from tcpcc.models.refusals import refuse_groups, refuse_what_needs_packets
from tcpcc.results import Run
from tcpcc.results.recording import FlowSeries, LinkSeries, Means, Series, dataset
from tcpcc.scenario.spec import require_scenario
from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

CURVES = ("first", "second", "trial", "scratch")  # vectors of a class, as long as its state
NO_CONTROLLER = np.dtype([("cwnd", float), ("ssthresh", float)])  # state without a controller
ECT = {"off": 0, "classic": 1, "accurate": 1, "l4s": 2}  # codepoint: none, ECT(0), ECT(1)
FIRST_ROWS = 64  # initial rows of the history, a power of two; doubled when it is too short


def _each(table: np.ndarray) -> np.ndarray:
    """Addresses of the rows of a table."""
    return address(table) + table.strides[0] * np.arange(len(table))


class MeanFieldWorld:
    """The memory of one integration.

    The arrays belong to this object; the compiled functions use their addresses in the records.

    Args:
        scenario: the scenario to integrate.
        step: longest time step in s; None: the default.
        after: time in s from which sums are taken.
        bins: whether series are recorded.
        marking: whether queue disciplines mark packets instead of dropping them, as with ECN.
        controllers: memory with compiled rules, to share them between worlds.
        resolved: the scenario resolved without expansion, if available.

    Raises:
        ScenarioError: a flow with a size, a scheduled change, or a step that is too long.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: float | None = None,
        after: float = 0.0,
        bins: bool = True,
        marking: bool = False,
        controllers: ControllerMemory | None = None,
        resolved: Resolved | None = None,
    ) -> None:
        require_scenario(scenario)
        self.scenario = scenario
        self.marking = marking
        self.resolved = resolved or scenario.resolve(expand=False)
        refuse_what_needs_packets(self.resolved)
        refuse_groups(self.resolved)
        refuse_what_is_not_smooth(self.resolved)
        self.kinds = flow_classes(self.resolved)
        self.kept = queueing_links(self.resolved)
        self.place = {link: k for k, link in enumerate(self.kept)}
        self.plans = class_routes(self.resolved, self.kinds, self.kept)
        closed, interval = closed_routes(self.resolved, self.kinds, self.plans), scenario.interval
        self.step = integration_step(closed, step, interval if bins else None)
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1) if bins else 0
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.controllers = (controllers or ControllerMemory()).with_seed(scenario.seed)
        self.queues: dict[int, QueueMemory] = {}
        self.n_columns = history_columns(self.kept, self.plans)
        n, m = len(self.kinds), len(self.kept)
        self.w: Records = np.zeros(1, r.WORLD)
        self.classes: Records = np.zeros(n, r.CLASS)
        self.slots: Records = np.zeros(sum(len(plan.links) for plan in self.plans), r.SLOT)
        self.links: Records = np.zeros(m, r.LINK)
        self.flow_bins: Records = np.zeros((n, self.n_bins), FLOW_BIN)
        self.link_bins: Records = np.zeros((m, self.n_bins), LINK_BIN)
        for k, index in enumerate(self.kept):
            self._lay_out_link(k, index)
        self._lay_out_classes()
        self._lay_out_slots()
        self.states = self._lay_out_controllers()
        self._lay_out_curves()
        self._lay_out_world(after)

    def _lay_out_link(self, k: int, index: int) -> None:
        row, link = self.links[k], self.resolved.links[index]
        row["rate"], row["loss"] = link.rate, link.loss
        row["limit"], row["in_bytes"] = link.buffer, link.buffer_unit == "bytes"
        row["column"], row["marking"] = LINK_COLUMNS * k, self.marking
        row["least_queue"] = math.inf
        sizes = [f.spec.packet_size for f in self.resolved.flows if index in f.forward]
        row["size"] = float(np.mean(sizes)) if sizes else 40.0
        if link.record and self.n_bins:
            row["bins"] = address(self.link_bins[k])
        discipline = link.queue.discipline
        if discipline.on_fluid is not None:
            memory = QueueMemory(link, discipline.on_fluid, self.scenario.seed, self.n_bins)
            memory.fill(row)
            memory.empty()
            row["inner"] = discipline.inner
            self.queues[index] = memory

    def _lay_out_classes(self) -> None:
        rows, kinds, plans = self.classes, self.kinds, self.plans
        specs = [self.resolved.flows[kind.flow].spec for kind in kinds]
        rows["kind"] = [t.CBR if isinstance(spec, CBR) else t.TCP for spec in specs]
        for name in ("count", "start", "stop"):
            rows[name] = [getattr(kind, name) for kind in kinds]
        for name in ("n_forward", "after", "base_rtt"):
            rows[name] = [getattr(plan, name) for plan in plans]
        lengths = np.array([len(plan.links) for plan in plans])
        rows["n_slots"], rows["first_slot"] = lengths, np.cumsum(lengths) - lengths
        # in the history a class's sending rate precedes the rates of its slots
        first = LINK_COLUMNS * len(self.kept)
        rows["column"] = first + np.arange(len(rows)) + rows["first_slot"]
        rows["min_rtt"], rows["rtt"] = math.inf, rows["base_rtt"]
        rows["rate"] = [
            spec.rate / (8 * spec.packet_size) if isinstance(spec, CBR) else 0.0 for spec in specs
        ]
        settings = [None if isinstance(spec, CBR) else spec.transport for spec in specs]
        rows["initial_window"] = [0.0 if x is None else x.initial_window for x in settings]
        rows["ect"] = [
            int(self.marking) if x is None else max(ECT[x.ecn], int(self.marking)) for x in settings
        ]
        rows["rwnd"] = [0.0 if x is None else x.rwnd for x in settings]
        ways: dict[Any, int] = {}
        rows["way"] = [
            ways.setdefault((plan.links, plan.n_forward, tuple(plan.before), plan.after, ect), k)
            for k, (plan, ect) in enumerate(zip(plans, rows["ect"], strict=True))
        ]
        if self.n_bins:
            rows["bins"] = _each(self.flow_bins)

    def _lay_out_slots(self) -> None:
        rows, specs = self.slots, [self.resolved.flows[kind.flow].spec for kind in self.kinds]
        passed = [
            (spec, plan, k, j)
            for k, (spec, plan) in enumerate(zip(specs, self.plans, strict=True))
            for j in range(len(plan.links))
        ]
        rows["link"] = [self.place[plan.links[j]] for _, plan, _, j in passed]
        rows["before"] = [plan.before[j] for _, plan, _, j in passed]
        rows["carries_ack"] = [j >= plan.n_forward for _, plan, _, j in passed]
        rows["size"] = [
            spec.packet_size if j < plan.n_forward else getattr(spec, "ack_size", 0)
            for spec, plan, _, j in passed
        ]
        columns = self.classes["column"]
        rows["column"] = [columns[k] + 1 + j for _, _, k, j in passed]

    def _lay_out_controllers(self) -> list[np.ndarray]:
        """Give each class the rules and records of its controller; return the states."""
        states: dict[int, np.ndarray] = {}
        alike: dict[Any, list[int]] = {}
        for k, kind in enumerate(self.kinds):
            flow = self.resolved.flows[kind.flow]
            if flow.controller is None:
                states[k] = np.zeros(1, NO_CONTROLLER)
                self.classes["state"][k] = address(states[k])
            else:
                told = tuple(flow.params.values()), flow.spec.packet_size, flow.hops
                alike.setdefault((flow.controller, *told), []).append(k)
        self._records = []  # kept alive for the addresses in the rows
        for (controller, *_), members in alike.items():
            flows = [self.resolved.flows[self.kinds[k].flow] for k in members]
            records = self.controllers.fill_alike(self.classes, members, flows)
            self._records.append(records)
            self.classes["settles"][members] = len(controller.state) > 0
            if controller.on_mark is None:
                self.classes["on_mark"][members] = self.classes["on_loss"][members]
            states.update((k, records[0][i : i + 1]) for i, k in enumerate(members))
        return [states[k] for k in range(len(self.kinds))]

    def _lay_out_curves(self) -> None:
        """Allocate the vectors for a class's step; a source without a controller has none."""
        rows = self.classes
        closed = rows["kind"] != t.CBR
        sizes = np.array([state.dtype.itemsize // r.BYTES for state in self.states]) * closed
        self.curves = np.zeros(len(CURVES) * int(sizes.sum()))
        begin = address(self.curves) + r.BYTES * len(CURVES) * (np.cumsum(sizes) - sizes)
        rows["n"] = sizes
        for place, name in enumerate(CURVES):
            rows[name] = np.where(closed, begin + r.BYTES * place * sizes, 0)
        rows["trial"][~closed] = rows["state"][~closed]

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

        with self._blaming():
            start_world(address(self.w))

    def run(self, until: int) -> None:
        """Advance to step `until`; grow the history as needed.

        Raises:
            RuleError: a rule divided by zero, or a window is not a positive finite number.
        """
        from tcpcc.models.meanfield.heun import FAILED, GROW, run_world

        with self._blaming():
            while (state := run_world(address(self.w), until)) == GROW:
                self._grow()
        if state == FAILED:
            flow = self.resolved.flows[self.kinds[int(self.w["failed"][0]) - 1].flow]
            assert flow.controller is not None
            raise RuleError(
                f"controller {flow.controller.name!r}: cwnd is not a positive finite number at"
                f" t = {self.w['k'][0] * self.step:.6g} s, flow {flow.name!r}: the meanfield model"
                " calls its rules at mean values"
            )

    @contextmanager
    def _blaming(self) -> Iterator[None]:
        """Turn an arithmetic error into one that names the rule."""
        try:
            yield
        except ArithmeticError as error:
            flows = (self.resolved.flows[kind.flow] for kind in self.kinds)
            called = (
                (f.name, f.controller, row) for f, row in zip(flows, self.classes, strict=True)
            )
            rules = suspects(called, self.resolved.links, self.queues)
            raise blame(error, float(self.w["k"][0]) * self.step, rules) from None

    def means(self) -> Means:
        """Time averages since `after`, by flow and by recorded link.

        Flows: cwnd in packets, rtt in s (NaN if the flow has not sent), throughput in bit/s and
        loss. Links: queue, queue_min and queue_max in packets, utilization and drop_rate. The
        throughput of a flow with a count is that of all its flows together.
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
        """The recorded run."""
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
        flows["acks_dropped"] = np.full_like(flows["dropped"], np.nan)  # not counted
        links = {name: np.zeros((n, len(self.recorded))) for name in LINK_BIN.names or ()}
        for column, index in enumerate(self.recorded):
            if index in self.place:
                for name, series in links.items():
                    series[:, column] = self.link_bins[name][self.place[index]]
        widths = np.diff(edges, prepend=0.0)[:, None]
        nothing = np.zeros(len(self.resolved.flows))
        recorded = Series(
            edges,
            FlowSeries(
                timeouts=nothing,
                loss_events=flows["dropped"].sum(axis=0),
                finished=np.full(len(nothing), np.nan),
                **flows,
            ),
            LinkSeries(
                queue=links["waiting"] / widths,
                busy=links["busy"] / widths,
                **{name: links[name] for name in ("queue_max", "arrived", "drops", "sent_bits")},
                states=recorded_states(self.resolved.links, self.queues, slice(0, n)),
            ),
        )
        record = dataset(
            self.scenario,
            self.resolved,
            recorded,
            model="meanfield",
            driver="compiled" + (", interpreted" if INTERPRETED else ""),
            cpu_seconds=cpu_seconds,
        )
        return Run(record)

    @property
    def counts(self) -> np.ndarray:
        """The number of flows that each flow of the scenario stands for."""
        return np.array([getattr(flow.spec, "count", 1) for flow in self.resolved.flows], float)

    def _by_flow(self, series: np.ndarray) -> np.ndarray:
        """Convert series of classes, shape [time, class], to series of the scenario's flows. The
        classes of an on-off source are added up."""
        total = np.zeros((series.shape[0], len(self.resolved.flows)))
        owners = np.array([k for k, kind in enumerate(self.kinds) for _ in kind.flows])
        flows = np.array([flow for kind in self.kinds for flow in kind.flows])
        np.add.at(total.T, flows, series.T[owners])
        return total
