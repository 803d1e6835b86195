"""From runs to the numbers of the Vegas paper: means over its runs, with their spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.records import Measured
from experiments.seeds import means, over_seeds
from experiments.tcp_vegas import scenarios as s

Numbers = dict[tuple[str, str], float | Measured]


def throughput(run: tc.Run, k: int = 0) -> float:
    """Of flow `k`, KB/s: its data over the time until all of it is acknowledged; of one that is not
    through by the run's end, what has arrived over the time until then."""
    return float(rates(run)[k])


def retransmitted(run: tc.Run, k: int = 0) -> float:
    """KB, by flow `k`."""
    return float(run.retransmissions()[k]) * s.PAYLOAD


def timeouts(run: tc.Run, k: int = 0) -> float:
    return float(run.timeouts()[k])


OF_TRANSFER: dict[str, Callable[[tc.Run], float]] = {
    "throughput": throughput,
    "retransmissions": retransmitted,
    "coarse timeouts": timeouts,
}


def to(one: Measured, base: Measured) -> Measured:
    """A ratio of means, its range and deviation those of the first."""
    deviation = None if one.sd is None else one.sd / base.value
    return one.over(base.value)._replace(sd=deviation, seeds=one.seeds)


def transfers(runs: Runs) -> Numbers:
    """Rows of Table IV, by the kinds as columns; runs by (kind, run)."""
    values: Numbers = {}
    for row, metric in OF_TRANSFER.items():
        found = means(metric, runs)
        values |= {(row, column): cell for column, cell in found.items()}
        if row != "coarse timeouts":
            ratio = {"throughput": "throughput ratio", "retransmissions": "retransmit ratio"}[row]
            base = found[s.RENO]
            if base.value > 0:
                values |= {(ratio, column): to(cell, base) for column, cell in found.items()}
    return values


# Figures 5, 7 and 11, and what decides them.


def alone(runs: Runs) -> Values:
    """Rows "throughput" ..., by kind."""
    return {
        (row, name): cell
        for row, metric in OF_TRANSFER.items()
        for name, cell in means(metric, runs).items()
    }


def start_up(runs: Runs) -> Values:
    rows: dict[str, Callable[[tc.Run], float]] = {
        "segments lost": lambda run: float(run.data["drops"].sum()),
        "largest queue": tc.Run.queue_max,
        "throughput": throughput,
    }
    return {
        (row, name): cell
        for row, metric in rows.items()
        for name, cell in means(metric, runs).items()
    }


def settings(runs: Runs) -> Values:
    found = means(throughput, runs)
    lost = means(retransmitted, runs)
    return {
        (f"{kind}: {name}", column): cells[kind, name]
        for column, cells in {"throughput": found, "retransmissions": lost}.items()
        for kind, name in cells
    }


def predecessors(runs: Runs) -> Values:
    def queue(run: tc.Run) -> float:
        return run.queue_mean(before=5)

    found = {**OF_TRANSFER, "queue": queue}
    return {
        (row, name): cell
        for row, metric in found.items()
        for name, cell in means(metric, runs).items()
    }


# Table III.

RATIOS = {"throughput": "throughput ratio", "retransmissions": "retransmit ratio"}


def pairs(runs: Runs) -> Values:
    """Means over all draws of the 12 runs; the spread is of the means of 12 runs, as the paper's
    numbers are. Rows "throughput 300 KB" ..., columns "Reno/Vegas" ..."""
    values: Numbers = {}
    for row, ratio in RATIOS.items():
        for k, size in enumerate(("300 KB", "1 MB")):
            values |= _with_ratios(
                _of_pairs(runs, OF_PAIR[row], k), f"{row} {size}", f"{ratio} {size}"
            )
    return values


def pairs_by_buffer(runs: Runs) -> Values:
    """The 300 KB's throughput with each of the two buffers, as `pairs`."""
    values: Numbers = {}
    for buffer in s.PAIR_BUFFERS:
        mine = {key: run for key, run in runs.items() if key[2] == buffer}
        found = _of_pairs(mine, throughput, 0)
        values |= _with_ratios(found, f"throughput, {buffer} buffers", f"ratio, {buffer} buffers")
    return values


def pairs_beside_traffic(runs: Runs) -> Values:
    """Ratios only, as `pairs`."""
    return {key: cell for key, cell in pairs(runs).items() if "ratio" in key[0]}


OF_PAIR: dict[str, Callable[[tc.Run, int], float]] = {
    "throughput": throughput,
    "retransmissions": retransmitted,
}


