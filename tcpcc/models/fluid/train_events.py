"""Trains: the packet model's senders and receivers, with several packets of a flow in one event.

A train has packets of one flow at equal distances. It travels whole over links where its flow meets
no other. At a shared link it takes two events: at the first it adds its rate to the link's fluid
queue, at the last it is judged. Its packets see the queue at their own arrival, so a lone flow
measures what it measures with packets. Half a packet is added at either end: to others, a packet
has arrived in half of the cases.

The ACKs of a train reach the sender as a train. Without a hole, the loss recovery and the
controller handle them as one ACK of several packets; else one after the other. What they release is
the next train. Trains are cut where packets are dropped, and join while both are on their way, if
together they are shorter than a round trip over `per_rtt`. Packets that are sent because the window
has grown are a train of their own; not with delayed ACKs, each of which releases several packets at
once. With small windows every train is one packet.

What the packet model does packet by packet, its own code does: packets with headers and those of
conversations travel as trains of one packet, and a train crosses a link that changes, or that has
more than a queue in packets, as packets of the packet model.
"""

import math

import numpy as np

from tcpcc.engine.jit import call_rule, compiled, entry, not_inlined
from tcpcc.engine.streams import uniform
from tcpcc.models.bins import flow_bin_at, link_bin_at
from tcpcc.models.fluid.coasting import (
    begin_coasting,
    log_train,
    stop_coasting,
    time_sent,
    write_newest,
)
from tcpcc.models.fluid.train_records import (
    AT_LINK,
    AT_SENDER,
    FREE,
    LONE,
    SHARED,
    SINGLE,
    STAGE,
    Train,
    at_times,
    drop_first_packet,
    line_at,
    open_at,
    packet_of,
    part,
    pool_at,
    read_train,
    train_at,
    train_of,
    trains_at,
    trigger_of,
    write_train,
)
from tcpcc.models.packet.conversations import leave_place, note_items
from tcpcc.models.packet.event_list import (
    close_vacancy,
    comes_next,
    drop_first,
    next_order,
    push,
    schedule,
    vacate_first,
)
from tcpcc.models.packet.forward import (
    clear_queue_sample,
    fill_queue_sample,
    note_delivery,
    note_drop,
    set_open,
)
from tcpcc.models.packet.handlers import (
    begin_turn,
    handle_other,
    hold_ack,
    set_timers,
    take_arrived,
    take_held_ack,
    trace_turn,
)
from tcpcc.models.packet.headers import (
    count_marks,
    read_at_receiver,
    read_at_sender,
    release_header,
    take_verdict,
    write_header,
)
from tcpcc.models.packet.packet_records import (
    ACK,
    ACK_TIMER,
    ARRIVAL,
    CBR_PACKET,
    DUPACK,
    FLOW_START,
    FLOW_STOP,
    MARGIN,
    QUEUE_TIMER,
    RETRANSMISSION_TIMER,
    RETRANSMIT,
    SEND,
    cbr_at,
    event_at,
    flow_at,
    hop_at,
    link_at,
    world_at,
)
from tcpcc.models.packet.packets import Packet
from tcpcc.models.packet.recorder import (
    add_sending,
    add_waiting,
    bin_of,
    sample_flow,
    trace,
    trace_ack,
)
from tcpcc.models.packet.scheduled import send_packet
from tcpcc.models.queue_memory import apply_discipline, note_state, queue_sample_at, run_timer
from tcpcc.transport import receiver, sender
from tcpcc.transport.delivery import note_received
from tcpcc.transport.flow_record import (
    CBR,
    OPEN,
    delivery_at,
    out_at,
    segment_at,
    tcp_at,
    window_at,
)
from tcpcc.transport.undo import NOT_DUE

GROWTH = -2  # trigger of packets that are sent because the window has grown; of other data: -1

#: Squared coefficient of variation of the distances between the packets of a train.
UNEQUAL = 0.1

#: Standard deviations from the mean to the peak of a queue's noise within a train.
PEAK = 2.0

#: How much shorter trains are in slow start.
START = 4.0

#: A train of at most this many packets crosses a shared link packet by packet.
SHORT = 4

#: Mean distances of a discipline's drops after which the next drop does not depend on the last.
FORGOTTEN = 4

#: Time in which a packet that stands for many arrives at a discipline that decides, as a multiple
#: of the time that the link needs for it: the discipline would take its packets for a burst.
SPREAD = 10.0

#: Chance that a packet at a full buffer is dropped itself if it is not sent by growth.
OTHERS = 0.2

# --------------------------------------------------------------------------------- queues


@compiled
def record_queue(w, link, size, a, b, q0, q1, served):
    if link.recorded != 0 and b > a:
        mean = 0.5 * (q0 + q1) / size - 0.5
        if mean > 0:
            add_waiting(w, link, a, b, mean)
        if served > 0:
            add_sending(w, link, a, b, 8 * served, 1.0)


