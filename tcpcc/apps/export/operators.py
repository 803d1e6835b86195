"""Numbers of the intermediate form: types as Numba infers them, and Python's operators on them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import reduce

from tcpcc.apps.export import ir
from tcpcc.apps.export.folding import fold
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
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
    return fold(ir.Not(value))


def compared(word: str, left: ir.Expression, right: ir.Expression) -> ir.Expression:
    type_ = number_type(left, right)
    return fold(ir.Compare(word, cast(left, type_), cast(right, type_)))


def joined(word: str, truths: Iterable[ir.Expression]) -> ir.Expression:
    """All truths joined by "and" or "or"."""
    return reduce(lambda left, right: fold(ir.Logic(word, left, right)), truths)


def product(left: ir.Expression, right: ir.Expression) -> ir.Expression:
    return fold(ir.Binary("mul", left, right, left.type))
