"""Record the senders of the running kernel as data: ``python -m experiments.kernel.record``.

This needs root, ``/dev/net/tun``, network namespaces and 20 minutes. A recording is repeated if the
emulated bottleneck forwarded packets too late; the lateness is recorded too.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path as File
from typing import Any

import numpy as np

from experiments.kernel import hosts
from experiments.kernel.cases import CASES, DELAY, DURATION, RATE, Case
from experiments.kernel.path import Path, missing

DATA = File(__file__).parent.parent / "data" / "kernel.json.gz"
TRIES = 4
LATE_MEAN, LATE_MOST = 0.2e-3, 9e-3  # s, mean and largest lateness of an accepted recording


def measure(case: Case, duration: float = DURATION) -> dict[str, Any]:
    """Run the kernel's senders once.

    Returns:
        ``late_mean`` and ``late_most``, mean and largest lateness of forwarded packets, ms;
        ``flows``, for each connection lists with one entry every 20 ms: ``time`` (ms since the
        previous entry), ``cwnd`` (packets), ``rtt`` (smoothed, in units of 0.1 ms), ``delivered``
        (packets since the previous entry); and ``drops``, times of dropped packets, ms.
    """
    path = Path(RATE, DELAY, case.buffer, case.longer, case.segments)
    try:
        begin, rows = hosts.run(path, case.controls, case.starts, duration)
    finally:
        path.close()
    late = 1e3 * np.array(path.late)
    flows = []
    for k in range(len(case.controls)):
        mine = rows[rows[:, 1] == k]
        told = dict(zip(hosts.FIELDS, mine[:, 2:].T, strict=True))
        flows.append(
            {
                "time": since_before(1e3 * (mine[:, 0] - begin)),
                "cwnd": whole(told["cwnd"]),
                "rtt": whole(told["rtt"] / 100),
                "delivered": since_before(told["delivered"]),
                "drops": [round(1e3 * (x[0] - begin)) for x in path.log if x[1] == k and x[-1]],
            }
        )
    return {
        "late_mean": round(float(late.mean()), 4),
        "late_most": round(float(late.max()), 2),
        "flows": flows,
    }


def whole(values: np.ndarray) -> list[int]:
    return np.round(values).astype(int).tolist()


def since_before(values: np.ndarray) -> list[int]:
    return np.diff(np.round(values).astype(int), prepend=0).tolist()


def is_good(run: dict[str, Any]) -> bool:
    return run["late_mean"] < 1e3 * LATE_MEAN and run["late_most"] < 1e3 * LATE_MOST


def record(case: Case, duration: float = DURATION, tries: int = TRIES) -> dict[str, Any]:
    """The first run accepted by `is_good`, or the one of `tries` with the least lateness."""
    found: list[dict[str, Any]] = []
    while len(found) < tries:
        found.append(measure(case, duration))
        if is_good(found[-1]):
            return found[-1]
    return min(found, key=lambda run: run["late_most"])


def main() -> None:
    lacks = missing()
    if lacks:
        raise SystemExit(f"cannot record: {lacks}")
    for name in {control for case in CASES.values() for control in case.controls}:
        if name not in hosts.available():
            raise SystemExit(f"cannot record: this kernel has no {name}")
    recorded: dict[str, Any] = {"kernel": ".".join(os.uname().release.split(".")[:2]), "runs": {}}
    for name, case in CASES.items():
        recorded["runs"][name] = [record(case) for _ in range(case.runs)]
        for run in recorded["runs"][name]:
            print(f"{name}: late by {run['late_mean']} ms, at most {run['late_most']}", flush=True)
    text = json.dumps(recorded, separators=(",", ":"))
    DATA.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
