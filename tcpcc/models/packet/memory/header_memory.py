"""The memory of packet headers: ECN bits and fields for routers. Place 0 means no header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpcc.engine.jit import address
from tcpcc.models.header_layout import HeaderLayout
from tcpcc.models.packet import packet_records as r
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tcpcc.scenario.resolve import ResolvedFlow


def uses_headers(flow: ResolvedFlow) -> bool:
    """Whether the packets of a flow carry a header."""
    if isinstance(flow.spec, CBR) or flow.controller is None:
        return False
    return flow.spec.transport.ecn != "off" or bool(flow.controller.header)


class HeaderMemory:
    """Places for headers: a packet takes one at its sender, and its ACK frees it.

    Args:
        w: the world's record.
        flows: the rows of the scenario. If no flow uses headers, no places are made.

    Attributes:
        layout: which words the header fields have.
        headers: records HEADER, shape [place].
        words: the header fields, shape [place, word].
        free_places: numbers of free places, in the first ``w.n_spare_headers`` elements.
    """

    def __init__(self, w: np.ndarray, flows: Iterable[ResolvedFlow]) -> None:
        self.w = w
        self.layout = HeaderLayout()
        self.headers = np.zeros(1, r.HEADER)
        self.words = np.zeros((1, 0))
        self._place([])
        for flow in flows:
            self.use(flow)

    @property
    def used(self) -> bool:
        return len(self.headers) > 1

    def use(self, flow: ResolvedFlow) -> None:
        """Make places for the first flow that needs them, and words for its header fields."""
        self.layout.add(flow)
        if not self.used and uses_headers(flow):
            self.headers = np.zeros(r.FIRST_HEADERS, r.HEADER)
            self._place(np.arange(1, r.FIRST_HEADERS))
        self._widen()

    def _place(self, free: np.ndarray | list[int]) -> None:
        """Write the addresses of the headers and of the free places' numbers into the world."""
        w = self.w[0]
        self.free_places = np.zeros(len(self.headers), np.int64)
        self.free_places[: len(free)] = free
        w["headers"], w["spare_headers"] = address(self.headers), address(self.free_places)
        w["n_spare_headers"] = len(free)
        self._widen()

    def _widen(self) -> None:
        """Make room for the words of all places; those in use keep theirs."""
        words = np.zeros((len(self.headers), self.layout.n_words))
        places, old_width = self.words.shape
        words[:places, :old_width] = self.words
        self.words = words
        self.w[0]["words"], self.w[0]["n_words"] = address(words), self.layout.n_words

    def grow(self, fewest: int = 2 * r.MARGIN) -> None:
        """Double the places if fewer than `fewest` are free."""
        n_free, room = int(self.w["n_spare_headers"][0]), len(self.headers)
        if self.used and n_free < fewest:
            self.headers = np.concatenate([self.headers, np.zeros_like(self.headers)])
            self._place(np.concatenate([self.free_places[:n_free], np.arange(room, 2 * room)]))
