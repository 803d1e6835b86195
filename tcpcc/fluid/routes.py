"""Where fluid stands: what arrives at a link now, what is acknowledged now, and when it was sent."""

from tcpcc.fluid.history import between, find, fraction, locate, weigh
from tcpcc.fluid.records import ARRIVED, hop_at, link_at
from tcpcc.jit import compiled


@compiled
def look_back(w, history, route):
    """Follow the fluid that is acknowledged now back to its sender, link by link."""
    newest = w.k - 1
    time = w.now - route.after
    for i in range(route.n_hops - 1, -1, -1):
        hop = hop_at(w.hops, route.first_hop + i)
        hop.back = find(history, newest, hop.back, time)
        part = fraction(history, hop.back, time)
        column = link_at(w.links, hop.link).column + ARRIVED
        hop.seen = between(history, column, hop.back, part)
        if i == route.n_hops - 1:
            route.cursor = find(history, newest, route.cursor, hop.seen)
            part = fraction(history, route.cursor, hop.seen)
            weigh(history, newest, route.cursor, part, route)
        time = hop.seen - hop.before
    if route.n_hops == 0:
        route.cursor = find(history, newest, route.cursor, time)
        weigh(history, newest, route.cursor, fraction(history, route.cursor, time), route)
    route.sent_at = time
    route.last_rtt = route.rtt
    route.rtt = w.now - time


@compiled
def look_before(w, history, hop):
    """Find when the fluid that arrives at `hop` now left the sender, or reached the link before."""
    time = w.now - hop.before
    newest = w.k - hop.behind
    if hop.through >= 0:  # a link: it left now - before, and had reached it earlier
        hop.left = find(history, newest, hop.left, time)
        part = fraction(history, hop.left, time)
        time = between(history, hop.through, hop.left, part)
    hop.cursor = find(history, newest, hop.cursor, time)
    weigh(history, newest, hop.cursor, fraction(history, hop.cursor, time), hop)


@compiled
def oldest_row(w, route):
    """The oldest row that a look-up of this route still needs."""
    oldest = route.cursor
    for i in range(route.n_hops):
        hop = hop_at(w.hops, route.first_hop + i)
        oldest = min(oldest, hop.back, hop.cursor)
        if hop.through >= 0:
            oldest = min(oldest, hop.left)
    return oldest


@compiled
def delivered(w, history, route, member):
    """What has reached the receiver of a flow by now, in packets since its start."""
    time = w.now - route.to_receiver
    row = locate(history, w.k, time)
    part = fraction(history, row, time)
    column = route.column
    if route.n_forward > 0:
        hop = hop_at(w.hops, route.first_hop + route.n_forward - 1)
        column = hop.column
        time = between(history, link_at(w.links, hop.link).column + ARRIVED, row, part)
        row = locate(history, w.k, time)
        part = fraction(history, row, time)
    return between(history, column + member, row, part)
