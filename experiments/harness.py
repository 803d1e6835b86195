"""Harness of all papers: simulate, measure, compare with the published values.

A paper is a package ``experiments/<name>/`` with a ``PAPER``, and a data file
``experiments/data/<name>_published.toml``. The package defines the scenarios (scenarios.py), how
numbers are computed from runs (tables.py) and the figures (figures.py). The data file has the
published values and their tolerances with reasons. Command line, notebooks, tests and scorecard
all call `reproduce`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from experiments import charts, figure_files, number_store, published_numbers
from experiments.measured_numbers import Measured, completed
from experiments.published_numbers import Cell, Key, Published
from experiments.records import MODELS, Record, record
from tcpcc import Flow, Run, Scenario, dumbbell, progress_bars
from tcpcc import simulate as simulate_one
from tcpcc.errors import unknown
from tcpcc.sweeps.parallel import Simulations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
CACHE = HERE.parent / ".cache" / "runs"
FIGURES = HERE.parent / "figures"

WORTH_KEEPING = 1.0
"""CPU seconds; shorter runs are not cached. Saving or loading a run takes about a tenth of this."""

MANY = 100
"""Number of runs from which starting worker processes pays off."""

Runs = Mapping[Any, Run]
"""Runs of an item, by its keys."""


Values = Mapping[tuple[str, str], float | Measured]
"""Measured numbers by (row, column), as floats or with their ranges."""
Cells = Mapping[tuple[str, str], Measured]
"""The numbers of an item, by (row, column)."""


NAMES = {"packet": "packets", "fluid": "fluid"}
"""Names of the models in texts."""


def _nothing(runs: Runs) -> Values:
    return {}


@dataclass(frozen=True)
class Item:
    """A table or a figure of a paper.

    Args:
        scenarios: function that returns the scenarios by key, if any; several items may share a
            scenario.
        measure: function from the runs by key to the numbers of the cells, if any.
        draw: function from the runs of each model, `{"packet": runs, ...}`, to the figure; None for
            no figure.
        chart: used instead of `draw` for a figure that shows only measured numbers: function from
            the numbers of each model to the figure. It uses stored numbers without a simulation.
        of: the item whose numbers `chart` shows; None for this item.
        networks: used instead of `draw` and `chart` for a drawing of networks: function that
            returns scenarios by title. They are not simulated.
        models: models that the item can be simulated with.
        parts: names of the parts of a scenario's key, such as ("controller", "buffer", "seed").
            Needed if a key has more than two parts and a whole number among them. Of other keys, a
            pair that ends in a whole number ends in a seed.
    """

    scenarios: Callable[[], Mapping[Any, Scenario]] = dict
    measure: Callable[[Runs], Values] = _nothing
    draw: Callable[[Mapping[str, Runs]], Figure] | None = None
    chart: Callable[[Mapping[str, Cells]], Figure] | None = None
    of: str | None = None
    networks: Callable[[], Mapping[str, Scenario]] | None = None
    models: Sequence[str] = MODELS
    parts: Sequence[str] = ()

    @property
    def code(self) -> str:
        """Hash of the code that determines its numbers."""
        return number_store.digest(self.scenarios, self.measure)

    @property
    def has_figure(self) -> bool:
        return (self.draw, self.chart, self.networks) != (None, None, None)


@dataclass(frozen=True)
class Paper:
    """A paper: its items by name, and its data file."""

    name: str
    items: Mapping[str, Item]

    @property
    def published(self) -> Published:
        return published_numbers.of(self.name)

    @property
    def title(self) -> str:
        return self.published.title

    @property
    def assumed(self) -> str:
        """Settings that the paper does not give, as Markdown: the docstring of its scenarios.py."""
        text = inspect.getdoc(import_module(f"experiments.{self.name}.scenarios")) or ""
        return re.sub(r":\w+:(`)", r"\1", text.replace("``", "`"))

    def cells(self, item: str | None = None) -> list[Cell]:
        """Cells of the paper, or of one item."""
        return [c for c in self.published.cells if item in (None, c.item)]


Watch = Callable[[Paper, Any, Sequence[Record]], None]
"""Called with a paper, the requested item or items (None: all), and the records."""


def papers() -> dict[str, Paper]:
    """All papers by name."""
    names = [module.name for module in iter_modules([str(HERE)])]
    return {
        name: import_module(f"experiments.{name}").PAPER
        for name in names
        if published_numbers.file_of(name).exists()
    }


def reproduce(
    paper: str | None = None,
    item: str | Iterable[str] | None = None,
    model: str = "both",
    *,
    cache: Path | None = CACHE,
    jobs: int | None = None,
    progress: bool | None = None,
    watch: Watch | None = None,
) -> list[Record]:
    """Simulate papers and compare their numbers with the published values.

    Args:
        paper: name of a paper; None for all.
        item: name of a table or figure, or several names; None for all.
        model: "packet", "fluid" or "both".
        cache: folder of finished runs, which lets an interrupted call resume. Measured numbers are
            stored in a folder beside it (`experiments.number_store`). None for no cache.
        jobs: number of parallel simulations; default one per processor.
        progress: show one progress bar for all papers and models, with the remaining time; default
            on a terminal only.
        watch: called with each paper and its records as soon as they are complete. With several
            papers it is called first with the quickest of their first items, for an early result.

    Returns:
        One record per cell, in the order of the data files.

    Raises:
        ScenarioError: unknown paper, item or model.
        SweepInterrupted: Ctrl-C was pressed; the message says which runs are saved.
    """
    chosen = papers_of(paper)
    settings: dict[str, Any] = {"cache": cache, "jobs": jobs, "progress": progress}
    if watch is not None and len(chosen) > 1 and cache is not None:
        sample, first = min(((entry, entry.cells()[0].item) for entry in chosen), key=_work_of)
        if jobs != 1 and any(stored_numbers(sample, first, m, cache) is None for m in MODELS):
            _compile()
        for of_item in _judged([(sample, {first})], model, settings, "a sample"):
            watch(sample, first, of_item)
    records: list[Record] = []
    chosen_items = [(entry, items_of(entry, item)) for entry in chosen]
    for entry, of_paper in zip(chosen, _judged(chosen_items, model, settings), strict=True):
        records += of_paper
        if watch is not None:
            watch(entry, item, of_paper)
    return records


def _judged(
    chosen_items: Sequence[tuple[Paper, set[str]]],
    model: str,
    settings: Mapping[str, Any],
    title: str = "",
) -> Iterator[list[Record]]:
    """Yield the records of each paper's items, paper by paper, under one progress bar."""
    models = _models(model)
    steps = []
    for paper, items in chosen_items:
        built: dict[str, Mapping[Any, Scenario]] = {}
        steps += [
            Step(paper, needed(paper, items, m), m, settings["cache"], settings["jobs"], built)
            for m in models
        ]
    for number, step in enumerate(steps):
        step.title = (
            f"{title or f'paper {number // len(models) + 1} of {len(chosen_items)}'}: {step.title}"
        )
    work = sum(step.work for step in steps)
    visible = settings["progress"] if work else False
    with (
        progress_bars.bar(
            work, visible, bar_format=progress_bars.FORM, smoothing=0.05, leave=False
        ) as bar,
        closing(_in_turn(iter(steps), bar)) as numbers_of_steps,
    ):
        for paper, items in chosen_items:
            values = {m: completed(next(numbers_of_steps), paper.cells()) for m in models}
            keys = {key for of_model in values.values() for key in of_model}
            cells = [cell for cell in paper.cells() if cell.item in items]
            yield [record(cell, values) for cell in cells if cell.key in keys]


