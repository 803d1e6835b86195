"""The networks of an evaluation: one bottleneck, described by rate, RTT and buffer in BDP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tcpcc.results.plot_style import rate_unit
from tcpcc.scenario import CBR, Change, Flow, Network, Scenario, Workload
from tcpcc.scenario.topologies import dumbbell

PACKET = 1500
"""Size of a data packet, bytes on the wire."""

STARTS = 0.5
"""Time over which the starts of flows are spread, s; makes seeds differ."""


@dataclass(frozen=True)
class Bottleneck:
    """A dumbbell.

    Attributes:
        rate: bit/s.
        rtt: base RTT, s.
        bdp: buffer in bandwidth-delay products; at least 2 packets.
        queue: the queue discipline or its name; None: drop-tail.
        loss: probability of random loss.
        jitter: largest random delay of a packet, s.
        reordering: whether jitter reorders packets.
        variable: whether the rate changes during the run.
    """

    rate: float
    rtt: float
    bdp: float = 1.0
    queue: Any = None
    loss: float = 0.0
    jitter: float = 0.0
    reordering: bool = False
    variable: bool = False

    @property
    def buffer(self) -> int:
        """Packets."""
        return max(2, round(self.bdp * self.rate * self.rtt / (8 * PACKET)))

    @property
    def network(self) -> Network:
        return dumbbell(
            self.rate, self.rtt / 2, self.buffer, queue=self.queue, loss=self.loss,
            jitter=self.jitter, reordering=self.reordering, variable=self.variable,
        )  # fmt: skip

    def scenario(
        self,
        flows: Sequence[Flow | CBR],
        duration: float,
        *,
        changes: Sequence[Change] = (),
        workloads: Sequence[Workload] = (),
        net: Network | None = None,
    ) -> Scenario:
        """The flows over this bottleneck, or a network that contains it, with 1500-byte packets.

        Hosts take up to the transmission time of a packet to send one, which avoids traffic phase
        effects (Floyd and Jacobson, Internetworking 3(3), 1992). Starts are spread over half a
        second.
        """
        return Scenario(
            net or self.network,
            [self.host(flow) if isinstance(flow, Flow) else flow for flow in flows],
            duration=duration,
            changes=changes,
            workloads=workloads,
        )

    def host(self, flow: Flow) -> Flow:
        """A flow with the packet size of these networks, and at least their start and processing
        time."""
        return flow.replace(
            packet_size=PACKET,
            jitter=max(flow.jitter, STARTS),
            processing=max(flow.processing, min(8 * PACKET / self.rate, self.rtt / 10)),
        )


def in_words(bottleneck: Bottleneck) -> str:
    """ "50 Mb/s, 40 ms, 1 BDP"."""
    scale, unit = rate_unit(bottleneck.rate)
    delay = 1e3 * bottleneck.rtt
    text = f"{bottleneck.rate / scale:.3g} {unit}, {delay:g} ms"
    return text if math.isinf(bottleneck.bdp) else f"{text}, {bottleneck.bdp:g} BDP"
