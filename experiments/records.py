"""A cell judged: both models' numbers, held against what is printed and against each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from experiments.published import NOT_TRACED, Cause, Cell, Key

MODELS = ("packet", "fluid")

AGREEMENT = 0.10
"""Relative difference up to which fluid and packet model agree; beyond it there is a cause."""

GRADES = (0.10, 0.25, 0.50)
"""Bounds of relative errors that are told apart, whatever the tolerance."""

CHANCE = 3.0
"""Standard errors of the difference up to which two means over seeds do not differ."""

SHARP = 0.25
"""Share of the packet model's mean up to which these `CHANCE` standard errors may go to explain a
difference: wider, they would explain any."""

NOT_EXPLAINED = f"{NOT_TRACED}."
BEYOND_CHANCE = (
    f"{NOT_TRACED}; not by chance as our runs have it, whose ranges have no room for it."
)
UNDECIDED = "Undecided, so many seeds cannot tell"
NEAR_PACKETS = (
    f"Within {AGREEMENT:.0%}".replace("%", " %")
    + " of the packet model's number, which is within the tolerance."
)
"""Why fluid misses a printed number that packets meet, where the two agree."""

Verdict = Literal[
    "reproduced",
    "direction holds",
    "deviates",
    "as the reference",
    "off the reference",
    "no published number",
]


class Measured(NamedTuple):
    """A number; where chance plays a part, with the range of all runs and the standard deviation
    over seeds, and if it is their mean, how many `seeds`."""

    value: float
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    seeds: int | None = None

    @property
    def error(self) -> float:
        """Standard error of a mean over seeds; 0 where chance plays no part."""
        return self.sd / math.sqrt(self.seeds) if self.sd and self.seeds else 0.0

    def over(self, whole: float) -> Measured:
        """As a share of a whole, the range with it."""
        low, high = (None if end is None else end / whole for end in (self.low, self.high))
        return Measured(self.value / whole, low, high)


Values = Mapping[Key, Measured]
"""A model's numbers."""


