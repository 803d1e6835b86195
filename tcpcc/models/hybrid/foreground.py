"""Split a scenario into the traffic that runs as packets and the traffic that runs as fluid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError
from tcpcc.scenario.traffic import CBR, Flow

if TYPE_CHECKING:
    from tcpcc.scenario import Scenario


def split_traffic(scenario: Scenario) -> tuple[Scenario, Scenario]:
    """Return the scenario with only its foreground, and with only its background.

    Both keep the network and the names of the whole scenario, so a link has the same number in
    both.

    Raises:
        ScenarioError: the foreground or the background would be empty, or a flow uses ECN.
    """
    whole = scenario.resolve(expand=False)
    front: list[Flow | CBR] = []
    back: list[Flow | CBR] = []
    for flow in whole.flows:
        behind = isinstance(flow.spec, Flow) and flow.spec.background
        (back if behind else front).append(flow.spec._with(name=flow.name))
    if not back:
        raise ScenarioError(
            "flows: the hybrid model needs at least one flow with background=True;"
            " use the packet model"
        )
    if not front and not scenario.workloads:
        raise ScenarioError("flows: all have background=True: use the fluid model")
    for flow in (*whole.flows, *(kind for load in whole.workloads for kind in load.kinds)):
        if isinstance(flow.spec, Flow) and flow.spec.transport.ecn != "off":
            raise ScenarioError(
                f"flow {flow.name!r}: ecn = {flow.spec.transport.ecn!r}: fluid drops and does not"
                " mark; use the packet model"
            )
    groups_behind = {one.group for one in back if isinstance(one, Flow)} - {None}
    for one in front:
        if isinstance(one, Flow) and one.group in groups_behind:
            raise ScenarioError(
                f"group {one.group!r}: has flows with and without background=True: must be all"
                " or none"
            )
    shared = {link.name for link in scenario.net.links}
    names = {flow.name for flow in back}

    def is_behind(link: str) -> bool:
        return link.rpartition(":")[0].partition(".")[0] in names

    return (
        scenario._with(
            flows=tuple(front),
            changes=tuple(c for c in scenario.changes if c.link in shared or not is_behind(c.link)),
        ),
        scenario._with(
            flows=tuple(back),
            workloads=(),
            changes=tuple(c for c in scenario.changes if c.link in shared or is_behind(c.link)),
        ),
    )
