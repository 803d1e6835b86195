"""Explicit congestion notification, sans-IO: what goes out with a segment, what its ACK says.

Sources: RFC 3168 (classic), RFC 8257 section 3.2 and draft-ietf-tcpm-accurate-ecn (accurate).

A connection has ``f.ecn``: OFF, CLASSIC or ACCURATE. New data are sent as ECN-capable; the
handshake's segment and retransmissions are not (RFC 3168, 6.1.1 and 6.1.5).

Classic: from a marked segment on every ACK carries ECE until a segment with CWR comes, which the
sender asks for by ``f.cwr``. Accurate: every ACK carries the number of marked segments so far,
which makes up for lost ACKs, and one that is held back leaves at once where marks begin or end.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import ACCURATE, CE, CLASSIC, CWR, ECE, ECT, OFF
from tcpcc.transport.receiver import acknowledge_now

#: Names of a connection's choice, by its number.
CHOICES = {"off": OFF, "classic": CLASSIC, "accurate": ACCURATE}


@compiled
def bits_to_send(f, seq, again):
    """The ECN bits of a segment that is sent now."""
    if f.ecn == OFF or again or (seq == 0 and f.handshake != 0):
        return 0
    bits = ECT
    if f.cwr != 0:
        f.cwr = 0
        bits |= CWR
    return bits


@compiled
def on_bits(f, bits, due):
    """The receiver takes in the bits of a segment, after `receiver.on_data` has said whether an ACK
    is `due`; returns whether one is now."""
    marked = 1 if bits & CE != 0 else 0
    if bits & CWR != 0:
        f.echoes = 0
    if marked != 0:
        f.marks_seen += 1
        f.echoes = 1
    if f.ecn == ACCURATE and marked != f.mark_last and not due:
        due = acknowledge_now(f)
    f.mark_last = marked
    return due


@compiled
def bits_of_ack(f):
    """The bits of an ACK that is sent now. ACKs themselves are not ECN-capable."""
    return ECE if f.ecn == CLASSIC and f.echoes != 0 else 0


@compiled
def on_echo(f, ack, bits, echo):
    """The sender takes in what an ACK of all up to `ack` says of marks: sets ``f.marked``.

    One that came late tells nothing: a later one has told it, or one to come will.
    """
    f.marked = 0
    if ack < f.high_ack:
        return
    if f.ecn == ACCURATE:
        f.marked = max(echo - f.echoed, 0)
        f.echoed = max(echo, f.echoed)
    elif bits & ECE != 0:
        f.marked = 1
