"""Functions that are compiled into their callers only: no machine code of their own.

Numba makes every function ready to run: optimised, turned into machine code, loaded. For a function
that exists to be put into others that work is thrown away, and it is most of the time that an
engine takes to compile. Here such a function stays as LLVM's intermediate code, which its callers
link and optimise as a whole.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes


class _Part(JITCodeLibrary):
    """The code of a function and of what it calls, neither optimised nor loaded."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null: nothing here can be run."""
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """The environment is for code that runs Python objects: there is none."""


@register_pass(mutates_CFG=False, analysis_only=False)
class _StayPart(LoweringPass):
    _name = "stay_part"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


class PartCompiler(CompilerBase):
    """Numba's compiler for functions that are only compiled into others."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_StayPart, AnnotateTypes)
        passes.finalize()
        return [passes]
