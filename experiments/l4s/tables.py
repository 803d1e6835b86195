"""Numbers of the L4S paper, computed from runs: means over seeds."""

from __future__ import annotations

import numpy as np

import tcpcc as tc
from experiments.harness import Runs, Values
from experiments.l4s import scenarios as s
from experiments.seeds import means, tabulate


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


# RFC 9332


def l4s_wait_ms(run: tc.Run) -> np.ndarray:
    """Waiting times of L4S packets, ms, every 20 ms of the whole run."""
    return 1e3 * run.data["queue_l_delay"].values.ravel()


def classic_wait_ms(run: tc.Run) -> float:
    """Mean waiting time of classic packets after the start, ms."""
    waits = run.data["queue_c_delay"].sel(time=slice(s.WARM_UP, None))
    return 1e3 * float(waits.mean())


def balance(run: tc.Run) -> float:
    """Goodput of the L4S flows divided by that of the classic flows, after the start."""
    rates = run.goodput(after=s.WARM_UP).values.reshape(2, -1).sum(axis=1)
    return float(rates[0] / rates[1])


DUALQ = {
    "L4S, mean": lambda run: float(np.nanmean(l4s_wait_ms(run))),
    "L4S, 99th percentile": lambda run: float(np.nanpercentile(l4s_wait_ms(run), 99)),
    "L4S, dropped": lambda run: float(run.data["dropped"].isel(flow=0).sum()),
    "classic, mean": classic_wait_ms,
    "Prague / CUBIC": balance,
}
"""Numbers of one run of `scenarios.pair`, by the beginning of the row's name."""


def dualq(runs: Runs) -> Values:
    """Rows "L4S, mean, 4 Mb/s" ..., columns "5 ms" ..."""
    return {
        (f"{name}, {rate} Mb/s", f"{rtt} ms"): cell
        for name, number in DUALQ.items()
        for (rate, rtt), cell in means(number, runs).items()
    }


def pairs(runs: Runs) -> Values:
    """Rows "Prague / Reno" ..., columns "5 ms" ..."""
    return {
        (f"{scalable} / {classic}", f"{rtt} ms"): cell
        for (scalable, classic, rtt), cell in means(balance, runs).items()
    }


def of_overload(run: tc.Run) -> dict[str, float]:
    late = run.data.sel(time=slice(s.WARM_UP, None))
    rates = run.throughput(after=s.WARM_UP).values / 1e6
    shares = (late["dropped"].sum("time") / late["sent"].sum("time")).values
    return {
        "L4S, mean": float(1e3 * late["queue_l_delay"].mean()),
        "classic, mean": float(1e3 * late["queue_c_delay"].mean()),
        "L4S, rate": float(rates[0]),
        "classic, rate": float(rates[1]),
        "L4S, dropped": float(shares[0]),
        "classic, dropped": float(shares[1]),
    }


def overloads(runs: Runs) -> Values:
    """Rows "L4S, mean" ..., columns "classic" and "L4S", the kind that exceeds the link."""
    return tabulate(of_overload, runs)
