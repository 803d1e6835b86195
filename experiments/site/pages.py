"""Content of the report's pages, computed from records: claims, counts, causes, definitions."""

from __future__ import annotations

import importlib.metadata
import math
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from experiments import expected, published, report, seeds
from experiments.harness import HERE, Paper
from experiments.published import Cell, Claim
from experiments.records import AGREEMENT, GRADES, MODELS, Record, grade, needs_cause
from experiments.report import heading

MARKS = {"holds": "✓", "partly": "◐", "fails": "✗", "not run": "·"}
"""Symbols of a claim's verdicts."""


class Kind(NamedTuple):
    """Symbol, CSS class and words of a kind of verdict on a number."""

    mark: str
    look: str
    words: str


MARKS_OF_NUMBERS = {
    "good": Kind("✓", "good", "reproduced"),
    "loose": Kind("○", "partly", "in a tolerance of half the value or more"),
    "open": Kind("?", "open", "undecided with these seeds"),
    "direction": Kind("≈", "partly", "missed, but the direction holds"),
    "bad": Kind("✗", "bad", "deviate"),
}
"""Kinds of verdicts on numbers, by names for the templates."""

FOLDED = 8
"""Number of pairs up to which a claim lists all of them; with more, pairs that hold are folded."""

LIBRARIES = ("tcpcc", "numpy", "numba", "scipy", "xarray", "simpy", "matplotlib")

Cells = dict[str, list[Record]]
"""Records of a paper, by item."""


@dataclass
class Said:
    """A sentence of a paper that makes a claim about one or more pairs of cells.

    Attributes:
        text: the sentence; more than four varying names become an ellipsis.
        item: the item whose page lists the pairs.
        claims: each pair, and whether it holds in each model.
    """

    text: str
    item: str
    claims: list[tuple[Claim, dict[str, bool]]] = field(default_factory=list)

    def about(self, item: str) -> bool:
        """Whether the claim concerns cells of an item."""
        return any(item in (claim.more[0], claim.less[0]) for claim, _ in self.claims)

    def held(self, model: str) -> list[bool]:
        return [holds[model] for _, holds in self.claims if model in holds]

    def count(self, model: str) -> str:
        held = self.held(model)
        return f"{sum(held)} of {len(held)}" if held else ""

    def verdict(self, model: str) -> str:
        """Verdict "holds", "partly" or "fails"; "not run" for a model without numbers."""
        held = self.held(model)
        if not held:
            return "not run"
        return "holds" if all(held) else "partly" if any(held) else "fails"


def by_paper(records: Iterable[Record]) -> dict[str, Cells]:
    cells_by_paper: dict[str, Cells] = {}
    for r in records:
        cells_by_paper.setdefault(r.paper, {}).setdefault(r.item, []).append(r)
    return cells_by_paper


def said(records: Sequence[Record]) -> dict[str, list[Said]]:
    """Claims by paper, in the order of the data file."""
    by_form: dict[tuple[str, str], Said] = {}
    for paper, claim, holds in expected.claims(records):
        form = claim.form or claim.text
        sentence = by_form.setdefault((paper, form), Said("", claim.more[0]))
        sentence.claims.append((claim, holds))
    for (_, form), sentence in by_form.items():
        sentence.text = _sentence(form, [claim.text for claim, _ in sentence.claims])
    papers: dict[str, list[Said]] = {}
    for (paper, _), sentence in by_form.items():
        papers.setdefault(paper, []).append(sentence)
    return papers


def _sentence(form: str, texts: Sequence[str]) -> str:
    """One sentence for all `texts` of a form: "{a} beats {b}" becomes "Reno/BIC beats FAST".

    More than four names become an ellipsis.
    """
    names = re.findall(r"\{(\w+)\}", form)
    pattern = re.compile(re.sub(r"\\\{(\w+)\\\}", "(.+?)", re.escape(form)) + "$")
    groups = [match.groups() for text in texts if (match := pattern.match(text))]
    for name, of_name in zip(names, zip(*groups, strict=True), strict=True):
        words = list(dict.fromkeys(of_name))
        told = "/".join(words) if len(words) <= 4 else "…"
        form = form.replace(f"{{{name}}}", told, 1)
    return form


