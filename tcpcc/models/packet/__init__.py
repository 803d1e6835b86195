"""The packet model: every packet, every ACK, in two drivers over the same handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpcc.errors import unknown

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
    progress: bool = False,
) -> Run:
    """Run `scenario` packet by packet with one of the `DRIVERS`; see `tcpcc.simulate`."""
    if driver == "compiled":
        from tcpcc.models.packet import compiled
        from tcpcc.models.packet.streaming import stream_target

        target = stream_target(stream, trace)
        return compiled.simulate(scenario, trace=trace, stream=target, progress=progress)
    if driver == "simpy":
        from tcpcc.models.packet.simpy_driver import PacketSimulation

        return PacketSimulation(scenario, trace=trace, stream=stream).run(progress=progress)
    raise unknown("driver", driver, DRIVERS)
