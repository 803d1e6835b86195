"""Numbers that criteria read from runs. Times are in s, rates in bit/s, delays in ms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tcpcc.apps.evaluate.bottleneck import PACKET
from tcpcc.apps.evaluate.criterion import LOSS_MARGIN, TESTED, Measure
from tcpcc.results import metrics

if TYPE_CHECKING:
    from xarray import DataArray

    from tcpcc.results import Run

BOTTLENECK = "bottleneck"


def named(run: Run, role: str) -> list[str]:
    """Names of the flows of a role: "tested", or "tested.1", "tested.2", ..."""
    return [name for name in run.flows if name == role or name.startswith(f"{role}.")]


def rate(run: Run, role: str, after: float) -> float:
    """Sum of the throughputs of the flows of a role, bit/s."""
    return float(run.throughput(after).sel(flow=named(run, role)).sum())


def _sum(series: DataArray, after: float, before: float = math.inf) -> float:
    """Sum over the bins that end in (after, before]."""
    time = series["time"]
    return float(series.where((time > after) & (time <= before)).sum())


def share_of_link(run: Run, role: str, after: float, capacity: float) -> float:
    """The flows' throughput over the link's rate."""
    return rate(run, role, after) / capacity


def goodput_share(run: Run, after: float) -> float:
    """Packets that reach receivers for the first time, as a share of the bottleneck's capacity."""
    bits = _sum(run.data["capacity"].sel(link=BOTTLENECK), after)
    return float(run.throughput(after).sum()) * (run.duration - after) / bits


def utilization(run: Run, after: float = 0.0, before: float | None = None) -> float:
    return run.utilization(BOTTLENECK, after, before)


def queueing_delay(
    run: Run, after: float = 0.0, before: float | None = None, quantile: float | None = None
) -> float:
    """Waiting time at the bottleneck, ms: mean over time, or a quantile of the bins' means."""
    queue = (
        run.queue_mean(after, before, BOTTLENECK)
        if quantile is None
        else run.queue_quantile(quantile, after, before, BOTTLENECK)
    )
    last = run.duration if before is None else before
    bits = _sum(run.data["capacity"].sel(link=BOTTLENECK), after, last)
    return 1e3 * queue * 8 * PACKET * (last - after) / bits


def waiting_time(run: Run, after: float = 0.0) -> float:
    """Mean time that packets wait at a bottleneck whose rate changes, ms, by Little's law."""
    sent_bits = _sum(run.data["sent_bits"].sel(link=BOTTLENECK), after)
    waiting = 8 * PACKET * run.queue_mean(after, link=BOTTLENECK) * (run.duration - after)
    return 1e3 * waiting / sent_bits if sent_bits else math.nan


def drop_rate(run: Run, after: float = 0.0, before: float | None = None) -> float:
    return run.drop_rate(BOTTLENECK, after, before)


def worst_drop_rate(run: Run, width: float) -> float:
    """Largest drop rate at the bottleneck over any `width` seconds."""
    steps = np.arange(0.0, run.duration - width + 1e-9, width / 2)
    rates = [run.drop_rate(BOTTLENECK, begin, begin + width) for begin in steps]
    return float(np.nanmax(rates))


def sent(run: Run, after: float) -> float:
    """Packets sent by the tested flows, retransmissions included."""
    return _sum(run.data["sent"].sel(flow=named(run, TESTED)), after)


def least_share(run: Run, after: float) -> float:
    """Smallest throughput of a flow over the fair share of the bottleneck."""
    rates = run.throughput(after).values
    fair = float(run.data["capacity"].sel(link=BOTTLENECK).mean())
    interval = float(run.data.attrs["interval"])
    return float(rates.min()) * len(rates) * interval / fair if fair else math.nan


def harm(alone: float, with_tested: float, *, less: bool = False) -> float:
    """Harm to a flow: the loss of performance, as a share, in 0 to 1.

    (x - y) / x where more is better, (y - x) / y where less is better, with x the flow's value
    alone and y its value beside the tested flows. Source: Ware, Mukerjee, Seshan, Sherry, Beyond
    Jain's Fairness Index, HotNets 2019, section 4.
    """
    better, worse = (with_tested, alone) if less else (alone, with_tested)
    return max((better - worse) / better, 0.0) if better > 0 else 0.0


def slowdown(run: Run, workload: str) -> float:
    """Mean slowdown of the short flows; an unfinished one counts with its time so far."""
    table = run.fct()
    short = table[table["flow"].str.startswith(workload)]
    times = short["fct_s"].fillna(run.duration - short["start_s"])
    return float((times / short["ideal_s"]).mean()) if len(short) else math.nan


def last_completion(run: Run) -> float:
    """Time at which the last transfer is complete, ms; the duration if one is not."""
    return 1e3 * float((run.fct()["start_s"] + run.fct()["fct_s"]).fillna(run.duration).max())


def jain(run: Run, after: float) -> float:
    return metrics.jain_index(run.throughput(after).sel(flow=named(run, TESTED)).values)


def time_to_share(run: Run, share: float = 0.8, width: float = 2.0) -> float:
    """Time until the flow that starts last has `share` of its fair share, s.

    Its throughput is averaged over `width` seconds. The time left if that does not happen.
    """
    last = run.flows[int(run.data["start"].values.argmax())]
    start = float(run.data["start"].max())
    fair = float(run.data["rate"].sel(link=BOTTLENECK)) / len(run.flows)
    rates = run.throughput_series(width).sel(flow=last)
    ends = rates["time"].values
    reached = ends[(rates.values >= share * fair) & (ends > start)]
    return float(reached[0]) - start if reached.size else run.duration - start


def ratio_of_two(run: Run, after: float) -> float:
    """Throughput of the first flow over that of the second; at most 1000."""
    first, second = run.throughput(after).values
    return min(float(first) / max(float(second), 1e-9), 1e3)


# Measures of several criteria.

UTILIZATION = Measure("utilization", "", "more", utilization)
USEFUL = Measure("useful share of the link", "", "more", goodput_share)
DROPS = Measure("drop rate", "", "less", drop_rate, LOSS_MARGIN)
DELAY = Measure("mean queueing delay", "ms", "less", queueing_delay)
SHARE = Measure("smallest share", "", "more", least_share)
SLOWDOWN = Measure("slowdown of short flows", "slowdown", "less", slowdown)
