"""Tables of records for the screen, notebooks, ``docs/scorecard.md`` and the README."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import expected_numbers, published_numbers, statements
from experiments.harness import papers
from experiments.markdown_tables import table
from experiments.records import (
    GRADES,
    MODELS,
    NEAR_PACKETS,
    NEAR_UNDECIDED,
    NOT_TRACED,
    OF_ONE_RUN,
    UNDECIDED,
    Record,
    difference,
    grade,
    needs_cause,
)
from tcpcc.files import write_between

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("reproduced", "loose match", "undecided", "direction holds", "deviates")
"""Verdicts on a published number."""

MISSES = ("direction holds", "deviates")
"""Verdicts on a published number that our number misses."""

REFERENCE = "as the reference"

STRICT = (
    "*Printed* numbers are in a table, a figure or the text. *Reproduced*: two standard errors "
    "around our mean are within the tolerance, and the tolerance is below half of the published "
    "value. For a number of a single run its repetitions with other start times or seeds are "
    "within it, too."
)

EXPLANATION = (
    "Each model is compared with the published numbers separately. The data file gives the "
    "tolerance of each number. Our number has a range: two standard errors around a mean over "
    "seeds; for a single run, the range of all runs of the scenario with other seeds or start "
    "times, if there are any.\n\n"
    "| Verdict | Range of our number |\n"
    "|---|---|\n"
    "| reproduced | within the tolerance |\n"
    "| loose match | within, but the tolerance is half of the published value or more |\n"
    "| undecided | partly within |\n"
    "| direction holds | outside, but the paper's claim (A beats B) holds |\n"
    "| deviates | outside, and no claim holds |\n"
    "| as the reference, off the reference | within or outside the tolerance of a number of "
    "another simulator or a closed form, where the paper publishes none |\n"
    "| by definition | the number cannot miss the published value; it is not counted |\n\n"
    "Published numbers are printed, read off a figure, or inferred by us from a sentence (1 from "
    "“friendly”). Each kind is counted separately. Errors are also graded independently of the "
    "tolerance: within 10 %, 25 %, 50 %, or beyond. Fluid *agrees* with packets if it is within "
    "10 % of them, whether or not a number is published. Fluid is a differential equation for each "
    "flow, with jumps at losses (docs/fluid.md)."
)

FITTED = (
    "Papers leave settings out, and some of ours were chosen because the published numbers then "
    "fit. A paper's page lists all settings with the evidence, and items with the numbers at other "
    "values.\n\n"
    "| Paper | Setting | Chosen | Numbers at other values |\n"
    "|---|---|---|---|\n"
    "| Quick Vegas | start of the flow of IV-A | 0.5 s; the text says 0 s | `settings` |\n"
    "| Thesis | RED's `max_p` and weight | the best of about 50 sets | "
    "`experiments/data/red_fairness_ns2.toml`, set A |\n"
    "| Fusion | queueing delay below which ARENO sees no congestion | 1 ms | `settings` |\n"
    "| JSAC | conversations of the background traffic per second | 8 | `load` |"
)
"""Settings that were chosen with the published numbers in view."""


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
        within 10 % of packets, and the number of cells in which that is undecided.
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
            verdicts: list[str | None] = [r.judged(model) for r in judged]
            errors = [r.error(model) for r in judged if r.is_tested]
            finite = [abs(e) for e in errors if e is not None and math.isfinite(e)]
            row |= {f"{model} {verdict}": verdicts.count(verdict) for verdict in VERDICTS}
            row[f"{model} {REFERENCE}"] = verdicts.count(REFERENCE)
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


def markdown(records: Sequence[Record]) -> str:
    """The scorecard as Markdown: counts by paper, and what the verdicts mean."""
    lines = [
        "# Scorecard",
        "",
        overview_markdown(records),
        "",
        "## Verdicts",
        "",
        f"Written by `make reproduce`. {EXPLANATION}",
        "",
        "[A page per paper](papers/index.md), which `make docs` writes, has every number with its"
        " tolerance, error and spread."
        " Each difference states its cause and the test that computes the evidence, or says that it"
        " is not traced.",
        "",
        explained_markdown(records),
        "",
        "## Fitted settings",
        "",
        FITTED,
        "",
        "## The other numbers",
        "",
        "Printed numbers that are missed, undecided or loose matches; of the published numbers "
        "that are not printed those that are reproduced.",
        "",
        rest_markdown(records),
        "",
        "## Statements of the texts",
        "",
        f"Every quantitative or directional statement of the papers' texts, listed in "
        f"[Statements](statements.md). {statements.RULE}",
        "",
        statements.overview_markdown(records),
    ]
    return "\n".join(lines) + "\n"


STATEMENTS, COVERAGE = "statements.md", "coverage.md"
"""Pages beside the scorecard: the papers' statements; their tables, figures and equations."""


