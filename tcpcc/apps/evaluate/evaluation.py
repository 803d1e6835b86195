"""Run all criteria with a controller and with the standards, and judge: `tcpcc.evaluate`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.apps.evaluate import alone_criteria, mixed_criteria, path_criteria, special_criteria
from tcpcc.apps.evaluate.criterion import Criterion, Scenarios
from tcpcc.apps.evaluate.findings import (
    BETTER,
    FAILS,
    PASSES,
    REFUSED,
    REPORTED,
    Evaluation,
    Finding,
)
from tcpcc.apps.evaluate.sections import SECTIONS
from tcpcc.errors import RuleError, ScenarioError, TcpccError, unknown, whole
from tcpcc.results.metrics import Mean, mean_ci
from tcpcc.scenario import Flow
from tcpcc.sweeps.parallel import Simulations

if TYPE_CHECKING:
    from tcpcc.controllers.controller import Controller
    from tcpcc.results import Run

STANDARDS = ("reno", "cubic")
"""Controllers with which every number is compared: RFC 5681 and RFC 9438."""

AGAINST = ("cubic", "reno", "bbr3")
"""Controllers beside which the tested one runs, by default."""

SEEDS, QUICK_SEEDS = 5, 3


def criteria(against: Iterable[str], cellular: Iterable[str | Path] = ()) -> tuple[Criterion, ...]:
    """All criteria, in the order of the RFC's sections; arguments as in `evaluate`."""
    return (
        *alone_criteria.criteria(), *mixed_criteria.criteria(against),
        *path_criteria.criteria(cellular), *special_criteria.criteria(),
    )  # fmt: skip


def evaluate(
    controller: str | Controller | Flow,
    *,
    against: Sequence[str] = AGAINST,
    quick: bool = False,
    sections: Iterable[str] | None = None,
    cellular: Sequence[str | Path] = (),
    seeds: int | None = None,
    jobs: int | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
) -> Evaluation:
    """Evaluate a congestion controller after RFC 9743.

    Each criterion is a number from the packet model (at 100 Gb/s in trains; in crowds a
    packet stands for several), measured with the controller and with Reno and CUBIC in its place. A
    criterion fails if the controller is worse than the worse of the two by more than a difference
    that does not matter, with 95 % confidence over the seeds.

    Args:
        controller: a registered name, a `Controller`, or a `Flow` with parameters, a transport
            and so on, whose copies are used.
        against: controllers beside which it runs.
        quick: only the most telling criteria, with 3 seeds.
        sections: numbers of sections of RFC 9743 to evaluate, such as "5.1.3"; "5" is all of
            section 5. Default: all.
        cellular: Mahimahi traces of cellular links; section 6.4 has criteria for each, besides
            those of a generated link.
        seeds: number of seeds, at least 2. Default: 5, quick 3.
        jobs, cache, progress: as in `tcpcc.sweep`. A cache keeps the standards' runs, too.

    Raises:
        ScenarioError: an unknown controller or section, a trace that cannot be read, or fewer than
            two seeds.
    """
    flow = controller if isinstance(controller, Flow) else Flow(controller)
    judges = Judges(against, quick=quick, sections=sections, cellular=cellular, seeds=seeds,
                    jobs=jobs, cache=cache, progress=progress)  # fmt: skip
    return judges.evaluate(flow)


class Judges:
    """The criteria, and the standards' numbers, which are measured once for many controllers.

    Args: as in `evaluate`.
    """

    def __init__(
        self,
        against: Sequence[str],
        *,
        quick: bool = False,
        sections: Iterable[str] | None = None,
        cellular: Sequence[str | Path] = (),
        seeds: int | None = None,
        **options: Any,
    ) -> None:
        default = QUICK_SEEDS if quick else SEEDS
        self.seeds = whole("seeds", default if seeds is None else seeds, "", low=2)
        self.criteria = _chosen(criteria(against, cellular), sections, quick=quick)
        self._options = options
        self._standards: dict[str, list[Measured]] = {}

    def evaluate(self, flow: Flow) -> Evaluation:
        """The evaluation of a controller, given as a flow."""
        tested = self._measure(flow)
        if not self._standards:
            self._standards = {name: self._measure(Flow(name)) for name in STANDARDS}
        findings = []
        for k, (criterion, result) in enumerate(zip(self.criteria, tested, strict=True)):
            standards = {name: results[k] for name, results in self._standards.items()}
            findings.append(judge(criterion, result, standards))
        return Evaluation(flow, self.seeds, tuple(findings))

    def _measure(self, flow: Flow) -> list[Measured]:
        return measure(self.criteria, flow, self.seeds, **self._options)


