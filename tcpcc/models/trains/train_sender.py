"""Senders handle trains of ACKs; what they release is the next train.

Without a hole, the loss recovery and the controller handle a train of ACKs as one ACK of several
packets; else one after the other. Packets that are sent because the window has grown are a train of
their own; not with delayed ACKs, each of which releases several packets at once.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.conversation_records import item_at
from tcpcc.models.packet.conversations import leave_place, note_items
from tcpcc.models.packet.event_list import comes_next, schedule, vacate_first
from tcpcc.models.packet.handlers import (
    lacks_segments,
    record_sent,
    set_open,
    set_timers,
    take_ack,
    trace_turn,
)
from tcpcc.models.packet.headers import write_header
from tcpcc.models.packet.packet_records import MARGIN, flow_at
from tcpcc.models.packet.recorder import flow_bin, sample_flow
from tcpcc.models.trains.coasting import (
    begin_coasting,
    log_train,
    stop_coasting,
    time_sent,
    write_newest,
)
from tcpcc.models.trains.train_lines import (
    append_train,
    await_train,
    longest,
    most_acknowledged,
    remove_head,
    travel,
)
from tcpcc.models.trains.train_links import cross_alone, go_on_train, reach_link
from tcpcc.models.trains.train_records import (
    AT_LINK,
    AT_SENDER,
    GROWTH,
    LONE,
    Train,
    gap_of,
    line_at,
    open_at,
    part,
    read_train,
    train_at,
    trigger_of,
)
from tcpcc.transport import sender
from tcpcc.transport.flow_record import OPEN, delivery_at, out_at, segment_at, tcp_at, window_at
from tcpcc.transport.undo import NOT_DUE


@not_inlined
def send_train(w, flow, o, p):
    hop = o.meets
    if hop < 0:
        go_on_train(w, flow, 0, p)
        return
    p = travel(w, flow, 0, hop, p)[1]
    ident = flow.path + hop
    line = line_at(w.lines, ident)
    if line.kind == LONE:
        cross_alone(w, flow, o, hop, p)
    elif append_train(w, flow, line, p):
        if p.first <= w.now:
            w.reaching = 1
        else:
            await_train(w, line, AT_LINK, ident)


@compiled
def reach_now(w, flow, o):
    """If a train that a sender's handler has sent reaches a link now, it needs no event if this
    would be the next one."""
    if w.reaching != 0:
        w.reaching = 0
        ident = flow.path + o.meets
        if comes_next(w):
            reach_link(w, flow, o.meets, line_at(w.lines, ident), w.now)
        else:
            schedule(w, w.now, AT_LINK, ident)


@compiled
def close_train(w, flow, tcp, o):
    """Send the open train. Its packets were sent at equal distances."""
    n = o.count
    if n == 0:
        return
    o.count = 0
    extra = o.extra
    trigger = GROWTH if extra < 0 else -1
    o.extra = 0
    if extra > 0 and 4 * extra < n:
        n -= extra
    else:
        extra = 0
    if n == 1 and extra == 0:
        o.first = o.last
    gap = (o.last - o.first) / (n - 1) if n > 1 else 0.0
    if o.again == 0 and tcp.coasting == 0:
        for k in range(n):
            segment_at(tcp.segments, (o.seq + k) & tcp.segment_mask).sent_at = o.first + k * gap
    if tcp.coasting != 0:
        log_train(tcp, o, o.seq, n, o.first, o.last)
        if extra > 0:
            log_train(tcp, o, o.seq + n, extra, o.last, o.last)
    a = 0
    pieces = 1
    if o.last > o.first:
        pieces = max(min(math.ceil((o.last - o.first) / longest(w, tcp) - 1e-6), n), 1)
    for i in range(pieces):
        b = n * (i + 1) // pieces
        if b > a:
            p = Train(
                o.first + a * gap, o.first + (b - 1) * gap, o.seq + a, b - a, 1, o.again, trigger,
                0, 0, o.header,
            )  # fmt: skip
            send_train(w, flow, o, p)
        a = b
    if extra > 0:
        send_train(w, flow, o, Train(o.last, o.last, o.seq + n, extra, 1, 0, GROWTH, 0, 0, 0))


@compiled
def gather(w, flow, tcp, o, now, first):
    """Packets in the outbox join the open train, sent from `first` to `now`."""
    b = flow_bin(w, flow, now)
    while True:
        for i in range(tcp.outbox_count):
            out = out_at(tcp.outbox, i)
            record_sent(w, flow, tcp, b, out.seq, out.again != 0, now)
            lengthen_train(w, flow, tcp, o, out.seq, 1, out.again, now, first)
        tcp.outbox_count = 0
        if tcp.run > 0:
            b.sent += tcp.run
            lengthen_train(w, flow, tcp, o, tcp.next_seq - tcp.run, tcp.run, 0, now, first)
            tcp.run = 0
        # what a trace needs may be short
        if tcp.more == 0 or lacks_segments(w, flow, tcp, w.need != 0 and flow.traced != 0):
            return
        sender.resume_sending(tcp, now)


@compiled
def lengthen_train(w, flow, tcp, o, seq, n, again, now, first):
    """Add `n` packets, from number `seq` on, to the open train, or begin the next one with them."""
    more = o.count > 0 and o.single != 0
    if o.count > 0 and (
        o.single != 0
        or seq != o.seq + o.count
        or again != o.again
        or (first == now and now - o.first > longest(w, tcp))
    ):
        close_train(w, flow, tcp, o)
    if o.count == 0:
        o.first = first
        o.seq = seq
        o.again = again
        o.extra = GROWTH if more and tcp.high_ack > 0 else 0
        if flow.has_header != 0:
            o.header = write_header(w, flow, tcp, seq, again != 0)
            if w.n_spare_headers < w.train_margin:
                w.need = 1
    o.count += n
    o.last = now


@compiled
def lacks_room(w, flow, tcp, n):
    """Whether the ring of segments is too short for what the ACKs of `n` packets may release."""
    window = max(window_at(tcp.state, 0).cwnd, float(tcp.next_seq - tcp.high_ack))
    if min(window, tcp.rwnd) + 3 * n + MARGIN < tcp.segment_mask:
        return False
    w.need = 1
    w.want = flow.index + 1
    return True


@compiled
def is_smooth(tcp, p):
    """Whether a train of ACKs can be handled as one: nothing is lost, paced, or ends."""
    return (
        (p.count > 1 or tcp.coasting != 0)
        and p.step > 0
        and p.low == p.high
        and tcp.phase == OPEN
        and tcp.dupacks == 0
        and 0 < p.seq - tcp.high_ack <= most_acknowledged(tcp)
        and p.trigger == p.seq
        and tcp.high_ack >= tcp.recover
        and tcp.high_ack > 0
        and tcp.delivery == 0
        and tcp.pieces == 0
        and tcp.rwnd == tcp.next_rwnd
        and tcp.echo_due == NOT_DUE
        and tcp.to_send - tcp.next_seq > 4 * p.count * p.step
    )


@compiled
def ends_write(w, flow, p):
    """Whether a train of ACKs acknowledges the last packet of what the application of a flow has
    written: the time of each ACK then counts."""
    if flow.conversation != 0 or flow.undone == flow.item:
        return False
    return p.seq + (p.count - 1) * p.step >= item_at(w.items, flow.undone).limit - 1


@compiled
def send_ahead(w, flow, tcp, o, now, first, packets):
    """Send what all ACKs of a train but the last release, so that the last one finds as much
    outstanding as it would if they came one by one."""
    s = window_at(tcp.state, 0)
    cwnd = s.cwnd
    rwnd = tcp.rwnd
    s.cwnd += packets
    tcp.rwnd += packets
    tcp.burst = packets
    sender.resume_sending(tcp, now)
    gather(w, flow, tcp, o, now, first)
    s.cwnd = cwnd
    tcp.rwnd = rwnd


@compiled
def as_before(tcp, t):
    """Time `t` of an ACK; the last ACK's own where the two differ by rounding only."""
    return tcp.now if abs(t - tcp.now) < 1e-9 else t


