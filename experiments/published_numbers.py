"""Published values: reads ``experiments/data/<paper>_published.toml`` into cells and claims.

The file has the published values, their tolerances and the causes of differences. It has no
computed numbers::

    [paper]                            # title, authors, bibtex
    [[item]]                           # a table or a figure
    name = "table_1"
    title = "Link utilization of the bottleneck"
    source = "Table I"                 # place in the paper
    read = "text"                      # "text": printed numbers; "axis": read off a figure;
                                       # "sentence": inferred by us from a sentence without the
                                       # number, such as 1 from "friendly"
    layout.rows = ["Vegas", "New Reno"]  # optional: order of rows (or columns) in the paper, where
                                       # it differs from that of the blocks
    layout.turned = true               # optional: the paper has our columns as rows
    layout.corner = "Time (s)"         # optional: heading of the rows' names
      [[item.block]]                   # rows x columns of one arrangement
      unit = "1"                       # one, or one for each column
      columns = ["0-25", "25-55"]
      rows = ["Vegas", "New Reno"]
      read = "sentence"                # optional: where the block differs from its item
      published.Vegas = [0.335, 0.780] # a row left out here has no published number;
                                       # an item without a block is a figure without numbers
      reference.Vegas = [...]          # instead of published: number from another simulator or a
                                       # closed form, not published in the paper
      formula = true                   # the rows are formulas, not numbers of a model
      value.Limit = [...]              # a formula that is a constant, such as a bound in the text
      [[item.quotient]]                # our number is a quotient of two other cells; names in
      of = "table_1/{first}/{column}"  # braces: {row}, {column}, and {first} and {last} of a row
      to = "table_1/{last}/{column}"   # "first / last"; with `each`, as in a claim, the largest of
                                       # several quotients
      of_one_run = true                # optional: both cells are of the same runs
      [[item.definition]]              # cells that cannot fail, such as a ratio of a number to
                                       # itself: shown, not judged and not counted
      [[item.measured]]                # how our number is computed from a run
      [[item.tolerance]]               # absolute = ... or relative = ..., and the reason
      [[item.cause]]                   # why the packet model's number differs
      check = "test_x.py::test_y"      # the test in tests/ that computes the evidence; not required
                                       # for causes that start with "Not traced" or have
                                       # `chance = true` (the value must be in our runs' range)
      [[item.fluid_cause]]             # why fluid differs from packets; with `chance = true` the
                                       # ranges of both must overlap
    [[claim]]                          # claim of the paper about two cells: more > less
    more = "table_1/Quick Vegas/{time}"  # or ["table_1", "Quick Vegas", "{time}"]
    less = "table_1/Vegas/{time}"
    each.time = ["0-25", "25-55"]      # optional; with several names, every combination

`quotient`, `definition`, `measured`, `tolerance`, `cause` and `fluid_cause` take `rows` and
`columns` if they apply to some cells only. If several entries apply to a cell, the last one is
used.
"""

from __future__ import annotations

import csv
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


class Printed(float):
    """A number with the digits of the data file, which are those of the paper: "0.780"."""

    def __new__(cls, text: str) -> Printed:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.text,)


