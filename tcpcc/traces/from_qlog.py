"""Files of qlog: QUIC stacks' traces, and those that `Run.to_qlog` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tcpcc.errors import TcpccError, positive
from tcpcc.results import Run
from tcpcc.traces.qlog_events import EventError, reference_time, timed_events, traces_of
from tcpcc.traces.qlog_own import own_connection
from tcpcc.traces.qlog_quic import quic_connection
from tcpcc.traces.traced import Traced, run_of


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
    found: list[Traced] = []
    attrs: dict[str, Any] = {}
    traces = list(traces_of(path))
    begin = min((reference_time(trace) for trace, _ in traces), default=0.0)
    for trace, where in traces:
        own = trace.get("tcpcc")
        timed, absolute = timed_events(trace, where, path)
        offset = 0.0 if absolute else reference_time(trace) - begin
        for name, events in timed.items():
            made: Traced | None
            try:
                if own is not None:
                    attrs = {k: own[k] for k in ("duration", "interval")}
                    made = own_connection(name, events, own)
                else:
                    made = quic_connection(name, events, offset, packet_size, controller)
            except EventError as error:
                raise TcpccError(f"{path}: {where(error.place)}: {error}") from None
            except (KeyError, TypeError) as error:
                if own is None:
                    raise
                raise TcpccError(f"{path}: line 1: damaged header: lacks {error}") from None
            if made is not None:
                found.append(made)
    if attrs and interval is None:
        interval = attrs["interval"]
    return run_of(
        found, path=path, kind="qlog", rate=rate, interval=interval,
        duration=attrs.get("duration"),
    )  # fmt: skip
