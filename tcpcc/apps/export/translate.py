"""From the syntax tree of a controller's rules to the intermediate form.

One visitor serves all targets. It reads a rule and every helper that the rule calls, for the types
of their arguments, as the engine's compiler does. Effects keep Python's order: a call that changes
the state becomes a statement, and what Python reads before such a call is read before it.

What differs from Python: where Python raises an exception (a division by zero, a logarithm of a
negative number, a float without an integer) the translation goes on with the value that IEEE 754
gives.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from tcpcc.apps.export import folding
from tcpcc.apps.export.form import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    PARAMS,
    SAMPLE,
    STATE,
    Array,
    ArrayField,
    ArrayVar,
    Assign,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Do,
    Element,
    Field,
    For,
    Function,
    If,
    Leave,
    Logic,
    Loop,
    Math,
    Not,
    Program,
    Record,
    Return,
    Select,
    Table,
    Unary,
    Var,
    While,
    replaced,
    walk,
)
from tcpcc.controllers.controller import SAMPLE as SAMPLE_FIELDS
from tcpcc.controllers.controller import WINDOW, Controller
from tcpcc.engine.streams import STREAM_FIELDS
from tcpcc.engine.subset import definition, place
from tcpcc.errors import ScenarioError

#: Functions of `math` and NumPy with the same name and the same arguments in C's math.h.
MATH_H = {
    **dict.fromkeys(("sqrt", "cbrt", "exp", "log", "exp2", "expm1", "log1p", "log2", "log10"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("asinh", "acosh", "atanh", "erf", "erfc"), 1),
    **dict.fromkeys(("pow", "atan2", "copysign", "fmod"), 2),
}
_TESTS = ("isinf", "isnan", "isfinite")
_WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
_COMPARE: dict[type[ast.AST], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
MOST_COPIES = 64  # of the body of a loop over a tuple
MOST_FACTORS = 64  # of a power with a constant exponent


class Target(Protocol):
    """What the visitor must know of a target.

    Attributes:
        name: for messages ("C").
        functions: functions of :data:`MATH_H` that it has.
        by_name: an array argument is a variable of the state, known by name, not a pointer.
        constants: values of the parameters that are constants in the text; None: they are a record.
        missing: fields of the sample that it cannot fill -> why.
    """

    name: str
    functions: frozenset[str]
    by_name: bool
    constants: Mapping[str, float] | None
    missing: Mapping[str, str]


def translate(controller: Controller, target: Target) -> Program:
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
    first = _Translator(controller, target, sample_written=False)
    try:
        return first.program()
    except _SampleWrittenError:
        return _Translator(controller, target, sample_written=True).program()


class _SampleWrittenError(Exception):
    """A rule assigns to the sample, so that its fields are not constant during a rule."""


class _ChangedError(Exception):
    """A variable has a wider type than assumed: the function is read again."""


class _Translator:
    def __init__(self, controller: Controller, target: Target, *, sample_written: bool) -> None:
        self.controller, self.target = controller, target
        self.sample_written = sample_written
        self.owner = ""
        self.made: dict[tuple[Any, ...], Function] = {}
        self.active: list[FunctionType] = []
        self.state: dict[str, Any] = dict.fromkeys(WINDOW, FLOAT)
        for name, one in controller.state.items():
            kind = INT if one.kind is int else FLOAT
            self.state[name] = kind if one.size == 1 else Array(kind, one.size)
        if controller.chance:
            self.state |= dict.fromkeys((name for name, _ in STREAM_FIELDS), INT)

    def program(self) -> Program:
        rules: dict[str, Function] = {}
        for name, rule in self.controller.rules.items():
            if rule is None:
                continue
            self.owner = f"controller {self.controller.name!r}, {name}"
            made = self.function(rule, (STATE, PARAMS, SAMPLE))
            if made.rule or made.returns != NONE:
                made = _wrapper(made)
            made.rule = name
            rules[name] = made
        used: dict[Function, None] = {}
        for made in rules.values():
            _collect(made, used)
        return Program(list(used), rules)

    def function(self, function: Any, kinds: tuple[Any, ...]) -> Function:
        """The function for arguments of these types."""
        function = getattr(function, "py_func", function)
        key = (function, kinds)
        if key in self.made:
            return self.made[key]
        node = definition(function)
        if node is None:
            raise ScenarioError(f"{self.owner}: {function.__name__}: its source cannot be read")
        if function in self.active:
            raise self.error(function, node, f"{function.__name__} calls itself")
        self.active.append(function)
        made = self._settled(function, node, kinds)
        self.active.pop()
        self.made[key] = made
        return made

    def _settled(self, function: FunctionType, node: ast.FunctionDef, kinds: Any) -> Function:
        """The function, read until no type changes."""
        types: dict[str, str] = {}
        returns = NONE
        while True:
            body = _Body(self, function, node, kinds, types, returns)
            try:
                return body.read()
            except _ChangedError:
                types, returns = body.types, body.returns

    def error(self, function: FunctionType, node: ast.AST, text: str) -> ScenarioError:
        at = place(function, getattr(node, "lineno", 0))
        return ScenarioError(
            f"{self.owner}, {at}: {text}: cannot be exported to {self.target.name}"
        )


def _wrapper(function: Function) -> Function:
    """A rule that calls a function which is another rule too, or which returns a value."""
    given = tuple(
        Record(type_) if type_ in (STATE, PARAMS, SAMPLE) else Var(name, type_)
        for name, type_ in function.arguments
    )
    call = Call(function, given, function.returns)
    return Function(
        function.name, function.doc, function.module, list(function.arguments), body=[Do(call)],
        pure=function.pure,
    )  # fmt: skip


def _collect(function: Function, used: dict[Function, None]) -> None:
    """Add a function to `used`, after those that it calls."""
    for node in walk(function.body):
        if isinstance(node, Call) and node.function not in used:
            _collect(node.function, used)
    used.setdefault(function)


def unified(first: str, second: str) -> str:
    """The type of a variable that holds values of both types."""
    if first == second or second == NONE:
        return first
    if first == NONE:
        return second
    return FLOAT if FLOAT in (first, second) else INT


def cast(value: Any, type_: str) -> Any:
    """`value` as a number of this type."""
    if value.type == type_:
        return value
    if type_ == BOOL:
        return _truth(value)
    if (
        isinstance(value, Math)
        and type_ == FLOAT
        and value.name in ("floor", "ceil", "trunc", "round")
    ):
        # no detour over an integer, but an integer has no negative zero
        return folding.fold(Binary("add", Math(value.name, value.arguments, FLOAT), _ZERO, FLOAT))
    return folding.fold(Cast(value, type_))


_ZERO = Const(0.0, FLOAT)


def _truth(value: Any) -> Any:
    if value.type == BOOL:
        return value
    return folding.fold(Compare("ne", value, Const(0.0 if value.type == FLOAT else 0, value.type)))


class _Body:
    """One function with the types of its arguments."""

    def __init__(
        self,
        translator: _Translator,
        function: FunctionType,
        node: ast.FunctionDef,
        kinds: tuple[Any, ...],
        types: dict[str, str],
        returns: str,
    ) -> None:
        self.translator, self.function, self.node = translator, function, node
        self.types, self.returns = dict(types), returns
        self.out: list[Any] = []
        self.records: dict[str, str] = {}
        self.aliases: dict[str, Any] = {}
        self.ranges: dict[str, tuple[int, int]] = {}
        self.temporaries: dict[str, str] = {}
        self.scoped: set[str] = set()
        self.pure = True
        self.changed = False
        self.unrolled = 0
        self.names_made = 0
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise self.error(node, f"{node.name} has *, ** or keyword-only arguments")
        self.names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        for name, kind in zip(self.names, kinds, strict=True):
            if kind in (STATE, PARAMS, SAMPLE):
                self.records[name] = kind
            elif isinstance(kind, Array):
                self.aliases[name] = ArrayVar(name, kind)
            elif isinstance(kind, ArrayField):
                self.aliases[name] = kind
            else:
                self.types[name] = unified(self.types.get(name, NONE), kind)
        self.kinds = kinds
        self.local = {*self.names} | {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        self.closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}

    def error(self, node: ast.AST, text: str) -> ScenarioError:
        return self.translator.error(self.function, node, text)

    # -------------------------------------------------------------------------- the whole

    def read(self) -> Function:
        before = dict(self.types)
        body = self.block(self.node.body)
        if self.changed or any(before.get(n, t) != t for n, t in self.types.items()):
            raise _ChangedError
        if self.returns != NONE and not _ends(body):
            raise self.error(self.node, f"{self.node.name} returns a value on some paths only")
        by_name = [k for k in self.kinds if isinstance(k, ArrayField)]
        arguments: list[tuple[str, Any]] = []
        if by_name and STATE not in self.kinds:
            arguments.append(("s", STATE))
        for name, kind in zip(self.names, self.kinds, strict=True):
            if not isinstance(kind, ArrayField):
                arguments.append((name, self.types.get(name, kind)))
        doc = (ast.get_docstring(self.node) or "").split("\n\n")[0]
        inside = {n: t for n, t in self.types.items() if n not in self.names}
        inside = {n: t for n, t in inside.items() if n not in self.scoped}
        return Function(
            self.node.name, " ".join(doc.split()), self.function.__module__.split(".")[-1],
            arguments, {**inside, **self.temporaries}, self.returns, body, self.pure,
        )  # fmt: skip

    @contextmanager
    def into(self, block: list[Any]) -> Iterator[None]:
        """Statements go into `block`."""
        before, self.out = self.out, block
        yield
        self.out = before

    def block(self, nodes: list[ast.stmt]) -> list[Any]:
        made: list[Any] = []
        with self.into(made):
            for node in nodes:
                if made and isinstance(made[-1], Return | Leave):
                    break
                self.statement(node)
        return made

    def temporary(self, value: Any) -> Var:
        """A variable with this value, assigned now."""
        one = self.fresh(value.type)
        self.out.append(Assign(one, value))
        return one

    def fresh(self, type_: str) -> Var:
        """A variable with a name of its own."""
        self.names_made += 1
        while f"t{self.names_made}" in self.local:
            self.names_made += 1
        one = Var(f"t{self.names_made}", type_, once=True)
        self.temporaries[one.name] = type_
        return one

    # ------------------------------------------------------------------------- statements

    def statement(self, node: ast.stmt) -> None:
        handler: Callable[[Any], None] | None = getattr(
            self, f"_{type(node).__name__.lower()}", None
        )
        if handler is None or not isinstance(node, ast.stmt):
            raise self.error(node, f"the statement {_word(node)}")
        handler(node)

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if not isinstance(node.value, ast.Call):
            raise self.error(node, f"{ast.unparse(node)}, a statement without effect")
        value = self.settled(self.expression(node.value, statement=True))
        if isinstance(value, Call) and not value.function.pure:
            self.out.append(Do(value))

    def _return(self, node: ast.Return) -> None:
        if node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value is None
        ):
            if self.returns != NONE:
                raise self.error(node, f"{self.node.name} returns a value on some paths only")
            self.out.append(Return(None))
            return
        value = self.settled(self.expression(node.value))
        wider = unified(self.returns, value.type)
        if wider != self.returns:
            self.returns, self.changed = wider, True
        self.out.append(Return(cast(value, wider)))

    def _if(self, node: ast.If) -> None:
        test = self.settled(self.condition(node.test))
        if isinstance(test, Const):
            for one in node.body if test.value else node.orelse:
                if self.out and isinstance(self.out[-1], Return | Leave):
                    break
                self.statement(one)
            return
        self.out.append(If(test, self.block(node.body), self.block(node.orelse)))

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.error(node, "else after a loop")
        before: list[Any] = []
        with self.into(before):
            test = self.settled(self.condition(node.test))
        if before:
            leave = If(folding.fold(Not(test)), [Leave("break")], [])
            self.out.append(Loop([*before, leave, *self.looped(node.body)]))
        elif isinstance(test, Const):
            if test.value:
                self.out.append(Loop(self.looped(node.body)))
        else:
            self.out.append(While(test, self.looped(node.body)))

    def looped(self, nodes: list[ast.stmt]) -> list[Any]:
        """The body of a loop that C has too, so that it may break and continue."""
        before, self.unrolled = self.unrolled, 0
        body = self.block(nodes)
        self.unrolled = before
        return body

    def _break(self, node: ast.stmt) -> None:
        if self.unrolled:
            raise self.error(node, f"{_word(node)} in a loop over a tuple")
        self.out.append(Leave(_word(node)))

    _continue = _break

    def _for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node, "else after a loop")
        call = node.iter
        if isinstance(call, ast.Call) and self.builtin(call.func) is range:
            self._for_range(node, call)
            return
        array = self.array(node.iter)
        if array is not None and isinstance(node.target, ast.Name):
            self._counted(node, node.target.id, array)
            return
        items = self.items(node.iter)
        if len(items) > MOST_COPIES:
            raise self.error(node, f"a loop over more than {MOST_COPIES} values")
        for item in items:
            self.unrolled += 1
            self._bind(node.target, item)
            for one in node.body:
                if self.out and isinstance(self.out[-1], Return | Leave):
                    break
                self.statement(one)
            self.unrolled -= 1

    def _counted(self, node: ast.For, name: str, array: Any) -> None:
        """A loop over an array or a tuple of numbers, by a counter."""
        counter = self.fresh(INT)
        element = Element(array, counter, array.type.of, known=True)
        body: list[Any] = []
        with self.into(body):
            self.assign_name(name, element)
        size = Const(array.type.size, INT)
        body += self.looped(node.body)
        self.out.append(For(counter.name, Const(0, INT), size, 1, body))

    def _for_range(self, node: ast.For, call: ast.Call) -> None:
        if not isinstance(node.target, ast.Name) or not 1 <= len(call.args) <= 3 or call.keywords:
            raise self.error(node, ast.unparse(node.iter))
        bounds = self.operands(call.args)
        if any(one.type == FLOAT for one in bounds):
            raise self.error(node, f"{ast.unparse(call)} with a float")
        start = bounds[0] if len(bounds) > 1 else Const(0, INT)
        stop = bounds[min(1, len(bounds) - 1)]
        step = bounds[2] if len(bounds) > 2 else Const(1, INT)
        if not isinstance(step, Const) or step.value == 0:
            raise self.error(node, f"{ast.unparse(call)}, of which the step is not a constant")
        start, stop = (cast(one, INT) for one in (start, stop))
        if not isinstance(stop, Const):
            stop = self.temporary(stop)
        name = node.target.id
        first: list[Any] = []
        if self._only_counts(name):
            self.scoped.add(name)
            counter = name
            self.types[name] = INT
        else:
            count = self.fresh(INT)
            counter = count.name
            with self.into(first):
                self.assign_name(name, count)
        if isinstance(start, Const) and isinstance(stop, Const):
            run = range(start.value, stop.value, step.value)
            self.ranges[counter] = (min(run, default=0), max(run, default=0))
        body = [*first, *self.looped(node.body)]
        self.ranges.pop(counter, None)
        self.out.append(For(counter, start, stop, step.value, body))

    def _only_counts(self, name: str) -> bool:
        """Whether a name is only the variable of loops, read in their bodies and nowhere else."""
        inside: set[int] = set()
        for loop in ast.walk(self.node):
            if (
                isinstance(loop, ast.For)
                and isinstance(loop.target, ast.Name)
                and loop.target.id == name
            ):
                body = [n for part in loop.body for n in ast.walk(part)]
                if any(
                    isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
                    for n in body
                ):
                    return False
                inside |= {id(n) for n in body} | {id(loop.target)}
        everywhere = (n for n in ast.walk(self.node) if isinstance(n, ast.Name) and n.id == name)
        return name not in self.names and all(id(n) in inside for n in everywhere)

    def items(self, node: ast.expr) -> list[Any]:
        """The values that a loop runs over, each a syntax tree, an array, or a tuple of these."""
        if isinstance(node, ast.Tuple):
            return [self._item(one) for one in node.elts]
        array = self.array(node)
        if array is not None:
            return [
                Element(array, Const(i, INT), array.type.of, known=True)
                if not isinstance(array, Table)
                else Const(array.values[i], array.type.of)
                for i in range(array.type.size)
            ]
        if isinstance(node, ast.Call) and not node.keywords:
            function = self.builtin(node.func)
            if function is enumerate and len(node.args) == 1:
                return [(Const(i, INT), one) for i, one in enumerate(self.items(node.args[0]))]
            if function is zip and node.args:
                return list(zip(*(self.items(one) for one in node.args), strict=False))
        raise self.error(node, f"a loop over {ast.unparse(node)}")

    def _item(self, node: ast.expr) -> Any:
        """A member of a written tuple, evaluated before the loop as Python does."""
        if isinstance(node, ast.Tuple):
            return tuple(self._item(one) for one in node.elts)
        if self.array(node) is not None:
            return node
        value = self.expression(node)
        kept = isinstance(value, Const) or (isinstance(value, Var) and value.once)
        return value if kept else self.temporary(value)

    def _bind(self, target: ast.expr, item: Any) -> None:
        """Assign an item of :meth:`items` to the target of a loop."""
        if isinstance(target, ast.Tuple):
            if not isinstance(item, tuple) or len(item) != len(target.elts):
                raise self.error(target, f"the target {ast.unparse(target)}")
            for one, part in zip(target.elts, item, strict=True):
                self._bind(one, part)
            return
        if not isinstance(target, ast.Name) or isinstance(item, tuple):
            raise self.error(target, f"the target {ast.unparse(target)}")
        array = self.array(item) if isinstance(item, ast.expr) else None
        if array is not None:
            self.aliases[target.id] = array
        else:
            self.assign_name(target.id, item)

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        (first, *more) = node.targets
        if isinstance(first, ast.Tuple):
            if more or not isinstance(node.value, ast.Tuple):
                raise self.error(node, f"{ast.unparse(node)}: a tuple that is not written out")
            self._assign_tuple(first, node.value)
            return
        if isinstance(first, ast.Name) and self._alias(first.id, node):
            return
        value = self.settled(self.expression(node.value))
        if more and not (isinstance(value, Const) or self.stable(value)):
            value = self.temporary(value)
        for target in node.targets:
            self.assign(target, value)

    def _alias(self, name: str, node: ast.Assign) -> bool:
        """Whether the assignment gives an array of the state another name."""
        array = self.array(node.value)
        if array is None:
            if name in self.aliases or name in self.records:
                raise self.error(node, f"another value for {name}")
            return False
        stored = [
            n for n in ast.walk(self.node)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        ]  # fmt: skip
        if len(stored) > 1 or name in self.names or len(node.targets) > 1:
            raise self.error(node, f"more than one value for {name}, an array")
        self.aliases[name] = array
        return True

    def _assign_tuple(self, target: ast.Tuple, given: ast.Tuple) -> None:
        if len(target.elts) != len(given.elts):
            raise self.error(target, f"{len(given.elts)} values for {len(target.elts)} names")
        values = self.operands(given.elts)
        calls: list[Any] = []  # of which each is made just before its value is stored
        with self.into(calls):
            places = [self._place(one) for one in target.elts]
        for k, value in enumerate(values):
            if (
                (calls and not self.stable(value))
                or any(_touches(one, value) for one in places[:k])
                or any(_touches(one, i) for one in places[:k] for i in _indices(places[k]))
            ):
                values[k] = self.temporary(value)
        for one, value in zip(target.elts, values, strict=True):
            self.assign(one, value)

    def _place(self, node: ast.expr) -> Any:
        """What an assignment to this target changes."""
        if isinstance(node, ast.Name):
            return Var(node.id, NONE)
        if isinstance(node, ast.Attribute):
            return self.field(node)
        if isinstance(node, ast.Subscript):
            return self.element(node)
        raise self.error(node, f"the target {ast.unparse(node)}")

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value)
            return
        before = len(self.out)
        where = self._place(target)
        if len(self.out) > before:
            self._keep([value], before, kept := [value])
            value = kept[0]
        elif any(isinstance(one, Call) for one in walk(value)) and not all(
            self.stable(index) for index in _indices(where)
        ):
            value = self.temporary(value)  # C may read the index before it calls
        self._store(where, value, target)

    def _store(self, where: Any, value: Any, node: ast.AST) -> None:
        if isinstance(where, Field) and where.record == SAMPLE:
            if not self.translator.sample_written:
                raise _SampleWrittenError
        elif isinstance(where, Field) and where.record != STATE:
            raise self.error(node, "an assignment to a parameter")
        if isinstance(where, Element) and isinstance(where.array, Table):
            raise self.error(node, "an assignment to a constant")
        if where.type == INT and value.type == FLOAT:
            raise self.error(node, f"a float for {ast.unparse(node)}, an integer; write int(...)")
        self.pure = False
        self.out.append(Assign(where, cast(value, where.type)))

    def assign_name(self, name: str, value: Any) -> None:
        if name in self.records or name in self.aliases:
            raise self.error(self.node, f"another value for {name}")
        if value.type == NONE:
            raise self.error(self.node, f"no value for {name}")
        known = self.types.get(name, NONE)
        wider = unified(known, value.type)
        if wider != known:
            if known != NONE:
                self.changed = True
            self.types[name] = wider
        self.out.append(Assign(Var(name, wider), cast(value, wider)))

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.settled(self.expression(node.value)))

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            read: Any = self.name(node.target)
            where: Any = None
        else:
            read = where = self._place(node.target)
            if isinstance(where, Element) and not self.stable(where.index):
                read = where = Element(
                    where.array, self.temporary(where.index), where.type, where.known
                )
        before = len(self.out)
        value = self.expression(node.value)
        if len(self.out) > before:
            self._keep([read], before, found := [read])
            read = found[0]
        result = self.settled(self.binary(node.op, read, value, node))
        if where is None:
            assert isinstance(node.target, ast.Name)
            self.assign_name(node.target.id, result)
        else:
            self._store(where, result, node.target)

    # ------------------------------------------------------------------------ expressions

    def operands(self, nodes: list[ast.expr]) -> list[Any]:
        """Values of the expressions, evaluated in this order."""
        found: list[Any] = []
        for node in nodes:
            before = len(self.out)
            value = self.expression(node)
            if len(self.out) > before:
                self._keep(list(found), before, found)
            found.append(value)
        return found

    def _keep(self, values: list[Any], at: int, found: list[Any]) -> None:
        """Evaluate `values` before the statements from `at` on, which may change them."""
        later = self.out[at:]
        del self.out[at:]
        for k, value in enumerate(values):
            if not self.stable(value):
                found[k] = self.temporary(value)
        self.out += later

    def stable(self, value: Any) -> bool:
        """Whether no statement can change the value."""
        for node in walk(value):
            if isinstance(node, Call | Record):
                return False
            if isinstance(node, Element) and not isinstance(node.array, Table):
                return False
            if isinstance(node, Field) and (
                node.record == STATE or (node.record == SAMPLE and self.translator.sample_written)
            ):
                return False
        return True

    def settled(self, value: Any) -> Any:
        """`value` with the call that the last statement assigned to a temporary, if it can be made
        in place."""
        last = self.out[-1] if self.out else None
        if not isinstance(last, Assign) or not isinstance(last.target, Var) or not last.target.once:
            return value
        if not isinstance(last.value, Call) or value is None:
            return value
        uses = [n for n in walk(value) if isinstance(n, Var) and n.name == last.target.name]
        conditional = any(isinstance(n, Select | Logic) for n in walk(value))
        if len(uses) != 1 or not self.stable(value) or (conditional and value is not uses[0]):
            return value
        self.out.pop()
        del self.temporaries[last.target.name]
        return replaced(value, lambda n: last.value if n == last.target else n)

    def simple(self, value: Any) -> Any:
        """The value, cheap to write twice."""
        if isinstance(value, Const | Var | Field):
            return value
        return self.temporary(value)

    def expression(self, node: ast.expr, *, statement: bool = False) -> Any:
        if isinstance(node, ast.Constant):
            return self.constant(node, node.value)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            return self.element(node)
        if isinstance(node, ast.BinOp):
            left, right = self.operands([node.left, node.right])
            return self.binary(node.op, left, right, node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.BoolOp):
            return self.choice(node)
        if isinstance(node, ast.IfExp):
            return self.conditional(node)
        if isinstance(node, ast.Call):
            value = self.call(node)
            if value.type == NONE and not statement:
                raise self.error(node, f"the value of {ast.unparse(node.func)}, which returns none")
            return value
        raise self.error(node, f"{ast.unparse(node)} ({_word(node)})")

    def constant(self, node: ast.AST, value: Any, name: str = "") -> Const:
        if isinstance(value, np.generic):
            value = value.item()
        for kind, type_ in ((bool, BOOL), (int, INT), (float, FLOAT)):
            if isinstance(value, kind):
                if type_ == INT and not -(2**63) <= value < 2**63:
                    raise self.error(node, f"{value}, more than 64 bits")
                return Const(value, type_, name)
        raise self.error(node, f"{name} = {value!r:.40}, no number".removeprefix(" = "))

    def value_of(self, node: ast.Name) -> Any:
        """The object that a name that is not local refers to."""
        if node.id in self.closure:
            return self.closure[node.id]
        names = self.function.__globals__
        if node.id in names:
            return names[node.id]
        if hasattr(builtins, node.id):
            return getattr(builtins, node.id)
        raise self.error(node, f"{node.id}, which is not defined")

    def builtin(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name) and node.id not in self.local:
            return self.value_of(node)
        return None

    def name(self, node: ast.Name) -> Any:
        if node.id in self.records or node.id in self.aliases:
            raise self.error(node, f"{node.id} where a number is needed")
        if node.id in self.local:
            if node.id not in self.types:
                raise self.error(node, f"{node.id}, which is read before it has a value")
            return Var(node.id, self.types[node.id])
        return self.constant(node, self.value_of(node), node.id)

    def attribute(self, node: ast.Attribute) -> Any:
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id not in self.local:
            module = self.value_of(owner)
            if isinstance(module, ModuleType):
                return self.constant(node, getattr(module, node.attr, None))
        found = self.field(node)
        constants = self.translator.target.constants
        if found.record == PARAMS and constants is not None:
            return Const(constants[found.name], FLOAT, found.name)
        return found

    def field(self, node: ast.Attribute) -> Field:
        """A number in a record."""
        record = self.records.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if record is None:
            raise self.error(node, f"{ast.unparse(node)}, which is in no record")
        if record == STATE:
            type_ = self.translator.state[node.attr]
            if isinstance(type_, Array):
                raise self.error(node, f"{ast.unparse(node)} where a number is needed")
            return Field(STATE, node.attr, type_)
        if record == SAMPLE:
            why = self.translator.target.missing.get(node.attr)
            if why is not None:
                raise self.error(node, f"{ast.unparse(node)} ({why})")
            if node.attr not in SAMPLE_FIELDS:
                why = "a header field, which only routers of a simulation read"
                raise self.error(node, f"{ast.unparse(node)} ({why})")
        return Field(record, node.attr, FLOAT)

    def array(self, node: ast.expr) -> ArrayField | ArrayVar | Table | None:
        """The array that an expression is; None if it is not an array."""
        if isinstance(node, ast.Name):
            if node.id in self.aliases:
                return self.aliases[node.id]
            if node.id in self.local:
                return None
            value = self.value_of(node)
            if isinstance(value, np.ndarray) and value.ndim == 1:
                value = tuple(value.tolist())
            if isinstance(value, tuple) and value:
                members = [self.constant(node, member) for member in value]
                type_ = FLOAT if any(m.type == FLOAT for m in members) else INT
                kind = float if type_ == FLOAT else int
                numbers = tuple(kind(m.value) for m in members)
                return Table(node.id, numbers, Array(type_, len(numbers)))
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        if self.records.get(node.value.id) == STATE:
            type_ = self.translator.state[node.attr]
            if isinstance(type_, Array):
                return ArrayField(node.attr, type_)
        return None

    def element(self, node: ast.Subscript) -> Any:
        array = self.array(node.value)
        if array is None or isinstance(node.slice, ast.Slice | ast.Tuple):
            raise self.error(node, ast.unparse(node))
        index = self.expression(node.slice)
        if index.type == FLOAT:
            raise self.error(node, f"{ast.unparse(node)}, of which the index is a float")
        index = cast(index, INT)
        size = array.type.size
        if isinstance(index, Const):
            k = index.value + size * (index.value < 0)
            if not 0 <= k < size:
                raise self.error(node, f"{ast.unparse(node)}, beyond the array's {size} numbers")
            if isinstance(array, Table) and isinstance(node.ctx, ast.Load):
                return Const(array.values[k], array.type.of)
            return Element(array, Const(k, INT), array.type.of, known=True)
        low, high = self._range_of(index)
        return Element(array, index, array.type.of, known=low >= 0 and high < size)

    def _range_of(self, index: Any) -> tuple[float, float]:
        """Smallest and largest value of an integer, from the bounds of loops."""
        if isinstance(index, Const):
            return index.value, index.value
        if isinstance(index, Var) and index.name in self.ranges:
            return self.ranges[index.name]
        if isinstance(index, Binary) and index.op in ("add", "sub"):
            left, right = self._range_of(index.left), self._range_of(index.right)
            if index.op == "add":
                return left[0] + right[0], left[1] + right[1]
            return left[0] - right[1], left[1] - right[0]
        return -math.inf, math.inf

    # Operators

    def binary(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        word = _BINARY.get(type(op))
        if word is None:
            raise self.error(node, f"the operator {_word(op)}")
        if word == "pow":
            return self.power(left, right, node)
        type_ = unified(unified(left.type, right.type), INT)
        if word in ("and", "or", "xor") and left.type == right.type == BOOL:
            return self._of_truths(word, left, right)
        if word in ("and", "or", "xor", "shl", "shr"):
            if type_ == FLOAT:
                raise self.error(node, f"bits of a float in {ast.unparse(node)}")
            if word in ("shl", "shr") and not (isinstance(right, Const) and 0 <= right.value < 63):
                raise self.error(
                    node, f"{ast.unparse(node)}, a shift that is not by a constant below 63"
                )
        if word == "div":
            type_ = FLOAT
        return folding.fold(Binary(word, cast(left, type_), cast(right, type_), type_))

    def _of_truths(self, word: str, left: Any, right: Any) -> Any:
        if word == "xor":
            return folding.fold(Compare("ne", cast(left, INT), cast(right, INT)))
        return folding.fold(Logic(word, left, right))

    def power(self, left: Any, right: Any, node: ast.AST) -> Any:
        """x ** y; by multiplication, as the engine's compiler does it, if y is a whole constant."""
        whole = isinstance(right, Const) and right.type != FLOAT
        if left.type != FLOAT and right.type != FLOAT:
            if isinstance(left, Const) and whole and 0 <= right.value <= 63:
                return self.constant(node, int(left.value) ** int(right.value))
            if not whole or right.value < 0:
                text = f"{ast.unparse(node)}, an integer to a power that may be negative; write 2.0"
                raise self.error(node, text)
        if not whole:
            return folding.fold(Math("pow", (cast(left, FLOAT), cast(right, FLOAT)), FLOAT))
        exponent = abs(int(right.value))
        if exponent > MOST_FACTORS:
            raise self.error(node, f"{ast.unparse(node)}, a power above {MOST_FACTORS}")
        factor = cast(left, unified(left.type, INT))
        result = cast(Const(1, INT), factor.type)
        one = result
        while exponent:
            if exponent & 1:
                result = factor if result is one else self._product(result, factor)
            exponent >>= 1
            if exponent:
                factor = self.simple(factor)
                factor = self._product(factor, factor)
        if right.value < 0:
            return folding.fold(Binary("div", Const(1.0, FLOAT), result, FLOAT))
        return result

    def _product(self, left: Any, right: Any) -> Any:
        return folding.fold(Binary("mul", left, right, left.type))

    def unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return folding.fold(Not(self.condition(node.operand)))
        value = self.expression(node.operand)
        value = cast(value, unified(value.type, INT))
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.Invert):
            if value.type == FLOAT:
                raise self.error(node, f"bits of a float in {ast.unparse(node)}")
            return folding.fold(Unary("invert", value, INT))
        return folding.fold(Unary("neg", value, value.type))

    def comparison(self, node: ast.Compare) -> Any:
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return self._membership(node)
        nodes = [node.left, *node.comparators]
        values = [self.expression(node.left)]
        result: Any = None
        for k, op in enumerate(node.ops):
            word = _COMPARE.get(type(op))
            if word is None:
                raise self.error(node, f"{ast.unparse(node)} ({_word(op)})")
            before = len(self.out)
            value = self.expression(nodes[k + 1])
            if len(self.out) > before:
                if k:
                    raise self.error(node, f"a call that changes the state in {ast.unparse(node)}")
                self._keep(list(values), before, values)
            if k + 1 < len(node.ops):
                value = self.simple(value)
            values.append(value)
            left, right = values[k], values[k + 1]
            type_ = unified(unified(left.type, right.type), INT)
            one = folding.fold(Compare(word, cast(left, type_), cast(right, type_)))
            result = one if result is None else folding.fold(Logic("and", result, one))
        return result

    def _membership(self, node: ast.Compare) -> Any:
        (op, *more), listed = node.ops, node.comparators[0]
        if more or not isinstance(listed, ast.Tuple) or not listed.elts:
            raise self.error(node, f"{ast.unparse(node)}: in, but not in a tuple")
        value, *members = self.operands([node.left, *listed.elts])
        value = self.simple(value)
        result: Any = None
        for member in members:
            type_ = unified(unified(value.type, member.type), INT)
            one = folding.fold(Compare("eq", cast(value, type_), cast(member, type_)))
            result = one if result is None else folding.fold(Logic("or", result, one))
        return folding.fold(Not(result)) if isinstance(op, ast.NotIn) else result

    # Conditions

    def condition(self, node: ast.expr) -> Any:
        """The truth of an expression."""
        if isinstance(node, ast.BoolOp):
            word = "and" if isinstance(node.op, ast.And) else "or"
            result = self.condition(node.values[0])
            for one in node.values[1:]:
                result = self._joined(word, result, one)
            return result
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return folding.fold(Not(self.condition(node.operand)))
        return _truth(self.expression(node))

    def _joined(self, word: str, first: Any, second: ast.expr) -> Any:
        """`first` and/or the truth of `second`, which is evaluated only if needed."""
        if isinstance(first, Const) and bool(first.value) == (word == "or"):
            return first
        block: list[Any] = []
        with self.into(block):
            found = self.condition(second)
        if not block:
            return folding.fold(Logic(word, first, found))
        if isinstance(first, Const):
            self.out += block
            return found
        result = self._written(self.settled(first))
        block.append(Assign(result, found))
        test = result if word == "and" else folding.fold(Not(result))
        self.out.append(If(test, block, []))
        return Var(result.name, result.type, once=True)

    def _written(self, value: Any) -> Var:
        """A temporary that will be assigned once more."""
        one = self.temporary(value)
        self.out[-1] = Assign(Var(one.name, one.type), value)
        return Var(one.name, one.type)

    def choice(self, node: ast.BoolOp) -> Any:
        """`and`, `or` as a value: that of the operand that decides."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        result = self.expression(node.values[0])
        for one in node.values[1:]:
            result = self._chosen(word, result, one)
        return result

    def _chosen(self, word: str, first: Any, node: ast.expr) -> Any:
        block: list[Any] = []
        with self.into(block):
            second = self.expression(node)
        if first.type == second.type == BOOL and not block:
            return folding.fold(Logic(word, first, second))
        type_ = unified(first.type, second.type)
        if isinstance(first, Const):
            decided = bool(first.value) == (word == "or")
            if not decided:
                self.out += block
            return cast(first if decided else second, type_)
        if not block and self.stable(second):
            first = self.simple(first)
            both = (cast(first, type_), cast(second, type_))
            yes, no = both if word == "or" else both[::-1]
            return folding.fold(Select(_truth(first), yes, no, type_))
        result = self._written(cast(first, type_))
        test = _truth(result)
        block.append(Assign(result, cast(second, type_)))
        self.out.append(If(test if word == "and" else folding.fold(Not(test)), block, []))
        return Var(result.name, result.type, once=True)

    def conditional(self, node: ast.IfExp) -> Any:
        test = self.settled(self.condition(node.test))
        if isinstance(test, Const):
            return self.expression(node.body if test.value else node.orelse)
        blocks: tuple[list[Any], list[Any]] = ([], [])
        values = []
        for block, one in zip(blocks, (node.body, node.orelse), strict=True):
            with self.into(block):
                values.append(self.expression(one))
        type_ = unified(values[0].type, values[1].type)
        yes, no = (cast(value, type_) for value in values)
        if not blocks[0] and not blocks[1]:
            return folding.fold(Select(test, yes, no, type_))
        result = self._written(Const(_zero(type_), type_))
        for block, value in zip(blocks, (yes, no), strict=True):
            with self.into(block):
                block.append(Assign(result, value))
        self.out.append(If(test, *blocks))
        return Var(result.name, result.type, once=True)

    # Calls

    def call(self, node: ast.Call) -> Any:
        function = self.called(node.func)
        function = getattr(function, "py_func", function)
        if isinstance(function, FunctionType):
            return self.helper(function, node)
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise self.error(node, f"{ast.unparse(node)}, a call with keywords or *")
        if function is len and len(node.args) == 1:
            array = self.array(node.args[0])
            if array is not None:
                return Const(array.type.size, INT)
        made = self.known(function, node)
        if made is None:
            raise self.error(node, f"{ast.unparse(node)}, which has no counterpart there")
        return made

    def called(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id in self.local:
                raise self.error(node, f"a call of {node.id}, a variable")
            return self.value_of(node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.builtin(node.value)
            if module is math or module is np:
                return getattr(module, node.attr, None)
        raise self.error(node, f"a call of {ast.unparse(node)}")

    def known(self, function: Any, node: ast.Call) -> Any:
        """A call of a function of `math`, of NumPy or of Python; None if C does not have it."""
        name = getattr(function, "__name__", "")
        owner = str(getattr(function, "__module__", None) or type(function).__module__)
        count = len(node.args)
        if function in (max, min):
            return self._extreme("larger" if function is max else "smaller", node)
        if function is pow and count == 2:
            left, right = self.operands(node.args)
            return self.power(left, right, node)
        if function in (bool,) and count == 1:
            return self.condition(node.args[0])
        numbers = owner in ("math", "builtins", "numpy")
        usual = name in (*MATH_H, *_TESTS, *_WHOLE, "fabs", "absolute", "rint") or function in (
            float, int, abs, round, np.float64,
        )  # fmt: skip
        if not numbers or not usual or count != MATH_H.get(name, 1):
            return None
        values = self.operands(node.args)
        if any(value.type == NONE for value in values):
            return None
        return self._of_numbers(function, name, owner, values, node)

    def _of_numbers(
        self, function: Any, name: str, owner: str, values: list[Any], node: ast.Call
    ) -> Any:
        value = values[0]
        whole = value.type != FLOAT
        if function is float or function is np.float64:
            return cast(value, FLOAT)
        if function is int or name == "trunc":
            return cast(value, INT) if whole else folding.fold(Math("trunc", (value,), INT))
        if function is round:
            return cast(value, INT) if whole else folding.fold(Math("round", (value,), INT))
        if function is abs or name in ("fabs", "absolute"):
            type_ = FLOAT if name == "fabs" else unified(value.type, INT)
            return folding.fold(Math("abs", (cast(value, type_),), type_))
        if name in ("floor", "ceil", "rint"):
            if owner == "math":
                return cast(value, INT) if whole else folding.fold(Math(name, (value,), INT))
            word = "round" if name == "rint" else name
            return folding.fold(Math(word, (cast(value, FLOAT),), FLOAT))
        if name in _TESTS:
            return self._tested(name, self.simple(cast(value, FLOAT)))
        if name not in self.translator.target.functions:
            return None
        given = tuple(cast(one, FLOAT) for one in values)
        return folding.fold(Math(name, given, FLOAT))

    def _tested(self, name: str, value: Any) -> Any:
        size = folding.fold(Math("abs", (value,), FLOAT))
        infinite = Const(math.inf, FLOAT)
        if name == "isnan":
            return folding.fold(Compare("ne", value, value))
        if name == "isinf":
            return folding.fold(Compare("eq", size, infinite))
        return folding.fold(Compare("lt", size, infinite))

    def _extreme(self, word: str, node: ast.Call) -> Any:
        """min, max: the first argument that no later one is beyond, as in Python."""
        if len(node.args) < 2:
            raise self.error(node, f"{ast.unparse(node)} of one argument")
        result, *more = self.operands(node.args)
        for value in more:
            type_ = unified(unified(result.type, value.type), INT)
            both = (cast(result, type_), cast(value, type_))
            result = folding.fold(Math(word, both, type_))
        return result

    def helper(self, function: FunctionType, node: ast.Call) -> Any:
        """A call of another function of the user's or the package's."""
        given = self._arguments(function, node)
        kinds: list[Any] = []
        passed: list[Any] = []
        written = [*node.args, *(one.value for one in node.keywords)]
        scalars = [one for one in written if self._scalar(one)]
        values = dict(zip(map(id, scalars), self.operands(scalars), strict=True))
        by_name = self.translator.target.by_name
        for one in given.values():
            if not isinstance(one, ast.expr):
                passed.append(self.constant(node, one))
                kinds.append(passed[-1].type)
            elif id(one) in values:
                passed.append(values[id(one)])
                kinds.append(passed[-1].type)
            elif isinstance(one, ast.Name) and one.id in self.records:
                passed.append(Record(self.records[one.id]))
                kinds.append(self.records[one.id])
            else:
                array: Any = self.array(one)
                if by_name and isinstance(array, Table):
                    raise self.error(node, f"{ast.unparse(node)}, a call with a tuple")
                passed.append(array)
                kinds.append(array if by_name else array.type)
        made = self.translator.function(function, tuple(kinds))
        if by_name:
            passed = [one for one in passed if not isinstance(one, ArrayField)]
            if len(passed) < len(made.arguments):
                passed.insert(0, Record(STATE))
        for k, (_, type_) in enumerate(made.arguments):
            if type_ in (FLOAT, INT, BOOL):
                passed[k] = cast(passed[k], type_)
        call = Call(made, tuple(passed), made.returns)
        if made.pure:
            return call
        self.pure = False
        if made.returns == NONE:
            self.out.append(Do(call))
            return Const(0, NONE)
        return self.temporary(call)

    def _scalar(self, node: ast.expr) -> bool:
        record = isinstance(node, ast.Name) and node.id in self.records
        return not record and self.array(node) is None

    def _arguments(self, function: FunctionType, node: ast.Call) -> dict[str, Any]:
        """The arguments of a call by name, each a syntax tree or the default value."""
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        if any(isinstance(one, ast.Starred) for one in node.args) or len(node.args) > len(names):
            raise self.error(node, f"{ast.unparse(node)}, a call with these arguments")
        given: dict[str, Any] = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in given:
                raise self.error(node, f"{ast.unparse(node)}, a call with this keyword")
            given[keyword.arg] = keyword.value
        defaults = function.__defaults__ or ()
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            given.setdefault(name, value)
        if len(given) < len(names):
            raise self.error(node, f"{ast.unparse(node)}, a call with too few arguments")
        return {name: given[name] for name in names}


def _zero(type_: str) -> Any:
    return {FLOAT: 0.0, INT: 0, BOOL: False}[type_]


def _word(node: ast.AST) -> str:
    return type(node).__name__.lower()


def _ends(body: list[Any]) -> bool:
    """Whether every path through the statements returns."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, If):
        return _ends(last.yes) and _ends(last.no)
    if isinstance(last, Loop):
        return not any(isinstance(n, Leave) and n.word == "break" for n in walk(last.body))
    return isinstance(last, Return)


def _indices(where: Any) -> list[Any]:
    return [where.index] if isinstance(where, Element) else []


def _touches(where: Any, value: Any) -> bool:
    """Whether an assignment to `where` may change `value`."""
    for node in walk(value):
        if isinstance(node, Call):
            return True
        if isinstance(where, Var) and isinstance(node, Var) and node.name == where.name:
            return True
        if isinstance(where, Field) and node == where:
            return True
        if isinstance(where, Element) and isinstance(node, Element):
            both = (where.index, node.index)
            if not all(isinstance(i, Const) for i in both) or both[0].value == both[1].value:
                return True
    return False
