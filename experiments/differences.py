"""What removes a difference between the models? ``python -m experiments.differences``.

Every item in which fluid and packets differ by more than 10 % is simulated again, with the first
few seeds. Each experiment takes one effect away, in the cells that the experiments before it leave
open. A difference is gone when the models are within 10 %; chance does not count.

- `phases`: hosts take a random time of up to one packet time for each packet (Floyd and Jacobson
  1992). With exact delays and equal packets, the order of arrival at a full drop-tail queue decides
  who loses, for minutes; the fluid model has a part of these traffic phases (docs/fluid.md).
- `longer times`: of up to three packet times. With one, packets keep their order, and the part of a
  packet time in the base RTT decides who loses.
- `step`: as `phases`, and the fluid model's step is halved.
- `recovery`: as `phases`, and all flows have SACK's loss recovery. The fluid model has a law for
  each kind of recovery, without the habits of single implementations.
- `windows`: as `phases`, and rates, buffers, thresholds and sizes are ten times as large, so that a
  packet is a small part of a window. Up to `LARGEST`, and not with random conversations.
- `recovery and windows`: both together.

experiments/data/differences.csv has the numbers of the experiment that removes a difference (of
`phases` if none does); the papers' pages name it as the cause (`experiments.published_numbers`).
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import tcpcc as tc
from experiments import expected_numbers, harness, seeds
from experiments.measured_numbers import Measured, completed
from experiments.published_numbers import DIFFERENCES, Key
from experiments.random_hosts import with_longer_times, with_random_hosts
from experiments.records import MODELS, agree

DIGITS = 6
HEAD = ("paper", "item", "row", "column", *MODELS, "cause")


def with_sack(scenario: tc.Scenario) -> tc.Scenario:
    """All flows recover by SACK with proportional rate reduction, which marks of L4S need."""

    def changed(flow: Any) -> Any:
        return flow.replace(recovery="sack-prr") if isinstance(flow, tc.Flow) else flow

    return scenario.replace(
        flows=[changed(flow) for flow in scenario.flows],
        workloads=[load.replace(flow=changed(load.flow)) for load in scenario.workloads],
    )


TIMES = 10
LARGEST = 10e6
"""bit/s of the slowest link; packets of faster ones would take hours with `TIMES` the rate."""


def with_larger_windows(scenario: tc.Scenario) -> tc.Scenario:
    """`TIMES` the rates, buffers, thresholds, sizes of transfers and receive windows."""

    def of_queue(queue: Any) -> Any:
        if queue is None:
            return None
        definitions = queue.discipline.params
        params = (
            (n, v * TIMES if definitions[n].unit == "packets" else v) for n, v in queue.params
        )
        return replace(queue, params=tuple(params))

    def of_flow(flow: Any) -> Any:
        if isinstance(flow, tc.CBR):
            return flow.replace(rate=flow.rate * TIMES)
        transport = flow.transport.replace(rwnd=flow.transport.rwnd * TIMES)
        return flow.replace(transport=transport, size=flow.size and flow.size * TIMES)

    links = (
        link.replace(rate=link.rate * TIMES, buffer=link.buffer * TIMES, queue=of_queue(link.queue))
        for link in scenario.net.links
    )
    access = scenario.net.access
    access = access and replace(access, rate=access.rate * TIMES)
    net = scenario.net.replace(links=tuple(links), access=access)
    return scenario.replace(net=net, flows=[of_flow(flow) for flow in scenario.flows])


def can_be_larger(scenario: tc.Scenario) -> bool:
    return not scenario.workloads and min(link.rate for link in scenario.net.links) <= LARGEST


class Experiment(NamedTuple):
    """A change of the scenarios to which it applies, and options of the fluid model."""

    change: Callable[[tc.Scenario], tc.Scenario]
    options: Mapping[str, Any] = {}
    applies: Callable[[tc.Scenario], bool] = lambda scenario: True


EXPERIMENTS = {
    "phases": Experiment(with_random_hosts),
    "longer times": Experiment(with_longer_times),
    "step": Experiment(with_random_hosts, {"steps": 40}),
    "recovery": Experiment(lambda scenario: with_sack(with_random_hosts(scenario))),
    "windows": Experiment(
        lambda scenario: with_random_hosts(with_larger_windows(scenario)), applies=can_be_larger
    ),
    "recovery and windows": Experiment(
        lambda scenario: with_random_hosts(with_larger_windows(with_sack(scenario))),
        applies=can_be_larger,
    ),
}
"""By the cause that they show, in order. The fluid model has 20 steps by default."""


def differing(paper: harness.Paper) -> dict[str, set[Key]]:
    """The cells in which the accepted numbers of the models differ, by item."""
    keys: dict[str, set[Key]] = {}
    for line in expected_numbers.cells_of(paper.name):
        if line["agreement"] not in ("", "within 10 %"):
            keys.setdefault(line["item"], set()).add((line["item"], line["row"], line["column"]))
    return keys


def numbers(
    paper: harness.Paper, items: Iterable[str], model: str, of: Experiment, jobs: int | None = None
) -> dict[Key, Measured]:
    """Numbers of items in an experiment."""
    needed = harness.needed(paper, items, model)
    scenarios = {
        key: of.change(scenario) for key, scenario in harness.scenarios_of(paper, needed).items()
    }
    options = of.options if model == "fluid" else {}
    many = len(scenarios) >= harness.MANY
    runs = tc.sweep(
        scenarios.values(), model=model, jobs=jobs, processes=many, progress=False, **options
    )
    measured = harness.measure(paper, harness.by_item(sorted(needed), scenarios, runs))
    return completed(measured, paper.cells())


def applies(paper: harness.Paper, item: str, experiment: Experiment) -> bool:
    """Whether an experiment applies to all scenarios that an item's numbers need."""
    needed = harness.needed(paper, {item}, "packet")
    return all(map(experiment.applies, harness.scenarios_of(paper, needed).values()))


