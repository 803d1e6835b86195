"""What controllers, slow-start rules, queue disciplines and loss recoveries have in common.

A definition has a name, a summary, parameters, perhaps private state, and rules; a registry holds
those of a kind by their names.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from tcpcc import rich
from tcpcc.engine.subset import Fields
from tcpcc.errors import ScenarioError, real, refuse, shown, unknown

if TYPE_CHECKING:
    import pandas as pd

#: A rule: a function of three records, the state, the parameters and the sample.
Rule = Callable[[Any, Any, Any], None]


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: default, unit, meaning (with its source), and the closed range allowed.

    Raises:
        ScenarioError: a default that is no number, or not in the range.
    """

    default: float
    unit: str = ""
    doc: str = ""
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        for name in ("default", "low", "high"):
            real(f"Param {name}", getattr(self, name), unit=self.unit)
        if not self.low <= self.default <= self.high:
            within = f"in its range [{self.low:g}, {self.high:g}]"
            raise refuse("Param default", self.default, within, self.unit)

    def replace(self, **changes: Any) -> Param:
        """The same parameter with another default, range or text."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class State:
    """A private state variable: value at the start, unit, meaning.

    With a `size` above 1 it is an array of so many numbers, ``s.name[i]`` in a rule. It is a real
    number, or with ``kind=int`` a whole one, which can count bits and find places in a ring.
    """

    initial: float
    unit: str
    doc: str
    size: int = 1
    kind: type[float] | type[int] = float

    def column(self, name: str) -> tuple[Any, ...]:
        """The variable as a field of a record."""
        return (name, self.kind) if self.size == 1 else (name, self.kind, (self.size,))

    def start(self) -> Any:
        """Its value at the start: a number, or a new array."""
        if self.size == 1:
            return float(self.initial)
        return np.full(self.size, self.initial, self.kind)


def _range(param: Param) -> str:
    if math.isinf(param.low) and math.isinf(param.high):
        return ""
    return f"[{param.low:g}, {param.high:g}]"


class Definition:
    """A thing with a `name`, a `summary`, `params` and perhaps a function `validate` that judges
    all of these together: it returns a complaint, or None."""

    registry: ClassVar[Registry[Any]]
    name: str
    summary: str
    source: str
    params: Mapping[str, Param]
    validate: Callable[[dict[str, float]], str | None] | None

    def _repr_html_(self) -> str:
        rows = [
            (name, param.default, param.unit, _range(param), param.doc)
            for name, param in self.params.items()
        ]
        head = ("parameter", "default", "unit", "range", "meaning")
        source = f"<br><small>{html.escape(self.source)}</small>" if self.source else ""
        title = f"{self.registry.kind} {self.name}"
        return rich.headed(title, self.summary, source, rich.table(head, rows))

    def records(
        self, sample: Iterable[str], written: Iterable[str] = ()
    ) -> tuple[Fields | None, ...]:
        """What the rules are given: state, parameters, and a sample with these fields."""
        state = frozenset(self.state_dtype.names or ())
        return (
            Fields("state", state, state),
            Fields("parameters", frozenset(self.params), frozenset()),
            Fields("sample", frozenset(sample), frozenset(written)),
        )

    @property
    def state_dtype(self) -> np.dtype:
        """Record of the state."""
        return np.dtype([])

    @property
    def params_dtype(self) -> np.dtype:
        """Record of the parameters, in their order."""
        return np.dtype([(n, np.float64) for n in self.params or ["_none"]], align=True)

    def check(self, given: Mapping[str, Any]) -> dict[str, float]:
        """All parameters as floats, `given` over the defaults.

        Raises:
            ScenarioError: a name that is not a parameter, a value that is not a number in the
                parameter's range, and values that do not go together.
        """
        owner = f"{self.registry.kind} {self.name!r}"
        values = {name: float(param.default) for name, param in self.params.items()}
        for name, value in given.items():
            if name not in self.params:
                raise unknown(f"parameter of {owner}", name, self.params)
            param = self.params[name]
            try:
                number = real(name, value)
            except ScenarioError:
                number = math.nan
            if not param.low <= number <= param.high:
                raise ScenarioError(
                    f"{owner} {name} = {shown(value)}: must be a number in"
                    f" [{param.low:g}, {param.high:g}] ({param.unit or 'no unit'})"
                )
            values[name] = number
        complaint = self.validate(values) if self.validate else None
        if complaint:
            raise ScenarioError(f"{owner}: {complaint}")
        return values


D = TypeVar("D", bound=Definition)


class Registry(Mapping[str, D], Generic[D]):
    """The definitions of one kind by their names, which come sorted.

    Args:
        kind: what one is called, for messages and tables.
        columns: attributes that `table` shows beside the parameters.
    """

    def __init__(self, kind: str, columns: tuple[str, ...] = ("source",)) -> None:
        self.kind = kind
        self.columns = columns
        self._known: dict[str, D] = {}

    def add(self, definition: D) -> D:
        """Make `definition` known by its name, in place of an older one of that name, as when a
        notebook cell is run again. Returns it."""
        self._known[definition.name] = definition
        return definition

    def find(self, name: str | D) -> D:
        """The definition of that name, or the one given; `ScenarioError` with a suggestion."""
        if isinstance(name, Definition):
            return name
        if not isinstance(name, str) or name not in self._known:
            raise unknown(self.kind, name, self._known)
        return self._known[name]

    def __getitem__(self, name: str) -> D:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._known))

    def __len__(self) -> int:
        return len(self._known)

    def names(self) -> list[str]:
        """Names of all that are registered, sorted."""
        return sorted(self._known)

    def table(self) -> pd.DataFrame:
        """All that are registered with their parameters, as a DataFrame.

        One row per parameter, or one row for a definition without any.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for name in self:
            one = self[name]
            common = {self.kind: name, "summary": one.summary}
            common |= {column: getattr(one, column) for column in self.columns}
            rows += [
                {
                    **common,
                    "parameter": parameter,
                    "default": float(param.default),
                    "unit": param.unit,
                    "meaning": param.doc,
                }
                for parameter, param in one.params.items()
            ] or [{**common, "parameter": "", "default": None, "unit": "", "meaning": ""}]
        head = [self.kind, "parameter", "default", "unit", "meaning", "summary"]
        return pd.DataFrame(rows, columns=[*head, *self.columns])


def register(definition: D) -> D:
    """Make a controller, a slow-start rule, a queue discipline or a loss recovery known by its
    name, in place of an older one of its kind and name. Returns it.

    Raises:
        ScenarioError: it is none of these.
    """
    if not isinstance(definition, Definition):
        raise refuse("register", definition, "a Controller, StartUp, Discipline or Recovery")
    return cast(D, type(definition).registry.add(definition))


def callable_module(name: str, function: Callable[[], Any]) -> None:
    """Let ``module()`` call `function`: ``tcpcc.controllers()`` is a table, although the folder
    has the same name."""

    class _Callable(ModuleType):
        def __call__(self) -> Any:
            return function()

    sys.modules[name].__class__ = _Callable
