"""What a crowd costs in packets and in the hybrid: one packet flow before more and more NewReno
flows under RED, each with its 2 Mb/s.

``python -m experiments.crowd`` measures it, for a minute, and draws
``figures/hybrid_speed.png``; `notebooks/models.ipynb` does the same for a shorter time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import pictures
from experiments.battery import JITTER, PACKET, RATE, dumbbell, red
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEHIND = (10, 100, 1000, 10_000, 100_000)
SPAN = 1.6  # s, the least that packets are run for
MOST = 1.6e7  # packets; of a run of more some are simulated and the rest is taken to cost the same
WANTED = {1000: 100, 100_000: 1000}  # speed-up, by the number of flows behind
FEW = 12  # representatives: the least that agree with packets under RED (docs/models.md)
HYBRIDS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    f"hybrid, {FEW} for each delay": {"representatives": FEW},
}
FIGURE = Path(__file__).parents[1] / "figures" / "hybrid_speed"


def crowd(behind: int, duration: float) -> tc.Scenario:
    """So many flows behind one, which leave no series (10 GB of 100,000); in a short run
    all start in its first quarter."""
    case = dumbbell(behind, ["newreno"], red, in_front=1)(1, max(duration, JITTER))
    start = min(JITTER, duration / 4)
    flows = [x.replace(jitter=start, record=(x.name or "").startswith("front")) for x in case.flows]
    return case.replace(flows=flows, duration=duration)


def _run(case: tc.Scenario, model: str, **options: Any) -> tuple[float, float]:
    """CPU seconds of a run, with what it takes to lay it out and to read it out, and the packets
    that the link has sent."""
    begin = time.process_time()
    run = tc.simulate(case, model, **options)
    seconds = time.process_time() - begin
    return seconds, float(run.data["sent_bits"].sum()) / PACKET


def packets_cost(behind: int, duration: float, most: float = MOST) -> tuple[float, float]:
    """CPU seconds of the packet model, the less of two runs as of the hybrid's, and the share of
    `duration` that was simulated.

    Of a run of more than `most` packets (but at least `SPAN`) a part is run, and the half of that;
    the packets by which they differ tell what the rest would cost.
    """
    span = max(duration * min(most / (RATE * (behind + 1) * duration / PACKET), 1), SPAN)
    if span >= duration:
        return min(_run(crowd(behind, duration), "packet")[0] for _ in range(2)), 1.0
    half, fewer = _run(crowd(behind, span / 2), "packet")
    part, more = _run(crowd(behind, span), "packet")
    rest = RATE * (behind + 1) * (duration - span) / PACKET
    return part + rest * (part - half) / (more - fewer), span / duration


def cost(
    behind: Iterable[int] = BEHIND,
    duration: float = 60.0,
    most: float = MOST,
    packets_up_to: int = 10_000,
) -> pd.DataFrame:
    """CPU seconds for each number of flows behind (rows) and model (columns), and `simulated`, the
    share of the packets' run that was not scaled. Beyond `packets_up_to` flows a packet is taken to
    cost what it costs there, which is too little: more memory is farther away."""
    for model in ("packet", "hybrid"):
        tc.simulate(crowd(10, 1.0), model)  # compiles
    rows: dict[int, dict[str, float]] = {}
    per_flow = np.nan
    for n in behind:
        row = rows[n] = {}
        if n <= packets_up_to:
            row["packet"], row["simulated"] = packets_cost(n, duration, most)
            per_flow = row["packet"] / (n + 1)
        else:
            row["packet"], row["simulated"] = per_flow * (n + 1), 0.0
        for name, options in HYBRIDS.items():
            row[name] = min(_run(crowd(n, duration), "hybrid", **options)[0] for _ in range(2))
    return pd.DataFrame.from_dict(rows, orient="index")


def draw(table: pd.DataFrame) -> Figure:
    """Cost and speed-up over the number of flows; hollow points are scaled from a part of the run.

    Costs are told as parts of what packets cost with 1000 flows: seconds say little elsewhere.
    """
    import matplotlib.pyplot as plt

    with plots.style():
        figure, (costs, gains) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        packets = table["packet"].to_numpy()
        one = packets[table.index == 1000]
        for k, name in enumerate(("packet", *HYBRIDS)):
            colour = plots.PALETTE[k]
            seconds = table[name].to_numpy()
            costs.loglog(table.index, seconds / one, "o-", color=colour, label=name)
            if name != "packet":
                gains.loglog(table.index, packets / seconds, "o-", color=colour, label=name)
        part = table["simulated"].to_numpy() < 1
        hollow = {"color": "white", "mec": plots.PALETTE[0]}
        costs.plot(table.index[part], packets[part] / one, "o", **hollow)
        gains.plot(list(WANTED), list(WANTED.values()), "k+", ms=10, label="wanted")
        gains.plot(table.index, table.index + 1, ":", color="grey", label="one flow of N + 1")
        costs.set_ylabel("CPU time (packets, 1000 flows = 1)")
        gains.set_ylabel("Speed-up over packets")
        for ax in (costs, gains):
            ax.set_xlabel("NewReno flows behind one packet flow, 2 Mb/s each")
            ax.legend()
    return figure


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    found = cost()
    print(found.round(3).to_string())
    pictures.save(draw(found), FIGURE, ("png", "pdf"))
