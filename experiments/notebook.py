"""A paper in a notebook: code of the scenarios and measurements, and their results.

>>> from experiments import notebook  # doctest: +SKIP
>>> book = notebook.open("quick_vegas", quick=True)  # doctest: +SKIP
>>> book.code("table_1")  # doctest: +SKIP
>>> book.compute("table_1")  # doctest: +SKIP

A notebook has no code of its own for this: it shows and calls the code of the experiment. One cell
of each notebook simulates a scenario that the reader can change, and shows its row of the table
(`Book.measured`).
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from experiments import expected_numbers, figure_files, harness, ratio_plot, scorecard_page, seeds
from experiments.markdown_tables import table
from experiments.measured_numbers import Measured, completed
from experiments.paper_table import MARKS, PaperTable
from experiments.published_numbers import Key
from experiments.records import MODELS, Record, record
from tcpcc import Run, Scenario, simulate
from tcpcc.errors import unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHOICE = "TCPCC_QUICK"
"""Environment variable that overrides the notebook's choice of few or all seeds."""

VOLATILE = {"tcpcc": "differs from run to run"}
"""Metadata of an output that comparisons of two executions ignore."""

SCREEN_DPI = 90
"""Resolution of figures in notebooks; a higher one makes large files."""

DRIVERS = ("compiled", "simpy")

PLACE = re.compile(r"\{(?:(\w+): )?([^{}|]+/[^{}|]+/[^{}|]+)(?:\|([^{}]+))?\}")
"""A number in `Book.text`: "{item/row/column}", "{fluid: item/row/column|.1f}"."""


def open(
    paper: str, *, quick: bool = True, driver: str = "compiled", models: Sequence[str] = MODELS
) -> Book:
    """Open a paper's notebook.

    Args:
        paper: name of the paper.
        quick: use a few seeds instead of all. ``TCPCC_QUICK=0`` in the environment, which
            `make reproduce` and the tests set, overrides it.
        driver: "compiled" or "simpy": what runs the events of the packet model in all tables. Both
            give the same bits; SimPy needs 10 to 30 times as long, and stores no numbers.
        models: models of all tables and figures, of "packet" and "fluid".

    Raises:
        RuntimeError: this process has already opened a notebook with the other choice of seeds.
        ScenarioError: unknown paper, driver or model.
    """
    if driver not in DRIVERS:
        raise unknown("driver", driver, DRIVERS)
    for model in models:
        if model not in MODELS:
            raise unknown("model", model, MODELS)
    quick_choice = os.environ.get(CHOICE, "1" if quick else "0") not in ("", "0")
    modules = [
        name for name in sys.modules if name.startswith("experiments.") and "scenarios" in name
    ]
    if quick_choice != seeds.QUICK and modules:
        raise RuntimeError("the seeds cannot be changed in a running kernel; restart the kernel")
    seeds.QUICK = quick_choice
    return Book(paper, driver, models)


