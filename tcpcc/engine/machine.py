"""The compiler: turns functions on records into machine code, with Numba.

A function is compiled together with the functions that it calls, which are found through its
globals. An engine function (:func:`tcpcc.engine.jit.compiled`) is compiled once for all callers.
Machine code is cached on disk (:mod:`tcpcc.engine.cache`).
"""

from __future__ import annotations

import re
import threading
import types as pytypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tcpcc.engine import jit
from tcpcc.engine.cache import keep_in
from tcpcc.engine.framing import digest
from tcpcc.engine.private import PART, call_address, function_address, is_inlined
from tcpcc.engine.source import code_digest, dtype_bytes, global_names, is_ours, module_digest

njit: Any = numba.njit

_ENGINE = {"nogil": True, "error_model": "numpy"}
_BY_ADDRESS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # not called by Python
_RULE = {"nogil": True, **_BY_ADDRESS}
_PART = {**_BY_ADDRESS, **PART}


# ------------------------------------------------------------------------- functions


@cache
def _of_engine(function: Callable) -> Any:
    code = _with_compiled_helpers(function, {})
    return njit(forceinline=is_inlined(function), **_PART, **_ENGINE)(code)


Helpers = dict[tuple[Callable, str], Any]
"""Compiled helpers of rules, by function and digest of its code."""

_helpers: dict[str, Helpers] = {}  # by the records' dtypes: a controller's rules share helpers
_preparing = threading.RLock()


def _with_compiled_helpers(function: Callable, helpers: Helpers) -> Callable:
    """A copy of `function` in which every function that it calls is a compiled one, recursively."""
    return _copy(function, _with_compiled_globals(function, helpers))


def _with_compiled_globals(function: Callable, helpers: Helpers) -> dict[str, Any]:
    """The globals of `function` with compiled functions in place of those that it calls."""
    namespace = dict(function.__globals__)
    for name, attribute in global_names(function.__code__):
        value = namespace.get(name)
        if is_ours(function.__globals__.get(name)):
            if value is function.__globals__[name]:
                value = namespace[name] = pytypes.ModuleType(name)
            part = getattr(function.__globals__[name], attribute)
            setattr(value, attribute, _for_compiler(part, helpers))
        elif value is not None:
            namespace[name] = _for_compiler(value, helpers)
    return namespace


def _copy(function: Callable, namespace: dict[str, Any]) -> Callable:
    """A copy of `function` with other globals, named so that its symbols are unique."""
    copy = pytypes.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    # One process may load machine code that other processes compiled: symbols must not clash, and
    # the module that the code names must be importable.
    copy.__kwdefaults__ = function.__kwdefaults__
    unique = code_digest(function)[:16]
    copy.__module__, copy.__qualname__ = __name__, f"{function.__qualname__}_{unique}"
    return copy


def _for_compiler(value: Any, helpers: Helpers) -> Any:
    """The replacement, in compiled code, of a value that a function refers to."""
    if value is jit.call_rule:
        return _call_compiled
    if value is jit.peer:
        return _peer
    if value is jit.lowest_bit:
        return _lowest_bit
    if isinstance(value, jit.Accessor):
        return _record_at(value.dtype)
    if isinstance(value, jit.Caller):
        return _call_entry(value.returns, value.takes)
    return _compiled_helper(value, helpers) if isinstance(value, pytypes.FunctionType) else value


def _compiled_helper(function: Callable, helpers: Helpers) -> Any:
    if getattr(function, "of_engine", False):
        return _of_engine(function)
    key = function, code_digest(function)
    if key not in helpers:
        helpers[key] = None
        helpers[key] = njit(**{**_PART, **_RULE})(_with_compiled_helpers(function, helpers))
    return helpers[key]


def _stored(function: Callable, folder: str, options: dict[str, Any], helpers: Helpers) -> Any:
    """A dispatcher of `function` with a cache folder, its attribute `folder`. The functions that it
    calls are prepared only for a compilation, since loaded machine code contains them."""
    namespace: dict[str, Any] = {}

    def prepare() -> None:
        with _preparing:
            namespace.update(_with_compiled_globals(function, helpers))

    dispatcher = njit(**options)(_copy(function, namespace))
    dispatcher.folder = folder
    return keep_in(folder, dispatcher, prepare)


def compile_entry(function: Callable) -> Any:
    """See :func:`tcpcc.engine.jit.entry`."""
    folder = f"engine-{module_digest(function.__module__)[:16]}/{code_digest(function)[:16]}"
    return _stored(function, folder, _ENGINE, {})


