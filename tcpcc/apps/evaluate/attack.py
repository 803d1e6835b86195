"""Search for the scenario in which a controller does worst: `tcpcc.attack`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpcc.apps.evaluate import measures, space
from tcpcc.apps.evaluate.criterion import OTHER, TESTED
from tcpcc.apps.evaluate.measures import BOTTLENECK
from tcpcc.apps.evaluate.optimum import largest
from tcpcc.apps.evaluate.space import PULSES, Choice, Point, Range
from tcpcc.errors import RuleError, SweepError, one_of, whole
from tcpcc.files import whole_file
from tcpcc.scenario import Flow, Scenario
from tcpcc.sweeps import sweep

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.controllers.controller import Controller
    from tcpcc.results import Run

SECONDS = 40.0
"""Duration of a run; harm is measured after 10 s (and after a late start)."""

SETTLED = 10.0

KEPT = 0.9
"""Share of the harm that a simpler scenario keeps."""


# Kinds of harm, each 0 (none) to 1.


def _after(run: Run) -> float:
    starts = run.data["start"].sel(flow=_tested(run))
    return float(starts.max()) + SETTLED


def _capacity(run: Run, after: float) -> float:
    """Mean rate that the bottleneck carries from `after` on, bit/s."""
    bits = run.data["capacity"].sel(link=BOTTLENECK)
    rate = float(bits.where(bits["time"] > after).sum()) / (run.duration - after)
    (link,) = (link for link in run.scenario.net.links if link.name == BOTTLENECK)
    limit = dict(link.queue.params).get("rate") if link.queue.name == "policer" else None
    return rate if limit is None else min(rate, limit)


def _tested(run: Run) -> list[str]:
    return measures.named(run, TESTED)


def lost_throughput(run: Run) -> float:
    """1 - goodput of the tested flows over their fair share of what unresponsive traffic leaves."""
    after = _after(run)
    rates = run.throughput(after)
    free = _capacity(run, after)
    if PULSES in run.flows:
        free -= float(run.throughput(after, count="sent").sel(flow=PULSES))
    own = _tested(run)
    others = measures.named(run, OTHER)
    fair = free * len(own) / (len(own) + len(others))
    return 1.0 - min(float(rates.sel(flow=own).sum()) / fair, 1.0) if fair > 0 else 0.0


def starvation(run: Run) -> float:
    """1 - smallest over largest throughput of the tested flows."""
    rates = run.throughput(_after(run)).sel(flow=_tested(run)).values
    return 1.0 - float(rates.min() / rates.max()) if rates.max() > 0 else 1.0


def drops(run: Run) -> float:
    """Drop rate at the bottleneck."""
    rate = run.drop_rate(BOTTLENECK, _after(run))
    return 0.0 if math.isnan(rate) else rate


def delay(run: Run) -> float:
    """Queueing delay over queueing delay plus base RTT."""
    waiting = measures.queueing_delay(run, _after(run)) / 1e3
    return waiting / (waiting + float(run.data["base_rtt"].min()))


def harm_to_others(run: Run) -> float:
    """1 - throughput of the other flows over their fair share."""
    after = _after(run)
    others = measures.named(run, OTHER)
    if not others:
        return 0.0
    fair = _capacity(run, after) * len(others) / (len(others) + len(_tested(run)))
    return 1.0 - min(measures.rate(run, OTHER, after) / fair, 1.0)


HARMS: dict[str, Callable[[Run], float]] = {
    "throughput": lost_throughput,
    "starvation": starvation,
    "loss": drops,
    "delay": delay,
    "others": harm_to_others,
}
"""Kinds of harm by name."""

LEAST = {"starvation": {"flows": 2}}
"""Least values without which a kind of harm has no meaning."""


@dataclass(frozen=True)
class WorstCase:
    """The worst scenario that an attack found, made as simple as possible.

    Attributes:
        harm: harm at `point`, mean over the seeds.
        replayed: harm in `scenario`, a run with the first seed; both drivers give this number.
        worst_harm: harm at the worst point of the search.
        point: the quantities of `scenario` that are not plain.
        scenario: the simplest scenario that keeps 0.9 of the harm found, with its first seed.
        trials: all points of the search, with their `harm`.
    """

    harm: float
    replayed: float
    worst_harm: float
    point: Point
    scenario: Scenario
    trials: pd.DataFrame = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Save the scenario as TOML, with its harm as a comment; `tcpcc run` replays it."""
        with whole_file(path) as part:
            text = f"# harm: {self.replayed!r}\n{self.scenario.to_toml()}"
            part.write_text(text, encoding="utf-8", newline="\n")