def _in_turn(steps: Iterator[Step], bar: Any) -> Generator[dict[Key, Measured], None, None]:
    """Yield the numbers of each step; steps overlap.

    The next step is prepared while the current one is simulated, and simulated while the numbers of
    the current one are measured and used.
    """
    step = next(steps, None)
    with ExitStack() as under_way:
        if step is not None:
            under_way.enter_context(step).begin()
        while step is not None:
            following = next(steps, None)
            if following is not None:
                following.prepare()
            step.wait(under_way.enter_context(following).begin if following else None, bar)
            yield step.numbers()
            step = following


class Step:
    """Numbers of some items in one model: stored numbers, and simulations for the rest.

    Args:
        paper: the paper.
        items: names of its items.
        model: "packet" or "fluid".
        cache, jobs: as in `reproduce`.
        built: scenarios of items that the step of the other model has built; others are added.

    Attributes:
        title: name of the step for a progress bar.
        work: simulated time of all its flows, s.
    """

    def __init__(
        self,
        paper: Paper,
        items: Iterable[str],
        model: str,
        cache: Path | None,
        jobs: int | None = None,
        built: dict[str, Mapping[Any, Scenario]] | None = None,
    ) -> None:
        self._paper, self._model, self._cache = paper, model, cache
        self.title = f"{paper.name}, {NAMES[model]}"
        self._stored: dict[Key, Measured] = {}
        self._missing: list[str] = []
        for name in sorted(items):
            numbers = stored_numbers(paper, name, model, cache)
            if numbers is None:
                self._missing.append(name)
                continue
            self._stored |= {(name, *k): Measured(*values) for k, values in numbers.items()}  # type: ignore[arg-type]
        self._scenarios = scenarios_of(paper, self._missing, built)
        self._runs: dict[str, dict[Any, Run]] = {}
        self._jobs = jobs
        self._work = [_work(scenario) for scenario in self._scenarios.values()]
        self.work = sum(self._work)

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *error: object) -> None:
        self._simulations.__exit__(*error)

    @cached_property
    def _simulations(self) -> Simulations:
        return _simulations(self._scenarios, self._model, self._cache, self._jobs)

    def prepare(self) -> None:
        """Find the names under which runs are saved: a millisecond for each scenario."""
        _ = self._simulations

    def begin(self) -> None:
        """Start the simulations in the background."""
        if len(self._scenarios) >= MANY and self._jobs != 1:
            _compile()
        self._simulations.begin()

    def wait(self, at_last: Callable[[], None] | None = None, bar: Any = None) -> None:
        """Wait for the simulations; `at_last` is called when the last one has started, `bar` shows
        the finished work."""
        if bar is not None and self._work:
            bar.set_description_str(self.title)

        def finished(index: int) -> None:
            if bar is not None:
                bar.update(self._work[index])

        runs = self._simulations.runs(progress=False, at_last=at_last, finished=finished)
        self._runs = by_item(self._missing, self._scenarios, runs)

    def numbers(self) -> dict[Key, Measured]:
        """Stored numbers and newly measured ones; the latter are stored now."""
        fresh = measure(self._paper, self._runs)
        self._runs = {}
        if self._cache is not None:
            for name in self._missing:
                of_item = {key[1:]: value for key, value in fresh.items() if key[0] == name}
                code = self._paper.items[name].code
                folder = numbers_of(self._cache)
                number_store.store(folder, self._paper.name, name, self._model, code, of_item)
        return self._stored | fresh


