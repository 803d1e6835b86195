"""Write the report into a folder: a front page, and a page with downloads for every item."""

from __future__ import annotations

import io
import json
import re
import shutil
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from tqdm import tqdm

from experiments import dots, harness, pictures, report
from experiments.harness import CACHE, Item, Paper
from experiments.keys import in_words
from experiments.paper_table import STYLE, PaperTable
from experiments.records import MODELS, Record
from experiments.site import other, pages, traces
from tcpcc import Scenario
from tcpcc.sweeps import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent


def build(
    records: Sequence[Record],
    folder: Path,
    paper: str | None = None,
    item: str | None = None,
    *,
    figures: bool = True,
    runs: bool = True,
    cache: Path | None = CACHE,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Path:
    """Write the report of some records.

    Args:
        records: result of `experiments.reproduce`; nothing is measured again.
        folder: output folder; files of an earlier report are replaced, other files stay.
        paper, item: write only their pages; None for all, including items without numbers, BBR
            beside CUBIC and the conformance kit.
        figures: draw figures; the runs come from `cache` or are simulated.
        runs: include time series of cheap runs (`traces.choose`). Runs that the figure does not use
            are simulated.
        cache, jobs, progress: as in `experiments.reproduce`.

    Returns:
        The front page.

    Raises:
        ScenarioError: unknown paper or item.
    """
    papers = harness.papers_of(paper)
    chosen = {(paper.name, name) for paper in papers for name in harness.items_of(paper, item)}
    settings: dict[str, Any] = {"cache": cache, "jobs": jobs, "progress": False}
    cells = pages.by_paper(records)
    lines = [
        entry for entry in pages.lines(papers, cells) if (entry.paper.name, entry.item) in chosen
    ]
    said = pages.said(records)
    about = {"made_of": pages.made_of(), "marks": pages.MARKS, "models": MODELS}
    write = _Writer(folder, about)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(HERE / "static", folder / "static", dirs_exist_ok=True)
    shutil.copy(STYLE, folder / "static")
    others = other.PAGES if (paper, item) == (None, None) else {}
    words = {"papers": papers, "lines": lines, "said": said, "pages": pages, "others": others}
    write("index.html", "front.html", "", **words)
    for name, title in others.items():
        context = other.words(name, folder / name, figures)
        write(f"{name}/index.html", f"{name}.html", "../", title=title, **context)
    hide = not progress if progress is not None else None
    for line in tqdm(lines, "report", unit="page", disable=hide):
        shown = _Page(line, folder / line.paper.name)
        shown.write_data()
        if figures:
            shown.write_dots()
        if line.paper.items[line.item].scenarios is not dict and (figures or runs):
            shown.write_runs(figures, runs, settings)
        elif figures and shown.item.has_figure:
            name, of = line.item, line.paper.name
            shown.write_figure(lambda _, of=of, name=name: harness.draw(of, name, **settings))
        of_item = [claim for claim in said.get(line.paper.name, []) if claim.about(line.item)]
        write(line.page, "item.html", "../", shown=shown, line=line, said=of_item, pages=pages)
    return folder / "index.html"


class _Writer:
    """Fills templates and writes the pages."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder = folder
        self.about = about
        self.templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters["number"] = report.number
        self.templates.filters["share"] = lambda x: "" if x != x else f"{100 * x:.1f} %"

    def __call__(self, path: str, template: str, root: str, **words: Any) -> None:
        text = self.templates.get_template(template).render(root=root, **self.about, **words)
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


class _Page:
    """Content of an item's page that has its own files: downloads, figure, runs."""

    def __init__(self, line: pages.Line, folder: Path) -> None:
        self.line = line
        self.folder = folder
        self.item: Item = line.paper.items[line.item]
        self.networks: Mapping[str, Scenario] = self.item.networks() if self.item.networks else {}
        self.scenarios: Mapping[Any, Scenario] = self.item.scenarios() or self.networks
        self.figure = False
        self.dots = False
        self.traced: list[str] = []
        self.left_out = ""

    @property
    def paper(self) -> Paper:
        return self.line.paper

    @property
    def table(self) -> Markup:
        """The numbers in the paper's arrangement, as HTML."""
        return Markup(PaperTable(self.line.records).html())

    @property
    def first_title(self) -> str:
        """Title of the first scenario."""
        return in_words(next(iter(self.scenarios)), self.item.parts)

    @property
    def first(self) -> str:
        """TOML of the first scenario."""
        return next(iter(self.scenarios.values())).to_toml() if self.scenarios else ""

    @property
    def seeds(self) -> int:
        """Number of different seeds."""
        return len({scenario.seed for scenario in self.scenarios.values()})

    def _file(self, kind: str) -> Path:
        return self.folder / f"{self.line.item}.{kind}"

    def write_data(self) -> None:
        """Write the cells as CSV, and the scenarios as TOML files in a ZIP archive."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.line.records:
            report.scorecard(self.line.records).to_csv(self._file("csv"), index=False)
        if self.scenarios:
            self._file("zip").write_bytes(_archive(self.scenarios, self.item.parts))

    def write_runs(self, figures: bool, runs: bool, settings: Mapping[str, Any]) -> None:
        """Write the figure and the time series; both use the same runs if the figure needs runs."""
        known: dict[str, Mapping[Any, Any]] = {}
        if figures and self.item.draw is not None:
            for model in self.item.models:
                of_model = harness.simulate(self.paper, {self.line.item}, model, **settings)
                known[model] = of_model[self.line.item]
            drawn = known
            self.write_figure(lambda item: item.draw(drawn) if item.draw else None)
        elif figures and self.item.chart is not None:
            name, paper = self.line.item, self.paper.name
            self.write_figure(lambda _: harness.draw(paper, name, **settings))
        if not runs:
            return
        choice = traces.choose(self.scenarios, next(iter(known.values()), ()), self.item.parts)
        self.left_out = choice.left_out
        if not known:
            chosen = {key: self.scenarios[key] for key in choice.keys}
            for model in self.item.models:
                fresh = sweep(
                    list(chosen.values()),
                    model=model,
                    cache_from=1.0,
                    **settings,
                )
                known[model] = dict(zip(chosen, fresh, strict=True))
        files = _files(self.scenarios, self.item.parts)
        series = [
            {
                **traces.trace(self.item, self.line.item, key, known),
                "file": files[key],
                "toml": self.scenarios[key].to_toml(),
            }
            for key in choice.keys
        ]
        self.traced = [run["title"] for run in series]
        text = json.dumps(series, allow_nan=False, separators=(",", ":"))
        self._file("runs.js").write_text(f"tcpccRuns({text});\n", encoding="utf-8")

    def write_dots(self) -> None:
        """Write the dot plot of errors as PNG and SVG, if there are published numbers."""
        import matplotlib.pyplot as plt

        figure = dots.dot_plot(self.line.records)
        if figure is None:
            return
        pictures.save(figure, self.folder / f"{self.line.item}.dots", ("png", "svg"))
        plt.close(figure)
        self.dots = True

    def write_figure(self, draw: Any) -> None:
        """Write the figure as PNG, SVG and PDF, if there is one."""
        import matplotlib.pyplot as plt

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about fonts replaced in an SVG
            figure: Figure | None = draw(self.item)
            if figure is None:
                return
            pictures.save(figure, self.folder / self.line.item)
        plt.close(figure)
        self.figure = True


def _files(scenarios: Mapping[Any, Scenario], parts: Sequence[str]) -> dict[Any, str]:
    """File names of the scenarios' TOML files, numbered."""
    words = (re.sub(r"[^\w.+-]+", "_", in_words(key, parts)).strip("_") for key in scenarios)
    return {
        key: f"{k:03d}_{word}.toml"
        for k, (key, word) in enumerate(zip(scenarios, words, strict=True))
    }


def _archive(scenarios: Mapping[Any, Scenario], parts: Sequence[str]) -> bytes:
    """ZIP archive of TOML files; equal scenarios give equal bytes."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, name in _files(scenarios, parts).items():
            archive.writestr(zipfile.ZipInfo(name), scenarios[key].to_toml())
    return memory.getvalue()
