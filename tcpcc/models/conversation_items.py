"""All items of a run, of flows with `writes` and of conversations; the same in all models.

The items of a connection are contiguous: those of flows come first, then those of conversations,
which are drawn before the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import Records
from tcpcc.models.conversation_records import CONVERSATION, ENDLESS, ITEM
from tcpcc.scenario.workload_draws import drawn

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import ResolvedFlow, ResolvedWorkload


def items_of(flow: ResolvedFlow, syn: bool) -> Records:
    """The records ITEM of a flow's `writes`; `syn` as in :func:`draw_all`."""
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
    records, `rows`."""
    parts = [np.zeros(0, ITEM)]
    first = taken
    for k, flow in enumerate(flows):
        items = items_of(flow, syn)
        if len(items):
            parts.append(items)
            rows["item"][k] = rows["undone"][k] = first
            first += len(items)
            rows["last_item"][k] = first
    return np.concatenate(parts)


def draw_all(
    scenario: Scenario, loads: Sequence[ResolvedWorkload], syn: bool, taken: int
) -> tuple[Records, Records]:
    """The records CONVERSATION of `loads`, in the order in which they start, and those of ITEM.

    Args:
        scenario: its seed selects the random numbers, by the names of the workloads.
        loads: the scenario's workloads.
        taken: number of items of flows, which come first.
        syn: whether a connection with a handshake counts its SYN as a packet.
    """
    conversations: list[np.ndarray] = []
    items: list[np.ndarray] = []
    kinds = 0
    for load in loads:
        draws = drawn(load.spec, load.name, scenario.seed, scenario.duration)
        rows = np.zeros(len(draws.start), CONVERSATION)
        rows["start"], rows["kind"] = draws.start, kinds + draws.kind
        rows["first"] = draws.first[:-1] + taken + sum(len(part) for part in items)
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


def items_begun(
    conversations: Records, items: Records, first_row: int, syn: np.ndarray
) -> dict[str, Any]:
    """The items handed to connections, in the order of conversations; see `recording.ITEMS`.

    Args:
        conversations, items: of the whole run.
        first_row: row of the first kind of conversation.
        syn: for each kind whether its connections count the SYN as a packet, 0 or 1.
    """
    counts = conversations["items"]
    owner = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = items[np.repeat(conversations["first"], counts) + place]
    before = np.where(place == 0, 0, np.roll(rows["limit"], 1))
    kind = conversations["kind"][owner]
    size = rows["limit"] - before - np.where(place == 0, syn[kind], 0)
    begun = ~np.isnan(rows["begun"])
    return {
        "item_flow": (first_row + kind)[begun],
        "item_conversation": owner[begun],
        "item_number": place[begun],
        "item_size": size[begun].astype(float),
        "item_start": rows["begun"][begun],
        "item_finished": rows["done"][begun],
    }


def recorded_items(world: Any) -> dict[str, Any] | None:
    """The items handed over in a run, with their rows in the record; see `recording.ITEMS`.

    Args:
        world: the memory of a run: `resolved`, `flows`, `items`, `conversations` and `bin_row`.
    """
    parts = [_writes_begun(world, k) for k in world.resolved.recorded if _writes(world, k)]
    if world.conversations is not None:
        parts.append(world.conversations.record())
    if not parts:
        return None
    items = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return items | {"item_flow": world.bin_row[items["item_flow"]]}


def _writes(world: Any, k: int) -> Any:
    flows = world.resolved.flows
    return flows[k].spec.writes if k < len(flows) else ()


def _writes_begun(world: Any, k: int) -> dict[str, Any]:
    """As :func:`items_begun`, of flow `k`; its items are of no conversation: -1."""
    writes, end = _writes(world, k), int(world.flows["last_item"][k])
    rows = world.items[end - len(writes) : end]
    begun = ~np.isnan(rows["begun"])
    sizes = np.array([math.inf if size is None else float(size) for _, size in writes])
    n = np.count_nonzero(begun)
    return {
        "item_flow": np.full(n, k),
        "item_conversation": np.full(n, -1),
        "item_number": np.flatnonzero(begun),
        "item_size": sizes[begun],
        "item_start": rows["begun"][begun],
        "item_finished": rows["done"][begun],
    }
