"""A world: a resolved scenario laid out in records, with room that grows as it is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, longer, record_view
from tcpcc.engine.memory import memory_left
from tcpcc.engine.scratch import Scratch
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import TcpccError
from tcpcc.models.bins import FLOW_BIN, LINK_BIN, blank_bins
from tcpcc.models.blame import RuleError, Suspect, blame, suspects
from tcpcc.models.controller_memory import ControllerMemory, header_places, record_of
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.conversation_memory import ConversationMemory
from tcpcc.models.packet.delivery_memory import delivery_memory
from tcpcc.models.packet.recovery_memory import RecoveryMemory
from tcpcc.models.packet.trace_memory import TraceMemory
from tcpcc.models.queue_memory import QueueMemory
from tcpcc.scenario.traffic import CBR
from tcpcc.transport import flow_record as t
from tcpcc.transport.ecn import CHOICES

if TYPE_CHECKING:
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedChange, ResolvedFlow

_ENDLESS = 2**62
_SMALLEST_TICK = 1e-9  # what a tick of 0, no rounding, comes to
_UNASKED = 2**24  # bytes for which the machine is not asked whether it has them: that takes a while


def uses_headers(flow: ResolvedFlow) -> bool:
    """Whether the packets of a flow carry a header."""
    if isinstance(flow.spec, CBR) or flow.controller is None:
        return False
    return flow.spec.transport.ecn != "off" or bool(flow.controller.header)


def _stages(resolved: Resolved) -> dict[int, int]:
    """For each link that has one at some time, the row of the stage that its packets pass after
    it."""
    later = {change.link for change in resolved.changes if change.spec.jitter is not None}
    followed = [i for i, link in enumerate(resolved.links) if link.has_stage or i in later]
    return {i: len(resolved.links) + k for k, i in enumerate(followed)}


class World:
    """The memory of one run of the packet model.

    Arrays are owned here; the compiled handlers see their addresses in the records. `grow` is
    called by a driver whenever a handler has asked for room (``w.need``).

    Args:
        scenario: what to run.
        trace: keep every event of every flow, or of those named.
        shared: addresses of the records of the links that are shared with fluid, by link.
        elsewhere: the memories of the disciplines that such links have and that count in amounts.
        growing: whether flows may be added (`added.add_flow`): links of the network then count as
            fed by others too, so that no packet is carried onto one before its time.
        stream: where the record is to be written; what is added up then lives on its disk.
    """

    def __init__(
        self,
        scenario: Scenario,
        trace: bool | Selection = False,
        shared: Mapping[int, int] | None = None,
        elsewhere: Mapping[int, QueueMemory] | None = None,
        growing: bool = False,
        stream: Path | None = None,
    ) -> None:
        self.scenario = scenario
        self.stream = stream
        self.scratch = None if stream is None else Scratch(stream.absolute().parent)
        self.shared = shared or {}
        self.elsewhere = elsewhere or {}
        self.growing = growing
        self.resolved: Resolved = scenario.resolve()
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.states: dict[int, np.ndarray] = {}  # of the controllers, by flow
        self.controllers = ControllerMemory(scenario.seed)
        self.deliveries: dict[int, np.ndarray] = {}  # records of flows that need one
        self.recoveries = RecoveryMemory()
        self.rings: dict[tuple[str, int], np.ndarray] = {}
        self.queues: dict[int, QueueMemory] = {}  # of links with a discipline, by link
        self.stores: dict[int, np.ndarray] = {}  # of scheduled links, by link
        self.inner: dict[int, np.ndarray] = {}  # likewise, their inner queues
        self.words: list[np.ndarray] = []  # see _lay_out_words
        self.by_hand: list[ResolvedChange] = []

        self.w = record_of(r.WORLD)
        self.row_of = list(range(len(self.resolved.links)))  # a link's in `links`
        self.stages = _stages(self.resolved)
        self.links = blank(len(self.resolved.links) + len(self.stages), r.LINK)
        self.flows = blank(len(self.resolved.flows), r.FLOW)
        self.tcp = blank(len(self.flows), t.FLOW)
        self.cbr = np.zeros(len(self.flows), r.CBR)
        self.kept = list(self.resolved.recorded)
        n_rows = len(self.resolved.rows)
        n_series = min(len(self.kept) + 1, n_rows)  # the last for all that are not recorded
        self.bin_row = np.full(n_rows, n_series - 1)
        self.bin_row[self.kept] = np.arange(len(self.kept))
        self.flow_bins = blank_bins((n_series, self.n_bins), FLOW_BIN, self.scratch)
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.link_bins = blank_bins((len(self.recorded), self.n_bins), LINK_BIN, self.scratch)
        self.outbox = np.zeros(t.OUTBOX_SIZE, t.OUT)
        self.trace = TraceMemory(self.w, self.resolved, trace)
        self.conversations: ConversationMemory | None = None  # of the workloads
        self.heap = blank(4 * len(self.resolved.rows) + 2 * len(self.links) + 2 * r.MARGIN, r.EVENT)

        self._lay_out_paths()
        for i in range(len(self.resolved.links)):
            self.lay_out_link(i)
        for i, flow in enumerate(self.resolved.flows):
            self.lay_out_flow(i, flow)
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
        """Hops of all flows, and the lanes of links."""
        rows = self.lay_out_hops()
        for number, flow in enumerate(self.resolved.flows):
            self.lay_out_path(self.flows[number : number + 1], number, flow)
        self._lay_out_lanes(rows)

    def lay_out_hops(self) -> list[tuple[int, int, bool]]:
        """Hops of all flows, and where a packet may go on without an event; returns their rows.

        That is so when a link's only feeder is the link before it (or a flow's own sender or
        receiver), neither changes during the run, and, for a receiver, no timer holds ACKs back.
        A discipline that decides at arrival learns what is so at that time, so it waits for it.
        """
        later: set[Any] = {("later", 1), ("later", 2)} if self.growing else set()
        feeders: dict[int, set[Any]] = {i: {*later} for i in range(len(self.scenario.net.links))}
        for number, flow in self._paths():
            for end, way in (("sender", flow.forward), ("receiver", flow.reverse)):
                before: Any = (end, number)
                for link in self._hops_of(way):
                    feeders.setdefault(link, set()).add(before)
                    before = link
        rows_of = list(zip(self.row_of, self.resolved.links, strict=True))
        variable = {  # so that no packet is carried on before its time
            row: link.variable or link.queue.discipline.on_departure is not None
            for row, link in rows_of
        } | dict.fromkeys(self.stages.values(), False)
        decides = {row: self._decides(i) for i, (row, _) in enumerate(rows_of)}
        decides |= dict.fromkeys(self.stages.values(), False)
        reorders = {k for i, k in self.stages.items() if self.resolved.links[i].reordering}

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
                hops = self._hops_of(way)
                for k, link in enumerate(hops):
                    if link in reorders:
                        then = r.BY_ITSELF
                    elif k + 1 < len(hops):
                        then = r.NEXT_LINK if joins(link, hops[k + 1]) else r.BY_EVENT
                    elif last == r.RECEIVER and (holds or not self._ack_may_leave(flow, feeders)):
                        then = r.BY_EVENT
                    else:
                        then = r.BY_EVENT if variable[link] else last
                    rows.append((link, then, link in passed))
                    passed.add(link)
        self.hops = np.array(rows, r.HOP)
        self.hops["link"] = address(self.links) + self.links.itemsize * self.hops["link"]
        return rows

    def _lay_out_lanes(self, rows: list[tuple[int, int, bool]]) -> None:
        """A lane for each link from which packets go on by an event, and lanes that links share.

        The event list holds one entry per lane. Links that end where one link begins, or at
        hosts, after the same delay share one more: packets come out of them nearly in the order
        in which they were put there, for the most part, and then one entry stands for all.
        """
        ends: dict[int, set[int]] = {}
        for (link, then, _), (following, _, _) in zip(rows, [*rows[1:], rows[0]], strict=True):
            if then == r.BY_EVENT:
                ends.setdefault(link, set()).add(following)
        last = {self.path_of[k] - 1 for k in range(len(self.path_of))} | {len(rows) - 1}
        for place, (link, then, _) in enumerate(rows):
            if then == r.BY_EVENT and place in last:
                ends[link] = {-1}
        groups: dict[tuple[float, ...], list[int]] = {}
        for number, places in ends.items():
            own = number >= len(self.resolved.links)  # a stage: its packets come when they like
            if len(places) == 1 and not own and not self.resolved.links[number].variable:
                key = (*places, self.resolved.links[number].delay)
                groups.setdefault(key, []).append(number)
        joint = [group for group in groups.values() if len(group) > 1]
        self.lanes = blank(len(self.links) + len(joint), r.LANE)
        self.lane_of = np.arange(len(self.links))
        self.joint_of = np.full(len(self.links), -1)
        for place, group in enumerate(joint, len(self.links)):
            self.joint_of[group] = place
        self.point_at_lanes()
        some = set(range(len(self.scenario.net.links))) if self.growing else set()
        for i in sorted({*ends, *some, *range(len(self.links), len(self.lanes))}):
            self.place_ring(self.lanes, "flight", i, blank(r.FIRST_RING, r.PACKET))

    def point_at_lanes(self) -> None:
        """Tell each link where its lanes are."""
        self.lanes["ident"] = np.arange(len(self.lanes))
        base, size = address(self.lanes), self.lanes.itemsize
        self.links["lane"] = base + size * self.lane_of
        self.links["joint"] = np.where(self.joint_of < 0, 0, base + size * self.joint_of)

    def _decides(self, link: int) -> bool:
        """Whether what becomes of a packet hangs on what is so when it arrives."""
        return self.resolved.links[link].queue.discipline.decides_by_packet or link in self.shared

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
        row["n_forward"] = len(self._hops_of(flow.forward))
        row["n_hops"] = row["n_forward"] + len(self._hops_of(flow.reverse))

    def _hops_of(self, way: tuple[int, ...]) -> list[int]:
        """The links of a way, each with the stage of its jitter if it has one."""
        stages = ((self.row_of[i], self.stages.get(i)) for i in way)
        return [k for pair in stages for k in pair if k is not None]

    def _ack_may_leave(self, flow: ResolvedFlow, feeders: dict[int, set[Any]]) -> bool:
        """Whether the receiver's first link is its own, so that an ACK may go onto it early."""
        if not flow.reverse:
            return True
        first = flow.reverse[0]
        link = self.resolved.links[first]
        alone = len(feeders[self.row_of[first]]) == 1
        return alone and not link.variable and not self._decides(first)

    def lay_out_link(self, i: int) -> None:
        """Write a link's settings into its row, and its stage's."""
        link = self.resolved.links[i]
        if i in self.stages:
            self._lay_out_stage(self.stages[i], link)
        row = self.links[self.row_of[i]]
        row["ident"], row["rate"], row["delay"] = i, link.rate, link.delay
        row["capacity"], row["in_bytes"] = link.buffer, link.buffer_unit == "bytes"
        row["loss"] = link.loss
        row["busy_until"] = -1.0
        row["recorded"] = bool(link.record)
        if link.loss > 0 or link.variable:  # others have no use for chance, and there may be many
            seed_stream(row, self.scenario.seed, f"link {link.name}: random loss")
        discipline = link.queue.discipline
        if i in self.shared:
            self._share(i)
            return
        row["scheduled"] = discipline.on_departure is not None
        row["tracked"] = not row["scheduled"] and bool(
            link.record
            or link.variable
            or link.loss > 0
            or math.isfinite(link.buffer)
            or discipline.on_arrival is not None
        )
        if row["tracked"]:
            self.place_ring(self.links, "queue", i, np.zeros(r.FIRST_RING, r.QUEUED))
        if link.record:
            row["bins"] = (
                address(self.link_bins) + self.recorded.index(i) * (self.link_bins.strides[0])
            )
        if row["scheduled"]:
            self._lay_out_store(i, discipline.inner)
        if discipline.decides_by_packet:
            self.queues[i] = QueueMemory(
                link, discipline.on_arrival, self.scenario.seed, self.n_bins, self.scratch
            )
            self.queues[i].fill(row)

    def _share(self, i: int) -> None:
        """Link `i` has its queue elsewhere."""
        row = self.links[i]
        row["tracked"], row["recorded"], row["shared"] = r.ELSEWHERE, False, self.shared[i]
        if i in self.elsewhere:
            self.elsewhere[i].fill(row)

    def _lay_out_stage(self, i: int, link: Link) -> None:
        """A stage after a link, in which packets take their time by chance, or wait for others."""
        row = self.links[i]
        row["ident"], row["rate"], row["tracked"] = i, math.inf, r.ELSEWHERE
        row["jitter"], row["share"] = link.jitter, link.jitter_share
        row["reorders"], row["period"] = link.reordering, link.aggregation
        seed_stream(row, self.scenario.seed, f"link {link.name}: jitter")

    def _lay_out_loose(self) -> None:
        """Places for packets that others may overtake; number 0 stands for none."""
        some = any(link.reordering for link in self.resolved.links)
        self.loose = np.zeros(1, r.PACKET)
        if some:
            self._add_loose(r.FIRST_RING)

    def _add_loose(self, room: int) -> None:
        """Add places for packets under way by themselves, in front of those that are free."""
        w, first = self.w[0], len(self.loose)
        added = np.zeros(room, r.PACKET)
        added["order"] = np.arange(first + 1, first + 1 + room)
        added["order"][-1] = w["free_loose"]
        self.loose = np.concatenate([self.loose, added])
        w["loose"], w["free_loose"] = address(self.loose), first
        w["n_free_loose"] += room

    def _lay_out_store(self, i: int, inner: int) -> None:
        """The packets that wait at a scheduled link, and its inner queues of them."""
        self.inner[i] = np.zeros(inner, r.INNER)
        self.links["inner"][i], self.links["n_inner"][i] = address(self.inner[i]), inner
        self.stores[i] = np.zeros(1, r.STORED)
        self._enlarge_store(i, r.FIRST_RING)

    def _enlarge_store(self, i: int, room: int) -> None:
        """Add places to a store, in front of those that are free."""
        first = len(self.stores[i])
        added = np.zeros(room, r.STORED)
        added["next"] = np.arange(first + 1, first + 1 + room)
        added["next"][-1] = self.links["free"][i]
        self.stores[i] = np.concatenate([self.stores[i], added])
        self.links["store"][i], self.links["free"][i] = address(self.stores[i]), first
        self.links["n_free"][i] += room

    def lay_out_flow(self, i: int, flow: ResolvedFlow) -> None:
        """Write a flow's settings into its records."""
        row, tcp = self.flows[i : i + 1], self.tcp[i : i + 1]
        row["index"] = row["ident"] = i
        self.lay_out_sender(row, tcp, i, flow)
        if isinstance(flow.spec, CBR):
            self.cbr["interval"][i] = 8 * flow.spec.packet_size / flow.spec.rate
            return
        self.place_ring(self.tcp, "segments", i, blank(r.FIRST_RING, t.SEGMENT))
        self.states[i] = self.controllers.fill(tcp, flow)
        self.recoveries.fill(tcp, flow.recovery)
        self.deliveries[i] = delivery_memory(tcp[0], flow)
        if len(self.deliveries[i]):
            self.place_ring(self.tcp, "stamps", i, np.zeros(r.FIRST_RING, t.STAMP))

    def lay_out_sender(self, row: Any, tcp: Any, i: int, flow: ResolvedFlow) -> None:
        """Write a flow's settings into its records; what it adds up goes to row `i` of the bins."""
        spec = flow.spec
        self.trace.mark(row, i, flow)
        row["bins"] = self.bins_of(i)
        row["size"] = spec.packet_size
        row["timer_at"] = row["release_at"] = row["alarm_at"] = math.inf
        tcp["finished"] = math.nan
        if isinstance(spec, CBR):
            row["kind"] = t.CBR
            return
        row["kind"] = t.TCP
        row["has_header"] = uses_headers(flow)
        self._lay_out_words(row, flow)
        row["ack_size"], row["handshake"] = spec.ack_size, spec.transport.handshake
        self._lay_out_transport(tcp, flow)

    def bins_of(self, i: int) -> int:
        """Address of what row `i` of the scenario adds up."""
        return address(self.flow_bins) + int(self.bin_row[i]) * self.flow_bins.strides[0]

    def _lay_out_words(self, row: Any, flow: ResolvedFlow) -> None:
        places = header_places(flow)
        self.words.append(places)
        row["words"], row["n_words"] = address(places), len(places)

    def _lay_out_transport(self, row: Any, flow: ResolvedFlow) -> None:
        spec, settings = flow.spec, flow.spec.transport  # type: ignore[union-attr]
        assert not isinstance(spec, CBR)
        for name in (
            "initial_window", "handshake", "delay_growth", "rwnd", "window_validation", "abc_limit",
            "whole_window", "count_delivered", "gso_segments",
            "dupack_threshold",
            "limited_transmit", "max_burst", "timestamps", "initial_rto", "min_rto", "max_rto",
            "clock_phase", "coarse_timer", "backoff_limit", "delayed_ack", "ack_every",
            "quick_acks",
            "syn_rtt", "idle_restart", "gradual_marks", "rto_margin", "hold_ssthresh",
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
        w["pending"], w["pause"] = -1, _ENDLESS
        w["n_links"] = len(self.resolved.links)
        w["n_flows"], w["n_rows"] = len(self.resolved.flows), len(self.resolved.rows)
        w["duration"], w["interval"] = self.scenario.duration, self.scenario.interval
        w["per_second"] = 1 / self.scenario.interval
        w["n_bins"] = self.n_bins
        for name in ("flows", "tcp", "cbr", "links", "lanes"):
            w[name] = address(getattr(self, name))
        w["hops"] = address(self.hops)
        w["heap"], w["heap_room"] = address(self.heap), len(self.heap)
        self.changes = np.zeros(max(len(self.resolved.changes), 1), r.CHANGES)
        w["changes"] = address(self.changes)
        self.n_changes = 0
        self.lay_out_headers()
        self._lay_out_loose()

    def lay_out_headers(self) -> None:
        """Places for headers, if any packets have one; number 0 stands for none."""
        any_used = any(uses_headers(flow) for flow in self.resolved.rows)
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
                self.schedule_flow(i)
        if self.conversations is not None:
            self.conversations.schedule_first()
        for change in self.resolved.changes:
            for values in self._change_rows(change):
                self.schedule(change.spec.at, r.CHANGE, self.add_change(**values))

    def schedule_flow(self, i: int) -> None:
        """Put the start and the stop of a TCP flow on the event list."""
        spec = self.resolved.flows[i].spec
        self.schedule(spec.start, r.FLOW_START, i)
        if spec.stop is not None:
            self.schedule(spec.stop, r.FLOW_STOP, i)

    def _change_rows(self, change: ResolvedChange) -> list[dict[str, Any]]:
        """One row for the link itself, one for its jitter, one for each parameter of its queue."""
        spec, link = change.spec, change.link
        rows = [
            {
                "link": link,
                "rate": spec.rate, "delay": spec.delay, "capacity": spec.buffer, "loss": spec.loss,
            }
        ]  # fmt: skip
        if spec.jitter is not None or spec.jitter_share is not None:
            late = {"jitter": spec.jitter, "share": spec.jitter_share}
            rows.append({"link": self.stages[link], **late})
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
            self.heap = longer(self.heap, len(self.heap))
            self.w["heap"], self.w["heap_room"] = address(self.heap), len(self.heap)

    def grow(self) -> None:
        """Double what is short of room: rings, the event list, the trace."""
        w = self.w[0]
        for kind, owner in (("queue", self.links), ("flight", self.lanes)):
            first, last = owner[f"{kind}_head"], owner[f"{kind}_tail"]
            room = owner[f"{kind}_mask"] + 1
            for i in np.flatnonzero((room > 1) & (last - first + r.MARGIN >= room)):
                self._enlarge(owner, kind, int(i))
        first = self.tcp["high_ack"] - 1
        last = np.maximum(self.tcp["max_seq"], self.tcp["next_seq"]) + 1
        room = self.tcp["segment_mask"] + 1
        for i in np.flatnonzero((room > 1) & (last - first + r.MARGIN >= room)):
            for name in ("segments", "stamps"):
                if (name, int(i)) in self.rings:
                    self._enlarge(self.tcp, name, int(i))
        for place in [i for i in self.stores if self.links["n_free"][i] < r.MARGIN]:
            self._enlarge_store(place, len(self.stores[place]))
        if len(self.loose) > 1 and w["n_free_loose"] < r.MARGIN:
            self._add_loose(len(self.loose))
        self.make_heap_room()
        self._grow_headers()
        self.trace.grow()
        if self.conversations is not None:
            self.conversations.grow()
        w["need"] = 0

    def _check_window(self, i: int) -> None:
        """Refuse a window whose packets the machine has no memory to keep."""
        row = self.tcp[i]
        flow, name = self._sender_at(i)
        assert flow.controller is not None
        state = record_view(flow.controller.state_dtype, int(row["state"]))
        window = min(float(state["cwnd"]), float(row["rwnd"]), float(row["to_send"]))
        needed = window * t.SEGMENT.itemsize
        if needed > _UNASKED and needed > memory_left():
            raise TcpccError(
                f"flow {name!r}, controller {flow.controller.name!r}: its window at"
                f" t = {self.w['now'][0]:g} s is {window:.3g} packets, which take"
                f" {needed / 2**30:.3g} GiB; {memory_left() / 2**30:.3g} GiB are free"
            )

    def _enlarge(self, owner: np.ndarray, field: str, i: int) -> None:
        """Give a ring twice the room."""
        ring = self.rings[field, i]
        if field == "segments":
            self._check_window(i)
        bigger = blank(2 * len(ring), ring.dtype)
        bigger[: len(ring)] = bigger[len(ring) :] = ring  # each entry is where it is looked for now
        self.place_ring(owner, field, i, bigger)

    @property
    def address(self) -> int:
        return address(self.w)

    # ----------------------------------------------------------------------- running

    def explain(self, error: ArithmeticError) -> RuleError:
        """An error in a rule, with the rule, its line and what it worked on."""
        return blame(error, float(self.w["now"][0]), self.suspects())

    def suspects(self) -> Iterator[Suspect]:
        """The rules that may have failed just now."""
        place = int(self.w["flow"][0])
        flow, name = self._sender_at(place)
        called = [(name, flow.controller, self.tcp[place])]
        return suspects(called, self.resolved.links, self.queues)

    def _sender_at(self, place: int) -> tuple[ResolvedFlow, str]:
        """The flow, or the kind of conversation, that has a place, and what to call it."""
        if self.conversations is None or place < len(self.resolved.flows):
            flow = self.resolved.flows[place]
            return flow, flow.name
        return self.conversations.kind_at(place), self.conversations.name_at(place)

    def release(self) -> None:
        """Give back the memory of what is on disk."""
        if self.scratch is not None:
            self.scratch.release()
