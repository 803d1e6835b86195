"""Reno's loss recovery by RFC 5681 alone: three duplicate ACKs always cause a fast retransmit.

Source: RFC 5681, 3.2; 4.3BSD-Reno, tcp_input.c, as in S. Floyd, "TCP and successive fast
retransmits", LBL, 1995. Two losses in a window therefore cut the window twice, where
:mod:`.fast_recovery` may have to wait for the timer. Duplicate ACKs after a timeout can cause an
unneeded fast retransmit; RFC 6582's `recover` prevents it.
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import count_duplicate, fast_recovery, leave, send_allowed
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, count_duplicate(f, f.now))
    send_allowed(f, f.now, math.inf)


register(
    Recovery(
        "reno-rfc5681",
        "Reno by RFC 5681 alone: three duplicate ACKs always cause a fast retransmit",
        on_ack,
        source="RFC 5681; 4.3BSD-Reno",
        law="one_hole",
        coasts=True,
    )
)
