"""Expected numbers and verdicts of the models, under version control.

``experiments/data/<paper>_expected.csv`` has a line per cell and ``<paper>_claims.csv`` a line per
claim. ``<paper>_sample.csv`` is for quick checks: it has a line per cell for which the first few
seeds give other numbers than all seeds. `tcpcc reproduce --accept` rewrites the files; their diff
shows the changes. tests/papers/test_reproduction.py compares every run with them.
"""

from __future__ import annotations

import csv
import math
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from experiments import published_numbers, seeds
from experiments.measured_numbers import Measured, completed
from experiments.published_numbers import Claim, Key
from experiments.records import MODELS, Record, record

ROUNDING = 1e-6
"""Relative difference up to which two numbers count as equal."""

NUMBERS: Mapping[str, Callable[[Record], float | None]] = {
    "formula": lambda r: r.formula,
    "packet": lambda r: r.packet,
    "packet_low": lambda r: r.spread and r.spread[0],
    "packet_high": lambda r: r.spread and r.spread[1],
    "packet_sd": lambda r: r.sd,
    "packet_seeds": lambda r: r.seeds,
    "fluid": lambda r: r.fluid,
    "fluid_low": lambda r: r.fluid_spread and r.fluid_spread[0],
    "fluid_high": lambda r: r.fluid_spread and r.fluid_spread[1],
    "fluid_sd": lambda r: r.fluid_sd,
    "fluid_seeds": lambda r: r.fluid_seeds,
}
WORDS: Mapping[str, Callable[[Record], str | None]] = {
    "verdict": lambda r: r.verdict,
    "fluid_verdict": lambda r: r.fluid_verdict,
    "agreement": lambda r: r.agreement,
}
"""Functions that read a record's expected values, by column of the file."""

CELL = ("item", "row", "column")
CLAIM = ("more", "less", *MODELS)

Line = Mapping[str, str]


def accept(records: Iterable[Record], folder: Path = published_numbers.DATA) -> list[Path]:
    """Make these records the expected ones; other cells keep their expected values.

    With few seeds (`seeds.QUICK`) this writes the sample, else the expected values and the claims.

    Args:
        records: records of both models.
        folder: folder of the files.

    Returns:
        The files written.
    """
    files = []
    for paper, group in groupby(records, key=lambda r: r.paper):
        fresh = list(group)
        if seeds.QUICK:
            files.append(_accept_sample(paper, fresh, folder))
            continue
        cells = {r.key: _line(r) for r in fresh}
        lines = _by_cell(paper, folder)
        order = [cell.key for cell in published_numbers.of(paper).cells]
        chosen = [cells.get(key) or lines[key] for key in order if key in cells or key in lines]
        files.append(_file(paper, "expected", folder))
        write_lines(files[-1], [*CELL, *NUMBERS, *WORDS], chosen)
        claim_lines = {(line["more"], line["less"]): line for line in claims_of(paper, folder)}
        claim_lines |= {(line["more"], line["less"]): line for line in _claims(paper, fresh)}
        names = ["/".join(key) for claim in _order(paper) for key in (claim.more, claim.less)]
        pairs = dict.fromkeys(zip(names[::2], names[1::2], strict=True))
        files.append(_file(paper, "claims", folder))
        write_lines(files[-1], CLAIM, [claim_lines[pair] for pair in pairs if pair in claim_lines])
    return files


def _accept_sample(paper: str, fresh: Iterable[Record], folder: Path) -> Path:
    """Write the lines of the sample that differ from the lines of all seeds."""
    lines: dict[Key, Line] = {**_by_cell(paper, folder, "sample")}
    lines |= {r.key: _line(r) for r in fresh}
    whole = _by_cell(paper, folder)
    order = [cell.key for cell in published_numbers.of(paper).cells]
    other = [lines[key] for key in order if key in lines and lines[key] != whole.get(key)]
    file = _file(paper, "sample", folder)
    write_lines(file, [*CELL, *NUMBERS, *WORDS], other)
    return file


def cells_of(paper: str, folder: Path = published_numbers.DATA) -> list[Line]:
    """Expected values of a paper's cells; empty if nothing was accepted yet."""
    return read_lines(_file(paper, "expected", folder))


def numbers(
    paper: str, model: str, folder: Path = published_numbers.DATA, sample: bool = False
) -> dict[Key, Measured]:
    """Expected numbers of a model, including those of formulas; with `sample`, of a few seeds."""
    measured = {}
    lines = _by_cell(paper, folder)
    for key, line in {**lines, **(_by_cell(paper, folder, "sample") if sample else {})}.items():
        if line["formula"]:
            measured[key] = Measured(float(line["formula"]))
        elif line[model]:
            low, high, sd = (_number(line[model + end]) for end in ("_low", "_high", "_sd"))
            of = line.get(f"{model}_seeds")
            measured[key] = Measured(float(line[model]), low, high, sd, int(of) if of else None)
    return measured


def _number(text: str) -> float | None:
    return float(text) if text else None