class Pairs(NamedTuple):
    """Pairs of a claim: listed ones, and ones that hold and are folded."""

    shown: list[tuple[Claim, dict[str, bool]]]
    hidden: list[tuple[Claim, dict[str, bool]]]


def pairs(said: Said, item: str) -> Pairs:
    """Pairs of a claim about an item; with more than `FOLDED`, those that hold are folded."""
    here = [pair for pair in said.claims if item in (pair[0].more[0], pair[0].less[0])]
    if len(here) <= FOLDED:
        return Pairs(here, [])
    return Pairs(
        [pair for pair in here if not all(pair[1].values())],
        [pair for pair in here if all(pair[1].values())],
    )


def counted(claims: Sequence[Said], model: str) -> dict[str, int]:
    """Number of a paper's claims by verdict."""
    verdicts = [sentence.verdict(model) for sentence in claims]
    return {name: verdicts.count(name) for name in MARKS}


def grades(lines: Sequence[Line], model: str) -> dict[str, int]:
    """Number of published values that a model gives within 10 %, 25 %, 50 %, and beyond."""
    errors = [
        error
        for line in lines
        for r in line.records
        if r.is_tested and r.formula is None and (error := r.error(model)) is not None
    ]
    names = [grade(error) for error in errors]
    return {name: names.count(name) for name in (*map(grade, GRADES), grade(math.inf))}


def totals(lines: Iterable[Line], model: str) -> dict[str, int]:
    """Verdicts on the published numbers of several items, summed."""
    counts = [line.count(model, True) for line in lines]
    return {name: sum(count[name] for count in counts) for name in MARKS_OF_NUMBERS}


@dataclass
class Line:
    """An item in the front page's list."""

    paper: Paper
    item: str
    records: Sequence[Record]

    @property
    def name(self) -> str:
        return heading(self.item)

    @property
    def title(self) -> str:
        return self.paper.published.titles.get(self.item, "")

    @property
    def page(self) -> str:
        return f"{self.paper.name}/{self.item}.html"

    @property
    def published(self) -> int:
        return sum(r.is_tested for r in self.records)

    @property
    def held(self) -> int:
        """Number of cells with a published number or a reference."""
        return sum(r.target is not None for r in self.records)

    def judged(self, model: str, printed: bool = False) -> list[str]:
        """Verdicts on models' numbers that can miss; with `printed`, only of published numbers."""
        with_target = [
            r for r in self.records if r.is_tested or (r.reference is not None and not printed)
        ]
        return [v for r in with_target if (v := verdict(r, model))]

    def count(self, model: str, printed: bool = False) -> dict[str, int]:
        """Number of verdicts by the names of `MARKS_OF_NUMBERS`."""
        names = {"reproduced": "good", "as the reference": "good", "loose match": "loose",
                 "undecided": "open", "direction holds": "direction"}  # fmt: skip
        tally = Counter(names.get(v, "bad") for v in self.judged(model, printed))
        return {name: tally[name] for name in MARKS_OF_NUMBERS}

    def error(self, model: str) -> float:
        """Median of the absolute relative errors; NaN without errors."""
        errors = [r.error(model) for r in self.records if r.is_tested]
        sizes = sorted(abs(e) for e in errors if e is not None and math.isfinite(e))
        if not sizes:
            return math.nan
        half = len(sizes) // 2
        return sizes[half] if len(sizes) % 2 else (sizes[half - 1] + sizes[half]) / 2

    @property
    def apart(self) -> int:
        """Number of cells in which fluid is not within 10 % of packets."""
        return sum(bool(r.agreement) and not _close(r) for r in self.records)

    @property
    def compared(self) -> int:
        return sum(bool(r.agreement) for r in self.records)

    @property
    def deviates(self) -> bool:
        return any("deviates" in self.judged(m) or "off the reference" in self.judged(m)
                   for m in MODELS)  # fmt: skip

    @property
    def words(self) -> str:
        """Text for the search, in lower case."""
        cells = (f"{r.row} {r.column} {r.cause} {r.fluid_cause}" for r in self.records)
        text = " ".join([self.paper.title, self.name, self.item, self.title, *cells])
        return " ".join(dict.fromkeys(text.lower().split()))


