"""Losses: a link loses whole packets, each of one flow, and the flow learns of it a while later.

A link that has to drop a packet draws the flow by its share of what arrives at present. The packet
is taken out of what the link has taken in of that flow during this step; if that is less than a
packet, the rest is taken from what comes next (``debt``), so that what a flow sent is always what
it has in the network, delivered and lost.
"""

from tcpcc.fluid.history import number_at
from tcpcc.fluid.records import (
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
from tcpcc.jit import compiled
from tcpcc.transport.records import RECOVERY
from tcpcc.streams import uniform as uniform_plain

uniform = compiled(uniform_plain)

FEW = 8  # that many drops in a step are drawn one by one; of more, each flow has its share
TOGETHER = 0.02  # of a base round-trip time: losses so close together are noticed together


@compiled
def take_back(w, link, hop, m, packets):
    """Take up to `packets` of flow `m` of `hop` out of what the link took in during this step."""
    slot = slot_at(w.slots, hop.first_slot + m)
    now = min(slot.taken, packets)
    slot.taken -= now
    link.taken -= now * slot.size
    link.taken_packets -= now
    number_at(w.row, link.column + TAKEN).value = link.taken
    number_at(w.row, link.column + TAKEN_PACKETS).value = link.taken_packets
    if slot.carries_ack == 0:  # a later ACK tells what a lost one would have told
        slot.accepted -= now
        slot.dropped += now
        number_at(w.row, hop.column + m).value = slot.accepted
    return now


@compiled
def note_loss(w, slot, time, packets, together):
    """Remember a loss until the fluid that arrived after it has been acknowledged."""
    newest = lost_at(slot.losses, (slot.last_loss - 1) % LOSSES)
    count = slot.last_loss - slot.first_loss
    if count > 0 and (count == LOSSES or time - newest.time < together):
        newest.packets += packets
    else:
        entry = lost_at(slot.losses, slot.last_loss % LOSSES)
        entry.time = time
        entry.packets = packets
        slot.last_loss += 1
    flow_at(w.flows, slot.flow).unseen += packets


@compiled
def note_lost_repair(w, link, hop, m):
    """Note when the packet just lost was a retransmission: its ACK will not come."""
    slot = slot_at(w.slots, hop.first_slot + m)
    f = flow_at(w.flows, slot.flow)
    if f.phase == RECOVERY:
        place = slot.offered - uniform(link) * slot.fresh
        for i in range(hop.place):
            before = hop_at(w.hops, route_at(w.routes, hop.route).first_hop + i)
            place += slot_at(w.slots, before.first_slot + m).dropped
        if f.recover < place <= f.recover + 1:
            f.repair_lost = 1


@compiled
def lose(w, link, hop, m, packets):
    slot = slot_at(w.slots, hop.first_slot + m)
    owed = packets - take_back(w, link, hop, m, packets)
    if slot.carries_ack == 0:
        slot.debt += owed
        link.debt += owed
        together = TOGETHER * route_at(w.routes, hop.route).base_rtt
        note_loss(w, slot, w.now - w.step, packets, together)
        note_lost_repair(w, link, hop, m)


@compiled
def drop(w, link, packets, arriving):
    """Drop `packets`, a whole number; `arriving` packets reached the link during this step."""
    if arriving <= 0:
        return
    shared = packets >= FEW
    left = packets
    while left > 0:
        target = uniform(link) * arriving if not shared else 0.0
        reached = 0.0
        given = 0.0
        for i in range(link.n_hops):
            hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
            for m in range(hop.n_slots):
                slot = slot_at(w.slots, hop.first_slot + m)
                if slot.active == 0 or slot.weight <= 0:
                    continue
                reached += slot.weight
                if shared:
                    share = float(int(packets * reached / arriving + 0.5)) - given
                    if share > 0:
                        given += share
                        lose(w, link, hop, m, share)
                elif reached >= target:
                    lose(w, link, hop, m, 1.0)
                    target = float("inf")
        left = 0.0 if shared else left - 1
