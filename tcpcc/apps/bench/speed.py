"""A small benchmark: packets per CPU second of the packet model and of ns-2 if it is installed, and
CPU time of each model.

NewReno flows, started 0.1 s apart, over a dumbbell with access links of 1 Gb/s, a base RTT of 40 ms
and a buffer of one bandwidth-delay product. Speed counts the data packets that the bottleneck sent.
Ratios are to ns-2 in the same run, since times alone mean little on a busy machine.
"""

from __future__ import annotations

import math
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpcc.engine.source import PACKAGE
from tcpcc.errors import TcpccError
from tcpcc.files import write_between

if TYPE_CHECKING:
    import pandas as pd

    from tcpcc.scenario import Scenario

CASES = ((10e6, 1), (10e6, 10), (100e6, 1), (100e6, 10))
"""(bottleneck rate in bit/s, number of flows)."""

PACKETS = 750_000
"""Data packets of a full run, at most; runs of the SimPy driver are a tenth as long."""

ROUNDS = 4
"""Runs of each engine; the fastest one counts."""

MILLISECONDS: dict[str, dict[str, Any]] = {
    "packet": {}, "trains": {"trains": 16}, "fluid": {"model": "fluid"},
}  # fmt: skip
"""Options of the runs of which the CPU time of a simulated minute is measured."""

MARKS = ("<!-- speed: written by tcpcc bench --readme -->", "<!-- end of speed -->")
"""Lines around the table in README.md."""

NS2_SCRIPT = PACKAGE.parent / "tests" / "benchmarks" / "dumbbell.tcl"


def buffer_of(rate: float) -> int:
    """One bandwidth-delay product of 40 ms, packets."""
    return round(rate * 0.04 / 8000)


def scenario(rate: float, flows: int, packets: float = PACKETS) -> Scenario:
    """The dumbbell; it runs as long as the bottleneck needs for `packets` packets of 1000 bytes."""
    from tcpcc import Flow, Scenario, dumbbell

    net = dumbbell(rate, 0.018, buffer_of(rate), access_rate=1e9, access_delay=1e-3)
    sources = [Flow("newreno", start=0.1 * k, header=40) for k in range(flows)]
    return Scenario(net, sources, duration=max(packets * 8000 / rate, 2.0))


def speed(
    case: Scenario, model: str = "packet", driver: str = "compiled", **options: Any
) -> tuple[float, float]:
    """Run a scenario once; returns data packets sent by the bottleneck, and CPU seconds."""
    from tcpcc import simulate

    begin = time.process_time()
    run = simulate(case, model, driver=driver, **options)
    seconds = time.process_time() - begin
    return float(run.data["sent_bits"].sum()) / 8000, seconds


def events_per_packet(case: Scenario) -> float:
    """Events of the compiled driver for each data packet that the bottleneck sent."""
    from tcpcc.models.packet.compiled_driver import CompiledSimulation

    simulation = CompiledSimulation(case)
    simulation.advance(case.duration)
    packets = float(simulation.result().data["sent_bits"].sum()) / 8000
    return float(simulation.world.w[0]["events"]) / packets


def ns2_speed(rate: float, flows: int, duration: float) -> tuple[float, float]:
    """As :func:`speed`, in ns-2."""
    command = ["ns", NS2_SCRIPT, rate, flows, buffer_of(rate), duration]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def has_ns2() -> bool:
    return shutil.which("ns") is not None and NS2_SCRIPT.is_file()


def measure(report: Callable[[str], None] = lambda line: None) -> pd.DataFrame:
    """Run every case in every engine in turn, `ROUNDS` times. The fastest run of each counts, since
    other load on the machine only slows runs down.

    Args:
        report: called with a line of text before each case.

    Returns:
        one row per case: thousands of packets per CPU second of the compiled driver, its events,
        packets of the SimPy driver and of ns-2 (None without it), the ratio of the first to ns-2,
        and CPU milliseconds
        per simulated minute of packets, packets in trains, and the fluid model.
    """
    import pandas as pd

    first = scenario(10e6, 1, 1000)  # its runs compile
    for options in ({}, {"driver": "simpy"}, *MILLISECONDS.values()):
        speed(first, **options)
    rows: list[dict[str, Any]] = []
    for rate, flows in CASES:
        report(f"{rate / 1e6:g} Mb/s, {flows} flow{'s' * (flows > 1)} ...")
        case = scenario(rate, flows)
        short = scenario(rate, flows, PACKETS / 10)
        runs: dict[str, list[float]] = {"compiled": [], "simpy": [], "ns2": []}
        seconds = dict.fromkeys(MILLISECONDS, math.inf)
        for _ in range(ROUNDS):
            for name, options in MILLISECONDS.items():
                measured = speed(case, **options)
                seconds[name] = min(seconds[name], measured[1])
                if name == "packet":
                    runs["compiled"].append(_thousands(measured))
            runs["simpy"].append(_thousands(speed(short, driver="simpy")))
            if has_ns2():
                runs["ns2"].append(_thousands(ns2_speed(rate, flows, case.duration)))
        compiled, ns2 = max(runs["compiled"]), max(runs["ns2"], default=None)
        rows.append(
            {
                "Mb/s": rate / 1e6,
                "flows": flows,
                "compiled k/s": round(compiled),
                "events k/s": round(compiled * events_per_packet(short)),
                "SimPy k/s": round(max(runs["simpy"])),
                "ns-2 k/s": None if ns2 is None else round(ns2),
                "compiled / ns-2": None if ns2 is None else round(compiled / ns2, 1),
                **{f"{name} ms/min": s * 60e3 / case.duration for name, s in seconds.items()},
            }
        )
    return pd.DataFrame(rows)


def _thousands(measured: tuple[float, float]) -> float:
    packets, seconds = measured
    return packets / seconds / 1e3


def readme_table(table: pd.DataFrame) -> str:
    """The table of README.md, in millions of packets per CPU second."""
    lines = [
        "| bottleneck | flows | compiled | SimPy driver | ns-2 | compiled / ns-2 |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in table.to_dict("records"):
        millions = [row[f"{name} k/s"] / 1e3 for name in ("compiled", "SimPy", "ns-2")]
        speeds = [f"{x:.1f} M" if x >= 10 else f"{x:.2f} M" for x in millions]
        cells = [f"{row['Mb/s']:g} Mb/s", f"{row['flows']}", *speeds]
        lines.append(f"| {' | '.join(cells)} | {row['compiled / ns-2']:.1f} |")
    return "\n".join(lines)


def write_readme(table: pd.DataFrame, path: Path) -> None:
    """Write the table between the marks in `path`.

    Raises:
        TcpccError: ns-2 is not installed, or the file has no marks.
    """
    if table["ns-2 k/s"].isna().any():
        raise TcpccError("bench --readme: needs ns-2 (the program ns) and a checkout of tcpcc")
    write_between(path, MARKS, readme_table(table))
