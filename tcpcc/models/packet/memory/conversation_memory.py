"""The memory of a run's conversations: a list of all of them, and places for the open ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.controller_memory import sample_of
from tcpcc.models.conversation_items import Conversations
from tcpcc.models.conversation_records import AFTER_ACK, AFTER_ITEM
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.sender_memory import delivery_memory
from tcpcc.transport import flow_record as t

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld

FIRST_PLACES = 16  # places for open conversations at the beginning


class ConversationMemory(Conversations):
    """The conversations of a world, and its places; any conversation can take any place."""

    senders = "tcp"

    def __init__(self, world: PacketWorld) -> None:
        super().__init__(world, syn=True)
        self._owned: list[np.ndarray] = []
        self._lay_out_kinds()
        self._free = np.zeros(0, np.int64)
        self._add_places(FIRST_PLACES)

    def _lay_out_kinds(self) -> None:
        """For each kind, make the flow record, controller state and sample that places copy."""
        world = self.world
        paths = [
            (number, kind, spec.waits)
            for number, load in enumerate(world.resolved.workloads, len(world.resolved.flows))
            for kind, spec in zip(load.kinds, load.spec.conversations, strict=True)
        ]
        self._flows = np.zeros(len(paths), r.FLOW)
        self._tcp = np.zeros(len(paths), t.TCP_FLOW)
        parts = []  # of each kind: state, sample, recovery's state, DELIVERY if there is one
        for k, (path, kind, waits) in enumerate(paths):
            row, tcp = self._flows[k : k + 1], self._tcp[k : k + 1]
            world.senders.fill(row, tcp, self.first_row + k, kind)
            world.paths.fill(row, path, kind)
            row["waits"] = AFTER_ACK if waits else AFTER_ITEM
            tcp["awaits"] = 1
            row["bin"] = world.n_bins  # windows of conversations are not recorded
            records = (
                world.senders.controllers.fill(tcp, kind),
                sample_of(kind),
                world.senders.fill_recovery(tcp, kind.recovery),
                delivery_memory(tcp[0], kind),
            )
            parts.append([record.view(np.int64).ravel() for record in records])
        words = [max(map(len, column)) for column in zip(*parts, strict=True)]
        first = np.cumsum([0, *words])
        self._memory = np.zeros((len(paths), first[-1]), np.int64)
        for memory, part in zip(self._memory, parts, strict=True):
            for at, record in zip(first, part, strict=False):
                memory[at : at + len(record)] = record
        w = world.w[0]
        w["state_words"], w["sample_words"], w["delivery_word"] = words[0], words[1], first[3]
        w["memory_words"] = first[-1]
        w["kind_flows"], w["kind_tcp"] = address(self._flows), address(self._tcp)
        w["kind_memory"] = address(self._memory)
        self._delivers = words[3] > 0

    def _add_places(self, number: int) -> None:
        """Make room for `number` more simultaneous conversations."""
        world = self.world
        first = len(world.flows)
        world.add_rows(number, "flows", "tcp")
        rings = np.zeros((number, r.FIRST_RING), t.SEGMENT)
        memory = np.zeros((number, self._memory.shape[1]), np.int64)
        self._owned.append(memory)
        for k in range(number):
            world.rings.place(world.tcp, "segments", first + k, rings[k])
            if self._delivers:
                stamps = np.zeros(r.FIRST_RING, t.STAMP)
                world.rings.place(world.tcp, "stamps", first + k, stamps)
            world.tcp["state"][first + k] = address(memory[k])
        w = world.w[0]
        free = self._free[: int(w["free_places"])]
        room = np.zeros(len(world.flows) - self.first_row, np.int64)
        room[: len(free)] = free
        room[len(free) : len(free) + number] = np.arange(first + number - 1, first - 1, -1)
        self._free = room
        w["free"], w["free_places"] = address(room), len(free) + number

    def grow(self) -> None:
        """Double the number of places if none is free."""
        if self.world.w["free_places"][0] == 0:
            self._add_places(len(self.world.flows) - self.first_row)
