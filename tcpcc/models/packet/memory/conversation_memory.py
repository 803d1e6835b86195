"""The memory of a run's conversations: a list of all of them, and places for the open ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import address, longer
from tcpcc.models.controller_memory import sample_of
from tcpcc.models.conversation_items import draw_all, items_begun
from tcpcc.models.conversation_records import AFTER_ACK, AFTER_ITEM
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.memory.recovery_memory import delivery_memory
from tcpcc.transport import flow_record as t

if TYPE_CHECKING:
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.scenario.resolve import ResolvedFlow

FIRST_PLACES = 16  # places for open conversations at the beginning


def _words(record: np.ndarray) -> np.ndarray:
    """A record as 8-byte words."""
    return record.view(np.int64).ravel()


class ConversationMemory:
    """All conversations of a world's workloads, ordered by their start times.

    Attributes:
        conversations: records CONVERSATION, shape [conversation]; their items are in the world's.
    """

    def __init__(self, world: PacketWorld) -> None:
        self.world = world
        self._owned: list[np.ndarray] = []
        self._first_place = len(world.flows)
        loads = world.resolved.workloads
        taken = len(world.items)
        self.conversations, items = draw_all(world.scenario, loads, syn=True, taken=taken)
        world.items = np.concatenate([world.items, items])
        self._lay_out_kinds()
        self._free = np.zeros(0, np.int64)
        w = world.w[0]
        w["state_words"], w["sample_words"] = self._state_words, self._sample_words
        w["delivery_word"] = self._delivery_word
        w["memory_words"] = self._memory.shape[1]
        w["conversations"] = address(self.conversations)
        w["n_conversations"] = len(self.conversations)
        w["kinds"] = address(self._kinds)
        self._add_places(FIRST_PLACES)

    def schedule_first(self) -> None:
        """Schedule the first conversation; each conversation schedules the next one."""
        if len(self.conversations):
            self.world.schedule.add(float(self.conversations["start"][0]), r.BEGINNING, 0)

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
        states, deliveries, extras = [], [], []
        for k, (path, kind, waits) in enumerate(paths):
            row, tcp = self._flows[k : k + 1], self._tcp[k : k + 1]
            world.senders.fill(row, tcp, self._first_place + k, kind)
            world.paths.fill(row, path, kind)
            row["waits"] = AFTER_ACK if waits else AFTER_ITEM
            tcp["awaits"] = 1
            row["bin"] = world.n_bins  # windows of conversations are not recorded
            states.append(_words(world.senders.controllers.fill(tcp, kind)))
            extras.append(_words(world.senders.recoveries.fill(tcp, kind.recovery)))
            deliveries.append(delivery_memory(tcp[0], kind))
        self._state_words = max(len(state) for state in states)
        samples = [_words(sample_of(kind)) for _, kind, _ in paths]
        self._sample_words = max(map(len, samples))
        first_extra = self._state_words + self._sample_words
        self._delivery_word = first_extra + max(map(len, extras))
        self._delivers = any(len(record) for record in deliveries)
        words = t.DELIVERY.itemsize // 8 if self._delivers else 0
        self._memory = np.zeros((len(paths), self._delivery_word + words), np.int64)
        for memory, record in zip(self._memory, deliveries, strict=True):
            if len(record):
                memory[self._delivery_word :] = _words(record)
        for memory, state, sample, extra in zip(self._memory, states, samples, extras, strict=True):
            memory[: len(state)] = state
            memory[self._state_words : self._state_words + len(sample)] = sample
            memory[first_extra : first_extra + len(extra)] = extra
        self._kinds = np.zeros(len(paths), r.KIND)
        for k in range(len(paths)):
            self._kinds["flow"][k] = address(self._flows[k : k + 1])
            self._kinds["tcp"][k] = address(self._tcp[k : k + 1])
            self._kinds["memory"][k] = address(self._memory[k])

    def _add_places(self, number: int) -> None:
        """Make room for `number` more simultaneous conversations."""
        world = self.world
        first = len(world.flows)
        world.flows = longer(world.flows, number)
        world.tcp = longer(world.tcp, number)
        base, size = address(world.tcp), world.tcp.itemsize
        world.tcp["address"] = base + size * np.arange(len(world.tcp))
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
        w["flows"], w["tcp"] = address(world.flows), base
        free = self._free[: int(w["free_places"])]
        room = np.zeros(len(world.flows) - self._first_place, np.int64)
        room[: len(free)] = free
        room[len(free) : len(free) + number] = np.arange(first + number - 1, first - 1, -1)
        self._free = room
        w["free"], w["free_places"] = address(room), len(free) + number

    def grow(self) -> None:
        """Double the number of places if none is free."""
        if self.world.w["free_places"][0] == 0:
            self._add_places(len(self.world.flows) - self._first_place)

    def kind_at(self, place: int) -> ResolvedFlow:
        """The kind of the conversation that occupies a place."""
        kind = int(self.conversations["kind"][self._number_at(place)])
        return self.world.resolved.rows[self._first_place + kind]

    def name_at(self, place: int) -> str:
        """The name for error messages of the conversation at a place: its kind and its number."""
        return f"{self.kind_at(place).name}, conversation {self._number_at(place)}"

    def _number_at(self, place: int) -> int:
        return int(self.world.flows["conversation"][place]) - 1

    def counters(self, name: str) -> np.ndarray:
        """A flow counter ("timeouts", "loss_events"), summed over each kind; shape [kind]."""
        total = self.conversations[name].copy()
        live = np.flatnonzero(self.conversations["place"] >= 0)
        total[live] = self.world.tcp[name][self.conversations["place"][live]]
        return np.bincount(self.conversations["kind"], total, minlength=len(self._kinds))

    def record(self) -> dict[str, Any]:
        """The items handed to connections, in the order of conversations; see `recording.ITEMS`."""
        syn = self._flows["handshake"]
        return items_begun(self.conversations, self.world.items, self._first_place, syn)
