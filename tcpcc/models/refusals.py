"""What only packets have: the models without packets refuse it in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.scenario.traffic import CBR

if TYPE_CHECKING:
    from tcpcc.scenario.resolve import Resolved


def refuse_what_needs_packets(resolved: Resolved, model: str) -> None:
    """Refuse ECN.

    Raises:
        ScenarioError: the scenario has one.
    """
    for flow in resolved.rows:
        if not isinstance(flow.spec, CBR) and flow.spec.transport.ecn != "off":
            raise ScenarioError(
                f"flow {flow.name!r}: ecn = {flow.spec.transport.ecn!r}: the {model} model marks no"
                " packets; use the packet model"
            )