@compiled
def advance_line(w, link, pool, t):
    """The queue of a link until `t`. A buffer of B packets holds B - 1/2 on average when full."""
    dt = t - pool.at
    if dt <= 0:
        return
    a = pool.at
    pool.at = t
    speed = link.rate / 8
    if pool.each > 1:
        span = pool.each * pool.size / speed * (SPREAD if link.rule != 0 else 1.0)
        more = pool.pending * (1 - math.exp(-dt / span))
        pool.pending -= more
        pool.inflow = more / dt
        pool.flow_in = pool.inflow / pool.size
    q = pool.backlog
    if q == 0.0 and pool.inflow == 0.0:
        pool.idle += dt
        return
    if pool.mixed != 0:  # the packets that wait are mixed well
        pool.size = (q + pool.inflow * dt) / (q / pool.size + pool.flow_in * dt)
    size = pool.size
    slope = pool.inflow - speed
    end = q + slope * dt
    top = max((link.capacity - 0.5 - pool.noise) * size, q) if pool.each == 1 else math.inf
    if end < 0:
        t0 = q / -slope
        record_queue(w, link, size, a, a + t0, q, 0.0, speed * t0)
        record_queue(w, link, size, a + t0, t, 0.0, 0.0, pool.inflow * (dt - t0))
        pool.idle += (1 - pool.inflow / speed) * (dt - t0)
        end = 0.0
    elif end > top:
        t0 = (top - q) / slope
        record_queue(w, link, size, a, a + t0, q, top, speed * t0)
        record_queue(w, link, size, a + t0, t, top, top, speed * (dt - t0))
        pool.excess += (1 - speed / pool.inflow) * (dt - t0)
        if t0 > 0:
            pool.since = a + t0
        end = top
    else:
        record_queue(w, link, size, a, t, q, end, speed * dt)
    pool.backlog = end


@compiled
def add_at_once(link, pool, amount, packets):
    """Add bytes to a queue; what does not fit overflows."""
    if pool.mixed != 0:
        pool.size = (pool.backlog + amount) / (pool.backlog / pool.size + packets)
    pool.backlog += amount
    cut_off(pool, link.capacity)


@compiled
def cut_off(pool, packets):
    """What is beyond a number of packets in a queue overflows."""
    top = packets * pool.size
    if pool.backlog > top:
        pool.over += (pool.backlog - top) / pool.size
        pool.backlog = top


@compiled
def variance_of(n):
    """Variance of the packets of an arriving train that have arrived, beside the fluid's: of its
    next packet, and of the unequal distances of the others."""
    return 1 / 12 + UNEQUAL * n / 6


@not_inlined
def draw_noise(link, pool):
    """Draw the packets that wait beyond those of the fluid, at their peak within a train.

    Two streams of equally spaced packets keep their places in each other; a third has none.
    """
    z = 2 * (uniform(pool) + uniform(pool) + uniform(pool) - 1.5)
    pool.noise = PEAK * z * math.sqrt(pool.variance * max(1 - 2 / pool.trains, 0.0))
    cut_off(pool, link.capacity - 0.5 - pool.noise)


@compiled
def begin_train(w, x, flow, link, pool, line, p, now, size):
    """A train begins to arrive at a link."""
    line.wait = 8 * pool.backlog / link.rate
    line.rate = (p.count - 1) * size / (p.last - p.first)
    line.excess = pool.excess
    line.arriving = 1
    add_at_once(link, pool, 0.5 * size, 0.5)
    if now > p.first:  # part of it is late
        late = min(now, p.last) - p.first
        speed = link.rate / 8
        free = max(speed - pool.inflow, 0.0) if pool.backlog <= 0.5 * size else 0.0
        more = max(line.rate - free, 0.0) * late
        add_at_once(link, pool, more, more / size)
    pool.inflow += line.rate
    pool.flow_in += line.rate / size
    pool.trains += 1
    pool.variance += variance_of(p.count)
    if pool.backlog > 0.5 * link.capacity * pool.size and uniform(pool) * pool.trains < 1:
        draw_noise(link, pool)


@compiled
def admit(link, pool, line, now, amount, packets):
    """Whether a packet finds room where some stand for many, and if so, add it.

    A packet has room while the queue is not full, and the fuller it is beyond, the less often: at
    random up to as much as one that stands for many brings. So those that stand for themselves find
    room as often. Those that a packet stands for do not arrive at once (see `advance_line`), but
    the next packet of their flow meets them, and as many after a packet that stands for itself.
    """
    own = line.excess * math.exp((line.rate - now) * link.rate / (8 * amount))
    beyond = pool.backlog / pool.size + own - (link.capacity - 0.5)
    if uniform(pool) * pool.each < beyond:
        return False
    line.excess = own + (packets if packets > 1 else pool.each)
    line.rate = now
    waiting = pool.backlog + pool.pending
    if pool.mixed != 0:
        pool.size = (waiting + amount) / (waiting / pool.size + packets)
    if packets > 1:
        pool.pending += amount
    else:
        pool.backlog += amount
    return True


@compiled
def take_out(pool, amount, packets):
    """Remove a packet that was added and is dropped after all."""
    if packets > 1:
        pool.pending = max(pool.pending - amount, 0.0)
    else:
        pool.backlog = max(pool.backlog - amount, 0.0)


