"""Hashes of code with all its dependencies: they change whenever the code's result may change."""

from __future__ import annotations

import ast
import dis
import hashlib
import itertools
import re
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

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


@cache
def modules_behind(name: str) -> tuple[str, ...]:
    """Module `name` and all modules of this package that it imports, directly or indirectly.

    A function can only refer to its own module's globals, so no other module's code can be compiled
    into one of its functions.
    """
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        file = _file(module)
        if module not in found and module.split(".")[0] == PACKAGE.name and file is not None:
            found[module] = None
            waiting += _imports(file)
    return tuple(sorted(found))


@cache
def module_digest(name: str) -> str:
    """Hash of the source of a module of this package and of all modules behind it."""
    digest = hashlib.sha256()
    for module in modules_behind(name):
        file = _file(module)
        assert file is not None
        digest.update(module.encode() + file.read_bytes())
    return digest.hexdigest()


def code_digest(function: Any) -> str:
    """Hash of a function's code, the functions that it calls, and the numbers and strings that it
    refers to. The function's name, its comments and its place in the file do not count."""
    digest = hashlib.sha256()
    _add_function(function, digest, set())
    return digest.hexdigest()


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
def _engine_digest(function: Any) -> bytes:
    """:func:`code_digest` of an engine function, cached because it never changes at run time."""
    digest = hashlib.sha256()
    _add_body(function, digest, set())
    return digest.digest()


def _add_function(function: Any, digest: Any, seen: set[Any]) -> None:
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType):
        digest.update(_plain(function))
    elif getattr(function, "of_engine", False):
        digest.update(_engine_digest(function))
    elif function not in seen:
        seen.add(function)
        _add_body(function, digest, seen)


def _add_body(function: FunctionType, digest: Any, seen: set[Any]) -> None:
    _add_code(function.__code__, digest)
    values = []
    for name, attribute in global_names(function.__code__):
        value = function.__globals__.get(name)
        values.append(getattr(value, attribute, None) if is_ours(value) else value)
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    values += function.__defaults__ or ()
    for value in values:
        if isinstance(getattr(value, "py_func", value), FunctionType):
            _add_function(value, digest, seen)
        else:
            digest.update(_plain(value))


def _add_code(code: CodeType, digest: Any) -> None:
    """Add byte code and constants to the digest."""
    digest.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(constant, digest)
        else:
            digest.update(repr(constant).encode())


def _plain(value: Any) -> bytes:
    """A value as bytes, the same in every process."""
    if isinstance(value, ModuleType):
        return value.__name__.encode()
    if hasattr(value, "tobytes"):
        kind = f"({_dtype_text(value.dtype)}, {value.shape!r})"
        return kind.encode() + bytes(value.tobytes())
    if hasattr(value, "dtype"):
        return _dtype_text(value.dtype).encode()
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}".encode()
    return repr(value).encode()


@cache
def _dtype_text(dtype: Any) -> str:
    return repr(dtype)