def verdict(record: Record, model: str) -> str | None:
    """Verdict on a model's number; None for a formula."""
    if record.formula is not None:
        return None
    return record.judged(model)


def _close(record: Record) -> bool:
    return record.agreement == f"within {AGREEMENT:.0%}".replace("%", " %")


def lines(papers: Iterable[Paper], cells: dict[str, Cells]) -> list[Line]:
    """All items of all papers, including items without published numbers."""
    return [
        Line(paper, item, cells.get(paper.name, {}).get(item, []))
        for paper in papers
        for item in paper.items
    ]


def causes(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    """Causes of differences between packets and published values, each with its cells."""
    by_cause: dict[str, list[Record]] = {}
    for r in records:
        if needs_cause(r.verdict) and r.cause:
            by_cause.setdefault(r.cause, []).append(r)
    return list(by_cause.items())


def check(paper: Paper, cause: str) -> str:
    """The test that computes a cause's evidence; empty for none."""
    return published.checks(paper.name).get(cause, "")


def read(cells: Iterable[Cell]) -> list[str]:
    """Sentences on published numbers that are not printed."""
    ways = {cell.read for cell in cells if cell.published is not None}
    words = {"axis": "Published numbers were read off a figure.",
             "sentence": "Some published numbers are inferred by us from a sentence."}  # fmt: skip
    return [text for name, text in words.items() if name in ways]


def explained(lines: Iterable[Line], which: str) -> Counter[str]:
    """Number of differences by kind of explanation, see `report.explained`."""
    return report.explained([r for line in lines for r in line.records], which)


def measures(cells: Iterable[Cell]) -> list[tuple[str, list[Cell]]]:
    """Definitions of the measured numbers, each with its cells."""
    by_measure: dict[str, list[Cell]] = {}
    for cell in cells:
        by_measure.setdefault(cell.measured, []).append(cell)
    return list(by_measure.items())


def tolerances(cells: Iterable[Cell]) -> list[tuple[str, str, list[Cell]]]:
    """Each tolerance as given in the data file, with its reason and its cells."""
    by_size: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.tolerance is None:
            continue
        relative = cell.tolerance.kind == "relative"
        unit = "" if cell.unit == "1" else f" {cell.unit}"
        size = (
            f"{100 * cell.tolerance.value:g} %" if relative else f"{cell.tolerance.value:g}{unit}"
        )
        by_size.setdefault((f"± {size}", cell.tolerance.reason), []).append(cell)
    return [(*key, of_it) for key, of_it in by_size.items()]


def where(cells: Sequence[Any], all_cells: Sequence[Any]) -> str:
    """Short description of cells: all cells, whole rows, whole columns, or single cells."""
    if len(cells) == len(all_cells):
        return "all cells"
    keys = {(c.row, c.column) for c in cells}
    for axis in (0, 1):
        names = dict.fromkeys((c.row, c.column)[axis] for c in cells)
        whole = {(c.row, c.column) for c in all_cells if (c.row, c.column)[axis] in names}
        if whole == keys:
            return ", ".join(names)
    places = [f"{c.row}, {c.column}" for c in cells]
    return "; ".join(places[:6]) + (f"; and {len(places) - 6} more" if len(places) > 6 else "")


def made_of() -> dict[str, str]:
    """Commit, versions and number of seeds, for the footer of every page."""
    versions = {"commit": _commit()}
    for name in LIBRARIES:
        versions[name] = importlib.metadata.version(name)
    versions["Python"] = platform.python_version()
    few = f"quick: {seeds.QUICK_SEEDS} per number" if seeds.QUICK else "all"
    return versions | {"seeds": few}


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=HERE, capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        return (commit + (", with changes" if git("status", "--porcelain") else "")) or "unknown"
    except OSError:  # git is not installed
        return "unknown"
