"""A link: a FIFO queue of real size, its drops, and the time at which its arrivals leave."""

import math

from tcpcc.engine.jit import compiled, index_at, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bins import link_bin_at
from tcpcc.models.coast.coast_records import (
    EPISODE,
    LOST,
    OFF,
    curve_at,
    order_at,
    packet_of,
    pipe_at,
    place_at,
    stage_at,
    way_at,
)
from tcpcc.models.coast.fates import lost_before
from tcpcc.models.coast.past import read, trace
from tcpcc.models.coast.victims import drop, lose, pay, weight
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer

ROUNDING = 1e-6  # bits
MEMORY = 10.0  # steps over which the arrivals of packets and of coasting flows are compared
HALF = 0.5  # packets: mean rest of the packet being sent; a discipline's queue excludes it


@compiled
def insert_packet(w, n, at, flow, order, place):
    """Insert a packet into the list of `n`, in order of time."""
    k = n
    while k > 0 and packet_of(w.packets, k - 1).time > at:
        here = packet_of(w.packets, k)
        there = packet_of(w.packets, k - 1)
        here.time = there.time
        here.flow = there.flow
        here.order = there.order
        here.place = there.place
        k -= 1
    here = packet_of(w.packets, k)
    here.time = at
    here.flow = flow
    here.order = order
    here.place = place


@compiled
def note_arrival(w, link, number, fresh, listed):
    """`fresh` packets reach slot `number` in this step; `listed` of them are in the list."""
    slot = place_at(w.slots, number)
    slot.fresh = fresh
    slot.next = link.arriving
    link.arriving = number
    link.in_packets += fresh
    link.in_bits += 8 * slot.size * fresh
    if slot.owed > 0:
        link.debt = 1
    c = curve_at(w.curves, slot.flow)
    mine = weight(w, slot, True, False)
    link.smooth += 8 * slot.size * (fresh - listed)  # a part of a packet may have come before
    if c.mode != EPISODE:
        link.coasting += fresh
        link.of_coasting += mine
    else:
        link.of_packets += mine


@compiled
def take_packets(w, link, route, stage, number, n):
    """List the packets of a flow in an episode that reach a later link in this step."""
    slot = place_at(w.slots, number)
    c = curve_at(w.curves, slot.flow)
    upto = c.emitted
    if stage.place > 1:
        before = stage_at(w.stages, route.first_stage + stage.place - 1)
        upto = place_at(w.slots, before.first_slot + c.place).order
    fresh = 0.0
    begin = n
    while slot.order < upto and n < w.room:
        entry = order_at(c.orders, slot.order & c.order_mask)
        if entry.bits & LOST == 0:
            at = entry.left + stage.before
            if at > w.now:
                break
            insert_packet(w, n, at, slot.flow, slot.order, stage.place)
            n += 1
            fresh += min(slot.order + 1 - slot.at, 1.0)
        slot.order += 1
        slot.at = max(slot.at, float(slot.order))
    if fresh > 0:
        note_arrival(w, link, number, fresh, float(n - begin))
    return n


@compiled
def take_in(w, link):
    """Take in what reaches the link from other links in this step; returns the number of packets
    listed."""
    n = 0
    for j in range(link.n_stages):
        stage = stage_at(w.stages, index_at(w.by_link, link.first_stage + j).at)
        route = way_at(w.routes, stage.route)
        if route.active == 0:
            continue
        if route.coasting > 0:
            trace(w, route, stage, w.now, w.k)
        for m in range(route.n_flows):
            number = stage.first_slot + m
            slot = place_at(w.slots, number)
            c = curve_at(w.curves, slot.flow)
            slot.was = slot.at
            if c.mode == EPISODE:
                n = take_packets(w, link, route, stage, number, n)
            elif c.mode != OFF:
                at = read(w, stage, 1 + w.n_links + c.slot)
                if at <= slot.was:
                    continue
                slot.at = at
                fresh = at - slot.was
                if c.first != c.last:
                    fresh = max(fresh - lost_before(c, slot, at), 0.0)
                note_arrival(w, link, number, fresh, 0.0)
    return n


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
    q.queue = max(link.waiting - HALF, 0.0)
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
def gather(w, number, n):
    """Add to the list the packets that flows in episodes send over link `number`, their first, in
    this step; returns how many there are now."""
    for i in range(w.n_emitted):
        flow = index_at(w.emitted, i).at
        c = curve_at(w.curves, flow)
        if c.link != number:
            continue
        for o in range(c.emitted, min(c.next_order, c.emitted + w.room - n)):
            at = order_at(c.orders, o & c.order_mask).left
            if c.noise > 0:  # the host's processing time; its mean is part of the delay
                link = pipe_at(w.links, number)
                c.processed = max(at + c.noise * (uniform(link) - 0.5), c.processed)
                at = c.processed
            insert_packet(w, n, at, flow, o, 0)
            n += 1
    return n


