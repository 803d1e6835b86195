"""Everything that is not part of Numba's public interface, in one file.

A new version of Numba may change any of it. pyproject.toml therefore has an upper bound, and
`missing` names what the installed version lacks (``tests/engine/test_private.py``).

==================================================  ================================================
private                                             why
==================================================  ================================================
``codegen.JITCodeLibrary`` with                     a function that is only a part of others is
``_raise_if_finalized``, ``_finalized``,            neither optimised nor loaded, which is most of
``_linking_libraries``, ``_reload_init``,           an engine's compile time (`PartCompiler`)
``_final_module``, ``_get_module_for_linking``
``compiler.CompilerBase``, ``DefaultPassBuilder``,  they insert that library into the compiler
``compiler_machinery``, ``AnnotateTypes``
``caching.FunctionCache`` with ``_impl_class``,     each function has a cache folder of its own, and
``_load_overload``; ``CompileResultCacheImpl``;     machine code loads without Numba's array library
``_CacheLocator``                                   and SciPy, which takes 0.4 s (`Kept`)
``runtime.nrt.rtsys``                               the runtime that loaded machine code calls
``Dispatcher._cache``, ``.compile``                 they put that cache into a dispatcher
``CompileResult.library``, ``.fndesc``              addresses of compiled functions
``BaseContext.call_conv``,                          calls of functions by their addresses
``cgutils.if_unlikely``
``numba.core.errors.NumbaError``                    one-line messages for rules that do not compile
==================================================  ================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.errors import NumbaError
from numba.core.runtime import rtsys
from numba.core.typed_passes import AnnotateTypes

from tcpcc.engine.announce import compiling_a_part

__all__ = [
    "NumbaError",
    "PartCompiler",
    "call_address",
    "function_address",
    "keep",
    "missing",
]

USED = (
    "numba.core.caching:_CacheLocator",
    "numba.core.caching:CompileResultCacheImpl.rebuild",
    "numba.core.caching:FunctionCache._impl_class",
    "numba.core.caching:FunctionCache._load_overload",
    "numba.core.caching:FunctionCache._guard_against_spurious_io_errors",
    "numba.core.caching:FunctionCache.load_overload",
    "numba.core.cgutils:if_unlikely",
    "numba.core.codegen:JITCodeLibrary._get_module_for_linking",
    "numba.core.codegen:JITCodeLibrary._raise_if_finalized",
    "numba.core.codegen:JITCodeLibrary.finalize",
    "numba.core.codegen:JITCodeLibrary.get_pointer_to_function",
    "numba.core.compiler:CompilerBase.define_pipelines",
    "numba.core.compiler:DefaultPassBuilder.define_nopython_pipeline",
    "numba.core.compiler_machinery:LoweringPass",
    "numba.core.dispatcher:Dispatcher.compile",
    "numba.core.dispatcher:Dispatcher.enable_caching",
    "numba.core.errors:NumbaError",
    "numba.core.runtime.nrt:rtsys.initialize",
    "numba.core.typed_passes:AnnotateTypes",
)
"""Private names by "module:name"; `missing` looks them up."""


def missing() -> list[str]:
    """The names of `USED` that the installed Numba lacks, and attributes that its objects lack."""
    absent = []
    for used in USED:
        module, _, name = used.partition(":")
        try:
            value: Any = import_module(module)
            for part in name.split("."):
                value = getattr(value, part)
        except (ImportError, AttributeError):
            absent.append(used)
    import numba

    dispatcher: Any = numba.njit(lambda x: x + 1)
    dispatcher.compile((numba.int64,))
    (made,) = dispatcher.overloads.values()
    for owner, names in (
        (made.library, ("_linking_libraries", "_reload_init", "_final_module", "_finalized")),
        (made, ("library", "fndesc", "signature")),
        (made.fndesc, ("llvm_func_name",)),
        (dispatcher, ("_cache", "targetctx", "overloads", "signatures")),
        (dispatcher.targetctx, ("call_conv", "refresh")),
    ):
        absent += [f"{type(owner).__name__}.{name}" for name in names if not hasattr(owner, name)]
    return absent


# ------------------------------------------------------------------ parts of other functions


class _Part(JITCodeLibrary):
    """The code of a function and of the functions that it calls, as LLVM's intermediate code.

    Numba makes every function ready to run: it optimises the function, emits machine code and loads
    it. For a function that is only used inside others this work is wasted. Its callers link and
    optimise it as a whole.
    """

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


# ---------------------------------------------------------------------- the cache on disk


class _Folder(_CacheLocator):
    """A cache folder in the form that Numba expects."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return ""  # the folder's name contains the hash of the source

    def get_disambiguator(self) -> str:
        return ""


class _Place(CompileResultCacheImpl):
    def __init__(self, function: Any, folder: Path) -> None:
        self._locator = _Folder(folder)
        self._filename_base = function.__name__.strip("<>")


class Kept(FunctionCache):
    """A function's machine code in `folder`; `prepare` is called before a compilation."""

    def __init__(self, function: Any, folder: Path, prepare: Callable[[], None]) -> None:
        self._impl_class: Any = partial(_Place, folder=folder)
        self._prepare = prepare
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load machine code; Numba's array library is imported only if it must be compiled."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is not None:
                return found
        compiling_a_part()
        target_context.refresh()
        self._prepare()
        return None


def keep(
    dispatcher: Any,
    folder: Path,
    prepare: Callable[[], None],
    compile_one: Callable[[Callable[[Any], Any]], Callable[[Any], Any]],
) -> None:
    """Let `dispatcher` load its machine code from `folder`, or else store it there.

    `prepare` is called before a compilation. `compile_one` wraps the dispatcher's function that
    compiles or loads for a signature.
    """
    dispatcher._cache = Kept(dispatcher.py_func, folder, prepare)
    dispatcher.compile = compile_one(dispatcher.compile)


# ---------------------------------------------------------------------- calls by address


def function_address(compile_result: Any) -> int:
    """Address of a compiled function, to be called in Numba's calling convention."""
    name = compile_result.fndesc.llvm_func_name
    return compile_result.library.get_pointer_to_function(name)


def call_address(
    context: Any, builder: Any, address: Any, result: Any, takes: Sequence[Any], values: Any
) -> Any:
    """Emit a call of the function at `address`; its exceptions propagate. Returns its value."""
    convention = context.call_conv
    kind = convention.get_function_type(result, takes)
    function = builder.inttoptr(address, kind.as_pointer())
    status, value = convention.call_function(builder, function, result, takes, values)
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return value
