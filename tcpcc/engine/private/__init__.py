"""Everything that is not part of Numba's public interface, in one folder.

======================  ===============================================  =========================
file                    private                                          why
======================  ===============================================  =========================
``parts.py``            ``codegen.JITCodeLibrary``: ``.add_ir_module``,  a function that is only a
                        ``_raise_if_finalized``, ``_finalized``,         part of others is neither
                        ``_linking_libraries``, ``_reload_init``,        optimised nor loaded:
                        ``_final_module``; ``normalize_ir_text``;        half of an engine's
                        ``CompilerBase``, ``DefaultPassBuilder``,        compile time
                        ``compiler_machinery``, ``AnnotateTypes``
``stored_code.py``      ``caching.FunctionCache``: ``_impl_class``,      a function has a folder
                        ``_load_overload``, ``_index_key``,              of its own, its files
                        ``_cache_file``, ``_impl``; ``_CacheLocator``;   have checksums; code
                        ``CompileResultCacheImpl``; ``rtsys``;           loads without SciPy
                        ``serialize.dumps``; ``Dispatcher._cache``       (0.4 s)
``symbols.py``          ``types.Record.mangling_args``                   code of several processes
                                                                         is loaded into one
``addresses.py``        ``CompileResult.library``, ``.fndesc``;          calls of compiled
                        ``BaseContext.call_conv``                        functions by address
======================  ===============================================  =========================

A version of Numba newer than `TRIED` may have changed any of it, so it is first tried on a small
function (`works`). If that fails, ``without.py`` stands in for the first two files, with Numba's
public decorators: the first run compiles longer. Nothing stands in for ``addresses.py``, which
needs the least.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

import numba
import numpy as np

from tcpcc.engine.private.addresses import call_address, function_address, llvm_module
from tcpcc.engine.private.symbols import layout

__all__ = [
    "PART",
    "call_address",
    "function_address",
    "is_inlined",
    "keep",
    "llvm_module",
    "works",
]

_log = logging.getLogger(__name__)

TRIED = (0, 68)
"""The newest version of Numba with which all tests have run."""


def works() -> bool:
    """Whether private parts of the installed Numba do what they are used for: a function with a
    part runs, is stored, is loaded, and is called by a name that tells records apart."""
    try:
        from tcpcc.engine.private.parts import PART
        from tcpcc.engine.private.stored_code import keep

        kind = np.dtype([("x", np.int64)])
        record = numba.from_dtype(kind)
        njit: Any = numba.njit
        namespace = {"_double": njit(forceinline=True, **PART)(_double), "__name__": __name__}
        compilations: list[int] = []
        with TemporaryDirectory() as folder:
            for _ in range(2):
                whole = njit(FunctionType(_double_and_one.__code__, namespace))
                keep(whole, Path(folder), lambda: compilations.append(1), lambda f: f, _fail)
                whole.compile((record,))
                (result,) = whole.overloads.values()
                right = whole(np.array([(3,)], kind)[0]) == 7
                if not right or layout(record) not in result.fndesc.llvm_func_name:
                    raise ValueError("a result is not what it should be")
        return len(compilations) == 1
    except Exception as error:  # whatever has changed
        _log.info("Numba %s differs from %s: %r", numba.__version__, TRIED, error)
        return False


def _double(x):
    return 2 * x


def _double_and_one(record):
    return _double(record.x) + 1


def _fail(error: OSError) -> None:
    raise error


if numba.version_info.short <= TRIED or works():
    from tcpcc.engine.private.parts import PART, is_inlined
    from tcpcc.engine.private.stored_code import keep
else:
    from tcpcc.engine.private.without import PART, is_inlined, keep
