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

from experiments import published
from experiments.harness import FIGURES, HERE, NAMES, Paper, papers
from experiments.records import Record
from experiments.report import table

ROOT = HERE.parent
DATA = published.DATA / "places.toml"


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
        told = tomllib.load(file)
    found = []
    for paper, entries in told.items():
        for entry in entries["places"]:
            one = Place(paper, **entry)
            if not (one.item or one.code or one.reason):
                item = re.sub(r"[ .]", "_", one.place.lower())
                one = Place(paper, **entry, item=item)
            found.append(one)
    return found


def broken(one: Place) -> str:
    """What does not exist of a place; "" if everything does."""
    if one.reason:
        return ""
    if one.code:
        file = ROOT / "tcpcc" / one.code
        words = file.read_text(encoding="utf-8") if file.exists() else ""
        docs = [ast.get_docstring(node) or "" for node in _documented(words)]
        return "" if any(one.mark in text for text in docs) else f"{one.code} has no {one.mark!r}"
    paper = papers()[one.paper]
    if one.item not in paper.items:
        return f"no item {one.item}"
    if not cell_of(one.paper, one.item):
        return f"no cell of the notebook shows {one.item}"
    figure = figure_of(one)
    return "" if not figure or (FIGURES / figure).exists() else f"no file {figure}"


def _documented(words: str) -> list[ast.Module | ast.FunctionDef]:
    tree = ast.parse(words)
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]


def figure_of(one: Place) -> str:
    """File name of a place's figure; "" for none."""
    item = papers()[one.paper].items.get(one.item)
    return f"{one.paper}_{one.item}.png" if item and item.has_figure else ""


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
    told = []
    for model, name in NAMES.items():
        of_model = [r.judged(model) for r in tested if r.number(model) is not None]
        if of_model:
            told.append(f"{name} {of_model.count('reproduced')} of {len(of_model)}")
    return "reproduced: " + ", ".join(told)


def _line(one: Place, paper: Paper, records: Sequence[Record]) -> list[str]:
    shows = one.shows or paper.published.titles.get(one.item, "")
    if one.reason:
        return [one.place, shows, f"none: {one.reason}", "", "", "", ""]
    if one.code:
        return [one.place, shows, f"{Path(one.code).name}, {one.mark}", "", "", "", ""]
    item = paper.items[one.item]
    figure = figure_of(one)
    is_run = item.scenarios is not dict
    drawn = "a drawing" if item.networks else "from the rules"
    return [
        one.place,
        shows,
        one.item,
        f"In [{cell_of(one.paper, one.item)}]",
        f"[png](../figures/{figure})" if figure else "",
        ", ".join(NAMES[model] for model in item.models) if is_run else "",
        verdict([r for r in records if r.item == one.item]) if is_run else drawn,
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
        " `experiments/<paper>/__init__.py`; [the scorecard](scorecard.md) has its numbers, causes"
        " and loose matches. A file is in `tcpcc/`; the number behind it is that of its docstring."
        " *Reproduced* counts are of all published numbers of the item, printed or inferred.",
    ]
    for name, paper in papers().items():
        of_paper = [one for one in places() if one.paper == name]
        if not of_paper:
            continue
        mine = [r for r in records if r.paper == name]
        missing = sum(bool(one.reason) for one in of_paper)
        lines += [
            "",
            f"## {paper.title}",
            "",
            f"{len(of_paper)} places, {missing} of them neither regenerated nor implemented."
            f" Notebook: `notebooks/{name}.ipynb`.",
            "",
            table(head, [_line(one, paper, mine) for one in of_paper], words=True),
        ]
    return "\n".join(lines) + "\n"
