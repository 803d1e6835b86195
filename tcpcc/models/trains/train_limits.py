"""What the model of trains does not support; a scenario that uses it is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.models.packet.header_memory import uses_headers
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.resolve import Resolved

INSTEAD = "use the packet model"


def refuse(scenario: Scenario, resolved: Resolved) -> None:
    """Refuse unsupported features.

    Raises:
        ScenarioError: workloads, CBR sources, delayed ACKs, packets with headers (ECN, words of
            routers), scheduled queue disciplines, buffers in bytes, aggregation or reordering, and
            links that change.
    """
    if scenario.workloads:
        raise ScenarioError(f"workloads: the trains model has none; {INSTEAD}")
    for flow in resolved.flows:
        where = f"flow {flow.name!r}"
        if isinstance(flow.spec, CBR):
            raise ScenarioError(f"{where}: is a CBR source; the trains model has none; {INSTEAD}")
        if flow.spec.transport.delayed_ack > 0:
            value = flow.spec.transport.delayed_ack
            raise ScenarioError(
                f"{where}: delayed_ack = {value:g}: must be 0 in the trains model; {INSTEAD}"
            )
        if uses_headers(flow):
            raise ScenarioError(
                f"{where}: its packets carry headers (ecn or fields); the trains model has none;"
                f" {INSTEAD}"
            )
    for link in resolved.links:
        where = f"link {link.name!r}"
        if link.queue.discipline.is_scheduled:
            raise ScenarioError(
                f"{where}: queue {link.queue.discipline.name!r} decides at departures; the trains"
                f" model has no departures; {INSTEAD}"
            )
        if link.buffer_unit == "bytes":
            raise ScenarioError(
                f"{where}: buffer in bytes: the trains model counts packets; {INSTEAD}"
            )
        if link.aggregation > 0 or link.reordering:
            raise ScenarioError(
                f"{where}: aggregation or reordering: a train keeps its order; {INSTEAD}"
            )
    if resolved.changes:
        change = resolved.changes[0].spec
        raise ScenarioError(
            f"change of link {change.link!r} at {change.at:g}: the trains model has no changes;"
            f" {INSTEAD}"
        )
