"""Numbers of the Vegas paper, computed from runs: means over runs with their range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.measured_numbers import Measured
from experiments.seeds import means, over_seeds
from experiments.tcp_vegas import scenarios as s

Numbers = dict[tuple[str, str], float | Measured]


def throughput(run: tc.Run, k: int = 0) -> float:
    """Throughput of flow `k`, KB/s: its data divided by the time until all of it is acknowledged.

    For an unfinished flow: the data delivered divided by the time until the end of the run.
    """
    return float(rates(run)[k])


def retransmitted(run: tc.Run, k: int = 0) -> float:
    """Data retransmitted by flow `k`, KB."""
    return float(run.retransmissions()[k]) * s.PAYLOAD


def timeouts(run: tc.Run, k: int = 0) -> float:
    return float(run.timeouts()[k])


OF_TRANSFER: dict[str, Callable[[tc.Run], float]] = {
    "throughput": throughput,
    "retransmissions": retransmitted,
    "coarse timeouts": timeouts,
}


def to(number: Measured, base: Measured) -> Measured:
    """Ratio of means; the range is that of the first, divided by `base`."""
    _, low, high, *_ = number.over(base.value)
    return number.to(base)._replace(low=low, high=high)


def transfers(runs: Runs) -> Numbers:
    """Rows of Table IV, with kinds as columns; runs by (kind, run)."""
    values: Numbers = {}
    for row, metric in OF_TRANSFER.items():
        cells = means(metric, runs)
        values |= {(row, column): cell for column, cell in cells.items()}
        if row != "coarse timeouts":
            ratio = {"throughput": "throughput ratio", "retransmissions": "retransmit ratio"}[row]
            base = cells[s.RENO]
            if base.value > 0:
                values |= {(ratio, column): to(cell, base) for column, cell in cells.items()}
    return values


# Figures 5, 7 and 11, and settings that affect them.


def alone(runs: Runs) -> Values:
    """Rows "throughput" ..., with kinds as columns."""
    return {
        (row, name): cell
        for row, metric in OF_TRANSFER.items()
        for name, cell in means(metric, runs).items()
    }


def start_up(runs: Runs) -> Values:
    rows: dict[str, Callable[[tc.Run], float]] = {
        "segments lost": lambda run: float(run.data["drops"].sum()),
        "largest queue": lambda run: run.queue_max(link="bottleneck"),
        "throughput": throughput,
    }
    return {
        (row, name): cell
        for row, metric in rows.items()
        for name, cell in means(metric, runs).items()
    }


def settings(runs: Runs) -> Values:
    rates = means(throughput, runs)
    lost = means(retransmitted, runs)
    return {
        (f"{kind}: {name}", column): cells[kind, name]
        for column, cells in {"throughput": rates, "retransmissions": lost}.items()
        for kind, name in cells
    }


def predecessors(runs: Runs) -> Values:
    def queue(run: tc.Run) -> float:
        return run.queue_mean(before=5, link="bottleneck")

    metrics = {**OF_TRANSFER, "queue": queue}
    return {
        (row, name): cell
        for row, metric in metrics.items()
        for name, cell in means(metric, runs).items()
    }


# Table III.

RATIOS = {"throughput": "throughput ratio", "retransmissions": "retransmit ratio"}


def pairs(runs: Runs) -> Values:
    """Means over all draws of the 12 runs; rows "throughput 300 KB" ..., columns "Reno/Vegas" ...

    Ranges are those of means over 12 runs, because the paper's numbers are such means.
    """
    values: Numbers = {}
    for row, ratio in RATIOS.items():
        for k, size in enumerate(("300 KB", "1 MB")):
            values |= _with_ratios(
                _of_pairs(runs, OF_PAIR[row], k), f"{row} {size}", f"{ratio} {size}"
            )
    return values


def pairs_by_buffer(runs: Runs) -> Values:
    """As `pairs`, throughput of the 300 KB transfer for each of the two buffers."""
    values: Numbers = {}
    for buffer in s.PAIR_BUFFERS:
        of_buffer = {key: run for key, run in runs.items() if key[2] == buffer}
        pairs = _of_pairs(of_buffer, throughput, 0)
        values |= _with_ratios(pairs, f"throughput, {buffer} buffers", f"ratio, {buffer} buffers")
    return values


def pairs_beside_traffic(runs: Runs) -> Values:
    """The ratios of `pairs`."""
    return {key: cell for key, cell in pairs(runs).items() if "ratio" in key[0]}


OF_PAIR: dict[str, Callable[[tc.Run, int], float]] = {
    "throughput": throughput,
    "retransmissions": retransmitted,
}


def _of_pairs(runs: Runs, metric: Callable[[tc.Run, int], float], k: int) -> dict[str, Measured]:
    """A metric of the `k`-th transfer, by column."""
    of_draw: dict[Any, list[float]] = {}
    for (small, large, _, draw, _), run in runs.items():
        of_draw.setdefault((small, large, draw), []).append(metric(run, k))
    twelve = {key: float(np.mean(numbers)) for key, numbers in of_draw.items()}
    return {
        column(*pair): over_seeds({key[2]: x for key, x in twelve.items() if key[:2] == pair})
        for pair in s.PAIRS
    }


def _with_ratios(cells: Mapping[str, Measured], row: str, ratio: str) -> Numbers:
    base = cells[column(s.RENO, s.RENO)]
    values: Numbers = {(row, name): cell for name, cell in cells.items()}
    return values | {(ratio, name): to(cell, base) for name, cell in cells.items()}


def column(small: str, large: str) -> str:
    """ "Reno/Vegas" for a small Reno transfer during a large Vegas transfer."""
    return "/".join(kind.split("-")[0] for kind in (small, large))


# Sections V-B and V-C.


def vegas_background(runs: Runs) -> Values:
    """Change of the transfers with a Vegas background, relative to their mean with Reno.

    Ranges are those of the differences of single runs. Runs are by (background, kind, run).
    """
    values: Numbers = {}
    for row in ("throughput", "retransmissions"):
        metric = OF_TRANSFER[row]
        for kind in s.TABLE:
            beside_vegas, base = (
                {run: metric(runs[background, kind, run]) for run in s.RUNS}
                for background in (s.VEGAS, s.RENO)
            )
            mean = float(np.mean(list(base.values())))
            differences = {run: (beside_vegas[run] - base[run]) / mean for run in s.RUNS}
            values[f"{row}, change", kind] = over_seeds(differences)
    return values


def loads(runs: Runs) -> Values:
    """Table IV for each load or clock, the second part of a key: rows "throughput Reno" ..."""
    values: Numbers = {}
    for load in dict.fromkeys(key[1] for key in runs):
        cells = transfers({(k, run): r for (k, n, run), r in runs.items() if n == load})
        for (row, kind), cell in cells.items():
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
    """Jain's index of the data delivered until the first connection finishes, or the run ends."""
    first = ~(run.data["time"].values > float(run.data["finished"].min()))  # NaN: none finishes
    arrived = run.data["delivered"].values[first].sum(axis=0)
    return tc.jain_index(np.asarray(arrived, float))


