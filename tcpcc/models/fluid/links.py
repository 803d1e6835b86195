"""A link: a work-conserving FIFO queue with a buffer and a queue discipline.

Let A(t) be the bytes accepted and D(t) the bytes sent by time t, at rate C. Then

    D(t + dt) = min(D(t) + C dt, A(t + dt)).

The fluid that leaves at t arrived at s(t), where A(s) = D(t). By then A_i(s(t)) of flow i has left,
so one number per link gives the composition of its output.
"""

import math

from tcpcc.engine.jit import compiled, index_at, number_at
from tcpcc.models.bins import link_bin_at
from tcpcc.models.fluid.drops import early_drops, overflow, random_losses
from tcpcc.models.fluid.fluid_records import (
    ARRIVED,
    EPS,
    TAKEN,
    TAKEN_PACKETS,
    TIME,
    fluid_hop_at,
    route_at,
    slot_at,
)
from tcpcc.models.fluid.history import between, crossing, may_have_risen
from tcpcc.models.fluid.losses import pay_debts
from tcpcc.models.fluid.routes import append, look_before, value_at
from tcpcc.models.fluid.victims import drop, drop_overflow
from tcpcc.models.fluid.words import pass_words

RECENT = 4  # packet transmissions; arrivals within this time count as simultaneous


@compiled
def take_in(w, link):
    """Accept the fluid that arrives in this step; returns its packets."""
    packets = 0.0
    size = 0.0
    keep = max(1 - w.step * link.rate / (8 * link.size * RECENT), 0.0)
    first = last = -1
    owed = 0.0
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        if route_at(w.routes, hop.route).active == 0:
            continue
        together = look_before(w, hop)
        for m in range(hop.n_slots):
            number = hop.first_slot + m
            awake = index_at(w.awake, number)
            if awake.at == 0 and not may_have_risen(hop, hop.source + m):
                continue
            slot = slot_at(w.slots, number)
            if slot.active == 0:
                continue
            value = value_at(w, hop, hop.source + m, number if together else -1)
            offered, accepted, debt = slot.offered, slot.accepted, slot.debt
            fresh = max(value - offered, 0.0)
            accepted += fresh
            recent = slot.recent * keep + fresh
            if recent < EPS:
                recent = 0.0
            weight = fresh * slot.count
            slot.offered = offered + fresh
            slot.accepted = accepted
            slot.fresh = fresh
            slot.recent = recent
            slot.taken = fresh
            slot.weight = weight
            packets += weight
            size += weight * slot.size
            number_at(w.row, hop.column + m).value = accepted
            if recent > 0:
                first, last = append(w, first, last, number)
            if debt > 0:
                owed += (debt - min(fresh, debt)) * slot.count
            awake.at = 1 if recent > 0 or debt > 0 else 0
    link.first_busy = first
    link.owed = owed
    link.taken += size
    link.taken_packets += packets
    number_at(w.row, link.column + TAKEN).value = link.taken
    number_at(w.row, link.column + TAKEN_PACKETS).value = link.taken_packets
    if packets > 0:
        link.size = size / packets
    return packets


@compiled
def serve(w, link):
    """Send what the rate allows, and find when this fluid arrived; returns the bytes sent."""
    arrived = number_at(w.row, link.column + ARRIVED)
    room = link.rate * w.step / 8
    backlog = link.taken - link.served
    if backlog <= room:
        link.idle += (room - backlog) * 8 / link.rate if room < math.inf else w.step
        link.served = link.taken
        link.waiting = 0.0
        link.cursor = w.k - 1
        arrived.value = w.now
        return backlog
    link.served += room
    row, part = crossing(w, link.column + TAKEN, w.k, link.cursor, link.served)
    link.cursor = row
    arrived.value = between(w, TIME, row, part)
    link.waiting = link.taken_packets - between(w, link.column + TAKEN_PACKETS, row, part)
    return room


@compiled
def record(w, link, before, arrived, sent, dropped):
    b = link_bin_at(link.bins, w.bin)
    b.waiting += (before + link.waiting) / 2 * w.step
    b.queue_max = max(b.queue_max, link.waiting - link.debt)  # owed fluid has been dropped
    b.sent_bits += 8 * sent
    b.busy += 8 * sent / link.rate
    b.arrived += arrived
    b.drops += dropped


@compiled
def step_link(w, link):
    before = link.waiting
    arriving = take_in(w, link)
    if link.debt > 0:
        pay_debts(w, link)
    dropped = 0.0
    if arriving > 0 and link.loss > 0:
        dropped += random_losses(w, link, arriving)
    if arriving > 0 and link.rule != 0 and link.in_amounts == 0:
        early = early_drops(w, link, arriving)
        if early > 0:
            dropped += drop(w, link, early, arriving)
    sent = serve(w, link)
    if link.in_amounts != 0 or link.headers != 0:
        pass_words(w, link)
    excess = min(overflow(link), math.ceil(arriving))
    if excess > 0:
        taken = link.taken_packets
        dropped += drop_overflow(w, link, excess)
        link.waiting = max(link.waiting - (taken - link.taken_packets), 0.0)
    if link.bins != 0:
        record(w, link, before, arriving, sent, dropped)
