"""Statements of the papers' texts: where they stand, and what holds them.

``experiments/data/<paper>_statements.toml`` lists every quantitative or directional statement of a
paper's text, in its order::

    statement = [
      { section = "IV-A", text = "...", cells = ["figure_2/Vegas/halved"] },
      { section = "IV-C", text = "...", claims = ["Quick Vegas features a smaller ..."] },
      { section = "III-A", text = "...", tests = ["controllers/test_x.py::test_y"] },
      { section = "I", text = "...", not_testable = "other authors' results" },
    ]

`text` is as much of the sentence as is needed to find it. `cells` names cells (or items and rows,
which stand for all their cells), `claims` texts of claims in ``<paper>_published.toml``, `tests`
tests of a rule that the statement describes. A statement that none of these holds says why it is
`not_testable`.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from experiments import expected_numbers, published_numbers
from experiments.markdown_tables import table
from experiments.records import HITS, MODELS, Record

KINDS = {
    "cells": "as cells",
    "claims": "as claims",
    "tests": "by a test of the rule",
    "not_testable": "not testable",
}
"""What can hold a statement, and its name in texts; a statement counts under its first one."""

HOLDS, OPEN, FAILS, CERTAIN = "holds", "undecided", "fails", "by definition"
"""Results of a statement's cells and claims; `CERTAIN` cells cannot fail and are not judged."""

