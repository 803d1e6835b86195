"""A criterion: a question of RFC 9743, the scenarios that answer it, and the number they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tcpcc.results import Run
    from tcpcc.scenario import Flow, Scenario

TESTED, OTHER = "tested", "other"
"""Names of the flows in a scenario: of the controller that is evaluated, and of others."""

Scenarios = Mapping[str, "Scenario"]
Runs = Mapping[str, "Run"]

WITH, ALONE = "with", "alone"
"""Keys of a criterion's scenarios: the one with the tested flows, and one without them."""


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
        slack: difference from the standards' number that does not matter, in the number's unit.
        quick: whether a quick evaluation has it.
        model: model of the simulation.
        needed: whether a worse number than the standards' fails; otherwise it is reported only.
    """

    section: str
    measure: str
    setting: str
    unit: str
    build: Callable[[Flow], Scenarios] = field(compare=False)
    read: Callable[[Runs], float] = field(compare=False)
    less: bool
    slack: float
    quick: bool = False
    model: str = "packet"
    needed: bool = True

    @property
    def name(self) -> str:
        """Name of the criterion, unique, and usable as a file name."""
        told = f"{self.section} {self.measure} {self.setting}"
        kept = "".join(c if c.isalnum() or c in ".-" else "_" for c in told)
        return "_".join(filter(None, kept.split("_")))