def write(records: Sequence[Record], path: Path) -> None:
    """Write `markdown` to a file, and `STATEMENTS` and `COVERAGE` beside it."""
    from experiments import coverage

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(records), encoding="utf-8")
    path.with_name(STATEMENTS).write_text(statements.markdown(records), encoding="utf-8")
    path.with_name(COVERAGE).write_text(coverage.markdown(records), encoding="utf-8")


MARKS = ("<!-- summary: written by tcpcc reproduce --readme -->", "<!-- end of summary -->")


def write_summary(records: Sequence[Record], path: Path) -> None:
    """Replace the text between `MARKS` in a file by `overview_markdown`.

    Raises:
        TcpccError: the file does not have each mark once.
    """
    write_between(path, MARKS, overview_markdown(records, "notebooks/{}.ipynb"))


def overview(records: Sequence[Record]) -> pd.DataFrame:
    """One row per paper.

    Returns:
        `published`: number of published cells that a model could miss; `text`, `axis`, `sentence`:
        how many of them are printed, read off a figure, inferred. For each model: `tested`, the
        number of printed cells with a number, how many of them have each verdict, and how many are
        `within 10 %`; `axis tested`, `axis reproduced` and the same for `sentence`; `claims`, the
        number of tested claims, and `claims hold`.
    """
    import pandas as pd

    rows = []
    for paper, group in groupby(records, key=lambda r: r.paper):
        cells = list(group)
        row: dict[str, Any] = {"paper": paper}
        tested = [r for r in cells if r.is_tested]
        row["published"] = len(tested)
        row |= {read: sum(r.read == read for r in tested) for read in published_numbers.READ}
        held = [holds for _, _, holds in expected_numbers.claims(cells)]
        for model in MODELS:
            row |= _counted(tested, model)
            row[f"{model} claims"] = sum(model in holds for holds in held)
            row[f"{model} claims hold"] = sum(holds.get(model, False) for holds in held)
        rows.append(row)
    return pd.DataFrame(rows)


def _counted(tested: Sequence[Record], model: str) -> dict[str, int]:
    """A model's columns of `overview` but the claims."""
    row = {}
    with_number = [r for r in tested if r.number(model) is not None]
    for read in published_numbers.READ:
        verdicts: list[str | None] = [r.judged(model) for r in with_number if r.read == read]
        name = model if read == "text" else f"{model} {read}"
        row[f"{name} tested"] = len(verdicts)
        names = VERDICTS if read == "text" else ("reproduced",)
        row |= {f"{name} {verdict}": verdicts.count(verdict) for verdict in names}
    errors = [r.error(model) for r in with_number if r.read == "text"]
    row[f"{model} {grade(0)}"] = sum(e is not None and grade(e) == grade(0) for e in errors)
    return row


PAGE = "papers/{}.md"
"""A paper's page in the documentation."""


