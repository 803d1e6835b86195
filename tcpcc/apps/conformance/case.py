"""Cases: a scenario and an envelope, as TOML files in `cases` and `scenarios`.

A case file::

    title = "Entering and exiting PROBE_RTT"
    source = "draft-ietf-ccwg-bbr, appendix BBR Example Test Cases"
    scenario = "bbr-plain"          # scenarios/bbr-plain.toml
    answers = ["https://..."]       # optional: issues elsewhere that ask for the case
    notes = "what a test-bed must do beside the scenario"

    [[check]]
    name = "interval"
    observable = "time_between"     # and its settings:
    mode = "PROBE_RTT"
    low = 4.9
    high = 5.5
    reason = "ProbeRTTInterval is 5 s"
    source = "ProbeRTT Logic"       # optional: section

`low` and `high` bound numbers; `allowed` lists names of states. With `optional = true` a check may
have nothing to judge. `exception` says why this package's own sender leaves the envelope.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tcpcc.apps.conformance.known_path import KnownPath
from tcpcc.apps.conformance.observables import OBSERVABLES, Reading
from tcpcc.errors import ScenarioError, one_of

if TYPE_CHECKING:
    from tcpcc.apps.conformance.flow_trace import FlowTrace
    from tcpcc.results import Run
    from tcpcc.scenario import Scenario

CASES, SCENARIOS = "cases", "scenarios"


@dataclass(frozen=True)
class Check:
    """One row of an envelope.

    Attributes:
        name: unique in its case.
        observable: a name of `OBSERVABLES`.
        settings: its settings.
        flow: number of the flow in the scenario, from 1.
        low, high: bounds of a number, both allowed.
        allowed: names of states.
        reason: why these bounds.
        source: section, if it differs from the case's.
        optional: whether there may be nothing to judge.
        exception: why the reference of this package leaves the envelope; "": it does not.
    """

    name: str
    observable: str
    settings: Mapping[str, Any]
    reason: str
    flow: int = 1
    low: float = -math.inf
    high: float = math.inf
    allowed: tuple[str, ...] = ()
    source: str = ""
    optional: bool = False
    exception: str = ""

    @classmethod
    def of_table(cls, case: str, number: int, table: dict[str, Any]) -> Check:
        """A [[check]] of a file; raises `ScenarioError` if it is invalid."""
        where = f"case {case}, check {number}"
        for needed in ("name", "observable", "reason"):
            if not isinstance(table.get(needed), str):
                raise ScenarioError(f"{where}: {needed}: must be a text")
        kind = one_of(f"observable in {where}", table["observable"], known=OBSERVABLES)
        own = {k: table.pop(k) for k in [*table] if k not in cls.__dataclass_fields__}
        allowed = tuple(table.pop("allowed", ()))
        check = cls(settings=own, allowed=allowed, **table)
        is_bounded = check.low > -math.inf or check.high < math.inf
        if bool(allowed) == is_bounded or check.low > check.high:
            raise ScenarioError(f"{where}: give low <= high, or allowed")
        settings = OBSERVABLES[kind].settings
        for setting in own:
            one_of(f"setting of {kind} in {where}", setting, known=settings)
        for setting, is_needed in settings.items():
            if is_needed and setting not in own:
                raise ScenarioError(f"{where}: {kind} needs {setting}")
        return check

    def read(self, traces: list[FlowTrace], path: KnownPath) -> Reading:
        return OBSERVABLES[self.observable](traces, path, self.flow - 1, **self.settings)

    @property
    def envelope(self) -> str:
        """The bounds in words: "0.98 to 1.02", "<= 3", "DOWN or CRUISE"."""
        if self.allowed:
            return " or ".join(self.allowed)
        if self.low == -math.inf:
            return f"<= {self.high:g}"
        if self.high == math.inf:
            return f">= {self.low:g}"
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"

    @property
    def measured(self) -> str:
        """The observable with its settings, in one line."""
        text = ", ".join(
            f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in self.settings.items()
        )
        return f"{self.observable} ({text})" if text else self.observable


@dataclass(frozen=True)
class Case:
    """A scenario and the envelope of what is acceptable in it.

    Attributes:
        name: such as "bbr-03".
        title: what it tests.
        source: document that asks for it.
        scenario_name: file in `scenarios`.
        answers: addresses of issues that ask for it.
        notes: what a test-bed must do beside the scenario; "": nothing.
        checks: the envelope.
    """

    name: str
    title: str
    source: str
    scenario_name: str
    answers: tuple[str, ...]
    notes: str
    checks: tuple[Check, ...]

    @property
    def scenario_text(self) -> str:
        """The scenario as TOML, as `tcpcc run` reads it."""
        return _text(SCENARIOS, self.scenario_name)

    @property
    def text(self) -> str:
        """The envelope as TOML."""
        return _text(CASES, self.name)

    @cached_property
    def scenario(self) -> Scenario:
        from tcpcc.scenario import Scenario

        return Scenario.from_toml(self.scenario_text)

    def path(self, packet_sizes: Sequence[float] = ()) -> KnownPath:
        """The scenario's path, for packets of these sizes, bytes."""
        return KnownPath(self.scenario, packet_sizes)

    def simulate(self, controller: Any = None, **settings: Any) -> Run:
        """Run the scenario, by default with its own flows.

        Args:
            controller: a name or a `Controller` in the place of the first flow's controller.
            **settings: of that flow: params, recovery, slow_start, transport and others of `Flow`.
        """
        from tcpcc.models import simulate

        if controller is not None:  # the parameters are those of the other controller
            settings = {"controller": controller, "params": (), **settings}
        scenario = _changed(self.scenario, settings) if settings else self.scenario
        return simulate(scenario, trace=True)


def _changed(scenario: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """The scenario with other settings of its first flow; of a workload its template."""
    if scenario.flows:
        first: Any = scenario.flows[0]
        return scenario.replace(flows=[first.replace(**settings), *scenario.flows[1:]])
    first = scenario.workloads[0]
    workload = first.replace(flow=first.flow.replace(**settings))
    return scenario.replace(workloads=[workload, *scenario.workloads[1:]])


def _text(folder: str, name: str) -> str:
    return (files(__package__) / folder / f"{name}.toml").read_text(encoding="utf-8")


@cache
def cases() -> dict[str, Case]:
    """All cases by name, in order."""
    names = (file.name.removesuffix(".toml") for file in (files(__package__) / CASES).iterdir())
    return {name: _parse(name) for name in sorted(names)}


def find(case: str | Case) -> Case:
    """The case of this name; raises `ScenarioError` if there is none."""
    return case if isinstance(case, Case) else cases()[one_of("case", case, known=cases())]


def _parse(name: str) -> Case:
    table = tomllib.loads(_text(CASES, name))
    checks = [Check.of_table(name, k, dict(t)) for k, t in enumerate(table.pop("check", []), 1)]
    title, source, scenario = (table.pop(key) for key in ("title", "source", "scenario"))
    answers, notes = tuple(table.pop("answers", ())), table.pop("notes", "")
    case = Case(name, title, source, scenario, answers, notes, tuple(checks))
    if table or not checks or len({check.name for check in checks}) < len(checks):
        raise ScenarioError(
            f"case {name}: needs checks with different names; unknown keys: {[*table]}"
        )
    return replace(case, checks=tuple(replace(c, source=c.source or case.source) for c in checks))
