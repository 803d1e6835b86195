"""The frozen records of a scenario: settings, each declared once, and one-line errors.

A setting is declared with the values that it takes, the value that it keeps, its check and its
default::

    delay: Seconds = setting(seconds, default=0.0)

Type checkers and `help` see that ``Link(delay="20 ms")`` is right and ``link.delay`` is a float.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, dataclass_transform, overload

from tcpcc import html_tables
from tcpcc.errors import ScenarioError, nonnegative, positive, refuse, suggestion, unknown, whole
from tcpcc.scenario import units
from tcpcc.scenario.units import Quantity

C = TypeVar("C", bound=Callable[..., Any])
Given = TypeVar("Given")
Kept = TypeVar("Kept")


class Setting(Generic[Given, Kept]):
    """For type checkers: a field that takes one type and keeps another."""

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: object, owner: type) -> Kept: ...
    def __get__(self, record: object, owner: type) -> Any:
        raise AttributeError

    def __set__(self, record: object, value: Given) -> None:
        raise AttributeError


Seconds = Setting[Quantity, float]
SecondsOrNone = Setting[Quantity | None, float | None]
BitRate = Setting[Quantity, float]
BitRateOrNone = Setting[Quantity | None, float | None]
Bytes = Setting[Quantity, int]
BytesOrNone = Setting[Quantity | None, int | None]


def setting(
    check: Callable[..., Any],
    /,
    *,
    default: Any = MISSING,
    source: str = "",
    needs: str = "",
    **limits: Any,
) -> Any:
    """A field of a record.

    Args:
        check: called with the field's name, the given value and `limits`; returns what is kept.
        default: the value that need not be given.
        source: RFC that it follows unless it is off (0 or False).
        needs: attribute of a loss recovery without which it has no effect.
    """
    checked = partial(check, **limits) if limits else check
    metadata = {"check": checked, "source": source, "needs": needs}
    return field(default=default, metadata=metadata)


def as_given(name: str, value: Any) -> Any:
    """No check: the record checks the value together with others."""
    return value


def optional(check: Callable[..., Any]) -> Callable[..., Any]:
    """The same check, which lets None pass."""

    @functools.wraps(check)
    def checked(name: str, value: Any, **limits: Any) -> Any:
        return None if value is None else check(name, value, **limits)

    return checked


def instance(name: str, value: Any, *, kind: type, allowed: str) -> Any:
    if not isinstance(value, kind):
        raise refuse(name, value, allowed)
    return value


def tuple_of(name: str, values: Any, *, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """A tuple of members that are all of one of `kinds`; a single value becomes a tuple of one."""
    if isinstance(values, kinds):
        return (values,)
    allowed = " or ".join(f"{kind.__name__}(...)" for kind in kinds)
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise refuse(name, values, f"a list of {allowed}")
    members = tuple(values)
    for k, member in enumerate(members):
        if not isinstance(member, kinds):
            raise refuse(f"{name}[{k}]", member, allowed)
    return members


def seconds(
    name: str, value: Quantity, check: Callable[..., float] = nonnegative, **limits: Any
) -> float:
    return check(name, units.seconds(value, name), unit="s", **limits)


def propagation(name: str, value: Quantity) -> float:
    """A propagation delay; the record warns of a plain number that looks like one in ms."""
    return seconds(name, value)


def bit_rate(
    name: str, value: Quantity, check: Callable[..., float] = positive, **limits: Any
) -> float:
    """A rate; the record warns of a plain number that looks like one in Mbit/s."""
    return check(name, units.rate(value, name), unit="bit/s", **limits)


def window(name: str, value: float, inf: bool = False) -> float:
    """A window in packets, at least 1."""
    if positive(name, value, "packets", inf=inf) < 1:
        raise ScenarioError(f"{name} = {value:g}: must be at least 1 (packets)")
    return float(value)


def whole_bytes(name: str, value: Quantity, low: int = 0) -> int:
    return whole(name, units.size_bytes(value, name), "bytes", low=low)


def named(target: C) -> C:
    """Decorate a class or function so that a wrong keyword gives a helpful error.

    A misspelt or missing keyword raises a `ScenarioError` of one line with a suggestion, not a
    `TypeError`.
    """
    is_class = isinstance(target, type)
    call = target.__init__ if is_class else target
    signature = inspect.signature(call)
    parameters = [p for name, p in signature.parameters.items() if name != "self"]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    label = target.__name__

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in names and not takes_any:
                raise unknown(f"setting of {label}", name, names, limit=len(names))
        try:
            return call(*args, **kwargs)
        except TypeError:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as wrong:
                missing = [
                    p.name for p in parameters if p.default is p.empty and p.name not in kwargs
                ]
                for name in kwargs:  # a misspelt required argument
                    if name not in names and suggestion(name, missing):
                        raise unknown(f"setting of {label}", name, names, limit=8) from None
                raise ScenarioError(f"{label}: {wrong}") from None
            raise

    if not is_class:
        return cast(C, checked)
    kind: Any = target
    kind.__init__ = checked
    kind._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    return target


@functools.cache
def arguments(record: type) -> tuple[str, ...]:
    """Names of the fields of a record class that are arguments, in order."""
    return tuple(f.name for f in fields(record) if f.init)


@functools.cache
def _checks(record: type[Record]) -> tuple[tuple[str, Callable[..., Any], Any, Any], ...]:
    """Name and check of each setting, its default and what is kept of it: most settings have their
    default."""
    checks = []
    for f in fields(record):
        if f.init:
            check, default = f.metadata["check"], record._defaults.get(f.name, MISSING)
            checks.append(
                (f.name, check, default, default if default is MISSING else check(f.name, default))
            )
    return tuple(checks)


@functools.cache
def _rates_and_delays(record: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the settings that are rates, and of those that are propagation delays."""
    checks = {f.name: f.metadata["check"] for f in fields(record) if "check" in f.metadata}
    plain = {k: inspect.unwrap(getattr(check, "func", check)) for k, check in checks.items()}
    rates = tuple(name for name, check in plain.items() if check is bit_rate)
    return rates, tuple(name for name, check in plain.items() if check is propagation)