def digits(value: float | None) -> str:
    """A published value with the paper's digits; "" for None."""
    if value is None:
        return ""
    return value.text if isinstance(value, Printed) else f"{value:g}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paper's arrangement of an item, where it differs from the order of the blocks.

    Args:
        rows, columns: names in the paper's order; names left out come last.
        turned: whether the paper has our columns as rows.
        corner: heading of the rows' names, such as "Time (s)".
    """

    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    turned: bool = False
    corner: str = ""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Largest accepted distance of a number from the published value.

    Args:
        kind: "absolute" (in the cell's unit) or "relative" (a share of the published value).
        value: the distance, positive.
        reason: why the tolerance has this size; our own result must not be a reason.
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
    """A claim of the paper about two cells: `more` is larger than `less`.

    `form` is the text with names in braces; all claims from one entry of the data file share it.
    """

    more: Key
    less: Key
    text: str
    form: str = field(default="", compare=False)


DIFFERENCES = DATA / "differences.csv"
"""What removes the differences between the models; written by `experiments.differences`."""

NOT_TRACED = "Not traced"
"""Prefix of a cause that is not yet explained; known facts may follow it."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a number differs, and the evidence.

    Args:
        text: the explanation.
        check: the test that computes the evidence, "test_x.py::test_y" in tests/.
        chance: the number depends on phases or seeds that the paper does not give (for a fluid
            cause: that the two models draw differently). `records.record` checks whether chance is
            a possible explanation.
    """

    text: str
    check: str = ""
    chance: bool = False

    def __post_init__(self) -> None:
        if not (self.check or self.chance) and self.is_traced:
            raise ValueError(
                f"cause {self.text!r}: must have a check or chance = true, or start with "
                f"{NOT_TRACED!r}"
            )

    @property
    def is_traced(self) -> bool:
        return not self.text.startswith(NOT_TRACED)


_CHECK = "papers/test_differences.py::test_the_difference_goes"
CAUSES = {
    "phases": Cause(
        "Traffic phases: if hosts take a random time of up to one packet time, the models agree.",
        _CHECK,
    ),
    "longer times": Cause(
        "Traffic phases: if hosts take a random time of up to three packet times, with which "
        "packets overtake each other, the models agree.",
        _CHECK,
    ),
    "step": Cause(
        "Length of the step: with random times in hosts and steps of half the length, the models "
        "agree.",
        _CHECK,
    ),
    "recovery": Cause(
        "Habits of a loss recovery: with random times in hosts and SACK's recovery in all flows, "
        "the models agree.",
        _CHECK,
    ),
    "windows": Cause(
        "Small windows: with random times in hosts and ten times the rate, the buffer and the "
        "thresholds, the models agree.",
        _CHECK,
    ),
    "recovery and windows": Cause(
        "Small windows and habits of a loss recovery: with random times in hosts, SACK's recovery "
        "in all flows, and ten times the rate, the buffer and the thresholds, the models agree.",
        _CHECK,
    ),
    "not tried": Cause(f"{NOT_TRACED}: no experiment was made."),
    "not traced": Cause(
        f"{NOT_TRACED}: the experiments of `experiments.differences` do not remove the difference."
    ),
}
"""Causes of differences between the models, by their names in `DIFFERENCES`."""


@cache
def _traced() -> Mapping[tuple[str, ...], Cause]:
    """Causes of `DIFFERENCES` by paper, item, row and column."""
    with DIFFERENCES.open(encoding="utf-8", newline="") as file:
        lines = [tuple(line.values()) for line in csv.DictReader(file)]
    return {line[:4]: CAUSES[line[-1]] for line in lines if line[-1] in CAUSES}


READ = {
    "text": "printed",
    "axis": "read off a figure",
    "sentence": "inferred from a sentence",
}
"""How a published value is known, with the words for it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a paper.

    Args:
        paper, item, row, column: position of the number.
        unit: unit of the published value, of our number, and of an absolute tolerance.
        published: the published value; None if the paper shows a curve without numbers.
        reference: used instead: value from another simulator or a closed form.
        tolerance: None without a published value or reference.
        measured: how our number is computed from a run.
        source: place in the paper.
        read: how the published value is known, one of `READ`.
        cause: known reason why the packet model's number differs; None if it should not.
        fluid_cause: known reason why the fluid model's number differs from the packet model's.
        claims: the paper's claims about this cell and another.
        formula: the number comes from a formula, not from a model.
        by_definition: our number cannot miss the published value, such as a ratio to itself.
        value: our number, if it is a constant.
        quotients: our number is the largest quotient of two cells (dividend, divisor), if any.
        of_one_run: both cells of a quotient are of the same runs.
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
    by_definition: bool = False
    value: float | None = None
    quotients: tuple[tuple[Key, Key], ...] = ()
    of_one_run: bool = False

    @property
    def key(self) -> Key:
        return self.item, self.row, self.column


