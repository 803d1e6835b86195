"""Events of a qlog file, by connection.

Read are versions 0.3 and later, as one JSON document, as JSON text sequences and as JSON lines.

Source: draft-ietf-quic-qlog-main-schema; RFC 7464 (sequences).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from tcpcc.errors import TcpccError
from tcpcc.traces.traced import contents

Event = dict[str, Any]
Timed = list[tuple[int, float, str, Event]]
"""Place in the trace, time (ms), name after the colon, data."""

ABSOLUTE = 1e11
"""ms; times without a format are since 1970 if they are later."""


def traces_of(path: str | Path) -> Iterator[tuple[Event, Callable[[int], str]]]:
    """Each trace with its `events`, and a function from an event's place to the line to name."""
    try:
        text = contents(path).decode()
    except UnicodeDecodeError as error:
        raise TcpccError(f"{path}: not UTF-8 at byte {error.start}: not a qlog") from None
    if text.lstrip()[:1] not in ("{", "\x1e"):
        raise TcpccError(f"{path}: line 1: not a qlog: no JSON object")
    first = text.split("\n", 1)[0]
    if "\x1e" in text:
        pieces = _sequence(text)
    elif first.count("{") == first.count("}") and text.count("\n{") > 0:
        pieces = ((k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip())
    else:
        yield from _document(path, _parsed(path, 1, text))
        return
    trace: Event | None = None
    lines: list[int] = []
    for line, piece in pieces:
        record = _parsed(path, line, piece)
        if {"trace", "qlog_version", "qlog_format", "file_schema"} & record.keys():
            if trace is not None:
                yield trace, _line_of(lines)
            head = record.get("trace", {})
            trace, lines = {**head, "events": []}, []
        elif trace is None:
            raise TcpccError(f"{path}: line {line}: the first object is not a qlog header")
        else:
            trace["events"].append(record)
            lines.append(line)
    if trace is not None:
        yield trace, _line_of(lines)


def _line_of(lines: list[int]) -> Callable[[int], str]:
    return lambda place: f"line {lines[place]}"


def _sequence(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each record of RFC 7464."""
    line = 1
    for piece in text.split("\x1e"):
        if piece.strip():
            yield line, piece
        line += piece.count("\n")


def _parsed(path: str | Path, line: int, text: str) -> Event:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        short = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        cut = "; the file is cut off" if short else ""
        raise TcpccError(
            f"{path}: line {at}: not JSON: {error.msg} at column {error.colno}{cut}"
        ) from None
    if not isinstance(found, dict):
        raise TcpccError(f"{path}: line {line}: not a qlog: no JSON object")
    return found


def _document(path: str | Path, whole: Event) -> Iterator[tuple[Event, Callable[[int], str]]]:
    traces = whole.get("traces")
    if not isinstance(traces, list):
        raise TcpccError(f"{path}: not a qlog: has no list of traces")
    failed = [t["error_description"] for t in traces if "error_description" in t]
    if failed and len(failed) == len(traces):
        raise TcpccError(f"{path}: has no trace but an error: {failed[0]}")
    for number, trace in enumerate(traces):
        if isinstance(trace.get("events"), list):
            yield trace, lambda place, n=number: f"trace {n}, event {place}"  # type: ignore[misc]
        elif "error_description" not in trace:
            raise TcpccError(f"{path}: trace {number}: has no list of events")


class EventError(Exception):
    """An event that cannot be read; `place` is its place in the trace."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


def reference_time(trace: Event) -> float:
    """Reference time of a trace's relative times, ms; 0 if it gives no number."""
    told = trace.get("common_fields", {}).get("reference_time", 0.0)
    if isinstance(told, dict):
        told = told.get("wall_clock_time") or told.get("epoch", 0.0)
    if isinstance(told, str):
        try:
            return datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp() * 1e3
        except ValueError:
            return 0.0
    return float(told)


def timed_events(
    trace: Event, where: Callable[[int], str], path: str | Path
) -> tuple[dict[str, Timed], bool]:
    """The events of each connection; and whether their times are absolute."""
    common = trace.get("common_fields", {})
    form = common.get("time_format")
    delta = form in ("delta", "relative_to_previous_event")
    result: dict[str, Timed] = {}
    now, earliest = 0.0, math.inf
    for place, event in enumerate(trace["events"]):
        try:
            time, name, data = float(event["time"]), event["name"], event.get("data", {})
            group = str(event.get("group_id") or common.get("group_id") or _id(event, common))
            name = name.rpartition(":")[2].removeprefix("recovery_")
            now = now + time if delta else time
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(event, list):
                reason = "a list: qlog before 0.3 is not read"
            raise TcpccError(f"{path}: {where(place)}: not an event: {reason}") from None
        if not isinstance(data, dict) or not math.isfinite(now):
            raise TcpccError(f"{path}: {where(place)}: not an event: needs a finite time and data")
        earliest = min(earliest, now)
        result.setdefault(group, []).append((place, now, name, data))
    absolute = form == "absolute" or (form is None and earliest > ABSOLUTE)
    if absolute:
        result = {
            group: [(place, time - earliest, name, data) for place, time, name, data in events]
            for group, events in result.items()
        }
    return result, absolute


def _id(event: Event, common: Event) -> str:
    return str(event.get("ODCID") or common.get("ODCID") or "connection")