@not_inlined
def end_train(w, x, flow, hop, link, pool, line, p, size, each):
    """A train has arrived at a link: what is not dropped goes on.

    Each of its packets stands for `each` packets.
    """
    n = p.count
    speed = link.rate / 8
    drops = 0
    if n > 1:
        v0 = line.wait * speed
        v1 = max(pool.backlog - 0.5 * size, 0.0)
        pool.trains -= 1
        pool.inflow = max(pool.inflow - line.rate, 0.0)
        pool.flow_in = max(pool.flow_in - line.rate / size, 0.0)
        pool.variance = max(pool.variance - variance_of(n), 0.0)
        if pool.trains == 0:  # no rounding error
            pool.inflow = pool.flow_in = pool.variance = pool.noise = 0.0
        add_at_once(link, pool, 0.5 * size, 0.5)
        pool.over += line.rate * (pool.excess - line.excess) / size
        line.arriving = 0
    else:
        v0 = v1 = pool.backlog
        if pool.each > 1:
            drops = 0 if admit(link, pool, line, w.now, size * each, each) else 1
        elif pool.trains > 0:
            short = v0 / pool.size - (link.capacity - 1)  # packets; of the place that it needs
            if p.trigger == GROWTH:
                drops = 1 if short > 0.5 - uniform(pool) else 0
            elif short > 0:
                share = max(OTHERS, 1 - pool.inflow / speed)
                drops = 1 if uniform(pool) < share * short else 0
            if drops == 0:
                add_at_once(link, pool, size, 1.0)
        elif math.ceil(v0 / pool.size - 1e-9) >= link.capacity:
            drops = 1
        else:
            add_at_once(link, pool, size, 1.0)
    if pool.over >= 1 - 1e-9 and n > 1:
        drops = min(int(pool.over + 1e-9), n)
        pool.over -= drops
    tx = size / speed
    first = max(p.first + v0 / speed, line.busy)
    last = max(p.last + v1 / speed, first + (n - 1 - drops) * tx)
    busy = line.busy
    line.busy = last + each * tx
    link.arrived += n * each
    if link.recorded != 0 and p.last <= w.duration:
        b = link_bin_at(link.bins, min(bin_of(w, p.last), w.n_bins - 1))
        b.arrived += (n - drops) * each
        # not //, which is slow
        waiting = math.floor(pool.backlog / pool.size)
        b.queue_max = max(b.queue_max, min(waiting, link.capacity))
    begin = first + (tx + link.delay)
    gap = (last - first) / (n - 1) if n > 1 else 0.0
    if drops == 0 and link.rule == 0 and link.loss == 0:
        go_on_train(w, x, flow, hop + 1, at_times(p, begin, last + (tx + link.delay)))
        return
    a = 0
    safe = 0  # packets that arrive before the queue is full
    if drops > 0 and n > 1 and pool.since > p.first:
        safe = min(int((pool.since - p.first) * (n - 1) / (p.last - p.first)), n - drops)
    for j in range(n):
        k = j - safe
        gone = k >= 0 and drops > 0 and (k + 1) * drops // (n - safe) > k * drops // (n - safe)
        share = j / (n - 1) if n > 1 else 0.0
        if not gone and link.loss > 0 and uniform(link) < link.loss:
            gone = True
            take_out(pool, size * each, each)
        elif link.rule != 0:
            waiting = v0 + (v1 - v0) * share
            link.queue_bytes = waiting
            packet = Packet(flow.index, hop, p.seq + j * p.step, 0, 0, 0, p.header)
            t = p.first + (p.last - p.first) * share
            q = fill_queue_sample(
                w, link, flow, packet, t, size, max(waiting / pool.size - 0.5, 0.0), gone
            )
            q.idle = pool.idle
            pool.idle = 0.0
            b = min(bin_of(w, t), w.n_bins - 1) if t <= w.duration else -1
            if pool.rule > 0:
                decide_in_fluid(link, pool, q, each, b)
            else:
                q.arrivals = each
                apply_discipline(link, b)
            marked = link.marked
            if not gone and not take_verdict(w, q, link, p.header, t):
                gone = True
                take_out(pool, size * each, each)
            if link.marked > marked:
                count_marks(w, link, t, each - 1)
            if each > 1 and pool.rule == 0:
                count_others(w, link, flow, packet, t, size, q.queue, each - 1)
        if gone:
            if n == 1:  # it takes no time of the link
                line.busy = busy
            link.dropped += each
            lost = Packet(flow.index, hop, p.seq + j * p.step, 0, 0, 0, 0)
            note_drop(w, flow, link, p.last, lost)
            release_header(w, p.header)
            if j > a:
                go_on_train(
                    w, x, flow, hop + 1, part(p, a, j - 1, begin + a * gap, begin + (j - 1) * gap)
                )
            a = j + 1
    if a < n:
        go_on_train(w, x, flow, hop + 1, part(p, a, n - 1, begin + a * gap, begin + (n - 1) * gap))


@not_inlined
def count_others(w, link, flow, packet, t, size, waiting, others):
    """Let a discipline without a rule for amounts see those that a packet stands for."""
    for _ in range(others):
        fill_queue_sample(w, link, flow, packet, t, size, waiting, False)
        apply_discipline(link, -1)