def rows(
    paper: harness.Paper,
    items: Iterable[str] | None = None,
    jobs: int | None = None,
    experiments: Iterable[str] = tuple(EXPERIMENTS),
) -> list[tuple[str, ...]]:
    """Rows of differences.csv, for the cells (of `items`) in which the models differ. A cell that
    no experiment is made for has the accepted numbers."""
    differ = differing(paper)
    chosen = [item for item in differ if items is None or item in items]
    left = keys = [key for item in chosen for key in sorted(differ[item])]
    traced: dict[Key, tuple[Measured, Measured, str]] = {}
    of_packets: dict[Any, dict[Key, Measured]] = {}  # by the change of the scenarios
    for cause in experiments:
        experiment = EXPERIMENTS[cause]
        of_items = {key[0] for key in left if applies(paper, key[0], experiment)}
        change = experiment.change
        if change not in of_packets:
            of_packets[change] = numbers(paper, of_items, "packet", experiment, jobs)
        packets = of_packets[change]
        fluid = numbers(paper, of_items, "fluid", experiment, jobs)
        for key in left:
            if key[0] not in of_items:
                continue
            if agree(packets[key].value, fluid[key].value):
                traced[key] = (packets[key], fluid[key], cause)
            else:
                traced.setdefault(key, (packets[key], fluid[key], "not traced"))
        left = [key for key in left if key not in traced or traced[key][-1] == "not traced"]
    packets, fluid = (
        completed(expected_numbers.numbers(paper.name, model), paper.cells()) for model in MODELS
    )
    for key in keys:
        traced.setdefault(key, (packets[key], fluid[key], "not tried"))
    return [
        (
            paper.name,
            *key,
            *(f"{number.value:.{DIGITS}g}" for number in traced[key][:2]),
            traced[key][-1],
        )
        for key in keys
    ]


def main() -> None:
    """The command: simulate all and store it."""
    parser = argparse.ArgumentParser(prog="python -m experiments.differences", description=__doc__)
    parser.add_argument("papers", nargs="*", help="only these; the others' numbers are kept")
    parser.add_argument(
        "--experiments",
        nargs="*",
        choices=list(EXPERIMENTS),
        default=list(EXPERIMENTS),
        help="only these; none: cells are listed without an experiment",
    )
    parser.add_argument("--jobs", type=int, help="parallel simulations; default one per processor")
    options = parser.parse_args()
    seeds.QUICK = True  # before a paper is imported
    papers = harness.papers()
    chosen = options.papers or list(papers)
    others: list[tuple[str, ...]] = []
    if DIFFERENCES.exists():
        with DIFFERENCES.open(encoding="utf-8", newline="") as file:
            others = [tuple(row) for row in csv.reader(file) if row[0] in set(papers) - set(chosen)]
    fresh = [
        row
        for name in chosen
        for row in rows(papers[name], jobs=options.jobs, experiments=options.experiments)
    ]
    order = list(papers)
    lines = [*others, *fresh]
    lines.sort(key=lambda row: order.index(row[0]))
    with DIFFERENCES.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        table.writerows(lines)
    for name in chosen:
        print(f"{name}: {dict(Counter(row[-1] for row in fresh if row[0] == name))}")


if __name__ == "__main__":
    main()
