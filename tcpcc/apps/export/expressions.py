"""Python's expressions in the intermediate form."""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

from tcpcc.apps.export import ir
from tcpcc.apps.export.effects import Effects
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, NONE
from tcpcc.apps.export.operators import (
    BINARY,
    COMPARE,
    cast,
    compared,
    fold,
    joined,
    number_type,
    opposite,
    product,
    truth,
    unified,
)
from tcpcc.apps.export.scope import Scope
from tcpcc.errors import ScenarioError

MOST_FACTORS = 64  # of a power with a constant exponent


def kind_of(node: ast.AST) -> str:
    return type(node).__name__.lower()


class Expressions(ABC):
    """Reads the expressions of one function.

    Attributes:
        scope: what its names refer to.
        out: its statements so far; expressions add those for calls that change the state.
        ranges: smallest and largest value of the counters of the loops around the expression.
        pure: it changes neither the state nor the sample.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.out = Effects(scope.local, sample_written=scope.rules.sample_written)
        self.ranges: dict[str, tuple[int, int]] = {}
        self.pure = True

    def error(self, node: ast.AST, text: str) -> ScenarioError:
        return self.scope.error(node, text)

    @abstractmethod
    def call(self, node: ast.Call) -> ir.Expression:
        """The result of a call."""

    def expression(self, node: ast.expr, *, statement: bool = False) -> ir.Expression:
        """The value of an expression; `statement`: of a call that need not have one."""
        match node:
            case ast.Constant():
                return self.scope.constant(node, node.value)
            case ast.Name():
                return self.scope.read(node)
            case ast.Attribute():
                return self.scope.attribute(node)
            case ast.Subscript():
                return self.element(node)
            case ast.BinOp():
                left, right = self.operands([node.left, node.right])
                return self.binary(node.op, left, right, node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp():
                return self._deciding(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Call():
                value = self.call(node)
                if value.type == NONE and not statement:
                    text = f"the value of {ast.unparse(node.func)}, which returns none"
                    raise self.error(node, text)
                return value
        raise self.error(node, f"{ast.unparse(node)} ({kind_of(node)})")

    def operands(self, nodes: Sequence[ast.expr]) -> list[ir.Expression]:
        """Values of the expressions, evaluated in this order."""
        values: list[ir.Expression] = []
        for node in nodes:
            values.append(self.out.after(values, partial(self.expression, node)))
        return values

    def element(self, node: ast.Subscript) -> ir.Element | ir.Const:
        array = self.scope.array(node.value)
        if array is None or isinstance(node.slice, ast.Slice | ast.Tuple):
            raise self.error(node, ast.unparse(node))
        index = self.expression(node.slice)
        if index.type == FLOAT:
            raise self.error(node, f"{ast.unparse(node)}, of which the index is a float")
        index = cast(index, INT)
        size = array.type.size
        if isinstance(index, ir.Const):
            k = int(index.value) + size * (index.value < 0)
            if not 0 <= k < size:
                raise self.error(node, f"{ast.unparse(node)}, beyond the array's {size} numbers")
            if isinstance(array, ir.Table) and isinstance(node.ctx, ast.Load):
                return ir.Const(array.values[k], array.type.of)
            return ir.Element(array, ir.Const(k, INT), array.type.of, known=True)
        low, high = self._range(index)
        return ir.Element(array, index, array.type.of, known=low >= 0 and high < size)

    def _range(self, index: ir.Expression) -> tuple[float, float]:
        """Smallest and largest value of an integer, from the bounds of loops."""
        match index:
            case ir.Const():
                return index.value, index.value
            case ir.Var() if index.name in self.ranges:
                return self.ranges[index.name]
            case ir.Binary(op="add"):
                left, right = self._range(index.left), self._range(index.right)
                return left[0] + right[0], left[1] + right[1]
            case ir.Binary(op="sub"):
                left, right = self._range(index.left), self._range(index.right)
                return left[0] - right[1], left[1] - right[0]
        return -math.inf, math.inf

    # Operators

    def binary(
        self, op: ast.operator, left: ir.Expression, right: ir.Expression, node: ast.AST
    ) -> ir.Expression:
        word = BINARY.get(type(op))
        type_ = number_type(left, right)
        match word:
            case None:
                raise self.error(node, f"the operator {kind_of(op)}")
            case "pow":
                return self.power(left, right, node)
            case "xor" if left.type == right.type == BOOL:
                return compared("ne", left, right)
            case "and" | "or" if left.type == right.type == BOOL:
                return fold(ir.Logic(word, left, right))
            case "and" | "or" | "xor" | "shl" | "shr" if type_ == FLOAT:
                raise self.error(node, f"bits of a float in {ast.unparse(node)}")
            case "shl" | "shr" if not (isinstance(right, ir.Const) and 0 <= right.value < 63):
                text = f"{ast.unparse(node)}, a shift that is not by a constant below 63"
                raise self.error(node, text)
            case "div":
                type_ = FLOAT
        return fold(ir.Binary(word, cast(left, type_), cast(right, type_), type_))

    def power(self, left: ir.Expression, right: ir.Expression, node: ast.AST) -> ir.Expression:
        """x ** y; by multiplication, as the engine's compiler does it, if y is a whole constant."""
        exponent = None
        if isinstance(right, ir.Const) and right.type != FLOAT:
            exponent = int(right.value)
        if number_type(left, right) == INT:
            if isinstance(left, ir.Const) and exponent is not None and 0 <= exponent <= 63:
                return self.scope.constant(node, int(left.value) ** exponent)
            if exponent is None or exponent < 0:
                text = f"{ast.unparse(node)}, an integer to a power that may be negative; write 2.0"
                raise self.error(node, text)
        if exponent is None:
            return fold(ir.Math("pow", (cast(left, FLOAT), cast(right, FLOAT)), FLOAT))
        if abs(exponent) > MOST_FACTORS:
            raise self.error(node, f"{ast.unparse(node)}, a power above {MOST_FACTORS}")
        result = self._factors(cast(left, number_type(left)), abs(exponent))
        if exponent < 0:
            return fold(ir.Binary("div", ir.Const(1.0, FLOAT), result, FLOAT))
        return result

    def _factors(self, factor: ir.Expression, exponent: int) -> ir.Expression:
        """The factor to this power, by squares."""
        result = one = cast(ir.Const(1, INT), factor.type)
        while exponent:
            if exponent & 1:
                result = factor if result is one else product(result, factor)
            exponent >>= 1
            if exponent:
                factor = self.out.simple(factor)
                factor = product(factor, factor)
        return result

    def _unary(self, node: ast.UnaryOp) -> ir.Expression:
        if isinstance(node.op, ast.Not):
            return opposite(self.condition(node.operand))
        value = self.expression(node.operand)
        value = cast(value, number_type(value))
        match node.op:
            case ast.Invert() if value.type == FLOAT:
                raise self.error(node, f"bits of a float in {ast.unparse(node)}")
            case ast.Invert():
                return fold(ir.Unary("invert", value, INT))
            case ast.USub():
                return fold(ir.Unary("neg", value, value.type))
        return value

    def _comparison(self, node: ast.Compare) -> ir.Expression:
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return self._membership(node)
        values = [self.expression(node.left)]
        relations: list[ir.Expression] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            word = COMPARE.get(type(op))
            if word is None:
                raise self.error(node, f"{ast.unparse(node)} ({kind_of(op)})")
            before = len(self.out.block)
            value = self.out.after(values, partial(self.expression, right))
            if relations and len(self.out.block) > before:
                raise self.error(node, f"a call that changes the state in {ast.unparse(node)}")
            if right is not node.comparators[-1]:
                value = self.out.simple(value)
            relations.append(compared(word, values[-1], value))
            values.append(value)
        return joined("and", relations)

    def _membership(self, node: ast.Compare) -> ir.Expression:
        (op, *more), listed = node.ops, node.comparators[0]
        if more or not isinstance(listed, ast.Tuple) or not listed.elts:
            raise self.error(node, f"{ast.unparse(node)}: in, but not in a tuple")
        value, *members = self.operands([node.left, *listed.elts])
        value = self.out.simple(value)
        test = joined("or", [compared("eq", value, member) for member in members])
        return opposite(test) if isinstance(op, ast.NotIn) else test

    # Conditions

    def condition(self, node: ast.expr) -> ir.Expression:
        """The truth of an expression."""
        match node:
            case ast.BoolOp():
                word = "and" if isinstance(node.op, ast.And) else "or"
                result = self.condition(node.values[0])
                for later in node.values[1:]:
                    result = self._joined(word, result, later)
                return result
            case ast.UnaryOp(op=ast.Not()):
                return opposite(self.condition(node.operand))
        return truth(self.expression(node))

    def _joined(self, word: str, first: ir.Expression, node: ast.expr) -> ir.Expression:
        """`first` and/or the truth of an expression, which is evaluated only if needed."""
        if isinstance(first, ir.Const) and bool(first.value) == (word == "or"):
            return first
        block: ir.Block = []
        with self.out.into(block):
            second = self.condition(node)
        if not block:
            return fold(ir.Logic(word, first, second))
        if isinstance(first, ir.Const):
            self.out.block += block
            return second
        return self._unless_decided(word, self.out.inlined(first), block, second)

    def _unless_decided(
        self, word: str, first: ir.Expression, block: ir.Block, second: ir.Expression
    ) -> ir.Var:
        """`first`; but if it does not decide, the block is executed and the result is `second`."""
        result = self.out.temporary(cast(first, second.type), once=False)
        undecided = truth(result) if word == "and" else opposite(truth(result))
        self.out.append(ir.If(undecided, [*block, ir.Assign(result, second)], []))
        return ir.Var(result.name, result.type, once=True)

    def _deciding(self, node: ast.BoolOp) -> ir.Expression:
        """`and`, `or` as a value: that of the operand that decides."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        result = self.expression(node.values[0])
        for later in node.values[1:]:
            result = self._decided(word, result, later)
        return result

    def _decided(self, word: str, first: ir.Expression, node: ast.expr) -> ir.Expression:
        block: ir.Block = []
        with self.out.into(block):
            second = self.expression(node)
        if first.type == second.type == BOOL and not block:
            return fold(ir.Logic(word, first, second))
        type_ = unified(first.type, second.type)
        if isinstance(first, ir.Const):
            if bool(first.value) == (word == "or"):
                return cast(first, type_)
            self.out.block += block
            return cast(second, type_)
        if not block and self.out.stable(second):
            first = self.out.simple(first)
            both = (cast(first, type_), cast(second, type_))
            yes, no = both if word == "or" else both[::-1]
            return fold(ir.Select(truth(first), yes, no, type_))
        return self._unless_decided(word, cast(first, type_), block, cast(second, type_))

    def _conditional(self, node: ast.IfExp) -> ir.Expression:
        test = self.out.inlined(self.condition(node.test))
        if isinstance(test, ir.Const):
            return self.expression(node.body if test.value else node.orelse)
        blocks: tuple[ir.Block, ir.Block] = ([], [])
        values = []
        for block, branch in zip(blocks, (node.body, node.orelse), strict=True):
            with self.out.into(block):
                values.append(self.expression(branch))
        type_ = unified(values[0].type, values[1].type)
        yes, no = (cast(value, type_) for value in values)
        if not any(blocks):
            return fold(ir.Select(test, yes, no, type_))
        result = self.out.temporary(cast(ir.Const(0, INT), type_), once=False)
        for block, value in zip(blocks, (yes, no), strict=True):
            block.append(ir.Assign(result, value))
        self.out.append(ir.If(test, *blocks))
        return ir.Var(result.name, result.type, once=True)
