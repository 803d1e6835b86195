"""Events of a qlog file, by connection.

Read are all versions since draft-00, as one JSON document, as JSON text sequences and as JSON
lines. Up to draft-01 events are lists, whose columns `event_fields` names. An event that cannot be
read is left out and counted in `Unread`; a file that is cut off at its end is read up to there.

Source: draft-ietf-quic-qlog-main-schema; draft-marx-qlog-main-schema-00, -01; RFC 7464 (sequences).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tcpcc.apps.traces.connection import Unread, contents
from tcpcc.errors import TcpccError

Event = dict[str, Any]
Timed = list[tuple[int, float, str, Event]]
"""Place in the trace, time (ms), name after the colon, data."""

ABSOLUTE = 1e11
"""ms; times are taken to be since 1970 if they are later, whatever their format."""

COLUMNS = {  # of draft-00 and draft-01 -> key of a later event, time format
    "relative_time": ("time", "relative"), "delta_time": ("time", "delta"),
    "time": ("time", "absolute"), "event": ("name", ""), "event_type": ("name", ""),
    "type": ("name", ""), "name": ("name", ""), "data": ("data", ""), "group_id": ("group_id", ""),
}  # fmt: skip

UNITS = {"ms": 1.0, "us": 1e-3, "ns": 1e-6, "s": 1e3}
"""Names in `time_units` -> ms."""

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


@dataclass
class Trace:
    """A trace of a file.

    Attributes:
        head: the trace without its events.
        events: as in the file.
        where: an event's place in `events` -> its place in the file, for messages.
    """

    head: Event
    events: list[Any]
    where: Callable[[int], str]

    @property
    def common(self) -> Event:
        return _table(self.head.get("common_fields"))

    @property
    def unit(self) -> float:
        """ms in a unit of time of the trace; RTTs have the same unit."""
        unit = str(_table(self.head.get("configuration")).get("time_units", "ms")).lower()
        return UNITS.get(unit, 1.0)


def _table(value: Any) -> Event:
    return value if isinstance(value, dict) else {}


def traces_of(path: str | Path, unread: Unread) -> Iterator[Trace]:
    """Each trace of the file; what cannot be read is told to `unread`."""
    try:
        errors = "ignore" if unread.cut else "strict"
        text = contents(path, unread).decode("utf-8-sig", errors)
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
        yield from _document(path, text, unread)
        return
    trace: Trace | None = None
    lines: list[int] = []
    last: tuple[int, str] | None = None
    for line, piece in pieces:
        if last:  # the file goes on: that record is damaged, not cut off
            unread.skip(f"line {last[0]}", last[1])
            unread.cut, last = "", None
        try:
            record = _parsed(line, piece)
        except _NotJSONError as error:
            if trace is None:
                raise TcpccError(f"{path}: {error}") from None
            if error.short:
                unread.cut, last = str(error), (line, error.reason)
            else:
                unread.skip(f"line {line}", error.reason)
            continue
        if {"trace", "qlog_version", "qlog_format", "file_schema"} & record.keys():
            if trace is not None:
                yield trace
            lines = []
            trace = Trace(_table(record.get("trace")), [], _line_of(lines))
        elif trace is None:
            raise TcpccError(f"{path}: line {line}: the first object is not a qlog header")
        else:
            trace.events.append(record)
            lines.append(line)
    if trace is not None:
        yield trace


def _line_of(lines: list[int]) -> Callable[[int], str]:
    return lambda place: f"line {lines[place]}"


def _sequence(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each record of RFC 7464."""
    line = 1
    for piece in text.split("\x1e"):
        if piece.strip():
            yield line, piece
        line += piece.count("\n")


class _NotJSONError(Exception):
    """A text that is not a JSON object; `short` if it ends too early."""

    def __init__(self, line: int, reason: str, short: bool) -> None:
        super().__init__(f"line {line}: {reason}{'; the file is cut off' if short else ''}")
        self.reason, self.short = reason, short


def _parsed(line: int, text: str) -> Event:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        at = line + error.lineno - 1
        short = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated")
        reason = f"not JSON: {error.msg} at column {error.colno}"
        raise _NotJSONError(at, reason, short) from None
    if not isinstance(record, dict):
        raise _NotJSONError(line, "not a qlog: no JSON object", False)
    return record


