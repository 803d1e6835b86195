"""The events of packets: a handler for each kind; and the event loop, which trains have too.

Both drivers advance a run by :func:`handle_next` only, so they agree event by event. What packets
and trains do in different ways is passed on as functions, for which the compiler compiles the
loop: a run of packets compiles no code for trains.
"""

import math
from collections.abc import Callable

import numpy as np

from tcpcc.engine.jit import Caller, compiled, entry, not_inlined
from tcpcc.models.conversation_records import conversation_at, item_at
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.conversations import hand_over, leave_place, note_items, take_place
from tcpcc.models.packet.event_list import (
    close_vacancy,
    next_order,
    next_time,
    push,
    schedule,
    vacate_first,
)
from tcpcc.models.packet.headers import read_at_sender, write_header
from tcpcc.models.packet.links.changes import change_link
from tcpcc.models.packet.links.fifo import leave_queue, wake_queue
from tcpcc.models.packet.links.scheduler import count_waiting, release_queue, serve_next
from tcpcc.models.packet.links.transit import reach_receiver, send_here, send_packet
from tcpcc.models.packet.packets import ack_packet, data_packet, take_arrived
from tcpcc.models.packet.recorder import bin_of, flow_bin, sample_flow, trace, trace_ack
from tcpcc.transport import output, receiver, sender
from tcpcc.transport.flow_record import CBR, delivery_at, out_at, tcp_at, window_at


@compiled
def set_open(w, flow, value):
    """A source opens (1) or closes (0); every link on its paths counts it once."""
    for i in range(flow.n_hops):
        hop = r.hop_at(w.hops, flow.path + i)
        if hop.again == 0:
            r.link_at(hop.link, 0).open += (value - flow.open) * flow.count
    flow.open = value


# ------------------------------------------------------------------------------- sending


@compiled
def empty_outbox(w, flow, tcp, now):
    """Send the packets in the outbox over the first link, and refill it while more can be sent."""
    while True:
        b = flow_bin(w, flow, now)
        for i in range(tcp.outbox_count):
            out = out_at(tcp.outbox, i)
            seq = out.seq
            again = out.again != 0
            record_sent(w, flow, tcp, b, seq, again, now)
            header = write_header(w, flow, tcp, seq, again) if flow.has_header != 0 else 0
            send_here(w, flow, data_packet(flow, seq, out.again, header), now)
        tcp.outbox_count = 0
        if tcp.more == 0 or lacks_segments(w, flow, tcp, w.need != 0):
            return
        sender.resume_sending(tcp, now)


@compiled
def record_sent(w, flow, tcp, b, seq, again, now):
    """Record in bin `b` that a packet is sent."""
    b.sent += 1
    if again:
        b.retransmitted += 1
    if flow.traced != 0:
        trace(w, flow, now, r.RETRANSMIT if again else r.SEND, seq, window_at(tcp.state, 0).cwnd)


@compiled
def lacks_segments(w, flow, tcp, short):
    """Whether a sender has to wait until the driver has made room, if there is none for its
    segments or something else is `short`."""
    if short or output.room_for_window(tcp) <= 0:
        w.need = 1
        w.pending = flow.index  # see `resume_pending`
        return True
    return False


@compiled
def begin_turn(w, flow, tcp, now):
    """A sender is about to handle an event; :func:`finish_turn` then processes what it did."""
    sample_flow(w, flow, now)
    note_turn(w, flow, tcp)


@compiled
def note_turn(w, flow, tcp):
    w.flow = flow.index
    w.turn = 1
    if flow.traced != 0:
        w.timeouts = tcp.timeouts
        w.losses = tcp.loss_events


@compiled
def finish_turn(w, flow, tcp, now):
    """After a sender's handler: trace, send packets, and schedule its timers."""
    trace_turn(w, flow, tcp, now)
    empty_outbox(w, flow, tcp, now)
    set_timers(w, flow, tcp, now)


