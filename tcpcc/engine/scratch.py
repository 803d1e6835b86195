"""Arrays in a file, for sums over a run that are too large for memory."""

from __future__ import annotations

import math
import mmap
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tcpcc.errors import TcpccError

_BLOCK = 2**22  # bytes written at once


class Scratch:
    """Arrays in unnamed files, which the system removes when the process ends, even after a crash.

    Args:
        folder: the files are on the disk of this folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._maps: list[mmap.mmap] = []

    def array(self, shape: tuple[int, ...], blank: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An array of `shape` filled with the element `blank`.

        The whole file is written now, so a full disk raises an error here, not a signal later.

        Raises:
            TcpccError: not enough free space on the disk.
        """
        count = math.prod(shape)
        size = count * blank.itemsize
        if size == 0:
            return np.zeros(shape, blank.dtype)
        free = shutil.disk_usage(self._folder).free
        if size > free:
            raise TcpccError(
                f"{self._folder}: the recording needs {size / 2**30:.3g} GiB of disk;"
                f" {free / 2**30:.3g} GiB are free"
            )
        block = np.full(min(count, _BLOCK // blank.itemsize), blank).tobytes()
        with tempfile.TemporaryFile(dir=self._folder) as file:
            try:
                for begin in range(0, size, len(block)):
                    file.write(block[: size - begin])
                file.flush()
            except OSError as error:  # another program has filled the disk
                raise TcpccError(
                    f"{self._folder}: the recording needs {size / 2**30:.3g} GiB of disk:"
                    f" {error.strerror}"
                ) from None
            self._maps.append(mmap.mmap(file.fileno(), size))
        return np.frombuffer(self._maps[-1], blank.dtype).reshape(shape)

    def release(self) -> None:
        """Release the memory of pages read or written; the data stays in the files."""
        if hasattr(mmap, "MADV_DONTNEED"):  # other systems release pages when memory runs short
            for memory_map in self._maps:
                memory_map.madvise(mmap.MADV_DONTNEED)
