"""Episodes: a flow's packets go through the transport's own sender and receiver one by one."""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.coast.coast_records import (
    COAST,
    EPISODE,
    EPS,
    LOST,
    MARKED,
    OFF,
    fate_at,
    order_at,
    pipe_at,
    place_at,
    stage_at,
    way_at,
)
from tcpcc.models.coast.fates import next_fate, take_fates
from tcpcc.models.coast.past import TIME, cell, leaves
from tcpcc.transport import ecn, receiver, sender
from tcpcc.transport.flow_record import CE, OPEN, delivery_at, out_at, segment_at, window_at
from tcpcc.transport.output import in_force
from tcpcc.transport.rto import restart_timer
from tcpcc.transport.rules import is_answering_mark

AHEAD = 4  # packets; a flow does not begin to coast if it notices a loss or mark so soon
FAST = 1.25  # growth of the window per round trip that is slow start
LEAST_ROOM = 48  # free places that a ring keeps


@compiled
def rows_of(w, c):
    """The column of the flow's sent curve."""
    return 1 + w.n_links + c.slot


@compiled
def must_grow(c, f):
    """Whether a ring of the flow may be too short for the next step."""
    return (
        2 * (f.next_seq - f.high_ack) + LEAST_ROOM > f.segment_mask
        or 2 * (c.next_order - int(c.acked)) + LEAST_ROOM > c.order_mask
        or 2 * (c.last - c.first) + LEAST_ROOM > c.event_mask
    )


@compiled
def drain(w, c, f, now):
    """What the sender has put into its outbox becomes unit steps of the sent curve."""
    while True:
        for k in range(f.outbox_count):
            out = out_at(f.outbox, k)
            entry = order_at(c.orders, c.next_order & c.order_mask)
            entry.left = now
            entry.received = now + way_at(w.routes, c.route).to_receiver
            entry.seq = out.seq
            entry.again = out.again
            entry.bits = ecn.bits_to_send(f, out.seq, out.again != 0) if f.ecn != 0 else 0
            if out.again != 0:
                c.repeat = c.next_order
            c.next_order += 1
        f.outbox_count = 0
        c.sent = max(c.sent, float(c.next_order))
        if f.more == 0:
            return
        if f.next_seq - f.high_ack >= f.segment_mask or must_grow(c, f):
            w.need = 1  # continued in the next step
            return
        sender.resume_sending(f, now)


@compiled
def acknowledge(f, now, trigger):
    """The receiver's ACK reaches the sender."""
    f.last_rtt = math.nan
    f.echoes_repair = f.echo
    if f.ecn != 0:
        ecn.on_echo(f, f.expected - 1, ecn.bits_of_ack(f), f.marks_seen)
    sender.receive_ack(f, now, f.expected - 1, trigger, f.sack_low, f.sack_high)


@compiled
def arrive(w, c, f, order, now):
    """The ACK of order `order` is due, if nothing was lost: receiver, then sender."""
    lost, ack_lost, marked = False, False, False
    if c.next_event <= order:
        lost, ack_lost, marked = take_fates(c, order)
    if lost:
        return
    c.packets += 1
    entry = order_at(c.orders, order & c.order_mask)
    c.back = now - entry.received
    due = receiver.receive_data(f, entry.received, entry.seq, entry.again != 0)
    if f.ecn != 0:
        due = ecn.on_bits(f, entry.bits | CE if marked else entry.bits, due)
    if due and not ack_lost:
        acknowledge(f, now, entry.seq)
        drain(w, c, f, now)


@compiled
def look_at_front(w, c, route):
    """When the ACK of the first order not yet acknowledged is due, or the earliest possible time if
    it has not yet left all links. Infinite if everything is acknowledged."""
    front = int(c.acked)
    if front >= c.emitted:
        return math.inf if front >= c.next_order else w.now + w.step
    entry = order_at(c.orders, front & c.order_mask)
    if entry.bits & LOST != 0:
        return w.before
    after = stage_at(w.stages, route.first_stage + route.n_hops).before
    if route.n_hops > 1:
        last = stage_at(w.stages, route.first_stage + route.n_hops - 1)
        if front >= place_at(w.slots, last.first_slot + c.place).order:
            return w.now + after
    return entry.left + after


