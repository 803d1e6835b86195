"""Samples of TCP_INFO: `ss -tin` with times, a table of the kernel's fields, or iperf3's JSON.

``ss`` is called again and again, with the time on a line of its own or before each line::

    while sleep 0.02; do date +%s.%N; ss -tinH dst 192.0.2.1; done > samples.txt

A CSV file has the columns `time` (s) and fields of struct tcp_info by their names in linux/tcp.h,
with or without ``tcpi_``, in the struct's units (`rtt` in us, `snd_cwnd` in packets). A column
`flow` names the connection.

``iperf3 -J`` and ``--json-stream`` report each stream every second, or as ``-i`` says. With
``--get-server-output`` `delivered` are the bytes that the server received. Without it they are
those that the sender gave to the kernel, which may hold some MB of them.

The samples give `cwnd`, `ssthresh`, `rtt` (the kernel's smoothed RTT), `in_transit`, and from
counters `delivered`, `sent` and `retransmitted`. A counter between two samples is interpolated.

Source: linux/tcp.h, struct tcp_info; ss(8).
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from tcpcc.apps.traces.connection import Connection, contents, events_of, run_of
from tcpcc.apps.traces.guard import guarded
from tcpcc.errors import TcpccError, positive
from tcpcc.results import Run

FIELDS = (
    "rtt", "min_rtt", "snd_cwnd", "snd_ssthresh", "snd_mss", "pmtu", "unacked", "delivered",
    "bytes_acked", "data_segs_out", "total_retrans", "bytes_retrans",
)  # fmt: skip
"""Fields of struct tcp_info that are read."""

SS = {
    "rtt": ("rtt", 1e3), "minrtt": ("min_rtt", 1e3), "cwnd": ("snd_cwnd", 1.0),
    "ssthresh": ("snd_ssthresh", 1.0), "mss": ("snd_mss", 1.0), "pmtu": ("pmtu", 1.0),
    "unacked": ("unacked", 1.0), "delivered": ("delivered", 1.0),
    "bytes_acked": ("bytes_acked", 1.0), "data_segs_out": ("data_segs_out", 1.0),
    "bytes_retrans": ("bytes_retrans", 1.0),
}  # fmt: skip
"""Name of `ss` -> field, and its unit in the struct's units (ss prints ms)."""

