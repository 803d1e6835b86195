"""Calls of compiled functions by their addresses, and their LLVM code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def function_address(compile_result: Any) -> int:
    """Address of a compiled function, to be called in Numba's calling convention."""
    name = compile_result.fndesc.llvm_func_name
    return compile_result.library.get_pointer_to_function(name)


def llvm_module(compile_result: Any) -> tuple[str, Any]:
    """Name of a compiled function, and a copy of the LLVM module that it is in."""
    module = compile_result.library._get_module_for_linking().clone()
    return compile_result.fndesc.llvm_func_name, module


def call_address(
    context: Any, builder: Any, address: Any, result: Any, takes: Sequence[Any], values: Any
) -> Any:
    """Emit a call of the function at `address`; its exceptions propagate. Returns its value."""
    convention = context.call_conv
    kind = convention.get_function_type(result, takes)
    function = builder.inttoptr(address, kind.as_pointer())
    status, value = convention.call_function(builder, function, result, takes, values)
    with builder.if_then(status.is_error, likely=False):
        convention.return_status_propagate(builder, status)
    return value
