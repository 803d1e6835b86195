"""The fluid model: a hybrid automaton over cumulative curves.

It is the packet model with infinitely small packets. It uses no rate W / RTT and no average over a
round trip:

* A sender sends as long as ``sent - acknowledged - lost <= W``. So ACKs clock the sender, and a
  window that is a burst stays a burst.
* A link is a work-conserving FIFO queue. The composition of its output follows from that of its
  input (`links`).
* Links where no queue can form are fixed delays (`layout`).
* The fluid that is acknowledged now, and the time when it was sent, are found by tracing it back
  through the links (`routes`). This gives round-trip times without approximation.

Rounds, loss events and timeouts are events. They call the same rules of the controllers, with the
same samples, as the packet model. The retransmission timer and the rounding of windows to whole
packets are also those of the packet model. Losses are whole packets (`drops`). They are noticed a
round trip later and repaired as the flow's recovery specifies (`repair`): a window of three packets
causes fewer than three duplicate ACKs, Reno survives a single hole, and Vegas' fine timers may
expire for the next hole. A queue discipline sees the queue that an arriving packet would find.

The model follows J. Bohacek, J. Hespanha, J. Lee, K. Obraczka, "A hybrid systems modeling framework
for fast and accurate simulation of data communication networks", SIGMETRICS 2003.

Differences from the paper

* ACK clocking replaces the rate W / RTT.
* The flow that loses a packet at a full buffer is not drawn by the share of arrivals alone
  (`victims`).

The cost is the number of steps times the number of flows; it does not depend on the bandwidth.
`step` is the longest time step. In a first slow start, while the burst of a window passes its
sender or a link, steps are shorter (`clumps`). With more than `steps.MANY_FLOWS` flows the short
steps are longer, and events that are due within the shortest one happen at its end. To estimate the
error of a result, halve `step`.

Differences from the packet model (measured in docs/models.md)

* Bursts shorter than a step: a window that passes a link within a step is not resolved. The number
  of packets that a full buffer drops from it at a time is computed (`victims.at_a_time`), assuming
  independent bursts of similar windows. Example: 1000 NewReno flows. With 400 representatives a
  flow loses 3.7 packets at a time (packet model: 3.9), and the queue is 2 % too short. If each flow
  is simulated, in shorter steps, a flow loses 2.6 packets and the queue is 4 to 7 % too short (1.6
  packets and 16 % without this computation).
* Traffic phases: with equal packets and drop-tail queues, the order of arrivals can favor or starve
  a packet flow; the fluid model treats all flows alike. Compare it with packets whose hosts have
  processing times and whose round trips differ by a few per cent (`experiments.battery`).
* Compressed ACKs: an ACK waits behind whole data packets, and the sender then sends bursts. In the
  fluid model two-way traffic fills its links.
* Gaps between ACKs: the fluid model has no gaps shorter than a step. Westwood's first bandwidth
  estimate uses such gaps as samples and needs steps of a hundredth of the round-trip time.
* SYNs have no size (but carry header fields) and are never lost, so few short flows wait for the
  first timeout.
* Place of a loss in its step: known for random losses only. Packets dropped by a queue are taken to
  be the first ones that arrived from their flow in that step.
* Timeouts of small windows: which of a few packets are lost, and whether a fine timer expires for
  the next one, depends on single packets. Under RED, Vegas has at most a third of the timeouts of
  the packet model. BaseRTT is then reset less often (recovery ``vegas-ns2``); probably for this
  reason a single Vegas flow against four Reno flows can get a sixth less (RED with ``max_p`` 1/10).
  Columns that agree: tests/models/fluid/test_fluid_thesis.py.
* Waiting below capacity: where several flows share a link that is not full, a packet still waits
  for other packets; fluid does not (two-way Vegas traffic fills its links).
* Blocks of packets: contiguous packets stay contiguous; fluid blocks spread by a fraction of a step
  per round trip. Delay-based algorithms see slightly less queueing (Quick Vegas refills a link
  faster after other flows have left; a shorter step reduces the difference).
* Not modelled: buffers of one or two packets, and retransmissions of packets that had arrived
  (go-back-N after a timeout).
* The settings ``max_burst``, ``partial_deflation``, ``timestamps``, ``whole_window``,
  ``count_delivered``, ``gso_segments``, ``gso_time``, ``gso_above`` and ``gradual_marks`` of a flow
  have no effect. With delayed
  ACKs `on_ack` counts fewer packets, but ACKs are not delayed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.errors import whole
from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.models.controller_memory import ControllerMemory
    from tcpcc.models.automaton.fluid_world import FluidWorld
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

SLICES = 50  # parts of a run; after each, finished flows are removed and progress is shown


REPRESENTATIVES = 100  # default for the most flows simulated for a flow with a count


def simulate(
    scenario: Scenario,
    *,
    step: float | None = None,
    representatives: int = REPRESENTATIVES,
    progress: bool = False,
) -> Run:
    """Run `scenario` in the fluid model and return its record.

    Args:
        scenario: what to simulate; its seed determines random losses and the flows that lose
        step: longest time step in s, at most a tenth of the shortest base round-trip time. Default:
            1/25 of that time (1/12 if a flow stands for several, 1/10 if besides all queues drop
            before they are full), or 1/8 of the time in which the smallest full buffer drains, if
            this is shorter; at least 1/200 of the round-trip time
        representatives: the most flows that are simulated for a flow with a `count`. Each stands
            for its share of the count. In the record, windows and times are those of one flow,
            rates and numbers of packets are those of all flows that it stands for
        progress: show a progress bar

    Raises:
        ScenarioError: `step` is too long or not positive, or the scenario has workloads or other
            features that the fluid model does not support (`limits`)

    Ctrl-C raises ``KeyboardInterrupt`` after some hundredths of a second.
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
    """Run `scenario` and return the memory of the finished run.

    Arguments and errors are those of `simulate`; `controllers` are the compiled rules with the
    scenario's seed, if they already exist.
    """
    from tcpcc.models.automaton.fluid_world import FluidWorld
    from tcpcc.models.automaton.limits import look, refuse_workloads
    from tcpcc.models.automaton.timeline import events

    refuse_workloads(scenario)
    world = FluidWorld(scenario, step, representatives, controllers)
    look(world.resolved)
    duration = scenario.duration
    due = iter(events(world))
    event = next(due, None)
    # Without slices a thread rarely needs the lock under which others build their worlds. Slices
    # end with bins, so they add no row to the history and do not change the result.
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
