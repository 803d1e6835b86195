"""Counting duplicate ACKs: the common part of Tahoe, Reno and NewReno.

Sources: RFC 5681, 3.2 (fast retransmit); RFC 3042 (limited transmit); RFC 6582 (the variable
`recover`, which prevents repeated fast retransmits).
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import OPEN, RECOVERY, segment_at, window_at
from tcpcc.transport.output import emit, fill, has_room
from tcpcc.transport.rto import reset_backoff, restart_timer, time_acknowledged
from tcpcc.transport.rules import lost, report_acked, report_delivery, take_rtt_sample
from tcpcc.transport.sample import in_force


@compiled
def move_left_edge(f, ack):
    """Move the left edge of the window to `ack`; returns the packets newly acknowledged."""
    packets = ack - f.high_ack
    f.high_ack = ack
    f.next_seq = max(f.next_seq, ack + 1)
    return packets


@compiled
def partial_ack(f, ack):
    """Handle an ACK of new data within recovery: its packets are reported to the controller when
    the recovery ends."""
    f.unreported += move_left_edge(f, ack)
    if f.timing != 0 and ack >= f.timed_seq:
        f.timing = 0
        reset_backoff(f)


@compiled
def new_ack(f, now, ack):
    """Handle an ACK of new data outside recovery, or the ACK that ends recovery; returns its RTT
    sample (0: none)."""
    rtt = take_rtt_sample(f, now, ack)
    f.dupacks = 0
    packets = move_left_edge(f, ack)
    time_acknowledged(f, now, ack, rtt)
    report_acked(f, now, packets, rtt)
    return rtt


@compiled
def leave(f, now, ack):
    """Handle an ACK of new data that ends fast recovery: deflate the window, then :func:`new_ack`.
    After a timeout, recovery ends once everything outstanding at the timeout is acknowledged."""
    f.inflation = 0
    if f.phase == RECOVERY or ack >= f.recover:
        f.phase = OPEN
    new_ack(f, now, ack)


@compiled
def begin_recovery(f, now):
    """A loss is detected: enter recovery and report it to the controller."""
    f.recover = f.max_seq
    f.phase = RECOVERY
    first = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    lost(f, now, first.transmits, f.max_seq - f.high_ack)
    restart_timer(f, now)
    f.timing = 0


@compiled
def fast_retransmit(f, now):
    """Enter fast recovery and retransmit the first unacknowledged segment."""
    begin_recovery(f, now)
    emit(f, f.high_ack + 1, now)
    f.inflation = f.dupack_threshold


@compiled
def limited_transmit(f, now):
    """Send one new packet for each of the first two duplicate ACKs (RFC 3042)."""
    reach = in_force(f, window_at(f.state, 0).cwnd + f.dupacks)
    if f.next_seq <= f.high_ack + reach and f.next_seq < f.to_send and has_room(f):
        emit(f, f.next_seq, now)
        f.next_seq += 1


@compiled
def count_duplicate(f, now):
    """Count a duplicate ACK; returns whether it is the one that indicates a loss."""
    if f.high_ack >= f.max_seq:
        return False  # nothing is outstanding: caused by unneeded retransmissions
    f.dupacks += 1
    if f.dupacks < f.dupack_threshold and f.limited_transmit != 0:
        limited_transmit(f, now)
    return f.dupacks == f.dupack_threshold


@compiled
def duplicate_ack(f, now):
    """Count a duplicate ACK; returns whether it triggers a fast retransmit.

    There is at most one per window: after a fast retransmit or a timeout, everything outstanding at
    that time must be acknowledged first (RFC 6582's `recover`; ns-2's bugFix_).
    """
    return count_duplicate(f, now) and (f.high_ack > f.recover or f.high_ack == 0)


@compiled
def fast_recovery(f, now, called_for):
    """After a duplicate ACK: a fast retransmit if `called_for`; each further duplicate ACK inflates
    the window by one packet, since a packet has left the network."""
    if called_for:
        fast_retransmit(f, now)
    elif f.dupacks > f.dupack_threshold and f.phase == RECOVERY:
        f.inflation += 1


@compiled
def send_allowed(f, now, burst):
    """Send what the window allows; once a loss is detected, at most `burst` packets. Duplicate ACKs
    before that send nothing here."""
    report_delivery(f, now)
    if f.dupacks == 0:
        fill(f, now, f.max_burst)
    elif f.dupacks >= f.dupack_threshold:
        fill(f, now, min(burst, f.max_burst))
