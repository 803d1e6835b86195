"""Records: the numbers of both models, compared with the published value and with each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from experiments.measured_numbers import DECIDED, Measured, Values
from experiments.published_numbers import NOT_TRACED, Cause, Cell, Key

MODELS = ("packet", "fluid")

AGREEMENT = 0.10
"""Relative difference up to which fluid and packet model agree; a larger one needs a cause."""

GRADES = (0.10, 0.25, 0.50)
"""Bounds of the grades of relative errors, independent of the tolerance."""

CHANCE = 3.0
"""Number of standard errors of the difference up to which two means over seeds count as equal."""

SHARP = 0.25
"""Largest size of `CHANCE` standard errors, as a share of the packet model's mean, with which
chance may explain a difference; larger ones would explain any difference."""

LOOSE = 0.5
"""Tolerance, as a share of the published value, from which a hit is only a loose match."""

MANY = 10_000
"""Largest number of seeds that is given for an undecided number."""

NOT_EXPLAINED = f"{NOT_TRACED}."
BEYOND_CHANCE = (
    f"{NOT_TRACED}; the difference is outside the range of our runs, so chance does not explain it."
)
UNDECIDED = "Undecided with this number of seeds"
OF_ONE_RUN = (
    "Undecided: a single run; the range over other start times or seeds is only partly within the "
    "tolerance."
)
WITHIN_CHANCE = f"Chance: the means differ by at most {CHANCE:g} standard errors."
NEAR_PACKETS = (
    f"Within {AGREEMENT:.0%}".replace("%", " %")
    + " of the packet model's number, which is within the tolerance."
)
"""Cause if fluid misses a published number that packets meet although both models agree."""
NEAR_UNDECIDED = NEAR_PACKETS.replace("within the tolerance", "undecided")
"""The same if the packet model's number is undecided."""

Verdict = Literal[
    "reproduced",
    "loose match",
    "undecided",
    "direction holds",
    "deviates",
    "as the reference",
    "off the reference",
    "no published number",
    "by definition",
]


HITS = ("reproduced", "loose match", "as the reference")
"""Verdicts on a number that is within its tolerance."""