@compiled
def take_acks_at_once(w, flow, tcp, o, p):
    """A train of ACKs as one report of what they acknowledge."""
    n = p.count
    last = as_before(tcp, p.last)
    by_first = p.seq - tcp.high_ack
    newest = p.seq + (n - 1) * p.step
    r1 = p.last - write_newest(tcp, o, newest)
    r0 = r1
    if n > 1:
        r0 = p.first - time_sent(tcp, o, p.seq)
        tcp.srtt += (0.5 * (r0 + r1) - tcp.srtt) * (1 - 0.875 ** (n - 1))
        send_ahead(w, flow, tcp, o, last, p.first, float(by_first + (n - 2) * p.step))
    tcp.base_rtt = min(tcp.base_rtt, r0, r1)
    limit = tcp.abc_limit
    tcp.abc_limit = min(float(by_first), limit) + (n - 1) * min(float(p.step), limit)
    sender.receive_ack(tcp, last, newest, newest, 0, 0)
    tcp.abc_limit = limit
    tcp.acks += n - 1
    if tcp.round_n > 0:
        tcp.round_sum += n * 0.5 * (r0 + r1) - r1
        tcp.round_n += n - 1
        tcp.round_min = min(tcp.round_min, r0)
    gather(w, flow, tcp, o, last, p.first)