@compiled
def trace_turn(w, flow, tcp, now):
    """Trace a timeout or a loss event since :func:`begin_turn`."""
    if flow.traced == 0:
        return
    if tcp.timeouts != w.timeouts:
        trace(w, flow, now, r.TIMEOUT, tcp.high_ack + 1, window_at(tcp.state, 0).cwnd)
    if tcp.loss_events != w.losses:
        trace(w, flow, now, r.LOSS_EVENT, tcp.high_ack + 1, window_at(tcp.state, 0).cwnd)


@compiled
def set_timers(w, flow, tcp, now):
    """Schedule a sender's retransmission timer, its pacing, and the alarms of its controller and
    its loss recovery."""
    set_timer(w, flow, r.RETRANSMISSION_TIMER, tcp.deadline, now)
    if tcp.delivery != 0:
        set_timer(w, flow, r.RELEASE, delivery_at(tcp.delivery, 0).release_at, now)
        set_timer(w, flow, r.ALARM, sender.alarm_at(tcp), now)


@compiled
def set_timer(w, flow, kind, at, now):
    """Schedule a sender's timer, unless it has an earlier entry on the event list: that one is not
    moved to a later time."""
    k = kind - r.RETRANSMISSION_TIMER
    if at < flow.timer_at[k]:
        flow.timer_at[k] = at
        flow.timer_order[k] = next_order(w)
        push(w, max(at, now), now, flow.timer_order[k], kind, flow.index)


# ------------------------------------------------------------------------------ handlers


@compiled
def handle_arrival(w, kind, ident):
    """The first packet of a lane, or a packet with its own event, arrives at its link's far end."""
    p, now = take_arrived(w, kind, ident)
    flow = r.flow_at(w.flows, p.flow)
    w.flow = p.flow
    if p.hop == flow.n_hops and p.hop > flow.n_forward:
        handle_ack(w, flow, p, now)
    elif p.hop == flow.n_forward:
        handle_data(w, flow, p, now)
    else:
        send_packet(w, flow, p, now)
    close_vacancy(w)
    leave_place(w, flow)


@compiled
def handle_ack(w, flow, p, now):
    """An ACK reaches its sender."""
    flow.inbound += 1
    sample_flow(w, flow, now)
    tcp = tcp_at(w.tcp, p.flow)
    repairs = p.trigger < 0
    trigger = ~p.trigger if repairs else p.trigger
    take_ack(w, flow, tcp, p.seq, trigger, repairs, p.low, p.low + p.span, p.header, now)
    if not math.isnan(tcp.finished):
        set_open(w, flow, 0)
    if flow.last_item != 0:
        note_items(w, flow, tcp, now)
    finish_turn(w, flow, tcp, now)


@compiled
def take_ack(w, flow, tcp, ack, trigger, repairs, low, high, header, now):
    """A sender handles an ACK that packet `trigger` caused, with a SACK block; `repairs`: whether
    it echoes a retransmission."""
    note_turn(w, flow, tcp)
    before = tcp.high_ack
    tcp.last_rtt = math.nan
    if header != 0:
        read_at_sender(w, flow, tcp, ack, header)
    tcp.echoes_repair = repairs
    sender.receive_ack(tcp, now, ack, trigger, low, high)
    kind = r.ACK if ack > before else r.DUPACK
    trace_ack(w, flow, now, kind, ack + 1, tcp.last_rtt, trigger, low, high)


@compiled
def handle_data(w, flow, p, now):
    """A data packet reaches its receiver through an event."""
    tcp = tcp_at(w.tcp, flow.index)
    held = tcp.held_until
    if reach_receiver(w, flow, tcp, p, now):
        send_packet(w, flow, ack_packet(flow, tcp, p.seq, p.header), now)
    else:
        hold_ack(w, flow, tcp, held, now)


@compiled
def handle_timer(w, kind, ident, now, order):
    """A sender's retransmission timer, pacing or alarm is due, if `order` is that of its entry.

    Every ACK moves the deadline of the retransmission timer; its entry on the event list moves only
    when it is due.
    """
    flow = r.flow_at(w.flows, ident)
    tcp = tcp_at(w.tcp, ident)
    k = kind - r.RETRANSMISSION_TIMER
    if order != flow.timer_order[k]:
        return
    flow.timer_at[k] = math.inf
    begin_turn(w, flow, tcp, now)
    if kind == r.RELEASE:
        sender.release_paced(tcp, now)
    elif kind == r.ALARM:
        sender.call_alarms(tcp, now)
    elif tcp.deadline <= now:
        sender.retransmission_timeout(tcp, now)


