"""Numbers of the Quick Vegas paper, computed from runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.measured_numbers import Measured
from experiments.quick_vegas import scenarios as s

WINDOWS = ((0, 25), (25, 55), (55, 300), (300, 310), (310, 400), (400, 420), (420, 435), (435, 500))
"""Intervals of Table I, s."""

HUNDREDS = ((0, 100), (100, 200), (200, 300), (300, 400), (400, 500))
"""Intervals of Tables II and III, s."""


# Figures 2 and 3.


def basic_values(controller: str, runs: Runs) -> Values:
    """Transients quoted in the text, with their range over the phases."""
    return {
        (s.NAMES[controller], column): over({key: metric(run) for key, run in runs.items()})
        for column, metric in TRANSIENTS.items()
    }


def settings(runs: Runs) -> Values:
    """The transients with other settings; runs by (controller, setting)."""
    return {
        (f"{s.NAMES[controller]}: {name}", column): metric(run)
        for (controller, name), run in runs.items()
        for column, metric in TRANSIENTS.items()
        if column in SETTLED
    }


def slow_start_end(run: tc.Run) -> float:
    """Time at which the window first exceeds the slow-start threshold, s."""
    flow = run.data.isel(flow=0)
    above = (flow["ssthresh"] < flow["cwnd"]).values
    return float(run.data["time"].values[above.argmax()]) if above.any() else math.nan


def settling(event: str, run: tc.Run) -> float:
    """Time from an event ("start", "halved" or "doubled") until the window has settled, s."""
    flow, cross = run.scenario.flows
    assert cross.stop is not None
    begin, end = {
        "start": (flow.start, cross.start),
        "halved": (cross.start, cross.stop),
        "doubled": (cross.stop, run.duration),
    }[event]
    return run.convergence_time(run.flows[0], begin, before=end)


def queue_recovery(run: tc.Run) -> float:
    """Time from the start of the CBR traffic until the queue stays near its final length, s."""
    cross = run.scenario.flows[1]
    assert cross.stop is not None
    return tc.metrics.convergence_time(
        run.data["time"].values, run.queue().values, cross.start, cross.stop
    )


def throughput_at_85(run: tc.Run) -> float:
    """Mean from 80 to 85 s, Mb/s."""
    return mean_throughput(80, 85, run)


def mean_throughput(after: float, before: float, run: tc.Run) -> float:
    """Mean throughput of the flow, Mb/s."""
    return float(run.throughput(after, before)[0]) / 1e6


TRANSIENTS: dict[str, Callable[[tc.Run], float]] = {
    "slow start ends": slow_start_end,
    "new connection": partial(settling, "start"),
    "halved": partial(settling, "halved"),
    "doubled": partial(settling, "doubled"),
    "largest queue": tc.Run.queue_max,
    "throughput at 85 s": throughput_at_85,
    "queue normal": queue_recovery,
    "throughput 0-60 s": partial(mean_throughput, 0, 60),
    "throughput 160-190 s": partial(mean_throughput, 160, 190),
}


SETTLED = ("slow start ends", "new connection", "halved", "doubled", "largest queue")
"""Transients of the item "settings"."""


def over(values: Mapping[Any, float]) -> Measured:
    """The first of several numbers with the range of all; a single number has no range."""
    numbers = list(values.values())
    if len(numbers) == 1:
        return Measured(numbers[0])
    return Measured(numbers[0], min(numbers), max(numbers))


# Figures 4 to 6.


def bdp_column(bdp: float) -> str:
    return f"{bdp / 1e3:g} Kb"


def bdp_values(event: str, runs: Runs) -> Values:
    """Convergence times in base RTTs, means over phases, and their mean ratio."""
    curves = {controller: convergence(event, controller, runs) for controller in s.VEGAS_KIND}
    values: dict[tuple[str, str], float | Measured] = {}
    for controller, (mean, low, high) in curves.items():
        for bdp, *three in zip(s.BDPS, mean, low, high, strict=True):
            chance = controller == "quick_vegas" and event != "start"
            values[s.NAMES[controller], bdp_column(bdp)] = Measured(*three) if chance else three[0]
    large = np.array(s.BDPS) > 0.5e6
    ratio = curves["quick_vegas"][0][large] / curves["vegas"][0][large]
    values["Quick Vegas / Vegas", "above 500 Kb"] = float(ratio.mean())
    return values


def convergence(event: str, controller: str, runs: Runs) -> tuple[np.ndarray, ...]:
    """Mean, smallest and largest convergence time over the phases in which the window settles.

    Returns:
        Three arrays of shape [bdp], in base RTTs; NaN if the window settles in no phase.
    """
    times = np.array(
        [
            [
                settling(event, run) / float(run.data["base_rtt"][0])
                for (name, at, _), run in runs.items()
                if (name, at) == (controller, bdp)
            ]
            for bdp in s.BDPS
        ]
    )
    settled = np.ma.masked_invalid(times)
    return tuple(f(axis=1).filled(np.nan) for f in (settled.mean, settled.min, settled.max))


# Tables I to III and Figure 7.


def each_controller(metric: Callable[[tc.Run], Mapping[str, float]], runs: Runs) -> Values:
    """Results of `metric` by column, with a row per controller and the range over seeds."""
    values: dict[tuple[str, str], float | Measured] = {}
    for controller in dict.fromkeys(key[0] for key in runs):
        seeds = {key: metric(run) for key, run in runs.items() if key[0] == controller}
        for column in next(iter(seeds.values())):
            values[s.NAMES[controller], column] = over({k: v[column] for k, v in seeds.items()})
    return values


def utilizations(run: tc.Run) -> dict[str, float]:
    """Share of the bottleneck's capacity used for data without headers, by interval."""
    share = float(run.data["payload"][0] / run.data["packet_size"][0])
    used = {f"{a}-{b}": share * run.utilization(after=a, before=b) for a, b in WINDOWS}
    return used if str(run.data["controller"][0].item()) == "newreno" else used | full(run)


def full(run: tc.Run) -> dict[str, float]:
    """Time from which the bottleneck is at least 99 % busy until the second group starts, s."""
    busy = run.data["busy"].isel(link=0).sel(time=slice(None, 100)).values
    gaps = np.flatnonzero(busy < 0.99)
    return {"full from": float(run.data["time"].values[gaps[-1]]) if gaps.size else 0.0}


def mean_queues(run: tc.Run) -> dict[str, float]:
    return {f"{a}-{b}": run.queue_mean(a, b) for a, b in (*HUNDREDS, (0, 500))}


def fairness(run: tc.Run) -> dict[str, float]:
    return {f"{a}-{b}": run.jain_index(a, b) for a, b in HUNDREDS}


def largest_queue(run: tc.Run) -> dict[str, float]:
    return {"largest queue": run.queue_max()}
