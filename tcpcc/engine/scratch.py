"""Arrays that live in a file, for what a run adds up and memory should not have to hold."""

from __future__ import annotations

import math
import mmap
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tcpcc.errors import TcpccError

_BLOCK = 2**22  # bytes that are written at once


class Scratch:
    """Arrays in files without a name, which go when the process does, however it ends.

    Args:
        folder: on whose disk they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def array(self, shape: tuple[int, ...], blank: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An array of `shape` that is `blank`, one element, everywhere.

        All of it is written at once, so that a disk without room is found now and not by a signal.

        Raises:
            TcpccError: there is no room for it.
        """
        count = math.prod(shape)
        size = count * blank.itemsize
        if size == 0:
            return np.zeros(shape, blank.dtype)
        free = shutil.disk_usage(self._folder).free
        if size > free:
            raise TcpccError(
                f"{self._folder}: the recording takes {size / 2**30:.3g} GiB of disk;"
                f" {free / 2**30:.3g} GiB are free"
            )
        block = np.full(min(count, _BLOCK // blank.itemsize), blank).tobytes()
        with tempfile.TemporaryFile(dir=self._folder) as file:
            for begin in range(0, size, len(block)):
                file.write(block[: size - begin])
            file.flush()
            self._maps.append(mmap.mmap(file.fileno(), size))
        return np.frombuffer(self._maps[-1], blank.dtype).reshape(shape)

    def release(self) -> None:
        """Give back the memory of what has been read and written; it stays in the files."""
        if hasattr(mmap, "MADV_DONTNEED"):  # elsewhere the system does so when it runs short
            for each in self._maps:
                each.madvise(mmap.MADV_DONTNEED)
