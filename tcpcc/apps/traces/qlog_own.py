"""A connection in a qlog file that `Run.to_qlog` wrote."""

from __future__ import annotations

import math

import numpy as np

from tcpcc.apps.traces.connection import Connection, Kind, events_of
from tcpcc.apps.traces.qlog_events import Event, EventError, Timed
from tcpcc.results.recording import TRACED


def own_connection(name: str, events: Timed, header: Event) -> Connection:
    """The connection as the run had it; see `tcpcc.results.qlog`."""
    facts = header["flows"][name]
    size = facts["packet_size"]
    rows: list[Event] = []
    for place, time, kind, data in events:
        try:
            if kind == "metrics_updated":
                rows[-1] |= _own_metrics(data, size, rows[-1])
            else:
                rows.append({"time": time / 1e3} | _own_event(kind, data, header["links"]))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise EventError(place, f"{kind}: {reason}") from None
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = {key: [row.get(key, math.nan) for row in rows] for key in names}
    columns["seq"] = [row.get("seq", 0) for row in rows]
    fixed = {"time", "flow", "event", "seq", "value"}
    table = events_of(columns, [n for n in names if n not in fixed and n not in TRACED])
    times = table["time"]
    acks = np.isin(table["event"], (Kind.ACK, Kind.DUPACK))
    return Connection(
        name,
        table,
        np.where((table["event"] == Kind.DELIVER) & (table["seq"] < facts["syn"]), 0.0, 1.0),
        {
            "cwnd": (times, table["cwnd"]),
            "ssthresh": (times, table["ssthresh"]),
            "in_transit": (times, table["in_transit"]),
            "rtt": (times[acks], table["value"][acks]),
        },
        size,
        facts["payload"],
        delivered_by=(Kind.DELIVER,),
        controller=facts["controller"],
        start=facts["start"],
        finished=facts["finished"] if facts["finished"] is not None else math.nan,
        base_rtt=facts["base_rtt"] if facts["base_rtt"] is not None else math.nan,
    )


def _own_event(kind: str, data: Event, links: list[str]) -> Event:
    """The fields of a run's event, without those of `metrics_updated`."""
    if kind == "packet_received":
        frame = data["frames"][0]
        (_, last), *blocks = frame["acked_ranges"]
        low, high = (blocks[0][0], blocks[0][1] + 1) if blocks else (math.nan, math.nan)
        return {
            "event": Kind.DUPACK if frame["duplicate"] else Kind.ACK, "seq": last + 1,
            "sack_low": low, "sack_high": high,
        }  # fmt: skip
    if kind == "loss_timer_updated":
        return {"event": Kind.TIMEOUT, "seq": data.get("packet_number", 0)}
    row = {"seq": data["header"]["packet_number"]}
    if kind == "packet_sent":
        return row | {"event": Kind.RETRANSMIT if data["is_retransmission"] else Kind.SEND}
    if kind == "packet_dropped":
        return row | {"event": Kind.DROP, "value": links.index(data["link"])}
    return row | {"event": {"packet_lost": Kind.LOSS, "packet_delivered": Kind.DELIVER}[kind]}


def _own_metrics(data: Event, size: float, row: Event) -> Event:
    """The fields of `metrics_updated` after the event `row`."""
    cwnd = data["congestion_window"] / size
    standard = ("congestion_window", "bytes_in_flight", "ssthresh", "latest_rtt")
    metrics = {
        "cwnd": cwnd,
        "in_transit": data["bytes_in_flight"] / size,
        "ssthresh": data["ssthresh"] / size if "ssthresh" in data else math.inf,
        **{name: value for name, value in data.items() if name not in standard},
    }
    if row["event"] not in (Kind.ACK, Kind.DUPACK):
        metrics["value"] = cwnd
    elif "latest_rtt" in data:
        metrics["value"] = data["latest_rtt"] / 1e3
    return metrics
