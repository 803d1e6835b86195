"""A lost packet's account: taken out of what a link took in, remembered until the sender knows.

A packet is lost whole, of one flow. It is taken out of what the link took in of that flow during
this step; if that is less than a packet, the rest is taken out of what waits of that flow, the
newest first, and what is still missing, of what comes next (``debt``). So what a flow has sent is
always what it has in the network, delivered and lost, to the last digit, and a queue that many slow
flows share stays within its buffer.
"""

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.fluid.fluid_records import (
    LOSSES,
    NONE,
    TAKEN,
    TAKEN_PACKETS,
    flow_at,
    hop_at,
    lost_at,
    route_at,
    slot_at,
)
from tcpcc.models.fluid.history import cell, number_at, row_address
from tcpcc.transport.flow_record import RECOVERY

TOGETHER = 0.02  # of a base round-trip time: losses so close to each other are noticed together
READ_AHEAD = 2  # rows after the one that leaves now, which a curve through four rows meets


@compiled
def take_back(w, link, hop, m, packets):
    """Take up to `packets` of flow `m` of `hop` out of what `link` took in; returns how many.

    They are lost by each of the flows that it stands for. Of ACKs only their bytes are: a later
    ACK tells what a lost one would have told.
    """
    slot = slot_at(w.slots, hop.first_slot + m)
    now = min(slot.taken, packets)
    slot.taken -= now
    link.taken -= now * slot.count * slot.size
    link.taken_packets -= now * slot.count
    number_at(w.row, link.column + TAKEN).value = link.taken
    number_at(w.row, link.column + TAKEN_PACKETS).value = link.taken_packets
    if slot.carries_ack == 0:
        slot.accepted -= now
        slot.dropped += now
        number_at(w.row, hop.column + m).value = slot.accepted
    return now


@compiled
def take_from_queue(w, link, hop, m, packets):
    """Take up to `packets` of flow `m` of `hop` out of what waits at `link`, the newest first;
    returns how many. What is about to leave may have been read already, and stays."""
    slot = slot_at(w.slots, hop.first_slot + m)
    read = link.cursor + READ_AHEAD
    if read >= w.k:
        return 0.0
    now = min(slot.accepted - cell(w, read, hop.column + m).value, packets)
    if now <= NONE:
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
    """Take out what is still owed for packets lost before."""
    number = link.first_busy
    while number >= 0:
        slot = slot_at(w.slots, number)
        if slot.debt > 0:
            hop = hop_at(w.hops, slot.hop)
            slot.debt -= take_back(w, link, hop, number - hop.first_slot, slot.debt)
        number = slot.next
    link.debt = link.owed


@compiled
def note_loss(slot, time, place, packets, together):
    """Remember a loss for the sender to find (:func:`tcpcc.models.fluid.repair.look_for_holes`)."""
    newest = lost_at(slot.losses, (slot.last_loss - 1) % LOSSES)
    count = slot.last_loss - slot.first_loss
    if count > 0 and (count == LOSSES or time - newest.time < together):
        newest.packets += packets
    else:
        loss = lost_at(slot.losses, slot.last_loss % LOSSES)
        loss.time = time
        loss.place = place
        loss.packets = packets
        slot.last_loss += 1


@compiled
def is_repair(w, link, hop, m):
    """Whether the packet just lost was a retransmission that a sender in recovery waits for."""
    slot = slot_at(w.slots, hop.first_slot + m)
    f = flow_at(w.flows, slot.flow)
    if f.phase != RECOVERY or f.repeats != 0:
        return False
    after = uniform(link) if link.place < 0 else 1 - link.place
    place = slot.offered - after * slot.fresh
    for i in range(hop.place):
        before = hop_at(w.hops, route_at(w.routes, hop.route).first_hop + i)
        place += slot_at(w.slots, before.first_slot + m).dropped
    return f.repairs_from < place <= f.repairs_end


@compiled
def lose(w, link, hop, m, packets):
    """`packets`, a whole number, of flow `m` of `hop` are lost at `link`."""
    slot = slot_at(w.slots, hop.first_slot + m)
    place = -1.0
    if link.place >= 0:
        place = slot.offered - (1 - link.place) * slot.fresh - slot.dropped - slot.debt
        place = max(place - 1, 0.0)  # itself is none of them
    owed = packets - take_back(w, link, hop, m, packets)
    if owed > 0 and slot.carries_ack == 0:
        owed -= take_from_queue(w, link, hop, m, owed)
    slot.debt += owed
    link.debt += owed * slot.count
    if slot.carries_ack != 0:
        return
    f = flow_at(w.flows, slot.flow)
    f.unseen += packets
    together = TOGETHER * route_at(w.routes, hop.route).base_rtt
    if link.place < 0:
        note_loss(slot, w.now - w.step, place, packets, together)
    else:
        note_loss(slot, w.now - (1 - link.place) * w.step, place, packets, together)
    if is_repair(w, link, hop, m):
        f.repair_lost = 1
