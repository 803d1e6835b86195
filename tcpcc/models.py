"""One word for all models: :func:`simulate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

MODELS = ("packet", "fluid")
DRIVERS = ("compiled", "simpy")


def simulate(
    scenario: Scenario,
    model: str = "packet",
    *,
    driver: str = "compiled",
    trace: bool = False,
    progress: bool = False,
    **options: Any,
) -> Run:
    """Run `scenario` and return its record.

    Parameters
    ----------
    scenario : what to simulate
    model : "packet" (every packet and ACK) or "fluid" (a hybrid automaton over cumulative flows)
    driver : of the packet model: "compiled", or "simpy" for an event in a SimPy environment each;
        both give the same bits
    trace : keep every event of every flow in ``run.events`` (packet model)
    progress : show a progress bar
    options : of the fluid model: ``step``, its time step in s

    Raises
    ------
    ScenarioError : an unknown model, driver or option
    """
    if model not in MODELS:
        raise unknown("model", model, MODELS)
    if driver not in DRIVERS:
        raise unknown("driver", driver, DRIVERS)
    if model == "fluid":
        from tcpcc.fluid.automaton import simulate as simulate_fluid

        if trace:
            raise ScenarioError("trace = True: the fluid model has no packets to trace")
        unexpected = set(options) - {"step"}
        if unexpected:
            raise unknown("option of the fluid model", unexpected.pop(), ["step"])
        return simulate_fluid(scenario, progress=progress, **options)
    if options:
        raise unknown("option of the packet model", next(iter(options)), ["driver", "trace"])
    if driver == "simpy":
        from tcpcc.packet.simpy_driver import PacketSimulation

        return PacketSimulation(scenario, trace=trace).run(progress=progress)
    from tcpcc.packet.compiled import simulate as simulate_packets

    return simulate_packets(scenario, trace=trace, progress=progress)
