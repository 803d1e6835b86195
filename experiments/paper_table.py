"""A table in its paper's arrangement, with published value, packets and fluid in each column.

Rows with the same columns form one table. A table that would be too wide is transposed. A unit that
all cells share is in the heading, and empty columns are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from experiments import published
from experiments.records import Record
from experiments.report import markdown_table, number, percent

TEMPLATES = Path(__file__).parent / "templates"
STYLE = TEMPLATES / "table.css"

WIDE = 9
"""Largest number of entries per row; a table with more columns than rows is then transposed."""

MARKS = {
    "reproduced": ("✓", "good"),
    "direction holds": ("≈", "partly"),
    "deviates": ("✗", "bad"),
    "as the reference": ("✓", "good"),
    "off the reference": ("✗", "bad"),
}
"""Symbol and CSS class of a verdict."""

SOURCES = {"print": "published", "packet": "packets", "fluid": "fluid"}
"""Subcolumns of a column, with their headings."""


@dataclass(frozen=True)
class Entry:
    """One entry of the table.

    Args:
        text: the number.
        error: relative error, "+3 %"; empty without a published number or reference.
        verdict: the verdict; empty for none.
        spread: standard deviation and range over seeds, if any.
        note: letter of the cause, if any.
        place: HTML anchor of the cell, in its first entry.
    """

    text: str = ""
    error: str = ""
    verdict: str = ""
    spread: str = ""
    note: str = ""
    place: str = ""

    @property
    def mark(self) -> str:
        return MARKS.get(self.verdict, ("", ""))[0]

    @property
    def look(self) -> str:
        return MARKS.get(self.verdict, ("", ""))[1]


@dataclass(frozen=True)
class Block:
    """A table: `entries[row][column]` has one entry for each of `sources`."""

    rows: Sequence[str]
    columns: Sequence[str]
    sources: Sequence[str]
    entries: Sequence[Sequence[Sequence[Entry]]]


@dataclass(frozen=True)
class Note:
    """A footnote: letter, text of the cause, anchors of its cells, and the test, if any."""

    letter: str
    text: str
    places: Sequence[str]
    check: str = ""


class PaperTable:
    """The numbers of one item in its paper's arrangement; a notebook shows it as HTML.

    Args:
        records: records of the item.
        rows: rows to show; None for all.
    """

    def __init__(self, records: Sequence[Record], rows: Sequence[str] | None = None) -> None:
        self.records = [r for r in records if rows is None or r.row in rows]
        self._notes: dict[str, tuple[str, list[str]]] = {}
        self.blocks = [self._block(group) for group in _arrangements(self.records)]

    @property
    def notes(self) -> list[Note]:
        checks = published.checks(self.records[0].paper) if self.records else {}
        return [
            Note(letter, text, tuple(at), checks.get(text, ""))
            for text, (letter, at) in self._notes.items()
        ]

    def html(self) -> str:
        """HTML without the style sheet, for a page that includes it."""
        template = _environment().get_template("table.html")
        return template.render(table=self, sources=SOURCES)

    def _repr_html_(self) -> str:
        return f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n{self.html()}"

    def __repr__(self) -> str:
        return markdown_table(self.records)

    def _block(self, records: Sequence[Record]) -> Block:
        rows = list(dict.fromkeys(_named(r.row) for r in records))
        columns = list(dict.fromkeys(_named(r.column) for r in records))
        cells = {(_named(r.row), _named(r.column)): r for r in records}
        units = {r.unit for r in records}
        by_column = {c: {cells[row, c].unit for row in rows if (row, c) in cells} for c in columns}
        if max(map(len, by_column.values())) == 1 and units != {"1"}:
            columns_told = [_with_unit(c, next(iter(by_column[c]))) for c in columns]
            rows_told = rows
        else:
            by_row = {n: {cells[n, c].unit for c in columns if (n, c) in cells} for n in rows}
            rows_told = [_with_unit(n, " or ".join(sorted(by_row[n]))) for n in rows]
            columns_told = columns
        sources = list(_sources(records))
        entries = [[self._entries(cells.get((n, c)), sources) for c in columns] for n in rows]
        if len(columns) * len(sources) > WIDE and len(columns) > len(rows):
            turned = [list(line) for line in zip(*entries, strict=True)]
            return Block(columns_told, rows_told, sources, turned)
        return Block(rows_told, columns_told, sources, entries)

    def _entries(self, r: Record | None, sources: Sequence[str]) -> list[Entry]:
        if r is None:
            return [Entry() for _ in sources]
        at = place(*r.key)
        found = {"print": Entry("" if r.target is None else f"{r.target:g}")}
        if r.reference is not None:
            found["print"] = Entry(f"◇ {r.reference:g}")
        for model, sd, spread in (
            ("packet", r.sd, r.spread), ("fluid", r.fluid_sd, r.fluid_spread)
        ):  # fmt: skip
            verdict = r.verdict if model == "packet" or r.formula is not None else r.fluid_verdict
            error = r.error(model)
            found[model] = Entry(
                text=number(r.number(model)),
                error="" if error is None or math.isnan(error) else percent(error),
                verdict=verdict if verdict in MARKS else "",
                spread=_spread(sd, spread),
                note=self._note(r.cause if model == "packet" else r.fluid_cause, at),
            )
        if r.formula is not None:
            found["fluid"] = Entry("formula")
        shown = [found[source] for source in sources]
        return [Entry(**{**vars(shown[0]), "place": at}), *shown[1:]]

    def _note(self, cause: str, place: str) -> str:
        if not cause:
            return ""
        letter = _letter(len(self._notes))
        letter, places = self._notes.setdefault(cause, (letter, []))
        places.append(place)
        return letter


def place(item: str, row: str, column: str) -> str:
    """HTML anchor of a cell."""
    return re.sub(r"\W+", "-", "-".join((item, row, column))).strip("-")


def _arrangements(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Group records whose rows have the same columns."""
    columns: dict[str, list[str]] = {}
    for r in records:
        columns.setdefault(r.row, []).append(r.column)
    groups: dict[tuple[str, ...], list[Record]] = {}
    for r in records:
        groups.setdefault(tuple(columns[r.row]), []).append(r)
    yield from groups.values()


def _sources(records: Sequence[Record]) -> Iterator[str]:
    if any(r.target is not None for r in records):
        yield "print"
    for model in ("packet", "fluid"):
        if any(r.number(model) is not None for r in records):
            yield model


def _named(name: str) -> str:
    return name.strip("/ ") or "value"


def _with_unit(name: str, unit: str) -> str:
    return name if unit in ("1", "") else f"{name} ({unit})"


def _spread(sd: float | None, spread: tuple[float, float] | None) -> str:
    told = f"± {number(sd)}" if sd else ""
    if spread is not None and spread[0] < spread[1]:
        told += f" ({number(spread[0])} to {number(spread[1])})"
    return told.strip()


def _letter(k: int) -> str:
    """a, b, ... z, aa, ab, ..."""
    letter = chr(ord("a") + k % 26)
    return letter if k < 26 else _letter(k // 26 - 1) + letter


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader

    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
