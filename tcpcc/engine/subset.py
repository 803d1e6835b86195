"""Checks a rule's source when the rule is defined: only a subset of Python compiles.

A rule is a plain function of records. It may use arithmetic, branches, loops, the fields of its
records, constants of its module, ``math``, NumPy's functions of numbers, a few built-in functions
and helper functions of the same kind. The check covers every branch and every helper, so a misspelt
field is reported when a rule is defined, not by the compiler.

A function without source (typed into a bare interpreter) is left to the compiler, and so are the
engine's own functions: a rule may call any of them, with the right number of arguments.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tcpcc.engine.jit import Accessor, member
from tcpcc.engine.source import parse
from tcpcc.errors import ScenarioError, suggestion

#: Built-in names that a rule may use.
BUILTINS = frozenset(
    {
        *("abs", "bool", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow"),
        *("print", "range", "round", "sum", "zip"),
        *("ArithmeticError", "AssertionError", "FloatingPointError", "NotImplementedError"),
        *("ValueError", "ZeroDivisionError"),
    }
)

_REFUSED: dict[type[ast.AST], str] = {
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.With: "with",
    ast.Try: "try",
    ast.ClassDef: "a class",
    ast.FunctionDef: "a function inside a function",
    ast.AsyncFunctionDef: "async",
    ast.Lambda: "lambda",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.Delete: "del",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.JoinedStr: "an f-string",
}

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


@dataclass(frozen=True)
class Fields:
    """The fields of a record that a rule receives.

    Attributes:
        what: name of the record, for messages ("state").
        names: its fields.
        written: the fields that a rule may assign to.
    """

    what: str
    names: frozenset[str]
    written: frozenset[str]


_trusted = ContextVar("trusted", default=False)


@contextmanager
def trusted() -> Iterator[None]:
    """Do not check the rules of definitions that are made in this context.

    For this package's own definitions: a test checks them, and checking all of them takes longer
    than importing all else.
    """
    before = _trusted.set(True)
    try:
        yield
    finally:
        _trusted.reset(before)


def check_rule(owner: str, rule: Any, records: tuple[Fields | None, ...]) -> None:
    """Check a rule and the helpers that it calls.

    Args:
        owner: the rule's owner and name, for messages ("controller 'mine', on_ack").
        rule: the function.
        records: the record that each argument is; None for a number.

    Raises:
        ScenarioError: a field that the record does not have or that a rule must not assign to; a
            field that is assigned a value that is not a number; an unknown name; a name or a
            statement that does not compile. The message is one line with
            the owner and the line in the file.
    """
    if not _trusted.get():
        _Reader(owner).read(rule, records)


def fields_read(rules: Iterable[Any], records: tuple[Fields | None, ...]) -> frozenset[str]:
    """The fields of the sample, the last of `records`, that rules and their helpers name.

    All fields, if a rule passes the sample on in a way that cannot be followed.
    """
    reader = _Reader("")
    for rule in rules:
        if rule is not None:
            reader.read(rule, records)
    return frozenset(reader.named)


@lru_cache(maxsize=64)
def _functions(file: str, text: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by their first line."""
    functions = {}
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            functions[first] = node
    return functions


def definition(function: FunctionType) -> ast.FunctionDef | None:
    """The syntax tree of a function; None if there is no source, or the file has changed since."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        node = _functions(code.co_filename, "".join(lines)).get(code.co_firstlineno)
    except SyntaxError:
        return None
    if node is None or node.name != code.co_name:
        return None
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    return node if names == list(code.co_varnames[: code.co_argcount]) else None


def place(function: FunctionType, line: int) -> str:
    """A line of a function's file, for messages."""
    return f"line {line} of {Path(function.__code__.co_filename).name}"


def _names_in(function: Any, visited: set[Any]) -> frozenset[str]:
    """The names in the code of a function and of the functions that it calls."""
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType) or function in visited:
        return frozenset()
    visited.add(function)
    names = frozenset(function.__code__.co_names)
    called = (function.__globals__.get(name) for name in names)
    return names.union(*(_names_in(helper, visited) for helper in called))


class _Reader:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.visited: set[tuple[Any, ...]] = set()
        self.named: set[str] = set()  # fields of the sample

    def read(self, function: Any, records: tuple[Fields | None, ...]) -> None:
        function = getattr(function, "py_func", function)
        key = (function, records)
        if key in self.visited or not isinstance(function, FunctionType):
            return
        self.visited.add(key)
        if getattr(function, "of_engine", False):
            return
        node = definition(function)
        if node is None:
            self.name_all(records, among=_names_in(function, set()))
            return
        if not _fits(function, len(records)):
            raise self.error(function, node, _misfit(function, records))
        _Function(self, function, node, records).check()

    def name_all(
        self, records: Iterable[Fields | None], among: frozenset[str] | None = None
    ) -> None:
        """Count all fields of these records as named; without source text, those `among` the names
        in the function's code."""
        for record in records:
            if record and record.what == "sample":
                self.named |= record.names if among is None else record.names & among

    def error(self, function: FunctionType, node: ast.AST, text: str) -> ScenarioError:
        return ScenarioError(f"{self.owner}, {place(function, getattr(node, 'lineno', 0))}: {text}")


