"""Where the hybrid is inaccurate: many background flows in small windows."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from tcpcc.models.packet.representatives import count_of
from tcpcc.models.refusals import FluidWarning

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved

SMALL_WINDOW = 4  # packets


def warn_of_crowds(resolved: Resolved) -> None:
    """Warn of a link on which representatives stand for flows with windows below `SMALL_WINDOW`."""
    for i, link in enumerate(resolved.links):
        flows = [flow for flow in resolved.flows if i in flow.forward]
        if max(map(count_of, flows), default=1) == 1 or not math.isfinite(link.rate * link.buffer):
            continue
        number = sum(map(count_of, flows))
        size = 8 * flows[0].spec.packet_size
        trips = [
            count_of(flow) * sum(resolved.links[k].delay for k in (*flow.forward, *flow.reverse))
            for flow in flows
        ]
        room = link.buffer if link.buffer_unit == "packets" else 8 * link.buffer / size
        window = (link.rate * sum(trips) / number / size + room) / number
        if window < SMALL_WINDOW:
            warnings.warn(
                f"hybrid model: link {link.name!r}: {number} flows with windows of at most"
                f" {window:.2g} packets, of which representatives stand for several: foreground"
                " flows can get a quarter too much: check with the packet model and fewer flows",
                FluidWarning,
                stacklevel=5,
            )
            return
