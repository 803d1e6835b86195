"""The kernel's recorded runs and ours in a common form, and the numbers that are compared."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import tcpcc as tc
from experiments import markdown_tables
from experiments.harness import CACHE
from experiments.kernel.cases import CASES, PAYLOAD, WIDE, Case, Writes, scenario
from experiments.kernel.record import DATA, read
from tcpcc.results.recording import EVENTS

SETTLED = 10.0  # s, start of the measurement
EPISODE = 0.4  # s; losses with smaller gaps belong to one episode
SEEDS = 10  # of random losses and phases
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

    def means(self, settled: float = SETTLED, until: float = math.inf) -> dict[str, float]:
        """Numbers after `settled` s, and before `until` s.

        Returns:
            Mean `window` (packets) and `rtt` (ms), `goodput` (Mb/s), `losses` (dropped packets) and
            `episodes` (loss episodes), both per 10 s.
        """
        late = (self.time > settled) & (self.time <= until)
        length = self.time[late][-1] - self.time[late][0]
        packets = self.delivered[late][-1] - self.delivered[late][0]
        drops = self.drops[(self.drops > settled) & (self.drops <= until)]
        episodes = np.sum(np.diff(drops, prepend=-np.inf) > EPISODE)
        return {
            "window": float(np.mean(self.cwnd[late])),
            "rtt": 1e3 * float(np.nanmean(self.rtt[late])),
            "goodput": float(packets * PAYLOAD * 8 / length / 1e6),
            "losses": 10 * len(drops) / length,
            "episodes": 10 * float(episodes) / length,
        }


@cache
def recorded() -> dict[str, Any]:
    """The data: ``kernel``, its version, and ``runs``, lists of runs by case; see `record`."""
    return read(DATA)


def kernel(name: str) -> list[list[Sender]]:
    """The kernel's senders in each recorded run of a case."""
    return [senders(run) for run in recorded()["runs"][name]]


def senders(run: dict[str, Any]) -> list[Sender]:
    """The senders of a run from `record.measure`."""
    result = []
    for flow in run["flows"]:
        columns = {name: np.array(values, float) for name, values in flow.items()}
        result.append(
            Sender(
                time=columns["time"].cumsum() / 1e3,
                cwnd=columns["cwnd"],
                rtt=columns["rtt"] / 1e4,
                delivered=columns["delivered"].cumsum(),
                drops=columns["drops"] / 1e3,
            )
        )
    return result