def _work(scenario: Scenario) -> float:
    """Simulated time of all flows of a scenario, s."""
    return scenario.duration * sum(getattr(flow, "count", 1) for flow in scenario.flows)


def _work_of(place: tuple[Paper, str]) -> float:
    """The same of all scenarios of an item."""
    paper, item = place
    return sum(map(_work, paper.items[item].scenarios().values()))


@cache
def _compile() -> None:
    """Compile both models in parallel; each compilation occupies one processor."""
    from joblib import Parallel, delayed

    least = Scenario(dumbbell("1 Mbps", "10 ms", 10), [Flow("reno")], duration=0.1)
    Parallel(n_jobs=len(MODELS))(delayed(simulate_one)(least, model=m) for m in MODELS)


def draw(
    paper: str,
    item: str,
    model: str = "both",
    *,
    cache: Path | None = CACHE,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Figure:
    """Draw the figure of an item; arguments as in `reproduce`."""
    source = papers_of(paper)[0]
    items_of(source, item)
    chosen = source.items[item]
    settings: dict[str, Any] = {"cache": cache, "jobs": jobs, "progress": progress}
    models = [m for m in _models(model) if m in chosen.models]
    if chosen.chart is not None:
        names = {chosen.of or item}
        cells = {m: numbers(source, names, m, cache=cache, jobs=jobs) for m in models}
        return chosen.chart(
            {m: {k[1:]: v for k, v in values.items()} for m, values in cells.items()}
        )
    if chosen.networks is not None:
        return charts.networks(chosen.networks())
    if chosen.draw is None:
        drawn = [name for name, entry in source.items.items() if entry.has_figure]
        raise unknown(f"figure of {paper}", item, drawn)
    return chosen.draw({m: simulate(source, {item}, m, **settings)[item] for m in models})


def draw_all(
    paper: str | None = None,
    item: str | None = None,
    model: str = "both",
    *,
    folder: Path = FIGURES,
    cache: Path | None = CACHE,
) -> list[Path]:
    """Draw figures as PNG and PDF files into `folder`; other arguments as in `reproduce`.

    Returns:
        The PNG files.
    """
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for entry in papers_of(paper):
        for name in sorted(items_of(entry, item)):
            if not entry.items[name].has_figure:
                continue
            figure = draw(entry.name, name, model, cache=cache, progress=False)
            files.append(
                figure_files.save(figure, folder / f"{entry.name}_{name}", ("png", "pdf"))[0]
            )
            plt.close(figure)
    return files


# Steps of `reproduce`.


def simulate(
    paper: Paper,
    items: Iterable[str],
    model: str,
    *,
    cache: Path | None = CACHE,
    jobs: int | None = None,
    progress: bool | None = None,
) -> dict[str, dict[Any, Run]]:
    """Simulate items; a scenario shared by several items is simulated once.

    Returns:
        Runs by key, for each item.
    """
    scenarios = scenarios_of(paper, items)
    with _simulations(scenarios, model, cache, jobs) as simulations:
        return by_item(items, scenarios, simulations.runs(progress))


Scenarios = Mapping[tuple[str, Any], Scenario]
"""Scenarios of several items, by (item, key)."""


def scenarios_of(
    paper: Paper,
    items: Iterable[str],
    built: dict[str, Mapping[Any, Scenario]] | None = None,
) -> Scenarios:
    """Scenarios of `items`; those that are `built` are not built again, the others are added."""
    scenarios = {} if built is None else built
    for name in sorted(items):
        if name not in scenarios:
            scenarios[name] = paper.items[name].scenarios()
    return {
        (name, key): scenario for name in sorted(items) for key, scenario in scenarios[name].items()
    }


def by_item(
    items: Iterable[str], scenarios: Scenarios, runs: Iterable[Run]
) -> dict[str, dict[Any, Run]]:
    """Runs of `scenarios`, by item and key."""
    result: dict[str, dict[Any, Run]] = {name: {} for name in items}
    for (name, key), run in zip(scenarios, runs, strict=True):
        result[name][key] = run
    return result


def _simulations(
    scenarios: Scenarios, model: str, cache: Path | None, jobs: int | None
) -> Simulations:
    return Simulations(
        scenarios.values(),
        model,
        jobs=jobs,
        cache=cache,
        cache_from=WORTH_KEEPING,
        processes=len(scenarios) >= MANY,
    )


def numbers(
    paper: Paper, items: Iterable[str], model: str, *, cache: Path | None, **settings: Any
) -> dict[Key, Measured]:
    """Numbers of `items`: stored ones from `cache`, the rest simulated and measured."""
    with Step(paper, items, model, cache=cache, **settings) as step:
        step.wait()
        return step.numbers()


def numbers_of(cache: Path) -> Path:
    """Folder of the measured numbers, beside the folder of the runs."""
    return cache.parent / "numbers"


def stored_numbers(
    paper: Paper, name: str, model: str, cache: Path | None = CACHE
) -> number_store.Numbers | None:
    """Stored numbers of an item, if they were measured with the current code; else None."""
    if cache is None:
        return None
    return number_store.load(numbers_of(cache), paper.name, name, model, paper.items[name].code)


def measure(paper: Paper, runs: Mapping[str, Runs]) -> dict[Key, Measured]:
    """Measure the numbers of all items in `runs`."""
    numbers: dict[Key, Measured] = {}
    for name, of_item in runs.items():
        for (row, column), value in paper.items[name].measure(of_item).items():
            numbers[name, row, column] = value if isinstance(value, Measured) else Measured(value)
    return numbers


def papers_of(name: str | None) -> Sequence[Paper]:
    all_papers = papers()
    if name is None:
        return list(all_papers.values())
    if name not in all_papers:
        raise unknown("paper", name, all_papers)
    return [all_papers[name]]


def items_of(paper: Paper, names: str | Iterable[str] | None) -> set[str]:
    if names is None:
        return set(paper.items)
    chosen = {names} if isinstance(names, str) else set(names)
    for name in chosen - set(paper.items):
        raise unknown(f"item of {paper.name}", name, paper.items)
    return chosen


def needed(paper: Paper, items: Iterable[str], model: str) -> set[str]:
    """Items whose numbers are required to judge `items`.

    These are `items`, the items that claims compare them with, and those of the quotients of all
    of them, if the model can simulate them.
    """
    cells = [cell for item in items for cell in paper.cells(item)]
    names = {cell.item for cell in cells}
    names |= {k[0] for cell in cells for c in cell.claims for k in (c.more, c.less)}
    of_all = [cell for item in names for cell in paper.cells(item)]
    names |= {key[0] for cell in of_all for pair in cell.quotients for key in pair}
    return {name for name in names if model in paper.items[name].models}


def _models(model: str) -> tuple[str, ...]:
    if model not in (*MODELS, "both"):
        raise unknown("model", model, [*MODELS, "both"])
    return MODELS if model == "both" else (model,)