@compiled
def hold_ack(w, flow, tcp, held, now):
    """Start the timer of a delayed ACK if a packet that arrived at `now` has changed it."""
    if tcp.held_until < math.inf and tcp.held_until != held:
        flow.held_since = now
        flow.held_order = next_order(w)
        set_ack_timer(w, flow, tcp)


@compiled
def set_ack_timer(w, flow, tcp):
    """Schedule the timer of a delayed ACK, unless an earlier one is on the event list.

    The result is that of one entry per delayed ACK, most of which would expire without effect.
    """
    if flow.ack_timer == 0:
        flow.ack_timer = 1
        push(w, tcp.held_until, flow.held_since, flow.held_order, r.ACK_TIMER, flow.index)


@compiled
def handle_ack_timer(w, ident, now, order, send_ack: Callable):
    """The timer of a delayed ACK is due."""
    flow = r.flow_at(w.flows, ident)
    tcp = tcp_at(w.tcp, ident)
    flow.ack_timer = 0
    if tcp.held_until < math.inf:
        if order != flow.held_order:  # the timer of an ACK that has been sent since
            set_ack_timer(w, flow, tcp)
        elif receiver.send_held_ack(tcp):
            send_ack(w, flow, held_ack(flow, tcp), now)
    leave_place(w, flow)


@compiled
def held_ack(flow, tcp):
    """The ACK that has waited for its timer."""
    header = flow.held_header
    flow.held_header = 0
    return ack_packet(flow, tcp, tcp.expected - 1, header)


@not_inlined
def handle_beginning(w, now):
    """The next conversation begins: its connection opens and has the first item to send."""
    number = w.next_conversation
    flow = take_place(w, number)
    tcp = tcp_at(w.tcp, flow.index)
    conversation_at(w.conversations, number).place = flow.index
    if w.free_places == 0:
        w.need = 1
    w.next_conversation += 1
    if w.next_conversation < w.n_conversations:
        following = conversation_at(w.conversations, w.next_conversation)
        schedule(w, following.start, r.BEGINNING, 0)
    hand_over(w, flow, tcp, now)
    set_open(w, flow, 1)
    begin_turn(w, flow, tcp, now)
    sender.open_connection(tcp, now)


@compiled
def handle_write(w, ident, now):
    """The application hands the next item to the connection, unless the flow has been stopped."""
    flow = r.flow_at(w.flows, ident)
    if flow.item == flow.last_item:
        return
    tcp = tcp_at(w.tcp, ident)
    begin_turn(w, flow, tcp, now)
    sender.before_write(tcp)
    hand_over(w, flow, tcp, now)
    sender.write_data(tcp, now)


@compiled
def handle_start(w, ident, now, send_cbr: Callable):
    flow = r.flow_at(w.flows, ident)
    if flow.kind == CBR:
        source = r.cbr_at(w.cbr, ident)
        if source.is_on == 0:
            source.is_on = 1
            set_open(w, flow, 1)
            source.off_at = next_stop(w, ident) if source.train > 1 else math.inf
            emit_cbr(w, flow, source, now, send_cbr)
        return
    set_open(w, flow, 1)
    flow.bin = bin_of(w, now)
    flow.bin_end = 0.0
    tcp = tcp_at(w.tcp, ident)
    if flow.item < flow.last_item and item_at(w.items, flow.item).gap == 0:
        hand_over(w, flow, tcp, now)
    begin_turn(w, flow, tcp, now)
    sender.open_connection(tcp, now)


@not_inlined
def next_stop(w, ident):
    """When a source is switched off next, s."""
    at = math.inf
    for i in range(w.heap_size):
        e = r.event_at(w.heap, i)
        if e.kind == r.FLOW_STOP and e.id == ident:
            at = min(at, e.time)
    return at


