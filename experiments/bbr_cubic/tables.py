"""Numbers from runs: throughput of both kinds, distance from the test-bed, Nash equilibrium."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import tcpcc as tc
from experiments.bbr_cubic import scenarios as s
from experiments.bbr_cubic.scenarios import Network, Point, Throughputs
from experiments.published_numbers import DATA
from experiments.testbeds import renew_tables
from tcpcc.files import whole_file
from tcpcc.sweeps.parallel import Simulations

PAGE = DATA.parents[1] / "docs" / "bbr_cubic.md"
STORED = {"packet": DATA / "bbr_cubic.csv", "fluid": DATA / "bbr_cubic_fluid.csv"}
"""Files of the accepted numbers by model."""

DEEP = 5.0
"""BDPs; distances and equilibria are compared for this buffer and larger ones."""

DISTANCE = 0.06
"""Largest accepted median distance, as a share of the link. Neighbouring n of the test-bed, with
one trial each, scatter around a smooth curve with a standard deviation of 0.02."""

EQUILIBRIUM = 6.0
"""Largest accepted distance of equilibria, flows of 50; the test-bed's own curves cross the line of
equal throughput up to five times within as many flows."""

TESTBED_HOURS = 156
"""Time that the test-bed needed for twelve networks: 13 hours each."""


def throughputs(run: tc.Run) -> tuple[float, float]:
    """Data received by the BBR flows and by the CUBIC flows in the 120 s of each kind, Mb/s."""
    group, start = run.data["group"].values, run.data["start"].values
    sums = []
    for kind in ("bbr", "cubic"):
        members = group == kind
        if not members.any():
            sums.append(0.0)
            continue
        first = round(float(start[members].min()) / s.INTERVAL) * s.INTERVAL
        rates = run.goodput(first, first + s.DURATION).values[members]
        sums.append(float(rates.sum()) / 1e6)
    return sums[0], sums[1]


def renew_page(page: Path = PAGE) -> Path:
    """Write `page_rows` into the table of a page."""
    head = "|---|--:|--:|---|--:|--:|--:|\n"
    renew_tables(page, {"shares": head}, {"shares": page_rows()})
    return page


def simulated(
    points: Iterable[Point],
    seed: int = s.SEED,
    *,
    model: str = "packet",
    jobs: int | None = None,
    progress: bool | None = None,
    **settings: object,
) -> tuple[dict[Point, tuple[float, float]], float]:
    """Throughputs by point, and the CPU time, s.

    Args:
        points: the experiments.
        seed: seed of all of them.
        model: "packet" or "fluid".
        jobs, progress: as in `tcpcc.sweep`.
        **settings: `ahead` and `window` of `scenarios.point`.
    """
    began = time.process_time()
    chosen = list(points)
    scenarios = [s.point(*point, seed, **settings) for point in chosen]  # type: ignore[arg-type]
    results: dict[Point, tuple[float, float]] = {}
    with Simulations(scenarios, model, jobs=jobs) as simulations:
        for index, run in simulations.finished(progress, f"BBR beside CUBIC, {model}"):
            if isinstance(run, Exception):
                raise run
            results[chosen[index]] = throughputs(run)
    return {point: results[point] for point in chosen}, time.process_time() - began


def sample(numbers: Sequence[int] = s.SAMPLE) -> list[Point]:
    """All networks and buffers with these numbers of BBR flows."""
    return [Point(net, b, n) for net in s.networks() for b in s.BUFFERS for n in numbers]


def shares(results: Throughputs, network: Network, buffer: float) -> dict[int, float]:
    """BBR's aggregate share of the link by n."""
    share_of = {
        point.n: bbr / network.rate
        for point, (bbr, _) in results.items()
        if point[:2] == (network, buffer)
    }
    return dict(sorted(share_of.items()))


def distances(results: Throughputs, network: Network, least: float = DEEP) -> np.ndarray:
    """|ours - the test-bed's| of BBR's share of the link, buffers of `least` BDPs and more."""
    testbed = s.testbed()
    return np.array(
        [
            abs(bbr - testbed[point][0]) / network.rate
            for point, (bbr, _) in results.items()
            if point.network == network and point.buffer >= least and point in testbed
        ]
    )


