"""Warnings of the hybrid: background flows whose losses it gets wrong."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from tcpcc.models.refusals import FluidWarning

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved

SMALL_WINDOW = 4  # packets; the hybrid loses too few packets of flows in smaller windows
CROWD = (
    1000  # background flows at a drop-tail queue from which unlike foreground flows get too little
)


def warn_of_crowds(front: Resolved, back: Resolved) -> None:
    """Warn of a background in small windows, and of one that a drop-tail queue treats wrongly."""
    for i, link in enumerate(front.links):
        flows = [flow for flow in back.flows if i in flow.forward]
        number = sum(getattr(flow.spec, "count", 1) for flow in flows)
        if not flows or not math.isfinite(link.rate * link.buffer):
            continue
        size = 8 * flows[0].spec.packet_size
        trips = [sum(back.links[k].delay for k in (*flow.forward, *flow.reverse)) for flow in flows]
        room = link.buffer if link.buffer_unit == "packets" else 8 * link.buffer / size
        window = (link.rate * sum(trips) / len(trips) / size + room) / number
        mine = {flow.controller for flow in front.rows if i in flow.forward}
        unlike = mine - {flow.controller for flow in flows}
        what = ""
        if window < SMALL_WINDOW:
            what = f"windows of at most {window:.2g} packets: losses can be a quarter too low"
        elif number >= CROWD and link.queue.discipline.on_arrival is None and unlike:
            what = "a drop-tail queue: foreground flows of other controllers can get too little"
        if what:
            warnings.warn(
                f"hybrid model: link {link.name!r}: {number} background flows with {what}; check"
                " with the packet model and fewer flows",
                FluidWarning,
                stacklevel=5,
            )
            return
