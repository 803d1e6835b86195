"""The scenarios of the L4S paper: one Prague flow beside one other flow at 100 Mb/s.

The settings are those of the authors' repository (fatihsarpkaya/L4S, single_bottleneck.ipynb):

- ``netem`` delays both directions by 5 ms before the bottleneck; ``htb`` shapes to 100 Mb/s and
  counts Ethernet frames, 1514 bytes with 1448 of payload. Throughput is iperf3's, of payload, over
  all of 60 s.
- The limit is n BDP: ``bfifo`` in bytes, the others n BDP/1500 + 1 packets, without the one being
  sent. DualPI2 has its default of 10,000 packets whatever n is.
- "FIFO+ECN" is ``fq`` with one queue (``orphan_mask 0``) and ``ce_threshold 5ms``, "FQ+ECN" the
  same with a queue per flow. "CoDel+ECN" and "FQ-CoDel" have ``target 5ms interval 100ms ecn``,
  DualPI2 ``target 5ms`` and otherwise Linux' defaults.
- The hosts run the L4STeam's kernel. Prague has AccECN and no fallback; CUBIC has classic ECN or
  none, BBR none. Network cards do not segment, but the kernel sends pieces (GSO) of the packets of
  1/1024 s, at least 2; Prague's are those of 1/4096 s, at least 2.

The paper does not give the time between the two starts, which two computers make at the same
moment. Here starts are spread over `JITTER`, at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tcpcc as tc
from experiments.seeds import seeds_up_to

RATE = 100e6  # bit/s
BASE_RTT = 0.01  # s
THRESHOLD = 0.005  # s; marking threshold or target of every AQM
FRAME, HEADERS = 1514, 66  # bytes
DURATION = 60.0  # s

BUFFERS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Buffers in bandwidth-delay products."""

BOTTLENECKS = ("FIFO", "FIFO+ECN", "CoDel+ECN", "FQ+ECN", "FQ-CoDel", "DualPI2")
RIVALS = ("CUBIC", "CUBIC ECN", "BBRv1")

SEEDS = seeds_up_to(10)

JITTER = 0.1
"""s; ten base RTTs."""


def queue(bottleneck: str, threshold: float) -> Any:
    """The queue discipline with a marking threshold or target of `threshold` s."""
    codel = {"target": threshold, "ecn": True, "mtu": FRAME}
    dualpi2 = {"target": threshold, "min_thresh": 0.001, "range": 0, "mtu": FRAME}
    return {
        "FIFO": tc.DropTail(),
        "FIFO+ECN": tc.FQ(flows=1, ce_threshold=threshold),
        "CoDel+ECN": tc.CoDel(**codel),
        "FQ+ECN": tc.FQ(ce_threshold=threshold),
        "FQ-CoDel": tc.FQCoDel(**codel),
        "DualPI2": tc.DualPI2(**dualpi2),
    }[bottleneck]


def room(bottleneck: str, limit: float) -> str | int:
    """The size of a buffer of `limit` bytes, with the packet being sent."""
    if bottleneck == "FIFO":
        return f"{int(limit) + FRAME} B"
    return 1 + (10_000 if bottleneck == "DualPI2" else int(limit / 1500) + 1)


def linux(control: str, transport: dict[str, Any], **settings: Any) -> tc.Flow:
    wire = {"packet_size": FRAME, "header": HEADERS, "ack_size": HEADERS, "jitter": JITTER}
    return tc.Flow.linux(control, transport=transport, **wire, **settings)


def rival_flow(rival: str) -> tc.Flow:
    """The other flow."""
    if rival == "BBRv1":
        return linux("bbr", {})
    return linux("cubic", {"ecn": "classic" if rival == "CUBIC ECN" else "off"})


def beside(
    bottleneck: str,
    rival: str,
    buffer: float,
    seed: int,
    *,
    rate: float = RATE,
    base_rtt: float = BASE_RTT,
    threshold: float = THRESHOLD,
) -> tc.Scenario:
    """A Prague flow and another flow.

    Args:
        bottleneck: one of `BOTTLENECKS`.
        rival: one of `RIVALS`.
        buffer: in bandwidth-delay products.
        rate: of the link, bit/s.
        base_rtt: s.
        threshold: marking threshold or target, s.
    """
    size = room(bottleneck, buffer * rate * base_rtt / 8)
    net = tc.dumbbell(rate, base_rtt / 2, size, queue=queue(bottleneck, threshold))
    flows = [linux("prague", {}), rival_flow(rival)]
    return tc.Scenario(net, flows, duration=DURATION, seed=seed)


def runs_with(rivals: Sequence[str]) -> dict[Any, tc.Scenario]:
    return {
        (bottleneck, rival, buffer, seed): beside(bottleneck, rival, buffer, seed)
        for bottleneck in BOTTLENECKS
        for rival in rivals
        for buffer in BUFFERS
        for seed in SEEDS
    }


def all_runs() -> dict[Any, tc.Scenario]:
    return runs_with(RIVALS)


def cubic_runs() -> dict[Any, tc.Scenario]:
    return runs_with(("CUBIC",))