class Book:
    """A paper in a notebook, item by item.

    Args:
        paper: name of the paper.
        driver, models: as in `open`.
    """

    def __init__(
        self, paper: str, driver: str = "compiled", models: Sequence[str] = MODELS
    ) -> None:
        self.paper = harness.papers_of(paper)[0]
        self.driver, self.models = driver, tuple(models)
        self._records: dict[str, list[Record]] = {}
        self._displayed: set[Any] = set()
        self._progress = False if CHOICE in os.environ else None  # set: not interactive

    def legend(self) -> Any:
        """Show what the marks in the tables mean."""
        text = scorecard_page.EXPLANATION
        for verdict, (mark, _) in MARKS.items():
            text = text.replace(f"| {verdict} ", f"| {mark} {verdict} ")
        return _markdown(text.replace(" (docs/fluid.md)", ""))

    def assumed(self) -> Any:
        """Show the settings that the paper does not give."""
        return _markdown(self.paper.assumed)

    def code(self, item: str) -> Any:
        """Show the code of an item's scenarios and measurements, folded, without code shown
        before."""
        entry = self._item(item)
        fresh = [f for f in _functions(entry.scenarios, entry.measure) if f not in self._displayed]
        if not fresh:
            return _markdown("*Same code as in the items above, with other settings.*")
        self._displayed |= set(fresh)
        texts = (inspect.getsource(f).rstrip() for f in fresh)
        text = "\n\n\n".join(texts).replace("  # fmt: skip", "")  # for a formatter, not a reader
        return Folded(f"Code of {scorecard_page.heading(item)}", text)

    def scenarios(self, item: str) -> Mapping[Any, Scenario]:
        """Scenarios of an item, by key."""
        return self._item(item).scenarios()

    def compute(self, item: str, *rows: str) -> PaperTable:
        """Compute an item in each of its models and show it as the paper's table.

        A line per model says what computed the numbers, or that stored numbers are shown.

        Args:
            item: name of the item.
            *rows: rows to show; default all.
        """
        return PaperTable(self.records(item), rows or None, self._names)

    @property
    def _names(self) -> dict[str, str]:
        return {"packet": "SimPy"} if self.driver == "simpy" else {}

    def records(self, item: str) -> list[Record]:
        """Compute an item and return its records."""
        if item not in self._records:
            values = {model: self._numbers(item, model) for model in self._models(item)}
            self._records[item] = self._judged(item, values)
        return self._records[item]

    def _models(self, item: str) -> list[str]:
        return [model for model in self._item(item).models if model in self.models]

    def _numbers(self, item: str, model: str) -> dict[Key, Measured]:
        """Numbers of an item in a model, and of the items that its claims name."""
        if (model, self.driver) == ("packet", "simpy"):
            return self._beside(item, model, self._by_simpy(item, list(self.scenarios(item))))
        with _Origin(f"{item}, {harness.NAMES[model]}", self._is_stored(item, model)):
            harness.reproduce(self.paper.name, item, model, progress=self._progress)
        return self._beside(item, model, {})

    def _beside(self, item: str, model: str, fresh: Mapping[Key, Measured]) -> dict[Key, Measured]:
        """`fresh`, and what `item` is compared with."""
        others = harness.needed(self.paper, {item}, model) - ({item} if fresh else set())
        values = harness.numbers(self.paper, others, model, cache=harness.CACHE)
        return completed(values | dict(fresh), self.paper.cells())

    def _judged(self, item: str, values: Mapping[str, Mapping[Key, Measured]]) -> list[Record]:
        """Records of the cells of an item that have a number."""
        records = []
        for cell in self.paper.cells(item):
            if any(cell.key in of_model for of_model in values.values()):
                keys = set.intersection(*(set(of_model) for of_model in values.values()))
                claims = tuple(c for c in cell.claims if {c.more, c.less} <= keys)
                records.append(record(replace(cell, claims=claims), values))
        return records

    def measured(self, item: str, runs: Mapping[Any, Run]) -> PaperTable:
        """Show the numbers of runs of your own in an item's table, beside the published values.

        The causes of differences belong to the item's own runs and are left out.

        Args:
            item: name of the item.
            runs: runs of the packet model, with keys as in `scenarios(item)`; some suffice.
        """
        return self._table(item, harness.measure(self.paper, {item: runs}), "yours")

    def _table(self, item: str, fresh: Mapping[Key, Measured], name: str) -> PaperTable:
        """Table of some numbers of an item, without causes."""
        values = self._beside(item, "packet", fresh)
        records = [replace(r, cause="") for r in self._judged(item, {"packet": values})]
        return PaperTable([r for r in records if r.key in fresh], names={"packet": name})

    def text(self, template: str) -> Any:
        """Show Markdown whose numbers are those of the accepted records.

        Args:
            template: Markdown; "{item/row/column}" is the packet model's number, "{fluid: ...}" the
                fluid model's, "{published: ...}" the paper's, with three digits or by a format
                behind "|".

        Raises:
            KeyError: a cell is unknown or has no such number.
        """
        by_key = self._accepted()

        def number(match: re.Match[str]) -> str:
            source, place, form = match.groups()
            record = by_key[place]
            value = record.published if source == "published" else record.number(source or "packet")
            if value is None:
                raise KeyError(f"{place} has no number of {source or 'packet'}")
            return format(value, form or ".3g")

        return _markdown(PLACE.sub(number, template))

    def _accepted(self) -> dict[str, Record]:
        """The accepted records by "item/row/column"."""
        return {"/".join(r.key): r for r in expected_numbers.records_of(self.paper.name)}

    def excerpt(self, cells: Mapping[str, str]) -> Any:
        """Show the published and accepted numbers of a few cells, by a text of yours.

        Args:
            cells: "item/row/column" of each cell, by its text.
        """
        by_key = self._accepted()
        rows = []
        for text, cell in cells.items():
            record = by_key[cell]
            numbers = (record.published, *(record.number(model) for model in self.models))
            rows.append([text, *("" if x is None else f"{x:.4g}" for x in numbers)])
        head = ["", "published", *(harness.NAMES[model] for model in self.models)]
        return _markdown(table(head, rows))

    def dots(self, item: str) -> None:
        """Show the ratio of each number of an item to the published value, with its tolerance."""
        figure = ratio_plot.dot_plot(self.records(item))
        if figure is not None:
            _show(
                figure, f"{scorecard_page.heading(item)}: our numbers divided by the published ones"
            )

    def draw(self, *items: str) -> None:
        """Show the figures of items."""
        for item in items:
            models = self._models(item)
            if not models:
                continue
            model = models[0] if len(models) == 1 else "both"
            figure = harness.draw(self.paper.name, item, model, progress=self._progress)
            title = f"{scorecard_page.heading(item)}: {self.paper.published.titles.get(item, '')}"
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
        chosen = list(self.scenarios(item)) if keys is None else list(keys)
        fresh = self._by_simpy(item, chosen)
        if keys is not None:
            return self._table(item, fresh, "SimPy")
        values = self._beside(item, "packet", fresh)
        records = [r for r in self._judged(item, {"packet": values}) if r.key in fresh]
        return PaperTable(records, names={"packet": "SimPy"})

    def _by_simpy(self, item: str, keys: Sequence[Any]) -> dict[Key, Measured]:
        """Numbers of an item's runs by SimPy, which must have the bits of the compiled driver."""
        from joblib import Parallel, delayed

        scenarios = self.scenarios(item)
        with _Origin(f"{item}, SimPy driver, {len(keys)} of {len(scenarios)} runs"):
            work = (delayed(simulate)(scenarios[key], driver="simpy") for key in keys)
            parallel = Parallel(n_jobs=-1 if len(keys) > 1 else 1)
            slow = dict(zip(keys, parallel(work), strict=True))
        for key in keys:
            if not slow[key].data.equals(simulate(scenarios[key]).data):
                raise AssertionError(f"{item}, {key}: SimPy and compiled driver differ")
        print(f"Bit-identical to the compiled driver: {len(keys)} of {len(keys)} runs.")
        return harness.measure(self.paper, {item: slow})

    def summary(self) -> Any:
        """Show how many numbers are reproduced, for each item computed so far."""
        order = [item for item in self.paper.items if item in self._records]
        return _markdown(
            scorecard_page.summary_markdown([r for i in order for r in self._records[i]])
        )

    def _item(self, item: str) -> harness.Item:
        harness.items_of(self.paper, item)
        return self.paper.items[item]

    def _is_stored(self, item: str, model: str) -> bool:
        return all(
            harness.stored_numbers(self.paper, name, model) is not None
            for name in harness.needed(self.paper, {item}, model)
        )


