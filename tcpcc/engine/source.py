"""Hashes of code with all its dependencies: they change whenever the code's result may change."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import itertools
import re
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tcpcc.engine.framing import digest, frame, group

PACKAGE = Path(__file__).parents[1]

_PARSING = threading.Lock()


def parse(text: str | bytes) -> ast.Module:
    """`ast.parse`, one thread at a time: up to Python 3.11.7 parallel calls may raise SystemError
    (CPython issue 106905)."""
    with _PARSING:
        return ast.parse(text)


def _file(name: str) -> Path | None:
    """The file of a module with this dotted name; None if there is no such file."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?:[ \t][^\n]*)?\n)+", re.MULTILINE)
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+([\w.]+)|from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+))",
    re.MULTILINE,
)


def _imports(file: Path) -> Iterator[str]:
    """Dotted names of this package's modules that a file imports at run time, anywhere in it.

    The text is searched, not parsed, which would take a tenth of a second in each process.
    """
    text = _FOR_TYPES.sub("", file.read_text(encoding="utf-8"))
    for plain, module, names in _IMPORT.findall(text):
        if (plain or module).split(".")[0] != PACKAGE.name:
            continue
        for name in re.findall(r"\w+", re.sub(r"\bas\s+\w+|#[^\n]*", "", names)):
            inside = f"{module}.{name}"
            yield inside if _file(inside) else module
        if plain:
            yield plain


def code_of(file: Path) -> str:
    """A file's code as text: without comments and docstrings, which change no result."""
    tree = parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [statement for statement in body if not _is_text(statement)]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


@cache
def modules_behind(name: str) -> tuple[str, ...]:
    """Module `name` and all modules of this package that it imports, directly or indirectly.

    A function can only refer to its own module's globals, so no other module's code can be compiled
    into one of its functions.
    """
    modules: dict[str, None] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        file = _file(module)
        if module not in modules and module.split(".")[0] == PACKAGE.name and file is not None:
            modules[module] = None
            waiting += _imports(file)
    return tuple(sorted(modules))


@cache
def module_digest(name: str) -> str:
    """Hash of the source of a module of this package and of all modules behind it."""
    parts: list[bytes | str] = []
    for module in modules_behind(name):
        file = _file(module)
        assert file is not None
        parts += [module, file.read_bytes()]
    return digest(*parts)


def code_digest(function: Any) -> str:
    """Hash of a function's code, the functions that it calls, and the values that it refers to.

    The function's name, its comments and its place in the file do not count. Two functions have the
    same digest only if they compile to the same machine code. Other values have a digest too.
    """
    return digest(encoded(function))


def encoded(value: Any) -> bytes:
    """A value as bytes, the same in every process; a function with all that it depends on."""
    return _Encoder().value(value)


@cache
def global_names(code: CodeType) -> tuple[tuple[str, str], ...]:
    """The globals that a piece of code refers to, each with the attribute that is read, or ""."""
    names: dict[tuple[str, str], None] = {}
    steps = list(dis.get_instructions(code))
    for step, following in itertools.pairwise(steps):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            attribute = following.argval if following.opname in _ATTRIBUTE else ""
            names[step.argval, attribute] = None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= dict.fromkeys(global_names(constant))
    return tuple(sorted(names))


_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


def is_ours(value: Any) -> bool:
    """Whether `value` is a module of this package."""
    return isinstance(value, ModuleType) and value.__name__.split(".")[0] == PACKAGE.name


@cache
def _engine_function(function: FunctionType) -> bytes:
    """An engine function as bytes, cached because it never changes at run time."""
    return frame("engine", digest(_Encoder().function(function)))


