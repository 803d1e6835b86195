"""A run's traced connections as JSON lines in the style of qlog.

qlog (draft-ietf-quic-qlog-main-schema) is a format for the events at an endpoint, made for QUIC and
used here for TCP. The file says qlog 0.3 and NDJSON, the last version of which qvis reads lines.
Events and fields have qlog's names; names that qlog lacks begin with "tcpcc:".
The first line is the header; each further line is one event. Times are in ms since the start of the
run, windows in bytes; `group_id` is the connection.

=============================== ==================================================================
`transport:packet_sent`         a packet, with its number and whether it is a retransmission
`transport:packet_received`     an ACK, with the packets that it acknowledges
`recovery:metrics_updated`      windows, bytes in flight and RTT after an event at the sender;
                                variables that the controller records, under their own names
`recovery:packet_lost`          a loss event
`recovery:loss_timer_updated`   the retransmission timer expired
`tcpcc:packet_delivered`        a packet reached the receiver for the first time
`tcpcc:packet_dropped`          a packet was dropped, with the link
=============================== ==================================================================
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from tcpcc.results.flow_rows import recorded_rows
from tcpcc.results.recording import EVENTS, TRACED

if TYPE_CHECKING:
    from tcpcc.results.run import Run


def write(file: IO[str], run: Run, numbers: Iterable[int]) -> int:
    """Write the connections with these numbers in `run.events`; returns the number of events."""
    chosen = set(numbers)
    head = {
        "qlog_version": "0.3",
        "qlog_format": "NDJSON",
        "title": "tcpcc",
        "trace": {
            "common_fields": {"time_format": "relative", "reference_time": 0},
            "vantage_point": {"type": "network", "name": "simulation", "flow": "server"},
            "scenario": run.data.attrs["digest"],
            "tcpcc": _facts(run, chosen),
        },
    }
    file.write(json.dumps(head) + "\n")
    count = 0
    for line in _events(run, chosen):
        file.write(json.dumps(line, allow_nan=False) + "\n")
        count += 1
    return count


def _facts(run: Run, chosen: set[int]) -> dict[str, Any]:
    """What `tcpcc.traces.read_qlog` needs besides the events."""
    attrs = run.data.attrs
    flows = {}
    rows = recorded_rows(run)
    for number in chosen:
        index = run.row_of(number)
        row = run.data.isel(flow=index)
        numbers = ("packet_size", "payload", "start", "finished", "base_rtt")
        facts: dict[str, Any] = {name: _number(float(row[name])) for name in numbers}
        facts["syn"] = int(rows[index].is_tcp and rows[index].tcp.transport.handshake)  # packets
        flows[run.connection(number)] = facts | {"controller": str(row["controller"].item())}
    return {
        **{name: attrs[name] for name in ("duration", "interval")},
        "links": [link.name for link in run.scenario.resolve().links],
        "flows": flows,
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _events(run: Run, chosen: set[int]) -> Iterator[dict[str, Any]]:
    assert run.events is not None
    names = run.events.dtype.names or ()
    recorded = [n for n in names[5:] if n not in TRACED]
    links = [link.name for link in run.scenario.resolve().links]
    rows = {number: run.row_of(number) for number in chosen}
    packet = run.data["packet_size"].values
    for event in run.events:
        number = int(event["flow"])
        if number not in chosen:
            continue
        kind, size = EVENTS[event["event"]], float(packet[rows[number]])
        name, data = _event(kind, event, size, links)
        common = {"time": 1e3 * float(event["time"]), "group_id": run.connection(number)}
        yield {**common, "name": name, "data": data}
        if not math.isnan(event["cwnd"]):
            metrics = _metrics(kind, event, size)
            metrics |= {n: float(event[n]) for n in recorded if math.isfinite(event[n])}
            yield {**common, "name": "recovery:metrics_updated", "data": metrics}


def _event(kind: str, event: Any, size: float, links: list[str]) -> tuple[str, dict[str, Any]]:
    seq = int(event["seq"])
    header = {"header": {"packet_type": "tcp", "packet_number": seq}, "raw": {"length": size}}
    if kind in ("send", "retransmit"):
        return "transport:packet_sent", header | {"is_retransmission": kind == "retransmit"}
    if kind in ("ack", "dupack"):
        ranges = [[0, seq - 1]]
        if event["sack_high"] > event["sack_low"]:
            ranges.append([int(event["sack_low"]), int(event["sack_high"]) - 1])
        frame = {"frame_type": "ack", "acked_ranges": ranges, "duplicate": kind == "dupack"}
        # a viewer expects a number in the header
        return "transport:packet_received", {"header": header["header"], "frames": [frame]}
    if kind == "loss":
        return "recovery:packet_lost", {"header": header["header"]}
    if kind == "timeout":
        timer = {"event_type": "expired", "timer_type": "rto", "packet_number": seq}
        return "recovery:loss_timer_updated", timer
    if kind == "deliver":
        return "tcpcc:packet_delivered", header
    return "tcpcc:packet_dropped", header | {"link": links[int(event["value"])]}


def _metrics(kind: str, event: Any, size: float) -> dict[str, float]:
    metrics = {
        "congestion_window": float(event["cwnd"]) * size,
        "bytes_in_flight": float(event["in_transit"]) * size,
    }
    if math.isfinite(event["ssthresh"]):
        metrics["ssthresh"] = float(event["ssthresh"]) * size
    if kind in ("ack", "dupack") and not math.isnan(event["value"]):
        metrics["latest_rtt"] = 1e3 * float(event["value"])
    return metrics
