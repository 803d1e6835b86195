"""Numbers of the thesis' tables, computed from runs.

Rows have the thesis' names. "Fairness" is its ratio of mean Vegas to mean Reno throughput. "Jain"
is Jain's index of all throughputs, which the thesis does not give.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.red_fairness import scenarios as s


def highest_sequence(run: tc.Run) -> Any:
    """Highest sequence number sent until the end of each bin, from 0, dims (time, flow)."""
    new = run.data["sent"] - run.data["retransmitted"]
    return (new.cumsum("time") - 1).clip(min=0)


def rates(run: tc.Run, after: float = 0.0, before: float | None = None) -> np.ndarray:
    """Throughput of each flow as defined in the thesis, from the highest sequence number, kb/s."""
    before = run.duration if before is None else before
    sent = highest_sequence(run)
    end = sent.sel(time=before, method="nearest").values
    begin = sent.sel(time=after, method="nearest").values if after > 0 else 0.0
    return (end - begin) * s.PACKET * 8 / 1e3 / (before - after)


def column(
    run: tc.Run, names: Iterable[str], after: float = 0.0, before: float | None = None
) -> dict[str, float]:
    """All rows of one column.

    Args:
        run: the run; its bottleneck is the first recorded link.
        names: row names of the flows.
        after, before: interval of the throughputs, s. Arrivals and drops are of the whole run.
    """
    kb = rates(run, after, before)
    vegas = run.data["controller"].values != "reno"
    bottleneck = run.data.isel(link=0)
    rows = {"Arrive": float(bottleneck["arrived"].sum()), "Drop": float(bottleneck["drops"].sum())}
    rows |= {name: float(rate) for name, rate in zip(names, kb, strict=True)}
    if vegas.any():
        rows["Vegas"] = float(kb[vegas].mean())
    if not vegas.all():
        rows["Reno"] = float(kb[~vegas].mean())
    if vegas.any() and not vegas.all():
        rows["Fairness"] = rows["Vegas"] / rows["Reno"]
    rows["Total"] = float(kb.sum())
    rows["Utilization"] = rows["Total"] * 1e3 / float(bottleneck["rate"])
    rows["Jain"] = tc.jain_index(kb)
    return rows


def of_mix(run: tc.Run) -> dict[str, float]:
    """A column of Tables 3.1, 4.1, 4.2."""
    return column(run, [f"S{k + 1}" for k in range(len(run.flows))])


def of_joining(run: tc.Run) -> dict[str, float]:
    """A column of Table 4.3, with throughputs from 70 to 100 s."""
    names = [f"Vegas{k + 1}" for k in range(8)] + ["Reno1", "Reno2"]
    return column(run, names, 70.0, 100.0)


def of_routers(run: tc.Run) -> dict[str, float]:
    """A column of Table 4.4, with throughputs from 100 to 200 s."""
    return column(run, ["S1", "S2", "S3", "S4"], 100.0, 200.0)