def equilibrium(results: Throughputs, network: Network, buffer: float) -> float:
    """Nash equilibrium: number of BBR flows with equal throughput per flow of both kinds.

    With fewer BBR flows BBR has more, with more it has less (Mishra, Tiu, Leong 2022): where BBR's
    share of the throughput crosses n / 50 from above for the last time, between points on a line.
    50 if BBR flows always have more, 0 if they always have less.
    """
    excess_of = {
        point.n: bbr / (bbr + cubic) - point.n / s.FLOWS
        for point, (bbr, cubic) in results.items()
        if point[:2] == (network, buffer) and 0 < point.n < s.FLOWS
    }
    n, over = np.array(sorted(excess_of)), np.array([excess_of[k] for k in sorted(excess_of)])
    falls = np.flatnonzero((over[:-1] >= 0) & (over[1:] < 0))
    if not falls.size:
        return float(s.FLOWS if over[-1] >= 0 else 0)
    k = falls[-1]
    return float(n[k] + (n[k + 1] - n[k]) * over[k] / (over[k] - over[k + 1]))


def ware(network: Network, buffer: float, n: int) -> float:
    """BBR's share of the link beside loss-based flows that keep the buffer full.

    R. Ware et al., "Modeling BBR's interactions with loss-based congestion control", IMC 2019. The
    loss-based flows have a part p of the link and of the queue. In PROBE_RTT the n BBR flows have 4
    packets each in flight, so the smallest RTT that they see is that of the others' queue,
    (p q + 4 n) / C + d, with a buffer of q packets, rate C and base RTT d. They then keep twice
    their part of the BDP with this RTT in flight: (1 - p) (q + C d) = 2 (1 - p) (p q + 4 n + C d).
    With X = q / (C d), p = 1/2 - 1 / (2 X) - 4 n / q, at least 0. The share of time outside of
    PROBE_RTT is left out here: it is 1 for many flows, whose probes leave the link busy.
    """
    packets = buffer * network.bdp
    return 1 - max(0.5 - 1 / (2 * buffer) - 4 * n / packets, 0.0)


# The accepted numbers.


def store(results: Throughputs, file: Path) -> None:
    """Write our throughputs, Mb/s."""
    with whole_file(file) as part, part.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            ["rate_mbps", "rtt_ms", "buffer_bdp", "bbr_flows", "bbr_mbps", "cubic_mbps"]
        )
        for (net, buffer, n), (bbr, cubic) in sorted(results.items()):
            writer.writerow(
                [f"{net.rate:g}", f"{net.rtt:g}", f"{buffer:g}", n, f"{bbr:.6g}", f"{cubic:.6g}"]
            )


def stored(model: str = "packet") -> dict[Point, tuple[float, float]]:
    """The accepted throughputs."""
    return dict(s.read(STORED[model]))


def moved(results: Throughputs, accepted: Throughputs) -> list[str]:
    """Points that are not as accepted, to the digits of the file."""
    return [
        f"{point.network}, {point.buffer:g} BDP, n = {point.n}:"
        f" BBR {accepted[point][0]:g} -> {bbr:g} Mb/s"
        for point, (bbr, cubic) in results.items()
        if point in accepted
        and not np.allclose(accepted[point], (bbr, cubic), rtol=1e-5, atol=1e-6)
    ]


def summary(results: Throughputs) -> list[dict[str, object]]:
    """A row per network: median distance, and the equilibria of ours and of the test-bed."""
    rows = []
    for net in dict.fromkeys(point.network for point in results):
        apart = equilibria(results, net)
        away = distances(results, net)
        rows.append(
            {
                "network": str(net), "points": away.size, "median distance": np.median(away),
                "largest": away.max(), "accepted": bool(np.median(away) <= DISTANCE),
                "equilibria": " ".join(f"{a:.0f}/{b:.0f}" for a, b in apart.values()),
                "within 6": sum(abs(a - b) <= EQUILIBRIUM for a, b in apart.values()),
            }
        )  # fmt: skip
    return rows


def equilibria(results: Throughputs, network: Network) -> dict[float, tuple[float, float]]:
    """Ours and the test-bed's by buffer, for buffers of `DEEP` BDPs and more."""
    return {
        b: (equilibrium(results, network, b), equilibrium(s.testbed(), network, b))
        for b in s.BUFFERS
        if b >= DEEP
    }


def page_rows() -> list[str]:
    """The rows of the table in docs/bbr_cubic.md."""
    packets, fluid = (summary(stored(model)) for model in STORED)
    return [
        f"| {row['network']} | {row['median distance']:.3f} | {row['largest']:.2f} | "
        f"{row['equilibria']} | {row['within 6']} of 6 | {other['median distance']:.3f} | "
        f"{other['within 6']} of 6 |"
        for row, other in zip(packets, fluid, strict=True)
    ]
