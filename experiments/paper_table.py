"""A table in its paper's arrangement: published value, packets and fluid for each number.

Rows and columns have the paper's order; rows that the paper does not have follow below. A narrow
table has the three sources side by side, a wide one has them in three lines below each other, so
that it fits a laptop. Errors and spread are in a tooltip and in a second table that is folded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from experiments import published_numbers
from experiments.published_numbers import digits
from experiments.records import Record
from experiments.scorecard_page import markdown_table, number, percent

TEMPLATES = Path(__file__).parent / "templates"
STYLE = TEMPLATES / "table.css"

WIDE = 9
"""Largest number of entries side by side in a row; above it the sources are below each other."""

MARKS = {
    "reproduced": ("✓", "good"),
    "loose match": ("○", "partly"),
    "undecided": ("?", ""),
    "direction holds": ("≈", "partly"),
    "deviates": ("✗", "bad"),
    "as the reference": ("✓", "good"),
    "off the reference": ("✗", "bad"),
}
"""Symbol and CSS class of a verdict."""

SOURCES = {"print": "published", "packet": "packets", "fluid": "fluid"}
"""Sources of a number, with their headings."""

SEPARATORS = (", ", " ")
"""Between the two parts of a column's name, such as "RED" and "4V1R"."""


@dataclass(frozen=True)
class Entry:
    """One entry of the table.

    Args:
        text: the number.
        verdict: the verdict; empty for none.
        small: below the number: its tolerance, or its error.
        details: verdict, error and spread in words; the tooltip.
        note: letter of the cause, if any.
        place: HTML anchor of the cell.
    """

    text: str = ""
    verdict: str = ""
    small: str = ""
    details: str = ""
    note: str = ""
    place: str = ""

    @property
    def mark(self) -> str:
        return MARKS.get(self.verdict, ("", ""))[0]

    @property
    def look(self) -> str:
        return MARKS.get(self.verdict, ("", ""))[1]


