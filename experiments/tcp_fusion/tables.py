"""Numbers of the Fusion paper, computed from runs: goodputs, Table 1, numbers of the figures.

Runs are indexed by (key, seed); every number is a mean over seeds with its range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

import tcpcc as tc
from experiments import published_numbers
from experiments.harness import Runs
from experiments.measured_numbers import Measured
from experiments.seeds import means, over_seeds, tabulate
from experiments.tcp_fusion import scenarios as s
from tcpcc.controllers import CONTROLLERS

Cells = dict[tuple[str, str], Measured]


def mbps(run: tc.Run, after: float = s.SETTLED) -> np.ndarray:
    """Goodput of each flow, Mb/s."""
    return run.goodput(after).values / 1e6


# Figure 1: window after a loss, computed from the algorithms' rules.

CURVES: dict[str, tuple[str, float]] = {
    "Reno": ("reno", math.nan),
    "Westwood": ("westwood_re", math.nan),
    "ARENO, 1.5": ("areno", 1.5),
    "ARENO, 2": ("areno", 2.0),
    "Fusion": ("fusion", math.nan),
}
"""Controller by row, and for ARENO the RTT at congestion divided by RTTmin."""

RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0)
"""RTT/RTTmin of the cells."""


def reduction(controller: str, ratio: float, congested: float = math.nan) -> float:
    """Window after a loss, as a share of a large window before it, if RTT is `ratio` times RTTmin.

    Args:
        controller: name of the controller; its `on_loss` is called in congestion avoidance.
        ratio: RTT/RTTmin, at least 1.
        congested: RTT_cong/RTTmin, for ARENO.
    """
    c = CONTROLLERS.find(controller)
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
        params.a = 1.0  # keeps the given RTT_cong
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
    """Goodput of the row's flow that competes with the column's flow, Mb/s (erratum B6)."""
    values: dict[tuple[str, str], dict[int, float]] = {}
    for ((first, second), seed), run in runs.items():
        rates = mbps(run, s.PAIRS_SETTLED)
        if first == second:
            rates = np.full(2, rates.mean())
        values.setdefault((first, second), {})[seed] = float(rates[0])
        values.setdefault((second, first), {})[seed] = float(rates[1])
    return {key: over_seeds(of_seed) for key, of_seed in values.items()}


def share(run: tc.Run, after: float = s.SETTLED) -> float:
    """The first flow's share of the total goodput."""
    first, second = mbps(run, after)
    return float(first / (first + second))


def shares(table: Mapping[tuple[str, str], Measured]) -> Cells:
    """Table 1 as the first variant's share in each pair.

    The sum of a pair varies little, so the ends of a range combine the first flow's smallest and
    the second flow's largest goodput, and vice versa.
    """

    def part(own: float | None, other: float | None) -> float | None:
        return None if own is None or other is None else own / (own + other)

    result = {}
    for pair in combinations(s.VARIANTS, 2):
        own, other = table[pair], table[pair[::-1]]
        value = own.value / (own.value + other.value)
        result[pair] = Measured(value, part(own.low, other.high), part(own.high, other.low))
    return result


PAIR = 90.0  # Mb/s; goodputs of a pair add up to 86 to 93 on the testbed


def share_tolerance() -> float:
    """Tolerance of two different variants in Table 1, as a share of a pair."""
    cells = {cell.key: cell for cell in published_numbers.of("tcp_fusion").cells}
    tolerance = cells["table_1", "Reno", "Fusion"].tolerance
    assert tolerance is not None
    return tolerance.value / PAIR


def printed_shares() -> dict[tuple[str, str], float]:
    """`shares` of the published numbers."""
    printed = published_numbers.of("tcp_fusion").printed("table_1")
    return {
        pair: share / (share + other)
        for pair in combinations(s.VARIANTS, 2)
        if (share := printed[pair]) is not None and (other := printed[pair[::-1]]) is not None
    }


# Figures 4, 5, 6: against the loss rate.


def figure_4(runs: Runs) -> Cells:
    """Goodput by variant and loss rate, Mb/s."""
    return means(lambda run: float(mbps(run)[0]), runs)


def mine_and_reno(run: tc.Run) -> dict[str, float]:
    return dict(zip(("mine", "reno"), mbps(run), strict=True))


