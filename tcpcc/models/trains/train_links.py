"""Trains cross links with a queue: of several flows, of one flow alone, of the packet model."""

import math

import numpy as np

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.engine.streams import uniform
from tcpcc.models.packet.conversations import leave_place
from tcpcc.models.packet.event_list import schedule, vacate_first
from tcpcc.models.packet.headers import count_marks, drop_packet, take_verdict
from tcpcc.models.packet.links.fifo import count_others
from tcpcc.models.packet.links.queue_sample import fill_queue_sample
from tcpcc.models.packet.links.transit import send_packet
from tcpcc.models.packet.packet_records import flow_at, hop_at, link_at
from tcpcc.models.packet.packets import Packet, size_of, take_arrived
from tcpcc.models.packet.recorder import add_sending, add_waiting, bin_at, bin_of, record_arrival
from tcpcc.models.queue_memory import apply_discipline
from tcpcc.models.trains.train_lines import await_train, go_back, longest, remove_head, travel
from tcpcc.models.trains.train_queue import (
    add_at_once,
    admit,
    advance_line,
    begin_train,
    decide_in_fluid,
    show_waiting,
    take_out,
    variance_of,
)
from tcpcc.models.trains.train_receiver import receive_train
from tcpcc.models.trains.train_records import (
    AT_LINK,
    GROWTH,
    SINGLE,
    at_times,
    drop_first_packet,
    gap_of,
    line_at,
    packet_of,
    part,
    pool_at,
    read_train,
    train_at,
    train_of,
)
from tcpcc.transport.flow_record import tcp_at

#: A train of at most this many packets crosses a shared link packet by packet.
SHORT = 4

#: Chance that a packet at a full buffer is dropped itself if it is not sent by growth.
OTHERS = 0.2


@not_inlined
def go_on_train(w, flow, hop, p):
    if p.trigger < 0:
        arrives, p = travel(w, flow, hop, flow.n_forward, p)
        if arrives:
            receive_train(w, flow, p)
    else:
        go_back(w, flow, hop, p)


@not_inlined
def end_train(w, flow, hop, link, pool, line, p, size, each):
    """A train has arrived at a link: what is not dropped goes on.

    Each of its packets stands for `each` packets.
    """
    n = p.count
    speed = link.rate / 8
    if n > 1:
        before, after = close_arrival(pool, line, n, size, link)
        drops = overflown(pool, n)
    else:
        before = after = pool.backlog
        drops = 0 if finds_room(w, link, pool, line, p, size, each) else 1
    tx = size / speed
    first = last = max(p.first + before / speed, line.busy)
    if n > 1:
        last = max(p.last + after / speed, first + (n - 1 - drops) * tx)
    busy = line.busy
    line.busy = last + each * tx
    link.arrived += n * each
    if link.recorded != 0 and p.last <= w.duration:
        waiting = math.floor(pool.backlog / pool.size)  # not //, which is slow
        record_arrival(w, link, p.last, n * each, min(waiting, link.capacity))
    end = first + (tx + link.delay)
    if drops == 0 and link.rule == 0 and link.loss == 0:
        go_on_train(w, flow, hop + 1, at_times(p, end, last + (tx + link.delay)))
        return
    gap = (last - first) / (n - 1) if n > 1 else 0.0
    dropped = cut_train(w, flow, hop, link, pool, p, end, gap, size, each, before, after, drops)
    if dropped == n == 1:  # it takes no time of the link
        line.busy = busy


@compiled
def close_arrival(pool, line, n, size, link):
    """The fluid of a train has arrived; returns the bytes that waited before its first and before
    its last packet."""
    before = line.wait * (link.rate / 8)
    after = max(pool.backlog - 0.5 * size, 0.0)
    pool.trains -= 1
    pool.inflow = max(pool.inflow - line.rate, 0.0)
    pool.flow_in = max(pool.flow_in - line.rate / size, 0.0)
    pool.variance = max(pool.variance - variance_of(n), 0.0)
    if pool.trains == 0:  # no rounding error
        pool.inflow = pool.flow_in = pool.variance = pool.noise = 0.0
    add_at_once(link, pool, 0.5 * size, 0.5)
    pool.over += line.rate * (pool.excess - line.excess) / size
    line.arriving = 0
    return before, after