@dataclass(frozen=True)
class Published:
    """A paper's data file.

    Attributes:
        titles: titles of the items by name, in the file's order.
        cells: all cells, in the file's order.
        layouts: arrangements by item, where they differ from the file's.
    """

    title: str
    authors: Sequence[str]
    bibtex: str
    titles: Mapping[str, str]
    cells: Sequence[Cell] = field(default_factory=tuple)
    layouts: Mapping[str, Layout] = field(default_factory=dict)

    def printed(self, item: str) -> dict[tuple[str, str], float | None]:
        """Published numbers of an item by (row, column), in the file's order."""
        return {cell.key[1:]: cell.published for cell in self.cells if cell.item == item}


def file_of(paper: str) -> Path:
    """The data file of a paper."""
    return DATA / f"{paper}_published.toml"


@cache
def of(paper: str) -> Published:
    """Read a paper's data file, by the paper's name."""
    return read(file_of(paper))


@cache
def checks(paper: str) -> Mapping[str, str]:
    """Tests that compute the evidence, by the cause's text; empty for an unknown paper."""
    if not file_of(paper).exists():
        return {}
    causes = (cause for cell in of(paper).cells for cause in (cell.cause, cell.fluid_cause))
    return {cause.text: cause.check for cause in causes if cause is not None and cause.check}


def read(path: Path) -> Published:
    """Read a data file.

    Raises:
        ValueError: the file is inconsistent.
    """
    with path.open("rb") as file:
        data = tomllib.load(file, parse_float=Printed)
    claims = list(_claims(data.get("claim", [])))
    paper = path.stem.removesuffix("_published")
    cells = tuple(cell for item in data["item"] for cell in _cells(paper, item, claims))
    keys = {cell.key for cell in cells}
    measured = {cell.key for cell in cells if not cell.quotients}
    for claim in claims:
        for key in (claim.more, claim.less):
            if key not in keys:
                raise ValueError(f"{path.name}: a claim names {'/'.join(key)}, which is not a cell")
    for cell in cells:
        for key in (key for pair in cell.quotients for key in pair):
            if key not in measured:
                raise ValueError(
                    f"{path.name}: the quotient {'/'.join(cell.key)} names {'/'.join(key)}, which "
                    "is not a measured cell"
                )
    if len(keys) != len(cells):
        raise ValueError(f"{path.name}: two cells have the same item, row and column")
    return Published(
        title=data["paper"]["title"],
        authors=tuple(data["paper"]["authors"]),
        bibtex=data["paper"]["bibtex"].strip(),
        titles={item["name"]: item["title"] for item in data["item"]},
        cells=cells,
        layouts={item["name"]: _layout(item) for item in data["item"] if "layout" in item},
    )


def _layout(item: Mapping[str, Any]) -> Layout:
    layout = Layout(**item["layout"])
    for axis in ("rows", "columns"):
        names = {name for block in item.get("block", []) for name in block[axis]}
        if not set(getattr(layout, axis)) <= names:
            raise ValueError(f"{item['name']}: layout.{axis} must be among the {axis}")
    return layout


