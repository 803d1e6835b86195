"""The papers as pages of the documentation, from the stored numbers; nothing is simulated.

A page has the paper's claims, and for each table and figure the numbers in the paper's arrangement,
the figure, definitions, tolerances and scenarios. The layout is in templates/paper.md and
papers_index.md. `make docs` writes the pages into docs/papers.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from experiments import expected_numbers, figure_files, harness, ratio_plot, scorecard_page
from experiments.harness import FIGURES, HERE, Paper
from experiments.paper_table import MARKS, TEMPLATES, PaperTable
from experiments.published_numbers import Cell, Claim
from experiments.records import MODELS, Record
from experiments.run_labels import in_words
from experiments.scorecard_page import heading
from tcpcc import Scenario

CLAIM_MARKS = {
    "holds": ("✓", "good"),
    "partly": ("◐", "partly"),
    "fails": ("✗", "bad"),
    "not run": ("·", ""),
}
"""Symbol and CSS class of a verdict on a claim."""

READ = {
    "axis": "Published numbers were read off a figure.",
    "sentence": "Some published numbers are inferred by us from a sentence.",
}
"""Sentences about published numbers that are not printed."""


def write(folder: Path) -> None:
    """Write the page of every paper and their list, with the files that they show.

    Args:
        folder: output folder. The pages link to ``../notebooks`` and ``../../figures``.
    """
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    every = [
        sections(paper, expected_numbers.records_of(name))
        for name, paper in harness.papers().items()
    ]
    for of_paper in every:
        for section in of_paper:
            figure = ratio_plot.dot_plot(section.records)
            if figure is not None:
                figure_files.save(figure, folder / section.dots, ("svg",))
                plt.close(figure)
        name = of_paper[0].paper.name
        (folder / f"{name}.md").write_text(page(of_paper), encoding="utf-8")
        records = [record for section in of_paper for record in section.records]
        scorecard_page.scorecard(records).to_csv(
            folder / f"{name}.csv", index=False, lineterminator="\n"
        )
        (folder / f"{name}.zip").write_bytes(_archive(of_paper))
    (folder / "index.md").write_text(index(every), encoding="utf-8")


def page(of_paper: Sequence[Section]) -> str:
    """A paper's page as Markdown with HTML tables."""
    paper = of_paper[0].paper
    records = [record for section in of_paper for record in section.records]
    return _rendered(
        "paper.md",
        paper=paper,
        sections=of_paper,
        claims=claims(records),
        assumed=assumed(paper),
        has_notebook=(HERE.parent / "notebooks" / f"{paper.name}.ipynb").exists(),
    )


def index(papers: Sequence[Sequence[Section]]) -> str:
    """The list of all tables and figures, as a page."""
    return _rendered("papers_index.md", papers=papers)


def _rendered(template: str, **content: Any) -> str:
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    templates.globals |= {
        "models": {model: harness.NAMES[model] for model in MODELS},
        "marks": {MARKS[verdict][0]: verdict for verdict in scorecard_page.VERDICTS},
        "claim_marks": CLAIM_MARKS,
        "heading": heading,
        "anchor": anchor,
    }
    templates.filters["percent"] = lambda x: "" if x != x else f"{100 * x:.1f} %"
    return templates.get_template(template).render(**content)


def assumed(paper: Paper) -> str:
    """Settings that the paper does not give, with links to the items that have other values."""

    def linked(match: re.Match[str]) -> str:
        return (
            f"[{match[0]}](#{anchor(paper.name, match[1])})"
            if match[1] in paper.items
            else match[0]
        )

    return re.sub(r'item "(\w+)"', linked, paper.assumed)


def anchor(paper: str, item: str) -> str:
    """HTML anchor of an item's section."""
    return f"{paper}-{item}".replace("_", "-")


