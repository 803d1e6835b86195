"""Loss recovery with selective acknowledgements.

Source: RFC 6675 (pipe, IsLost, NextSeg rules 1 and 2), RFC 2018.

An ACK tells which segment caused it and the block of received segments around it (RFC 2018's first
block). The scoreboard keeps, per unacknowledged segment, whether it was selectively acknowledged,
is deemed lost (`dupack_threshold` segments above it were), or was retransmitted. `pipe` counts what
is in the network: one for a segment neither acknowledged nor lost, one more for its retransmission.
All of it is updated as segments pass three moving edges, so that nothing scans the window.

With `proportional`, proportional rate reduction (RFC 6937, slow-start reduction bound): during
recovery not pipe and the window decide what an ACK lets out, but what has been delivered since the
loss. Of a window that falls from F to ssthresh a share ssthresh/F of what is delivered is sent,
evenly, where RFC 6675 waits for half a round trip and then sends two packets per ACK; these bursts
overflow a queue that is still full, and a repair that is lost again waits for the timer. `cwnd`, as
recorded, is ssthresh during recovery, not the window that this comes to.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import (
    DEEMED_LOST,
    LOSS,
    OPEN,
    RECOVERY,
    RETRANSMITTED,
    SACKED,
    TOLD,
    segment_at,
    window_at,
)
from tcpcc.transport.output import effective_window, emit, has_room
from tcpcc.transport.recovery.classic import advance, new_ack
from tcpcc.transport.rto import restart_timer
from tcpcc.transport.rules import lost


@compiled
def in_network(segment):
    """What a segment contributes to pipe."""
    if segment.flags & SACKED != 0:
        return 0
    count = 1 if segment.flags & DEEMED_LOST == 0 else 0
    if segment.flags & RETRANSMITTED != 0:
        count += 1
    return count


@compiled
def mark_received(f, seq):
    """Note a selective acknowledgement; returns whether it was news."""
    segment = segment_at(f.segments, seq & f.segment_mask)
    if segment.flags & SACKED != 0:
        return False
    f.pipe -= in_network(segment)
    f.known += 1
    segment.flags |= SACKED | TOLD
    if seq >= f.lost_edge:
        f.sacked_ahead += 1
    return True


@compiled
def mark_lost(f):
    """Deem lost what has `dupack_threshold` selectively acknowledged segments above it."""
    f.lost_edge = max(f.lost_edge, f.high_ack + 1)
    while f.sacked_ahead >= f.dupack_threshold:
        segment = segment_at(f.segments, f.lost_edge & f.segment_mask)
        if segment.flags & SACKED != 0:
            if f.sacked_ahead == f.dupack_threshold:
                return
            f.sacked_ahead -= 1
        elif segment.flags & DEEMED_LOST == 0:
            segment.flags |= DEEMED_LOST
            f.pipe -= 1
        f.lost_edge += 1


@compiled
def read_block(f, trigger, low, high):
    news = False
    if trigger > f.high_ack:
        news = mark_received(f, trigger)
        k = trigger - 1
        while low < high and k >= low and k > f.high_ack and mark_received(f, k):
            k -= 1
        k = trigger + 1
        while k < high and mark_received(f, k):
            k += 1
        mark_lost(f)
    return news


@compiled
def forget_acknowledged(f, ack):
    """Take the segments up to `ack` out of pipe."""
    k = f.high_ack + 1
    while k <= ack:
        segment = segment_at(f.segments, k & f.segment_mask)
        if segment.flags & SACKED == 0:
            f.known += 1
        elif k >= f.lost_edge:
            f.sacked_ahead -= 1
        f.pipe -= in_network(segment)
        k += 1


@compiled
def give_up(f):
    """After a timeout: nothing is in the network, everything outstanding is to be sent again."""
    k = f.high_ack + 1
    while k <= f.max_seq:
        segment = segment_at(f.segments, k & f.segment_mask)
        segment.flags = (segment.flags | DEEMED_LOST) & ~(SACKED | RETRANSMITTED)
        k += 1
    f.pipe = 0
    f.sacked_ahead = 0
    f.lost_edge = f.next_repair = f.high_ack + 1


@compiled
def repair(f, now):
    """NextSeg rule 1: retransmit the next segment deemed lost. Returns whether there was one."""
    f.next_repair = max(f.next_repair, f.high_ack + 1)
    while f.next_repair < f.lost_edge:
        segment = segment_at(f.segments, f.next_repair & f.segment_mask)
        f.next_repair += 1
        if segment.flags & (SACKED | RETRANSMITTED) == 0:
            emit(f, f.next_repair - 1, now)
            return True
    return False


@compiled
def skip_received(f):
    """Going back after a timeout, pass over what has been selectively acknowledged since."""
    while f.next_seq <= f.max_seq:
        if segment_at(f.segments, f.next_seq & f.segment_mask).flags & SACKED == 0:
            return
        f.next_seq += 1


@compiled
def fill(f, now, burst):
    """Send while pipe is below the window: repairs first, then new data."""
    f.more = 0
    window = effective_window(f)
    reducing = f.proportional != 0 and f.phase == RECOVERY
    while (reducing or f.pipe < window) and burst > 0:
        if not has_room(f):
            f.more = 1
            f.burst = burst
            return
        burst -= 1
        f.prr_out += 1
        if f.phase == RECOVERY and repair(f, now):
            continue
        skip_received(f)
        if f.next_seq >= f.limit or f.next_seq > f.high_ack + f.rwnd:
            return
        emit(f, f.next_seq, now)
        f.next_seq += 1


@compiled
def may_go(f, delivered):
    """Packets that an ACK of `delivered` packets lets out during a proportional reduction."""
    ssthresh = max(math.floor(window_at(f.state, 0).cwnd), 1.0)
    prr_delivered = f.known - f.known_at_loss
    if f.pipe > ssthresh:
        share = prr_delivered * ssthresh / f.flight_at_loss
        return max(math.ceil(share) - f.prr_out, 0.0)
    return min(ssthresh - f.pipe, max(prr_delivered - f.prr_out, delivered) + 1.0)


@compiled
def enter(f, now):
    first = f.high_ack + 1
    f.flight_at_loss = f.next_seq - first
    f.known_at_loss = f.known - 1
    f.prr_out = 1
    segment = segment_at(f.segments, first & f.segment_mask)
    f.recover = f.max_seq
    f.phase = RECOVERY
    f.next_repair = first + 1
    lost(f, now, segment.transmits, f.max_seq - f.high_ack)
    restart_timer(f, now)
    f.timing = 0
    if segment.flags & DEEMED_LOST == 0:
        segment.flags |= DEEMED_LOST
        f.pipe -= 1
    f.lost_edge = max(f.lost_edge, first + 1)
    emit(f, first, now)


@compiled
def on_ack(f, now, ack, trigger, low, high):
    known = f.known
    if ack > f.high_ack:
        forget_acknowledged(f, ack)
        if f.phase == RECOVERY and ack < f.recover:
            f.untold += advance(f, ack)
            restart_timer(f, now)
            if f.timing != 0 and ack >= f.timed_seq:
                f.timing = 0
                f.backoff = 1
        else:
            if ack >= f.recover:
                f.phase = OPEN
            new_ack(f, now, ack)
        read_block(f, trigger, low, high)
    elif read_block(f, trigger, low, high):
        f.dupacks += 1
        hole_is_lost = f.lost_edge > f.high_ack + 1
        if f.phase == OPEN and (f.dupacks >= f.dupack_threshold or hole_is_lost):
            enter(f, now)
            known = f.known  # the first repair is what this ACK lets out
    burst = f.max_burst
    if f.proportional != 0 and f.phase == RECOVERY:
        burst = min(burst, may_go(f, f.known - known))
    if f.phase != LOSS or f.dupacks == 0:
        fill(f, now, burst)
