"""The world of the fluid model: a resolved scenario laid out in its records and tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import Records, address, record_view
from tcpcc.engine.streams import seed_streams
from tcpcc.errors import ScenarioError, TcpccError
from tcpcc.models.bit_sets import IN_WORD, SHIFT, words_for
from tcpcc.models.controller_memory import ControllerMemory, place_of
from tcpcc.models.conversation_items import lay_out_writes
from tcpcc.models.conversation_records import AFTER_ITEM
from tcpcc.models.failing_rule import blame, suspects
from tcpcc.models.fluid import SENDERS, STEPS
from tcpcc.models.fluid import fluid_records as r
from tcpcc.models.fluid.fluid_case import SHORTEST_REACH, FluidCase, with_senders
from tcpcc.models.fluid.fluid_conversation_memory import FIRST_PLACES, PlaceMemory
from tcpcc.models.fluid.fluid_packet_memory import PacketLinkMemory, takes_packets
from tcpcc.models.header_layout import HeaderLayout
from tcpcc.models.layout import (
    ECT,
    SENSIBLE,
    Route,
    beyond_run,
    packets_in_run,
    route_of,
)
from tcpcc.models.limits import warn_of_unread_headers
from tcpcc.models.memory_copies import Of, alone
from tcpcc.models.notes import Notes
from tcpcc.models.queue_memory import QueueMemory
from tcpcc.models.recorded_fields import FLOW_BIN, LINK_BIN, blank_bins
from tcpcc.scenario.traffic import CBR, Flow, Transport
from tcpcc.transport import flow_record as t
from tcpcc.transport.pacing import piece_fields
from tcpcc.transport.recovery import RECOVERIES
from tcpcc.transport.recovery.loss_recovery import LAWS

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import ResolvedFlow
    from tcpcc.transport.recovery.loss_recovery import Recovery

#: Laws of recovery that need the packets sent and retransmitted at steps of the past.
KNOWS_REPAIRS = ("sack", "prr", "rack")
HAS_FINE_TIMEOUT = ("fine_grained", "fine_grained_ns2")

_COPIED = (
    "rwnd", "initial_window", "whole_window", "gradual_marks", "window_validation", "handshake",
    "dupack_threshold", "limited_transmit", "initial_rto", "min_rto", "max_rto", "rto_margin",
    "hold_ssthresh", "flight_ssthresh", "backoff_limit", "window_decay", "idle_restart",
)  # fmt: skip


def _acks_for(settings: Transport) -> float:
    """Number of packets that an ACK acknowledges."""
    return settings.ack_every if settings.delayed_ack > 0 else 1.0


def _setting(recovery: Recovery, name: str) -> float:
    """A parameter of a loss recovery; 0 if it has none of that name."""
    return recovery.params[name].default if name in recovery.params else 0.0


@cache
def _sender_of(settings: Transport, controller: Controller, recovery: Recovery) -> Records:
    """A FLOW record with all that these three decide, except addresses: most senders are alike."""
    rows: Records = np.zeros(1, r.FLOW)
    row = rows[0]
    row["kind"] = t.TCP
    for name in _COPIED:
        row[name] = getattr(settings, name)
    row["per_ack"] = _acks_for(settings)
    row["counted"] = min(settings.abc_limit / row["per_ack"], 1.0)
    row["deflate"], row["next_rwnd"] = settings.partial_deflation, settings.rwnd
    row["base_rtt"] = row["round_min"] = row["timer_from"] = math.inf
    row["backoff"], row["mark_edge"], row["grown_at"] = 1.0, -1.0, -math.inf
    row["grown_by_round"] = row["first_new"] = -1.0
    row["law"] = LAWS.index(recovery.law)
    if recovery.law in HAS_FINE_TIMEOUT:  # duplicate ACKs send nothing but a retransmission
        row["limited_transmit"] = row["deflate"] = 0
    row["impatient"] = bool(_setting(recovery, "impatient"))
    row["keeps_sack"] = recovery.law == "rack" or bool(_setting(recovery, "keep_sack"))
    row["every_ack"], row["owns_window"] = controller.every_ack, controller.window == "own"
    row["pacing"], row["wake"] = (place_of(controller, x) for x in ("pacing_rate", "wake_at"))
    row["n_stamps"] = len(controller.stamps)
    row["reads_packets"] = bool(controller.reads_of_packets or controller.stamps)
    if row["reads_packets"]:
        row["n_history"] = r.N_TOTALS + len(controller.stamps)
    elif recovery.law in KNOWS_REPAIRS:
        row["n_history"] = r.DELIVERED_BY
    return rows


SAME = 1e-9  # s; base RTTs are equal but for rounding


class FluidWorld:
    """The memory of one run; the arrays belong to this object.

    Args:
        scenario: the scenario to run.
        controllers: the memory of compiled rules, if several worlds share it.
        case: the scenario's numbers. Default: those of the default options of `tcpcc.simulate`.
        as_packets: flows of which the links get packets from outside, and which send no fluid.

    Attributes:
        case: the scenario's numbers; `kept`, `routes`, `step`, `end` and `n_bins` are its own.
    """

    def __init__(
        self,
        scenario: Scenario,
        controllers: ControllerMemory | None = None,
        case: FluidCase | None = None,
        as_packets: Collection[int] = (),
    ) -> None:
        self.scenario = scenario
        if case is None:
            case = FluidCase(scenario, with_senders(scenario, SENDERS), STEPS)
        self.case, self.resolved = case, case.resolved
        self.as_packets = set(as_packets)
        warn_of_unread_headers(self.resolved)
        flows, rows = self.resolved.flows, self.resolved.rows
        self.kept, self.routes, self.step = case.kept, case.routes, case.step
        self.end, self.n_bins = case.end, case.n_bins
        self.place = {link: k for k, link in enumerate(self.kept)}
        self.owner = list(range(len(flows)))  # row of each record of `flows`
        self.controllers = (controllers or ControllerMemory()).with_seed(scenario.seed)
        self.queues: dict[int, QueueMemory] = {}
        self.notes: dict[int, Notes] = {}  # of flows whose state is recorded, by row
        self.packet_links: dict[int, PacketLinkMemory] = {}
        self.owned: list[Any] = []
        self.w: Records = np.zeros(1, r.WORLD)
        self.flows: Records = np.zeros(len(flows), r.FLOW)
        self.acts_at = np.zeros(len(flows), np.int64)  # step of each flow
        self.links: Records = np.zeros(len(self.kept), r.QUEUE)
        self.recorded = list(self.resolved.recorded)
        self.bin_row = np.full(len(rows), min(len(self.recorded), len(rows) - 1))
        self.bin_row[self.recorded] = np.arange(len(self.recorded))
        self.flow_bins = blank_bins((int(self.bin_row.max()) + 1, self.n_bins), FLOW_BIN)
        self.link_bins: Records = np.zeros((len(self.kept), self.n_bins), LINK_BIN)
        self.headers = HeaderLayout()
        for flow in rows:
            self.headers.add(flow)
        self.hops: Records = np.zeros(0, r.HOP)
        self.columns: dict[tuple[int, int], int] = {}  # of each hop of a flow
        self.ways: list[np.ndarray] = []  # of each flow the columns of its hops
        self.tables: list[dict[str, np.ndarray]] = []  # of the world, then of each link
        self.histories: dict[int, np.ndarray] = {}  # of flows that keep totals of the past
        self._lay_out_queues()
        for i, flow in enumerate(flows):
            self.lay_out_flow(self.flows, i, i, flow)
        self.items = lay_out_writes(flows, self.flows, syn=False)
        self.conversations = PlaceMemory(self) if self.resolved.workloads else None
        self.links["reach"] = SHORTEST_REACH
        w = self.w[0]
        w["queues"], w["n_queues"] = address(self.links), len(self.links)
        w["items"] = address(self.items)
        for load in range(len(self.resolved.workloads)):
            assert self.conversations is not None
            self.conversations.add_places(load, FIRST_PLACES)
        self.arrange()
        self.write_numbers([case])

    def write_numbers(self, cases: Sequence[FluidCase], of: Of = alone) -> None:
        """Write all numbers in which scenarios of one kind differ.

        Args:
            cases: the scenarios, of this world's kind.
            of: for an array of this world those of the scenarios' worlds; see `memory_copies`.
        """
        w, links, flows, hops = of(self.w)[:, 0], of(self.links), of(self.flows), of(self.hops)
        seeds = [case.scenario.seed for case in cases]
        steps = np.array([case.step for case in cases])
        w["step"], w["per_second"] = steps, 1 / steps
        w["end"] = [case.end for case in cases]
        w["steps_per_bin"] = w["bin_end"] = np.rint(self.scenario.interval / steps)
        seed_streams(w, seeds, "fluid")
        for k, index in enumerate(self.kept):
            of_cases, rows = [case.resolved.links[index] for case in cases], links[:, k]
            rows["rate"] = [link.rate for link in of_cases]
            rows["loss"] = [link.loss for link in of_cases]
            rows["limit"] = [link.buffer for link in of_cases]
            crossing = [i for i, route in enumerate(self.routes) if index in route.links]
            noises = np.array([[case.noises[i] for i in crossing] for case in cases])
            trips = np.array([[case.routes[i].base_rtt for i in crossing] for case in cases])
            trips -= noises
            rows["noise"] = 2 * noises.max(1, initial=0.0)
            rows["alike"] = trips.max(1, initial=0.0) - trips.min(1, initial=math.inf) < SAME
            seed_streams(rows, seeds, f"link {of_cases[0].name}: fluid")
            if index in self.queues:
                self.queues[index].write_numbers(of_cases, seeds, of)
        for i, flow in enumerate(self.resolved.flows):
            self.write_flow(flows[:, i], i, cases)
            routes = [case.routes[i] for case in cases]
            self.lay_out_delays(flows[:, i], hops, self.ways[i], routes, steps)
            if flow.is_tcp and i not in self.as_packets:
                self.controllers.write_numbers([case.rows[i] for case in cases], seeds, of)

    def _lay_out_queues(self) -> None:
        for k, index in enumerate(self.kept):
            row, link = self.links[k], self.resolved.links[index]
            row["in_bytes"], row["size"] = link.buffer_unit == "bytes", 1000.0
            row["column"] = k
            if link.record:
                row["bins"] = address(self.link_bins[k])
            discipline = link.queue.discipline
            by_packet = takes_packets(discipline)
            rule = discipline.on_arrival if by_packet else discipline.fluid_rule
            row["in_amounts"] = discipline.in_amounts
            row["reads_concentration"] = discipline.reads_concentration
            if by_packet or rule is not None:
                memory = QueueMemory(link, rule, self.scenario.seed, self.n_bins)
                memory.fill(row)
                self.headers.fill_link(row, link.name, discipline)
                row["anew"] = 1
                self.queues[index] = memory
            if by_packet:
                self._lay_out_packet_link(row, index)

    def _lay_out_packet_link(self, row: Any, index: int) -> None:
        link, size = self.resolved.links[index], 1.0
        changes = (c.spec.buffer for c in self.resolved.changes if c.link == index)
        if link.buffer_unit == "bytes":
            specs = [f.spec for f in self.resolved.rows]
            acks = (spec.ack_size for spec in specs if isinstance(spec, Flow))
            size = min([*acks, *(spec.packet_size for spec in specs)])
        limits = [link.buffer, *(b for b in changes if b is not None)]
        n_words = self.headers.n_words
        memory = PacketLinkMemory(link.queue.discipline, limits, size, n_words)
        self.packet_links[index] = memory
        row["packets"] = address(memory.link)

    def hops_of(self, row: int) -> Records:
        """The hops of a row of the scenario, without their places in the tables."""
        route, flow = self.routes[row], self.resolved.rows[row]
        spec = flow.spec
        hops: Records = np.zeros(len(route.links), r.HOP)
        for j, link in enumerate(route.links):
            hop = hops[j]
            is_ack = j >= route.n_forward
            hop["queue"], hop["is_ack"] = self.place[link], is_ack
            hop["repeats"] = link in route.links[:j]
            common = link < len(self.scenario.net.links)
            hop["count"] = flow.spec.count if common else 1.0
            hop["draws"], size = 1.0, spec.packet_size
            if isinstance(spec, Flow) and is_ack:
                hop["draws"], size = 1 / _acks_for(spec.transport), spec.ack_size
                hop["hold"] = spec.transport.delayed_ack
            elif isinstance(spec, Flow):
                hop["ect"] = ECT[spec.transport.ecn]
            hop["packets"] = hop["draws"] * hop["count"]
            hop["bits"] = 8.0 * size * hop["packets"]
            hop["is_tcp"] = isinstance(spec, Flow)
            hop["last_data"] = j == route.n_forward - 1
            hop["size"], hop["traffic_class"] = hop["bits"] / hop["packets"] / 8, spec.traffic_class
        return hops

    def arrange(self) -> None:
        """Give each hop of each flow a column of the tables, those of a link together."""
        passed = sorted(
            (self.place[link], i, j)
            for i, row in enumerate(self.owner)
            for j, link in enumerate(self.routes[row].links)
        )
        before, old = self.columns, self.hops
        columns = {(i, j): h for h, (_, i, j) in enumerate(passed)}
        old_columns = np.array([before[i, j] for _, i, j in passed if (i, j) in before], np.int64)
        now = np.array([h for h, (_, i, j) in enumerate(passed) if (i, j) in before], np.int64)
        self.hops, self.columns = np.zeros(len(passed), r.HOP), columns
        self.hops[now] = old[old_columns]
        moved = np.zeros(len(old), np.int64)
        moved[old_columns] = now
        for memory in self.packet_links.values():
            memory.move_hops(moved)
        laid_out: dict[int, Records] = {}
        for i in range(len(self.ways), len(self.owner)):
            if self.owner[i] not in laid_out:
                laid_out[self.owner[i]] = self.hops_of(self.owner[i])
            route = self.routes[self.owner[i]]
            way = np.array([columns[i, j] for j in range(len(route.links))], np.int64)
            self.ways.append(way)
            row = self.flows[i]
            row["route"], row["n_hops"] = address(way), len(way)
            self.hops[way] = laid_out[self.owner[i]]
            self.hops["flow"][way] = i
            if i in self.as_packets:
                self.hops["draws"][way] = self.hops["is_tcp"][way] = 0
                self.hops["from_outside"][way] = 1
        for h, (_, i, j) in enumerate(passed):
            self.ways[i][j] = h
        self.hops["next"] = [
            -1 if i in self.as_packets else columns.get((i, j + 1), -1) for _, i, j in passed
        ]
        if passed:
            self.hops["next_link"] = self.hops["queue"][self.hops["next"]]
        of_queue = np.array([k for k, _, _ in passed], np.int64)
        for k in range(len(self.kept)):
            self.links[k]["first"] = np.searchsorted(of_queue, k)
            self.links[k]["n"] = np.count_nonzero(of_queue == k)
            link_hops = self.hops[of_queue == k]
            single = (link_hops["count"] == 1).all() and not link_hops["from_outside"].any()
            self.links[k]["single"] = single
            self.links[k]["clocked"] = (link_hops["is_tcp"] > link_hops["is_ack"]).all()
        clocked = self.links["clocked"] > 0
        follows = self.hops["next"] >= 0
        own_clocked, next_clocked = clocked[self.hops["queue"]], clocked[self.hops["next_link"]]
        self.hops["passes_growth"] = follows & own_clocked & next_clocked
        self._lay_out_tables()
        self._lay_out_changes()

    def lay_out_delays(
        self, rows: Any, hops: Any, way: np.ndarray, routes: Sequence[Route], steps: Any
    ) -> None:
        """Delays in whole steps: those of the path up to each link are rounded, not each delay.

        Args:
            rows: a flow's record in each of several worlds.
            hops: the hops of these worlds, shape [world, hop], of which the flow has those in the
                columns `way`.
            routes, steps: of the flow in each world, and the time step.
        """
        parts = np.array([route.before for route in routes]).T
        at, passed, delays = 0.0, 0.0, []
        for j, before in enumerate(parts):
            passed = passed + before
            # a link that is served earlier in a step than the one before
            later = bool(j) and hops["queue"][0, way[j]] <= hops["queue"][0, way[j - 1]]
            delays.append(np.maximum(np.rint(passed / steps), at + later) - at)
            at = at + delays[-1]
        base = np.array([route.base_rtt for route in routes])
        last = np.maximum(np.rint(base / steps), at + 1) - at
        rows["to_first"] = delays[0] if delays else 0
        for h, delay, before in zip(way, [*delays[1:], last], parts, strict=False):
            hops["delay"][:, h], hops["before"][:, h] = delay, before / steps
            if not hops["is_ack"][0, h]:
                hops["hold"][:, h] = base
        rows["to_sender"] = last
        rows["back"] = np.array([route.after for route in routes]) / steps
        rows["base"] = base
        rows["one_way"] = [sum(x.before[: x.n_forward]) + x.to_receiver for x in routes]

    def lay_out_flow(self, rows: Records, k: int, i: int, flow: ResolvedFlow) -> np.ndarray:
        """Write all but its place and `write_flow`'s numbers into record `k` of FLOW records, for
        row `i` of the scenario; returns the controller's state."""
        spec, controller = flow.spec, flow.controller
        if isinstance(spec, Flow) and controller and i not in self.as_packets:
            recovery = RECOVERIES[flow.recovery]
            if not recovery.law:
                raise ScenarioError(
                    f"flow {flow.name!r}: recovery {flow.recovery!r} has no law for the fluid"
                    f" model: set Recovery(law=...) to one of {', '.join(LAWS)}"
                )
            rows[k] = _sender_of(spec.transport, controller, recovery)[0]
            pieces = piece_fields(spec.transport, spec.packet_size - spec.header)
            for name, value in pieces.items():
                rows[k][name] = value
        row = rows[k]
        row["index"], row["bins"] = i, address(self.flow_bins[self.bin_row[i]])
        row["count"] = spec.count
        row["size"] = row["write_at"] = math.inf
        row["finished"] = math.nan
        if i in self.as_packets:
            row["kind"], row["status"] = t.CBR, r.FINISHED
            return np.zeros(0)
        if isinstance(spec, CBR):
            row["kind"], row["rate"] = t.CBR, spec.rate / (8 * spec.packet_size)
            times = np.array([(a, math.inf if b is None else b) for a, b in spec.on]).ravel()
            self.owned.append(times)
            row["state"], row["n_on"] = address(times), len(spec.on)
            return times
        assert controller is not None
        state = self.controllers.fill(row, flow)
        self.owned.append(state)
        if flow.recorded_states:
            self.notes[i] = Notes(flow.recorded_states, state.dtype, self.n_bins)
            self.notes[i].fill(row)
        if spec.writes:
            row["waits"] = AFTER_ITEM
        if controller.header:
            self.headers.fill_flow(row, controller)
        if controller.on_mark is None:
            row["on_mark"] = row["on_loss"]
        stamps = [place_of(controller, x) for pair in controller.stamps.items() for x in pair]
        if stamps:
            self.owned.append(np.array(stamps))
            row["stamps"] = address(self.owned[-1])
        return state

    def write_flow(self, rows: Records, i: int, cases: Sequence[FluidCase]) -> None:
        """Write the numbers of row `i` of the scenarios into a flow's record in each world."""
        specs = [case.rows[i].spec for case in cases]
        rows["start"] = [spec.start for spec in specs]
        rows["stop"] = [math.inf if spec.stop is None else spec.stop for spec in specs]
        if i in self.as_packets or isinstance(specs[0], CBR):
            return
        rows["size"] = [math.inf if spec.size is None else spec.size for spec in specs]
        if specs[0].writes:
            rows["size"] = 0.0
            rows["write_at"] = [spec.start + spec.writes[0][0] for spec in specs]
        packets = [packets_in_run(x.resolved, x.rows[i], x.scenario.duration) for x in cases]
        rows["most"] = np.maximum(np.array(packets) * specs[0].count, SENSIBLE)
        rows["noise"] = [case.noises[i] for case in cases]

    def _lay_out_changes(self) -> None:
        """The scheduled changes of links and receive windows, as numbers to be written at a step.

        A change of delay concerns the fluid that leaves the link from then on.
        """
        rows: list[tuple[int, int, int, float, int]] = []
        links = list(self.resolved.links)

        def write(at: float, array: Any, name: str, row: int, value: float) -> None:
            is_whole = array[name].dtype.kind == "i"
            where = address(array) + row * array.itemsize + array.dtype.fields[name][1]
            whole = int(value) if is_whole else 0
            rows.append((round(at / self.step), where, int(is_whole), float(value), whole))

        for change in self.resolved.changes:
            spec, index = change.spec, change.link
            if spec.rwnd is not None:
                for i in change.flows:
                    write(spec.at, self.flows, "next_rwnd", i, spec.rwnd)
                    at = address(self.acts_at) + i * self.acts_at.itemsize
                    rows.append((round(spec.at / self.step), at, 1, 0.0, 0))  # the sender acts
                continue
            new = {n: getattr(spec, n) for n in ("rate", "delay", "loss", "buffer", "jitter")}
            if spec.rate == 0:  # while a link is down nothing leaves it: its delay is of no use
                del new["rate"]
            links[index] = links[index]._with(**{n: v for n, v in new.items() if v is not None})
            row = self.place[index]
            for name, value in (("rate", spec.rate), ("loss", spec.loss), ("limit", spec.buffer)):
                if value is not None:
                    write(spec.at, self.links, name, row, value)
            for name, value in dict(spec.queue).items():
                memory = self.queues[index]
                write(spec.at, memory.params, name, 0, value)
            if spec.delay is None and spec.jitter is None and spec.rate is None:
                continue
            for i, flow in enumerate(self.resolved.rows):
                if index not in (*flow.forward, *flow.reverse):
                    continue
                if i < len(self.resolved.flows):
                    of_flow, at, hops, way = self.flows, i, self.hops, self.ways[i]
                else:
                    assert self.conversations is not None
                    at = i - len(self.resolved.flows)
                    of_flow, hops = self.conversations.models, self.conversations.hops[at]
                    way = np.arange(len(hops))
                trial = np.zeros(1, r.FLOW), hops.copy()
                route = route_of(links, flow, set(self.kept))
                self.lay_out_delays(trial[0], alone(trial[1]), way, [route], self.step)
                for name in ("to_first", "to_sender", "back", "base", "one_way"):
                    write(spec.at, of_flow, name, at, trial[0][name][0])
                for h in way:
                    for name in ("delay", "before"):
                        write(spec.at, hops, name, int(h), trial[1][name][h])
        rows.sort(key=lambda row: row[0])
        self.changes = np.array(rows, r.CHANGE)
        self.w["changes"], self.w["n_changes"] = address(self.changes), len(rows)

    def _shapes(self) -> Iterator[tuple[Any, dict[str, tuple[int, ...]]]]:
        """The tables of the world and of each link: the record with their addresses, and shapes."""
        w, n = self.w[0], self.headers.n_words
        rows, flows = int(w["mask"]) + 1, len(self.flows)
        words, column = words_for(flows), (flows, rows + r.SPARE)
        of_world: dict[str, tuple[int, ...]] = dict.fromkeys(r.FLOW_COLUMNS, column)
        of_world |= {"waits": (rows, len(self.links))}
        of_world |= {"returned": (rows, words), "returned_words": (rows, flows, n)}
        of_world |= {"awake": (1, words), "syn_words": (1, flows, n), "own_words": (1, 1, n)}
        yield w, of_world
        for x in self.links:
            link_rows, hops = int(x["mask"]) + 1, int(x["n"])
            column = hops, link_rows + r.SPARE
            of_link: dict[str, tuple[int, ...]] = dict.fromkeys(r.HOP_COLUMNS, column)
            of_link |= {
                "bits": (link_rows, 1),
                "gaps": (link_rows, 1),
                "present": (link_rows, words_for(hops)),
            }
            of_link |= {"hop_words": (link_rows, hops, n), "carried_words": (1, hops, n)}
            of_link |= {"hop_waits": (rows, hops if x["packets"] else 0)}
            yield x, of_link | dict.fromkeys(r.OF_HOPS, (1, hops))

    def _lay_out_tables(self) -> None:
        """Make the tables, for the longest waits so far, or make them longer or wider: what is new
        is at the end."""
        reach = self.links["reach"].tolist()
        self.w["mask"] = self.case.table_rows(dict(zip(self.kept, reach, strict=True))) - 1
        self.links["mask"] = [self.case.link_rows(steps) - 1 for steps in reach]
        for k, (record, shapes) in enumerate(self._shapes()):
            old = self.tables[k] if k < len(self.tables) else {}
            if all(name in old and old[name].shape == shape for name, shape in shapes.items()):
                continue
            ends_at = np.cumsum([math.prod(shape) for shape in shapes.values()]).tolist()
            memory = np.zeros(ends_at[-1])
            base, begin = address(memory), 0
            tables = {}
            for (name, shape), end in zip(shapes.items(), ends_at, strict=True):
                tables[name] = memory[begin:end].reshape(shape)
                record[name] = base + r.NUMBER * begin
                begin = end
                if name in old:
                    self._copy_rows(name, old[name], tables[name])
            self.tables[k : k + 1] = [tables]
        w = self.w[0]
        for i in np.flatnonzero(self.flows["n_history"]).tolist():
            past = self.histories.get(i)
            if past is None or len(past) <= w["mask"]:
                history = np.zeros((int(w["mask"]) + 1, self.flows["n_history"][i]))
                if past is not None:
                    self._copy_rows("history", past, history)
                self.histories[i] = history
                self.flows["history"][i] = address(history)
        self._lay_out_waits()
        self._lay_out_words()
        self._lay_out_targets()
        w["flows"], w["n_flows"], w["hops"] = (
            address(self.flows),
            len(self.flows),
            address(self.hops),
        )
        w["n_words"], w["acts_at"], w["soonest"] = self.headers.n_words, address(self.acts_at), 0

    def _copy_rows(self, name: str, old: np.ndarray, new: np.ndarray) -> None:
        """Copy the rows of the steps that a table has, to their places in a larger one."""
        if not old.any():  # reading zeros needs no memory
            return
        if name in r.FLOW_COLUMNS or name in r.HOP_COLUMNS:
            old, new = old[:, : -r.SPARE].T, new[:, : -r.SPARE].T
        width = old.shape[1]
        if len(old) == len(new):
            new[:, :width] = old
            return
        steps = np.arange(len(old)) + int(self.w["k"][0]) - len(old)
        steps += 0 if name in r.OF_PAST else self.case.ahead
        new[steps & (len(new) - 1), :width] = old[steps & (len(old) - 1)]

    def _lay_out_words(self) -> None:
        """Which hops have header fields."""
        carried = self.flows["carries"][self.hops["flow"]]
        needed = self.links["needs"][self.hops["queue"]]
        reads = self.links["n_words"][self.hops["queue"]] > 0
        self.hops["has_words"] = carried != 0
        self.links["carries"] = self.links["in_amounts"]
        self.links["carries"][self.hops["queue"][carried != 0]] = 1
        self.hops["sees"] = reads & (carried & needed == needed) & (self.hops["is_ack"] == 0)

    def _lay_out_targets(self) -> None:
        """Where what leaves hosts and hops goes (`fluid_records.TARGET`)."""
        w, links = self.w[0], self.links
        tables = {
            name: np.append(links[name], of_world)  # the last one is the senders'
            for name, of_world in (
                ("fluid", w["acked"]), ("present", w["returned"]), ("mask", w["mask"]),
                ("first", 0), ("n", len(self.flows)),
            )
        }  # fmt: skip
        table_of_hop = np.append(self.hops["queue"], len(links))
        first = [way[0] if len(way) else -1 for way in self.ways]
        is_tcp = [self.resolved.rows[row].is_tcp for row in self.owner]
        for rows, hop, flow, returns in (
            (self.flows, np.array(first, np.int64), np.arange(len(self.flows)), np.array(is_tcp)),
            (self.hops, self.hops["next"], self.hops["flow"], self.hops["is_tcp"] != 0),
        ):
            of = {name: values[table_of_hop[hop]] for name, values in tables.items()}
            column = np.where(hop >= 0, hop - of["first"], flow)
            rows["target"] = np.where((hop >= 0) | returns, of["fluid"], 0)
            rows["target_mask"], rows["target_column"] = of["mask"], column
            rows["target_set"] = of["present"] + r.NUMBER * (column >> SHIFT)
            rows["target_stride"] = r.NUMBER * words_for(of["n"])
            rows["target_bit"] = 1 << (column & (IN_WORD - 1))

    def _lay_out_waits(self) -> None:
        """Where the queueing delays of each hop are: its own or those of a FIFO link."""
        hops, links = self.hops, self.links
        queue = hops["queue"]
        own = links["packets"][queue] != 0
        hops["place"] = np.where(own, np.arange(len(hops)) - links["first"][queue], queue)
        hops["stride"] = np.where(own, links["n"][queue], len(links))
        hops["waits"] = np.where(own, links["hop_waits"][queue], self.w["waits"])

    def run(self, until: int) -> None:
        """Advance to step `until`.

        Raises:
            RuleError: a rule divided by zero, or a window is not a positive finite number.
        """
        from tcpcc.models.fluid.fluid_step import run_steps

        addresses = np.array([address(self.w)], np.int64)
        try:
            run_steps(address(addresses), 1, until)
            while self.w["need"][0]:
                self.make_room()
                run_steps(address(addresses), 1, until)
        except ArithmeticError as error:
            self._check_windows()
            rules = suspects(self.senders(), self.resolved.links, self.queues)
            raise blame(error, float(self.w["k"][0]) * self.step, rules) from None

    def make_room(self) -> None:
        if self.w["need"][0] == r.LONGER_TABLES:
            self._lay_out_tables()
        else:
            assert self.conversations is not None
            self.conversations.grow()
        self.w["need"] = 0

    def _check_windows(self) -> None:
        """Refuse a window that no path fills.

        Raises:
            TcpccError: there is one.
        """
        for name, controller, row in self.senders():
            if controller is None:
                continue
            state = record_view(controller.state_dtype, int(row["state"]))
            window = min(float(state["cwnd"]), float(row["rwnd"]))
            if window > row["most"]:
                raise TcpccError(
                    f"flow {name!r}, controller {controller.name!r}: its window at t ="
                    f" {self.w['k'][0] * self.step:g} s is {window:.3g} packets:"
                    f" {beyond_run(row['most'])}"
                )

    def senders(self) -> Iterator[tuple[str, Controller | None, Any]]:
        """Name, controller and record of each sender that may have called a rule."""
        for i, flow in enumerate(self.resolved.flows):
            if i not in self.as_packets:
                yield flow.name, flow.controller, self.flows[i]
        for place in range(len(self.resolved.flows), len(self.flows)):
            if self.flows["conversation"][place]:
                assert self.conversations is not None
                flow, name = self.conversations.kind_at(place)
                yield name, flow.controller, self.flows[place]
