"""Runs kept by a sweep: quick to write and to read, and only data.

A NetCDF file takes a quarter of a second to write or to read, more than many a simulation. A file
here takes some milliseconds. It holds a SHA-256 checksum of the rest and, compressed, the length of
a header (8 bytes), the header in JSON, and the arrays in NumPy's format, in the order of the
header. Reading a file never runs code from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from pathlib import Path

import numpy as np

from tcpcc.files import whole_file
from tcpcc.results.recording import FORMAT, VARIABLES
from tcpcc.results.run import Run

SUFFIX = ".run"
_DIGEST = 32
_LENGTH = 8


def put(path: Path, run: Run) -> None:
    """Keep a run; the file is there whole or not at all."""
    variables = run.data.variables
    header = {
        "attrs": run.data.attrs,
        "coords": [str(name) for name in run.data.coords],
        "variables": [(name, v.dims, v.attrs) for name, v in variables.items()],
        "events": run.events is not None,
    }
    text = json.dumps(header, default=np.ndarray.tolist).encode()  # attributes may be arrays
    content = io.BytesIO()
    content.write(len(text).to_bytes(_LENGTH, "big") + text)
    arrays = [variable.values for variable in variables.values()]
    for array in arrays if run.events is None else [*arrays, run.events]:
        np.save(content, array, allow_pickle=False)
    packed = zlib.compress(content.getbuffer(), 1)
    with whole_file(path, _DIGEST + len(packed)) as part:
        part.write_bytes(hashlib.sha256(packed).digest() + packed)


def take(path: Path) -> Run | None:
    """The run kept there, or None if the file is absent, damaged or not a kept run."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    packed = memoryview(content)[_DIGEST:]
    if hashlib.sha256(packed).digest() != content[:_DIGEST]:
        return None
    try:
        return _unpacked(zlib.decompress(packed))
    except Exception:  # the checksum is right, but somebody else wrote the file
        return None


def _unpacked(content: bytes) -> Run:
    """The run in these bytes; any exception if they are none."""
    import xarray as xr

    file = io.BytesIO(content)
    header = json.loads(file.read(int.from_bytes(file.read(_LENGTH), "big")))
    if header["attrs"]["format"] != FORMAT:
        raise ValueError("not a run of this version")
    series = {
        name: (tuple(dims), np.load(file, allow_pickle=False), attrs)
        for name, dims, attrs in header["variables"]
    }
    events = np.load(file, allow_pickle=False) if header["events"] else None
    if file.read(1) or not VARIABLES.keys() <= series.keys():
        raise ValueError("not all of a run, or more than a run")
    coords = {name: series.pop(name) for name in header["coords"]}
    return Run(xr.Dataset(series, coords, header["attrs"]), events)