def _of_pairs(runs: Runs, metric: Callable[[tc.Run, int], float], k: int) -> dict[str, Measured]:
    """A number of the `k`-th transfer by column."""
    of_draw: dict[Any, list[float]] = {}
    for (small, large, _, draw, _), run in runs.items():
        of_draw.setdefault((small, large, draw), []).append(metric(run, k))
    twelve = {key: float(np.mean(numbers)) for key, numbers in of_draw.items()}
    return {
        column(*pair): over_seeds({key[2]: x for key, x in twelve.items() if key[:2] == pair})
        for pair in s.PAIRS
    }


def _with_ratios(found: Mapping[str, Measured], row: str, ratio: str) -> Numbers:
    base = found[column(s.RENO, s.RENO)]
    values: Numbers = {(row, name): cell for name, cell in found.items()}
    return values | {(ratio, name): to(cell, base) for name, cell in found.items()}


def column(small: str, large: str) -> str:
    """ "Reno/Vegas" for a small Reno transfer in a large one of Vegas."""
    return "/".join(kind.split("-")[0] for kind in (small, large))


# Section V-B and C.


def vegas_background(runs: Runs) -> Values:
    """How much the transfers change when the background is Vegas, as a share of their mean with
    Reno; the spread is of the runs' differences. Runs by (background, kind, run)."""
    values: Numbers = {}
    for row in ("throughput", "retransmissions"):
        metric = OF_TRANSFER[row]
        for kind in s.TABLE:
            one, base = (
                {run: metric(runs[background, kind, run]) for run in s.RUNS}
                for background in (s.VEGAS, s.RENO)
            )
            mean = float(np.mean(list(base.values())))
            differences = {run: (one[run] - base[run]) / mean for run in s.RUNS}
            values[f"{row}, change", kind] = over_seeds(differences)
    return values


def loads(runs: Runs) -> Values:
    """Table IV's rows against the load: rows "throughput Reno" ..., columns "6" ..."""
    values: Numbers = {}
    for load in s.LOADS:
        found = transfers({(k, run): one for (k, n, run), one in runs.items() if n == load})
        for (row, kind), cell in found.items():
            if "ratio" not in row:
                values[f"{row} {kind.split('-')[0]}", f"{load}"] = cell
            elif kind == s.VEGAS:
                values[row, f"{load}"] = cell
    return values


def send_buffers(runs: Runs) -> Values:
    """Rows "throughput Reno" ..., columns "50 KB" ..."""
    return {
        (f"{row} {kind}", f"{size} KB"): cell
        for row in ("throughput", "retransmissions")
        for (kind, size), cell in means(OF_TRANSFER[row], runs).items()
    }


# Section VI.


def rates(run: tc.Run) -> np.ndarray:
    """`throughput` of all connections."""
    flows = {name: run.data[name].values for name in ("start", "finished", "payload")}
    ends = np.where(np.isnan(flows["finished"]), run.duration, flows["finished"])
    data = run.data["delivered"].values.sum(axis=0) * flows["payload"] / s.KB
    return np.asarray(data / (ends - flows["start"]))


def jain(run: tc.Run) -> float:
    return tc.jain_index(rates(run))


def jain_while_all_active(run: tc.Run) -> float:
    """Of what has arrived when the first connection is through."""
    first = run.data["time"].values <= float(run.data["finished"].min())
    arrived = run.data["delivered"].values[first].sum(axis=0)
    return tc.jain_index(np.asarray(arrived, float))


def fairness(runs: Runs, index: Callable[[tc.Run], float] = jain) -> Values:
    """Rows "Reno" and "Vegas", columns as the paper takes results together, "2 and 4, equal delays"
    ..., "16"; runs by (kind, number, delays, run)."""
    together: dict[Any, Any] = {}
    for k, ((kind, n, delays, _), one) in enumerate(runs.items(), 1):
        name = "16" if n == 16 else f"2 and 4, {delays}"
        together[kind.split("-")[0], name, k] = one
    return dict(means(index, together))


FAIR_MEASURES = {"while all are active": jain_while_all_active}
"""In place of `jain`."""


def fairness_settings(runs: Runs) -> Values:
    """As `fairness`, rows "Reno: 10 buffers" ..."""
    values: Numbers = {}
    for setting in s.FAIR_SETTINGS:
        mine = {key[1:]: run for key, run in runs.items() if key[0] == setting}
        found = fairness(mine, FAIR_MEASURES.get(setting, jain))
        values |= {(f"{kind}: {setting}", name): cell for (kind, name), cell in found.items()}
    return values