@dataclass(frozen=True)
class Record:
    """One cell of a paper, compared with the published value.

    Attributes:
        paper, item, row, column, unit: position and unit of the number.
        published: the published value, or None.
        reference: used instead: value from another simulator or a closed form.
        tolerance: half width of the band around published value or reference, in `unit`.
        packet, fluid: our numbers; None for a model that was not run.
        formula: used instead: the number of a row that is a formula, not a model.
        read: "text" for a printed number, "axis" for one read off a figure, "sentence" for one that
            we infer from a sentence.
        verdict: verdict on the packet model's number, or on the formula's.
        fluid_verdict: verdict on the fluid model's number.
        agreement: `grade` of the difference between the models; None unless both were run.
        cause: why the packet model's number is outside the tolerance; else empty.
        fluid_cause: why fluid differs from packets by more than `AGREEMENT`, or `NEAR_PACKETS`;
            else empty.
        spread, fluid_spread: smallest and largest number of all runs, if it depends on seeds.
        sd, fluid_sd: standard deviation over seeds.
        seeds, fluid_seeds: number of seeds of a mean; None for a single run.
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
    read: str = "text"

    @property
    def key(self) -> Key:
        return self.item, self.row, self.column

    @property
    def is_tested(self) -> bool:
        """Whether the cell has a published value that a model's number could miss."""
        verdict = self.verdict or self.fluid_verdict
        return self.published is not None and self.formula is None and verdict != "by definition"

    @property
    def target(self) -> float | None:
        """The published value, else the reference."""
        return self.reference if self.published is None else self.published

    def number(self, model: str) -> float | None:
        """Our number in the model "packet" or "fluid"; the formula's number for a formula."""
        if self.formula is not None:
            return self.formula
        return self.packet if model == "packet" else self.fluid

    def error(self, model: str) -> float | None:
        """(ours - target) / |target|; None if either is missing, infinite for a target of 0."""
        value = self.number(model)
        return None if value is None or self.target is None else difference(value, self.target)

    def is_within(self, model: str) -> bool:
        """Whether a model's value, whatever its range, is within the tolerance of the target."""
        value, target = self.number(model), self.target
        if value is None or target is None or self.tolerance is None:
            return False
        return abs(value - target) <= self.tolerance

    def judged(self, model: str) -> Verdict | None:
        """Verdict on the number of the model "packet" or "fluid"; on the formula's for both."""
        is_fluid = model == "fluid" and self.formula is None
        return self.fluid_verdict if is_fluid else self.verdict

    def spread_of(self, model: str) -> tuple[float | None, tuple[float, float] | None, int | None]:
        """Standard deviation, range and number of seeds of a model's number."""
        if model == "packet":
            return self.sd, self.spread, self.seeds
        return self.fluid_sd, self.fluid_spread, self.fluid_seeds

    def undecided(self, model: str) -> str:
        """Why the verdict on a model's number is open; "" if it is decided.

        For a mean over seeds: how many seeds would decide it.
        """
        value, target = self.number(model), self.target
        sd, _, seeds = self.spread_of(model)
        if self.judged(model) != "undecided" or None in (value, target, self.tolerance):
            return ""
        if seeds is None or sd is None:
            return OF_ONE_RUN
        room = abs(self.tolerance - abs(value - target))  # type: ignore[operator]
        return f"{UNDECIDED} ({seeds}): {_seeds_text(seeds_needed(sd, room))} would decide it."

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN becomes None, and missing ranges and seeds are left out."""
        plain = asdict(self)
        for name in ("spread", "sd", "seeds", "fluid_spread", "fluid_sd", "fluid_seeds"):
            if plain[name] is None:
                del plain[name]
        for name, model in (("undecided", "packet"), ("fluid_undecided", "fluid")):
            if note := self.undecided(model):
                plain[name] = note
        broken = {k for k, v in plain.items() if isinstance(v, float) and math.isnan(v)}
        return plain | dict.fromkeys(broken)


def seeds_needed(sd: float, room: float) -> float:
    """Number of seeds with which `DECIDED` standard errors fit into `room`, rounded up.

    Args:
        sd: standard deviation over seeds.
        room: distance of the mean from the nearest end of the tolerance.
    """
    return math.ceil((DECIDED * sd / room) ** 2) if room else math.inf


def _seeds_text(seeds: float) -> str:
    return f"{seeds:,} seeds" if seeds <= MANY else f"more than {MANY:,} seeds"


def difference(value: float, target: float) -> float:
    """(value - target) / |target|; 0 if both are 0, infinite if only the target is 0."""
    if target == 0:
        return 0.0 if value == 0 else math.copysign(math.inf, value)
    return (value - target) / abs(target)


def grade(relative: float) -> str:
    """Grade of a relative difference: "within 10 %" ... "beyond 50 %"; NaN is beyond 50 %."""
    for bound in GRADES:
        if abs(relative) <= bound:
            return f"within {bound:.0%}".replace("%", " %")
    return f"beyond {GRADES[-1]:.0%}".replace("%", " %")


def judge(
    published: float | None, number: Measured, tolerance: float | None, claims: Iterable[bool]
) -> Verdict:
    """Verdict on one number.

    It is inside or outside the tolerance only if its whole `interval` is.

    Args:
        published: the published value or None.
        number: our number.
        tolerance: half width of the band around `published`.
        claims: for each claim of the paper about this number, whether it holds for ours.

    Raises:
        ValueError: a published number without a tolerance.
    """
    if published is None:
        return "no published number"
    if tolerance is None:
        raise ValueError("a published number needs a tolerance")
    low, high = (end - published for end in number.interval)
    if max(-low, high) <= tolerance:
        return "loose match" if is_loose(published, tolerance) else "reproduced"
    if max(low, -high) <= tolerance:
        return "undecided"
    holds = list(claims)
    return "direction holds" if holds and all(holds) else "deviates"


def is_loose(published: float, tolerance: float) -> bool:
    """Whether a tolerance is half of the published value or more.

    False for a published 0, of which no tolerance is a share.
    """
    return published != 0 and tolerance >= LOOSE * abs(published)


def agree(packet: float, fluid: float) -> bool:
    """Whether the fluid model's number is within `AGREEMENT` of the packet model's."""
    return abs(fluid - packet) <= AGREEMENT * abs(packet)


def may_be_chance(packet: Measured, fluid: Measured) -> bool:
    """Whether two means over seeds differ by at most `CHANCE` standard errors."""
    return abs(fluid.value - packet.value) <= CHANCE * math.hypot(packet.error, fluid.error)


def is_one_by_chance(packet: Measured, fluid: Measured) -> bool:
    """Whether chance explains the difference of two means, whose errors are small enough."""
    reach = CHANCE * math.hypot(packet.error, fluid.error)
    return may_be_chance(packet, fluid) and 0 < reach <= SHARP * abs(packet.value)


def _cause(cause: Cause | None, is_chance: bool) -> str:
    """Text of a known cause; chance counts only if `is_chance`."""
    if cause is None:
        return NOT_EXPLAINED
    return BEYOND_CHANCE if cause.chance and not is_chance else cause.text


def _fluid_cause(packet: Measured, fluid: Measured, cause: Cause | None) -> str:
    """Why the fluid model's number differs from the packet model's.

    This is chance if there are enough seeds to say so, else the known `cause`, else a statement
    that there are too few seeds.
    """
    is_chance = _may_be_one(packet, fluid)
    if not may_be_chance(packet, fluid):
        return _cause(cause, is_chance)
    if is_one_by_chance(packet, fluid):
        return WITHIN_CHANCE
    if cause is not None and cause.is_traced:
        return _cause(cause, is_chance)
    return f"{UNDECIDED}: {CHANCE:g} standard errors of the difference exceed {SHARP:.0%}."


def record(cell: Cell, values: Mapping[str, Values]) -> Record:
    """Judge one cell by the numbers `values[model][key]` of the models that have it."""
    numbers_of_cell = {
        model: of_model[cell.key] for model, of_model in values.items() if cell.key in of_model
    }
    target = cell.published if cell.reference is None else cell.reference
    width = cell.tolerance.width(target) if cell.tolerance and target is not None else None

    def verdict(model: str) -> Verdict:
        if cell.by_definition:
            return "by definition"
        numbers = values[model]
        claims = (numbers[c.more].value > numbers[c.less].value for c in cell.claims)
        result = judge(target, numbers_of_cell[model], width, claims)
        if cell.reference is None or result == "undecided":
            return result
        return "as the reference" if result in HITS else "off the reference"

    verdicts = {model: verdict(model) for model in numbers_of_cell}
    packet, fluid = numbers_of_cell.get("packet"), numbers_of_cell.get("fluid")
    about: dict[str, Any] = {
        "paper": cell.paper,
        "item": cell.item,
        "row": cell.row,
        "column": cell.column,
        "unit": cell.unit,
        "published": cell.published,
        "reference": cell.reference,
        "tolerance": width,
        "read": cell.read,
    }
    first = verdicts["packet" if packet else "fluid"]
    cause = ""
    if needs_cause(first) and target is not None:
        cause = _cause(cell.cause, in_reach(_first(numbers_of_cell), target))
    if cell.formula:
        value = _first(numbers_of_cell).value
        return Record(**about, packet=None, fluid=None, formula=value, verdict=first, cause=cause)
    agreement, fluid_cause = None, ""
    if packet and fluid:
        agreement = grade(difference(fluid.value, packet.value))
        if not agree(packet.value, fluid.value):
            fluid_cause = _fluid_cause(packet, fluid, cell.fluid_cause)
        elif needs_cause(verdicts["fluid"]) and not cause:
            fluid_cause = NEAR_UNDECIDED if first == "undecided" else NEAR_PACKETS
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
    """Whether the target is in the range of our runs, or within `CHANCE` standard deviations.

    False for a number without range and standard deviation.
    """
    inside = number.low is not None and number.high is not None
    if inside and number.low <= target <= number.high:  # type: ignore[operator]
        return True
    return number.sd is not None and abs(number.value - target) <= CHANCE * number.sd


def _may_be_one(first: Measured, second: Measured) -> bool:
    """Whether two single runs may differ by chance: ranges overlap, or one is `in_reach`.

    False for means over seeds; `may_be_chance` compares them.
    """
    if first.error or second.error:
        return False
    if in_reach(first, second.value) or in_reach(second, first.value):
        return True
    (a, b), (c, d) = (_spread(number) or (number.value, number.value) for number in (first, second))
    return max(a, c) <= min(b, d)


def _first(numbers: Mapping[str, Measured]) -> Measured:
    return next(iter(numbers.values()))


def needs_cause(verdict: Verdict | None) -> bool:
    """Whether a verdict needs a cause."""
    return verdict in ("direction holds", "deviates", "off the reference")


def _spread(number: Measured | None) -> tuple[float, float] | None:
    if number is None or number.low is None or number.high is None:
        return None
    return number.low, number.high
