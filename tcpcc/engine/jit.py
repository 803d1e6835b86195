"""The engines' building blocks: records, rules called by address, marks for the compiler.

All engine code is ordinary Python on records. This module provides

* :func:`compiled` and :func:`entry` for the engines' own functions,
* :func:`accessor`, which views memory at an address as a record of a given dtype,
* :func:`rule_address` and :func:`call_rule`, by which an engine calls rules by address: the engine
  is compiled once, for any mix of algorithms,
* :class:`Caller`, by which one engine calls another's entry without being compiled with it.

The compiler itself (:mod:`tcpcc.engine.machine`) is imported only when there is something to
compile, so naming a rule, or listing or describing a scenario, does not import Numba.

With ``NUMBA_DISABLE_JIT=1`` in the environment (Numba's own switch) the same functions run
interpreted, so that a debugger can step through a controller, an ACK, a queue.
"""

from __future__ import annotations

import ctypes
import os
import sys
import weakref
from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

INTERPRETED = bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Mark an engine function, which the compiler inlines into its callers.

    Most of these functions are shorter than a call: inlining halves the packet model's run time.
    Division follows IEEE 754, as in NumPy; in rules and their helpers, division by zero raises an
    exception, as in Python.
    """
    function.__dict__["of_engine"] = True
    return function


def not_inlined(function: F) -> F:
    """As :func:`compiled`, for rarely used functions: compiled once and called, not inlined.

    This saves compile time, since an inlined function is compiled again in every caller.
    """
    function.__dict__["not_inlined"] = True
    return compiled(function)


def entry(function: Callable[..., Any]) -> Any:
    """Compile an engine function that Python calls, and cache the machine code on disk."""
    if INTERPRETED:
        return function
    from tcpcc.engine.machine import compile_entry

    return compile_entry(function)


def announce_compilation(module: str, what: str, seconds: float) -> None:
    """Print a line if the machine code of an engine's `module` has to be compiled first."""
    if not INTERPRETED:
        from tcpcc.engine.announce import compiling
        from tcpcc.engine.cache import holds

        if not holds(module):
            compiling(what, seconds)


# --------------------------------------------------------------------------------- records


CACHE_LINE = 64  # bytes; unit in which the processor reads memory


