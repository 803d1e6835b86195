"""Everything that is not part of Numba's public interface, in one file.

A new version of Numba may change any of it. pyproject.toml therefore has an upper bound, and
`missing` names what the installed version lacks (``tests/engine/test_private.py``).

==================================================  ================================================
private                                             why
==================================================  ================================================
``codegen.JITCodeLibrary`` with                     a function that is only a part of others is
``_raise_if_finalized``, ``_finalized``,            neither optimised nor loaded, which is most of
``_linking_libraries``, ``_reload_init``,           an engine's compile time (`PartCompiler`)
``_final_module``, ``_get_module_for_linking``,
``.add_ir_module``, ``cgutils.normalize_ir_text``
``compiler.CompilerBase``, ``DefaultPassBuilder``,  they insert that library into the compiler
``compiler_machinery``, ``AnnotateTypes``
``caching.FunctionCache`` with ``_impl_class``,     a function has its own cache folder; code loads
``_load_overload``, ``_index_key``,                 without Numba's array library and SciPy, which
``_cache_file``, ``_impl``; ``_CacheLocator``;      takes 0.4 s (`StoredCode`);
``CompileResultCacheImpl``; ``serialize.dumps``     files have checksums (`_Files`)
``runtime.nrt.rtsys``                               the runtime that loaded machine code calls
``Dispatcher._cache``, ``.compile``                 they put that cache into a dispatcher
``CompileResult.library``, ``.fndesc``              addresses of compiled functions, their LLVM code
``BaseContext.call_conv``,                          calls of functions by their addresses
``cgutils.if_unlikely``
``numba.core.errors.NumbaError``                    one-line messages for rules that do not compile
``types.Record.mangling_args``                      code of several processes is loaded into one
==================================================  ================================================
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.errors import NumbaError
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.core.typed_passes import AnnotateTypes

from tcpcc.engine.announce import compiling_a_part
from tcpcc.engine.framing import digest
from tcpcc.files import whole_file

__all__ = [
    "NumbaError",
    "PartCompiler",
    "call_address",
    "function_address",
    "keep",
    "missing",
]

_log = logging.getLogger(__name__)

USED = (
    "numba.core.caching:_CacheLocator",
    "numba.core.caching:CompileResultCacheImpl.rebuild",
    "numba.core.caching:FunctionCache._impl_class",
    "numba.core.caching:FunctionCache._load_overload",
    "numba.core.caching:CompileResultCacheImpl.reduce",
    "numba.core.caching:FunctionCache._index_key",
    "numba.core.caching:FunctionCache.load_overload",
    "numba.core.caching:FunctionCache.save_overload",
    "numba.core.cgutils:if_unlikely",
    "numba.core.cgutils:normalize_ir_text",
    "numba.core.codegen:JITCodeLibrary.add_ir_module",
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
    "numba.core.serialize:dumps",
    "numba.core.typed_passes:AnnotateTypes",
    "numba.core.types:Record.mangling_args",
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

    dispatcher: Any = numba.njit(lambda x: x + 1)
    dispatcher.compile((numba.int64,))
    (overload,) = dispatcher.overloads.values()
    for owner, names in (
        (overload.library, ("_linking_libraries", "_reload_init", "_final_module", "_finalized")),
        (overload, ("library", "fndesc", "signature")),
        (overload.fndesc, ("llvm_func_name",)),
        (dispatcher, ("_cache", "targetctx", "overloads", "signatures")),
        (dispatcher.targetctx, ("call_conv", "refresh")),
    ):
        absent += [f"{type(owner).__name__}.{name}" for name in names if not hasattr(owner, name)]
    return absent


# ----------------------------------------------------------------------- names of functions


def _in_symbols(record: Any) -> tuple[str, tuple[str]]:
    """A record's part in the symbols of functions that take it: its layout.

    Numba writes the number that this process has given to the record. Another process gives it to
    another one, so that two functions would have one symbol. If both are loaded, one gets the calls
    of the other.
    """
    return type(record).__name__, (digest(record.name)[:16],)


numba.types.Record.mangling_args = property(_in_symbols)

# ------------------------------------------------------------------ parts of other functions


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

    def check_cachable(self, compile_result: Any) -> bool:
        """Whether the code can be stored: not if it holds addresses, such as those of arrays above
        1 MB, which are not copied into it."""
        return not compile_result.lifted and not compile_result.library.has_dynamic_globals


class _Files:
    """The files of one function: a file of machine code per signature, and an index.

    The index has the checksum of each other file, and begins with its own, in which the function's
    folder and the versions of Numba and Python count. So a file that is damaged, or belongs
    elsewhere, is as good as absent.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._index = folder / f"{name}.nbi"
        of_function = (folder.parent.name, folder.name, name)
        self._belongs = (*of_function, numba.__version__, str(sys.implementation.cache_tag))

    def flush(self) -> None:
        self._write_index({})

    def load(self, key: Any) -> Any:
        """What is stored for a signature; None if it is not there, unread or damaged."""
        name, checksum = self._read_index().get(key, ("", ""))
        try:
            content = (self._folder / name).read_bytes() if name else b""
        except OSError:
            return None
        return pickle.loads(content) if _checksum(content) == checksum else None

    def save(self, key: Any, data: Any) -> None:
        """Store data for a signature, in place of a damaged file too.

        Raises:
            OSError: a file cannot be written; the message has its name and size.
        """
        entries = self._read_index()
        used = {name for name, _ in entries.values()}
        names = (f"{self._name}.{i}.nbc" for i in range(1, len(used) + 2))
        name = entries[key][0] if key in entries else next(n for n in names if n not in used)
        content = dumps(data)
        self._write(self._folder / name, content)
        self._write_index({**entries, key: (name, _checksum(content))})

    def _read_index(self) -> dict[Any, tuple[str, str]]:
        try:
            content = self._index.read_bytes()
        except OSError:
            return {}
        checksum, _, entries = content.partition(b"\n")
        right = digest(*self._belongs, entries).encode()
        return pickle.loads(entries) if checksum == right else {}

    def _write_index(self, entries: dict[Any, tuple[str, str]]) -> None:
        content = dumps(entries)
        checksum = digest(*self._belongs, content).encode()
        self._write(self._index, checksum + b"\n" + content)

    def _write(self, file: Path, content: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with whole_file(file) as part:
                part.write_bytes(content)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(f"{file}: {reason}; it takes {len(content) / 1e6:.2g} MB") from None


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class StoredCode(FunctionCache):
    """A function's machine code in `folder`; see `keep`."""

    def __init__(
        self,
        function: Any,
        folder: Path,
        prepare: Callable[[], None],
        cannot_write: Callable[[OSError], None],
    ) -> None:
        self._impl_class: Any = partial(_Place, folder=folder)
        self._prepare = prepare
        self._cannot_write = cannot_write
        super().__init__(function)
        self._cache_file = _Files(folder, self._impl.filename_base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load machine code; Numba's array library is imported only if it must be compiled."""
        rtsys.initialize(target_context)
        try:
            overload = self._load_overload(sig, target_context)
        except Exception as error:  # of other versions of packages: unpickling may raise anything
            _log.info("stored machine code is compiled again: %s", error)
            overload = None
        if overload is not None:
            return overload
        compiling_a_part()
        target_context.refresh()
        self._prepare()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store machine code, if that is possible."""
        if not self._impl.check_cachable(data):
            return
        try:
            key = self._index_key(sig, data.codegen)
            self._cache_file.save(key, self._impl.reduce(data))
        except OSError as error:
            self._cannot_write(error)


def keep(
    dispatcher: Any,
    folder: Path,
    prepare: Callable[[], None],
    serialize: Callable[[Callable[[Any], Any]], Callable[[Any], Any]],
    cannot_write: Callable[[OSError], None],
) -> None:
    """Let `dispatcher` load its machine code from `folder`, or else store it there.

    `prepare` is called before a compilation. `serialize` wraps the dispatcher's function that
    compiles or loads for a signature. `cannot_write` is called if storing fails.
    """
    dispatcher._cache = StoredCode(dispatcher.py_func, folder, prepare, cannot_write)
    dispatcher.compile = serialize(dispatcher.compile)


# ---------------------------------------------------------------------- calls by address


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
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return value
