"""The path of a case: rates over time, round-trip times, packet sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tcpcc.results.recording import base_rtts

if TYPE_CHECKING:
    from tcpcc.apps.conformance.flow_trace import FlowTrace
    from tcpcc.scenario import Scenario

RATE_WIDTH, RATE_ROUNDS = 1.0, 10.0
"""Width over which a trace's rate is compared with the path's: at least s, and base RTTs."""

EXCESS, ODD = 0.05, 10
"""Share of the path's rate, and packets, by which a trace may be faster: ACKs come in bursts."""

SHORTER, LONGER = 0.9, 1.5
"""Bounds of a trace's smallest RTT, in the path's propagation delays and base RTTs: test-beds add
delay."""


class KnownPath:
    """The slowest recorded link of a scenario, and its flows.

    Args:
        scenario: the scenario.
        packet_sizes: of the flows of a trace, bytes; NaN: those of the scenario.

    Attributes:
        duration: s.
        base_rtt: of each flow, s.
        finite: of each flow, whether it may end before the scenario.
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
        specs: list[Any] = [row.spec for row in resolved.rows]
        self.finite = [
            not row.is_tcp or spec.total < math.inf or spec.stop is not None
            for row, spec in zip(resolved.rows, specs, strict=True)
        ]
        self._propagation = [
            sum(resolved.links[k].delay for k in (*row.forward, *row.reverse))
            for row in resolved.rows
        ]  # of a SYN on a slow link
        self._moves = any(change.spec.delay is not None for change in resolved.changes)
        bits = slowest.buffer * 8.0
        if slowest.buffer_unit == "packets":
            bits *= max(spec.packet_size for spec in specs)
        self._drain = bits / min(rate for _, rate in steps if rate > 0)
        self._since = np.array([since for since, _ in steps])
        self._rates = np.array([rate for _, rate in steps])
        self._bits = [8.0 * spec.packet_size for spec in specs]
        for flow, size in enumerate(packet_sizes[: len(self._bits)]):
            if math.isfinite(size):
                self._bits[flow] = 8.0 * size

    def differs(self, traces: Sequence[FlowTrace]) -> str:
        """Why these traces cannot be of this path; "": they can.

        No trace has a larger rate or a smaller RTT than its path. A smallest RTT far above the
        path's and its buffer's is of another path, too.
        """
        for flow, trace in enumerate(traces[: len(self._bits)]):
            width = max(RATE_WIDTH, RATE_ROUNDS * self.base_rtt[flow])
            if len(trace.delivered) and trace.end > width:
                ends = np.arange(trace.delivered_at[0] + width, trace.end, width / 4)
                amounts = trace.total_delivered(ends) - trace.total_delivered(ends - width)
                able = float(self._rates.max()) * width / self._bits[flow]
                most = float(amounts.max(initial=0.0))
                if most > (1 + EXCESS) * able + ODD:
                    return (
                        f"the trace is of another path: it delivers {most / able:.0%} of the rate"
                        f" of {self._rates.max() / 1e6:g} Mb/s"
                    )
            rtts = trace.columns.get("rtt", np.empty(0))
            rtts = rtts[rtts > 0]  # Linux has 0 before the first sample
            if not len(rtts) or self._moves:
                continue
            least, base = float(rtts.min()), float(self.base_rtt[flow])
            if least < SHORTER * self._propagation[flow] or least > LONGER * base + self._drain:
                return (
                    f"the trace is of another path: its smallest RTT is {1e3 * least:.3g} ms, the"
                    f" path's {1e3 * base:.3g} ms"
                )
        return ""

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
