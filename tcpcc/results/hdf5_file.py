"""A file for HDF5: a write that fails is kept in memory, and the error is raised at the end.

HDF5 crashes the process, or leaves a damaged file without an error, when the disk is full.
"""

from __future__ import annotations

import io
import os
from pathlib import Path


class UnfailingFile(io.RawIOBase):
    """A new file to read and write.

    After the first write that fails, all that is written stays in memory. The end of the ``with``
    block raises the error, with the size of the whole file as its attribute `needed`.

    Args:
        path: path of the file.

    Attributes:
        error: the first write that failed; None: none has.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self._at = 0
        self._size = 0
        self._pending: list[tuple[int, bytes]] = []
        self.error: OSError | None = None

    def __enter__(self) -> UnfailingFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        if self.error is not None:
            self.error.needed = self._size  # type: ignore[attr-defined]
            raise self.error

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def truncate(self, size: int | None = None) -> int:
        self._size = self._at if size is None else size
        if self.error is None:
            self._file.truncate(self._size)
        return self._size

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        into = memoryview(buffer).cast("B")
        count = max(min(len(into), self._size - self._at), 0)
        self._file.seek(self._at)
        content = (self._file.read(count) or b"").ljust(count, b"\0")
        into[:count] = content
        for begin, block in self._pending:
            first, last = max(begin, self._at), min(begin + len(block), self._at + count)
            if first < last:
                into[first - self._at : last - self._at] = block[first - begin : last - begin]
        self._at += count
        return count

    def write(self, block: bytes | memoryview) -> int:  # type: ignore[override]
        data = memoryview(block).cast("B")
        done = 0
        try:
            self._file.seek(self._at)
            while done < len(data) and self.error is None:
                done += self._file.write(data[done:]) or 0
        except OSError as error:
            self.error = error
        if done < len(data):
            self._pending.append((self._at + done, bytes(data[done:])))
        self._at += len(data)
        self._size = max(self._size, self._at)
        return len(data)
