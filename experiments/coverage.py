"""Every table, figure and equation of the papers' texts, and where it is here: docs/coverage.md.

``experiments/data/places.toml`` lists the places of each paper in its order. A place has `shows`,
what it shows (default: the title of its item), and one of

- `item`: name of the item that regenerates it (default: that of the place, "Figure 2" is
  ``figure_2``);
- `code` and `mark`: the file in tcpcc/ that implements it, and the number in its docstring;
- `reason`: why there is none.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from experiments import published_numbers
from experiments.harness import FIGURES, HERE, NAMES, Paper, papers
from experiments.markdown_tables import table
from experiments.records import Record

ROOT = HERE.parent
DATA = published_numbers.DATA / "places.toml"


@dataclass(frozen=True)
class Place:
    """A table, figure or equation of a paper.

    Args:
        paper: name of the paper.
        place: its number in the text, such as "Figure 2".
        shows: what it shows.
        item: the item that regenerates it; "" for none.
        code: the file that implements it, below tcpcc/; "" for none.
        mark: its number in the docstring of `code`.
        reason: why it has neither.
    """

    paper: str
    place: str
    shows: str = ""
    item: str = ""
    code: str = ""
    mark: str = ""
    reason: str = ""


def places() -> list[Place]:
    """All places, by paper in the papers' order."""
    with DATA.open("rb") as file:
        document = tomllib.load(file)
    result = []
    for paper, entries in document.items():
        for entry in entries["places"]:
            place = Place(paper, **entry)
            if not (place.item or place.code or place.reason):
                item = re.sub(r"[ .]", "_", place.place.lower())
                place = Place(paper, **entry, item=item)
            result.append(place)
    return result


def broken(place: Place) -> str:
    """What does not exist of a place; "" if everything does."""
    if place.reason:
        return ""
    if place.code:
        file = ROOT / "tcpcc" / place.code
        words = file.read_text(encoding="utf-8") if file.exists() else ""
        docs = [ast.get_docstring(node) or "" for node in _documented(words)]
        return (
            ""
            if any(place.mark in text for text in docs)
            else f"{place.code} has no {place.mark!r}"
        )
    paper = papers()[place.paper]
    if place.item not in paper.items:
        return f"no item {place.item}"
    if not cell_of(place.paper, place.item):
        return f"no cell of the notebook shows {place.item}"
    figure = figure_of(place)
    return "" if not figure or (FIGURES / figure).exists() else f"no file {figure}"


def _documented(words: str) -> list[ast.Module | ast.FunctionDef]:
    tree = ast.parse(words)
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]


def figure_of(place: Place) -> str:
    """File name of a place's figure; "" for none."""
    item = papers()[place.paper].items.get(place.item)
    return f"{place.paper}_{place.item}.png" if item and item.has_figure else ""


@cache
def _cells(paper: str) -> Sequence[str]:
    """Code cells of a paper's notebook."""
    book = json.loads((ROOT / "notebooks" / f"{paper}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def cell_of(paper: str, item: str) -> int:
    """Number of the notebook's first cell that computes or draws an item; 0 for none."""
    for number, source in enumerate(_cells(paper), 1):
        if re.search(rf'book\.(?:compute|draw)\([^)]*"{item}"', source):
            return number
    return 0


def verdict(records: Sequence[Record]) -> str:
    """Verdicts of the records of an item, for each model."""
    tested = [r for r in records if r.is_tested]
    if not tested:
        return "no published numbers"
    parts = []
    for model, name in NAMES.items():
        of_model = [r.judged(model) for r in tested if r.number(model) is not None]
        if of_model:
            parts.append(f"{name} {of_model.count('reproduced')} of {len(of_model)}")
    return "reproduced: " + ", ".join(parts)


def _line(place: Place, paper: Paper, records: Sequence[Record]) -> list[str]:
    shows = place.shows or paper.published.titles.get(place.item, "")
    if place.reason:
        return [place.place, shows, f"none: {place.reason}", "", "", "", ""]
    if place.code:
        return [place.place, shows, f"{Path(place.code).name}, {place.mark}", "", "", "", ""]
    item = paper.items[place.item]
    figure = figure_of(place)
    is_run = item.scenarios is not dict
    drawn = "a drawing" if item.networks else "from the rules"
    return [
        place.place,
        shows,
        place.item,
        f"In [{cell_of(place.paper, place.item)}]",
        f"[png](../figures/{figure})" if figure else "",
        ", ".join(NAMES[model] for model in item.models) if is_run else "",
        verdict([r for r in records if r.item == place.item]) if is_run else drawn,
    ]


def markdown(records: Sequence[Record]) -> str:
    """The page: a table for each paper.

    Args:
        records: records of all papers.
    """
    head = ("Place", "Shows", "Item or code", "Notebook cell", "Figure", "Models", "Verdict")
    lines = [
        "# Coverage of the papers",
        "",
        "*Written by `make reproduce` from `experiments/data/places.toml`.*",
        "",
        "Every table, figure and equation of the five papers. An item is in"
        " `experiments/<paper>/__init__.py`; [the paper's page](papers/index.md) has its numbers"
        " and causes. A file is in `tcpcc/`; the number behind it is that of its docstring."
        " *Reproduced* counts are of all published numbers of the item, printed or inferred.",
    ]
    for name, paper in papers().items():
        of_paper = [place for place in places() if place.paper == name]
        if not of_paper:
            continue
        records_of_paper = [r for r in records if r.paper == name]
        rows = [_line(place, paper, records_of_paper) for place in of_paper]
        missing = sum(bool(place.reason) for place in of_paper)
        lines += [
            "",
            f"## {paper.title}",
            "",
            f"{len(of_paper)} places, {missing} of them neither regenerated nor implemented."
            f" Notebook: `notebooks/{name}.ipynb`.",
            "",
            table(head, rows, words=len(head)),
        ]
    return "\n".join(lines) + "\n"
