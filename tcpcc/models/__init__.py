"""The models, and :func:`simulate`, which runs a scenario in any of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.engine.jit import announce_compilation
from tcpcc.errors import ScenarioError, refuse, unknown
from tcpcc.models.blame import RuleError
from tcpcc.models.costs import LongRun, ResourceError, check_cost, estimate
from tcpcc.models.estimates import Estimate
from tcpcc.models.packet import DRIVERS
from tcpcc.scenario import Scenario
from tcpcc.scenario.spec import require_scenario

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.results.run import Selection

__all__ = [
    "MODELS",
    "Estimate",
    "LongRun",
    "Model",
    "ResourceError",
    "RuleError",
    "estimate",
    "simulate",
]


@dataclass(frozen=True, slots=True)
class Model:
    """A way to simulate a scenario.

    Attributes:
        name: the value of ``model=``; also the subpackage that has the function ``simulate``.
        summary: one line.
        options: keyword arguments of that function besides `scenario` and `progress`.
        engine: module with its machine code.
        compile_s: CPU time of the first compilation, s.
    """

    name: str
    summary: str
    options: tuple[str, ...]
    engine: str
    compile_s: float


MODELS = {
    model.name: model
    for model in (
        Model(
            "packet",
            "every packet and every ACK",
            ("driver", "trace", "stream", "representatives"),
            "tcpcc.models.packet.handlers",
            20,
        ),
        Model(
            "fluid",
            "trains of packets over fluid queues",
            ("per_rtt", "representatives"),
            "tcpcc.models.fluid.train_events",
            20,
        ),
        Model(
            "hybrid",
            "foreground flows as packets, background flows as fluid, in the same queues",
            ("driver", "trace", "per_rtt", "representatives"),
            "tcpcc.models.fluid.train_events",
            20,
        ),
        Model(
            "meanfield",
            "a smooth differential equation for classes of flows",
            ("step", "marking"),
            "tcpcc.models.meanfield.heun",
            15,
        ),
    )
}


def _is_default(value: object) -> bool:
    return value is None or value is False or value == "compiled"


def simulate(
    scenario: Scenario,
    model: str = "packet",
    *,
    driver: str = "compiled",
    trace: bool | Selection = False,
    stream: str | Path | None = None,
    progress: bool = False,
    force: bool = False,
    **options: Any,
) -> Run:
    """Run `scenario` and return the recorded run.

    A run that is expected to take more than a minute is announced with a warning. The first run of
    a model after an install compiles it; on a terminal and in a notebook a line on stderr says so.
    ``TCPCC_QUIET=1`` in the environment switches the line off.

    Args:
        scenario: the scenario to simulate.
        model: "packet" (every packet and ACK), "fluid" (trains of packets
            over fluid queues), "hybrid" (flows with ``background=True`` as fluid, the others as
            packets, in the same queues) or "meanfield" (a smooth differential equation for classes
            of flows).
        driver: packet and hybrid model: "compiled", or "simpy", which makes every event an event
            of a SimPy environment. Both give bit-identical results.
        trace: packet and hybrid model: keep every event of every packet flow in ``run.events``, for
            ``run.trace()``, ``run.plot_trace()`` and ``run.to_pcap()``. Or the name of a flow,
            controller or workload, or several names, to keep the events of these only.
        stream: packet model: a file for the record, in the format of `Run.save`. The series are
            kept on disk during the run, so memory does not grow with the duration. The file
            appears only when it is complete. The returned run reads from it on demand.
        progress: show a progress bar.
        force: run even if the machine seems to lack the memory, or if the estimated time exceeds
            four hours; see `estimate`.
        options: "fluid" and "hybrid": ``per_rtt``, the number of trains in a round trip (default
            16). "packet", "fluid" and "hybrid": ``representatives``, the largest number of senders
            simulated for one flow with a ``count`` (default: all in packets, else 100). Each packet
            of such a sender stands for one packet of each of its flows; see `docs/models.md`.
            "meanfield": ``step``, the time step in s, and ``marking``.

    Raises:
        ScenarioError: not a scenario, an unknown model or driver, or an option that the model does
            not have.
        ResourceError: the run would take more time or memory than allowed.
        OSError: `stream` cannot be written.
        RuleError: a rule of a controller or queue failed; the message names the rule and its line.
    """
    require_scenario(scenario)
    if not isinstance(model, str):
        raise refuse("model", model, f"one of {', '.join(MODELS)}; run several one after the other")
    if model not in MODELS:
        raise unknown("model", model, MODELS)
    chosen = MODELS[model]
    given = {"driver": driver, "trace": trace, "stream": stream}
    asked = {name: value for name, value in given.items() if not _is_default(value)}
    for name in {**asked, **options}:
        if name in given and name not in chosen.options:
            raise ScenarioError(f"{name} = {given[name]!r}: the {model} model has no such option")
        if name not in chosen.options:
            raise unknown(f"option of the {model} model", name, chosen.options)
    if driver not in DRIVERS:
        raise unknown("driver", driver, DRIVERS)
    if not force:
        asked_for = {name: options[name] for name in ("step", "representatives") if name in options}
        check_cost(scenario, model, driver, trace, stream is not None, **asked_for)
    announce_compilation(chosen.engine, f"the {model} model", chosen.compile_s)
    run = import_module(f"{__name__}.{model}").simulate
    return run(scenario, progress=progress, **asked, **options)
