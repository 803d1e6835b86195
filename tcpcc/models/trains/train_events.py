"""Trains: the packet model's senders and receivers, with several packets of a flow in one event.

A train has packets of one flow at equal distances. It travels whole over links where its flow meets
no other (`train_paths`). At a shared link it takes two events: when it begins and when it ends to
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
from tcpcc.models.bins import flow_bin_at
from tcpcc.models.packet.conversations import leave_place, note_items
from tcpcc.models.packet.event_list import (
    close_vacancy,
    drop_first,
    goes_on,
    next_order,
    next_time,
    push,
    schedule,
    vacate_first,
)
from tcpcc.models.packet.handlers import handle_other, set_open, set_timers
from tcpcc.models.packet.links.queue_sample import clear_queue_sample
from tcpcc.models.packet.packet_records import (
    ACK_TIMER,
    ARRIVAL,
    CBR_PACKET,
    FLOW_START,
    FLOW_STOP,
    QUEUE_TIMER,
    RETRANSMISSION_TIMER,
    SEND,
    cbr_at,
    event_at,
    flow_at,
    link_at,
    world_at,
)
from tcpcc.models.packet.recorder import bin_of, sample_flow, trace
from tcpcc.models.queue_memory import queue_sample_at, run_timer
from tcpcc.models.trains.coasting import stop_coasting
from tcpcc.models.trains.train_lines import remove_head
from tcpcc.models.trains.train_links import enter_link, go_on_train, leave_link, reach_link
from tcpcc.models.trains.train_queue import advance_line
from tcpcc.models.trains.train_receiver import end_ack_delay
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
    trains_at,
)
from tcpcc.models.trains.train_sender import (
    close_train,
    ends_write,
    go_on_sending,
    is_smooth,
    lacks_room,
    reach_now,
    take_acks,
    take_smooth_acks,
)
from tcpcc.transport import sender
from tcpcc.transport.flow_record import CBR, tcp_at


@compiled
def handle_acks(w, x, ident):
    """A train of ACKs reaches its sender."""
    flow = flow_at(w.flows, ident)
    tcp = tcp_at(w.tcp, ident)
    line = line_at(x.acks, ident)
    p = read_train(train_at(x.trains, line.head))
    if lacks_room(w, x, flow, tcp, p.count * max(p.step, 1)):
        return
    vacate_first(w)
    remove_head(w, x, line)
    waits = line.head != 0  # if not, the next train that comes has an event
    now = w.now
    flow.inbound += p.count
    sample_flow(w, flow, p.last)
    o = open_at(x.open, ident)
    if is_smooth(x, flow, tcp, p) and not ends_write(w, flow, p):
        take_smooth_acks(w, x, flow, tcp, o, p)
    else:
        stop_coasting(tcp, o)
        take_acks(w, x, flow, tcp, o, p)
    close_train(w, x, flow, tcp, o)
    if not math.isnan(tcp.finished):
        set_open(w, flow, 0)
    if flow.conversation != 0:
        note_items(w, flow, tcp, now)
    set_timers(w, flow, tcp, max(now, p.last))
    if waits:
        t = max(train_at(x.trains, line.head).first, now)
        push(w, t, now, next_order(w), AT_SENDER, ident)
    reach_now(w, x, flow, o)
    if flow.conversation != 0:
        leave_place(w, flow)


@compiled
def handle_link(w, x, ident, now):
    """A train begins to reach a shared link, or has wholly reached it."""
    vacate_first(w)
    line = line_at(x.lines, ident)
    flow = flow_at(w.flows, np.int64(train_at(x.trains, line.head).flow))
    hop = ident - flow.path
    if line.kind == SINGLE:
        enter_link(w, x, flow, hop, line, now)
        return
    reach_link(w, x, flow, hop, line, now)
    if flow.conversation != 0:
        leave_place(w, flow)


@not_inlined
def emit_cbr(w, x, kind, ident, now, order):
    """A CBR source starts, or its next train is due, unless it was switched off in between."""
    flow = flow_at(w.flows, ident)
    source = cbr_at(w.cbr, ident)
    o = open_at(x.open, ident)
    if kind == FLOW_START:
        source.is_on = 1
        set_open(w, flow, 1)
        o.last = math.inf
        for i in range(w.heap_size):
            e = event_at(w.heap, i)
            if e.kind == FLOW_STOP and e.id == ident:
                o.last = min(o.last, e.time)
    elif source.is_on == 0 or order != source.order:
        return
    n = o.extra
    if o.last < math.inf:
        n = max(min(n, math.ceil((o.last - now) / source.interval)), 1)
    flow_bin_at(flow.bins, min(bin_of(w, now), w.n_bins - 1)).sent += n
    trace(w, flow, now, SEND, source.sent, 0.0)
    last = now + (n - 1) * source.interval
    go_on_train(w, x, flow, 0, Train(now, last, source.sent, n, 1, 0, -1, 0, 0, 0))
    source.sent += n
    source.order = next_order(w)
    push(w, now + n * source.interval, now, source.order, CBR_PACKET, ident)


@not_inlined
def run_queue_timer(w, x, ident, now):
    """The timer of a discipline of a fluid queue is due."""
    link = link_at(w.links, ident)
    pool = pool_at(x.pools, ident)
    advance_line(w, link, pool, now)
    q = queue_sample_at(link.sample, 0)
    link.queue_bytes = pool.backlog
    clear_queue_sample(link, q)
    q.queue = max(pool.backlog / pool.size - 0.5, 0.0)
    schedule(w, run_timer(link, now), QUEUE_TIMER, ident)


@not_inlined
def handle_rest(w, x, kind, ident, now, order):
    """Starts, stops, timers, and events of links of the packet model."""
    if kind == QUEUE_TIMER and pool_at(x.pools, ident).unused == 0:
        drop_first(w)
        run_queue_timer(w, x, ident, now)
    elif kind == ACK_TIMER:
        drop_first(w)
        end_ack_delay(w, x, ident, now, order)
    elif kind == CBR_PACKET or (kind == FLOW_START and flow_at(w.flows, ident).kind == CBR):
        drop_first(w)
        emit_cbr(w, x, kind, ident, now, order)
    else:
        if kind == RETRANSMISSION_TIMER and tcp_at(w.tcp, ident).deadline <= now:
            stop_coasting(tcp_at(w.tcp, ident), open_at(x.open, ident))
        w.turn = 0
        handle_other(w, kind, ident, now, order)
        if w.turn != 0:
            go_on_sending(w, x, w.flow, now)
        close_vacancy(w)


@compiled
def handle_next_train(w, x):
    """Handle the next event on the event list."""
    e = event_at(w.heap, 0)
    kind = np.int64(e.kind)
    ident = np.int64(e.id)
    now = e.time
    w.now = now
    w.since = e.since
    w.events += 1
    if kind == AT_LINK:
        handle_link(w, x, ident, now)
        close_vacancy(w)
    elif kind == AT_SENDER:
        handle_acks(w, x, ident)
        close_vacancy(w)
    elif kind <= ARRIVAL:
        leave_link(w, x, kind, ident)
        close_vacancy(w)
    else:
        handle_rest(w, x, kind, ident, now, e.order)


@not_inlined
def go_on_pending(w, x):
    """Continue the sender that ran out of room, after the driver has made room."""
    if w.pending >= 0:
        ident = w.pending
        w.pending = -1
        sender.resume_sending(tcp_at(w.tcp, ident), w.now)
        go_on_sending(w, x, ident, w.now)


@entry
def run_trains(world, more, until):
    """Handle events up to time `until`; returns whether it stopped early."""
    w = world_at(world, 0)
    x = trains_at(more, 0)
    go_on_pending(w, x)
    while goes_on(w, until):
        handle_next_train(w, x)
    return w.need != 0 or w.events >= w.pause


@entry
def step_trains(world, more):
    """Handle one event, or continue a pending sender; returns the time of the next event.

    The time is infinite if there is no event.
    """
    w = world_at(world, 0)
    x = trains_at(more, 0)
    if w.pending >= 0:
        go_on_pending(w, x)
    elif w.need == 0 and w.heap_size > 0:
        handle_next_train(w, x)
    return next_time(w)


@entry
def flush_queues(world, more, until):
    """Complete the record of the queues of trains up to time `until`."""
    w = world_at(world, 0)
    x = trains_at(more, 0)
    until = min(until, w.duration)
    for i in range(w.n_links):
        link = link_at(w.links, i)
        pool = pool_at(x.pools, i)
        if link.recorded != 0 and pool.unused == 0:
            advance_line(w, link, pool, until)
