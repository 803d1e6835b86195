"""The hybrid model: foreground flows as packets, background flows as trains or fluid, in the same
queues.

Flows with ``background=True`` travel in trains (:mod:`tcpcc.models.trains`), and each packet of all
other traffic is a train of its own. With `steps` they are in the fluid model, beside the packet
model (:mod:`.coupling`). With a `count` they have several senders, each of which stands for some of
the flows.

The cost is that of the foreground packets plus that of the background's trains, or steps. The
bandwidth and the number of background flows do not matter by themselves.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, positive, whole
from tcpcc.models.packet import run_to_end
from tcpcc.models.trains import PER_RTT, SENDERS
from tcpcc.scenario.resolve import Senders

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario


def simulate(
    scenario: Scenario,
    *,
    driver: str = "compiled",
    trace: bool | Selection = False,
    trains: float | None = None,
    steps: float | None = None,
    senders: int = SENDERS,
    progress: bool = False,
) -> Run:
    """Run `scenario` with its background as fluid or as trains, and return the recorded run.

    Windows and times of a flow with a `count` are those of one flow; its rates and packet counts
    are those of all its flows together.

    Args:
        scenario: the scenario to simulate.
        driver: "compiled" or "simpy"; both give bit-identical results.
        trace: keep every event of every foreground flow, or only of the named flows. A background
            flow with a trace sends single packets.
        trains: trains of the background are shorter than a round trip over this number; 16 if
            neither this nor `steps` is given.
        steps: the background is fluid, with so many steps in the shortest base round-trip time.
        senders: largest number of senders of a background flow with a `count`.
        progress: show a progress bar.

    Raises:
        ScenarioError: no flow has ``background=True``; an unknown driver.
    """
    from tcpcc.models.hybrid.coupling import CoupledWorld
    from tcpcc.models.trains.train_world import TrainWorld, resolved_for

    begin = time.thread_time()
    senders = whole("senders", senders, low=1)
    check_background(scenario)
    _check_groups(scenario, 0 if steps is not None else senders)
    if steps is not None:
        if trains is not None:
            raise ScenarioError(
                f"trains = {trains:g}, steps = {steps:g}: must be one of them: the background is"
                " either in trains or fluid"
            )
        world = CoupledWorld(scenario, trace, positive("steps", steps), senders)
        return run_to_end(world, driver, progress, begin)
    resolved = resolved_for(scenario, Senders(background=senders))
    if trace is True:
        rows = resolved.rows
        trace = [row.name for row in rows if row.spec.record and not row.spec.background]
    per_rtt = PER_RTT if trains is None else trains
    in_trains = TrainWorld(scenario, per_rtt, resolved, "hybrid", only_background=True, trace=trace)
    return run_to_end(in_trains, driver, progress, begin)


def _check_groups(scenario: Scenario, most: int) -> None:
    """Refuse a group of which only some flows are in the background, with a count above `most`.

    Raises:
        ScenarioError: there is one.
    """
    for flow in scenario.flows:
        group = flow.group
        if group is None or flow.count <= most:
            continue
        if len({member.background for member in scenario.flows if member.group == group}) > 1:
            many = f" and a count above senders = {most}" if most > 0 else ""
            raise ScenarioError(
                f"group {group!r}: has flows with and without background=True{many}: must be all or"
                " none"
            )


def check_background(scenario: Scenario) -> None:
    """Refuse a scenario without background flows.

    Raises:
        ScenarioError: no flow has ``background=True``.
    """
    if not any(flow.background for flow in scenario.flows):
        raise ScenarioError(
            "flows: the hybrid model needs a background: add background=True to at least one flow"
            " (background = true in a scenario file), or use the packet model"
        )
