"""Reno's loss recovery by the letter of RFC 5681: fast retransmit as often as it is called for.

Source: RFC 5681, 3.2; 4.3BSD-Reno, tcp_input.c, as in S. Floyd, "TCP and successive fast
retransmits", LBL, 1995. Three duplicate ACKs always bring a fast retransmit. Two losses in a window
then cut it twice, where :mod:`.fast_recovery` may have to wait for the timer; and the duplicates
that follow a timeout can bring one that is not needed, which is what RFC 6582's `recover` is for.
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import count_duplicate, fast_recovery, leave, send
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, count_duplicate(f, f.now))
    send(f, f.now, math.inf)


register(
    Recovery(
        "reno-rfc5681",
        "the same by RFC 5681 alone: fast retransmit as often as three duplicate ACKs come",
        on_ack,
        source="RFC 5681; 4.3BSD-Reno",
        careful=False,
        holes_at_most=1,
    )
)
