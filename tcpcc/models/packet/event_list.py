"""The event list: events in the order of time; ties are resolved as in ns-2.

A short list is sorted: most events are followed by one that comes soon after, and few others have
to move. A long list is a binary heap. A sorted list is a heap too, in which each event has one
child instead of two: event ``(i << shift) + 1``.

Simultaneous events are handled in the order in which a simulator with one event per hop would have
scheduled them:

1. by `since`, the time at which the packet's transmission began;
2. by the packet's place in its link's busy period, because the end of one transmission starts the
   next;
3. by the link's number.

The order of insertion cannot be used: `links.transit` inserts packets earlier or later than such a
simulator. Ties are common if link rates are multiples of each other, and their order decides which
packets are dropped.
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.packet.packet_records import MARGIN, event_at

#: Events of a sorted list, at most.
IN_ORDER = 64

#: The `shift` of both kinds of list.
SORTED, BINARY = np.arange(2)


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
def sift_up(w, i, shift, time, since, order, kind, ident):
    """Place an event at leaf `i` or above."""
    while i > 0:
        parent = event_at(w.heap, (i - 1) >> shift)
        if not before(time, since, order, parent):
            break
        move_event(w, i, parent)
        i = (i - 1) >> shift
    place_event(w, i, time, since, order, kind, ident)


@compiled
def sift_down(w, shift, time, since, order, kind, ident):
    """Place an event at the root or below; it replaces the root's event."""
    i = 0
    child = 1
    size, heap = w.heap_size, w.heap
    while child < size:
        least = event_at(heap, child)
        if shift == 1 and child + 1 < size:
            right = event_at(heap, child + 1)
            if before(right.time, right.since, right.order, least):
                least = right
                child += 1
        if before(time, since, order, least):
            break
        move_event(w, i, least)
        i = child
        child = (child << shift) + 1
    place_event(w, i, time, since, order, kind, ident)


@compiled
def replace_first(w, time, since, order, kind, ident):
    """Place an event that takes the place of the first one."""
    if w.in_order != 0:
        sift_down(w, SORTED, time, since, order, kind, ident)
    else:
        sift_down(w, BINARY, time, since, order, kind, ident)


@compiled
def insert(w, time, since, order, kind, ident):
    i = w.heap_size
    w.heap_size += 1
    if w.heap_size + MARGIN > w.heap_room:
        w.need = 1
    if w.in_order != 0 and i < IN_ORDER:
        sift_up(w, i, SORTED, time, since, order, kind, ident)
    else:
        w.in_order = 0
        sift_up(w, i, BINARY, time, since, order, kind, ident)


@not_inlined
def push(w, time, since, order, kind, ident):
    """Add an event; it takes the place that :func:`vacate_first` has left, if any."""
    if w.vacant != 0:
        w.vacant = 0
        replace_first(w, time, since, order, kind, ident)
    else:
        insert(w, time, since, order, kind, ident)


@not_inlined
def put_in_order(w):
    """Sort a heap that has become short, or in which an event has another time."""
    size = w.heap_size
    w.heap_size = 0
    w.in_order = 1
    for k in range(size):
        e = event_at(w.heap, k)
        time, since, order = e.time, e.since, e.order
        kind, ident = np.int64(e.kind), np.int64(e.id)
        insert(w, time, since, order, kind, ident)


@compiled
def next_order(w):
    w.order += 1
    return w.order


@compiled
def schedule(w, time, kind, ident):
    push(w, time, w.now, next_order(w), kind, ident)


@not_inlined
def drop_first(w):
    w.heap_size -= 1
    if w.heap_size > 0:
        last = event_at(w.heap, w.heap_size)
        kind = np.int64(last.kind)
        replace_first(w, last.time, last.since, last.order, kind, np.int64(last.id))
        if w.in_order == 0 and w.heap_size < IN_ORDER // 2:
            put_in_order(w)


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
def next_time(w):
    """The time of the next event; infinite if there is none."""
    return event_at(w.heap, 0).time if w.heap_size > 0 else math.inf