@dataclass
class Section:
    """The part of a page about a table or a figure.

    Args:
        paper, item: the table or figure.
        records: its records; none for a figure without numbers.
    """

    paper: Paper
    item: str
    records: Sequence[Record]

    @property
    def anchor(self) -> str:
        return anchor(self.paper.name, self.item)

    @property
    def title(self) -> str:
        """ "Table 1: Link utilization"."""
        name = self.paper.published.titles.get(self.item, "")
        return f"{heading(self.item)}: {name}" if name else heading(self.item)

    @cached_property
    def summary(self) -> Mapping[Any, Any]:
        """Its row of `report.summary`."""
        return scorecard_page.summary(self.records).iloc[0].to_dict()

    def marks(self, model: str) -> Counter[str]:
        """Number of published numbers and references by the mark of a model's verdict."""
        verdicts = (r.judged(model) for r in self.records if r.formula is None)
        return Counter(MARKS[verdict][0] for verdict in verdicts if verdict in MARKS)

    @property
    def cells(self) -> list[Cell]:
        return self.paper.cells(self.item)

    @property
    def source(self) -> str:
        """Place in the paper, and how numbers are known that it does not print."""
        ways = {cell.read for cell in self.cells if cell.published is not None}
        words = [f"Source in the paper: {self.cells[0].source}."] if self.cells else []
        return " ".join([*words, *(text for way, text in READ.items() if way in ways)])

    @property
    def table(self) -> Markup:
        """The numbers in the paper's arrangement, as HTML."""
        return Markup(PaperTable(self.records).html())

    @property
    def figure(self) -> str:
        """File name of the figure without suffix; "" for none."""
        name = f"{self.paper.name}_{self.item}"
        drawn = self.paper.items[self.item].has_figure and (FIGURES / f"{name}.png").exists()
        return name if drawn else ""

    @property
    def pdf(self) -> bool:
        """Whether the figure is there as PDF; a source distribution has none."""
        return (FIGURES / f"{self.figure}.pdf").exists()

    @property
    def caption(self) -> str:
        """What the figure is drawn from."""
        item = self.paper.items[self.item]
        if item.networks is not None:
            return "Drawn from our scenarios."
        if item.models == ("fluid",):
            return "Drawn from runs of the fluid model."
        return "Drawn from our runs."

    @property
    def dots(self) -> str:
        """File name of the picture of all ratios without suffix; "" for none."""
        drawn = any(map(ratio_plot.can_be_drawn, self.records))
        return f"{self.paper.name}_{self.item}" if drawn else ""

    @property
    def measures(self) -> list[tuple[str, str]]:
        """Definitions of the measured numbers, each with its cells in words."""
        by_text: dict[str, list[Cell]] = {}
        for cell in self.cells:
            by_text.setdefault(cell.measured, []).append(cell)
        return [(where(of_it, self.cells), text) for text, of_it in by_text.items()]

    @property
    def tolerances(self) -> list[tuple[str, str, str]]:
        """Each tolerance as in the data file, with its cells in words and its reason."""
        by_size: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            if cell.tolerance is None:
                continue
            relative = cell.tolerance.kind == "relative"
            unit = "%" if relative else cell.unit.removesuffix("1")
            size = f"± {cell.tolerance.value * (100 if relative else 1):g} {unit}".rstrip()
            by_size.setdefault((size, cell.tolerance.reason), []).append(cell)
        return [(size, where(of, self.cells), why) for (size, why), of in by_size.items()]

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        """Scenarios by the name of their file; those of a drawing of networks, too."""
        item = self.paper.items[self.item]
        scenarios = item.scenarios() or (item.networks() if item.networks else {})
        names = (
            re.sub(r"[^\w.+-]+", "_", in_words(key, item.parts)).strip("_") for key in scenarios
        )
        files = (f"{self.item}/{k:03d}_{name}.toml" for k, name in enumerate(names))
        return dict(zip(files, scenarios.values(), strict=True))

    @property
    def first(self) -> tuple[str, str]:
        """File name and text of the first scenario."""
        name, scenario = next(iter(self.scenarios.items()))
        return name, scenario.to_toml()


def sections(paper: Paper, records: Sequence[Record]) -> list[Section]:
    """All items of a paper, also those without numbers."""
    return [Section(paper, item, [r for r in records if r.item == item]) for item in paper.items]


def _archive(of_paper: Sequence[Section]) -> bytes:
    """ZIP archive of all scenarios; equal scenarios give equal bytes."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for section in of_paper:
            for name, scenario in section.scenarios.items():
                text = scenario.to_toml()
                archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return memory.getvalue()


def where(cells: Sequence[Cell], all_cells: Sequence[Cell]) -> str:
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


@dataclass
class Sentence:
    """A sentence of a paper that makes a claim about one or more pairs of cells.

    Attributes:
        text: the sentence; more than four varying names become an ellipsis.
        pairs: each pair, and whether it holds in each model.
    """

    text: str = ""
    pairs: list[tuple[Claim, Mapping[str, bool]]] = field(default_factory=list)

    @property
    def item(self) -> str:
        """The item of its first cell."""
        return self.pairs[0][0].more[0]

    def count(self, model: str) -> Counter[bool]:
        """Number of pairs that hold (True) and that do not (False)."""
        return Counter(holds[model] for _, holds in self.pairs if model in holds)

    def verdict(self, model: str) -> str:
        """One of `CLAIM_MARKS`; "not run" for a model without numbers."""
        held = self.count(model)
        if not held:
            return "not run"
        return "partly" if len(held) == 2 else "holds" if held[True] else "fails"


def claims(records: Iterable[Record]) -> list[Sentence]:
    """A paper's claims, in the order of the data file."""
    by_form: dict[str, Sentence] = {}
    for _, claim, holds in expected_numbers.claims(records):
        by_form.setdefault(claim.form or claim.text, Sentence()).pairs.append((claim, holds))
    for form, sentence in by_form.items():
        sentence.text = common(form, [claim.text for claim, _ in sentence.pairs])
    return list(by_form.values())


def common(form: str, texts: Sequence[str]) -> str:
    """One sentence for all `texts` of a form: "{a} beats {b}" becomes "Reno/BIC beats FAST"."""
    names = re.findall(r"\{(\w+)\}", form)
    pattern = re.compile(re.sub(r"\\\{(\w+)\\\}", "(.+?)", re.escape(form)) + "$")
    groups = [match.groups() for text in texts if (match := pattern.match(text))]
    for name, of_name in zip(names, zip(*groups, strict=True), strict=True):
        words = list(dict.fromkeys(of_name))
        form = form.replace(f"{{{name}}}", "/".join(words) if len(words) <= 4 else "…", 1)
    return form[:1].upper() + form[1:]
