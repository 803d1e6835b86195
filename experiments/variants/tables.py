"""All controllers in all networks and models: simulated, averaged over seeds, stored, ranked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tcpcc as tc
from experiments import number_store
from experiments.expected_numbers import ROUNDING, read_lines, this_platform, write_lines
from experiments.harness import NAMES
from experiments.published_numbers import DATA
from experiments.records import MODELS
from experiments.variants import networks as n
from experiments.variants.measures import MAIN, MEASURES, TIMES, of_beside_reno, of_sharing
from tcpcc.controllers import CONTROLLERS
from tcpcc.errors import TcpccError, unknown
from tcpcc.results.metrics import mean_ci
from tcpcc.sweeps.parallel import Simulations

SEEDS = (1, 2, 3, 4, 5)

SAMPLE = 1
"""Seed of the stored sample."""

SAMPLED = ("small", "shallow", "red")
"""Networks that `make test` simulates."""


class Line(NamedTuple):
    """A line of the table: one controller in one network and model.

    Attributes:
        network, controller, model: names.
        values: measure -> one number for each seed; empty if the model refuses the controller.
        refused: why the model refuses the controller, in one line; "" if it does not.
    """

    network: str
    controller: str
    model: str
    values: Mapping[str, tuple[float, ...]]
    refused: str = ""


class Entry(NamedTuple):
    """A measure of one controller in one network and model.

    Attributes:
        mean: mean over seeds; of a time the restricted mean (`Measure.limit`).
        half_width: half width of the 95 % confidence interval of the mean; NaN for one seed.
        never: number of seeds in which a time is not defined.
        seeds: number of seeds.
    """

    mean: float
    half_width: float
    never: int
    seeds: int


Table = dict[tuple[str, str, str], "Row"]
"""Rows by (network, controller, model)."""


class Row(NamedTuple):
    """The entries of a line by measure, or why there are none."""

    entries: Mapping[str, Entry]
    refused: str = ""


def reproduce(
    networks: Iterable[str] | None = None,
    models: Iterable[str] | None = None,
    seeds: Iterable[int] = SEEDS,
    *,
    cache: Path | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> list[Line]:
    """Simulate all registered controllers.

    Args:
        networks: names in `networks.NETWORKS`. Default: all.
        models: names in `MODELS`. Default: all.
        seeds: seeds of the starts.
        cache: folder of finished numbers, one file for each network and model, which lets an
            interrupted call resume. Default: none.
        jobs: number of parallel simulations. Default: one per processor.
        progress: show a progress bar. Default: on a terminal only.

    Returns:
        A line for each network, controller and model, in this order of nesting.

    Raises:
        ScenarioError: unknown network or model.
    """
    chosen = list(n.NETWORKS if networks is None else networks)
    in_models = list(MODELS if models is None else models)
    for name in set(chosen) - set(n.NETWORKS):
        raise unknown("network", name, n.NETWORKS)
    for name in set(in_models) - set(MODELS):
        raise unknown("model of variants", name, MODELS)
    entries = {
        (network, model): _of_network(network, model, tuple(seeds), cache, jobs, progress)
        for model in in_models
        for network in chosen
    }
    return [
        entries[network, model][controller]
        for network in chosen
        for controller in sorted(CONTROLLERS)
        for model in in_models
    ]


def _of_network(
    network: str,
    model: str,
    seeds: tuple[int, ...],
    cache: Path | None,
    jobs: int | None,
    progress: bool | None,
) -> dict[str, Line]:
    """Lines by controller. What a model refuses is not stored: it is refused again at once."""
    code = number_store.digest(n.sharing, of_sharing)
    item = f"{network}-{'_'.join(map(str, seeds))}"
    stored = number_store.load(cache, "variants", item, model, code) if cache else None
    values: dict[tuple[str, str], tuple[float, ...]] = {
        key: tuple(math.nan if number is None else number for number in numbers)
        for key, numbers in (stored or {}).items()
    }
    done = {controller for controller, _ in values}
    todo = [name for name in sorted(CONTROLLERS) if name not in done]
    fresh, refused = _simulated(todo, network, model, seeds, jobs, progress)
    values |= fresh
    if cache is not None and fresh:
        finite = {
            key: tuple(None if math.isnan(number) else number for number in numbers)
            for key, numbers in values.items()
        }
        number_store.store(cache, "variants", item, model, code, finite)
    return {
        name: Line(
            network,
            name,
            model,
            {m: values[name, m] for m in MEASURES if (name, m) in values},
            refused.get(name, ""),
        )
        for name in sorted(CONTROLLERS)
    }


def _simulated(
    controllers: Iterable[str],
    network: str,
    model: str,
    seeds: tuple[int, ...],
    jobs: int | None,
    progress: bool | None,
) -> tuple[dict[tuple[str, str], tuple[float, ...]], dict[str, str]]:
    """Numbers by (controller, measure), and the reasons of refusals by controller."""
    refused: dict[str, str] = {}
    tasks: list[tuple[str, int, Any, tc.Scenario]] = []
    for name in controllers:
        try:
            for seed in seeds:
                for make, measure in ((n.sharing, of_sharing), (n.beside_reno, of_beside_reno)):
                    tasks.append((name, seed, measure, make(name, network, seed)))
        except TcpccError as error:
            refused[name] = _reason(error)
    measured: dict[tuple[str, int], dict[str, float]] = {}
    scenarios = [scenario for *_, scenario in tasks]
    with Simulations(scenarios, model, jobs=jobs) as simulations:
        title = f"{n.NETWORKS[network].title}, {NAMES[model]}"
        for index, run in simulations.finished(progress, title):
            name, seed, measure, _ = tasks[index]
            if isinstance(run, tc.Run):
                measured.setdefault((name, seed), {}).update(measure(run))
            elif isinstance(run, TcpccError | FloatingPointError):
                refused[name] = _reason(run)
            else:
                raise run
    values = {
        (name, m): tuple(measured[name, seed][m] for seed in seeds)
        for name in dict.fromkeys(name for name, *_ in tasks)
        if name not in refused
        for m in MEASURES
    }
    return values, refused


def _reason(error: Exception) -> str:
    """The message without the flow's name."""
    return str(error).split("': ", 1)[-1] if str(error).startswith("flow '") else str(error)