def _document(path: str | Path, text: str, unread: Unread) -> Iterator[Trace]:
    try:
        whole = _parsed(1, text)
    except _NotJSONError as error:
        whole = _parsed(1, _closed(text)) if error.short else {}
        if not whole:
            raise TcpccError(f"{path}: {error}") from None
        unread.cut = str(error)
    traces = whole.get("traces")
    if not isinstance(traces, list) or not all(isinstance(trace, dict) for trace in traces):
        raise TcpccError(f"{path}: not a qlog: has no list of traces")
    failed = [t["error_description"] for t in traces if "error_description" in t]
    if failed and len(failed) == len(traces):
        raise TcpccError(f"{path}: has no trace but an error: {failed[0]}")
    for number, trace in enumerate(traces):
        events = trace.get("events")
        if isinstance(events, list):
            if events and events[-1] in ({}, []):  # before a trailing comma (draft-00)
                events = events[:-1]
            head = {k: v for k, v in trace.items() if k != "events"}
            yield Trace(head, events, f"trace {number}, event {{}}".format)
        elif "error_description" not in trace:
            raise TcpccError(f"{path}: trace {number}: has no list of events")


def _closed(text: str) -> str:
    """A document that is cut off, up to its last whole event, with the brackets closed.

    An event is an element of a list in an object in a list in the document.
    """
    opened: list[str] = []
    end, brackets = 0, ""
    for token in TOKENS.finditer(text):
        bracket = token.group()
        if bracket in "[{":
            opened.append("]" if bracket == "[" else "}")
        elif bracket in "]}":
            if not opened or opened.pop() != bracket:
                break
            if "".join(opened) == "}]}]":
                end, brackets = token.end(), "]}]}"
    return text[:end] + brackets if end else "{}"


class EventError(Exception):
    """An event that cannot be read; `place` is its place in the trace."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


def _since_1970(value: Any) -> float:
    """A time of a header, ms since 1970 or since another moment; 0 if it is not known."""
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e3
    try:
        time = float(value)
    except (TypeError, ValueError):
        return 0.0
    return time if math.isfinite(time) else 0.0


def _reference_time(trace: Trace, epoch: bool) -> float:
    """Time of the zero of a trace's relative times, ms.

    Args:
        trace: the trace.
        epoch: whether times are relative to the clock's epoch, not to the time of the log's start.
    """
    reference = trace.common.get("reference_time", 0.0)
    if isinstance(reference, dict):
        reference = (not epoch and reference.get("wall_clock_time")) or reference.get("epoch", 0.0)
        return _since_1970(reference)
    return _since_1970(reference) * (
        1.0 if isinstance(reference, str) and ":" in reference else trace.unit
    )


def connections_of(trace: Trace, unread: Unread) -> tuple[dict[str, Timed], float]:
    """The events of each connection, with times since an origin; and the origin: ms, since 1970 if
    the trace says so."""
    common, unit = trace.common, trace.unit
    form = str(common.get("time_format") or "")
    columns = trace.head.get("event_fields")
    keys: list[str] = []
    if isinstance(columns, list) and columns:
        keys = [COLUMNS.get(str(name).lower(), (str(name), ""))[0] for name in columns]
        forms = [COLUMNS.get(str(name).lower(), ("", ""))[1] for name in columns]
        form = form or next((text for text in forms if text), "")
    delta = form in ("delta", "relative_to_previous_event")
    epoch = form == "relative_to_epoch"
    result: dict[str, Timed] = {}
    now, earliest = 0.0, math.inf
    for place, event in enumerate(trace.events):
        try:
            if isinstance(event, list):
                if not keys:
                    raise TypeError("a list, and the trace has no event_fields")
                event = dict(zip(keys, event, strict=False))
            time = float(event["time"]) * unit
            time = now + time if delta else time
            if not math.isfinite(time):
                raise ValueError("needs a finite time")
            now = time  # a delta counts even if the rest of its event cannot be read
            name, data = event["name"], event.get("data") or {}
            if not isinstance(data, dict):
                raise TypeError("its data are not an object")
            group = str(event.get("group_id") or common.get("group_id") or _id(event, common))
            name = name.rpartition(":")[2].lower().removeprefix("recovery_")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            unread.skip(trace.where(place), f"not an event: {reason}")
            continue
        earliest = min(earliest, now)
        result.setdefault(group, []).append((place, now, name, data))
    absolute = form == "absolute" or epoch or earliest > ABSOLUTE
    if not absolute or not result:
        return result, _reference_time(trace, epoch)
    shifted = {
        group: [(place, time - earliest, name, data) for place, time, name, data in events]
        for group, events in result.items()
    }
    return shifted, earliest + (_reference_time(trace, epoch) if epoch else 0.0)


def offsets(origins: list[float]) -> list[float]:
    """From each trace's origin to the time in the run, ms.

    The first trace begins at 0. Clocks since 1970 and others have no common zero, so that the first
    of each kind does.
    """
    begins = [
        min((o for o in origins if (o > ABSOLUTE) == late), default=0.0) for late in (False, True)
    ]
    return [origin - begins[origin > ABSOLUTE] for origin in origins]


def _id(event: Event, common: Event) -> str:
    names = [table.get(key) for table in (event, common) for key in ("ODCID", "odcid")]
    return str(next((name for name in names if name), "connection"))