def fairness(runs: Runs, index: Callable[[tc.Run], float] = jain) -> Values:
    """Jain's index: rows "Reno" and "Vegas", columns "2 and 4, equal delays" ..., "16".

    Columns combine results as the paper does. Runs are by (kind, number, delays, run).
    """
    together: dict[Any, Any] = {}
    for k, ((kind, n, delays, _), r) in enumerate(runs.items(), 1):
        name = "16" if n == 16 else f"2 and 4, {delays}"
        together[kind.split("-")[0], name, k] = r
    return dict(means(index, together))


FAIR_MEASURES = {"while all are active": jain_while_all_active}
"""Measures used instead of `jain`, by setting."""


def fairness_settings(runs: Runs) -> Values:
    """As `fairness`, rows "Reno: 10 buffers" ..."""
    values: Numbers = {}
    for setting in s.FAIR_SETTINGS:
        of_setting = {key[1:]: run for key, run in runs.items() if key[0] == setting}
        cells = fairness(of_setting, FAIR_MEASURES.get(setting, jain))
        values |= {(f"{kind}: {setting}", name): cell for (kind, name), cell in cells.items()}
    return values


def fairness_traffic(runs: Runs) -> Values:
    """Jain's index of the four connections."""

    def index(run: tc.Run) -> float:
        return tc.jain_index(np.array([throughput(run, k) for k in range(4)]))

    return {("index", kind.split("-")[0]): cell for kind, cell in means(index, runs).items()}


