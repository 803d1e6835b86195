"""Memory that grows during a run: rings, and the pool of packets that are in no lane."""

from __future__ import annotations

import numpy as np

from tcpcc.engine.jit import address, blank, longer
from tcpcc.models.packet import packet_records as r


class Rings:
    """The rings of a world (queues, packets in flight, segments), by field and row of the owner."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[str, int], np.ndarray] = {}

    def place(self, owner: np.ndarray, field: str, i: int, ring: np.ndarray) -> None:
        """Let `field` of row `i` point to `ring`."""
        self.arrays[field, i] = ring
        owner[field][i] = address(ring)
        owner[f"{field.rstrip('s')}_mask"][i] = len(ring) - 1

    def grow(self, owner: np.ndarray, field: str, needed: np.ndarray) -> None:
        """Double the rings of `owner` that :func:`short` finds."""
        for i in short(owner, field, needed):
            self.enlarge(owner, field, i)

    def enlarge(self, owner: np.ndarray, field: str, i: int) -> None:
        ring = self.arrays[field, i]
        bigger = blank(2 * len(ring), ring.dtype)
        bigger[: len(ring)] = bigger[len(ring) :] = ring  # an entry is in one of the two halves
        self.place(owner, field, i, bigger)


def short(owner: np.ndarray, field: str, needed: np.ndarray) -> list[int]:
    """The rows of `owner` whose ring is too short for its entries and those that must stay free,
    together `needed`."""
    room = owner[f"{field.rstrip('s')}_mask"] + 1
    return [int(i) for i in np.flatnonzero((room > 1) & (needed >= room))]


class Pool:
    """Places for packets that others may overtake, or that wait at scheduled links.

    Args:
        w: the world's record.
        used: whether any packet may need a place. Place 0 means no packet.
    """

    def __init__(self, w: np.ndarray, used: bool) -> None:
        self.w = w
        self.packets = blank(1, r.PACKET)
        w["pool"] = address(self.packets)
        if used:
            self._add(r.FIRST_RING)

    def grow(self) -> None:
        """Double the places if few are free."""
        if len(self.packets) > 1 and self.w["n_free"][0] < r.MARGIN:
            self._add(len(self.packets))

    def _add(self, room: int) -> None:
        """Add places; they are taken before the places that are free now."""
        w, first = self.w[0], len(self.packets)
        self.packets = longer(self.packets, room)
        following = self.packets["order"][first:]
        following[:] = np.arange(first + 1, first + 1 + room)
        following[-1] = w["first_free"]
        w["pool"], w["first_free"] = address(self.packets), first
        w["n_free"] += room
