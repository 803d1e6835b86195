"""The event list: a binary heap of events, ordered by time; ties are resolved as in ns-2.

Simultaneous events are handled in the order in which a simulator with one event per hop would have
scheduled them:

1. by `since`, the time at which the packet's transmission began;
2. by the packet's place in its link's busy period, because the end of one transmission starts the
   next;
3. by the link's number.

The order of insertion cannot be used: `forward` inserts packets earlier or later than such a
simulator. Ties are common if link rates are multiples of each other, and their order decides which
packets are dropped.
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled
from tcpcc.models.packet.packet_records import MARGIN, event_at, packet_at


@compiled
def before(time, since, order, other):
    if time < other.time:
        return True
    if time > other.time:
        return False
    if since != other.since:
        return since < other.since
    return order < other.order


@compiled
def place_event(w, i, time, since, order, kind, ident):
    event = event_at(w.heap, i)
    event.time = time
    event.since = since
    event.order = order
    event.kind = kind
    event.id = ident


@compiled
def move_event(w, i, other):
    place_event(
        w, i, other.time, other.since, other.order, np.int64(other.kind), np.int64(other.id)
    )


@compiled
def sift_up(w, i, time, since, order, kind, ident):
    """Place an event at leaf `i` or above."""
    while i > 0:
        parent = event_at(w.heap, (i - 1) >> 1)
        if not before(time, since, order, parent):
            break
        move_event(w, i, parent)
        i = (i - 1) >> 1
    place_event(w, i, time, since, order, kind, ident)


@compiled
def sift_down(w, time, since, order, kind, ident):
    """Place an event at the root or below; it replaces the root's event."""
    i = 0
    size = w.heap_size
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        least = event_at(w.heap, child)
        if child + 1 < size:
            right = event_at(w.heap, child + 1)
            if before(right.time, right.since, right.order, least):
                least = right
                child += 1
        if before(time, since, order, least):
            break
        move_event(w, i, least)
        i = child
    place_event(w, i, time, since, order, kind, ident)


@compiled
def push(w, time, since, order, kind, ident):
    """Add an event; it takes the place that :func:`vacate_first` has left, if any."""
    if w.vacant != 0:
        w.vacant = 0
        sift_down(w, time, since, order, kind, ident)
        return
    w.heap_size += 1
    if w.heap_size + MARGIN > w.heap_room:
        w.need = 1
    sift_up(w, w.heap_size - 1, time, since, order, kind, ident)


@compiled
def next_order(w):
    w.order += 1
    return w.order


@compiled
def schedule(w, time, kind, ident):
    push(w, time, w.now, next_order(w), kind, ident)


@compiled
def drop_first(w):
    w.heap_size -= 1
    if w.heap_size > 0:
        last = event_at(w.heap, w.heap_size)
        kind = np.int64(last.kind)
        sift_down(w, last.time, last.since, last.order, kind, np.int64(last.id))


@compiled
def vacate_first(w):
    """Remove the first event; its place stays for the next one until :func:`close_vacancy`."""
    w.vacant = 1


@compiled
def close_vacancy(w):
    if w.vacant != 0:
        w.vacant = 0
        drop_first(w)


@compiled
def comes_next(w):
    """Whether an event at this time that is added now would be the next one."""
    if w.vacant == 0:
        return w.heap_size == 0 or event_at(w.heap, 0).time > w.now
    first = min(
        event_at(w.heap, 1).time if w.heap_size > 1 else math.inf,
        event_at(w.heap, 2).time if w.heap_size > 2 else math.inf,
    )
    return first > w.now


@compiled
def advance_flight(w, lane, ident, kind):
    """The first packet of a lane has arrived; the next one takes its entry on the event list."""
    lane.flight_head += 1
    if lane.flight_head == lane.flight_tail:
        drop_first(w)
    else:
        p = packet_at(lane.flight, lane.flight_head & lane.flight_mask)
        sift_down(w, p.time, p.since, p.order, kind, ident)
