"""The test-bed's experiments as scenarios: Prague flows beside others at 100 Mb/s, base RTT 10 ms.

The path, its queue disciplines and the hosts are those of the study l4s (the same authors' notebook
of 2024). What is new here:

- BBRv3 is Linux 6.4 with Google's version 3. The hosts of CUBIC have Linux 5.13.
- Mixtures: n Prague flows beside m CUBIC flows with classic ECN, each kind from its own host.
- Throughput is the sum of a kind's flows over all of 60 s, the RTT that of its first flow.
"""

from __future__ import annotations

from typing import NamedTuple

import tcpcc as tc
from experiments.l4s import scenarios as l4s
from experiments.seeds import seeds_up_to

SEEDS = {"packet": seeds_up_to(10), "fluid": seeds_up_to(10)}

PAIRS = ("BBRv3", "CUBIC")
"""Rivals of one Prague flow, without ECN."""
PAIR_BOTTLENECKS = ("FIFO", "CoDel+ECN", "FQ-CoDel", "DualPI2")

NUMBERS = ((1, 2), (1, 10), (2, 1), (10, 1), (5, 5), (10, 10))
"""Numbers of Prague and of CUBIC flows."""
BOTTLENECKS = ("FIFO", "FIFO+ECN", "CoDel+ECN", "FQ-CoDel", "DualPI2")

RIVALS = {"BBRv3": ("bbr3", "off"), "CUBIC": ("cubic", "off"), "CUBIC ECN": ("cubic", "classic")}
"""Name in the kernel and ECN, by rival."""


class Mixture(NamedTuple):
    """Prague flows beside other flows.

    Args:
        prague, others: number of flows.
        rival: one of `RIVALS`.
        bottleneck: one of `experiments.l4s.scenarios.BOTTLENECKS`.
        buffer: in bandwidth-delay products.
    """

    prague: int
    others: int
    rival: str
    bottleneck: str
    buffer: float

    def scenario(self, seed: int, rival: tc.Flow | None = None) -> tc.Scenario:
        """The experiment; `rival` replaces one of the other flows."""
        control, ecn = RIVALS[self.rival]
        other = rival or l4s.linux(control, {"ecn": ecn})
        flows = [
            l4s.linux("prague", {}, count=self.prague, group="prague"),
            other.replace(count=self.others, group="rival"),
        ]
        net = l4s.network(self.bottleneck, self.buffer)
        return tc.Scenario(net, flows, duration=l4s.DURATION, seed=seed)


def mixtures() -> list[Mixture]:
    """The cells with published numbers."""
    pairs = [
        Mixture(1, 1, rival, bottleneck, buffer)
        for rival in PAIRS
        for bottleneck in PAIR_BOTTLENECKS
        for buffer in l4s.BUFFERS
    ]
    return pairs + [
        Mixture(*numbers, "CUBIC ECN", bottleneck, buffer)
        for numbers in NUMBERS
        for bottleneck in BOTTLENECKS
        for buffer in l4s.BUFFERS
    ]
