"""Losses as the sender sees them: holes, loss events, recovery, timeouts.

A hole is noticed when fluid that reached the link after the loss is acknowledged. It becomes a loss
event when `dupack_threshold` packets after it are acknowledged (in fluid, ``dupack_threshold - 1``:
the ACK of a packet is due when the packet begins to return). During recovery the rules for ACKs are
not called, and the window, cut by ``on_loss``, bounds the packets in flight. Each round trip
repairs `holes_per_round` holes. With more than `holes_at_most` holes, or if a retransmission is
lost, the sender waits for a timeout. Until its repair a hole counts as in flight, because a sender
that counts ACKs cannot distinguish the two. Packets that have arrived are never retransmitted.

With fine timers (`recovery.fine_grained`) a duplicate ACK reveals a hole, or a lost retransmission,
that is older than the fine timeout. A hole sent before the last loss event causes no further cut.
A next hole that is younger than the fine timeout waits for duplicate ACKs of packets sent in the
meantime, or, without any, for the coarse timer.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.automaton.fluid_records import EPS, LOSSES, STUCK, fluid_hop_at, lost_at, slot_at
from tcpcc.models.automaton.history import between, fraction, locate
from tcpcc.models.automaton.window import flight_size, new_data, new_round
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, window_at
from tcpcc.transport.recovery.fine_grained import update_fine_timeout
from tcpcc.transport.rto import back_off, restart_timer
from tcpcc.transport.rules import loss_event, timed_out

HALF = 0.5  # packets; sequence numbers closer than this are the same packet
RAISED, DOUBLED = 9 / 8, 2  # factors of the fine timeout: at a retransmission, at a repeated one


@compiled
def write_off(f, packets):
    """Count `packets` lost packets as gone from the network; they may be retransmitted."""
    f.high_ack += packets
    f.known_lost += packets


@compiled
def mark_repairs(f, packets):
    """Mark the next `packets` to be sent as retransmissions."""
    if f.next_seq > f.repairs_end:
        f.repairs_from = f.repairs_end = f.next_seq
    f.repairs_end += packets


@compiled
def retransmit(f, now, packets):
    """Retransmit for `packets` holes: the first one clocked by ACKs, the others by the window.

    The first one is sent whatever the window is. The round that begins here ends when the first
    retransmission returns.
    """
    f.repair = 1.0
    f.repair_lost = 0
    f.retransmitted += packets
    f.recover = f.next_seq
    if f.next_seq - f.first_new <= EPS:
        f.first_new += packets
    f.repairs_end = -1.0
    mark_repairs(f, packets if f.selective != 0 else 1.0)
    f.repair_sent_at = now


@compiled
def forget_duplicates(f):
    f.dupacks = 0.0
    f.checked = 0.0


@compiled
def duplicates(f):
    """All duplicate ACKs that the first hole causes: those received, and one for each packet in
    flight that is not lost."""
    return f.dupacks + f.next_seq - f.high_ack - f.holes - f.unseen


@compiled
def newest_duplicate(f):
    """The number of the duplicate ACK that arrives now, at most the number of all of them.

    The ACK of a packet is due when the packet begins to be acknowledged.
    """
    return min(math.floor(f.dupacks + EPS) + 1.0, math.floor(duplicates(f) + 0.5))


@compiled
def is_called_for(f):
    """Whether three duplicate ACKs cause a fast retransmit.

    They do not for the first new packet after the last fast retransmit
    (:func:`tcpcc.transport.recovery.classic.duplicate_ack`).
    """
    return f.blind == 0 or f.hole_known == 0 or abs(f.hole_at - f.first_new) >= HALF


@compiled
def is_noticed(f, now):
    """Whether the newest duplicate ACK reveals the first hole.

    The third one does, and with fine timers an earlier one if the fine timeout has passed.
    """
    number = newest_duplicate(f)
    if number >= f.dupack_threshold:
        if is_called_for(f):
            return True
        f.phase = STUCK
        f.repaired = 0.0
        return False
    if f.fine == 0 or number <= f.checked:
        return False
    f.checked = number
    return now - f.hole_sent_at >= f.fine_rto


@compiled
def unrepaired(f):
    """Known holes without a retransmission; a sender that counts ACKs takes them for in flight."""
    return f.holes - f.repaired


@compiled
def repair_more(f, now):
    """Repair as many holes as possible in a round trip."""
    more = min(f.holes_per_round, unrepaired(f))
    f.repaired += more
    write_off(f, more)
    retransmit(f, now, more)


@compiled
def keep_inflation(f):
    """Keep the window's inflation by duplicate ACKs if no further one will arrive."""
    number = min(newest_duplicate(f), f.dupack_threshold)
    if duplicates(f) < number + 0.5:
        window_at(f.state, 0).cwnd += number