def run(case: Case, duration: float | None = None, **settings: Any) -> tc.Run:
    """A case in tcpcc, with a trace; arguments as in `cases.scenario`."""
    resolved = scenario(case, duration, **settings)
    if case.writes is None:
        return tc.simulate(resolved, trace=True)
    sim = tc.PacketSimulation(resolved, trace=True)

    def write(flow: Any, start: float, writes: Writes) -> Generator[Any, Any, Any]:
        for at, size in writes:
            yield sim.env.timeout(start + at - sim.now)
            flow.send(size // PAYLOAD)

    for flow in resolved.resolve().flows:
        sim.env.process(write(sim.flow(flow.name), flow.spec.start, case.writes[1:]))
    return sim.run()


def simulated(case: Case, duration: float | None = None, **settings: Any) -> list[Sender]:
    """Our senders in a case; arguments as in `cases.scenario`."""
    trace = run(case, duration, **settings)
    if case.writes is not None:
        return [source_of(trace)]
    return [sender_of(trace, k) for k in range(len(case.controls))]


def source_of(run: tc.Run) -> Sender:
    """The only connection of a run, whose series has no window while it has nothing to send."""
    events, time = run.events, run.data["time"].values
    assert events is not None
    drops = events["time"][events["event"] == EVENTS.index("drop")]
    events = events[np.isfinite(events["cwnd"])]
    last = np.searchsorted(events["time"], time) - 1
    acks = events[events["event"] == EVENTS.index("ack")]
    return Sender(
        time=time,
        cwnd=np.floor(events["cwnd"][last]),
        rtt=np.interp(time, acks["time"], acks["value"]),
        delivered=run.data["delivered"].isel(flow=0).values.cumsum(),
        drops=drops,
    )


def sender_of(run: tc.Run, k: int) -> Sender:
    """Flow number `k` of a run; without a trace its drops are not known."""
    flow = run.data.isel(flow=k)
    drops = np.empty(0)
    if (events := run.events) is not None:
        dropped = (events["event"] == EVENTS.index("drop")) & (events["flow"] == k)
        drops = events["time"][dropped]
    alive = np.isfinite(flow["cwnd"].values)
    return Sender(
        time=flow["time"].values[alive],
        cwnd=np.floor(flow["cwnd"].values[alive]),
        rtt=flow["rtt"].values[alive],
        delivered=flow["delivered"].values.cumsum()[alive],
        drops=drops,
    )


def chances(case: Case) -> list[tuple[float, int]]:
    """Start of the second flow (s) and seed of each of our runs: one run; with two flows one for
    each start in `SHIFTS`, with random losses and one BBR, whose phases are random, one for each of
    `SEEDS` seeds, or for four times as many as the kernel has runs."""
    shifts = SHIFTS if len(case.controls) > 1 else SHIFTS[:1]
    random = case.loss > 0 or case.controls == ("bbr",)
    seeds = range(1, max(SEEDS, 4 * case.runs) + 1) if random else [1]
    return [(float(shift), seed) for shift in shifts for seed in seeds]


@cache
def ours(name: str) -> list[list[Sender]]:
    """Our senders in a case of `CASES`, in each of its runs."""
    case = CASES[name]
    return [simulated(case, shift=shift, seed=seed) for shift, seed in chances(case)]


NUMBERS = {"goodput": "Mb/s", "window": "packets", "start": "Mb/s"}
"""Columns of `wide`: goodput and mean window after `SETTLED`, and goodput before."""


def numbers(sender: Sender) -> dict[str, float]:
    """`NUMBERS` of a sender."""
    late, early = sender.means(), sender.means(0.0, SETTLED)
    return {"goodput": late["goodput"], "window": late["window"], "start": early["goodput"]}


@cache
def numbers_of(name: str, side: str) -> list[list[dict[str, float]]]:
    """`numbers` of each flow in each run of a case of `WIDE`, by side: "kernel", "linux"
    (`tc.Flow.linux`) or "plain" (`tc.Flow`)."""
    case = WIDE[name]
    if side == "kernel":
        runs = kernel(name)
    else:
        settings: list[dict[str, Any]] = [
            {"shift": shift, "seed": seed, "plain": side == "plain"}
            for shift, seed in chances(case)
        ]
        if case.writes is not None:
            runs = [simulated(case, **each) for each in settings]
        else:
            flows = range(len(case.controls))
            scenarios = [scenario(case, **each) for each in settings]
            finished = tc.sweep(scenarios, cache=CACHE, progress=False)
            runs = [[sender_of(run, k) for k in flows] for run in finished]
    return [[numbers(sender) for sender in run] for run in runs]


@cache
def wide() -> pd.DataFrame:
    """`NUMBERS` of the cases in `WIDE`: means over runs, and the range of goodputs; a row for
    each case, flow and side."""
    rows = []
    for name, case in WIDE.items():
        for flow, control in enumerate(case.controls):
            for side in ("kernel", "linux", "plain"):
                per_run = pd.DataFrame([run[flow] for run in numbers_of(name, side)])
                key = {"case": name, "flow": flow, "control": control, "side": side}
                ends = {
                    "goodput_least": per_run["goodput"].min(),
                    "goodput_most": per_run["goodput"].max(),
                }
                rows.append({**key, "runs": len(per_run), **per_run.mean(), **ends})
    return pd.DataFrame(rows)


WITHIN = {"goodput": 0.02, "window": 0.05, "start": 0.05}
"""Relative differences of `tc.Flow.linux` from the kernel that are allowed for one connection."""


def misses(rows: pd.DataFrame) -> list[str]:
    """Numbers in which `tc.Flow.linux` differs from the kernel by more than is allowed.

    One connection: `WITHIN`. A goodput in the range of the kernel's runs is never a miss, and for
    two connections it is the only number that counts.

    Args:
        rows: the rows of `wide` of one case and flow.
    """
    kernel_row, linux_row = (rows[rows["side"] == side].iloc[0] for side in ("kernel", "linux"))
    alone = len(WIDE[kernel_row["case"]].controls) == 1
    off = [n for n, most in WITHIN.items() if not abs(linux_row[n] / kernel_row[n] - 1) <= most]
    if not kernel_row["goodput_least"] <= linux_row["goodput"] <= kernel_row["goodput_most"]:
        return off if alone else ["goodput"]
    return [n for n in off if n != "goodput"] if alone else []


def markdown() -> str:
    """The table of `wide` as the guide has it."""
    sides = ("kernel", "linux", "plain")
    names = [f"{title}, {side}" for title in ("Mb/s", "packets", "Mb/s to 10 s") for side in
             ("Linux", "`Flow.linux`", "`Flow`")]  # fmt: skip
    lines = []
    groups: Any = wide().groupby(["case", "flow"], sort=False)
    for (case, flow), rows in groups:
        control = rows["control"].iloc[0]
        alone = len(WIDE[case].controls) == 1
        wrong = misses(rows)
        words = [case if alone else f"{control} ({flow + 1}) in {case}"]
        for number in NUMBERS:
            for side in sides:
                row = rows[rows["side"] == side].iloc[0]
                digits = 1 if number == "window" else 2
                text = f"{row[number]:.{digits}f}"
                if number == "goodput" and row["runs"] > 1:
                    text += f" ({row['goodput_least']:.2f} to {row['goodput_most']:.2f})"
                words.append(f"**{text}**" if side == "linux" and number in wrong else text)
        lines.append(words)
    return markdown_tables.table(["case", *names], lines)


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
