"""A sender's time step: process the fluid that returned, then send."""

import math

from tcpcc.engine.jit import compiled, entry, number_at
from tcpcc.models.automaton.clumps import note_clump, want_steps
from tcpcc.models.automaton.fluid_records import EPS, OPENING, fluid_flow_at
from tcpcc.models.automaton.repair import (
    before_hole,
    enter_recovery,
    expire,
    go_on_recovering,
    is_answered,
    is_noticed,
    look_for_holes,
)
from tcpcc.models.automaton.routes import value_at
from tcpcc.models.automaton.window import acknowledged, opened, pump, reduce, start
from tcpcc.models.automaton.words import bring_back, carry_syn, send_syn, write
from tcpcc.models.header_layout import return_words
from tcpcc.transport.flow_record import CBR, LOSS, OPEN, RECOVERY
from tcpcc.transport.pacing import pace
from tcpcc.transport.recovery.fine_grained import update_fine_timeout
from tcpcc.transport.rto import restart_timer


@entry
def start_flow(flows, index, now):
    f = fluid_flow_at(flows, index)
    start(f, now)
    if f.n_fields > 0:
        send_syn(f, now)
    note_clump(f)


@compiled
def count_duplicates(f, now, fresh):
    """Process duplicate ACKs one by one until they reveal the hole; returns the packets left."""
    while fresh > EPS and f.phase == OPEN:
        if is_noticed(f, now):
            enter_recovery(f, now)
            break
        part = min(fresh, math.floor(f.dupacks + EPS) + 1 - f.dupacks)
        f.high_ack += part
        f.dupacks += part
        fresh -= part
        pump(f)
    return fresh


@compiled
def receive_repaired(w, f, fresh):
    """Process ACKs while a hole is known: duplicate ACKs, or ACKs of retransmissions."""
    now = w.now
    f.unreported += fresh
    fresh = count_duplicates(f, now, fresh)
    f.high_ack += fresh
    if f.phase == RECOVERY:
        f.dupacks += fresh
        clocked = min(fresh, f.repair)
        f.next_seq += clocked
        f.repair -= clocked
        if f.proportional != 0:
            reduce(f, fresh)
        if is_answered(f):
            go_on_recovering(f, now)
    pump(f)


@compiled
def packet_rtt(f, route, fresh):
    """Mean round-trip time of the packets that begin within the next `fresh` packets of fluid.

    It is that of a packet's first bit, because the transmission of the packet itself is part of the
    base round-trip time.
    """
    first = math.ceil(f.acked - EPS)
    count = math.ceil(f.acked + fresh - EPS) - first
    if count < 1:
        return f.recent_rtt
    part = (first + (count - 1) / 2 - f.acked) / fresh
    return route.last_rtt + min(max(part, 0.0), 1.0) * (route.rtt - route.last_rtt)


@compiled
def receive_whole(w, f, route, fresh):
    """Process ACKs of new data while no hole is known."""
    rtt = packet_rtt(f, route, fresh)
    f.acked += fresh
    acknowledged(f, w.now, fresh, rtt)
    if math.floor(f.acked) > math.floor(f.acked - fresh):  # a packet is complete: an ACK arrives
        restart_timer(f, w.now)
        if f.fine != 0:
            update_fine_timeout(f, route.rtt)
    if f.phase == LOSS:
        f.to_repair -= fresh
        if f.to_repair <= EPS:
            f.phase = OPEN


@compiled
def receive(w, f, route, fresh):
    """Process the `fresh` packets that were acknowledged in this step."""
    if f.unseen > 0:
        if f.holes == 0 and f.phase != RECOVERY and f.given_up == 0:
            whole = before_hole(w, f, route, fresh)
            if whole > EPS:
                receive_whole(w, f, route, whole)
                fresh -= whole
        look_for_holes(w, f, route)
    if f.given_up > 0:
        late = min(fresh, f.given_up)
        f.given_up -= late
        f.acked += late
        f.unreported += late
        fresh -= late
    if fresh <= EPS:
        return
    if f.holes > 0 or f.phase == RECOVERY:
        f.acked += fresh
        receive_repaired(w, f, fresh)
    else:
        receive_whole(w, f, route, fresh)


@compiled
def watch_timer(w, f, route):
    """Let the timer expire when due; start it, or stop it if no packet is outstanding."""
    if w.now >= f.deadline:
        expire(w, f, route)
        pump(f)
        note_clump(f)
    in_flight = f.next_seq - f.high_ack > EPS
    if f.repair > 0 and not in_flight:  # no further ACK can clock the retransmission
        f.next_seq += f.repair
        f.repair = 0.0
    if in_flight or f.holes > 0 or f.phase == RECOVERY:
        if f.deadline == math.inf:
            restart_timer(f, w.now)
    else:
        f.deadline = math.inf


@compiled
def release(w, f):
    """Send the packets that pacing allows in this step, without an ACK."""
    f.allowance = pace(f) * w.step
    before = f.next_seq
    pump(f)
    f.grown += f.next_seq - before


@compiled
def take_extras(w, f, route):
    """Process what only some controllers have: returned header fields and pacing."""
    if f.n_fields > 0:
        bring_back(w, f, route)
    if f.pacing_rate != 0:
        release(w, f)


@compiled
def step_open(w, f, route):
    acked = value_at(w, route, f.back_column, f.last_slot)
    if acked > f.acked + EPS:
        receive(w, f, route, acked - f.acked)
        note_clump(f)
        if f.acked >= f.limit - EPS:
            f.finished = w.now
            return
    watch_timer(w, f, route)


@compiled
def step_sender(w, f, route):
    if f.phase != OPENING:
        if math.isnan(f.finished):
            if f.extras != 0:
                take_extras(w, f, route)
            step_open(w, f, route)
    elif route.sent_at >= f.opened_at - EPS * route.base_rtt:
        if f.n_fields > 0:
            carry_syn(w, f, route, math.inf)
            return_words(f, f.sample, f.syn_words)
        opened(f, w.now, route.rtt - f.syn_shorter)
        note_clump(f)
    elif f.n_fields > 0:
        carry_syn(w, f, route, w.now)
    if f.extras != 0:
        write(w, f)
    if f.clump < math.inf:
        want_steps(w, f, route)
        route.clumps = 1
    number_at(w.row, f.column).value = f.next_seq
    number_at(w.row, f.grown_column).value = f.grown


@compiled
def step_cbr(w, f):
    """Time step of a source of constant bit rate; the rate is 0 while it is off."""
    f.next_seq += f.rate * w.step
    number_at(w.row, f.column).value = f.next_seq


@compiled
def step_flow(w, f, route):
    """A flow's time step; returns when the flow wakes even if no fluid returns.

    If a step has changed nothing, the following steps change nothing either until that time.
    """
    if f.kind == CBR:
        step_cbr(w, f)
        return w.now
    acked, sent, deadline = f.acked, f.next_seq, f.deadline
    step_sender(w, f, route)
    if f.last_slot < 0 or f.extras != 0 or f.phase == OPENING or f.clump < math.inf:
        return w.now  # a flow without hops is never woken; the others act in every step
    if f.acked != acked or f.next_seq != sent or f.deadline != deadline:
        return w.now
    return f.deadline if math.isnan(f.finished) else math.inf
