"""The cache of machine code on disk.

Numba's own cache does not notice that an imported function has changed, and its folder is a
process-wide setting that all threads share. Here every function has its own folder, named after a
hash of all source code that it uses. If several processes need the same function at once, the first
one compiles it and the others load the result.
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

from tcpcc.engine.private import keep
from tcpcc.engine.source import module_digest

_KEEP = 32  # folders kept: the newest ones, so that an upgrade does not fill the disk


def _root() -> Path:
    return Path(os.environ.get("TCPCC_CACHE_DIR") or platformdirs.user_cache_dir("tcpcc"))


def _prune(root: Path) -> None:
    folders = sorted(root.glob("*-*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in folders[_KEEP:]:
        shutil.rmtree(old, ignore_errors=True)


def _one_at_a_time(compile_one: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """Let one process at a time compile.

    The system releases the lock when a process ends, even after a crash. On a disk without locks
    every process compiles for itself.
    """

    @wraps(compile_one)
    def compile_or_take(signature: Any) -> Any:
        with ExitStack() as held:
            with suppress(OSError, NotImplementedError):
                held.enter_context(filelock.FileLock(lock))
            return compile_one(signature)

    return compile_or_take


def keep_in(folder: str, dispatcher: Any, prepare: Callable[[], None]) -> Any:
    """Let `dispatcher` store its machine code in `folder` of the cache and load it from there.

    `prepare` is called before a compilation, and at once if the folder is not writable: then every
    process compiles anew. Returns the dispatcher.
    """
    place = _root() / folder
    try:
        if not place.exists():
            place.mkdir(parents=True, exist_ok=True)
            _prune(_root())
        if os.access(place, os.W_OK):
            keep(dispatcher, place, prepare, partial(_one_at_a_time, lock=place / "lock"))
            return dispatcher
    except OSError:
        pass
    prepare()
    return dispatcher


def holds(module: str) -> bool:
    """Whether the cache has machine code of the entries of an engine's module."""
    folder = _root() / f"engine-{module_digest(module)[:16]}"
    if folder not in _filled and any(folder.glob("*/*.nbi")):
        _filled.add(folder)
    return folder in _filled


_filled: set[Path] = set()  # folders that hold machine code
