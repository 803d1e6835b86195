"""Per-segment record of delivered, in-flight and lost packets, and the delivery rate.

Kept only for flows whose controller or loss recovery needs it (``f.delivery``).

Source: draft-cheng-iccrg-delivery-rate-estimation-02, 3.2 and 3.3. When a segment is sent, it
stores how many packets had been delivered and when the last one was. When the segment itself is
delivered, the difference is the number of packets delivered during its flight. If an ACK reports
several segments, the one sent last counts.

An ACK reports its cumulative part, the segment that caused it, and the block around that segment
(RFC 2018's first block). A sender without SACK would know nearly as much from counting duplicates.

The segments are linked in two lists, so nothing scans the window: segments in the network, in
sending order, and segments marked lost and not yet retransmitted, in the order of detection.
"""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.transport.flow_record import (
    DELIVERED,
    IN_NETWORK,
    LOST,
    UNSENT,
    delivery_at,
    segment_at,
    stamp_at,
    window_at,
)


@compiled
def reset_delivery(f):
    d = delivery_at(f.delivery, 0)
    for k in range(2):
        d.first[k] = d.last[k] = -1
    d.release_at = d.recheck_at = float("inf")
    d.base_rtt = float("inf")


@compiled
def append_segment(f, d, seq, status):
    """Append segment `seq` to the list of `status`: IN_NETWORK or LOST."""
    k = status - IN_NETWORK
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    t.status = status
    t.before = d.last[k]
    t.after = -1
    if d.last[k] >= 0:
        stamp_at(f.stamps, d.last[k] & f.stamp_mask).after = seq
    else:
        d.first[k] = seq
    d.last[k] = seq


@compiled
def remove(f, d, seq):
    """Remove segment `seq` from its list."""
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    k = t.status - IN_NETWORK
    if t.before >= 0:
        stamp_at(f.stamps, t.before & f.stamp_mask).after = t.after
    else:
        d.first[k] = t.after
    if t.after >= 0:
        stamp_at(f.stamps, t.after & f.stamp_mask).before = t.before
    else:
        d.last[k] = t.before


@compiled
def save_stamps(f, d, t):
    """Save the controller's stamps with a segment."""
    for i in range(d.n_stamps):
        t.stamps[i] = number_at(f.state + d.stamped[i], 0).value


@compiled
def note_sent(f, seq, now, again):
    """Record that segment `seq` is sent.

    A segment that is sent `again` while it counts as in the network counts as lost: the loss
    recovery retransmits it without having marked it.
    """
    d = delivery_at(f.delivery, 0)
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if not again:
        t.status = UNSENT
        t.received_at = -1.0
    if t.status == DELIVERED:
        return
    if t.status != UNSENT:
        remove(f, d, seq)
    if t.status == IN_NETWORK:
        d.lost += 1
        d.pipe -= 1
    if d.pipe == 0:
        d.first_sent = d.last_at = now
    t.delivered = d.total
    t.delivered_at = d.last_at
    t.first_sent = d.first_sent
    t.limited = 1 if d.limited_until > 0 else 0
    t.lost = d.lost
    d.pipe += 1
    t.pipe = d.pipe
    append_segment(f, d, seq, IN_NETWORK)
    save_stamps(f, d, t)


@compiled
def credit(f, d, seq, now):
    """Mark segment `seq` as delivered; returns whether this is new."""
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if t.status == DELIVERED or t.status == UNSENT:
        return False
    remove(f, d, seq)
    if t.status == IN_NETWORK:
        d.pipe -= 1
    elif segment_at(f.segments, seq & f.segment_mask).transmits == 1:
        d.originals += 1
    t.status = DELIVERED
    d.total += 1
    d.last_at = now
    d.news += 1
    segment = segment_at(f.segments, seq & f.segment_mask)
    if segment.sent_at >= d.newest_sent:
        d.newest = seq
        d.newest_sent = segment.sent_at
        once = segment.transmits == 1
        d.rtt = now - segment.sent_at if once else 0.0
        d.owd = t.received_at - segment.sent_at if once else 0.0
        d.prior = t.delivered
        d.prior_at = t.delivered_at
        d.send_elapsed = segment.sent_at - t.first_sent
        d.first_sent = segment.sent_at
        d.limited = t.limited
        d.prior_lost = t.lost
        d.prior_pipe = t.pipe
    return True