@compiled
def timer_at(f, back):
    """When the sender or the receiver must act without a packet."""
    at = min(f.deadline, f.held_until + back)
    if f.delivery != 0:
        at = min(at, delivery_at(f.delivery, 0).release_at, sender.alarm_at(f))
    return at


@not_inlined
def run_timer(w, c, f, at, back):
    """Handle the timer that is due at `at`."""
    if f.held_until + back <= at:
        if receiver.send_held_ack(f):
            acknowledge(f, at, f.expected - 1)
    elif f.deadline <= at:
        sender.retransmission_timeout(f, at)
    else:
        sender.release_paced(f, at)
        sender.call_alarms(f, at)
    drain(w, c, f, at)


@compiled
def run_episode(w, c, f, route, since):
    """One step of an episode from `since` on: ACKs and timers in their order.

    Returns when the flow must act next.
    """
    if f.more != 0:
        sender.resume_sending(f, since)
        drain(w, c, f, since)
    while True:
        ack = look_at_front(w, c, route)
        timer = timer_at(f, c.back)
        if min(ack, timer) > w.now:
            break
        if timer < ack:
            since = max(since, timer)
            run_timer(w, c, f, since, c.back)
        else:
            since = max(since, ack)
            c.acked = math.floor(c.acked) + 1
            arrive(w, c, f, int(c.acked) - 1, since)
    if must_grow(c, f):
        w.need = 1
    watch(w, c, f)
    return min(ack, timer) if f.more == 0 else w.now


@compiled
def watch(w, c, f):
    """Count the round trips since the window last grew fast, and whether the flow starts."""
    if f.srtt > 0 and w.now - c.seen_at >= f.srtt:
        cwnd = window_at(f.state, 0).cwnd
        c.slow = 0 if cwnd > FAST * c.seen else c.slow + 1
        c.seen = cwnd
        c.seen_at = w.now


@compiled
def can_coast(w, c, f):
    """Whether nothing of the flow needs packets now."""
    if c.may_coast == 0 or f.phase != OPEN or f.dupacks != 0 or f.more != 0:
        return False
    if f.expected - 1 != f.high_ack or f.highest >= f.expected or not f.srtt > 0:
        return False
    s = window_at(f.state, 0)
    if s.cwnd < w.small or (s.cwnd < s.ssthresh and c.slow < 3):
        return False
    whole = int(c.acked)
    if c.repeat >= whole or f.next_seq != f.max_seq + 1 or is_answering_mark(f):
        return False
    if c.next_event < c.acked + AHEAD or f.to_send - f.next_seq < 2 * s.cwnd:
        return False
    return f.high_ack + 1 == whole - (c.next_order - f.next_seq)


@compiled
def begin_coasting(w, c, f):
    c.mode = COAST
    w.episodes -= 1
    w.starting -= c.starting
    c.starting = 0
    way_at(w.routes, c.route).coasting += 1
    c.offset = c.next_order - f.next_seq
    c.abc_limit = f.abc_limit
    f.abc_limit = math.inf
    f.timed_seq = f.max_seq
    c.pend = 0.0
    c.round_end = f.round_seq + c.offset + 1.0
    c.begun = c.acked
    c.deadline = f.deadline
    c.window = float(int(in_force(f, window_at(f.state, 0).cwnd)))
    c.part = w.part * c.window
    c.limit = float(f.to_send) + c.offset - 2 * c.window