@dataclass(frozen=True)
class Row:
    """A row: its name, whether the paper has it and numbers in it, and `cells[column][source]`."""

    name: str
    is_printed: bool
    has_target: bool
    cells: Sequence[Sequence[Entry]]


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
        names: headings of sources that differ from `SOURCES`.

    Attributes:
        rows: the rows.
        columns: names of the columns.
        corner: heading of the rows' names; "" for none.
        unit: unit of all numbers; "" if they have several or none.
        sources: sources of each number.
        anchor: the source whose entries have the cells' anchors.
        is_stacked: whether the sources are below each other.
    """

    def __init__(
        self,
        records: Sequence[Record],
        rows: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.records = [r for r in records if rows is None or r.row in rows]
        self.names = {**SOURCES, **(names or {})}
        self.sources = list(_sources(self.records))
        self.anchor = next((s for s in self.sources if s != "print"), "")
        self._notes: dict[str, tuple[str, list[str]]] = {}
        layout = _layout(self.records)
        lines = _in_order((r.row for r in self.records), layout.rows)
        columns = _in_order((r.column for r in self.records), layout.columns)
        cells = {(r.row, r.column): r for r in self.records}
        self.corner = layout.corner
        self.unit, by_row, by_column = _units(self.records)
        if layout.turned:
            cells = {(column, row): r for (row, column), r in cells.items()}
            lines, columns, by_row, by_column = columns, lines, by_column, by_row
        self.columns = [_with_unit(_named(c), by_column.get(c, "")) for c in columns]
        targets = {key[0] for key, r in cells.items() if r.target is not None}
        self.rows = [
            Row(
                _with_unit(_named(line), by_row.get(line, "")),
                not layout.rows or layout.turned or line in layout.rows,
                line in targets,
                [self._entries(cells.get((line, c))) for c in columns],
            )
            for line in lines
        ]
        self.is_stacked = len(columns) * len(self.sources) > WIDE and len(self.sources) > 1

    def lines(self, row: Row) -> list[int]:
        """Sources that a row of a stacked table shows: published values only if it has some."""
        return [k for k, of in enumerate(self.sources) if row.has_target or of != "print"]

    @property
    def groups(self) -> list[tuple[str, list[str]]]:
        """Columns under a common heading: ("RED", ["5V", "4V1R"]); headings are "" without one."""
        return _groups(self.columns)

    @property
    def notes(self) -> list[Note]:
        checks = published_numbers.checks(self.records[0].paper) if self.records else {}
        return [
            Note(letter, text, tuple(at), checks.get(text, ""))
            for text, (letter, at) in self._notes.items()
        ]

    @property
    def details(self) -> list[tuple[Record, list[tuple[str, str]]]]:
        """For the second table: a record, and (number, error and spread) of each model."""
        notes = []
        for r in self.records:
            entries = [(number(r.number(model)), _words(r, model)) for model in self._models(r)]
            if any(words for _, words in entries):
                notes.append((r, entries))
        return notes

    def html(self) -> str:
        """HTML without the style sheet, for a page that includes it."""
        return str(_environment().get_template("table.html").render(table=self))

    def _repr_html_(self) -> str:
        return f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n{self.html()}"

    def __repr__(self) -> str:
        return markdown_table(self.records)

    def _models(self, r: Record) -> list[str]:
        return ["packet"] if r.formula is not None else [s for s in self.sources if s != "print"]

    def _entries(self, r: Record | None) -> list[Entry]:
        if r is None:
            return [Entry() for _ in self.sources]
        at = place(*r.key)
        target = digits(r.target)
        parts = {"print": {"text": target if r.reference is None else f"◇ {target}"}}
        if r.tolerance is not None:
            parts["print"]["small"] = f"± {r.tolerance:.3g}"
        for model in self._models(r):
            own = r.judged(model)
            mark = own if own in MARKS else ""
            words = [mark, _words(r, model)]
            parts[model] = {
                "text": number(r.number(model)),
                "verdict": mark,
                "small": _error(r, model),
                "details": ", ".join(filter(None, words)),
                "note": self._note(_why(r, model), at),
            }
        if r.formula is not None:
            parts["fluid"] = {"text": "formula"}
        return [Entry(**parts.get(source, {}), place=at) for source in self.sources]

    def _note(self, cause: str, place: str) -> str:
        if not cause:
            return ""
        letter = _letter(len(self._notes))
        letter, places = self._notes.setdefault(cause, (letter, []))
        places.append(place)
        return letter


def place(item: str, row: str, column: str) -> str:
    """HTML anchor of a cell; "+20%" and "-20%", "Vegas" and "Vegas*" differ."""
    text = "-".join((item, row, column)).replace("+", "plus").replace("*", "star")
    return re.sub(r"\W+", "-", text).strip("-")


def _layout(records: Sequence[Record]) -> published_numbers.Layout:
    if not records or not published_numbers.file_of(records[0].paper).exists():
        return published_numbers.Layout()
    return published_numbers.of(records[0].paper).layouts.get(
        records[0].item, published_numbers.Layout()
    )


def _in_order(names: Iterable[str], first: Sequence[str]) -> list[str]:
    """Each name once: first those of the layout."""
    distinct = dict.fromkeys(names)
    return list(dict.fromkeys([*(name for name in first if name in distinct), *distinct]))


def _units(records: Sequence[Record]) -> tuple[str, dict[str, str], dict[str, str]]:
    """The common unit, else units by row, or by column if only columns have one unit each."""
    every = {r.unit for r in records}
    if len(every) == 1:
        unit = every.pop()
        return "" if unit == "1" else unit, {}, {}
    by_row: dict[str, list[str]] = {}
    by_column: dict[str, list[str]] = {}
    for r in records:
        for of, name in ((by_row, r.row), (by_column, r.column)):
            of.setdefault(name, [])
            if r.unit not in of[name]:
                of[name].append(r.unit)
    if all(len(units) == 1 for units in by_row.values()):
        return "", {name: units[0] for name, units in by_row.items()}, {}
    if all(len(units) == 1 for units in by_column.values()):
        return "", {}, {name: units[0] for name, units in by_column.items()}
    return "", {name: " or ".join(sorted(units)) for name, units in by_row.items()}, {}


def _groups(columns: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Columns whose names are all combinations of two parts, by the first part."""
    for separator in SEPARATORS:
        parts = [name.partition(separator) for name in columns]
        groups: list[tuple[str, list[str]]] = []
        for first, _, second in parts:
            if not groups or groups[-1][0] != first:
                groups.append((first, []))
            groups[-1][1].append(second)
        alike = len({tuple(names) for _, names in groups}) == 1
        if alike and len(groups) > 1 and len(groups[0][1]) > 1 and all(groups[0][1]):
            return groups
    return [("", list(columns))]


def _sources(records: Sequence[Record]) -> Iterator[str]:
    if any(r.target is not None for r in records):
        yield "print"
    for model in ("packet", "fluid"):
        if any(r.number(model) is not None for r in records):
            yield model


def _named(name: str) -> str:
    return name.strip("/ ") or "value"


def _with_unit(name: str, unit: str) -> str:
    return name if unit in ("1", "") or name.endswith(f"({unit})") else f"{name} ({unit})"


def _words(r: Record, model: str) -> str:
    """Error, and the spread over runs with the name of each number."""
    sd, ends, seeds = r.spread_of(model)
    words = []
    if _error(r, model):
        words.append(_error(r, model))
    if sd and seeds:
        words.append(f"standard error {number(sd / math.sqrt(seeds))} ({seeds} seeds)")
    if sd:
        words.append(f"standard deviation of runs {number(sd)}")
    if r.undecided(model):
        words.append(r.undecided(model))
    if ends is not None and ends[0] < ends[1]:
        words.append(f"runs from {number(ends[0])} to {number(ends[1])}")
    return ", ".join(words)


def _error(r: Record, model: str) -> str:
    """ "+3.1 %"; "" without a target, of a number that is never reached, and for a target of 0."""
    error = r.error(model)
    return "" if error is None or math.isnan(error) else percent(error)


def _why(r: Record, model: str) -> str:
    """Cause of a difference, or how many seeds would decide an undecided number."""
    cause = r.cause if model == "packet" else r.fluid_cause
    return cause or r.undecided(model)


def _letter(k: int) -> str:
    """a, b, ... z, aa, ab, ..."""
    letter = chr(ord("a") + k % 26)
    return letter if k < 26 else _letter(k // 26 - 1) + letter


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["digits"] = digits
    return environment
