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
  1/1024 s, at least 2; Prague's are those of 1/4096 s, at least 1. Kernels older than 6.6 do not
  acknowledge the last packet of a piece at once, and a part of a piece waits for up to half an RTT.

The paper does not give the time between the two starts, which two computers make at the same
moment. Here starts are spread over `JITTER`, at random.

The scenarios of RFC 9332's claims (`DUALQ_RATES` and below) have DualPI2 with the RFC's parameters
and Linux' packets. The RFC's experiments (section 1.4) had links of up to 200 Mb/s and base RTTs of
up to 100 ms; the rates between are those of De Schepper et al., "DualQ Coupled AQM", 2022.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tcpcc as tc
from experiments.seeds import seeds_up_to
from tcpcc.definition import Param, State

RATE = 100e6  # bit/s
BASE_RTT = 0.01  # s
THRESHOLD = 0.005  # s; marking threshold or target of every AQM
ETHERNET = 14  # bytes of its header, which htb counts
FRAME = tc.Flow.linux("cubic").packet_size + ETHERNET
DURATION = 60.0  # s

BUFFERS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Buffers in bandwidth-delay products."""

BOTTLENECKS = ("FIFO", "FIFO+ECN", "CoDel+ECN", "FQ+ECN", "FQ-CoDel", "DualPI2")
RIVALS = ("CUBIC", "CUBIC ECN", "BBRv1")

SEEDS = seeds_up_to(5)

JITTER = 0.1
"""s; ten base RTTs."""


def queue(bottleneck: str, threshold: float) -> Any:
    """The queue discipline with a marking threshold or target of `threshold` s."""
    codel = {"target": threshold, "ecn": True, "mtu": FRAME}
    dualpi2 = {"target": threshold, "min_thresh": 0.001, "range": 0, "mtu": FRAME}
    return {
        "FIFO": tc.queues.DropTail(),
        "FIFO+ECN": tc.queues.FQ(flows=1, ce_threshold=threshold),
        "CoDel+ECN": tc.queues.CoDel(**codel),
        "FQ+ECN": tc.queues.FQ(ce_threshold=threshold),
        "FQ-CoDel": tc.queues.FQCoDel(**codel),
        "DualPI2": tc.queues.DualPI2(**dualpi2),
    }[bottleneck]


def room(bottleneck: str, limit: float) -> str | int:
    """The size of a buffer of `limit` bytes, with the packet being sent."""
    if bottleneck == "FIFO":
        return f"{int(limit) + FRAME} B"
    return 1 + (10_000 if bottleneck == "DualPI2" else int(limit / 1500) + 1)


def linux(control: str, transport: dict[str, Any], **settings: Any) -> tc.Flow:
    """A flow between the test-bed's hosts, on Ethernet."""
    plain = tc.Flow.linux(control)
    sizes = {
        name: getattr(plain, name) + ETHERNET for name in ("packet_size", "header", "ack_size")
    }
    host = {"push_acks": False, "piece_wait": math.inf, **transport}
    return tc.Flow.linux(control, transport=host, jitter=JITTER, **sizes, **settings)


def rival_flow(rival: str) -> tc.Flow:
    """The other flow."""
    if rival == "BBRv1":
        return linux("bbr", {})
    return linux("cubic", {"ecn": "classic" if rival == "CUBIC ECN" else "off"})


def network(
    bottleneck: str,
    buffer: float,
    *,
    rate: float = RATE,
    base_rtt: float = BASE_RTT,
    threshold: float = THRESHOLD,
) -> tc.Network:
    """The path; arguments as for `beside`."""
    size = room(bottleneck, buffer * rate * base_rtt / 8)
    return tc.dumbbell(rate, base_rtt / 2, size, queue=queue(bottleneck, threshold))


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
    net = network(bottleneck, buffer, rate=rate, base_rtt=base_rtt, threshold=threshold)
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


# RFC 9332

DUALQ_RATES = (4, 12, 40, 120, 200)  # Mb/s
DUALQ_RTTS = (5, 10, 20, 50, 100)  # ms
PAIR_RATE = 40  # Mb/s
PAIRS = (("Prague", "Reno"), ("DCTCP", "CUBIC"), ("DCTCP", "Reno"))
WARM_UP = 15.0  # s, without which rates and the delay of the classic queue are measured
OVERLOADED = 10e6  # bit/s, the link in overload
UNRESPONSIVE = {"classic": (0.5e6, 12e6), "L4S": (12e6, 2e6)}
"""Rates in overload, bit/s, of L4S and classic traffic, by the kind that exceeds the link."""


def dualq(rate: float, rtt: float, flows: Sequence[Any], seed: int) -> tc.Scenario:
    """Flows through DualPI2 with the RFC's parameters; rate in bit/s, base RTT in s."""
    net = tc.dumbbell(rate, rtt / 2, 10_000, queue=tc.queues.DualPI2())
    return tc.Scenario(net, flows, duration=DURATION, interval=0.02, seed=seed)


def pair(
    scalable: str,
    classic: str,
    rate: float,
    rtt: float,
    seed: int,
    count: int = 1,
    **transport: Any,
) -> tc.Scenario:
    """`count` L4S flows beside as many classic ones; rate in Mb/s, base RTT in ms.

    `transport` replaces settings of the L4S flows.
    """
    ecn = {"ecn": "l4s", **transport}
    flows = [
        tc.Flow.linux(scalable.lower(), count=count, jitter=JITTER, transport=ecn),
        tc.Flow.linux(classic.lower(), count=count, jitter=JITTER),
    ]
    return dualq(rate * 1e6, rtt / 1e3, flows, seed)


def dualq_runs() -> dict[Any, tc.Scenario]:
    return {
        (rate, rtt, seed): pair("Prague", "CUBIC", rate, rtt, seed)
        for rate in DUALQ_RATES
        for rtt in DUALQ_RTTS
        for seed in SEEDS
    }


def pair_runs() -> dict[Any, tc.Scenario]:
    return {
        (scalable, classic, rtt, seed): pair(scalable, classic, PAIR_RATE, rtt, seed)
        for scalable, classic in PAIRS
        for rtt in DUALQ_RTTS
        for seed in SEEDS
    }


def _keep_sending(s: Any, p: Any, a: Any) -> None:
    s.cwnd = 1e6
    s.pacing_rate = p.rate


UNRESPONSIVE_SENDER = tc.Controller(
    name="unresponsive",
    summary="a constant rate whatever is marked or dropped",
    on_open=_keep_sending,
    on_ack=_keep_sending,
    on_loss=_keep_sending,
    on_timeout=_keep_sending,
    params={"rate": Param(1, "packets/s", "rate", 0)},
    state={"pacing_rate": State(math.inf, "packets/s", "")},
)


def overload(l4s: float, classic: float, seed: int) -> tc.Scenario:
    """Unresponsive L4S and classic traffic with these rates, bit/s."""
    size = 1500
    sender = tc.Flow(
        UNRESPONSIVE_SENDER, params={"rate": l4s / 8 / size}, packet_size=size,
        recovery="rack-tlp", transport={"ecn": "l4s"},
    )  # fmt: skip
    return dualq(OVERLOADED, BASE_RTT, [sender, tc.CBR(classic, packet_size=size)], seed)


def overload_runs() -> dict[Any, tc.Scenario]:
    return {
        (kind, seed): overload(*rates, seed)
        for kind, rates in UNRESPONSIVE.items()
        for seed in SEEDS
    }
