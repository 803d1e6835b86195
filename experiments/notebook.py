"""A paper in a notebook: code of the scenarios and measurements, and their results.

>>> from experiments import notebook  # doctest: +SKIP
>>> book = notebook.open("quick_vegas", quick=True)  # doctest: +SKIP
>>> book.code("table_1")  # doctest: +SKIP
>>> book.compute("table_1")  # doctest: +SKIP

A notebook has no code of its own for this: it shows and calls the code of the experiment.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from experiments import dots, expected, harness, pictures, report, seeds
from experiments.paper_table import PaperTable
from experiments.records import Record, record
from tcpcc import Scenario, simulate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CHOICE = "TCPCC_QUICK"
"""Environment variable that overrides the notebook's choice of few or all seeds."""

VOLATILE = {"tcpcc": "differs from run to run"}
"""Metadata of an output that comparisons of two executions ignore."""

SCREEN_DPI = 90
"""Resolution of figures in notebooks; a higher one makes large files."""


def open(paper: str, *, quick: bool = True) -> Book:
    """Open a paper's notebook.

    Args:
        paper: name of the paper.
        quick: use a few seeds instead of all. ``TCPCC_QUICK=0`` in the environment, which
            `make reproduce` and the tests set, overrides it.

    Raises:
        RuntimeError: this process has already opened a notebook with the other choice of seeds.
        ScenarioError: unknown paper.
    """
    wanted = os.environ.get(CHOICE, "1" if quick else "0") not in ("", "0")
    known = [
        name for name in sys.modules if name.startswith("experiments.") and "scenarios" in name
    ]
    if wanted != seeds.QUICK and known:
        raise RuntimeError("the seeds cannot be changed in a running kernel; restart the kernel")
    seeds.QUICK = wanted
    return Book(paper)


class Book:
    """A paper in a notebook, item by item.

    Args:
        paper: name of the paper.
    """

    def __init__(self, paper: str) -> None:
        self.paper = harness.papers()[paper] if paper in harness.papers() else _unknown(paper)
        self._records: dict[str, list[Record]] = {}
        self._shown: set[Any] = set()
        self._progress = False if CHOICE in os.environ else None  # set: not interactive

    def code(self, item: str) -> Any:
        """Show the code of an item's scenarios and measurements, without code shown before."""
        from IPython.display import Code, Markdown

        one = self._item(item)
        fresh = [f for f in _functions(one.scenarios, one.measure) if f not in self._shown]
        if not fresh:
            return Markdown("*Same code as in the items above, with other settings.*")
        self._shown |= set(fresh)
        texts = (inspect.getsource(f).rstrip() for f in fresh)
        return Code("\n\n\n".join(texts), language="python")

    def scenarios(self, item: str) -> Mapping[Any, Scenario]:
        """Scenarios of an item, by key."""
        return self._item(item).scenarios()

    def compute(self, item: str, *rows: str) -> PaperTable:
        """Compute an item in each of its models and show it as the paper's table.

        A line per model says how long the computation took, or that stored numbers are shown.

        Args:
            item: name of the item.
            *rows: rows to show; default all.
        """
        return PaperTable(self.records(item), rows or None)

    def records(self, item: str) -> list[Record]:
        """Compute an item and return its records."""
        if item not in self._records:
            for model in self._item(item).models:
                with _Origin(f"{item}, {harness.NAMES[model]}", self._is_kept(item, model)):
                    harness.reproduce(self.paper.name, item, model, progress=self._progress)
            self._records[item] = harness.reproduce(self.paper.name, item, progress=False)
        return self._records[item]

    def excerpt(self, cells: Mapping[str, str]) -> pd.DataFrame:
        """Published and accepted numbers of a few cells, by a text of yours.

        Args:
            cells: "item/row/column" of each cell, by its text.
        """
        import pandas as pd

        found = {"/".join(r.key): r for r in expected.records_of(self.paper.name)}
        rows = {
            text: (found[cell].published, found[cell].packet, found[cell].fluid)
            for text, cell in cells.items()
        }
        columns = ["published", *harness.NAMES.values()]
        return pd.DataFrame.from_dict(rows, "index", columns=columns).map("{:.4g}".format)

    def dots(self, item: str) -> None:
        """Show the ratio of each number of an item to the published value, with its tolerance."""
        figure = dots.dot_plot(self.records(item))
        if figure is not None:
            _show(figure, f"{report.heading(item)}: our numbers divided by the published ones")

    def draw(self, *items: str) -> None:
        """Show the figures of items."""
        for item in items:
            figure = harness.draw(self.paper.name, item, progress=self._progress)
            title = f"{report.heading(item)}: {self.paper.published.titles.get(item, '')}"
            _show(figure, title.rstrip(": "))

    def by_simpy(self, item: str, keys: Sequence[Any] | None = None) -> PaperTable:
        """Simulate an item with the SimPy driver and show its numbers as the paper's table.

        Each run is also simulated with the compiled driver, which must give the same bits. Causes
        of differences belong to all runs; a table of some runs has none.

        Args:
            item: name of the item.
            keys: keys of the scenarios to simulate, of each column some; default all.

        Raises:
            AssertionError: a number of the record differs.
        """
        from joblib import Parallel, delayed

        scenarios = self.scenarios(item)
        chosen = list(scenarios) if keys is None else list(keys)
        with _Origin(f"{item}, SimPy driver, {len(chosen)} of {len(scenarios)} runs"):
            work = (delayed(simulate)(scenarios[key], driver="simpy") for key in chosen)
            parallel = Parallel(n_jobs=-1 if len(chosen) > 1 else 1)
            slow = dict(zip(chosen, parallel(work), strict=True))
        for key in chosen:
            if not slow[key].data.equals(simulate(scenarios[key]).data):
                raise AssertionError(f"{item}, {key}: SimPy and compiled driver differ")
        print(f"Bit-identical to the compiled driver: {len(chosen)} of {len(chosen)} runs.")
        fresh = harness.measure(self.paper, {item: slow})
        others = harness.needed(self.paper, {item}, "packet") - {item}
        found = harness.numbers(self.paper, others, "packet", cache=harness.CACHE) | fresh
        records = []
        for cell in self.paper.cells(item):
            if cell.key in fresh:
                claims = tuple(c for c in cell.claims if {c.more, c.less} <= set(found))
                told = record(replace(cell, claims=claims), {"packet": found})
                records.append(told if keys is None else replace(told, cause=""))
        return PaperTable(records, names={"packet": "SimPy"})

    def summary(self) -> Any:
        """Show how many numbers are reproduced, for each item computed so far."""
        from IPython.display import Markdown

        order = [item for item in self.paper.items if item in self._records]
        return Markdown(report.summary_markdown([r for i in order for r in self._records[i]]))

    def _item(self, item: str) -> harness.Item:
        harness.items_of(self.paper, item)
        return self.paper.items[item]

    def _is_kept(self, item: str, model: str) -> bool:
        return all(
            harness.kept_numbers(self.paper, name, model) is not None
            for name in harness.needed(self.paper, {item}, model)
        )


