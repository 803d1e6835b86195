"""The mean field: a smooth differential equation with delays, for classes of flows.

:mod:`tcpcc.models.meanfield.drift` computes how windows move, `lookback` and `heun` handle the
delays, and `buffers` the losses of a queue. The cost is proportional to steps times classes. It
does not depend on the bandwidth or on the number of flows in a class.

After V. Misra, W. Gong, D. Towsley, "Fluid-based analysis of a network of AQM routers supporting
TCP flows with an application to RED", SIGCOMM 2000, with two differences: acknowledgements are
delayed like losses, and delays are exact (a packet is delayed by the queue that it met), where
the paper uses t - R(t).

What it leaves out
    - The variation between the flows of a class: a rule is evaluated at the mean state. Reno's
      window is sqrt(2 (1 - p) / p), while flows with independent losses have 1.31 / sqrt(p) and
      periodic losses give 1.22 / sqrt(p).
    - Timeouts, loss recovery and whole packets: windows below about four packets are wrong.
    - Bursts: a window leaves evenly over its round-trip time, also in slow start.
    - Rules that switch have no slope. They chatter around the switching point by the change of one
      step. A controller with a band in which it does nothing (Vegas with alpha < beta) stays where
      it entered the band.
    - Vegas acts in every other round only during slow start, where the flows of a class act at the
      same time (see `heun`).
    - Flows of a finite size and scheduled link changes are refused.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50  # parts of a run; it can be interrupted between two of them


def simulate(
    scenario: Scenario,
    *,
    step: float | None = None,
    marking: bool = False,
    progress: bool = False,
) -> Run:
    """Integrate the mean field of `scenario` and return the recorded run.

    A flow with a `count` is one entry of the record. Its windows and times are those of one flow;
    its rates and packet counts are those of all flows together. Interrupting the run (Ctrl-C)
    raises ``KeyboardInterrupt`` at the next of 50 slices of simulated time.

    Args:
        scenario: the scenario to integrate. Its seed has no effect, unless a rule of a controller
            or queue draws random numbers.
        step: longest time step in s, at most the shortest delay from a link back to a sender.
            Default: a fifth of the shortest base round-trip time.
        marking: queue disciplines mark packets instead of dropping them, as with ECN. A marked
            packet stays in the queue and is acknowledged; the sender reacts to the mark as to a
            loss. Misra, Gong and Towsley, and Hollot, Misra, Towsley and Gong model it this way.
        progress: show a progress bar.

    Raises:
        ScenarioError: flows of a finite size, scheduled changes, or a `step` that is too long.
        RuleError: a controller's rules gave a window that is not a positive number.
    """
    from tcpcc.models.meanfield.flow_classes import warn_of_late_starts
    from tcpcc.models.meanfield.meanfield_world import MeanFieldWorld
    from tcpcc.models.refusals import warn_of_jitter, warn_of_tiny_buffers

    begin = time.thread_time()
    world = MeanFieldWorld(scenario, step, marking=marking)
    warn_of_jitter(world.resolved)
    warn_of_tiny_buffers(world.resolved)
    warn_of_late_starts(world.resolved)
    world.start()
    with Progress(scenario.duration, progress) as bar:
        for k in range(1, SLICES + 1):
            until = world.end * k // SLICES
            world.run(until)
            bar.reach(scenario.duration * k / SLICES)
    return world.result(time.thread_time() - begin)


__all__ = ["simulate"]
