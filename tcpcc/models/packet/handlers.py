"""The events of the packet model, one handler each; :func:`step` takes the next from the agenda.

Both drivers call :func:`step` and nothing else, so their runs are the same event by event.
"""

import math

from tcpcc.engine.jit import accessor, compiled, entry, record_dtype
from tcpcc.models.bins import flow_bin_at
from tcpcc.models.packet.event_list import advance_flight, drop_first, next_order, push, schedule
from tcpcc.models.packet.forward import carry, leave_queue, receive, send_ack, set_open
from tcpcc.models.packet.packet_records import (
    ACK,
    ACK_TIMER,
    ARRIVAL,
    CBR_PACKET,
    CHANGE,
    DUPACK,
    FLOW_START,
    FLOW_STOP,
    LOSS_EVENT,
    RETRANSMISSION_TIMER,
    RETRANSMIT,
    SEND,
    TIMEOUT,
    change_at,
    event_at,
    link_at,
    packet_at,
    queued_at,
    world_at,
)
from tcpcc.models.packet.recorder import add_sending, add_waiting, bin_of, sample_flow, trace
from tcpcc.transport import receiver, sender
from tcpcc.transport.flow_record import CBR, flow_at, out_at, window_at

number_at = accessor(record_dtype({"value": float}))


# ------------------------------------------------------------------------------- sending


@compiled
def pump(w, f, now):
    """Put what the sender handed over onto its first link, and ask for more while it has more."""
    while True:
        k = min(bin_of(w, now), w.n_bins - 1)
        b = flow_bin_at(f.bins, k)
        for i in range(f.outbox_count):
            out = out_at(f.outbox, i)
            seq = out.seq
            again = out.again != 0
            b.sent += 1
            if again:
                b.retransmitted += 1
            trace(w, now, f.index, RETRANSMIT if again else SEND, seq, window_at(f.state, 0).cwnd)
            size = f.syn_size if seq == 0 and f.handshake != 0 else f.size
            carry(w, f, 0, now, size, seq, 0, 0, 0)
        f.outbox_count = 0
        if f.more == 0:
            return
        if w.need != 0 or f.next_seq - f.high_ack >= f.segment_mask:
            w.need = 1  # the driver makes room, then calls again through w.pending
            w.pending = f.index
            return
        sender.resume(f, now)


@compiled
def finish_turn(w, f, now, timeouts, losses):
    """After a sender's handler: log, send, and see that its timer is on the agenda."""
    if f.timeouts != timeouts:
        trace(w, now, f.index, TIMEOUT, f.high_ack + 1, window_at(f.state, 0).cwnd)
    if f.loss_events != losses:
        trace(w, now, f.index, LOSS_EVENT, f.high_ack + 1, window_at(f.state, 0).cwnd)
    pump(w, f, now)
    if f.deadline < f.timer_at:
        f.timer_at = f.deadline
        f.timer_order = next_order(w)
        push(w, f.deadline, now, f.timer_order, RETRANSMISSION_TIMER, f.index)


# ------------------------------------------------------------------------------ handlers


@compiled
def on_arrival(w, ident):
    """The first packet in flight on a link comes out at its far end."""
    link = link_at(w.links, ident)
    p = packet_at(link.flight, link.flight_head & link.flight_mask)
    f = flow_at(w.flows, p.flow)
    w.flow = p.flow
    now = p.time
    hop = p.hop
    seq = p.seq
    trigger = p.trigger
    low = p.low
    high = p.high
    size = p.size
    link.passed += 1
    advance_flight(w, link, ident, ARRIVAL)
    if hop == f.n_hops and hop > f.n_forward:
        f.inbound += 1
        sample_flow(w, f, now)
        timeouts = f.timeouts
        losses = f.loss_events
        f.last_rtt = math.nan
        before = f.high_ack
        sender.on_ack(f, now, seq, trigger, low, high)
        if not math.isnan(f.finished):
            set_open(w, f, 0)
        trace(w, now, f.index, ACK if seq > before else DUPACK, seq + 1, f.last_rtt)
        finish_turn(w, f, now, timeouts, losses)
    elif hop == f.n_forward:
        held = f.held_until
        if receive(w, f, seq, now):
            send_ack(w, f, now, seq)
        elif f.held_until < math.inf and f.held_until != held:
            f.held_since = now
            f.held_order = next_order(w)
            set_ack_timer(w, f)
    else:
        carry(w, f, hop, now, size, seq, trigger, low, high)


