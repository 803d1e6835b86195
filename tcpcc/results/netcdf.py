"""A run's file: one NetCDF 4 file, there whole or not at all, with a checksum at its end.

After the last byte of the HDF5 file stands a line ``tcpcc sha256 <64 hexadecimal digits>``, the
hash of all before it. Other tools do not see it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import TcpccError
from tcpcc.files import whole_file
from tcpcc.results.recording import EVENT_DTYPE, FORMAT

if TYPE_CHECKING:
    import xarray as xr

_MARK = b"\ntcpcc sha256 "
_TRAILER = len(_MARK) + 65


def save(path: str | Path, data: xr.Dataset, events: NDArray[Any] | None) -> None:
    """Write the record and its events as one NetCDF 4 file, readable by any tool for these.

    The file appears under its name when it is complete, or not at all.
    """
    import xarray as xr

    series = [name for name, v in data.variables.items() if v.ndim == 2]
    encoding = {name: {"zlib": True, "complevel": 1, "shuffle": True} for name in series}
    with whole_file(path) as part:
        data.to_netcdf(part, engine="h5netcdf", encoding=encoding)
        if events is not None:
            names = events.dtype.names or ()
            fields = {n: ("event_index", events[n]) for n in names}
            attrs = {"columns": " ".join(names)}
            xr.Dataset(fields, attrs=attrs).to_netcdf(
                part, engine="h5netcdf", group="events", mode="a"
            )
        digest = hashlib.sha256(part.read_bytes()).hexdigest()
        with part.open("ab") as file:
            file.write(_MARK + digest.encode() + b"\n")


def load(path: str | Path) -> tuple[xr.Dataset, NDArray[Any] | None]:
    """Read what `save` wrote, exactly, all of it into memory.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: not a saved run, or one that is damaged.
    """
    import xarray as xr

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    _check_sum(Path(path))
    try:
        groups = xr.open_groups(path, engine="h5netcdf", decode_times=False)
        try:
            loaded = {name: group.load().drop_encoding() for name, group in groups.items()}
        finally:
            for group in groups.values():
                group.close()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise TcpccError(f"{path}: not a saved run, or damaged ({reason})") from error
    data = loaded["/"]
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


def _check_sum(path: Path) -> None:
    content = path.read_bytes()
    body, trailer = content[:-_TRAILER], content[-_TRAILER:]
    if not trailer.startswith(_MARK):
        raise TcpccError(f"{path}: not a saved run, or damaged (it does not end in a checksum)")
    if trailer[len(_MARK) :] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise TcpccError(f"{path}: not a saved run, or damaged (its checksum is another one)")
