"""NewReno's loss recovery: a partial ACK retransmits the next hole and does not end recovery.

Source: RFC 6582. With `impatient` only the first partial ACK restarts the retransmission timer
(section 4: "impatient" and "slow-but-steady"). With the transport's `partial_deflation` a partial
ACK of n packets takes n - 1 off the inflated window.

As in ns-2, a sender in recovery sends at most two packets per ACK, and cwnd stays at its deflated
value: RFC 6582 would set it from ssthresh at the full ACK, here the flow returns to ssthresh in
slow start.
"""

from tcpcc.definition import Flag, State, register
from tcpcc.transport.flow_record import RECOVERY, window_at
from tcpcc.transport.output import emit
from tcpcc.transport.recovery.classic import (
    duplicate_ack,
    fast_recovery,
    leave,
    partial_ack,
    send_allowed,
)
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.rto import restart_timer

BURST = 2.0  # packets; the most that one ACK sends in recovery


def repair_next(s, p, f, now, ack):
    """A partial ACK: deflate the window and retransmit the next hole."""
    packets = ack - f.high_ack
    if f.deflate == 0:
        f.inflation = 0
    elif f.inflation > packets:
        f.inflation -= packets - 1
    else:
        w = window_at(f.state, 0)
        w.cwnd = max(w.cwnd - (packets - f.inflation), 1.0)
        f.inflation = 1
    if not p.impatient or s.partial == 0:
        s.partial = 1
        restart_timer(f, now)
    partial_ack(f, ack)
    emit(f, ack + 1, now)


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        if f.phase == RECOVERY and f.ack < f.recover:
            repair_next(s, p, f, f.now, f.ack)
        else:
            s.partial = 0
            leave(f, f.now, f.ack)
    else:
        fast_recovery(f, f.now, duplicate_ack(f, f.now))
    send_allowed(f, f.now, BURST)


FIRST = "only the first partial ACK restarts the timer"

newreno = register(
    Recovery(
        "newreno",
        f"impatient NewReno (RFC 6582): {FIRST}",
        on_ack,
        params={"impatient": Flag(True, FIRST)},
        state={"partial": State(0, "0 or 1", "a partial ACK has arrived in this recovery")},
        source="RFC 6582",
        law="partial_acks",
        coasts=True,
    )
)
register(
    newreno.variant(
        name="newreno-steady",
        summary="slow-but-steady NewReno (RFC 6582): each partial ACK restarts the timer",
        params={"impatient": Flag(False, FIRST)},
    )
)
