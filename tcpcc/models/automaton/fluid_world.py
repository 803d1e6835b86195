"""A world: a resolved scenario laid out in the records of the fluid model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import INTERPRETED, Records, address, blank
from tcpcc.engine.streams import seed_stream
from tcpcc.models.bins import FLOW_BIN, LINK_BIN, blank_bins
from tcpcc.models.blame import Suspect, blame, suspects
from tcpcc.models.controller_memory import ControllerMemory, place_of
from tcpcc.models.automaton import fluid_records as r
from tcpcc.models.automaton.rows import fill_flow, fill_link
from tcpcc.models.automaton.steps import FINER, MANY_FLOWS, PACKET_STEPS, first_step, step_length
from tcpcc.models.header_layout import HeaderLayout
from tcpcc.models.layout import Route, find_routes, queueing_links, route_of
from tcpcc.models.queue_memory import QueueMemory, recorded_states
from tcpcc.results import Run
from tcpcc.results.recording import AMOUNTS, FlowSeries, LinkSeries, Series, dataset
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

AT_ONCE = 2**18  # steps times flows between two checks for Ctrl-C
FIRST_ROWS = 256  # rows of a new history, a power of two; doubled if a round trip needs more


class FluidWorld:
    """The memory of one run of the fluid model.

    This object owns the arrays; the compiled functions get their addresses from the records.

    Args:
        scenario: the scenario to run.
        step: s, the longest time step; None: the default.
        representatives: the most flows that are simulated for a flow with a count; each stands for
            its share of the count.
        controllers: the compiled rules, with the scenario's seed; None: they are looked up.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: float | None = None,
        representatives: float = math.inf,
        controllers: ControllerMemory | None = None,
    ) -> None:
        self.scenario = scenario
        self.resolved: Resolved = scenario.resolve(at_most=representatives)
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.now_links: list[Link] = list(self.resolved.links)
        self.kept = queueing_links(self.resolved)
        self.place = {link: k for k, link in enumerate(self.kept)}
        self.plans = find_routes(self.resolved, self.kept)
        self.counts = np.array([getattr(x.spec, "count", 1) for x in self.resolved.flows], float)
        many = bool((self.counts > 1).any())
        usual = step_length(self.resolved, self.kept, self.plans, None, many)
        self.coarse = (
            usual if step is None else step_length(self.resolved, self.kept, self.plans, step)
        )
        self.finer = self.coarse / usual  # a given step relative to the default one
        self.first_step = self.coarse * first_step(len(self.resolved.flows))
        self.together = self.first_step if len(self.resolved.flows) > MANY_FLOWS else 0.0
        self.queues: dict[int, QueueMemory] = {}  # of links with a discipline, by link
        self.controllers = controllers or ControllerMemory(scenario.seed)

        self.w: Records = np.zeros(1, r.WORLD)
        self.routes: Records = np.zeros(len(self.plans), r.ROUTE)
        self.hops: Records = np.zeros(sum(len(plan.links) for plan in self.plans), r.HOP)
        self.slots: Records = blank(sum(len(p.links) * len(p.flows) for p in self.plans), r.SLOT)
        self.losses = np.zeros((len(self.slots), r.LOSSES), r.LOST)
        self.links: Records = np.zeros(len(self.kept), r.LINK)
        self.flows: Records = blank(len(self.resolved.flows), r.FLOW)
        self.active = np.zeros(len(self.flows), np.int64)
        # When each sender wakes, and whether each slot has recent arrivals. Separate arrays, so
        # that a step in which few flows change reads little memory.
        self.wakes = np.zeros(len(self.flows))
        self.awake = np.zeros(len(self.slots), np.int64)
        self.some_end = any(
            getattr(x.spec, "size", None) is not None or x.spec.stop is not None
            for x in self.resolved.flows
        )
        self.shown = list(self.resolved.recorded)
        hidden = np.ones(len(self.flows), bool)
        hidden[self.shown] = False
        self.silent = np.flatnonzero(hidden)
        self.flow_bins: Records = blank_bins((self.n_bins, len(self.shown)), FLOW_BIN)
        self.sums: Records = np.zeros(len(self.silent), FLOW_BIN)
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.link_bins: Records = np.zeros((len(self.recorded), self.n_bins), LINK_BIN)

        self.layout = HeaderLayout()
        for flow in self.resolved.flows:
            self.layout.add(flow)
        self.syns: list[np.ndarray] = []  # header fields of SYNs, see _lay_out_words
        self._lay_out_senders()
        self._lay_out_routes()
        for k, index in enumerate(self.kept):
            self._lay_out_link(k, index)
        self.flows["each_bin"][self.shown] = len(self.shown)
        for bins, flows in ((self.flow_bins, self.shown), (self.sums, self.silent)):
            self.flows["bins"][flows] = address(bins) + bins.itemsize * np.arange(len(flows))
        for k, flow in enumerate(self.resolved.flows):
            if flow.controller is not None and flow.controller.header:
                self._lay_out_words(self.flows[k], flow)
        self.flows["extras"] = (self.flows["pacing_rate"] != 0) | (self.flows["n_fields"] > 0)
        self._lay_out_world()

    # ------------------------------------------------------------------------- layout

    def _lay_out_senders(self) -> None:
        """Fill settings and controllers; identical flows are copies of the first one."""
        bytes_of = self.flows.view(np.uint8).reshape(len(self.flows), -1)
        self._records = []  # keeps the records alive; rows have their addresses
        for alike in self._alike():
            first, members = self.resolved.flows[alike[0]], [self.resolved.flows[k] for k in alike]
            row = self.flows[alike[0]]
            fill_flow(row, first, [self.resolved.links[i].rate for i in first.forward])
            if first.controller is not None:
                row["pacing_rate"] = place_of(first, "pacing_rate")
            bytes_of[alike] = bytes_of[alike[0]]
            if first.controller is not None:
                self._records.append(self.controllers.fill_alike(self.flows, alike, members))
        self.flows["count"] = self.counts
        of_packets = self.flows["spacing"] / PACKET_STEPS * self.finer
        self.flows["finest"] = np.maximum(of_packets, max(self.coarse / FINER, self.first_step))

    def _alike(self) -> Iterable[list[int]]:
        """Groups of flows that differ only in their route, their name and their times."""
        alike: dict[Any, list[int]] = {}
        for k, flow in enumerate(self.resolved.flows):
            spec = flow.spec
            what: tuple[Any, ...] = (k,)
            if not isinstance(spec, CBR):
                sizes = spec.packet_size, spec.ack_size, spec.size
                rates = (self.resolved.links[i].rate for i in flow.forward)
                what = (
                    flow.controller, flow.recovery, spec.transport, *sizes, flow.hops, *rates,
                    *flow.params.values(),
                )  # fmt: skip
            alike.setdefault(what, []).append(k)
        return alike.values()

    def _lay_out_routes(self) -> None:
        """Routes, hops and slots, and the columns of all of them."""
        columns = r.FIRST_COLUMN + r.LINK_COLUMNS * np.arange(len(self.kept) + 1)
        self.links["column"] = columns[:-1]
        self.links["place"] = -1.0
        self.n_columns = int(columns[-1])
        hop = slot = 0
        for k, plan in enumerate(self.plans):
            row, n = self.routes[k], len(plan.flows)
            self.flows["route"][plan.flows], self.flows["member"][plan.flows] = k, np.arange(n)
            row["first_hop"], row["n_hops"], row["n_forward"] = hop, len(plan.links), plan.n_forward
            row["column"] = source = self._columns(n)
            row["grown"] = self._columns(n)
            self.flows["column"][plan.flows] = source + np.arange(n)
            self.flows["grown_column"][plan.flows] = row["grown"] + np.arange(n)
            row["base_rtt"] = plan.base_rtt
            for j, index in enumerate(plan.links):
                h = self.hops[hop]
                h["route"], h["link"], h["place"] = k, self.place[index], j
                h["source"], h["through"] = source, -1
                if j > 0:
                    before = self.place[plan.links[j - 1]]
                    h["through"] = columns[before] + r.ARRIVED
                    h["behind"] = before > self.place[index]
                h["column"] = source = self._columns(n)
                h["first_slot"], h["n_slots"] = slot, n
                self._lay_out_slots(self.slots[slot : slot + n], plan, j)
                self.slots["hop"][slot : slot + n] = hop
                slot += n
                hop += 1
            self.flows["back_column"][plan.flows] = source + np.arange(n)
            self.flows["last_slot"][plan.flows] = slot - n + np.arange(n) if plan.links else -1
        self.slots["losses"] = address(self.losses) + self.losses.strides[0] * np.arange(
            len(self.slots)
        )
        self._set_delays()

    def _columns(self, n: int) -> int:
        """The first of `n` new columns of the history."""
        self.n_columns += n
        return self.n_columns - n

    def _lay_out_slots(self, slots: np.ndarray, plan: Route, hop: int) -> None:
        carries_ack = hop >= plan.n_forward
        slots["flow"] = plan.flows
        slots["carries_ack"] = carries_ack
        slots["again"] = plan.links[hop] in plan.links[:hop]
        size = "ack_size" if carries_ack else "packet_size"
        slots["count"] = self.counts[plan.flows]
        slots["size"] = [getattr(self.resolved.flows[f].spec, size) for f in plan.flows]

    def _set_delays(self) -> None:
        """The fixed delays of all routes, as they are at present."""
        for row, plan in zip(self.routes, self.plans, strict=True):
            first = int(row["first_hop"])
            before = self.hops["before"][first : first + len(plan.before)]
            before[:] = plan.before
            # The path to the first link takes whole steps, and the way back takes the rest, so the
            # fluid sent arrives without interpolation.
            shift = plan.before[0] % self.coarse if plan.before else 0.0
            before[:1] -= shift
            row["after"] = plan.after + shift
            row["to_receiver"] = plan.to_receiver + (shift if plan.n_forward == 1 else 0.0)

    def set_delay(self, index: int, rate: float | None, delay: float | None) -> None:
        """Change a link's rate or delay, and with it the delays of the routes over it."""
        link = self.now_links[index]
        self.now_links[index] = link.replace(
            rate=link.rate if rate is None else rate, delay=link.delay if delay is None else delay
        )
        for plan in self.plans:
            if index in plan.links:
                flow = self.resolved.flows[plan.flows[0]]
                new = route_of(self.now_links, flow, set(self.kept))
                plan.before, plan.after = new.before, new.after
                plan.to_receiver = new.to_receiver
        self._set_delays()

    def _lay_out_link(self, k: int, index: int) -> None:
        row, link = self.links[k], self.resolved.links[index]
        fill_link(row, link)
        seed_stream(row, self.scenario.seed, f"link {link.name}: fluid losses")
        if link.record:
            row["bins"] = address(self.link_bins[self.recorded.index(index)])
        discipline = link.queue.discipline
        row["in_amounts"] = discipline.in_amounts
        if discipline.fluid_rule is not None:
            self.queues[index] = QueueMemory(
                link, discipline.fluid_rule, self.scenario.seed, self.n_bins
            )
            self.queues[index].fill(row)
            self.layout.fill_link(row, link.name, discipline)

    def _lay_out_words(self, row: Any, flow: ResolvedFlow) -> None:
        """Make columns for a flow's header fields along its route, and find their places."""
        assert flow.controller is not None
        n = self.layout.n_words
        self.layout.fill_flow(row, flow.controller)
        self.syns.append(np.zeros(n))
        row["syn_words"] = address(self.syns[-1])
        row["words"] = before = self._columns(n)
        for hop in self._route_hops(row["route"]):
            slot = self.slots[hop["first_slot"] + row["member"]]
            slot["words"] = self._columns(2 * n)
            before = slot["words"] + n
            self.links["headers"][hop["link"]] = 1
        row["words_back"] = before

    def _lay_out_world(self) -> None:
        by_link: list[int] = []
        for k in range(len(self.kept)):
            mine = np.flatnonzero(self.hops["link"] == k)
            self.links["first_hop"][k], self.links["n_hops"][k] = len(by_link), len(mine)
            by_link.extend(mine)
        owners = np.repeat(self.hops["link"], self.hops["n_slots"])
        self.links["unit"] = 1.0
        np.maximum.at(self.links["unit"], owners, self.slots["count"])
        self.by_link = np.array(by_link, dtype=np.int64)
        w = self.w[0]
        arrays = "routes", "hops", "slots", "flows", "active", "wakes", "awake", "links", "by_link"
        for name in arrays:
            w[name] = address(getattr(self, name))
        w["n_routes"], w["n_links"] = len(self.routes), len(self.links)
        w["interval"], w["n_bins"] = self.scenario.interval, self.n_bins
        w["coarse"] = w["wanted"] = w["length"] = w["step"] = self.coarse
        w["n_words"] = self.layout.n_words
        w["k"] = 1  # rows 0 and 1 are a distant time and now, with idle links
        self._set_history(np.zeros((FIRST_ROWS, self.n_columns)))
        ago = 1 + 2 * max(plan.base_rtt for plan in self.plans)
        self.history[0, r.TIME] = -ago
        self.history[0, self.links["column"] + r.ARRIVED] = -ago
        self.history[1, r.PER_STEP] = 1 / ago

    # ------------------------------------------------------------------- while running

    def run(self, until: float) -> None:
        """Advance to time `until`; the history grows as needed."""
        from tcpcc.models.automaton.kernel import call_end_step, end_step, run_until

        end_of_step = call_end_step.address(end_step)
        try:
            while self._go_on(run_until, until, end_of_step):
                pass
        except ArithmeticError as error:
            raise blame(error, float(self.w["now"][0]), self.suspects()) from None

    def suspects(self) -> Iterator[Suspect]:
        """The rules that may have raised the error."""
        flows = self.resolved.flows
        active = ((flows[k].name, flows[k].controller, self.flows[k]) for k in self._active())
        return suspects(active, self.resolved.links, self.queues)

    def steps_at_once(self) -> int:
        """Steps between two checks for Ctrl-C."""
        return max(AT_ONCE // max(int(self.w["n_active"][0]), 1), 1)

    def _go_on(self, run_until: Any, until: float, end_of_step: int) -> bool:
        """Take some steps towards `until`; returns whether there are more."""
        w = self.w[0]
        w["pause"] = w["k"] + self.steps_at_once()
        if not run_until(address(self.w), until, end_of_step):
            return False
        if w["short"]:
            self.grow()
            w["short"] = 0
        return True

    def _set_history(self, rows: np.ndarray) -> None:
        self.history = rows
        self.w["history"] = address(rows)
        self.w["mask"], self.w["columns"] = len(rows) - 1, rows.shape[1]

    def grow(self) -> None:
        """Double the history."""
        old, k = self.history, int(self.w["k"][0])
        self._set_history(np.zeros((2 * len(old), old.shape[1])))
        rows = np.arange(max(k - len(old) + 1, 0), k + 1)
        self.history[rows % len(self.history)] = old[rows % len(old)]

    def is_active(self, k: int) -> bool:
        return k in self._active()

    def _active(self) -> np.ndarray:
        return self.active[: int(self.w["n_active"][0])]

    def _list_active(self, flows: np.ndarray) -> None:
        self.active[: len(flows)] = flows
        self.w["n_active"] = len(flows)

    def _hops_of(self, k: int) -> np.ndarray:
        return self._route_hops(self.flows["route"][k])

    def _route_hops(self, number: int) -> np.ndarray:
        route = self.routes[number]
        first = int(route["first_hop"])
        return self.hops[first : first + int(route["n_hops"])]

    def activate(self, k: int) -> None:
        """Simulate flow `k` from now on."""
        route, hops = self.routes[self.flows["route"][k]], self._hops_of(k)
        if not route["active"]:
            oldest = max(int(self.w["k"][0]) - len(self.history) + 32, 0)
            route["cursor"] = oldest
            for name in ("passed", "left", "cursor"):
                hops[name] = oldest
        route["active"] += 1
        self.slots["active"][hops["first_slot"] + self.flows["member"][k]] = 1
        before = self._active()
        place = int(np.searchsorted(before, k))
        self.active[place + 1 : len(before) + 1] = before[place:].copy()
        self.active[place] = k
        self.wakes[k] = -math.inf
        self.w["n_active"] = len(before) + 1
        if self.counts[k] == 1:  # bursts of flows that stand for several are not resolved
            self.w["length"] = self.first_step / 2  # the next step may be twice as long

    def retire(self) -> None:
        """Stop simulating the finished flows with a complete last bin."""
        if not self.some_end:
            return
        flows = self._active()
        recorded = self.w["bin"][0] * self.scenario.interval
        done = flows[self.flows["finished"][flows] <= recorded]
        for k in done:
            self.routes["active"][self.flows["route"][k]] -= 1
            self.slots["active"][self._hops_of(k)["first_slot"] + self.flows["member"][k]] = 0
        if len(done):
            self._list_active(np.setdiff1d(flows, done))

    # ----------------------------------------------------------------------- results

    def result(self, cpu_seconds: float) -> Run:
        """The record of the run."""
        driver = "compiled" + (", interpreted" if INTERPRETED else "")
        record = dataset(
            self.scenario,
            self.resolved,
            self.series(),
            model="fluid",
            driver=driver,
            cpu_seconds=cpu_seconds,
        )
        return Run(record)

    def bin_ends(self) -> np.ndarray:
        """The end of each bin of the record, s."""
        ends = self.scenario.interval * np.arange(1, self.n_bins + 1)
        return np.minimum(ends, self.scenario.duration)

    def series(self) -> Series:
        """The series of the run, for the recorded flows.

        Rates and numbers of packets are those of all flows that one stands for.
        """
        from tcpcc.models.automaton.kernel import finish

        finish(address(self.w))
        edges = self.bin_ends()
        widths = np.diff(edges, prepend=0.0)[:, None]
        flow_bins, link_bins = self.flow_bins, self.link_bins.T
        counts, flows = self.counts[self.shown], self.flows[self.shown]
        active = ~(edges[:, None] > flows["finished"])
        of_flows: dict[str, np.ndarray] = {}
        for name in ("cwnd", "ssthresh", "rtt"):
            of_flows[name] = np.where(active, flow_bins[name], np.nan)
        for name in AMOUNTS:
            so_far = np.maximum.accumulate(flow_bins[name], axis=0)
            of_flows[name] = np.diff(so_far, axis=0, prepend=0.0) * counts
        links = LinkSeries(
            queue=link_bins["waiting"] / widths,
            busy=link_bins["busy"] / widths,
            **{name: link_bins[name] for name in ("queue_max", "arrived", "drops", "sent_bits")},
            states=recorded_states(self.resolved.links, self.queues, slice(0, self.n_bins)),
        )
        return Series(
            edges,
            FlowSeries(
                timeouts=flows["timeouts"] * counts,
                loss_events=flows["loss_events"] * counts,
                finished=flows["finished"],
                **of_flows,
            ),
            links,
            totals=self._totals() if len(self.silent) else None,
        )

    def _totals(self) -> dict[str, np.ndarray]:
        """The totals of each flow, recorded or not, by `recording.TOTALS`."""
        totals = {k: self.flows[k] * self.counts for k in ("timeouts", "loss_events")}
        counts = self.counts[self.shown]
        for name in ("sent", "retransmitted", "delivered"):
            totals[name] = np.zeros(len(self.flows))
            totals[name][self.shown] = self.flow_bins[name].max(axis=0) * counts
            totals[name][self.silent] = self.sums[name] * self.counts[self.silent]
        return totals | {"finished": self.flows["finished"].copy()}