def _show(figure: Figure, alt: str) -> None:
    """Show a figure with its caption once."""
    import matplotlib.pyplot as plt
    from IPython.display import Image, display, display_markdown

    told = {"alt": alt}
    display(Image(pictures.png(figure, SCREEN_DPI)), metadata={**told, "image/png": told})
    display_markdown(f"*{alt}*", raw=True)
    plt.close(figure)


class _Origin:
    """Shows a line that says whether numbers are computed here or stored."""

    def __init__(self, what: str, stored: bool = False) -> None:
        self.what, self.stored = what, stored

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        from IPython.display import display_markdown

        if kind is None:
            told = "stored by `tcpcc reproduce`" if self.stored else "computed by this notebook"
            some = f", {seeds.QUICK_SEEDS} seeds" if seeds.QUICK else ""
            display_markdown(f"*{self.what}: {told}{some}*", raw=True, metadata=VOLATILE)


def _functions(*functions: Callable[..., Any]) -> Iterator[Any]:
    """The functions (also those inside a `partial`), and functions of their modules they call."""
    waiting, found = list(functions), set()
    while waiting:
        function = waiting.pop(0)
        if isinstance(function, partial):
            waiting[:0] = [function.func, *(a for a in function.args if callable(a))]
        elif inspect.isfunction(function) and function not in found:
            found.add(function)
            yield function
            told: list[Any] = [function.__globals__.get(n) for n in _names(function.__code__)]
            told += [each for table in told if isinstance(table, dict) for each in table.values()]
            waiting += [f for f in told if _module(f) == function.__module__]


def _names(code: CodeType) -> Iterator[str]:
    """Names that a piece of code refers to, including comprehensions and inner functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _module(function: Any) -> str:
    inner = function.func if isinstance(function, partial) else function
    return getattr(inner, "__module__", "")


def _unknown(paper: str) -> Any:
    from tcpcc.errors import unknown

    raise unknown("paper", paper, harness.papers())
