"""The hybrid model: foreground flows as packets and background flows as fluid, in the same queues.

Flows with ``background=True`` run in the fluid automaton. A flow with a ``count`` runs as several
representatives; each stands for many flows and runs its controller's rules unchanged. All other
traffic runs as packets. On a shared link the queue belongs to the fluid. A packet waits for
everything in the queue, has the same drop probability as fluid, and counts as a fluid arrival, so
the background yields to it (:mod:`tcpcc.models.shared_link`; time steps: `coupled`).

The cost is that of the foreground packets plus that of steps times representatives. The bandwidth
and the number of background flows do not matter by themselves. With f foreground flows and N
background flows of the same kind it is at least f / (N + f) of the cost of the packet model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import unknown, whole
from tcpcc.models.automaton.automaton import REPRESENTATIVES

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario


def simulate(
    scenario: Scenario,
    *,
    driver: str = "compiled",
    trace: bool | Selection = False,
    step: float | None = None,
    representatives: int = REPRESENTATIVES,
    progress: bool = False,
) -> Run:
    """Run `scenario` with its background as fluid, and return the recorded run.

    The record has the foreground flows first, then the background flows, then workloads. Windows
    and times of a flow with a `count` are those of one flow; its rates and packet counts are those
    of all flows together.

    Args:
        scenario: the scenario to simulate.
        driver: driver of the packets, "compiled" or "simpy"; both give bit-identical results.
        trace: keep every event of every packet flow, or only of the named flows.
        step: longest time step of the fluid in s; see :mod:`tcpcc.models.automaton`.
        representatives: largest number of flows simulated for one flow with a `count`.
        progress: show a progress bar.

    Raises:
        ScenarioError: no flow has ``background=True``, or all have; an unknown driver; a `step`
            that is too long.
    """
    from tcpcc.models.hybrid.coupled import Coupled
    from tcpcc.models.hybrid.drivers import run_compiled, run_simpy

    drivers = {"compiled": run_compiled, "simpy": run_simpy}
    if driver not in drivers:
        raise unknown("driver", driver, drivers)
    at_most = whole("representatives", representatives, low=1)
    return drivers[driver](Coupled(scenario, step, at_most, trace), progress)


__all__ = ["simulate"]
