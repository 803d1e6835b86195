"""Loss recovery with selective acknowledgements and proportional rate reduction.

Source: RFC 9937, which obsoletes RFC 6937; the scoreboard is that of :mod:`.sack`. RFC 6937's bound
(PRR-SSRB) adds one packet for every ACK; RFC 9937 and Linux add it only if the cumulative ACK
advances and no new loss is found (SafeACK). ``sack-prr-6937`` uses RFC 6937's bound, and discards
all SACK information after a timeout as RFC 2018 advises and Linux did in 2007; the Fusion paper's
scenarios use it.

During recovery the number of packets delivered since the loss, not pipe and the window, decides how
many packets an ACK sends. If the window falls from F to ssthresh, a share ssthresh/F of the
delivered packets is sent, evenly spaced. RFC 6675 waits for half a round trip and then sends two
packets per ACK; these bursts overflow a queue that is still full, and a retransmission that is lost
waits for the timer. The recorded `cwnd` is ssthresh during recovery, not the effective window.

Differences from RFC 9937
    RecoverFS includes packets that were selectively acknowledged before (6.1). The ACK that begins
    a recovery counts as one delivered packet, even if it makes up for lost ACKs. With RACK the
    first retransmission waits for the next ACK if pipe equals ssthresh (6.2).

With ``f.gradual_marks`` a mark is answered by the same reduction, until all packets outstanding at
the mark are acknowledged (Linux, net/ipv4/tcp_input.c, ``tcp_enter_cwr``; RFC 3168, 6.1.2, does not
specify the pace).
"""

import math

from tcpcc.definition import Flag, State, register
from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import RECOVERY, window_at
from tcpcc.transport.output import effective_window
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.recovery.sack import (
    SCOREBOARD,
    give_up,
    mark_unsacked_lost,
    may_send,
    send_by_pipe,
    unmark_scoreboard,
    update_scoreboard,
)
from tcpcc.transport.rules import is_answering_mark, report_delivery

REDUCTION = {
    "known_at_loss": State(0, "packets", "known to have arrived before the loss", kind=int),
    "flight_at_loss": State(1, "packets", "outstanding at the loss", kind=int),
    "prr_out": State(0, "packets", "sent since the loss", kind=int),
    "most": State(0, "packets", "may be in the network until the next ACK", kind=int),
    "answered": State(-1, "", "mark_edge of the last mark answered gradually", kind=int),
}


def begin_answer(s, f):
    """An ACK that reports a mark begins a reduction from the packets outstanding before it."""
    if f.mark_edge != s.answered and is_answering_mark(f):
        s.answered = f.mark_edge
        s.flight_at_loss = max(f.next_seq - (f.high_ack + 1), 1)
        s.known_at_loss = s.known
        s.prr_out = 0


def may_go(s, f, delivered, safe):
    """Packets that an ACK may send during a proportional reduction (RFC 9937, section 6.2).

    The law "prr" is the same for fluid (`room_in_recovery` in models/fluid/fluid_recovery.py).

    Args:
        delivered: packets that the ACK reports for the first time.
        safe: SafeACK, one packet more: the cumulative ACK advances and nothing new is lost.
    """
    ssthresh = max(math.floor(window_at(f.state, 0).cwnd), 1.0)
    prr_delivered = s.known - s.known_at_loss
    if s.pipe > ssthresh:
        share = prr_delivered * ssthresh / s.flight_at_loss
        return max(math.ceil(share) - s.prr_out, 0.0)
    more = 1.0 if safe else 0.0
    return min(ssthresh - s.pipe, max(prr_delivered - s.prr_out, delivered) + more)


def on_ack(s, p, f):
    known_before, lost, high_ack = s.known, s.marked_lost, f.high_ack
    begin_answer(s, f)
    if update_scoreboard(s, f, f.now, f.ack):
        s.flight_at_loss = f.next_seq - (f.high_ack + 1)
        s.known_at_loss = s.known - 1
        s.prr_out = 1
        known_before = s.known  # this ACK has sent the first retransmission
    report_delivery(f, f.now)
    if is_reducing(f):
        safe = not p.safe_ack or (f.high_ack > high_ack and s.marked_lost == lost)
        s.most = s.pipe + int(may_go(s, f, s.known - known_before, safe))
    if p.keep_sack or may_send(f):
        s.prr_out += send_by_pipe(s, f, f.now, f.max_burst, most_in_network(s, f))


@compiled
def is_reducing(f):
    """Whether a proportional reduction is in progress: in recovery or after a mark, unless the
    controller owns its recovery."""
    return f.owns_window == 0 and (f.phase == RECOVERY or is_answering_mark(f))


@compiled
def most_in_network(s, f):
    """Packets that may be in the network: the window, or during a reduction what the last ACK has
    allowed (RFC 9937, 6.2: cwnd = inflight + SndCnt). What it had no data for may leave later."""
    return s.most if is_reducing(f) else effective_window(f)


def on_timeout(s, p, f):
    if p.keep_sack:
        mark_unsacked_lost(s, f)
    else:
        give_up(s, p, f)


def resume(s, p, f):
    s.prr_out += send_by_pipe(s, f, f.now, f.burst, most_in_network(s, f))


def add(name, summary, source, today):
    """Register the variant of RFC 9937 (`today`) or of RFC 6937."""
    register(
        Recovery(
            name,
            summary,
            on_ack,
            on_timeout=on_timeout,
            resume=resume,
            on_undo=unmark_scoreboard,
            params={
                "safe_ack": Flag(today, "only a SafeACK adds a packet"),
                "keep_sack": Flag(today, "keep SACK data after a timeout"),
            },
            state=SCOREBOARD | REDUCTION,
            source=source,
            law="prr",
            coasts=True,
            selective=True,
            proportional=True,
        )
    )


add("sack-prr", "SACK with proportional rate reduction (RFC 9937)", "RFC 9937; RFC 6675", True)
add("sack-prr-6937", "SACK with RFC 6937's reduction, as in Linux before 2014", "RFC 6937", False)
