"""Files that are there whole or not at all; what a killed process left is removed."""

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
    """A path to write to; the file takes its real name only if the block ends well.

    Raises:
        OSError: there is no such directory, or it cannot be written to.
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
    """Find out before any work that a file can be written.

    Raises:
        OSError: it cannot; one line says why.
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
    """Remove the unfinished files of processes of this machine that are no more.

    Once per process and folder.
    """
    folder = folder.resolve()
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    for part in folder.glob(".*.part"):
        found = _PART.fullmatch(part.name)
        if found and found[1] == _HOST and not psutil.pid_exists(int(found[2])):
            part.unlink(missing_ok=True)
