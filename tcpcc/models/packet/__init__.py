"""The packet model: every packet, every ACK, in two drivers over the same handlers.

With `trains` several packets of a flow share an event (:mod:`tcpcc.models.trains`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, unknown, whole

if TYPE_CHECKING:
    from pathlib import Path

    from tcpcc.results import Run
    from tcpcc.results.run import Selection
    from tcpcc.scenario import Scenario

DRIVERS = ("compiled", "simpy")


def simulate(
    scenario: Scenario,
    *,
    driver: str = "compiled",
    trace: bool | Selection = False,
    stream: str | Path | None = None,
    trains: float | None = None,
    representatives: int | None = None,
    progress: bool = False,
) -> Run:
    """Run `scenario` packet by packet with one of the `DRIVERS`; see `tcpcc.simulate`."""
    at_most = math.inf
    if representatives is not None:
        at_most = whole("representatives", representatives, low=1)
    if trains is not None:
        from tcpcc.models.trains import simulate_in_trains

        if stream is not None:
            raise ScenarioError(f"stream = {stream!r}: not with trains; leave out one of them")
        return simulate_in_trains(scenario, trains, at_most, driver, trace, progress)
    if driver == "compiled":
        from tcpcc.models.packet import compiled
        from tcpcc.models.packet.streaming import stream_target

        target = stream_target(stream, trace)
        return compiled.simulate(
            scenario, trace=trace, stream=target, progress=progress, representatives=at_most
        )
    if driver == "simpy":
        from tcpcc.models.packet.simpy_driver import PacketSimulation

        sim = PacketSimulation(scenario, trace=trace, stream=stream, representatives=at_most)
        return sim.run(progress=progress)
    raise unknown("driver", driver, DRIVERS)