def overview_markdown(records: Sequence[Record], page: str = PAGE) -> str:
    """The strict count of `overview` and all verdicts as Markdown tables, and what they leave out.

    Args:
        records: records of any papers.
        page: what a paper's title links to, with {} for its name.
    """
    head = ["Paper", "Printed numbers", "Reproduced by packets", "by fluid"]
    head += ["Within 10 % of print: packets", "fluid", "Claims that hold in packets", "in fluid"]
    rows = _with_total(overview(records))
    lines = [
        [
            _named(row["paper"], page),
            row["text"],
            *(_share(row, m, "reproduced", "tested") for m in MODELS),
            *(_share(row, m, grade(0), "tested") for m in MODELS),
            *(_share(row, m, "claims hold", "claims") for m in MODELS),
        ]
        for row in rows
    ]
    parts = table(head, lines), STRICT, _verdicts(rows[-1], records), _rest(rows[-1], records)
    return "\n\n".join(parts)


def rest_markdown(records: Sequence[Record]) -> str:
    """Counts of `overview` outside the strict count, as a Markdown table with totals."""
    rows = _with_total(overview(records))
    others = {read: words for read, words in OTHERS.items() if rows[-1][read]}
    head = ["Paper", "Missed by packets", "by fluid", "Undecided: packets", "fluid"]
    head += ["Loose match: packets", "fluid"]
    head += [
        cell for words in others.values() for cell in (f"{words.capitalize()}: packets", "fluid")
    ]
    lines = [
        [
            _named(row["paper"]),
            *(sum(row[f"{m} {verdict}"] for verdict in MISSES) for m in MODELS),
            *(row[f"{m} {verdict}"] for verdict in ("undecided", "loose match") for m in MODELS),
            *(
                _share(row, f"{m} {read}", "reproduced", "tested")
                for read in others
                for m in MODELS
            ),
        ]
        for row in rows
    ]
    return table(head, lines)