@not_inlined
def decide_in_fluid(link, pool, q, each, b):
    """Let a discipline decide about a packet that stands for `each`, by its rule for amounts.

    Packets that stand for themselves are dropped at the distances of all packets; those that stand
    for several at the distances of their own number.
    """
    q.arrivals = each
    q.prob = q.spread = q.anew = q.marks = 0.0
    q.concentration = 1 / max(q.flows, 1.0)
    call_rule(pool.rule, link.state, link.params, link.sample)
    note_state(link, b)
    if q.anew != 0:
        pool.due = pool.due_of_many = 0.0
    if q.prob == 0:
        return
    if pool.due == 0:
        pool.due = 1 + q.spread * (2 * uniform(pool) - 1)
        pool.due_of_many = 1 + q.spread * (2 * uniform(pool) - 1)
    hit = 0.0
    pool.due -= each * q.prob
    if each > 1:
        pool.due_of_many -= q.prob
        if pool.due_of_many <= 0:
            hit = 1.0
            pool.due_of_many += 1 + q.spread * (2 * uniform(pool) - 1)
        if pool.due < -FORGOTTEN:
            pool.due = uniform(pool)
    else:
        hit = 1.0 if pool.due <= 0 else 0.0
    while pool.due <= 0:
        pool.due += 1 + q.spread * (2 * uniform(pool) - 1)
    if q.marks != 0:
        q.mark = hit
    else:
        q.drop = hit


# ----------------------------------------------------------------------------------- paths


@compiled
def longest(x, tcp):
    """The longest train of a flow, s; shorter in slow start."""
    s = window_at(tcp.state, 0)
    return tcp.srtt / (x.per_rtt * START if s.cwnd < s.ssthresh else x.per_rtt)


@compiled
def may_join(x, flow, tcp, t, p):
    """Whether train `p` continues the last train `t` of a line, which has not begun to arrive."""
    if p.again != 0 or t.again != 0 or open_at(x.open, flow.index).single != 0:
        return False
    if p.last - t.first > longest(x, tcp):
        return False
    between = p.first - t.last
    if t.count > 1 and not between <= 2 * (t.last - t.first) / (t.count - 1):
        return False
    if p.count > 1 and not between <= 2 * (p.last - p.first) / (p.count - 1):
        return False
    step = joint_step(tcp, t, p)
    if t.trigger >= 0 and p.trigger != t.trigger + t.count * step:
        return False
    return p.seq == t.seq + t.count * step and step > 0 and t.span == 0 and p.low == p.high


@compiled
def most_acknowledged(tcp):
    """Packets that an ACK acknowledges if nothing is lost, at most."""
    return tcp.ack_every if tcp.delayed_ack != 0 else 1


@compiled
def joint_step(tcp, t, p):
    """The distance of the numbers of packets or ACKs in two trains, if it is the same; else 0."""
    if t.count > 1 and p.count > 1 and t.step != p.step:
        return 0
    step = np.int64(t.step) if t.count > 1 else p.step
    if t.count == 1 and p.count == 1:
        step = p.seq - t.seq
    return step if step == 1 or (t.trigger >= 0 and step <= most_acknowledged(tcp)) else 0


@compiled
def append_train(w, x, flow, line, p):
    """A train is on its way to the end of a line; returns whether it is the first one there."""
    if line.head != 0 and (line.head != line.tail or line.arriving == 0):
        t = train_at(x.trains, line.tail)
        if may_join(x, flow, tcp_at(w.tcp, flow.index), t, p):
            t.step = joint_step(tcp_at(w.tcp, flow.index), t, p)
            t.last = p.last
            t.count += p.count
            return False
    place = x.free
    if place != 0:
        x.free = np.int64(train_at(x.trains, place).after)
    else:
        place = x.unused
        x.unused += 1
    t = train_at(x.trains, place)
    x.n_free -= 1
    if x.n_free < x.margin:
        w.need = 1
    write_train(p, t)
    t.flow = flow.index
    t.after = 0
    first = line.head == 0
    if first:
        line.head = place
    else:
        train_at(x.trains, line.tail).after = place
    line.tail = place
    return first


@compiled
def join_line(w, x, flow, line, ident, kind, p):
    """A train is on its way to the end of a line, where it arrives by an event."""
    if append_train(w, x, flow, line, p):
        push(w, max(p.first, w.now), w.now, next_order(w), kind, ident)


@compiled
def remove_head(w, x, line):
    place = line.head
    t = train_at(x.trains, place)
    line.head = np.int64(t.after)
    t.after = x.free
    x.free = place
    x.n_free += 1


@compiled
def cross_own(w, x, flow, hop, line, link, p, size):
    """A train crosses a link where its flow meets no other; returns it at the link's end."""
    if line.kind == STAGE:
        first = 0.0
        gap = (p.last - p.first) / (p.count - 1) if p.count > 1 else 0.0
        for k in range(p.count):  # a packet waits for the one before
            t = p.first + k * gap
            if link.share == 1 or uniform(link) < link.share:
                t += link.jitter * uniform(link)
            line.busy = max(t, line.busy)
            if k == 0:
                first = line.busy
        return at_times(p, first, line.busy)
    tx = 8 * size / link.rate if line.kind != FREE else 0.0
    first = max(p.first, line.busy) + tx
    last = max(p.last + tx, first + (p.count - 1) * tx)
    line.busy = last
    n = p.count * np.int64(hop_at(w.hops, flow.path + hop).count)
    link.arrived += n
    if link.recorded != 0:  # it is FREE
        bits = 8 * size * n
        add_sending(w, link, p.first, p.first + bits / link.rate, bits, 1.0)
        if p.first <= w.duration:
            at = min(bin_of(w, p.first), w.n_bins - 1)
            link_bin_at(link.bins, at).arrived += n
    fixed = 8 * size / link.rate - tx + link.delay
    return at_times(p, first + fixed, last + fixed)


