"""What the battery measures in a run, and how a model's numbers are judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments.battery.scenarios import Case, group_of

LINKS = 4  # with more recorded links, utilization and queue are means over links that carry data
AVERAGE = 5.0  # s, over which a late flow's rate is averaged
FAIR = 0.8  # share of a fair rate at which a late flow has converged
NEAR = 0.1  # relative difference of a strict agreement

#: Differences that are small whatever the value, by the first word of a measure.
FLOORS = {
    "goodput": 0.0,  # Mb/s
    "utilization": 0.0,
    "queue": 1.0,  # packets
    "loss": 2e-4,
    "jain": 0.02,
    "rtt": 1e-3,  # s
    "fct": 1e-3,  # s
    "convergence": 1.0,  # s
}


def measure(case: Case, run: tc.Run) -> dict[str, float]:
    """The numbers of one run, by measure.

    Returns:
        for each group of endless flows `goodput` (mean, Mb/s), `rtt` (mean, s) and, of several
        flows, `jain`; for each group of transfers `fct` (mean, median, 95 % quantile, s); for each
        bottleneck `utilization` and `queue` (mean, packets); `loss`, dropped over sent packets of
        all flows; for a joiner `convergence`, time until it has `FAIR` of a fair share, s.
    """
    numbers: dict[str, float] = {}
    late = run.data.isel(time=run.data["time"].values > case.after)
    spec = {flow.name: flow for flow in run.scenario.flows if isinstance(flow, tc.Flow)}
    tcp = [name for name in run.flows if name in spec]
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(run.flows):
        if name in tcp:
            groups.setdefault(group_of(name), []).append(k)
    rates = run.goodput(after=case.after).values / 1e6
    rtts = late["rtt"].values
    times = run.fct()
    for group in sorted(groups):
        members = groups[group]
        if spec[run.flows[members[0]]].size is not None:
            fct = times["fct_s"][[group_of(name) == group for name in times["flow"]]].dropna()
            numbers[f"fct mean, {group}"] = float(fct.mean())
            for q in (0.5, 0.95):
                numbers[f"fct p{round(100 * q)}, {group}"] = float(fct.quantile(q))
            continue
        numbers[f"goodput {group}"] = float(rates[members].mean())
        group_rtts = rtts[:, members]
        numbers[f"rtt {group}"] = (
            float(np.nanmean(group_rtts)) if np.isfinite(group_rtts).any() else math.nan
        )
        if len(members) > 1:
            numbers[f"jain {group}"] = tc.jain_index(rates[members])
    used = [name for name in run.links if float(late["sent_bits"].sel(link=name).sum()) > 0]
    use = {name: run.utilization(name, after=case.after) for name in used}
    queue = {name: run.queue_mean(after=case.after, link=name) for name in used}
    for what, values in (("utilization", use), ("queue", queue)):
        if len(used) > LINKS:
            numbers[what] = float(np.mean(list(values.values())))
        else:
            numbers |= {f"{what} {name}": value for name, value in values.items()}
    of_tcp = late.sel(flow=tcp)
    numbers["loss"] = float(of_tcp["dropped"].sum()) / float(of_tcp["sent"].sum())
    if case.joiner:
        numbers[f"convergence {case.joiner}"] = _convergence(case, run, groups)
    return numbers


def _convergence(case: Case, run: tc.Run, groups: Mapping[str, list[int]]) -> float:
    """Time from the start of the measurement until the joiners have `FAIR` of a fair rate, s."""
    wide = max(round(AVERAGE / run.scenario.interval), 1)
    amounts = run.data["delivered"].values
    mean = pd.DataFrame(amounts).rolling(wide).mean().to_numpy()
    members = [k for group in groups.values() for k in group]
    share = mean[:, groups[case.joiner]].mean(axis=1) / mean[:, members].mean(axis=1)
    time = run.data["time"].values
    reached = (time >= case.after) & (share >= FAIR)
    return float(time[reached.argmax()] - case.after) if reached.any() else math.nan


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; seeds without a value are left out."""
    finite = np.array([v for v in values if math.isfinite(v)])
    if not len(finite):
        return math.nan, math.nan
    return float(finite.mean()), float(finite.std(ddof=1) / math.sqrt(len(finite))) if len(
        finite
    ) > 1 else 0.0


def strict(of: str, reference: float, value: float) -> bool:
    """Whether a value is within 10 % of the reference, or within the measure's floor."""
    if math.isnan(reference) or math.isnan(value):
        return math.isnan(reference) and math.isnan(value)
    floor = FLOORS[of.split()[0].rstrip(",")]
    return abs(value - reference) <= max(NEAR * abs(reference), floor)


def lenient(of: str, reference: float, reference_se: float, value: float, value_se: float) -> bool:
    """Whether it is strict, or the means of the seeds are within two standard errors."""
    near = strict(of, reference, value)
    return near or abs(value - reference) <= 2 * math.hypot(reference_se, value_se)