@compiled
def pass_time(link, q, net, most, seconds):
    """Let the queue change by `net` bit/s for some time; bits beyond `most` are lost."""
    end = q + net * seconds
    area = (q + end) / 2 * seconds
    if end < 0:
        area = q * q / (-2 * net)
        link.idle += end / net if link.in_bits <= 0 else 0.0
        end = 0.0
    elif end > most:
        link.excess += end - most
        area = most * seconds
        end = most
    link.area += area
    return end


@compiled
def enter_queue(w, link, p, q, most):
    """A packet of an episode reaches its first link; returns the bits that the queue grows by.

    If it finds the buffer full, one packet is dropped: this one or, by their weights, one of a
    coasting flow.
    """
    c = curve_at(w.curves, p.flow)
    route = way_at(w.routes, c.route)
    slot = place_at(w.slots, stage_at(w.stages, route.first_stage + p.place).first_slot + c.place)
    bits = 8 * slot.size
    entry = order_at(c.orders, p.order & c.order_mask)
    if p.place == 0:
        c.emitted = p.order + 1
    entry.left = max(p.time + q / link.rate, slot.left + bits / link.rate)
    slot.left = entry.left
    if p.place < route.n_forward:
        entry.received = entry.left + route.to_receiver
    if q + bits <= most + ROUNDING:
        return bits
    link.dropped += 1
    share = link.of_coasting / (link.of_coasting + link.of_packets)
    if link.coasting > 0 and uniform(link) < share and drop(w, link, True, False, True) > 0:
        return 0.0
    lose(w, c, p.order, slot.ack)
    return 0.0


@compiled
def fill_queue(w, link, number, n):
    """The queue during this step: packets of episodes one by one, everything else at its mean rate
    in the step."""
    n = gather(w, number, n)
    smooth = link.smooth
    share = 1 - link.coasting / link.in_packets if link.in_packets > 0 else 0.0
    net = smooth / w.step - link.rate
    most = 8 * link.limit * (1.0 if link.in_bytes != 0 else link.in_queue)
    q = link.bits
    at = w.before
    link.area = 0.0
    for i in range(n):
        p = packet_of(w.packets, i)
        time = min(max(p.time, at), w.now)
        q = pass_time(link, q, net, most, time - at)
        at = time
        q += enter_queue(w, link, p, q, most)
    q = pass_time(link, q, net, most, w.now - at)
    link.bits = q
    # a packet is in the queue as a whole when it arrives, fluid half of it on average
    link.waiting = max(link.area / w.step / (8 * link.in_queue) - 1 + 0.5 * min(share, 1.0), 0.0)
    while link.excess >= 8 * link.size:
        link.excess -= 8 * link.size
        if drop(w, link, True, False, True) > 0 or drop(w, link, True, False, False) > 0:
            link.dropped += 1


@compiled
def step_link(w, link, number):
    keep = math.exp(-w.step / (MEMORY * w.usual))
    link.of_coasting *= keep
    link.of_packets *= keep
    n = take_in(w, link)
    if link.in_packets > 0:
        link.size = link.in_bits / (8 * link.in_packets)
        waiting = link.bits / (8 * link.in_queue)
        link.in_queue = (link.bits + link.in_bits) / (8 * (waiting + link.in_packets))
    link.dropped = 0
    before = link.bits
    fill_queue(w, link, number, n)
    sent = max(before + link.in_bits - link.bits - 8 * link.size * link.dropped, 0.0)
    sent = min(sent, link.rate * w.step)
    dropped = 0
    if link.loss > 0 and link.in_packets > 0:
        dropped += random_losses(w, link)
    if link.rule != 0:
        dropped += early_drops(w, link)
    link.bits = max(link.bits - 8 * link.size * dropped, 0.0)
    dropped += link.dropped
    if link.debt != 0:
        pay(w, link)
    wait = max(link.bits - 8 * link.size, 0.0) / link.rate
    link.longest = max(link.longest, wait)
    number_at(w.row, link.column).value = max(w.now + wait, number_at(w.last, link.column).value)
    if link.waiting > 0:
        w.busy = 1
    if link.bins != 0:
        b = link_bin_at(link.bins, w.bin)
        b.waiting += link.waiting * w.step
        b.queue_max = max(b.queue_max, link.waiting)
        b.sent_bits += sent
        b.busy += sent / link.rate
        b.arrived += link.in_packets
        b.drops += dropped
        b.marks += link.marks
    link.marks = 0.0
    link.in_bits = 0.0
    link.in_packets = 0.0
    link.coasting = 0.0
    link.smooth = 0.0
    link.arriving = -1