@compiled
def enter_recovery(f, now):
    if f.fine == 0 or f.hole_at >= f.event_seq - EPS:  # else sent before the last loss event
        loss_event(f, now, 1.0, flight_size(f))
        f.event_at = now
        f.event_seq = f.next_seq
        if f.keeps_inflation != 0:
            keep_inflation(f)
    if f.keeps_inflation != 0:
        back_off(f)
    f.phase = RECOVERY
    f.flight_at_loss = flight_size(f)
    f.prr_delivered = f.prr_out = 1.0  # the newest duplicate ACK, and the first retransmission
    f.gap = f.recent_rtt / flight_size(f)
    f.later = 0.0
    f.partial = 0
    f.repaired = 0.0
    f.first_new = f.next_seq
    repair_more(f, now)
    if f.fine != 0:
        f.fine_rto *= RAISED
        if f.event_at == now:  # packets that the cut window allows at once belong to this event
            edge = f.high_ack + math.floor(window_at(f.state, 0).cwnd + EPS)
            f.event_seq = max(edge, f.next_seq + 1)
    restart_timer(f, now)


@compiled
def leave_recovery(f, now):
    """Leave recovery; remaining holes and losses of packets sent during it belong to the next
    loss event."""
    f.phase = OPEN
    f.holes = unrepaired(f) + f.later
    f.later = 0.0
    forget_duplicates(f)
    restart_timer(f, now)


@compiled
def has_sent_on(f):
    """Whether new packets follow the last retransmission, and so cause duplicate ACKs."""
    return f.next_seq - f.recover >= 2 - EPS


@compiled
def go_on_finely(f, now):
    """Repair the next hole at once if it is older than the fine timeout.

    If the ACK that reveals it is timed (``newest_only``), its round-trip time includes the repair
    of the first hole and raises the fine timeout. The hole then often waits for more duplicate
    ACKs.
    """
    age = now - f.hole_sent_at
    if f.newest_only != 0:
        update_fine_timeout(f, age + f.gap)
    if age >= f.fine_rto:
        f.partial = 1
        forget_duplicates(f)
        repair_more(f, now)
        restart_timer(f, now)
    else:
        leave_recovery(f, now)


@compiled
def is_answered(f):
    """Whether the first retransmission of the round, or a packet sent after it, begins to return.

    With fine timers: whether all packets sent before it have returned.
    """
    left = f.high_ack + unrepaired(f)
    return left >= f.recover if f.fine != 0 else left > f.recover + EPS


@compiled
def go_on_recovering(f, now):
    """The first retransmission of the last round has returned, or would have without a loss."""
    if f.repair_lost != 0:
        if f.fine != 0 and has_sent_on(f):
            # a duplicate ACK finds it late; without one the sender waits for the coarse timer
            if f.repair_sent_at > f.event_at:
                loss_event(f, now, 2.0, flight_size(f))
                f.event_at = now
                f.event_seq = f.next_seq
            f.fine_rto *= DOUBLED
            retransmit(f, now, 1.0)
            restart_timer(f, now)
    elif f.repaired >= f.holes:
        newest = f.repairs_end - 1
        still_out = newest > f.recover and f.high_ack <= newest + EPS
        if still_out and f.hole_known != 0:  # drops of a queue have no exact place
            f.recover = newest
            restart_timer(f, now)
        else:
            leave_recovery(f, now)
    elif f.fine != 0:
        go_on_finely(f, now)
    elif f.careful == 0:  # the next hole is a new event, if there are enough duplicate ACKs
        leave_recovery(f, now)
    else:
        if f.impatient == 0 or f.partial == 0:
            f.partial = 1
            restart_timer(f, now)
        f.dupacks = 0.0  # packets that have arrived beyond the next hole do not count
        if f.holes > f.holes_at_most:
            f.phase = STUCK
        else:
            repair_more(f, now)


