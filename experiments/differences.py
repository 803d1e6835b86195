"""What removes a difference between the models? ``python -m experiments.differences``.

Every item in which fluid and packets differ by more than 10 % is simulated again:

- With random hosts, in both models. With exact delays and equal packets, the order of arrival at a
  full drop-tail queue decides who loses, for minutes: these traffic phases exist among packets
  only. Floyd and Jacobson (1992) remove them by hosts that take a random time of up to one packet
  time for each packet.
- Where that is not enough, with random hosts and trains of an eighth of the length.

experiments/data/differences.csv has the numbers and what removes the difference; the scorecard
names it as the cause (`experiments.published`).
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterable

import tcpcc as tc
from experiments import expected, harness, seeds
from experiments.published import DIFFERENCES, Key
from experiments.records import MODELS, Measured, agree, completed, is_one_by_chance
from tcpcc.many import Simulations

DIGITS = 6
HEAD = ("paper", "item", "row", "column", "packet", "fluid", "fluid, short trains", "cause")
SHORT = {"per_rtt": 8 * seeds.OPTIONS["fluid"]["per_rtt"]}


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
    paper: harness.Paper,
    items: Iterable[str],
    model: str,
    jobs: int | None = None,
    **options: float,
) -> dict[Key, Measured]:
    """Numbers of items in a model, with random hosts; `options` are of the model."""
    of_items = {
        (item, key): with_random_hosts(one)
        for (item, key), one in harness.scenarios_of(paper, items).items()
    }
    settings = {**seeds.OPTIONS[model], **options}
    with Simulations(
        of_items.values(), model, jobs=jobs, processes=True, **settings
    ) as simulations:
        simulations.begin()
        runs = simulations.runs(progress=False)
    found = harness.measure(paper, harness.by_item(items, of_items, runs))
    return completed(found, paper.cells())


def alike(packets: Measured, fluid: Measured) -> bool:
    """Whether two numbers differ by at most 10 %, or by chance."""
    return agree(packets.value, fluid.value) or is_one_by_chance(packets, fluid)


def rows(
    paper: harness.Paper, items: Iterable[str] | None = None, jobs: int | None = None
) -> list[tuple[str, ...]]:
    """Rows of differences.csv, for the cells (of `items`) in which the models differ."""
    differ = differing(paper)
    chosen = [item for item in differ if items is None or item in items]
    needed = sorted(harness.needed(paper, chosen, "packet"))
    packets, fluid = (numbers(paper, needed, model, jobs) for model in MODELS)
    keys = [key for item in chosen for key in sorted(differ[item])]
    others = [key for key in keys if not alike(packets[key], fluid[key])]
    needed = sorted(harness.needed(paper, {key[0] for key in others}, "packet"))
    short = numbers(paper, needed, "fluid", jobs, **SHORT)
    made: list[tuple[str, ...]] = []
    for key in keys:
        shown = [f"{of[key].value:.{DIGITS}g}" for of in (packets, fluid)]
        if key not in others:
            made.append((paper.name, *key, *shown, "", "phases"))
            continue
        cause = "trains" if alike(packets[key], short[key]) else "not traced"
        made.append((paper.name, *key, *shown, f"{short[key].value:.{DIGITS}g}", cause))
    return made


def main() -> None:
    """The command: simulate all and store it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.differences", description=__doc__)
    parser.add_argument("papers", nargs="*", help="only these; the others' numbers are kept")
    parser.add_argument("--jobs", type=int, help="parallel simulations; default one per processor")
    given = parser.parse_args()
    known = harness.papers()
    chosen = given.papers or list(known)
    kept: list[tuple[str, ...]] = []
    if DIFFERENCES.exists():
        with DIFFERENCES.open(encoding="utf-8", newline="") as file:
            kept = [tuple(row) for row in csv.reader(file) if row[0] in set(known) - set(chosen)]
    made = [row for name in chosen for row in rows(known[name], jobs=given.jobs)]
    order = list(known)
    lines = [*kept, *made]
    lines.sort(key=lambda row: order.index(row[0]))
    with DIFFERENCES.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        table.writerows(lines)
    for name in chosen:
        print(f"{name}: {dict(Counter(row[-1] for row in made if row[0] == name))}")


if __name__ == "__main__":
    main()
