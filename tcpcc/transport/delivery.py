"""What has been delivered, what is in the network, and how fast it goes: segment by segment.

Kept only for flows whose controller or loss recovery needs it (``f.delivery``).

Source: draft-cheng-iccrg-delivery-rate-estimation-02, 3.2 and 3.3. A segment notes, when it is
sent, how much had been delivered by then and when. When it is delivered itself, the difference is
what was delivered during its flight; of those that an ACK tells of the one sent last counts.

What an ACK tells is its cumulative part, the segment that caused it, and the block around that
(RFC 2018's first block); a sender without SACK would know nearly as much from counting duplicates.

Two lists run through the segments: those in the network, in the order in which they were sent, and
those deemed lost that have not been sent again, in the order in which that was noticed. So nothing
scans the window.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import (
    DELIVERED,
    IN_NETWORK,
    LOST,
    UNSENT,
    delivery_at,
    number_at,
    segment_at,
    stamp_at,
)
from tcpcc.transport.undo import note_repair


@compiled
def reset_delivery(f):
    d = delivery_at(f.delivery, 0)
    for k in range(2):
        d.first[k] = d.last[k] = -1
    d.release_at = d.recheck_at = float("inf")
    d.base_rtt = float("inf")
    d.undo_from = -1


@compiled
def append(f, d, seq, status):
    """Let segment `seq` be in the network, or lost: last in that list."""
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
    """Take segment `seq` out of the list that it is in."""
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
def note_sent(f, seq, now, again):
    """Segment `seq` is sent; one that was in the network is lost, or it would not be sent `again`
    (a repair that the loss recovery did not announce)."""
    d = delivery_at(f.delivery, 0)
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if again:
        note_repair(d)
    else:
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
    append(f, d, seq, IN_NETWORK)
    for i in range(d.n_stamps):
        t.stamps[i] = number_at(f.state + d.stamped[i], 0).value


@compiled
def credit(f, d, seq, now):
    """Segment `seq` is known to be delivered; returns whether that is news."""
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
    """Read the ACK that is being handled."""
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
    """Segment `seq` is deemed lost; returns whether it was taken to be in the network."""
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if t.status != IN_NETWORK:
        return False
    d = delivery_at(f.delivery, 0)
    remove(f, d, seq)
    append(f, d, seq, LOST)
    d.pipe -= 1
    d.lost += 1
    return True


@compiled
def sort_lost(f):
    """After a timeout: what is lost is sent again in the order of the numbers."""
    d = delivery_at(f.delivery, 0)
    d.first[LOST - IN_NETWORK] = d.last[LOST - IN_NETWORK] = -1
    for seq in range(f.high_ack + 1, f.max_seq + 1):
        if stamp_at(f.stamps, seq & f.stamp_mask).status == LOST:
            append(f, d, seq, LOST)


@compiled
def unmark_lost(f):
    """After a spurious timeout: segments marked lost and not sent again are in the network, before
    those sent later."""
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
def note_limited(f, cwnd):
    """If the window has room and there is nothing to send: what is sent until all of this is
    delivered tells the application's rate, not the path's."""
    d = delivery_at(f.delivery, 0)
    if f.next_seq >= f.to_send and d.pipe < cwnd and d.first[LOST - IN_NETWORK] < 0:
        d.limited_until = max(d.total + d.pipe, 1)


@compiled
def note_received(f, now, seq):
    """The receiver notes when a segment came first."""
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    if t.received_at < 0:
        t.received_at = now
