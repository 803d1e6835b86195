"""Trains on their way to the end of a line: a shared link, or the sender that ACKs go to.

On their way they cross links where their flow meets no other.
"""

import numpy as np

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.packet.event_list import schedule
from tcpcc.models.packet.packet_records import hop_at, link_at
from tcpcc.models.packet.packets import size_of
from tcpcc.models.packet.recorder import add_sending, link_bin
from tcpcc.models.trains.train_records import (
    AT_LINK,
    AT_SENDER,
    FREE,
    SHARED,
    SINGLE,
    STAGE,
    at_times,
    gap_of,
    line_at,
    open_at,
    train_at,
    write_train,
)
from tcpcc.transport.flow_record import tcp_at, window_at

#: How much shorter trains are in slow start.
START = 4.0


@compiled
def longest(w, tcp):
    """The longest train of a flow, s; shorter in slow start."""
    s = window_at(tcp.state, 0)
    return tcp.srtt / (w.per_rtt * START if s.cwnd < s.ssthresh else w.per_rtt)


@compiled
def may_join(w, flow, tcp, t, p):
    """Whether train `p` continues the last train `t` of a line, which has not begun to arrive."""
    if p.again != 0 or t.again != 0 or open_at(w.open_trains, flow.index).single != 0:
        return False
    if p.last - t.first > longest(w, tcp):
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
def append_train(w, flow, line, p):
    """A train is on its way to the end of a line; returns whether it is the first one there."""
    if line.head != 0 and (line.head != line.tail or line.arriving == 0):
        t = train_at(w.trains, line.tail)
        if may_join(w, flow, tcp_at(w.tcp, flow.index), t, p):
            t.step = joint_step(tcp_at(w.tcp, flow.index), t, p)
            t.last = p.last
            t.count += p.count
            return False
    place = w.free_train
    if place != 0:
        w.free_train = np.int64(train_at(w.trains, place).after)
    else:
        place = w.unused_train
        w.unused_train += 1
    t = train_at(w.trains, place)
    w.n_free_trains -= 1
    if w.n_free_trains < w.train_margin:
        w.need = 1
    write_train(p, t)
    t.flow = flow.index
    t.after = 0
    first = line.head == 0
    if first:
        line.head = place
    else:
        train_at(w.trains, line.tail).after = place
    line.tail = place
    return first


@compiled
def join_line(w, flow, line, ident, kind, p):
    """A train is on its way to the end of a line, where it arrives by an event."""
    if append_train(w, flow, line, p):
        await_train(w, line, kind, ident)


@compiled
def await_train(w, line, kind, ident):
    """The first train on a line, if any, has an event when it begins to arrive."""
    if line.head != 0:
        schedule(w, max(train_at(w.trains, line.head).first, w.now), kind, ident)


@compiled
def remove_head(w, line):
    place = line.head
    t = train_at(w.trains, place)
    line.head = np.int64(t.after)
    t.after = w.free_train
    w.free_train = place
    w.n_free_trains += 1


@compiled
def cross_own(w, flow, hop, line, link, p, size):
    """A train crosses a link where its flow meets no other; returns it at the link's end."""
    if line.kind == STAGE:
        first = 0.0
        gap = gap_of(p)
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
            link_bin(w, link, p.first).arrived += n
    fixed = 8 * size / link.rate - tx + link.delay
    return at_times(p, first + fixed, last + fixed)


@compiled
def travel(w, flow, hop, end, p):
    """A train goes on from a hop to the hop `end` or to a shared link; returns whether it reaches
    the end, and the train."""
    while hop < end:
        line = line_at(w.lines, flow.path + hop)
        if line.kind == SHARED or line.kind == SINGLE:
            join_line(w, flow, line, flow.path + hop, AT_LINK, p)
            return False, p
        link = link_at(hop_at(w.hops, flow.path + hop).link, 0)
        p = cross_own(w, flow, hop, line, link, p, size_of(flow, hop, p.seq))
        hop += 1
    return True, p


@compiled
def go_back(w, flow, hop, p):
    """A train of ACKs goes on from a hop."""
    arrives, p = travel(w, flow, hop, flow.n_hops, p)
    if arrives:
        join_line(w, flow, line_at(w.ack_lines, flow.index), flow.index, AT_SENDER, p)
