"""Trains: the packet model's senders, with several packets of a flow in one event."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import address, blank, longer
from tcpcc.engine.streams import seed_stream
from tcpcc.errors import positive
from tcpcc.models.progress import Progress
from tcpcc.models.trains.train_limits import refuse
from tcpcc.models.trains import train_records as t

if TYPE_CHECKING:
    from tcpcc.models.packet.packet_world import PacketWorld
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

AT_ONCE = 2**19


def simulate(
    scenario: Scenario, *, per_rtt: float = 8, bulk: bool = True, start: float = 4, progress: bool = False
) -> Run:
    """Run `scenario` with trains of at most 1/`per_rtt` of a round trip."""
    from tcpcc.models.packet import read_out
    from tcpcc.models.packet.packet_world import PacketWorld
    from tcpcc.models.trains.kernel import run_trains

    positive("per_rtt", per_rtt)
    begin = time.thread_time()
    refuse(scenario, scenario.resolve())
    world = PacketWorld(scenario)
    memory = TrainMemory(world, per_rtt, bulk, start)
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
    run = read_out.result(world, "compiled", time.thread_time() - begin)
    run.trains = {n: int(memory.x[n][0]) for n in t.TRAINS.names if n.startswith("n_")}
    run.trains["events"] = int(w["events"])
    return run


class TrainMemory:
    """The memory of trains beside the packet model's world."""

    def __init__(self, world: PacketWorld, per_rtt: float, bulk: bool, start: float) -> None:
        self.world = world
        self.x = np.zeros(1, t.TRAINS)
        x, n = self.x[0], len(world.flows)
        self.trains = blank(1, t.TRAIN)
        self.lines = blank(len(world.paths.hops), t.LINE)
        self.acks = blank(n, t.LINE)
        self.pools = blank(len(world.links), t.POOL)
        self.open = np.zeros(n, t.OPEN_TRAIN)
        self.pools["size"] = 1.0
        x["per_rtt"], x["bulk"], x["start"] = per_rtt, bulk, start
        for name in ("lines", "acks", "pools", "open"):
            x[name] = address(getattr(self, name))
        self._add(1024)
        self._kinds()
        for i, link in enumerate(world.resolved.links):
            if math.isfinite(link.buffer):
                seed_stream(self.pools[i], world.scenario.seed, f"link {link.name}: trains")

    def _kinds(self) -> None:
        world = self.world
        resolved, paths = world.resolved, world.paths
        feeders: dict[int, set] = {}
        data: dict[int, list] = {}
        slowest: dict[int, float] = {}
        for number, flow in enumerate(resolved.flows):
            for end, way in (("s", flow.forward), ("r", flow.reverse)):
                before = (end, number)
                for link in paths._hops_of(way):
                    feeders.setdefault(link, set()).add(before)
                    before = link
            for link in flow.forward:
                data.setdefault(link, []).append(number)
            slowest[number] = min(flow.forward, key=lambda i: resolved.links[i].rate)
        for number, flow in enumerate(resolved.flows):
            hops = paths._hops_of(flow.forward) + paths._hops_of(flow.reverse)
            for k, link in enumerate(hops):
                line = self.lines[paths.path_of[number] + k]
                line["flow"] = number
                if link >= len(resolved.links):
                    line["kind"] = t.STAGE
                    continue
                shared = bool(world.links["tracked"][link]) or len(feeders[link]) > 1
                if shared and link not in data:  # only ACKs
                    spec = resolved.links[link]
                    behind = {slowest[j] for j, g in enumerate(resolved.flows) if link in g.reverse}
                    need = sum(resolved.links[i].rate for i in behind)
                    ratio = min(g.spec.packet_size / g.spec.ack_size for g in resolved.flows)
                    if spec.rate * ratio >= need and spec.queue.discipline.on_arrival is None and (
                        spec.loss == 0
                    ):
                        line["kind"] = t.FREE
                        continue
                line["kind"] = t.SHARED if shared else t.OWN
                size = flow.spec.packet_size if link in flow.forward else flow.spec.ack_size
                pool = self.pools[link]
                pool["mixed"] = pool["mixed"] or (pool["size"] > 1 and pool["size"] != size)
                pool["size"] = max(pool["size"], size)

    def grow(self) -> None:
        x = self.x[0]
        if x["n_free"] < 64 + 64:
            self._add(len(self.trains))
        if x["want"] > 0:
            for name in ("segments", "stamps"):
                if (name, int(x["want"]) - 1) in self.world.rings.arrays:
                    self.world.rings.enlarge(self.world.tcp, name, int(x["want"]) - 1)
            x["want"] = 0

    def _add(self, room: int) -> None:
        x, first = self.x[0], len(self.trains)
        self.trains = longer(self.trains, room)
        after = self.trains["after"][first:]
        after[:] = np.arange(first + 1, first + 1 + room)
        after[-1] = x["free"]
        x["trains"], x["free"] = address(self.trains), first
        x["n_free"] += room
