"""Limited slow start: at most about half of max_ssthresh more per round trip.

Source: S. Floyd, "Limited slow-start for TCP with large congestion windows", RFC 3742, 2004.

In slow start, per newly acknowledged packet (W = cwnd, in packets)

(1)  W <= max_ssthresh:  W <- W + 1
(2)  W > max_ssthresh:   W <- W + 1/K,  K = floor(W / (max_ssthresh / 2))

so that in large windows W grows by max_ssthresh/2 per round trip (by up to 1.5 times as much where
K has just not risen). A controller that grows more slowly by itself is left alone.
"""

import math

from tcpcc.definition import Param, register
from tcpcc.slow_start.start_up import StartUp


def on_ack(s, p, ack, before):
    if before > p.max_ssthresh:
        k = math.floor(before / (p.max_ssthresh / 2))
        s.cwnd = min(s.cwnd, before + ack.acked / k)  # (2)


limited = register(
    StartUp(
        name="limited",
        summary="at most about max_ssthresh/2 more per round trip",
        source="RFC 3742",
        on_ack=on_ack,
        params={"max_ssthresh": Param(100, "packets", "beyond which it holds (RFC 3742)", 1)},
    )
)