def _markdown(text: str) -> Any:
    from IPython.display import Markdown

    return Markdown(text)


class Folded:
    """Code that a click unfolds.

    Args:
        title: the line to click on.
        text: the code.
    """

    def __init__(self, title: str, text: str) -> None:
        self.title, self.text = title, text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from IPython.display import Code

        code = Code(self.text, language="python")._repr_html_()
        return f"<details><summary>{self.title}</summary>{code}</details>"


def _show(figure: Figure, alt: str) -> None:
    """Show a figure with its caption once."""
    import matplotlib.pyplot as plt
    from IPython.display import Image, display, display_markdown

    metadata = {"alt": alt}
    display(
        Image(figure_files.png(figure, SCREEN_DPI)), metadata={**metadata, "image/png": metadata}
    )
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
            origin = "stored by `tcpcc reproduce`" if self.stored else "computed by this notebook"
            some = f", {seeds.QUICK_SEEDS} seeds" if seeds.QUICK else ""
            display_markdown(f"*{self.what}: {origin}{some}*", raw=True, metadata=VOLATILE)


def _functions(*functions: Callable[..., Any]) -> Iterator[Any]:
    """The functions (also those inside a `partial`), and functions of their modules they call."""
    waiting, visited = list(functions), set()
    while waiting:
        function = waiting.pop(0)
        if isinstance(function, partial):
            waiting[:0] = [function.func, *(a for a in function.args if callable(a))]
        elif inspect.isfunction(function) and function not in visited:
            visited.add(function)
            yield function
            values: list[Any] = [function.__globals__.get(n) for n in _names(function.__code__)]
            values += [
                value for table in values if isinstance(table, dict) for value in table.values()
            ]
            waiting += [f for f in values if _module(f) == function.__module__]


def _names(code: CodeType) -> Iterator[str]:
    """Names that a piece of code refers to, including comprehensions and inner functions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _module(function: Any) -> str:
    inner = function.func if isinstance(function, partial) else function
    return getattr(inner, "__module__", "")
