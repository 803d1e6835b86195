"""Published values as data: reads ``experiments/data/<paper>.toml`` into cells and claims.

The file holds what the paper prints and how closely it can be held to, and nothing that was
computed here::

    [paper]                            # title, authors, bibtex
    [[item]]                           # a table or a figure
    name = "table_1"
    title = "Link utilization of the bottleneck"
    source = "Table I"                 # where the numbers stand
    read = "text"                      # "text": printed numbers; "axis": read off a figure
      [[item.block]]                   # rows x columns of one arrangement
      unit = "1"                       # one, or one for each column
      columns = ["0-25", "25-55"]
      rows = ["Vegas", "New Reno"]
      published.Vegas = [0.335, 0.780] # a row that is left out has no published number
                                       # an item without a block is a figure that prints no number
      reference.Vegas = [...]          # in place of published: what another simulator or a closed
                                       # form gives; the paper does not print it
      formula = true                   # the rows are formulas, not numbers of a model
      [[item.measured]]                # how our number is taken from a run
      [[item.tolerance]]               # absolute = ... or relative = ..., and the reason
      [[item.cause]]                   # why the packet model's number differs
      check = "test_x.py::test_y"      # the test of tests/ that computes its evidence; none needs
                                       # what begins with "Not traced", and what is of chance,
                                       # `chance = true`, for which our runs' range must have room
      [[item.fluid_cause]]             # why the fluid model's differs from the packet model's; by
                                       # chance: the one's range must have room for the other
    [[claim]]                          # what the paper says of two cells: more > less
    more = "table_1/Quick Vegas/{time}"  # or ["table_1", "Quick Vegas", "{time}"]
    less = "table_1/Vegas/{time}"
    each.time = ["0-25", "25-55"]      # may be left out; of several, every combination

`measured`, `tolerance`, `cause` and `fluid_cause` take `rows` and `columns` where they hold for
some cells only; of several that apply, the last one counts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"

Key = tuple[str, str, str]
"""(item, row, column)."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be from the published one.

    Args:
        kind: "absolute" (in the cell's unit) or "relative" (a share of the published value).
        value: of that kind, positive.
        reason: why so much and no more; never our own result.
    """

    kind: str
    value: float
    reason: str

    def __post_init__(self) -> None:
        if self.kind not in ("absolute", "relative") or not self.value > 0 or not self.reason:
            raise ValueError(f"{self}: must be absolute or relative, positive, and have a reason")

    def width(self, published: float) -> float:
        """Half width of the band around `published`, in its unit."""
        return self.value * (abs(published) if self.kind == "relative" else 1.0)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says of two of its cells: `more` is larger than `less`; `form` is the text
    with the names in braces, the same for all that one entry of the data file says."""

    more: Key
    less: Key
    text: str
    form: str = field(default="", compare=False)


NOT_TRACED = "Not traced"
"""How a cause begins that is none: what is known all the same may follow."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a number differs, and what shows that this is why.

    Args:
        text: for people.
        check: the test that computes its evidence, "test_x.py::test_y" of tests/.
        chance: the number depends on phases or seeds that the paper does not give, or, of fluid,
            that the two models draw differently; whoever judges a cell looks whether that may be.
    """

    text: str
    check: str = ""
    chance: bool = False

    def __post_init__(self) -> None:
        if not (self.check or self.chance) and self.is_traced:
            raise ValueError(
                f"cause {self.text!r}: needs a check, or chance = true, or begins {NOT_TRACED!r}"
            )

    @property
    def is_traced(self) -> bool:
        return not self.text.startswith(NOT_TRACED)


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a paper.

    Args:
        paper, item, row, column: where it belongs.
        unit: of the published value, of ours, and of an absolute tolerance.
        published: None where the paper draws a curve and prints no number.
        reference: in its place, what another simulator or a closed form gives.
        tolerance: None where there is neither.
        measured: how our number is taken from a run.
        source: where in the paper.
        read: "text" for a printed number, "axis" for one read off a figure.
        cause: why the packet model's number is known to differ; None where it should not.
        fluid_cause: why the fluid model's number is known to differ from the packet model's.
        claims: what the paper says of this cell and another.
        formula: the number is a formula's, not a model's.
    """

    paper: str
    item: str
    row: str
    column: str
    unit: str
    published: float | None
    tolerance: Tolerance | None
    measured: str
    source: str
    read: str = "text"
    cause: Cause | None = None
    fluid_cause: Cause | None = None
    claims: tuple[Claim, ...] = ()
    reference: float | None = None
    formula: bool = False

    @property
    def key(self) -> Key:
        return self.item, self.row, self.column


@dataclass(frozen=True)
class Published:
    """A paper's data file.

    Attributes:
        titles: of the items, by name, in the file's order.
        cells: in the file's order.
    """

    title: str
    authors: Sequence[str]
    bibtex: str
    titles: Mapping[str, str]
    cells: Sequence[Cell] = field(default_factory=tuple)

    def printed(self, item: str) -> dict[tuple[str, str], float | None]:
        """The published numbers of an item by (row, column), in the file's order."""
        return {cell.key[1:]: cell.published for cell in self.cells if cell.item == item}


@cache
def of(paper: str) -> Published:
    """The data file of a paper, by its name."""
    return read(DATA / f"{paper}.toml")


@cache
def checks(paper: str) -> Mapping[str, str]:
    """The test that computes each cause's evidence, by the cause's text; of no paper nothing."""
    if not (DATA / f"{paper}.toml").exists():
        return {}
    causes = (cause for cell in of(paper).cells for cause in (cell.cause, cell.fluid_cause))
    return {cause.text: cause.check for cause in causes if cause is not None and cause.check}


def read(path: Path) -> Published:
    """Read a data file; raises ValueError in one line where it contradicts itself."""
    with path.open("rb") as file:
        data = tomllib.load(file)
    claims = list(_claims(data.get("claim", [])))
    cells = tuple(cell for item in data["item"] for cell in _cells(path.stem, item, claims))
    known = {cell.key for cell in cells}
    for claim in claims:
        for key in (claim.more, claim.less):
            if key not in known:
                raise ValueError(f"{path.name}: a claim names {'/'.join(key)}, which is no cell")
    if len(known) != len(cells):
        raise ValueError(f"{path.name}: two cells have the same item, row and column")
    return Published(
        title=data["paper"]["title"],
        authors=tuple(data["paper"]["authors"]),
        bibtex=data["paper"]["bibtex"].strip(),
        titles={item["name"]: item["title"] for item in data["item"]},
        cells=cells,
    )


def _claims(entries: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    for entry in entries:
        names = entry.get("each", {})
        for values in product(*names.values()):
            words = dict(zip(names, values, strict=True))
            try:
                more, less = (_key(entry[key], words, entry) for key in ("more", "less"))
                text = entry["text"].format_map(words)
            except KeyError as missing:
                raise ValueError(f"claim {entry}: `each` has no {missing}") from None
            yield Claim(more, less, text, entry["text"])


def _key(name: str | Sequence[str], words: Mapping[str, str], entry: Mapping[str, Any]) -> Key:
    parts = name.split("/", 2) if isinstance(name, str) else name
    if len(parts) != 3:
        raise ValueError(f"claim {entry}: {name!r} must be item/row/column")
    item, row, column = (part.format_map(words) for part in parts)
    return item, row, column


def _cells(paper: str, item: Mapping[str, Any], claims: Sequence[Claim]) -> Iterator[Cell]:
    for block in item.get("block", []):
        units = block["unit"]
        if isinstance(units, str):
            units = [units] * len(block["columns"])
        for kind in ("published", "reference"):
            if not set(block.get(kind, {})) <= set(block["rows"]):
                raise ValueError(f"{paper}: {item['name']}: {kind} rows must be among the rows")
        twice = set(block.get("published", {})) & set(block.get("reference", {}))
        if twice:
            raise ValueError(f"{paper}: {item['name']}: {twice} cannot be published and reference")
        for row in block["rows"]:
            none = [None] * len(block["columns"])
            printed, others = (block.get(k, {}).get(row, none) for k in ("published", "reference"))
            for column, unit, *both in zip(block["columns"], units, printed, others, strict=True):
                yield _cell(paper, item, block, row, column, unit, both[0], both[1], claims)


def _cell(
    paper: str,
    item: Mapping[str, Any],
    block: Mapping[str, Any],
    row: str,
    column: str,
    unit: str,
    published: float | None,
    reference: float | None,
    claims: Sequence[Claim],
) -> Cell:
    def last(kind: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = {}
        for entry in item.get(kind, []):
            if row in entry.get("rows", [row]) and column in entry.get("columns", [column]):
                found = entry
        return found

    tolerance = None
    if (published, reference) != (None, None):
        entry = last("tolerance")
        kind = "absolute" if "absolute" in entry else "relative"
        tolerance = Tolerance(kind, entry[kind], entry["reason"])
    key = item["name"], row, column

    def why(kind: str) -> Cause | None:
        entry = last(kind)
        told = {name: entry[name] for name in ("text", "check", "chance") if name in entry}
        return Cause(**told) if entry else None

    return Cell(
        paper=paper,
        item=item["name"],
        row=row,
        column=column,
        unit=unit,
        published=None if published is None else float(published),
        reference=None if reference is None else float(reference),
        formula=block.get("formula", False),
        tolerance=tolerance,
        measured=last("measured")["text"],
        source=item["source"],
        read=item.get("read", "text"),
        cause=why("cause"),
        fluid_cause=why("fluid_cause"),
        claims=tuple(c for c in claims if key in (c.more, c.less)),
    )
