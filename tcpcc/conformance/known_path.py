"""The path of a case: rates over time, round-trip times, packet sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tcpcc.results.recording import base_rtts

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario


class KnownPath:
    """The slowest recorded link of a scenario, and its flows.

    Args:
        scenario: the scenario.
        packet_sizes: of the flows of a trace, bytes; NaN: those of the scenario.

    Attributes:
        duration: s.
        base_rtt: of each flow, s.
    """

    UNITS: ClassVar[tuple[str, ...]] = ("rate", "bdp", "rtt")

    def __init__(self, scenario: Scenario, packet_sizes: Sequence[float] = ()) -> None:
        resolved = scenario.resolve()
        limited = [link for link in resolved.links if link.record]
        slowest = min(limited, key=lambda link: link.rate)
        number = resolved.links.index(slowest)
        steps = [(0.0, slowest.rate)]
        steps += [
            (change.spec.at, change.spec.rate)
            for change in resolved.changes
            if change.link == number and change.spec.rate is not None
        ]
        self.duration = float(scenario.duration)
        self.base_rtt = base_rtts(resolved)
        self._since = np.array([since for since, _ in steps])
        self._rates = np.array([rate for _, rate in steps])
        self._bits = [8.0 * row.spec.packet_size for row in resolved.rows]
        for flow, size in enumerate(packet_sizes[: len(self._bits)]):
            if math.isfinite(size):
                self._bits[flow] = 8.0 * size

    def unit(self, name: str, flow: int, times: Any) -> NDArray[np.float64]:
        """ "rate" (packets/s), "bdp" (packets) or "rtt" (s) of a flow at these times."""
        if name == "rtt":
            return np.full(np.shape(times), self.base_rtt[flow])
        place = np.searchsorted(self._since, times, side="right") - 1
        rates = self._rates[np.maximum(place, 0)] / self._bits[flow]
        return rates * self.base_rtt[flow] if name == "bdp" else rates

    def capacity(self, flow: int, after: float, before: float) -> float:
        """Packets of the flow that the link can carry between two times."""
        edges = np.append(self._since, math.inf)
        spans = np.diff(np.clip(edges, after, before))
        return float((spans * self._rates).sum() / self._bits[flow])
