"""The compiled driver: runs the events in machine code, in pieces that can be interrupted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tcpcc.models.progress import Progress

if TYPE_CHECKING:
    from tcpcc.models.packet.live_flow import LiveFlow
    from tcpcc.models.packet.memory.packet_world import PacketWorld
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

EVENTS_AT_ONCE = 2**19  # events between two checks for Ctrl-C; some tenths of a second


class CompiledSimulation:
    """A packet simulation in machine code that can stop at any time, to be read and changed.

    Args:
        scenario: what to simulate.
        world: the memory of the run, if it already exists.

    Attributes:
        now: simulated time reached, s.
    """

    def __init__(self, scenario: Scenario, world: PacketWorld | None = None) -> None:
        from tcpcc.models.packet.memory.packet_world import PacketWorld

        self._cpu = -time.thread_time()
        self.scenario = scenario
        self.world = world or PacketWorld(scenario)
        self.now = 0.0
        self._cpu += time.thread_time()

    def advance(self, until: float, bar: Progress | None = None) -> None:
        """Handle the events up to a time, s, at most the scenario's end.

        Raises:
            RuleError: a rule failed; the error names its line and its values.
        """
        self._cpu -= time.thread_time()
        world, w = self.world, self.world.w[0]
        run_events, more, until = world.entry("run_events"), True, float(until)
        w["at_once"] = EVENTS_AT_ONCE
        while more:
            try:
                more = run_events(until)
            except ArithmeticError as error:
                raise world.explain(error) from None
            if w["need"]:
                world.grow()
            world.release()
            if bar is not None:
                bar.reach(min(float(w["now"]), until) if more else until)
        self.now = until
        self._cpu += time.thread_time()

    def flow(self, name: str) -> LiveFlow:
        """A TCP flow, to read and set its state."""
        from tcpcc.models.packet.live_flow import LiveFlow

        return LiveFlow(self, name)

    def result(self) -> Run:
        """The record: of the whole run, or of the bins that have ended.

        Raises:
            ScenarioError: the first bin has not ended.
        """
        from tcpcc.models.packet import read_out

        until = () if self.now >= self.scenario.duration else (self.now,)
        return read_out.result(self.world, "compiled", self._cpu, *until)
