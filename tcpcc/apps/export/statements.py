"""Python's statements in the intermediate form."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import partial

from tcpcc.apps.export import ir
from tcpcc.apps.export.calls import Calls
from tcpcc.apps.export.effects import changes, returns
from tcpcc.apps.export.expressions import kind_of
from tcpcc.apps.export.ir import FLOAT, INT, NONE, SAMPLE, STATE
from tcpcc.apps.export.operators import cast, opposite, unified
from tcpcc.apps.export.scope import Scope

MOST_COPIES = 64  # of the body of a loop over a tuple

#: What a loop over a tuple runs over: values, arrays, or tuples of these.
Item = ir.Expression | ir.AnyArray | tuple["Item", ...]


class SampleWrittenError(Exception):
    """A rule assigns to the sample, so that its fields are not constant during a rule."""


class WiderTypeError(Exception):
    """A variable or the result has a wider type than assumed: the function is read again."""


class Statements(Calls):
    """Reads the function of a scope.

    Attributes:
        types: types of the variables, as far as they are known from an earlier reading.
        result: type of the result, likewise.
    """

    def __init__(self, scope: Scope, result: str) -> None:
        super().__init__(scope)
        self.function, self.node, self.kinds = scope.function, scope.node, scope.kinds
        self.result = result
        self._assumed = dict(self.scope.types)
        self._counters: set[str] = set()  # variables of loops only
        self._copies = 0  # of a body around the statement, which C has not as a loop

    @property
    def types(self) -> dict[str, str]:
        return self.scope.types

    def read(self) -> ir.Function:
        body = self.block(self.node.body)
        if self.scope.changed or any(self._assumed.get(n, t) != t for n, t in self.types.items()):
            raise WiderTypeError
        if self.result != NONE and not returns(body):
            raise self._some_paths(self.node)
        arguments: list[tuple[str, str | ir.Array]] = [
            (name, self.types.get(name, kind) if isinstance(kind, str) else kind)
            for name, kind in zip(self.scope.arguments, self.kinds, strict=True)
            if not isinstance(kind, ir.ArrayField)
        ]
        if len(arguments) < len(self.kinds) and STATE not in self.kinds:
            arguments.insert(0, ("s", STATE))
        variables = {
            name: type_
            for name, type_ in self.types.items()
            if name not in self.scope.arguments and name not in self._counters
        }
        summary = (ast.get_docstring(self.node) or "").split("\n\n")[0]
        return ir.Function(
            self.node.name, " ".join(summary.split()), self.function.__module__.split(".")[-1],
            arguments, variables | self.out.temporaries, self.result, body, self.pure,
        )  # fmt: skip

    def _some_paths(self, node: ast.AST) -> Exception:
        return self.error(node, f"{self.node.name} returns a value on some paths only")

    def block(self, nodes: Iterable[ast.stmt]) -> ir.Block:
        block: ir.Block = []
        with self.out.into(block):
            self._statements(nodes)
        return block

    def _statements(self, nodes: Iterable[ast.stmt]) -> None:
        for node in nodes:
            if self.out.left:
                break
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
                pass
            case ast.Expr(value=ast.Call() as call):
                value = self.out.inlined(self.expression(call, statement=True))
                if isinstance(value, ir.Call) and not value.function.pure:
                    self.out.append(ir.Do(value))
            case ast.Expr():
                raise self.error(node, f"{ast.unparse(node)}, a statement without effect")
            case ast.Return(value=None | ast.Constant(value=None)):
                if self.result != NONE:
                    raise self._some_paths(node)
                self.out.append(ir.Return(None))
            case ast.Return(value=ast.expr() as result):
                self._return(self.out.inlined(self.expression(result)))
            case ast.If():
                self._if(node)
            case ast.While() | ast.For() if node.orelse:
                raise self.error(node, "else after a loop")
            case ast.While():
                self._while(node)
            case ast.For():
                self._for(node)
            case ast.Break() | ast.Continue():
                if self._copies:
                    raise self.error(node, f"{kind_of(node)} in a loop over a tuple")
                self.out.append(ir.Leave(kind_of(node)))
            case ast.Assign():
                self._assign(node)
            case ast.AnnAssign(value=ast.expr() as written):
                self.assign(node.target, self.out.inlined(self.expression(written)))
            case ast.AugAssign():
                self._augmented(node)
            case _:
                raise self.error(node, f"the statement {kind_of(node)}")

    def _return(self, value: ir.Expression) -> None:
        wider = unified(self.result, value.type)
        self.scope.changed |= wider != self.result
        self.result = wider
        self.out.append(ir.Return(cast(value, wider)))

    # Branches and loops

    def _if(self, node: ast.If) -> None:
        test = self.out.inlined(self.condition(node.test))
        if isinstance(test, ir.Const):
            self._statements(node.body if test.value else node.orelse)
        else:
            self.out.append(ir.If(test, self.block(node.body), self.block(node.orelse)))

    def _while(self, node: ast.While) -> None:
        before: ir.Block = []
        with self.out.into(before):
            test = self.out.inlined(self.condition(node.test))
        if before:
            leave = ir.If(opposite(test), [ir.Leave("break")], [])
            self.out.append(ir.While(None, [*before, leave, *self._looped(node.body)]))
        elif not isinstance(test, ir.Const):
            self.out.append(ir.While(test, self._looped(node.body)))
        elif test.value:
            self.out.append(ir.While(None, self._looped(node.body)))

    def _looped(self, nodes: list[ast.stmt]) -> ir.Block:
        """The body of a loop that C has too, so that it may break and continue."""
        copies, self._copies = self._copies, 0
        body = self.block(nodes)
        self._copies = copies
        return body

    def _for(self, node: ast.For) -> None:
        match node:
            case ast.For(iter=ast.Call() as call) if self.scope.global_or_none(call.func) is range:
                self._for_range(node, call)
                return
            case ast.For(target=ast.Name(id=name)):
                array = self.scope.array(node.iter)
                if array is not None:
                    self._for_array(node, name, array)
                    return
        items = self._items(node.iter)
        if len(items) > MOST_COPIES:
            raise self.error(node, f"a loop over more than {MOST_COPIES} values")
        for item in items:
            self._copies += 1
            self._bind(node.target, item)
            self._statements(node.body)
            self._copies -= 1

    def _for_array(self, node: ast.For, name: str, array: ir.AnyArray) -> None:
        """A loop over an array or a tuple of numbers, by a counter."""
        counter = self.out.unassigned(INT)
        body: ir.Block = []
        with self.out.into(body):
            self._assign_name(name, ir.Element(array, counter, array.type.of, known=True))
        body += self._looped(node.body)
        size = ir.Const(array.type.size, INT)
        self.out.append(ir.For(counter.name, ir.Const(0, INT), size, 1, body))

    def _for_range(self, node: ast.For, call: ast.Call) -> None:
        if not isinstance(node.target, ast.Name) or not 1 <= len(call.args) <= 3 or call.keywords:
            raise self.error(node, ast.unparse(node.iter))
        bounds = self.operands(call.args)
        if any(bound.type == FLOAT for bound in bounds):
            raise self.error(node, f"{ast.unparse(call)} with a float")
        zero, one = ir.Const(0, INT), ir.Const(1, INT)
        start, stop, step = {1: [zero, *bounds, one], 2: [*bounds, one], 3: bounds}[len(bounds)]
        if not isinstance(step, ir.Const) or step.value == 0:
            raise self.error(node, f"{ast.unparse(call)}, of which the step is not a constant")
        turn = int(step.value)
        start, stop = cast(start, INT), cast(stop, INT)
        if not isinstance(stop, ir.Const):
            stop = self.out.temporary(stop)
        name = node.target.id
        first: ir.Block = []
        if self.scope.only_counts(name):
            self._counters.add(name)
            self.types[name] = INT
            counter = name
        else:
            variable = self.out.unassigned(INT)
            with self.out.into(first):
                self._assign_name(name, variable)
            counter = variable.name
        if isinstance(start, ir.Const) and isinstance(stop, ir.Const):
            turns = range(int(start.value), int(stop.value), turn)
            self.ranges[counter] = (min(turns, default=0), max(turns, default=0))
        body = [*first, *self._looped(node.body)]
        self.ranges.pop(counter, None)
        self.out.append(ir.For(counter, start, stop, turn, body))

    def _items(self, node: ast.expr) -> Sequence[Item]:
        """What a loop runs over that is written out for each."""
        if isinstance(node, ast.Tuple):
            return [self._item(member) for member in node.elts]
        array = self.scope.array(node)
        if isinstance(array, ir.Table):
            return [ir.Const(value, array.type.of) for value in array.values]
        if array is not None:
            return [
                ir.Element(array, ir.Const(i, INT), array.type.of, known=True)
                for i in range(array.type.size)
            ]
        if isinstance(node, ast.Call) and not node.keywords:
            function = self.scope.global_or_none(node.func)
            if function is enumerate and len(node.args) == 1:
                items = self._items(node.args[0])
                return [(ir.Const(i, INT), item) for i, item in enumerate(items)]
            if function is zip and node.args:
                return list(zip(*map(self._items, node.args), strict=False))
        raise self.error(node, f"a loop over {ast.unparse(node)}")

    def _item(self, node: ast.expr) -> Item:
        """A member of a written tuple, evaluated before the loop as Python does."""
        if isinstance(node, ast.Tuple):
            return tuple(self._item(member) for member in node.elts)
        array = self.scope.array(node)
        if array is not None:
            return array
        value = self.expression(node)
        simple = isinstance(value, ir.Const) or (isinstance(value, ir.Var) and value.once)
        return value if simple else self.out.temporary(value)

    def _bind(self, target: ast.expr, item: Item) -> None:
        """Gives the target of a loop what it runs over next."""
        if isinstance(target, ast.Name) and not isinstance(item, tuple):
            if isinstance(item, ir.AnyArray):
                self.scope.arrays[target.id] = item
            else:
                self._assign_name(target.id, item)
            return
        if not isinstance(target, ast.Tuple) or not isinstance(item, tuple):
            raise self.error(target, f"the target {ast.unparse(target)}")
        if len(item) != len(target.elts):
            raise self.error(target, f"the target {ast.unparse(target)}")
        for name, part in zip(target.elts, item, strict=True):
            self._bind(name, part)

    # Assignments

    def _assign(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple() as names], value=ast.Tuple() as values):
                self._assign_tuple(names, values)
                return
            case ast.Assign(targets=[ast.Tuple(), *_]):
                raise self.error(node, f"{ast.unparse(node)}: a tuple that is not written out")
            case ast.Assign(targets=[ast.Name(id=name), *_]):
                array = self.scope.array(node.value)
                if array is not None:
                    self.scope.named_array(name, array, node)
                    return
                if name in self.scope.arrays or name in self.scope.records:
                    raise self.error(node, f"another value for {name}")
        value = self.out.inlined(self.expression(node.value))
        if len(node.targets) > 1 and not self.out.stable(value):
            value = self.out.temporary(value)
        for target in node.targets:
            self.assign(target, value)

    def _assign_tuple(self, target: ast.Tuple, source: ast.Tuple) -> None:
        if len(target.elts) != len(source.elts):
            raise self.error(target, f"{len(source.elts)} values for {len(target.elts)} names")
        values = self.operands(source.elts)
        calls: ir.Block = []  # of which each is made just before its value is stored
        with self.out.into(calls):
            places = [self._place(name) for name in target.elts]
        for k, value in enumerate(values):
            place = places[k]
            read = [value, place.index] if isinstance(place, ir.Element) else [value]
            if (calls and not self.out.stable(value)) or any(
                changes(earlier, expression) for earlier in places[:k] for expression in read
            ):
                values[k] = self.out.temporary(value)
        for name, value in zip(target.elts, values, strict=True):
            self.assign(name, value)

    def _place(self, node: ast.expr) -> ir.Place:
        """What an assignment to this target changes."""
        match node:
            case ast.Name():
                return ir.Var(node.id, NONE)
            case ast.Attribute():
                return self.scope.field(node)
            case ast.Subscript():
                element = self.element(node)
                assert isinstance(element, ir.Element)
                return element
        raise self.error(node, f"the target {ast.unparse(node)}")

    def assign(self, target: ast.expr, value: ir.Expression) -> None:
        if isinstance(target, ast.Name):
            self._assign_name(target.id, value)
            return
        values = [value]
        before = len(self.out.block)
        place = self.out.after(values, partial(self._place, target))
        (value,) = values
        if (
            len(self.out.block) == before
            and isinstance(place, ir.Element)
            and not self.out.stable(place.index)
            and any(isinstance(part, ir.Call) for part in ir.walk(value))
        ):
            value = self.out.temporary(value)  # C may read the index before it calls
        self._store(place, value, target)

    def _store(self, place: ir.Place, value: ir.Expression, node: ast.AST) -> None:
        if isinstance(place, ir.Field) and place.record == SAMPLE and not self.out.sample_written:
            raise SampleWrittenError
        self.scope.writable(place, value, node)
        self.pure = False
        self.out.append(ir.Assign(place, cast(value, place.type)))

    def _assign_name(self, name: str, value: ir.Expression) -> None:
        variable = self.scope.assigned(name, value.type)
        self.out.append(ir.Assign(variable, cast(value, variable.type)))

    def _augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            place: ir.Place | None = None
            read: ir.Expression = self.scope.read(node.target)
        else:
            read = place = self._place(node.target)
            if isinstance(place, ir.Element) and not self.out.stable(place.index):
                index = self.out.temporary(place.index)
                read = place = ir.Element(place.array, index, place.type, place.known)
        values = [read]
        right = self.out.after(values, partial(self.expression, node.value))
        result = self.out.inlined(self.binary(node.op, values[0], right, node))
        if place is not None:
            self._store(place, result, node.target)
        elif isinstance(node.target, ast.Name):
            self._assign_name(node.target.id, result)
