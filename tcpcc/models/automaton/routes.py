"""Tracing fluid back: what arrives at a link now, what is acknowledged now, when it was sent."""

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.automaton.fluid_records import ARRIVED, fluid_hop_at, fluid_link_at, route_at, slot_at
from tcpcc.models.automaton.history import (
    between,
    curve,
    find,
    fraction,
    locate,
    may_have_risen,
    row_address,
    turn,
)


@compiled
def look_at(w, newest, time, place):
    """Set `place` to a time in the past."""
    place.earlier = row_address(w, place.cursor)
    row = find(w, newest, place.cursor, time)
    turn(w, newest, row, fraction(w, row, time), place)


@compiled
def append(w, first, last, number):
    """Put slot `number` at the end of a list; returns the list's first and last."""
    slot_at(w.slots, number).next = -1
    if last < 0:
        return number, number
    slot_at(w.slots, last).next = number
    return first, number


@compiled
def read(w, place, column, hop, together, wake):
    """Read the rising curves of all flows of `hop`, from `column` on, into their slots.

    With `wake`, the senders of curves that may have risen since the last step wake.

    A link sends at its rate. The flows' parts of it, read from interpolated curves (see
    `history.curve`), may add up to slightly more or less. If the flows are `together`, that is,
    make up all or most of the link's output, the flows that the link is sending are corrected, so
    that no noise returns to a full queue.
    """
    missing = 0.0
    leeway = 0.0
    adjust = together and place.four != 0
    first = last = -1
    for m in range(hop.n_slots):
        if not may_have_risen(place, column + m):  # the usual case: windows are bursts
            continue
        slot = slot_at(w.slots, hop.first_slot + m)
        if slot.active == 0:
            continue
        if wake:
            number_at(w.wakes, slot.flow).value = w.now
        low = number_at(place.row1, column + m).value
        high = number_at(place.row2, column + m).value
        if low == high:
            continue
        slot.value = curve(place, column + m, low, high)
        if adjust:
            done = slot.value - low
            left = high - slot.value
            slot.leeway = min(done, left)
            missing += (place.part * left - (1 - place.part) * done) * slot.count
            leeway += slot.leeway * slot.count
            if slot.leeway != 0:
                first, last = append(w, first, last, hop.first_slot + m)
    if leeway > 0:
        share = min(max(missing / leeway, -1.0), 1.0)
        while first >= 0:
            slot = slot_at(w.slots, first)
            slot.value += share * slot.leeway
            first = slot.next


@compiled
def look_back(w, route):
    """Trace the fluid that is acknowledged now back to its sender, link by link, and read the
    amount of each flow."""
    newest = w.k - 1
    time = w.now - route.after
    for i in range(route.n_hops - 1, -1, -1):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        link = fluid_link_at(w.links, hop.link)
        hop.passed = find(w, newest, hop.passed, time)
        hop.seen = between(w, link.column + ARRIVED, hop.passed, fraction(w, hop.passed, time))
        if i == route.n_hops - 1:
            look_at(w, newest, hop.seen, route)
            read(w, route, hop.column, hop, route.active > 1 or link.n_hops == 1, True)
        time = hop.seen - hop.before
    if route.n_hops == 0:
        look_at(w, newest, time, route)
    route.sent_at = time
    route.last_rtt = route.rtt
    route.rtt = w.now - time


@compiled
def value_at(w, place, column, slot):
    """A curve at a place. If it rises, its value is that in slot number `slot`, where :func:`read`
    has written it; if `slot` is -1, it is interpolated here."""
    low = number_at(place.row1, column).value
    high = number_at(place.row2, column).value
    if low == high:
        return low
    return curve(place, column, low, high) if slot < 0 else slot_at(w.slots, slot).value


@compiled
def look_before(w, hop):
    """Find when the fluid that arrives at `hop` now left the sender, or reached the link before.

    Returns whether the flows' curves have been read together.
    """
    time = w.now - hop.before
    newest = w.k - hop.behind
    if hop.through >= 0:  # it left the link before at this time, and had reached it earlier
        hop.left = find(w, newest, hop.left, time)
        time = between(w, hop.through, hop.left, fraction(w, hop.left, time))
    look_at(w, newest, time, hop)
    together = hop.through >= 0 and route_at(w.routes, hop.route).active > 1
    if together:
        read(w, hop, hop.source, hop, together, False)
    return together


@compiled
def oldest_row(w, route):
    """The oldest row that a look-up of this route can need."""
    oldest = route.cursor
    for i in range(route.n_hops):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        oldest = min(oldest, hop.passed, hop.cursor)
        if hop.through >= 0:
            oldest = min(oldest, hop.left)
    return oldest


@compiled
def look_at_receivers(w, route):
    """Find the place in the history of the fluid that reaches the receivers of a route now."""
    time = w.now - route.to_receiver
    row = locate(w, w.k, time)
    column = route.column
    if route.n_forward > 0:
        hop = fluid_hop_at(w.hops, route.first_hop + route.n_forward - 1)
        column = hop.column
        arrived = fluid_link_at(w.links, hop.link).column + ARRIVED
        time = between(w, arrived, row, fraction(w, row, time))
        row = locate(w, w.k, time)
    route.bin_row = row
    route.bin_part = fraction(w, row, time)
    route.bin_column = column


@compiled
def delivered(w, route, member):
    """Packets that have reached the receiver of a flow by now."""
    return between(w, route.bin_column + member, route.bin_row, route.bin_part)
