"""The hybrid model: packets in front, weighted fluid behind, in the same queues.

Flows with ``background=True`` run in the fluid automaton, a flow with a ``count`` as some
representatives that each stand for many and run their controller's rules as they are. All other
traffic is packets. On a link that both pass the fluid has the queue: a packet waits behind what
both have left there, is dropped with the chance that fluid has, and is fluid's arrival like any
other, so that the background yields to it (:mod:`tcpcc.models.shared_link`; steps: `coupled`).

The cost is that of the packets in front and of steps times representatives, whatever the
bandwidth and however many flows are behind. With f flows in front of N of the same kind it can be
no less than f / (N + f) of the packet model's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import unknown, whole
from tcpcc.models.fluid.automaton import REPRESENTATIVES

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
    """Run `scenario`, its background as fluid; returns its record.

    The record has the flows in front first, then those behind, then workloads. Of a flow that
    stands for many, windows and times are those of one, rates and numbers of packets those of all.

    Args:
        scenario: what to simulate.
        driver: of the packets, "compiled" or "simpy"; both give the same bits.
        trace: keep every event of every packet flow, or of those named.
        step: longest time step of the fluid in s; see :mod:`tcpcc.models.fluid`.
        representatives: how many flows run at most for one with a `count`.
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