def attack(
    controller: str | Controller | Flow,
    harm: str | Callable[[Run], float] = "throughput",
    *,
    ranges: Iterable[str] | Mapping[str, Any] | None = None,
    fixed: Point | None = None,
    trials: int = 200,
    seeds: int = 2,
    seed: int = 1,
    jobs: int | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
) -> WorstCase:
    """Search for the scenario in which a controller performs worst.

    Optuna's tree-structured Parzen estimator chooses the points; the packet model simulates them.
    The worst point is then simplified: each quantity is reset to its plain value, and the others
    are rounded, as long as 0.9 of the harm remains. The result is the same for any number of
    processors. With a `cache` an interrupted attack resumes.

    Args:
        controller: a registered name, a `Controller`, or a `Flow` with parameters, a transport...
        harm: "throughput" (share of the fair share that the tested flows lose), "starvation" (of
            one of them by the others), "loss" (drop rate), "delay" (queueing over total delay),
            "others" (harm to other flows), or a function of a `Run` that returns 0 to 1.
        ranges: quantities to vary (`tcpcc.apps.evaluate.space.QUANTITIES`): names, or a mapping
            from names to (low, high) or to a sequence of names. Default: all.
        fixed: values of other quantities.
        trials: number of points.
        seeds: seeds of each point.
        seed: seed of the search.
        jobs, cache, progress: as in `tcpcc.sweep`.

    Raises:
        ScenarioError: an unknown quantity or harm, or an invalid range.
        TcpccError: Optuna is not installed; `pip install 'tcpcc[evaluate]'`.
    """
    flow = controller if isinstance(controller, Flow) else Flow(controller)
    measure = harm if callable(harm) else HARMS[one_of("harm", harm, known=HARMS)]
    quantities = space.chosen(ranges)
    constants = {**LEAST.get(str(harm), {}), **(fixed or {})}
    for name in constants:
        one_of("quantity", name, known=space.QUANTITIES)
    whole("seeds", seeds, "", low=1)
    options = {"jobs": jobs, "cache": cache, "progress": progress}

    def harms(points: Sequence[Point]) -> list[float]:
        return _harms(flow, [{**constants, **point} for point in points], measure, seeds, **options)

    worst, worst_harm, table = largest(quantities, harms, trials, seed, "harm")
    simple, value = _simplest(worst, worst_harm, quantities, harms)
    point = {**constants, **simple}
    (replayed,) = _harms(flow, [point], measure, 1, **options)
    return WorstCase(
        value, replayed, worst_harm, point, space.scenario(flow, point, SECONDS), table
    )


def _harms(
    flow: Flow, points: Sequence[Point], measure: Callable[[Run], float], seeds: int, **options: Any
) -> list[float]:
    """Mean harm over the seeds at each point; 0 where a scenario cannot run."""
    scenarios = [
        space.scenario(flow, point, SECONDS, seed)
        for point in points
        for seed in range(1, seeds + 1)
    ]
    try:
        runs = sweep(scenarios, **options)
    except SweepError as error:
        broken = [failure for failure in error.failed.values() if isinstance(failure, RuleError)]
        if broken:
            raise broken[0] from None
        runs = error.finished
    values = [math.nan if run is None else measure(run) for run in runs]
    return np.nan_to_num(np.reshape(values, (len(points), seeds))).mean(axis=1).tolist()


def _simplest(
    worst: dict[str, Any],
    worst_harm: float,
    quantities: Mapping[str, Range | Choice],
    harms: Callable[[Sequence[Point]], list[float]],
) -> tuple[dict[str, Any], float]:
    """The point without quantities that do not matter, the others rounded; and its harm."""
    point, harm = dict(worst), worst_harm
    for name, quantity in quantities.items():
        simpler = {**point, name: quantity.plain}
        (value,) = harms([simpler])
        if value >= KEPT * worst_harm:
            point, harm = simpler, value
    for name, quantity in quantities.items():
        if isinstance(quantity, Range) and point[name] != quantity.plain:
            for digits in (1, 2):
                simpler = {**point, name: float(f"{point[name]:.{digits - 1}e}")}
                (value,) = harms([simpler])
                if value >= KEPT * worst_harm:
                    point, harm = simpler, value
                    break
    return {name: value for name, value in point.items() if value != quantities[name].plain}, harm
