"""Record the senders of the running kernel as data: ``python -m experiments.kernel.record``, or
some of them, by the names of their cases.

This needs root, ``/dev/net/tun``, network namespaces, a C compiler and an hour. A recording is
repeated if the emulated bottleneck forwarded packets too late; the lateness is recorded too.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path as File
from typing import Any

import numpy as np

from experiments.kernel import hosts
from experiments.kernel.cases import APPLICATIONS, CASES, WIDE, Case
from experiments.kernel.path import FULL, Path, missing

FOLDER = File(__file__).parent.parent / "data"
DATA, OF_APPLICATIONS = FOLDER / "kernel.json.gz", FOLDER / "kernel_applications.json.gz"
FILES: dict[File, dict[str, Case]] = {DATA: {**CASES, **WIDE}, OF_APPLICATIONS: APPLICATIONS}
TRIES = 3
LATE_MEAN = 0.1e-3  # s, largest mean lateness of an accepted recording
LATE, LATE_SHARE = 1e-3, 1e-3  # s; largest share of packets later than this


def read(file: File) -> dict[str, Any]:
    """A file of recordings."""
    return json.loads(gzip.decompress(file.read_bytes()))


def write(file: File, document: dict[str, Any]) -> None:
    text = json.dumps(document, separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def version() -> str:
    """Of the running kernel, such as "6.18"."""
    return ".".join(os.uname().release.split(".")[:2])


def measure(case: Case, duration: float | None = None, seed: int = 1) -> dict[str, Any]:
    """Run the kernel's senders once, for `duration` s (default: the case's).

    Returns:
        ``late_mean`` and ``late_most``, mean and largest lateness of forwarded packets, ms;
        ``late_share``, share of the packets that were later than `LATE`;
        ``flows``, for each connection lists with one entry every 20 ms: ``time`` (ms since the
        previous entry), ``cwnd`` (packets), ``rtt`` (smoothed, in units of 0.1 ms), ``delivered``
        (packets since the previous entry); and ``drops``, times of dropped packets, ms;
        ``written``, for each connection the lists of `in_time`, if its application writes.
    """
    path = Path(
        case.rate,
        case.delay,
        case.buffer,
        case.longer,
        segments=case.segments,
        mark=case.mark,
        loss=case.loss,
        seed=seed,
    )
    length = case.duration if duration is None else duration
    try:
        begin, rows, written = hosts.run(
            path, case.controls, case.starts, length, case.writes, case.cross, case.rwnd
        )
    finally:
        path.close()
    dropped = path.log["fate"] >= FULL
    flows = []
    for k in range(len(case.controls)):
        drops = path.log["time"][dropped & (path.log["connection"] == k)]
        flows.append({**samples(rows, k, begin), "drops": whole(1e3 * (drops - begin))})
    of_writes = (
        []
        if case.writes is None
        else [in_time(rows_of_writes, begin) for rows_of_writes in written]
    )
    return {
        **lateness(path),
        "flows": flows,
        **({"written": of_writes} if of_writes else {}),
    }


def samples(rows: np.ndarray, k: int, begin: float) -> dict[str, list[int]]:
    """The lists of `measure` that `hosts.run` samples, for connection `k`."""
    of_connection = rows[rows[:, 1] == k]
    columns = dict(zip(hosts.FIELDS, of_connection[:, 2:].T, strict=True))
    return {
        "time": since_before(1e3 * (of_connection[:, 0] - begin)),
        "cwnd": whole(columns["cwnd"]),
        "rtt": whole(columns["rtt"] / 100),
        "delivered": since_before(columns["delivered"]),
    }


def lateness(path: Path) -> dict[str, float]:
    """The lateness of `measure`."""
    late = 1e3 * path.late
    return {
        "late_mean": round(float(late.mean()), 4),
        "late_most": round(float(late.max()), 2),
        "late_share": round(float(np.mean(late > 1e3 * LATE)), 6),
    }


def in_time(written: list[list[float]], begin: float) -> dict[str, list[int]]:
    """The writes that were acknowledged, in lists with one entry for each.

    Returns:
        ``at`` and ``done``, times of the write and of its last ACK (0.01 ms since the previous
        entry), and ``cwnd`` and ``ssthresh`` after the write (packets).
    """
    at, cwnd, ssthresh, done = np.array([row for row in written if not math.isnan(row[-1])]).T
    return {
        "at": since_before(1e5 * (at - begin)),
        "done": since_before(1e5 * (done - begin)),
        "cwnd": whole(cwnd),
        "ssthresh": whole(ssthresh),
    }


def whole(values: np.ndarray) -> list[int]:
    return np.round(values).astype(int).tolist()


def since_before(values: np.ndarray) -> list[int]:
    return np.diff(np.round(values).astype(int), prepend=0).tolist()


def is_good(run: dict[str, Any]) -> bool:
    return run["late_mean"] < 1e3 * LATE_MEAN and run["late_share"] < LATE_SHARE


def record(
    case: Case,
    duration: float | None = None,
    tries: int = TRIES,
    seed: int = 1,
    measure: Callable[[Case, float | None, int], dict[str, Any]] = measure,
) -> dict[str, Any]:
    """The first run accepted by `is_good`, or the one of `tries` with the least lateness."""
    runs: list[dict[str, Any]] = []
    while len(runs) < tries:
        runs.append(measure(case, duration, seed))
        if is_good(runs[-1]):
            return runs[-1]
    return min(runs, key=lambda run: run["late_share"])


def main(names: Sequence[str]) -> None:
    """Record the named cases, or all."""
    lacks = missing()
    if lacks:
        raise SystemExit(f"cannot record: {lacks}")
    controls = {
        name for cases in FILES.values() for case in cases.values() for name in case.controls
    }
    for name in controls:
        if name not in hosts.available():
            raise SystemExit(f"cannot record: this kernel has no {name}")
    for file, cases in FILES.items():
        recorded: dict[str, Any] = {"kernel": version(), "runs": {}}
        if names and file.exists():
            recorded = read(file)
            if recorded["kernel"] != version():
                raise SystemExit(f"cannot add to the data: it is of Linux {recorded['kernel']}")
        for name in [name for name in names or cases if name in cases]:
            seeds = range(1, cases[name].runs + 1)
            recorded["runs"][name] = [record(cases[name], seed=seed) for seed in seeds]
            for run in recorded["runs"][name]:
                late = f"late by {run['late_mean']} ms, at most {run['late_most']}"
                print(f"{name}: {late}", flush=True)
            write(file, recorded)


if __name__ == "__main__":
    main(sys.argv[1:])
