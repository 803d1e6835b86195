"""Numbers of the intermediate form: types as Numba infers them, and Python's operators on them.

Constant parts of an expression are computed once (`fold`), in Python, with the same bits.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterable
from functools import reduce
from typing import Any

from tcpcc.apps.export import ir
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_OPERATORS: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
    "neg": operator.neg, "invert": operator.invert,
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "larger": max, "smaller": min, "abs": abs, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "round": round,
}  # fmt: skip
_KINDS: dict[str, Any] = {FLOAT: float, INT: int, BOOL: bool}


def fold(node: ir.Expression) -> ir.Expression:
    """The expression, or its value if that is a constant."""
    match node:
        case ir.Logic():
            return _joined(node)
        case ir.Select(test=ir.Const(value=test)):
            return node.yes if test else node.no
    try:
        value = _value(node)
    except (ArithmeticError, ValueError, TypeError):
        return node
    if value is None or (node.type == INT and not -(2**63) <= value < 2**63):
        return node
    return ir.Const(_KINDS[node.type](value), node.type)


def _value(node: ir.Expression) -> Any:
    """The value of a constant expression; None if it is not constant."""
    match node:
        case ir.Binary(op, ir.Const(left), ir.Const(right)):
            return _OPERATORS[op](left, right)
        case ir.Compare(op, ir.Const(left), ir.Const(right)):
            return _OPERATORS[op](left, right)
        case ir.Unary(op, ir.Const(value)):
            return _OPERATORS[op](value)
        case ir.Cast(ir.Const(value)):
            return _KINDS[node.type](value)
        case ir.Math(name, arguments):
            values = [a.value for a in arguments if isinstance(a, ir.Const)]
            if len(values) == len(arguments):
                return (_FUNCTIONS.get(name) or getattr(math, name))(*values)
    return None


def _joined(node: ir.Logic) -> ir.Expression:
    decides = node.op == "or"
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, ir.Const) and bool(side.value) != decides:
            return other
    if isinstance(node.left, ir.Const):
        return ir.Const(decides, BOOL)
    return node


_ZERO = ir.Const(0.0, FLOAT)


def unified(first: str, second: str) -> str:
    """The type of a variable that holds values of both types."""
    if first == second or second == NONE:
        return first
    if first == NONE:
        return second
    return FLOAT if FLOAT in (first, second) else INT


def number_type(*values: ir.Expression) -> str:
    """The type in which Python calculates with these values."""
    return FLOAT if any(value.type == FLOAT for value in values) else INT


def cast(value: ir.Expression, type_: str) -> ir.Expression:
    """`value` as a number of this type."""
    if value.type == type_:
        return value
    if type_ == BOOL:
        return truth(value)
    if type_ == FLOAT and isinstance(value, ir.Math) and value.name in _ROUNDING:
        # no detour over an integer, but an integer has no negative zero
        return fold(ir.Binary("add", ir.Math(value.name, value.arguments, FLOAT), _ZERO, FLOAT))
    return fold(ir.Cast(value, type_))


_ROUNDING = ("floor", "ceil", "trunc", "round")


def truth(value: ir.Expression) -> ir.Expression:
    if value.type == BOOL:
        return value
    return fold(ir.Compare("ne", value, ir.Const(0.0 if value.type == FLOAT else 0, value.type)))


def opposite(value: ir.Expression) -> ir.Expression:
    match value:
        case ir.Const(known):
            return ir.Const(not known, BOOL)
        case ir.Not(positive):
            return positive
        case ir.Compare("eq", left, right):
            return ir.Compare("ne", left, right)
        case ir.Compare("ne", left, right):
            return ir.Compare("eq", left, right)
    return ir.Not(value)


def compared(word: str, left: ir.Expression, right: ir.Expression) -> ir.Expression:
    type_ = number_type(left, right)
    return fold(ir.Compare(word, cast(left, type_), cast(right, type_)))


def joined(word: str, truths: Iterable[ir.Expression]) -> ir.Expression:
    """All truths joined by "and" or "or"."""
    return reduce(lambda left, right: fold(ir.Logic(word, left, right)), truths)


def product(left: ir.Expression, right: ir.Expression) -> ir.Expression:
    return fold(ir.Binary("mul", left, right, left.type))