@compiled
def overflown(pool, n):
    """How many of a train's `n` packets have overflowed."""
    if not pool.over >= 1 - 1e-9:
        return 0
    drops = min(int(pool.over + 1e-9), n)
    pool.over -= drops
    return drops


@compiled
def finds_room(w, link, pool, line, p, size, each):
    """Whether a train of one packet finds room in the queue; if so, it is added."""
    if pool.each > 1:
        return admit(link, pool, line, w.now, size * each, each)
    if pool.trains == 0:
        fits = math.ceil(pool.backlog / pool.size - 1e-9) < link.capacity
    else:
        short = pool.backlog / pool.size - (link.capacity - 1)  # packets; of the place it needs
        if p.trigger == GROWTH:
            fits = not short > 0.5 - uniform(pool)
        elif short > 0:
            share = max(OTHERS, 1 - pool.inflow / (link.rate / 8))
            fits = not uniform(pool) < share * short
        else:
            fits = True
    if fits:
        add_at_once(link, pool, size, 1.0)
    return fits


@compiled
def cut_train(w, flow, hop, link, pool, p, end, gap, size, each, before, after, drops):
    """Drop `drops` packets of a train and those that chance or the discipline hits; the parts
    between them go on, the first packet at the time `end`, the others `gap` later each. Returns how
    many were dropped."""
    n = p.count
    safe = 0  # packets that arrive before the queue is full
    if drops > 0 and n > 1 and pool.since > p.first:
        safe = min(int((pool.since - p.first) * (n - 1) / (p.last - p.first)), n - drops)
    dropped = 0
    a = 0
    for j in range(n):
        k = j - safe
        gone = k >= 0 and drops > 0 and (k + 1) * drops // (n - safe) > k * drops // (n - safe)
        packet = Packet(flow.index, hop, p.seq + j * p.step, 0, 0, 0, p.header)
        share = j / (n - 1) if n > 1 else 0.0
        if not gone and link.loss > 0 and uniform(link) < link.loss:
            gone = True
            take_out(pool, size * each, each)
        elif link.rule != 0:
            waiting = before + (after - before) * share
            t = p.first + (p.last - p.first) * share
            passes = ask_discipline(w, link, pool, flow, packet, t, size, each, waiting, gone)
            if not gone and not passes:
                gone = True
                take_out(pool, size * each, each)
        if gone:
            dropped += 1
            link.dropped += each
            drop_packet(w, flow, link, p.last, packet, False)
            if j > a:
                send_part(w, flow, hop, p, end, gap, a, j - 1)
            a = j + 1
    if a < n:
        send_part(w, flow, hop, p, end, gap, a, n - 1)
    return dropped


@compiled
def send_part(w, flow, hop, p, end, gap, a, b):
    """Packets `a` to `b` of a train go on, of which the first packet does so at the time `end`."""
    go_on_train(w, flow, hop + 1, part(p, a, b, end + a * gap, end + b * gap))


@compiled
def ask_discipline(w, link, pool, flow, packet, t, size, each, waiting, full):
    """Let the link's discipline decide about a packet; returns whether the packet may pass."""
    q = fill_queue_sample(w, link, flow, packet, t, size, show_waiting(link, pool, waiting), full)
    q.idle = pool.idle
    pool.idle = 0.0
    b = bin_at(w, t)
    if pool.rule > 0:
        decide_in_fluid(link, pool, q, each, b)
    else:
        q.arrivals = each
        apply_discipline(link, link.rule, b)
    marked = link.marked
    passes = full or take_verdict(w, q, link, packet.header, t)
    if link.marked > marked:
        count_marks(w, link, t, each - 1)
    if each > 1 and pool.rule == 0:
        count_others(w, link, flow, packet, t, size, q.queue, each - 1)
    return passes


