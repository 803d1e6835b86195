"""The common base of controllers, slow-start rules, queue disciplines and loss recoveries.

A definition has a name, a summary, parameters, perhaps private state, and rules. A registry holds
all definitions of one kind by name.
"""

from __future__ import annotations

import html
import math
import numbers
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from tcpcc import html_tables, plugins
from tcpcc.engine.subset import Fields
from tcpcc.errors import ScenarioError, ScenarioWarning, real, refuse, unknown, warn

if TYPE_CHECKING:
    import pandas as pd

#: A rule: a function of three records (state, parameters, sample).
Rule = Callable[[Any, Any, Any], None]


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a definition: ``Param(1, "packets", "increase", 0, 10)``.

    Args:
        default: its default.
        unit: unit of the value, "" if it has none.
        doc: meaning, with the source.
        low, high: the closed range that is allowed; unlimited unless given.

    Raises:
        ScenarioError: the default is not a number or not in the range.
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

    @property
    def allowed(self) -> str:
        """The values allowed, as messages show them."""
        return f"a number in [{self.low:g}, {self.high:g}] ({self.unit or 'no unit'})"

    def number(self, field: str, value: Any) -> float:
        """A value that a user gave, as the number that rules read.

        Raises:
            ScenarioError: it is not allowed; the message begins with `field`.
        """
        try:
            number = real(field, value)
        except ScenarioError:
            number = math.nan
        if not self.low <= number <= self.high:
            raise refuse(field, value, self.allowed)
        return number

    def plain(self, number: float) -> float | bool:
        """A number that rules read, as a user writes it."""
        return number

    def text(self, number: float) -> str:
        """A number that rules read, as tables and TOML show it."""
        return f"{number:g}"


class Flag(Param):
    """A parameter that is true or false. A rule reads 1 or 0: ``if p.name:``.

    Args:
        default: its default.
        doc: what it does if true, with the source.

    Raises:
        ScenarioError: the default is neither true nor false.
    """

    __slots__ = ()

    def __init__(self, default: bool, doc: str = "") -> None:
        number = self.number("Flag default", default)
        Param.__init__(self, number, "true or false", doc, 0, 1)

    def replace(self, **changes: Any) -> Flag:
        """The same parameter with another default or text."""
        return Flag(**{"default": bool(self.default), "doc": self.doc, **changes})

    @property
    def allowed(self) -> str:
        return "true or false"

    def number(self, field: str, value: Any) -> float:
        if not isinstance(value, bool | np.bool_ | numbers.Real) or value not in (0, 1):
            raise refuse(field, value, self.allowed)
        return float(value)

    def plain(self, number: float) -> bool:
        return bool(number)

    def text(self, number: float) -> str:
        return "true" if number else "false"


@dataclass(frozen=True, slots=True)
class State:
    """A private state variable: ``State(0, "s", "time of the last loss")``.

    Args:
        initial: value at the start.
        unit: unit of the value, "" if it has none.
        doc: meaning.
        size: number of values.
        kind: float or int.
        names: of its values 0, 1, ..., if it is one of several states.

    With a `size` above 1 it is an array of `size` numbers, ``s.name[i]`` in a rule. It is a float,
    or with ``kind=int`` an integer, which can hold bits or index a ring.
    """

    initial: float
    unit: str
    doc: str
    size: int = 1
    kind: type[float] | type[int] = float
    names: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """What documents say of it: `doc`, and the names of its values."""
        values = ", ".join(f"{value} {name}" for value, name in enumerate(self.names))
        return f"{self.doc}: {values}" if values else self.doc

    def column(self, name: str) -> tuple[Any, ...]:
        """The variable as a field of a record."""
        return (name, self.kind) if self.size == 1 else (name, self.kind, (self.size,))

    def start(self) -> Any:
        """The initial value: a number, or a new array."""
        if self.size == 1:
            return float(self.initial)
        return np.full(self.size, self.initial, self.kind)


MOST_WORDS = 255  # of a header field: a packet passes at most that many links (IP's TTL)


def check_header(owner: str, sizes: Mapping[str, Any], taken: Iterable[str]) -> None:
    """Check the fields of a packet's header that rules use: name -> number of words.

    Raises:
        ScenarioError: a name is not an identifier or is in `taken`, or a size is not 1 to 255.
    """
    for name, size in sizes.items():
        if not name.isidentifier() or name in taken:
            raise refuse(f"{owner}: header", name, "a name that no field of the sample has")
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_WORDS:
            raise refuse(f"{owner}: header {name!r}", size, f"1 to {MOST_WORDS} words")


def header_columns(sizes: Mapping[str, int]) -> list[tuple[Any, ...]]:
    """Header fields as the last fields of a sample: numbers, or arrays of several words."""
    return [(n, np.float64) if k == 1 else (n, np.float64, (k,)) for n, k in sizes.items()]


