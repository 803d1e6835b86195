"""From runs to numbers: goodputs, Table 1, and the numbers behind the figures.

Runs are kept by (key, seed); every number is a mean over seeds with its spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.harness import Measured, Runs
from experiments.seeds import over_seeds, tabulate
from experiments.tcp_fusion import scenarios as s

Scenarios = dict[Any, tc.Scenario]
Cells = dict[tuple[str, str], Measured]


def mbps(run: tc.Run, after: float = s.SETTLED) -> np.ndarray:
    """Goodput of each flow, Mb/s."""
    return run.goodput(after).values / 1e6


def with_seeds(make: Callable[..., tc.Scenario], keys: Any) -> Scenarios:
    """`make(*key, seed)` by (key, seed)."""
    return {(key, seed): make(*key, seed) for key in keys for seed in s.SEEDS}


# Table 1.


def length(first: str, second: str) -> float:
    """Duration of a pair's run, s."""
    both = {first, second}
    if first == second:
        return s.TWINS
    drifts = s.KERNEL_CUBIC in both or "CUBIC" in both or both == {"HSTCP", "BIC"}
    return s.DRIFTING if drifts else s.PAIR


def pair(first: str, second: str, seed: int) -> tc.Scenario:
    """Two flows at the testbed's receivers."""
    return s.laboratory([first, second], seed=seed, duration=length(first, second))


def table_1_runs() -> Scenarios:
    return with_seeds(pair, combinations_with_replacement(s.VARIANTS, 2))


def kernel_runs() -> Scenarios:
    """CUBIC as kernel 2.6.15 has it, beside Reno."""
    return with_seeds(pair, [(s.KERNEL_CUBIC, "Reno")])


def table_1(runs: Runs) -> Cells:
    """Goodput of the row's flow beside the column's, Mb/s (erratum B6)."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for ((first, second), seed), run in runs.items():
        mine = mbps(run, s.PAIRS_SETTLED)
        if first == second:
            mine = np.full(2, mine.mean())
        found.setdefault((first, second), {})[seed] = float(mine[0])
        found.setdefault((second, first), {})[seed] = float(mine[1])
    return {key: over_seeds(of_seed) for key, of_seed in found.items()}


def share(run: tc.Run, after: float = s.SETTLED) -> float:
    """The first flow's share of the goodput of both."""
    first, second = mbps(run, after)
    return float(first / (first + second))


def shares(table: Mapping[tuple[str, str], Measured]) -> Cells:
    """Table 1 as the first one's share of each pair of two variants; the pairs' sums vary little,
    so that the ends of a range are the first's least and the second's most."""

    def part(mine: float | None, other: float | None) -> float | None:
        return None if mine is None or other is None else mine / (mine + other)

    found = {}
    for pair in combinations(s.VARIANTS, 2):
        mine, other = table[pair], table[pair[::-1]]
        value = mine.value / (mine.value + other.value)
        found[pair] = Measured(value, part(mine.low, other.high), part(mine.high, other.low))
    return found


SHARE = 0.2
"""Of a pair: how far an independent simulator is from the testbed (ns-2: up to 0.21)."""


def printed_shares() -> dict[tuple[str, str], float]:
    """The same of what the paper prints."""
    printed = published("table_1")
    return {
        (first, second): printed[first, second] / (printed[first, second] + printed[second, first])
        for first, second in combinations(s.VARIANTS, 2)
    }


def published(item: str) -> dict[tuple[str, str], float]:
    """What the paper prints, by (row, column)."""
    from experiments.tcp_fusion import PAPER

    return {c.key[1:]: c.published for c in PAPER.cells(item) if c.published is not None}


# Figures 4, 5, 6: against the loss rate.

LOSSES = {f"1e-{k}": 10.0**-k for k in range(6, 0, -1)}


def alone(variant: str, loss: str, seed: int) -> tc.Scenario:
    return s.laboratory([variant], loss=LOSSES[loss], seed=seed)


def beside_reno(variant: str, loss: str, seed: int) -> tc.Scenario:
    return s.laboratory([variant, "Reno"], loss=LOSSES[loss], seed=seed)


def figure_4_runs() -> Scenarios:
    return with_seeds(alone, [(v, loss) for v in s.VARIANTS for loss in LOSSES])


def clock_runs() -> Scenarios:
    """With a clock that ticks."""
    return with_seeds(alone, [(v, loss) for v in s.CLOCKED for loss in ("1e-4", "1e-3", "1e-2")])


def figure_4(runs: Runs) -> Cells:
    """Mb/s by variant and loss rate."""
    found = tabulate(lambda run: {"": mbps(run)[0]}, runs)
    return {key: cell for (_, key), cell in found.items()}


def lossy_runs(*variants: str) -> Scenarios:
    return with_seeds(beside_reno, [(v, loss) for v in variants for loss in LOSSES])


def mine_and_reno(run: tc.Run) -> dict[str, float]:
    return dict(zip(("mine", "reno"), mbps(run), strict=True))


def beside(runs: Runs, quantities: Callable[[tc.Run], dict[str, float]] = mine_and_reno) -> Cells:
    """Mb/s of each variant (row "Fusion") and of Reno beside it ("Reno beside Fusion"), by the
    second part of the key."""
    return {
        (variant if row == "mine" else f"Reno beside {variant}", column): cell
        for (row, (variant, column)), cell in tabulate(quantities, runs).items()
    }


# Figures 8 to 10.


PRINTED = ("Fusion", "HSTCP")
"""Variants whose throughputs the text gives."""


def figure_8_runs() -> Scenarios:
    """Ten seeds where numbers are printed, one of the others for the drawing."""
    drawn = {((v,), 1): s.joining(v, 1) for v in s.VARIANTS if v != "Reno"}
    return drawn | with_seeds(s.joining, [(v,) for v in PRINTED])


