"""The clock: steps of all flows and links."""

import math

from tcpcc.engine.jit import compiled, entry, index_at, not_inlined, number_at
from tcpcc.models.bins import flow_bin_at
from tcpcc.models.coast.coast import run_coast
from tcpcc.models.coast.coast_records import (
    COAST,
    EPISODE,
    EPS,
    OFF,
    STEADY,
    coast_world_at,
    curve_at,
    pipe_at,
    place_at,
    stage_at,
    way_at,
)
from tcpcc.models.coast.episode import (
    begin_coasting,
    can_coast,
    close,
    count_coasted,
    drain,
    run_episode,
)
from tcpcc.models.coast.links import note_arrival, step_link
from tcpcc.models.coast.past import TIME, cell, read, row_at, trace
from tcpcc.transport import sender
from tcpcc.transport.flow_record import OPEN, RECOVERY, tcp_at, window_at

CHECK_EVERY = 16  # steps between two checks of the free rows
SPARE = 40
QUIET = 4.0  # longer steps while no queue and no episode is active


@compiled
def end_of_bin(w):
    return (w.bin + 1) * w.interval if w.bin + 1 < w.n_bins else math.inf


@compiled
def next_row(w, until):
    h = w.usual
    if w.starting > 0:
        h = min(h, max(w.finest, h * w.n_active / 100))
    elif w.busy == 0 and w.episodes == 0:
        h *= QUIET
    end = min(w.now + h, until, end_of_bin(w))
    if end - w.now < h / 1000:
        end = min(until, end_of_bin(w))
    w.last = row_at(w, w.k)
    w.k += 1
    w.row = row_at(w, w.k)
    w.before = w.now
    w.now = end
    w.step = end - w.before
    for column in range(w.columns):
        number_at(w.row, column).value = number_at(w.last, column).value
    number_at(w.row, TIME).value = end
    w.busy = 0


@compiled
def is_short(w):
    """Whether the ring of rows may soon be shorter than the longest round trip so far."""
    reach = w.reach
    for i in range(w.n_links):
        reach += pipe_at(w.links, i).longest
    oldest = w.k - w.mask + SPARE
    return oldest > 0 and cell(w, oldest, TIME) > w.now - reach


@compiled
def note_start(w, c, f):
    """Ask for short steps while a flow is in slow start with more than a few packets, and until its
    recovery from the end of slow start has ended."""
    s = window_at(f.state, 0)
    before = c.starting
    if s.cwnd < s.ssthresh and f.phase != RECOVERY:
        c.starting = 1 if s.cwnd > w.small else 0
    elif f.phase == OPEN and f.high_ack > f.recover:
        c.starting = 0
    w.starting += c.starting - before


@not_inlined
def open_flow(w, c, f, route):
    c.mode = EPISODE
    c.seen_at = c.opens
    c.repeat = -1
    w.episodes += 1
    route.active += 1
    for j in range(route.n_hops):
        pipe_at(w.links, stage_at(w.stages, route.first_stage + j).link).open += 1
    sender.open_connection(f, c.opens)
    drain(w, c, f, c.opens)


@compiled
def step_flow(w, c, f, route, stage):
    """Acknowledgements, timers and sending of one flow; returns when it must act next."""
    column = 1 + w.n_links + c.slot
    was = number_at(w.row, column).value
    acked = c.acked
    wake = w.now
    if c.mode == STEADY:
        c.sent += c.rate * w.step
        c.acked = c.sent
    else:
        since = w.before
        if c.mode == OFF:
            open_flow(w, c, f, route)
            since = c.opens
        if c.mode == COAST:
            since = run_coast(w, c, f, route, max(read(w, stage, column), c.acked))
        if c.mode == EPISODE:
            wake = run_episode(w, c, f, route, since)
            if can_coast(w, c, f):
                begin_coasting(w, c, f)
                wake = w.now
            else:
                note_start(w, c, f)
    number_at(w.row, column).value = c.sent
    fresh = c.sent - was
    grown = 0.0
    listed = 0.0
    if fresh > 0:
        grown = max(fresh - max(c.acked - acked, 0.0), 0.0)
        if w.far != 0:
            number_at(w.row, column + w.n_flows).value += grown
        wake = w.now
        if c.link < 0:
            c.emitted = c.next_order
        elif c.mode == EPISODE or c.emitted < c.next_order:
            index_at(w.emitted, w.n_emitted).at = c.slot
            w.n_emitted += 1
            listed = float(c.next_order - c.emitted)
    if c.link >= 0 and fresh > 0:
        number = stage_at(w.stages, route.first_stage).first_slot + c.place
        slot = place_at(w.slots, number)
        slot.was = was
        slot.at = c.sent
        slot.grown = grown
        note_arrival(w, pipe_at(w.links, c.link), number, fresh, listed)
    if c.mode == EPISODE:
        close(w, c, f)
    return wake