class _Encoder:
    """Writes values as bytes. A function that appears again is written as a number, so that
    functions may call each other."""

    def __init__(self) -> None:
        self._functions: dict[FunctionType, int] = {}
        self._within: set[int] = set()  # objects being written, which may contain themselves

    def value(self, value: Any) -> bytes:
        write = _PLAIN.get(type(value))
        if write is not None:
            return write(value)
        if type(value) is FunctionType:
            return self._function(value)
        if type(value) is tuple:
            return group("tuple", [self.value(element) for element in value])
        if isinstance(value, np.dtype):
            return dtype_bytes(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if isinstance(value, ModuleType):
            return frame("module", value.__name__)
        if isinstance(value, CodeType):
            return _code(value)
        compiled = getattr(value, "_dispatcher", value)  # of numba.vectorize
        if isinstance(getattr(compiled, "py_func", None), FunctionType):
            options = getattr(compiled, "targetoptions", {})
            return group("compiled", [self.value(compiled.py_func), self._mapping(options)])
        if isinstance(value, type):
            return _class(value)
        if _of_a_library(value):
            return frame("library", f"{value.__module__}.{value.__name__}")
        if id(value) in self._within:
            return frame("within", "")
        self._within.add(id(value))
        try:
            return self._object(value)
        finally:
            self._within.discard(id(value))

    def _function(self, function: FunctionType) -> bytes:
        if function.__dict__.get("of_engine"):
            return _engine_function(function)
        if function in self._functions:
            return frame("again", str(self._functions[function]))
        if _of_a_library(function):
            return frame("library", f"{function.__module__}.{function.__name__}")
        return self.function(function)

    def function(self, function: FunctionType) -> bytes:
        self._functions[function] = len(self._functions)
        code = function.__code__
        names = []
        for name, attribute, framed_name in _framed_names(code):
            names += [framed_name, self._global(function, name, attribute)]
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        defaults = [self.value(value) for value in function.__defaults__ or ()]
        by_name = self._mapping(dict(sorted((function.__kwdefaults__ or {}).items())))
        parts = [group("globals", names), group("closure", cells), group("defaults", defaults)]
        return group("function", [_code(code), *parts, by_name])

    def _global(self, function: FunctionType, name: str, attribute: str) -> bytes:
        names = function.__globals__
        value = names[name] if name in names else getattr(builtins, name, _MISSING)
        if attribute and isinstance(value, ModuleType | type):
            inner = self.value(getattr(value, attribute, _MISSING))
            return group("attribute", [self.value(value), inner])
        return self.value(value)

    def _cell(self, cell: Any) -> bytes:
        try:
            return self.value(cell.cell_contents)
        except ValueError:  # the cell is empty
            return frame("empty", "")

    def _array(self, value: Any) -> bytes:
        shape = frame("shape", repr(value.shape))
        if value.dtype.hasobject:
            content = group("objects", [self.value(element) for element in value.ravel().tolist()])
        else:
            content = frame("bytes", value.tobytes())
        return group(type(value).__name__, [dtype_bytes(value.dtype), shape, content])

    def _mapping(self, value: Mapping[Any, Any]) -> bytes:
        return group("mapping", [self.value(part) for item in value.items() for part in item])

    def _object(self, value: Any) -> bytes:
        of: Any = type(value)
        kind = _class(of)
        if isinstance(value, Enum):
            return group("member", [kind, self.value(value.value)])
        for base in _PLAIN:  # of a subclass
            if isinstance(value, base):
                return group("like", [kind, _PLAIN[base](base(value))])
        if isinstance(value, tuple | list):
            return group("sequence", [kind, *map(self.value, value)])
        if isinstance(value, set | frozenset):
            return group("set", [kind, *sorted(map(self.value, value))])
        if isinstance(value, Mapping):
            return group("map", [kind, self._mapping(value)])
        if isinstance(value, MethodType):
            return group("method", [self.value(value.__func__), self.value(value.__self__)])
        if isinstance(value, partial):
            inner = (value.func, value.args, value.keywords)
            return group("partial", [self.value(part) for part in inner])
        if isinstance(value, BuiltinFunctionType):
            name = frame("builtin", f"{value.__module__}.{value.__qualname__}")
            return group("method", [name, self.value(value.__self__)])
        if isinstance(value, np.ufunc):
            return frame("ufunc", value.__name__)
        called = getattr(of, "__call__", None)  # noqa: B004 - its code, if it has any
        parts = [kind, self.value(called)] if isinstance(called, FunctionType) else [kind]
        if is_dataclass(value):
            values = [self.value(getattr(value, name)) for name in _field_names(of)]
            return group("record", [*parts, *values])
        if hasattr(value, "__dict__"):
            return group("object", [*parts, self._mapping(dict(sorted(vars(value).items())))])
        return group("object", [*parts, frame("repr", repr(value))])


_MISSING = type("_Missing", (), {})


def _of_a_library(value: Any) -> bool:
    """Whether NumPy or Numba has this callable under its name, which then says all of it."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return False
    library = module.partition(".")[0] in ("numpy", "numba")
    return library and getattr(sys.modules.get(module), name, None) is value


@cache
def _framed_names(code: CodeType) -> tuple[tuple[str, str, bytes], ...]:
    """:func:`global_names`, each with its bytes."""
    return tuple((n, a, frame("name", f"{n}.{a}")) for n, a in global_names(code))


@cache
def _class(kind: type) -> bytes:
    """A class as bytes: its name, and the members of an enumeration."""
    name = frame("class", f"{kind.__module__}.{kind.__qualname__}")
    if not issubclass(kind, Enum):
        return name
    members = [encoded(part) for member in kind for part in (member.name, member.value)]
    return group("enum", [name, *members])


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _float(value: float) -> bytes:
    return frame("float", struct.pack(">d", value))


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: frame("None", ""),
    type(...): lambda _: frame("...", ""),
    bool: lambda value: frame("bool", "1" if value else "0"),
    int: lambda value: frame("int", f"{value:x}"),
    float: _float,
    complex: lambda value: group("complex", [_float(value.real), _float(value.imag)]),
    str: lambda value: frame("str", value),
    bytes: lambda value: frame("bytes", value),
}


@cache
def _code(code: CodeType) -> bytes:
    """A code object as bytes, without its name and its place in the file."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, flags)
    encoder = _Encoder()
    parts = [*names, counts, code.co_code, code.co_exceptiontable, code.co_consts]
    return group("code", [encoder.value(part) for part in parts])


@cache
def dtype_bytes(dtype: np.dtype) -> bytes:
    """A dtype as bytes; equal dtypes give the same."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return group("subarray", [dtype_bytes(base), frame("shape", repr(shape))])
    if dtype.names is None:
        return frame("dtype", dtype.str)
    columns: Any = dtype.fields
    parts = [frame("size", str(dtype.itemsize))]
    for name in dtype.names:
        kind, offset = columns[name][:2]
        parts += [frame("name", name), frame("offset", str(offset)), dtype_bytes(kind)]
    return group("record", parts)