@compiled
def travel(w, x, flow, hop, end, p):
    """A train goes on from a hop to the hop `end` or to a shared link; returns whether it reaches
    the end, and the train."""
    while hop < end:
        line = line_at(x.lines, flow.path + hop)
        if line.kind == SHARED or line.kind == SINGLE:
            join_line(w, x, flow, line, flow.path + hop, AT_LINK, p)
            return False, p
        link = link_at(hop_at(w.hops, flow.path + hop).link, 0)
        syn = p.seq == 0 and flow.handshake != 0
        size = flow.ack_size if hop >= flow.n_forward or syn else flow.size
        p = cross_own(w, x, flow, hop, line, link, p, size)
        hop += 1
    return True, p


@compiled
def go_back(w, x, flow, hop, p):
    """A train of ACKs goes on from a hop."""
    arrives, p = travel(w, x, flow, hop, flow.n_hops, p)
    if arrives:
        join_line(w, x, flow, line_at(x.acks, flow.index), flow.index, AT_SENDER, p)


@not_inlined
def go_on_train(w, x, flow, hop, p):
    """A train goes on from a hop, of either direction."""
    if p.trigger < 0:
        arrives, p = travel(w, x, flow, hop, flow.n_forward, p)
        if arrives:
            receive_train(w, x, flow, p)
    else:
        go_back(w, x, flow, hop, p)


@not_inlined
def reach_link(w, x, flow, hop, line, now):
    """The first train of a line begins to reach a shared link, or has wholly reached it."""
    ident = flow.path + hop
    link = link_at(hop_at(w.hops, ident).link, 0)
    pool = pool_at(x.pools, link.ident)
    p = read_train(train_at(x.trains, line.head))
    syn = p.seq == 0 and flow.handshake != 0
    size = flow.ack_size if hop >= flow.n_forward or syn else flow.size
    each = np.int64(hop_at(w.hops, ident).count)
    advance_line(w, link, pool, now)
    if line.arriving == 0 and p.count > 1 and (p.count <= SHORT or pool.each > 1):
        drop_first_packet(p, train_at(x.trains, line.head))
        push(w, max(train_at(x.trains, line.head).first, now), now, next_order(w), AT_LINK, ident)
        end_train(w, x, flow, hop, link, pool, line, part(p, 0, 0, now, now), size, each)
        return
    if line.arriving == 0 and p.count > 1:
        if p.last < p.first + 1e-9 * p.count:
            p = at_times(p, p.first, p.first + 1e-9 * p.count)
            train_at(x.trains, line.head).last = p.last
        begin_train(w, x, flow, link, pool, line, p, now, size)
        if p.last > now:
            push(w, p.last, now, next_order(w), AT_LINK, ident)
            return
    remove_head(w, x, line)
    end_train(w, x, flow, hop, link, pool, line, p, size, each)
    if line.head != 0:
        t = max(train_at(x.trains, line.head).first, now)
        push(w, t, now, next_order(w), AT_LINK, ident)


@not_inlined
def send_train(w, x, flow, o, p):
    """A sender's train begins its way."""
    hop = o.meets
    if hop < 0:
        go_on_train(w, x, flow, 0, p)
        return
    p = travel(w, x, flow, 0, hop, p)[1]
    ident = flow.path + hop
    line = line_at(x.lines, ident)
    if line.kind == LONE:
        cross_alone(w, x, flow, hop, p)
    elif append_train(w, x, flow, line, p):
        if p.first <= w.now and flow.conversation == 0:
            x.due = 1
        else:
            push(w, max(p.first, w.now), w.now, next_order(w), AT_LINK, ident)


@compiled
def reach_now(w, x, flow, o):
    """If a train that a sender's handler has sent reaches a link now, it needs no event if this
    would be the next one."""
    if x.due != 0:
        x.due = 0
        ident = flow.path + o.meets
        if comes_next(w):
            reach_link(w, x, flow, o.meets, line_at(x.lines, ident), w.now)
        else:
            push(w, w.now, w.now, next_order(w), AT_LINK, ident)


@compiled
def cross_alone(w, x, flow, hop, p):
    """A train crosses a drop-tail link that is its flow's alone: what is not dropped goes on."""
    link = link_at(hop_at(w.hops, flow.path + hop).link, 0)
    syn = p.seq == 0 and flow.handshake != 0
    size = flow.ack_size if syn else flow.size
    tx = 8 * size / link.rate
    n = p.count
    gap = (p.last - p.first) / (n - 1) if n > 1 else 0.0
    room = (np.ceil(link.capacity) - 1 + 1e-9) * tx  # the longest wait of a packet that finds room
    most = longest(x, tcp_at(w.tcp, flow.index))
    wait = max(link.busy_until - p.first, 0.0)
    rise = (n - 1) * (tx - gap)
    if max(wait, wait + rise) <= room and max(p.last - p.first, (n - 1) * tx) <= most:
        go_on_train(w, x, flow, hop + 1, wait_alone(w, link, p, size, tx))
        return
    a = 0
    begin = math.inf  # when the first packet of a part has left
    busy = link.busy_until
    for k in range(n):
        t = p.first + k * gap
        gone = busy - t > room
        end = max(busy, t) + tx
        if k > a and (gone or end - begin > most):
            q = part(p, a, k - 1, p.first + a * gap, t - gap)
            go_on_train(w, x, flow, hop + 1, wait_alone(w, link, q, size, tx))
            a = k
        if gone:
            link.arrived += 1
            link.dropped += 1
            note_drop(w, flow, link, t, Packet(flow.index, hop, p.seq + k, 0, 0, 0, 0))
            release_header(w, p.header)
            a = k + 1
        else:
            busy = end
            begin = end if k == a else begin
    if a < n:
        q = part(p, a, n - 1, p.first + a * gap, p.last)
        go_on_train(w, x, flow, hop + 1, wait_alone(w, link, q, size, tx))


