"""A world: a resolved scenario laid out in records, with room that grows as it is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import INTERPRETED, address
from tcpcc.engine.streams import seed_stream
from tcpcc.models.bins import FLOW_BIN, LINK_BIN
from tcpcc.models.controller_memory import ControllerMemory, record_of
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.conversation_memory import ConversationMemory
from tcpcc.models.packet.recovery_memory import RecoveryMemory
from tcpcc.models.packet.trace_memory import TraceMemory
from tcpcc.models.queue_memory import QueueMemory, recorded_states
from tcpcc.results import Run
from tcpcc.results.recording import dataset
from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t
from tcpcc.transport.ecn import CHOICES
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedChange, ResolvedFlow

_ENDLESS = 2**62
_SMALLEST_TICK = 1e-9  # what a tick of 0, no rounding, comes to


def uses_headers(spec: Any) -> bool:
    """Whether the packets of a flow carry a header."""
    return not isinstance(spec, CBR) and spec.transport.ecn != "off"


class World:
    """The memory of one run of the packet model.

    Arrays are owned here; the compiled handlers see their addresses in the records. `grow` is
    called by a driver whenever a handler has asked for room (``w.need``).

    Args:
        scenario: what to run.
        trace: keep every event of every flow, or of those named.
        shared: addresses of the records of the links that are shared with fluid, by link.
    """

    def __init__(
        self,
        scenario: Scenario,
        trace: bool | Selection = False,
        shared: Mapping[int, int] | None = None,
    ) -> None:
        self.scenario = scenario
        self.shared = shared or {}
        self.resolved: Resolved = scenario.resolve()
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.states: dict[int, np.ndarray] = {}  # of the controllers, by flow
        self.controllers = ControllerMemory()
        self.recoveries: dict[int, RecoveryMemory] = {}  # by flow
        self.rings: dict[tuple[str, int], np.ndarray] = {}
        self.queues: dict[int, QueueMemory] = {}  # of links with a discipline, by link
        self.by_hand: list[ResolvedChange] = []

        self.w = record_of(r.WORLD)
        self.links = np.zeros(len(self.resolved.links), r.LINK)
        self.flows = np.zeros(len(self.resolved.flows), r.FLOW)
        self.tcp = np.zeros(len(self.flows), t.FLOW)
        self.cbr = np.zeros(len(self.flows), r.CBR)
        self.flow_bins = np.zeros((len(self.resolved.rows), self.n_bins), FLOW_BIN)
        for name in ("cwnd", "ssthresh", "rtt"):
            self.flow_bins[name] = np.nan
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.link_bins = np.zeros((len(self.recorded), self.n_bins), LINK_BIN)
        self.outbox = np.zeros(t.OUTBOX_SIZE, t.OUT)
        self.trace = TraceMemory(self.w, self.resolved, trace)
        self.conversations: ConversationMemory | None = None  # of the workloads
        self.heap = np.zeros(4 * len(self.resolved.rows) + len(self.links) + 2 * r.MARGIN, r.EVENT)

        self._lay_out_paths()
        for i, link in enumerate(self.resolved.links):
            self._lay_out_link(i, link)
        for i, flow in enumerate(self.resolved.flows):
            self._lay_out_flow(i, flow)
        if self.resolved.workloads:
            self.conversations = ConversationMemory(self)
        self._lay_out_world()
        self._schedule_beginning()

    # ------------------------------------------------------------------------- layout

    def place_ring(self, owner: np.ndarray, field: str, i: int, ring: np.ndarray) -> None:
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
        for number, flow in self._paths():
            for end, way in (("sender", flow.forward), ("receiver", flow.reverse)):
                before: Any = (end, number)
                for link in way:
                    feeders.setdefault(link, set()).add(before)
                    before = link
        variable = [link.variable for link in self.resolved.links]
        decides = [self._decides(i) for i in range(len(self.resolved.links))]

        def joins(link: int, following: int) -> bool:
            alone = len(feeders[following]) == 1 and not decides[following]
            return alone and not variable[link] and not variable[following]

        rows: list[tuple[int, int, bool]] = []
        self.path_of: list[int] = []  # each path's first hop
        for _, flow in self._paths():
            self.path_of.append(len(rows))
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
        for number, flow in enumerate(self.resolved.flows):
            self.lay_out_path(self.flows[number : number + 1], number, flow)
        self.by_event = {link for link, then, _ in rows if then == r.BY_EVENT}

    def _decides(self, link: int) -> bool:
        """Whether what becomes of a packet hangs on what is so when it arrives."""
        discipline = self.resolved.links[link].queue.discipline
        return discipline.on_arrival is not None or link in self.shared

    def _paths(self) -> Iterator[tuple[int, ResolvedFlow]]:
        """Numbered ways through the network: the flows', and one for each workload.

        A workload's connections come from one host and go to one other: their packets reach the
        first link, and their ACKs the first one back, in the order in which they are handled.
        """
        yield from enumerate(self.resolved.flows)
        loads = enumerate(self.resolved.workloads, len(self.resolved.flows))
        yield from ((number, load.kinds[0]) for number, load in loads)

    def lay_out_path(self, row: Any, path: int, flow: ResolvedFlow) -> None:
        row["path"] = self.path_of[path]
        row["n_forward"] = len(flow.forward)
        row["n_hops"] = len(flow.forward) + len(flow.reverse)

    def _ack_may_leave(self, flow: ResolvedFlow, feeders: dict[int, set[Any]]) -> bool:
        """Whether the receiver's first link is its own, so that an ACK may go onto it early."""
        if not flow.reverse:
            return True
        first = flow.reverse[0]
        link = self.resolved.links[first]
        alone = len(feeders[first]) == 1
        return alone and not link.variable and not self._decides(first)

    def _lay_out_link(self, i: int, link: Link) -> None:
        row = self.links[i]
        row["rate"], row["delay"] = link.rate, link.delay
        row["capacity"], row["in_bytes"] = link.buffer, link.buffer_unit == "bytes"
        row["loss"] = link.loss
        row["busy_until"] = -1.0
        row["recorded"] = bool(link.record)
        seed_stream(row, self.scenario.seed, f"link {link.name}: random loss")
        discipline = link.queue.discipline
        if i in self.shared:
            self._share(i)
            return
        row["tracked"] = bool(
            link.record
            or link.variable
            or link.loss > 0
            or math.isfinite(link.buffer)
            or discipline.on_arrival is not None
        )
        if row["tracked"]:
            self.place_ring(self.links, "queue", i, np.zeros(r.FIRST_RING, r.QUEUED))
        if i in self.by_event:
            self.place_ring(self.links, "flight", i, np.zeros(r.FIRST_RING, r.PACKET))
        if link.record:
            row["bins"] = (
                address(self.link_bins) + self.recorded.index(i) * (self.link_bins.strides[0])
            )
        if discipline.on_arrival is not None:
            self.queues[i] = QueueMemory(
                link, discipline.on_arrival, self.scenario.seed, self.n_bins
            )
            self.queues[i].fill(row)

    def _share(self, i: int) -> None:
        """Link `i` has its queue elsewhere."""
        row = self.links[i]
        row["tracked"], row["recorded"], row["shared"] = True, False, self.shared[i]
        if i in self.by_event:
            self.place_ring(self.links, "flight", i, np.zeros(r.FIRST_RING, r.PACKET))

    def _lay_out_flow(self, i: int, flow: ResolvedFlow) -> None:
        row, tcp = self.flows[i : i + 1], self.tcp[i : i + 1]
        row["index"] = row["ident"] = i
        self.lay_out_sender(row, tcp, i, flow)
        if isinstance(flow.spec, CBR):
            self.cbr["interval"][i] = 8 * flow.spec.packet_size / flow.spec.rate
            return
        self.place_ring(self.tcp, "segments", i, np.zeros(r.FIRST_RING, t.SEGMENT))
        self.states[i] = self.controllers.fill(tcp, flow)
        self.recoveries[i] = RecoveryMemory(RECOVERIES[flow.recovery])
        self.recoveries[i].fill(tcp)

    def lay_out_sender(self, row: Any, tcp: Any, i: int, flow: ResolvedFlow) -> None:
        """Write a flow's settings into its records; what it adds up goes to row `i` of the bins."""
        spec = flow.spec
        self.trace.mark(row, i, flow)
        row["bins"] = address(self.flow_bins) + i * self.flow_bins.strides[0]
        row["size"] = spec.packet_size
        row["timer_at"] = math.inf
        tcp["finished"] = math.nan
        if isinstance(spec, CBR):
            row["kind"] = t.CBR
            return
        row["kind"] = t.TCP
        row["has_header"] = uses_headers(spec)
        row["ack_size"], row["handshake"] = spec.ack_size, spec.transport.handshake
        self._lay_out_transport(tcp, flow)

    def _lay_out_transport(self, row: Any, flow: ResolvedFlow) -> None:
        spec, settings = flow.spec, flow.spec.transport  # type: ignore[union-attr]
        assert not isinstance(spec, CBR)
        for name in (
            "initial_window", "handshake", "delay_growth", "rwnd", "window_validation", "abc_limit",
            "dupack_threshold",
            "limited_transmit", "max_burst", "timestamps", "initial_rto", "min_rto", "max_rto",
            "clock_phase", "coarse_timer", "backoff_limit", "delayed_ack", "ack_every",
            "syn_rtt", "idle_restart",
        ):  # fmt: skip
            row[name] = getattr(settings, name)
        row["tick"] = settings.tick or _SMALLEST_TICK
        row["ecn"] = CHOICES[settings.ecn]
        row["deflate"] = settings.partial_deflation
        row["to_send"] = _ENDLESS if spec.size is None else spec.size + int(settings.handshake)
        row["deadline"] = row["held_until"] = math.inf
        row["outbox"] = address(self.outbox)

    def _lay_out_world(self) -> None:
        w = self.w[0]
        w["pending"] = -1
        w["n_flows"], w["n_rows"] = len(self.resolved.flows), len(self.resolved.rows)
        w["duration"], w["interval"] = self.scenario.duration, self.scenario.interval
        w["per_second"] = 1 / self.scenario.interval
        w["n_bins"] = self.n_bins
        for name in ("flows", "tcp", "cbr", "links"):
            w[name] = address(getattr(self, name))
        w["hops"] = address(self.hops)
        w["heap"], w["heap_room"] = address(self.heap), len(self.heap)
        self.changes = np.zeros(max(len(self.resolved.changes), 1), r.CHANGES)
        w["changes"] = address(self.changes)
        self.n_changes = 0
        self._lay_out_headers()

    def _lay_out_headers(self) -> None:
        """Places for headers, if any packets have one; number 0 stands for none."""
        any_used = any(uses_headers(flow.spec) for flow in self.resolved.rows)
        self.headers = np.zeros(r.FIRST_HEADERS if any_used else 1, r.HEADER)
        self._put_headers(np.arange(1, len(self.headers)))

    def _put_headers(self, spare: np.ndarray) -> None:
        """Tell the handlers where headers are, and the numbers of places that are free."""
        w = self.w[0]
        self._spare_headers = np.zeros(len(self.headers), np.int64)
        self._spare_headers[: len(spare)] = spare
        w["headers"], w["spare_headers"] = address(self.headers), address(self._spare_headers)
        w["n_spare_headers"] = len(spare)

    def _grow_headers(self) -> None:
        """Double the places for headers if few are free."""
        free, room = int(self.w["n_spare_headers"][0]), len(self.headers)
        if room > 1 and free < 2 * r.MARGIN:
            self.headers = np.concatenate([self.headers, np.zeros_like(self.headers)])
            spare = self._spare_headers[:free]
            self._put_headers(np.concatenate([spare, np.arange(room, 2 * room)]))

    def _schedule_beginning(self) -> None:
        """Queues' timers, starts, stops, on-times and changes, in that order where times are
        equal."""
        for i, queue in self.queues.items():
            if queue.has_timer:
                self.schedule(0.0, r.QUEUE_TIMER, i)
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
        if self.conversations is not None:
            self.conversations.schedule_first()
        for change in self.resolved.changes:
            for values in self._change_rows(change):
                self.schedule(change.spec.at, r.CHANGE, self.add_change(**values))

    def _change_rows(self, change: ResolvedChange) -> list[dict[str, Any]]:
        """One row for the link itself, one for each parameter of its queue."""
        spec, link = change.spec, change.link
        rows = [
            {
                "link": link,
                "rate": spec.rate, "delay": spec.delay, "capacity": spec.buffer, "loss": spec.loss,
            }
        ]  # fmt: skip
        if link in self.shared:  # its queue is not here
            return rows
        names = list(self.resolved.links[link].queue.discipline.params)
        for name, value in dict(spec.queue).items():
            place = int(self.links["params"][link]) + 8 * names.index(name)
            rows.append({"link": link, "param": place, "value": value})
        return rows

    # ------------------------------------------------------------------- while running

    def schedule(self, time: float, kind: Any, ident: int) -> None:
        """Put an event on the event list."""
        from tcpcc.models.packet.handlers import schedule_from_outside

        self.make_heap_room()
        schedule_from_outside(address(self.w), float(time), kind, ident)

    def change_now(self, change: ResolvedChange) -> None:
        """Put a change that the scenario does not have on the event list, for its time."""
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
        """Double what is short of room: rings, the event list, the trace."""
        w = self.w[0]
        for kind in ("queue", "flight"):
            first, last = self.links[f"{kind}_head"], self.links[f"{kind}_tail"]
            room = self.links[f"{kind}_mask"] + 1
            for i in np.flatnonzero((room > 1) & (last - first + r.MARGIN >= room)):
                self._enlarge(self.links, kind, int(i), int(first[i]), int(last[i]))
        first = self.tcp["high_ack"] - 1
        last = np.maximum(self.tcp["max_seq"], self.tcp["next_seq"]) + 1
        room = self.tcp["segment_mask"] + 1
        for i in np.flatnonzero((room > 1) & (last - first + r.MARGIN >= room)):
            self._enlarge(self.tcp, "segments", int(i), int(first[i]), int(last[i]))
        self.make_heap_room()
        self._grow_headers()
        self.trace.grow()
        if self.conversations is not None:
            self.conversations.grow()
        w["need"] = 0

    def _enlarge(self, owner: np.ndarray, field: str, i: int, first: int, last: int) -> None:
        """Give a ring twice the room, with its entries numbered `first` to `last` - 1."""
        ring = self.rings[field, i]
        bigger = np.zeros(2 * len(ring), ring.dtype)
        numbers = np.arange(max(first, last - len(ring)), last)
        bigger[numbers % len(bigger)] = ring[numbers % len(ring)]
        self.place_ring(owner, field, i, bigger)

    @property
    def address(self) -> int:
        return address(self.w)

    # ----------------------------------------------------------------------- results

    def explain(self, error: Exception) -> None:
        """Add to an error in a rule where it happened."""
        place = int(self.w["flow"][0])
        if self.conversations is not None and place >= len(self.resolved.flows):
            name = self.conversations.name_at(place)
        else:
            name = self.resolved.flows[place].name
        error.add_note(f"in a rule, at t = {self.w['now'][0]:g} s, flow {name!r}")

    def _counter(self, name: str) -> np.ndarray:
        """A counter of every flow and, summed, of every kind of conversation."""
        counts = self.tcp[name][: len(self.resolved.flows)]
        if self.conversations is None:
            return counts
        return np.concatenate([counts, self.conversations.counters(name)])

    def result(self, driver: str, cpu_seconds: float, until: float = math.inf) -> Run:
        """The record of the run, or of its part up to `until`."""
        series = self.series(until)
        changes = sorted([*self.resolved.changes, *self.by_hand], key=lambda c: c.spec.at)
        record = dataset(
            self.scenario,
            replace(self.resolved, changes=tuple(changes)),
            model="packet",
            driver=driver + (", interpreted" if INTERPRETED else ""),
            cpu_seconds=cpu_seconds,
            **series,
        )
        return Run(record, self.trace.events(self.scenario.duration))

    def series(self, until: float = math.inf) -> dict[str, Any]:
        """What a record of the run, or of its part up to `until`, holds."""
        from tcpcc.models.packet.handlers import flush

        flush(self.address, until)
        interval = self.scenario.interval
        edges = np.minimum(interval * np.arange(1, self.n_bins + 1), self.scenario.duration)
        widths = np.diff(edges, prepend=0.0)[:, None]
        flow_bins, link_bins = self.flow_bins.T, self.link_bins.T
        finished = np.full(len(self.resolved.rows), math.nan)
        finished[: len(self.resolved.flows)] = self.tcp["finished"][: len(self.resolved.flows)]
        active = ~(edges[:, None] > finished)
        series: dict[str, Any] = {
            name: np.where(active, flow_bins[name], np.nan) for name in ("cwnd", "ssthresh", "rtt")
        }
        for name in ("sent", "retransmitted", "delivered", "dropped"):
            series[name] = flow_bins[name]
        for name in ("queue_max", "arrived", "drops", "sent_bits"):
            series[name] = link_bins[name]
        return series | {
            "time": edges,
            "queue": link_bins["waiting"] / widths,
            "busy": link_bins["busy"] / widths,
            "timeouts": self._counter("timeouts"),
            "loss_events": self._counter("loss_events"),
            "finished": finished,
            "items": None if self.conversations is None else self.conversations.record(),
            "marks": link_bins["marks"] if len(self.headers) > 1 else None,
            "queue_states": recorded_states(self.resolved.links, self.queues, self.n_bins),
        }
