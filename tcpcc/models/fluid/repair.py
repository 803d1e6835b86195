"""Losses as the sender sees them: holes, loss events, recovery, timeouts.

A hole is noticed when fluid that reached the link after the loss is acknowledged, and becomes a
loss event when `dupack_threshold` packets after it have been (their ACKs begin to come in when the
next packet after the hole does, hence ``dupack_threshold - 1`` in fluid). During recovery the
controller learns nothing and the window, cut by ``on_loss``, bounds what is in the network. Each
round trip repairs `holes_per_round` of the holes; with more than `holes_at_most`, or when a
retransmission is lost, the timer has to help. Until it is repaired a hole counts as in flight,
since a sender that counts ACKs cannot tell. Nothing that has arrived is ever sent again.

With fine timers (`recovery.fine_grained`) a duplicate ACK finds a hole, or a lost
retransmission, that is older than the fine timeout; a hole sent before the last cut cuts no more.
A next hole that is not late yet waits for duplicates of what has been sent meanwhile, or for the
coarse timer if there are none.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.fluid.fluid_records import EPS, LOSSES, STUCK, fluid_hop_at, lost_at, slot_at
from tcpcc.models.fluid.history import between, fraction, locate
from tcpcc.models.fluid.window import flight_size, new_data, new_round
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, window_at
from tcpcc.transport.recovery.fine_grained import update_fine_timeout
from tcpcc.transport.rto import back_off, restart_timer
from tcpcc.transport.rules import loss_event, timed_out

HALF = 0.5  # of a packet: whether two are the same
RAISED, DOUBLED = 9 / 8, 2  # the fine timeout by a retransmission, and by a repeated one


@compiled
def write_off(f, packets):
    """`packets` lost ones have left the network, and may be sent again."""
    f.high_ack += packets
    f.known_lost += packets


@compiled
def mark_repairs(f, packets):
    """The next `packets` to go out are retransmissions."""
    if f.next_seq > f.repairs_end:
        f.repairs_from = f.repairs_end = f.next_seq
    f.repairs_end += packets


@compiled
def retransmit(f, now, packets):
    """Repair `packets` holes: one whatever the window, as the next packet of ACKs comes in, the
    others as the window allows. The round that this begins ends when the first comes back."""
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
    """Duplicate ACKs that the first hole brings in all: whole packets, of those in flight."""
    return f.dupacks + f.next_seq - f.high_ack - f.holes - f.unseen


@compiled
def newest_duplicate(f):
    """Number of the duplicate ACK that comes in now: that of a packet is due as it begins to be
    acknowledged, and the last one has none after it."""
    return min(math.floor(f.dupacks + EPS) + 1.0, math.floor(duplicates(f) + 0.5))


@compiled
def is_called_for(f):
    """Whether three duplicate ACKs call for a fast retransmit: not for the first packet that is new
    after the last one (:func:`tcpcc.transport.recovery.classic.duplicate_ack`)."""
    return f.blind == 0 or f.hole_known == 0 or abs(f.hole_at - f.first_new) >= HALF


@compiled
def is_noticed(f, now):
    """Whether the newest duplicate ACK tells of the first hole: the third one does, and with fine
    timers an earlier one that finds it late."""
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
    """Holes known and not repaired yet: to a sender that counts ACKs they are still in flight."""
    return f.holes - f.repaired


@compiled
def repair_more(f, now):
    """Repair as many holes as a round trip can."""
    more = min(f.holes_per_round, unrepaired(f))
    f.repaired += more
    write_off(f, more)
    retransmit(f, now, more)


@compiled
def keep_inflation(f):
    """Unless another duplicate ACK comes, what those until now have added to the window stays."""
    number = min(newest_duplicate(f), f.dupack_threshold)
    if duplicates(f) < number + 0.5:
        window_at(f.state, 0).cwnd += number


@compiled
def enter_recovery(f, now):
    if f.fine == 0 or f.hole_at >= f.event_seq - EPS:  # sent before a cut, it is none
        loss_event(f, now, 1.0, flight_size(f))
        f.event_at = now
        f.event_seq = f.next_seq
        if f.keeps_inflation != 0:
            keep_inflation(f)
    if f.keeps_inflation != 0:
        back_off(f)
    f.phase = RECOVERY
    f.flight_at_loss = flight_size(f)
    f.prr_delivered = f.prr_out = 1.0  # the duplicate ACK that has told, and the first repair
    f.gap = f.recent_rtt / flight_size(f)
    f.later = 0.0
    f.partial = 0
    f.repaired = 0.0
    f.first_new = f.next_seq
    repair_more(f, now)
    if f.fine != 0:
        f.fine_rto *= RAISED
        if f.event_at == now:  # what the cut window lets out at once is sent at the time of the cut
            edge = f.high_ack + math.floor(window_at(f.state, 0).cwnd + EPS)
            f.event_seq = max(edge, f.next_seq + 1)
    restart_timer(f, now)


@compiled
def leave_recovery(f, now):
    """Holes that are left, and losses of what was sent meanwhile, are the next event's."""
    f.phase = OPEN
    f.holes = unrepaired(f) + f.later
    f.later = 0.0
    forget_duplicates(f)
    restart_timer(f, now)