def beside(runs: Runs, quantities: Callable[[tc.Run], dict[str, float]] = mine_and_reno) -> Cells:
    """Goodput of each variant (row "Fusion") and of its Reno flow ("Reno beside Fusion"), Mb/s.

    Columns are the second part of the key.
    """
    return {
        (variant if row == "mine" else f"Reno beside {variant}", column): cell
        for (row, (variant, column)), cell in tabulate(quantities, runs).items()
    }


# Figures 8 to 10.


def figure_8(runs: Runs) -> Cells:
    """Goodput of the three flows while all are active, Mb/s, and Jain's index."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = mbps(run, 100.0 + s.JITTER)
        names = ("first", "second", "third")
        return {**dict(zip(names, rates, strict=True)), "Jain": tc.jain_index(rates)}

    cells = tabulate(quantities, {key: run for key, run in runs.items() if key[0][0] in s.PRINTED})
    return {(v, row): cell for (row, (v,)), cell in cells.items()}


def figure_9(runs: Runs) -> Cells:
    """Goodput of the 20 ms flow divided by that of the other.

    The value is the ratio of the means over seeds; the range is that of single ratios.
    """

    def quantities(run: tc.Run) -> dict[str, float]:
        short, long = mbps(run)
        return {"short": float(short), "long": float(long), "ratio": float(short / long)}

    cells = tabulate(quantities, runs)
    return {
        key: cell._replace(value=cells["short", key].value / cells["long", key].value)
        for (row, key), cell in cells.items()
        if row == "ratio"
    }


def route_2(runs: Runs) -> Cells:
    """Share of Route 2's rate, headers included, used by a flow alone."""
    return means(lambda run: run.utilization(after=s.SETTLED), runs)


# Figures 11 and 13: simulations.


def figure_11(runs: Runs) -> Cells:
    """As :func:`beside`, but as shares of the link's rate, headers included."""
    wire = s.PACKET / (s.PACKET - s.HEADER)

    def quantities(run: tc.Run) -> dict[str, float]:
        link = float(run.data["rate"].isel(link=0)) / 1e6
        return dict(zip(("mine", "reno"), mbps(run) * wire / link, strict=True))

    return beside(runs, quantities)


FORWARD = [f"{kind}{hops}" for kind in ("Reno", "Variant") for hops in (1, 2, 3)]


def figure_13(runs: Runs) -> Cells:
    """Goodput of the forward flows and their sum, Mb/s; columns "Fusion without", "Fusion with"."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = dict(zip(run.flows, mbps(run), strict=True))
        return {**{f: rates[f] for f in FORWARD}, "Total": sum(rates[f] for f in FORWARD)}

    cells = tabulate(quantities, runs)
    return {(row, f"{v} {reverse}"): cell for (row, (v, reverse)), cell in cells.items()}


HOPS = {"1 hop": 1, "2 hops": 2, "3 hops": 3}


def phases(runs: Runs) -> Cells:
    """Total goodput of both flows by hop count, Mb/s; columns "Reno without", "Reno with"."""

    def quantities(run: tc.Run) -> dict[str, float]:
        rates = dict(zip(run.flows, mbps(run), strict=True))
        return {name: rates[f"Reno{k}"] + rates[f"Variant{k}"] for name, k in HOPS.items()}

    cells = tabulate(quantities, runs)
    return {(row, f"{v} {reverse}"): cell for (row, (v, reverse)), cell in cells.items()}


# Comparison of packets and fluid, for every variant.


def models(runs: Runs) -> Cells:
    """Goodput alone with a loss rate of 1e-4, Mb/s, and the share with a Reno flow without loss."""
    return means(lambda run: share(run) if len(run.flows) == 2 else float(mbps(run)[0]), runs)


def root_law(losses: np.ndarray) -> np.ndarray:
    """Goodput of Reno by the square-root law, Mb/s, limited by the link's rate.

    With an ACK for every second packet the law is sqrt(3/(4p)) packets per RTT of 40 ms.
    """
    base = s.laboratory(["Reno"], seed=1).resolve()
    rate = base.links[0].rate * (s.PACKET - s.HEADER) / s.PACKET
    window = math.sqrt(3 / 4) / np.sqrt(losses)
    return np.minimum(window / 0.040 * 8 * (s.PACKET - s.HEADER), rate) / 1e6