@compiled
def handle_cbr(w, ident, now, order, send_cbr: Callable):
    """The next packet of a CBR source is due, unless the source was switched off in between."""
    source = r.cbr_at(w.cbr, ident)
    if source.is_on != 0 and order == source.order:
        emit_cbr(w, r.flow_at(w.flows, ident), source, now, send_cbr)


@compiled
def emit_cbr(w, flow, source, now, send_cbr: Callable):
    """A CBR source sends a packet, or a train, and schedules its next one."""
    seq = source.sent
    n = source.train
    if source.off_at < math.inf:
        n = max(min(n, math.ceil((source.off_at - now) / source.interval)), 1)
    source.sent += n
    flow_bin(w, flow, now).sent += n
    trace(w, flow, now, r.SEND, seq, 0.0)
    send_cbr(w, flow, source, seq, n, now)
    source.order = next_order(w)
    push(w, now + n * source.interval, now, source.order, r.CBR_PACKET, flow.index)


@compiled
def send_cbr_packet(w, flow, source, seq, n, now):
    send_packet(w, flow, data_packet(flow, seq, 0, 0), now)


@compiled
def handle_stop(w, ident):
    flow = r.flow_at(w.flows, ident)
    set_open(w, flow, 0)
    if flow.kind == CBR:
        r.cbr_at(w.cbr, ident).is_on = 0
    else:
        tcp = tcp_at(w.tcp, ident)
        if flow.item < flow.last_item:  # what the application had still to write
            flow.item = flow.last_item
            tcp.awaits = 0
            if tcp.high_ack >= tcp.to_send - 1:
                tcp.finished = w.now
        sender.stop_sending(tcp)


@not_inlined
def handle_queue_timer(w, ident, now):
    link = r.link_at(w.links, ident)
    waiting = link.stored if link.scheduled != 0 else leave_queue(link, now, w.since)
    wake_queue(w, link, now, waiting)


@not_inlined
def handle_departure(w, ident, now):
    """A scheduled link has sent a packet and serves the next one."""
    link = r.link_at(w.links, ident)
    link.sending = 0
    serve_next(w, link, now)


@not_inlined
def handle_change(w, ident, now):
    """A scheduled change of a link, or of a flow's receive window."""
    close_vacancy(w)  # a change of a link moves events
    c = r.change_at(w.changes, ident)
    if c.flow >= 0:
        tcp = tcp_at(w.tcp, c.flow)
        begin_turn(w, r.flow_at(w.flows, c.flow), tcp, now)
        sender.learn_rwnd(tcp, now, c.rwnd)
    else:
        change_link(w, c, now)


advance_fluid = Caller(bool, int)


@not_inlined
def handle_fluid_step(w, number):
    """The fluid's step `number` begins; its links tell the packets of this step what they find."""
    if advance_fluid(w.advance_fluid, w.coupling):
        w.need = 1
    schedule(w, (number + 1) * w.step, r.FLUID_STEP, number + 1)


# ---------------------------------------------------------------------------------- steps


@compiled
def handle_event(w, kind, ident, now, order):
    """Handle an event where each packet goes on its own."""
    if kind <= r.ARRIVAL:
        handle_arrival(w, kind, ident)
    else:
        handle_rare(w, kind, ident, now, order)


@not_inlined
def handle_rare(w, kind, ident, now, order):
    handle_other(w, kind, ident, now, order, finish_turn, send_packet, send_cbr_packet)


