"""Scheduled links: their disciplines decide about a packet when it leaves the queue.

A link is scheduled if its discipline has ``on_departure`` or ``on_select``; all other links are
those of :mod:`.fifo`. Packets wait in inner queues: one, unless the discipline has more. When the
transmitter is free, the discipline chooses an inner queue, sees the packet at its head and the
packet's waiting time, and sends, marks or drops it. It may also pause until a given time, which is
then an event. Departures are events, and packets always reach and leave a scheduled link by an
event (see `path_memory`).
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.engine.streams import uniform
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.conversations import leave_place
from tcpcc.models.packet.event_list import push
from tcpcc.models.packet.headers import drop_packet, take_verdict
from tcpcc.models.packet.links.fifo import is_full
from tcpcc.models.packet.links.queue_sample import clear_queue_sample, fill_queue_sample
from tcpcc.models.packet.packets import (
    at_hop,
    free_place,
    place_in_pool,
    put_in_flight,
    read_packet,
    size_of,
)
from tcpcc.models.packet.recorder import add_sending, add_waiting, bin_at
from tcpcc.models.queue_memory import (
    apply_discipline,
    choose_inner,
    clear_verdict,
    inner_of,
    queue_sample_at,
    show_inner,
)
from tcpcc.models.recorded_fields import link_bin_at


@compiled
def count_waiting(w, link, time):
    """Update the time integral of a scheduled link's queue, before the queue changes."""
    if link.scheduled == 0 or link.recorded == 0:
        return
    if link.stored > 0:
        add_waiting(w, link, link.counted_until, time, float(link.stored))
    link.counted_until = time


@not_inlined
def enter_scheduled(w, link, flow, p, time):
    """A packet arrives at a scheduled link: it is dropped, waits, or is sent at once."""
    size = size_of(flow, p.hop, p.seq)
    link.arrived += 1
    count_waiting(w, link, time)
    b = bin_at(w, time)
    if link.recorded != 0 and b >= 0:
        link_bin_at(link.bins, b).arrived += 1
    q = queue_sample_at(link.sample, 0)
    clear_verdict(q)
    refused = link.loss > 0 and uniform(link) < link.loss
    if not refused:
        full = is_full(link, link.stored, link.sending, size)
        if link.rule != 0:
            fill_queue_sample(w, link, flow, p, time, size, link.stored, full)
            apply_discipline(link, link.rule, b)
            refused = not take_verdict(w, q, link, p.header, time)
        refused = refused or (full and q.evict < 0)
    if refused:
        link.dropped += 1
        drop_packet(w, flow, link, time, p, False)
        return
    store(w, link, int(q.inner), p, time, size)
    if q.evict >= 0:
        push_out(w, link, int(q.evict), int(q.evictions), time)
    if link.sending == 0:
        serve_next(w, link, time)
    if link.recorded != 0 and b >= 0:
        bin = link_bin_at(link.bins, b)
        bin.queue_max = max(bin.queue_max, float(link.stored))


@not_inlined
def store(w, link, number, p, time, size):
    """Put a packet at the end of an inner queue."""
    inner = inner_of(link, number)
    place = place_in_pool(w, p)
    stored = r.packet_at(w.pool, place)
    stored.time = time
    stored.order = 0
    if inner.count == 0:
        inner.first = place
    else:
        r.packet_at(w.pool, inner.last).order = place
    inner.last = place
    inner.count += 1
    inner.bytes += size
    link.stored += 1
    link.queue_bytes += size
    describe_inner(w, link, inner, number)


@compiled
def describe_inner(w, link, inner, number):
    at = math.nan
    size = math.nan
    if inner.count > 0:
        head = r.packet_at(w.pool, inner.first)
        at = head.time
        size = size_of(r.flow_at(w.flows, np.int64(head.flow)), np.int64(head.hop), head.seq)
    show_inner(link, link.n_inner, number, inner, at, size)


@compiled
def take_first(w, link, inner, number):
    """Take the first packet out of an inner queue; returns the packet and its arrival time."""
    place = inner.first
    record = r.packet_at(w.pool, place)
    p = read_packet(record)
    arrived = record.time
    size = size_of(r.flow_at(w.flows, p.flow), p.hop, p.seq)
    inner.first = record.order
    inner.count -= 1
    inner.bytes -= size
    link.stored -= 1
    link.queue_bytes -= size
    free_place(w, place)
    describe_inner(w, link, inner, number)
    return p, arrived


