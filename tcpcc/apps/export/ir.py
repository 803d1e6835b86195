"""The intermediate form between a rule's Python and the C text of a target.

A program is a list of functions with typed arguments; a function is a list of statements on typed
expressions. Expressions have no effects: a call that changes the state is a statement of its own,
in the order in which Python makes it. Types are "float", "int", "bool" and "none".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

FLOAT, INT, BOOL, NONE = "float", "int", "bool", "none"

#: The records that a rule is given.
RECORDS = STATE, PARAMS, SAMPLE = "state", "params", "sample"


@dataclass(frozen=True)
class Array:
    """An argument or a variable of the state that holds several numbers."""

    of: str
    size: int


# ----------------------------------------------------------------------------- expressions


@dataclass(frozen=True)
class Const:
    """`name`: that of the module's constant, if it has one."""

    value: bool | int | float
    type: str
    name: str = ""


@dataclass(frozen=True)
class Var:
    """A local variable or an argument; `once`: a temporary that is assigned once."""

    name: str
    type: str
    once: bool = False


@dataclass(frozen=True)
class Field:
    """A number in a record."""

    record: str
    name: str
    type: str


@dataclass(frozen=True)
class ArrayField:
    """An array in the state."""

    name: str
    type: Array


@dataclass(frozen=True)
class ArrayVar:
    """An array that is an argument."""

    name: str
    type: Array


@dataclass(frozen=True)
class Table:
    """A constant tuple of numbers."""

    name: str
    values: tuple[int | float, ...]
    type: Array


@dataclass(frozen=True)
class Element:
    """`known`: the index is known to lie in the array."""

    array: AnyArray
    index: Expression
    type: str
    known: bool = False


@dataclass(frozen=True)
class Unary:
    """`op`: neg, invert."""

    op: str
    value: Expression
    type: str


@dataclass(frozen=True)
class Binary:
    """`op`: add, sub, mul, div, floordiv, mod, and, or, xor, shl, shr."""

    op: str
    left: Expression
    right: Expression
    type: str


@dataclass(frozen=True)
class Compare:
    """`op`: lt, le, gt, ge, eq, ne."""

    op: str
    left: Expression
    right: Expression
    type: str = BOOL


@dataclass(frozen=True)
class Logic:
    """`op`: and, or; the right side is evaluated only if it decides."""

    op: str
    left: Expression
    right: Expression
    type: str = BOOL


@dataclass(frozen=True)
class Not:
    """The opposite of a bool."""

    value: Expression
    type: str = BOOL


@dataclass(frozen=True)
class Select:
    """`yes` if `test` holds, else `no`; only that one is evaluated."""

    test: Expression
    yes: Expression
    no: Expression
    type: str


@dataclass(frozen=True)
class Cast:
    """A number as another type; a float becomes the integer without its fraction."""

    value: Expression
    type: str


@dataclass(frozen=True)
class Math:
    """A function of numbers: larger, smaller, abs, floor, ceil, round, and those of math.h."""

    name: str
    arguments: tuple[Expression, ...]
    type: str


@dataclass(frozen=True)
class Call:
    """A call of one of the program's functions."""

    function: Function
    arguments: tuple[Argument, ...]
    type: str


@dataclass(frozen=True)
class Record:
    """A record as an argument of a call."""

    record: str
    type: str = NONE


#: What has a value; its `type` is one of those above.
Expression = (
    Const | Var | Field | Element | Unary | Binary | Compare | Logic | Not | Select | Cast | Math
    | Call
)  # fmt: skip
AnyArray = ArrayField | ArrayVar | Table
Argument = Expression | Record | AnyArray
#: What a function is translated for: the type of a number, a record, or an array (of the state, if
#: the target knows arrays by name).
Kind = str | Array | ArrayField

# ------------------------------------------------------------------------------ statements


@dataclass
class Assign:
    """A value for a variable, a number in a record or an element."""

    target: Place
    value: Expression


@dataclass
class Do:
    """A call for its effect."""

    value: Call


@dataclass
class If:
    """Two blocks, either may be empty."""

    test: Expression
    yes: Block
    no: Block


@dataclass
class While:
    """Repeats `body` while `test` holds; None: until it breaks or returns."""

    test: Expression | None
    body: Block


@dataclass
class For:
    """`name` runs over range(start, stop, step); `step` is a number."""

    name: str
    start: Expression
    stop: Expression
    step: int
    body: Block


@dataclass
class Leave:
    """Break or continue."""

    word: str


@dataclass
class Return:
    """`value`: None in a function that returns nothing."""

    value: Expression | None


Place = Var | Field | Element
Statement = Assign | Do | If | While | For | Leave | Return
Block = list[Statement]
Node = Argument | Statement

# ------------------------------------------------------------------------------- functions


@dataclass(eq=False)
class Function:
    """One function, for these types of its arguments.

    Attributes:
        name: name in Python.
        doc: first line of its docstring.
        module: the module that has it.
        arguments: (name, type) in order; the type of a record is STATE, PARAMS or SAMPLE.
        variables: types of the local variables that are not arguments.
        returns: type of the result.
        body: its statements.
        pure: whether it changes neither the state nor the sample.
        rule: name of the rule that it is, or "".
    """

    name: str
    doc: str
    module: str
    arguments: list[tuple[str, str | Array]]
    variables: dict[str, str] = field(default_factory=dict)
    returns: str = NONE
    body: Block = field(default_factory=list)
    pure: bool = True
    rule: str = ""


@dataclass
class Program:
    """All functions of a controller, each after those that it calls."""

    functions: list[Function]
    rules: dict[str, Function]


# ------------------------------------------------------------------------------- traversal


def parts(node: Node) -> Iterator[Node]:
    """The expressions and statements directly inside a node; functions are not entered."""
    for field_ in fields(node):
        value = getattr(node, field_.name)
        several = value if isinstance(value, list | tuple) else (value,)
        yield from (part for part in several if isinstance(part, Node))


def walk(node: Node | Block) -> Iterator[Node]:
    """A node, or the nodes of a list of statements, and everything inside."""
    for outer in node if isinstance(node, list) else [node]:
        yield outer
        for part in parts(outer):
            yield from walk(part)


def replaced(node: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of an expression in which `change` has been applied to every node, inside first."""
    changes: dict[str, object] = {}
    for field_ in fields(node):
        value = getattr(node, field_.name)
        if isinstance(value, tuple):
            changes[field_.name] = tuple(
                replaced(part, change) if isinstance(part, Node) else part for part in value
            )
        elif isinstance(value, Node):
            changes[field_.name] = replaced(value, change)
    return change(replace(node, **changes) if changes else node)
