"""Trains: the packet model's senders and receivers, with several packets of a flow in one event.

A train has packets of one flow at equal distances. It travels whole over links where its flow meets
no other (`train_lines`). At a shared link it takes two events: when it begins and when it ends to
arrive (`train_links`, `train_queue`). Its packets see the queue at their own arrival, so a lone
flow measures what it measures with packets. Its ACKs travel as a train from the receiver
(`train_receiver`) to the sender (`train_sender`).

Trains are cut where packets are dropped, and join while both are on their way (`train_lines`), if
together they are shorter than a round trip over `per_rtt`. With small windows every train is one
packet.

What the packet model does packet by packet, its own code does: packets with headers and those of
conversations travel as trains of one packet, and a train crosses a link that changes, or that has
more than a queue in packets, as packets of the packet model.
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled, entry, not_inlined
from tcpcc.models.packet.conversations import leave_place, note_items
from tcpcc.models.packet.event_list import close_vacancy, schedule, vacate_first
from tcpcc.models.packet.handlers import (
    flush_bins,
    handle_other,
    resume_pending,
    run_loop,
    set_open,
    set_timers,
    step_loop,
)
from tcpcc.models.packet.links.fifo import wake_queue
from tcpcc.models.packet.packet_records import (
    ARRIVAL,
    QUEUE_TIMER,
    RETRANSMISSION_TIMER,
    flow_at,
    link_at,
    world_at,
)
from tcpcc.models.packet.recorder import sample_flow
from tcpcc.models.trains.coasting import stop_coasting
from tcpcc.models.trains.train_lines import await_train, remove_head
from tcpcc.models.trains.train_links import enter_link, go_on_train, leave_link, reach_link
from tcpcc.models.trains.train_queue import advance_line
from tcpcc.models.trains.train_receiver import send_ack
from tcpcc.models.trains.train_records import (
    AT_LINK,
    AT_SENDER,
    SINGLE,
    Train,
    line_at,
    open_at,
    pool_at,
    read_train,
    train_at,
)
from tcpcc.models.trains.train_sender import (
    close_train,
    ends_write,
    finish_train,
    is_smooth,
    lacks_room,
    reach_now,
    take_acks,
    take_smooth_acks,
)
from tcpcc.transport.flow_record import tcp_at


@compiled
def handle_acks(w, ident):
    """A train of ACKs reaches its sender."""
    flow = flow_at(w.flows, ident)
    tcp = tcp_at(w.tcp, ident)
    line = line_at(w.ack_lines, ident)
    p = read_train(train_at(w.trains, line.head))
    if lacks_room(w, flow, tcp, p.count * max(p.step, 1)):
        return
    vacate_first(w)
    remove_head(w, line)
    waits = line.head != 0  # if not, the next train that comes has an event
    now = w.now
    flow.inbound += p.count
    sample_flow(w, flow, p.last)
    o = open_at(w.open_trains, ident)
    if is_smooth(tcp, p) and not ends_write(w, flow, p):
        take_smooth_acks(w, flow, tcp, o, p)
    else:
        stop_coasting(tcp, o)
        take_acks(w, flow, tcp, o, p)
    close_train(w, flow, tcp, o)
    if not math.isnan(tcp.finished):
        set_open(w, flow, 0)
    if flow.conversation != 0:
        note_items(w, flow, tcp, now)
    set_timers(w, flow, tcp, max(now, p.last))
    if waits:
        await_train(w, line, AT_SENDER, ident)
    reach_now(w, flow, o)
    leave_place(w, flow)


@compiled
def handle_link(w, ident, now):
    """A train begins to reach a shared link, or has wholly reached it."""
    vacate_first(w)
    line = line_at(w.lines, ident)
    flow = flow_at(w.flows, np.int64(train_at(w.trains, line.head).flow))
    if line.kind == SINGLE:
        enter_link(w, flow, ident - flow.path, line, now)
    else:
        reach_link(w, flow, ident - flow.path, line, now)
    leave_place(w, flow)


@not_inlined
def send_cbr_train(w, flow, source, seq, n, now):
    """A CBR source sends a train."""
    last = now + (n - 1) * source.interval
    go_on_train(w, flow, 0, Train(now, last, seq, n, 1, 0, -1, 0, 0, 0))


@not_inlined
def handle_pool_timer(w, link, pool, ident, now):
    """The timer of a discipline of a fluid queue is due."""
    advance_line(w, link, pool, now)
    link.queue_bytes = pool.backlog
    waiting = max(pool.backlog / pool.size - 0.5, 0.0)
    schedule(w, wake_queue(link, now, waiting), QUEUE_TIMER, ident)


@compiled
def handle_train_event(w, kind, ident, now, order):
    """Handle an event where packets go in trains."""
    if kind == AT_LINK:
        handle_link(w, ident, now)
    elif kind == AT_SENDER:
        handle_acks(w, ident)
    elif kind <= ARRIVAL:
        leave_link(w, kind, ident)
    elif kind == QUEUE_TIMER and pool_at(w.pools, ident).unused == 0:
        vacate_first(w)
        handle_pool_timer(w, link_at(w.links, ident), pool_at(w.pools, ident), ident, now)
    else:
        if kind == RETRANSMISSION_TIMER and tcp_at(w.tcp, ident).deadline <= now:
            stop_coasting(tcp_at(w.tcp, ident), open_at(w.open_trains, ident))
        handle_rare_train_event(w, kind, ident, now, order)
    close_vacancy(w)


@not_inlined
def handle_rare_train_event(w, kind, ident, now, order):
    handle_other(w, kind, ident, now, order, finish_train, send_ack, send_cbr_train)


@not_inlined
def continue_pending_trains(w):
    resume_pending(w, finish_train)


@entry
def run_events(world, until):
    return run_loop(world_at(world, 0), until, handle_train_event, continue_pending_trains)


@entry
def step_once(world):
    return step_loop(world_at(world, 0), handle_train_event, continue_pending_trains)


@entry
def flush(world, until):
    """As that of packets; the record of the fluid queues becomes complete, too."""
    w = world_at(world, 0)
    for i in range(w.n_links):
        link = link_at(w.links, i)
        pool = pool_at(w.pools, i)
        if link.recorded != 0 and pool.unused == 0:
            advance_line(w, link, pool, min(until, w.duration))
    flush_bins(w, until)
