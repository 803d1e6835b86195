"""Runs kept by a sweep: quick to write and to read, and only data.

A NetCDF file takes a quarter of a second to write or to read, more than many a simulation. A file
here takes some milliseconds. It holds a SHA-256 checksum of the rest and, compressed, the length of
a header (8 bytes), the header in JSON, and the arrays' bytes in the order of the header. Reading a
file never runs code from it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr
from numpy.typing import NDArray

from tcpcc.files import whole_file
from tcpcc.results.recording import FORMAT, VARIABLES
from tcpcc.results.run import Run

if TYPE_CHECKING:
    import xarray as xr

SUFFIX = ".run"
_DIGEST = 32
_LENGTH = 8


def put(path: Path, run: Run) -> None:
    """Keep a run; the file is there whole or not at all."""
    arrays = [variable.values for variable in run.data.variables.values()]
    if run.events is not None:
        arrays.append(run.events)
    header = {
        "attrs": run.data.attrs,
        "coords": [str(name) for name in run.data.coords],
        "variables": [
            {"name": name, "dims": variable.dims, "attrs": variable.attrs, **_form(array)}
            for (name, variable), array in zip(run.data.variables.items(), arrays, strict=False)
        ],
        "events": None if run.events is None else _form(run.events),
    }
    text = json.dumps(header).encode()
    parts = [len(text).to_bytes(_LENGTH, "big"), text, *(array.tobytes() for array in arrays)]
    packed = zlib.compress(b"".join(parts), 1)
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


def _form(array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype.hasobject:
        raise TypeError(f"an array of {array.dtype} cannot be kept as bytes")
    return {"dtype": dtype_to_descr(array.dtype), "shape": array.shape}


def _unpacked(content: bytes) -> Run:
    """The run in these bytes; any exception if they are none."""
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "big")
    header = json.loads(content[_LENGTH:start])
    if header["attrs"]["format"] != FORMAT:
        raise ValueError("not a run of this version")
    bytes_left = memoryview(content)[start:]

    def next_array(form: dict[str, Any]) -> NDArray[Any]:
        nonlocal bytes_left
        described = form["dtype"]
        if isinstance(described, list):  # JSON has no tuples
            described = [tuple(field) for field in described]
        dtype = descr_to_dtype(described)
        size = int(np.prod(form["shape"], dtype=int)) * dtype.itemsize
        array = np.frombuffer(bytes_left[:size], dtype).reshape(form["shape"]).copy()
        bytes_left = bytes_left[size:]
        return array

    variables = {
        form["name"]: (tuple(form["dims"]), next_array(form), form["attrs"])
        for form in header["variables"]
    }
    events = None if header["events"] is None else next_array(header["events"])
    if len(bytes_left) or not VARIABLES.keys() <= variables.keys():
        raise ValueError("not all of a run, or more than a run")
    return Run(_dataset(variables, header["coords"], header["attrs"]), events)


def _dataset(variables: dict[str, Any], coords: list[str], attrs: dict[str, Any]) -> xr.Dataset:
    import xarray as xr

    series = {name: variable for name, variable in variables.items() if name not in coords}
    return xr.Dataset(series, {name: variables[name] for name in coords}, attrs)
