"""Numbers of the L4S paper, computed from runs: means over seeds."""

from __future__ import annotations

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.l4s import scenarios as s
from experiments.seeds import means


def column(buffer: float) -> str:
    return f"{buffer:g} BDP"


def prague_mbps(run: tc.Run) -> float:
    """Prague's payload over the whole run, Mb/s."""
    return float(run.goodput()[0]) / 1e6


def throughputs(runs: Runs) -> Values:
    """Rows "FIFO, CUBIC" ..., columns "0.5 BDP" ..."""
    return {
        (f"{bottleneck}, {rival}", column(buffer)): cell
        for (bottleneck, rival, buffer), cell in means(prague_mbps, runs).items()
    }


def delay_ms(run: tc.Run) -> float:
    """Mean of Prague's RTT without the base RTT, ms."""
    return 1e3 * (float(run.data["rtt"].isel(flow=0).mean()) - s.BASE_RTT)


def delays(runs: Runs) -> Values:
    return {
        (bottleneck, column(buffer)): cell
        for (bottleneck, _, buffer), cell in means(delay_ms, runs).items()
    }
