"""WebAssembly: compiled entries and rules as modules that a browser runs.

LLVM emits the code that Numba has optimised for this machine again, for wasm32. There is no linker:
what a module holds is one LLVM module, and an object file of one module is itself a valid module of
WebAssembly. It imports its memory, its function table, its stack pointer and what it lacks of
mathematics.

An engine calls rules by their places in the table, so that engine and rules are two modules: LLVM
takes ten times as long for an engine, which all pages share. The data of an object file begin at
address 0 and its functions at place 1. The module of rules therefore begins with zeros, and with
functions that do nothing, where the engine's will be. It comes first (`Room`).

The code is that of the native engine. Its results have the same bits, except those of `pow`, `exp`
and the like, which each system's library rounds differently (:mod:`tcpcc.engine.elementary`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from numba import types

from tcpcc.engine import elementary
from tcpcc.engine.cache import stored
from tcpcc.engine.framing import digest
from tcpcc.engine.machine import rule_at
from tcpcc.engine.private import llvm_module
from tcpcc.engine.source import module_digest
from tcpcc.errors import TcpccError

TARGET = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory,+nontrapping-fptoint,+sign-ext"


class Room(NamedTuple):
    """Where a module's data and functions are.

    Attributes:
        first: place in the table of its first function.
        begin, end: addresses of its data.
    """

    first: int
    begin: int
    end: int


ENGINE = Room(1, 0, 2**16)
RULES = Room(8, ENGINE.end, 2**19)
"""A page's stack is above these data."""

ROOTS = "tcpcc.roots"
"""The first data in a module's room: the place of each function in the table, 32 bits."""

PAD = "tcpcc.pad"
"""Zeros from address 0 to a module's room."""

IMPORTED = b"fmod"
"""The function that a browser has with C's bits, as its operator %."""

_HEADER = b"\0asm\1\0\0\0"
_CUSTOM, _IMPORTS, _ELEMENTS, _DATA = 0, 2, 9, 11
"""Kinds of sections: names and relocations, which only a linker reads; what a module lacks; what it
puts into the table and into the memory."""

_FUNCTION_IMPORT = re.compile(rb"\x03env.(\w+)\x00", re.DOTALL)
_OF_THIS_MACHINE = re.compile(r"^(?:target (?:triple|datalayout)|source_filename).*$", re.MULTILINE)
_COUNTED = re.compile(
    r"^define [^\n]*@NRT_(?:in|de)cref\([^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL
)
_LIBRARY = """
declare double @llvm.sqrt.f64(double)
define double @sqrt(double %x) {
  %root = call double @llvm.sqrt.f64(double %x)
  ret double %root
}
"""
# Arrays inside records have no owner, so that counting references to it does nothing.
_UNCOUNTED = """
define void @NRT_incref(ptr %owner) {
  ret void
}
define void @NRT_decref(ptr %owner) {
  ret void
}
"""


_TYPES = {int: types.int64, float: types.float64}
_Function = tuple[Any, tuple[Any, ...]]  # a dispatcher and a signature


def engine_module(entries: Sequence[tuple[Any, tuple[type, ...]]]) -> bytes:
    """A module with these functions, from place 1 on.

    Args:
        entries: engine entries (`jit.entry`), each with the types of its arguments, `int` or
            `float`.

    Raises:
        TcpccError: this LLVM has no WebAssembly.
    """
    assert len(entries) < RULES.first
    return _kept([(entry, tuple(_TYPES[t] for t in takes)) for entry, takes in entries], ENGINE)


def rules_module(addresses: Sequence[int]) -> bytes:
    """A module with these functions, from place `RULES.first` on; the engine's must come after it.

    Args:
        addresses: those of compiled rules (`jit.rule_address`).

    Raises:
        TcpccError: a rule calls a function that no module has, the rules' constants are too large,
            or this LLVM has no WebAssembly.
    """
    return _kept([(rule, rule.signatures[0]) for rule in map(rule_at, addresses)], RULES)


def _kept(functions: Sequence[_Function], room: Room) -> bytes:
    """The module, which is emitted once and kept in the cache."""
    target()  # refuses at once
    parts = [f"{function.folder} {signature}" for function, signature in functions]
    versions = (numba.__version__, repr(llvm.llvm_version_info), module_digest(__name__))
    name = digest(*parts, repr(room), *versions)
    places = room.first - 1 + len(functions)
    return stored(f"{name[:32]}.wasm", lambda: _emitted(_linked(functions, room), room, places))


def _linked(functions: Sequence[_Function], room: Room) -> str:
    """The functions and the mathematics as one module, in LLVM's language."""
    whole = llvm.parse_assembly("")
    roots = [f"tcpcc.root{k}" for k in range(len(functions))]
    for root, entry in zip(roots, functions, strict=True):
        _link(whole, entry, root)
    maths = {name: f"tcpcc.{name}" for name in elementary.FUNCTIONS}
    for name, (function, takes) in elementary.FUNCTIONS.items():
        _link(whole, (function, (types.float64,) * takes), maths[name])
    return _text(str(whole), roots, maths, room)


