"""TCP NewReno: Reno's window under NewReno's loss recovery.

Source: J. Hoe, "Start-up dynamics of TCP's congestion control and avoidance schemes", MIT 1995;
RFC 6582. The window rules (1)-(4) are Reno's; what is new is what the transport does with a
partial ACK, so this file only chooses the recovery.

The default recovery ``newreno`` is the impatient variant (the first partial ACK alone restarts the
retransmission timer), ns-2's default; ``newreno-steady`` is the slow-but-steady one (each restarts
it). On large windows the two differ by a factor: name the one that a result was made with.
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.reno import PARAMS, on_ack, on_loss, on_timeout
from tcpcc.definition import register

newreno = register(
    Controller(
        name="newreno",
        summary="Reno's window, recovery that survives several losses per window",
        source="Hoe 1995; RFC 6582",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PARAMS,
        recovery="newreno",
    )
)