def _range(param: Param) -> str:
    if isinstance(param, Flag) or (math.isinf(param.low) and math.isinf(param.high)):
        return ""
    return f"[{param.low:g}, {param.high:g}]"


def exceeds(values: Mapping[str, float], low: str, high: str) -> str | None:
    """The complaint of a `validate` if parameter `low` is larger than parameter `high`."""
    if values[low] > values[high]:
        return f"{low} = {values[low]:g} exceeds {high} = {values[high]:g}"
    return None


class Definition:
    """Something with a `name`, a `summary`, `params` and optionally a function `validate`, which
    checks all parameter values together: it returns an error message, or None."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    registry: ClassVar[Registry[Any]]
    name: str
    summary: str
    source: str
    params: Mapping[str, Param]
    validate: Callable[[dict[str, float]], str | None] | None

    def _repr_html_(self) -> str:
        rows = [
            (name, param.plain(param.default), param.unit, _range(param), param.doc)
            for name, param in self.params.items()
        ]
        head = ("parameter", "default", "unit", "range", "meaning")
        source = f"<br><small>{html.escape(self.source)}</small>" if self.source else ""
        title = f"{self.registry.kind} {self.name}"
        return html_tables.headed(title, self.summary, source, html_tables.table(head, rows))

    def records(
        self, sample: Iterable[str], written: Iterable[str] = ()
    ) -> tuple[Fields | None, ...]:
        """The rules' arguments: state, parameters, and a sample with the fields `sample`, of which
        the rules may assign to `written`."""
        state = frozenset(self.state_dtype.names or ())
        return (
            Fields("state", state, state),
            Fields("parameters", frozenset(self.params), frozenset()),
            Fields("sample", frozenset(sample), frozenset(written)),
        )

    @property
    def state_dtype(self) -> np.dtype:
        """dtype of the state's record."""
        return np.dtype([])

    @property
    def params_dtype(self) -> np.dtype:
        """dtype of the parameters' record, in their order."""
        return np.dtype([(n, np.float64) for n in self.params or ["_none"]], align=True)

    @property
    def owner(self) -> str:
        """Kind and name for messages: ``controller 'reno'``."""
        return f"{self.registry.kind} {self.name!r}"

    def check(self, given: Mapping[str, Any]) -> dict[str, float]:
        """All parameters as floats: the values in `given`, defaults for the rest.

        Raises:
            ScenarioError: a name is not a parameter, a value is not a number in the parameter's
                range, or `validate` rejects the combination.
        """
        owner = self.owner
        values = {name: float(param.default) for name, param in self.params.items()}
        for name, value in given.items():
            if name not in self.params:
                raise unknown(f"parameter of {owner}", name, self.params)
            values[name] = self.params[name].number(f"{owner} {name}", value)
        complaint = self.validate(values) if self.validate else None
        if complaint:
            raise ScenarioError(f"{owner}: {complaint}")
        return values

    def variant(self, **changes: Any) -> Self:
        """A definition with these changes, not yet registered: ``reno.variant(name="mine", ...)``.

        Args:
            **changes: arguments of the definition. `params` and `state` are added to those that it
                has, or take the place of those with the same name.
        """
        for name in {"params", "state"} & changes.keys():
            changes[name] = {**getattr(self, name), **changes[name]}
        return replace(self, **changes)

    def plain(self, params: Iterable[tuple[str, float]]) -> dict[str, float | bool]:
        """Parameters as a user writes them: flags as booleans."""
        return {name: self.params[name].plain(number) for name, number in params}


D = TypeVar("D", bound=Definition)


class UnknownNameError(ScenarioError, KeyError):
    """A name that no definition of a registry has."""

    __str__ = Exception.__str__  # a KeyError shows its text in quotes


