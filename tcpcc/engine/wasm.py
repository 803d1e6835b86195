"""WebAssembly: compiled entries and rules as one module that a browser runs.

LLVM emits the code that Numba has optimised for this machine again, for wasm32. There is no linker:
everything is one LLVM module, and an object file of one module is itself a valid module of
WebAssembly. It imports its memory, its function table, its stack pointer and what it lacks of
mathematics.

The code is that of the native engine. Its results have the same bits, except those of `pow`, `exp`
and the like, which each system's library rounds differently (:mod:`tcpcc.engine.elementary`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
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

ROOTS = "tcpcc.roots"
"""The first data of the module, at address 0: the place of each function in the table, 32 bits."""

IMPORTED = b"fmod"
"""The function that a browser has with C's bits, as its operator %."""

_HEADER = b"\0asm\1\0\0\0"
_CUSTOM, _IMPORTS = 0, 2
"""Kinds of sections: names and relocations, which only a linker reads, and what a module lacks."""

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


def build(entries: Sequence[tuple[Any, tuple[type, ...]]], rules: Sequence[int]) -> bytes:
    """A module with these functions, in this order at `ROOTS`.

    Args:
        entries: engine entries (`jit.entry`), each with the types of its arguments, `int` or
            `float`.
        rules: addresses of compiled rules (`jit.rule_address`).

    Raises:
        TcpccError: a rule calls a function that no module has, or this LLVM has no WebAssembly.
    """
    target()  # refuses at once
    made = [_overload(entry, tuple(_TYPES[t] for t in takes)) for entry, takes in entries]
    made += [rule_at(address) for address in rules]
    maths = {
        name: _overload(function, (types.float64,) * takes)
        for name, (function, takes) in elementary.FUNCTIONS.items()
    }
    parts = [llvm_module(one) for one in (*made, *maths.values())]
    names = [name for name, _ in parts]
    for name, part in parts:
        part.get_function(name).linkage = "weak_odr"  # or else it is left out when linked
    whole = parts[0][1]
    for _, part in parts[1:]:
        whole.link_in(part)
    roots, inner = names[: len(made)], dict(zip(maths, names[len(made) :], strict=True))
    text = _text(str(whole), roots, inner)
    name = digest(text, module_digest(__name__), repr(llvm.llvm_version_info))
    return stored(f"{name[:32]}.wasm", lambda: _emitted(text))


def _emitted(text: str) -> bytes:
    """The module of this LLVM code."""
    machine = target()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = TARGET, str(machine.target_data)
    kept = {ROOTS, "sqrt", *elementary.FUNCTIONS}
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration:
            value.linkage = "external" if value.name in kept else "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    sections = _sections(machine.emit_object(module))
    for name in _FUNCTION_IMPORT.findall(dict(sections)[_IMPORTS]):
        if name != IMPORTED:
            raise TcpccError(f"a rule calls {name.decode()}, which WebAssembly does not have")
    return _HEADER + b"".join(section for kind, section in sections if kind != _CUSTOM)


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
        found = llvm.Target.from_triple(TARGET)
    except RuntimeError:
        raise TcpccError("this llvmlite cannot emit WebAssembly; its wheels on PyPI can") from None
    return found.create_target_machine(opt=3, features=FEATURES)


def _text(text: str, roots: Sequence[str], maths: dict[str, str]) -> str:
    """LLVM code for any machine, with the table of functions first and the mathematics by name."""
    text = _OF_THIS_MACHINE.sub("", text).replace("= common ", "= weak ")
    defined = re.compile(rf"^declare double @(?:sqrt|{'|'.join(maths)})[(]", re.MULTILINE)
    text = defined.sub(r"; \g<0>", text)
    if _COUNTED.search(text):
        text = _COUNTED.sub("", text) + _UNCOUNTED
    table = ", ".join(f'ptr @"{name}"' for name in roots)
    head = f'@"{ROOTS}" = constant [{len(roots)} x ptr] [{table}]\n'
    return head + text + _LIBRARY + "".join(_wrapper(name, inner) for name, inner in maths.items())


def _wrapper(name: str, inner: str) -> str:
    """A function of C's library that calls a compiled one, which returns through a pointer."""
    takes = elementary.FUNCTIONS[name][1]
    given = ", ".join(f"double %x{k}" for k in range(takes))
    return (
        f"\ndefine double @{name}({given}) {{\n"
        "  %value = alloca double\n  %raised = alloca ptr\n"
        f'  call i32 @"{inner}"(ptr %value, ptr %raised, {given})\n'
        "  %result = load double, ptr %value\n  ret double %result\n}\n"
    )


def _sections(code: bytes) -> list[tuple[int, bytes]]:
    """The kind and the bytes of each section of a module."""
    found, at = [], len(_HEADER)
    while at < len(code):
        begin, size, shift = at, 0, 0
        at += 1
        while True:  # LEB128
            size |= (code[at] & 127) << shift
            shift += 7
            at += 1
            if code[at - 1] < 128:
                break
        at += size
        found.append((code[begin], code[begin:at]))
    return found
