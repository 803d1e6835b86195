"""The SimPy driver: the same handlers; each event of the model is an event of a SimPy environment.

The environment can be the user's own, with other processes that observe or change the network
during the run::

    env = simpy.Environment()
    sim = PacketSimulation(scenario, env)

    def outage():
        yield env.timeout(10)
        sim.set_link("bottleneck", rate="1 Mbps")

    env.process(outage())
    run = sim.run()
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet import read_out
from tcpcc.models.packet.live_flow import LiveFlow
from tcpcc.models.packet.memory.packet_world import PacketWorld
from tcpcc.models.progress import Progress
from tcpcc.scenario.units import Quantity

if TYPE_CHECKING:
    from pathlib import Path

    import simpy

    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario
    from tcpcc.scenario.traffic import Flow


class PacketSimulation:
    """A packet simulation inside a SimPy environment.

    Args:
        scenario: what to simulate; its time 0 is the environment's present time
        env: the ``simpy.Environment`` to run in; a new one if None
        trace: record every event of every flow, or of the named flows; see `tcpcc.simulate`
        growing: whether `add` may add flows during the run; costs a few more events
        stream: file to which the record is written, see `tcpcc.simulate`; not with `growing`
        world: the memory of the run, if it already exists
        senders: see `tcpcc.simulate`
    """

    def __init__(
        self,
        scenario: Scenario,
        env: simpy.Environment | None = None,
        *,
        trace: bool | Selection = False,
        growing: bool = False,
        stream: str | Path | None = None,
        world: PacketWorld | None = None,
        senders: float = math.inf,
    ) -> None:
        import simpy

        self.env = env if env is not None else simpy.Environment()
        self.scenario = scenario
        self.world = world or PacketWorld(
            scenario, trace, growing=growing, stream=stream, senders=senders
        )
        self._origin = self.env.now
        self._run_events = self.world.entry("run_events")
        self._need, self._following = self.world.w["need"], self.world.w["following"]
        self.world.w["at_once"] = 1
        self._cpu = 0.0
        self._callbacks: list[Any] = [self._fire]
        self._event = simpy.Event(self.env)
        self._due = math.inf
        self._watched: list[LiveFlow] = []
        self._before: dict[str, float] = {}  # rates of the links that have failed
        self._wake_early()

    def _wake(self, model_time: float) -> None:
        """Schedule the SimPy event for the next event of the model."""
        self._due = model_time
        if model_time <= self.scenario.duration:
            event = self._event
            event.callbacks = self._callbacks
            delay = self._origin + model_time - self.env.now
            self.env.schedule(event, delay=delay if delay > 0 else 0)

    def _fire(self, event: Any) -> None:
        try:
            self._run_events(math.inf)
        except ArithmeticError as error:
            raise self.world.explain(error) from None
        following = float(self._following[0])
        if self._need[0]:
            self.world.grow()
            if self.world.w["pending"][0] >= 0:
                following = self._due
        self._wake(following)
        if self._watched:
            self._watched = [flow for flow in self._watched if flow.look()]

    def run(self, *, progress: bool = False) -> Run:
        """Run the environment to the scenario's end and return the record."""
        self.advance(progress=progress)
        return read_out.result(self.world, "simpy", self._cpu)

    def advance(self, *, progress: bool = False) -> None:
        """Run the environment to the scenario's end."""
        begin = time.process_time()
        end = self._origin + self.scenario.duration
        with Progress(self.scenario.duration, progress) as bar:
            for k in range(1, 51):
                until = self._origin + self.scenario.duration * k / 50
                if until > self.env.now:
                    self.env.run(until=until)
                    self.world.release()
                bar.reach(until - self._origin)
            # SimPy stops before the events at the end time, which belong to the run
            while self._due <= self.scenario.duration and self.env.peek() <= end:
                self.env.step()
        self._cpu += time.process_time() - begin

    def result(self) -> Run:
        """The record of the run so far: of all bins that have ended.

        Raises:
            ScenarioError: the first bin has not ended.
        """
        return read_out.result(self.world, "simpy", self._cpu, self.now)

    # ------------------------------------------------------------- for users' processes

    @property
    def now(self) -> float:
        """Simulated time of the scenario, s."""
        return self.env.now - self._origin

    def flow(self, name: str) -> LiveFlow:
        """A TCP flow, to read and set its state and to wait for its events."""
        return LiveFlow(self, name)

    def add(self, flow: Flow) -> LiveFlow:
        """Add a TCP flow; the simulation must have been made with ``growing=True``.

        It begins at its `start`, or now if `start` has passed. From then on it is one of the
        scenario's flows: the record has a row for it, and its scenario contains the flow.

        Raises:
            ScenarioError: the simulation was made without ``growing=True`` or has workloads, the
                flow has a count or jitter, or the scenario with this flow is invalid.
        """
        from tcpcc.models.packet.memory.new_flow import add_flow

        name = add_flow(self.world, flow, self.now)
        self.scenario = self.world.scenario
        self._wake_early()
        return LiveFlow(self, name)

    def watch(self, flow: LiveFlow) -> None:
        """After each event, let `flow` check whether an awaited event has occurred."""
        if flow not in self._watched:
            self._watched.append(flow)

    def send_more(self, flow: int, packets: int) -> None:
        """Add packets for flow number `flow` to send now; see `LiveFlow.send`."""
        from tcpcc.models.packet.handlers import send_more

        try:
            send_more(self.world.address, flow, packets, self.now)
        except ArithmeticError as error:
            raise self.world.explain(error) from None
        if self.world.w["need"][0]:
            self.world.grow()
        self._wake_early()

    def fail(self, link: str) -> None:
        """Set the rate of `link` to 0 from now on: packets wait. `restore` ends the failure."""
        self._before.setdefault(link, self.link_state(link)["rate"])
        self.set_link(link, rate=0.0)

    def restore(self, link: str) -> None:
        """Give a failed link the rate that it had before `fail`."""
        if link not in self._before:
            raise ScenarioError(f"link {link!r}: has not failed")
        self.set_link(link, rate=self._before.pop(link))

    def link_state(self, link: str) -> dict[str, float]:
        """A link's present rate (bit/s), delay (s), buffer (packets or bytes), loss probability."""
        row = self.world.links[self.world.paths.row_of[self.world.number_of("link", link)]]
        names = {"rate": "rate", "delay": "delay", "buffer": "capacity", "loss": "loss"}
        return {name: float(row[field]) for name, field in names.items()}

    def cwnd(self, flow: str) -> float:
        """Present congestion window of `flow`, packets."""
        return float(self.world.senders.states[self.world.number_of("flow", flow)]["cwnd"][0])

    def acknowledged(self, flow: str) -> int:
        """Packets of `flow` acknowledged so far."""
        return int(self.world.tcp["high_ack"][self.world.number_of("flow", flow)]) + 1

    def queue_length(self, link: str) -> int:
        """Packets waiting at `link` now, without the packet being sent."""
        i = self.world.number_of("link", link)
        if self.world.links["scheduled"][i]:
            return int(self.world.links["stored"][i])
        ring = self.world.rings.arrays.get(("queue", i))
        if ring is None:
            return 0
        row = self.world.links[i]
        waiting = range(int(row["queue_head"]), int(row["queue_tail"]))
        mask = len(ring) - 1
        return int(sum(ring["leaves"][k & mask] >= self.now for k in waiting))

    def set_link(
        self,
        link: str,
        *,
        rate: Quantity | None = None,
        delay: Quantity | None = None,
        buffer: float | None = None,
        loss: float | None = None,
        jitter: Quantity | None = None,
        jitter_share: float | None = None,
    ) -> None:
        """Change `link` now; the scenario of the result includes the change.

        The link must have been made with ``variable=True``. Its jitter can change only if the link
        was made with a nonzero `jitter`, or if the scenario changes its jitter.

        Raises:
            ScenarioError: the link is unknown or not variable, it has no jitter to change, or a
                value is invalid.
        """
        from tcpcc.scenario.network import Change
        from tcpcc.scenario.resolve import ResolvedChange

        i = self.world.number_of("link", link)
        if not self.world.resolved.links[i].variable:
            raise ScenarioError(
                f"link {link!r} does not change: make it with variable=True to change it by hand"
            )
        late = {"jitter": jitter, "jitter_share": jitter_share}
        if any(value is not None for value in late.values()) and i not in self.world.paths.stages:
            raise ScenarioError(
                f"link {link!r} has no jitter: make it with one, if small, to change it by hand"
            )
        change = Change(
            self.now, link, rate=rate, delay=delay, buffer=buffer, loss=loss,
            jitter=jitter, jitter_share=jitter_share,
        )  # fmt: skip
        self.world.schedule.change_now(ResolvedChange(change, i))
        self._wake_early()

    def start(self, flow: str) -> None:
        """Switch a CBR source on now."""
        self._from_outside(r.FLOW_START, self._cbr(flow))

    def stop(self, flow: str) -> None:
        """Let `flow` send no new data from now on, or switch a CBR source off."""
        self._from_outside(r.FLOW_STOP, self.world.number_of("flow", flow))

    def _cbr(self, flow: str) -> int:
        from tcpcc.scenario.traffic import CBR

        i = self.world.number_of("flow", flow)
        if not isinstance(self.world.resolved.flows[i].spec, CBR):
            raise ScenarioError(f"flow {flow!r}: only a CBR source can be switched on by hand")
        return i

    def _from_outside(self, kind: Any, ident: int) -> None:
        self.world.schedule.add(self.now, kind, ident)
        self._wake_early()

    def _wake_early(self) -> None:
        """Let the model handle an event that was scheduled before its next one."""
        w = self.world.w[0]
        first = float(self.world.schedule.heap["time"][0]) if w["heap_size"] else math.inf
        if w["pending"] >= 0:
            first = self.now
        if self._due > first:
            self._event.callbacks = []  # disables the event that is scheduled already
            self._event = type(self._event)(self.env)
            self._event._ok, self._event._value = True, None  # triggered: the event is reused
            self._wake(max(first, self.now))
