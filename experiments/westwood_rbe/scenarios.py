"""The scenarios of the Westwood paper, with the settings that it does not give.

- Both kinds of flows have the same loss recovery, so timeouts do not favour either and throughput
  ratios follow the windows; item "figure_1" has three recoveries, item "estimators" other rate
  estimates. TCP Reno in sections V-B and V-C has Reno's recovery, as in Figure 1
  (a).
- A packet has 1500 bytes on the wire: BDPs of 375 and 133 packets correspond to 12 kb per packet.
- Flows start at random times in the first 5 s. Throughput ("in the steady state") is measured in
  the last 60 % of a run: with two flows (section V-A) the windows need the first 40 % to converge.
- The duration depends on the length of the congestion-avoidance cycle. With two flows at 50 Mb/s:
  200 s for buffers up to one BDP (cycles of 25 s), 300 s for larger ones. Figure 3: 100 s (cycles
  of 2 to 18 s). Figure 5: three cycles, at least 100 s and at most 200 s; a cycle of two flows at
  100 Mb/s takes five minutes there.
- Section V-B has the access links of section V-A, 100 Mb/s and 5 ms.
- In section V-C flow i of N has the RTT 10 + 240 i / N ms, which gives the published range. Kinds
  alternate, and the first kind alternates with the seed. Access links are fast.
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
"""Seeds of the start times."""

JITTER = 5.0
"""Interval of random start times, s."""

SETTLED = 0.4
"""Share of a run after which throughput is measured."""

RENO = "reno"
PROPOSALS = {"Westwood": "westwood_re", "Proposal": "westwood_rbe"}
"""Controllers by the paper's names; Westwood uses the rate estimate RE (section II)."""

LEGACY = {"Reno": "reno", "NewReno": "newreno", "SACK": "sack"}
"""Loss recovery of both flows, by panel of Figure 1."""

BUFFERS = {"BDP/4": 1 / 4, "BDP/2": 1 / 2, "BDP": 1.0, "2 BDP": 2.0}
"""Buffers of section V-A, in bandwidth-delay products."""

LAW_BUFFERS = (1 / 8, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0, 1.5, 2.0)
"""Buffers for which the equations are compared with simulations, in bandwidth-delay products."""


class Path(NamedTuple):
    """A dumbbell: rate of the bottleneck, bit/s; its propagation delay, s; base RTT, s."""

    rate: float
    delay: float
    rtt: float

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product, packets."""
        return self.rate * self.rtt / (8 * PACKET)


ACCESS: dict[str, Any] = {"access_rate": 100e6, "access_delay": 5e-3}
PAIRS = Path(50e6, 0.035, 0.090)
"""Sections V-A and V-B, Figures 1 and 4."""

PAIR_BUFFERS = {name: int(b * PAIRS.bdp) for name, b in BUFFERS.items()}
"""Packets."""

CROWDS = Path(20e6, 0.030, 0.080)
"""Section V-B, Figure 3."""


def starts(seed: int, flows: int) -> np.ndarray:
    """Random start times, s."""
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
        seed: seed of the start times.
        duration: s.
        recovery: loss recovery of all flows.
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
    """Flows on the path of section V-A with a buffer of `b` bandwidth-delay products."""
    duration = 200.0 if b <= 1 else 300.0
    return dumbbell(PAIRS, kinds, int(b * PAIRS.bdp), seed, duration, recovery)


def pair(kind: str, b: float, seed: int, recovery: str = "reno") -> tc.Scenario:
    """Section V-A: a flow of a kind and a Reno flow."""
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


# A flow alone in the fluid model, by (name, b).


def reduction_runs() -> dict[Any, tc.Scenario]:
    return {
        (name, b): of_pair([kind], b, 1, "sack").replace(interval=0.05)
        for name, kind in PROPOSALS.items()
        for b in LAW_BUFFERS
    }


# Equations 4 to 7, by (b, seed).


def law_runs() -> dict[Any, tc.Scenario]:
    kind, recovery = PROPOSALS["Westwood"], LEGACY["SACK"]
    return {(b, seed): pair(kind, b, seed, recovery) for b in LAW_BUFFERS for seed in SEEDS}


# Figures 3 and 4, by (kind, buffer in packets, flows, seed); kind "reno" is the base case.

COUNTS = (2, 10, 20)
"""N of Figure 3; the paper gives only the first."""

CROWD_BUFFERS = {"BDP/2": 67, "2 BDP": 266}
"""Buffers of Figure 3, packets."""


def half(kind: str, n: int) -> list[str]:
    """Kinds of `n` flows: alternately a kind and Reno."""
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
"""Classes of RTTs: above the first and up to the second value, s. With six or more flows each class
has flows of both kinds."""

NEAR = 1e-3
"""s, propagation delay of the bottleneck and of the receivers' links."""


def round_trips(n: int) -> np.ndarray:
    """Base RTTs of `n` flows, s."""
    return (10 + 240 * np.arange(1, n + 1) / n) / 1e3


def cycle(rate: float, buffer: int, trips: np.ndarray) -> float:
    """Cycle length of Reno flows with synchronized losses, s.

    After a loss the flows must add half of the packets in flight at a full buffer. Each flow adds
    one packet per RTT, which is on average three quarters of the RTT with a full buffer.

    Args:
        rate: bit/s.
        buffer: packets.
        trips: base RTT of each flow, s.
    """
    speed = rate / (8 * PACKET)
    full = float(trips.mean()) + buffer / speed
    return speed * full / 2 / len(trips) * 3 / 4 * full


def unlike(kind: str, link: str, n: int, seed: int) -> tc.Scenario:
    """Section V-C: `n` flows with different RTTs, every other one Reno."""
    rate, buffer = RTT_LINKS[link]
    trips = round_trips(n)
    kinds = half(kind, n)[:: -1 if seed % 2 else 1]
    flows = [
        tc.Flow(
            controller,
            start=start,
            recovery="reno",
            packet_size=PACKET,
            access_delay=rtt / 2 - 2 * NEAR,
            transport=tc.Transport.ns2(),
        )
        for controller, start, rtt in zip(kinds, starts(seed, n), trips, strict=True)
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
    """Scenarios of Figure 5 with both kinds in each class of RTTs."""
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
    """Members of the Westwood family with a Reno flow, both with SACK, by (kind, buffer, seed)."""
    return {
        (kind, column, seed): pair(kind, BUFFERS[column], seed, LEGACY["SACK"])
        for kind in FAMILY
        for column in ("BDP/2", "BDP")
        for seed in SEEDS
    }
