"""Calls in the intermediate form: of helpers, and of functions of Python, `math` and NumPy.

What a target writes for them is in `userspace_c.py` and `linux_bpf.py`.
"""

from __future__ import annotations

import ast
import math
from abc import ABC
from types import FunctionType

import numpy as np

from tcpcc.apps.export import ir
from tcpcc.apps.export.expressions import Expressions
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE, STATE
from tcpcc.apps.export.operators import cast, fold, number_type

#: Functions of `math` and NumPy with the same name and the same arguments in C's math.h.
MATH_H = {
    **dict.fromkeys(("sqrt", "cbrt", "exp", "log", "exp2", "expm1", "log1p", "log2", "log10"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("asinh", "acosh", "atanh", "erf", "erfc"), 1),
    **dict.fromkeys(("pow", "atan2", "copysign", "fmod"), 2),
}
_OTHERS = frozenset(
    ("isinf", "isnan", "isfinite", "floor", "ceil", "trunc", "rint", "fabs", "absolute")
)
_BUILTIN = (float, int, abs, round, np.float64)


class Calls(Expressions, ABC):
    """Reads the calls of one function."""

    def call(self, node: ast.Call) -> ir.Expression:
        function = self._function(node.func)
        function = getattr(function, "py_func", function)
        if isinstance(function, FunctionType):
            return self._helper(function, node)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.error(node, f"{ast.unparse(node)}, a call with keywords or *")
        if function is len and len(node.args) == 1:
            array = self.scope.array(node.args[0])
            if array is not None:
                return ir.Const(array.type.size, INT)
        result = self._builtin(function, node)
        if result is None:
            raise self.error(node, f"{ast.unparse(node)}, which has no counterpart there")
        return result

    def _function(self, node: ast.expr) -> object:
        if isinstance(node, ast.Name):
            if node.id in self.scope.local:
                raise self.error(node, f"a call of {node.id}, a variable")
            return self.scope.global_value(node)
        if isinstance(node, ast.Attribute):
            module = self.scope.global_or_none(node.value)
            if module is math or module is np:
                return getattr(module, node.attr, None)
        raise self.error(node, f"a call of {ast.unparse(node)}")

    # Functions of Python, math and NumPy

    def _builtin(self, function: object, node: ast.Call) -> ir.Expression | None:
        """The result of a function that C has too, else None."""
        name = getattr(function, "__name__", "")
        owner = str(getattr(function, "__module__", None) or type(function).__module__)
        if function is max or function is min:
            return self._extreme("larger" if function is max else "smaller", node)
        if function is pow and len(node.args) == 2:
            left, right = self.operands(node.args)
            return self.power(left, right, node)
        if function is bool and len(node.args) == 1:
            return self.condition(node.args[0])
        if owner not in ("math", "builtins", "numpy") or len(node.args) != MATH_H.get(name, 1):
            return None
        if name not in MATH_H and name not in _OTHERS and function not in _BUILTIN:
            return None
        values = self.operands(node.args)
        if any(value.type == NONE for value in values):
            return None
        if name in MATH_H:
            if name not in self.scope.rules.target.functions:
                return None
            return fold(ir.Math(name, tuple(cast(value, FLOAT) for value in values), FLOAT))
        return self._of_number(name, owner == "math", values[0])

    def _of_number(self, name: str, of_math: bool, value: ir.Expression) -> ir.Expression:
        """A function of one number that is not in math.h, or has another type there."""
        match name:
            case "float" | "float64":
                return cast(value, FLOAT)
            case "int" | "trunc":
                return self._whole("trunc", value)
            case "floor" | "ceil" if of_math:
                return self._whole(name, value)
            case "round":
                return self._whole("round", value)
            case "floor" | "ceil" | "rint" | "fabs":
                plain = {"rint": "round", "fabs": "abs"}.get(name, name)
                return fold(ir.Math(plain, (cast(value, FLOAT),), FLOAT))
            case "abs" | "absolute":
                type_ = number_type(value)
                return fold(ir.Math("abs", (cast(value, type_),), type_))
        return self._class(name, self.out.simple(cast(value, FLOAT)))

    def _whole(self, name: str, value: ir.Expression) -> ir.Expression:
        """A float as an integer, rounded in this way."""
        if value.type != FLOAT:
            return cast(value, INT)
        return fold(ir.Math(name, (value,), INT))

    def _class(self, name: str, value: ir.Expression) -> ir.Expression:
        size = fold(ir.Math("abs", (value,), FLOAT))
        infinite = ir.Const(math.inf, FLOAT)
        match name:
            case "isnan":
                return fold(ir.Compare("ne", value, value))
            case "isinf":
                return fold(ir.Compare("eq", size, infinite))
        return fold(ir.Compare("lt", size, infinite))

    def _extreme(self, word: str, node: ast.Call) -> ir.Expression:
        """min, max: the first argument that no later one is beyond, as in Python."""
        if len(node.args) < 2:
            raise self.error(node, f"{ast.unparse(node)} of one argument")
        result, *others = self.operands(node.args)
        for value in others:
            type_ = number_type(result, value)
            result = fold(ir.Math(word, (cast(result, type_), cast(value, type_)), type_))
        return result

    # Helpers

    def _helper(self, function: FunctionType, node: ast.Call) -> ir.Expression:
        """A call of another function of the user's or the package's."""
        arguments = self._arguments(function, node)
        written = [*node.args, *(keyword.value for keyword in node.keywords)]
        numbers = [argument for argument in written if self._is_number(argument)]
        values = dict(zip(map(id, numbers), self.operands(numbers), strict=True))
        passed: list[ir.Argument] = []
        kinds: list[ir.Kind] = []
        by_name = self.scope.rules.target.by_name
        for argument in arguments.values():
            value, kind = self._passed(argument, values, node)
            if by_name and isinstance(value, ir.Table):
                raise self.error(node, f"{ast.unparse(node)}, a call with a tuple")
            passed.append(value)
            kinds.append(value if by_name and isinstance(value, ir.ArrayField) else kind)
        translated = self.scope.rules.function(function, tuple(kinds))
        if by_name:
            passed = [value for value in passed if not isinstance(value, ir.ArrayField)]
            if len(passed) < len(translated.arguments):
                passed.insert(0, ir.Record(STATE))
        for k, (_, type_) in enumerate(translated.arguments):
            value = passed[k]
            if type_ in (FLOAT, INT, BOOL) and isinstance(value, ir.Expression):
                passed[k] = cast(value, str(type_))
        call = ir.Call(translated, tuple(passed), translated.returns)
        if translated.pure:
            return call
        self.pure = False
        if translated.returns == NONE:
            self.out.append(ir.Do(call))
            return ir.Const(0, NONE)
        return self.out.temporary(call)

    def _is_number(self, node: ast.expr) -> bool:
        record = isinstance(node, ast.Name) and node.id in self.scope.records
        return not record and self.scope.array(node) is None

    def _passed(
        self, argument: object, values: dict[int, ir.Expression], node: ast.Call
    ) -> tuple[ir.Argument, ir.Kind]:
        """What is passed for an argument, and what the helper takes it for."""
        if not isinstance(argument, ast.expr):
            value: ir.Expression = self.scope.constant(node, argument)
            return value, value.type
        if id(argument) in values:
            value = values[id(argument)]
            return value, value.type
        if isinstance(argument, ast.Name) and argument.id in self.scope.records:
            record = self.scope.records[argument.id]
            return ir.Record(record), record
        array = self.scope.array(argument)
        assert array is not None
        return array, array.type

    def _arguments(self, function: FunctionType, node: ast.Call) -> dict[str, object]:
        """The arguments of a call by name, each a syntax tree or the default value."""
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        if any(isinstance(arg, ast.Starred) for arg in node.args) or len(node.args) > len(names):
            raise self.error(node, f"{ast.unparse(node)}, a call with these arguments")
        arguments: dict[str, object] = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in arguments:
                raise self.error(node, f"{ast.unparse(node)}, a call with this keyword")
            arguments[keyword.arg] = keyword.value
        defaults = function.__defaults__ or ()
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            arguments.setdefault(name, value)
        if len(arguments) < len(names):
            raise self.error(node, f"{ast.unparse(node)}, a call with too few arguments")
        return {name: arguments[name] for name in names}
