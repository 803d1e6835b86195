"""Numbers measured in runs, and those that the data file computes from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from experiments.published_numbers import Cell, Key

DECIDED = 2.0
"""Number of standard errors by which a mean over seeds must be inside or outside its tolerance."""


class Measured(NamedTuple):
    """A number from a run or several runs.

    If it depends on seeds: `low` and `high` are the range of all runs and `sd` is the standard
    deviation over seeds. If it is a mean over seeds, `seeds` is their number.
    """

    value: float
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    seeds: int | None = None

    @property
    def error(self) -> float:
        """Standard error of a mean over seeds; 0 if the number is not a mean over seeds."""
        return self.sd / math.sqrt(self.seeds) if self.sd and self.seeds else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the number may lie.

        `DECIDED` standard errors around a mean over seeds; for a single run the range of all runs,
        which have other seeds or other start times; else the number itself.
        """
        if self.error:
            return self.value - DECIDED * self.error, self.value + DECIDED * self.error
        if self.seeds or self.low is None or self.high is None:
            return self.value, self.value
        return self.low, self.high

    def over(self, whole: float) -> Measured:
        """The number and its range divided by `whole`."""
        low, high = (None if end is None else end / whole for end in (self.low, self.high))
        return Measured(self.value / whole, low, high)

    def to(self, base: Measured, of_one_run: bool = False) -> Measured:
        """Quotient of two numbers.

        Relative standard deviations of independent numbers add in quadrature. Those of numbers
        `of_one_run` add up, as if both moved in opposite directions, the most that they can.

        The quotient has the smaller number of seeds; a number without deviation counts as a
        constant. If one is of a single run, the range is the quotient of both intervals.
        """
        if not base.value:
            return Measured(math.nan)
        value = self.value / base.value
        sd = None
        if (self.sd, base.sd) != (None, None):
            parts = (self.sd or 0) / abs(base.value), abs(value / base.value) * (base.sd or 0)
            sd = sum(parts) if of_one_run else math.hypot(*parts)
        random = [number for number in (self, base) if (number.low, number.sd) != (None, None)]
        seeds = min((number.seeds or 0 for number in random), default=None)
        if seeds != 0:
            return Measured(value, sd=sd, seeds=seeds)
        ends = [a / b if b else math.inf for a in self.interval for b in base.interval]
        return Measured(value, min(ends), max(ends), sd)


Values = Mapping[Key, Measured]
"""Numbers of one model."""


def completed(values: Values, cells: Iterable[Cell]) -> dict[Key, Measured]:
    """The numbers of a model, with those that the data file computes: constants and quotients."""
    numbers = dict(values)
    for cell in cells:
        if cell.value is not None:
            numbers[cell.key] = Measured(cell.value)
        if cell.quotients and all(key in values for pair in cell.quotients for key in pair):
            ratios = (
                values[numerator].to(values[denominator], cell.of_one_run)
                for numerator, denominator in cell.quotients
            )
            numbers[cell.key] = max(ratios, key=lambda number: number.value)
    return numbers
