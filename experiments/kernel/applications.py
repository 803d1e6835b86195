"""Applications that do not always have data: the kernel's senders and ours, write by write."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import markdown_tables
from experiments.kernel import compare
from experiments.kernel.cases import APPLICATIONS, PAYLOAD, Case
from experiments.kernel.record import OF_APPLICATIONS, read
from tcpcc.results.recording import EVENTS

STARTS = 5  # of our runs
LEAST = 10  # packets; smaller writes are not in the table's means
WITHIN = {"took": 0.05, "cwnd": 0.1}
"""Relative differences from the kernel that are allowed for each write: of its completion time and
of the window when it begins."""


@cache
def recorded() -> dict[str, Any]:
    """The data: ``kernel``, its version, and ``runs``, lists of runs by case; see `record`."""
    return read(OF_APPLICATIONS)


def of_kernel(run: dict[str, Any]) -> pd.DataFrame:
    """Writes of a run from `record.measure`.

    Returns:
        A row for each write: ``at`` (s) it begins, ``took`` s until all its bytes are acknowledged,
        and after its beginning ``cwnd`` is the window (packets; NaN for the first write).
    """
    (columns,) = run["written"]
    at, done = (np.cumsum(columns[name]) / 1e5 for name in ("at", "done"))
    return _rows(at, done, np.array(columns["cwnd"], float))


def of_run(run: tc.Run, case: Case) -> pd.DataFrame:
    """Writes of a run from `compare.run`, as `of_kernel`."""
    events = run.events
    assert events is not None
    assert case.writes is not None
    at = np.array([at for at, _ in case.writes])
    ends = np.cumsum([size // PAYLOAD for _, size in case.writes])
    acks = events[events["event"] == EVENTS.index("ack")]
    samples = events[np.isfinite(events["cwnd"])]
    done = acks["time"][np.searchsorted(acks["seq"], ends)]
    return _rows(at, done, samples["cwnd"][np.searchsorted(samples["time"], at)])


def _rows(at: np.ndarray, done: np.ndarray, cwnd: np.ndarray) -> pd.DataFrame:
    cwnd = np.where(np.arange(len(at)) > 0, np.floor(cwnd), np.nan)
    return pd.DataFrame({"at": at, "took": done - at, "cwnd": cwnd})


@cache
def ours(name: str, **settings: Any) -> list[pd.DataFrame]:
    """`of_run` of a case for `STARTS` starts between two ticks of the host's clock, with other
    random times of the hosts; `settings` as in `cases.scenario`."""
    case, tick = APPLICATIONS[name], tc.Transport.linux().tick
    phases = tick * np.arange(STARTS) / STARTS
    return [
        of_run(compare.run(case, seed=k + 1, clock_phase=float(phase), **settings), case)
        for k, phase in enumerate(phases)
    ]


@cache
def writes(name: str, **settings: Any) -> pd.DataFrame:
    """The writes of a case; `settings` as in `cases.scenario`.

    Returns:
        A row for each write: its `packets`, and of ``took`` and ``cwnd`` (see `of_kernel`) the
        means and the range over runs, ``took_kernel``, ``took_linux`` (`tc.Flow.linux`),
        ``took_kernel_least``, ``took_kernel_most`` ...
    """
    sides = {
        "kernel": [of_kernel(run) for run in recorded()["runs"][name]],
        "linux": ours(name, **settings),
    }
    case_writes = APPLICATIONS[name].writes or ()
    columns: dict[str, Any] = {"packets": [size // PAYLOAD for _, size in case_writes]}
    for side, runs in sides.items():
        for number in WITHIN:
            values = np.array([run[number] for run in runs])
            columns[f"{number}_{side}"] = values.mean(axis=0)
            columns[f"{number}_{side}_least"] = values.min(axis=0)
            columns[f"{number}_{side}_most"] = values.max(axis=0)
    return pd.DataFrame(columns)


def differences(name: str, number: str, **settings: Any) -> pd.Series:
    """Relative difference of `tc.Flow.linux` from the kernel for each write: 0 in the range of the
    kernel's runs, for the window of the first write, and for the completion times of writes of less
    than `LEAST` packets, which one late packet decides."""
    rows = writes(name, **settings)
    linux, kernel = rows[f"{number}_linux"], rows[f"{number}_kernel"]
    within = linux.between(rows[f"{number}_kernel_least"], rows[f"{number}_kernel_most"])
    if number == "took":
        within |= rows["packets"] < LEAST
    return (linux / kernel - 1).where(~within, 0.0).fillna(0.0)


def misses(name: str, **settings: Any) -> dict[str, list[int]]:
    """The writes in which `tc.Flow.linux` differs from the kernel by more than `WITHIN`."""
    result = {}
    for number, most in WITHIN.items():
        off = np.flatnonzero(differences(name, number, **settings).abs() > most).tolist()
        if off:
            result[number] = off
    return result


def markdown() -> str:
    """The table of the guide: means over the writes of at least `LEAST` packets."""
    names = [f"{title}, {side}" for title in ("s", "packets") for side in ("Linux", "`Flow.linux`")]
    names += ["largest difference, s", "largest difference, packets"]
    lines = []
    for name in APPLICATIONS:
        rows = writes(name)
        rows = rows[rows["packets"] >= LEAST]
        words = [name, str(len(rows))]
        for number, digits in (("took", 3), ("cwnd", 1)):
            words += [f"{rows[f'{number}_{s}'].mean():.{digits}f}" for s in ("kernel", "linux")]
        for number, most in WITHIN.items():
            values = differences(name, number).to_numpy()
            largest = float(values[np.abs(values).argmax()])
            text = f"{100 * largest:.1f} %"
            words.append(f"**{text}**" if abs(largest) > most else text)
        lines.append(words)
    return markdown_tables.table(["case", "writes", *names], lines)