@compiled
def step(w):
    for r in range(w.n_routes):
        route = way_at(w.routes, r)
        if route.coasting > 0:
            stage = stage_at(w.stages, route.first_stage + route.n_hops)
            trace(w, route, stage, w.now, w.k - 1)
            route.rtt = w.now - stage.sent_at
    kept = 0
    w.n_emitted = 0
    for i in range(w.n_active):
        number = index_at(w.active, i).at
        wake = number_at(w.wakes, number)
        if wake.value <= w.now:
            c = curve_at(w.curves, number)
            route = way_at(w.routes, c.route)
            f = tcp_at(w.tcp, number)
            stage = stage_at(w.stages, route.first_stage + route.n_hops)
            wake.value = step_flow(w, c, f, route, stage)
            if c.mode == OFF:
                route.active -= 1
                record_flow(w, c, f, number)
                continue
        index_at(w.active, kept).at = number
        kept += 1
    w.n_active = kept
    for i in range(w.n_links):
        step_link(w, pipe_at(w.links, i), i)


@compiled
def record_flow(w, c, f, number):
    if c.sent == 0:
        return  # not open yet
    b = flow_bin_at(c.bins, w.bin)
    if c.mode == STEADY or f.state == 0:
        sent = c.sent
        got = c.sent - c.dropped
        repeated = 0.0
    else:
        s = window_at(f.state, 0)
        b.cwnd = s.cwnd
        b.ssthresh = s.ssthresh
        if f.srtt > 0:
            b.rtt = f.recent_rtt
        coasting = c.mode == COAST
        sent = f.sent + (c.sent - c.next_order if coasting else 0.0)
        got = f.delivered + (c.acked - c.begun if coasting else 0.0)
        if f.handshake != 0 and f.delivered > 0:
            got -= 1
        repeated = float(f.retransmitted)
    b.sent += sent - c.sent_before
    b.delivered += got - c.got_before
    b.retransmitted += repeated - c.repeated_before
    b.dropped += c.dropped - c.dropped_before
    c.sent_before = sent
    c.got_before = got
    c.repeated_before = repeated
    c.dropped_before = c.dropped


@compiled
def record_bin(w):
    for i in range(w.n_active):
        number = index_at(w.active, i).at
        record_flow(w, curve_at(w.curves, number), tcp_at(w.tcp, number), number)
    w.bin += 1


@entry
def run_until(world, until):
    """Advance to `until`; returns whether it stopped early, for room or for Ctrl-C."""
    w = coast_world_at(world, 0)
    while w.now < until:
        if w.k >= w.pause or w.need != 0:
            return True
        if w.k % CHECK_EVERY == 0 and is_short(w):
            w.need = 2
            return True
        next_row(w, until)
        step(w)
        if w.now >= end_of_bin(w):
            record_bin(w)
    return w.need != 0


@entry
def stop_flow(world, number):
    w = coast_world_at(world, 0)
    c = curve_at(w.curves, number)
    f = tcp_at(w.tcp, number)
    if c.mode == COAST:
        c.limit = 0.0  # the next step ends coasting
        f.max_seq = int(c.sent + EPS) - c.offset - 1
    sender.stop_sending(f)
    number_at(w.wakes, number).value = w.now


@entry
def finish(world):
    """Write the last bin and complete the counters."""
    w = coast_world_at(world, 0)
    if w.bin < w.n_bins:
        record_bin(w)
    for i in range(w.n_active):
        number = index_at(w.active, i).at
        c = curve_at(w.curves, number)
        if c.mode == COAST:
            count_coasted(c, tcp_at(w.tcp, number))