@compiled
def handle_other(
    w, kind, ident, now, order, finish: Callable, send_ack: Callable, send_cbr: Callable
):
    """Handle an event that is not the arrival of a packet, and finish what a sender has begun.

    The event's place on the list stays for the first event that it adds. (Only inlined functions
    take functions: a call would pass an address of this process, which no cache can keep.)

    Args:
        finish: :func:`finish_turn`, or what trains do then.
        send_ack: sends an ACK from its receiver, as :func:`.transit.send_packet`.
        send_cbr: sends packets of a CBR source, as :func:`send_cbr_packet`.
    """
    w.turn = 0
    vacate_first(w)
    if kind in (r.RETRANSMISSION_TIMER, r.RELEASE, r.ALARM):
        handle_timer(w, kind, ident, now, order)
    elif kind == r.CBR_PACKET:
        handle_cbr(w, ident, now, order, send_cbr)
    elif kind == r.ACK_TIMER:
        handle_ack_timer(w, ident, now, order, send_ack)
    elif kind == r.FLOW_START:
        handle_start(w, ident, now, send_cbr)
    elif kind == r.FLOW_STOP:
        handle_stop(w, ident)
    elif kind == r.DEPARTURE:
        handle_departure(w, ident, now)
    elif kind == r.QUEUE_RELEASE:
        release_queue(w, r.link_at(w.links, ident), now)
    elif kind == r.QUEUE_TIMER:
        handle_queue_timer(w, ident, now)
    elif kind == r.CHANGE:
        handle_change(w, ident, now)
    elif kind == r.BEGINNING:
        handle_beginning(w, now)
    elif kind == r.WRITE:
        handle_write(w, ident, now)
    elif kind == r.FLUID_STEP:
        handle_fluid_step(w, ident)
    if w.turn != 0:
        finish(w, r.flow_at(w.flows, w.flow), tcp_at(w.tcp, w.flow), now)
    close_vacancy(w)


# ------------------------------------------------------------------------------- the loop


@compiled
def handle_next(w, handle: Callable):
    """Handle the next event on the event list."""
    e = r.event_at(w.heap, 0)
    kind = np.int64(e.kind)
    ident = np.int64(e.id)
    w.now = e.time
    w.since = e.since
    w.events += 1
    handle(w, kind, ident, e.time, e.order)


@not_inlined
def continue_pending(w):
    resume_pending(w, finish_turn)


@compiled
def resume_pending(w, finish: Callable):
    """Continue the sender that ran out of room, after the driver has made room."""
    if w.pending >= 0:
        flow = r.flow_at(w.flows, w.pending)
        tcp = tcp_at(w.tcp, w.pending)
        w.pending = -1
        begin_turn(w, flow, tcp, w.now)
        sender.resume_sending(tcp, w.now)
        finish(w, flow, tcp, w.now)


@compiled
def run_loop(w, until, handle: Callable, resume: Callable):
    """Handle events up to time `until`; returns whether it stopped early.

    It stops early when the driver must make room, and after ``w.at_once`` events, so that the
    driver can respond to Ctrl-C, or let SimPy act; to continue a pending sender counts as one.
    ``w.following`` is the time of the next event then.
    """
    last = w.events + w.at_once
    if w.pending >= 0:
        resume(w)
        last -= 1
    while w.need == 0 and w.events < last and w.heap_size > 0 and next_time(w) <= until:
        handle_next(w, handle)
    w.following = next_time(w)
    return w.need != 0 or w.events >= last


@entry
def run_events(world, until):
    return run_loop(r.world_at(world, 0), until, handle_event, continue_pending)


@entry
def schedule_from_outside(world, time, kind, ident):
    schedule(r.world_at(world, 0), time, kind, ident)


@entry
def send_more(world, ident, packets, now):
    """The application of flow `ident` adds `packets` to send at time `now`."""
    w = r.world_at(world, 0)
    w.now = now
    w.since = now
    flow = r.flow_at(w.flows, ident)
    f = tcp_at(w.tcp, ident)
    if not sender.is_opened(f):  # the start is an event of this instant
        f.to_send += packets
        return
    begin_turn(w, flow, f, now)
    sender.before_write(f)
    f.to_send += packets
    f.finished = math.nan
    set_open(w, flow, 1)
    sender.write_data(f, w.now)
    finish_turn(w, flow, f, w.now)


@compiled
def flush_bins(w, until):
    """Complete the flows' bins up to time `until`."""
    until = min(until, w.duration + w.interval / 2)
    for i in range(w.n_flows):
        flow = r.flow_at(w.flows, i)
        if flow.kind != CBR and sender.is_opened(tcp_at(w.tcp, i)):
            sample_flow(w, flow, until)
    for i in range(w.n_links):
        count_waiting(w, r.link_at(w.links, i), until)


@entry
def flush(world, until):
    flush_bins(r.world_at(world, 0), until)
