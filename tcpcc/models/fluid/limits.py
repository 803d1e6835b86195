"""Where the fluid model is inaccurate: it says so before the run."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from tcpcc.models.refusals import FluidWarning

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved


def warn_of_two_ways(resolved: Resolved) -> None:
    """Warn of links that carry data of some flows and ACKs of others, whose delay a controller
    reads."""
    data = {i for flow in resolved.flows for i in flow.forward}
    acks = {i for flow in resolved.flows for i in flow.reverse}
    both = [
        link.name
        for i, link in enumerate(resolved.links)
        if i in data & acks and math.isfinite(link.rate)
    ]
    readers = [
        flow.controller.name
        for flow in resolved.rows
        if flow.controller is not None and flow.controller.reads_base_rtt
    ]
    if both and readers:
        listed = ", ".join(repr(name) for name in both[:2]) + (", ..." if both[2:] else "")
        warnings.warn(
            f"fluid model: {listed} carry data of some flows and ACKs of others: ACK compression is"
            f" weaker than in packets, and controller {readers[0]!r} takes it for a queue: it can"
            " get half as much again: check with the packet model",
            FluidWarning,
            stacklevel=5,
        )
