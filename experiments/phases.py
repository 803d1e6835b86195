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
import math
from collections.abc import Iterable, Mapping

import joblib

import tcpcc as tc
from experiments import expected, harness
from experiments.published import PHASES, Key
from experiments.records import Measured, agree, is_one_by_chance

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


def numbers(paper: harness.Paper, item: str, model: str, jobs: int) -> Mapping[Key, Measured]:
    """Numbers of an item in a model, with random hosts."""
    wanted = {key: with_random_hosts(one) for key, one in paper.items[item].scenarios().items()}
    # The longest first, so that no processor waits for a late one.
    order = sorted(wanted, key=lambda key: -tc.estimate(wanted[key], model).seconds)
    runs = joblib.Parallel(jobs, prefer="threads")(
        joblib.delayed(tc.simulate)(wanted[key], model, force=True) for key in order
    )
    by_key = dict(zip(order, list(runs), strict=True))
    return harness.measure(paper, {item: {key: by_key[key] for key in wanted}})


def rows(
    paper: harness.Paper, items: Iterable[str] | None = None, jobs: int = 2
) -> list[tuple[str, ...]]:
    """Rows of phases.csv, for items in which models differ."""
    made: list[tuple[str, ...]] = []
    for item, keys in differing(paper).items():
        if items is not None and item not in items:
            continue
        of = {model: numbers(paper, item, model, jobs) for model in ("packet", "fluid")}
        for key in sorted(keys):
            packet, fluid = of["packet"].get(key), of["fluid"].get(key)
            if packet is None or fluid is None or not math.isfinite(packet.value):
                continue
            alike = agree(packet.value, fluid.value) or is_one_by_chance(packet, fluid)
            shown = (f"{value:.{DIGITS}g}" for value in (packet.value, fluid.value))
            made.append((paper.name, *key, *shown, "yes" if alike else "no"))
    return made


def main() -> None:
    """The command: simulate all and store it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.phases", description=__doc__)
    parser.add_argument("papers", nargs="*", help="only these; the others' numbers are kept")
    parser.add_argument("--jobs", type=int, default=2, help="parallel simulations")
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
