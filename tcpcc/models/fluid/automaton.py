"""The fluid model: a hybrid automaton over cumulative curves.

It is the packet model with packets made infinitely small. No rate W / RTT appears in it, and
nothing is averaged over a round trip:

* a sender has sent whatever keeps ``sent - acknowledged - lost <= W``, so ACKs clock the sending
  and a window that is a clump stays one;
* a link is a FIFO queue that never idles while it holds anything, and so is the composition of what
  leaves it (`links`);
* links where no queue can form are delays (`layout`);
* what is acknowledged now, and when it was sent, follows from walking back through the links
  (`routes`), which gives round-trip times without any approximation.

Rounds, loss events and timeouts are events that call the same rules of the controllers, with the
same samples, as in the packet model; the retransmission timer and the window's whole packets are
the packet model's too. Losses are whole packets (`drops`), noticed a round trip
later and repaired as the flow's recovery tells (`repair`): a window of three
brings no three duplicate ACKs, Reno survives a single hole, Vegas' fine timers find the next one
late or not. An active queue's discipline sees the queue that an arriving packet would find.

After J. Bohacek, J. Hespanha, J. Lee, K. Obraczka, "A hybrid systems modeling framework for fast
and accurate simulation of data communication networks", SIGMETRICS 2003, with ACK clocking in place
of the rate W / RTT, and with one more departure: who loses a packet to a full buffer is not drawn
by the share of arrivals alone.

The cost is the number of steps times the number of flows, whatever the bandwidth. `step` is the
longest time step; in a first slow start, while a window that is a clump passes its sender or a
link, steps are shorter (`clumps`), the less so the more flows there are (`steps.FEW`), and with
thousands of them what is due within one step happens at its end. Halving it tells how exact a
result is.

What packets do and fluid does not
    Numbers, and whose doing each is: docs/models.md.
    Clumps shorter than a step: a window that passes in less is not seen as one. What a full buffer
    takes of it at a time is computed instead (`victims.at_a_time`), for independent clumps of like
    windows: 1000 NewReno flows, 400 for all of them, then lose 3.7 packets at a time, 3.9 in
    packets, with a queue 2 % short; each by itself, in shorter steps, 2.6 with a queue 4 to 7 %
    short (1.6 and 16 % without).
    Traffic phases: with equal packets and drop-tail queues a packet flow can win or starve by the
    order in which packets arrive; fluid gives every flow its chance. Compare it with packets of
    which each flow has its own size, 900 to 1100 bytes, so that no order lasts. Flows over several
    full drop-tail links get more than packets of any size.
    Compressed ACKs: an ACK waits behind whole data packets, and what it then lets out leaves in
    bunches; in fluid two-way traffic fills its links.
    Gaps between ACKs: fluid has none shorter than a step. Westwood's first bandwidth estimate,
    whose samples they are, needs steps of a hundredth of the round-trip time.
    SYNs weigh nothing (but carry header words) and are never lost, so that few short flows wait for
    the first timeout.
    Where in its step a packet is lost is known of losses by chance; what a queue drops is taken to
    be the first that its flow brought in that step.
    Timeouts of small windows: which of a few packets are lost, and whether a fine timer finds the
    next one late, hangs on single packets; of Vegas' timeouts under RED fluid has a third or fewer.
    Probably for that reason, BaseRTT being set anew less often (recovery ``vegas-ns2``), a single
    Vegas flow against four Reno flows can get a sixth less (RED with ``max_p`` 1/10). Columns that
    agree: tests/models/fluid/test_fluid_thesis.py.
    Waiting below capacity: where several flows share a link that is not full, a packet still waits
    for others to be sent; fluid does not (two-way Vegas traffic fills its links).
    Blocks of packets: contiguous packets stay so for ever; fluid's blocks spread by a fraction of
    a step per round trip. Delay-based algorithms see a little less queueing (Quick Vegas refills a
    link faster after other flows have left; a shorter step comes closer).
    Buffers of one or two packets, and retransmissions of what had arrived (go-back-N after a
    timeout): not modelled.
    Of a flow's settings, ``max_burst``, ``partial_deflation``, ``timestamps``, ``whole_window``,
    ``count_delivered``, ``gso_segments`` and ``gradual_marks`` have no effect;
    with delayed ACKs `on_ack` counts less, but nothing is held back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.errors import whole
from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.models.controller_memory import ControllerMemory
    from tcpcc.models.fluid.fluid_world import FluidWorld
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50  # of a run, after which flows that have finished are taken out, and progress is shown


REPRESENTATIVES = 100  # at most for a flow with a count


def simulate(
    scenario: Scenario,
    *,
    step: float | None = None,
    representatives: int = REPRESENTATIVES,
    progress: bool = False,
) -> Run:
    """Run `scenario` in the fluid model; returns its record.

    Args:
        scenario: what to simulate; its seed decides losses by chance and who loses
        step: longest time step in s, at most a tenth of the shortest base round-trip time. Default:
            1/25 of that, 1/12 where a flow stands for many, 1/10 if all their queues drop before
            they are full, or 1/8 of the time in which the smallest full buffer drains if this is
            shorter (down to 1/200 of the round-trip time)
        representatives: of a flow with a larger `count`, so many run, each for its share of the
            count. Their windows and times in the record are those of one flow, their rates and
            numbers of packets those of all they stand for
        progress: show a progress bar

    Raises:
        ScenarioError: a `step` that is too long or not a positive number; a scenario
            with workloads, and what else fluid does not have (`limits`)

    Interrupting it (Ctrl-C) raises ``KeyboardInterrupt`` after some hundredths of a second.
    """
    begin = time.thread_time()
    world = finished_world(
        scenario, step, whole("representatives", representatives, low=1), progress
    )
    return world.result(time.thread_time() - begin)


def finished_world(
    scenario: Scenario,
    step: float | None,
    representatives: float,
    progress: bool = False,
    controllers: ControllerMemory | None = None,
) -> FluidWorld:
    """The memory of a run of `scenario` that is over; arguments and errors as in `simulate`, with
    the rules of `controllers`, with the scenario's seed, if these have been looked up before."""
    from tcpcc.models.fluid.fluid_world import FluidWorld
    from tcpcc.models.fluid.limits import look, refuse_workloads
    from tcpcc.models.fluid.timeline import events

    refuse_workloads(scenario)
    world = FluidWorld(scenario, step, representatives, controllers)
    look(world.resolved)
    duration = scenario.duration
    due = iter(events(world))
    event = next(due, None)
    # Without slices a thread seldom asks for the lock under which others lay out their worlds. They
    # end with bins, so that their number makes no row of the history and so no difference.
    slices = min(SLICES, world.n_bins) if progress or world.some_end else 1
    with Progress(duration, progress) as bar:
        for k in range(1, slices + 1):
            until = duration
            if k < slices:
                until = world.n_bins * k // slices * scenario.interval
            while event is not None and event[0] < until:
                last = min(event[0] + world.together, until)
                world.run(last)
                while event is not None and event[0] <= last:
                    event[1]()
                    event = next(due, None)
            world.run(until)
            world.retire()
            bar.reach(until)
    return world
