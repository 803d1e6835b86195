"""Parameter studies: Figures 2.3 and 3.5, and topics that the thesis discusses without a table.

study_figures.py draws them. Unless stated otherwise, a Vegas and a Reno flow share the dumbbell of
Figure 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.measured_numbers import Measured
from experiments.red_fairness import scenarios as s
from experiments.red_fairness import tables
from experiments.seeds import means, seeds_up_to, tabulate

FEW_SEEDS = seeds_up_to(8)
"""Seeds of runs with start times spread over 0.1 s."""

ALPHAS = (1, 2, 3, 4, 5, 6, 8, 10)
"""Packets; beta is alpha + 2."""

BUFFERS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""Packets at the bottleneck."""

FAMILY = ("vegas", "newvegas", "vegas_a", "vegas_plus")
"""Vegas and its variants of chapter 2."""

COUNTS = (2, 4, 6, 10, 16, 24, 40)
"""Numbers of connections to estimate."""


def pair(kind: str = "vegas", *, buffer: int = 20, seed: int = 0, **params: float) -> tc.Scenario:
    """A flow of a kind and a Reno flow with drop-tail (Figure 3.3); `params` of the first flow."""
    return s.dumbbell(
        [kind, "reno"], 1.5e6, buffer=buffer, small=True, seed=seed, params=[params, {}]
    )


def with_seeds(make: Any, values: Iterable[Any]) -> dict[Any, tc.Scenario]:
    """Scenarios by (value, seed), for the deterministic run and `FEW_SEEDS`."""
    return {(value, seed): make(value, seed) for value in values for seed in (0, *FEW_SEEDS)}


def of_pair(run: tc.Run) -> dict[str, float]:
    first, second = tables.rates(run)
    return {"first": float(first), "Reno": float(second), "ratio": float(first / second)}


def pair_values(first: str, label: str, runs: Runs) -> Values:
    """Rows `first`, "Reno" and "ratio"; columns are the values, such as "alpha = 2"."""
    cells = tabulate(of_pair, runs)
    names = {"first": first}
    return {
        (names.get(row, row), f"{label} = {value}"): cell for (row, value), cell in cells.items()
    }


# Figure 2.3: larger alpha and beta.


def alpha_runs() -> dict[Any, tc.Scenario]:
    return with_seeds(lambda alpha, seed: pair(seed=seed, alpha=alpha, beta=alpha + 2), ALPHAS)


# Figure 3.5: the buffer.


def buffer_runs() -> dict[Any, tc.Scenario]:
    return with_seeds(lambda buffer, seed: pair(buffer=buffer, seed=seed), BUFFERS)


# Vegas' variants beside Reno (sections 2.2.2 to 2.2.4).

ROOMS = (20, 50, 100)
"""Buffers, packets."""


def family_runs() -> dict[Any, tc.Scenario]:
    return {
        ((kind, room), seed): pair(kind, buffer=room, seed=seed)
        for kind in FAMILY
        for room in ROOMS
        for seed in FEW_SEEDS
    }


def family_values(runs: Runs) -> dict[tuple[str, str], Measured]:
    """Throughput divided by Reno's, by variant and buffer."""
    cells = means(lambda run: of_pair(run)["ratio"], runs)
    return {(kind, f"buffer {room}"): cell for (kind, room), cell in cells.items()}


# The cause: Vegas keeps b packets queued independently of Reno, so x_V = b / queueing delay.

SHARED = {
    "table_3_1": ("V vs R",),
    "table_4_1": ("4V1R", "1V4R"),
    "table_4_2": ("9V1R", "5V5R", "1V9R"),
}


def cause_runs() -> dict[Any, tc.Scenario]:
    return {
        (f"{queue} {mix}", int(queue == "RED")): s.mixed(table, mix, queue, int(queue == "RED"))
        for table, mixes in SHARED.items()
        for mix in mixes
        for queue in s.QUEUES
    }


def cause_values(runs: Runs) -> Values:
    """Queued packets of a Vegas flow by Little's law: its rate times the mean queueing delay."""
    values: dict[tuple[str, str], float] = {}
    for (column, _), run in runs.items():
        vegas = run.data["controller"].values == "vegas"
        rate = float(tables.rates(run)[vegas].mean()) * 1e3 / (8 * s.PACKET)
        bottleneck = run.data.isel(link=0)
        sent = float(bottleneck["arrived"].sum() - bottleneck["drops"].sum())
        delay = run.queue_mean() * run.duration / sent
        values["x_V (packets/s)", column] = rate
        values["queueing delay (ms)", column] = delay * 1e3
        values["b = x_V x delay", column] = rate * delay
    return values


# How many packets Vegas alone keeps queued (sections 3.4 and 4.1), which gives the thresholds.

VEGAS_ALONE = {"2 Vegas": ("table_3_1", "V vs V"), "5 Vegas": ("table_4_1", "5V")}
"""Table and mix, by row; ten flows have the network of Table 4.2."""

STEADY = 50.0
"""Start of the measurement, s."""


def ten(
    kinds: str, thresholds: tuple[float, float] | None, seed: int, recovery: str = "vegas-ns2"
) -> tc.Scenario:
    """Flows of kinds given by letters on the network of Table 4.2; RED with fixed thresholds."""
    return s.dumbbell(
        [s.KINDS[letter] for letter in kinds],
        s.TABLES["table_4_2"].rate,
        buffer=s.TABLES["table_4_2"].buffer,
        queue=s.red(thresholds) if thresholds else None,
        seed=seed,
        recovery=recovery,
    )


