"""The memory of a link of whole packets: its pool of packets and its inner queues."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import Records, address
from tcpcc.models.fluid import fluid_records as r
from tcpcc.models.queue_memory import INNER

if TYPE_CHECKING:
    from tcpcc.queues.discipline import Discipline

MOST = 20_000  # packets for which a pool has room, even if the buffer is infinite


def takes_packets(discipline: Discipline) -> bool:
    """Whether a link with this discipline is one of whole packets.

    A discipline with a rule for amounts is called for fluid, unless it chooses the packets that
    leave.
    """
    if discipline.in_amounts:
        return False
    return discipline.is_scheduled or (
        discipline.on_arrival is not None and discipline.on_fluid is None
    )


class PacketLinkMemory:
    """The arrays of a link of whole packets.

    Args:
        discipline: of the link.
        limits: sizes of the buffer in the course of the run, in packets or in bytes.
        smallest: the smallest packet in the buffer's unit.
        n_words: number of header fields of each packet.
    """

    def __init__(
        self, discipline: Discipline, limits: Iterable[float], smallest: float, n_words: int
    ) -> None:
        places = math.ceil(min(max(limits) / smallest, MOST)) + 3
        self.pool: Records = np.zeros(places, r.PACKET)
        self.pool["next"] = np.arange(1, places + 1)
        self.pool["next"][-1] = 0
        self.inner: Records = np.zeros(discipline.inner, INNER)
        self.link: Records = np.zeros(1, r.PACKET_LINK)
        self.link["pool"], self.link["spare"] = address(self.pool), 1
        self.link["inner"], self.link["n_inner"] = address(self.inner), discipline.inner
        self.link["serve_at"] = math.inf

        self.words = np.zeros((places, n_words))
        self.link["words"] = address(self.words)

    def move_hops(self, columns: np.ndarray) -> None:
        """The hops are at these new `columns`."""
        if len(columns):
            self.pool["hop"] = columns[self.pool["hop"]]
