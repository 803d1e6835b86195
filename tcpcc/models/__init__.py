"""The models, and one word for all of them: :func:`simulate`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.errors import ScenarioError, refuse, unknown
from tcpcc.models.blame import RuleError
from tcpcc.models.costs import Estimate, LongRun, ResourceError, check, estimate
from tcpcc.models.packet import DRIVERS
from tcpcc.scenario import Scenario

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
        name: what users call it; the folder of that name in this one has a function ``simulate``.
        summary: one line.
        options: keywords that it takes beside `scenario` and `progress`.
    """

    name: str
    summary: str
    options: tuple[str, ...]


MODELS = {
    model.name: model
    for model in (
        Model("packet", "every packet and every ACK", ("driver", "trace", "stream")),
        Model("fluid", "a hybrid automaton over cumulative flows", ("step", "representatives")),
        Model(
            "hybrid",
            "packets in front, fluid behind, in the same queues",
            ("driver", "trace", "step", "representatives"),
        ),
        Model(
            "meanfield", "a smooth differential equation for classes of flows", ("step", "marking")
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
    """Run `scenario` and return its record.

    Args:
        scenario: what to simulate.
        model: "packet" (every packet and ACK), "fluid" (a hybrid automaton over cumulative
            flows), "hybrid" (flows with ``background=True`` as fluid, the others as packets, in the
            same queues) or "meanfield" (a smooth differential equation for classes of flows).
        driver: of the packet and the hybrid model: "compiled", or "simpy" for an event in a SimPy
            environment each; both give the same bits.
        trace: keep every event of every flow in ``run.events``, for ``run.trace()``,
            ``run.plot_trace()``, ``run.to_pcap()`` (packet model); or the names of those flows,
            controllers or workloads whose events are kept, one or several.
        stream: file, as `Run.save` writes, that the record goes to (packet model): the run's
            series are on its disk from the start, and memory does not grow with the duration. The
            file is there whole or not at all, and the run returned reads from it what is asked for.
        progress: show a progress bar.
        force: begin even if the machine seems to lack the memory, or the run takes more than
            four hours; see `estimate`.
        options: of the models with fluid: ``step``, their time step in s; of "fluid" and "hybrid":
            ``representatives``, how many flows run at most for one with a ``count``; of
            "meanfield": ``marking``.

    Raises:
        ScenarioError: not a scenario, an unknown model or driver, an option that the model does
            not have.
        ResourceError: the run would take more than the machine has.
        OSError: `stream` cannot be written to.
        RuleError: a controller's or a queue's rule failed; names the rule and its line.

    A run that will take more than a minute is announced with a warning.
    """
    if not isinstance(scenario, Scenario):
        hint = "; tc.Scenario.load(...) reads a file" if isinstance(scenario, str | Path) else ""
        raise refuse("scenario", scenario, f"a Scenario{hint}")
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
        check(scenario, model, driver, trace, options.get("step"), stream is not None)
    run = import_module(f"{__name__}.{model}").simulate
    return run(scenario, progress=progress, **asked, **options)