def mixed(runs: Runs) -> Values:
    """Jain's index of all connections and of each kind; mean queue while all are active."""

    def of(kind: str) -> Callable[[tc.Run], float]:
        def index(run: tc.Run) -> float:
            members = run.data["controller"].values == s.KINDS[kind].controller
            return tc.jain_index(rates(run)[members]) if members.any() else np.nan

        return index

    def queue(run: tc.Run) -> float:
        return run.queue_mean(2, float(np.nanmin(run.data["finished"].values)), "bottleneck")

    metrics = {"all": jain, "Reno": of(s.RENO), "Vegas": of(s.VEGAS), "queue": queue}
    values = {
        (row, name): cell
        for row, metric in metrics.items()
        for name, cell in means(metric, runs).items()
    }
    return {key: cell for key, cell in values.items() if not np.isnan(cell.value)}


def stability(runs: Runs) -> Values:
    """Goodput until all connections finish, as a share of the bottleneck's rate."""

    def share(run: tc.Run) -> float:
        done = run.data["finished"].values
        end = run.duration if np.isnan(done).any() else float(done.max())
        data = (run.data["delivered"] * run.data["payload"]).sum()
        return float(8 * data / end / run.data["rate"][0])

    cells = means(share, runs)
    return {
        (kind.split("-")[0], f"{buffer} buffers, {rate} KB/s"): cell
        for (kind, buffer, rate), cell in cells.items()
    }


def latency(run: tc.Run) -> float:
    """Mean completion time of an item of a TELNET conversation, ms."""
    items = run.fct()
    telnet = items["flow"] == "tcplib/telnet"
    return 1e3 * float(items.loc[telnet, "fct_s"].mean())


def queues(runs: Runs) -> Values:
    """Rows "mean queue" ..., columns Reno and Vegas; and the reduction of TELNET latency."""
    metrics: dict[str, Callable[[tc.Run], float]] = {
        "mean queue": lambda run: run.queue_mean(s.WARM_UP, link="bottleneck"),
        "TELNET latency": latency,
        "utilization": lambda run: run.utilization("bottleneck", after=s.WARM_UP),
    }
    values: Numbers = {}
    for row, metric in metrics.items():
        for kind, cell in means(metric, runs).items():
            values[row, kind.split("-")[0]] = cell
    vegas, reno = (values["TELNET latency", name] for name in ("Vegas", "Reno"))
    assert isinstance(vegas, Measured)
    assert isinstance(reno, Measured)
    values["TELNET latency, reduction", "Vegas"] = 1 - vegas.value / reno.value
    return values


def backbone(runs: Runs) -> Values:
    """The complex network: goodput, loss rate, conversations started, share of items finished."""
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
    """Share of finished items among those started at least 2 s before the end of the run."""
    items = run.fct()
    early = items["start_s"] < run.duration - 2
    return float(items.loc[early, "fct_s"].notna().mean())


# Tables I and II.


def internet(runs: Runs) -> Values:
    """Table I: ratios to Reno, and timeouts; runs by (kind, size, run)."""
    cells = transfers({(kind, run): r for (kind, _, run), r in runs.items()})
    rows = ("throughput ratio", "retransmit ratio", "coarse timeouts")
    return {key: cell for key, cell in cells.items() if key[0] in rows}


def by_size(runs: Runs) -> Values:
    """Table II: ratios of Vegas to Reno and timeouts, by size."""
    values: Numbers = {}
    for size in s.INTERNET_SIZES:
        of_size = {(k, run): r for (k, n, run), r in runs.items() if n == size}
        cells = transfers(of_size)
        for row in ("throughput ratio", "retransmit ratio"):
            values[row, f"{size} KB"] = cells[row, s.VEGAS]
        for kind in (s.RENO, s.VEGAS):
            name = f"coarse timeouts {kind.split('-')[0]}"
            values[name, f"{size} KB"] = cells["coarse timeouts", kind]
    return values
