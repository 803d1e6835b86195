"""Tahoe's loss recovery: after the third duplicate ACK everything from the hole on is resent.

Source: V. Jacobson 1988; RFC 5681, 3.1 and 3.2, without fast recovery.
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import begin_recovery, duplicate_ack, leave, send_allowed
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    elif duplicate_ack(f, f.now):
        begin_recovery(f, f.now)
        f.next_seq = f.high_ack + 1
    send_allowed(f, f.now, math.inf)


register(
    Recovery(
        "tahoe",
        "go-back-N in slow start",
        on_ack,
        source="Jacobson 1988; RFC 5681",
        law="go_back_n",
        coasts=True,
    )
)
