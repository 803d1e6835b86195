"""Short steps for bursts: in a first slow start a flow sends its window in less than a round trip.

While a burst passes its sender or a link, a step is a hundredth of the burst's duration, but at
least a tenth of a packet's transmission time and 1/40 of the longest step. Between bursts nothing
of the flow moves, and steps have their usual length. The fluid that will return or arrive within
some long steps is already in the history, because delays are longer than that; on a shorter path
all fluid in flight counts.

Step lengths change by at most a factor of two from step to step. Larger changes would replace the
cubics through four rows by straight lines (`history.turn`), which smear bursts.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.automaton.fluid_records import (
    ARRIVED,
    EPS,
    OPENING,
    TAKEN,
    fluid_hop_at,
    fluid_link_at,
)
from tcpcc.models.automaton.history import between, cell, crossing, find, fraction
from tcpcc.transport.flow_record import window_at

CLUMP_STEPS = 100  # steps in which a burst passes
AHEAD = 4  # long steps to look ahead, in which the step length can become short


@compiled
def note_clump(f):
    """Store the duration of the window's burst (s), after a rule may have set the window.

    It is finite only in a first slow start of a flow with a count of 1.
    """
    s = window_at(f.state, 0)
    f.clump = s.cwnd * f.spacing if math.isinf(s.ssthresh) and f.count == 1 else math.inf


@compiled
def look_ahead(w, route):
    """Find the rows that will be reached some long steps from now.

    These are the rows of the fluid that then returns on `route`, and that arrives at and leaves
    each of its links.
    """
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
    """Whether a curve rises between two rows, including the step after the second one."""
    return cell(w, cursor, column).value != cell(w, ahead + 1, column).value


@compiled
def moves_soon(w, f, route):
    """Whether fluid of a flow returns, arrives or leaves anywhere within some long steps."""
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
    """Request short steps while a burst of flow `f` moves."""
    wanted = max(f.clump / CLUMP_STEPS, f.finest)
    if wanted < w.wanted and (route.in_clumps == 0 or moves_soon(w, f, route)):
        w.wanted = wanted
