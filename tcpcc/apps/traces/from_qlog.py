"""Files of qlog: QUIC stacks' traces, and those that `Run.to_qlog` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tcpcc.apps.traces.connection import Connection, Unread, run_of
from tcpcc.apps.traces.guard import guarded
from tcpcc.apps.traces.qlog_events import EventError, connections_of, offsets, traces_of
from tcpcc.apps.traces.qlog_own import own_connection
from tcpcc.apps.traces.qlog_quic import quic_connection
from tcpcc.errors import TcpccError, positive
from tcpcc.results import Run


@guarded
def read_qlog(
    path: str | Path,
    *,
    rate: float | str | None = None,
    interval: float | str | None = None,
    packet_size: float | None = None,
    controller: str = "unknown",
) -> Run:
    """Read a trace of a QUIC stack, or one of `Run.to_qlog`, as a run.

    Each connection is a flow: each trace of the file, and in it each `group_id`. A trace describes
    the end where it was made: at a sender `delivered` counts packets when they are acknowledged. A
    file of `Run.to_qlog` gives the numbers of its run, without its links.

    All versions since draft-00 are read. An event that cannot be read is left out; a warning and
    the attribute ``unread`` of `run.data` count them. A file that is cut off is read up to there.

    Args:
        path: a file with one JSON document, JSON text sequences (.sqlog) or JSON lines; may be
            compressed with gzip.
        rate: rate of the bottleneck, bit/s, for `utilization`. Default: the run has no link.
        interval: width of the bins, s. Default: that of the run which wrote the file, or a round
            number, so that there are at least 500.
        packet_size: bytes of a full packet. Default: the longest in the trace.
        controller: name of the congestion control, which qlog does not contain.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: a damaged file, or one without a connection.
        ScenarioError: an invalid argument.
    """
    if packet_size is not None:
        positive("packet_size", packet_size, "byte")
    flows: list[Connection] = []
    attrs: dict[str, Any] = {}
    unread = Unread()
    traces = list(traces_of(path, unread))
    connections = [connections_of(trace, unread) for trace in traces]
    shifts = offsets([origin for _, origin in connections])
    for trace, (timed, _), offset in zip(traces, connections, shifts, strict=True):
        own = trace.head.get("tcpcc")
        for name, events in timed.items():
            flow: Connection | None
            try:
                if own is not None:
                    attrs = {k: own[k] for k in ("duration", "interval")}
                    flow = own_connection(name, events, own)
                else:
                    flow = quic_connection(
                        name, events, offset, packet_size, controller,
                        unit=trace.unit, where=trace.where, unread=unread,
                    )  # fmt: skip
            except EventError as error:
                raise TcpccError(f"{path}: {trace.where(error.place)}: {error}") from None
            except (KeyError, TypeError) as error:
                if own is None:
                    raise
                raise TcpccError(f"{path}: line 1: damaged header: lacks {error}") from None
            if flow is not None:
                flows.append(flow)
    if attrs and interval is None:
        interval = attrs["interval"]
    return run_of(
        flows, path=path, kind="qlog", rate=rate, interval=interval,
        duration=attrs.get("duration"), unread=unread,
    )  # fmt: skip
