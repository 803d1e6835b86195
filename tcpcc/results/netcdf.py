"""A run's file: one NetCDF 4 file, there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpcc.errors import TcpccError
from tcpcc.results.recording import EVENT_DTYPE, FORMAT

if TYPE_CHECKING:
    import xarray as xr


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


def load(path: str | Path) -> tuple[xr.Dataset, NDArray[Any] | None]:
    """Read what `save` wrote, exactly, all of it into memory.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: not a saved run, or one that is damaged.
    """
    import xarray as xr

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
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


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A path to write to; the file takes its real name only if the block ends well."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent}: no such directory")
    part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
