"""4.3BSD-Reno's loss recovery: three duplicate ACKs always tell a loss.

Source: 4.3BSD-Reno, tcp_input.c; S. Floyd, "TCP and successive fast retransmits", LBL, 1995;
Brakmo and Peterson 1995, section III-A. As Reno's, but nothing keeps the next hole of a window from
cutting it once more, nor echoes of retransmissions that were not needed from being taken for a
loss. The fluid model lets it repair two losses of a window, and cuts once.
"""

import math

from tcpcc.definition import register
from tcpcc.transport.recovery.classic import fast_recovery, leave, send
from tcpcc.transport.recovery.loss_recovery import Recovery


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        leave(f, f.now, f.ack)
    else:
        f.recover = min(f.recover, f.high_ack - 1)  # no loss was noticed that this one could be
        fast_recovery(f, f.now)
    send(f, f.now, math.inf)


register(
    Recovery(
        "reno-bsd",
        "Reno's as in 4.3BSD: a next hole of the same window cuts it once more",
        on_ack,
        source="4.3BSD-Reno; Floyd 1995",
        holes_at_most=2,
    )
)
