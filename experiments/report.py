"""Tables of records for the screen, notebooks, ``docs/scorecard.md`` and the README."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import expected, published, statements
from experiments.harness import papers
from experiments.records import (
    GRADES,
    MODELS,
    NEAR_PACKETS,
    NOT_TRACED,
    UNDECIDED,
    Record,
    difference,
    grade,
    needs_cause,
)

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("reproduced", "direction holds", "deviates")
"""Verdicts on a published number."""

REFERENCE = "as the reference"

EXPLANATION = (
    "Each model is compared with the published numbers separately. *Reproduced*: the number is "
    "within the tolerance that the data file states. *Direction holds*: it is outside, but the "
    "paper's qualitative claim (A beats B) still holds. *Deviates*: neither. A *reference* comes "
    "from another simulator or a closed form, where the paper publishes no number. Errors are also "
    "graded independently of the tolerance: within 10 %, 25 %, 50 %, or beyond. Fluid *agrees* "
    "with packets if it is within 10 % of them, whether or not a number is published; its "
    "trains are at most 1/128 of a round trip long (`per_rtt=128`; the default is 16)."
)


def scorecard(records: Sequence[Record]) -> pd.DataFrame:
    """The records as a table, one row each.

    Returns:
        Columns as in `Record`, and `error`: (packet - target) / target, where the target is the
        published number or the reference; `fluid_print_error`: the same for fluid; `fluid_error`:
        (fluid - packet) / packet.
    """
    import pandas as pd

    rows = []
    for r in records:
        row = {**r.as_dict(), "spread": r.spread, "fluid_spread": r.fluid_spread}
        row["error"] = r.error("packet")
        row["fluid_print_error"] = None if r.formula is not None else r.error("fluid")
        both = None not in (r.packet, r.fluid)
        row["fluid_error"] = difference(r.fluid, r.packet) if both else None  # type: ignore[arg-type]
        rows.append(row)
    table = pd.DataFrame(rows)
    numbers = [
        "published", "reference", "packet", "fluid", "formula", "tolerance", "error",
        "fluid_print_error", "fluid_error",
    ]  # fmt: skip
    table[numbers] = table[numbers].astype(float)
    return table


def summary(records: Sequence[Record]) -> pd.DataFrame:
    """One row per item, including items without published numbers.

    Returns:
        paper, item; `cells`, `published`, `reference`: number of cells, of published numbers, of
        references; for each model ("packet", "fluid"): number of cells by verdict ("packet
        reproduced", ..., "packet as the reference"), of published numbers by grade of the error
        ("packet within 10 %", ...), and the median error; `agree`: "a of b" cells in which fluid is
        within 10 % of packets, and the number of undecided cells.
    """
    import numpy as np
    import pandas as pd

    rows = []
    for (paper, item), group in groupby(records, key=lambda r: (r.paper, r.item)):
        cells = list(group)
        row: dict[str, Any] = {"paper": paper, "item": item, "cells": len(cells)}
        row["published"] = sum(r.is_tested for r in cells)
        row["reference"] = sum(r.reference is not None for r in cells)
        for model in MODELS:
            judged = [r for r in cells if r.number(model) is not None and r.formula is None]
            said = [_verdict(r, model) for r in judged]
            errors = [r.error(model) for r in judged if r.is_tested]
            finite = [abs(e) for e in errors if e is not None and math.isfinite(e)]
            row |= {f"{model} {verdict}": said.count(verdict) for verdict in VERDICTS}
            row[f"{model} {REFERENCE}"] = said.count(REFERENCE)
            grades = [grade(e) for e in errors if e is not None]
            row |= {f"{model} {name}": grades.count(name) for name in _grades()}
            row[f"{model} median_error"] = float(np.median(finite)) if finite else math.nan
        agreements = [r.agreement for r in cells if r.agreement]
        close = agreements.count(grade(0))
        unknown = sum(r.fluid_cause.startswith(UNDECIDED) for r in cells)
        row["agree"] = f"{close} of {len(agreements)}" if agreements else ""
        row["agree"] += f", {unknown} undecided" if unknown else ""
        rows.append(row)
    return pd.DataFrame(rows)


def _grades() -> list[str]:
    return [grade(bound) for bound in (*GRADES, math.inf)]


def _verdict(r: Record, model: str) -> str | None:
    return r.verdict if model == "packet" else r.fluid_verdict


def markdown(records: Sequence[Record]) -> str:
    """The scorecard as Markdown: a summary, then all numbers, with causes below each table."""
    lines = [
        "# Scorecard",
        "",
        f"Written by `make reproduce`. {EXPLANATION} Each difference states its cause and the "
        "test that computes the evidence, or says that it is not traced. A number is followed by "
        "its standard deviation and, in brackets, its range over seeds or start times that the "
        "paper does not give. Tolerances and their reasons are in `experiments/data/`.",
        "",
        overview_markdown(records),
        "",
        "## Statements of the texts",
        "",
        "Every quantitative or directional statement of the papers' texts, listed in "
        "[Statements](statements.md). A statement holds if all its published numbers are "
        "reproduced and all its claims hold.",
        "",
        statements.overview_markdown(records),
        "",
        "## By table and figure",
        "",
        "Reproduced / direction holds / deviates, and the median error of the published numbers.",
        "",
        summary_markdown(records),
        "",
        explained_markdown(records),
    ]
    known = papers()
    for name, of_paper in groupby(records, key=lambda r: r.paper):
        lines += ["", f"## {known[name].title}"]
        for item, group in groupby(of_paper, key=lambda r: r.item):
            lines += ["", f"### {heading(item)}: {known[name].published.titles[item]}", ""]
            lines += _item_lines(list(group))
    return "\n".join(lines) + "\n"


STATEMENTS = "statements.md"
"""Page of the papers' statements, beside the scorecard."""


def write(records: Sequence[Record], path: Path) -> None:
    """Write `markdown` to a file, and the papers' statements to `STATEMENTS` beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(records), encoding="utf-8")
    path.with_name(STATEMENTS).write_text(statements.markdown(records), encoding="utf-8")


MARKS = ("<!-- summary: written by tcpcc reproduce --readme -->", "<!-- end of summary -->")


def write_summary(records: Sequence[Record], path: Path) -> None:
    """Replace the text between `MARKS` in a file by `overview_markdown`.

    Raises:
        ValueError: the file does not have each mark once.
    """
    text = path.read_text(encoding="utf-8")
    if any(text.count(mark) != 1 for mark in MARKS):
        raise ValueError(f"{path}: must have {MARKS[0]!r} and {MARKS[1]!r} once each")
    before, rest = text.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page = path.parent / "docs" / "scorecard.md"
    table = overview_markdown(records, page.relative_to(path.parent).as_posix())
    path.write_text("\n\n".join([before + MARKS[0], table, MARKS[1]]) + after, encoding="utf-8")


def overview(records: Sequence[Record]) -> pd.DataFrame:
    """One row per paper.

    Returns:
        `published`: number of published cells; for each model: `tested`, the number of published
        cells with a number, and how many of them are "reproduced", "direction holds" or "deviates";
        `claims`, the number of tested claims, and `claims hold`.
    """
    import pandas as pd

    rows = []
    for paper, group in groupby(records, key=lambda r: r.paper):
        cells = list(group)
        row: dict[str, Any] = {"paper": paper}
        row["published"] = sum(r.is_tested for r in cells)
        said = [found for _, _, found in expected.claims(cells)]
        for model in MODELS:
            verdicts = [
                _verdict(r, model)
                for r in cells
                if r.is_tested and r.formula is None and r.number(model) is not None
            ]
            row |= {f"{model} {verdict}": verdicts.count(verdict) for verdict in VERDICTS}
            row[f"{model} tested"] = len(verdicts)
            row[f"{model} claims"] = sum(model in found for found in said)
            row[f"{model} claims hold"] = sum(found.get(model, False) for found in said)
        rows.append(row)
    return pd.DataFrame(rows)


def overview_markdown(records: Sequence[Record], page: str = "") -> str:
    """`overview` as a Markdown table with totals; `page` is the page with the papers' sections."""
    lines = [
        "| Paper | Published numbers | Reproduced by packets | by fluid "
        "| Claims that hold in packets | in fluid |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    known = papers()
    table = overview(records)
    total = {"paper": "", **table.drop(columns="paper").sum().to_dict()}
    for row in [*table.to_dict("records"), total]:
        title = known[row["paper"]].title if row["paper"] else "All"
        name = f"[{title}]({page}#{_anchor(title)})" if row["paper"] else title
        cells = [name, row["published"]]
        cells += [f"{row[f'{m} reproduced']} of {row[f'{m} tested']}" for m in MODELS]
        cells += [f"{row[f'{m} claims hold']} of {row[f'{m} claims']}" for m in MODELS]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _anchor(title: str) -> str:
    """Anchor of a heading in GitHub's and MyST's style."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def summary_markdown(records: Sequence[Record]) -> str:
    """`summary` as a Markdown table.

    For papers with complete records, items without numbers are listed too.
    """
    lines = [
        "| Paper | Item | Cells | Published | Packets: reproduced / direction / deviates "
        "| Median error | Fluid: reproduced / direction / deviates | Median error "
        "| Reference met: packets, fluid | Fluid within 10 % of packets |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    rows = {(row["paper"], row["item"]): row for row in summary(records).to_dict("records")}
    for key in _items(list(rows)):
        if key not in rows:
            lines.append(f"| {key[0]} | {heading(key[1])} | figure |" + 7 * " |")
            continue
        row = rows[key]
        cells = [row["paper"], heading(row["item"]), row["cells"], row["published"] or ""]
        for model in MODELS:
            said = " / ".join(str(row[f"{model} {verdict}"]) for verdict in VERDICTS)
            error = row[f"{model} median_error"]
            cells += [said if row["published"] else "", "" if math.isnan(error) else f"{error:.1%}"]
        met = ", ".join(f"{row[f'{model} {REFERENCE}']} of {row['reference']}" for model in MODELS)
        cells += [met if row["reference"] else "", row["agree"]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


EXPLAINED = ("tested", "chance", "undecided", "not traced")
"""Kinds of explanation of a difference: a cause whose evidence a test computes; chance, within the
range of the runs; undecided, because there are too few seeds; none."""


def explained(records: Sequence[Record], which: str) -> Counter[str]:
    """Number of differences by kind of explanation, see `EXPLAINED`.

    Args:
        records: records of any papers.
        which: "cause": differences of packets from the published value or reference, outside the
            tolerance; "fluid_cause": differences of fluid from packets above 10 %.
    """
    if which == "cause":
        found = [r for r in records if needs_cause(r.verdict)]
    else:
        found = [r for r in records if r.fluid_cause not in ("", NEAR_PACKETS)]
    return Counter(_kind(r, which) for r in found)


def _kind(r: Record, which: str) -> str:
    text: str = getattr(r, which)
    if text.startswith(NOT_TRACED):
        return "not traced"
    if text.startswith(UNDECIDED):
        return "undecided"
    known = {getattr(c, which) for c in published.of(r.paper).cells if c.key == r.key} - {None}
    of_chance = all(cause.chance or cause.text != text for cause in known)
    return "chance" if of_chance else "tested"


def explained_markdown(records: Sequence[Record]) -> str:
    """`explained` in two sentences."""
    sentences = []
    for which, what in (
        ("cause", "packets are outside the tolerance of the published number"),
        ("fluid_cause", "fluid differs from packets by more than 10 %"),
    ):
        n = explained(records, which)
        sentences.append(
            f"In {n.total()} cells {what}: {n['tested']} have a cause whose evidence a test "
            f"computes, {n['chance']} lie within the spread over seeds and start times, "
            f"{n['not traced']} are not traced, {n['undecided']} are undecided with these seeds."
        )
    return "\n".join(sentences)


def _items(there: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """(paper, item) with records, in the papers' order.

    If a paper's records are complete, its items without numbers are included.
    """
    known = papers()
    found = []
    for paper in dict.fromkeys(paper for paper, _ in there):
        mine = [item for each, item in there if each == paper]
        numbered = {cell.item for cell in known[paper].cells()} if paper in known else set(mine)
        complete = numbered <= set(mine)
        order = known[paper].items if complete and paper in known else mine
        found += [(paper, item) for item in order]
    return found


def markdown_table(records: Sequence[Record]) -> str:
    """The numbers of one item as Markdown, with the causes below."""
    return "\n".join(_item_lines(records))


def _item_lines(records: Sequence[Record]) -> list[str]:
    lines = [
        "| | | Unit | Published | Tolerance | Packet | | Fluid | | Fluid to packet |",
        "|---|---|---|--:|--:|--:|---|--:|---|---|",
    ]
    notes: dict[str, int] = {}
    for r in records:
        printed = "" if r.target is None else f"{r.target:g}"
        if r.reference is not None:
            printed = f"reference {printed}"
        tolerance = "" if r.tolerance is None else f"± {r.tolerance:.3g}"
        unit = "" if r.unit == "1" else r.unit
        cells = [r.row, r.column, unit, printed, tolerance]
        if r.formula is not None:
            cells += [f"formula {number(r.formula)}", _said(r, "packet", notes), "", "", ""]
        else:
            for model, sd, spread in (
                ("packet", r.sd, r.spread), ("fluid", r.fluid_sd, r.fluid_spread)
            ):  # fmt: skip
                cells += [_with_spread(r.number(model), sd, spread), _said(r, model, notes)]
            cells.append((r.agreement or "") + _note(r.fluid_cause, notes))
        lines.append("| " + " | ".join(cells) + " |")
    checks = published.checks(records[0].paper)
    for cause, k in notes.items():
        lines += ["", f"[{k}] {cause}" + (f" (`{checks[cause]}`)" if cause in checks else "")]
    return lines


def _said(r: Record, model: str, notes: dict[str, int]) -> str:
    """ "reproduced, +3.1 %" with the number of its note; empty without a target."""
    verdict, error = _verdict(r, model), r.error(model)
    if verdict is None or error is None:
        return ""
    told = "never" if math.isnan(error) else percent(error)
    note = _note(r.cause, notes) if model == "packet" else ""
    return ", ".join(filter(None, (verdict, told, grade(error)))) + note


def _note(cause: str, notes: dict[str, int]) -> str:
    return f" [{notes.setdefault(cause, len(notes) + 1)}]" if cause else ""


def _with_spread(value: float | None, sd: float | None, spread: tuple[float, float] | None) -> str:
    told = number(value)
    if sd is not None:
        told += f" ± {number(sd)}"
    if spread is not None:
        told += f" ({number(spread[0])} to {number(spread[1])})"
    return told


def percent(error: float) -> str:
    """A relative difference as text with sign; "0 %" if it rounds to 0.0 %; empty if infinite."""
    if math.isinf(error):
        return ""
    told = f"{100 * error:+.0f}" if abs(error) >= 0.1 else f"{100 * error:+.1f}"
    return ("0" if float(told) == 0 else told) + " %"


def number(value: float | None) -> str:
    """A number as text: four digits, at most three decimals unless it is smaller than 0.005.

    None gives "", NaN gives "never".
    """
    if value is None:
        return ""
    if math.isnan(value):
        return "never"
    if value == 0 or math.isinf(value):
        return f"{abs(value):g}"
    if abs(value) < 5e-3:
        return f"{value:.2g}"
    digits = max(0, min(3, 3 - math.floor(math.log10(abs(value)))))
    return f"{value:.{digits}f}"


def heading(item: str) -> str:
    """ "Table 3.1" for table_3_1."""
    return re.sub(r"(\d) (\d)", r"\1.\2", item.replace("_", " ").capitalize())
