"""The kernel's recorded runs and ours in one form, and what is compared of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments.kernel.cases import CASES, DURATION, HEADER, PACKET, Case, scenario
from experiments.kernel.record import DATA
from tcpcc.results.recording import EVENTS

SETTLED = 10.0  # s, from when on runs are compared
EPISODE = 0.4  # s: losses closer to each other belong together
SHIFTS = np.linspace(0, 0.45, 10)  # s, of the second flow's start, of ours


@dataclass
class Sender:
    """What one sender did.

    Attributes: `time`, s; `cwnd`, packets, `rtt`, s, smoothed, and `delivered`, packets so far, at
    these times; `drops`, s, when its packets were dropped.
    """

    time: np.ndarray
    cwnd: np.ndarray
    rtt: np.ndarray
    delivered: np.ndarray
    drops: np.ndarray

    def means(self, settled: float = SETTLED) -> dict[str, float]:
        """From `settled` on: mean window (packets) and round-trip time (ms), goodput (Mb/s),
        packets lost and loss episodes, per 10 s."""
        late = self.time > settled
        length = self.time[late][-1] - self.time[late][0]
        packets = self.delivered[late][-1] - self.delivered[late][0]
        drops = self.drops[self.drops > settled]
        episodes = np.sum(np.diff(drops, prepend=-np.inf) > EPISODE)
        return {
            "window": float(np.mean(self.cwnd[late])),
            "rtt": 1e3 * float(np.nanmean(self.rtt[late])),
            "goodput": float(packets * (PACKET - HEADER) * 8 / length / 1e6),
            "losses": 10 * len(drops) / length,
            "episodes": 10 * float(episodes) / length,
        }


@cache
def recorded() -> dict[str, Any]:
    """The data: ``kernel``, its version, and ``runs``, a list of runs by case; see `record`."""
    return json.loads(gzip.decompress(DATA.read_bytes()))


def kernel(name: str) -> list[list[Sender]]:
    """The kernel's senders in each recorded run of a case."""
    return [senders(run) for run in recorded()["runs"][name]]


def senders(run: dict[str, Any]) -> list[Sender]:
    """Those of a run as `record.measure` gives it."""
    found = []
    for flow in run["flows"]:
        told = {name: np.array(values, float) for name, values in flow.items()}
        found.append(
            Sender(
                time=told["time"].cumsum() / 1e3,
                cwnd=told["cwnd"],
                rtt=told["rtt"] / 1e4,
                delivered=told["delivered"].cumsum(),
                drops=told["drops"] / 1e3,
            )
        )
    return found


def simulated(
    case: Case, duration: float = DURATION, shift: float = 0.0, **changes: Any
) -> list[Sender]:
    """Ours in the same case; arguments as of `cases.scenario`."""
    run = tc.simulate(scenario(case, duration, shift, **changes), trace=True)
    events, found = run.events, []
    assert events is not None
    for k in range(len(case.controls)):
        flow = run.data.isel(flow=k)
        dropped = (events["event"] == EVENTS.index("drop")) & (events["flow"] == k)
        alive = np.isfinite(flow["cwnd"].values)
        found.append(
            Sender(
                time=flow["time"].values[alive],
                cwnd=np.floor(flow["cwnd"].values[alive]),
                rtt=flow["rtt"].values[alive],
                delivered=flow["delivered"].values.cumsum()[alive],
                drops=events["time"][dropped],
            )
        )
    return found


@cache
def ours(name: str) -> list[list[Sender]]:
    """Ours in a case, once; of two flows several times, with other starts. Simulated once."""
    case = CASES[name]
    shifts = SHIFTS if len(case.controls) > 1 else [0.0]
    return [simulated(case, shift=float(shift)) for shift in shifts]


def table(names: Iterable[str] = CASES, settled: float = SETTLED) -> pd.DataFrame:
    """`Sender.means` of each flow of each case, the kernel's and ours, and which run it is."""
    rows = [
        {
            "case": name,
            "flow": k,
            "control": control,
            "side": side,
            "run": i,
            **run[k].means(settled),
        }
        for name in names
        for side, runs in (("kernel", kernel(name)), ("ours", ours(name)))
        for i, run in enumerate(runs)
        for k, control in enumerate(CASES[name].controls)
    ]
    return pd.DataFrame(rows)
