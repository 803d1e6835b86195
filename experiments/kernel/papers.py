"""Results of the papers, at tens of Mb/s: published, packets, fluid, and controllers inside Linux.

``python -m experiments.kernel.papers`` records the kernel's part as data: it needs root, BTF,
clang, bpftool and 20 minutes. Everything else reads the data.

The scenarios are the papers' with 1500-byte packets, `tc.Flow.linux` senders, and

- Quick Vegas, Figures 2 and 3: 10 Mb/s instead of 50 Mb/s, so that a bandwidth-delay product has an
  eighth of the packets and all times are a quarter, as in `experiments.quick_vegas`;
- the thesis, Table 3.1: 2.25 Mb/s instead of 1.5, which carry as many packets; also half and twice
  its buffer;
- Fusion, Table 1: 30 Mb/s instead of 100 Mb/s, the buffer one bandwidth-delay product;
- Westwood, Figure 1: 10 Mb/s instead of 50 Mb/s, so that a cycle of 25 s takes 5 s.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import markdown_tables, published_numbers
from experiments.kernel import record
from experiments.kernel.cases import PACKET, PROCESSING, QUICK_ACKS, STEP, Case, path
from experiments.kernel.compare import Sender, sender_of, senders
from experiments.quick_vegas import scenarios as quick
from experiments.red_fairness.scenarios import TABLES
from experiments.tcp_fusion import scenarios as fusion
from experiments.westwood_rbe import scenarios as westwood

DATA = File(__file__).parent.parent / "data" / "kernel_papers.json.gz"
OWN = "reno"  # the kernel's own congestion control, not exported
SHIFTS = np.linspace(0, 0.9, 10)  # s, delays of the second flow's start in our runs


Number = Callable[[Sequence[Sender]], float]


@dataclass(frozen=True)
class Trial:
    """A scenario of a paper.

    Args:
        source: paper and place in it.
        name: of the scenario.
        kinds: controllers, with their parameters.
        case: the path and the duration.
        numbers: what is measured: name -> function of a run's senders, and the published number, at
            the paper's own scale; None if there is none.
    """

    source: str
    name: str
    kinds: tuple[tuple[str, Mapping[str, float]], ...]
    case: Case
    numbers: Mapping[str, tuple[Number, float | None]]

    def scenario(self, shift: float = 0.0) -> tc.Scenario:
        """The scenario, with the second flow `shift` s later."""
        case = self.case
        net = tc.dumbbell(case.rate, case.delay, case.buffer, access_delay=0.0)
        transport = {"quick_acks": QUICK_ACKS, "gso_segments": case.segments}
        flows: list[tc.Flow | tc.CBR] = [
            tc.Flow.linux(
                "reno",
                controller=kind,
                params=dict(params),
                start=case.starts[k] + (shift if k else 0.0),
                transport=transport,
                processing=PROCESSING,
            )
            for k, (kind, params) in enumerate(self.kinds)
        ]
        if case.cross is not None:
            rate, on, off = case.cross
            flows.append(tc.CBR(rate, packet_size=PACKET, on=[(on, off)]))
        return tc.Scenario(net, flows, duration=case.duration, interval=STEP)

    def ours(self, model: str) -> list[list[Sender]]:
        """Our senders: one run, or with two flows one for each start time in `SHIFTS`."""
        shifts = SHIFTS if len(self.kinds) > 1 else SHIFTS[:1]
        runs = [tc.simulate(self.scenario(float(t)), model=model) for t in shifts]
        return [[sender_of(run, k) for k in range(len(self.kinds))] for run in runs]


def share(after: float) -> Number:
    """The first flow's share of the goodput after `after` s."""

    def measure(senders: Sequence[Sender]) -> float:
        first, second = (sender.means(after)["goodput"] for sender in senders)
        return first / (first + second)

    return measure


def ratio(after: float) -> Number:
    """The first flow's goodput divided by the second's after `after` s."""

    def measure(senders: Sequence[Sender]) -> float:
        first, second = (sender.means(after)["goodput"] for sender in senders)
        return first / second

    return measure


def settling(begin: float, end: float) -> Number:
    """Time from `begin` until the window settles at its value at `end`, s."""

    def measure(senders: Sequence[Sender]) -> float:
        (sender,) = senders[:1]
        return tc.metrics.convergence_time(sender.time, sender.cwnd, begin, end)

    return measure


def printed(paper: str, item: str, row: str, column: str) -> float | None:
    """The published number, or the one that the data file has in its place (`reference`)."""
    (cell,) = (c for c in published_numbers.of(paper).cells if c.key == (item, row, column))
    return cell.reference if cell.published is None else cell.published


def part(*cells: tuple[str, str, str, str]) -> float:
    """The first of two published numbers as a share of both."""
    first, second = (printed(*cell) or math.nan for cell in cells)
    return first / (first + second)


def trials() -> dict[str, Trial]:
    """All scenarios, by source and name."""
    return {f"{trial.source}: {trial.name}": trial for trial in _trials()}


