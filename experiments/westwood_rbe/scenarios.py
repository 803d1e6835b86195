"""The scenarios of the Westwood paper, with the settings that it does not print.

- Both kinds repair losses alike, and neither times out where the other does not: throughput ratios
  then follow the windows. TCP Reno of sections V-B and V-C has Reno's recovery, as in Figure 1 (a).
- A packet is 1500 bytes on the wire: BDPs of 375 and 133 packets come to 12 kb a packet.
- Flows start at random in the first 5 s. Throughput ("in the steady state") is that of a run's last
  three fifths: runs of two flows in section V-A need as long until the windows have come together.
- Runs are as long as their cycles ask for: 200 s of two flows at 50 Mb/s with a buffer of one BDP,
  cycles of 25 s, and less, 300 s with more; 100 s in Figure 3, cycles of 2 to 18 s; three cycles in
  Figure 5, but 100 to 200 s: there a cycle of two flows at 100 Mb/s takes five minutes.
- In section V-B access links are those of section V-A, 100 Mb/s and 5 ms.
- In section V-C flow i of N has the RTT 10 + 240 i / N ms, which gives the printed range; kinds
  take turns, and which of them comes first turns with the seed. Access links are fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import tcpcc as tc
from experiments.seeds import seeds_up_to

PACKET = 1500
"""Bytes on the wire."""

SEEDS = seeds_up_to(10)
"""Of the start times."""

JITTER = 5.0
"""s, that starts are spread over."""

SETTLED = 0.4
"""Share of a run after which throughput is measured."""

RENO = "reno"
PROPOSALS = {"Westwood": "westwood_re", "Proposal": "westwood_rbe"}
"""Controllers by the paper's names: Westwood has the rate estimate RE (section II)."""

LEGACY = {"Reno": "reno", "NewReno": "newreno", "SACK": "sack"}
"""Loss recovery, of both flows, by the panel of Figure 1."""

BUFFERS = {"BDP/4": 1 / 4, "BDP/2": 1 / 2, "BDP": 1.0, "2 BDP": 2.0}
"""Of section V-A, in bandwidth-delay products."""

LAW_BUFFERS = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0, 1.5, 2.0)
"""Where the equations are compared with simulations."""


class Path(NamedTuple):
    """A dumbbell: rate of the bottleneck, bit/s; its propagation delay and round-trip time, s."""

    rate: float
    delay: float
    rtt: float

    @property
    def bdp(self) -> float:
        """Packets."""
        return self.rate * self.rtt / (8 * PACKET)


ACCESS: dict[str, Any] = {"access_rate": 100e6, "access_delay": 5e-3}
PAIRS = Path(50e6, 0.035, 0.090)
"""Sections V-A and V-B, Figures 1 and 4."""

PAIR_BUFFERS = {name: int(b * PAIRS.bdp) for name, b in BUFFERS.items()}
"""Packets."""

CROWDS = Path(20e6, 0.030, 0.080)
"""Section V-B, Figure 3."""


def starts(seed: int, flows: int) -> np.ndarray:
    """s."""
    return np.random.default_rng(seed).uniform(0, JITTER, flows)


def dumbbell(
    path: Path,
    kinds: Sequence[str],
    buffer: int,
    seed: int,
    duration: float,
    recovery: str = "reno",
) -> tc.Scenario:
    """Sections V-A and V-B.

    Args:
        path: the bottleneck.
        kinds: controller of each flow.
        buffer: packets.
        seed: of the start times.
        duration: s.
        recovery: of all flows.
    """
    flows = [
        tc.Flow(
            kind, start=start, recovery=recovery, packet_size=PACKET, transport=tc.Transport.ns2()
        )
        for kind, start in zip(kinds, starts(seed, len(kinds)), strict=True)
    ]
    net = tc.dumbbell(path.rate, path.delay, buffer, **ACCESS)
    return tc.Scenario(net, flows, duration=duration, interval=1)


def of_pair(kinds: Sequence[str], b: float, seed: int, recovery: str) -> tc.Scenario:
    """On the path of section V-A; the buffer is `b` bandwidth-delay products."""
    duration = 200.0 if b <= 1 else 300.0
    return dumbbell(PAIRS, kinds, int(b * PAIRS.bdp), seed, duration, recovery)


def pair(kind: str, b: float, seed: int, recovery: str = "reno") -> tc.Scenario:
    """Section V-A: a flow of a kind beside one of Reno."""
    return of_pair([kind, RENO], b, seed, recovery)


# Figure 1, by (row, column, seed).


def ratio_runs() -> dict[Any, tc.Scenario]:
    return {
        (f"{name} / {legacy}", column, seed): pair(kind, b, seed, recovery)
        for legacy, recovery in LEGACY.items()
        for name, kind in PROPOSALS.items()
        for column, b in BUFFERS.items()
        for seed in SEEDS
    }


# Equations 4 to 7, by (b, seed).


def law_runs() -> dict[Any, tc.Scenario]:
    kind, recovery = PROPOSALS["Westwood"], LEGACY["SACK"]
    return {(b, seed): pair(kind, b, seed, recovery) for b in LAW_BUFFERS for seed in SEEDS}