ZERO = ("total_retrans", "bytes_retrans", "unacked")  # ss leaves these out while they are 0
FLAGS = ("ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "send")  # words of ss
UNLIMITED = 2**31 - 1  # of snd_ssthresh: TCP_INFINITE_SSTHRESH
HOST = r"(?:\*|[\d.]+|[\da-fA-F]*:[\da-fA-F:.]*|\[[\da-fA-F:.%\w-]*\])(?:%[\w-]+)?"
ADDRESS = re.compile(HOST + r":(?:\d+|\*)")
VALUES = re.compile(r"\b([a-z_]+):([\d.]+)(?:/([\d.]+))?")
ALWAYS_MISSING = {
    "dropped": "TCP_INFO does not count drops; see retransmissions",
    "timeouts": "TCP_INFO does not count timeouts",
    "loss_events": "TCP_INFO does not count loss events",
}

Samples = dict[str, list[dict[str, Any]]]
"""Connection -> samples with `time` (s), `controller` and fields."""


@guarded
def read_tcp_info(
    path: str | Path,
    *,
    rate: float | str | None = None,
    interval: float | str | None = None,
    packet_size: float | None = None,
    controller: str = "unknown",
) -> Run:
    """Read samples of TCP_INFO at a sender, from ``ss -tin``, ``iperf3 -J`` or CSV, as a run.

    Args:
        path: the file; may be compressed with gzip. `tcpcc.apps.traces.from_tcp_info` describes it.
        rate: rate of the bottleneck, bit/s, for `utilization`. Default: the run has no link.
        interval: width of the bins, s. Default: a round number, so that there are at least 500.
        packet_size: bytes of a full packet with its IP header. Default: the path's MTU.
        controller: name of the congestion control. Default: the name that `ss` prints.

    Raises:
        FileNotFoundError: no such file.
        TcpccError: a file of another kind, or a line that cannot be read.
        ScenarioError: an invalid argument.
    """
    if packet_size is not None:
        positive("packet_size", packet_size, "byte")
    try:
        text = contents(path).decode()
    except UnicodeDecodeError as error:
        raise TcpccError(f"{path}: not UTF-8 at byte {error.start}: not samples") from None
    first = text.partition("\n")[0]
    if text.lstrip()[:1] == "{":
        samples = _iperf3(path, text)
    else:
        samples = _table(path, text) if "," in first and "time" in first else _ss(path, text)
    begin = min((rows[0]["time"] for rows in samples.values()), default=0.0)
    flows = [
        _connection(path, name, rows, begin, packet_size, controller)
        for name, rows in samples.items()
        if len(rows) > 1 and any("snd_cwnd" in row for row in rows)
    ]
    if not flows:
        raise TcpccError(f"{path}: no connection has two samples with a window")
    return run_of(flows, path=path, kind="tcp_info", rate=rate, interval=interval)


def _table(path: str | Path, text: str) -> Samples:
    reader = csv.DictReader(io.StringIO(text))
    names = {name: name.strip().removeprefix("tcpi_") for name in reader.fieldnames or ()}
    if "time" not in names.values() or "snd_cwnd" not in names.values():
        raise TcpccError(f"{path}: line 1: needs the columns time and snd_cwnd (struct tcp_info)")
    samples: Samples = {}
    for row in reader:
        place = f"{path}: line {reader.line_num}"
        if None in row or None in row.values():
            raise TcpccError(f"{place}: has another number of columns than line 1")
        sample: dict[str, Any] = {}
        for column, name in names.items():
            if name in ("time", *FIELDS) and row[column].strip():
                try:
                    sample[name] = float(row[column])
                except ValueError:
                    raise TcpccError(
                        f"{place}: {name} = {row[column]!r}: must be a number"
                    ) from None
        _add(place, samples, row.get("flow") or "connection", sample)
    return samples


def is_iperf3(path: str | Path) -> bool:
    """Whether a JSON file is one of iperf3, not a qlog."""
    text = contents(path)
    return b'"intervals"' in text or (b'"interval"' in text and b'"snd_cwnd"' in text)


def _iperf3(path: str | Path, text: str) -> Samples:
    """Samples at the ends of iperf3's intervals; those that ``-O`` omits are left out."""
    whole = _iperf3_json(path, text)
    start, intervals, end = (whole.get(key) or {} for key in ("start", "intervals", "end"))
    server = whole.get("server_output_json")
    try:
        ends = {
            connection["socket"]: f"{connection['local_host']}:{connection['local_port']}"
            f">{connection['remote_host']}:{connection['remote_port']}"
            for connection in start.get("connected", ())
        }
        sockets = list(ends)
        received = _received(server, sockets) if isinstance(server, dict) else {}
        size = start.get("tcp_mss") or start.get("tcp_mss_default")
        samples: Samples = {}
        so_far: dict[Any, list[float]] = {}
        for interval in intervals:
            for stream in interval["streams"]:
                socket = stream["socket"]
                if stream.get("omitted") or "snd_cwnd" not in stream:
                    continue
                counts = so_far.setdefault(socket, [0.0, 0.0])
                counts[0] += float(stream["bytes"])
                counts[1] += float(stream.get("retransmits", 0))
                time, unit = float(stream["end"]), float(size or stream.get("snd_mss") or 1448)
                bytes_acked = counts[0]
                if socket in received:
                    bytes_acked = float(np.interp(time, *received[socket]))
                sample: dict[str, Any] = {
                    "time": time,
                    "snd_cwnd": float(stream["snd_cwnd"]) / unit,
                    "snd_mss": unit,
                    "bytes_acked": bytes_acked,
                    "total_retrans": counts[1],
                    **{k: float(stream[k]) for k in ("rtt", "pmtu") if stream.get(k)},
                }
                if "sender_tcp_congestion" in end:
                    sample["controller"] = str(end["sender_tcp_congestion"])
                name = ends.get(socket, f"socket {socket}")
                if name not in samples:
                    begin = {"time": float(stream["start"]), "bytes_acked": 0.0}
                    _add(f"{path}: {name}", samples, name, begin | {"total_retrans": 0.0})
                _add(f"{path}: {name}", samples, name, sample)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise TcpccError(f"{path}: damaged JSON of iperf3: {reason}") from None
    if not samples:
        raise TcpccError(
            f"{path}: no stream has snd_cwnd: it was made at the receiver, or is of UDP"
        )
    return samples


def _iperf3_json(path: str | Path, text: str) -> dict[str, Any]:
    """The one document of ``iperf3 -J``, also from the lines of ``--json-stream``."""
    try:
        try:
            whole = json.loads(text)
        except json.JSONDecodeError:
            lines = [json.loads(line) for line in text.splitlines() if line.strip()]
            parts = {record["event"]: record["data"] for record in lines}
            whole = parts | {
                "intervals": [record["data"] for record in lines if record["event"] == "interval"]
            }
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise TcpccError(f"{path}: not JSON of iperf3: {error}") from None
    if "error" in whole and not whole.get("intervals"):
        raise TcpccError(f"{path}: iperf3 failed: {whole['error']}")
    if not isinstance(whole.get("intervals"), list):
        raise TcpccError(f"{path}: not JSON of iperf3: has no list of intervals")
    return dict(whole)


def _received(
    server: dict[str, Any], sockets: list[Any]
) -> dict[Any, tuple[list[float], list[float]]]:
    """Times, and the bytes that the server received up to them, by the client's sockets."""
    server_sockets = [
        connection["socket"] for connection in (server.get("start") or {}).get("connected", ())
    ]
    client_socket = dict(zip(server_sockets, sockets, strict=False))
    result: dict[Any, tuple[list[float], list[float]]] = {}
    for interval in server.get("intervals") or ():
        for stream in interval["streams"]:
            if not stream.get("omitted") and stream["socket"] in client_socket:
                times, amounts = result.setdefault(client_socket[stream["socket"]], ([0.0], [0.0]))
                times.append(float(stream["end"]))
                amounts.append(amounts[-1] + float(stream["bytes"]))
    return result


def _ss(path: str | Path, text: str) -> Samples:
    samples: Samples = {}
    now, name = math.nan, ""
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}: line {number}"
        head, _, rest = line.partition(" ")
        time = _time(head)
        if time is not None:
            now, line = time, rest
        words = line.split()
        if not words or words[0] in ("State", "Recv-Q"):
            continue
        ends = [word for word in words if ADDRESS.fullmatch(word)][:2]
        at = words.index(ends[0]) if ends else 0
        if len(ends) == 2 and words[at + 1 : at + 2] == ends[1:] and at <= 3:
            name = f"{ends[0]}>{ends[1]}"
        values = {key: (value, more) for key, value, more in VALUES.findall(line)}
        if "cwnd" in values or "rtt" in values:
            if not name:
                raise TcpccError(f"{place}: values before the addresses of a connection")
            if math.isnan(now):
                raise TcpccError(f"{place}: no time before it: see tcpcc.apps.traces.from_tcp_info")
            _add(place, samples, name, {"time": now, **_sample(line, values)})
        elif len(ends) != 2:
            raise TcpccError(
                f"{place}: neither a time nor output of ss -tin: {line.strip()[:40]!r}"
            )
    return samples