def records_of(
    paper: str, folder: Path = published_numbers.DATA, sample: bool = False
) -> list[Record]:
    """Records made from the expected numbers; quotients and constants are computed anew.

    Args:
        paper: name of the paper.
        folder: folder of the files.
        sample: use the numbers of a few seeds.
    """
    cells = published_numbers.of(paper).cells
    values = {m: completed(numbers(paper, m, folder, sample), cells) for m in MODELS}
    keys = {key for of_model in values.values() for key in of_model}
    return [record(cell, values) for cell in cells if cell.key in keys]


def claims_of(paper: str, folder: Path = published_numbers.DATA) -> list[Line]:
    """Expected results of a paper's claims: "holds" or "fails" for each model."""
    return read_lines(_file(paper, "claims", folder))


def moved(record: Record, folder: Path = published_numbers.DATA) -> list[str]:
    """Differences from the expected record, each as "packet: 21.2 -> 23.4"; empty if equal.

    With few seeds (`seeds.QUICK`) the record is compared with the sample.
    """
    old = _by_cell(record.paper, folder).get(record.key)
    if seeds.QUICK:
        old = _by_cell(record.paper, folder, "sample").get(record.key, old)
    if old is None:
        return ["no expected values yet; write them with: tcpcc reproduce --accept"]
    new = _line(record)
    elsewhere = _written_on(record.paper, folder) != this_platform()
    return [
        f"{name}: {_entry(name, old)} -> {_entry(name, new)}"
        for name in (*NUMBERS, *WORDS)
        if old.get(name, "") != new[name] and not _is_rounding(name, old, new, elsewhere)
    ]


def _entry(name: str, line: Line) -> str:
    """An entry as text, a number with nine digits."""
    entry = line.get(name, "")
    return (f"{float(entry):.9g}" if name in NUMBERS and entry else entry) or "none"


def _is_rounding(name: str, old: Line, new: Line, elsewhere: bool) -> bool:
    """Whether two different entries differ only by rounding error.

    On another platform than the one where `old` was written, rounding error can separate two runs
    of a random scenario. There the number only has to lie in the range of all runs.
    """
    if elsewhere and old["packet_low" if not name.startswith("fluid") else "fluid_low"]:
        if name not in MODELS:
            return True
        low, high = (float(old[f"{name}_{end}"]) for end in ("low", "high"))
        return low <= float(new[name]) <= high
    if name in WORDS or not old[name] or not new[name]:
        return False
    return math.isclose(float(old[name]), float(new[name]), rel_tol=ROUNDING, abs_tol=1e-9)


def this_platform() -> str:
    """Machine and library versions, which determine rounding."""
    import numba
    import numpy as np

    return f"{platform.machine()}, numba {numba.__version__}, numpy {np.__version__}"


def claims(records: Iterable[Record]) -> Iterator[tuple[str, Claim, dict[str, bool]]]:
    """(paper, claim, {model: whether it holds}) of every claim with both cells in `records`."""
    for paper, group in groupby(records, key=lambda r: r.paper):
        by_key = {r.key: r for r in group}
        for claim in _order(paper):
            if claim.more not in by_key or claim.less not in by_key:
                continue
            holds = {}
            for model in MODELS:
                more, less = (by_key[key].number(model) for key in (claim.more, claim.less))
                if more is not None and less is not None:
                    holds[model] = more > less
            yield paper, claim, holds


def _order(paper: str) -> list[Claim]:
    """A paper's claims without duplicates, in the order of its cells."""
    return list(dict.fromkeys(c for cell in published_numbers.of(paper).cells for c in cell.claims))


def _claims(paper: str, records: Iterable[Record]) -> Iterator[Line]:
    for _, claim, holds in claims(records):
        verdicts = {model: "holds" if held else "fails" for model, held in holds.items()}
        yield {"more": "/".join(claim.more), "less": "/".join(claim.less), **verdicts}


def _line(record: Record) -> Line:
    numbers = {name: of(record) for name, of in NUMBERS.items()}
    return {
        **dict(zip(CELL, record.key, strict=True)),
        **{
            name: "" if n is None else repr(float(n)).removesuffix(".0")
            for name, n in numbers.items()
        },
        **{name: of(record) or "" for name, of in WORDS.items()},
    }


def _file(paper: str, what: str, folder: Path) -> Path:
    return folder / f"{paper}_{what}.csv"


def _by_cell(paper: str, folder: Path, what: str = "expected") -> Mapping[Key, Line]:
    return {
        (line["item"], line["row"], line["column"]): line
        for line in read_lines(_file(paper, what, folder))
    }


def _written_on(paper: str, folder: Path) -> str:
    with _file(paper, "expected", folder).open(encoding="utf-8") as file:
        return file.readline().removeprefix("# ").rstrip("\n")


def read_lines(file: Path) -> list[Line]:
    """Lines of a file by column, without comments; none if there is no such file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(line for line in text if not line.startswith("#")))


def write_lines(file: Path, columns: Iterable[str], lines: Iterable[Line]) -> None:
    """Write lines by column, below a comment that names this platform."""
    with file.open("w", encoding="utf-8", newline="") as text:
        text.write(f"# {this_platform()}\n")
        writer = csv.DictWriter(text, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
