"""Base class of the frozen records of a scenario, with one-line errors for a wrong keyword."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeVar, cast

from tcpcc import rich
from tcpcc.errors import ScenarioError, suggestion, unknown

C = TypeVar("C", bound=Callable[..., Any])


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
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    label = target.__name__

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in known and not takes_any:
                raise unknown(f"setting of {label}", name, known, limit=len(known))
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
                    if name not in known and suggestion(name, missing):
                        raise unknown(f"setting of {label}", name, known, limit=8) from None
                raise ScenarioError(f"{label}: {wrong}") from None
            raise

    if not is_class:
        return cast(C, checked)
    for attribute, value in (
        ("__init__", checked),
        ("_defaults", {p.name: p.default for p in parameters if p.default is not p.empty}),
    ):
        setattr(target, attribute, value)
    return target


@functools.cache
def arguments(record: type) -> tuple[str, ...]:
    """Names of the fields of a record class that are arguments, in order."""
    return tuple(f.name for f in fields(record) if f.init)


@functools.cache
def _all_fields(record: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(record))


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """Base of the frozen records, with `given` and `replace`.

    Its subclasses are dataclasses decorated with `named`.
    """

    _defaults: ClassVar[dict[str, Any]] = {}

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
        return type(self)(**{**self.given(), **changes})

    def _repr_html_(self) -> str:
        return rich.headed(type(self).__name__, "", rich.settings(self.given()))

    def _with(self, **values: Any) -> Self:
        """A copy with some fields changed, without checks: the caller gives valid values."""
        kind: Any = type(self)
        copy = object.__new__(kind)
        for name in _all_fields(kind):
            value = values[name] if name in values else getattr(self, name)
            object.__setattr__(copy, name, value)
        return copy

    def __repr__(self) -> str:
        listed = ", ".join(f"{k}={v!r}" for k, v in self.given().items())
        return f"{type(self).__name__}({listed})"
