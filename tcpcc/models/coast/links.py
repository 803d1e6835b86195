"""A link: a FIFO queue of real size, its drops, and the time at which its arrivals leave."""

import math

from tcpcc.engine.jit import compiled, index_at, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bins import link_bin_at
from tcpcc.models.coast.coast_records import (
    DATA_LOST,
    OFF,
    curve_at,
    order_at,
    pipe_at,
    place_at,
    stage_at,
    way_at,
)
from tcpcc.models.coast.fates import add_fate, lost_before
from tcpcc.models.coast.past import read, trace
from tcpcc.models.coast.victims import drop, pay
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer

ROUNDING = 1e-6  # bits
HALF = 0.5  # packets: mean rest of the packet being sent; a discipline's queue excludes it


@compiled
def take_in(w, link):
    """Read what reaches the link from other links in this step."""
    for j in range(link.n_stages):
        stage = stage_at(w.stages, index_at(w.by_link, link.first_stage + j).at)
        route = way_at(w.routes, stage.route)
        if stage.place == 0 or route.active == 0:
            continue
        trace(w, route, stage, w.now, w.k)
        for m in range(route.n_flows):
            slot = place_at(w.slots, stage.first_slot + m)
            c = curve_at(w.curves, slot.flow)
            slot.was = slot.at
            slot.fresh = 0.0
            if c.mode == OFF:
                continue
            at = read(w, stage, 1 + w.n_links + c.slot)
            if at <= slot.was:
                continue
            slot.at = at
            fresh = at - slot.was
            if c.first != c.last:
                fresh = max(fresh - lost_before(c, slot, at), 0.0)
            slot.fresh = fresh
            link.in_packets += fresh
            link.in_bits += 8 * slot.size * fresh


@compiled
def next_gap(link):
    """Packets to the next random loss, geometric."""
    return max(math.ceil(math.log(uniform(link)) / math.log(1 - link.loss)), 1.0)


@compiled
def random_losses(w, link):
    if link.loss_at == 0:
        link.loss_at = next_gap(link)
    link.loss_clock += link.in_packets
    count = 0
    while link.loss_clock >= link.loss_at:
        link.loss_clock -= link.loss_at
        link.loss_at = next_gap(link)
        if drop(w, link, False, False, False) > 0:
            count += 1
    return count


@compiled
def describe(w, link, q):
    q.now = w.now
    q.queue = max(link.packets - 1 - HALF, 0.0)
    q.queue_bytes = q.queue * link.size
    q.size = link.size
    q.idle = link.idle
    q.rate = link.rate
    q.limit = link.limit / link.size if link.in_bytes != 0 else link.limit
    q.flows = link.open
    q.arrivals = link.in_packets


@compiled
def early_drops(w, link):
    """Drops and marks of the discipline among this step's arrivals."""
    q = queue_sample_at(link.sample, 0)
    describe(w, link, q)
    q.prob = 0.0
    q.spread = 0.0
    q.anew = 0.0
    while link.timer != 0 and q.wake <= w.now:
        run_timer(link, q.wake)
    q.now = w.now
    if link.in_packets <= 0:
        return 0
    apply_discipline(link, min(w.bin, w.n_bins - 1) if link.bins != 0 else -1)
    link.idle = 0.0
    if q.anew != 0:
        link.drop_at = 0.0
    if q.prob == 0:
        return 0
    if link.drop_at == 0:
        link.drop_clock = 0.0
        link.drop_at = 1 + q.spread * (2 * uniform(link) - 1)
    count = 0
    link.drop_clock += link.in_packets
    while link.drop_clock * q.prob >= link.drop_at:
        link.drop_clock = min(link.drop_clock - link.drop_at / q.prob, link.in_packets)
        link.drop_at = 1 + q.spread * (2 * uniform(link) - 1)
        if drop(w, link, False, link.ecn != 0, False) > 0:
            count += 1
    return count


@compiled
def excess(link):
    """Whether the queue is longer than the buffer, the packet being sent included."""
    if link.in_bytes != 0:
        return link.bits > 8 * link.limit
    return link.packets > link.limit


@compiled
def let_leave(w, link, c):
    """When the packets that a flow in an episode has sent in this step leave its first link;
    returns how many packets were dropped.

    A packet finds the flow's own earlier packets of the step, and its part of what else the queue
    has changed by in the step. If it finds the buffer full, it is dropped, or now and then
    (`REPLACED`) a packet of a coasting flow in its place.
    """
    route = way_at(w.routes, c.route)
    slot = place_at(w.slots, stage_at(w.stages, route.first_stage).first_slot + c.place)
    bits = 8 * c.size
    mine = 0.0
    others = link.bits - link.before - bits * (c.next_order - c.emitted)
    limit = 8 * link.limit if link.in_bytes != 0 else bits * link.limit
    dropped = 0
    for o in range(c.emitted, c.next_order):
        entry = order_at(c.orders, o & c.order_mask)
        part = (entry.left - w.before) / w.step
        queue = max(link.before + mine + others * part, 0.0)
        if queue + bits > limit + ROUNDING:
            lost = True
            if uniform(link) < w.replaced:
                lost = drop(w, link, True, False, True) <= 0
            dropped += 1
            if lost:
                add_fate(w, c, o, DATA_LOST)
                c.dropped += 1
                link.bits -= bits
                link.packets -= 1
                continue
        mine += bits
        entry.left = max(entry.left + queue / link.rate, slot.left + bits / link.rate)
        slot.left = entry.left
    c.emitted = c.next_order
    return dropped


@compiled
def let_all_leave(w, link, number):
    dropped = 0
    for i in range(w.n_emitted):
        c = curve_at(w.curves, index_at(w.emitted, i).at)
        if c.link == number:
            dropped += let_leave(w, link, c)
    return dropped


@compiled
def step_link(w, link, number):
    take_in(w, link)
    before = link.waiting
    if link.in_packets > 0:
        link.size = link.in_bits / (8 * link.in_packets)
    link.before = link.bits
    link.bits += link.in_bits
    link.packets += link.in_packets
    dropped = 0
    if link.loss > 0 and link.in_packets > 0:
        dropped += random_losses(w, link)
    room = link.rate * w.step
    sent = min(room, link.bits)
    if sent >= link.bits:
        link.idle += (room - sent) / link.rate
        link.packets = 0.0
        link.bits = 0.0
    else:
        link.packets -= link.packets * sent / link.bits
        link.bits -= sent
    if link.rule != 0:
        dropped += early_drops(w, link)
    dropped += let_all_leave(w, link, number)
    while excess(link):
        if drop(w, link, True, False, True) <= 0 and drop(w, link, True, False, False) <= 0:
            break
        dropped += 1
    if link.debt != 0:
        pay(w, link)
    link.packets = max(link.packets, 0.0)
    link.bits = max(link.bits, 0.0)
    link.waiting = max(link.packets - 1, 0.0)
    wait = max(link.bits - 8 * link.size, 0.0) / link.rate
    number_at(w.row, link.column).value = max(w.now + wait, number_at(w.last, link.column).value)
    if link.waiting > 0:
        w.busy = 1
    if link.bins != 0:
        b = link_bin_at(link.bins, w.bin)
        b.waiting += (before + link.waiting) / 2 * w.step
        b.queue_max = max(b.queue_max, link.waiting)
        b.sent_bits += sent
        b.busy += sent / link.rate
        b.arrived += link.in_packets
        b.drops += dropped
        b.marks += link.marks
    link.marks = 0.0
    link.in_bits = 0.0
    link.in_packets = 0.0