# Means.


def entry(measure: str, values: Iterable[float]) -> Entry:
    """Mean and 95 % confidence interval over seeds."""
    numbers = np.array(list(values), dtype=float)
    never = int(np.isnan(numbers).sum())
    mean = mean_ci(np.where(np.isnan(numbers), MEASURES[measure].limit, numbers))
    return Entry(mean.mean, mean.half_width, never, numbers.size)


def summary(lines: Iterable[Line]) -> Table:
    """The table of means."""
    return {
        (line.network, line.controller, line.model): Row(
            {m: entry(m, values) for m, values in line.values.items()}, line.refused
        )
        for line in lines
    }


def goodness(measure: str, value: float) -> float:
    """A measure as a number that is better when higher: a ratio counts by its distance from 1."""
    if measure == "ratio":
        return -abs(math.log(value)) if value > 0 else -math.inf
    return -value if MEASURES[measure].unit == "s" else value


def equal_to(table: Table, controller: str = "reno") -> list[str]:
    """Other controllers with the numbers of `controller` in every network and model."""
    rows: dict[str, list[tuple[Any, Row]]] = {}
    for (network, name, model), row in table.items():
        rows.setdefault(name, []).append(((network, model), row))
    own = rows.get(controller)
    return [name for name, of in rows.items() if name != controller and of == own]


def distinct(table: Table) -> Table:
    """The table without the controllers that are Reno in these networks."""
    same = equal_to(table)
    return {key: row for key, row in table.items() if key[1] not in same}


def ranks(table: Table, model: str = "packet") -> dict[str, float]:
    """Mean rank of each controller over networks and the four main measures, best first."""
    from scipy.stats import rankdata

    places: dict[str, list[float]] = {}
    for network in dict.fromkeys(key[0] for key in table):
        rows = {
            controller: row.entries
            for (net, controller, of), row in table.items()
            if (net, of) == (network, model) and row.entries
        }
        for m in MAIN:
            good = [round(goodness(m, entries[m].mean), 3) for entries in rows.values()]
            for controller, rank in zip(rows, rankdata([-g for g in good]), strict=True):
                places.setdefault(controller, []).append(float(rank))
    mean = {controller: float(np.mean(of_network)) for controller, of_network in places.items()}
    return dict(sorted(mean.items(), key=lambda pair: pair[1]))


def over_networks(table: Table, controller: str, model: str, measure: str) -> float:
    """Mean of a measure over the networks, of a ratio the geometric mean; NaN if all refuse."""
    values = [
        row.entries[measure].mean
        for (_, name, of), row in table.items()
        if (name, of) == (controller, model) and row.entries
    ]
    if not values:
        return math.nan
    return float(np.exp(np.mean(np.log(values))) if measure == "ratio" else np.mean(values))


