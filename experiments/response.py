"""Response curves: throughput of one flow of each controller against the random loss rate.

`python -m experiments.response` writes them to docs/response_curves.csv, which the controllers'
documentation pages plot. tests/docs/test_site.py repeats some of the simulations.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

import tcpcc as tc
from tcpcc.controllers import CONTROLLERS

FILE = Path(__file__).parent.parent / "docs" / "response_curves.csv"

LOSSES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
RATE, DELAY = "100 Mbps", "20 ms"
BUFFER = 333
"""Packets: one bandwidth-delay product."""

DURATION, AFTER = 60.0, 20.0
"""s; throughput is measured from `AFTER` on."""


def scenario(controller: str, loss: float) -> tc.Scenario:
    """One flow over 100 Mb/s with a base RTT of 40 ms and random loss."""
    queue = "xcp_router" if controller == "xcp" else None  # XCP needs its own routers
    net = tc.dumbbell(RATE, DELAY, BUFFER, queue=queue, loss=loss)
    return tc.Scenario(
        net,
        [tc.Flow(controller, packet_size=1500, slow_start="standard")],
        duration=DURATION,
        seed=1,
    )


def rate(controller: str, loss: float, model: str) -> float:
    """Throughput of the flow, bit/s."""
    run = tc.simulate(scenario(controller, loss), model=model, progress=False)
    return float(run.throughput(after=AFTER).values[0])


def curves() -> Iterator[tuple[str, str, float, str]]:
    """(controller, model, loss rate, Mb/s with four digits) of all registered controllers."""
    for name in tqdm(sorted(CONTROLLERS), "response", unit="controller"):
        for model in ("packet", "fluid"):
            for loss in LOSSES:
                yield name, model, loss, f"{rate(name, loss, model) / 1e6:.4g}"


if __name__ == "__main__":
    with FILE.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("controller", "model", "loss", "Mb/s"))
        for line in curves():
            lines.writerow(line)
            file.flush()
