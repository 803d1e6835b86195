"""From the syntax tree of a controller's rules to the intermediate form.

One visitor serves all targets. It reads a rule and every helper that the rule calls, for the types
of their arguments, as the engine's compiler does: statements.py, over expressions.py and calls.py,
with the names in scope.py and the order of evaluation in effects.py.

What differs from Python: where Python raises an exception (a division by zero, a logarithm of a
negative number, a float without an integer) the translation goes on with the value that IEEE 754
gives.
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from tcpcc.apps.export import ir
from tcpcc.apps.export.ir import FLOAT, INT, NONE, RECORDS
from tcpcc.apps.export.scope import Scope, Target
from tcpcc.apps.export.statements import SampleWrittenError, Statements, WiderTypeError
from tcpcc.controllers.controller import WINDOW, Controller
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.engine.subset import definition, place
from tcpcc.errors import ScenarioError


def translate(controller: Controller, target: Target) -> ir.Program:
    """All rules of a controller in the intermediate form.

    Raises:
        ScenarioError: something that the target cannot have; one line with the rule, the file and
            the line.
    """
    if controller.coupled:
        raise ScenarioError(
            f"controller {controller.name!r}: coupled = True: exported code sees only one flow:"
            f" cannot be exported to {target.name}"
        )
    try:
        return Translator(controller, target, sample_written=False).program()
    except SampleWrittenError:
        return Translator(controller, target, sample_written=True).program()


class Translator:
    """The rules of a controller that are being translated.

    Attributes:
        state: type of each variable of the state.
        sample_written: a rule assigns to the sample.
    """

    def __init__(self, controller: Controller, target: Target, *, sample_written: bool) -> None:
        self.controller, self.target = controller, target
        self.sample_written = sample_written
        self.owner = ""
        self.translated: dict[tuple[FunctionType, tuple[ir.Kind, ...]], ir.Function] = {}
        self.active: list[FunctionType] = []
        self.state: dict[str, str | ir.Array] = dict.fromkeys(WINDOW, FLOAT)
        for name, variable in controller.state.items():
            type_ = INT if variable.kind is int else FLOAT
            self.state[name] = type_ if variable.size == 1 else ir.Array(type_, variable.size)
        if controller.chance:
            self.state |= dict.fromkeys((name for name, _ in STREAM_FIELDS), INT)

    def program(self) -> ir.Program:
        rules: dict[str, ir.Function] = {}
        for name, rule in self.controller.rules.items():
            if rule is None:
                continue
            self.owner = f"controller {self.controller.name!r}, {name}"
            python: Any = getattr(rule, "py_func", rule)
            function = self.function(python, RECORDS)
            if function.rule or function.returns != NONE:
                function = _wrapper(function)
            function.rule = name
            rules[name] = function
        used: dict[ir.Function, None] = {}
        for function in rules.values():
            _collect(function, used)
        return ir.Program(list(used), rules)

    def function(self, function: FunctionType, kinds: tuple[ir.Kind, ...]) -> ir.Function:
        key = (function, kinds)
        if key not in self.translated:
            node = definition(function)
            if node is None:
                text = f"{self.owner}: {function.__name__}: its source cannot be read"
                raise ScenarioError(text)
            if function in self.active:
                raise self.error(function, node, f"{function.__name__} calls itself")
            self.active.append(function)
            self.translated[key] = self._read(function, node, kinds)
            self.active.pop()
        return self.translated[key]

    def _read(
        self, function: FunctionType, node: ast.FunctionDef, kinds: tuple[ir.Kind, ...]
    ) -> ir.Function:
        """The function, read until no type changes."""
        types: dict[str, str] = {}
        result = NONE
        while True:
            body = Statements(Scope(self, function, node, kinds, types), result)
            try:
                return body.read()
            except WiderTypeError:
                types, result = body.types, body.result

    def error(self, function: FunctionType, node: ast.AST, text: str) -> ScenarioError:
        at = place(function, getattr(node, "lineno", 0))
        return ScenarioError(
            f"{self.owner}, {at}: {text}: cannot be exported to {self.target.name}"
        )


def _wrapper(function: ir.Function) -> ir.Function:
    """A rule that calls a function which is another rule too, or which returns a value."""
    records = tuple(ir.Record(record) for record in RECORDS)
    call = ir.Call(function, records, function.returns)
    return ir.Function(
        function.name, function.doc, function.module, list(function.arguments), body=[ir.Do(call)],
        pure=function.pure,
    )  # fmt: skip


def _collect(function: ir.Function, used: dict[ir.Function, None]) -> None:
    """Add a function to `used`, after those that it calls."""
    for node in ir.walk(function.body):
        if isinstance(node, ir.Call) and node.function not in used:
            _collect(node.function, used)
    used.setdefault(function)
