"""Readers of trace files end in one line whatever the file contains, and within limits."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

import numpy as np

from tcpcc.engine.memory import memory_left
from tcpcc.errors import TcpccError
from tcpcc.results import Run

Rest = ParamSpec("Rest")

PART_OF_MEMORY = 1 / 8
"""Of the free memory that a file may take; its events take several times that."""

_BLOCK = 2**20  # bytes unpacked at once


def guarded(
    reader: Callable[Concatenate[str | Path, Rest], Run],
) -> Callable[Concatenate[str | Path, Rest], Run]:
    """A reader whose errors are one line, and that refuses files too large for the memory."""

    @wraps(reader)
    def read(path: str | Path, *args: Rest.args, **options: Rest.kwargs) -> Run:
        check_size(path, PART_OF_MEMORY * memory_left())
        try:
            with np.errstate(all="ignore"):
                return reader(path, *args, **options)
        except (TcpccError, OSError):
            raise
        except RecursionError:
            raise TcpccError(f"{path}: damaged: brackets are nested too deeply") from None
        except MemoryError:
            raise TcpccError(f"{path}: its events do not fit into the memory") from None
        except Exception as error:
            reason = " ".join(str(error).split())[:120] or "no reason given"
            raise TcpccError(f"{path}: damaged: {type(error).__name__}: {reason}") from error

    return read


def check_size(path: str | Path, most: float) -> None:
    """Refuse a file of more than `most` bytes, unpacked if it is compressed with gzip.

    A gzip file is unpacked block by block: a small one may contain terabytes.

    Raises:
        TcpccError: it is larger.
    """
    if not Path(path).is_file():
        return  # the reader says so
    size = 0
    with Path(path).open("rb") as file:
        data = file.read(_BLOCK)
        if not data.startswith(b"\x1f\x8b"):
            size = Path(path).stat().st_size
        else:
            member = zlib.decompressobj(wbits=31)
            while data and size <= most:
                try:
                    size += len(member.decompress(data, _BLOCK))
                except zlib.error:
                    return  # the reader says so
                data = member.unconsumed_tail
                if member.eof:  # a file may have several members
                    data, member = member.unused_data, zlib.decompressobj(wbits=31)
                data = data or file.read(_BLOCK)
    if size > most:
        raise TcpccError(
            f"{path}: has more than {most / 2**30:.3g} GiB unpacked, an eighth of the free memory:"
            " read a part of it"
        )
