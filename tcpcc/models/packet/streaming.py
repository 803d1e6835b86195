"""The target file of a streamed record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tcpcc.errors import ScenarioError, refuse
from tcpcc.files import check_target

if TYPE_CHECKING:
    from tcpcc.results.run import Selection


def stream_target(stream: str | Path | None, trace: bool | Selection) -> Path | None:
    """The file of a streamed run; None if the record is kept in memory.

    Raises:
        ScenarioError: `stream` is not a file name, or the run is also traced.
        OSError: the file cannot be written.
    """
    if stream is None:
        return None
    if not isinstance(stream, str | Path):
        raise refuse("stream", stream, "the name of a file")
    if trace is not None and trace is not False:
        raise ScenarioError(
            f"trace = {trace!r}: events are kept in memory; leave out either it or the stream"
        )
    check_target(stream)
    return Path(stream)
