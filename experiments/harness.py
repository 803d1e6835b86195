"""The frame of every paper's experiment: simulate, measure, judge against the published values.

A paper is a package ``experiments/<name>/`` with a ``PAPER``, and a data file
``experiments/data/<name>.toml``. The package says what to simulate (scenarios.py), how a number is
taken from runs (tables.py) and how figures are drawn (figures.py); the data file says what the
paper printed, how closely it can be held to it and why. Nothing else is written twice: command
line, notebooks, tests and scorecard all call `reproduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from experiments import charts, kept, pictures, published
from experiments.published import Cell, Key, Published
from experiments.records import MODELS, Measured, Record, record
from tcpcc import Flow, Run, Scenario, dumbbell
from tcpcc import simulate as simulate_one
from tcpcc.errors import unknown
from tcpcc.many import Simulations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HERE = Path(__file__).parent
CACHE = HERE.parent / ".cache" / "runs"
FIGURES = HERE.parent / "figures"

WORTH_KEEPING = 1.0
"""CPU seconds; to save a run takes a tenth of that, and to load it as long."""

MANY = 100
"""Runs, for which it pays to start processes."""

Runs = Mapping[Any, Run]
"""Runs of an item, by its own keys."""


Values = Mapping[tuple[str, str], float | Measured]
"""What was measured, by (row, column)."""
Cells = Mapping[tuple[str, str], Measured]
"""The numbers of an item, by (row, column)."""


NAMES = {"packet": "packets", "fluid": "fluid"}
"""Of the models, to people."""


def _nothing(runs: Runs) -> Values:
    return {}


@dataclass(frozen=True)
class Item:
    """A table or a figure.

    Args:
        scenarios: what it needs, by any keys, if anything; the same scenario may occur in several
            items.
        measure: from the runs by these keys to the numbers of its cells, if it has any.
        draw: from the runs of each model, `{"packet": runs, ...}`, to the figure; None: no figure.
        chart: in place of `draw`, from the numbers of each model, for a figure that shows nothing
            but these: they are kept, and nothing is simulated again.
        of: the item whose numbers `chart` shows; None: this one.
        networks: in place of both, the scenarios whose networks the figure is a picture of, each
            with its title; nothing is simulated for it.
        models: those that can say something of it.
    """

    scenarios: Callable[[], Mapping[Any, Scenario]] = dict
    measure: Callable[[Runs], Values] = _nothing
    draw: Callable[[Mapping[str, Runs]], Figure] | None = None
    chart: Callable[[Mapping[str, Cells]], Figure] | None = None
    of: str | None = None
    networks: Callable[[], Mapping[str, Scenario]] | None = None
    models: Sequence[str] = MODELS

    @property
    def code(self) -> str:
        """Hash of the code that decides its numbers."""
        return kept.digest(self.scenarios, self.measure)

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
        return published.of(self.name)

    @property
    def title(self) -> str:
        return self.published.title

    @property
    def citation(self) -> str:
        """BibTeX entry of the paper."""
        return self.published.bibtex

    def cells(self, item: str | None = None) -> list[Cell]:
        """The paper's numbers, or those of one item."""
        return [c for c in self.published.cells if item in (None, c.item)]


Watch = Callable[[Paper, Any, Sequence[Record]], None]
"""Receives a paper, the item or items asked for (None: all), and the records."""


