"""Statements in the order in which Python evaluates.

Expressions of the intermediate form have no effects, and C may evaluate the operands of an operator
in any order. So a call that changes the state becomes a statement, which assigns its result to a
temporary; and a value that Python has read before such a call, and that the call may change, gets a
temporary before it. A temporary that turns out to be needed only at once is removed again
(:meth:`Effects.inlined`), so that simple rules stay simple text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tcpcc.apps.export import ir
from tcpcc.apps.export.ir import SAMPLE, STATE

T = TypeVar("T")


class Effects:
    """Statements of a function while it is read, and its temporaries.

    Attributes:
        block: statements of the innermost block so far.
        temporaries: name -> type.
        sample_written: a rule assigns to the sample, so that its fields are not constant.
    """

    def __init__(self, taken: Collection[str], *, sample_written: bool) -> None:
        self.block: ir.Block = []
        self.temporaries: dict[str, str] = {}
        self.sample_written = sample_written
        self._taken = taken
        self._count = 0

    def append(self, statement: ir.Statement) -> None:
        self.block.append(statement)

    @property
    def left(self) -> bool:
        """Whether the last statement leaves the block, so that what follows is never executed."""
        return bool(self.block) and isinstance(self.block[-1], ir.Return | ir.Leave)

    @contextmanager
    def into(self, block: ir.Block) -> Iterator[None]:
        """Statements go into `block`."""
        outer, self.block = self.block, block
        yield
        self.block = outer

    # Temporaries

    def unassigned(self, type_: str, *, once: bool = True) -> ir.Var:
        """A temporary with a name of its own."""
        self._count += 1
        while f"t{self._count}" in self._taken:
            self._count += 1
        variable = ir.Var(f"t{self._count}", type_, once=once)
        self.temporaries[variable.name] = type_
        return variable

    def temporary(self, value: ir.Expression, *, once: bool = True) -> ir.Var:
        """A temporary with this value, assigned now; `once`: and never again."""
        variable = self.unassigned(value.type, once=once)
        self.append(ir.Assign(variable, value))
        return variable

    def simple(self, value: ir.Expression) -> ir.Expression:
        """The value, cheap to write twice."""
        return value if isinstance(value, ir.Const | ir.Var | ir.Field) else self.temporary(value)

    # Order

    def after(self, earlier: list[ir.Expression], read: Callable[[], T]) -> T:
        """The result of `read`, which Python evaluates after `earlier`.

        If it adds statements, values that these may change are replaced in `earlier` by temporaries
        assigned before.
        """
        start = len(self.block)
        result = read()
        if later := self.block[start:]:
            del self.block[start:]
            earlier[:] = [v if self.stable(v) else self.temporary(v) for v in earlier]
            self.block += later
        return result

    def stable(self, value: ir.Expression) -> bool:
        """Whether no statement can change the value."""
        return not any(map(self._changeable, ir.walk(value)))

    def _changeable(self, node: object) -> bool:
        match node:
            case ir.Call() | ir.Record():
                return True
            case ir.Element():
                return not isinstance(node.array, ir.Table)
            case ir.Field():
                return node.record == STATE or (node.record == SAMPLE and self.sample_written)
        return False

    def inlined(self, value: ir.Expression) -> ir.Expression:
        """`value` with the call that the last statement assigned to a temporary, if C may make the
        call in its place."""
        match self.block[-1:]:
            case [ir.Assign(ir.Var(once=True) as temporary, ir.Call() as call)]:
                pass
            case _:
                return value
        uses = [n for n in ir.walk(value) if isinstance(n, ir.Var) and n.name == temporary.name]
        conditional = any(isinstance(n, ir.Select | ir.Logic) for n in ir.walk(value))
        if len(uses) != 1 or not self.stable(value) or (conditional and value is not uses[0]):
            return value
        self.block.pop()
        del self.temporaries[temporary.name]
        inlined: ir.Expression = ir.replaced(value, lambda n: call if n == temporary else n)
        return inlined


def changes(place: ir.Place, value: ir.Expression) -> bool:
    """Whether an assignment to `place` may change `value`."""
    return any(_changes(place, node) for node in ir.walk(value))


def _changes(place: ir.Place, node: object) -> bool:
    match place, node:
        case _, ir.Call():
            return True
        case ir.Var(), ir.Var():
            return node.name == place.name
        case ir.Field(), ir.Field():
            return node == place
        case ir.Element(index=ir.Const(value=first)), ir.Element(index=ir.Const(value=second)):
            return first == second
        case ir.Element(), ir.Element():
            return True
    return False


def returns(block: ir.Block) -> bool:
    """Whether every path through the statements returns."""
    match block[-1:]:
        case [ir.If() as last]:
            return returns(last.yes) and returns(last.no)
        case [ir.While(test=None) as last]:
            return ir.Leave("break") not in ir.walk(last.body)
        case [ir.Return()]:
            return True
    return False