def record_dtype(
    fields: dict[str, type] | list[tuple[Any, ...]], whole_lines: bool = False
) -> np.dtype:
    """An aligned dtype; ``fields`` maps names to ``float``, ``int`` or a smaller number type.

    With `whole_lines` a record takes a whole number of cache lines, so in an array from
    :func:`blank` neighbouring fields share a cache line. The number of lines is odd: addresses that
    are a multiple of a power of two apart would compete for few places of the cache.
    """
    plain = np.dtype(list(fields.items() if isinstance(fields, dict) else fields), align=True)
    if not whole_lines:
        return plain
    columns: Any = plain.fields
    layout: Any = {
        "names": plain.names,
        "formats": [columns[name][0] for name in plain.names or ()],
        "offsets": [columns[name][1] for name in plain.names or ()],
        "itemsize": (-(-plain.itemsize // CACHE_LINE) | 1) * CACHE_LINE,
    }
    return np.dtype(layout, align=True)


Records: TypeAlias = Any  # an array of records, whose fields numpy's types do not know


def blank(number: int, dtype: np.dtype) -> Records:
    """An array of `number` records of zeros, aligned to a cache line."""
    memory = np.zeros(number * dtype.itemsize + CACHE_LINE, np.uint8)
    first = -address(memory) % CACHE_LINE
    return memory[first : first + number * dtype.itemsize].view(dtype)


def longer(array: Records, more: int) -> Records:
    """A copy with `more` records of zeros appended. (``np.concatenate`` may drop padding.)"""
    copy = blank(len(array) + more, array.dtype)
    copy[: len(array)] = array
    return copy


class _View:
    """A record in interpreted code: its fields as attributes, Python numbers or arrays."""

    __slots__ = ("_row",)

    def __init__(self, row: Any) -> None:
        object.__setattr__(self, "_row", row)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._row[name]
        except ValueError as error:
            raise AttributeError(str(error)) from None
        return value if value.shape else value.item()

    def __setattr__(self, name: str, value: Any) -> None:
        self._row[name] = value


class _Memory:
    """The memory of the arrays whose addresses have been taken, to check interpreted accesses."""

    def __init__(self) -> None:
        self._begins: list[int] = []  # in order; parts of different arrays do not overlap
        self._parts: dict[int, tuple[int, weakref.ref[Any]]] = {}  # begin -> end, owner

    def add(self, array: np.ndarray) -> None:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        begin = array.ctypes.data
        end = begin + array.nbytes
        place = max(bisect_right(self._begins, begin) - 1, 0)
        while place < len(self._begins) and self._begins[place] <= end:
            other = self._begins[place]
            last, whose = self._parts[other]
            if whose() is owner and last >= begin:
                begin, end = min(begin, other), max(end, last)
            if whose() is None or whose() is owner or last > begin:  # freed, or a part of this
                del self._begins[place], self._parts[other]
            else:
                place += 1
        if end > begin:
            insort(self._begins, begin)
            self._parts[begin] = end, weakref.ref(owner)

    def holds(self, begin: int, size: int) -> bool:
        place = bisect_right(self._begins, begin) - 1
        if place < 0:
            return False
        end, owner = self._parts[self._begins[place]]
        return begin + size <= end and owner() is not None


_memory = _Memory()


def address(array: np.ndarray) -> int:
    """Address of an array's data, for an :func:`accessor`. The caller must keep the array alive."""
    if INTERPRETED:
        _memory.add(array)
    return array.ctypes.data


class Accessor:
    """A function ``at(base, index)``: the record of type `dtype` at ``base + index * itemsize``.

    The record is a view; assigning to its fields writes the memory. Interpreted code raises
    IndexError if the record is not within an array that lives and whose :func:`address` was taken.
    Compiled code, which contains machine code instead, does not check.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def __call__(self, base: int, index: int) -> Any:
        place = int(base) + int(index) * self.dtype.itemsize
        if INTERPRETED and not _memory.holds(place, self.dtype.itemsize):
            raise IndexError(
                f"{self._name(sys._getframe(1))}: record {index} from address {base:#x}"
                " is outside of all arrays"
            )
        return _View(record_view(self.dtype, place))

    def _name(self, caller: Any) -> str:
        """The name by which the calling function knows this accessor, or the record's fields."""
        variables = {**caller.f_globals, **caller.f_locals}
        fields = f"record of {', '.join((self.dtype.names or ())[:3])}, ..."
        return next((name for name, value in variables.items() if value is self), fields)


def record_view(dtype: np.dtype, base: int) -> Any:
    """The NumPy record of type `dtype` at an address."""
    buffer: Any = (ctypes.c_char * dtype.itemsize).from_address(base)
    return np.frombuffer(buffer, dtype=dtype)[0]


accessor: Any = Accessor  # engines call it like a function
number_at = accessor(record_dtype({"value": float}))
index_at = accessor(record_dtype({"at": int}))


@compiled
def lowest_bit(word):
    """The number of the lowest bit of a positive integer that is 1. Compiled code contains machine
    code instead."""
    return (word & -word).bit_length() - 1


# ----------------------------------------------------------------------------------- rules

_interpreted_rules: list[tuple[Callable, Any, Any, Any]] = []


def rule_address(rule: Callable | None, state: np.dtype, params: np.dtype, sample: np.dtype) -> int:
    """Address of `rule` compiled for records of these dtypes; 0 for ``None``.

    Raises:
        TypeError: the rule uses Python that does not compile; the message is one line.
    """
    if rule is None:
        return 0
    if not INTERPRETED:
        from tcpcc.engine.machine import compile_rule

        return compile_rule(rule, state, params, sample)
    _interpreted_rules.append((rule, accessor(state), accessor(params), accessor(sample)))
    return len(_interpreted_rules)


#: Fields of a state that belongs to a group: how many states it has, and the address of an array of
#: their addresses; 0: this state is the only one.
GROUP_FIELDS = [("members", np.int64), ("group", np.int64)]


@compiled
def member(s, i):
    """State `i` of the group that the state `s` belongs to, from 0 to ``s.members - 1``, in the
    group's order; `s` is one of them. A rule may read it.

    Raises:
        IndexError: there is no such member.
    """
    if i < 0 or i >= s.members:
        raise IndexError("member(s, i): i is not between 0 and s.members - 1")
    return s if s.members == 1 else peer(s, i)


@compiled
def peer(s, i):
    """:func:`member` of a group of several. Compiled code contains machine code instead."""
    if not isinstance(s, _View):
        return s.group[i]  # plain objects: a list of them
    return Accessor(s._row.dtype)(index_at(s.group, i).at, 0)


@compiled
def call_rule(address: int, state: int, params: int, sample: int) -> None:
    """Call the rule at `address` on the records at three addresses; its exceptions propagate to the
    caller. Compiled code contains machine code instead."""
    rule, state_at, params_at, sample_at = _interpreted_rules[address - 1]
    rule(state_at(state, 0), params_at(params, 0), sample_at(sample, 0))


# --------------------------------------------------------------------------------- entries

_interpreted_entries: list[Callable] = []


class Caller:
    """Calls entries by their addresses; compiled code contains machine code instead.

    ``Caller(bool, int, float)(address, 3, 0.5)`` calls the entry at `address`, which takes an
    integer and a float and returns a bool. Exceptions propagate to the caller.

    Args:
        returns: `bool`, `int`, `float` or `None`.
        takes: types of the arguments.
    """

    def __init__(self, returns: type | None, *takes: type) -> None:
        self.returns, self.takes = returns, takes

    def address(self, function: Any) -> int:
        """Address of an :func:`entry`, which is compiled for these types if necessary.

        Raises:
            TypeError: the entry returns another type.
        """
        if not INTERPRETED:
            from tcpcc.engine.machine import entry_address

            return entry_address(function, self.returns, self.takes)
        _interpreted_entries.append(function)
        return len(_interpreted_entries)

    def __call__(self, address: int, *arguments: Any) -> Any:
        return _interpreted_entries[address - 1](*arguments)
