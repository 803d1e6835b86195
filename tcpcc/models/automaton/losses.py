"""Lost packets: removed from the fluid that a link accepted, and stored until the sender notices.

A loss is a whole packet of one flow. It is removed from the flow's fluid that the link accepted in
this step; if that is less than a packet, from the flow's waiting fluid, the newest first; the rest
from the flow's next arrivals (``debt``). So the fluid that a flow has sent always equals the sum of
its fluid in the network, delivered and lost, and a queue that many slow flows share stays within
its buffer.
"""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.automaton.fluid_records import (
    EPS,
    LOSSES,
    TAKEN,
    TAKEN_PACKETS,
    fluid_flow_at,
    fluid_hop_at,
    lost_at,
    route_at,
    slot_at,
)
from tcpcc.models.automaton.history import cell, row_address
from tcpcc.transport.flow_record import RECOVERY

TOGETHER = 0.02  # base round-trip times; losses within this time are noticed together
READ_AHEAD = 2  # rows after the present departure that an interpolation of four rows reads


@compiled
def take_back(w, link, hop, m, packets):
    """Remove up to `packets` of flow `m` of `hop` from this step's fluid; returns how many.

    Each of the flows that it stands for loses them. Of lost ACKs only the bytes are removed,
    because a later ACK acknowledges the same packets.
    """
    slot = slot_at(w.slots, hop.first_slot + m)
    now = min(slot.taken, packets)
    slot.taken -= now
    link.taken -= now * slot.count * slot.size
    link.taken_packets -= now * slot.count
    number_at(w.row, link.column + TAKEN).value = link.taken
    number_at(w.row, link.column + TAKEN_PACKETS).value = link.taken_packets
    slot.dropped += now
    if slot.carries_ack == 0:
        slot.accepted -= now
        number_at(w.row, hop.column + m).value = slot.accepted
    return now


@compiled
def take_from_queue(w, link, hop, m, packets):
    """Remove up to `packets` of flow `m` of `hop` from the queue of `link`; returns how many.

    The newest fluid is removed first. Fluid that is about to leave stays, because it may already
    have been read.
    """
    slot = slot_at(w.slots, hop.first_slot + m)
    read = link.cursor + READ_AHEAD
    if read >= w.k:
        return 0.0
    now = min(slot.accepted - cell(w, read, hop.column + m).value, packets)
    if now <= EPS:
        return 0.0
    slot.accepted -= now
    slot.dropped += now
    link.taken -= now * slot.count * slot.size
    link.taken_packets -= now * slot.count
    row = w.k
    while row > read:
        place = row_address(w, row)
        curve = number_at(place, hop.column + m)
        above = curve.value - slot.accepted
        if above <= 0:
            break
        curve.value = slot.accepted
        number_at(place, link.column + TAKEN).value -= above * slot.count * slot.size
        number_at(place, link.column + TAKEN_PACKETS).value -= above * slot.count
        row -= 1
    return now


@compiled
def pay_debts(w, link):
    """Remove arrivals that are owed for packets lost earlier."""
    number = link.first_busy
    while number >= 0:
        slot = slot_at(w.slots, number)
        if slot.debt > 0:
            hop = fluid_hop_at(w.hops, slot.hop)
            slot.debt -= take_back(w, link, hop, number - hop.first_slot, slot.debt)
        number = slot.next
    link.debt = link.owed


@compiled
def note_loss(slot, time, packets, together):
    """Store a loss until the sender notices it (:func:`tcpcc.models.automaton.repair.look_for_holes`).

    A loss within the time `together` after the last one is merged with it, also if the ring is
    full. Returns whether the loss is stored separately.
    """
    newest = lost_at(slot.losses, (slot.last_loss - 1) % LOSSES)
    count = slot.last_loss - slot.first_loss
    if count > 0 and (count == LOSSES or time - newest.time < together):
        newest.packets += packets
        return False
    loss = lost_at(slot.losses, slot.last_loss % LOSSES)
    loss.time = time
    loss.packets = packets
    loss.place = loss.sent = -1.0
    slot.last_loss += 1
    return True


@compiled
def sent_before(w, hop, m, behind):
    """The packets that flow `m` of `hop` had sent before the last `behind` packets that arrived."""
    sent = slot_at(w.slots, hop.first_slot + m).offered - behind
    for i in range(hop.place):
        before = fluid_hop_at(w.hops, route_at(w.routes, hop.route).first_hop + i)
        sent += slot_at(w.slots, before.first_slot + m).dropped
    return sent


@compiled
def note_repair(f, sent):
    """The packet after `sent` is lost: note it if it is a retransmission of the present recovery.

    Only the timer detects such a loss, unless the loss recovery detects it itself (``repeats``).
    """
    if f.phase == RECOVERY and f.repeats == 0 and f.repairs_from <= sent < f.repairs_end:
        f.repair_lost = 1


@compiled
def lose_here(w, link, hop, m, packets):
    """Lose the packet of flow `m` that begins to arrive at the fraction ``link.place`` of this
    step."""
    slot = slot_at(w.slots, hop.first_slot + m)
    behind = (1 - link.place) * slot.fresh
    place = slot.offered - behind - slot.dropped - slot.debt
    owed = packets - take_back(w, link, hop, m, min(packets, behind))
    slot.debt += owed
    link.debt += owed * slot.count
    if slot.carries_ack != 0:
        return
    f = fluid_flow_at(w.flows, slot.flow)
    f.unseen += packets
    sent = sent_before(w, hop, m, behind)
    if note_loss(slot, w.now - (1 - link.place) * w.step, packets, 0.0):
        loss = lost_at(slot.losses, (slot.last_loss - 1) % LOSSES)
        loss.place = place
        loss.sent = sent
    note_repair(f, sent + EPS)  # `sent` is a packet boundary, except for rounding


@compiled
def lose(w, link, hop, m, packets):
    """Lose `packets`, a whole number, of flow `m` of `hop` at `link`."""
    if link.place >= 0:
        lose_here(w, link, hop, m, packets)
        return
    slot = slot_at(w.slots, hop.first_slot + m)
    owed = packets - take_back(w, link, hop, m, packets)
    if owed > 0 and slot.carries_ack == 0:
        owed -= take_from_queue(w, link, hop, m, owed)
    slot.debt += owed
    link.debt += owed * slot.count
    if slot.carries_ack != 0:
        return
    f = fluid_flow_at(w.flows, slot.flow)
    f.unseen += packets
    note_loss(slot, w.now - w.step, packets, TOGETHER * route_at(w.routes, hop.route).base_rtt)
    if f.phase == RECOVERY and f.repeats == 0:
        note_repair(f, sent_before(w, hop, m, uniform(link) * slot.fresh))
