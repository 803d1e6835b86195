"""What happens to single orders of a flow: losses and marks, in a list in order."""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.coast.coast_records import (
    ACK_LOST,
    DATA_LOST,
    MARKED,
    fate_at,
    place_at,
    stage_at,
    way_at,
)


@compiled
def next_fate(c):
    """The first order in the list; infinite if it is empty."""
    if c.first == c.last:
        return math.inf
    return float(fate_at(c.events, c.first & c.event_mask).order)


@compiled
def take_fates(c, order):
    """Remove the events of `order`; returns whether its data and its ACK are lost, and whether its
    data is marked."""
    lost = ack_lost = marked = False
    while c.first != c.last:
        e = fate_at(c.events, c.first & c.event_mask)
        if e.order > order:
            break
        if e.order == order:
            lost = lost or e.kind == DATA_LOST
            ack_lost = ack_lost or e.kind == ACK_LOST
            marked = marked or e.kind == MARKED
        c.first += 1
    c.next_event = next_fate(c)
    return lost, ack_lost, marked


@compiled
def add_fate(w, c, order, kind):
    """Insert an event; returns whether there was room."""
    if c.last - c.first >= c.event_mask:
        return False
    k = c.last
    while k > c.first and fate_at(c.events, (k - 1) & c.event_mask).order > order:
        here = fate_at(c.events, k & c.event_mask)
        there = fate_at(c.events, (k - 1) & c.event_mask)
        here.order = there.order
        here.kind = there.kind
        k -= 1
    e = fate_at(c.events, k & c.event_mask)
    e.order = order
    e.kind = kind
    c.last += 1
    c.next_event = next_fate(c)
    route = way_at(w.routes, c.route)
    for j in range(1, route.n_hops):
        slot = place_at(w.slots, stage_at(w.stages, route.first_stage + j).first_slot + c.place)
        if slot.event > k:
            slot.event += 1
    return True


@compiled
def lost_before(c, slot, upto):
    """Orders that were lost before they reached a slot, among those up to `upto`."""
    count = 0.0
    slot.event = max(slot.event, c.first)
    while slot.event < c.last:
        e = fate_at(c.events, slot.event & c.event_mask)
        if e.order + 1 > upto:
            break
        if e.kind == DATA_LOST or (slot.ack != 0 and e.kind == ACK_LOST):
            count += 1
        slot.event += 1
    return count


@compiled
def is_lost(c, order):
    """Whether an order is already lost."""
    for k in range(c.first, c.last):
        e = fate_at(c.events, k & c.event_mask)
        if e.order == order and e.kind != MARKED:
            return True
        if e.order > order:
            return False
    return False
