"""A lost packet's account: taken out of what a link took in, remembered until the sender knows.

A packet is lost whole, of one flow. It is taken out of what the link took in of that flow during
this step; if that is less than a packet, the rest is taken from what comes next (``debt``). So what
a flow has sent is always what it has in the network, delivered and lost, to the last digit.
"""

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.fluid.fluid_records import (
    LOSSES,
    TAKEN,
    TAKEN_PACKETS,
    flow_at,
    hop_at,
    index_at,
    lost_at,
    route_at,
    slot_at,
)
from tcpcc.models.fluid.history import number_at
from tcpcc.transport.flow_record import RECOVERY

TOGETHER = 0.02  # of a base round-trip time: losses so close to each other are noticed together


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
def pay_debts(w, link):
    """Take out what is still owed for packets lost before."""
    owed = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0 and slot.debt > 0:
                slot.debt -= take_back(w, link, hop, m, slot.debt)
                owed += slot.debt * slot.count
    link.debt = owed


@compiled
def note_loss(slot, time, packets, together):
    """Remember a loss for the sender to find (:func:`tcpcc.models.fluid.repair.look_for_holes`)."""
    newest = lost_at(slot.losses, (slot.last_loss - 1) % LOSSES)
    count = slot.last_loss - slot.first_loss
    if count > 0 and (count == LOSSES or time - newest.time < together):
        newest.packets += packets
    else:
        loss = lost_at(slot.losses, slot.last_loss % LOSSES)
        loss.time = time
        loss.packets = packets
        slot.last_loss += 1


@compiled
def is_repair(w, link, hop, m):
    """Whether the packet just lost was the retransmission that a sender in recovery waits for."""
    slot = slot_at(w.slots, hop.first_slot + m)
    f = flow_at(w.flows, slot.flow)
    if f.phase != RECOVERY:
        return False
    place = slot.offered - uniform(link) * slot.fresh
    for i in range(hop.place):
        before = hop_at(w.hops, route_at(w.routes, hop.route).first_hop + i)
        place += slot_at(w.slots, before.first_slot + m).dropped
    return f.recover < place <= f.recover + 1


@compiled
def lose(w, link, hop, m, packets):
    """`packets`, a whole number, of flow `m` of `hop` are lost at `link`."""
    slot = slot_at(w.slots, hop.first_slot + m)
    owed = packets - take_back(w, link, hop, m, packets)
    if slot.carries_ack != 0:
        return
    slot.debt += owed
    link.debt += owed * slot.count
    f = flow_at(w.flows, slot.flow)
    f.unseen += packets
    note_loss(slot, w.now - w.step, packets, TOGETHER * route_at(w.routes, hop.route).base_rtt)
    if is_repair(w, link, hop, m):
        f.repair_lost = 1
