"""Errors and warnings for users, `tc.errors`: one line with field, value and what is allowed."""

from __future__ import annotations

import difflib
import math
import numbers
import sys
import warnings
from collections.abc import Iterable
from typing import Any


class TcpccError(Exception):
    """Base of every error that tcpcc raises on purpose."""


class ScenarioError(TcpccError, ValueError):
    """An invalid scenario, setting or request; raised before anything runs."""


class ResourceError(TcpccError):
    """A run that would take more than the machine has."""


class RuleError(TcpccError, ArithmeticError):
    """A rule divided by zero, or left an invalid window, pacing rate or time of a timer."""


class SweepError(TcpccError):
    """Some simulations of a sweep failed; all others are finished.

    Attributes:
        finished: as in `SweepInterrupted`.
        failed: the errors by the index of the scenario.
    """

    def __init__(self, message: str, finished: Any, failed: dict[int, Exception]) -> None:
        super().__init__(message)
        self.finished = finished
        self.failed = failed

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.finished, self.failed)


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep.

    Attributes:
        finished: results so far: the list of runs, with None for unfinished ones; if runs are
            measured, the table of the measured rows.
    """

    def __init__(self, message: str, finished: Any) -> None:
        super().__init__(message)
        self.finished = finished


class NoEquilibriumError(TcpccError):
    """No equilibrium was found."""


class NotSmoothError(TcpccError):
    """A rule switches at the equilibrium, so the smooth limit cannot be linearised there."""


class LongRun(UserWarning):
    """A run that takes more than a minute."""


class ModelWarning(UserWarning):
    """A model may be inaccurate here; the message says where."""


class CacheWarning(UserWarning):
    """Machine code cannot be stored, so that each process compiles it anew."""


class ScenarioWarning(UserWarning):
    """A scenario that runs, but probably not as it was meant."""


class TraceWarning(UserWarning):
    """A trace of another program of which a part could not be read."""


#: Packages whose frames stand between a user's line and a warning: sweeps, imports, decorators.
_BETWEEN = frozenset({"tcpcc", "joblib", "importlib", "functools", "contextlib", "collections"})


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that led here, however deep in the package that is."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _BETWEEN:
            break
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


#: Names that other tools or former versions use -> the name here.
ALIASES = {
    **dict.fromkeys(("min_rtt", "minrtt", "rtt_min", "rtprop"), "base_rtt"),
    **dict.fromkeys(("length", "qlen", "queue_length", "backlog"), "queue"),
    **dict.fromkeys(("last_rtt", "latest_rtt"), "rtt"),
    **dict.fromkeys(("time", "clock"), "now"),
    "smoothed_rtt": "srtt",
    "flight_size": "inflight",
    "bandwidth": "delivery_rate",
    "wait": "sojourn",
    "dscp": "traffic_class",
}


def suggestion(name: object, known: Iterable[str]) -> str:
    """': did you mean 'vegas'?' for the most similar name in `known`, or '' if there is none.

    A name of :data:`ALIASES` comes before one that is spelt alike.
    """
    by_lower_case = {k.lower(): k for k in known}
    alias = ALIASES.get(str(name).lower(), "")
    if alias in by_lower_case:
        return f": did you mean {by_lower_case[alias]!r}?"
    near = difflib.get_close_matches(str(name).lower(), by_lower_case, n=1, cutoff=0.6)
    return f": did you mean {by_lower_case[near[0]]!r}?" if near else ""


def unknown(kind: str, name: object, known: Iterable[str], *, limit: int = 12) -> ScenarioError:
    """The error for a name that is not in a table; the caller raises it.

    >>> print(unknown("controller", "vegass", ["reno", "vegas"]))
    unknown controller 'vegass': did you mean 'vegas'? known: reno, vegas

    Args:
        kind: what the name refers to ("controller", "link", ...).
        name: the name that the user gave.
        known: all valid names.
        limit: the largest number of names to list.
    """
    names = sorted(known)
    rest = f", ... ({len(names)} in all)" if len(names) > limit else ""
    listed = ", ".join(names[:limit]) + rest if names else "none"
    hint = suggestion(name, names) or ";"
    return ScenarioError(f"unknown {kind} {name!r}{hint} known: {listed}")


def real(field: str, value: Any, what: str = "a number", unit: str = "") -> float:
    """`value` as a float; booleans, NaN and everything that is not a real number raise an error.

    Args:
        field: name of the setting, for the message.
        what: the allowed values, for the message ("a positive finite number").
        unit: unit of the setting, for the message ("bit/s").
    """
    plain = type(value) in (float, int)  # the check for numbers.Real below is slow
    if plain or (isinstance(value, numbers.Real) and not isinstance(value, bool)):
        try:
            number = float(value) + 0.0  # no negative zero
        except OverflowError:  # a whole number of more than 308 digits
            raise refuse(field, value, what, unit) from None
        if not math.isnan(number):
            return number
        what += ", not NaN"
    raise refuse(field, value, what, unit)


def shown(value: object) -> str:
    """A value as messages show it: one line of at most 80 characters."""
    plain: Any = value
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        plain = value.item()
    try:
        line = " ".join(repr(plain).split())
    except ValueError:  # Python refuses to convert such an integer to text
        return "a number of more than 4300 digits"
    line = line.removesuffix(".0") if isinstance(plain, float) else line
    return line if len(line) <= 80 else line[:77] + "..."


def refuse(field: str, value: object, what: str, unit: str = "") -> ScenarioError:
    """The error "field = value: must be what (unit)"; the caller raises it."""
    return ScenarioError(f"{field} = {shown(value)}: must be {what}{f' ({unit})' if unit else ''}")


def finite(field: str, value: Any, unit: str = "") -> float:
    """A finite number of either sign."""
    what = "a finite number"
    number = real(field, value, what, unit)
    if math.isinf(number):
        raise refuse(field, value, what, unit)
    return number


def positive(field: str, value: Any, unit: str = "", *, inf: bool = False) -> float:
    """A number > 0; infinity only with `inf`."""
    what = "a positive number or inf" if inf else "a positive finite number"
    number = real(field, value, what, unit)
    if number <= 0 or (math.isinf(number) and not inf):
        raise refuse(field, value, what, unit)
    return number


def nonnegative(field: str, value: Any, unit: str = "", *, inf: bool = False) -> float:
    """A number >= 0; infinity only with `inf`."""
    what = "a non-negative number or inf" if inf else "a non-negative finite number"
    number = real(field, value, what, unit)
    if number < 0 or (math.isinf(number) and not inf):
        raise refuse(field, value, what, unit)
    return number


def probability(field: str, value: Any, *, one: bool = True) -> float:
    """A number in [0, 1], or in [0, 1) unless `one`."""
    what = "a probability in [0, 1]" if one else "a probability in [0, 1)"
    number = real(field, value, what)
    if not 0 <= number <= 1 or (number == 1 and not one):
        raise refuse(field, value, what)
    return number


def whole(field: str, value: Any, unit: str = "", *, low: int = 0) -> int:
    """A whole number in [low, 2^63) as an int; 3.0 counts as 3."""
    what = f"a whole number >= {low}"
    number = real(field, value, what, unit)
    if math.isinf(number) or int(value) != value or not low <= int(value) < 2**63:
        raise refuse(field, value, what, unit)
    return int(value)


def flag(field: str, value: Any) -> bool:
    """True or False."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise refuse(field, value, "True or False")
    return bool(value)


def one_of(field: str, value: Any, *, known: Iterable[str]) -> str:
    """One of the names in `known`."""
    if not isinstance(value, str) or value not in known:
        raise unknown(field, value, known)
    return value


def text(field: str, value: Any, what: str = "a name") -> str:
    """A non-empty string of printable characters."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise refuse(field, value, f"{what}, a string of printable characters")
    return value
