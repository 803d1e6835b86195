"""Counting duplicate ACKs: what Tahoe, Reno and NewReno share.

Sources: RFC 5681, 3.2 (fast retransmit); RFC 3042 (limited transmit); RFC 6582 (the `recover`
variable against repeated fast retransmits).
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import OPEN, RECOVERY, segment_at, window_at
from tcpcc.transport.output import emit, fill, has_room, in_force
from tcpcc.transport.rto import restart_timer, time_acknowledged
from tcpcc.transport.rules import acknowledged, lost, sample_rtt, tell_delivery


@compiled
def advance(f, ack):
    """Move the left edge of the window to `ack`; returns the packets newly acknowledged."""
    packets = ack - f.high_ack
    f.high_ack = ack
    f.next_seq = max(f.next_seq, ack + 1)
    return packets


@compiled
def new_ack(f, now, ack):
    """An ACK of new data outside recovery, or one that ends it; returns its round-trip time."""
    rtt = sample_rtt(f, now, ack)
    f.dupacks = 0
    packets = advance(f, ack)
    time_acknowledged(f, now, ack, rtt)
    acknowledged(f, now, packets, rtt)
    return rtt


@compiled
def leave(f, now, ack):
    """New data outside recovery, or the end of one."""
    f.inflation = 0
    if f.phase == RECOVERY or ack >= f.recover:
        f.phase = OPEN
    new_ack(f, now, ack)


@compiled
def enter(f, now):
    """A fast retransmit is due: the loss is noticed, the controller told."""
    f.recover = f.max_seq
    f.phase = RECOVERY
    first = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    lost(f, now, first.transmits, f.max_seq - f.high_ack)
    restart_timer(f, now)
    f.timing = 0


@compiled
def fast_retransmit(f, now):
    """Enter fast recovery."""
    enter(f, now)
    emit(f, f.high_ack + 1, now)
    f.inflation = f.dupack_threshold


@compiled
def limited_transmit(f, now):
    """RFC 3042: one new packet for each of the first two duplicate ACKs."""
    reach = in_force(f, window_at(f.state, 0).cwnd + f.dupacks)
    if f.next_seq <= f.high_ack + reach and f.next_seq < f.to_send and has_room(f):
        emit(f, f.next_seq, now)
        f.next_seq += 1


@compiled
def count_duplicate(f, now):
    """Count a duplicate ACK; returns whether it is the one that tells a loss."""
    if f.high_ack >= f.max_seq:
        return False  # nothing is outstanding: an echo of retransmissions that were not needed
    f.dupacks += 1
    if f.dupacks < f.dupack_threshold and f.limited_transmit != 0:
        limited_transmit(f, now)
    return f.dupacks == f.dupack_threshold


@compiled
def duplicate_ack(f, now):
    """Count a duplicate ACK; returns whether it calls for a fast retransmit.

    None is called for before all that was outstanding at the last one, or at a timeout, is
    acknowledged (RFC 6582's `recover`; ns-2's bugFix_): so there is at most one in a window.
    """
    return count_duplicate(f, now) and (f.high_ack > f.recover or f.high_ack == 0)


@compiled
def fast_recovery(f, now, called_for):
    """After a duplicate ACK: a fast retransmit if it is called for; each further one means that a
    packet has left the network."""
    if called_for:
        fast_retransmit(f, now)
    elif f.dupacks > f.dupack_threshold and f.phase == RECOVERY:
        f.inflation += 1


@compiled
def send(f, now, burst):
    """Send what the window allows, `burst` packets at most once a loss is noticed; duplicate ACKs
    before that let nothing out."""
    if f.delivery != 0:
        tell_delivery(f, now)
    if f.dupacks == 0:
        fill(f, now, f.max_burst)
    elif f.dupacks >= f.dupack_threshold:
        fill(f, now, min(burst, f.max_burst))
