"""Runs that tell why fluid differs from packets: each takes one property of packets away.

- `windows`: rate and buffer are `TIMES` times as large, so that windows have many packets.
- `longer`: hosts take random times of up to three packet times. With one, packets keep their order,
  and the part of a packet time in the base RTT decides who loses at a full drop-tail buffer.

A difference between the models that such a run takes away has this property as its cause. The
numbers are stored in experiments/data/variants_references.csv, for the differences of the stored
table.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import tcpcc as tc
from experiments.published_numbers import DATA
from experiments.random_hosts import with_longer_times
from experiments.variants import networks as n
from experiments.variants.measures import of_beside_reno, of_sharing
from experiments.variants.tables import SEEDS, Entry, Table, agree, entry, far_apart
from tcpcc.sweeps.parallel import Simulations

TIMES = 10
"""Factor of rate, buffer and thresholds in `windows`."""

LARGEST = 100.0
"""Mb/s, largest rate in `windows`: a run of the large network would take minutes."""

WINDOWS_SEEDS = SEEDS[:3]
"""Seeds of `windows`."""

Key = tuple[str, str, str]
"""(network, controller, measure)."""


class Reference(NamedTuple):
    """Numbers of one measure with larger windows, and with longer random times; None if not
    simulated."""

    packet: Entry | None = None
    fluid: Entry | None = None
    packet_longer: Entry | None = None
    fluid_longer: Entry | None = None


def larger(network: str) -> n.Setting:
    """The network with `TIMES` times the rate and the buffer."""
    of = n.NETWORKS[network]
    queue = of.queue
    if queue is not None:
        params = tuple((k, v * TIMES if "thresh" in k else v) for k, v in queue.params)
        queue = replace(queue, params=params)
    return replace(of, rate=of.rate * TIMES, buffer=of.buffer * TIMES, queue=queue)


def removes(before: tuple[Entry, Entry], after: tuple[Entry, Entry], measure: str) -> bool:
    """Whether two numbers that differ agree afterwards.

    They must agree as in the table. Relative to the larger number, their difference must be at most
    half of that before, and their confidence intervals together at most that before.
    """
    (packet, fluid), (packet_after, fluid_after) = before, after
    size = abs(packet.mean - fluid.mean) / max(abs(packet.mean), abs(fluid.mean))
    scale = max(abs(packet_after.mean), abs(fluid_after.mean))
    if scale == 0:
        return True
    width = sum(0.0 if math.isnan(e.half_width) else e.half_width for e in after)
    apart = abs(packet_after.mean - fluid_after.mean)
    return agree(measure, packet_after, fluid_after) and max(2 * apart, width) / scale <= size


def _of(table: Table, key: Key) -> tuple[Entry, Entry]:
    """The number of packets and that of fluid."""
    network, controller, measure = key
    packet, fluid = (table[network, controller, model] for model in ("packet", "fluid"))
    return packet.entries[measure], fluid.entries[measure]


def explains(table: Table, key: Key, packet: Entry | None, fluid: Entry | None) -> bool:
    """Whether the numbers of a reference show the cause of a difference: they agree."""
    if packet is None or fluid is None:
        return False
    return removes(_of(table, key), (packet, fluid), key[2])


def simulate(
    table: Table, keys: Iterable[Key] | None = None, *, progress: bool | None = None
) -> dict[Key, Reference]:
    """Simulate the references of differences; `longer` only with drop-tail and where small windows
    are not the cause.

    Args:
        table: the table of means.
        keys: the differences. Default: all of the table.
        progress: show a progress bar. Default: on a terminal only.
    """
    chosen = list(far_apart(table) if keys is None else keys)
    references = dict.fromkeys(chosen, Reference())
    rest = [key for key in chosen if larger(key[0]).rate <= LARGEST]
    models = [
        _numbers(rest, WINDOWS_SEEDS, model, _larger, progress) for model in ("packet", "fluid")
    ]
    references |= {key: Reference(models[0][key], models[1][key]) for key in rest}
    left = [
        key
        for key in chosen
        if n.NETWORKS[key[0]].queue is None and not explains(table, key, *references[key][:2])
    ]
    longer = [
        _numbers(left, SEEDS, model, _with_longer_times, progress) for model in ("packet", "fluid")
    ]
    return references | {
        key: references[key]._replace(packet_longer=longer[0][key], fluid_longer=longer[1][key])
        for key in left
    }


Make = Callable[[str, "str | n.Setting", int], tc.Scenario]


def _with_longer_times(controller: str, network: str, make: Make, seed: int) -> tc.Scenario:
    return with_longer_times(make(controller, network, seed))


def _larger(controller: str, network: str, make: Make, seed: int) -> tc.Scenario:
    return make(controller, larger(network), seed)


def _numbers(
    keys: Iterable[Key],
    seeds: Sequence[int],
    model: str,
    scenario: Callable[[str, str, Make, int], tc.Scenario],
    progress: bool | None,
) -> dict[Key, Entry]:
    """Means over seeds; each scenario is simulated once for all of its measures."""
    jobs: dict[tuple[str, str, bool], list[str]] = {}
    for network, controller, measure in keys:
        beside = measure == "ratio"
        jobs.setdefault((network, controller, beside), []).append(measure)
    runs = [
        (network, controller, beside, seed)
        for network, controller, beside in jobs
        for seed in seeds
    ]
    scenarios = [
        scenario(controller, network, n.beside_reno if beside else n.sharing, seed)
        for network, controller, beside, seed in runs
    ]
    values: dict[Key, dict[int, float]] = {}
    with Simulations(scenarios, model) as simulations:
        for index, run in simulations.finished(progress, f"references, {model}"):
            if isinstance(run, Exception):
                raise run
            network, controller, beside, seed = runs[index]
            of_run = (of_beside_reno if beside else of_sharing)(run)
            for measure in jobs[network, controller, beside]:
                values.setdefault((network, controller, measure), {})[seed] = of_run[measure]
    return {
        key: entry(key[2], (of_seed[seed] for seed in seeds)) for key, of_seed in values.items()
    }


# The file.

FILE = DATA / "variants_references.csv"
COLUMNS = (
    "network", "controller", "measure",
    *(f"{of}{part}" for of in Reference._fields for part in ("", "_ci", "_never", "_seeds")),
)  # fmt: skip


def accept(references: Mapping[Key, Reference], file: Path = FILE) -> Path:
    """Write the references."""
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for key, reference in references.items():
            cells = [*key]
            for e in reference:
                cells += ["", "", "", ""] if e is None else [
                    f"{e.mean:.9g}", f"{e.half_width:.9g}", str(e.never), str(e.seeds)
                ]  # fmt: skip
            writer.writerow(cells)
    return file


def stored(file: Path = FILE) -> dict[Key, Reference]:
    """The stored references."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.reader(text))[1:]
    references = {}
    for network, controller, measure, *cells in rows:
        entries: list[Any] = [_entry(cells[k : k + 4]) for k in range(0, len(cells), 4)]
        references[network, controller, measure] = Reference(*entries)
    return references


def _entry(cells: list[str]) -> Entry | None:
    if not cells[0]:
        return None
    return Entry(float(cells[0]), float(cells[1]), int(cells[2]), int(cells[3]))