@compiled
def wait_alone(w, link, p, size, tx):
    """A train waits for its turn and is sent; returns it at the link's end."""
    n = p.count
    begin = max(p.first, link.busy_until)
    first = begin + tx
    last = max(p.last + tx, first + (n - 1) * tx)
    link.busy_until = last
    link.arrived += n
    if link.recorded != 0 and p.first <= w.duration:
        b = link_bin_at(link.bins, min(bin_of(w, min(p.last, w.duration)), w.n_bins - 1))
        b.arrived += n
        wait = max(begin - p.first, last - tx - p.last)
        if wait > 0:
            b.queue_max = max(b.queue_max, math.ceil(wait / tx - 1e-9))
            record_waiting(w, link, p, begin, last - tx)
        add_sending(w, link, begin, begin + n * tx, 8 * size * n, 1.0)
    return at_times(p, first + link.delay, last + link.delay)


@compiled
def record_waiting(w, link, p, begin, end):
    """Packets of a train wait until their transmissions begin, from `begin` to `end`."""
    n = p.count
    if n == 1:
        add_waiting(w, link, p.first, begin, 1.0)
        return
    if bin_of(w, p.first) == bin_of(w, end):
        total = 0.5 * n * (begin + end - p.first - p.last)
        add_waiting(w, link, p.first, end, total / (end - p.first))
        return
    t1 = min(begin, p.last)
    t2 = max(begin, p.last)
    q1 = n * (t1 - p.first) / (p.last - p.first) if p.last > p.first else 1.0 * n
    q2 = n * (end - t2) / (end - begin) if end > begin else 1.0 * n
    add_waiting(w, link, p.first, t1, 0.5 * q1)
    add_waiting(w, link, t1, t2, 0.5 * (q1 + q2))
    add_waiting(w, link, t2, end, 0.5 * q2)


# -------------------------------------------------------------------------------- receiver


@compiled
def count_delivered(w, flow, time, n):
    if time <= w.duration:
        flow_bin_at(flow.bins, min(bin_of(w, time), w.n_bins - 1)).delivered += n


@compiled
def receive_train(w, x, flow, p):
    """A data train reaches its receiver."""
    n = p.count
    if flow.kind == CBR:
        cbr_at(w.cbr, flow.index).arrived += n
        note_delivery(w, flow, p.seq, p.last)
        count_delivered(w, flow, p.last, n - 1)
        return
    tcp = tcp_at(w.tcp, flow.index)
    if (
        (n > 1 or open_at(x.open, flow.index).single == 0)
        and p.again == 0
        and p.seq == tcp.expected
        and tcp.highest <= p.seq
        and p.seq > 0
        and (tcp.delayed_ack == 0 or is_plain(tcp))
    ):
        tcp.arrived += n
        tcp.delivered += n
        tcp.highest = p.seq + n - 1
        tcp.expected = p.seq + n
        tcp.sack_low = tcp.sack_high = 0
        tcp.echo = 0
        count_delivered(w, flow, p.last, n)
        if tcp.delivery != 0:
            for j in range(n):
                note_received(tcp, p.first + (p.last - p.first) * j / max(n - 1, 1), p.seq + j)
        if tcp.delayed_ack == 0:
            flow.acks_sent += n
            acks = Train(p.first, p.last, p.seq, n, 1, 0, p.seq, 0, 0, 0)
            go_back(w, x, flow, flow.n_forward, acks)
        else:
            delay_acks(w, x, flow, tcp, p)
        return
    if p.seq != tcp.expected:
        stop_coasting(tcp, open_at(x.open, flow.index))
    receive_each(w, x, flow, tcp, p)


@compiled
def is_plain(tcp):
    """Whether every `ack_every`-th packet in order is acknowledged, and no other."""
    return tcp.delivered >= tcp.quick_acks and tcp.pieces == 0 and tcp.echo == 0


@compiled
def delay_acks(w, x, flow, tcp, p):
    """ACKs of a train in order: of every `ack_every`-th packet. See `receive_data`."""
    gap = (p.last - p.first) / max(p.count - 1, 1)
    every = tcp.ack_every
    k = every - tcp.held - 1  # the first packet that is acknowledged
    n = (tcp.held + p.count) // every
    before = tcp.held_until
    tcp.held = (tcp.held + p.count) % every
    if n > 0:
        tcp.held_until = math.inf
        flow.acks_sent += n
        first = p.first + k * gap
        last = first + (n - 1) * every * gap
        seq = p.seq + k
        go_back(w, x, flow, flow.n_forward, Train(first, last, seq, n, every, 0, seq, 0, 0, 0))
    if tcp.held > 0 and tcp.held_until == math.inf:
        t = p.last - (tcp.held - 1) * gap
        tcp.held_until = t + tcp.delayed_ack
        hold_ack(w, flow, tcp, before, t)


