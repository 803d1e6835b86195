"""Compilation: how plain Python rules and handlers become machine code, and back.

Everything the engines run is ordinary Python on records. This module is the only one that knows
Numba. It offers

* :func:`compiled` for the engines' own functions (cached on disk, releasing the GIL),
* :func:`accessor`, which views memory at an address as the record with a given dtype,
* :func:`rule_address` and :func:`call_rule`, by which an engine calls a rule that it has never
  heard of: the engine is compiled once, whatever the mix of algorithms.

With ``NUMBA_DISABLE_JIT=1`` in the environment (Numba's own switch) the same functions run
interpreted, so that a debugger can step through a controller, an ACK, a queue.

Machine code is kept on disk (:mod:`tcpcc.engine.cache`).
"""

from __future__ import annotations

import ctypes
import hashlib
import types as pytypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from tcpcc.engine.cache import keep_in
from tcpcc.engine.source import code_digest, module_digest

config: Any = numba.core.config  # its stubs lack the options
njit: Any = numba.njit

INTERPRETED = bool(config.DISABLE_JIT)


def compiled(function: Callable) -> Any:
    """Compile an engine function that only engine functions call, with its first caller.

    Division follows IEEE 754, as in NumPy.
    """
    if INTERPRETED:
        return function
    return njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)(function)


def entry(function: Callable) -> Any:
    """Compile an engine function that Python calls, and keep the machine code on disk."""
    if INTERPRETED:
        return function
    folder = f"engine-{module_digest(function.__module__)[:16]}"
    return keep_in(folder, njit(nogil=True, error_model="numpy")(function))


# --------------------------------------------------------------------------------- records


def record_dtype(fields: dict[str, type] | list[tuple[str, Any]]) -> np.dtype:
    """An aligned dtype of 8-byte fields; ``fields`` maps names to ``float`` or ``int``."""
    return np.dtype(list(fields.items() if isinstance(fields, dict) else fields), align=True)


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


def address(array: np.ndarray) -> int:
    """Where an array's numbers begin, for an :func:`accessor`. The array has to be kept alive."""
    return array.ctypes.data


def accessor(dtype: np.dtype) -> Any:
    """A function ``at(base, index)``: the record of type `dtype` at ``base + index * itemsize``.

    The record is a view; assigning to its fields writes the memory. Nothing checks the address.
    """
    size = dtype.itemsize
    if INTERPRETED:

        def at(base: int, index: int) -> Any:
            buffer: Any = (ctypes.c_char * size).from_address(int(base) + int(index) * size)
            return _View(np.frombuffer(buffer, dtype=dtype)[0])

        return at

    numba_type = numba.from_dtype(dtype)

    @intrinsic
    def at_compiled(typingctx: Any, base: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, i = args
            offset = builder.mul(i, ir.Constant(ir.IntType(64), size))
            pointer = context.get_value_type(numba_type)
            return builder.inttoptr(builder.add(address, offset), pointer)

        return numba_type(types.int64, types.int64), codegen

    return at_compiled


# ----------------------------------------------------------------------------------- rules

_interpreted_rules: list[tuple[Callable, Any, Any, Any]] = []


def _with_compiled_helpers(rule: Callable, seen: dict[Callable, Any]) -> Callable:
    """`rule` with the plain functions that it calls replaced by compiled ones, recursively."""
    code = rule.__code__
    namespace = dict(rule.__globals__)
    for name in sorted(set(code.co_names) & namespace.keys()):
        value = namespace[name]
        if isinstance(value, pytypes.FunctionType):
            if value not in seen:
                seen[value] = None
                seen[value] = njit(nogil=True)(_with_compiled_helpers(value, seen))
            namespace[name] = seen[value]
    copy = pytypes.FunctionType(code, namespace, rule.__name__, rule.__defaults__, rule.__closure__)
    # Machine code from several processes meets in one: its symbols must not clash, and the module
    # that it names must be there to import.
    copy.__module__, copy.__qualname__ = __name__, f"{rule.__qualname__}_{code_digest(rule)[:16]}"
    return copy


_alive: dict[int, Any] = {}  # compiled rules must outlive the engines that hold their addresses


def rule_address(rule: Callable | None, state: np.dtype, params: np.dtype, sample: np.dtype) -> int:
    """Address of `rule` compiled for records of these dtypes; 0 for ``None``.

    Raises ``TypeError`` with one line when the rule leaves the subset of Python that compiles.
    """
    if rule is None:
        return 0
    if INTERPRETED:
        views = (accessor(state), accessor(params), accessor(sample))
        _interpreted_rules.append((rule, *views))
        return len(_interpreted_rules)
    kinds = repr((state, params, sample))
    return _compiled_rule(_Rule(rule, code_digest(rule), kinds), state, params, sample)


class _Rule(NamedTuple):
    """A rule that is the same as another one if it does the same on the same records."""

    function: Callable
    digest: str
    kinds: str

    def __hash__(self) -> int:
        return hash((self.digest, self.kinds))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rule) and self[1:] == other[1:]

    def __ne__(self, other: object) -> bool:
        return not self == other


@cache
def _compiled_rule(rule: _Rule, state: np.dtype, params: np.dtype, sample: np.dtype) -> int:
    function = rule.function
    signature = types.none(*(numba.from_dtype(d) for d in (state, params, sample)))
    digest = hashlib.sha256(f"{rule.digest}{rule.kinds}".encode()).hexdigest()[:16]
    folder = f"rules-{module_digest(__name__)[:16]}/{digest}"
    dispatcher = keep_in(folder, njit(nogil=True)(_with_compiled_helpers(function, {})))
    try:
        dispatcher.compile(signature)
    except numba.core.errors.NumbaError as error:
        reason = " ".join(str(error).split())
        raise TypeError(f"rule {function.__qualname__} does not compile: {reason[:300]}") from error
    compile_result = dispatcher.overloads[dispatcher.signatures[0]]
    address = compile_result.library.get_pointer_to_function(compile_result.fndesc.llvm_func_name)
    _alive[address] = dispatcher
    return address


@intrinsic
def _call_compiled(
    typingctx: Any, address: Any, state: Any, params: Any, sample: Any
) -> Any:  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        argument_types = (types.voidptr,) * 3
        function_type = context.call_conv.get_function_type(types.none, argument_types)
        function = builder.inttoptr(args[0], function_type.as_pointer())
        pointer = context.get_value_type(types.voidptr)
        pointers = [builder.inttoptr(a, pointer) for a in args[1:]]
        status, _ = context.call_conv.call_function(
            builder, function, types.none, argument_types, pointers
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(*(types.int64,) * 4), codegen


def _call_interpreted(address: int, state: int, params: int, sample: int) -> None:
    rule, state_at, params_at, sample_at = _interpreted_rules[address - 1]
    rule(state_at(state, 0), params_at(params, 0), sample_at(sample, 0))


# Call the rule at `address` on the records at three addresses; its exceptions reach the caller.
call_rule = _call_interpreted if INTERPRETED else _call_compiled
