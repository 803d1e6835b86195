"""Cells of ten flows with the senders of the running kernel, beside ours:
``python -m experiments.ifip25.in_kernel bbr cubic 6``, or other algorithms and buffers.

The kernel needs root and five minutes a seed (`experiments.kernel.record`). Flows start
`experiments.kernel.cases.STAGGER` apart, the first algorithm first; the kernel's hosts need the
time that they need.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

import tcpcc as tc
from experiments.ifip25 import scenarios as s
from experiments.kernel import hosts, record
from experiments.kernel.cases import PACKET, Case, scenario
from experiments.kernel.path import missing
from tcpcc.results.metrics import jain_index

SEEDS = (1, 2, 3)


def case(cell: s.Ten, seed: int) -> Case:
    """The cell as a case of `experiments.kernel`, with the base RTTs that this seed has there."""
    spec = cell.scenario(seed)
    rtts = np.array([2 * (flow.access_delay or 0.0) for flow in spec.flows])
    return Case(
        controls=(cell.first,) * s.EACH + (cell.second,) * s.EACH,
        buffer=s.room(cell.buffer * s.BUFFER_UNIT),
        extra=tuple(rtts - s.SENDER_DELAY[0]),
        rate=s.TEN.rate * 1e6 * PACKET / s.PACKET,  # the same packets per second
        delay=(s.ACK_DELAY + s.SENDER_DELAY[0]) / 2,
        duration=s.MEASURED[1],
    )


def of_kernel(kernel_case: Case, seed: int) -> dict[str, float]:
    """The kernel's numbers in the measured time; ``late`` is the path's mean lateness, ms."""
    run = record.record(kernel_case, seed=seed)
    edges = 1e3 * np.array(s.MEASURED)
    delivered, drops, waits = [], 0, []
    for flow, base in zip(run["flows"], _base_rtts(kernel_case), strict=True):
        times = np.cumsum(flow["time"])
        total = np.interp(edges, times, np.cumsum(flow["delivered"]))
        delivered.append(total[1] - total[0])
        drops += sum(edges[0] <= at < edges[1] for at in flow["drops"])
        early = (times > 1e3 * s.QUEUE_MEASURED[0]) & (times <= 1e3 * s.QUEUE_MEASURED[1])
        waits.append(1e-4 * np.mean(np.array(flow["rtt"])[early]) - base)
    return _numbers(kernel_case, np.array(delivered), drops, np.array(waits)) | {
        "late": run["late_mean"]
    }


def of_packets(kernel_case: Case, seed: int) -> dict[str, float]:
    """The packet model's numbers of the same case, with the hosts of the study."""
    processing = 8 * s.PACKET / (s.TEN.rate * 1e6)
    run = tc.simulate(scenario(kernel_case, seed=seed, processing=processing, rwnd=s.WINDOW))
    measured = run.data[["delivered", "drops"]].sel(time=slice(*s.MEASURED)).sum("time")
    rtts = run.data["rtt"].sel(time=slice(*s.QUEUE_MEASURED)).mean("time").values
    waits = rtts - _base_rtts(kernel_case)
    return _numbers(
        kernel_case, measured["delivered"].values, float(measured["drops"].sum()), waits
    )


def _base_rtts(kernel_case: Case) -> np.ndarray:
    """Of each flow without a queue, s."""
    return 2 * kernel_case.delay + np.array(kernel_case.longer) + 8 * PACKET / kernel_case.rate


def _numbers(
    kernel_case: Case, delivered: np.ndarray, drops: float, waits: NDArray[np.float64]
) -> dict[str, float]:
    """Jain's index, the share of the first algorithm, drops per delivered packet and, early in the
    run, the mean wait (`waits`: of each flow, s) as a share of a full buffer's, both in %."""
    full = 8 * PACKET * kernel_case.buffer / kernel_case.rate
    return {
        "jain": jain_index(delivered),
        "share": float(delivered[: s.EACH].sum() / delivered.sum()),
        "loss": 100 * drops / float(delivered.sum()),
        "filled": 100 * float(np.mean(waits)) / full,
    }


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", choices=hosts.available())
    parser.add_argument("second", choices=hosts.available())
    parser.add_argument("buffer", type=int, nargs="+", help="units of 10 ms")
    options = parser.parse_args(words)
    if lacks := missing():
        raise SystemExit(f"cannot record: {lacks}")
    for buffer in options.buffer:
        for seed in SEEDS:
            kernel_case = case(s.Ten(options.first, options.second, buffer), seed)
            for name, measure in (("kernel", of_kernel), ("packets", of_packets)):
                line = "  ".join(
                    f"{k} {value:.3f}" for k, value in measure(kernel_case, seed).items()
                )
                print(f"{buffer} units, seed {seed}, {name:7}  {line}", flush=True)


if __name__ == "__main__":
    main()
