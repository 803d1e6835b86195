"""Distributions that a workload draws from: any of `scipy.stats`, or a table.

Numbers are drawn by inverting the distribution function, one uniform number each, so that what a
seed gives does not hang on how SciPy happens to draw.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpcc.errors import ScenarioError, finite, nonnegative, refuse, unknown
from tcpcc.scenario.frozen import Record, named
from tcpcc.scenario.network import number_pairs
from tcpcc.scenario.units import Quantity


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Distribution(Record):
    """A distribution of `scipy.stats`, by its name there.

    Args:
        name: "expon", "pareto", "lognorm", ...: any continuous or discrete one whose values are
            not negative.
        params: its shape parameters, `loc` and `scale`, here or as keywords:
            `Distribution("pareto", b=1.2, scale=2000)`.

    A frozen one (`scipy.stats.pareto(1.2, scale=2000)`) may be given wherever one of these may.

    Raises:
        ScenarioError: an unknown name or parameter, values outside its range, negative values.
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
            known = [
                n
                for n in dir(stats)
                if isinstance(getattr(stats, n), stats.rv_continuous | stats.rv_discrete)
            ]
            raise unknown("distribution", self.name, known)
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
        return family(**dict(self.params))

    def quantile(self, q: ArrayLike) -> NDArray[np.float64]:
        """The values that are not exceeded with the probabilities `q`, same shape."""
        return np.asarray(self._frozen().ppf(np.asarray(q, dtype=float)), dtype=float)

    @property
    def mean(self) -> float:
        """The expected value; infinity where the tail is that heavy."""
        return float(self._frozen().mean())


@named
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Empirical(Record):
    """A distribution given as a table.

    Args:
        values: in ascending order, none of them negative.
        cumulative: the probability that each is not exceeded, the last of them 1. Default: the
            values are a sample, each as likely as the others.
        interpolated: whether values in between occur too, evenly, as in the tables of tcplib;
            if not, only those listed do. Default: with `cumulative`.
    """

    values: tuple[float, ...]
    cumulative: tuple[float, ...]
    interpolated: bool

    def __init__(
        self,
        values: Sequence[float],
        cumulative: Sequence[float] | None = None,
        interpolated: bool | None = None,
    ) -> None:
        given = tuple(nonnegative("values", v) for v in _sequence("values", values))
        if cumulative is None:
            given = tuple(sorted(given))
            steps = tuple((k + 1) / len(given) for k in range(len(given)))
        else:
            steps = tuple(nonnegative("cumulative", c) for c in _sequence("cumulative", cumulative))
            if len(steps) != len(given):
                raise ScenarioError(
                    f"cumulative has {len(steps)} numbers: must be as many as values, {len(given)}"
                )
            if list(given) != sorted(given):
                raise refuse("values", list(given), "in ascending order")
            if list(steps) != sorted(steps) or steps[-1] != 1:
                raise refuse("cumulative", list(steps), "in ascending order, the last of them 1")
        between = cumulative is not None if interpolated is None else bool(interpolated)
        self._store(values=given, cumulative=steps, interpolated=between)

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
    """The distribution that has one value only."""
    return Empirical((value,), (1.0,))


def distribution(
    name: str, spec: Any, of: Callable[[Quantity, str], float] | None = None
) -> Distribution | Empirical:
    """What is meant by a distribution, a frozen one of SciPy, a mapping, a number, a sample.

    Args:
        name: the field, for the error.
        spec: a number stands for one that has no other value, a sequence for a sample.
        of: what reads a string with a unit as a number, such as `units.seconds`; None: no unit.
    """
    if isinstance(spec, Distribution | Empirical):
        return spec
    if isinstance(spec, str) and of is not None:
        spec = of(spec, name)
    if isinstance(spec, numbers.Real):
        return constant(nonnegative(name, spec))
    try:
        if isinstance(spec, Mapping):
            return Empirical(**spec) if "values" in spec else Distribution(**spec)
        if hasattr(spec, "dist") and hasattr(spec, "args") and hasattr(spec, "kwds"):
            places = [*_shapes(spec.dist), "loc", "scale"]
            given = {**dict(zip(places, spec.args, strict=False)), **spec.kwds}
            return Distribution(spec.dist.name, params={k: float(v) for k, v in given.items()})
        if isinstance(spec, Sequence | np.ndarray) and not isinstance(spec, str):
            return Empirical([finite(name, value) for value in spec])
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from None
    raise refuse(name, spec, "a Distribution, an Empirical, one of scipy.stats, or a number")


def is_constant(drawn: Distribution | Empirical) -> bool:
    """Whether it has one value only, and can be written as a number."""
    return isinstance(drawn, Empirical) and len(drawn.values) == 1 and drawn.interpolated


def _shapes(family: Any) -> list[str]:
    return family.shapes.split(", ") if family.shapes else []


def _sequence(name: str, value: Any) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray) or not len(value):
        raise refuse(name, value, "a list of numbers")
    return list(value)
