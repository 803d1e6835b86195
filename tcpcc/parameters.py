"""Parameters and private state: what controllers and queue disciplines have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: default, unit, meaning (with its source), and the closed range allowed."""

    default: float
    unit: str
    doc: str
    low: float = -math.inf
    high: float = math.inf

    def replace(self, **changes: Any) -> Param:
        """The same parameter with another default, range or text."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class State:
    """A private state variable: value at the start, unit, meaning.

    With a `size` above 1 it is an array of so many numbers, ``s.name[i]`` in a rule.
    """

    initial: float
    unit: str
    doc: str
    size: int = 1

    def column(self, name: str) -> tuple[Any, ...]:
        """The variable as a field of a record."""
        return (name, np.float64) if self.size == 1 else (name, np.float64, (self.size,))

    def start(self) -> Any:
        """Its value at the start: a number, or a new array."""
        return float(self.initial) if self.size == 1 else np.full(self.size, float(self.initial))


class Parameterized:
    """A thing with a `name`, `params` and perhaps a function `complain` that judges all of them."""

    kind: ClassVar[str]
    name: str
    params: Mapping[str, Param]
    complain: Callable[[dict[str, float]], str | None] | None

    @property
    def params_dtype(self) -> np.dtype:
        """Record of the parameters, in their order."""
        return np.dtype([(n, np.float64) for n in self.params or ["_none"]], align=True)

    def check(self, given: Mapping[str, Any]) -> dict[str, float]:
        """All parameters as floats, `given` over the defaults.

        Raises :class:`~tcpcc.errors.ScenarioError` for a name that is not a parameter, a value
        that is not a number in the parameter's range, and values that do not go together.
        """
        from tcpcc.errors import ScenarioError, unknown

        owner = f"{self.kind} {self.name!r}"
        values = {name: float(param.default) for name, param in self.params.items()}
        for name, value in given.items():
            if name not in self.params:
                raise unknown(f"parameter of {owner}", name, self.params)
            param = self.params[name]
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                number = math.nan
            else:
                number = float(value)
            if not param.low <= number <= param.high:
                raise ScenarioError(
                    f"{owner} {name} = {value!r}: must be a number in"
                    f" [{param.low:g}, {param.high:g}] ({param.unit or 'no unit'})"
                )
            values[name] = number
        complaint = self.complain(values) if self.complain else None
        if complaint:
            raise ScenarioError(f"{owner}: {complaint}")
        return values