@compiled
def has_sent_on(f):
    """Whether new packets have followed the last retransmission, and bring duplicate ACKs."""
    return f.next_seq - f.recover >= 2 - EPS


@compiled
def go_on_finely(f, now):
    """The next hole is repaired at once if it is late. Where the ACK that tells of it is timed
    (``newest_only``), it has been held back by the first hole and raises the timeout; so it often
    has to wait for more duplicates."""
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
    """Whether the first retransmission of the round begins to come back, or another packet sent
    after it. (With fine timers, whether all that was sent before has.)"""
    left = f.high_ack + unrepaired(f)
    return left >= f.recover if f.fine != 0 else left > f.recover + EPS


@compiled
def go_on_recovering(f, now):
    """The first retransmission of the last round came back, or would have."""
    if f.repair_lost != 0:
        if f.fine != 0 and has_sent_on(f):
            # a duplicate ACK finds it late; without one the coarse timer has to help
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
        if still_out and f.hole_known != 0:  # holes of a full queue have no places
            f.recover = newest
            restart_timer(f, now)
        else:
            leave_recovery(f, now)
    elif f.fine != 0:
        go_on_finely(f, now)
    elif f.careful == 0:  # the next hole is another event, if enough duplicate ACKs tell of it
        leave_recovery(f, now)
    else:
        if f.impatient == 0 or f.partial == 0:
            f.partial = 1
            restart_timer(f, now)
        f.dupacks = 0.0  # what has arrived beyond the next hole is not remembered
        if f.holes > f.holes_at_most:
            f.phase = STUCK
        else:
            repair_more(f, now)


@compiled
def first_hole(f, sent_at, sent, known):
    """Remember when the first of the holes to repair was sent, after how many packets, and whether
    it is `known` to be that one of its step."""
    f.hole_sent_at = sent_at
    f.hole_at = sent
    f.hole_known = known


@compiled
def sent_by(w, f, time):
    """How much a flow had sent by `time`."""
    row = locate(w, w.k - 1, time)
    return between(w, f.column, row, fraction(w, row, time))


@compiled
def note_hole(f, packets, sent_at, sent, known):
    """The loss of `packets` sent at `sent_at`, after `sent` others, has become known."""
    f.unseen -= packets
    if sent < f.expired_seq - EPS:  # given up at the last timeout
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
    """Note the losses that the fluid acknowledged by now has passed."""
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
    """How much of the `fresh` packets came before the first loss that they tell of, if it is known
    where that one was; else nothing."""
    before = fresh
    dropped = 0.0  # by the links after the one looked at
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
    """All losses so far are known; what later fluid still owed for them, it owes no more. What is
    in the network nevertheless is given up: its ACKs will be none of the window's."""
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
    """The retransmission timer expired: the network is taken to be empty, and the window opens
    anew; further losses are not repaired otherwise before those known by now are."""
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
    else:  # the next acknowledgement ends the round, which sends no more
        f.round_seq = f.next_seq
        f.stale_packets = stale
    restart_timer(f, now)
