"""The test-bed's networks as scenarios: n flows of BBR and 50 - n of CUBIC share a bottleneck.

The settings are those of the test-bed's notebooks and of its hosts, Ubuntu 20.04 with Linux 5.4:

- The bottleneck is a token bucket (htb) over a drop-tail queue limited in bytes (bfifo), of
  `buffer` bandwidth-delay products. A packet has 1514 bytes there: 1448 bytes of data and the
  headers of TCP with timestamps, IP and Ethernet.
- Half of the RTT is added in each direction by an emulator.
- iperf3 starts the BBR flows and the CUBIC flows as two processes at the same time. Each process
  opens its connections one after another, one RTT each.
  Then all its flows send for 120 s. So the process with fewer flows is ahead, by |50 - 2n| RTTs of
  the path with its queue: the handshakes of the other process wait in it (`lead`). The sums of both
  throughputs, which exceed the rate of the link, show these leads in the test-bed's numbers.
- The handshakes are over before the data: a controller knows the RTT of the empty path.
- Hosts need up to a packet's transmission time at the bottleneck to send a packet. Without this
  random time shares in small buffers depend on the RTT modulo the transmission time (traffic phase
  effects, see `Flow.processing`).
- The receive window is at most half of the largest receive buffer, 6 MiB (tcp_rmem).

The test-bed gives one trial. `SPREAD` is the part of the start times that it does not fix: with
equal numbers of flows the sum of both throughputs shows a lead of at most 0.1 s.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tcpcc as tc
from experiments.published_numbers import DATA

FLOWS = 50
BUFFERS = (0.5, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0)
"""Buffers in bandwidth-delay products."""

SAMPLE = (2, 10, 20, 30, 45)
"""Numbers of BBR flows that are simulated by default."""

ALL = tuple(range(1, FLOWS))
SEED = 1

DURATION = 120.0  # s, of each process
PACKET, HEADER = 1514, 66  # bytes on the wire
WINDOW = 3 * 2**20 // (PACKET - HEADER)  # packets, the largest receive window
SPREAD = 0.1  # s
INTERVAL = 0.25  # s, of the record
FAST = 10e9  # bit/s, the other links


class Network(NamedTuple):
    """A network of the test-bed: rate of the bottleneck, Mb/s, and base RTT, ms."""

    rate: float
    rtt: float

    def __str__(self) -> str:
        return f"{self.rate:g} Mb/s, {self.rtt:g} ms"

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product, packets."""
        return self.rate * self.rtt * 1e3 / (8 * PACKET)


class Point(NamedTuple):
    """An experiment: network, buffer in BDPs, number of BBR flows."""

    network: Network
    buffer: float
    n: int


Throughputs = Mapping[Point, tuple[float, float]]
"""Data received by all BBR flows and by all CUBIC flows, Mb/s, by point."""


@cache
def testbed() -> Throughputs:
    """The numbers of the test-bed, n = 0 to 50."""
    return read(DATA / "bbr_cubic_testbed.csv")


def read(path: Path) -> Throughputs:
    """Throughputs of a file with the test-bed's columns."""
    with path.open() as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            Point(
                Network(float(line["rate_mbps"]), float(line["rtt_ms"])),
                float(line["buffer_bdp"]),
                int(line["bbr_flows"]),
            ): (float(line["bbr_mbps"]), float(line["cubic_mbps"]))
            for line in lines
        }


def networks() -> tuple[Network, ...]:
    return tuple(dict.fromkeys(point.network for point in testbed()))


def processes(n: int) -> dict[str, int]:
    """Number of flows of each process; the one that sends first is the first."""
    both = {"bbr": n, "cubic": FLOWS - n}
    return dict(sorted(both.items(), key=lambda item: item[1] or np.inf))


def flows_of(network: Network, kind: str, starts: Iterable[float], window: float) -> list[tc.Flow]:
    """Flows of a process."""
    processing = 8 * PACKET / (network.rate * 1e6)
    return [
        tc.Flow.linux(
            kind, start=start, stop=start + DURATION, processing=processing, group=kind,
            packet_size=PACKET, header=HEADER, ack_size=HEADER,
            transport={"rwnd": window, "syn_rtt": True},
        )
        for start in starts
    ]  # fmt: skip


def bottleneck(network: Network, buffer: float) -> tc.Network:
    half = network.rtt / 2e3
    return tc.dumbbell(
        network.rate * 1e6, half / 2, max(int(buffer * network.bdp), 1),
        access_rate=FAST, access_delay=half / 4,
    )  # fmt: skip


@cache
def lead(network: Network, buffer: float, n: int, window: float = WINDOW) -> float:
    """Time by which the process with fewer flows is ahead, s.

    Both processes begin at the same time, so the second one lacks |50 - 2n| handshakes when the
    first one sends. They wait in its queue, which a simulation of the first process alone gives.
    """
    (kind, count), (_, others) = processes(n).items()
    lacking, rtt = max(others - count, 0), network.rtt / 1e3
    end = 2 * lacking * rtt
    while lacking:
        wait = queueing(network, buffer, flows_of(network, kind, [0.0] * count, window), end)
        time = 0.0
        for _ in range(lacking):
            time += rtt + wait(time)
        if time <= end:
            return time
        end *= 2
    return 0.0


def queueing(
    network: Network, buffer: float, flows: Sequence[tc.Flow], duration: float
) -> Callable[[float], float]:
    """The queueing delay at the bottleneck, s, as a function of time."""
    run = tc.simulate(
        tc.Scenario(bottleneck(network, buffer), flows, duration=duration, interval=0.02)
    )
    queue = run.data["queue"].sel(link="bottleneck").values * 8 * PACKET / (network.rate * 1e6)
    ends = run.data["time"].values
    return lambda at: float(queue[min(int(np.searchsorted(ends, at)), queue.size - 1)])


def point(
    network: Network,
    buffer: float,
    n: int,
    seed: int = SEED,
    *,
    ahead: bool = True,
    window: float = WINDOW,
) -> tc.Scenario:
    """One experiment of the test-bed.

    Args:
        network: the network.
        buffer: bandwidth-delay products.
        n: number of BBR flows.
        seed: seed of the start times and of BBR's phases.
        ahead: whether the process with fewer flows is ahead.
        window: largest receive window, packets.
    """
    rng = np.random.default_rng((seed, n))
    (first, count), (second, _) = processes(n).items()
    late = rng.uniform(0, SPREAD, 2)
    late += (0.0, lead(network, buffer, n, window) if ahead else 0.0)
    offsets = rng.uniform(0, 1e-3, FLOWS)  # 50 first writes take iperf3 about 1 ms
    late -= late.min()
    flows = [
        *flows_of(network, first, (late[0] + offsets[:count]).tolist(), window),
        *flows_of(network, second, (late[1] + offsets[count:]).tolist(), window),
    ]
    end = max(flow.start for flow in flows) + DURATION
    return tc.Scenario(
        bottleneck(network, buffer), flows, duration=end, interval=INTERVAL, seed=seed
    )