@not_inlined
def drop_stored(w, link, p, time):
    """Drop a packet that has waited."""
    link.dropped += 1
    flow = r.flow_at(w.flows, p.flow)
    drop_packet(w, flow, link, time, p, False)
    leave_place(w, flow)


@not_inlined
def consult(w, link, p, inner, number, time, arrived):
    """Call the discipline's rule for a packet that leaves its inner queue; returns the sample."""
    flow = r.flow_at(w.flows, p.flow)
    q = fill_queue_sample(w, link, flow, p, time, size_of(flow, p.hop, p.seq), link.stored, False)
    q.sojourn = time - arrived
    q.inner = float(number)
    q.inner_queue = float(inner.count)
    q.inner_bytes = inner.bytes
    apply_discipline(link, link.departure, bin_at(w, time))
    return q


@not_inlined
def push_out(w, link, number, count, time):
    """Drop packets from the head of an inner queue to make room in the buffer."""
    inner = inner_of(link, number)
    dropped = 0
    while inner.count > 0 and (
        dropped < count or (link.in_bytes != 0 and is_full(link, link.stored, link.sending, 0.0))
    ):
        p, arrived = take_first(w, link, inner, number)
        q = queue_sample_at(link.sample, 0)
        q.again = 0.0
        q.evicted = 1.0
        if link.departure != 0:
            consult(w, link, p, inner, number, time, arrived)
        drop_stored(w, link, p, time)
        dropped += 1


@not_inlined
def serve_next(w, link, time):
    """Send the next packet that the discipline lets pass, if any waits."""
    count_waiting(w, link, time)
    dropped_from = -1
    while link.stored > 0 and link.rate > 0:  # at rate 0 nothing is sent
        number = 0
        q = queue_sample_at(link.sample, 0)
        if link.select != 0:
            clear_queue_sample(link, q, float(link.stored))
            choose_inner(link, q, time, bin_at(w, time))
            if q.not_before > time:
                hold_queue(w, link, q.not_before, time)
                return
            number = int(q.inner)
        inner = inner_of(link, number)
        if inner.count == 0:
            raise FloatingPointError("on_select set q.inner to an empty queue")
        p, arrived = take_first(w, link, inner, number)
        if link.departure == 0:
            begin_transmission(w, link, p, time)
            return
        q.again = 1.0 if dropped_from == number else 0.0
        q.evicted = 0.0
        consult(w, link, p, inner, number, time, arrived)
        if take_verdict(w, q, link, p.header, time):
            begin_transmission(w, link, p, time)
            return
        dropped_from = number
        drop_stored(w, link, p, time)


@not_inlined
def hold_queue(w, link, until, time):
    """The discipline sends nothing before `until`: schedule the next call of its ``on_select``."""
    if until < link.release_at:
        link.release_at = until
        push(w, until, time, link.ident, r.QUEUE_RELEASE, link.ident)


@not_inlined
def release_queue(w, link, time):
    """A pause of the discipline ends: serve the link, unless an earlier end has been set since."""
    if time == link.release_at:
        link.release_at = math.inf
        if link.sending == 0:
            serve_next(w, link, time)


@compiled
def begin_transmission(w, link, p, time):
    """Send a packet; events for its arrival and for the end of the transmission follow."""
    size = size_of(r.flow_at(w.flows, p.flow), p.hop, p.seq)
    duration = 8 * size / link.rate
    link.behind = min(link.behind + 1, r.FAR_BEHIND) if link.busy_until == time else 0
    link.begin = time
    link.busy_until = time + duration
    link.sending = 1
    link.sending_bytes = size
    if link.recorded != 0:
        add_sending(w, link, time, link.busy_until, 8 * size, 1.0)
    link.newest = max(time + (duration + link.delay), link.newest)  # a link does not overtake
    put_in_flight(w, link, at_hop(p, p.hop + 1), link.newest)
    order = link.behind * r.BEHIND + link.ident
    push(w, link.busy_until, time, order, r.DEPARTURE, link.ident)
