"""Sending: segments that the window allows go into the flow's outbox.

Nothing here touches a network. The driver empties the outbox. When the outbox or the ring of
segments is full, ``f.more`` asks the driver to make room and call again for the ``f.burst`` packets
that may still be sent.

With GSO new data is sent in pieces of several segments (:mod:`.pacing`; net/ipv4/tcp_output.c,
``tcp_cwnd_test``, ``tcp_tso_should_defer``): at most half a window at once, and an incomplete piece
waits for the next ACK, if that is due soon.
"""

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.transport.delivery import note_sent, save_stamps
from tcpcc.transport.flow_record import (
    OUTBOX_SIZE,
    PUSHED,
    RECOVERY,
    RETRANSMITTED,
    delivery_at,
    out_at,
    segment_at,
    stamp_at,
    window_at,
)
from tcpcc.transport.pacing import full_piece, is_early, note_paced
from tcpcc.transport.rto import restart_timer
from tcpcc.transport.sample import apply_rule, fill_event, in_force
from tcpcc.transport.undo import note_retransmission


@compiled
def effective_window(f):
    """Packets that may be outstanding: floor(cwnd) plus fast recovery's inflation, up to rwnd."""
    return int(in_force(f, window_at(f.state, 0).cwnd + f.inflation))


@compiled
def begin_timing(f, now, seq):
    """Time new segment `seq`, unless another one is being timed."""
    if f.timing == 0:
        f.timing = 1
        if seq > f.timed_seq:
            f.timed_seq = seq
            f.timed_at = now


@compiled
def emit(f, seq, now):
    """Put segment `seq` into the outbox, and record the time and the number of transmissions."""
    outstanding = f.high_ack != f.max_seq
    segment = segment_at(f.segments, seq & f.segment_mask)
    if f.delivery != 0:
        note_delivery_of(f, seq, now)
    if seq > f.max_seq:
        f.max_seq = seq
        segment.transmits = 1
        segment.flags = 0
        begin_timing(f, now, seq)
    else:
        count_again(f, segment, seq, now)
    segment.sent_at = now
    f.sent += 1
    out = out_at(f.outbox, f.outbox_count)
    out.seq = seq
    out.again = segment.transmits > 1
    f.outbox_count += 1
    if not outstanding or f.deadline == float("inf"):
        restart_timer(f, now)


@not_inlined
def note_delivery_of(f, seq, now):
    """Record what the delivery rate and pacing need of segment `seq`, which is sent, and report it
    to the controller."""
    note_sent(f, seq, now, seq <= f.max_seq)
    if f.on_send != 0 and (seq > 0 or f.handshake == 0):
        report_sent(f, seq, now)
    if f.pacing_rate != 0:
        note_paced(f, now)


@not_inlined
def report_sent(f, seq, now):
    """Call ``on_send`` for segment `seq`, which counts as in the network already."""
    sampled_at = f.sampled_at
    a = fill_event(f, now)
    f.sampled_at = sampled_at
    if seq < f.next_seq:  # which moves past new data later
        a.inflight -= 1
    a.sent = 1.0
    a.retransmitted = 1.0 if seq <= f.max_seq else 0.0
    apply_rule(f, f.on_send)
    a.sent = a.retransmitted = 0.0
    save_stamps(f, delivery_at(f.delivery, 0), stamp_at(f.stamps, seq & f.stamp_mask))


@not_inlined
def count_again(f, segment, seq, now):
    """Record that segment `seq` is sent once more."""
    segment.transmits += 1
    segment.flags |= RETRANSMITTED
    f.once_from = max(f.once_from, seq + 1)
    f.resent_at = now
    note_retransmission(f)
    f.retransmitted += 1


@compiled
def has_room(f):
    """Whether the outbox and the ring of segments have room for one more new segment."""
    return (
        f.outbox_count < OUTBOX_SIZE - 2 and f.next_seq - f.high_ack < f.segment_mask
    )  # the ring keeps the highest acknowledged segment too; two places are for retransmissions


@compiled
def room_for_window(f):
    """How many segments the ring has room for, less two beyond the window: limited transmit and a
    loss probe do not come again after the driver has made room."""
    return f.segment_mask - 2 - (f.next_seq - f.high_ack)