def papers() -> dict[str, Paper]:
    """All papers, by the names of their modules."""
    names = [module.name for module in iter_modules([str(HERE)])]
    return {
        name: import_module(f"experiments.{name}").PAPER
        for name in names
        if (published.DATA / f"{name}.toml").exists()
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
    """Simulate, measure and judge; one record per cell, in the order of the data files.

    Args:
        paper: name; None: all.
        item: name of one of its tables or figures, or several; None: all.
        model: "packet", "fluid" or "both".
        cache: folder of finished runs, so that what was interrupted resumes, beside that of the
            numbers measured (`experiments.kept`); None: no cache.
        jobs: simulations at a time; default one per processor.
        progress: show bars, which say what is simulated and how long it will take; default on a
            terminal only.
        watch: called with each paper and its records as soon as these are there; of several papers,
            with the first's first item before all else, so that there is something to look at.

    Raises:
        ScenarioError: an unknown paper, item or model.
        SweepInterrupted: on Ctrl-C; says what is kept.
    """
    chosen = papers_of(paper)
    settings: dict[str, Any] = {"cache": cache, "jobs": jobs, "progress": progress}
    if watch is not None and len(chosen) > 1 and cache is not None:
        first = chosen[0].cells()[0].item
        if jobs != 1 and any(
            kept_numbers(chosen[0], first, each, cache) is None for each in MODELS
        ):
            _compile()
        for of_item in _judged([(chosen[0], {first})], model, settings):
            watch(chosen[0], first, of_item)
    records: list[Record] = []
    wanted = [(one, items_of(one, item)) for one in chosen]
    for one, of_paper in zip(chosen, _judged(wanted, model, settings), strict=True):
        records += of_paper
        if watch is not None:
            watch(one, item, of_paper)
    return records


def _judged(
    wanted: Sequence[tuple[Paper, set[str]]], model: str, settings: Mapping[str, Any]
) -> Iterator[list[Record]]:
    """Records of some items of each paper, one paper after another."""
    models = _models(model)
    steps = (
        Step(
            paper,
            needed(paper, items, each),
            each,
            title=f"paper {k} of {len(wanted)}, {paper.name}, {NAMES[each]}",
            **settings,
        )
        for k, (paper, items) in enumerate(wanted, 1)
        for each in models
    )
    with closing(_in_turn(steps)) as numbers_of_steps:
        for paper, items in wanted:
            values = {each: next(numbers_of_steps) for each in models}
            known = {key for of_model in values.values() for key in of_model}
            cells = [cell for cell in paper.cells() if cell.item in items]
            yield [record(cell, values) for cell in cells if cell.key in known]


def _in_turn(steps: Iterator[Step]) -> Generator[dict[Key, Measured], None, None]:
    """The numbers of each step. While one is simulated, the scenarios of the next are made; while
    the numbers of one are measured and looked at, the next is simulated."""
    step = next(steps, None)
    with ExitStack() as under_way:
        if step is not None:
            under_way.enter_context(step).begin()
        while step is not None:
            following = next(steps, None)
            step.wait(under_way.enter_context(following).begin if following else None)
            yield step.numbers()
            step = following


class Step:
    """Some items' numbers by one model: what is kept of them, and simulations for the rest.

    Args:
        paper: whose items they are.
        items: their names.
        model: "packet" or "fluid".
        cache, jobs, progress: as in `reproduce`.
        title: of the bar.
    """

    def __init__(
        self,
        paper: Paper,
        items: Iterable[str],
        model: str,
        *,
        cache: Path | None,
        jobs: int | None = None,
        progress: bool | None = None,
        title: str | None = None,
    ) -> None:
        self._paper, self._model, self._cache = paper, model, cache
        self._bar = progress, title
        self._kept: dict[Key, Measured] = {}
        self._missing: list[str] = []
        for name in sorted(items):
            there = kept_numbers(paper, name, model, cache)
            if there is None:
                self._missing.append(name)
                continue
            self._kept |= {(name, *k): Measured(*values) for k, values in there.items()}  # type: ignore[arg-type]
        self._wanted = scenarios_of(paper, self._missing)
        self._simulations = _simulations(self._wanted, model, cache, jobs)
        self._runs: dict[str, dict[Any, Run]] = {}
        self._alone = jobs == 1

    def __enter__(self) -> Step:
        return self

    def __exit__(self, *error: object) -> None:
        self._simulations.__exit__(*error)

    def begin(self) -> None:
        """Let the simulations go on in the background."""
        if len(self._wanted) >= MANY and not self._alone:
            _compile()
        self._simulations.begin()

    def wait(self, at_last: Callable[[], None] | None = None) -> None:
        """Until they are finished; `at_last` is called when the last is under way."""
        runs = self._simulations.runs(*self._bar, at_last)
        self._runs = by_item(self._missing, self._wanted, runs)

    def numbers(self) -> dict[Key, Measured]:
        """What was kept, and what is measured now and kept from now on."""
        fresh = measure(self._paper, self._runs)
        self._runs = {}
        if self._cache is not None:
            for name in self._missing:
                of_item = {key[1:]: value for key, value in fresh.items() if key[0] == name}
                code = self._paper.items[name].code
                folder = numbers_of(self._cache)
                kept.store(folder, self._paper.name, name, self._model, code, of_item)
        return self._kept | fresh


@cache
def _compile() -> None:
    """Compile both models at once, where they have not been yet: each takes a processor's time."""
    from joblib import Parallel, delayed

    least = Scenario(dumbbell("1 Mbps", "10 ms", 10), [Flow("reno")], duration=0.1)
    Parallel(n_jobs=len(MODELS))(delayed(simulate_one)(least, model=each) for each in MODELS)


def draw(
    paper: str,
    item: str,
    model: str = "both",
    *,
    cache: Path | None = CACHE,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Figure:
    """The figure of an item; arguments as in `reproduce`."""
    one = papers_of(paper)[0]
    items_of(one, item)
    wanted = one.items[item]
    settings: dict[str, Any] = {"cache": cache, "jobs": jobs, "progress": progress}
    models = [each for each in _models(model) if each in wanted.models]
    if wanted.chart is not None:
        shown = {wanted.of or item}
        cells = {each: numbers(one, shown, each, **settings) for each in models}
        return wanted.chart({each: {k[1:]: v for k, v in of.items()} for each, of in cells.items()})
    if wanted.networks is not None:
        return charts.networks(wanted.networks())
    if wanted.draw is None:
        drawn = [name for name, each in one.items.items() if each.has_figure]
        raise unknown(f"figure of {paper}", item, drawn)
    return wanted.draw({each: simulate(one, {item}, each, **settings)[item] for each in models})


def draw_all(
    paper: str | None = None,
    item: str | None = None,
    model: str = "both",
    *,
    folder: Path = FIGURES,
    cache: Path | None = CACHE,
) -> list[Path]:
    """Draw the figures into `folder`, as PNG and as PDF files; returns the former. Arguments as in
    `reproduce`."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for one in papers_of(paper):
        for name in sorted(items_of(one, item)):
            if not one.items[name].has_figure:
                continue
            figure = draw(one.name, name, model, cache=cache)
            files.append(pictures.save(figure, folder / f"{one.name}_{name}", ("png", "pdf"))[0])
            plt.close(figure)
    return files


# The steps.


def simulate(
    paper: Paper,
    items: Iterable[str],
    model: str,
    *,
    cache: Path | None = CACHE,
    jobs: int | None = None,
    progress: bool | None = None,
) -> dict[str, dict[Any, Run]]:
    """Runs of each item by its keys; a scenario that several items share is simulated once."""
    wanted = scenarios_of(paper, items)
    with _simulations(wanted, model, cache, jobs) as simulations:
        return by_item(items, wanted, simulations.runs(progress))


Wanted = Mapping[tuple[str, Any], Scenario]
"""Scenarios of several items, by an item and its key."""


def scenarios_of(paper: Paper, items: Iterable[str]) -> Wanted:
    return {
        (name, key): scenario
        for name in sorted(items)
        for key, scenario in paper.items[name].scenarios().items()
    }


def by_item(items: Iterable[str], wanted: Wanted, runs: Iterable[Run]) -> dict[str, dict[Any, Run]]:
    """The runs of wanted scenarios, by item and key."""
    result: dict[str, dict[Any, Run]] = {name: {} for name in items}
    for (name, key), run in zip(wanted, runs, strict=True):
        result[name][key] = run
    return result


def _simulations(wanted: Wanted, model: str, cache: Path | None, jobs: int | None) -> Simulations:
    return Simulations(
        wanted.values(),
        model,
        jobs=jobs,
        cache=cache,
        keep_from=WORTH_KEEPING,
        processes=len(wanted) >= MANY,
    )


def numbers(
    paper: Paper, items: Iterable[str], model: str, *, cache: Path | None, **settings: Any
) -> dict[Key, Measured]:
    """Every number of `items`: what is kept of them in `cache`, the rest simulated and measured."""
    with Step(paper, items, model, cache=cache, **settings) as step:
        step.wait()
        return step.numbers()


def numbers_of(cache: Path) -> Path:
    """The folder of the numbers measured, beside that of the runs."""
    return cache.parent / "numbers"


def kept_numbers(
    paper: Paper, name: str, model: str, cache: Path | None = CACHE
) -> kept.Numbers | None:
    """What is kept of an item's numbers, of the code as it is."""
    if cache is None:
        return None
    return kept.load(numbers_of(cache), paper.name, name, model, paper.items[name].code)


def measure(paper: Paper, runs: Mapping[str, Runs]) -> dict[Key, Measured]:
    """Every number of the items whose runs are given."""
    found: dict[Key, Measured] = {}
    for name, of_item in runs.items():
        for (row, column), value in paper.items[name].measure(of_item).items():
            found[name, row, column] = value if isinstance(value, Measured) else Measured(value)
    return found


def papers_of(name: str | None) -> Sequence[Paper]:
    known = papers()
    if name is None:
        return list(known.values())
    if name not in known:
        raise unknown("paper", name, known)
    return [known[name]]


def items_of(paper: Paper, names: str | Iterable[str] | None) -> set[str]:
    if names is None:
        return set(paper.items)
    chosen = {names} if isinstance(names, str) else set(names)
    for name in chosen - set(paper.items):
        raise unknown(f"item of {paper.name}", name, paper.items)
    return chosen


def needed(paper: Paper, items: Iterable[str], model: str) -> set[str]:
    """Items whose numbers it takes to judge some: these, and those that the paper compares them
    with, as far as the model can say something of them."""
    cells = [cell for item in items for cell in paper.cells(item)]
    found = {cell.item for cell in cells}
    found |= {k[0] for cell in cells for c in cell.claims for k in (c.more, c.less)}
    return {name for name in found if model in paper.items[name].models}


def _models(model: str) -> tuple[str, ...]:
    if model not in (*MODELS, "both"):
        raise unknown("model", model, [*MODELS, "both"])
    return MODELS if model == "both" else (model,)
