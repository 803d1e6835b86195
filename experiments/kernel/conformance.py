"""The running kernel's senders in cases of the conformance kit: ``python -m
experiments.kernel.conformance`` records those of `NEW` as data (root, six minutes).

`KNOWN` are recorded by `record`; they have no times of single packets.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path as File
from typing import Any

import numpy as np

from experiments.kernel import hosts, record
from experiments.kernel.cases import Case, path
from experiments.kernel.compare import kernel
from experiments.kernel.path import Path, missing
from tcpcc.apps.conformance import FlowTrace

DATA = File(__file__).parent.parent / "data" / "kernel_conformance.json.gz"

KNOWN = {
    "cubic-01": "cubic, 10 Mb/s, 200 ms, 1 BDP",
    "cubic-02": "cubic, 10 Mb/s, 200 ms, 1 BDP",
    "cubic-03": "cubic, small buffer",
    "cubic-04": "cubic beside reno",
}
"""Case of the kit -> case of `experiments.kernel.cases`, on the same path."""

NEW = {
    "prr-01": Case(("reno",), **path(10, 0.1, 1, duration=40.0)),
    "prr-02": Case(("reno",), **path(10, 0.1, 1 / 3, duration=6.0)),
    "cubic-05": Case(("cubic", "reno"), **path(10, 0.2, 1, duration=80.0, runs=3)),
}


def measure(case: Case, duration: float | None, seed: int) -> dict[str, Any]:
    """Run the kernel's senders once, as `record.measure` does, and keep each packet's time.

    Returns:
        lateness as there; ``flows``, for each connection ``time`` (ms), ``cwnd`` (packets), ``rtt``
        (0.1 ms), ``delivered`` (packets), each a list of differences but for cwnd and rtt; ``sent``
        (0.01 ms, differences), arrivals of data packets at the bottleneck, and ``again``, the
        places in it of retransmissions.
    """
    link = Path(case.rate, case.delay, case.buffer, case.longer, segments=case.segments, seed=seed)
    try:
        begin, rows, _ = hosts.run(link, case.controls, case.starts, duration or case.duration)
    finally:
        link.close()
    flows = []
    for k in range(len(case.controls)):
        packets = link.log[(link.log["connection"] == k) & (link.log["payload"] > 0)]
        place = packets["sequence"].astype(np.int64) - int(packets["sequence"][0])
        again = np.concatenate([[False], place[1:] <= np.maximum.accumulate(place)[:-1]])
        flows.append(
            {
                **record.samples(rows, k, begin),
                "sent": record.since_before(1e5 * (packets["time"] - begin)),
                "again": np.flatnonzero(again).tolist(),
            }
        )
    return {**record.lateness(link), "flows": flows}


@cache
def recorded() -> dict[str, Any]:
    """The data: ``kernel``, its version, and ``runs``, lists of runs by case."""
    return record.read(DATA)


def traces(case: str) -> list[list[FlowTrace]]:
    """The kernel's flows in each recorded run of a case of the kit."""
    if case in KNOWN:
        return [
            [
                FlowTrace(s.time, {"cwnd": s.cwnd, "rtt": s.rtt}, s.time, s.delivered)
                for s in senders
            ]
            for senders in kernel(KNOWN[case])
        ]
    return [[_trace(flow) for flow in run["flows"]] for run in recorded()["runs"][case]]


def _trace(flow: dict[str, Any]) -> FlowTrace:
    time = np.cumsum(flow["time"]) / 1e3
    sent = np.cumsum(flow["sent"]) / 1e5
    again = np.zeros(len(sent), dtype=bool)
    again[flow["again"]] = True
    return FlowTrace(
        time,
        {"cwnd": np.array(flow["cwnd"], float), "rtt": np.array(flow["rtt"]) / 1e4},
        time,
        np.cumsum(flow["delivered"]).astype(float),
        sent,
        again,
    )


def main() -> None:
    """Record all cases of `NEW`."""
    lacks = missing()
    if lacks:
        raise SystemExit(f"cannot record: {lacks}")
    document: dict[str, Any] = {"kernel": record.version(), "runs": {}}
    for name, case in NEW.items():
        runs = document["runs"].setdefault(name, [])
        for seed in range(1, case.runs + 1):
            runs.append(record.record(case, seed=seed, measure=measure))
            print(f"{name}: late by {runs[-1]['late_mean']} ms, at most {runs[-1]['late_most']}")
        record.write(DATA, document)


if __name__ == "__main__":
    main()
