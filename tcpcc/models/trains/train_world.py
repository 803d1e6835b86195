"""The memory of a run in trains."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, longer, rule_address
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import ScenarioError, positive
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.header_memory import uses_headers
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.models.packet.representatives import refuse_counts, spread_starts
from tcpcc.models.trains import train_records as t
from tcpcc.models.trains.link_kinds import first_queue, kinds_of_links, lag_at, specs_of
from tcpcc.models.trains.train_limits import warn_of_crowds
from tcpcc.scenario.resolve import Senders
from tcpcc.scenario.traffic import CBR
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from pathlib import Path

    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow

RINGS = 2**18  # segments that the first rings of all senders have together, at most
LONGEST_RING = 1024  # segments, at first
ALL = 10_000  # flows; more are not simulated each where a packet cannot stand for several


def resolved_for(scenario: Scenario, senders: Senders) -> Resolved:
    """The scenario with at most so many senders of a flow with a count.

    Where a packet cannot stand for several, up to `ALL` flows are simulated each.

    Raises:
        ScenarioError: there are more.
    """
    resolved = scenario.resolve(senders=senders)
    try:
        refuse_counts(scenario, resolved)
    except ScenarioError:
        if sum(flow.count for flow in scenario.flows) > ALL:
            raise
        return scenario.resolve()
    return spread_starts(scenario, resolved)


def can_coast(tcp: Any, flow: ResolvedFlow) -> bool:
    """Whether a flow can do without the records of its segments (:mod:`.coasting`)."""
    coasts = bool(flow.recovery) and RECOVERIES[flow.recovery].coasts
    return coasts and tcp["delivery"] == 0 and tcp["pieces"] == 0


class TrainWorld(PacketWorld):
    """The packet model's memory, and that of trains.

    Args:
        scenario: the scenario to run.
        per_rtt: trains are shorter than a round trip over this number.
        senders: largest number of senders of a flow with a `count`.
        model: name of the model in the record.
        single: tells the flows of which each packet is a train of its own.
        trace, stream: as in `tcpcc.simulate`. A flow with a trace sends single packets.

    Raises:
        ScenarioError: `per_rtt` is not positive; too many flows of which a packet cannot stand for
            several.
    """

    engine = "tcpcc.models.trains.train_events"

    def __init__(
        self,
        scenario: Scenario,
        per_rtt: float,
        senders: Senders = Senders(),  # noqa: B008
        model: str = "packet",
        single: Callable[[ResolvedFlow], bool] = lambda flow: False,
        *,
        trace: bool | Selection = False,
        stream: str | Path | None = None,
    ) -> None:
        self.model, self.settings = model, {"trains": positive("trains", per_rtt)}
        resolved = resolved_for(scenario, senders)
        super().__init__(scenario, trace, stream=stream, resolved=resolved)
        warn_of_crowds(resolved, model)
        w: Any = self.w[0]
        self.trains = blank(1, t.TRAIN)
        self.lines = blank(len(self.paths.hops), t.LINE)
        self.acks = blank(0, t.LINE)
        self.open = np.zeros(0, t.OPEN_TRAIN)
        self.logs = blank(len(self.resolved.flows) * t.LOG_SIZE, t.SENT)
        self.pools = blank(len(self.links), t.POOL)
        self.pools["size"] = self.pools["each"] = 1.0
        w["per_rtt"] = per_rtt
        w["unused_train"] = 1
        w["lines"], w["pools"] = address(self.lines), address(self.pools)
        kinds = kinds_of_links(self)
        self._lay_out_lines(kinds)
        self._lay_out_rings()
        self.grow()
        for i, flow in enumerate(self.resolved.flows):
            is_cbr = isinstance(flow.spec, CBR)
            traced = bool(self.flows["traced"][i])
            alone = single(flow)
            self.open["single"][i] = is_cbr or alone or traced or uses_headers(flow)
            self.open["log"][i] = address(self.logs[i * t.LOG_SIZE :])
            hop, row = first_queue(kinds, self.paths._hops_of(flow.forward))
            self.open["meets"][i] = hop
            if hop >= 0 and kinds[row] == t.LONE:
                self.open["lag"][i] = lag_at(self, flow, hop)
            self.tcp["coasts"][i] = can_coast(self.tcp[i], flow)
            if is_cbr:
                rtt = 2 * sum(self.resolved.links[link].delay for link in flow.forward)
                packets = rtt / per_rtt / self.cbr["interval"][i]
                self.cbr["train"][i] = 1 if alone else min(max(int(packets), 1), 2**16)
        self._lay_out_counts()
        for i, link in enumerate(self.resolved.links):
            if math.isfinite(link.buffer) or self.pools["rule"][i] > 0:
                seed_stream(self.pools[i], self.scenario.seed, f"link {link.name}: trains")

    def _lay_out_lines(self, kinds: dict[int, int]) -> None:
        """Write the kinds of all hops, and the mean sizes of packets on their links."""
        paths = self.paths
        for number, flow in paths._paths():
            forward, reverse = paths._hops_of(flow.forward), paths._hops_of(flow.reverse)
            for k, link in enumerate(forward + reverse):
                self.lines["kind"][paths.path_of[number] + k] = kinds[link]
                pool = self.pools[link]
                for spec in specs_of(self, number, flow):
                    size = spec.packet_size if k < len(forward) else spec.ack_size
                    pool["mixed"] = pool["mixed"] or (pool["size"] > 1 and pool["size"] != size)
                    pool["size"] = max(pool["size"], size)
                pool["unused"] = kinds[link] == t.SINGLE
                if kinds[link] == t.SINGLE:
                    self._end_by_event(paths.path_of[number] + k, link)

    def _lay_out_rings(self) -> None:
        """Enlarge the rings of few senders: a stop to enlarge one costs as much as 500 trains."""
        room = min(RINGS // max(len(self.resolved.flows), 1), LONGEST_RING)
        for (name, i), ring in list(self.rings.arrays.items()):
            if name in ("segments", "stamps") and 2 * len(ring) <= room:
                bigger = blank(1 << room.bit_length() - 1, ring.dtype)
                self.rings.place(self.tcp, name, i, bigger)

    def _lay_out_counts(self) -> None:
        """Write how many packets one packet stands for on each link, and the rules for amounts."""
        flows: dict[int, list[int]] = {}
        for flow in self.resolved.flows:
            if flow.spec.count > 1:
                for link in flow.forward + flow.reverse:
                    flows.setdefault(link, []).append(flow.spec.count)
        for i, counts in flows.items():
            if i >= len(self.scenario.net.links):
                continue
            self.pools["each"][i] = sum(c * c for c in counts) / sum(counts)
            queue, discipline = self.queues.get(i), self.resolved.links[i].queue.discipline
            if discipline.in_amounts:
                self.pools["rule"][i] = -1
            elif queue is not None and discipline.on_fluid is not None:
                dtypes = (queue.state.dtype, queue.params.dtype, queue.sample.dtype)
                self.pools["rule"][i] = rule_address(discipline.on_fluid, *dtypes)

    def _end_by_event(self, hop: int, link: int) -> None:
        """Let the packets of the packet model leave its link by an event at this hop."""
        paths = self.paths
        if paths.hops["then"][hop] != r.OVERTAKEN:
            paths.hops["then"][hop] = r.BY_EVENT
            if ("flight", link) not in self.rings.arrays:
                ring = blank(r.FIRST_RING, r.PACKET)
                self.rings.place(paths.lanes, "flight", link, ring)

    def in_trains(self) -> np.ndarray[Any, Any]:
        """Packets and ACKs on their way, by flow; the tests check that no packet is lost."""
        packets = np.zeros(len(self.flows), np.int64)
        for line in (*self.lines, *self.acks):
            place = line["head"]
            while place:
                packets[self.trains[place]["flow"]] += self.trains[place]["count"]
                place = self.trains[place]["after"]
        return packets

    def grow(self) -> None:
        """Make room for the next event: it may turn each outstanding packet of a flow into a train
        of its own, when every other packet of a long train is dropped."""
        w: Any = self.w[0]
        if w["want"] > 0:  # nothing else is short: the flow asks before its event
            for name in ("segments", "stamps"):
                if (name, int(w["want"]) - 1) in self.rings.arrays:
                    self.rings.enlarge(self.tcp, name, int(w["want"]) - 1)
            longest = int(self.tcp["segment_mask"][w["want"] - 1])
            w["want"] = w["need"] = 0
        else:
            super().grow()
            longest = int(self.tcp["segment_mask"].max(initial=0))
        w["train_margin"] = max(w["train_margin"], longest + 64)
        if w["n_free_trains"] < w["train_margin"]:
            self._add(max(len(self.trains), 2 * int(w["train_margin"])))
        while self.headers.used and w["n_spare_headers"] < 2 * w["train_margin"]:
            self.headers.grow(int(2 * w["train_margin"]))
        more = len(self.flows) - len(self.open)
        if more > 0:  # places of conversations
            self.acks, self.open = longer(self.acks, more), longer(self.open, more)
            self.open["single"][-more:], self.open["meets"][-more:] = 1, -1
            w["ack_lines"], w["open_trains"] = address(self.acks), address(self.open)

    def _add(self, room: int) -> None:
        """Add places for trains; memory that no train has used yet is not touched."""
        w: Any = self.w[0]
        trains = blank(len(self.trains) + room, t.TRAIN)
        trains[: w["unused_train"]] = self.trains[: w["unused_train"]]
        self.trains = trains
        w["trains"] = address(trains)
        w["n_free_trains"] += room
