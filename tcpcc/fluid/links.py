"""A link: FIFO, work conserving, with a buffer and a queue discipline.

With A(t) the bytes taken in and D(t) those sent by time t, of rate C:  D(t + dt) = min(D + C dt, A),
and the fluid that leaves at t had arrived at s(t), A(s) = D. The fluid of flow i that has left is
therefore A_i(s(t)): the composition of a FIFO queue in one number per link.
"""

import math

from tcpcc.fluid.history import between, crossing, curve
from tcpcc.fluid.losses import drop, take_back, uniform
from tcpcc.fluid.records import (
    ARRIVED,
    TAKEN,
    TAKEN_PACKETS,
    flow_at,
    hop_at,
    index_at,
    link_bin_at,
    route_at,
    slot_at,
)
from tcpcc.fluid.routes import look_before
from tcpcc.jit import accessor, call_rule, compiled
from tcpcc.queues.contract import sample_dtype

queue_sample_at = accessor(sample_dtype)


@compiled
def take_in(w, history, link):
    """Take in what arrives during this step; returns its packets."""
    row = w.k & (history.shape[0] - 1)
    packets = 0.0
    size = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        if route_at(w.routes, hop.route).active == 0:
            continue
        look_before(w, history, hop)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active == 0:
                continue
            value = curve(history, hop.source + m, hop)
            fresh = max(value - slot.offered, 0.0)
            slot.offered += fresh
            slot.fresh = fresh
            slot.taken = fresh
            slot.accepted += fresh
            packets += fresh
            size += fresh * slot.size
            history[row, hop.column + m] = slot.accepted
    link.taken += size
    link.taken_packets += packets
    history[row, link.column + TAKEN] = link.taken
    history[row, link.column + TAKEN_PACKETS] = link.taken_packets
    if packets > 0:
        link.size = size / packets
    return packets


@compiled
def pay_debts(w, history, link):
    """Take out what is still owed for packets dropped before."""
    owed = 0.0
    for i in range(link.n_hops):
        hop = hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.debt > 0 and slot.active != 0:
                slot.debt -= take_back(w, history, link, hop, m, slot.debt)
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
def serve(w, history, link):
    """Send what the rate allows, and find when the fluid that leaves now had arrived."""
    row = w.k & (history.shape[0] - 1)
    room = link.rate * w.step / 8
    backlog = link.taken - link.served
    if backlog <= room:
        link.idle += (room - backlog) * 8 / link.rate if room < math.inf else w.step
        link.served = link.taken
        link.waiting = 0.0
        link.cursor = w.k - 1
        history[row, link.column + ARRIVED] = w.now
        return backlog
    link.served += room
    row_then, part = crossing(history, link.column + TAKEN, w.k, link.cursor, link.served)
    link.cursor = row_then
    history[row, link.column + ARRIVED] = between(history, 0, row_then, part)
    link.waiting = link.taken_packets - between(
        history, link.column + TAKEN_PACKETS, row_then, part
    )
    return room


@compiled
def overflow(link):
    """Packets that wait beyond the buffer. A packet's own transmission is part of the fixed delay,
    so the packet being sent takes one place of the buffer and none of the queue."""
    if link.in_bytes != 0:
        return (link.taken - link.served - link.limit) / link.size + 1
    return link.waiting - link.limit + 1


@compiled
def step_link(w, history, link):
    before = link.waiting
    arriving = take_in(w, history, link)
    if link.debt > 0:
        pay_debts(w, history, link)
    dropped = 0.0
    if arriving > 0 and (link.loss > 0 or link.on_fluid != 0):
        dropped = early_drops(w, link, arriving)
        if dropped > 0:
            drop(w, history, link, dropped, arriving)
    sent = serve(w, history, link)
    excess = math.floor(overflow(link) - link.debt)
    if excess > 0 and arriving > 0:
        excess = min(excess, math.floor(arriving) + 1)
        taken = link.taken_packets
        drop(w, history, link, excess, arriving)
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
