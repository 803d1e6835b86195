"""Where machine code is kept on disk.

Numba's own cache does not notice that an imported function has changed, and finds its folder
through a setting of the whole process, which threads would have to share. Here every function is
given its folder, which is named after a hash of all source that goes into it. Processes that need
the same function at once leave it to the first of them, and take what it has made.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import filelock
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

_KEEP = 8  # folders kept: the newest ones, so that an upgrade does not fill the disk


class _Folder(_CacheLocator):
    """A folder as Numba wants to be told of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return ""  # the folder's name tells

    def get_disambiguator(self) -> str:
        return ""


class _Place(CompileResultCacheImpl):
    def __init__(self, function: Any, folder: Path) -> None:
        self._locator = _Folder(folder)
        self._filename_base = function.__name__.strip("<>")


class _Kept(FunctionCache):
    def __init__(self, function: Any, folder: Path) -> None:
        self._impl_class: Any = partial(_Place, folder=folder)
        super().__init__(function)


def _root() -> Path:
    return Path(os.environ.get("TCPCC_CACHE_DIR") or platformdirs.user_cache_dir("tcpcc"))


def _prune(root: Path) -> None:
    folders = sorted(root.glob("*-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in folders[_KEEP:]:
        shutil.rmtree(old, ignore_errors=True)


def _one_at_a_time(compile_one: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """The system unlocks for a process that ends, however it does. On a disk that cannot lock each
    compiles for itself."""

    @wraps(compile_one)
    def compile_or_take(signature: Any) -> Any:
        with ExitStack() as held:
            with suppress(OSError, NotImplementedError):
                held.enter_context(filelock.FileLock(lock))
            return compile_one(signature)

    return compile_or_take


def keep_in(folder: str, dispatcher: Any) -> Any:
    """Let `dispatcher` keep its machine code in that folder of the cache, and take it from there.

    Without a place to write it compiles anew in every process. Returns the dispatcher.
    """
    place = _root() / folder
    try:
        if not place.exists():
            place.mkdir(parents=True, exist_ok=True)
            _prune(_root())
        if os.access(place, os.W_OK):
            dispatcher._cache = _Kept(dispatcher.py_func, place)
            dispatcher.compile = _one_at_a_time(dispatcher.compile, place / "lock")
    except OSError:
        pass
    return dispatcher