@compiled
def place_window(w, c, whole):
    """Find where on their way the orders of the window are."""
    route = way_at(w.routes, c.route)
    first = route.first_stage
    for j in range(1, route.n_hops):
        slot = place_at(w.slots, stage_at(w.stages, first + j).first_slot + c.place)
        slot.order = int(slot.at + EPS)
        slot.cursor = 0
    for o in range(whole, c.emitted):
        entry = order_at(c.orders, o & c.order_mask)
        for j in range(max(route.n_hops, 1)):
            if j > 0:
                stage = stage_at(w.stages, first + j)
                slot = place_at(w.slots, stage.first_slot + c.place)
                if o >= slot.order:
                    break
                link = pipe_at(w.links, stage.link)
                entry.left = leaves(w, link, slot, min(entry.left + stage.before, w.now))
                slot.left = entry.left
            if j <= route.n_forward - 1 or j == 0:
                entry.received = entry.left + route.to_receiver


@not_inlined
def enter(w, c, f, now):
    """From coasting to an episode at whole order ``c.acked``: the window becomes packets."""
    whole = math.floor(c.acked + EPS)
    top = math.floor(c.sent + EPS)
    off = c.offset
    c.mode = EPISODE
    c.entered += 1
    w.episodes += 1
    way_at(w.routes, c.route).coasting -= 1
    count_coasted(c, f)
    c.repeat = whole - 1
    f.abc_limit = c.abc_limit
    f.high_ack = whole - off - 1
    f.next_seq = top - off
    f.max_seq = f.next_seq - 1
    f.expected = f.high_ack + 1
    f.highest = f.high_ack
    f.phase = OPEN
    f.dupacks = 0
    f.inflation = 0
    f.more = 0
    f.timing = 0
    f.held = 0
    f.held_until = math.inf
    column = rows_of(w, c)
    link = 1 + c.link
    row = w.k - 1
    c.emitted = top
    for o in range(top - 1, whole - 1, -1):
        while row > 0 and row > w.k - w.mask and cell(w, row, column) >= o + 1:
            row -= 1
        at = cell(w, row, TIME)
        left = at
        if row < w.k - 1:
            low = cell(w, row, column)
            share = (o + 1 - low) / (cell(w, row + 1, column) - low)
            at += (cell(w, row + 1, TIME) - at) * share
            left = at
            if c.link >= 0:
                left = cell(w, row, link)
                left += (cell(w, row + 1, link) - left) * share
        else:  # sent in this step: not at the link yet
            c.emitted = o
            low = cell(w, row, column)
            at += w.step * (o + 1 - low) / (c.sent - low)
            left = at
        seq = o - off
        segment = segment_at(f.segments, seq & f.segment_mask)
        segment.sent_at = at
        segment.transmits = 1
        segment.flags = 0
        entry = order_at(c.orders, o & c.order_mask)
        entry.left = left
        entry.seq = seq
        entry.again = 0
        entry.bits = ecn.bits_to_send(f, seq, False) if f.ecn != 0 else 0
    place_window(w, c, whole)
    for k in range(c.first, c.last):
        fate = fate_at(c.events, k & c.event_mask)
        if fate.kind != MARKED and fate.order >= whole:
            order_at(c.orders, fate.order & c.order_mask).bits |= LOST
    c.acked = float(whole)
    if c.rejoin != 0:
        sender.recover(f, now, c.rejoin)
    if now > f.deadline - 1e-12 or f.deadline == math.inf:
        restart_timer(f, now)
    c.next_event = next_fate(c)
    c.seen = window_at(f.state, 0).cwnd
    c.seen_at = now


@compiled
def count_coasted(c, f):
    """Add the packets of a time of coasting to the flow's counters."""
    n = int(c.acked + EPS) - int(c.begun + EPS)
    top = math.floor(c.sent + EPS)
    f.sent += top - c.next_order
    f.acks += n
    f.arrived += n
    f.delivered += n
    c.begun = c.acked
    c.next_order = top


@not_inlined
def close(w, c, f):
    """A finished flow is skipped from now on."""
    if not math.isnan(f.finished) and c.acked >= c.sent - EPS and f.held_until == math.inf:
        c.mode = OFF
        w.episodes -= 1
        w.starting -= c.starting
        c.starting = 0
