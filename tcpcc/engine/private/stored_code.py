"""The cache of machine code, in a folder for each function and in files with checksums."""

from __future__ import annotations

import hashlib
import logging
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from tcpcc.engine.announce import compiling_a_part
from tcpcc.engine.framing import digest
from tcpcc.files import whole_file

_log = logging.getLogger(__name__)


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
