"""A link: FIFO, work conserving, with a buffer and a queue discipline.

With A(t) the bytes taken in and D(t) those sent by time t, of rate C:  D(t + dt) = min(D + C dt, A),
and the fluid that leaves at t had arrived at s(t), A(s) = D. The fluid of flow i that has left is
therefore A_i(s(t)): the composition of a FIFO queue in one number per link.
"""

import math

from tcpcc.fluid.history import between, cell, crossing, curve, fraction, locate, number_at
from tcpcc.fluid.losses import drop, take_back, uniform
from tcpcc.fluid.records import (
    ARRIVED,
    TAKEN,
    TAKEN_PACKETS,
    flow_at,
    hop_at,
    index_at,
    link_at,
    link_bin_at,
    route_at,
    slot_at,
)
from tcpcc.fluid.routes import look_before
from tcpcc.jit import accessor, call_rule, compiled
from tcpcc.queues.contract import sample_dtype


BLAMELESS = 0.1  # share of an overflow that does not ask whose window has grown
SLACK = 0.1  # of a packet: how far a full buffer is overrun before a packet is dropped

queue_sample_at = accessor(sample_dtype)


@compiled
def take_in(w, link):
    """Take in what arrives during this step; returns its packets."""
    packets = 0.0
    size = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        if route_at(w.routes, hop.route).active == 0:
            continue
        look_before(w, hop)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active == 0:
                continue
            value = curve(hop, hop.source + m)
            fresh = max(value - slot.offered, 0.0)
            slot.offered += fresh
            slot.fresh = fresh
            slot.weight = fresh
            slot.taken = fresh
            slot.accepted += fresh
            packets += fresh
            size += fresh * slot.size
            number_at(w.row, hop.column + m).value = slot.accepted
    link.taken += size
    link.taken_packets += packets
    number_at(w.row, link.column + TAKEN).value = link.taken
    number_at(w.row, link.column + TAKEN_PACKETS).value = link.taken_packets
    if packets > 0:
        link.size = size / packets
    return packets


@compiled
def grown(w, hop, m):
    """Packets by which the window of a flow had grown when what arrives now was sent."""
    route = route_at(w.routes, hop.route)
    time = w.now - hop.before
    i = hop.place
    while i > 0:
        i -= 1
        previous = hop_at(w.hops, route.first_hop + i)
        row = locate(w, w.k, time)
        part = fraction(w, row, time)
        column = link_at(w.links, previous.link).column + ARRIVED
        time = between(w, column, row, part) - previous.before
    row = locate(w, w.k, time)
    column = route.grown + m
    return cell(w, row + 1, column).value - cell(w, max(row - 1, 0), column).value


@compiled
def weigh_bursts(w, link, arriving, packets):
    """Weights for the draw of those that a full buffer drops: who makes it overflow, loses.

    A window flow's packets arrive one for each that left, and find its place. What overflows is
    what the windows have grown by; only the rest is shared by all that arrives.
    """
    total = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active == 0:
                continue
            slot.weight = 0.0
            if slot.fresh > 0 and slot.carries_ack == 0:
                slot.weight = grown(w, hop, m)
            total += slot.weight
    share = max(packets - total, BLAMELESS * packets) / arriving
    total = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0:
                slot.weight += share * slot.fresh
                total += slot.weight
    return total


@compiled
def pay_debts(w, link):
    """Take out what is still owed for packets dropped before."""
    owed = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.debt > 0 and slot.active != 0:
                slot.debt -= take_back(w, link, hop, m, slot.debt)
                owed += slot.debt
    link.debt = owed


@compiled
def early_drops(w, link, packets):
    """Packets that chance and the discipline drop of the `packets` that arrive in this step."""
    count = 0.0
    if link.loss > 0:
        link.loss_clock += packets
        while link.loss_clock >= link.loss_at:
            link.loss_clock -= link.loss_at
            link.loss_at = math.log(uniform(link)) / math.log(1 - link.loss)
            count += 1
    if link.on_fluid != 0:
        q = queue_sample_at(link.sample, 0)
        q.now = w.now
        q.queue = link.waiting
        q.queue_bytes = link.waiting * link.size
        q.size = link.size
        q.arrivals = packets
        q.idle = link.idle
        q.rate = link.rate
        q.prob = 0.0
        q.spread = 0.0
        call_rule(link.on_fluid, link.state, link.params, link.sample)
        link.idle = 0.0
        link.drop_clock += packets * q.prob
        while link.drop_clock >= link.drop_at:
            link.drop_clock -= link.drop_at
            link.drop_at = 1 + q.spread * (2 * uniform(link) - 1)
            count += 1
    return min(count, math.floor(packets) + 1)


@compiled
def serve(w, link):
    """Send what the rate allows, and find when the fluid that leaves now had arrived."""
    room = link.rate * w.step / 8
    backlog = link.taken - link.served
    if backlog <= room:
        link.idle += (room - backlog) * 8 / link.rate if room < math.inf else w.step
        link.served = link.taken
        link.waiting = 0.0
        link.cursor = w.k - 1
        number_at(w.row, link.column + ARRIVED).value = w.now
        return backlog
    link.served += room
    row_then, part = crossing(w, link.column + TAKEN, w.k, link.cursor, link.served)
    link.cursor = row_then
    number_at(w.row, link.column + ARRIVED).value = between(w, 0, row_then, part)
    link.waiting = link.taken_packets - between(w, link.column + TAKEN_PACKETS, row_then, part)
    return room


@compiled
def overflow(link):
    """Whole packets that the buffer has no room for.

    The packet being sent takes one place of the buffer, and is none of those waiting: its own
    transmission is part of the fixed delay. A packet that finds a part of a place too little is
    dropped whole.
    """
    if link.in_bytes != 0:
        excess = (link.taken - link.served - link.limit) / link.size + 1
    else:
        excess = link.waiting - link.limit + 1
    return math.floor(excess - link.debt + 1 - SLACK)


@compiled
def step_link(w, link):
    before = link.waiting
    arriving = take_in(w, link)
    if link.debt > 0:
        pay_debts(w, link)
    dropped = 0.0
    if arriving > 0 and (link.loss > 0 or link.on_fluid != 0):
        dropped = early_drops(w, link, arriving)
        if dropped > 0:
            drop(w, link, dropped, arriving)
    sent = serve(w, link)
    excess = overflow(link)
    if excess > 0 and arriving > 0:
        excess = min(excess, math.floor(arriving) + 1)
        taken = link.taken_packets
        drop(w, link, excess, weigh_bursts(w, link, arriving, excess))
        link.waiting = max(link.waiting - (taken - link.taken_packets), 0.0)
        dropped += excess
    if link.bins != 0:
        b = link_bin_at(link.bins, w.bin)
        b.waiting += (before + link.waiting) / 2 * w.step
        b.queue_max = max(b.queue_max, link.waiting)
        b.sent_bits += 8 * sent
        if link.rate < math.inf:
            b.busy += 8 * sent / link.rate
        b.arrived += arriving
        b.drops += dropped
