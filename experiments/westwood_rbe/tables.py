"""Numbers of the Westwood paper, computed from runs: means over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.measured_numbers import Measured
from experiments.seeds import means, over_seeds
from experiments.westwood_rbe import scenarios as s


def rates(run: tc.Run) -> np.ndarray:
    """Throughput of each flow in the measured part of a run, bit/s."""
    return np.asarray(run.throughput(s.SETTLED * run.duration).values)


def throughput_ratio(run: tc.Run) -> float:
    """Equation 14: the first flow's throughput divided by that of the second, Reno."""
    first, second = rates(run)
    return float(first / second)


def ratios(runs: Runs) -> Values:
    return means(throughput_ratio, runs)


# Throughput ratio Westwood : Reno at a buffer of b bandwidth-delay products.

LAWS: dict[str, Callable[[float], float]] = {
    "eqs. 4-6, RTT = 2 RTTmin": lambda b: math.sqrt(1 / b),
    "eqs. 4-6, RTT = RTTmin + Tq": lambda b: math.sqrt((1 + b) / (2 * b)),
    "sawtooth": lambda b: (2 + b) / (3 * b),
}
"""The paper's equation 5 divided by equation 4, with Tq = b RTTmin. First law: the RTT is that of a
buffer of one BDP for all buffers, which gives the paper's 1.4 and 0.7. Second law: the RTT depends
on Tq. "sawtooth": both flows have a loss at the same overflow. Westwood then keeps a share RTTmin /
RTT = 1/(1+b) of its window, Reno 1/2. The increments between two overflows are equal, W_W b/(1+b) =
W_R/2, and each mean window is the mean of its ends: W_W (2+b)/(1+b) : W_R 3/2 = (2+b)/(3b)."""

SIMULATED = "simulated"


def column(b: float) -> str:
    return f"b = {b:g}"


def laws(runs: Runs) -> Values:
    values: dict[tuple[str, str], float | Measured] = {
        (row, column(b)): law(b) for row, law in LAWS.items() for b in s.LAW_BUFFERS
    }
    return values | {
        (SIMULATED, column(b)): ratio for b, ratio in means(throughput_ratio, runs).items()
    }


# Efficiency and friendliness, equation 15.


def reno_rate(run: tc.Run) -> float:
    """Mean throughput of the Reno flows, bit/s."""
    reno = run.data["controller"].values == s.RENO
    return float(rates(run)[reno].mean())


def utilization(run: tc.Run) -> float:
    return run.utilization(after=s.SETTLED * run.duration)


def points(runs: Runs) -> dict[tuple[str, int, int], np.ndarray]:
    """(L, G) of every seed relative to the base case with the same seed.

    Returns:
        Arrays of shape [seed, 2] by (name, buffer, flows).
    """
    pairs: dict[tuple[str, int, int], list[tuple[float, float]]] = {}
    names = {kind: name for name, kind in s.PROPOSALS.items()}
    for (kind, buffer, n, seed), run in runs.items():
        if kind in names:
            base = runs[s.RENO, buffer, n, seed]
            point = reno_rate(run) / reno_rate(base), utilization(run) / utilization(base)
            pairs.setdefault((names[kind], buffer, n), []).append(point)
    return {key: np.array(values) for key, values in pairs.items()}


def place(buffer: int, n: int) -> str:
    return f"B = {buffer}, N = {n}"


def tradeoff(runs: Runs) -> Values:
    """Rows "L Westwood" ..., columns "B = 67, N = 2" ..."""
    return {
        (f"{axis} {name}", place(buffer, n)): over_seeds(dict(enumerate(values[:, k], 1)))
        for (name, buffer, n), values in points(runs).items()
        for k, axis in enumerate("LG")
    }


# Fairness with different RTTs, and the Westwood family.


def jain(run: tc.Run) -> float:
    return tc.jain_index(rates(run))


def fairness(runs: Runs) -> Values:
    return {(row, f"N = {n}"): cell for (row, n), cell in means(jain, runs).items()}


def classes(runs: Runs) -> Values:
    """Throughput ratios by class of RTTs, with all N of a seed pooled.

    Columns "name / Reno": mean throughput of a kind divided by that of the Reno flows. Columns
    "Reno beside name": mean throughput of the Reno flows divided by that of all flows.
    """
    ratios: dict[tuple[str, str], dict[int, float]] = {}
    for row in sorted({row for row, _, _ in runs}):
        name, link = row.split(", ")
        for seed in s.SEEDS:
            shares, reno, trips = _pooled([runs[key] for key in runs if key[::2] == (row, seed)])
            for of, (low, high) in s.RTT_CLASSES.items():
                chosen = (trips > low + 1e-9) & (trips <= high + 1e-9)
                reno_share = shares[chosen & reno].mean()
                ratio = shares[chosen & ~reno].mean() / reno_share
                ratios.setdefault((of, f"{name} / Reno, {link}"), {})[seed] = ratio
                ratios.setdefault((of, f"Reno beside {name}, {link}"), {})[seed] = reno_share
    return {key: over_seeds(of_seed) for key, of_seed in ratios.items()}


def _pooled(runs: Sequence[tc.Run]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrays over all flows of `runs`: throughput / mean of its run, whether Reno, base RTT."""
    of_runs = [rates(run) for run in runs]
    return (
        np.concatenate([goodputs / goodputs.mean() for goodputs in of_runs]),
        np.concatenate([run.data["controller"].values == s.RENO for run in runs]),
        np.concatenate([s.round_trips(len(goodputs)) for goodputs in of_runs]),
    )


def alone(runs: Runs) -> Values:
    return {key: utilization(run) for key, run in runs.items()}


def estimators(runs: Runs) -> Values:
    return means(throughput_ratio, runs)