@not_inlined
def reach_link(w, flow, hop, line, now):
    """The first train of a line begins to reach a shared link, or has wholly reached it."""
    ident = flow.path + hop
    link = link_at(hop_at(w.hops, ident).link, 0)
    pool = pool_at(w.pools, link.ident)
    p = read_train(train_at(w.trains, line.head))
    size = size_of(flow, hop, p.seq)
    each = np.int64(hop_at(w.hops, ident).count)
    advance_line(w, link, pool, now)
    if line.arriving == 0 and p.count > 1 and (p.count <= SHORT or pool.each > 1):
        drop_first_packet(p, train_at(w.trains, line.head))
        await_train(w, line, AT_LINK, ident)
        end_train(w, flow, hop, link, pool, line, part(p, 0, 0, now, now), size, each)
        return
    if line.arriving == 0 and p.count > 1:
        if p.last < p.first + 1e-9 * p.count:
            p = at_times(p, p.first, p.first + 1e-9 * p.count)
            train_at(w.trains, line.head).last = p.last
        begin_train(link, pool, line, p, now, size)
        if p.last > now:
            schedule(w, p.last, AT_LINK, ident)
            return
    remove_head(w, line)
    end_train(w, flow, hop, link, pool, line, p, size, each)
    await_train(w, line, AT_LINK, ident)


@compiled
def cross_alone(w, flow, o, hop, p):
    """A train crosses a drop-tail link that is its flow's alone: what is not dropped goes on."""
    link = link_at(hop_at(w.hops, flow.path + hop).link, 0)
    size = size_of(flow, hop, p.seq)
    tx = 8 * size / link.rate
    n = p.count
    gap = gap_of(p)
    room = (np.ceil(link.capacity) - 1 + 1e-9) * tx  # the longest wait of a packet that finds room
    tie = 2e-9 * tx if o.lag >= tx else 0.0  # so much less as another departs (`comes_first`)
    most = longest(w, tcp_at(w.tcp, flow.index))
    wait = max(link.busy_until - p.first, 0.0)
    rise = (n - 1) * (tx - gap)
    fits = max(wait, wait + rise) <= room - tie and max(p.last - p.first, (n - 1) * tx) <= most
    if fits and link.loss == 0:
        go_on_train(w, flow, hop + 1, wait_alone(w, link, p, size, tx))
        return
    a = 0
    begin = math.inf  # when the first packet of a part has left
    busy = link.busy_until
    idle = link.begin
    for k in range(n):
        t = p.first + k * gap
        if busy < t:
            idle = t
        longest_wait = room - tie if idle < t else room
        gone = (link.loss > 0 and uniform(link) < link.loss) or busy - t > longest_wait
        end = max(busy, t) + tx
        if k > a and (gone or end - begin > most):
            q = part(p, a, k - 1, p.first + a * gap, t - gap)
            go_on_train(w, flow, hop + 1, wait_alone(w, link, q, size, tx))
            a = k
        if gone:
            link.arrived += 1
            link.dropped += 1
            lost = Packet(flow.index, hop, p.seq + k, 0, 0, 0, p.header)
            drop_packet(w, flow, link, t, lost, True)
            a = k + 1
        else:
            busy = end
            begin = end if k == a else begin
    if a < n:
        q = part(p, a, n - 1, p.first + a * gap, p.last)
        go_on_train(w, flow, hop + 1, wait_alone(w, link, q, size, tx))


@compiled
def wait_alone(w, link, p, size, tx):
    """A train waits for its turn and is sent; returns it at the link's end.

    `link.begin` is when the link was idle last.
    """
    n = p.count
    if link.busy_until < p.first:
        link.begin = p.first
    begin = max(p.first, link.busy_until)
    first = begin + tx
    last = max(p.last + tx, first + (n - 1) * tx)
    if last == p.last + tx and n > 1:
        link.begin = p.last
    link.busy_until = last
    link.arrived += n
    if link.recorded != 0 and p.first <= w.duration:
        wait = max(begin - p.first, last - tx - p.last)
        record_arrival(w, link, min(p.last, w.duration), n, math.ceil(wait / tx - 1e-9))
        if wait > 0:
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


@not_inlined
def enter_link(w, flow, hop, line, now):
    """The first packet of a train reaches a link of the packet model."""
    t = train_at(w.trains, line.head)
    p = read_train(t)
    if p.count > 1:
        drop_first_packet(p, t)
    else:
        remove_head(w, line)
    await_train(w, line, AT_LINK, flow.path + hop)
    send_packet(w, flow, packet_of(flow, hop, p), now)


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
def leave_link(w, kind, ident):
    """A packet reaches the end of a link of the packet model."""
    p, now = take_arrived(w, kind, ident)
    flow = flow_at(w.flows, p.flow)
    go_on_train(w, flow, p.hop, train_of(p, p.hop > flow.n_forward, now))
    leave_place(w, flow)
