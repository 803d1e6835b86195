"""Which packets a link drops, and whose they are.

Random loss and a queue discipline draw the flow by its share of what arrives. A full buffer drops
the packets of those who made it overflow: a window flow's packets arrive one for each of its own
that has left, and take its place, so what finds no room is what the windows have just grown by.
Only what that does not explain, as with a constant bit rate, is shared by all that arrives. (With a
draw by shares alone, flows of equal round-trip time do not lose together, as those of packets do.)
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.fluid.fluid_records import (
    ARRIVED,
    flow_at,
    hop_at,
    index_at,
    link_at,
    route_at,
    slot_at,
)
from tcpcc.models.fluid.history import between, cell, fraction, locate
from tcpcc.models.fluid.losses import lose, uniform
from tcpcc.models.queue_memory import apply, run_timer
from tcpcc.models.queue_memory import sample_at as queue_sample_at

SLACK = 0.1  # of a packet: by so much a full buffer is overrun before a packet is dropped
BLAMELESS = 0.1  # share of an overflow for which it does not matter whose window has grown
HALF = 0.5  # of a packet: what is left of the one being sent as a packet arrives. Waiting for it is
# a part of the queueing delay, hence of fluid's queue, and not of the queue that the packet finds
FEW = 8  # so many drops in a step are drawn one by one; of more each flow has its share


@compiled
def random_losses(link, packets):
    """How many of `packets` are lost by chance: the distance of losses is geometric."""
    count = 0.0
    link.loss_clock += packets
    while link.loss_at <= link.loss_clock:
        if link.loss_at > 0:
            link.loss_clock -= link.loss_at
            count += 1
        link.loss_at = math.log(uniform(link)) / math.log(1 - link.loss)
    return count


@compiled
def open_flows(w, link):
    """How many sources are open whose path crosses `link`."""
    count = 0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0 and slot.again == 0:
                f = flow_at(w.flows, slot.flow)
                if f.open != 0 and math.isnan(f.finished):
                    count += 1
    return count


@compiled
def concentration(w, link, packets, memory):
    """Probability that a packet of those that arrive now and one of the last `memory` arrivals,
    older ones weighing less, are of the same flow."""
    kept = math.exp(-packets / memory)
    same = 0.0
    total = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            now = slot.fresh / packets if slot.active != 0 else 0.0
            same += now * slot.share
            total += slot.share
            slot.share = kept * slot.share + (1 - kept) * now
    return same / total if total > 0 else 1.0


@compiled
def next_drop(link, q):
    """Draw when the next drop comes: at so many arrivals, as multiple of their mean number."""
    return 1 + q.spread * (2 * uniform(link) - 1)


@compiled
def early_drops(w, link, packets):
    """How many of `packets` the queue discipline drops."""
    q = queue_sample_at(link.sample, 0)
    q.now = w.now
    q.queue = max(link.waiting - HALF, 0.0)
    q.queue_bytes = q.queue * link.size
    q.size = link.size
    q.arrivals = packets
    q.idle = link.idle
    q.rate = link.rate
    q.limit = link.limit / link.size if link.in_bytes != 0 else link.limit
    q.flows = open_flows(w, link)
    if q.memory > 0:
        q.concentration = concentration(w, link, packets, q.memory)
    q.prob = 0.0
    q.spread = 0.0
    q.anew = 0.0
    while link.timer != 0 and q.wake <= w.now:
        run_timer(link, q.wake)
    q.now = w.now
    apply(link, min(w.bin, w.n_bins - 1) if link.bins != 0 else -1)
    link.idle = 0.0
    if q.anew != 0:
        link.drop_at = 0.0
    if q.prob == 0:
        return 0.0
    if link.drop_at == 0:
        link.drop_clock = 0.0
        link.drop_at = next_drop(link, q)
    count = 0.0
    link.drop_clock += packets
    while link.drop_clock * q.prob >= link.drop_at:
        link.drop_clock = min(link.drop_clock - link.drop_at / q.prob, packets)
        link.drop_at = next_drop(link, q)
        count += 1
    return count


@compiled
def overflow(link):
    """How many packets the buffer has no room for.

    The packet being sent takes one place of the buffer and is none of those waiting, since its own
    transmission is part of the fixed delay. A packet that lacks a part of its place is dropped.
    """
    if link.limit == math.inf:
        return 0.0
    if link.in_bytes != 0:
        excess = (link.taken - link.served - link.limit) / link.size + 1
    else:
        excess = link.waiting - link.limit + 1
    return float(math.ceil(excess - link.debt - SLACK))


@compiled
def grown(w, hop, m):
    """By how much the window of a flow had just grown when what arrives now was sent."""
    route = route_at(w.routes, hop.route)
    time = w.now - hop.before
    for i in range(hop.place - 1, -1, -1):
        previous = hop_at(w.hops, route.first_hop + i)
        row = locate(w, w.k, time)
        column = link_at(w.links, previous.link).column + ARRIVED
        time = between(w, column, row, fraction(w, row, time)) - previous.before
    row = locate(w, w.k, time)
    column = route.grown + m
    return cell(w, row + 1, column).value - cell(w, max(row - 1, 0), column).value


@compiled
def blame(w, link, packets):
    """Weigh the flows for an overflow by `packets`; returns the sum of the weights."""
    explained = 0.0
    recent = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            slot.weight = 0.0
            if slot.active == 0:
                continue
            recent += slot.recent
            if slot.fresh > 0 and slot.carries_ack == 0:
                slot.weight = grown(w, hop, m)
                explained += slot.weight
    share = max(packets - explained, BLAMELESS * packets) / recent
    total = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0:
                slot.weight += share * slot.recent
                total += slot.weight
    return total


@compiled
def drop_one(w, link, target):
    """Drop a packet of the flow at which the sum of the weights reaches `target`."""
    reached = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0 and slot.weight > 0:
                reached += slot.weight
                if reached >= target:
                    lose(w, link, hop, m, 1.0)
                    return


@compiled
def drop_many(w, link, packets, total):
    """Drop `packets`, of each flow its share, rounded so that they add up."""
    reached = 0.0
    given = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0 and slot.weight > 0:
                reached += slot.weight
                share = math.floor(packets * reached / total + 0.5) - given
                if share > 0:
                    given += share
                    lose(w, link, hop, m, float(share))


@compiled
def drop(w, link, packets, total):
    """Drop `packets` of the flows by their weights, whose sum is `total`."""
    if packets >= FEW:
        drop_many(w, link, packets, total)
        return
    while packets > 0:
        drop_one(w, link, uniform(link) * total * (1 - 1e-9))
        packets -= 1