def _link(whole: Any, function: _Function, new_name: str) -> None:
    """Add a function, and what it calls."""
    name, part = llvm_module(_overload(*function))
    root = part.get_function(name)
    root.name, root.linkage = new_name, "weak_odr"  # an internal one is left out when linked
    whole.link_in(part)


def _emitted(text: str, room: Room, functions: int) -> bytes:
    """The module of this LLVM code, whose functions have places up to `functions`."""
    machine = target()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TARGET, str(machine.target_data)
    exported = {PAD, ROOTS, "sqrt", *elementary.FUNCTIONS}
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration:
            value.linkage = "external" if value.name in exported else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    sections = _sections(machine.emit_object(module))
    _check(dict(sections), room, functions)
    return _HEADER + b"".join(section for kind, section in sections if kind != _CUSTOM)


def _check(sections: dict[int, bytes], room: Room, functions: int) -> None:
    """Check what a module lacks, and that functions and data are where they should be."""
    for name in _FUNCTION_IMPORT.findall(sections[_IMPORTS]):
        if name != IMPORTED:
            raise TcpccError(f"a rule calls {name.decode()}, which WebAssembly does not have")
    data = _data(sections[_DATA])
    if len(data) > room.end:
        size, most = len(data) - room.begin, room.end - room.begin
        raise TcpccError(f"constants of compiled code take {size} bytes; a page has {most}")
    places = struct.pack(f"<{functions}i", *range(1, functions + 1))
    if not data.startswith(places, room.begin) or _elements(sections[_ELEMENTS]) != functions:
        raise TcpccError("functions of compiled code are not where a page looks for them")


def _overload(function: Any, signature: tuple[Any, ...]) -> Any:
    if signature not in function.overloads:
        function.compile(signature)
    return function.overloads[signature]


@cache
def target() -> Any:
    """The machine for which LLVM emits code.

    Raises:
        TcpccError: this LLVM has no WebAssembly.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        llvm_target = llvm.Target.from_triple(TARGET)
    except RuntimeError:
        raise TcpccError("this llvmlite cannot emit WebAssembly; its wheels on PyPI can") from None
    return llvm_target.create_target_machine(opt=3, features=FEATURES)


def _text(text: str, roots: Sequence[str], maths: dict[str, str], room: Room) -> str:
    """LLVM code for any machine, with the table of functions first and the mathematics by name."""
    text = _OF_THIS_MACHINE.sub("", text).replace("= common ", "= weak ")
    defined = re.compile(rf"^declare double @(?:sqrt|{'|'.join(maths)})[(]", re.MULTILINE)
    text = defined.sub(r"; \g<0>", text)
    if _COUNTED.search(text):
        text = _COUNTED.sub("", text) + _UNCOUNTED
    before = [f"tcpcc.before{k}" for k in range(1, room.first)]
    table = ", ".join(f'ptr @"{name}"' for name in (*before, *roots))
    head = f'@"{PAD}" = constant [{room.begin} x i8] zeroinitializer\n' if room.begin else ""
    head += f'@"{ROOTS}" = constant [{len(before) + len(roots)} x ptr] [{table}]\n'
    head += "".join(f'define void @"{name}"() {{\n  ret void\n}}\n' for name in before)
    return head + text + _LIBRARY + "".join(_wrapper(name, inner) for name, inner in maths.items())


def _wrapper(name: str, inner: str) -> str:
    """A function of C's library that calls a compiled one, which returns through a pointer."""
    takes = elementary.FUNCTIONS[name][1]
    arguments = ", ".join(f"double %x{k}" for k in range(takes))
    return (
        f"\ndefine double @{name}({arguments}) {{\n"
        "  %value = alloca double\n  %raised = alloca ptr\n"
        f'  call i32 @"{inner}"(ptr %value, ptr %raised, {arguments})\n'
        "  %result = load double, ptr %value\n  ret double %result\n}\n"
    )


def _sections(code: bytes) -> list[tuple[int, bytes]]:
    """The kind and the bytes of each section of a module."""
    sections, at = [], len(_HEADER)
    while at < len(code):
        begin = at
        size, at = _number(code, at + 1)
        at += size
        sections.append((code[begin], code[begin:at]))
    return sections


def _data(section: bytes) -> bytes:
    """Memory from address 0 on, from the section of data."""
    _, at = _number(section, 1)
    parts, at = _number(section, at)
    memory = bytearray()
    for _ in range(parts):
        begin, at = _number(section, at + 2)  # after its kind and "constant"
        size, at = _number(section, at + 1)  # after "end"
        memory += bytes(begin - len(memory)) + section[at : at + size]
        at += size
    return bytes(memory)


def _elements(section: bytes) -> int:
    """How many functions there are in the table."""
    _, at = _number(section, 1)
    return _number(section, at + 5)[0]  # after "one part", its kind, "constant", 1, "end"


def _number(code: bytes, at: int) -> tuple[int, int]:
    """A number (LEB128), and where the next one is."""
    value = shift = 0
    while True:
        value |= (code[at] & 127) << shift
        shift += 7
        at += 1
        if code[at - 1] < 128:
            return value, at
