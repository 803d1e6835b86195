"""All conversations of a run and their items, drawn before it; the same in all models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.engine.jit import Records
from tcpcc.models.conversation_records import CONVERSATION, ITEM
from tcpcc.scenario.draw import drawn

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import ResolvedWorkload


def draw_all(
    scenario: Scenario, loads: Sequence[ResolvedWorkload], syn: bool
) -> tuple[Records, Records]:
    """The records CONVERSATION of `loads`, in the order in which they start, and those of ITEM.

    Args:
        scenario: its seed selects the random numbers, by the names of the workloads.
        loads: the scenario's workloads.
        syn: whether a connection with a handshake counts its SYN as a packet.
    """
    conversations: list[np.ndarray] = []
    items: list[np.ndarray] = []
    kinds = 0
    for load in loads:
        found = drawn(load.spec, load.name, scenario.seed, scenario.duration)
        rows = np.zeros(len(found.start), CONVERSATION)
        rows["start"], rows["kind"] = found.start, kinds + found.kind
        rows["first"] = found.first[:-1] + sum(len(part) for part in items)
        rows["items"] = np.diff(found.first)
        rows["place"] = -1
        part = np.zeros(len(found.packets), ITEM)
        before = np.concatenate([[0], np.cumsum(found.packets)])
        part["limit"] = before[1:] - np.repeat(before[found.first[:-1]], rows["items"])
        part["limit"] += int(syn and load.spec.flow.transport.handshake)
        part["gap"] = found.gap
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
        conversations, items: as `draw_all` has made them.
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