def _fits(function: FunctionType, count: int) -> bool:
    """Whether a function accepts `count` arguments."""
    most = function.__code__.co_argcount
    return most - len(function.__defaults__ or ()) <= count <= most


def _misfit(function: FunctionType, records: tuple[Fields | None, ...]) -> str:
    kinds = ", ".join("a number" if r is None else r.what for r in records)
    most = function.__code__.co_argcount
    return f"{function.__name__} takes {most} arguments, but is called with {kinds}"


class _Function:
    """One function, with the records that its arguments are."""

    def __init__(
        self,
        reader: _Reader,
        function: FunctionType,
        node: ast.FunctionDef,
        records: tuple[Fields | None, ...],
    ) -> None:
        self.reader, self.function, self.node = reader, function, node
        arguments = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        self.records = {
            name: record for name, record in zip(arguments, records, strict=False) if record
        }
        self.local = {*arguments, *_assigned(node)}
        self.closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        for name, value in _assigned_once(node):  # local names of records from an accessor
            record = self._viewed(value)
            if record is not None and name not in arguments:
                self.records[name] = record

    def error(self, node: ast.AST, text: str) -> ScenarioError:
        return self.reader.error(self.function, node, text)

    def check(self) -> None:
        followed: set[ast.AST] = set()  # owners of fields, and arguments of helpers
        for node in _inside(self.node):
            refused = _REFUSED.get(type(node))
            if refused:
                raise self.error(node, f"{refused} does not compile in a rule")
            for target, value in _assignments(node):
                if isinstance(target, ast.Subscript):
                    target = target.value
                if isinstance(target, ast.Attribute) and self._record(target.value):
                    self._number(ast.unparse(target), value)
            if isinstance(node, ast.Attribute):
                followed.add(node.value)
                self._attribute(node, isinstance(node.ctx, ast.Load))
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
                self._attribute(node.value, isinstance(node.ctx, ast.Load))
            elif isinstance(node, ast.Call):
                followed.update(self._call(node))
            elif isinstance(node, ast.Name):
                self._name(node)
                if node not in followed:
                    self.reader.name_all([self.records.get(node.id)])

    def _number(self, field: str, value: ast.AST) -> None:
        """Refuse a value that cannot be a number; what a call returns is left to the compiler."""
        if isinstance(value, ast.IfExp):
            self._number(field, value.body)
            self._number(field, value.orelse)
            return
        number = True
        if isinstance(value, ast.Constant):
            number = isinstance(value.value, _NUMBERS)
        elif isinstance(value, ast.Name) and value.id in self.local:
            number = value.id not in self.records
        elif isinstance(value, ast.Name):
            number = isinstance(self._value(value), _NUMBERS)
        elif isinstance(value, ast.Tuple | ast.List):
            number = False
        if not number:
            raise self.error(value, f"{field} = {ast.unparse(value)}: must be a number")

    def _record(self, owner: ast.AST) -> Fields | None:
        return self.records.get(owner.id) if isinstance(owner, ast.Name) else self._viewed(owner)

    def _attribute(self, node: ast.Attribute, reads: bool) -> None:
        owner = node.value
        record = self._record(owner)
        if record is None:
            if isinstance(owner, ast.Name) and owner.id not in self.local:
                self._of_module(owner, node)
            return
        text = ast.unparse(node)
        if node.attr not in record.names:
            raise self.error(
                node,
                f"{text}: not in the {record.what}"
                f"{suggestion(node.attr, record.names) or ';'}"
                f" it has {', '.join(sorted(record.names)) or 'nothing'}",
            )
        if record.what == "sample":
            self.reader.named.add(node.attr)
        if not reads and node.attr not in record.written:
            raise self.error(
                node,
                f"{text}: a rule may only read this field of the {record.what};"
                " it may assign to the state",
            )

    def _viewed(self, node: ast.AST) -> Fields | None:
        """The record that a call of an accessor or of `member` returns."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        name = node.func.id
        value = self.closure.get(name, self.function.__globals__.get(name))
        if name in self.local:
            return None
        if value is member and node.args and (state := self._record(node.args[0])):
            return Fields("state of a member", state.names, frozenset())
        if not isinstance(value, Accessor):
            return None
        fields = frozenset(value.dtype.names or ())
        return Fields(f"record of {name}", fields, fields)

    def _of_module(self, owner: ast.Name, node: ast.Attribute) -> None:
        value = self._value(owner)
        if not isinstance(value, ModuleType):
            return
        if value is not math and value is not np:
            raise self.error(node, f"{owner.id}.{node.attr}: {_unusable(value)}")
        if not hasattr(value, node.attr):
            raise self.error(
                node, f"{owner.id}.{node.attr}: no such name{suggestion(node.attr, dir(value))}"
            )
        if isinstance(getattr(value, node.attr), ModuleType):
            raise self.error(node, f"{owner.id}.{node.attr}: {_unusable(value)}")

    def _call(self, node: ast.Call) -> list[ast.expr]:
        """Read a called helper; returns the arguments, which its own check covers."""
        if not isinstance(node.func, ast.Name) or node.func.id in self.local:
            return []
        value = self._value(node.func)
        value = getattr(value, "py_func", value)
        if not isinstance(value, FunctionType):
            return []
        records = [self.records.get(a.id) if isinstance(a, ast.Name) else None for a in node.args]
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            return []
        if not _fits(value, len(records)):
            raise self.error(node, _misfit(value, tuple(records)))
        self.reader.read(value, tuple(records))
        return node.args

    def _name(self, node: ast.Name) -> None:
        if node.id in self.local:
            return
        value = self._value(node)
        if not isinstance(value, ModuleType) and not _usable(value):
            raise self.error(node, f"{node.id}: {_unusable(value)}")

    def _value(self, node: ast.Name) -> Any:
        """The value of a name that is not local."""
        if node.id in self.closure:
            return self.closure[node.id]
        names = self.function.__globals__
        if node.id in names:
            return names[node.id]
        if node.id in BUILTINS:
            return getattr(builtins, node.id)
        if hasattr(builtins, node.id):
            raise self.error(node, f"{node.id}: does not compile in a rule")
        defined = [*self.local, *names, *BUILTINS]
        raise self.error(node, f"{node.id}: not defined{suggestion(node.id, defined)}")


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """All nodes in the body of a function, in the order of the text."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) in _REFUSED:
            continue
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            inner.remove(node.annotation)
        waiting += reversed(inner)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The targets of an assignment, each with the expression that it receives."""
    if isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value:
        yield node.target, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            both = (target, node.value)
            if all(isinstance(side, ast.Tuple | ast.List) for side in both):
                yield from zip(target.elts, node.value.elts, strict=False)  # type: ignore[attr-defined]
            else:
                yield both


def _assigned(function: ast.FunctionDef) -> list[str]:
    """The names that statements assign to, once for each assignment."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]