@compiled
def first_hole(f, sent_at, sent, known):
    """Store the first hole to repair: when it was sent, and after how many packets.

    `known`: whether its place in its step is known.
    """
    f.hole_sent_at = sent_at
    f.hole_at = sent
    f.hole_known = known


@compiled
def sent_by(w, f, time):
    """Packets that a flow had sent by `time`."""
    row = locate(w, w.k - 1, time)
    return between(w, f.column, row, fraction(w, row, time))


@compiled
def note_hole(f, packets, sent_at, sent, known):
    """The sender notices the loss of `packets`, sent at `sent_at` after `sent` others."""
    f.unseen -= packets
    if sent < f.expired_seq - EPS:  # written off at the last timeout
        f.given_up = max(f.given_up - packets, 0.0)
        f.known_lost += packets
        f.retransmitted += packets
    elif f.phase != RECOVERY:
        if f.holes == 0:
            first_hole(f, sent_at, sent, known)
        f.holes += packets
    elif sent >= f.event_seq - EPS:
        if f.later == 0 and unrepaired(f) == 0:
            first_hole(f, sent_at, sent, known)
        f.later += packets
    else:
        if unrepaired(f) == 0:
            first_hole(f, sent_at, sent, known)
        f.holes += packets
        if math.isinf(f.holes_per_round):
            write_off(f, packets)
            f.repaired += packets
            f.retransmitted += packets
            if f.selective != 0:
                mark_repairs(f, packets)


@compiled
def look_for_holes(w, f, route):
    """Notice the losses that precede the fluid acknowledged by now."""
    for i in range(route.n_forward):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        slot = slot_at(w.slots, hop.first_slot + f.member)
        while slot.first_loss != slot.last_loss:
            loss = lost_at(slot.losses, slot.first_loss % LOSSES)
            if loss.time > hop.seen:
                break
            slot.first_loss += 1
            sent_at = route.sent_at - (hop.seen - loss.time)
            sent = loss.sent if loss.sent >= 0 else sent_by(w, f, sent_at)
            note_hole(f, loss.packets, sent_at, sent, loss.sent >= 0)


@compiled
def before_hole(w, f, route, fresh):
    """The number of `fresh` packets before the first loss that they reveal; 0 if its place is
    unknown."""
    before = fresh
    dropped = 0.0  # by the links after this one
    for i in range(route.n_forward - 1, -1, -1):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        slot = slot_at(w.slots, hop.first_slot + f.member)
        if slot.first_loss != slot.last_loss:
            loss = lost_at(slot.losses, slot.first_loss % LOSSES)
            if loss.time <= hop.seen:
                if loss.place < 0:
                    return 0.0
                before = min(before, loss.place - dropped - f.acked)
        dropped += slot.dropped
    return max(before, 0.0)


@compiled
def forget_losses(w, f, route):
    """At a timeout, clear all losses so far and the debts for them.

    Fluid that is still in the network is written off: its ACKs do not move the window.
    """
    f.given_up = f.next_seq - f.acked
    for i in range(route.n_forward):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        slot = slot_at(w.slots, hop.first_slot + f.member)
        slot.first_loss = slot.last_loss
        slot.debt = 0.0
        f.given_up -= slot.dropped
    f.unseen = 0.0
    f.holes = 0.0
    f.later = 0.0
    forget_duplicates(f)


@compiled
def expire(w, f, route):
    """The retransmission timer expires: the network counts as empty, and sending starts anew.

    The window is that of ``on_timeout``. Until the losses known by now are repaired, only another
    timeout repairs further losses.
    """
    now = w.now
    stale = max(new_data(f), 0.0)
    timed_out(f, now, 1.0, flight_size(f))
    back_off(f)
    unknown = f.unseen + f.later + f.holes
    f.to_repair = unknown
    if f.phase == RECOVERY or f.phase == STUCK:
        unknown -= f.repaired
        f.to_repair = max(unknown, f.unseen + f.later + 1)
    f.known_lost += unknown
    f.retransmitted += f.to_repair
    forget_losses(w, f, route)
    f.repair = 0.0
    f.phase = LOSS
    f.high_ack = f.next_seq
    f.expired_at = now
    f.expired_seq = f.event_seq = f.next_seq
    f.first_new = f.next_seq + f.to_repair
    if f.stale_rounds == 0:
        new_round(f, now)
    else:  # the next ACK ends the round, in which no more packets are sent
        f.round_seq = f.next_seq
        f.stale_packets = stale
    restart_timer(f, now)
