"""Reno's loss recovery: fast retransmit, and a window inflated until the first new ACK.

Source: RFC 5681, 3.2. There is no second fast retransmit until everything that was outstanding at
the first is acknowledged (RFC 6582's `recover`; ns-2's ``bugFix_``).
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import duplicate_ack, fast_recovery, leave, send_allowed
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, duplicate_ack(f, f.now))
    send_allowed(f, f.now, math.inf)


register(
    Recovery(
        "reno",
        "fast recovery until the first new ACK, once per window (RFC 6582's `recover`)",
        on_ack,
        source="RFC 5681",
        law="one_a_window",
        coasts=True,
    )
)