def _trials() -> Iterator[Trial]:
    for item, kind in (("figure_2", "vegas"), ("figure_3", "quick_vegas")):
        on, off, end = 20.0, 40.0, 50.0  # s, a quarter of the paper's
        spans = {"new connection": (0.0, on), "halved": (on, off), "doubled": (off, end)}
        row = quick.NAMES[kind]
        yield Trial(
            f"Quick Vegas, {item.replace('_', ' ').capitalize()}",
            row,
            ((kind, quick.THRESHOLDS),),
            Case((kind,), **path(10, 0.1, 50), duration=end, cross=(5e6, on, off)),
            {
                f"{what}, s": (settling(*span), printed("quick_vegas", item, row, what))
                for what, span in spans.items()
            },
        )
    table = TABLES["table_3_1"]
    cells = [("red_fairness", "table_3_1", row, "drop-tail V vs R") for row in ("S1", "S2")]
    for buffer in (table.buffer // 2, table.buffer, 2 * table.buffer):
        case = Case(("vegas", "reno"), buffer, (), rate=1.5 * table.rate, delay=0.0408, runs=3)
        same = buffer == table.buffer
        yield Trial(
            "Thesis, Table 3.1",
            f"Vegas beside Reno, {buffer} packets",
            (("vegas", {}), ("reno", {})),
            replace(case, duration=60.0),
            {"share": (share(20.0), part(*cells) if same else None)},
        )
    for name in ("Fusion", "ARENO", "CTCP", "HSTCP", "CUBIC"):
        flow = fusion.flow(name, receiver="delayed ACK")
        ends = ((name, "Reno"), ("Reno", name))
        cells = [("tcp_fusion", "table_1", *key) for key in ends]
        yield Trial(
            "Fusion, Table 1",
            f"{name} beside Reno",
            ((flow.controller, dict(flow.params)), ("reno", {})),
            Case((flow.controller, "reno"), **path(30, 0.04, 1), runs=3),
            {"share": (share(20.0), part(*cells))},
        )
    for name, kind in westwood.PROPOSALS.items():
        for column, b in westwood.BUFFERS.items():
            case = Case((kind, "reno"), **path(10, westwood.PAIRS.rtt, b), runs=3)
            yield Trial(
                "Westwood, Figure 1",
                f"{name} / Reno, {column}",
                ((kind, {}), ("reno", {})),
                case,
                {
                    "ratio": (
                        ratio(westwood.SETTLED * case.duration),
                        printed("westwood_rbe", "figure_1", f"{name} / SACK", column),
                    )
                },
            )


@cache
def recorded() -> dict[str, Any]:
    """The data: ``kernel``, its version, and ``runs``, lists of runs by trial as in
    `record.measure`."""
    return record.read(DATA)


def kernel(name: str) -> list[list[Sender]]:
    """The kernel's senders in each recorded run of a trial."""
    return [senders(run) for run in recorded()["runs"][name]]


@cache
def table() -> pd.DataFrame:
    """A row for each number: published, packets, fluid and Linux, means over runs; and the smallest
    and the largest of the runs in packets and in Linux."""
    rows = []
    for name, trial in trials().items():
        sides = {model: trial.ours(model) for model in ("packet", "fluid")}
        sides["Linux"] = kernel(name)
        for what, (number, value) in trial.numbers.items():
            row: dict[str, Any] = {"source": trial.source, "scenario": trial.name, "number": what}
            row["published"] = math.nan if value is None else value
            for side, runs in sides.items():
                per_run = [number(run) for run in runs]
                row[side] = float(np.mean(per_run))
                row[f"{side} least"], row[f"{side} most"] = min(per_run), max(per_run)
            rows.append(row)
    return pd.DataFrame(rows)


def markdown() -> str:
    """The table as the guide has it."""
    head = ["paper", "scenario", "number", "published", "packets", "fluid", "Linux"]
    rows = []

    def several(row: Any, side: str) -> str:
        mean, low, high = (row[side + end] for end in ("", " least", " most"))
        return f"{mean:.2f}" + (f" ({low:.2f} to {high:.2f})" if high > low else "")

    for _, row in table().iterrows():
        printed = "" if math.isnan(row["published"]) else f"{row['published']:.2f}"
        words = [row["source"], row["scenario"], row["number"], printed]
        words += [several(row, side) for side in ("packet", "fluid", "Linux")]
        rows.append(words)
    return markdown_tables.table(head, rows, words=3)


def main(names: Sequence[str] = ()) -> None:
    """Record the named trials, or all, and write the data."""
    from experiments.kernel.path import missing
    from tcpcc.apps.export import loader

    lacks = missing() or loader.missing()
    if lacks:
        raise SystemExit(f"cannot record: {lacks}")
    document: dict[str, Any] = {"runs": {}}
    if names:
        document = record.read(DATA)
    document["kernel"] = record.version()
    all_trials = trials()
    for name in names or all_trials:
        trial = all_trials[name]
        with ExitStack() as stack:
            controls = tuple(
                kind if kind == OWN else stack.enter_context(loader.loaded(kind, params=params))
                for kind, params in trial.kinds
            )
            case = replace(trial.case, controls=controls)
            document["runs"][name] = [record.record(case) for _ in range(case.runs)]
        for run in document["runs"][name]:
            print(f"{name}: late by {run['late_mean']} ms, at most {run['late_most']}", flush=True)
        record.write(DATA, document)


if __name__ == "__main__":
    main(sys.argv[1:])
