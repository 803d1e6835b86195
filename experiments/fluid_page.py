"""Tables of docs/fluid.md, fluid beside packets: ``python -m experiments.fluid_page``.

Writes each table into the page, between the comments that name it. A CPU minute.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np

import tcpcc as tc
from experiments.random_hosts import packet_time, with_longer_times, with_random_hosts
from experiments.records import MODELS, agree
from experiments.red_fairness.scenarios import dumbbell, flow
from experiments.variants.measures import of_beside_reno
from experiments.variants.networks import NETWORKS, PHASES, beside_reno
from tcpcc.errors import ModelWarning
from tcpcc.files import write_between
from tcpcc.queues import QUEUES, QueueSpec

PAGE = Path(__file__).parents[1] / "docs" / "fluid.md"
COMMAND = "python -m experiments.fluid_page"
RATE, DELAY, PIPE = 20e6, 0.03, 150  # b/s, s, packets

Measure = Callable[[tc.Run], float]


class Comparison(NamedTuple):
    """Measures of scenarios in both models."""

    title: str
    scenarios: Sequence[tc.Scenario]
    measures: Mapping[str, Measure]


class Difference(NamedTuple):
    """A measure in both models, the mean over scenarios."""

    title: str
    quantity: str
    packets: float
    fluid: float


def differences(case: Comparison) -> list[Difference]:
    """Both models' measures."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        runs = {m: [tc.simulate(scenario, m) for scenario in case.scenarios] for m in MODELS}
    results = []
    for quantity, measure in case.measures.items():
        packets, fluid = (float(np.mean([measure(run) for run in runs[m]])) for m in MODELS)
        results.append(Difference(case.title, quantity, packets, fluid))
    return results


def compared(cases: Iterable[Comparison]) -> list[Difference]:
    """`differences` of all."""
    of_cases = joblib.Parallel(-1)(joblib.delayed(differences)(case) for case in cases)
    return [difference for of_case in of_cases for difference in of_case]


def seeds(scenario: tc.Scenario, n: int = 3) -> list[tc.Scenario]:
    """A scenario with `n` seeds and random times in hosts that leave hardly any phases."""
    return [with_longer_times(scenario.replace(seed=k)) for k in range(1, n + 1)]


def total(name: str) -> Measure:
    """The sum of a column of a run's data."""
    return lambda run: float(run.data[name].sum())


def throughput(flow: int, after: float, unit: float = 1e6) -> Measure:
    """Of a flow after a time; in Mb/s, or in another unit, b/s."""
    return lambda run: float(run.throughput(after=after)[flow]) / unit


# Queue disciplines

OF_QUEUES: dict[str, Measure] = {
    "goodput": lambda run: float(run.goodput(after=10).sum()) / 1e6,
    "Jain's index": lambda run: float(run.jain_index(after=10)),
    "queue": lambda run: float(run.queue_mean(after=10)),
    "drops": total("drops"),
    "marks": total("marks"),
}
LEAST = {"queue": 1.0, "drops": 10.0, "marks": 10.0}
"""Packets; differences between smaller numbers are left out."""

ECN: Sequence[tuple[QueueSpec | str, str, str]] = (
    ("step_mark", "dctcp", "accurate"),
    ("dualpi2", "prague", "l4s"),
    (tc.queues.FQCoDel(ecn=True), "prague", "l4s"),
    (tc.queues.PIE(ecn=True), "newreno", "classic"),
    (tc.queues.FQ(ce_threshold=0.005), "dctcp", "accurate"),
)


