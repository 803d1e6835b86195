"""Links that change during a run: packets under way get new times."""

import math

from tcpcc.engine.jit import compiled, not_inlined, number_at
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.event_list import put_in_order
from tcpcc.models.packet.links.fifo import leave_queue
from tcpcc.models.packet.links.scheduler import serve_next
from tcpcc.models.packet.recorder import add_sending, add_waiting


@compiled
def send_rest(w, link, now, end, rate):
    """The rest of the packet that would have been sent at `end` at the former `rate` is sent at the
    new one; returns when that ends. At rate 0 it waits until the rate changes."""
    left = link.left if rate == 0 else (end - now) * rate
    new_end = now + left / link.rate if link.rate > 0 else math.inf
    if link.recorded != 0 and rate > 0:
        add_sending(w, link, now, end, left, -1.0)
    if link.recorded != 0 and link.rate > 0:
        add_sending(w, link, now, new_end, left, 1.0)
    link.left = left if link.rate == 0 else 0.0
    return new_end


@compiled
def time_before(lane, place):
    """When the packet before a place in a lane arrives; 0 if there is none."""
    if place > lane.flight_head:
        return r.packet_at(lane.flight, (place - 1) & lane.flight_mask).time
    return 0.0


@not_inlined
def reschedule(w, kind, ident, time, since):
    for i in range(w.heap_size):
        e = r.event_at(w.heap, i)
        if e.kind == kind and e.id == ident:
            e.time = time
            e.since = since
            put_in_order(w)
            return


@not_inlined
def retime(w, link, ident, now, rate):
    """Reschedule the packets of a link after a change of its delay, or of its rate from `rate`.

    The packets behind the one being sent wait until its rest has been sent.
    """
    lane = r.lane_at(link.lane, 0)
    waiting = link.queue_tail - link.queue_head
    first = lane.flight_tail - waiting
    stood = rate == 0
    end = link.busy_until
    if waiting > 0:
        end = r.queued_at(link.queue, link.queue_head & link.queue_mask).leaves
    moved = first  # the first packet with a new time
    if link.rate != rate and (link.left > 0 or now < end < math.inf):
        new_end = send_rest(w, link, now, end, rate)
        moved = first - 1
        p = r.packet_at(lane.flight, moved & lane.flight_mask)
        later = new_end + (link.delay if stood else p.time - end)
        p.time = max(later, time_before(lane, moved))
        end = new_end
    elif waiting == 0:
        return
    elif link.rate == 0:
        end = math.inf
    elif stood:
        end = now
    last = time_before(lane, first)
    for i in range(waiting):
        entry = r.queued_at(link.queue, (link.queue_head + i) & link.queue_mask)
        p = r.packet_at(lane.flight, (first + i) & lane.flight_mask)
        if link.recorded != 0:
            if end > entry.leaves:
                add_waiting(w, link, entry.leaves, end, 1.0)
            else:
                add_waiting(w, link, end, entry.leaves, -1.0)
            old_end = link.busy_until
            if i + 1 < waiting:
                old_end = r.queued_at(
                    link.queue, (link.queue_head + i + 1) & link.queue_mask
                ).leaves
            add_sending(w, link, entry.leaves, old_end, 8 * entry.size, -1.0)
            if link.rate > 0:
                add_sending(w, link, end, end + 8 * entry.size / link.rate, 8 * entry.size, 1.0)
        entry.leaves = end
        link.begin = end
        if stood:
            p.since = end
        if link.rate > 0:
            end += 8 * entry.size / link.rate
        p.time = max(end + link.delay, last)
        last = p.time
    link.busy_until = end
    if moved == lane.flight_head:
        p = r.packet_at(lane.flight, moved & lane.flight_mask)
        reschedule(w, r.ARRIVAL, ident, p.time, p.since)


@not_inlined
def retime_scheduled(w, link, ident, now, rate):
    """As :func:`retime`, for the packet that a scheduled link is sending."""
    if link.rate == rate or not (link.left > 0 or link.busy_until > now):
        return
    lane = r.lane_at(link.lane, 0)
    link.busy_until = send_rest(w, link, now, link.busy_until, rate)
    newest = lane.flight_tail - 1
    p = r.packet_at(lane.flight, newest & lane.flight_mask)
    p.time = max(link.busy_until + link.delay, time_before(lane, newest))
    link.newest = p.time
    reschedule(w, r.DEPARTURE, ident, link.busy_until, link.begin)
    if newest == lane.flight_head:
        reschedule(w, r.ARRIVAL, ident, p.time, p.since)


@not_inlined
def change_link(w, c, now):
    """A scheduled change of a link: fields of `c` that are not NaN replace the link's values."""
    link = r.link_at(w.links, c.link)
    if c.param != 0:
        number_at(c.param, 0).value = c.value
    if not math.isnan(c.capacity):
        link.capacity = c.capacity
    if not math.isnan(c.loss):
        link.loss = c.loss
    if not math.isnan(c.jitter):
        link.jitter = c.jitter
    if not math.isnan(c.share):
        link.share = c.share
    if not (math.isnan(c.rate) and math.isnan(c.delay)):
        rate = link.rate
        if link.scheduled == 0:
            leave_queue(link, now, w.since)
        if not math.isnan(c.rate):
            link.rate = c.rate
            link.size = -1.0  # forces `occupy` to recompute the transmission time
        if not math.isnan(c.delay):
            link.delay = c.delay
        if link.scheduled == 0:
            retime(w, link, c.link, now, rate)
        elif link.sending != 0:
            retime_scheduled(w, link, c.link, now, rate)
        else:
            serve_next(w, link, now)