def _sample(line: str, values: dict[str, tuple[str, str]]) -> dict[str, Any]:
    sample: dict[str, Any] = dict.fromkeys(ZERO, 0.0)
    for key, (name, scale) in SS.items():
        if key in values:
            sample[name] = float(values[key][0]) * scale
    sample["total_retrans"] = float(values.get("retrans", ("0", "0"))[1] or 0)
    names = [w for w in line.split() if w.isidentifier() and w.islower() and w not in FLAGS]
    if names:
        sample["controller"] = names[0]
    return sample


def _time(word: str) -> float | None:
    """A time: s, or an ISO 8601 date; None if the word is neither."""
    with suppress(ValueError):
        return float(word)
    with suppress(ValueError):
        return datetime.fromisoformat(word).timestamp() if len(word) > 10 else None
    return None


def _add(place: str, samples: Samples, name: str, sample: dict[str, Any]) -> None:
    rows = samples.setdefault(name, [])
    if not math.isfinite(sample.get("time", math.nan)):
        raise TcpccError(f"{place}: time: must be a number")
    if rows and sample["time"] <= rows[-1]["time"]:
        raise TcpccError(f"{place}: time = {sample['time']:.17g}: not later than the sample before")
    rows.append(sample)


def _connection(
    path: str | Path, name: str, rows: list[dict[str, Any]], begin: float,
    packet_size: float | None, controller: str,
) -> Connection:  # fmt: skip
    columns = {key: np.array([row.get(key, math.nan) for row in rows]) for key in FIELDS}
    times = np.array([row["time"] for row in rows]) - begin
    present = {key: column for key, column in columns.items() if np.isfinite(column).any()}
    payload = float(np.nanmax(present["snd_mss"])) if "snd_mss" in present else math.nan
    if packet_size is None and "pmtu" in present:
        packet_size = float(np.nanmax(present["pmtu"]))
    missing = dict(ALWAYS_MISSING)
    if packet_size is None:
        missing["packet_size"] = "TCP_INFO has no pmtu: give packet_size="
    if math.isnan(payload):
        missing["payload"] = "TCP_INFO has no snd_mss"
    counters: dict[str, Any] = {}
    for variable, field in (
        ("delivered", "delivered"),
        ("sent", "data_segs_out"),
        ("retransmitted", "total_retrans"),
    ):
        if field in present:
            counters[variable] = times, present[field]
        else:
            missing[variable] = f"the samples have no {field}"
    if "delivered" not in counters and "bytes_acked" in present and payload > 0:
        counters["delivered"] = times, present["bytes_acked"] / payload
        del missing["delivered"]
    threshold = columns["snd_ssthresh"]
    windows = {
        "cwnd": columns["snd_cwnd"],
        "ssthresh": np.where(threshold >= UNLIMITED, math.inf, threshold),
        "in_transit": columns["unacked"],
        "rtt": np.where(columns["rtt"] > 0, columns["rtt"] / 1e6, math.nan),  # 0: no sample yet
    }
    for variable in ("ssthresh", "rtt"):
        if np.isnan(windows[variable]).all():
            missing[variable] = f"the samples have no {variable}"
    if controller == "unknown":
        controller = next((row["controller"] for row in rows if "controller" in row), controller)
    return Connection(
        name,
        events_of({"time": []}),
        np.zeros(0),
        {variable: (times, values) for variable, values in windows.items()},
        packet_size or math.nan,
        payload,
        missing=missing,
        controller=controller,
        start=float(times[0]),
        base_rtt=float(np.nanmin(present["min_rtt"])) / 1e6 if "min_rtt" in present else math.nan,
        counters=counters,
    )