def _chosen(
    available: Sequence[Criterion], sections: Iterable[str] | None, *, quick: bool
) -> list[Criterion]:
    numbers = [section.number for section in SECTIONS]
    names = [*(sections or ())]
    for name in names:
        if not any(f"{number}.".startswith(f"{name}.") for number in numbers):
            raise unknown("section of RFC 9743", name, numbers)
    beginnings = tuple(f"{name}." for name in names or numbers)
    chosen = [
        criterion
        for criterion in available
        if (criterion.quick or not quick) and f"{criterion.section}.".startswith(beginnings)
    ]
    if not chosen:
        raise ScenarioError(
            f"sections = {', '.join(names)}: {'the quick version has' if quick else 'has'} no"
            " criterion there"
        )
    return chosen


@dataclass
class Measured:
    """A criterion's numbers, one for each seed, with one controller.

    Attributes:
        values: the numbers.
        scenarios: those of the first seed.
        runs: those of the first seed, by the scenarios' names.
        reason: why there is no number; "": there is.
        broken: a rule failed, as by a division by zero.
    """

    values: list[float] = field(default_factory=list)
    scenarios: Scenarios = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    reason: str = ""
    broken: bool = False

    @property
    def mean(self) -> Mean:
        return mean_ci(self.values)


def measure(
    selected: Sequence[Criterion], flow: Flow, seeds: int, **options: Any
) -> list[Measured]:
    """The numbers of criteria for one kind of flow; simulations run in parallel."""
    results = [Measured() for _ in selected]
    kinds: dict[tuple[Any, ...], list[int]] = {}  # by the options of the simulation
    for k, criterion in enumerate(selected):
        try:
            results[k].scenarios = criterion.build(flow)
            kinds.setdefault(tuple(criterion.options.items()), []).append(k)
        except TcpccError as error:
            results[k].reason = str(error)
    for settings, members in kinds.items():
        simulation = {"title": flow.controller, **dict(settings), **options}
        _fill(results, selected, members, seeds, **simulation)
    return results


def _fill(
    results: Sequence[Measured], selected: Sequence[Criterion], members: Sequence[int], seeds: int,
    *, progress: bool | None = None, title: str | None = None, **options: Any,
) -> None:  # fmt: skip
    """Measure some criteria with the same options.

    A number is read as soon as its runs are finished; only those of the first seed are kept.
    """
    todo = [
        (k, seed, name, scenario.replace(seed=seed))
        for k in members
        for seed in range(1, seeds + 1)
        for name, scenario in results[k].scenarios.items()
    ]
    runs: dict[tuple[int, int], dict[str, Run]] = {}
    values: dict[tuple[int, int], float] = {}
    failures: dict[int, dict[int, Exception]] = {}
    with Simulations([case[-1] for case in todo], **options) as simulations:
        for at, run in simulations.finished(progress, title):
            k, seed, name, _ = todo[at]
            if isinstance(run, Exception):
                failures.setdefault(k, {})[at] = run
                continue
            of_seed = runs.setdefault((k, seed), {})
            of_seed[name] = run
            if len(of_seed) == len(results[k].scenarios):
                values[k, seed] = selected[k].read(of_seed)
                if seed > 1:
                    del runs[k, seed]
    for k in members:
        result = results[k]
        if k in failures:
            first = failures[k][min(failures[k])]
            result.broken = isinstance(first, RuleError)
            result.reason = " ".join(str(first).split())
        else:
            result.values = [values[k, seed] for seed in range(1, seeds + 1)]
            result.runs = runs[k, 1]


def judge(criterion: Criterion, tested: Measured, standards: dict[str, Measured]) -> Finding:
    """Compare with the standards.

    With m the mean and h the half width of its 95 % confidence interval, and s the standards'
    means: where less is better it fails if m - h > max(s) + margin, and is better than both if
    m + h < min(s) - margin; where more is better alike, with the signs changed. It fails, too, if
    a rule of the controller fails.
    """
    means = {name: result.mean for name, result in standards.items()}
    standard_means = [mean.mean for mean in means.values() if not math.isnan(mean.mean)]
    own = tested.mean
    if tested.broken:
        verdict = FAILS
    elif tested.reason or math.isnan(own.mean):
        verdict = REFUSED
    elif not standard_means or not criterion.needed:
        verdict = REPORTED
    else:
        sign = 1.0 if criterion.less else -1.0
        worst, best = (end(sign * mean for mean in standard_means) for end in (max, min))
        half = 0.0 if math.isnan(own.half_width) else own.half_width
        verdict = PASSES
        if sign * own.mean - half > worst + criterion.margin:
            verdict = FAILS
        elif sign * own.mean + half < best - criterion.margin:
            verdict = BETTER
    standard_runs = {name: mean.runs for name, mean in standards.items()}
    return Finding(
        criterion, own, means, verdict, tested.reason, tested.scenarios, tested.runs, standard_runs,
    )  # fmt: skip
