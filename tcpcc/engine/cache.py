"""The cache of machine code on disk.

Numba's own cache does not notice that an imported function has changed, and its folder is a
process-wide setting that all threads share. Here every function has its own folder, named after a
hash of all source code that it uses. If several processes need the same function at once, the first
one compiles it and the others load the result. A damaged file is compiled again.

What else takes long is kept in files (`stored`).

Whoever can write these files decides what the process runs. Only the user and root may.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import filelock
import platformdirs

from tcpcc.engine.framing import digest
from tcpcc.engine.source import module_digest
from tcpcc.errors import CacheWarning, TcpccError, warn
from tcpcc.files import whole_file

_log = logging.getLogger(__name__)

_KEEP = 32  # the newest folders, and files of `stored`: an upgrade does not fill the disk


def _root() -> Path:
    return Path(os.environ.get("TCPCC_CACHE_DIR") or platformdirs.user_cache_dir("tcpcc"))


def _prune(root: Path) -> None:
    folders = sorted(root.glob("*-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in folders[_KEEP:]:
        _log.info("removed %s, of other sources", old)
        shutil.rmtree(old, ignore_errors=True)


def _serialized(compile_signature: Callable[[Any], Any], lock: Path) -> Callable[[Any], Any]:
    """Let one process at a time compile.

    The system releases the lock when a process ends, even after a crash. On a disk without locks
    every process compiles for itself.
    """

    @wraps(compile_signature)
    def compile_or_take(signature: Any) -> Any:
        with ExitStack() as locks:
            with suppress(OSError, NotImplementedError):
                locks.enter_context(filelock.FileLock(lock))
            begin = time.perf_counter()
            overload = compile_signature(signature)
            _log.debug("%s: ready after %.2f s", lock.parent, time.perf_counter() - begin)
            return overload

    return compile_or_take


def keep_in(folder: str, dispatcher: Any, prepare: Callable[[], None]) -> Any:
    """Let `dispatcher` store its machine code in `folder` of the cache and load it from there.

    `prepare` is called before a compilation. If the folder cannot be made, every process compiles
    anew, and a warning says so. Returns the dispatcher.

    Raises:
        TcpccError: others than the user and root can write in the cache.
    """
    from tcpcc.engine.private import keep  # with Numba
    from tcpcc.engine.private.without import prepare_first

    root = _root()
    place = root / folder
    try:
        is_new = not place.exists()
        _make_private(root, place.parent, place)
        if is_new:
            _prune(root)
    except OSError as error:
        _cannot_write(error)
        prepare_first(dispatcher, prepare)
        return dispatcher
    keep(dispatcher, place, prepare, partial(_serialized, lock=place / "lock"), _cannot_write)
    return dispatcher


def stored(name: str, make: Callable[[], bytes]) -> bytes:
    """What `make` returns, or what it returned when it was last called for this name.

    The `_KEEP` that were used last are kept in the folder "made". Each file begins with a checksum
    of the rest and of its name; a damaged one is made again. A cache that cannot be written gives a
    warning.

    Raises:
        TcpccError: others than the user and root can write in the cache.
    """
    folder = _root() / "made"
    file = folder / name
    try:
        _make_private(folder.parent, folder)
        if file.exists():
            checksum, _, content = file.read_bytes().partition(b"\n")
            if checksum.decode("ascii", "replace") == digest(name, content):
                with suppress(OSError):
                    file.touch()
                return content
    except OSError as error:
        _cannot_write(error)
        return make()
    content = make()
    try:
        with whole_file(file) as part:
            part.write_bytes(digest(name, content).encode() + b"\n" + content)
    except OSError as error:
        _cannot_write(error)
    with suppress(OSError):  # another process may remove them, too
        newest = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in newest[_KEEP:]:
            old.unlink(missing_ok=True)
    return content


def _make_private(*folders: Path) -> None:
    """Make these folders, and refuse those in which others can write; only POSIX systems have
    owners and modes."""
    for folder in folders:
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        if not hasattr(os, "geteuid"):
            continue
        status = folder.stat()
        if status.st_uid not in (os.geteuid(), 0):
            reason = f"belongs to another user (uid {status.st_uid})"
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            reason = f"can be written by others (mode {stat.S_IMODE(status.st_mode):o}; chmod go-w)"
        else:
            continue
        raise TcpccError(
            f"{folder}: the cache of machine code {reason}, who could run code in this process; set"
            " TCPCC_CACHE_DIR to a folder that only you can write"
        )


def _cannot_write(error: OSError) -> None:
    """Warn once in a process: what is compiled runs, but the next process compiles it again."""
    global _warned
    _log.warning("no machine code is stored: %s", error)
    if not _warned:
        _warned = True
        text = f"machine code cannot be stored, each process compiles it again: {error}"
        warn(text, CacheWarning)


_warned = False


def holds(module: str) -> bool:
    """Whether the cache has machine code of the entries of an engine's module."""
    folder = _root() / f"engine-{module_digest(module)[:16]}"
    if folder not in _filled and any(folder.rglob("*.nbi")):
        _filled.add(folder)
    return folder in _filled


_filled: set[Path] = set()  # folders that hold machine code