@compiled
def must_wait(f, now, burst):
    """Whether sending stops for now: pacing, or no room. The driver calls again to send the `burst`
    packets that are left."""
    if f.pacing_rate != 0 and f.in_piece == 0 and is_early(f, now):
        f.burst = burst
        return True
    if f.outbox_count >= OUTBOX_SIZE - 2 or room_for_window(f) <= 0:
        f.more = 1
        f.burst = burst
        return True
    return False


#: An incomplete piece waits only if the newest packet was sent this recently, s.
JUST_NOW = 1e-3


@compiled
def is_worth_waiting(f, now):
    """Whether an ACK that may complete the piece is due soon: the newest packet was sent just now,
    and the first outstanding packet is nearly one RTT old."""
    if f.phase == RECOVERY or f.high_ack == f.max_seq:
        return False
    first = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    newest = segment_at(f.segments, f.max_seq & f.segment_mask)
    expected = first.sent_at + f.srtt - now
    return now - newest.sent_at <= JUST_NOW and expected <= min(f.srtt / 2, f.piece_wait)


@not_inlined
def may_begin(f, now, room):
    """Whether new data may be sent, given `room` packets of window.

    Yes, if a piece has begun, if `room` is a full piece, a third of the window or the end of the
    data, or if no ACK is due soon.
    """
    if f.in_piece > 0:
        return True
    full, cwnd = full_piece(f), window_at(f.state, 0).cwnd
    short = room < full and 3 * room < cwnd
    if short and f.next_seq + room < f.to_send and is_worth_waiting(f, now):
        return False
    f.piece = min(room, full, max(int(cwnd) // 2, 1))
    f.in_piece = f.piece
    return True


@compiled
def allowed(f, room, burst):
    """Packets of new data that may be sent: `room` of the window, at most `burst` at once."""
    new = min(float(f.to_send), f.high_ack + f.rwnd + 1) - f.next_seq
    return int(min(float(max(room, 1)), burst, new))


@compiled
def has_new_data(f):
    """Whether the application has new data that the receiver's window allows."""
    return f.next_seq < f.to_send and f.next_seq <= f.high_ack + f.rwnd


@compiled
def may_send_new(f, now, room, burst):
    """Whether the next new segment may be sent, given `room` packets of window and `burst`."""
    return f.pieces == 0 or may_begin(f, now, allowed(f, room, burst))


@compiled
def advance(f):
    """The segment `next_seq` has been sent for the first time."""
    if f.pieces != 0:
        note_piece(f, f.next_seq)
    f.next_seq += 1


@compiled
def note_piece(f, seq):
    """Segment `seq` of a piece is sent; the last segment of a longer piece carries PSH."""
    f.in_piece -= 1
    if f.in_piece == 0 and f.piece > 1:
        segment_at(f.segments, seq & f.segment_mask).flags |= PUSHED


@compiled
def send_run(f, now, n, burst):
    """Send at most `n` and at most `burst` new segments at once, while ``f.coasting``: ``f.run``
    counts them, and the driver knows their times. Returns their number."""
    n = int(min(float(min(n, f.to_send - f.next_seq)), f.high_ack + f.rwnd + 1 - f.next_seq, burst))
    if n <= 0:
        return 0
    room = max(room_for_window(f), 0)
    if n > room:
        f.more = 1
        f.burst = burst - room
        n = room
    begin_timing(f, now, f.next_seq)
    if f.high_ack == f.max_seq or f.deadline == float("inf"):
        restart_timer(f, now)
    f.max_seq += n
    f.next_seq += n
    f.sent += n
    f.run += n
    return n


@compiled
def fill(f, now, burst):
    """Send from `next_seq` on as far as the window allows, at most `burst` packets."""
    f.more = 0
    edge = f.high_ack + effective_window(f)
    if f.coasting != 0:
        send_run(f, now, edge + 1 - f.next_seq, burst)
        return
    while f.next_seq <= edge and f.next_seq < f.to_send and burst > 0:
        if must_wait(f, now, burst):
            return
        if f.pieces != 0 and not may_begin(f, now, min(edge + 1, f.to_send) - f.next_seq):
            return
        emit(f, f.next_seq, now)
        advance(f)
        burst -= 1
