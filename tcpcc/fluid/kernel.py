"""The clock: one time step after another, until a given time or until the history is too short."""

import math

from tcpcc.fluid.history import number_at, row_address
from tcpcc.fluid.links import step_link
from tcpcc.fluid.records import (
    PER_STEP,
    TIME,
    flow_at,
    flow_bin_at,
    hop_at,
    index_at,
    link_at,
    route_at,
    slot_at,
    world_at,
)
from tcpcc.fluid.routes import delivered, look_back, oldest_row
from tcpcc.fluid.senders import step_cbr, step_sender
from tcpcc.jit import compiled, entry
from tcpcc.transport.records import CBR, window_at

SPARE = 6  # rows that stay free between the newest one and the oldest still needed


@compiled
def next_step(w, until):
    """Go on to the next row: a whole part of the way to the next point of the grid.

    The grid divides the shortest base round-trip time. Points of it, ends of bins and `until` are
    always rows, so that what returns after that time finds a row and is not smeared.
    """
    grid = (int(w.now / w.coarse + 1e-6) + 1) * w.coarse
    end = min(grid, until, (w.bin + 1) * w.interval)
    left = end - w.now
    parts = math.ceil(left / min(w.wanted, w.ramp) - 1e-6)
    w.ramp = min(2 * w.ramp, w.coarse)
    if parts <= 1:
        w.step = left
        w.now = end
    else:
        w.step = left / parts
        w.now += w.step


@compiled
def is_short(w):
    """Whether the ring of rows has no place for another step."""
    oldest = w.k
    for r in range(w.n_routes):
        route = route_at(w.routes, r)
        if route.active > 0:
            oldest = min(oldest, oldest_row(w, route))
    for l in range(w.n_links):
        oldest = min(oldest, link_at(w.links, l).cursor)
    return w.k + SPARE - oldest >= w.mask


@compiled
def record_flows(w):
    """Write the flows' state at the end of a bin; sums are differences of these, made later."""
    for i in range(w.n_active):
        f = flow_at(w.flows, index_at(w.active, i).at)
        b = flow_bin_at(f.bins, w.bin)
        route = route_at(w.routes, f.route)
        if f.kind != CBR:
            s = window_at(f.state, 0)
            b.cwnd = s.cwnd
            b.ssthresh = s.ssthresh
            if f.recent_rtt > 0:
                b.rtt = f.recent_rtt
        b.sent = f.next_seq
        b.retransmitted = f.retransmitted
        b.delivered = delivered(w, route, f.member)
        for h in range(route.n_forward):
            hop = hop_at(w.hops, route.first_hop + h)
            b.dropped += slot_at(w.slots, hop.first_slot + f.member).dropped


@compiled
def step(w):
    w.k += 1
    w.row = row_address(w, w.k)
    number_at(w.row, TIME).value = w.now
    number_at(w.row, PER_STEP).value = 1 / w.step
    for r in range(w.n_routes):
        route = route_at(w.routes, r)
        if route.active > 0:
            look_back(w, route)
    w.wanted = w.coarse
    for i in range(w.n_active):
        f = flow_at(w.flows, index_at(w.active, i).at)
        route = route_at(w.routes, f.route)
        if f.kind == CBR:
            step_cbr(w, f, route)
        else:
            step_sender(w, f, route)
    for i in range(w.n_links):
        step_link(w, link_at(w.links, i))


@entry
def run_until(world, until):
    """Advance to time `until`; returns early, True, when the history must be enlarged."""
    w = world_at(world, 0)
    while w.now < until:
        if is_short(w):
            return True
        next_step(w, until)
        step(w)
        if w.now >= (w.bin + 1) * w.interval * (1 - 1e-12):
            record_flows(w)
            w.bin += 1
    return False