@not_inlined
def receive_each(w, x, flow, tcp, p):
    n = p.count
    gap = (p.last - p.first) / (n - 1) if n > 1 else 0.0
    a = Train(0.0, 0.0, 0, 0, 1, 0, 0, 0, 0, 0)
    for j in range(n):
        seq = p.seq + j
        t = p.first + j * gap
        before = tcp.delivered
        held = tcp.held_until
        due = receiver.receive_data(tcp, t, seq, p.again)
        if p.header != 0:
            due = read_at_receiver(w, flow, tcp, p.header, due)
        if tcp.delivered != before:
            note_delivery(w, flow, seq, t)
        if not due:
            hold_ack(w, flow, tcp, held, t)
            continue
        flow.acks_sent += 1
        ack, low, high = tcp.expected - 1, tcp.sack_low, tcp.sack_high
        again = 1 if tcp.echo != 0 else 0
        joins = a.count > 0 and again == 0 and a.again == 0
        step = a.step
        if joins:
            if a.count == 1:
                step = ack - a.seq
            joins = ack == a.seq + a.count * step and seq == a.trigger + a.count * max(step, 1)
            if step > 0:
                joins = joins and step <= most_acknowledged(tcp) and low == high and a.low == a.high
            else:
                joins = joins and low == a.low and high == a.high + a.count
        if joins:
            a = Train(a.first, t, a.seq, a.count + 1, step, 0, a.trigger, a.low, a.high, 0)
        else:
            if a.count > 0:
                go_back(w, x, flow, flow.n_forward, a)
            a = Train(t, t, ack, 1, 1, again, seq, low, high, p.header)
    if a.count > 0:
        go_back(w, x, flow, flow.n_forward, a)


@not_inlined
def end_ack_delay(w, x, ident, now, order):
    """The timer of a delayed ACK is due."""
    flow = flow_at(w.flows, ident)
    due, header = take_held_ack(w, flow, order)
    if due:
        flow.acks_sent += 1
        tcp = tcp_at(w.tcp, ident)
        ack = tcp.expected - 1
        again = 1 if tcp.echo != 0 else 0
        a = Train(now, now, ack, 1, 1, again, ack, tcp.sack_low, tcp.sack_high, header)
        go_back(w, x, flow, flow.n_forward, a)
    if flow.conversation != 0:
        leave_place(w, flow)


# ---------------------------------------------------------------------------------- sender


@compiled
def close_train(w, x, flow, tcp, o):
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
    if o.again == 0 and tcp.coasting == 0:
        gap = (o.last - o.first) / (n - 1) if n > 1 else 0.0
        for k in range(n):
            segment_at(tcp.segments, (o.seq + k) & tcp.segment_mask).sent_at = o.first + k * gap
    a = 0
    pieces = 1
    if o.last > o.first:
        pieces = max(min(math.ceil((o.last - o.first) / longest(x, tcp) - 1e-6), n), 1)
    gap = (o.last - o.first) / (n - 1) if n > 1 else 0.0
    for i in range(pieces):
        b = n * (i + 1) // pieces
        if b > a:
            if tcp.coasting != 0:
                log_train(tcp, o, o.seq + a, b - a, o.first + a * gap, o.first + (b - 1) * gap)
            p = Train(
                o.first + a * gap, o.first + (b - 1) * gap, o.seq + a, b - a, 1, o.again, trigger,
                0, 0, o.header,
            )  # fmt: skip
            send_train(w, x, flow, o, p)
        a = b
    if extra > 0:
        if tcp.coasting != 0:
            log_train(tcp, o, o.seq + n, extra, o.last, o.last)
        send_train(w, x, flow, o, Train(o.last, o.last, o.seq + n, extra, 1, 0, GROWTH, 0, 0, 0))


@compiled
def gather(w, x, flow, tcp, o, now, first):
    """Packets in the outbox join the open train, sent from `first` to `now`."""
    b = flow_bin_at(flow.bins, min(bin_of(w, now), w.n_bins - 1))
    while True:
        for i in range(tcp.outbox_count):
            out = out_at(tcp.outbox, i)
            seq = out.seq
            b.sent += 1
            if out.again != 0:
                b.retransmitted += 1
            cwnd = window_at(tcp.state, 0).cwnd
            trace(w, flow, now, RETRANSMIT if out.again != 0 else SEND, seq, cwnd)
            more = o.count > 0 and o.single != 0
            if o.count > 0 and (
                o.single != 0
                or seq != o.seq + o.count
                or out.again != o.again
                or (first == now and now - o.first > longest(x, tcp))
            ):
                close_train(w, x, flow, tcp, o)
            if o.count == 0:
                o.first = first
                o.seq = seq
                o.again = out.again
                o.extra = GROWTH if more and tcp.high_ack > 0 else 0
                if flow.has_header != 0:
                    o.header = write_header(w, flow, tcp, seq, out.again != 0)
                    if w.n_spare_headers < x.margin:
                        w.need = 1
            o.count += 1
            o.last = now
        tcp.outbox_count = 0
        if tcp.run > 0:
            b.sent += tcp.run
            if o.count > 0 and first == now and now - o.first > longest(x, tcp):
                close_train(w, x, flow, tcp, o)
            if o.count == 0:
                o.first = first
                o.seq = tcp.next_seq - tcp.run
                o.again = o.extra = 0
            o.count += tcp.run
            o.last = now
            tcp.run = 0
        if tcp.more == 0:
            return
        if tcp.next_seq - tcp.high_ack >= tcp.segment_mask:
            w.need = 1  # the driver makes room, then sending goes on
            w.pending = flow.index
            return
        sender.resume_sending(tcp, now)


