"""Atomic writing of files: a file is complete or absent. Files of killed processes are removed."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from platform import node

import psutil

_HOST = f"{zlib.crc32(node().encode()):08x}"
_PART = re.compile(r"\..*\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.part")
_cleaned: set[Path] = set()


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to; the file gets its real name only if the block succeeds.

    Raises:
        OSError: the directory does not exist or is not writable.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent}: no such directory")
    clean(target.parent)
    part = target.with_name(f".{target.name}.{_HOST}-{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def check_target(path: str | os.PathLike[str]) -> None:
    """Check before any work that a file can be written.

    Raises:
        OSError: the file cannot be written; the message is one line with the reason.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target}: is a directory")
    part = target.with_name(f".{target.name}.{_HOST}-{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        part.touch()
    except OSError as error:
        raise type(error)(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def clean(folder: Path) -> None:
    """Remove unfinished files in `folder` that ended processes of this machine have left.

    Each process does this once per folder.
    """
    folder = folder.resolve()
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    for part in folder.glob(".*.part"):
        found = _PART.fullmatch(part.name)
        if found and found[1] == _HOST and not psutil.pid_exists(int(found[2])):
            part.unlink(missing_ok=True)
