"""The models, and :func:`simulate`, which runs a scenario in any of them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.engine.jit import announce_compilation
from tcpcc.errors import ScenarioError, refuse, unknown
from tcpcc.models.costs import check_cost, estimate
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
    "Model",
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
            "every packet and every ACK; with trains, several packets in an event",
            ("driver", "trace", "stream", "trains", "senders"),
            "tcpcc.models.packet.handlers",
            20,
        ),
        Model(
            "fluid",
            "an ordinary differential equation for each flow, with jumps at losses",
            ("steps", "senders"),
            "tcpcc.models.fluid.fluid_step",
            10,
        ),
        Model(
            "hybrid",
            "foreground flows as packets, background flows in trains or fluid, in the same queues",
            ("driver", "trace", "trains", "steps", "senders"),
            "tcpcc.models.trains.train_events",
            20,
        ),
    )
}


FORMER_MODELS = {
    "meanfield": 'use "fluid"; tc.analysis.equilibrium and its like analyse its smooth limit',
    "ode": 'use "fluid"',
}
FORMER_OPTIONS = {
    "representatives": "the option is called senders",
    "per_rtt": "give trains=16, in the packet model or the hybrid",
    "step": "the fluid model has steps, the number of steps in a round trip",
    "marking": "give the flows transport=tc.Transport(ecn=...) and the queue ecn=True",
}
COUNT = ("trains", "steps", "senders")  # options on which the cost depends


def check_model(model: str) -> None:
    """Refuse a name that is not one of the `MODELS`.

    Raises:
        ScenarioError: the message names the model that replaces a former one.
    """
    if model in FORMER_MODELS:
        raise ScenarioError(f"model = {model!r}: {FORMER_MODELS[model]}")
    if model not in MODELS:
        raise unknown("model", model, MODELS)


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
        model: "packet" (every packet and ACK), "fluid" (an ordinary differential equation for each
            flow) or "hybrid" (flows with ``background=True`` in trains or, with `steps`, in the
            fluid model; the others as packets, in the same queues).
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
        options: packet and hybrid model: ``trains``, such as 16: packets of a flow that are sent
            within this part of a round trip share an event. Faster, and the packets' order within a
            train is lost. Default: none in the packet model, 16 for the hybrid's background. Packet
            model: none, too, if each train would have one packet.
            Fluid model, and hybrid with a background of fluid: ``steps`` in the shortest base
            round-trip time (fluid model: default 20).
            All: ``senders``, the largest number of senders simulated for one flow with a
            ``count`` (default: all in the packet model, else 100). Each packet of such a sender
            stands for one packet of each of its flows; see `docs/models.md`.

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
    check_model(model)
    chosen = MODELS[model]
    settings = {"driver": driver, "trace": trace, "stream": stream}
    is_default = {
        "driver": driver == "compiled",
        "trace": trace is False or trace is None,
        "stream": stream is None,
    }
    asked = {name: value for name, value in settings.items() if not is_default[name]}
    for name in {**asked, **options}:
        if name in FORMER_OPTIONS and name not in chosen.options:
            raise ScenarioError(f"{name}: {FORMER_OPTIONS[name]}")
        if name in settings and name not in chosen.options:
            raise ScenarioError(
                f"{name} = {settings[name]!r}: the {model} model has no such option"
            )
        if name not in chosen.options:
            raise unknown(f"option of the {model} model", name, chosen.options)
    if driver not in DRIVERS:
        raise unknown("driver", driver, DRIVERS)
    if not force:
        asked_for = {name: options[name] for name in COUNT if name in options}
        check_cost(scenario, model, driver, trace, stream is not None, **asked_for)
    in_trains = options.get("trains") is not None
    engine = MODELS["hybrid"].engine if in_trains else chosen.engine
    announce_compilation(engine, f"the {model} model", chosen.compile_s)
    run = import_module(f"{__name__}.{model}").simulate
    return run(scenario, progress=progress, **asked, **options)
