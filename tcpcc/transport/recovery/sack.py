"""Loss recovery with selective acknowledgements.

Source: RFC 6675 (pipe, IsLost, NextSeg rules 1 and 2), RFC 2018.

An ACK reports the segment that caused it and the block of received segments around it (RFC 2018's
first block). The scoreboard stores for each unacknowledged segment whether it was selectively
acknowledged, marked lost (`dupack_threshold` segments above it were selectively acknowledged), or
retransmitted. `pipe` counts the packets in the network: one for a segment neither acknowledged nor
lost, one more for its retransmission. The scoreboard is updated as segments pass three moving
edges, so nothing scans the window.
"""

from tcpcc.definition import State, register
from tcpcc.engine.jit import compiled
from tcpcc.transport.delivery import unmark_lost
from tcpcc.transport.flow_record import (
    LOSS,
    MARKED_LOST,
    OPEN,
    RECOVERY,
    REPORTED,
    RETRANSMITTED,
    SACKED,
    segment_at,
)
from tcpcc.transport.output import (
    advance,
    effective_window,
    emit,
    has_new_data,
    may_send_new,
    must_wait,
    send_run,
)
from tcpcc.transport.recovery.classic import begin_recovery, new_ack, partial_ack
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.rto import restart_timer
from tcpcc.transport.rules import mark_lost, report_delivery

SCOREBOARD = {
    "pipe": State(0, "packets", "in the network", kind=int),
    "lost_edge": State(0, "", "segments below it have been checked for loss", kind=int),
    "next_repair": State(0, "", "no lost segment below it waits for retransmission", kind=int),
    "sacked_ahead": State(0, "packets", "selectively acknowledged, from lost_edge on", kind=int),
    "known": State(0, "packets", "known to have arrived, in total", kind=int),
    "marked_lost": State(0, "packets", "marked lost so far", kind=int),
}


@compiled
def in_network(segment):
    """Contribution of a segment to pipe: 0, 1 or 2."""
    if segment.flags & SACKED != 0:
        return 0
    count = 1 if segment.flags & MARKED_LOST == 0 else 0
    if segment.flags & RETRANSMITTED != 0:
        count += 1
    return count


def send_counted(s, f, seq, now):
    """Send a segment, and count it in pipe."""
    segment = segment_at(f.segments, seq & f.segment_mask)
    before = in_network(segment) if seq <= f.max_seq else 0
    emit(f, seq, now)
    s.pipe += in_network(segment) - before


def mark_received(s, f, seq):
    """Record a selective acknowledgement; returns whether it is new."""
    segment = segment_at(f.segments, seq & f.segment_mask)
    if segment.flags & SACKED != 0:
        return False
    s.pipe -= in_network(segment)
    s.known += 1
    segment.flags |= SACKED | REPORTED
    f.once_from = max(f.once_from, seq + 1)
    if seq >= s.lost_edge:
        s.sacked_ahead += 1
    return True


def mark_holes_lost(s, f):
    """Mark lost the segments with `dupack_threshold` selectively acknowledged ones above them."""
    s.lost_edge = max(s.lost_edge, f.high_ack + 1)
    while s.sacked_ahead >= f.dupack_threshold:
        segment = segment_at(f.segments, s.lost_edge & f.segment_mask)
        if segment.flags & SACKED != 0:
            if s.sacked_ahead == f.dupack_threshold:
                return
            s.sacked_ahead -= 1
        elif segment.flags & MARKED_LOST == 0:
            segment.flags |= MARKED_LOST
            s.pipe -= 1
            s.marked_lost += 1
            if f.delivery != 0:
                mark_lost(f, f.now, s.lost_edge)
        s.lost_edge += 1


def read_block(s, f, trigger, low, high):
    news = False
    if trigger > f.high_ack:
        news = mark_received(s, f, trigger)
        k = trigger - 1
        while low < high and k >= low and k > f.high_ack and mark_received(s, f, k):
            k -= 1
        k = trigger + 1
        while k < high and mark_received(s, f, k):
            k += 1
        mark_holes_lost(s, f)
    return news


def forget_acknowledged(s, f, ack):
    """Remove the segments up to `ack` from pipe."""
    k = f.high_ack + 1
    if k >= f.once_from:  # each of them counts as one
        s.pipe -= ack - f.high_ack
        s.known += ack - f.high_ack
        return
    while k <= ack:
        segment = segment_at(f.segments, k & f.segment_mask)
        if segment.flags & SACKED == 0:
            s.known += 1
        elif k >= s.lost_edge:
            s.sacked_ahead -= 1
        s.pipe -= in_network(segment)
        k += 1


def give_up(s, p, f):
    """After a timeout: nothing is in the network, everything outstanding must be retransmitted."""
    k = f.high_ack + 1
    while k <= f.max_seq:
        segment = segment_at(f.segments, k & f.segment_mask)
        segment.flags = (segment.flags | MARKED_LOST) & ~(SACKED | RETRANSMITTED)
        k += 1
    f.once_from = f.max_seq + 1
    s.pipe = 0
    s.sacked_ahead = 0
    s.lost_edge = s.next_repair = f.high_ack + 1


