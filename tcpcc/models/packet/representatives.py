"""Representatives: one sender for several equal flows, as in SHRiNK.

Each packet of a representative stands for one packet of each of its flows. On the links of the
network it takes the place and the time of that many packets; the flows' own links it crosses as one
packet. Source: R. Pan, B. Prabhakar, K. Psounis, D. Wischik, "SHRiNK: a method for scaleable
performance prediction and efficient network simulation", INFOCOM 2003, which scales rates and
buffers instead.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tcpcc.engine.streams import seed_stream, uniform
from tcpcc.errors import ScenarioError, ScenarioWarning, warn

#: Time over which trains of representatives start, as a share of the time that a link needs for one
#: packet of each of their flows. From 0.04 to 1 the results of 44 cases are alike; at 0 all
#: representatives time out in step for ever.
START = 0.1

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcpcc.scenario import Scenario
    from tcpcc.scenario.network import Link
    from tcpcc.scenario.resolve import Resolved, ResolvedFlow


def spread_starts(scenario: Scenario, resolved: Resolved) -> Resolved:
    """Let representatives start one after the other, as a link sends the packets of their flows.

    The packets of flows that start at once leave a link one by one. Those of representatives that
    start at once do not: a packet that stands for several arrives in the time that the link needs
    for them, so one that arrives at the same instant does not meet them.
    """
    work: dict[Link, float] = {}  # time that a link needs for one packet of each flow, s
    for flow, link in _on_links(scenario, resolved):
        bits = flow.spec.count * 8 * flow.spec.packet_size
        work[link] = work.get(link, 0.0) + (bits / link.rate if link.rate else 0.0)
    later: dict[str, float] = {}
    for flow, link in _on_links(scenario, resolved):
        later[flow.name] = max(later.get(flow.name, 0.0), START * work[link])
    flows = []
    for flow in resolved.flows:
        spec: Any = flow.spec
        if later.get(flow.name, 0.0) > 0:
            words: dict[str, int] = {}
            seed_stream(words, scenario.seed, f"flow {flow.name}: start")
            end = scenario.duration if spec.stop is None else min(spec.stop, scenario.duration)
            most = min(later[flow.name], (end - spec.start) / 2)
            start = spec.start + most * uniform(SimpleNamespace(**words))
            flow = replace(flow, spec=spec._with(start=start))
        flows.append(flow)
    return replace(resolved, flows=tuple(flows))


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
        lasts = flow.spec.count * 8 * flow.spec.packet_size / link.rate if link.rate else 0.0
        fills = link.queue.name == "droptail" and math.isfinite(link.buffer)
        random = min(getattr(other.spec, "processing", math.inf) for other in resolved.flows)
        if fills and random < lasts:
            warn(
                f"senders: {flow.spec.count} packets together take {lasts:.2g} s on link"
                f" {link.name!r}, a drop-tail queue: give all flows processing ="
                f" {2 * lasts:.2g} or more, or flows that stand for fewer lose too many",
                ScenarioWarning,
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
                f"senders: link {link.name!r} on the path of {flow.name!r} {what};"
                " simulate each flow there"
            )


def _on_links(scenario: Scenario, resolved: Resolved) -> Iterator[tuple[ResolvedFlow, Link]]:
    """The flows that stand for several, with each common link on their paths."""
    common = resolved.links[: len(scenario.net.links)]
    for flow in resolved.flows:
        if flow.spec.count > 1:
            for i in (*flow.forward, *flow.reverse):
                if i < len(common):
                    yield flow, common[i]
