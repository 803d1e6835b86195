"""The clock: takes time steps until a given time or until the history is too short."""

import math

from tcpcc.engine.jit import Caller, compiled, entry, index_at, number_at
from tcpcc.models.bins import flow_bin_at
from tcpcc.models.automaton.clumps import look_ahead
from tcpcc.models.automaton.fluid_records import (
    FIRST_COLUMN,
    PER_STEP,
    TIME,
    fluid_flow_at,
    fluid_hop_at,
    fluid_link_at,
    fluid_world_at,
    route_at,
    slot_at,
)
from tcpcc.models.automaton.history import row_address
from tcpcc.models.automaton.links import step_link
from tcpcc.models.automaton.routes import delivered, look_at_receivers, look_back, oldest_row
from tcpcc.models.automaton.senders import step_flow
from tcpcc.transport.flow_record import CBR, window_at

CHECK_EVERY = 16  # steps between two checks of the free rows of the history
NEARLY = 1e-6  # steps; a time this close before a grid point is at the grid point
SPARE = 24  # free rows needed at a check; more than `CHECK_EVERY`

call_end_step = Caller(None, int)


@compiled
def end_of_bin(w):
    """When the present bin ends (infinite for the last one, which ends with the run)."""
    return (w.bin + 1) * w.interval if w.bin + 1 < w.n_bins else math.inf


@compiled
def stay(before, row, columns):
    """Copy all curves from the row before; steps then write the curves that change."""
    for column in range(FIRST_COLUMN, columns):
        number_at(row, column).value = number_at(before, column).value


@compiled
def next_step(w, until):
    """Go on to the next row; the way to the next grid point is divided into equal steps.

    The distance of grid points is the longest step. Grid points, ends of bins and `until` always
    are rows. If that distance divides the round-trip time, fluid that returns after it finds a row
    and is not smeared.
    """
    now = w.now
    if now > w.grid - NEARLY * w.coarse:
        w.grid = (math.floor(now / w.coarse + NEARLY) + 1) * w.coarse
    end = min(w.grid, until, end_of_bin(w))
    step = end - now
    longest = min(max(w.wanted, w.length / 2), 2 * w.length, w.coarse)
    w.length = longest
    if step > longest:
        parts = math.ceil(step / longest - NEARLY)
        if parts > 1:
            step /= parts
            end = now + step
    before = row_address(w, w.k)
    w.now = end
    w.step = step
    w.k += 1
    w.row = row_address(w, w.k)
    number_at(w.row, TIME).value = end
    number_at(w.row, PER_STEP).value = 1 / step
    stay(before, w.row, w.columns)


@compiled
def is_short(w):
    """Whether the ring may run out of rows before the next check."""
    oldest = w.k
    for r in range(w.n_routes):
        route = route_at(w.routes, r)
        if route.active > 0:
            oldest = min(oldest, oldest_row(w, route))
    for i in range(w.n_links):
        oldest = min(oldest, fluid_link_at(w.links, i).cursor)
    return w.k + SPARE - oldest > w.mask


@compiled
def record_flow(w, f):
    """Write a flow's state at the end of a bin; sums are cumulative."""
    route = route_at(w.routes, f.route)
    b = flow_bin_at(f.bins, w.bin * f.each_bin)
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
        hop = fluid_hop_at(w.hops, route.first_hop + h)
        b.dropped += slot_at(w.slots, hop.first_slot + f.member).dropped
    for h in range(route.n_forward, route.n_hops):
        hop = fluid_hop_at(w.hops, route.first_hop + h)
        b.acks_dropped += slot_at(w.slots, hop.first_slot + f.member).dropped


@compiled
def record_bin(w):
    for r in range(w.n_routes):
        route = route_at(w.routes, r)
        if route.active > 0:
            look_at_receivers(w, route)
    last = w.bin + 1 == w.n_bins
    for i in range(w.n_active):
        f = fluid_flow_at(w.flows, index_at(w.active, i).at)
        if f.each_bin != 0 or last or not math.isnan(f.finished):  # other flows: totals only
            record_flow(w, f)
    w.bin += 1


@compiled
def step(w):
    """Fill the present row."""
    for r in range(w.n_routes):
        route = route_at(w.routes, r)
        if route.active > 0:
            look_back(w, route)
            route.in_clumps = route.clumps
            if route.clumps != 0:
                look_ahead(w, route)
                route.clumps = 0
    w.wanted = w.coarse
    for i in range(w.n_active):
        number = index_at(w.active, i).at
        wake = number_at(w.wakes, number)
        if wake.value <= w.now:
            f = fluid_flow_at(w.flows, number)
            wake.value = step_flow(w, f, route_at(w.routes, f.route))
    for i in range(w.n_links):
        step_link(w, fluid_link_at(w.links, i))


@entry
def run_until(world, until, end_of_step):
    """Advance to time `until`; returns whether it stopped early.

    `end_of_step` is the address of :func:`end_step`, which the hybrid model calls, too: so it is
    compiled once.

    It stops early when the history must be enlarged (``w.short``), and at step ``w.pause``, so that
    Python can respond to Ctrl-C.
    """
    w = fluid_world_at(world, 0)
    while w.now < until:
        if w.k >= w.pause:
            return True
        if w.k % CHECK_EVERY == 0 and is_short(w):
            w.short = 1
            return True
        next_step(w, until)
        call_end_step(end_of_step, world)
    return False


@entry
def begin_step(world, until):
    """Go on to the next row without filling it; returns its time, or -1 if the history must be
    enlarged first."""
    w = fluid_world_at(world, 0)
    if w.k % CHECK_EVERY == 0 and is_short(w):
        return -1.0
    next_step(w, until)
    return w.now


@entry
def end_step(world):
    """Fill the row that :func:`begin_step` has begun."""
    w = fluid_world_at(world, 0)
    step(w)
    if w.now >= end_of_bin(w):
        record_bin(w)


@entry
def finish(world):
    """Write the last bin, once."""
    w = fluid_world_at(world, 0)
    if w.bin < w.n_bins:
        record_bin(w)
