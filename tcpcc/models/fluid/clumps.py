"""Windows that are clumps: in a first slow start a flow sends its window in less than a round trip.

While a clump passes its sender or a link, steps are a part of the time that this takes, but of no
packet less than a tenth; in between nothing of the flow moves, and steps are as long as others.
What will come back or arrive within some long steps is in the history already, since the ways are
longer than that; where one is shorter, whatever is on it counts.

From long to short and back each step is half or twice the one before. Where it is less or more,
cubics through four rows give way to straight lines (`history.turn`), which smear what passes: one
of eight Vegas flows then stayed in slow start for a round trip too many.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.fluid.fluid_records import (
    ARRIVED,
    EPS,
    OPENING,
    TAKEN,
    fluid_hop_at,
    fluid_link_at,
)
from tcpcc.models.fluid.history import between, cell, crossing, find, fraction
from tcpcc.transport.flow_record import window_at

CLUMP_STEPS = 100  # that a clump takes to pass
AHEAD = 4  # long steps, after which something may move: by then steps have become short


@compiled
def note_clump(f):
    """Remember, as often as a rule may have set the window, how long a clump it is: in a first slow
    start, of a flow that stands for itself alone; else infinitely long."""
    s = window_at(f.state, 0)
    f.clump = s.cwnd * f.spacing if math.isinf(s.ssthresh) and f.count == 1 else math.inf


@compiled
def look_ahead(w, route):
    """Find the rows up to which what comes in some long steps from now will have come: back on
    `route`, and to each of its links."""
    newest = w.k - 1
    then = w.now + AHEAD * w.coarse
    time = then - route.after
    for i in range(route.n_hops - 1, -1, -1):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        row = find(w, newest, max(hop.passed_ahead, hop.passed), time)
        hop.passed_ahead = row
        link = fluid_link_at(w.links, hop.link)
        served = link.served + link.rate * AHEAD * w.coarse / 8
        link.ahead, _ = crossing(
            w, link.column + TAKEN, newest, max(link.ahead, link.cursor), served
        )
        time = between(w, link.column + ARRIVED, row, fraction(w, row, time))
        if i == route.n_hops - 1:
            route.ahead = find(w, newest, max(route.ahead, route.cursor), time)
        time -= hop.before
        left = then - hop.before
        if hop.through >= 0:
            row = find(w, newest, max(hop.left_ahead, hop.left), left)
            hop.left_ahead = row
            left = between(w, hop.through, row, fraction(w, row, left))
        hop.ahead = find(w, newest, max(hop.ahead, hop.cursor), left)
    route.sent_ahead = time


@compiled
def rises(w, column, cursor, ahead):
    """Whether a curve rises between two rows, or in the steps in which these are."""
    return cell(w, cursor, column).value != cell(w, ahead + 1, column).value


@compiled
def moves_soon(w, f, route):
    """Whether something of a flow comes back, arrives or leaves anywhere within some long steps."""
    if f.phase == OPENING:
        return route.sent_ahead >= f.opened_at - EPS * route.base_rtt
    if rises(w, f.back_column, route.cursor, route.ahead):
        return True
    for i in range(route.n_hops):
        hop = fluid_hop_at(w.hops, route.first_hop + i)
        if rises(w, hop.source + f.member, hop.cursor, hop.ahead):
            return True
        link = fluid_link_at(w.links, hop.link)
        if rises(w, hop.column + f.member, link.cursor, link.ahead):
            return True
    return False


@compiled
def want_steps(w, f, route):
    """Ask for short steps while a clump of flow `f` moves."""
    wanted = max(f.clump / CLUMP_STEPS, f.finest)
    if wanted < w.wanted and (route.in_clumps == 0 or moves_soon(w, f, route)):
        w.wanted = wanted
