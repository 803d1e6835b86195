"""A world: the records of one run of the packet model, laid out from a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import Records, address, blank, longer, record_view
from tcpcc.engine.memory import memory_left
from tcpcc.engine.scratch import Scratch
from tcpcc.errors import RuleError, ScenarioError, TcpccError, refuse, unknown
from tcpcc.files import check_target
from tcpcc.models.controller_memory import record_of
from tcpcc.models.conversation_items import lay_out_writes
from tcpcc.models.failing_rule import Suspect, blame, suspects
from tcpcc.models.layout import SENSIBLE, beyond_run, packets_in_run
from tcpcc.models.limits import warn_of_unread_headers
from tcpcc.models.notes import Notes
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.conversation_memory import ConversationMemory
from tcpcc.models.packet.memory.header_memory import HeaderMemory
from tcpcc.models.packet.memory.link_memory import lay_out_link
from tcpcc.models.packet.memory.path_memory import PathMemory
from tcpcc.models.packet.memory.rings import Pool, Rings, short
from tcpcc.models.packet.memory.schedule import Schedule
from tcpcc.models.packet.memory.sender_memory import ENDLESS, SenderMemory
from tcpcc.models.packet.memory.trace_memory import TraceMemory
from tcpcc.models.packet.representatives import check_counts
from tcpcc.models.queue_memory import QueueMemory
from tcpcc.models.recorded_fields import FLOW_BIN, LINK_BIN, blank_bins
from tcpcc.transport import flow_record as t

if TYPE_CHECKING:
    from tcpcc.results.recording import Series
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

_SMALL = 2**24  # bytes; smaller windows are accepted without a query of the free memory


class PacketWorld:
    """The memory of one run of the packet model.

    This object owns the arrays; the compiled handlers get their addresses from the records. A
    driver calls `grow` whenever a handler has asked for room (``w.need``).

    Attributes:
        model: name of the model in the record.
        settings: further attributes of the record.
        engine: module with the entries `run_events` and `flush`.
        first_ring: segments that a sender's first ring has.
        fluid_links: links whose queue is that of a fluid model beside the packets; no other in the
            packet model itself.
        fluid_flows: flows that are in this fluid and send no packets.

    Args:
        scenario: the scenario to run.
        trace: record every event of every flow, or of the named flows.
        growing: whether flows may be added (`new_flow.add_flow`). Then any link may get another
            feeder, so no packet is sent over a link before its arrival time there.
        stream: the file that the record is written to; bins are kept on the same disk. Not with
            a trace, or if flows may be added.
        senders: largest number of senders that one flow with a `count` has; each packet of a sender
            stands for a packet of each of its flows.
        resolved: the resolved scenario; then `senders` has no effect. Default: resolve it.

    Raises:
        ScenarioError: `stream` is not possible; a sender stands for several flows where it cannot.
        OSError: the file cannot be written.
    """

    model = "packet"
    settings: Mapping[str, float] = MappingProxyType({})
    engine = "tcpcc.models.packet.handlers"
    first_ring = r.FIRST_RING
    fluid_links: Collection[int] = ()
    fluid_flows: Collection[int] = ()

    def __init__(
        self,
        scenario: Scenario,
        trace: bool | Selection = False,
        growing: bool = False,
        stream: str | Path | None = None,
        senders: float = math.inf,
        resolved: Resolved | None = None,
    ) -> None:
        self.scenario = scenario
        self.stream = None if stream is None else _stream_target(stream, trace, growing)
        self.scratch = None if self.stream is None else Scratch(self.stream.absolute().parent)
        self.growing = growing
        self.resolved: Resolved = resolved or scenario.resolve(senders=senders)
        if resolved is None:
            check_counts(scenario, self.resolved)
        warn_of_unread_headers(self.resolved)
        self.w: Records = record_of(r.WORLD)
        self.rings = Rings()
        self.paths = PathMemory(self)
        self.links: Records = blank(len(self.resolved.links) + len(self.paths.stages), r.LINK)
        self.queues: dict[int, QueueMemory] = {}  # of links with a discipline, by link
        self.notes: dict[int, Notes] = {}  # of flows whose state is recorded, by row
        self.no_notes = record_of(r.FLOW_NOTES)  # of the others
        self.inner: dict[int, np.ndarray] = {}  # inner queues of scheduled links, by link
        self.flows: Records = blank(len(self.resolved.flows), r.FLOW)
        self.tcp: Records = blank(len(self.flows), t.TCP_FLOW)
        self.cbr = np.zeros(len(self.flows), r.CBR)
        self.outbox = np.zeros(t.OUTBOX_SIZE, t.OUTGOING)
        self.items = lay_out_writes(self.resolved.flows, self.flows, syn=True)
        self._lay_out_bins()
        self.trace = TraceMemory(self.w, self.resolved, trace)
        self.headers = HeaderMemory(self.w, self.resolved.rows)
        unforeseen = [  # links that packets leave in an order unknown on arrival
            link.reordering or link.queue.discipline.is_scheduled for link in self.resolved.links
        ]
        self.pool = Pool(self.w, any(unforeseen))

        self.paths.lay_out()
        for i in range(len(self.resolved.links)):
            lay_out_link(self, i)
        self.senders = SenderMemory(self)
        for i, flow in enumerate(self.resolved.flows):
            self.senders.lay_out(i, flow)
        self.conversations = ConversationMemory(self) if self.resolved.workloads else None
        self._lay_out_world()
        self.schedule = Schedule(self)
        self.schedule.beginning()

    def _lay_out_bins(self) -> None:
        """Bins of the recorded rows and links; the last row sums up all rows not recorded."""
        scenario, rows = self.scenario, len(self.resolved.rows)
        self.n_bins = max(math.ceil(scenario.duration / scenario.interval - 1e-9), 1)
        self.kept = list(self.resolved.recorded)
        n_series = min(len(self.kept) + 1, rows)
        self.bin_row = np.full(rows, n_series - 1)
        self.bin_row[self.kept] = np.arange(len(self.kept))
        self.flow_bins = blank_bins((n_series, self.n_bins), FLOW_BIN, self.scratch)
        self.recorded = [i for i, link in enumerate(self.resolved.links) if link.record]
        self.link_bins = blank_bins((len(self.recorded), self.n_bins), LINK_BIN, self.scratch)

    def add_rows(self, number: int, *names: str) -> None:
        """Lengthen arrays of flows by `number` rows."""
        for name in names:
            setattr(self, name, longer(getattr(self, name), number))
            self.w[0][name] = address(getattr(self, name))
        self.tcp["address"] = self.w[0]["tcp"] + self.tcp.itemsize * np.arange(len(self.tcp))

    def bins_of(self, i: int) -> int:
        """Address of the bins of row `i` of the scenario."""
        return address(self.flow_bins) + int(self.bin_row[i]) * self.flow_bins.strides[0]

    def _lay_out_world(self) -> None:
        w = self.w[0]
        w["pending"], w["at_once"] = -1, ENDLESS
        w["n_links"] = len(self.resolved.links)
        w["n_flows"], w["n_rows"] = len(self.resolved.flows), len(self.resolved.rows)
        w["duration"], w["interval"] = self.scenario.duration, self.scenario.interval
        w["per_second"] = 1 / self.scenario.interval
        w["n_bins"] = self.n_bins
        for name in ("flows", "tcp", "cbr", "links", "items"):
            w[name] = address(getattr(self, name))
        w["hops"], w["lanes"] = address(self.paths.hops), address(self.paths.lanes)

    def number_of(self, what: str, name: str) -> int:
        """The number of a "flow" or a "link" by its name.

        Raises:
            ScenarioError: there is none.
        """
        names = [item.name for item in getattr(self.resolved, f"{what}s")]
        if name not in names:
            raise unknown(what, name, names)
        return names.index(name)

    # ------------------------------------------------------------------- while running

    def entry(self, name: str) -> Callable[..., Any]:
        """An entry of `engine` for this world: `run_events` or `flush`."""
        return partial(getattr(import_module(self.engine), name), self.address)

    def grow(self) -> None:
        """Double whatever is nearly full: rings, places for packets, the event list, the trace."""
        rings, links, lanes, tcp = self.rings, self.links, self.paths.lanes, self.tcp
        rings.grow(links, "queue", links["queue_tail"] - links["queue_head"] + links["margin"])
        rings.grow(lanes, "flight", lanes["flight_tail"] - lanes["flight_head"] + r.MARGIN)
        last = np.maximum(tcp["max_seq"], tcp["next_seq"]) + 1
        for i in short(tcp, "segments", last + 1 - tcp["high_ack"] + r.MARGIN):
            self._check_window(i)
            self._enlarge(i)
        for room in (self.pool, self.schedule, self.headers, self.trace, self.conversations):
            if room is not None:
                room.grow()
        self.w["need"] = 0

    def _enlarge(self, i: int) -> None:
        """Double the rings of a sender."""
        for name in ("segments", "stamps"):
            if (name, i) in self.rings.arrays:
                self.rings.enlarge(self.tcp, name, i)

    def _check_window(self, i: int) -> None:
        """Refuse a window that no path fills, or that needs more memory than is free."""
        row = self.tcp[i]
        flow, name = self._sender_at(i)
        assert flow.controller is not None
        state = record_view(flow.controller.state_dtype, int(row["state"]))
        window = min(float(state["cwnd"]), float(row["rwnd"]), float(row["to_send"]))
        of_packet = sum(
            ring.itemsize
            for (field, k), ring in self.rings.arrays.items()
            if k == i and field in ("segments", "stamps")
        )
        needed = 3 * window * of_packet  # a ring has up to twice the places, beside the old ring
        room = packets_in_run(self.resolved, flow, self.scenario.duration)
        if window > max(room, SENSIBLE):
            limit = beyond_run(room)
        elif needed > _SMALL and needed > memory_left():
            limit = (
                f"they take {needed / 2**30:.3g} GiB, and {memory_left() / 2**30:.3g} GiB are free"
            )
        else:
            return
        raise TcpccError(
            f"flow {name!r}, controller {flow.controller.name!r}: its window at"
            f" t = {self.w['now'][0]:g} s is {window:.3g} packets: {limit}"
        )

    @property
    def address(self) -> int:
        return address(self.w)

    def explain(self, error: ArithmeticError) -> RuleError:
        """The error with the rule that failed, its line and the values it used."""
        return blame(error, float(self.w["now"][0]), self.suspects())

    def suspects(self) -> Iterator[Suspect]:
        """The rules that may have raised the error."""
        place = int(self.w["flow"][0])
        flow, name = self._sender_at(place)
        called = [(name, flow.controller, self.tcp[place])]
        return suspects(called, self.resolved.links, self.queues)

    def _sender_at(self, place: int) -> tuple[ResolvedFlow, str]:
        """The flow, or the kind of conversation, at a place, and its name."""
        if self.conversations is None or place < len(self.resolved.flows):
            flow = self.resolved.flows[place]
            return flow, flow.name
        return self.conversations.kind_at(place)

    def joined(self, series: Series) -> Series:
        """The packets' series, with what another model has recorded of this run."""
        return series

    def release(self) -> None:
        """Release the memory of bins that are on disk."""
        if self.scratch is not None:
            self.scratch.release()


def _stream_target(stream: str | Path, trace: bool | Selection, growing: bool) -> Path:
    """The file of a streamed run."""
    if not isinstance(stream, str | Path):
        raise refuse("stream", stream, "the name of a file")
    if trace is not None and trace is not False:
        raise ScenarioError(
            f"trace = {trace!r}: events are kept in memory; leave out either it or the stream"
        )
    if growing:
        raise ScenarioError(f"stream = {str(stream)!r}: not allowed with growing=True")
    check_target(stream)
    return Path(stream)
