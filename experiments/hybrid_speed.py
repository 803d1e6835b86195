"""CPU time of the packet model and the hybrid with many background flows.

One foreground packet flow shares a RED link with more and more background NewReno flows, 2 Mb/s
each. ``python -m experiments.hybrid_speed`` measures runs of one minute and draws
``figures/hybrid_speed.png``; `notebooks/models.ipynb` does the same with shorter runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import charts, figure_files
from experiments.background import JITTER, PACKET, RATE, dumbbell, red
from tcpcc import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BACKGROUND_FLOWS = (10, 100, 1000, 10_000, 100_000)
SPAN = 1.6  # s, shortest run of the packet model
MOST = 1.6e7  # packets; the cost of a longer run is extrapolated
REPRESENTATIVES = 12  # fewest representatives that agree with packets under RED (docs/models.md)
HYBRIDS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    f"hybrid, {REPRESENTATIVES} senders per delay": {"senders": REPRESENTATIVES},
}
FIGURE = Path(__file__).parents[1] / "figures" / "hybrid_speed"


def crowd(background: int, duration: float) -> tc.Scenario:
    """One foreground flow and `background` background flows.

    Background flows record no time series (100,000 would need 10 GB). In a short run all flows
    start in its first quarter.
    """
    case = dumbbell(background, ["newreno"], red, n_foreground=1)(1, max(duration, JITTER))
    start = min(JITTER, duration / 4)
    flows = [x.replace(jitter=start, record=(x.name or "").startswith("front")) for x in case.flows]
    return case.replace(flows=flows, duration=duration)


def _run(case: tc.Scenario, model: str, **options: Any) -> tuple[float, float]:
    """CPU seconds of a run, including setup and readout, and the number of packets sent."""
    begin = time.process_time()
    run = tc.simulate(case, model, **options)
    seconds = time.process_time() - begin
    return seconds, float(run.data["sent_bits"].sum()) / PACKET


def packets_cost(background: int, duration: float, most: float = MOST) -> tuple[float, float]:
    """CPU seconds of the packet model, and the share of `duration` that was simulated.

    The result is the smaller of two runs, as for the hybrid. If the run has more than `most`
    packets, only a part of it (at least `SPAN` seconds) and half of that part are simulated. The
    remaining cost is extrapolated from the cost per packet of the difference.
    """
    span = max(duration * min(most / (RATE * (background + 1) * duration / PACKET), 1), SPAN)
    if span >= duration:
        return min(_run(crowd(background, duration), "packet")[0] for _ in range(2)), 1.0
    half, fewer = _run(crowd(background, span / 2), "packet")
    part, more = _run(crowd(background, span), "packet")
    rest = RATE * (background + 1) * (duration - span) / PACKET
    return part + rest * (part - half) / (more - fewer), span / duration


def cost(
    background: Iterable[int] = BACKGROUND_FLOWS,
    duration: float = 60.0,
    most: float = MOST,
    packets_up_to: int = 10_000,
) -> pd.DataFrame:
    """CPU seconds by number of background flows (rows) and model (columns).

    The column `simulated` is the share of the packet model's run that was not extrapolated. Above
    `packets_up_to` flows, the cost per flow at the last simulated number is used. This
    underestimates the cost, because cache misses become more frequent.
    """
    for model in ("packet", "hybrid"):
        tc.simulate(crowd(10, 1.0), model)  # compile outside the measurement
    rows: dict[int, dict[str, float]] = {}
    per_flow = np.nan
    for n in background:
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
    """Plot cost and speed-up against the number of flows; hollow points are extrapolated.

    Costs are relative to the packet model with 1000 flows, because seconds depend on the machine.
    """
    names = {"packet": "packets"} | {name: name for name in HYBRIDS}
    with charts.panels(1, 2, height=plots.WIDTH * 0.42) as (figure, (costs, gains)):
        packets = table["packet"].to_numpy()
        at_thousand = packets[table.index == 1000]
        for (name, label), shape, colour in zip(names.items(), "os^", plots.PALETTE, strict=False):
            seconds = table[name].to_numpy()
            look = {"color": colour, "ms": 4.5, "label": label}
            costs.loglog(table.index, seconds / at_thousand, f"{shape}-", **look)
            if name != "packet":
                gains.loglog(table.index, packets / seconds, f"{shape}-", **look)
        part = table["simulated"].to_numpy() < 1
        hollow = {"color": "white", "mec": plots.PALETTE[0], "ms": 4.5}
        costs.plot(
            table.index[part], packets[part] / at_thousand, "o", **hollow, label="extrapolated"
        )
        gains.plot(table.index, table.index + 1, ":", color=plots.GREY, label="limit, N + 1")
        costs.set_ylabel("CPU time (packets, N = 1000: 1)")
        gains.set_ylabel("Speed-up over packets")
        for k, (ax, text) in enumerate(((costs, "Cost"), (gains, "Speed-up"))):
            ax.set_xlabel("Background flows N (NewReno, 2 Mb/s each)")
            charts.title(ax, k, text)
        charts.legend_above(figure, [costs, gains], 5, order=list(names.values()))
    return figure


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    table = cost()
    print(table.round(3).to_string())
    figure_files.save(draw(table), FIGURE, ("png", "pdf"))
