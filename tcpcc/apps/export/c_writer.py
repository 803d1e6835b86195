"""C text of a program in the intermediate form. What differs between targets is in a `Target`."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import Any

from tcpcc.apps.export import ir
from tcpcc.apps.export.ir import BOOL, FLOAT, INT, PARAMS, SAMPLE, STATE
from tcpcc.apps.export.scope import Target

_KEYWORDS: frozenset[str] = frozenset(
    """
    alignas alignof and asm atomic auto bool break case char complex const constexpr
    continue default do double else enum extern false float for goto if imaginary inline
    int int64_t long nullptr register restrict return short signed sizeof static struct
    switch thread_local true typedef typeof union unsigned void volatile while f64 s64 u64
    NULL NAN INFINITY I
    """.split()  # noqa: SIM905
)
#: Names of math.h and of the compiler that a local variable must not hide.
_LIBRARY: frozenset[str] = frozenset(
    """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp
    exp2 expm1 fabs floor fmod gamma j0 j1 jn lgamma log log10 log1p log2 main nearbyint
    pow rint round signgam sin sinh sqrt tan tanh tgamma trunc y0 y1 yn larger
    smaller to_int place larger_int smaller_int floor_div floor_div_int mod mod_int turns
    """.split()  # noqa: SIM905
)

#: Macros of math.h, of the compiler and of the files in bpf/.
_MACRO = re.compile(
    r"[fF]64\w*|(M|FP|MATH|HUGE|HAS)_\w+|U?INT\w+|LOOP_\w+|CONTROL|EVERY_ACK|OWNS_WINDOW"
    r"|READS_RATE|DOMAIN|SING|(OVER|UNDER)FLOW|[PT]LOSS|unix|linux|__\w+"
)

PRIMARY, UNARY, TIMES, PLUS, SHIFT, LESS, EQUAL, BITS, AND, OR, CHOICE = range(16, 5, -1)
_INFIX = {
    "mul": ("*", TIMES), "add": ("+", PLUS), "sub": ("-", PLUS), "div": ("/", TIMES),
    "and": ("&", BITS), "or": ("|", BITS), "xor": ("^", BITS),
    "shl": ("<<", SHIFT), "shr": (">>", SHIFT),
}  # fmt: skip
_STEPS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_RELATIONS = {
    "lt": ("<", LESS), "le": ("<=", LESS), "gt": (">", LESS), "ge": (">=", LESS),
    "eq": ("==", EQUAL), "ne": ("!=", EQUAL),
}  # fmt: skip
_SWAPPED = {"gt": "lt", "ge": "le"}

Text = tuple[str, int]
"""A C expression, and how tightly its outermost operator binds."""


def literal(value: float) -> str:
    """A double in C, with the same bits."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def bits(value: float) -> str:
    """The bits of a double as an integer in C."""
    (word,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"F64(0x{word:016x})"


def integer(value: int) -> str:
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    return str(value) if abs(value) < 2**31 else f"{value}LL"


def _reserved(name: str) -> bool:
    """Whether C has another meaning for this name wherever it stands."""
    return name in _KEYWORDS or _MACRO.fullmatch(name) is not None


def member(name: str) -> str:
    return f"{name}_" if _reserved(name) else name


class Writer:
    """Writes the functions of a program.

    Attributes:
        helpers: small functions that the text needs beside these ("larger", "mod_int", ...).
        constants: definitions of named constants and tables: name -> text.
    """

    def __init__(self, program: ir.Program, target: Target) -> None:
        self.program, self.target = program, target
        self.helpers: set[str] = set()
        self.constants: dict[str, str] = {}
        self.names: dict[ir.Function, str] = {}
        self._values: dict[str, tuple[Any, ...]] = {}
        self._records: dict[str, str] = {}
        self.sample_written = any(
            isinstance(node, ir.Assign)
            and isinstance(node.target, ir.Field)
            and node.target.record == SAMPLE
            for function in program.functions
            for node in ir.walk(function.body)
        )
        for name, function in program.rules.items():
            self.names[function] = target.rule(name)
        for function in program.functions:
            if function not in self.names:
                self.names[function] = self._free_name(function)

    def _free_name(self, function: ir.Function) -> str:
        taken = set(self.names.values())
        plain = [function.name, f"{function.module}_{function.name}"]
        wanted = chain(plain, (f"{function.name}_{k}" for k in count(2)))
        return next(name for name in map(self.target.helper, wanted) if name not in taken)

    # -------------------------------------------------------------------------- functions

    def prototype(self, function: ir.Function) -> str:
        """The head of a function, without a semicolon."""
        target = self.target
        arguments = []
        for name, type_ in function.arguments:
            if type_ in (STATE, PARAMS, SAMPLE):
                if type_ == PARAMS and target.soft:
                    continue
                arguments.append(f"{target.record(type_, self.sample_written)}{self.local(name)}")
            elif isinstance(type_, ir.Array):
                arguments.append(f"{target.types[type_.of]} *{self.local(name)}")
            else:
                arguments.append(f"{target.types[type_]} {self.local(name)}")
        result = target.types[function.returns]
        if target.verified:
            result = f"{'F64_GLOBAL' if len(arguments) <= 5 else 'F64_INLINE'} {result}"
        elif not function.rule:
            result = f"static {result}"
        return f"{result} {self.names[function]}({', '.join(arguments) or 'void'})"

    def function(self, function: ir.Function) -> str:
        """A function with its comment."""
        self._records = {}
        for name, type_ in function.arguments:
            if type_ in (STATE, PARAMS, SAMPLE):
                self._records.setdefault(type_, self.local(name))
        body = function.body
        declared = self._declared_in_place(body, {name for name, _ in function.arguments})
        used = {node.name for node in ir.walk(body) if isinstance(node, ir.Var)}
        used -= {node.name for node in ir.walk(body) if isinstance(node, ir.For)}
        lines = [f"/* {in_comment(function.doc)} */"] if function.doc else []
        lines += [f"{self.prototype(function)}", "{"]
        if self.target.verified:
            pointers = [self._records[k] for k in (STATE, SAMPLE) if k in self._records]
            if pointers:
                lines.append(f"    if ({' || '.join(f'!{pointer}' for pointer in pointers)})")
                lines.append("        return 0;")
        for name, type_ in function.variables.items():
            if name in used and name not in declared:
                lines.append(f"    {self.target.types[type_]} {self.local(name)} = 0;")
        written = self.block(body, 1, declared)
        if not self.target.soft:
            arguments = [self.local(name) for name, _ in function.arguments]
            used_names = set(re.findall(r"\w+", "\n".join(written)))
            lines += [f"    (void){name};" for name in arguments if name not in used_names]
        lines += written
        if self.target.verified and not _returns(body):
            lines.append("    return 0;")
        return "\n".join([*lines, "}"])

    def _declared_in_place(self, body: ir.Block, arguments: set[str]) -> dict[str, int]:
        """Variables of which the first use is an assignment outside of all blocks: name -> the
        statement's identity."""
        used = set(arguments)
        declared: dict[str, int] = {}
        for node in body:
            if isinstance(node, ir.Assign) and isinstance(node.target, ir.Var):
                name = node.target.name
                inside = {n.name for n in ir.walk(node.value) if isinstance(n, ir.Var)}
                if name not in used | inside:
                    declared[name] = id(node)
            used |= {n.name for n in ir.walk(node) if isinstance(n, ir.Var)}
        return declared

    # ------------------------------------------------------------------------- statements

    def block(self, body: ir.Block, depth: int, declared: dict[str, int]) -> list[str]:
        margin = "    " * depth
        return [
            line if not line else margin + line
            for node in body
            for line in self.statement(node, declared)
        ]

    def statement(self, node: ir.Statement, declared: dict[str, int]) -> Iterator[str]:
        match node:
            case ir.Assign(target=ir.Var(name=name)) if declared.get(name) == id(node):
                head = f"{self.target.types[node.target.type]} {self.text(node.target)}"
                yield f"{head} = {self.text(node.value)};"
            case ir.Assign():
                yield self._assignment(node)
            case ir.Do():
                yield f"{self.text(node.value)};"
            case ir.If():
                yield from self._if(node, declared)
            case ir.While():
                test = self.text(node.test) if node.test else ""
                yield from self._looped(test, node.body, declared)
            case ir.For():
                yield from self._for(node, declared)
            case ir.Leave():
                yield f"{node.word};"
            case ir.Return():
                nothing = " 0" if self.target.verified else ""
                yield f"return{nothing if node.value is None else ' ' + self.text(node.value)};"

    def _assignment(self, node: ir.Assign) -> str:
        target, value = self.text(node.target), node.value
        match value:
            case ir.Binary(op, left, right) if left == node.target and not self._soft(value):
                if op in _STEPS:
                    return f"{target} {_STEPS[op]}= {self.text(right)};"
        return f"{target} = {self.text(value)};"

    def _if(self, node: ir.If, declared: dict[str, int], word: str = "if") -> Iterator[str]:
        if not node.yes and not node.no:
            yield f"(void)({self.text(node.test)});"
            return
        if not node.yes:
            flipped = node.test.value if isinstance(node.test, ir.Not) else ir.Not(node.test)
            yield from self._if(ir.If(flipped, node.no, []), declared, word)
            return
        yield f"{word} ({self.text(node.test)}) {{"
        yield from self.block(node.yes, 1, declared)
        match node.no:
            case [ir.If() as other] if other.yes or other.no:
                yield from self._if(other, declared, "} else if")
                return
            case [_, *_]:
                yield "} else {"
                yield from self.block(node.no, 1, declared)
        yield "}"

    def _looped(self, test: str, body: ir.Block, declared: dict[str, int]) -> Iterator[str]:
        if self.target.verified:
            more = f" && ({test})" if test else ""
            yield f"for (int turns = 0; turns < LOOP_LIMIT{more}; turns++) {{"
            yield "    LOOP_OPAQUE(turns);"
        else:
            yield f"while ({test}) {{" if test else "for (;;) {"
        yield from self.block(body, 1, declared)
        yield "}"

    def _for(self, node: ir.For, declared: dict[str, int]) -> Iterator[str]:
        k = self.local(node.name)
        type_ = self.target.types[INT]
        sign = "<" if node.step > 0 else ">"
        step = {1: f"{k}++", -1: f"{k}--"}.get(node.step, f"{k} += {node.step}")
        start, stop = self.text(node.start), self.text(node.stop)
        fixed = isinstance(node.start, ir.Const) and isinstance(node.stop, ir.Const)
        if self.target.verified and not fixed:
            yield f"for ({type_} {k} = {start}, turns = 0;"
            yield f"     turns < LOOP_LIMIT && {k} {sign} {stop}; turns++, {step}) {{"
            yield "    LOOP_OPAQUE(turns);"
        else:
            yield f"for ({type_} {k} = {start}; {k} {sign} {stop}; {step}) {{"
        yield from self.block(node.body, 1, declared)
        yield "}"

    # ------------------------------------------------------------------------ expressions

    def local(self, name: str) -> str:
        """C's name of a local variable."""
        taken = _reserved(name) or name in _LIBRARY or name in self.names.values()
        return f"{name}_" if taken or name in self.constants else name

    def _soft(self, node: ir.Expression) -> bool:
        """Whether the number is a float that the target has as an integer."""
        return self.target.soft and node.type == FLOAT

    def text(self, node: ir.Argument) -> str:
        return self.expression(node)[0]

    def bound(self, node: ir.Argument, least: int) -> str:
        """The expression, in brackets if its operator binds less than `least`."""
        text, binds = self.expression(node)
        return text if binds >= least else f"({text})"

    def expression(self, node: ir.Argument) -> Text:
        match node:
            case ir.Const():
                return self._const(node)
            case ir.Var() | ir.ArrayVar():
                return self.local(node.name), PRIMARY
            case ir.Field():
                return f"{self._records[node.record]}->{member(node.name)}", PRIMARY
            case ir.ArrayField():
                return f"{self._records[STATE]}->{member(node.name)}", PRIMARY
            case ir.Record():
                return self._records[node.record], PRIMARY
            case ir.Table():
                return self._table(node)
            case ir.Element():
                return self._element(node)
            case ir.Unary():
                return self._unary(node)
            case ir.Binary():
                return self._binary(node)
            case ir.Compare():
                return self._compare(node)
            case ir.Logic():
                return self._logic(node)
            case ir.Not():
                return f"!{self.bound(node.value, PRIMARY)}", UNARY
            case ir.Select():
                test = self.bound(node.test, CHOICE + 1)
                return f"{test} ? {self.text(node.yes)} : {self.bound(node.no, CHOICE)}", CHOICE
            case ir.Cast():
                if node.type == FLOAT and self.target.soft:
                    return self._call_of("f64_from_int", node.value)
                return f"({self.target.types[node.type]}){self.bound(node.value, PRIMARY)}", UNARY
            case ir.Math():
                return self._math(node)
            case ir.Call():
                return self._call(node)

    def _call_of(self, name: str, *arguments: ir.Argument) -> Text:
        return f"{name}({', '.join(self.text(argument) for argument in arguments)})", PRIMARY

    def _needed(self, name: str, *arguments: ir.Argument) -> Text:
        """A call of one of the small functions in the text."""
        self.helpers.add(name)
        return self._call_of(self.target.small(name), *arguments)

    def _const(self, node: ir.Const) -> Text:
        if node.type == BOOL:
            return ("1" if node.value else "0"), PRIMARY
        if self._soft(node):
            name = f"{node.name} = " if node.name else ""
            return f"{bits(node.value)} /* {name}{node.value!r} */", PRIMARY
        if node.name and not math.isinf(node.value):
            return self._named(node), PRIMARY
        text = self._number(node)
        return text, UNARY if text.startswith("-") else PRIMARY

    def _number(self, node: ir.Const) -> str:
        return literal(node.value) if node.type == FLOAT else integer(int(node.value))

    def _named(self, node: ir.Const) -> str:
        text = self._number(node)
        kind = f"static const {self.target.types[node.type]} {{}} = {text};"
        return self._defined(node.name, (node.type, text), kind)

    def _defined(self, name: str, value: tuple[Any, ...], text: str) -> str:
        """The name under which a constant is defined: one name for each value."""
        plain = name.upper()
        while _reserved(plain) or self._values.get(plain, value) != value:
            plain += "_"
        self._values[plain] = value
        self.constants[plain] = text.format(plain)
        return plain

    def _table(self, node: ir.Table) -> Text:
        write: Callable[[Any], str] = integer
        if node.type.of == FLOAT:
            write = bits if self.target.soft else literal
        values = ", ".join(write(value) for value in node.values)
        kind = self.target.types[node.type.of]
        text = f"static const {kind} {{}}[{node.type.size}] = {{{{{values}}}}};"
        return self._defined(node.name, (node.type, values), text), PRIMARY

    def _element(self, node: ir.Element) -> Text:
        array = self.text(node.array)
        if node.known:
            return f"{array}[{self.text(node.index)}]", PRIMARY
        self.helpers.add("place")
        return f"{array}[place({self.text(node.index)}, {node.array.type.size})]", PRIMARY

    def _unary(self, node: ir.Unary) -> Text:
        if node.op == "invert":
            return f"~{self.bound(node.value, UNARY)}", UNARY
        if self._soft(node):
            return self._call_of("f64_neg", node.value)
        return f"-{self.bound(node.value, PRIMARY)}", UNARY

    def _binary(self, node: ir.Binary) -> Text:
        soft = self._soft(node)
        if node.op in ("floordiv", "mod"):
            if soft and node.op == "mod":
                return self._call_of("f64_mod", node.left, node.right)
            name = "floor_div" if node.op == "floordiv" else "mod"
            if node.type == INT:
                name += "_int"
            return self._needed(name, node.left, node.right)
        if soft:
            return self._call_of(f"f64_{node.op}", node.left, node.right)
        if node.op == "shl":
            u, i = self.target.types["bits"], self.target.types[INT]
            return f"({i})(({u}){self.bound(node.left, PRIMARY)} << {self.text(node.right)})", UNARY
        sign, binds = _INFIX[node.op]
        if binds in (BITS, SHIFT):
            left, right = (self.bound(side, UNARY) for side in (node.left, node.right))
        else:
            left, right = self.bound(node.left, binds), self.bound(node.right, binds + 1)
        return f"{left} {sign} {right}", binds

    def _compare(self, node: ir.Compare) -> Text:
        if self._soft(node.left):
            if node.op == "ne":
                return f"!{self._call_of('f64_eq', node.left, node.right)[0]}", UNARY
            if node.op in _SWAPPED:
                return self._call_of(f"f64_{_SWAPPED[node.op]}", node.right, node.left)
            return self._call_of(f"f64_{node.op}", node.left, node.right)
        sign, binds = _RELATIONS[node.op]
        left, right = self.bound(node.left, binds + 1), self.bound(node.right, binds + 1)
        return f"{left} {sign} {right}", binds

    def _logic(self, node: ir.Logic) -> Text:
        sign, binds = ("&&", AND) if node.op == "and" else ("||", OR)
        sides = []
        for side in (node.left, node.right):
            mixed = isinstance(side, ir.Logic) and side.op != node.op
            sides.append(f"({self.text(side)})" if mixed else self.bound(side, binds))
        return f"{sides[0]} {sign} {sides[1]}", binds

    def _math(self, node: ir.Math) -> Text:
        name, arguments = node.name, node.arguments
        whole = arguments[0].type != FLOAT
        if name in ("larger", "smaller"):
            return self._needed(f"{name}_int" if whole else name, *arguments)
        if name == "abs" and whole:
            return self._needed("abs_int", *arguments)
        if self.target.soft:
            return self._soft_math(node)
        plain = {"abs": "fabs", "round": "nearbyint"}.get(name, name)
        if node.type == INT:
            self.helpers.add("to_int")
            inner = (
                self.text(arguments[0]) if name == "trunc" else self._call_of(plain, *arguments)[0]
            )
            return f"to_int({inner})", PRIMARY
        return self._call_of(plain, *arguments)

    def _soft_math(self, node: ir.Math) -> Text:
        if node.name == "trunc":
            if node.type == INT:
                return self._call_of("f64_to_int", *node.arguments)
            return self._needed("trunc", *node.arguments)
        text, binds = self._call_of(f"f64_{node.name}", *node.arguments)
        return (f"f64_to_int({text})", PRIMARY) if node.type == INT else (text, binds)

    def _call(self, node: ir.Call) -> Text:
        arguments = list(node.arguments)
        if self.target.soft:
            arguments = [argument for argument in arguments if argument != ir.Record(PARAMS)]
        return self._call_of(self.names[node.function], *arguments)


def _returns(body: ir.Block) -> bool:
    last = body[-1] if body else None
    if isinstance(last, ir.If):
        return _returns(last.yes) and _returns(last.no)
    return isinstance(last, ir.Return)


def in_comment(text: str) -> str:
    """A text of Python as one of a comment in C."""
    return text.replace("*/", "* /").replace("``", "")
