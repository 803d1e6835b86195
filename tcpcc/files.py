"""Atomic writing of files: a file is complete or absent. Files of killed processes are removed.
The generated part of a page is between two marks."""

from __future__ import annotations

import errno
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from platform import node

from tcpcc.errors import TcpccError

_HOST = f"{zlib.crc32(node().encode()):08x}"
_PART = re.compile(r"\..*\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.part")
_cleaned: set[Path] = set()
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota, largest file of the process


class DiskFullError(OSError):
    """The disk has no room for a file; one line with the file and its size."""


@contextmanager
def whole_file(path: str | os.PathLike[str], size: int | None = None) -> Iterator[Path]:
    """A temporary path to write to; the file gets its real name only if the block succeeds.

    Args:
        path: path of the file.
        size: bytes that the file will have, for the error; None: unknown.

    Raises:
        DiskFullError: the disk has no room for the file.
        OSError: the directory does not exist or is not writable; the message names the file.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent}: no such directory")
    clean(target.parent)
    part = target.with_name(f".{target.name}.{_HOST}-{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        yield part
        os.replace(part, target)
    except OSError as error:
        if error.errno not in _FULL:
            if error.filename not in (None, str(part), part) or error.strerror is None:
                raise
            raise type(error)(f"{target}: cannot be written: {error.strerror}") from None
        written = part.stat().st_size if part.exists() else 0
        full_size = size or getattr(error, "needed", None)
        needed = _amount(full_size) if full_size else f"more than {_amount(written)}"
        part.unlink(missing_ok=True)  # its part does not count as used
        free = _amount(shutil.disk_usage(target.parent).free)
        raise DiskFullError(
            f"{target}: {error.strerror}: the file needs {needed}, {free} are free"
        ) from None
    finally:
        part.unlink(missing_ok=True)


def _amount(size: float) -> str:
    """A number of bytes for a message."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


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


def around(path: Path, marks: Sequence[str]) -> tuple[str, str]:
    """The text of a file up to the end of the first of two marks, and from the second one on.

    Raises:
        TcpccError: the file does not have each mark once.
    """
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1:
        raise TcpccError(f"{path}: must have the lines {begin!r} and {end!r} once each")
    before, _, rest = text.partition(begin)
    return before + begin, end + rest.partition(end)[2]


def write_between(path: Path, marks: Sequence[str], text: str) -> None:
    """Replace what a file has between two marks; errors as in `around`."""
    before, after = around(path, marks)
    with whole_file(path) as part:
        part.write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")


def clean(folder: Path) -> None:
    """Remove unfinished files in `folder` that ended processes of this machine have left.

    Each process does this once per folder.
    """
    folder = folder.resolve()
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    import psutil

    for part in folder.glob(".*.part"):
        match = _PART.fullmatch(part.name)
        if match and match[1] == _HOST and not psutil.pid_exists(int(match[2])):
            part.unlink(missing_ok=True)
