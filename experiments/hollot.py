"""The example of Hollot, Misra, Towsley and Gong (INFOCOM 2001), for tests and a notebook.

C = 3750 packets/s of 500 bytes, N = 60, R = 0.246 s, RED with dp/dq = 1.86e-4.
"""

from __future__ import annotations

from typing import Any

import tcpcc as tc

C, SLOPE, FIRST_QUEUE = 3750.0, 1.86e-4, 172.5
SLOW, FAST = 1.33e-6, 0.002  # weights of the average: K = 0.005/s and 7.5/s


def hmtg(
    weight: float,
    flows: int = 60,
    rtt: float = 0.246,
    queue: float = FIRST_QUEUE,
    duration: float = 200,
    ecn: bool = False,
    **settings: Any,
) -> tc.Scenario:
    """Their network with the given RED weight; the equilibrium queue is `queue` packets.

    With `ecn` packets are marked, as in their model, instead of dropped.
    """
    p = 2 / (rtt * C / flows) ** 2
    low = queue - p / SLOPE  # RED with uniform spacing drops 2 p_b of the packets
    red = tc.queues.RED(
        min_thresh=low, max_thresh=low + 550, max_p=275 * SLOPE, weight=weight, wait=False,
        mean_packet=500, ecn=ecn,
    )  # fmt: skip
    return behind(red, flows, rtt, queue, duration, ecn, **settings)


def behind(
    discipline: Any,
    flows: int = 60,
    rtt: float = 0.246,
    queue: float = FIRST_QUEUE,
    duration: float = 200,
    ecn: bool = False,
    **settings: Any,
) -> tc.Scenario:
    """Their flows with another queue discipline; `rtt` includes a queue of `queue` packets."""
    rate = C * 500 * 8
    delay = (rtt - queue / C - 8 * 540 / rate) / 2
    net = tc.dumbbell(rate, delay, 2000, queue=discipline)
    flow = tc.Flow(
        "reno",
        recovery="reno",
        count=flows,
        packet_size=500,
        jitter=settings.pop("jitter", 0),
        transport=tc.Transport.ns2(ecn="classic" if ecn else "off"),
    )
    return tc.Scenario(net, [flow], duration=duration, interval=0.02, **settings)
