"""Where fluid stands: what arrives at a link now, what is acknowledged now, when it was sent."""

from tcpcc.fluid.history import between, find, fraction, locate, weigh
from tcpcc.fluid.records import ARRIVED, hop_at, link_at
from tcpcc.jit import compiled


@compiled
def look_at(w, newest, time, place):
    """Turn `place` to a moment of the past."""
    row = find(w, newest, place.cursor, time)
    weigh(w, newest, row, fraction(w, row, time), place)


@compiled
def look_back(w, route):
    """Follow the fluid that is acknowledged now back to its sender, link by link."""
    newest = w.k - 1
    time = w.now - route.after
    for i in range(route.n_hops - 1, -1, -1):
        hop = hop_at(w.hops, route.first_hop + i)
        hop.back = find(w, newest, hop.back, time)
        column = link_at(w.links, hop.link).column + ARRIVED
        hop.seen = between(w, column, hop.back, fraction(w, hop.back, time))
        if i == route.n_hops - 1:
            look_at(w, newest, hop.seen, route)
        time = hop.seen - hop.before
    if route.n_hops == 0:
        look_at(w, newest, time, route)
    route.sent_at = time
    route.last_rtt = route.rtt
    route.rtt = w.now - time


@compiled
def look_before(w, hop):
    """Find when what arrives at `hop` now left the sender, or reached the link before."""
    time = w.now - hop.before
    newest = w.k - hop.behind
    if hop.through >= 0:  # it left the link before at this time, and had reached it earlier
        hop.left = find(w, newest, hop.left, time)
        time = between(w, hop.through, hop.left, fraction(w, hop.left, time))
    look_at(w, newest, time, hop)


@compiled
def oldest_row(w, route):
    """The oldest row that a look-up of this route may still need."""
    oldest = route.cursor
    for i in range(route.n_hops):
        hop = hop_at(w.hops, route.first_hop + i)
        oldest = min(oldest, hop.back, hop.cursor)
        if hop.through >= 0:
            oldest = min(oldest, hop.left)
    return oldest


@compiled
def delivered(w, route, member):
    """What has reached the receiver of a flow by now, in packets since its start."""
    time = w.now - route.to_receiver
    row = locate(w, w.k, time)
    column = route.column
    if route.n_forward > 0:
        hop = hop_at(w.hops, route.first_hop + route.n_forward - 1)
        column = hop.column
        arrived = link_at(w.links, hop.link).column + ARRIVED
        time = between(w, arrived, row, fraction(w, row, time))
        row = locate(w, w.k, time)
    return between(w, column + member, row, fraction(w, row, time))