def _assigned_once(function: ast.FunctionDef) -> Iterator[tuple[str, ast.AST]]:
    """Names that exactly one statement assigns to, with the assigned expression."""
    stored = _assigned(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            if isinstance(target, ast.Name) and stored.count(target.id) == 1:
                yield target.id, node.value


def _usable(value: Any) -> bool:
    """Whether a rule may refer to a value: numbers, arrays, functions that compile."""
    if value is None or isinstance(value, bool | int | float | complex | str | np.generic):
        return True
    if isinstance(value, tuple):
        return all(_usable(member) for member in value)
    if isinstance(value, FunctionType | np.ndarray | np.ufunc | Accessor) or hasattr(
        value, "py_func"
    ):
        return True
    if isinstance(value, type):
        return value.__name__ in BUILTINS or issubclass(value, np.generic)
    owner = str(getattr(value, "__module__", None) or "")
    if owner in ("math", "builtins"):
        return callable(value)
    return owner.split(".")[0] in ("numpy", "numba") and callable(value)


def _unusable(value: Any) -> str:
    """Why a rule cannot use a value."""
    module = value if isinstance(value, ModuleType) else None
    name = module.__name__ if module else str(getattr(value, "__module__", "") or "")
    drawn = isinstance(getattr(value, "__self__", None), _generators())
    if name.split(".")[-1] in ("random", "secrets") or drawn or module is np:
        return (
            "random numbers outside the scenario's seed are not reproducible; a rule with a random"
            " stream draws with uniform(s) of tcpcc.engine.streams"
        )
    if name in ("time", "datetime"):
        return "a rule has no access to the machine's clock; use the sample's `now`"
    if module:
        return "a rule may use only the modules math and numpy; import a helper function by name"
    return f"a {type(value).__name__} does not compile in a rule; use a number or a function"


def _generators() -> tuple[type, ...]:
    import random  # and numpy.random: not loaded until a rule is refused

    return (random.Random, np.random.RandomState, np.random.Generator)
