"""From runs to numbers: goodputs, Table 1, and the numbers behind the figures.

Runs are kept by (key, seed); every number is a mean over seeds with its spread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

import tcpcc as tc
from experiments import published
from experiments.harness import Runs
from experiments.records import Measured
from experiments.seeds import means, over_seeds, tabulate
from experiments.tcp_fusion import scenarios as s
from tcpcc.controllers import get

Cells = dict[tuple[str, str], Measured]


def mbps(run: tc.Run, after: float = s.SETTLED) -> np.ndarray:
    """Goodput of each flow, Mb/s."""
    return run.goodput(after).values / 1e6


# Figure 1: what a loss leaves, from the rules themselves.

CURVES: dict[str, tuple[str, float]] = {
    "Reno": ("reno", math.nan),
    "Westwood": ("westwood_re", math.nan),
    "ARENO, 1.5": ("areno", 1.5),
    "ARENO, 2": ("areno", 2.0),
    "Fusion": ("fusion", math.nan),
}
"""Controller by row; of ARENO, RTT at congestion over RTTmin."""

RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0)
"""RTT/RTTmin of the cells."""


def reduction(controller: str, ratio: float, congested: float = math.nan) -> float:
    """Share of a large window that a loss leaves when RTT is `ratio` times RTTmin.

    Args:
        controller: its `on_loss` is called in congestion avoidance.
        ratio: at least 1.
        congested: RTT_cong/RTTmin, for ARENO.
    """
    c = get(controller)
    state, params, ack = c.example()
    window, base = 1000.0, 0.1
    ack.rtt = ack.srtt = ratio * base
    ack.base_rtt, ack.window, ack.inflight = base, window, window
    state.cwnd, state.ssthresh = window, 2.0
    for name, value in {
        "rtt": ack.rtt,
        "re": window / ack.rtt,
        "rtt_cong": congested * base,
    }.items():
        if hasattr(state, name):
            setattr(state, name, value)
    if controller == "areno":
        params.a = 1.0  # RTT_cong as it was given
    assert c.on_loss
    c.on_loss(state, params, ack)
    return min(state.ssthresh, window) / window


def figure_1(runs: Runs) -> dict[tuple[str, str], float]:
    return {
        (row, f"{ratio:g}"): reduction(controller, ratio, congested)
        for row, (controller, congested) in CURVES.items()
        for ratio in RATIOS
    }


# Table 1.


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
    printed = published.of("tcp_fusion").printed("table_1")
    return {
        pair: share / (share + other)
        for pair in combinations(s.VARIANTS, 2)
        if (share := printed[pair]) is not None and (other := printed[pair[::-1]]) is not None
    }


# Figures 4, 5, 6: against the loss rate.


def figure_4(runs: Runs) -> Cells:
    """Mb/s by variant and loss rate."""
    return means(lambda run: float(mbps(run)[0]), runs)


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


def figure_8(runs: Runs) -> Cells:
    """Mb/s of the three flows while all are there, and Jain's index."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = mbps(run, 100.0 + s.JITTER)
        names = ("first", "second", "third")
        return {**dict(zip(names, rates, strict=True)), "Jain": tc.jain_index(rates)}

    found = tabulate(quantities, {key: run for key, run in runs.items() if key[0][0] in s.PRINTED})
    return {(v, row): cell for (row, (v,)), cell in found.items()}


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


# Figures 11 and 13: simulations.


def figure_11(runs: Runs) -> Cells:
    """As :func:`beside`, as a share of the link's rate on the wire."""
    wire = s.PACKET / (s.PACKET - s.HEADER)

    def quantities(run: tc.Run) -> dict[str, float]:
        link = float(run.data["rate"].isel(link=0)) / 1e6
        return dict(zip(("mine", "reno"), mbps(run) * wire / link, strict=True))

    return beside(runs, quantities)


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


def models(runs: Runs) -> Cells:
    """Mb/s alone with a loss in 10 000 packets, and the share beside Reno without any."""
    return means(lambda run: share(run) if len(run.flows) == 2 else float(mbps(run)[0]), runs)


def root_law(losses: np.ndarray) -> np.ndarray:
    """Goodput of Reno by 1.22/sqrt(2p) packets a round trip, of 40 ms, with an ACK for every second
    packet, Mb/s; not above the link's."""
    base = s.laboratory(["Reno"], seed=1).resolve()
    rate = base.links[0].rate * (s.PACKET - s.HEADER) / s.PACKET
    window = math.sqrt(3 / 4) / np.sqrt(losses)
    return np.minimum(window / 0.040 * 8 * (s.PACKET - s.HEADER), rate) / 1e6
