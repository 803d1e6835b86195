"""The mean field: a smooth differential equation with delays, for classes of flows.

:mod:`tcpcc.models.meanfield.drift` says what moves a window, `lookback` and `heun` how delays are
dealt with, `buffers` what a queue loses. The cost is that of steps times classes, whatever the
bandwidth and however many flows a class counts.

After V. Misra, W. Gong, D. Towsley, "Fluid-based analysis of a network of AQM routers supporting
TCP flows with an application to RED", SIGCOMM 2000, with two differences: acknowledgements are
delayed as losses are, and delays are solved for exactly (a packet has the delay of the queue that
it met), where the paper takes t - R(t).

What it leaves out
    The spread of the flows of a class about their mean: the mean of a rule is taken at the mean
    state. Reno's window is sqrt(2 (1 - p) / p) where flows with independent losses have 1.31 /
    sqrt(p), and regular losses give 1.22 / sqrt(p).
    Timeouts, the repair of losses, whole packets: windows below four packets or so are wrong.
    Bursts: a window leaves evenly over its round-trip time, in slow start too.
    A rule that switches has no slope: it chatters about the switch by a step's worth, and a
    controller with a band where it does nothing (Vegas with alpha < beta) stays where it entered.
    Vegas' every other round counts in slow start, which classes do in step (see `heun`).
    Flows of a finite size, scheduled changes of links: refused.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50  # of a run, between which it can be interrupted


def simulate(
    scenario: Scenario,
    *,
    step: float | None = None,
    marking: bool = False,
    progress: bool = False,
) -> Run:
    """Integrate the mean field of `scenario`; returns its record.

    A flow with a `count` is one entry of the record: windows and times are those of one flow of
    it, rates and numbers of packets those of all.

    Args:
        scenario: what to integrate. Only the names and the sums in the record know its seed.
        step: longest time step in s, at most the shortest way from a link back to a sender.
            Default: a fifth of the shortest base round-trip time.
        marking: queue disciplines mark what they would drop, as with ECN: it stays in the queue
            and is acknowledged, and its mark counts as a loss. So it is in Misra, Gong and
            Towsley, and in Hollot, Misra, Towsley and Gong.
        progress: show a progress bar.

    Raises:
        ScenarioError: flows of a finite size, scheduled changes, a `step` that is too long.
        FloatingPointError: a controller's rules have led to a window that is no positive number.

    Interrupting it (Ctrl-C) raises ``KeyboardInterrupt`` at the next slice of simulated time.
    """
    from tcpcc.models.meanfield.meanfield_world import World
    from tcpcc.models.refusals import warn_of_jitter

    begin = time.thread_time()
    world = World(scenario, step, marking=marking)
    warn_of_jitter(world.resolved, "meanfield")
    world.start()
    with Progress(scenario.duration, progress) as bar:
        for k in range(1, SLICES + 1):
            until = world.end * k // SLICES
            world.run(until)
            bar.reach(scenario.duration * k / SLICES)
    return world.result(time.thread_time() - begin)


__all__ = ["simulate"]
