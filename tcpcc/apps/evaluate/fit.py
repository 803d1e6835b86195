"""Tune a controller's parameters: `tcpcc.fit`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.apps.evaluate.optimum import largest
from tcpcc.apps.evaluate.space import Point, Range
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import ScenarioError, SweepError, one_of, whole
from tcpcc.scenario import Flow, Scenario
from tcpcc.sweeps import sweep

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.results import Run


WORST = -1e300
"""Objective of a point that cannot run."""

FINAL = 8
"""Number of a screened search's points between which packets decide."""


@dataclass(frozen=True)
class Fit:
    """The best parameters that a search found.

    Attributes:
        params: value of each parameter.
        value: the objective in packets with these parameters, mean over scenarios and seeds.
        default: the same with the given flows.
        trials: all points of the search with their `objective`.
    """

    params: dict[str, float]
    value: float
    default: float
    trials: pd.DataFrame = field(repr=False)


def fit(
    controller: str,
    params: Mapping[str, tuple[float, float]],
    objective: Callable[[Run], float],
    scenarios: Sequence[Scenario],
    *,
    screen: str | None = None,
    trials: int = 64,
    seeds: int = 2,
    seed: int = 1,
    jobs: int | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
) -> Fit:
    """Search the parameters of a controller that give the largest objective.

    Args:
        controller: its name; its flows in the scenarios get the parameters.
        params: range (low, high) of each parameter to vary.
        objective: number to raise, from a run.
        scenarios: the objective is the mean over these.
        screen: model of the search, such as "fluid"; the packet model then decides between the best
            points. None: packets only.
        trials: number of points.
        seeds: seeds of each packet run.
        seed: seed of the search.
        jobs, cache, progress: as in `tcpcc.sweep`.

    Raises:
        ScenarioError: an unknown controller or parameter, a range outside of the parameter's, or
            no scenario has a flow of the controller.
        TcpccError: Optuna is not installed; `pip install 'tcpcc[evaluate]'`.
    """
    declared = CONTROLLERS.find(controller).params
    for name, (low, high) in params.items():
        one_of(f"parameter of {controller!r}", name, known=declared)
        for end in (low, high):
            declared[name].number(name, end)
    if not any(
        isinstance(flow, Flow) and flow.controller == controller
        for scenario in scenarios
        for flow in scenario.flows
    ):
        raise ScenarioError(f"scenarios: no flow has the controller {controller!r}")
    whole("seeds", seeds, "", low=1)
    quantities = {
        name: Range(low, high, low, declared[name].unit, "") for name, (low, high) in params.items()
    }
    options: dict[str, Any] = {"jobs": jobs, "cache": cache, "progress": progress}
    causes: list[str] = []

    def values(points: Sequence[Point], model: str = screen or "packet") -> list[float]:
        numbers = range(1, seeds + 1 if model == "packet" else 2)
        valid = [_valid(controller, point) for point in points]
        cases = [
            _with(scenario, controller, point).replace(seed=number)
            for point, right in zip(points, valid, strict=True) if right
            for scenario in scenarios for number in numbers
        ]  # fmt: skip
        try:
            runs = sweep(cases, model=model, **options)
        except SweepError as error:
            runs = error.finished
            causes.append(str(error))
        results = np.array([math.nan if run is None else objective(run) for run in runs])
        means = iter(results.reshape(-1, len(scenarios) * len(numbers)).mean(axis=1))
        drawn = [next(means) if right else math.nan for right in valid]
        return [WORST if math.isnan(mean) else float(mean) for mean in drawn]

    best = largest(quantities, values, trials, seed, "objective")
    if best.value == WORST:
        raise ScenarioError(
            f"scenarios: none of {trials} trials has a value in the {screen or 'packet'} model"
            + (f"; {causes[0]}" if causes else "")
        )
    point, value = best.point, best.value
    if screen is not None:
        first = best.trials.nlargest(FINAL, "objective")
        finalists = [{name: float(row[name]) for name in quantities} for _, row in first.iterrows()]
        decided = values(finalists, "packet")
        value = max(decided)
        point = finalists[decided.index(value)]
    (default,) = values([{}], "packet")
    return Fit(point, value, default, best.trials)


def _valid(controller: str, point: Point) -> bool:
    """Whether the controller accepts these parameters together."""
    try:
        CONTROLLERS.find(controller).check(point)
    except ScenarioError:
        return False
    return True


def _with(scenario: Scenario, controller: str, point: Point) -> Scenario:
    """The scenario with these parameters in the controller's flows."""
    flows = [
        flow.replace(params={**dict(flow.params), **point})
        if isinstance(flow, Flow) and flow.controller == controller and point
        else flow
        for flow in scenario.flows
    ]
    return scenario.replace(flows=flows)