def _with_total(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The table's rows and their sum, whose paper is ""."""
    rows: list[dict[str, Any]] = table.to_dict("records")  # type: ignore[assignment]
    total: dict[str, Any] = table.drop(columns="paper").sum().to_dict()  # type: ignore[assignment]
    return [*rows, {**total, "paper": ""}]


def _named(paper: str, page: str = PAGE) -> str:
    """The paper's title with a link; "All" for none."""
    return f"[{papers()[paper].title}]({page.format(paper)})" if paper else "All"


def _share(row: dict[str, Any], name: str, part: str, whole: str) -> str:
    """ "3 of 7"; "" of none."""
    of = row[f"{name} {whole}"]
    return f"{row[f'{name} {part}']} of {of}" if of else ""


def _verdicts(total: dict[str, Any], records: Sequence[Record]) -> str:
    """The printed numbers by verdict, as a Markdown table."""
    printed = [r for r in records if r.is_tested and r.read == "text"]
    of_one = [sum(r.undecided(m) == OF_ONE_RUN for r in printed) for m in MODELS]
    names = {
        "reproduced": ("reproduced",),
        "loose match: as reproduced, with a wider tolerance": ("loose match",),
        "undecided: our range is partly within the tolerance": ("undecided",),
        "missed": MISSES,
    }
    rows = [
        [words, *(sum(total[f"{m} {verdict}"] for verdict in of) for m in MODELS)]
        for words, of in names.items()
    ]
    rows.insert(3, ["of these, numbers of single runs; the rest need more seeds", *of_one])
    within = [sum(r.is_within(m) for r in printed) for m in MODELS]
    rows.append(["our value itself, without its range, is within the tolerance", *within])
    return table([f"The {total['text']} printed numbers", "packets", "fluid"], rows)


def _rest(total: dict[str, Any], records: Sequence[Record]) -> str:
    """Sentences on the numbers and claims that are not printed numbers."""
    others = [
        f"{total[read]} {words} ({total[f'packet {read} reproduced']} reproduced by packets, "
        f"{total[f'fluid {read} reproduced']} by fluid)"
        for read, words in OTHERS.items()
        if total[read]
    ]
    forms = [(paper, claim.form) for paper, claim, _ in expected_numbers.claims(records)]
    formulas = sum(r.formula is not None and r.published is not None for r in records)
    fixed = sum(r.judged("packet") == "by definition" for r in records)
    others += [f"{formulas} values of formulas", f"{fixed} that cannot fail"]
    return (
        f"Published numbers that are not in the tables: {', '.join(others)}. The {len(forms)} "
        f"claims are {len(set(forms))} sentences, each about several numbers."
    )


OTHERS = {read: words for read, words in published_numbers.READ.items() if read != "text"}
"""Published numbers that are not printed, with words for them."""


def summary_markdown(records: Sequence[Record]) -> str:
    """`summary` as a Markdown table.

    For papers with complete records, items without numbers are listed too.
    """
    lines = [
        f"| Paper | Item | Cells | Published | Packets: {' / '.join(VERDICTS)} "
        "| Median error | Fluid: the same | Median error "
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
            counts = " / ".join(str(row[f"{model} {verdict}"]) for verdict in VERDICTS)
            error = row[f"{model} median_error"]
            cells += [
                counts if row["published"] else "",
                "" if math.isnan(error) else f"{error:.1%}",
            ]
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
        chosen = [r for r in records if needs_cause(r.verdict)]
    else:
        near = ("", NEAR_PACKETS, NEAR_UNDECIDED)
        chosen = [r for r in records if r.fluid_cause not in near]
    return Counter(_kind(r, which) for r in chosen)


def _kind(r: Record, which: str) -> str:
    text: str = getattr(r, which)
    if text.startswith(NOT_TRACED):
        return "not traced"
    if text.startswith(UNDECIDED):
        return "undecided"
    causes = {getattr(c, which) for c in published_numbers.of(r.paper).cells if c.key == r.key} - {
        None
    }
    of_chance = all(cause.chance or cause.text != text for cause in causes)
    return "chance" if of_chance else "tested"


def explained_markdown(records: Sequence[Record]) -> str:
    """`explained` in two sentences."""
    sentences = []
    for which, what in (
        ("cause", "packets miss the published number or the reference"),
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
    all_papers = papers()
    items = []
    for paper in dict.fromkeys(paper for paper, _ in there):
        names = [item for of, item in there if of == paper]
        numbered = (
            {cell.item for cell in all_papers[paper].cells()} if paper in all_papers else set(names)
        )
        complete = numbered <= set(names)
        order = all_papers[paper].items if complete and paper in all_papers else names
        items += [(paper, item) for item in order]
    return items


def markdown_table(records: Sequence[Record]) -> str:
    """The numbers of one item as Markdown, with the causes below."""
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
            cells += [f"formula {number(r.formula)}", _verdict_text(r, "packet", notes), "", "", ""]
        else:
            for model in MODELS:
                cells += [_with_spread(r, model), _verdict_text(r, model, notes)]
            cells.append((r.agreement or "") + _note(r.fluid_cause, notes))
        lines.append("| " + " | ".join(cells) + " |")
    checks = published_numbers.checks(records[0].paper)
    for cause, k in notes.items():
        lines += ["", f"[{k}] {cause}" + (f" (`{checks[cause]}`)" if cause in checks else "")]
    return "\n".join(lines)


def _verdict_text(r: Record, model: str, notes: dict[str, int]) -> str:
    """ "reproduced, +3.1 %" with the number of its note; empty without a target."""
    verdict, error = r.judged(model), r.error(model)
    if verdict is None or error is None:
        return ""
    size = "never" if math.isnan(error) else percent(error)
    note = _note(r.undecided(model) or (r.cause if model == "packet" else ""), notes)
    return ", ".join(filter(None, (verdict, size, grade(error)))) + note


def _note(cause: str, notes: dict[str, int]) -> str:
    return f" [{notes.setdefault(cause, len(notes) + 1)}]" if cause else ""


def _with_spread(r: Record, model: str) -> str:
    text = number(r.number(model))
    sd, spread, _ = r.spread_of(model)
    if sd is not None:
        text += f" ± {number(sd)}"
    if spread is not None:
        text += f" ({number(spread[0])} to {number(spread[1])})"
    return text


def percent(error: float) -> str:
    """A relative difference as text with sign; "0 %" if it rounds to 0.0 %; empty if infinite."""
    if math.isinf(error):
        return ""
    text = f"{100 * error:+.0f}" if abs(error) >= 0.1 else f"{100 * error:+.1f}"
    return ("0" if float(text) == 0 else text) + " %"


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