def alone_runs() -> dict[Any, tc.Scenario]:
    """Only Vegas, by (row, queue)."""
    runs = {
        (row, queue): s.mixed(*table, queue, int(queue == "RED"))
        for row, table in VEGAS_ALONE.items()
        for queue in s.QUEUES
    }
    ways = {"drop-tail": None, "RED": s.TABLES["table_4_2"].thresholds}
    return runs | {
        ("10 Vegas", queue): ten(10 * "V", way, int(queue == "RED")) for queue, way in ways.items()
    }


def alone_values(runs: Runs) -> Values:
    """Largest queue of two flows, and the mean queue of more, from `STEADY` on."""
    return {
        key: run.queue_max(STEADY) if key[0] == "2 Vegas" else run.queue_mean(STEADY)
        for key, run in runs.items()
    }


# Lower thresholds: 2n and 3n instead of 3n and 4n (section 4.2).

THRESHOLDS = {
    "3n, 4n": (30, 40),
    "3n, 4n, n 20 % less": (24, 32),
    "2n, 3n": (20, 30),
    "2n, 3n, n 20 % less": (16, 24),
}
"""Packets, for ten flows."""

LOWER_MIXES = {"10V": 10 * "V", "8V2R": 8 * "V" + 2 * "R"}


def threshold_runs() -> dict[Any, tc.Scenario]:
    return {
        ((mix, column), seed): ten(kinds, thresholds, seed)
        for mix, kinds in LOWER_MIXES.items()
        for column, thresholds in THRESHOLDS.items()
        for seed in FEW_SEEDS
    }


OF_THRESHOLDS = ("Drop", "Vegas", "Reno", "Fairness", "Total")


def threshold_values(runs: Runs) -> Values:
    """Rows "10V: Drop", "8V2R: Vegas" ..."""
    return {
        (f"{mix}: {row}", column): cell
        for (row, (mix, column)), cell in tabulate(tables.of_mix, runs).items()
        if row in OF_THRESHOLDS
    }


# The equilibrium of RED's queue in the fluid model: thresholds of kn and (k + 1)n packets.

LOWER_THRESHOLDS = (10, 15, 20, 25, 30, 40, 50, 60)
"""Packets, for ten flows; the upper threshold is 10 packets above."""


def limit(lower: float, seed: int = 1) -> tc.Scenario:
    """5V5R with RED; Vegas has the loss recovery of its paper."""
    way = (lower, lower + 10)
    return ten(5 * "V" + 5 * "R", way, seed, recovery="vegas")


def limit_runs() -> dict[Any, tc.Scenario]:
    return {(lower, seed): limit(lower, seed) for lower in LOWER_THRESHOLDS for seed in FEW_SEEDS}


# The gain of RED depends on the simulator's loss recovery of Vegas.

RECOVERED = {"ns-2's Vegas": "vegas-ns2", "Vegas": "vegas"}
"""Loss recovery by row."""


def recovery_runs() -> dict[Any, tc.Scenario]:
    return {
        ((row, f"{queue} {mix}"), seed): s.mixed(table, mix, queue, seed, recovery=recovery)
        for row, recovery in RECOVERED.items()
        for table, mixes in SHARED.items()
        for mix in mixes
        for queue in s.QUEUES
        for seed in s.JITTER_SEEDS
    }


def recovery_values(runs: Runs) -> Values:
    """The thesis' fairness ratio, mean over seeds."""
    return means(lambda run: tables.of_mix(run)["Fairness"], runs)


# The number of connections, estimated from SRED's hit frequency.


def crowd(n: int, kinds: str, seed: int, duration: float = 60.0) -> tc.Scenario:
    """`n` flows of alternating kinds over the bottleneck of Figure 4.1.

    Rate and buffer are 0.2 Mb/s and 10 packets per flow. RED's thresholds follow the estimated
    number.
    """
    return s.dumbbell(
        [s.KINDS[kinds[k % len(kinds)]] for k in range(n)],
        0.2e6 * n,
        buffer=10 * n,
        queue=s.connection_red(estimator=1),
        duration=duration,
        seed=seed,
    )


CROWDS = {"Vegas": "V", "Reno": "R", "Vegas and Reno": "VR"}


def estimator_runs() -> dict[Any, tc.Scenario]:
    return {
        ((row, n), seed): crowd(n, kinds, seed)
        for row, kinds in CROWDS.items()
        for n in COUNTS
        for seed in FEW_SEEDS
    }


def estimate(run: tc.Run) -> float:
    """Mean of the estimate over the second half of the run, divided by the true number."""
    late = run.data["queue_flows"].isel(link=0).sel(time=slice(run.duration / 2, None))
    return float(late.mean()) / len(run.flows)


def estimator_values(runs: Runs) -> Values:
    return {(row, f"n = {n}"): cell for (row, n), cell in means(estimate, runs).items()}


def joining_estimated(seed: int, **params: Any) -> tc.Scenario:
    """The flows of Table 4.3 with RED thresholds from SRED's estimate."""
    return s.dumbbell(
        8 * ["vegas"] + 2 * ["reno"],
        2e6,
        buffer=100,
        queue=s.connection_red(estimator=1, **params),
        starts=s.JOINING,
        duration=101.0,
        seed=seed,
    )