@not_inlined
def take_smooth_acks(w, flow, tcp, o, p):
    """A train of ACKs without a hole; the ACK that ends a round ends a report too."""
    n = p.count
    newest = p.seq + (n - 1) * p.step
    packets = newest - tcp.high_ack
    begin_coasting(tcp, o, newest)
    k = (tcp.round_seq - p.seq + p.step - 1) // p.step
    if 0 <= k < n - 1:
        r0 = p.first - time_sent(tcp, o, p.seq)
        at = time_sent(tcp, o, p.seq + k * p.step)
        after = time_sent(tcp, o, p.seq + (k + 1) * p.step)
        r1 = p.last - time_sent(tcp, o, newest)
        rise = (r1 - r0) / (n - 1)
        at += r0 + rise * k
        after += r0 + rise * (k + 1)
        take_acks_at_once(w, flow, tcp, o, part(p, 0, k, p.first, at))
        take_acks_at_once(w, flow, tcp, o, part(p, k + 1, n - 1, after, p.last))
    else:
        take_acks_at_once(w, flow, tcp, o, p)
    if p.step == 1:  # a delayed ACK releases the packet of the growth together with others
        o.extra = max(o.count - packets, 0)


@not_inlined
def take_acks(w, flow, tcp, o, p):
    """A train of ACKs, one after the other."""
    n = p.count
    gap = gap_of(p)
    smooth = n > 1 and p.step > 0
    r0 = r1 = 0.0
    if smooth:
        for j in range(n):
            s = segment_at(tcp.segments, trigger_of(p, j) & tcp.segment_mask)
            smooth = smooth and s.transmits == 1
        r0 = p.first - segment_at(tcp.segments, p.trigger & tcp.segment_mask).sent_at
        r1 = p.last - segment_at(tcp.segments, trigger_of(p, n - 1) & tcp.segment_mask).sent_at
    for j in range(n):
        t = p.first + j * gap
        if smooth:
            s = segment_at(tcp.segments, trigger_of(p, j) & tcp.segment_mask)
            t = s.sent_at + r0 + (r1 - r0) * j / (n - 1)
        t = as_before(tcp, t)
        if tcp.delivery != 0:
            d = delivery_at(tcp.delivery, 0)
            while d.release_at <= t:
                at = d.release_at
                sender.release_paced(tcp, at)
                gather(w, flow, tcp, o, at, at)
        high = p.high + (j if p.step == 0 else 0)
        ack = p.seq + j * p.step
        take_ack(w, flow, tcp, ack, trigger_of(p, j), p.again, p.low, high, p.header, t)
        trace_turn(w, flow, tcp, t)
        if flow.conversation == 0 and flow.last_item != 0:
            note_items(w, flow, tcp, t)
        gather(w, flow, tcp, o, t, t)


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
def finish_train(w, flow, tcp, now):
    """As `finish_turn`: what the sender has sent is a train."""
    o = open_at(w.open_trains, flow.index)
    trace_turn(w, flow, tcp, now)
    gather(w, flow, tcp, o, now, now)
    close_train(w, flow, tcp, o)
    set_timers(w, flow, tcp, now)
    reach_now(w, flow, o)