@functools.cache
def _all_fields(record: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(record))


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """Base of the frozen records, with `given` and `replace`; see `record`."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _of: ClassVar[str] = ""  # what stands before the names of settings in messages

    def __post_init__(self) -> None:
        kind: Any = type(self)
        self._keep({name: getattr(self, name) for name in arguments(kind)})

    def _keep(self, values: Mapping[str, Any]) -> None:
        """Checks each setting, then all together."""
        kind: Any = type(self)
        changed = {}
        for name, check, default, stored in _checks(kind):
            value = values[name]
            if value is default:
                value = stored
            else:
                changed[name] = value
                value = check(self._of + name, value)
            object.__setattr__(self, name, value)
        self._check()
        units.look_for_units(*rates_and_delays(kind, changed), self._of)

    def _check(self) -> None:
        """Conditions on several settings; may complete those that depend on others."""

    def _store(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _implied(self) -> dict[str, Any]:
        """Values of fields whose default follows from other fields."""
        return {}

    def given(self) -> dict[str, Any]:
        """The arguments that recreate this record: every field that differs from its default."""
        defaults = self._defaults | self._implied()
        kind: Any = type(self)
        values = {name: getattr(self, name) for name in arguments(kind)}
        return {k: v for k, v in values.items() if k not in defaults or v != defaults[k]}

    def replace(self, **changes: Any) -> Self:
        """A copy with some arguments changed, checked again.

        Defaults that depend on a changed argument are recomputed: a link's name from its ends, a
        scenario's interval from its duration.
        """
        settings = self.given()
        for values in rates_and_delays(type(self), settings):
            settings |= {name: units.Checked(value) for name, value in values.items()}
        return type(self)(**{**settings, **changes})

    def _repr_html_(self) -> str:
        return html_tables.headed(type(self).__name__, "", html_tables.settings(self.given()))

    def _with(self, **values: Any) -> Self:
        """A copy with some fields changed, without checks: the caller gives valid values."""
        kind: Any = type(self)
        copy = object.__new__(kind)
        for name in _all_fields(kind):
            object.__setattr__(copy, name, getattr(self, name))
        copy._store(**values)
        return copy

    def __repr__(self) -> str:
        listed = ", ".join(f"{k}={v!r}" for k, v in self.given().items())
        return f"{type(self).__name__}({listed})"


def rates_and_delays(
    kind: type, values: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that are rates, and those that are propagation delays, by name."""
    rates, delays = _rates_and_delays(kind)
    return (
        {name: values[name] for name in rates if name in values},
        {name: values[name] for name in delays if name in values},
    )


R = TypeVar("R", bound=Record)


@dataclass_transform(frozen_default=True, field_specifiers=(setting,))
def record(kind: type[R]) -> type[R]:
    """Make a class of settings a frozen record."""
    return named(dataclass(frozen=True, slots=True, repr=False)(kind))
