"""Reno's loss recovery: fast retransmit, and a window inflated until the first new ACK.

Source: RFC 5681, 3.2. There is no second fast retransmit until everything that was outstanding at
the first is acknowledged (RFC 6582's `recover`; ns-2's ``bugFix_``).

``reno-rfc5681`` follows RFC 5681 alone, as 4.3BSD-Reno, tcp_input.c, in S. Floyd, "TCP and
successive fast retransmits", LBL, 1995. Two losses in a window therefore cut the window twice,
where ``reno`` may have to wait for the timer. Duplicate ACKs after a timeout can cause an unneeded
fast retransmit; RFC 6582's `recover` prevents it.
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import (
    count_duplicate,
    duplicate_ack,
    fast_recovery,
    leave,
    send_allowed,
)
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, duplicate_ack(f, f.now))
    send_allowed(f, f.now, math.inf)


def on_ack_rfc5681(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, count_duplicate(f, f.now))
    send_allowed(f, f.now, math.inf)


reno = register(
    Recovery(
        "reno",
        "fast recovery until the first new ACK, once per window (RFC 6582's `recover`)",
        on_ack,
        source="RFC 5681",
        law="one_a_window",
        coasts=True,
    )
)
register(
    reno.variant(
        name="reno-rfc5681",
        summary="Reno by RFC 5681 alone: three duplicate ACKs always cause a fast retransmit",
        on_ack=on_ack_rfc5681,
        source="RFC 5681; 4.3BSD-Reno",
        law="one_hole",
    )
)