@compiled
def on_retransmission_timer(w, ident, now, order):
    """Lazy: the deadline moves with every ACK, the entry on the agenda only when it is reached."""
    f = flow_at(w.flows, ident)
    if order != f.timer_order:
        return
    w.flow = ident
    f.timer_at = math.inf
    sample_flow(w, f, now)
    timeouts = f.timeouts
    losses = f.loss_events
    if f.deadline <= now:
        sender.on_timer(f, now)
    finish_turn(w, f, now, timeouts, losses)


@compiled
def set_ack_timer(w, f):
    """See that the timer of the ACK that is held back is on the agenda, or one that is due before.

    As if there were an entry for every ACK held back; nearly all of these would come to nothing.
    """
    if f.ack_timer == 0:
        f.ack_timer = 1
        push(w, f.held_until, f.held_since, f.held_order, ACK_TIMER, f.index)


@compiled
def on_ack_timer(w, ident, now, order):
    f = flow_at(w.flows, ident)
    f.ack_timer = 0
    if f.held_until == math.inf:
        return
    if order != f.held_order:  # that of an ACK sent since
        set_ack_timer(w, f)
    elif receiver.on_timer(f):
        send_ack(w, f, now, f.expected - 1)


@compiled
def on_start(w, ident, now):
    f = flow_at(w.flows, ident)
    if f.kind == CBR:
        if f.timing == 0:
            f.timing = 1
            set_open(w, f, 1)
            send_cbr(w, f, now)
        return
    set_open(w, f, 1)
    f.bin = bin_of(w, now)
    sender.start(f, now)
    finish_turn(w, f, now, 0, 0)


@compiled
def on_cbr(w, ident, now, order):
    """The next packet of a CBR source is due, unless it was switched off (and on again) before."""
    f = flow_at(w.flows, ident)
    if f.timing != 0 and order == f.timer_order:
        send_cbr(w, f, now)


@compiled
def send_cbr(w, f, now):
    """A CBR source sends and schedules its next packet, while it is on (``f.timing``)."""
    f.max_seq += 1
    f.sent += 1
    flow_bin_at(f.bins, min(bin_of(w, now), w.n_bins - 1)).sent += 1
    trace(w, now, f.index, SEND, f.max_seq, 0.0)
    carry(w, f, 0, now, f.size, f.max_seq, 0, 0, 0)
    f.timer_order = next_order(w)
    push(w, now + f.interval, now, f.timer_order, CBR_PACKET, f.index)


@compiled
def on_stop(w, ident):
    f = flow_at(w.flows, ident)
    set_open(w, f, 0)
    if f.kind == CBR:
        f.timing = 0
    else:
        sender.stop(f)


@compiled
def retime(w, link, ident, now):
    """After a change of rate or delay: the packets that wait will leave at other times.

    The packet being sent keeps its time, as in ns-2. At rate 0 those that wait do so until the
    rate is another one.
    """
    waiting = link.queue_tail - link.queue_head
    first = link.flight_tail - waiting
    if waiting == 0:
        return
    end = queued_at(link.queue, link.queue_head & link.queue_mask).leaves
    stood = end == math.inf
    if link.rate == 0:
        if not stood:
            link.resumes = end
        end = math.inf
    elif stood:
        end = max(now, link.resumes)
    last = 0.0
    if first > link.flight_head:
        last = packet_at(link.flight, (first - 1) & link.flight_mask).time
    for i in range(waiting):
        entry = queued_at(link.queue, (link.queue_head + i) & link.queue_mask)
        p = packet_at(link.flight, (first + i) & link.flight_mask)
        if link.recorded != 0:
            if end > entry.leaves:
                add_waiting(w, link, entry.leaves, end, 1.0)
            else:
                add_waiting(w, link, end, entry.leaves, -1.0)
            old_end = link.busy_until
            if i + 1 < waiting:
                old_end = queued_at(link.queue, (link.queue_head + i + 1) & link.queue_mask).leaves
            add_sending(w, link, entry.leaves, old_end, 8 * entry.size, -1.0)
            if link.rate > 0:
                add_sending(w, link, end, end + 8 * entry.size / link.rate, 8 * entry.size, 1.0)
        entry.leaves = end
        link.begin = end
        if stood:
            p.since = end
        if link.rate > 0:
            end += 8 * entry.size / link.rate
        p.time = max(end + link.delay, last)
        last = p.time
    link.busy_until = end
    for i in range(w.heap_size):  # the link's own entry, if its first packet was among them
        e = event_at(w.heap, i)
        if e.kind == ARRIVAL and e.id == ident and first == link.flight_head:
            if stood:
                e.since = packet_at(link.flight, first & link.flight_mask).since
            reschedule(w, i, packet_at(link.flight, first & link.flight_mask).time)
            return


