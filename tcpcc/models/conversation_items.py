"""All items of a run, of flows with `writes` and of conversations; the same in all models.

The items of a connection are contiguous: those of flows come first, then those of conversations,
which are drawn before the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import Records, address
from tcpcc.models.conversation_records import CONVERSATION, ENDLESS, ITEM
from tcpcc.scenario.workload_draws import drawn

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import ResolvedFlow


def _items_of(flow: ResolvedFlow, syn: bool) -> Records:
    """The records ITEM of a flow's `writes`."""
    writes = flow.spec.writes
    items: Any = np.zeros(len(writes), ITEM)
    limit, before = int(syn and len(writes) > 0 and flow.tcp.transport.handshake), 0.0
    for k, (time, size) in enumerate(writes):
        limit = ENDLESS if size is None else min(limit + size, ENDLESS)
        items["limit"][k], items["gap"][k], before = limit, time - before, time
    items["begun"] = items["done"] = math.nan
    return items


def lay_out_writes(
    flows: Sequence[ResolvedFlow], rows: Records, syn: bool, taken: int = 0
) -> Records:
    """The records ITEM of `flows`; their places, after those `taken`, are written into the flows'
    records, `rows`. `syn`: whether a connection with a handshake counts its SYN as a packet."""
    parts = [np.zeros(0, ITEM)]
    first = taken
    for k, flow in enumerate(flows):
        items = _items_of(flow, syn)
        if len(items):
            parts.append(items)
            rows["item"][k] = rows["undone"][k] = first
            first += len(items)
            rows["last_item"][k] = first
    return np.concatenate(parts)


def _draw_all(world: Any, syn: bool) -> tuple[Records, Records]:
    """The records CONVERSATION of a world, in the order in which they start, and those of ITEM. The
    scenario's seed selects the random numbers, by the names of the workloads."""
    scenario = world.scenario
    conversations: list[np.ndarray] = []
    items: list[np.ndarray] = []
    kinds = 0
    for load in world.resolved.workloads:
        draws = drawn(load.spec, load.name, scenario.seed, scenario.duration)
        rows = np.zeros(len(draws.start), CONVERSATION)
        rows["start"], rows["kind"] = draws.start, kinds + draws.kind
        rows["first"] = draws.first[:-1] + len(world.items) + sum(map(len, items))
        rows["items"] = np.diff(draws.first)
        rows["place"] = -1
        part = np.zeros(len(draws.packets), ITEM)
        before = np.concatenate([[0], np.cumsum(draws.packets)])
        part["limit"] = before[1:] - np.repeat(before[draws.first[:-1]], rows["items"])
        part["limit"] += int(syn and load.spec.flow.transport.handshake)
        part["gap"] = draws.gap
        part["begun"] = part["done"] = math.nan
        conversations.append(rows)
        items.append(part)
        kinds += len(load.kinds)
    in_any_order = np.concatenate(conversations)
    order = np.argsort(in_any_order["start"], kind="stable")
    return in_any_order[order], np.concatenate(items)


class Conversations:
    """All conversations of a world's workloads, ordered by their start times.

    Args:
        world: gets their items, behind those of its flows.
        syn: whether a connection with a handshake counts its SYN as a packet.

    Attributes:
        conversations: records CONVERSATION, shape [conversation].
        first_row: row of the scenario of the first kind of conversation.
    """

    senders = ""  # the world's records with the counters of open connections

    def __init__(self, world: Any, syn: bool) -> None:
        self.world = world
        self.first_row = len(world.resolved.flows)
        self.conversations, items = _draw_all(world, syn)
        world.items = np.concatenate([world.items, items])
        w = world.w[0]
        w["conversations"] = address(self.conversations)
        w["n_conversations"] = len(self.conversations)
        kinds = world.resolved.rows[self.first_row :]
        self._syn = np.array([syn and kind.spec.transport.handshake for kind in kinds], np.int64)

    def kind_at(self, place: int) -> tuple[ResolvedFlow, str]:
        """The kind of the conversation that occupies a place, and its name for error messages."""
        number = int(self.world.flows["conversation"][place]) - 1
        kind = self.world.resolved.rows[self.first_row + int(self.conversations["kind"][number])]
        return kind, f"{kind.name}, conversation {number}"

    def counters(self, name: str) -> np.ndarray:
        """A flow counter ("timeouts", "loss_events"), summed over each kind; shape [kind]."""
        total = self.conversations[name].copy()
        live = np.flatnonzero(self.conversations["place"] >= 0)
        total[live] = getattr(self.world, self.senders)[name][self.conversations["place"][live]]
        return np.bincount(self.conversations["kind"], total, minlength=len(self._syn))

    def items_begun(self) -> dict[str, Any]:
        """The items handed to connections, in the order of conversations; see `recording.ITEMS`."""
        counts = self.conversations["items"]
        owner = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.world.items[np.repeat(self.conversations["first"], counts) + place]
        before = np.where(place == 0, 0, np.roll(rows["limit"], 1))
        kind = self.conversations["kind"][owner]
        size = rows["limit"] - before - np.where(place == 0, self._syn[kind], 0)
        return _items_begun(rows, self.first_row + kind, owner, place, size.astype(float))


def recorded_items(world: Any) -> dict[str, Any] | None:
    """The items handed over in a run, with their rows in the record; see `recording.ITEMS`.

    Args:
        world: the memory of a run: `resolved`, `flows`, `items`, `conversations` and `bin_row`.
    """
    flows = world.resolved.flows
    recorded = [k for k in world.resolved.recorded if k < len(flows)]
    parts = [_writes_begun(world, k) for k in recorded if flows[k].spec.writes]
    if world.conversations is not None:
        parts.append(world.conversations.items_begun())
    if not parts:
        return None
    items = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return items | {"item_flow": world.bin_row[items["item_flow"]]}


def _writes_begun(world: Any, k: int) -> dict[str, Any]:
    """The items that the application of flow `k` has handed over; of no conversation: -1."""
    writes, end = world.resolved.flows[k].spec.writes, int(world.flows["last_item"][k])
    sizes = np.array([math.inf if size is None else float(size) for _, size in writes])
    n = len(writes)
    rows = world.items[end - n : end]
    return _items_begun(rows, np.full(n, k), np.full(n, -1), np.arange(n), sizes)


def _items_begun(
    rows: Records, flow: np.ndarray, conversation: np.ndarray, number: np.ndarray, size: np.ndarray
) -> dict[str, Any]:
    """Of some items those that have been handed over, as a part of a record."""
    begun = ~np.isnan(rows["begun"])
    columns = {
        "item_flow": flow,
        "item_conversation": conversation,
        "item_number": number,
        "item_size": size,
        "item_start": rows["begun"],
        "item_finished": rows["done"],
    }
    return {name: values[begun] for name, values in columns.items()}
