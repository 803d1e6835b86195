"""Representatives: one sender for several equal flows, as in SHRiNK.

Each packet of a representative stands for one packet of each of its flows. On the links of the
network it takes the place and the time of that many packets; the flows' own links it crosses as one
packet. Source: R. Pan, B. Prabhakar, K. Psounis, D. Wischik, "SHRiNK: a method for scaleable
performance prediction and efficient network simulation", INFOCOM 2003, which scales rates and
buffers instead.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, ScenarioWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow


def count_of(flow: ResolvedFlow) -> int:
    """Number of flows that a sender stands for."""
    return getattr(flow.spec, "count", 1)


def check_counts(scenario: Scenario, resolved: Resolved) -> None:
    """Refuse links on which a packet cannot stand for several, and warn of phase effects.

    A packet that stands for several leaves their place in a full buffer at once. The next packet of
    the same sender takes it, unless senders wait at random as long as it takes to send one.

    Raises:
        ScenarioError: a link that changes, or whose discipline chooses the packet to send, is on
            the path of a representative.
    """
    refuse_counts(scenario, resolved)
    for flow, link in _on_links(scenario, resolved):
        lasts = count_of(flow) * 8 * flow.spec.packet_size / link.rate if link.rate else 0.0
        fills = link.queue.name == "droptail" and math.isfinite(link.buffer)
        random = min(getattr(one.spec, "processing", math.inf) for one in resolved.flows)
        if fills and random < lasts:
            warnings.warn(
                f"representatives: {count_of(flow)} packets together take {lasts:.2g} s on link"
                f" {link.name!r}, a drop-tail queue: give all flows processing ="
                f" {2 * lasts:.2g} or more, or flows that stand for fewer lose too many",
                ScenarioWarning,
                stacklevel=6,
            )
            return


def refuse_counts(scenario: Scenario, resolved: Resolved) -> None:
    """Refuse links on which a packet cannot stand for several.

    Raises:
        ScenarioError: as :func:`check_counts`.
    """
    for flow, link in _on_links(scenario, resolved):
        if link.variable or link.queue.discipline.is_scheduled:
            what = "changes" if link.variable else f"has the queue {link.queue.name!r}"
            raise ScenarioError(
                f"representatives: link {link.name!r} on the path of {flow.name!r} {what};"
                " simulate each flow there"
            )


def _on_links(scenario: Scenario, resolved: Resolved) -> Iterator[tuple[ResolvedFlow, Link]]:
    """The flows that stand for several, with each common link on their paths."""
    common = resolved.links[: len(scenario.net.links)]
    for flow in resolved.flows:
        if count_of(flow) > 1:
            for i in (*flow.forward, *flow.reverse):
                if i < len(common):
                    yield flow, common[i]
