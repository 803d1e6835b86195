"""Do random host times remove a difference between the models? ``python -m experiments.phases``.

With exact delays and equal packets, the order of arrival at a full drop-tail queue decides who
loses, for minutes: these traffic phases exist among packets only. Floyd and Jacobson (1992) remove
them by hosts that take a random time of up to one packet time for each packet. This module runs
every item in which fluid and packets differ again with such hosts, in both models, and stores the
numbers in experiments/data/phases.csv. Where they agree, phases are the cause of the difference
(`experiments.published`).
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable

import tcpcc as tc
from experiments import expected, harness
from experiments.published import PHASES, Key
from experiments.records import MODELS, Measured, agree, completed, is_one_by_chance
from tcpcc.many import Simulations

DIGITS = 6
HEAD = ("paper", "item", "row", "column", "packet", "fluid", "agree")


def with_random_hosts(scenario: tc.Scenario) -> tc.Scenario:
    """Hosts take a random time of up to one packet time of the slowest link for each packet."""
    flows = [*scenario.flows, *(load.flow for load in scenario.workloads)]
    size = max(flow.packet_size for flow in flows)
    slowest = min(link.rate for link in scenario.net.links)
    return scenario.jittered(processing=8 * size / slowest)


def differing(paper: harness.Paper) -> dict[str, set[Key]]:
    """The cells in which the accepted numbers of the models differ, by item."""
    found: dict[str, set[Key]] = {}
    for line in expected.cells_of(paper.name):
        if line["agreement"] not in ("", "within 10 %"):
            found.setdefault(line["item"], set()).add((line["item"], line["row"], line["column"]))
    return found


def numbers(
    paper: harness.Paper, items: Iterable[str], model: str, jobs: int | None = None
) -> dict[Key, Measured]:
    """Numbers of items in a model, with random hosts."""
    of_items = {
        (item, key): with_random_hosts(one)
        for (item, key), one in harness.scenarios_of(paper, items).items()
    }
    with Simulations(of_items.values(), model, jobs=jobs, processes=True) as simulations:
        simulations.begin()
        runs = simulations.runs(progress=False)
    found = harness.measure(paper, harness.by_item(items, of_items, runs))
    return completed(found, paper.cells())


def rows(
    paper: harness.Paper, items: Iterable[str] | None = None, jobs: int | None = None
) -> list[tuple[str, ...]]:
    """Rows of phases.csv, for the cells (of `items`) in which the models differ."""
    differ = differing(paper)
    chosen = [item for item in differ if items is None or item in items]
    needed = sorted(harness.needed(paper, chosen, "packet"))
    packets, fluid = (numbers(paper, needed, model, jobs) for model in MODELS)
    made: list[tuple[str, ...]] = []
    for key in (key for item in chosen for key in sorted(differ[item])):
        one, other = packets[key], fluid[key]
        alike = agree(one.value, other.value) or is_one_by_chance(one, other)
        shown = (f"{value:.{DIGITS}g}" for value in (one.value, other.value))
        made.append((paper.name, *key, *shown, "yes" if alike else "no"))
    return made


def main() -> None:
    """The command: simulate all and store it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.phases", description=__doc__)
    parser.add_argument("papers", nargs="*", help="only these; the others' numbers are kept")
    parser.add_argument("--jobs", type=int, help="parallel simulations; default one per processor")
    given = parser.parse_args()
    known = harness.papers()
    chosen = given.papers or list(known)
    kept: list[tuple[str, ...]] = []
    if PHASES.exists():
        with PHASES.open(encoding="utf-8", newline="") as file:
            kept = [tuple(row) for row in csv.reader(file) if row[0] in set(known) - set(chosen)]
    made = [row for name in chosen for row in rows(known[name], jobs=given.jobs)]
    order = list(known)
    lines = [*kept, *made]
    lines.sort(key=lambda row: order.index(row[0]))
    with PHASES.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        table.writerows(lines)
    for name in chosen:
        mine = [row for row in made if row[0] == name]
        print(f"{name}: {sum(row[-1] == 'yes' for row in mine)} of {len(mine)} agree")


if __name__ == "__main__":
    main()