def of_queues() -> Iterator[Comparison]:
    """Four flows at each discipline."""
    plain = [n for n in QUEUES if not n.endswith("_router")]
    kinds: list[tuple[QueueSpec | str, str, str]] = [
        (queue, kind, "off") for queue in plain for kind in ("newreno", "cubic")
    ]
    for queue, kind, ecn in [*kinds, *ECN, ("xcp_router", "xcp", "off")]:
        flows = [tc.Flow(kind, jitter=1.0, transport=tc.Transport(ecn=ecn))] * 4
        net = tc.dumbbell(RATE, DELAY, PIPE // 2, queue=queue)
        scenarios = seeds(tc.Scenario(net, flows, duration=60))
        name = queue if isinstance(queue, str) else queue.name
        title = f"`{name}`, `{kind}`" + ("" if ecn == "off" else " with ECN")
        measures = {q: m for q, m in OF_QUEUES.items() if q != "marks" or ecn != "off"}
        yield Comparison(title, scenarios, measures)


def table(title: str, cases: Iterable[Comparison]) -> list[str]:
    """What differs by more than a tenth."""
    return [
        f"| {title} | quantity | packets | fluid | ratio |",
        "|---|---|--:|--:|--:|",
        *rows(cases),
    ]


def rows(cases: Iterable[Comparison]) -> Iterator[str]:
    """A row for each measure that differs by more than a tenth."""
    for row in compared(cases):
        most, least = max(row.packets, row.fluid), LEAST.get(row.quantity, 0.0)
        if most > least and not agree(row.packets, row.fluid):
            numbers = f"{number(row.packets)} | {number(row.fluid)}"
            yield f"| {row.title} | {row.quantity} | {numbers} | {row.fluid / row.packets:.2f} |"


def number(value: float) -> str:
    """With three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


# Beside others

BUFFERS = {"1/4": PIPE // 4, "1/2": PIPE // 2, "1": PIPE, "3": 3 * PIPE}
OTHERS = {"cubic": "CUBIC", "newreno": "NewReno"}
PAIRED = ("bbr", "bbr3", "copa", "swift", "ledbat")


def of_pairs() -> Iterator[Comparison]:
    """Two flows beside two others."""
    for kind in PAIRED:
        for other in OTHERS:
            for buffer in BUFFERS.values():
                flows = [tc.Flow(name, jitter=1.0) for name in (kind, kind, other, other)]
                case = tc.Scenario(tc.dumbbell(RATE, DELAY, buffer), flows, duration=120)
                measures = {OTHERS[other]: _of_the_first_two}
                yield Comparison(f"`{kind}`", seeds(case), measures)


def _of_the_first_two(run: tc.Run) -> float:
    return float(run.goodput(after=20)[:2].sum()) / 1e6


def table_of_pairs() -> list[str]:
    """Goodput of the first two, packets / fluid."""
    return [
        f"| | beside | {' | '.join(BUFFERS)} |",
        "|---|---|" + "--:|" * len(BUFFERS),
        *rows_of_pairs(of_pairs()),
    ]


def rows_of_pairs(cases: Iterable[Comparison]) -> Iterator[str]:
    """A row for all buffers of a pair."""
    results = compared(cases)
    yield from _in_rows(results, len(BUFFERS), lambda first: f"{first.title} | {first.quantity}")


def _in_rows(results: list[Difference], n: int, head: Callable[[Difference], str]) -> Iterator[str]:
    for k in range(0, len(results), n):
        row = results[k : k + n]
        values = " | ".join(f"{cell.packets:.1f} / {cell.fluid:.1f}" for cell in row)
        yield f"| {head(row[0])} | {values} |"


# Phases

PARTS = tuple(k / 8 for k in range(8))
"""Parts of a packet time by which the base RTT is longer."""


def of_phases() -> Iterator[Comparison]:
    """BIC of 2004 beside Reno, which of the two loses at a full buffer."""
    setting = NETWORKS["small"]
    for times in (0.3, 1, 2):
        for part in PARTS:
            further = part * packet_time(beside_reno("bic_2004", setting)) / 2
            network = replace(setting, delay=setting.delay + further)
            scenarios = [beside_reno("bic_2004", network, 1 + PHASES * k) for k in range(5)]
            measures: dict[str, Measure] = {"ratio": lambda run: of_beside_reno(run)["ratio"]}
            yield Comparison(
                f"{times:g}", [with_random_hosts(x, times) for x in scenarios], measures
            )


def table_of_phases() -> list[str]:
    """BIC's goodput over Reno's, packets / fluid."""
    return [
        f"| longest random time | {' | '.join(f'{part:g}' for part in PARTS)} |",
        "|--:|" + "--:|" * len(PARTS),
        *rows_of_phases(of_phases()),
    ]


def rows_of_phases(cases: Iterable[Comparison]) -> Iterator[str]:
    """A row for all parts of a packet time."""
    yield from _in_rows(compared(cases), len(PARTS), lambda first: first.title)


# Other differences

VEGAS = {"newvegas": "NewVegas", "vegas_a": "Vegas-A", "vegas_plus": "Vegas+"}


def utilization(run: tc.Run) -> float:
    """From 40 s on, or of a shorter run all."""
    return float(run.utilization(after=40 if run.duration > 40 else 0))


def loss_rate(run: tc.Run) -> float:
    """From 20 s on, in per cent."""
    return 100 * float(run.drop_rate(after=20))


USE = {"utilization": utilization}


def beside_reno_in_the_thesis(kind: str, **params: float) -> list[tc.Scenario]:
    """In the network of Table 3.1 of `red_fairness`, with random starts."""
    starts = np.random.default_rng(1).uniform(0, 3, (80, 2)).tolist()
    common: dict[str, Any] = {"small": True, "duration": 200, "params": [params, {}]}
    return [
        dumbbell([kind, "reno"], 1.5e6, buffer=20, starts=starts[k], seed=k + 1, **common)
        for k in range(80)
    ]


def of_vegas() -> Iterator[Comparison]:
    """Vegas and its variants."""
    title = "beside Reno, 80 random starts"
    in_kbps = {"throughput, kb/s": throughput(0, 20, 1e3)}
    for kind, name in VEGAS.items():
        yield Comparison(f"{name} {title}", beside_reno_in_the_thesis(kind), in_kbps)
    cases = beside_reno_in_the_thesis("vegas", alpha=6, beta=8)
    yield Comparison(f"Vegas with alpha = 6 {title}", cases, in_kbps)
    net = tc.chain(3, "1 Mbps", ["10 ms", "5 ms", "5 ms"], 50)
    longer = [tc.Change(20, link, delay="100 ms") for link in ("r0>r1", "r1>r0")]
    flows: list[tc.Flow | tc.CBR] = [flow("vegas_a"), tc.CBR("10 kbps", packet_size=100)]
    case = tc.Scenario(net, flows, duration=200, changes=longer)
    measures = {"throughput, kb/s": throughput(0, 0, 1e3)}
    yield Comparison("Vegas-A after rerouting", [case], measures)
    quick = tc.Flow("quick_vegas", jitter=1.0, packet_size=1500)
    case = tc.Scenario(tc.dumbbell("10 Mbps", "40 ms", 7), [quick], duration=100)
    cases = [case.replace(seed=k) for k in range(1, 6)]
    yield Comparison("Quick Vegas, 10 Mb/s, 80 ms, buffer of 7 packets", cases, USE)
    flows = [tc.Flow("vegas", jitter=1.0)] * 4
    flows += [tc.Flow("vegas", jitter=1.0, source="right", target="left")] * 4
    cases = seeds(tc.Scenario(tc.dumbbell(RATE, DELAY, PIPE), flows, duration=60))
    measures = {"goodput of all, Mb/s": OF_QUEUES["goodput"]}
    yield Comparison(f"4 `vegas` in each direction, buffer of {PIPE} packets", cases, measures)


def of_crowds() -> Iterator[Comparison]:
    """Flows with small windows at a full drop-tail buffer."""
    for kind, count, buffer in (
        ("reno", 8, 50), ("newreno", 50, 100), ("newreno", 100, 200), ("cubic", 200, 400),
        ("vegas", 200, 300),
    ):  # fmt: skip
        net = tc.dumbbell(RATE, DELAY, buffer)
        case = tc.Scenario(net, [tc.Flow(kind, jitter=5.0)] * count, duration=60)
        title = f"{count} `{kind}`, buffer of {buffer} packets"
        measures = {"loss rate, %": loss_rate, "queue, packets": OF_QUEUES["queue"]}
        yield Comparison(title, seeds(case), measures)


def of_the_rest() -> Iterator[Comparison]:
    """What single tests of packets and trains find."""
    bulk: dict[str, Any] = {
        "recovery": "sack",
        "transport": tc.Transport.ns2(),
        "packet_size": 1500,
    }
    net = tc.dumbbell("100 Mbps", "20 ms", 333)
    flows = [tc.Flow("areno", overlap=0, **bulk), tc.Flow("reno", start=0.5, **bulk)]
    case = tc.Scenario(net, flows, duration=200)
    title = "ARENO (`overlap=0`) beside Reno, 100 Mb/s"
    yield Comparison(title, [case], {"throughput, Mb/s": throughput(0, 30)})
    net = tc.dumbbell("20 Mbps", "20 ms", 15, queue=tc.queues.XCPRouter(), access_rate="1 Gbps")
    case = tc.Scenario(net, [tc.Flow("xcp")], duration=8)
    yield Comparison("XCP, buffer of 15 packets", [case], USE)
    for kind in ("lia", "balia"):
        path = tc.Flow(kind, group="both", jitter=1.0)
        flows = [path, path, tc.Flow("reno", jitter=1.0)]
        case = tc.Scenario(tc.dumbbell("10 Mbps", "20 ms", 50), flows, duration=120)
        scenarios = [case.replace(seed=k) for k in range(24)]
        title = f"{kind.upper()} over two paths with one bottleneck, beside Reno"
        yield Comparison(title, scenarios, {"share of the link": _share_of_both})
    net = tc.dumbbell("50 Mbps", "35 ms", 94, access_rate="100 Mbps", access_delay="5 ms")
    for kind, name in {"westwood_rbe": "Westwood RBE", "reno": "Reno"}.items():
        case = tc.Scenario(net, [tc.Flow(kind, **bulk)], duration=100)
        title = f"{name} alone, buffer of a quarter BDP"
        yield Comparison(title, [case], USE)
    net = tc.dumbbell("10 Mbps", "20 ms", 50)
    outage = tc.changes.outage(net, "bottleneck", 5, 8)
    case = tc.Scenario(net, [tc.Flow("reno")], duration=20, changes=outage)
    measures = {"throughput, Mb/s": throughput(0, 0)}
    yield Comparison("Reno, outage of 3 s in 20 s", [case], measures)
    old = tc.Flow("reno", recovery="reno", transport=tc.Transport.ns2())
    load = tc.workloads.web(old, rate=2, size=30_000)
    net = tc.dumbbell("10 Mbps", "20 ms", 20)
    case = tc.Scenario(net, [tc.Flow("vegas")], workloads=load, duration=20)
    measures = {"mean completion time, s": lambda run: float(run.fct()["fct_s"].mean())}
    yield Comparison("web transfers of 30 kB, `Transport.ns2()`", [case], measures)
    asks = tc.SlowStart("quick_start", requested_rate=6e6)
    net = tc.dumbbell("10 Mbps", "50 ms", 300, queue=tc.queues.QuickStartRouter())
    flows = [tc.Flow("reno", transport={"rwnd": 20})]
    flows += [tc.Flow("reno", slow_start=asks, start=t, size=60) for t in (1.1, 1.2, 1.5)]
    case = tc.Scenario(net, flows, duration=3, interval=0.01)
    for k in range(1, len(flows)):
        measures = {"first window, packets": _first_window(k)}
        yield Comparison(f"Quick-Start, request {k} of 3", [case], measures)


def _first_window(flow: int) -> Measure:
    def measure(run: tc.Run) -> float:
        window = run.data["cwnd"].values[:, flow]
        return float(window[window > 1][0])

    return measure


def _share_of_both(run: tc.Run) -> float:
    rates = run.by_group(run.throughput(after=20))
    return float(rates[0] / rates.sum())


TABLES = {
    "queues": lambda: table("queue, controller", of_queues()),
    "pairs": table_of_pairs,
    "phases": table_of_phases,
    "others": lambda: table("scenario", [*of_vegas(), *of_crowds(), *of_the_rest()]),
}


def main() -> None:
    """Write all tables."""
    for name, table in TABLES.items():
        marks = f"<!-- {name}: written by {COMMAND} -->", f"<!-- end of {name} -->"
        write_between(PAGE, marks, "\n".join(table()))


if __name__ == "__main__":
    main()
