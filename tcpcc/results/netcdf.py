"""Files of runs: one NetCDF 4 file per run, written atomically, with a checksum at its end.

The HDF5 file is followed by a line ``tcpcc sha256 <64 hexadecimal digits>``, the hash of all
preceding bytes. Other tools ignore this line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import TcpccError
from tcpcc.files import whole_file
from tcpcc.results.hdf5_file import UnfailingFile
from tcpcc.results.recording import EVENT_DTYPE, FORMAT

if TYPE_CHECKING:
    import xarray as xr

_MARK = b"\ntcpcc sha256 "
_TRAILER = len(_MARK) + 65
_CHUNK = 2**17  # numbers per compressed chunk of a series that is written in parts


def save(path: str | Path, data: xr.Dataset, events: NDArray[Any] | None) -> None:
    """Write the record and its events as one standard NetCDF 4 file.

    The file is written atomically: it appears when it is complete.

    Raises:
        DiskFullError: the disk has no room; the message has the size of the file.
    """
    import xarray as xr

    series = [name for name, v in data.variables.items() if v.ndim == 2]
    encoding = {name: {"zlib": True, "complevel": 1, "shuffle": True} for name in series}
    groups: list[tuple[xr.Dataset, str | None, dict[Any, Any]]] = [(data, None, encoding)]
    if events is not None:
        names = events.dtype.names or ()
        fields = {n: ("event_index", events[n]) for n in names}
        groups.append((xr.Dataset(fields, attrs={"columns": " ".join(names)}), "events", {}))
    with whole_file(path) as part:
        write(part, groups)
        _seal(part)


def write(part: Path, groups: Iterable[tuple[xr.Dataset, str | None, dict[Any, Any]]]) -> None:
    """Write a NetCDF 4 file of datasets, each with the name of its group and its encoding.

    Raises:
        OSError: a write failed; its attribute `needed` is the size of the file in bytes.
    """
    with _hdf5(part) as (file, _):
        for data, group, encoding in groups:
            _add(file, data, group, encoding)


def save_parts(path: str | Path, parts: Iterable[xr.Dataset]) -> None:
    """Write a record that comes in consecutive parts in time; otherwise as `save`.

    Only one part at a time is in memory. Variables without the dimension time are those of the
    first part.

    Raises:
        DiskFullError: the disk has no room.
    """
    with whole_file(path) as part:
        ends = 0
        with _hdf5(part) as (file, sink):
            for record in parts:
                begin, ends = ends, ends + record.sizes["time"]
                if begin == 0:
                    _add(file, record, None, _in_chunks(record), ["time"])
                else:
                    file.resize_dimension("time", ends)
                    for name, variable in record.variables.items():
                        if "time" in variable.dims:
                            file.variables[name][begin:ends] = variable.values
                file.flush()
                if sink.error is not None:
                    raise sink.error
        _seal(part)


@contextmanager
def _hdf5(part: Path) -> Iterator[tuple[Any, UnfailingFile]]:
    """A new NetCDF 4 file, and the file below it."""
    import h5netcdf

    with UnfailingFile(part) as sink, h5netcdf.File(sink, "w") as file:
        yield file, sink


def _add(
    file: Any,
    data: xr.Dataset,
    group: str | None,
    encoding: dict[Any, Any],
    unlimited: list[str] | None = None,
) -> None:
    """Write a dataset as a group of an open file."""
    from xarray.backends import H5NetCDFStore

    store = H5NetCDFStore(file if group is None else file.create_group(group))
    data.dump_to_store(store, encoding=encoding, unlimited_dims=unlimited)


def _in_chunks(record: xr.Dataset) -> dict[Any, dict[str, Any]]:
    """Chunk sizes and compression of the series of a record that is written in parts."""
    encoding: dict[Any, dict[str, Any]] = {}
    for name, variable in record.variables.items():
        if "time" in variable.dims and variable.size:
            columns = variable.size // variable.shape[0]
            chunks = (max(_CHUNK // columns, 1), *variable.shape[1:])
            encoding[name] = {"chunksizes": chunks, "zlib": True, "complevel": 1, "shuffle": True}
    return encoding


def _seal(part: Path) -> None:
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with part.open("ab") as file:
        file.write(_MARK + digest.encode() + b"\n")


def load(path: str | Path, lazy: bool = False) -> tuple[xr.Dataset, NDArray[Any] | None]:
    """Read a file of `save` or `save_parts`.

    Args:
        path: path of the file.
        lazy: leave the time series in the file, to be read on access. Default: the whole file is
            read into memory.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: not a saved run, or a damaged file.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    _check_sum(Path(path))
    return read(path, lazy)


def read(path: str | Path, lazy: bool) -> tuple[xr.Dataset, NDArray[Any] | None]:
    """As `load`, without verifying the checksum."""
    import xarray as xr

    try:
        groups = xr.open_groups(path, engine="h5netcdf", decode_times=False)
        try:
            loaded = {
                name: (group if lazy and name == "/" else group.load()).drop_encoding()
                for name, group in groups.items()
            }
        finally:
            for group in groups.values():
                group.close()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise TcpccError(f"{path}: not a saved run, or damaged ({reason})") from error
    data = _left_in_the_file(path) if lazy else loaded["/"]
    if data.attrs.get("format") != FORMAT:
        raise TcpccError(f"{path}: not a saved run (it is not marked {FORMAT!r})")
    data.attrs = {k: v.item() if isinstance(v, np.generic) else v for k, v in data.attrs.items()}
    if "/events" not in loaded:
        return data, None
    columns = loaded["/events"]
    further = str(columns.attrs.get("columns", "")).split()[len(EVENT_DTYPE.names or ()) :]
    dtype = [*EVENT_DTYPE.descr, *((name, "f8") for name in further)]
    events = np.empty(columns.sizes["event_index"], np.dtype(dtype))
    for field in events.dtype.names or ():
        events[field] = columns[field].values
    return data, events


def _left_in_the_file(path: str | Path) -> xr.Dataset:
    """A record whose series are read on access and not cached."""
    import xarray as xr

    data = xr.open_dataset(path, engine="h5netcdf", decode_times=False, cache=False)
    for variable in data.variables.values():
        variable.encoding = {}  # `drop_encoding` reads the series in xarray 2024.10 to 2025.3
        if variable.dims[:1] != ("time",):
            variable.load()
    return data


def _check_sum(path: Path) -> None:
    with path.open("rb") as file:
        left = max(path.stat().st_size - _TRAILER, 0)
        digest = hashlib.sha256()
        while left and (block := file.read(min(left, 2**20))):
            digest.update(block)
            left -= len(block)
        trailer = file.read()
    if not trailer.startswith(_MARK):
        raise TcpccError(f"{path}: not a saved run, or damaged (it does not end with a checksum)")
    if trailer[len(_MARK) :] != digest.hexdigest().encode() + b"\n":
        raise TcpccError(f"{path}: not a saved run, or damaged (its checksum does not match)")
