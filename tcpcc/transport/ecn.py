"""Explicit congestion notification, sans-IO: the ECN bits of segments and ACKs.

Sources: RFC 3168 (classic), RFC 8257 section 3.2 (accurate), RFC 9331 and RFC 9768 (L4S),
RFC 8311 section 4.3 and draft-ietf-tcpm-generalized-ecn (retransmissions).

A connection's mode is ``f.ecn``: OFF, CLASSIC, ACCURATE or L4S. New data are sent as ECT(0), with
L4S as ECT(1) (RFC 9331, 4.1). The handshake's segment is not ECN-capable (RFC 3168, 6.1.1), and
retransmissions are not either (6.1.5) unless ``f.ecn_retransmissions`` is set, as it is for L4S.
With ``f.ecn_control`` the SYN and ACKs are ECN-capable too, as in Linux for controllers that need
ECN (net/ipv4/tcp_output.c, ``tcp_ecn_send_syn``, ``tcp_ecn_send``: ``tcp_ca_needs_ecn``).

Classic: after a marked segment every ACK carries ECE until a segment with CWR arrives; ``f.cwr``
makes the sender set CWR. Accurate: every ACK carries the number of marked segments so far, so a
lost ACK loses no information, and a delayed ACK is sent at once when marks begin or end.

L4S: AccECN (RFC 9768). An ACK's field ACE is that number modulo 8, and a delayed ACK is sent at
once when marks begin. The sender (:func:`marks_by_ace`) takes the smallest number that fits, or the
largest if an ACK reports so many packets that the field may have wrapped around (appendix A.2.1).
The handshake and the option with byte counters are left out.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import (
    ACCURATE,
    CE,
    CLASSIC,
    CWR,
    ECE,
    ECT,
    ECT1,
    L4S,
    OFF,
    delivery_at,
)
from tcpcc.transport.receiver import acknowledge_now

ACE_VALUES = 8  # the field has three bits

#: The ECN modes by name.
CHOICES = {"off": OFF, "classic": CLASSIC, "accurate": ACCURATE, "l4s": L4S}


@compiled
def capable(f):
    """The bits of an ECN-capable packet of the connection: ECT(0), with L4S ECT(1)."""
    return ECT | ECT1 if f.ecn == L4S else ECT


@compiled
def bits_to_send(f, seq, again):
    """The ECN bits of a segment sent now."""
    if f.ecn == OFF or (again and f.ecn_retransmissions == 0):
        return 0
    if seq == 0 and f.handshake != 0:
        return capable(f) if f.ecn_control != 0 else 0
    bits = capable(f)
    if f.cwr != 0 and not again:
        f.cwr = 0
        bits |= CWR
    return bits


@compiled
def on_bits(f, bits, due):
    """The receiver handles a segment's ECN bits; returns whether an ACK is due now.

    Args:
        due: whether `receiver.on_data` found that an ACK is due.
    """
    is_syn = f.handshake != 0 and f.highest == 0  # its mark is not counted (Linux)
    marked = 1 if bits & CE != 0 and not is_syn else 0
    if bits & CWR != 0:
        f.echoes = 0
    if marked != 0:
        f.marks_seen += 1
        f.echoes = 1
    changed = marked > f.mark_last or (marked < f.mark_last and f.ecn == ACCURATE)
    if f.ecn >= ACCURATE and changed and not due:
        due = acknowledge_now(f)
    f.mark_last = marked
    return due


@compiled
def bits_of_ack(f):
    """The ECN bits of an ACK sent now. ACKs are ECN-capable with ``f.ecn_control`` only; a mark of
    one has no effect."""
    bits = capable(f) if f.ecn_control != 0 and f.ecn != OFF else 0
    return bits | ECE if f.ecn == CLASSIC and f.echoes != 0 else bits


@compiled
def echo_of_ack(f):
    """The number of marked segments that an ACK sent now carries; with L4S its field ACE."""
    return f.marks_seen % ACE_VALUES if f.ecn == L4S else f.marks_seen


@compiled
def marks_by_ace(f):
    """Set ``f.marked`` from the field ACE of an ACK that newly reports packets (RFC 9768, 3.2.2.5).

    An ACK that reports none may be older than the newest one.
    """
    reported = delivery_at(f.delivery, 0).news
    f.marked = 0
    if reported == 0:
        return
    marked = (f.ace - f.echoed) % ACE_VALUES
    if reported >= ACE_VALUES:
        marked = reported - (reported - marked) % ACE_VALUES
    f.marked = marked
    f.echoed += marked


@compiled
def on_echo(f, ack, bits, echo):
    """The sender reads the marks that a cumulative ACK up to `ack` reports: sets ``f.marked``.

    An ACK that arrives out of order is ignored: newer ACKs carry the same information. With L4S
    the sender calls :func:`marks_by_ace` once it knows which packets the ACK newly reports.
    """
    f.marked = 0
    if ack < f.high_ack:
        return
    if f.ecn == L4S:
        f.ace = echo
    elif f.ecn == ACCURATE:
        f.marked = max(echo - f.echoed, 0)
        f.echoed = max(echo, f.echoed)
    elif bits & ECE != 0:
        f.marked = 1