# Differences between the models.


def agree(measure: str, packet: Entry, fluid: Entry) -> bool:
    """Whether fluid is near packets: both intervals meet, or the means differ by 10 % (a time by a
    tenth of its limit)."""
    apart = abs(packet.mean - fluid.mean)
    room = sum(0.0 if math.isnan(e.half_width) else e.half_width for e in (packet, fluid))
    definition = MEASURES[measure]
    return apart <= max(room, 0.1 * (definition.limit if definition.unit == "s" else packet.mean))


def far_apart(table: Table) -> list[tuple[str, str, str]]:
    """(network, controller, measure) of the main measures in which fluid differs from packets."""
    keys = []
    for (network, controller, model), row in table.items():
        if model != "fluid" or not row.entries:
            continue
        of_packets = table[network, controller, "packet"].entries
        keys += [
            (network, controller, m) for m in MAIN if not agree(m, of_packets[m], row.entries[m])
        ]
    return keys


# Files.

FILE, SAMPLE_FILE = DATA / "variants.csv", DATA / "variants_sample.csv"
KEY = ("network", "controller", "model")


def accept(lines: Iterable[Line], folder: Path = DATA) -> list[Path]:
    """Write the means, and the numbers of the sample's seed, as those that tests expect."""
    every = list(lines)
    columns = [c for m in MEASURES for c in (m, f"{m}_ci", *([f"{m}_never"] if m in TIMES else []))]
    means = [
        {**dict(zip(KEY, key, strict=True)), "refused": row.refused}
        | {
            column: _text(value)
            for m, e in row.entries.items()
            for column, value in (
                (m, e.mean),
                (f"{m}_ci", e.half_width),
                (f"{m}_never", e.never),
                ("seeds", e.seeds),
            )
            if column in (*columns, "seeds")
        }
        for key, row in summary(every).items()
    ]
    write_lines(folder / FILE.name, [*KEY, "seeds", *columns, "refused"], means)
    sample = [
        {**dict(zip(KEY, line[:3], strict=True)), "refused": line.refused}
        | {m: _text(entry(m, [of[SEEDS.index(SAMPLE)]]).mean) for m, of in line.values.items()}
        for line in every
        if line.network in SAMPLED
    ]
    write_lines(folder / SAMPLE_FILE.name, [*KEY, *MEASURES, "refused"], sample)
    return [folder / FILE.name, folder / SAMPLE_FILE.name]


def stored(file: Path = FILE) -> Table:
    """The stored table of means."""
    table: Table = {}
    for line in read_lines(file):
        entries = {
            m: Entry(
                float(line[m]),
                float(line[f"{m}_ci"] or "nan"),
                int(line.get(f"{m}_never") or 0),
                int(line["seeds"]),
            )
            for m in MEASURES
            if line[m]
        }
        table[line["network"], line["controller"], line["model"]] = Row(entries, line["refused"])
    return table


def sample(file: Path = SAMPLE_FILE) -> Table:
    """The stored numbers of one seed."""
    return {
        (line["network"], line["controller"], line["model"]): Row(
            {m: Entry(float(line[m]), math.nan, 0, 1) for m in MEASURES if line[m]},
            line["refused"],
        )
        for line in read_lines(file)
    }


def moved(fresh: Table, old: Table) -> list[str]:
    """Differences beyond rounding, each as "small reno packet jain: 0.99 -> 0.98"."""
    changes = []
    for key, row in fresh.items():
        before = old.get(key)
        where = " ".join(key)
        if before is None:
            changes.append(f"{where}: not stored; write it with: tcpcc reproduce variants --accept")
            continue
        if before.refused != row.refused:
            changes.append(f"{where}: {before.refused or 'runs'} -> {row.refused or 'runs'}")
        for m, now in row.entries.items():
            a = before.entries[m].mean if m in before.entries else math.nan
            b = now.mean
            same = math.isclose(a, b, rel_tol=ROUNDING, abs_tol=1e-9)
            if not same and not (math.isnan(a) and math.isnan(b)):
                changes.append(f"{where} {m}: {a:.6g} -> {b:.6g}")
    return changes


def elsewhere(file: Path = FILE) -> bool:
    """Whether a file was written on another platform, where rounding may differ."""
    with file.open(encoding="utf-8") as text:
        return text.readline() != f"# {this_platform()}\n"


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.9g}"