RULE = (
    "A statement *holds* if all its published numbers are reproduced or loose matches and all its "
    "claims hold. It is *undecided* if a number is undecided and none is missed."
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a paper's text.

    Args:
        section: where it stands.
        text: the sentence, or the part of it needed to find it.
        cells: names of cells, "item/row/column", or the beginning of several.
        claims: texts of claims, as in the data file.
        tests: tests of the rule that it describes, "test_x.py::test_y" in tests/.
        not_testable: why nothing holds it.
    """

    section: str
    text: str
    cells: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    not_testable: str = ""

    def __post_init__(self) -> None:
        if bool(self.cells or self.claims or self.tests) == bool(self.not_testable):
            raise ValueError(
                f"statement {self.text!r}: must have cells, claims or tests, or not_testable"
            )

    @property
    def kind(self) -> str:
        """The first of `KINDS` that it has."""
        return next(kind for kind in KINDS if getattr(self, kind))

    def names(self, key: published_numbers.Key) -> bool:
        """Whether `cells` names the cell."""
        full = "/".join(key)
        return any(full == name or full.startswith(f"{name}/") for name in self.cells)


@cache
def of(paper: str) -> tuple[Statement, ...]:
    """A paper's statements; none if it has no such file.

    Raises:
        ValueError: a statement names a cell or a claim that does not exist.
    """
    file = published_numbers.DATA / f"{paper}_statements.toml"
    if not file.exists():
        return ()
    with file.open("rb") as text:
        entries = tomllib.load(text)["statement"]
    statements = tuple(Statement(**{k: _value(v) for k, v in entry.items()}) for entry in entries)
    cells = published_numbers.of(paper).cells
    forms = {claim.form for cell in cells for claim in cell.claims}
    for statement in statements:
        wrong = [form for form in statement.claims if form not in forms]
        wrong += [
            name
            for name in statement.cells
            if not any(Statement("", "", (name,)).names(cell.key) for cell in cells)
        ]
        if wrong:
            raise ValueError(
                f"{file.name}: {statement.text!r} names {wrong[0]!r}, which does not exist"
            )
    return statements


def _value(entry: Any) -> Any:
    return tuple(entry) if isinstance(entry, list) else entry


def results(
    paper: str, records: Sequence[Record]
) -> Iterator[tuple[Statement, dict[str, list[str]]]]:
    """Each statement with, for each model, the results of its cells and claims: `HOLDS`, ...

    Args:
        paper: name of the paper.
        records: its records. Cells without a published value or reference are not judged.
    """
    claims = list(expected_numbers.claims(records))
    for statement in of(paper):
        outcomes: dict[str, list[str]] = {model: [] for model in MODELS}
        for r in records:
            if not statement.names(r.key):
                continue
            for model in MODELS:
                verdict = r.judged(model)
                if verdict not in (None, "no published number"):
                    outcomes[model].append(_result(verdict))
        for _, claim, holds in claims:
            if claim.form in statement.claims:
                for model, held in holds.items():
                    outcomes[model].append(HOLDS if held else FAILS)
        yield statement, outcomes


def _result(verdict: str | None) -> str:
    if verdict in HITS:
        return HOLDS
    return verdict if verdict in (OPEN, CERTAIN) else FAILS


def counts(paper: str, records: Sequence[Record]) -> Mapping[str, int]:
    """Number of statements by kind ("cells", ...); for each model "packet judged", "packet holds",
    "packet undecided"."""
    tally: Counter[str] = Counter()
    for statement, judged in results(paper, records):
        tally[statement.kind] += 1
        for model, outcomes in judged.items():
            result = overall(outcomes)
            tally[f"{model} judged"] += result not in ("", CERTAIN)
            tally[f"{model} {result}"] += result in (HOLDS, OPEN)
    return tally


def overview_markdown(records: Sequence[Record]) -> str:
    """`counts` of each paper as a Markdown table with totals."""
    head = ["Paper", "Statements", *KINDS.values()]
    head += ["hold in packets", "undecided", "hold in fluid", "undecided"]
    rows = []
    total: Counter[str] = Counter()
    for paper, group in groupby(records, key=lambda r: r.paper):
        tally = counts(paper, list(group))
        total.update(tally)
        rows.append(_row(published_numbers.of(paper).title, tally))
    return table(head, [*rows, _row("All", total)])


def _row(title: str, tally: Mapping[str, int]) -> list[Any]:
    kinds = [tally.get(kind, 0) for kind in KINDS]
    cells: list[Any] = [title, sum(kinds), *kinds]
    for m in MODELS:
        cells.append(f"{tally.get(f'{m} {HOLDS}', 0)} of {tally.get(f'{m} judged', 0)}")
        cells.append(tally.get(f"{m} {OPEN}", 0))
    return cells


def markdown(records: Sequence[Record]) -> str:
    """All statements of all papers as a page."""
    texts = {r.paper for r in records if of(r.paper)}
    lines = [
        "# Statements of the papers",
        "",
        "Written by `make reproduce`: every quantitative or directional statement in the texts of "
        f"{len(texts)} papers, with the cells or claims that check it. {RULE} Of the others the "
        "number of cells and claims that hold is given. Statements whose numbers cannot fail are "
        "marked *by definition*. Cells and claims are on [the papers' pages](papers/index.md), with"
        " the causes of what fails.",
        "",
        overview_markdown(records),
    ]
    for paper, group in groupby(records, key=lambda r: r.paper):
        if not of(paper):
            continue
        title = published_numbers.of(paper).title
        head = ["Section", "Statement", "Held by", "Packets", "Fluid"]
        rows = []
        for statement, judged in results(paper, list(group)):
            cells = [
                statement.section,
                statement.text,
                _evidence(statement),
                *(overall(judged[m]) for m in MODELS),
            ]
            rows.append([cell.replace("|", "\\|") for cell in cells])
        lines += ["", f"## {title}", "", table(head, rows, words=len(head))]
    return "\n".join(lines) + "\n"


def _evidence(statement: Statement) -> str:
    if statement.not_testable:
        return f"not testable: {statement.not_testable}"
    parts = [f"`{name}`" for name in (*statement.cells, *statement.tests)] + [
        f"“{c}”" for c in statement.claims
    ]
    return ", ".join(parts)


def overall(outcomes: Sequence[str]) -> str:
    """Result of a statement from those of its cells and claims, such as "2 of 3"; "" of none."""
    judged = [result for result in outcomes if result != CERTAIN]
    if not judged:
        return CERTAIN if outcomes else ""
    if FAILS not in judged:
        return OPEN if OPEN in judged else HOLDS
    good = judged.count(HOLDS)
    return f"{good} of {len(judged)}" if good else FAILS
