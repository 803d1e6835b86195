"""Loss recovery with selective acknowledgements and proportional rate reduction, as in Linux.

Source: RFC 6937, slow-start reduction bound; the scoreboard is that of :mod:`.sack`.

During recovery not pipe and the window decide what an ACK lets out, but what has been delivered
since the loss. Of a window that falls from F to ssthresh a share ssthresh/F of what is delivered is
sent, evenly, where RFC 6675 waits for half a round trip and then sends two packets per ACK; these
bursts overflow a queue that is still full, and a repair that is lost again waits for the timer.
`cwnd`, as recorded, is ssthresh during recovery, not the window that this comes to.

With ``f.gradual_marks`` the answer to a mark is such a reduction too, until what was outstanding is
acknowledged (Linux, net/ipv4/tcp_input.c, ``tcp_enter_cwr``; RFC 3168, 6.1.2, asks for no pace).
"""

import math

from tcpcc.definition import State, register
from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import RECOVERY, window_at
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.recovery.sack import SCOREBOARD, give_up, may_send, send, take_in
from tcpcc.transport.rules import is_answering_mark, tell_delivery

REDUCTION = {
    "known_at_loss": State(0, "packets", "known to have arrived before it", kind=int),
    "flight_at_loss": State(1, "packets", "outstanding at the loss", kind=int),
    "prr_out": State(0, "packets", "sent since the loss", kind=int),
    "answered": State(-1, "", "mark_edge of the last mark answered gradually", kind=int),
}


def begin_answer(s, f):
    """An ACK that tells of a mark begins a reduction, of what was outstanding before it."""
    if f.mark_edge != s.answered and is_answering_mark(f):
        s.answered = f.mark_edge
        s.flight_at_loss = max(f.next_seq - (f.high_ack + 1), 1)
        s.known_at_loss = s.known
        s.prr_out = 0


def may_go(s, f, delivered):
    """Packets that an ACK of `delivered` packets lets out during a proportional reduction."""
    ssthresh = max(math.floor(window_at(f.state, 0).cwnd), 1.0)
    prr_delivered = s.known - s.known_at_loss
    if s.pipe > ssthresh:
        share = prr_delivered * ssthresh / s.flight_at_loss
        return max(math.ceil(share) - s.prr_out, 0.0)
    return min(ssthresh - s.pipe, max(prr_delivered - s.prr_out, delivered) + 1.0)


def on_ack(s, p, f):
    known = s.known
    burst = f.max_burst
    begin_answer(s, f)
    if take_in(s, f, f.now, f.ack):
        s.flight_at_loss = f.next_seq - (f.high_ack + 1)
        s.known_at_loss = s.known - 1
        s.prr_out = 1
        known = s.known  # the first repair is what this ACK lets out
    if f.delivery != 0:
        tell_delivery(f, f.now)
    if is_reducing(f):
        burst = min(burst, may_go(s, f, s.known - known))
    if may_send(f):
        s.prr_out += send(s, f, f.now, burst, is_reducing(f))


@compiled
def is_reducing(f):
    """In recovery, or after a mark, unless the controller decides itself what that comes to."""
    return f.owns_recovery == 0 and (f.phase == RECOVERY or is_answering_mark(f))


def resume(s, p, f):
    if may_send(f):
        s.prr_out += send(s, f, f.now, f.burst, is_reducing(f))


register(
    Recovery(
        "sack-prr",
        "the same with proportional rate reduction (RFC 6937), as Linux",
        on_ack,
        on_timeout=give_up,
        resume=resume,
        state=SCOREBOARD | REDUCTION,
        source="RFC 6937",
        selective=True,
        limited_transmit=True,
        proportional=True,
        holes_per_round=math.inf,
    )
)
