"""Where one sender may stand for several flows of a `count`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.models.fluid.fluid_packet_memory import takes_packets

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

ALL = 10_000  # flows; more are not simulated each where a sender cannot stand for several


def with_senders(scenario: Scenario, senders: float) -> Resolved:
    """The scenario with at most so many `senders` of a flow. If they share a link of whole
    packets, every flow has a sender.

    Raises:
        ScenarioError: these are more than `ALL` flows.
    """
    resolved = scenario.resolve(senders=senders)
    for flow in resolved.flows:
        if flow.spec.count == 1:
            continue
        for link in (resolved.links[i] for i in (*flow.forward, *flow.reverse)):
            discipline = link.queue.discipline
            if not takes_packets(discipline):
                continue
            number = sum(flow.spec.count for flow in resolved.flows)
            if number > ALL:
                why = "keeps them apart" if discipline.inner > 1 else "decides about each packet"
                raise ScenarioError(
                    f"count: {number:,} flows on link {link.name!r}, whose queue"
                    f" {link.queue.name!r} {why}: must be at most {ALL:,}"
                )
            return scenario.resolve()
    return resolved