@cache
def _record_at(dtype: np.dtype) -> Any:
    """The machine code of an accessor of this dtype."""
    numba_type = numba.from_dtype(dtype)

    @intrinsic
    def at(typingctx: Any, base: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, i = args
            offset = builder.mul(i, ir.Constant(ir.IntType(64), dtype.itemsize))
            pointer = context.get_value_type(numba_type)
            return builder.inttoptr(builder.add(address, offset), pointer)

        return numba_type(types.int64, types.int64), codegen

    return at


@intrinsic
def _peer(typingctx: Any, s: Any, i: Any) -> Any:  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)

        def load(base: Any, offset: Any) -> Any:
            place = builder.inttoptr(builder.add(base, offset), word.as_pointer())
            return builder.load(place)

        record = builder.ptrtoint(args[0], word)
        table = load(record, ir.Constant(word, s.offset("group")))
        there = load(table, builder.mul(args[1], ir.Constant(word, 8)))
        return builder.inttoptr(there, context.get_value_type(s))

    return s(s, types.int64), codegen


@intrinsic
def _lowest_bit(typingctx: Any, word: Any) -> Any:  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


# --------------------------------------------------------------------------------- entries

_KINDS: dict[Any, Any] = {
    None: types.none,
    bool: types.boolean,
    int: types.int64,
    float: types.float64,
}


def entry_address(entry: Any, returns: type | None, takes: tuple[type, ...]) -> int:
    """See :meth:`tcpcc.engine.jit.Caller.address`. Entries live as long as their modules."""
    signature = tuple(_KINDS[kind] for kind in takes)
    if signature not in entry.overloads:
        entry.compile(signature)
    overload = entry.overloads[signature]
    if overload.signature.return_type != _KINDS[returns]:
        raise TypeError(f"{entry.__name__} returns {overload.signature.return_type}, not {returns}")
    return function_address(overload)


@cache
def _call_entry(returns: type | None, takes: tuple[type, ...]) -> Any:
    """The machine code of a caller of entries with these types."""
    result, arguments = _KINDS[returns], tuple(_KINDS[kind] for kind in takes)

    @intrinsic
    def call(typingctx: Any, address: Any, *operands: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = [builder.extract_value(args[1], i) for i in range(len(arguments))]
            value = call_address(context, builder, args[0], result, arguments, values)
            return value if returns else context.get_dummy_value()

        return result(types.int64, types.StarArgTuple(arguments)), codegen

    return call


# ----------------------------------------------------------------------------------- rules

_alive: dict[int, Any] = {}  # compiled rules must outlive the engines that hold their addresses


def compile_rule(rule: Callable, state: np.dtype, params: np.dtype, sample: np.dtype) -> int:
    """See :func:`tcpcc.engine.jit.rule_address`."""
    kinds = _kinds(state, params, sample)
    return _compiled_rule(_Rule(rule, code_digest(rule), kinds), state, params, sample)


@cache
def _kinds(*dtypes: np.dtype) -> str:
    return digest(*map(dtype_bytes, dtypes))


class _Rule(NamedTuple):
    """A rule; two rules are equal if their code and their records' dtypes are equal."""

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
    folder = f"rules-{module_digest(__name__)[:16]}/{digest(rule.digest, rule.kinds)[:16]}"
    dispatcher = _stored(function, folder, _RULE, _helpers.setdefault(rule.kinds, {}))
    try:
        dispatcher.compile(signature)
    except numba.NumbaError as error:
        text = re.sub(r"Failed in nopython mode pipeline \(step: [^)]*\)", "", str(error))
        reason = " ".join(text.split())
        raise TypeError(f"rule {function.__qualname__} does not compile: {reason[:300]}") from error
    address = function_address(dispatcher.overloads[dispatcher.signatures[0]])
    _alive[address] = dispatcher
    return address


def rule_at(address: int) -> Any:
    """The dispatcher of the rule at an address that `compile_rule` has returned."""
    return _alive[address]


def rule_addresses() -> np.ndarray:
    """The addresses that `compile_rule` has returned."""
    return np.array([*_alive], np.int64)


@intrinsic
def _call_compiled(
    typingctx: Any, address: Any, state: Any, params: Any, sample: Any
) -> Any:  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = context.get_value_type(types.voidptr)
        pointers = [builder.inttoptr(a, pointer) for a in args[1:]]
        call_address(context, builder, args[0], types.none, (types.voidptr,) * 3, pointers)
        return context.get_dummy_value()

    return types.none(*(types.int64,) * 4), codegen
