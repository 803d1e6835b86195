"""A criterion: a question of RFC 9743, the scenarios that answer it, and the number they give.

The RFC sets no thresholds. A criterion therefore compares with Reno and CUBIC in the same
scenario: it passes if it is no worse than the worse of the two. `margin` is the difference that
does not matter; it is the same for all criteria of a unit (`MARGINS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tcpcc.apps.evaluate.bottleneck import Bottleneck, in_words

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Flow, Scenario

TESTED, OTHER = "tested", "other"
"""Names of the flows in a scenario: of the controller that is evaluated, and of others."""

Scenarios = Mapping[str, "Scenario"]
Runs = Mapping[str, "Run"]

WITH, ALONE, BY_ITSELF = "with", "alone", "by_itself"
"""Keys of a criterion's scenarios: tested flows and others, only the others, only the tested."""

MARGINS = {"": 0.1, "ms": 5.0, "packets": 10.0, "s": 2.0, "slowdown": 0.5, "ratio": 0.5}
"""Differences that do not matter, by unit; "": shares of a whole. Chosen here: the RFC sets none.

They exceed the noise of three seeds: in docs/league.nc the median half width of a confidence
interval is 0.01 of a share, 0.7 ms and 0.1 of a slowdown; of times, 2.4 s, it is about the margin.
"""

LOSS_MARGIN = 0.005
"""The same for drop rates."""

SETTLED = 10.0
"""Means begin after this time, s."""

MB, GB, KB = 1e6, 1e9, 1e3


@dataclass(frozen=True)
class Section:
    """A section of RFC 9743.

    Attributes:
        number: "5.1.3".
        title: its title.
        level: "MUST" or "SHOULD" where the RFC asks in capitals for an evaluation, else "should".
        reason: why the section has no criterion here; "": it has.
    """

    number: str
    title: str
    level: str
    reason: str = ""


@dataclass(frozen=True)
class Criterion:
    """A number that is compared with that of the standard controllers in the same scenario.

    Attributes:
        section: number of the section of RFC 9743.
        measure: what is measured, such as "drop rate".
        setting: the scenario in words.
        unit: of the number; "" for a fraction.
        build: returns the scenarios, by name, for a flow of the controller that is evaluated.
        read: returns the number from the runs, by the same names.
        less: whether less is better.
        margin: difference from the standards' number that does not matter, in the number's unit.
        quick: whether a quick evaluation has it.
        options: options of the packet model, by name.
        needed: whether the number gets a verdict; otherwise it is reported only.
    """

    section: str
    measure: str
    setting: str
    unit: str
    build: Callable[[Flow], Scenarios] = field(compare=False)
    read: Callable[[Runs], float] = field(compare=False)
    less: bool
    margin: float
    quick: bool = False
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)
    needed: bool = True

    @property
    def name(self) -> str:
        """Name of the criterion, unique, and usable as a file name."""
        text = f"{self.section} {self.measure} {self.setting}"
        allowed = "".join(c if c.isalnum() or c in ".-" else "_" for c in text)
        return "_".join(filter(None, allowed.split("_")))


@dataclass(frozen=True)
class Measure:
    """A number that a criterion reads from runs.

    Attributes:
        name: what is measured, such as "drop rate".
        unit: as of `Criterion`.
        better: "less" or "more".
        read: returns the number from the run with the tested flows and what the criterion adds,
            mostly a time window.
        margin: as of `Criterion`. Default: that of the unit.
        of_all: `read` takes all runs, by name.
    """

    name: str
    unit: str
    better: str
    read: Callable[..., float]
    margin: float | None = None
    of_all: bool = False

    def called(self, name: str, margin: float | None = None) -> Measure:
        """The same measure under another name."""
        return replace(self, name=name, margin=self.margin if margin is None else margin)


@dataclass(frozen=True)
class Case:
    """Scenarios of a section, of which criteria read numbers; attributes as of `Criterion`."""

    section: str
    setting: str
    build: Callable[[Flow], Scenarios]
    options: Mapping[str, Any] = field(default_factory=dict)

    def criterion(self, measure: Measure, *args: Any, **more: Any) -> Criterion:
        """The criterion of a measure, which reads its number with `args`."""

        def read(runs: Runs) -> float:
            return measure.read(runs if measure.of_all else runs[WITH], *args)

        unit = measure.unit
        return Criterion(
            self.section,
            measure.name,
            self.setting,
            unit,
            self.build,
            read,
            measure.better == "less",
            MARGINS[unit] if measure.margin is None else measure.margin,
            options=self.options,
            **more,
        )


def case(
    section: str,
    mix: Callable[..., Scenarios],
    path: Bottleneck,
    setting: str = "<path>",
    **arguments: Any,
) -> Case:
    """A case with the scenarios that a function of `mixes` makes with this path and these settings;
    `options` are those of the case. In `setting`, <path> stands for the path in words."""
    options = arguments.pop("options", {})
    build = partial(mix, path=path, **arguments)
    return Case(section, setting.replace("<path>", in_words(path)), build, options)
