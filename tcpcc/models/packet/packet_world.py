"""A world: a resolved scenario laid out in records, with room that grows as it is needed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import INTERPRETED, address
from tcpcc.engine.machine import memory_left
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.models.bins import FLOW_BIN, LINK_BIN
from tcpcc.models.blame import RuleError, blame, suspects
from tcpcc.models.controller_memory import ControllerMemory, record_of
from tcpcc.models.packet import packet_records as r
from tcpcc.models.queue_memory import QueueMemory, recorded_states
from tcpcc.results import Run
from tcpcc.results.recording import EVENT_DTYPE, dataset
from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedChange, ResolvedFlow

_ENDLESS = 2**62
_SMALLEST_TICK = 1e-9  # what a tick of 0, no rounding, comes to


class World:
    """The memory of one run of the packet model.

    Arrays are owned here; the compiled handlers see their addresses in the records. `grow` is
    called by a driver whenever a handler has asked for room (``w.need``).
    """

    def __init__(self, scenario: Scenario, trace: bool = False) -> None:
        self.scenario = scenario
        self.resolved: Resolved = scenario.resolve()
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.states: dict[int, np.ndarray] = {}  # of the controllers, by flow
        self.controllers = ControllerMemory()
        self.rings: dict[tuple[str, int], np.ndarray] = {}
        self.queues: dict[int, QueueMemory] = {}  # of links with a discipline, by link
        self.by_hand: list[ResolvedChange] = []

        self.w = record_of(r.WORLD)
        self.links = np.zeros(len(self.resolved.links), r.LINK)
        self.flows = np.zeros(len(self.resolved.flows), t.FLOW)
        self.flow_bins = np.zeros((len(self.flows), self.n_bins), FLOW_BIN)
        for name in ("cwnd", "ssthresh", "rtt"):
            self.flow_bins[name] = np.nan
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.link_bins = np.zeros((len(self.recorded), self.n_bins), LINK_BIN)
        self.outbox = np.zeros(t.OUTBOX_SIZE, t.OUT)
        self.trace = np.zeros(4096 if trace else 0, r.TRACE)
        self.heap = np.zeros(4 * len(self.flows) + len(self.links) + 2 * r.MARGIN, r.EVENT)

        self._lay_out_paths()
        for i, link in enumerate(self.resolved.links):
            self._lay_out_link(i, link)
        for i, flow in enumerate(self.resolved.flows):
            self._lay_out_flow(i, flow)
        self._lay_out_world()
        self._schedule_beginning()

    # ------------------------------------------------------------------------- layout

    def _place(self, owner: np.ndarray, field: str, i: int, ring: np.ndarray) -> None:
        """Make `ring` the one behind `field` of row `i`."""
        self.rings[field, i] = ring
        owner[field][i] = address(ring)
        owner[f"{field.rstrip('s')}_mask"][i] = len(ring) - 1

    def _lay_out_paths(self) -> None:
        """Hops of all flows, and where a packet may go on without an event.

        That is so when a link's only feeder is the link before it (or a flow's own sender or
        receiver), neither changes during the run, and, for a receiver, no timer holds ACKs back.
        A discipline that decides at arrival learns what is so at that time, so it waits for it.
        """
        feeders: dict[int, set[Any]] = {}
        for number, flow in enumerate(self.resolved.flows):
            for end, way in (("sender", flow.forward), ("receiver", flow.reverse)):
                before: Any = (end, number)
                for link in way:
                    feeders.setdefault(link, set()).add(before)
                    before = link
        variable = [link.variable for link in self.resolved.links]
        decides = [link.queue.discipline.on_arrival is not None for link in self.resolved.links]

        def joins(link: int, following: int) -> bool:
            alone = len(feeders[following]) == 1 and not decides[following]
            return alone and not variable[link] and not variable[following]

        rows: list[tuple[int, int, bool]] = []
        for number, flow in enumerate(self.resolved.flows):
            self.flows["path"][number] = len(rows)
            self.flows["n_forward"][number] = len(flow.forward)
            self.flows["n_hops"][number] = len(flow.forward) + len(flow.reverse)
            holds = not isinstance(flow.spec, CBR) and flow.spec.transport.delayed_ack > 0
            passed: set[int] = set()
            for way, last in ((flow.forward, r.RECEIVER), (flow.reverse, r.BY_EVENT)):
                for k, link in enumerate(way):
                    if k + 1 < len(way):
                        then = r.NEXT_LINK if joins(link, way[k + 1]) else r.BY_EVENT
                    elif last == r.RECEIVER and (holds or not self._ack_may_leave(flow, feeders)):
                        then = r.BY_EVENT
                    else:
                        then = r.BY_EVENT if variable[link] else last
                    rows.append((link, then, link in passed))
                    passed.add(link)
        self.hops = np.array(rows, r.HOP)
        self.by_event = {link for link, then, _ in rows if then == r.BY_EVENT}

    def _ack_may_leave(self, flow: ResolvedFlow, feeders: dict[int, set[Any]]) -> bool:
        """Whether the receiver's first link is its own, so that an ACK may go onto it early."""
        if not flow.reverse:
            return True
        first = flow.reverse[0]
        link = self.resolved.links[first]
        decides = link.queue.discipline.on_arrival is not None
        return len(feeders[first]) == 1 and not link.variable and not decides

    def _lay_out_link(self, i: int, link: Link) -> None:
        row = self.links[i]
        row["rate"], row["delay"] = link.rate, link.delay
        row["limit"], row["in_bytes"] = link.buffer, link.buffer_unit == "bytes"
        row["loss"] = link.loss
        row["changing"] = link.variable
        row["busy_until"] = -1.0
        row["recorded"] = bool(link.record)
        seed_stream(row, self.scenario.seed, f"link {link.name}: random loss")
        discipline = link.queue.discipline
        row["tracked"] = bool(
            link.record
            or link.variable
            or link.loss > 0
            or math.isfinite(link.buffer)
            or discipline.on_arrival is not None
        )
        if row["tracked"]:
            self._place(self.links, "queue", i, np.zeros(r.FIRST_RING, r.QUEUED))
        if i in self.by_event:
            self._place(self.links, "flight", i, np.zeros(r.FIRST_RING, r.PACKET))
        if link.record:
            row["bins"] = (
                address(self.link_bins) + self.recorded.index(i) * (self.link_bins.strides[0])
            )
        if discipline.on_arrival is not None:
            self.queues[i] = QueueMemory(
                link, discipline.on_arrival, self.scenario.seed, self.n_bins
            )
            self.queues[i].fill(row)

    def _lay_out_flow(self, i: int, flow: ResolvedFlow) -> None:
        row = self.flows[i]
        spec = flow.spec
        row["index"] = i
        row["bins"] = address(self.flow_bins) + i * self.flow_bins.strides[0]
        row["size"] = spec.packet_size
        row["start"] = spec.start
        row["stop"] = math.inf if spec.stop is None else spec.stop
        row["outbox"] = address(self.outbox)
        row["timer_at"] = row["deadline"] = math.inf
        row["held_until"] = math.inf
        row["finished"] = math.nan
        if isinstance(spec, CBR):
            row["kind"] = t.CBR
            row["interval"] = 8 * spec.packet_size / spec.rate
            row["max_seq"] = -1
            return
        row["kind"] = t.TCP
        self._place(self.flows, "segments", i, np.zeros(r.FIRST_RING, t.SEGMENT))
        self._lay_out_transport(row, flow)
        self.states[i] = self.controllers.fill(row, flow, i)

    def _lay_out_transport(self, row: Any, flow: ResolvedFlow) -> None:
        spec, settings = flow.spec, flow.spec.transport  # type: ignore[union-attr]
        assert not isinstance(spec, CBR)
        for name in (
            "initial_window", "handshake", "rwnd", "abc_limit", "dupack_threshold",
            "limited_transmit", "max_burst", "timestamps", "initial_rto", "min_rto", "max_rto",
            "clock_phase", "backoff_limit", "delayed_ack", "ack_every",
        ):  # fmt: skip
            row[name] = getattr(settings, name)
        row["tick"] = settings.tick or _SMALLEST_TICK
        row["ack_size"] = row["syn_size"] = spec.ack_size
        row["limit"] = _ENDLESS if spec.size is None else spec.size + int(settings.handshake)
        recovery = RECOVERIES[flow.recovery]
        row["family"] = recovery.family
        row["go_back"], row["stay"] = recovery.go_back, recovery.stay
        row["impatient"] = recovery.impatient
        row["stale_rounds"] = recovery.stale_rounds
        row["proportional"] = recovery.proportional
        row["deflate"] = settings.partial_deflation
        row["recovery_burst"] = recovery.burst

    def _lay_out_world(self) -> None:
        w = self.w[0]
        w["pending"], w["pause"] = -1, _ENDLESS
        w["n_flows"], w["n_links"] = len(self.flows), len(self.links)
        w["duration"], w["interval"] = self.scenario.duration, self.scenario.interval
        w["per_second"] = 1 / self.scenario.interval
        w["n_bins"] = self.n_bins
        w["flows"], w["links"] = address(self.flows), address(self.links)
        w["hops"] = address(self.hops)
        w["heap"], w["heap_room"] = address(self.heap), len(self.heap)
        w["trace"], w["trace_room"] = address(self.trace), len(self.trace)
        self.changes = np.zeros(max(len(self.resolved.changes), 1), r.CHANGES)
        w["changes"] = address(self.changes)
        self.n_changes = 0

    def _schedule_beginning(self) -> None:
        """Starts, stops, on-times and changes, in that order where times are equal."""
        for i, flow in enumerate(self.resolved.flows):
            spec = flow.spec
            if isinstance(spec, CBR):
                for begin, end in spec.on:
                    self.schedule(begin, r.FLOW_START, i)
                    if end is not None and math.isfinite(end):
                        self.schedule(end, r.FLOW_STOP, i)
            else:
                self.schedule(spec.start, r.FLOW_START, i)
                if spec.stop is not None:
                    self.schedule(spec.stop, r.FLOW_STOP, i)
        for change in self.resolved.changes:
            for values in self._change_rows(change):
                self.schedule(change.spec.at, r.CHANGE, self.add_change(**values))

    def _change_rows(self, change: ResolvedChange) -> list[dict[str, Any]]:
        """One row for the link itself, one for each parameter of its queue."""
        spec, link = change.spec, change.link
        rows = [
            {
                "link": link,
                "rate": spec.rate, "delay": spec.delay, "limit": spec.buffer, "loss": spec.loss,
            }
        ]  # fmt: skip
        names = list(self.resolved.links[link].queue.discipline.params)
        for name, value in dict(spec.queue).items():
            place = int(self.links["params"][link]) + 8 * names.index(name)
            rows.append({"link": link, "param": place, "value": value})
        return rows

    # ------------------------------------------------------------------- while running

    def schedule(self, time: float, kind: Any, ident: int) -> None:
        """Put an event on the agenda."""
        from tcpcc.models.packet.handlers import schedule_from_outside

        self.make_heap_room()
        schedule_from_outside(address(self.w), float(time), kind, ident)

    def change_now(self, change: ResolvedChange) -> None:
        """Put a change that the scenario does not have on the agenda, for its time."""
        self.by_hand.append(change)
        for values in self._change_rows(change):
            self.schedule(change.spec.at, r.CHANGE, self.add_change(**values))

    def add_change(self, **values: Any) -> int:
        """Write down a change of a link; returns its row."""
        row = self.n_changes
        self.n_changes += 1
        if row >= len(self.changes):
            self.changes = np.concatenate([self.changes, np.zeros_like(self.changes)])
            self.w["changes"] = address(self.changes)
        blank = {"link": 0, "param": 0, "value": 0.0}
        for name in r.CHANGES.names or ():
            value = values.get(name, blank.get(name))
            self.changes[name][row] = math.nan if value is None else value
        return row

    def make_heap_room(self) -> None:
        if self.w["heap_size"][0] + 2 * r.MARGIN > len(self.heap):
            self.heap = np.concatenate([self.heap, np.zeros_like(self.heap)])
            self.w["heap"], self.w["heap_room"] = address(self.heap), len(self.heap)

    def grow(self) -> None:
        """Double what is short of room: rings, the agenda, the trace."""
        w = self.w[0]
        for kind in ("queue", "flight"):
            first, last = self.links[f"{kind}_head"], self.links[f"{kind}_tail"]
            room = self.links[f"{kind}_mask"] + 1
            for i in np.flatnonzero((room > 1) & (last - first + r.MARGIN >= room)):
                self._enlarge(self.links, kind, int(i), int(first[i]), int(last[i]))
        first = self.flows["high_ack"] - 1
        last = np.maximum(self.flows["max_seq"], self.flows["next_seq"]) + 1
        room = self.flows["segment_mask"] + 1
        for i in np.flatnonzero((room > 1) & (last - first + r.MARGIN >= room)):
            self._enlarge(self.flows, "segments", int(i), int(first[i]), int(last[i]))
        self.make_heap_room()
        if len(self.trace) and w["trace_count"] + 4 * r.MARGIN > len(self.trace):
            self.trace = np.concatenate([self.trace, np.zeros_like(self.trace)])
            w["trace"], w["trace_room"] = address(self.trace), len(self.trace)
        w["need"] = 0

    def _check_window(self, i: int) -> None:
        """Refuse a window whose packets the machine has no memory to keep."""
        f = self.flows[i]
        window = min(float(self.states[i]["cwnd"][0]), float(f["rwnd"]), float(f["limit"]))
        needed = window * t.SEGMENT.itemsize
        if needed > memory_left():
            flow = self.resolved.flows[i]
            controller = flow.controller.name if flow.controller else ""
            raise TcpccError(
                f"flow {flow.name!r}, controller {controller!r}: its window at"
                f" t = {self.w['now'][0]:g} s is {window:.3g} packets, which take"
                f" {needed / 2**30:.3g} GiB; {memory_left() / 2**30:.3g} GiB are free"
            )

    def _enlarge(self, owner: np.ndarray, field: str, i: int, first: int, last: int) -> None:
        """Give a ring twice the room, with its entries numbered `first` to `last` - 1."""
        ring = self.rings[field, i]
        if field == "segments":
            self._check_window(i)
        bigger = np.zeros(2 * len(ring), ring.dtype)
        numbers = np.arange(max(first, last - len(ring)), last)
        bigger[numbers % len(bigger)] = ring[numbers % len(ring)]
        self._place(owner, field, i, bigger)

    @property
    def address(self) -> int:
        return address(self.w)

    # ----------------------------------------------------------------------- results

    def explain(self, error: ArithmeticError) -> RuleError:
        """An error in a rule, with the rule, its line and what it worked on."""
        flow = int(self.w["flow"][0])
        rules = suspects(self.resolved, [flow], self.controllers, self.queues)
        return blame(error, float(self.w["now"][0]), rules)

    def result(self, driver: str, cpu_seconds: float, until: float = math.inf) -> Run:
        """The record of the run, or of its part up to `until`: the bins that have ended by then.

        Raises:
            ScenarioError: none has.
        """
        from tcpcc.models.packet.handlers import flush

        flush(self.address, until)
        interval = self.scenario.interval
        edges = np.minimum(interval * np.arange(1, self.n_bins + 1), self.scenario.duration)
        edges = edges[: np.searchsorted(edges, until + 1e-9 * interval, side="right")]
        if not len(edges):
            raise ScenarioError(
                f"result at t = {until:g} s: the first bin of the record ends at {interval:g} s"
            )
        n = len(edges)
        widths = np.diff(edges, prepend=0.0)[:, None]
        flow_bins, link_bins = self.flow_bins.T[:n], self.link_bins.T[:n]
        active = ~(edges[:, None] > self.flows["finished"])
        events = None
        if len(self.trace):
            events = np.zeros(int(self.w["trace_count"][0]), EVENT_DTYPE)
            for name in EVENT_DTYPE.names or ():
                events[name] = self.trace[name][: len(events)]
            # what links do is known early (see network.py): sort it in, before what it causes
            at_sender = events["event"] < r.DELIVER
            events = events[np.lexsort((at_sender, events["flow"], events["time"]))]
            events = events[events["time"] <= edges[-1]]
        changes = sorted([*self.resolved.changes, *self.by_hand], key=lambda c: c.spec.at)
        series: dict[str, Any] = {
            name: np.where(active, flow_bins[name], np.nan) for name in ("cwnd", "ssthresh", "rtt")
        }
        for name in ("sent", "retransmitted", "delivered", "dropped"):
            series[name] = flow_bins[name]
        for name in ("queue_max", "arrived", "drops", "sent_bits"):
            series[name] = link_bins[name]
        record = dataset(
            self.scenario,
            replace(self.resolved, changes=tuple(changes)),
            model="packet",
            driver=driver + (", interpreted" if INTERPRETED else ""),
            time=edges,
            queue=link_bins["waiting"] / widths,
            busy=link_bins["busy"] / widths,
            timeouts=self.flows["timeouts"],
            loss_events=self.flows["loss_events"],
            finished=self.flows["finished"],
            queue_states={
                name: values[:n]
                for name, values in recorded_states(
                    self.resolved.links, self.queues, self.n_bins
                ).items()
            },
            cpu_seconds=cpu_seconds,
            **series,
        )
        record.attrs["duration"] = float(edges[-1])
        return Run(record, events)
