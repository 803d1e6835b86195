"""What the names in a function refer to: records, arrays, variables, constants, other functions."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tcpcc.apps.export import ir
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE, PARAMS, RECORDS, SAMPLE, STATE
from tcpcc.apps.export.operators import unified
from tcpcc.controllers.controller import SAMPLE as SAMPLE_FIELDS
from tcpcc.errors import ScenarioError

if TYPE_CHECKING:
    from tcpcc.apps.export.translate import Translator


class Target(Protocol):
    """What the translator and the writer must know of a target.

    Attributes:
        name: for messages ("C").
        functions: functions of :data:`~tcpcc.apps.export.calls.MATH_H` that it has.
        by_name: an array argument is a variable of the state, known by name, not a pointer.
        constants: values of the parameters that are constants in the text; None: they are a record.
        missing: fields of the sample that it cannot fill -> why.
        types: C's name of each type.
        soft: floats are integers with the bits of a double; every operation is a call.
        verified: the text passes the verifier of Linux. A loop has at most LOOP_LIMIT turns,
            counted in an opaque variable; the text defines LOOP_LIMIT and LOOP_OPAQUE. A function
            returns at once if a record is a null pointer. Functions are global and return a number;
            those with more than five arguments are inlined.
    """

    name: str
    functions: frozenset[str]
    by_name: bool
    constants: Mapping[str, float] | None
    missing: Mapping[str, str]
    types: Mapping[str, str]
    soft: bool
    verified: bool

    def record(self, kind: str, written: bool) -> str:
        """C's type of a pointer to a record, with a space or a star at the end."""

    def rule(self, name: str) -> str:
        """Name of the function of a rule."""

    def helper(self, name: str) -> str:
        """Name of the function of a helper."""

    def small(self, name: str) -> str:
        """Name of one of the small functions that a text may need."""