def fairness_traffic(runs: Runs) -> Values:
    """The index of the four connections."""

    def index(run: tc.Run) -> float:
        return tc.jain_index(np.array([throughput(run, k) for k in range(4)]))

    return {("index", kind.split("-")[0]): cell for kind, cell in means(index, runs).items()}


def mixed(runs: Runs) -> Values:
    """Index of all connections, of those of each kind; mean queue while all are active."""

    def of(kind: str) -> Callable[[tc.Run], float]:
        def index(run: tc.Run) -> float:
            mine = run.data["controller"].values == s.KINDS[kind].controller
            return tc.jain_index(rates(run)[mine]) if mine.any() else np.nan

        return index

    def queue(run: tc.Run) -> float:
        return run.queue_mean(2, float(np.nanmin(run.data["finished"].values)))

    metrics = {"all": jain, "Reno": of(s.RENO), "Vegas": of(s.VEGAS), "queue": queue}
    values = {
        (row, name): cell for row, metric in metrics.items() for name, cell in
        means(metric, runs).items()
    }  # fmt: skip
    return {key: cell for key, cell in values.items() if not np.isnan(cell.value)}


def stability(runs: Runs) -> Values:
    """Goodput until all are through, as a share of the bottleneck."""

    def share(run: tc.Run) -> float:
        done = run.data["finished"].values
        end = run.duration if np.isnan(done).any() else float(done.max())
        data = (run.data["delivered"] * run.data["payload"]).sum()
        return float(8 * data / end / run.data["rate"][0])

    found = means(share, runs)
    return {
        (kind.split("-")[0], f"{buffer} buffers, {rate} KB/s"): cell
        for (kind, buffer, rate), cell in found.items()
    }


def latency(run: tc.Run) -> float:
    """Mean time that an item of a TELNET conversation takes, ms."""
    items = run.fct()
    mine = items["flow"] == "tcplib/telnet"
    return 1e3 * float(items.loc[mine, "fct_s"].mean())


def queues(runs: Runs) -> Values:
    """Rows "mean queue" ..., columns Reno and Vegas; and how much less TELNET's latency is."""
    metrics: dict[str, Callable[[tc.Run], float]] = {
        "mean queue": lambda run: run.queue_mean(s.WARM_UP),
        "TELNET latency": latency,
        "utilization": lambda run: run.utilization(after=s.WARM_UP),
    }
    values: Numbers = {}
    for row, metric in metrics.items():
        for kind, cell in means(metric, runs).items():
            values[row, kind.split("-")[0]] = cell
    one, base = (values["TELNET latency", name] for name in ("Vegas", "Reno"))
    assert isinstance(one, Measured)
    assert isinstance(base, Measured)
    values["TELNET latency, reduction", "Vegas"] = 1 - one.value / base.value
    return values


def backbone(runs: Runs) -> Values:
    """The complex network: goodput, losses, the least of what the conversations got done."""
    metrics: dict[str, Callable[[tc.Run], float]] = {
        "goodput": lambda run: float(run.goodput().sum()) / 1e6,
        "loss": lambda run: float(run.data["drops"].sum() / run.data["arrived"].sum()),
        "conversations begun a second": lambda run: begun(run) / run.duration,
        "items finished": finished,
    }
    return {
        (row, kind.split("-")[0]): cell
        for row, metric in metrics.items()
        for kind, cell in means(metric, runs).items()
    }


def begun(run: tc.Run) -> int:
    items = run.fct()
    return len(items[["flow", "conversation"]].drop_duplicates())


def finished(run: tc.Run) -> float:
    """Share of the items begun two seconds before the end that are through."""
    items = run.fct()
    early = items["start_s"] < run.duration - 2
    return float(items.loc[early, "fct_s"].notna().mean())


# Tables I and II.


def internet(runs: Runs) -> Values:
    """Table I: ratios to Reno, and timeouts; runs by (kind, size, run)."""
    found = transfers({(kind, run): one for (kind, _, run), one in runs.items()})
    shown = ("throughput ratio", "retransmit ratio", "coarse timeouts")
    return {key: cell for key, cell in found.items() if key[0] in shown}


def by_size(runs: Runs) -> Values:
    """Table II: Vegas over Reno by size."""
    values: Numbers = {}
    for size in s.INTERNET_SIZES:
        of_size = {(k, run): one for (k, n, run), one in runs.items() if n == size}
        found = transfers(of_size)
        for row in ("throughput ratio", "retransmit ratio"):
            values[row, f"{size} KB"] = found[row, s.VEGAS]
        for kind in (s.RENO, s.VEGAS):
            name = f"coarse timeouts {kind.split('-')[0]}"
            values[name, f"{size} KB"] = found["coarse timeouts", kind]
    return values
