"""DualPI2: equilibrium and stability beside simulations, for docs/models.md.

``python -m experiments.dualpi2`` prints the table, with runs of five seeds in packets and fluid.
"""

from __future__ import annotations

import math

import numpy as np

import tcpcc as tc

RATE, FLOWS = 100e6, 5  # of each kind
RTTS = (0.005, 0.01, 0.02, 0.04, 0.1)
COUPLINGS = (1.0, math.sqrt(2), 2.0)
SEEDS = 5
HEAD = (
    "| base RTT | k = 1 | k = 1.41 | k = 2 | phase margin, k = 2 | packets, k = 2 | fluid, k = 2 |"
)


def coupled(rtt: float, duration: float = 60, flows: int = FLOWS, **queue: float) -> tc.Scenario:
    """DCTCP as the scalable and Reno as the classic control behind DualPI2, base RTT `rtt` in s."""
    net = tc.dumbbell(RATE, rtt / 2, 10_000, queue=tc.queues.DualPI2(**queue))
    scalable = tc.Flow("dctcp", count=flows, transport={"ecn": "l4s"}, name="scalable")
    classic = tc.Flow("reno", count=flows, transport={"ecn": "classic"}, name="classic")
    return tc.Scenario(net, [scalable, classic], duration=duration)


def ratio(rtt: float, coupling: float) -> float:
    """Rate of a scalable flow, relative to a classic one, in the equilibrium."""
    rate = tc.analysis.equilibrium(coupled(rtt, coupling=coupling))["rate"]
    return float(rate.sel(flow="scalable") / rate.sel(flow="classic"))


def simulated(rtt: float, model: str) -> str:
    """The same with k = 2 in simulations: mean and standard error over seeds."""
    ratios = []
    for seed in range(1, SEEDS + 1):
        case = coupled(rtt, 120).replace(seed=seed)
        rate = tc.simulate(case, model).throughput(after=40).values
        ratios.append(rate[:FLOWS].mean() / rate[FLOWS:].mean())
    error = np.std(ratios, ddof=1) / math.sqrt(SEEDS)
    return f"{np.mean(ratios):.2f} ± {error:.2f}"


def equilibrium_cells(rtt: float) -> list[str]:
    """Cells of the table: base RTT, ratios by coupling, and phase margin with k = 2."""
    margin = tc.analysis.stability(coupled(rtt)).phase_margin
    ratios = [f"{ratio(rtt, k):.2f}" for k in COUPLINGS]
    return [f"{1e3 * rtt:g} ms", *ratios, f"{margin:.0f}°"]


def main() -> None:
    """Print the table."""
    print(HEAD)
    print("|---|---|---|---|---|---|---|")
    for rtt in RTTS:
        runs = [simulated(rtt, model) for model in ("packet", "fluid")]
        print("| " + " | ".join([*equilibrium_cells(rtt), *runs]) + " |")


if __name__ == "__main__":
    main()
