"""Trains: the packet model's senders and receivers, with several packets of a flow in one event."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, blank, longer
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import positive
from tcpcc.models.progress import Progress
from tcpcc.models.trains import train_records as t
from tcpcc.models.trains.train_limits import refuse

if TYPE_CHECKING:
    from tcpcc.models.packet.packet_world import PacketWorld
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

AT_ONCE = 2**19


def simulate(scenario: Scenario, *, per_rtt: float = 8, progress: bool = False) -> Run:
    """Run `scenario` with trains of at most 1/`per_rtt` of a round trip."""
    from tcpcc.models.packet import read_out
    from tcpcc.models.packet.packet_world import PacketWorld
    from tcpcc.models.trains.train_events import run_trains

    positive("per_rtt", per_rtt)
    begin = time.thread_time()
    refuse(scenario, scenario.resolve())
    world = PacketWorld(scenario)
    memory = TrainMemory(world, per_rtt)
    w = world.w[0]
    with Progress(scenario.duration, progress) as bar:
        more = True
        while more:
            w["pause"] = w["events"] + AT_ONCE
            try:
                more = run_trains(world.address, address(memory.x), scenario.duration)
            except ArithmeticError as error:
                raise world.explain(error) from None
            if w["need"]:
                world.grow()
                memory.grow()
            bar.reach(min(float(w["now"]), scenario.duration) if more else scenario.duration)
    return read_out.result(world, "compiled", time.thread_time() - begin)


class TrainMemory:
    """The memory of trains beside the packet model's world."""

    def __init__(self, world: PacketWorld, per_rtt: float) -> None:
        self.world = world
        self.x = np.zeros(1, t.TRAINS)
        x: Any = self.x[0]
        n = len(world.flows)
        self.trains = blank(1, t.TRAIN)
        self.lines = blank(len(world.paths.hops), t.LINE)
        self.acks = blank(n, t.LINE)
        self.pools = blank(len(world.links), t.POOL)
        self.open = np.zeros(n, t.OPEN_TRAIN)
        self.pools["size"] = 1.0
        x["per_rtt"] = per_rtt
        for name in ("lines", "acks", "pools", "open"):
            x[name] = address(getattr(self, name))
        self.grow()
        world.in_trains = self.in_flight  # type: ignore[attr-defined]
        self._lay_out_lines()
        for i, link in enumerate(world.resolved.links):
            if math.isfinite(link.buffer):
                seed_stream(self.pools[i], world.scenario.seed, f"link {link.name}: trains")

    def _lay_out_lines(self) -> None:
        """Write the kinds of all hops, and the mean sizes of packets on their links."""
        world = self.world
        resolved, paths = world.resolved, world.paths
        kinds = self._kinds_of_links()
        for number, flow in enumerate(resolved.flows):
            hops = paths._hops_of(flow.forward) + paths._hops_of(flow.reverse)
            for k, link in enumerate(hops):
                line = self.lines[paths.path_of[number] + k]
                line["flow"], line["kind"] = number, kinds.get(link, t.STAGE)
                size = flow.spec.packet_size
                if k >= len(paths._hops_of(flow.forward)):
                    size = flow.spec.ack_size  # type: ignore[union-attr]
                pool = self.pools[link]
                pool["mixed"] = pool["mixed"] or (pool["size"] > 1 and pool["size"] != size)
                pool["size"] = max(pool["size"], size)

    def _kinds_of_links(self) -> dict[int, int]:
        """OWN, SHARED or FREE for every link of a path."""
        world, links = self.world, self.world.resolved.links
        feeders: dict[int, set[Any]] = {}
        with_data: set[int] = set()
        slowest: dict[int, set[int]] = {}  # of the data links behind a link of ACKs
        ratio = math.inf
        for number, flow in enumerate(world.resolved.flows):
            for end, way in (("sender", flow.forward), ("receiver", flow.reverse)):
                before: Any = (end, number)
                for link in world.paths._hops_of(way):
                    feeders.setdefault(link, set()).add(before)
                    before = link
            with_data.update(flow.forward)
            ratio = min(ratio, flow.spec.packet_size / flow.spec.ack_size)  # type: ignore[union-attr]
            least = min(flow.forward, key=lambda i: links[i].rate)
            for link in flow.reverse:
                slowest.setdefault(link, set()).add(least)
        kinds = {}
        for link in feeders:
            if link >= len(links):
                continue
            shared = bool(world.links["tracked"][link]) or len(feeders[link]) > 1
            kinds[link] = t.SHARED if shared else t.OWN
            plain = links[link].queue.discipline.on_arrival is None and links[link].loss == 0
            if shared and plain and link not in with_data:
                needed = sum(links[i].rate for i in slowest[link]) / ratio
                if links[link].rate >= needed:
                    kinds[link] = t.FREE
        return kinds

    def in_flight(self) -> np.ndarray[Any, Any]:
        """Packets and ACKs on their way, by flow; the tests check that no packet is lost."""
        packets = np.zeros(len(self.world.flows), np.int64)
        for lines, owners in ((self.lines, self.lines["flow"]), (self.acks, range(len(packets)))):
            for line, owner in zip(lines, owners, strict=True):
                place = line["head"]
                while place:
                    packets[owner] += self.trains[place]["count"]
                    place = self.trains[place]["after"]
        return packets

    def grow(self) -> None:
        """Make room for the next event: it may turn each outstanding packet of a flow into a train
        of its own, when every other packet of a long train is dropped."""
        x: Any = self.x[0]
        if x["want"] > 0:
            for name in ("segments", "stamps"):
                if (name, int(x["want"]) - 1) in self.world.rings.arrays:
                    self.world.rings.enlarge(self.world.tcp, name, int(x["want"]) - 1)
            x["want"] = 0
        x["margin"] = 2 * int(self.world.tcp["segment_mask"].max(initial=0)) + 64
        if x["n_free"] < 2 * x["margin"]:
            self._add(len(self.trains) + int(2 * x["margin"]))

    def _add(self, room: int) -> None:
        x: Any = self.x[0]
        first = len(self.trains)
        self.trains = longer(self.trains, room)
        after = self.trains["after"][first:]
        after[:] = np.arange(first + 1, first + 1 + room)
        after[-1] = x["free"]
        x["trains"], x["free"] = address(self.trains), first
        x["n_free"] += room
