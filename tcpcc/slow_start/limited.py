"""Limited slow start: in large windows W grows by about max_ssthresh/2 per round trip.

Source: S. Floyd, "Limited slow-start for TCP with large congestion windows", RFC 3742, 2004.

In slow start, per newly acknowledged packet (W = cwnd, in packets)

(1)  W <= max_ssthresh:  W <- W + 1
(2)  W > max_ssthresh:   W <- W + 1/K,  K = floor(W / (max_ssthresh / 2))

In large windows W grows by max_ssthresh/2 per round trip (just before K rises, by up to 1.5 times
as much). A controller that grows more slowly is not changed.
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
        summary="in large windows slow start adds about max_ssthresh/2 per round trip",
        source="RFC 3742",
        on_ack=on_ack,
        params={
            "max_ssthresh": Param(
                100, "packets", "window above which growth is limited (RFC 3742)", 1
            )
        },
    )
)