def mark_unsacked_lost(s, f):
    """After a timeout: nothing is in the network, but selective acknowledgements are kept."""
    for k in range(f.high_ack + 1, f.max_seq + 1):
        segment = segment_at(f.segments, k & f.segment_mask)
        if segment.flags & SACKED == 0:
            segment.flags = (segment.flags | MARKED_LOST) & ~RETRANSMITTED
    f.once_from = f.max_seq + 1
    s.pipe = 0
    s.sacked_ahead = 0
    s.lost_edge = f.max_seq + 1
    s.next_repair = f.high_ack + 1


def unmark_scoreboard(s, p, f):
    """After a spurious loss or timeout: segments marked lost and not retransmitted are in the
    network."""
    s.pipe = 0
    s.sacked_ahead = 0
    for k in range(f.high_ack + 1, f.max_seq + 1):
        segment = segment_at(f.segments, k & f.segment_mask)
        if segment.flags & RETRANSMITTED == 0:
            segment.flags &= ~MARKED_LOST
        if segment.flags & SACKED != 0:
            s.sacked_ahead += 1
        s.pipe += in_network(segment)
    s.lost_edge = s.next_repair = f.high_ack + 1
    if f.delivery != 0:
        unmark_lost(f)


def retransmit_next(s, f, now):
    """NextSeg rule 1: retransmit the next lost segment. Returns whether there was one."""
    s.next_repair = max(s.next_repair, f.high_ack + 1)
    while s.next_repair < s.lost_edge:
        segment = segment_at(f.segments, s.next_repair & f.segment_mask)
        s.next_repair += 1
        if segment.flags & (SACKED | RETRANSMITTED) == 0:
            send_counted(s, f, s.next_repair - 1, now)
            return True
    return False


@compiled
def skip_received(f):
    """After a timeout, skip segments that have been selectively acknowledged since."""
    while f.next_seq <= f.max_seq:
        if segment_at(f.segments, f.next_seq & f.segment_mask).flags & SACKED == 0:
            return
        f.next_seq += 1


def send_by_pipe(s, f, now, burst, most):
    """Send while pipe is below `most`, at most `burst` packets: retransmissions first, then new
    data. Returns the number of packets sent."""
    f.more = 0
    sent = 0
    window = effective_window(f)
    if f.coasting != 0:
        sent = send_run(f, now, most - s.pipe, burst)
        s.pipe += sent
        return sent
    while s.pipe < most and burst > 0:
        if must_wait(f, now, burst):
            return sent
        if f.phase != RECOVERY or not retransmit_next(s, f, now):
            skip_received(f)
            room = min(burst, float(most - s.pipe))
            if not (has_new_data(f) and may_send_new(f, now, window - s.pipe, room)):
                return sent
            send_counted(s, f, f.next_seq, now)
            advance(f)
        burst -= 1
        sent += 1
    return sent


def enter_sack_recovery(s, f, now):
    begin_recovery(f, now)
    first = f.high_ack + 1
    s.next_repair = first + 1
    segment = segment_at(f.segments, first & f.segment_mask)
    if segment.flags & MARKED_LOST == 0:
        segment.flags |= MARKED_LOST
        s.pipe -= 1
        if f.delivery != 0:
            mark_lost(f, now, first)
    s.lost_edge = max(s.lost_edge, first + 1)
    send_counted(s, f, first, now)


def update_scoreboard(s, f, now, ack):
    """Update the scoreboard from an ACK; returns whether the sender entered recovery."""
    if ack > f.high_ack:
        forget_acknowledged(s, f, ack)
        if f.phase == RECOVERY and ack < f.recover:
            restart_timer(f, now)
            partial_ack(f, ack)
        else:
            if ack >= f.recover:
                f.phase = OPEN
            new_ack(f, now, ack)
        read_block(s, f, f.trigger, f.low, f.high)
    elif read_block(s, f, f.trigger, f.low, f.high):
        f.dupacks += 1
        hole_is_lost = s.lost_edge > f.high_ack + 1
        if f.phase == OPEN and (f.dupacks >= f.dupack_threshold or hole_is_lost):
            enter_sack_recovery(s, f, now)
            return True
    return False


@compiled
def may_send(f):
    """Whether an ACK may send packets; after a timeout duplicate ACKs do not."""
    return f.phase != LOSS or f.dupacks == 0


def on_ack(s, p, f):
    update_scoreboard(s, f, f.now, f.ack)
    report_delivery(f, f.now)
    if may_send(f):
        send_by_pipe(s, f, f.now, f.max_burst, effective_window(f))


def resume(s, p, f):
    send_by_pipe(s, f, f.now, f.burst, effective_window(f))


register(
    Recovery(
        "sack",
        "RFC 6675 pipe",
        on_ack,
        on_timeout=give_up,
        resume=resume,
        on_undo=unmark_scoreboard,
        state=SCOREBOARD,
        source="RFC 6675",
        law="sack",
        coasts=True,
        selective=True,
    )
)
