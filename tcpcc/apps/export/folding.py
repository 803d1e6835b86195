"""Constant parts of an expression are computed once, in Python, with the same bits."""

from __future__ import annotations

import math
import operator
from typing import Any

from tcpcc.apps.export import ir
from tcpcc.apps.export.ir import BOOL, FLOAT, INT

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
        case ir.Not():
            return _negated(node)
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


def _negated(node: ir.Not) -> ir.Expression:
    match node.value:
        case ir.Const(value):
            return ir.Const(not value, BOOL)
        case ir.Not(opposite):
            return opposite
        case ir.Compare("eq", left, right):
            return ir.Compare("ne", left, right)
        case ir.Compare("ne", left, right):
            return ir.Compare("eq", left, right)
    return node


def _joined(node: ir.Logic) -> ir.Expression:
    decides = node.op == "or"
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, ir.Const) and bool(side.value) != decides:
            return other
    if isinstance(node.left, ir.Const):
        return ir.Const(decides, BOOL)
    return node
