"""Runs kept by a sweep: quick to write and to read, with a checksum, for this machine's own use.

A NetCDF file takes a quarter of a second to write or to read, more than many a simulation. Here a
run is its pickle, packed: some milliseconds. Read no file that came from somebody else.
"""

from __future__ import annotations

import hashlib
import pickle
import zlib
from pathlib import Path

from tcpcc.files import whole_file
from tcpcc.results.run import Run

SUFFIX = ".run"
_DIGEST = 32


def put(path: Path, run: Run) -> None:
    """Keep a run; the file is there whole or not at all."""
    packed = zlib.compress(pickle.dumps(run, protocol=5), 1)
    with whole_file(path) as part:
        part.write_bytes(hashlib.sha256(packed).digest() + packed)


def take(path: Path) -> Run | None:
    """The run kept there; None if there is none, or one that is damaged or of another version."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    packed = content[_DIGEST:]
    if hashlib.sha256(packed).digest() != content[:_DIGEST]:
        return None
    try:
        found = pickle.loads(zlib.decompress(packed))
    except Exception:  # whatever another version of a library makes of it
        return None
    return found if isinstance(found, Run) else None
