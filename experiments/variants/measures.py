"""What the table shows of a controller, measured the same way in every model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import tcpcc as tc
from experiments.variants import networks as n


@dataclass(frozen=True)
class Measure:
    """A column of the table.

    Args:
        title: heading.
        unit: unit, or "".
        words: meaning, in one sentence.
        limit: of a time: the longest that can be seen, s. A run in which the time is longer, or not
            defined, counts with the limit (a restricted mean).
    """

    title: str
    unit: str
    words: str
    limit: float = math.nan


SHARED, ALONE = n.LEAVE - n.JOIN - n.SPREAD, n.END - n.LEAVE
MEASURES: Mapping[str, Measure] = {
    "fair": Measure(
        "time to fair",
        "s",
        "from the second flow's start until Jain's index of rates averaged over cycles stays"
        " above 0.95 (`Run.fair_time`)",
        SHARED,
    ),
    "jain": Measure(
        "Jain index", "", "of both flows' throughputs in the second half of the shared time"
    ),
    "utilization": Measure(
        "utilization", "", "of the link after the first 20 s: alone, shared, and alone again"
    ),
    "ratio": Measure(
        "ratio to Reno", "", "goodput of a flow over that of a Reno flow beside it, 40 to 240 s"
    ),
    "delta": Measure(
        "delta-fair",
        "s",
        "from the second flow's start until both shares first are within 10 % of fair"
        " (`Run.delta_fair_time`)",
        SHARED,
    ),
    "joins": Measure(
        "joining",
        "s",
        "from its start until the second flow's rate stays within 10 % of its final value"
        " (`Run.settling_time`)",
        SHARED,
    ),
    "leaves": Measure(
        "leaving",
        "s",
        "from the second flow's stop until the first flow's rate stays within 10 % of its final"
        " value",
        ALONE,
    ),
    "width": Measure(
        "averaging", "s", "width of the window over which rates are averaged (`Run.averaging_time`)"
    ),
}
MAIN = ("fair", "jain", "utilization", "ratio")
TIMES = tuple(name for name, m in MEASURES.items() if not math.isnan(m.limit))


def of_sharing(run: tc.Run) -> dict[str, float]:
    """Measures of a run of `networks.sharing`; NaN for a time that is not defined."""
    start = float(run.data["start"].sel(flow="second"))
    return {
        "fair": run.fair_time(start, before=n.LEAVE),
        "delta": run.delta_fair_time(start, before=n.LEAVE),
        "joins": run.settling_time("second", before=n.LEAVE),
        "leaves": run.settling_time("first", n.LEAVE, cycles=1),  # alone, it loses in no turns
        "width": run.averaging_time(start, n.LEAVE),
        "jain": run.jain_index(n.SETTLED, n.LEAVE),
        "utilization": run.utilization(after=n.WARM_UP),
    }


def of_beside_reno(run: tc.Run) -> dict[str, float]:
    """The measure of a run of `networks.beside_reno`."""
    rates = run.goodput(n.BESIDE_FROM, n.BESIDE_END)
    means = [
        float(rates.sel(flow=[f for f in run.flows if f.startswith(role)]).mean())
        for role in ("variant", "reno")
    ]
    return {"ratio": means[0] / means[1] if means[1] else math.inf}
