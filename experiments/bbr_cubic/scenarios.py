"""The test-bed's networks as scenarios: n flows of BBR and 50 - n of CUBIC share a bottleneck.

The settings are those of the test-bed's notebooks and of its hosts, Ubuntu 20.04 with Linux 5.4:

- The bottleneck is a token bucket (htb) over a drop-tail queue limited in bytes (bfifo), of
  `buffer` bandwidth-delay products. A packet has 1514 bytes there: 1448 bytes of data and the
  headers of TCP with timestamps, IP and Ethernet.
- Half of the RTT is added in each direction by an emulator.
- iperf3 starts the BBR flows and the CUBIC flows as two processes at the same time. Each process
  opens its connections one after another, one RTT each, after four RTTs of its control connection.
  Then all its flows send for 120 s. The process with fewer flows is therefore |50 - 2n| RTTs ahead.
- The handshakes are over before the data: a controller knows the RTT of the empty path.
- The receive window is at most half of the largest receive buffer, 6 MiB (tcp_rmem).

The test-bed gives one trial. `SPREAD` is the part of the start times that it does not fix: with
equal numbers of flows the sum of both throughputs shows a lead of at most 0.1 s.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tcpcc as tc
from experiments.published import DATA

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
CONTROL = 4  # RTTs of iperf3's control connection before the first data connection
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


def starts(network: Network, n: int, seed: int) -> tuple[float, float]:
    """Start of the BBR process's and of the CUBIC process's data, s; the earlier one is 0."""
    rtt, late = network.rtt / 1e3, np.random.default_rng(seed).uniform(0, SPREAD, 2)
    bbr, cubic = ((CONTROL + k) * rtt + late[i] for i, k in enumerate((n, FLOWS - n)))
    first = min(bbr if n else np.inf, cubic if n < FLOWS else np.inf)
    return float(max(bbr - first, 0.0)), float(max(cubic - first, 0.0))


def point(
    network: Network,
    buffer: float,
    n: int,
    seed: int = SEED,
    *,
    lead: bool = True,
    window: float = WINDOW,
) -> tc.Scenario:
    """One experiment of the test-bed.

    Args:
        network: the network.
        buffer: bandwidth-delay products.
        n: number of BBR flows; the first n flows are BBR.
        seed: seed of the start times and of BBR's phases.
        lead: whether the process with fewer flows starts earlier.
        window: largest receive window, packets.
    """
    rng, half = np.random.default_rng((seed, n)), network.rtt / 2e3
    flows = []
    for kind, count, start in zip(
        ("bbr", "cubic"), (n, FLOWS - n), starts(network, n, seed), strict=True
    ):
        for offset in rng.uniform(0, 1e-3, count):  # 50 first writes take iperf3 about 1 ms
            begin = float(offset + (start if lead else 0.0))
            flows.append(
                tc.Flow.linux(
                    kind, start=begin, stop=begin + DURATION, group=kind, packet_size=PACKET,
                    header=HEADER, ack_size=HEADER, transport={"rwnd": window, "syn_rtt": True},
                )
            )  # fmt: skip
    net = tc.dumbbell(
        network.rate * 1e6, half / 2, max(int(buffer * network.bdp), 1),
        access_rate=FAST, access_delay=half / 4,
    )  # fmt: skip
    end = max(flow.stop for flow in flows)
    return tc.Scenario(net, flows, duration=end, interval=INTERVAL, seed=seed)