class Scope:
    """The names in one function, for these types of its arguments.

    Attributes:
        arguments: its arguments, in order.
        records: names of records -> which.
        arrays: names of arrays -> which.
        types: types of the other arguments and of the variables that have been assigned so far.
        changed: a variable has a wider type than assumed when it was read.
        local: all names of the function's own.
    """

    def __init__(
        self,
        rules: Translator,
        function: FunctionType,
        node: ast.FunctionDef,
        kinds: Sequence[ir.Kind],
        types: Mapping[str, str],
    ) -> None:
        self.rules, self.function, self.node, self.kinds = rules, function, node, kinds
        self.types = dict(types)
        self.records: dict[str, str] = {}
        self.arrays: dict[str, ir.AnyArray] = {}
        self.changed = False
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise self.error(node, f"{node.name} has *, ** or keyword-only arguments")
        self.arguments = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        for name, kind in zip(self.arguments, kinds, strict=True):
            match kind:
                case ir.Array():
                    self.arrays[name] = ir.ArrayVar(name, kind)
                case ir.ArrayField():
                    self.arrays[name] = kind
                case _ if kind in RECORDS:
                    self.records[name] = kind
                case _:
                    self.types[name] = unified(self.types.get(name, NONE), kind)
        self.local = {*self.arguments} | {n.id for n in self.stored()}
        self._closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}

    def error(self, node: ast.AST, text: str) -> ScenarioError:
        return self.rules.error(self.function, node, text)

    def stored(self, name: str | None = None, within: ast.AST | None = None) -> list[ast.Name]:
        """Where names, or this name, get a value."""
        return [
            n
            for n in ast.walk(within or self.node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and name in (None, n.id)
        ]

    # Names

    def global_value(self, node: ast.Name) -> object:
        """The object that a name that is not local refers to."""
        for names in (self._closure, self.function.__globals__, vars(builtins)):
            if node.id in names:
                return names[node.id]
        raise self.error(node, f"{node.id}, which is not defined")

    def global_or_none(self, node: ast.expr) -> object:
        """The object that an expression refers to if it is a name that is not local."""
        if isinstance(node, ast.Name) and node.id not in self.local:
            return self.global_value(node)
        return None

    def read(self, node: ast.Name) -> ir.Var | ir.Const:
        """The number that a name has."""
        if node.id in self.records or node.id in self.arrays:
            raise self.error(node, f"{node.id} where a number is needed")
        if node.id in self.local:
            if node.id not in self.types:
                raise self.error(node, f"{node.id}, which is read before it has a value")
            return ir.Var(node.id, self.types[node.id])
        return self.constant(node, self.global_value(node), node.id)

    def assigned(self, name: str, type_: str) -> ir.Var:
        """The variable of this name, which gets a value of this type."""
        if name in self.records or name in self.arrays:
            raise self.error(self.node, f"another value for {name}")
        if type_ == NONE:
            raise self.error(self.node, f"no value for {name}")
        earlier = self.types.get(name, NONE)
        wider = unified(earlier, type_)
        self.changed |= wider != earlier != NONE
        self.types[name] = wider
        return ir.Var(name, wider)

    def only_counts(self, name: str) -> bool:
        """Whether a name is only the variable of loops, read in their bodies and nowhere else."""
        inside: set[int] = set()
        for loop in ast.walk(self.node):
            match loop:
                case ast.For(target=ast.Name(id=counter)) if counter == name:
                    if any(self.stored(name, part) for part in loop.body):
                        return False
                    body = (id(n) for part in loop.body for n in ast.walk(part))
                    inside |= {*body, id(loop.target)}
        everywhere = (n for n in ast.walk(self.node) if isinstance(n, ast.Name) and n.id == name)
        return name not in self.arguments and all(id(n) in inside for n in everywhere)

    # Numbers

    def constant(self, node: ast.AST, value: object, name: str = "") -> ir.Const:
        if isinstance(value, np.generic):
            value = value.item()
        match value:
            case bool():
                return ir.Const(value, BOOL, name)
            case int():
                if not -(2**63) <= value < 2**63:
                    raise self.error(node, f"{value}, more than 64 bits")
                return ir.Const(value, INT, name)
            case float():
                return ir.Const(value, FLOAT, name)
        raise self.error(node, f"{name} = {value!r:.40}, no number".removeprefix(" = "))

    def attribute(self, node: ast.Attribute) -> ir.Expression:
        """A number in a record or in a module."""
        module = self.global_or_none(node.value)
        if isinstance(module, ModuleType):
            return self.constant(node, getattr(module, node.attr, None))
        field = self.field(node)
        constants = self.rules.target.constants
        if field.record == PARAMS and constants is not None:
            return ir.Const(constants[field.name], FLOAT, field.name)
        return field

    def field(self, node: ast.Attribute) -> ir.Field:
        """A number in a record."""
        record = self.records.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if record is None:
            raise self.error(node, f"{ast.unparse(node)}, which is in no record")
        type_ = self.rules.state[node.attr] if record == STATE else FLOAT
        if isinstance(type_, ir.Array):
            raise self.error(node, f"{ast.unparse(node)} where a number is needed")
        if record == SAMPLE:
            why = self.rules.target.missing.get(node.attr)
            if why is None and node.attr not in SAMPLE_FIELDS:
                why = "a header field, which only routers of a simulation read"
            if why is not None:
                raise self.error(node, f"{ast.unparse(node)} ({why})")
        return ir.Field(record, node.attr, type_)

    def writable(self, place: ir.Place, value: ir.Expression, node: ast.AST) -> None:
        """Refuses an assignment of this value to a field or an element."""
        if isinstance(place, ir.Field) and place.record == PARAMS:
            raise self.error(node, "an assignment to a parameter")
        if isinstance(place, ir.Element) and isinstance(place.array, ir.Table):
            raise self.error(node, "an assignment to a constant")
        if place.type == INT and value.type == FLOAT:
            raise self.error(node, f"a float for {ast.unparse(node)}, an integer; write int(...)")

    # Arrays

    def array(self, node: ast.expr) -> ir.AnyArray | None:
        """The array that an expression is; None if it is not an array."""
        match node:
            case ast.Name(id=name) if name in self.arrays:
                return self.arrays[name]
            case ast.Name(id=name) if name not in self.local:
                return self._table(node, self.global_value(node))
            case ast.Attribute(value=ast.Name(id=owner)) if self.records.get(owner) == STATE:
                type_ = self.rules.state[node.attr]
                return ir.ArrayField(node.attr, type_) if isinstance(type_, ir.Array) else None
        return None

    def _table(self, node: ast.Name, value: object) -> ir.Table | None:
        """A constant tuple or array of numbers."""
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = tuple(value.tolist())
        if not isinstance(value, tuple) or not value:
            return None
        members = [self.constant(node, member) for member in value]
        type_ = FLOAT if any(member.type == FLOAT for member in members) else INT
        kind = float if type_ == FLOAT else int
        numbers = tuple(kind(member.value) for member in members)
        return ir.Table(node.id, numbers, ir.Array(type_, len(numbers)))

    def named_array(self, name: str, array: ir.AnyArray, node: ast.Assign) -> None:
        if len(self.stored(name)) > 1 or name in self.arguments or len(node.targets) > 1:
            raise self.error(node, f"more than one value for {name}, an array")
        self.arrays[name] = array
