"""The kernel's recorded runs and ours in a common form, and the numbers that are compared."""

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

SETTLED = 10.0  # s, start of the measurement
EPISODE = 0.4  # s; losses with smaller gaps belong to one episode
SHIFTS = np.linspace(0, 0.475, 20)  # s, delays of the second flow's start in our runs


@dataclass
class Sender:
    """Time series of one sender.

    Attributes:
        time: s.
        cwnd: congestion window at these times, packets.
        rtt: smoothed RTT at these times, s.
        delivered: packets delivered up to these times.
        drops: times at which its packets were dropped, s.
    """

    time: np.ndarray
    cwnd: np.ndarray
    rtt: np.ndarray
    delivered: np.ndarray
    drops: np.ndarray

    def means(self, settled: float = SETTLED) -> dict[str, float]:
        """Numbers after `settled` s.

        Returns:
            Mean `window` (packets) and `rtt` (ms), `goodput` (Mb/s), `losses` (dropped packets) and
            `episodes` (loss episodes), both per 10 s.
        """
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
    """The data: ``kernel``, its version, and ``runs``, lists of runs by case; see `record`."""
    return json.loads(gzip.decompress(DATA.read_bytes()))


def kernel(name: str) -> list[list[Sender]]:
    """The kernel's senders in each recorded run of a case."""
    return [senders(run) for run in recorded()["runs"][name]]


def senders(run: dict[str, Any]) -> list[Sender]:
    """The senders of a run from `record.measure`."""
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
    """Our senders in a case; arguments as in `cases.scenario`."""
    run = tc.simulate(scenario(case, duration, shift, **changes), trace=True)
    return [sender_of(run, k) for k in range(len(case.controls))]


def sender_of(run: tc.Run, k: int) -> Sender:
    """Flow number `k` of a run with a trace."""
    events = run.events
    assert events is not None
    flow = run.data.isel(flow=k)
    dropped = (events["event"] == EVENTS.index("drop")) & (events["flow"] == k)
    alive = np.isfinite(flow["cwnd"].values)
    return Sender(
        time=flow["time"].values[alive],
        cwnd=np.floor(flow["cwnd"].values[alive]),
        rtt=flow["rtt"].values[alive],
        delivered=flow["delivered"].values.cumsum()[alive],
        drops=events["time"][dropped],
    )


@cache
def ours(name: str) -> list[list[Sender]]:
    """Our senders in a case: one run, or one run per start time in `SHIFTS` with two flows."""
    case = CASES[name]
    shifts = SHIFTS if len(case.controls) > 1 else [0.0]
    return [simulated(case, shift=float(shift)) for shift in shifts]


def table(names: Iterable[str] = CASES, settled: float = SETTLED) -> pd.DataFrame:
    """`Sender.means` of each case, flow, side ("kernel" or "ours") and run."""
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
