"""Distributions that a workload draws from: those of `scipy.stats`, or a table.

Numbers are drawn by inverting the distribution function, with one uniform number each. The result
of a seed therefore does not depend on SciPy's sampling methods.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.errors import ScenarioError, finite, nonnegative, refuse, unknown
from tcpcc.scenario.frozen import Record, Setting, named, optional, record, setting
from tcpcc.scenario.network import number_pairs, refuse_misspelt
from tcpcc.scenario.units import Quantity


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Distribution(Record):
    """A distribution of `scipy.stats`, given by its SciPy name.

    Args:
        name: "expon", "pareto", "lognorm", ...: any continuous or discrete distribution without
            negative values.
        params: its shape parameters, `loc` and `scale`, here or as keywords:
            `Distribution("pareto", b=1.2, scale=2000)`.

    A frozen SciPy distribution (`scipy.stats.pareto(1.2, scale=2000)`) is accepted wherever a
    `Distribution` is.

    Raises:
        ScenarioError: an unknown name or parameter, a parameter out of range, or a distribution
            with negative values.
    """

    name: str
    params: tuple[tuple[str, float], ...]

    def __init__(
        self,
        name: str,
        *,
        params: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        **more_params: float,
    ) -> None:
        pairs = {**dict(number_pairs("params", params)), **more_params}
        self._store(name=name, params=number_pairs(f"distribution {name!r}", pairs))
        with np.errstate(all="ignore"):
            low = float(self._frozen().support()[0])
        if math.isnan(low):
            raise ScenarioError(f"distribution {name!r}: parameters {pairs} are out of its range")
        if low < 0:
            raise ScenarioError(
                f"distribution {name!r}: its values begin at {low:g}: must not be negative"
            )

    def _frozen(self) -> Any:
        from scipy import stats

        family = getattr(stats, self.name, None) if isinstance(self.name, str) else None
        if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
            families = [
                n
                for n in dir(stats)
                if isinstance(getattr(stats, n), stats.rv_continuous | stats.rv_discrete)
            ]
            raise unknown("distribution", self.name, families)
        allowed = [*_shapes(family), "loc"]
        if isinstance(family, stats.rv_continuous):
            allowed.append("scale")
        for key, _ in self.params:
            if key not in allowed:
                raise unknown(f"parameter of distribution {self.name!r}", key, allowed)
        missing = [name for name in _shapes(family) if name not in dict(self.params)]
        if missing:
            raise ScenarioError(
                f"distribution {self.name!r}: {', '.join(missing)} missing: "
                f"its parameters are {', '.join(allowed)}"
            )
        return _of_scipy(self.name, self.params)

    def quantile(self, q: ArrayLike) -> NDArray[np.float64]:
        """The values that are not exceeded with the probabilities `q`, same shape."""
        return np.asarray(self._frozen().ppf(np.asarray(q, dtype=float)), dtype=float)

    @property
    def mean(self) -> float:
        """The expected value; infinite for a tail that is too heavy."""
        return float(self._frozen().mean())


@lru_cache(256)
def _of_scipy(name: str, params: tuple[tuple[str, float], ...]) -> Any:
    """A frozen distribution of `scipy.stats`, which takes a millisecond to make."""
    from scipy import stats

    return getattr(stats, name)(**dict(params))


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or not len(value):
        raise refuse(name, value, "a list of numbers")
    return tuple(nonnegative(name, number) for number in value)


@record
class Empirical(Record):
    """A distribution given as a table.

    Args:
        values: non-negative numbers; in ascending order if `cumulative` is given.
        cumulative: the probability that each value is not exceeded; the last one is 1. Default:
            the values are a sample, all equally likely.
        interpolated: whether values between two entries occur too, uniformly distributed, as in
            the tables of tcplib; otherwise only the listed values occur. Default: True if
            `cumulative` is given.
    """

    values: Setting[Sequence[float], tuple[float, ...]] = setting(_numbers)
    cumulative: Setting[Sequence[float] | None, tuple[float, ...]] = setting(
        optional(_numbers), default=None
    )
    interpolated: Setting[bool | None, bool] = setting(
        optional(lambda name, value: bool(value)), default=None
    )

    def _check(self) -> None:
        values, cumulative = self.values, self.cumulative
        if self.interpolated is None:
            self._store(interpolated=cumulative is not None)
        if cumulative is None:
            steps = tuple((k + 1) / len(values) for k in range(len(values)))
            self._store(values=tuple(sorted(values)), cumulative=steps)
            return
        if len(cumulative) != len(values):
            raise ScenarioError(
                f"cumulative has {len(cumulative)} numbers: must be as many as values,"
                f" {len(values)}"
            )
        if list(values) != sorted(values):
            raise refuse("values", list(values), "in ascending order")
        if list(cumulative) != sorted(cumulative) or cumulative[-1] != 1:
            raise refuse("cumulative", list(cumulative), "in ascending order, ending with 1")

    def _implied(self) -> dict[str, Any]:
        return {"interpolated": True}

    def quantile(self, q: ArrayLike) -> NDArray[np.float64]:
        """The values that are not exceeded with the probabilities `q`, same shape."""
        at = np.asarray(q, dtype=float)
        values, steps = np.array(self.values), np.array(self.cumulative)
        if self.interpolated:
            return np.interp(at, steps, values)
        return values[np.minimum(np.searchsorted(steps, at), len(values) - 1)]

    @property
    def mean(self) -> float:
        """The expected value."""
        values, steps = np.array(self.values), np.array(self.cumulative)
        share = np.diff(steps, prepend=0.0)
        if self.interpolated:
            values = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2])
        return float(share @ values)


def constant(value: float) -> Empirical:
    """The distribution with a single value."""
    return Empirical((value,), (1.0,))


def distribution(
    name: str, spec: Any, of: Callable[[Quantity, str], float] | None = None
) -> Distribution | Empirical:
    """Convert `spec` to a `Distribution` or an `Empirical`.

    Args:
        name: the field, for the error message.
        spec: a `Distribution`, an `Empirical`, a frozen distribution of SciPy, a mapping with the
            arguments of one, a number (a constant), or a sequence (a sample).
        of: function that converts a string with a unit to a number, such as `units.seconds`; None:
            the quantity has no unit.
    """
    if isinstance(spec, Distribution | Empirical):
        return spec
    if isinstance(spec, str) and of is not None:
        spec = of(spec, name)
    if isinstance(spec, numbers.Real):
        return constant(nonnegative(name, spec))
    try:
        if isinstance(spec, Mapping):
            refuse_misspelt(name, spec, ("name", "values"))
            return Empirical(**spec) if "values" in spec else Distribution(**spec)
        if hasattr(spec, "dist") and hasattr(spec, "args") and hasattr(spec, "kwds"):
            places = [*_shapes(spec.dist), "loc", "scale"]
            arguments = {**dict(zip(places, spec.args, strict=False)), **spec.kwds}
            return Distribution(spec.dist.name, params={k: float(v) for k, v in arguments.items()})
        if isinstance(spec, Sequence | np.ndarray) and not isinstance(spec, str):
            return Empirical([finite(name, value) for value in spec])
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from None
    raise refuse(
        name,
        spec,
        "a Distribution, an Empirical, a distribution of scipy.stats, a number or a sample",
    )


def _shapes(family: Any) -> list[str]:
    return family.shapes.split(", ") if family.shapes else []
