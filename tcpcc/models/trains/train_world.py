"""The memory of a run in trains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, longer, rule_address
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import ScenarioError, positive
from tcpcc.models.layout import in_single_packets
from tcpcc.models.limits import warn_of_crowds, warn_of_two_ways
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.header_memory import uses_headers
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.models.packet.representatives import refuse_counts, spread_starts
from tcpcc.models.trains import train_records as t
from tcpcc.models.trains.link_kinds import Use, first_queue, kinds_of_links, lag_at, uses_of_links
from tcpcc.scenario.resolve import Senders
from tcpcc.scenario.traffic import CBR
from tcpcc.transport.recovery import RECOVERIES

if TYPE_CHECKING:
    from pathlib import Path

    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

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


def world_of(
    scenario: Scenario,
    trains: float,
    senders: float,
    trace: bool | Selection,
    stream: str | Path | None,
) -> PacketWorld:
    """The memory of the packet model with `trains`: that of packets if each train has one."""
    resolved = resolved_for(scenario, Senders(senders, senders))
    if in_single_packets(resolved, positive("trains", trains), scenario.duration):
        return PacketWorld(scenario, trace, stream=stream, senders=senders)
    warn_of_two_ways(resolved, "trains")
    return TrainWorld(scenario, trains, resolved, trace=trace, stream=stream)


class TrainWorld(PacketWorld):
    """The packet model's memory, and that of trains.

    Args:
        scenario: the scenario to run.
        per_rtt: trains are shorter than a round trip over this number.
        resolved: the resolved scenario. Default: with a sender for each flow.
        model: name of the model in the record.
        only_background: only the background is in trains; of another flow each packet is a train of
            its own.
        trace, stream: as in `tcpcc.simulate`. A flow with a trace sends single packets.

    Raises:
        ScenarioError: `per_rtt` is not positive.
    """

    engine = "tcpcc.models.trains.train_events"

    def __init__(
        self,
        scenario: Scenario,
        per_rtt: float,
        resolved: Resolved | None = None,
        model: str = "packet",
        *,
        only_background: bool = False,
        trace: bool | Selection = False,
        stream: str | Path | None = None,
    ) -> None:
        self.model, self.settings = model, {"trains": positive("trains", per_rtt)}
        resolved = resolved or scenario.resolve()
        # a stop to enlarge a ring costs as much as 500 trains
        room = max(RINGS // max(len(resolved.flows), 1), r.FIRST_RING)
        self.first_ring = 1 << min(room, LONGEST_RING).bit_length() - 1
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
        uses = uses_of_links(self)
        kinds = kinds_of_links(self, uses)
        self._lay_out_lines(uses, kinds)
        self.grow()
        for i, flow in enumerate(self.resolved.flows):
            is_cbr = isinstance(flow.spec, CBR)
            alone = only_background and not flow.spec.background
            traced = bool(self.flows["traced"][i])
            self.open["single"][i] = is_cbr or alone or traced or uses_headers(flow)
            self.open["log"][i] = address(self.logs[i * t.LOG_SIZE :])
            hop, row = first_queue(kinds, self.paths.hops_of(flow.forward))
            self.open["meets"][i] = hop
            if hop >= 0 and kinds[row] == t.LONE:
                self.open["lag"][i] = lag_at(self, flow, hop)
            if flow.recovery and RECOVERIES[flow.recovery].coasts:
                self.tcp["coasts"][i] = self.tcp["delivery"][i] == 0 and self.tcp["pieces"][i] == 0
            if is_cbr:
                rtt = 2 * sum(self.resolved.links[link].delay for link in flow.forward)
                packets = rtt / per_rtt / self.cbr["interval"][i]
                self.cbr["train"][i] = 1 if alone else min(max(int(packets), 1), 2**16)
        for i, link in enumerate(self.resolved.links):
            if math.isfinite(link.buffer) or self.pools["rule"][i] > 0:
                seed_stream(self.pools[i], self.scenario.seed, f"link {link.name}: trains")

    def _lay_out_lines(self, uses: dict[int, Use], kinds: dict[int, int]) -> None:
        """Write the kinds of all hops, and of which packets their links have a queue."""
        for link, use in uses.items():
            sizes = use.sizes | use.ack_sizes
            self.pools["size"][link], self.pools["mixed"][link] = max(sizes), len(sizes) > 1
            self.pools["unused"][link] = kinds[link] == t.SINGLE
            if use.counts and link < len(self.scenario.net.links):
                self._lay_out_count(link, use.counts)
            for hop in use.hops:
                self.lines["kind"][hop] = kinds[link]
                if kinds[link] == t.SINGLE:
                    self._end_by_event(hop, link)

    def _lay_out_count(self, i: int, counts: list[int]) -> None:
        """Write how many packets one packet stands for on a link, and the rule for amounts."""
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

    def grow(self) -> None:
        """Make room for the next event: it may turn each outstanding packet of a flow into a train
        of its own, when every other packet of a long train is dropped."""
        w: Any = self.w[0]
        if w["want"] > 0:  # nothing else is short: the flow asks before its event
            i = int(w["want"]) - 1
            self._enlarge(i)
            longest = int(self.tcp["segment_mask"][i])
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