@dataclass(frozen=True)
class Record:
    """One cell of a paper, judged.

    Attributes:
        paper, item, row, column, unit: which number.
        published: what the paper prints; None where it prints none.
        reference: in its place, what another simulator or a closed form gives.
        tolerance: half width of the band around either, in `unit`.
        packet, fluid: our numbers; None for a model that was not run.
        formula: in their place, the number of a row that is a formula, not a model.
        verdict: on the packet model's number, or on the formula's.
        fluid_verdict: on the fluid model's.
        agreement: of the fluid model with the packet model, a `grade`; None unless both were run.
        cause: why the packet model's number is not the published one, where it is not.
        fluid_cause: why the fluid model's is not the packet model's, where it is not; or
            `NEAR_PACKETS`.
        spread, fluid_spread: smallest and largest number of all runs, where chance plays a part.
        sd, fluid_sd: standard deviation over seeds.
        seeds, fluid_seeds: of how many seeds a number is the mean; None: of a single run.
    """

    paper: str
    item: str
    row: str
    column: str
    unit: str
    published: float | None
    packet: float | None
    fluid: float | None
    tolerance: float | None
    verdict: Verdict | None
    cause: str
    fluid_verdict: Verdict | None = None
    fluid_cause: str = ""
    reference: float | None = None
    formula: float | None = None
    agreement: str | None = None
    spread: tuple[float, float] | None = None
    sd: float | None = None
    seeds: int | None = None
    fluid_spread: tuple[float, float] | None = None
    fluid_sd: float | None = None
    fluid_seeds: int | None = None

    @property
    def key(self) -> Key:
        return self.item, self.row, self.column

    @property
    def target(self) -> float | None:
        """The published number, else the reference."""
        return self.reference if self.published is None else self.published

    def number(self, model: str) -> float | None:
        """Of "packet" or "fluid"; the formula's where the row is one."""
        if self.formula is not None:
            return self.formula
        return self.packet if model == "packet" else self.fluid

    def error(self, model: str) -> float | None:
        """(ours - target) / target; None where there are not both, infinite at a target of 0."""
        ours = self.number(model)
        return None if ours is None or self.target is None else difference(ours, self.target)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: ranges, deviations and seeds only where there are any, None for
        NaN."""
        plain = asdict(self)
        for name in ("spread", "sd", "seeds", "fluid_spread", "fluid_sd", "fluid_seeds"):
            if plain[name] is None:
                del plain[name]
        broken = {k for k, v in plain.items() if isinstance(v, float) and math.isnan(v)}
        return plain | dict.fromkeys(broken)


def difference(value: float, target: float) -> float:
    """(value - target) / |target|; 0 where both are 0, infinite where the target alone is."""
    if target == 0:
        return 0.0 if value == 0 else math.copysign(math.inf, value)
    return (value - target) / abs(target)


def grade(relative: float) -> str:
    """How close a relative difference is: "within 10 %" ... "beyond 50 %"; NaN is beyond."""
    for bound in GRADES:
        if abs(relative) <= bound:
            return f"within {bound:.0%}".replace("%", " %")
    return f"beyond {GRADES[-1]:.0%}".replace("%", " %")


def judge(
    published: float | None, value: float, tolerance: float | None, claims: Iterable[bool]
) -> Verdict:
    """The verdict on one number.

    Args:
        published: None if there is none.
        value: ours.
        tolerance: half width of the band around `published`.
        claims: for each thing that the paper says of this number, whether it is true of ours.

    Raises:
        ValueError: a published number without a tolerance.
    """
    if published is None:
        return "no published number"
    if tolerance is None:
        raise ValueError("a published number needs a tolerance")
    if abs(value - published) <= tolerance:
        return "reproduced"
    said = list(claims)
    return "direction holds" if said and all(said) else "deviates"


def agree(packet: float, fluid: float) -> bool:
    """Whether the fluid model's number is within `AGREEMENT` of the packet model's."""
    return abs(fluid - packet) <= AGREEMENT * abs(packet)


def may_be_chance(packet: Measured, fluid: Measured) -> bool:
    """Whether two means over seeds, of unlike numbers, differ by no more than chance makes them."""
    return abs(fluid.value - packet.value) <= CHANCE * math.hypot(packet.error, fluid.error)


def _cause(known: Cause | None, is_chance: bool) -> str:
    """What is known of a difference; where that is chance, only if it `is_chance`."""
    if known is None:
        return NOT_EXPLAINED
    return BEYOND_CHANCE if known.chance and not is_chance else known.text


def _fluid_cause(packet: Measured, fluid: Measured, known: Cause | None) -> str:
    """Why the fluid model's number is not the packet model's: chance, where the seeds are enough to
    say so, else the `known` cause; without one, that the seeds are too few to tell."""
    is_chance = _may_be_one(packet, fluid)
    if not may_be_chance(packet, fluid):
        return _cause(known, is_chance)
    reach = CHANCE * math.hypot(packet.error, fluid.error) / abs(packet.value)
    if reach <= SHARP:
        return f"Chance: the means differ by no more than {CHANCE:g} of their standard errors."
    if known is not None and known.is_traced:
        return _cause(known, is_chance)
    return f"{UNDECIDED}: {CHANCE:g} standard errors of the difference exceed {SHARP:.0%}."


def record(cell: Cell, values: Mapping[str, Values]) -> Record:
    """Judge one cell by what each model gave, `values[model][key]`, if it can tell."""
    found = {model: each[cell.key] for model, each in values.items() if cell.key in each}
    target = cell.published if cell.reference is None else cell.reference
    width = cell.tolerance.width(target) if cell.tolerance and target is not None else None

    def verdict(model: str) -> Verdict:
        numbers = values[model]
        claims = [numbers[c.more].value > numbers[c.less].value for c in cell.claims]
        told = judge(target, found[model].value, width, claims)
        if cell.reference is None:
            return told
        return "as the reference" if told == "reproduced" else "off the reference"

    verdicts = {model: verdict(model) for model in found}
    packet, fluid = found.get("packet"), found.get("fluid")
    about: dict[str, Any] = {
        "paper": cell.paper,
        "item": cell.item,
        "row": cell.row,
        "column": cell.column,
        "unit": cell.unit,
        "published": cell.published,
        "reference": cell.reference,
        "tolerance": width,
    }
    first = verdicts["packet" if packet else "fluid"]
    cause = ""
    if needs_cause(first) and target is not None:
        cause = _cause(cell.cause, in_reach(_first(found), target))
    if cell.formula:
        value = _first(found).value
        return Record(**about, packet=None, fluid=None, formula=value, verdict=first, cause=cause)
    agreement, fluid_cause = None, ""
    if packet and fluid:
        agreement = grade(difference(fluid.value, packet.value))
        if not agree(packet.value, fluid.value):
            fluid_cause = _fluid_cause(packet, fluid, cell.fluid_cause)
        elif needs_cause(verdicts["fluid"]) and not cause:
            fluid_cause = NEAR_PACKETS
    return Record(
        **about,
        packet=packet and packet.value,
        fluid=fluid and fluid.value,
        verdict=verdicts.get("packet"),
        fluid_verdict=verdicts.get("fluid"),
        agreement=agreement,
        cause=cause,
        fluid_cause=fluid_cause,
        spread=_spread(packet),
        sd=packet and packet.sd,
        seeds=packet and packet.seeds,
        fluid_spread=_spread(fluid),
        fluid_sd=fluid and fluid.sd,
        fluid_seeds=fluid and fluid.seeds,
    )


def in_reach(number: Measured, target: float) -> bool:
    """Whether a target may be one of our runs: it is in their range, or within `CHANCE` standard
    deviations. Without either there is no chance."""
    inside = number.low is not None and number.high is not None
    if inside and number.low <= target <= number.high:  # type: ignore[operator]
        return True
    return number.sd is not None and abs(number.value - target) <= CHANCE * number.sd


def _may_be_one(one: Measured, other: Measured) -> bool:
    """Whether two single runs, by chance, may be of one distribution: their ranges overlap, or one
    is in the other's reach. Means differ by chance as far as `may_be_chance` says."""
    if one.error or other.error:
        return False
    if in_reach(one, other.value) or in_reach(other, one.value):
        return True
    (a, b), (c, d) = (_spread(each) or (each.value, each.value) for each in (one, other))
    return max(a, c) <= min(b, d)


def _first(found: Mapping[str, Measured]) -> Measured:
    return next(iter(found.values()))


def needs_cause(verdict: Verdict | None) -> bool:
    """Whether a verdict is one that has to be explained."""
    return verdict in ("direction holds", "deviates", "off the reference")


def _spread(number: Measured | None) -> tuple[float, float] | None:
    if number is None or number.low is None or number.high is None:
        return None
    return number.low, number.high
