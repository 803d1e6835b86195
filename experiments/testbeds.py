"""What the studies that compare with a test-bed share: cells, numbers, files, options, output."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tcpcc as tc
from experiments import figure_files
from experiments.harness import FIGURES
from experiments.published_numbers import DATA
from tcpcc.errors import ScenarioError, unknown
from tcpcc.files import whole_file
from tcpcc.sweeps.parallel import Simulations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = ("packet", "fluid")
TESTBED = "testbed"
"""Sources of numbers."""


class Key(NamedTuple):
    """A number: who measured it, the cell, the measure."""

    source: str
    cell: Any
    measure: str


Numbers = Mapping[Key, tuple[float, ...]]
"""Values by key: one for each trial or seed."""


class Item(NamedTuple):
    """An experiment of a study: its cells, seeds by model, and files."""

    study: str
    name: str
    cells: Callable[[], Sequence[Any]]
    seeds: Mapping[str, Sequence[int]]
    columns: tuple[str, ...]
    parse: Callable[[Mapping[str, str]], tuple[Any, str]]
    write: Callable[[Key], tuple[object, ...]]

    @property
    def published(self) -> Path:
        return DATA / f"{self.study}_{self.name}_published.csv"

    @property
    def file(self) -> Path:
        """Our accepted numbers."""
        return DATA / f"{self.study}_{self.name}.csv"


def simulated(
    cells: Iterable[Any],
    model: str = "packet",
    seeds: Sequence[int] = (1,),
    *,
    of: Callable[[Any, tc.Run], dict[str, float]],
    jobs: int | None = None,
    progress: bool | None = None,
    title: str,
) -> tuple[dict[Key, tuple[float, ...]], float]:
    """Measures of cells, one value for each seed, and the CPU time per simulated second.

    Args:
        cells: the experiments.
        model: "packet" or "fluid".
        seeds: seeds of delays, start times and phases.
        of: the measures of a cell from its run.
        jobs, progress: as in `tcpcc.sweep`.
        title: title of the progress bar.
    """
    cases = [(cell, seed) for cell in cells for seed in seeds]
    runs = [cell.scenario(seed) for cell, seed in cases]
    results: dict[tuple[Any, int], dict[str, float]] = {}
    began = time.process_time()
    with Simulations(runs, model, jobs=jobs) as simulations:
        for index, run in simulations.finished(progress, f"{title}, {model}"):
            if isinstance(run, Exception):
                raise run
            results[cases[index]] = of(cases[index][0], run)
    cost = (time.process_time() - began) / sum(run.duration for run in runs)
    values = {
        Key(model, cell, measure): tuple(results[cell, seed][measure] for seed in seeds)
        for cell in dict.fromkeys(cell for cell, _ in cases)
        for measure in results[cell, seeds[0]]
    }
    return values, cost


def renewed(
    item: Item,
    models: Iterable[str],
    accept: bool,
    *,
    of: Callable[[Any, tc.Run], dict[str, float]],
    title: str,
    label: str = "",
) -> dict[Key, tuple[float, ...]]:
    """Simulate an item; returns our numbers, in place of accepted ones.

    Prints the cost, with `label` before it, and stores the numbers or prints what differs.
    """
    accepted = stored(item)
    results: dict[Key, tuple[float, ...]] = {}
    for model in models:
        new, cost = simulated(item.cells(), model, item.seeds[model], of=of, title=title)
        print(f"{label}{model}: {cost:.5f} CPU s per simulated second", file=sys.stderr)
        results |= new
    if accept:
        store(item, accepted | results)
        print(f"wrote {item.file}", file=sys.stderr)
    else:
        show_changes(moved(results, accepted), item.file)
    return accepted | results


# Files.


def read(item: Item, path: Path) -> dict[Key, tuple[float, ...]]:
    """Numbers of a file: a row per cell and measure, its last column has a value per trial."""
    with path.open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            Key(row["source"], *item.parse(row)): tuple(map(float, row["values"].split()))
            for row in rows
        }


def store(item: Item, numbers: Numbers) -> None:
    """Write our numbers."""
    with whole_file(item.file) as part, part.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["source", *item.columns, "values"])
        for key, values in numbers.items():
            writer.writerow([key.source, *item.write(key), " ".join(f"{v:.5g}" for v in values)])


def stored(item: Item) -> dict[Key, tuple[float, ...]]:
    """Our accepted numbers, one for each seed."""
    return read(item, item.file) if item.file.exists() else {}


def moved(results: Numbers, accepted: Numbers) -> list[str]:
    """Cells that are not as accepted, to the digits of the file; seeds that both have."""
    return [
        f"{key.source}, {key.cell}, {key.measure}: {accepted[key][0]:g} -> {values[0]:g}"
        for key, values in results.items()
        if key in accepted
        and not all(
            np.isclose(a, b, rtol=1e-4, atol=1e-6)
            for a, b in zip(values, accepted[key], strict=False)
        )
    ]


def renew_tables(page: Path, heads: Mapping[str, str], rows: Mapping[str, Sequence[str]]) -> None:
    """Write `rows` into the tables of a page, below the last lines of their heads."""
    text = page.read_text(encoding="utf-8")
    for name, head in heads.items():
        before, line, rest = text.partition(head)
        _, end, after = rest.partition("\n\n")
        text = before + line + "\n".join(rows[name]) + end + after
    page.write_text(text, encoding="utf-8")


# Commands.


def check_options(
    options: argparse.Namespace, study: str, models: Collection[str], items: Collection[str]
) -> tuple[str, ...]:
    """The models that a command is to run.

    Raises:
        ScenarioError: an option or an item that is not for this study.
    """
    for name in ("readme", "scorecard"):
        if getattr(options, name):
            raise ScenarioError(f"{name}: is for the papers; leave out {study}")
    if options.model not in ("both", *models):
        raise unknown(f"model of {study}", options.model, ["both", *models])
    if options.item not in (None, *items):
        raise unknown(f"item of {study}", options.item, items)
    return tuple(models) if options.model == "both" else (options.model,)


def show_changes(changes: Sequence[str], file: Path) -> None:
    """Print the numbers that are not those of a file, to stderr."""
    if changes:
        print(f"{len(changes)} numbers differ from {file.name}:", *changes[:20],
              sep="\n  ", file=sys.stderr)  # fmt: skip


def show(results: dict[str, Any], as_json: bool) -> None:
    import pandas as pd

    from tcpcc.cli.printing import plain_table, print_json

    if as_json:
        print_json(results)
        return
    for item, rows in results.items():
        print(f"{item}\n\n{plain_table(pd.DataFrame(rows))}\n")


def save_figures(study: str, drawn: Mapping[str, Figure]) -> None:
    """Write figures by name into the folder of figures."""
    for name, figure in drawn.items():
        for file in figure_files.save(figure, FIGURES / f"{study}_{name}", ("png", "pdf")):
            print(f"drew {file}", file=sys.stderr)
