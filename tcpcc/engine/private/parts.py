"""A compiler for functions that are only parts of others, which is most of an engine's code."""

from __future__ import annotations

import re
from typing import Any

from llvmlite import binding as llvm
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes

_NO_EXCEPTION = re.compile(r'^ *store [^=\n]*\* null, [^=\n]* %"excinfo[.0-9]*"\n', re.MULTILINE)


class _Part(JITCodeLibrary):
    """The code of a function and of the functions that it calls, as LLVM's intermediate code.

    Numba makes every function ready to run: it optimises the function, emits machine code and loads
    it. For a function that is only used inside others this work is wasted. Its callers link and
    optimise it as a whole.
    """

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module without the zeros that are stored where a call would put an exception:
        nothing reads them, but an inlined function would store them for each of its calls."""
        text = _NO_EXCEPTION.sub("", cgutils.normalize_ir_text(str(ir_module)))
        module = llvm.parse_assembly(text)
        module.name = ir_module.name
        self.add_llvm_module(module)

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: the code cannot be run."""
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the environment is for code that runs Python objects."""


@register_pass(mutates_CFG=False, analysis_only=False)
class _StayPart(LoweringPass):
    _name = "stay_part"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class PartCompiler(CompilerBase):
    """Numba's compiler for functions that are only parts of others."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_StayPart, AnnotateTypes)
        passes.finalize()
        return [passes]


PART = {"pipeline_class": PartCompiler}
"""Options of the decorator `numba.njit` for such a function."""


def is_inlined(function: Any) -> bool:
    """Whether a function of an engine is inlined into its callers."""
    return not hasattr(function, "not_inlined")