# Figures 3 and 4, by (kind, buffer in packets, flows, seed); kind "reno" is the base case.

COUNTS = (2, 10, 20)
"""N of Figure 3, which prints none but the first."""

CROWD_BUFFERS = {"BDP/2": 67, "2 BDP": 266}
"""Of Figure 3, packets."""


def half(kind: str, n: int) -> list[str]:
    """Half of `n` Reno flows replaced by a kind, every other one."""
    return [kind, RENO] * (n // 2)


def crowd_runs() -> dict[Any, tc.Scenario]:
    return {
        (kind, buffer, n, seed): dumbbell(CROWDS, half(kind, n), buffer, seed, 100.0)
        for kind in (RENO, *PROPOSALS.values())
        for buffer in CROWD_BUFFERS.values()
        for n in COUNTS
        for seed in SEEDS
    }


def pair_runs() -> dict[Any, tc.Scenario]:
    return {
        (kind, PAIR_BUFFERS[name], 2, seed): pair(kind, b, seed)
        for kind in (RENO, *PROPOSALS.values())
        for name, b in BUFFERS.items()
        for seed in SEEDS
    }


# Figure 5, by (row, flows, seed), row as "Westwood, 10 Mb/s".

RTT_COUNTS = (2, 6, 10, 16, 20)
RTT_LINKS: Mapping[str, tuple[float, int]] = {"10 Mb/s": (10e6, 200), "100 Mb/s": (100e6, 2000)}
"""Rate, bit/s, and buffer, packets: the paper's rounding of 208 and 2083, the BDPs at 250 ms."""

RTT_CLASSES = {
    "10 to 90 ms": (0.01, 0.09),
    "90 to 170 ms": (0.09, 0.17),
    "170 to 250 ms": (0.17, 0.25),
}
"""s, above the first and up to the second. From six flows on each has flows of both kinds."""

NEAR = 1e-3
"""s, propagation delay of the bottleneck and of the receivers' links."""


def round_trips(n: int) -> np.ndarray:
    """s."""
    return (10 + 240 * np.arange(1, n + 1) / n) / 1e3


def cycle(rate: float, buffer: int, trips: np.ndarray) -> float:
    """How long Reno flows that lose together take to make up for it, s.

    Together they have to add half of the packets under way at a full buffer, each one in a
    round-trip time, which is on average three quarters of that with the buffer full.

    Args:
        rate: bit/s.
        buffer: packets.
        trips: propagation delays, s, one for each flow.
    """
    speed = rate / (8 * PACKET)
    full = float(trips.mean()) + buffer / speed
    return speed * full / 2 / len(trips) * 3 / 4 * full


def unlike(kind: str, link: str, n: int, seed: int) -> tc.Scenario:
    """Section V-C: `n` flows of unlike round-trip times, every other one Reno."""
    rate, buffer = RTT_LINKS[link]
    trips = round_trips(n)
    kinds = half(kind, n)[:: -1 if seed % 2 else 1]
    flows = [
        tc.Flow(
            each,
            start=start,
            recovery="reno",
            packet_size=PACKET,
            access_delay=rtt / 2 - 2 * NEAR,
            transport=tc.Transport.ns2(),
        )
        for each, start, rtt in zip(kinds, starts(seed, n), trips, strict=True)
    ]
    net = tc.dumbbell(rate, NEAR, buffer, access_rate=1e9, access_delay=NEAR)
    duration = round(min(max(3 * cycle(rate, buffer, trips), 100), 200))
    return tc.Scenario(net, flows, duration=duration, interval=1)


def rtt_runs() -> dict[Any, tc.Scenario]:
    return {
        (f"{name}, {link}", n, seed): unlike(kind, link, n, seed)
        for link in RTT_LINKS
        for name, kind in PROPOSALS.items()
        for n in RTT_COUNTS
        for seed in SEEDS
    }


def class_runs() -> dict[Any, tc.Scenario]:
    """Those of Figure 5 that have each kind in each class of round-trip times."""
    return {key: scenario for key, scenario in rtt_runs().items() if key[1] > 2}


# Beyond the paper.

FAMILY = ("westwood", "westwood_re", "westwood_abse", "westwood_plus", "westwood_rbe")
ALONE_BUFFERS = {"BDP/8": 1 / 8, **BUFFERS}


def alone_runs() -> dict[Any, tc.Scenario]:
    """One flow, by (kind, buffer)."""
    return {
        (kind, column): of_pair([kind], b, 1, LEGACY["SACK"])
        for kind in (RENO, *FAMILY)
        for column, b in ALONE_BUFFERS.items()
    }


def estimator_runs() -> dict[Any, tc.Scenario]:
    """The other members of the family beside Reno with SACK, by (kind, buffer, seed)."""
    return {
        (kind, column, seed): pair(kind, BUFFERS[column], seed, LEGACY["SACK"])
        for kind in FAMILY
        for column in ("BDP/2", "BDP")
        for seed in SEEDS
    }