class Registry(Mapping[str, D], Generic[D]):
    """The definitions of one kind by name, in alphabetical order; a call returns them as a table.

    Other installed packages offer definitions by entry points (:mod:`tcpcc.plugins`). One is
    loaded when its name is looked up, all when names are listed.

    Args:
        kind: name of the kind, for messages and tables ("controller").
        group: group of the entry points ("tcpcc.controllers").
        columns: attributes that `table` shows beside the parameters.
    """

    def __init__(self, kind: str, group: str, columns: tuple[str, ...] = ("source",)) -> None:
        self.kind = kind
        self.group = group
        self.columns = columns
        self._known: dict[str, D] = {}
        self._by: dict[str, str] = {}  # name -> module that registered it
        self._is_complete = False  # all installed definitions are loaded

    def add(self, definition: D, by: str = "tcpcc") -> D:
        """Register `definition` under its name and return it. It replaces an older definition of
        that name, for example when a notebook cell is run again.

        Args:
            definition: the definition.
            by: module that registers it; a warning says that it replaces one of another module.
        """
        name = definition.name
        before = self._by.get(name, by)
        if before != by and not _is_ours(by):
            whose = "built-in one" if _is_ours(before) else f"one of {before}"
            warn(
                f"{self.kind} {name!r} replaces the {whose}: the name means the new one from now"
                " on; another name keeps both",
                ScenarioWarning,
            )
        self._known[name], self._by[name] = definition, by
        return definition

    def find(self, name: str | D) -> D:
        """The definition called `name`; a definition is returned unchanged.

        Raises:
            ScenarioError: the name is unknown; the message suggests a similar one.
        """
        if isinstance(name, Definition):
            return name
        if isinstance(name, str):
            if name not in self._known:
                self._take(name)
            if name in self._known:
                return self._known[name]
        own = f"; your own {self.kind}: import the file that registers it (--import FILE)"
        raise UnknownNameError(f"{unknown(self.kind, name, self.names())}{own}")

    __getitem__ = find

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str) and name not in self._known:
            self._take(name)
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def names(self) -> list[str]:
        """All registered names, sorted; a warning tells of installed ones that cannot be loaded."""
        if not self._is_complete:
            self._is_complete = True
            for name, offers in plugins.offered(self.group).items():
                if name not in self._known:
                    try:
                        self._take(name)
                    except ScenarioError as error:
                        warn(f"{error}; it is left out", ScenarioWarning)
                elif _is_ours(self._by[name]):
                    whose = f"{self.kind} {name!r} of {plugins.packages_of(offers)}"
                    text = "the name is taken by a built-in one; it is left out"
                    warn(f"{whose}: {text}", ScenarioWarning)
        return sorted(self._known)

    def _take(self, name: str) -> None:
        """Register the definition `name` of an installed package, if there is one."""
        entry = plugins.load(self.kind, self.group, name)
        if entry is None:
            return
        definition, module = entry
        if not isinstance(definition, Definition) or type(definition).registry is not self:
            raise refuse(f"{self.kind} {name!r} of {module}", definition, f"a {self.kind}")
        if definition.name != name:
            raise refuse(f"{self.kind} {name!r} of {module}", definition.name, "the same name")
        if self._known.get(name) is not definition:  # the module may have registered it
            self.add(cast(D, definition), module)

    def module_of(self, name: str) -> ModuleType | None:
        """The module that registered a definition."""
        return sys.modules.get(self._by[self[name].name])

    def table(self) -> pd.DataFrame:
        """All registered definitions with their parameters, as a DataFrame.

        One row per parameter, or one row for a definition without parameters.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for name in self:
            definition = self[name]
            common = {self.kind: name, "summary": definition.summary}
            common |= {column: getattr(definition, column) for column in self.columns}
            rows += [
                {
                    **common,
                    "parameter": parameter,
                    "default": param.plain(float(param.default)),
                    "unit": param.unit,
                    "meaning": param.doc,
                }
                for parameter, param in definition.params.items()
            ] or [{**common, "parameter": "", "default": None, "unit": "", "meaning": ""}]
        head = [self.kind, "parameter", "default", "unit", "meaning", "summary"]
        return pd.DataFrame(rows, columns=[*head, *self.columns])

    __call__ = table  # ``tc.controllers()``


def register(definition: D) -> D:
    """Register a controller, a slow-start rule, a queue discipline or a loss recovery under its
    name, and return it. It replaces an older one of the same kind and name, with a warning if that
    is built in or of another module.

    Raises:
        ScenarioError: `definition` is not of these kinds.
    """
    if not isinstance(definition, Definition):
        raise refuse("register", definition, "a Controller, StartUp, Discipline or Recovery")
    by = str(sys._getframe(1).f_globals.get("__name__", ""))
    return cast(D, type(definition).registry.add(definition, by))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "tcpcc"


def module_of(registry: Registry[Any], name: str) -> None:
    """Let the module `name` be used as `registry`: ``tcpcc.controllers["reno"]``, although it is a
    subpackage."""

    class _RegistryModule(ModuleType):
        def __getattr__(self, attribute: str) -> Any:
            if attribute.startswith("_") or not hasattr(Registry, attribute):
                raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
            return getattr(registry, attribute)

        def __reduce__(self) -> Any:  # cloudpickle knows plain modules only
            return import_module, (name,)

    for method in ("__call__", "__getitem__", "__contains__", "__iter__", "__len__"):
        bound = getattr(registry, method)
        setattr(_RegistryModule, method, lambda _, *arguments, _bound=bound: _bound(*arguments))
    sys.modules[name].__class__ = _RegistryModule