@compiled
def lacks_room(w, x, flow, tcp, n):
    """Whether the ring of segments is too short for what the ACKs of `n` packets may release."""
    window = max(window_at(tcp.state, 0).cwnd, float(tcp.next_seq - tcp.high_ack))
    if min(window, tcp.rwnd) + 3 * n + MARGIN < tcp.segment_mask:
        return False
    w.need = 1
    x.want = flow.index + 1
    return True


@compiled
def is_smooth(x, flow, tcp, p):
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
        and tcp.echo_due == NOT_DUE
        and tcp.to_send - tcp.next_seq > 4 * p.count * p.step
    )


@compiled
def send_ahead(w, x, flow, tcp, o, now, first, packets):
    """Send what all ACKs of a train but the last release, so that the last one finds as much
    outstanding as it would if they came one by one."""
    s = window_at(tcp.state, 0)
    cwnd = s.cwnd
    rwnd = tcp.rwnd
    s.cwnd += packets
    tcp.rwnd += packets
    tcp.burst = packets
    sender.resume_sending(tcp, now)
    gather(w, x, flow, tcp, o, now, first)
    s.cwnd = cwnd
    tcp.rwnd = rwnd


@compiled
def as_before(tcp, t):
    """Time `t` of an ACK; the last ACK's own where the two differ by rounding only."""
    return tcp.now if abs(t - tcp.now) < 1e-9 else t


@compiled
def take_acks_at_once(w, x, flow, tcp, o, p):
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
        send_ahead(w, x, flow, tcp, o, last, p.first, float(by_first + (n - 2) * p.step))
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
    gather(w, x, flow, tcp, o, last, p.first)


@not_inlined
def take_smooth_acks(w, x, flow, tcp, o, p):
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
        take_acks_at_once(w, x, flow, tcp, o, part(p, 0, k, p.first, at))
        take_acks_at_once(w, x, flow, tcp, o, part(p, k + 1, n - 1, after, p.last))
    else:
        take_acks_at_once(w, x, flow, tcp, o, p)
    if p.step == 1:  # a delayed ACK releases the packet of the growth together with others
        o.extra = max(o.count - packets, 0)


@not_inlined
def take_acks(w, x, flow, tcp, o, p):
    """A train of ACKs, one after the other."""
    n = p.count
    gap = (p.last - p.first) / (n - 1) if n > 1 else 0.0
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
                gather(w, x, flow, tcp, o, at, at)
        high = p.high + (j if p.step == 0 else 0)
        begin_turn(w, flow, tcp)
        before = tcp.high_ack
        tcp.last_rtt = math.nan
        tcp.echoes_repair = p.again
        if p.header != 0:
            read_at_sender(w, flow, tcp, p.seq, p.header)
        ack = p.seq + j * p.step
        sender.receive_ack(tcp, t, ack, trigger_of(p, j), p.low, high)
        kind = ACK if ack > before else DUPACK
        trace_ack(w, flow, t, kind, ack + 1, tcp.last_rtt, trigger_of(p, j), p.low, high)
        trace_turn(w, flow, tcp, t)
        gather(w, x, flow, tcp, o, t, t)


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
    if is_smooth(x, flow, tcp, p):
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
def enter_link(w, x, flow, hop, line, now):
    """The first packet of a train reaches a link of the packet model."""
    t = train_at(x.trains, line.head)
    p = read_train(t)
    if p.count > 1:
        drop_first_packet(p, t)
    else:
        remove_head(w, x, line)
    if line.head != 0:
        at = max(train_at(x.trains, line.head).first, now)
        push(w, at, now, next_order(w), AT_LINK, flow.path + hop)
    send_packet(w, flow, packet_of(flow, hop, p), now)
    if flow.conversation != 0:
        leave_place(w, flow)


@not_inlined
def leave_link(w, x, kind, ident):
    """A packet reaches the end of a link of the packet model."""
    p, now = take_arrived(w, kind, ident)
    flow = flow_at(w.flows, p.flow)
    go_on_train(w, x, flow, p.hop, train_of(flow, p, now))
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


@compiled
def go_on_sending(w, x, ident, now):
    """After a sender's handler: send its packets, and schedule its timers."""
    flow = flow_at(w.flows, ident)
    tcp = tcp_at(w.tcp, ident)
    o = open_at(x.open, ident)
    trace_turn(w, flow, tcp, now)
    gather(w, x, flow, tcp, o, now, now)
    close_train(w, x, flow, tcp, o)
    set_timers(w, flow, tcp, now)
    reach_now(w, x, flow, o)


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
    while (
        w.need == 0 and w.heap_size > 0 and w.events < w.pause and event_at(w.heap, 0).time <= until
    ):
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
    return event_at(w.heap, 0).time if w.heap_size > 0 else math.inf
