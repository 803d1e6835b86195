"""The memory of a run's conversations: a list of all of them, and places for the open ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import address, longer
from tcpcc.models.controller_memory import place_of, sample_of
from tcpcc.models.conversation_items import Conversations
from tcpcc.models.conversation_records import AFTER_ACK, AFTER_ITEM
from tcpcc.models.fluid import fluid_records as r

if TYPE_CHECKING:
    from tcpcc.models.fluid.fluid_world import FluidWorld

FIRST_PLACES = 16  # places of a workload for open conversations at the beginning
FEW = 1 / 4  # part of the places


def _words(*records: np.ndarray) -> np.ndarray:
    """Records as 8-byte words."""
    return np.concatenate([record.view(np.int64).ravel() for record in records])


class PlaceMemory(Conversations):
    """The conversations of a world, and its places.

    A place belongs to a workload, for its hops are in the tables of the links.

    Attributes:
        models: of each kind of conversation the FLOW record that its places copy.
        hops: of each kind the HOP records of a place.
    """

    senders = "flows"

    def __init__(self, world: FluidWorld) -> None:
        super().__init__(world, syn=False)
        loads = world.resolved.workloads
        self.load_of = [k for k, load in enumerate(loads) for _ in load.kinds]
        self.models = np.zeros(len(self.load_of), r.FLOW)
        self.hops: list[np.ndarray] = []
        self.kinds = np.zeros(len(self.load_of), r.KIND)
        self.loads = np.zeros(len(loads), r.LOAD)
        self._owned: list[np.ndarray] = []
        self._memory: list[np.ndarray] = []
        self._n_places = [0] * len(loads)
        self._free = [np.zeros(0, np.int64)] * len(loads)  # places, the next one last
        self._lay_out_kinds()
        w = world.w[0]
        w["first_place"] = len(world.flows)
        w["kinds"], w["loads"] = address(self.kinds), address(self.loads)

    def _lay_out_kinds(self) -> None:
        """The records that places copy."""
        world = self.world
        for k, load in enumerate(self.load_of):
            row = self.first_row + k
            flow, model = world.resolved.rows[row], self.models[k]
            number = k - self.load_of.index(load)
            state = world.lay_out_flow(self.models, k, row, flow)
            world.write_flow(self.models[k : k + 1], row, [world.case])
            model["start"] = model["stop"] = math.inf
            waits = world.resolved.workloads[load].spec.conversations[number].waits
            model["waits"] = AFTER_ACK if waits else AFTER_ITEM
            model["n_hops"] = len(world.routes[row].links)
            self.hops.append(world.hops_of(row))
            way = np.arange(len(self.hops[k]))
            world.lay_out_delays(
                self.models[k : k + 1], self.hops[k][None], way, [world.routes[row]], world.step
            )
            self._memory.append(_words(state, sample_of(flow)))
            kind = self.kinds[k]
            kind["flow"] = address(self.models[k : k + 1])
            kind["hops"], kind["memory"] = address(self.hops[k]), address(self._memory[k])
            kind["words"], kind["load"] = len(self._memory[k]), load
            assert flow.controller is not None
            kind["stream"] = place_of(flow.controller, "mrg0") if flow.controller.chance else 0

    def add_places(self, load: int, number: int) -> None:
        """Make room for `number` more simultaneous conversations of a workload."""
        world = self.world
        first = len(world.flows)
        kind = self.load_of.index(load)
        world.flows = longer(world.flows, number)
        world.acts_at = longer(world.acts_at, number)
        world.owner += [self.first_row + kind] * number
        memory = np.zeros((number, self.kinds["words"][kind]), np.int64)
        state_dtype = world.resolved.rows[self.first_row + kind].algorithm.state_dtype
        self._owned.append(memory)
        for k in range(number):
            row = world.flows[first + k]
            row["status"], row["index"] = r.FREE, first + k
            row["state"] = address(memory[k])
            row["sample"] = row["state"] + state_dtype.itemsize
            for name in ("bins", "n_history", "reads_packets", "carries"):
                row[name] = self.models[name][kind]
        self._n_places[load] += number
        n_free, old = int(self.loads["n_free"][load]), self._free[load]
        free = np.zeros(self._n_places[load], np.int64)
        free[:number] = np.arange(first + number - 1, first - 1, -1)
        free[number : number + n_free] = old[:n_free]
        self._free[load] = free
        self.loads["free"][load], self.loads["n_free"][load] = address(free), number + n_free

    def grow(self) -> None:
        """Double the places of the workload that has none left, and of those that have few."""
        for load, n in enumerate(self._n_places):
            if self.loads["n_free"][load] <= FEW * n:
                self.add_places(load, n)
        self.world.arrange()