@compiled
def reschedule(w, i, time):
    """Give the event at place `i` of the heap another time, and sort the heap anew."""
    event_at(w.heap, i).time = time
    size = w.heap_size
    w.heap_size = 0
    for k in range(size):
        e = event_at(w.heap, k)
        t = e.time
        since = e.since
        o = e.order
        kind = e.kind
        ident = e.id
        push(w, t, since, o, kind, ident)


@compiled
def on_change(w, ident, now):
    """A scheduled change of a link: fields that are not NaN take their new value."""
    c = change_at(w.changes, ident)
    link = link_at(w.links, c.link)
    if c.param != 0:
        number_at(c.param, 0).value = c.value
    if not math.isnan(c.limit):
        link.limit = c.limit
    if not math.isnan(c.loss):
        link.loss = c.loss
    if not (math.isnan(c.rate) and math.isnan(c.delay)):
        leave_queue(link, now, w.since)
        if not math.isnan(c.rate):
            link.rate = c.rate
        if not math.isnan(c.delay):
            link.delay = c.delay
        retime(w, link, c.link, now)


# ---------------------------------------------------------------------------------- steps


@compiled
def step(w):
    """Handle the next event on the agenda."""
    e = event_at(w.heap, 0)
    kind = e.kind
    ident = e.id
    order = e.order
    now = e.time
    w.now = now
    w.since = e.since
    w.events += 1
    if kind == ARRIVAL:
        on_arrival(w, ident)
        return
    drop_first(w)
    if kind == RETRANSMISSION_TIMER:
        on_retransmission_timer(w, ident, now, order)
    elif kind == CBR_PACKET:
        on_cbr(w, ident, now, order)
    elif kind == ACK_TIMER:
        on_ack_timer(w, ident, now, order)
    elif kind == FLOW_START:
        on_start(w, ident, now)
    elif kind == FLOW_STOP:
        on_stop(w, ident)
    elif kind == CHANGE:
        on_change(w, ident, now)


@compiled
def continue_pending(w):
    """After the driver made room: the sender that ran out of it goes on."""
    if w.pending >= 0:
        f = flow_at(w.flows, w.pending)
        w.pending = -1
        pump(w, f, w.now)


@entry
def run_until(world, until):
    """Handle events up to time `until`; returns early, True, when the driver must make room, and
    after event number ``w.pause``, so that it can answer Ctrl-C."""
    w = world_at(world, 0)
    continue_pending(w)
    while (
        w.need == 0 and w.heap_size > 0 and w.events < w.pause and event_at(w.heap, 0).time <= until
    ):
        step(w)
    return w.need != 0 or w.events >= w.pause


@entry
def step_once(world):
    """Handle one event, or what room was made for; returns the time of the next event, infinity
    when there is none."""
    w = world_at(world, 0)
    if w.pending >= 0:
        continue_pending(w)
    elif w.need == 0 and w.heap_size > 0:
        step(w)
    return event_at(w.heap, 0).time if w.heap_size > 0 else math.inf


@entry
def schedule_from_outside(world, time, kind, ident):
    schedule(world_at(world, 0), time, kind, ident)


@entry
def send_more(world, ident, packets):
    """An application gives flow `ident` so many packets more to send, now (``w.now``)."""
    w = world_at(world, 0)
    f = flow_at(w.flows, ident)
    w.flow = ident
    f.limit += packets
    f.finished = math.nan
    set_open(w, f, 1)
    sample_flow(w, f, w.now)
    f.burst = f.max_burst
    sender.resume(f, w.now)
    finish_turn(w, f, w.now, f.timeouts, f.loss_events)


@entry
def flush(world, until):
    """Complete the flows' bins up to time `until`."""
    w = world_at(world, 0)
    until = min(until, w.duration + w.interval / 2)
    for i in range(w.n_flows):
        f = flow_at(w.flows, i)
        if f.kind != CBR:
            sample_flow(w, f, until)