def figure_8(runs: Runs) -> Cells:
    """Mb/s of the three flows while all are there, and Jain's index."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = mbps(run, 100.0 + s.JITTER)
        names = ("first", "second", "third")
        return {**dict(zip(names, rates, strict=True)), "Jain": tc.jain_index(rates)}

    found = tabulate(quantities, {key: run for key, run in runs.items() if key[0][0] in PRINTED})
    return {(v, row): cell for (row, (v,)), cell in found.items()}


LONGER = {"20 ms": 0.020, "60 ms": 0.060, "120 ms": 0.120}


def figure_9_runs() -> Scenarios:
    def make(variant: str, longer: str, seed: int) -> tc.Scenario:
        return s.round_trips(variant, LONGER[longer], seed)

    return with_seeds(make, [(v, longer) for v in s.VARIANTS for longer in LONGER])


def figure_9(runs: Runs) -> Cells:
    """Throughput of the 20 ms flow over that of the other: ratio of the means over seeds, with the
    spread of the single ratios."""

    def quantities(run: tc.Run) -> dict[str, float]:
        short, long = mbps(run)
        return {"short": float(short), "long": float(long), "ratio": float(short / long)}

    found = tabulate(quantities, runs)
    return {
        key: cell._replace(value=found["short", key].value / found["long", key].value)
        for (row, key), cell in found.items()
        if row == "ratio"
    }


def figure_10_runs() -> Scenarios:
    return with_seeds(lambda v, _, seed: s.route_2(v, seed), [(v, "Route 2") for v in s.VARIANTS])


# Figures 11 and 13: simulations.

RATES = {"100 Mb/s": 100e6, "300 Mb/s": 300e6, "600 Mb/s": 600e6, "1 Gb/s": 1e9}
SIMULATED = ("Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC", "FAST", "Reno")
"""In the order of Figure 11; the last is two Reno flows."""


def figure_11_runs() -> Scenarios:
    def make(variant: str, rate: str, seed: int) -> tc.Scenario:
        return s.high_speed(variant, RATES[rate], seed)

    return with_seeds(make, [(v, rate) for v in SIMULATED for rate in RATES])


def figure_11(runs: Runs) -> Cells:
    """As :func:`beside`, as a share of the link's rate on the wire."""
    wire = s.PACKET / (s.PACKET - s.HEADER)

    def quantities(run: tc.Run) -> dict[str, float]:
        link = float(run.data["rate"].isel(link=0)) / 1e6
        return dict(zip(("mine", "reno"), mbps(run) * wire / link, strict=True))

    return beside(runs, quantities)


TRAFFIC = {"without": False, "with": True}
"""Reverse traffic."""


def figure_13_runs() -> Scenarios:
    def make(variant: str, reverse: str, seed: int) -> tc.Scenario:
        return s.parking_lot(variant, TRAFFIC[reverse], seed)

    return with_seeds(make, [(v, reverse) for v in SIMULATED for reverse in TRAFFIC])


def phases_runs() -> Scenarios:
    """The same with delays that are not exact, of Reno alone."""

    def make(variant: str, reverse: str, seed: int) -> tc.Scenario:
        return s.parking_lot(variant, TRAFFIC[reverse], seed, s.PHASES)

    return with_seeds(make, [(v, reverse) for v in ("Reno",) for reverse in TRAFFIC])


FORWARD = [f"{kind}{hops}" for kind in ("Reno", "Variant") for hops in (1, 2, 3)]


def figure_13(runs: Runs) -> Cells:
    """Mb/s of the forward flows and their sum; columns "Fusion without", "Fusion with"."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = dict(zip(run.flows, mbps(run), strict=True))
        return {**{f: rates[f] for f in FORWARD}, "Total": sum(rates[f] for f in FORWARD)}

    found = tabulate(quantities, runs)
    return {(row, f"{v} {reverse}"): cell for (row, (v, reverse)), cell in found.items()}


HOPS = {"1 hop": 1, "2 hops": 2, "3 hops": 3}


def phases(runs: Runs) -> Cells:
    """Mb/s of both flows over as many hops; columns "Reno without", "Reno with"."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = dict(zip(run.flows, mbps(run), strict=True))
        return {name: rates[f"Reno{k}"] + rates[f"Variant{k}"] for name, k in HOPS.items()}

    found = tabulate(quantities, runs)
    return {(row, f"{v} {reverse}"): cell for (row, (v, reverse)), cell in found.items()}


# Packets beside fluid, for every variant.

FAMILY = (
    "reno", "hstcp", "scalable", "bic", "cubic_2005", "cubic_2008", "cubic", "africa", "ghstcp",
    "westwood", "westwood_re", "westwood_abse", "westwood_plus", "westwood_rbe",
    "fast", "compound", "areno", "fusion", "adavegas",
)  # fmt: skip
"""Controllers of the high-speed, Westwood and hybrid families."""


def models_runs() -> Scenarios:
    def make(variant: str, what: str, seed: int) -> tc.Scenario:
        several = [variant] if what == "loss 1e-4" else [variant, "reno"]
        loss = 1e-4 if what == "loss 1e-4" else 0.0
        return s.laboratory(several, loss=loss, receiver="every packet", seed=seed, duration=40.0)

    return with_seeds(make, [(v, what) for v in FAMILY for what in ("loss 1e-4", "beside Reno")])


def models(runs: Runs) -> Cells:
    """Mb/s alone with a loss in 10 000 packets, and the share beside Reno without any."""
    found = tabulate(
        lambda run: {"": share(run) if len(run.flows) == 2 else float(mbps(run)[0])}, runs
    )
    return {key: cell for (_, key), cell in found.items()}