@compiled
def take_delivery(f, now):
    """Update the record from the ACK being handled."""
    d = delivery_at(f.delivery, 0)
    d.news = 0
    d.originals = 0
    d.newest_sent = -1.0
    for seq in range(f.high_ack + 1, f.ack + 1):
        credit(f, d, seq, now)
    if f.trigger > f.ack and f.trigger <= f.max_seq:
        credit(f, d, f.trigger, now)
        k = f.trigger - 1
        while f.low <= k < f.high and k > f.ack and credit(f, d, k, now):
            k -= 1
        k = f.trigger + 1
        while k < f.high and credit(f, d, k, now):
            k += 1
    if d.news > 0 and d.rtt > 0:
        d.srtt = d.rtt if d.srtt == 0 else d.srtt + (d.rtt - d.srtt) / 8
        d.base_rtt = min(d.base_rtt, d.rtt)
    if d.limited_until > 0 and d.total > d.limited_until:
        d.limited_until = 0


@compiled
def move_to_lost(f, seq):
    """Mark segment `seq` as lost; returns whether it counted as in the network."""
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if t.status != IN_NETWORK:
        return False
    d = delivery_at(f.delivery, 0)
    remove(f, d, seq)
    append_segment(f, d, seq, LOST)
    d.pipe -= 1
    d.lost += 1
    return True


@compiled
def sort_lost(f):
    """After a timeout: put the list of lost segments in sequence order."""
    d = delivery_at(f.delivery, 0)
    d.first[LOST - IN_NETWORK] = d.last[LOST - IN_NETWORK] = -1
    for seq in range(f.high_ack + 1, f.max_seq + 1):
        if stamp_at(f.stamps, seq & f.stamp_mask).status == LOST:
            append_segment(f, d, seq, LOST)


@compiled
def unmark_lost(f):
    """After a spurious timeout: segments marked lost and not retransmitted count as in the network
    again, before those sent later."""
    d = delivery_at(f.delivery, 0)
    lost, network = LOST - IN_NETWORK, 0
    if d.first[lost] < 0:
        return
    seq = d.first[lost]
    while seq >= 0:
        t = stamp_at(f.stamps, seq & f.stamp_mask)
        t.status = IN_NETWORK
        d.pipe += 1
        d.lost -= 1
        seq = t.after
    if d.first[network] >= 0:
        stamp_at(f.stamps, d.last[lost] & f.stamp_mask).after = d.first[network]
        stamp_at(f.stamps, d.first[network] & f.stamp_mask).before = d.last[lost]
    else:
        d.last[network] = d.last[lost]
    d.first[network] = d.first[lost]
    d.first[lost] = d.last[lost] = -1


@compiled
def note_limited(f):
    """Mark the flow as application-limited if the window has room, and there is nothing to send or
    the receiver allows no more (not in Linux).

    Until all packets now in flight are delivered, rate samples measure the application or the
    receiver, not the path.
    """
    d = delivery_at(f.delivery, 0)
    waits = f.next_seq >= f.to_send or (f.window_decay == 0 and f.next_seq > f.high_ack + f.rwnd)
    has_room = d.pipe < window_at(f.state, 0).cwnd
    if waits and has_room and d.first[LOST - IN_NETWORK] < 0:
        d.limited_until = max(d.total + d.pipe, 1)


@compiled
def note_received(f, now, seq):
    """Store when a segment first reached the receiver."""
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if t.received_at < 0:
        t.received_at = now
