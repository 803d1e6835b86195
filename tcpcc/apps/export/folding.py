"""Constant parts of an expression are computed once, in Python, with the same bits."""

from __future__ import annotations

import math
import operator
from typing import Any

from tcpcc.apps.export.form import (
    BOOL,
    FLOAT,
    INT,
    Binary,
    Cast,
    Compare,
    Const,
    Logic,
    Math,
    Not,
    Select,
    Unary,
)  # fmt: skip

_OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "larger": max, "smaller": min, "abs": abs, "floor": math.floor, "ceil": math.ceil,
    "trunc": math.trunc, "round": round,
}  # fmt: skip
_KINDS: dict[str, Any] = {FLOAT: float, INT: int, BOOL: bool}


def fold(node: Any) -> Any:
    """The expression, or its value if that is a constant."""
    if isinstance(node, Not):
        return _negated(node)
    if isinstance(node, Logic):
        return _joined(node)
    if isinstance(node, Select):
        if isinstance(node.test, Const):
            return node.yes if node.test.value else node.no
        return node
    try:
        value = _value(node)
    except (ArithmeticError, ValueError, TypeError):
        return node
    if value is None or (node.type == INT and not -(2**63) <= value < 2**63):
        return node
    return Const(_KINDS[node.type](value), node.type)


def _value(node: Any) -> Any:
    """The value of a constant expression; None if it is not constant."""
    if isinstance(node, Binary | Compare):
        if isinstance(node.left, Const) and isinstance(node.right, Const):
            return _OPERATORS[node.op](node.left.value, node.right.value)
    elif isinstance(node, Unary) and isinstance(node.value, Const):
        return ~node.value.value if node.op == "invert" else -node.value.value
    elif isinstance(node, Cast) and isinstance(node.value, Const):
        return _KINDS[node.type](node.value.value)
    elif isinstance(node, Math) and all(isinstance(a, Const) for a in node.arguments):
        function = _FUNCTIONS.get(node.name) or getattr(math, node.name)
        return function(*(a.value for a in node.arguments))
    return None


def _negated(node: Not) -> Any:
    inner = node.value
    if isinstance(inner, Const):
        return Const(not inner.value, BOOL)
    if isinstance(inner, Not):
        return inner.value
    if isinstance(inner, Compare) and inner.op in ("eq", "ne"):
        return Compare("ne" if inner.op == "eq" else "eq", inner.left, inner.right)
    return node


def _joined(node: Logic) -> Any:
    decides = node.op == "or"
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(one, Const) and bool(one.value) != decides:
            return other
    if isinstance(node.left, Const):
        return Const(decides, BOOL)
    return node
