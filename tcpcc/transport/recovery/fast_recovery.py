"""Reno's loss recovery: fast retransmit, and a window inflated until the first new ACK.

Source: RFC 5681, 3.2. No second fast retransmit before all that was outstanding at the first is
acknowledged (RFC 6582's `recover`, as ns-2's ``bugFix_``).
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import duplicate_ack, fast_recovery, leave, send
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, duplicate_ack(f, f.now))
    send(f, f.now, math.inf)


register(
    Recovery(
        "reno",
        "fast recovery until the first new ACK, once in a window (RFC 6582's `recover`)",
        on_ack,
        source="RFC 5681",
        holes_at_most=1,
    )
)