def _claims(entries: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    for entry in entries:
        for words in _words(entry):
            try:
                more, less = (_key(entry[key], words, entry) for key in ("more", "less"))
                text = entry["text"].format_map(words)
            except KeyError as missing:
                raise ValueError(f"claim {entry}: `each` has no {missing}") from None
            yield Claim(more, less, text, entry["text"])


def _words(entry: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Every combination of the names in `each`."""
    names = entry.get("each", {})
    for values in product(*names.values()):
        yield dict(zip(names, values, strict=True))


def _key(name: str | Sequence[str], words: Mapping[str, str], entry: Mapping[str, Any]) -> Key:
    parts = name.split("/", 2) if isinstance(name, str) else name
    if len(parts) != 3:
        raise ValueError(f"{entry}: {name!r} must be item/row/column")
    item, row, column = (part.format_map(words) for part in parts)
    return item, row, column


def _cells(paper: str, item: Mapping[str, Any], claims: Sequence[Claim]) -> Iterator[Cell]:
    for block in item.get("block", []):
        units = block["unit"]
        if isinstance(units, str):
            units = [units] * len(block["columns"])
        for kind in ("published", "reference", "value"):
            if not set(block.get(kind, {})) <= set(block["rows"]):
                raise ValueError(f"{paper}: {item['name']}: {kind} rows must be among the rows")
        if _read(item, block) not in READ:
            raise ValueError(f"{paper}: {item['name']}: read must be one of {', '.join(READ)}")
        if "value" in block and not block.get("formula", False):
            raise ValueError(f"{paper}: {item['name']}: a value needs formula = true")
        twice = set(block.get("published", {})) & set(block.get("reference", {}))
        if twice:
            raise ValueError(f"{paper}: {item['name']}: {twice} cannot be published and reference")
        for row in block["rows"]:
            none = [None] * len(block["columns"])
            kinds = (block.get(k, {}).get(row, none) for k in ("published", "reference", "value"))
            for column, unit, *of_kind in zip(block["columns"], units, *kinds, strict=True):
                values = dict(zip(("published", "reference", "value"), of_kind, strict=True))
                yield _cell(paper, item, block, row, column, unit, values, claims)


def _cell(
    paper: str,
    item: Mapping[str, Any],
    block: Mapping[str, Any],
    row: str,
    column: str,
    unit: str,
    values: Mapping[str, float | None],
    claims: Sequence[Claim],
) -> Cell:
    published, reference, value = (values[k] for k in ("published", "reference", "value"))

    def last(kind: str) -> Mapping[str, Any]:
        latest: Mapping[str, Any] = {}
        for entry in item.get(kind, []):
            if row in entry.get("rows", [row]) and column in entry.get("columns", [column]):
                latest = entry
        return latest

    tolerance = None
    if (published, reference) != (None, None):
        entry = last("tolerance")
        kind = "absolute" if "absolute" in entry else "relative"
        tolerance = Tolerance(kind, entry[kind], entry["reason"])
    key = item["name"], row, column

    def why(kind: str) -> Cause | None:
        entry = last(kind)
        entries = {name: entry[name] for name in ("text", "check", "chance") if name in entry}
        return Cause(**entries) if entry else None

    traced = _traced().get((paper, *key))
    return Cell(
        paper=paper,
        item=item["name"],
        row=row,
        column=column,
        unit=unit,
        published=_number(published),
        reference=_number(reference),
        formula=block.get("formula", False),
        by_definition=published is not None and bool(last("definition")),
        tolerance=tolerance,
        measured=last("measured")["text"],
        source=item["source"],
        read=_read(item, block),
        cause=why("cause"),
        fluid_cause=traced if traced and traced.is_traced else why("fluid_cause") or traced,
        claims=tuple(c for c in claims if key in (c.more, c.less)),
        value=None if value is None else float(value),
        quotients=tuple(_quotients(last("quotient"), row, column)),
        of_one_run=last("quotient").get("of_one_run", False),
    )


def _read(item: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    return str(block.get("read", item.get("read", "text")))


def _quotients(entry: Mapping[str, Any], row: str, column: str) -> Iterator[tuple[Key, Key]]:
    first, _, last = row.partition(" / ")
    for words in _words(entry) if entry else ():
        names = words | {"row": row, "column": column, "first": first, "last": last}
        yield _key(entry["of"], names, entry), _key(entry["to"], names, entry)


def _number(value: float | None) -> float | None:
    return value if value is None or isinstance(value, Printed) else float(value)
