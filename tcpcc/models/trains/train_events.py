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

from tcpcc.engine.jit import compiled, entry, not_inlined
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.event_list import close_vacancy
from tcpcc.models.packet.handlers import (
    flush_bins,
    handle_other,
    resume_pending,
    run_loop,
)
from tcpcc.models.trains.coasting import stop_coasting
from tcpcc.models.trains.train_links import go_on_train, handle_link, leave_link
from tcpcc.models.trains.train_queue import advance_line, handle_pool_timer
from tcpcc.models.trains.train_receiver import send_ack
from tcpcc.models.trains.train_records import AT_LINK, AT_SENDER, Train, open_at, pool_at
from tcpcc.models.trains.train_sender import finish_train, handle_acks
from tcpcc.transport.flow_record import tcp_at


@not_inlined
def send_cbr_train(w, flow, source, seq, n, now):
    last = now + (n - 1) * source.interval
    go_on_train(w, flow, 0, Train(now, last, seq, n, 1, 0, -1, 0, 0, 0))


@compiled
def handle_train_event(w, kind, ident, now, order):
    """Handle an event where packets go in trains."""
    if kind == AT_LINK:
        handle_link(w, ident, now)
    elif kind == AT_SENDER:
        handle_acks(w, ident)
    elif kind <= r.ARRIVAL:
        leave_link(w, kind, ident)
    elif kind == r.QUEUE_TIMER and pool_at(w.pools, ident).unused == 0:
        handle_pool_timer(w, r.link_at(w.links, ident), pool_at(w.pools, ident), now)
    else:
        if kind == r.RETRANSMISSION_TIMER and tcp_at(w.tcp, ident).deadline <= now:
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
    return run_loop(r.world_at(world, 0), until, handle_train_event, continue_pending_trains)


@entry
def flush(world, until):
    """As that of packets; the record of the fluid queues becomes complete, too."""
    w = r.world_at(world, 0)
    for i in range(w.n_links):
        link = r.link_at(w.links, i)
        pool = pool_at(w.pools, i)
        if link.recorded != 0 and pool.unused == 0:
            advance_line(w, link, pool, min(until, w.duration))
    flush_bins(w, until)
