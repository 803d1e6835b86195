"""The test-bed's networks as scenarios: ten flows of two algorithms, and BBR beside one other flow.

The settings are those of the test-bed's notebooks and hosts (Linux 5.13 with BBR, 6.4 with BBRv3):

- The bottleneck is a token bucket (htb) over a drop-tail queue limited in bytes (bfifo). A packet
  has the size that experiments.bbr_cubic explains.
- **Ten flows**: 100 Mb/s, five flows of each algorithm. Buffers are multiples of 10 ms. Each flow
  has a base RTT of 30 to 40 ms, drawn anew for each trial. Receive windows are Linux' default.
- **Single flow**: 1 to 32 BBR flows beside one flow of CUBIC or Reno. Buffers are multiples of the
  bandwidth-delay product, of 1,024 bytes in a kB (tc's unit). Receive windows are unlimited.
- Programs start within `SPREAD` of each other.
- Hosts need up to a packet's transmission time to send a packet, as in experiments.bbr_cubic.

Sources: scherrer_topology_experiment.ipynb and ware-topology-experiments.ipynb of the test-bed's
repository. A flow of BBRv3 has the transport of a Linux host with BBR.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

import tcpcc as tc
from experiments.bbr_cubic.scenarios import FAST, HEADER, PACKET, SPREAD, WINDOW, Network
from experiments.seeds import seeds_up_to

TEN_SEEDS = {"packet": seeds_up_to(10), "fluid": seeds_up_to(10)}
SINGLE_SEEDS = {"packet": seeds_up_to(3), "fluid": seeds_up_to(1)}
INTERVAL = 1.0  # s, of the record

TEN = Network(100, 35)  # base RTT: mean over flows
EACH = 5  # flows of each algorithm
TEN_BUFFERS = (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
BUFFER_UNIT = 125_000  # bytes: 10 ms at 100 Mb/s
ACK_DELAY, SENDER_DELAY = 0.010, (0.020, 0.030)  # s
MEASURED = (180.0, 300.0)  # s, iperf3 omits the time before
QUEUE_MEASURED = (3.0, 123.0)  # s, the router's script starts with the flows and runs for 120 s

SINGLE_BUFFERS = (1, 2, 4, 8, 16, 32, 64)
SINGLE_FLOWS = (1, 2, 4, 8, 16, 32)
KB = 1024  # bytes
SINGLE_MEASURED = (600.0, 1000.0)  # s

PAIRS = (("bbr", "cubic"), ("bbr", "bbr"), ("bbr3", "cubic"), ("bbr3", "reno"), ("bbr3", "bbr3"))
SETS = (
    ("bbr", "cubic", Network(10, 40)),
    ("bbr3", "cubic", Network(10, 40)),
    ("bbr3", "reno", Network(10, 40)),
    ("bbr3", "cubic", Network(50, 30)),
)


NAMES = {"bbr": "BBR", "bbr3": "BBRv3", "cubic": "CUBIC", "reno": "Reno"}


def title(first: str, second: str) -> str:
    """Both algorithms, as papers write them."""
    return f"{NAMES[first]}, {NAMES[second]}"


class Ten(NamedTuple):
    """Five flows of each of two algorithms; buffer in units of 10 ms."""

    first: str
    second: str
    buffer: int

    def scenario(self, seed: int, spread: float = SPREAD) -> tc.Scenario:
        """The experiment; `spread` is the range of start times, s."""
        rng = np.random.default_rng((seed, self.buffer))
        starts, delays = rng.uniform(0, spread, 2 * EACH), rng.uniform(*SENDER_DELAY, 2 * EACH)
        flows = [
            flow(kind, TEN, start=start, access_delay=delay / 2, window=WINDOW)
            for kind, start, delay in zip(
                [self.first] * EACH + [self.second] * EACH, starts, delays, strict=True
            )
        ]
        net = tc.dumbbell(
            TEN.rate * 1e6, ACK_DELAY / 2, room(self.buffer * BUFFER_UNIT),
            access_rate=FAST, access_delay=0.0,
        )  # fmt: skip
        return _scenario(net, flows, MEASURED[1], seed)


class Single(NamedTuple):
    """BBR flows beside one loss-based flow; buffer in bandwidth-delay products."""

    bbr: str
    other: str
    network: Network
    buffer: int
    flows: int

    def scenario(self, seed: int, spread: float = SPREAD) -> tc.Scenario:
        """The experiment; `spread` is the range of start times, s."""
        rng = np.random.default_rng((seed, self.flows, self.buffer))
        starts = rng.uniform(0, spread, self.flows + 1)
        kinds = [self.bbr] * self.flows + [self.other]
        flows = [
            flow(kind, self.network, start=start, group="bbr" if number < self.flows else "other")
            for number, (kind, start) in enumerate(zip(kinds, starts, strict=True))
        ]
        rate, rtt = self.network.rate * 1e6, self.network.rtt / 1e3
        net = tc.dumbbell(
            rate, rtt / 4, room(self.buffer * rate * rtt / 8e3 * KB),
            access_rate=FAST, access_delay=rtt / 8,
        )  # fmt: skip
        return _scenario(net, flows, SINGLE_MEASURED[1], seed)


Cell = Ten | Single


def flow(kind: str, network: Network, *, window: float = np.inf, **settings: object) -> tc.Flow:
    """A flow of a Linux host; `window` is its largest receive window, packets."""
    linux_flow = tc.Flow.linux(
        "bbr" if kind == "bbr3" else kind,
        packet_size=PACKET, header=HEADER, ack_size=HEADER,
        processing=8 * PACKET / (network.rate * 1e6),
        transport={"rwnd": window, "syn_rtt": True}, **settings,
    )  # fmt: skip
    return linux_flow.replace(controller="bbr3") if kind == "bbr3" else linux_flow


def room(size: float) -> int:
    """Packets in a buffer of `size` bytes."""
    return max(int(size / PACKET), 1)


def _scenario(net: tc.Network, flows: Iterable[tc.Flow], end: float, seed: int) -> tc.Scenario:
    return tc.Scenario(net, list(flows), duration=end + INTERVAL, interval=INTERVAL, seed=seed)


def ten() -> list[Ten]:
    """All cells of ten flows."""
    return [Ten(*pair, buffer) for pair in PAIRS for buffer in TEN_BUFFERS]


def single() -> list[Single]:
    """All cells with one loss-based flow."""
    return [
        Single(*setting, b, n) for setting in SETS for b in SINGLE_BUFFERS for n in SINGLE_FLOWS
    ]
