"""Trains of data reach their receiver, and trains of ACKs leave it."""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.packet.handlers import held_ack, hold_ack
from tcpcc.models.packet.links.transit import take_data
from tcpcc.models.packet.packet_records import cbr_at
from tcpcc.models.packet.packets import ack_packet
from tcpcc.models.packet.recorder import note_delivery
from tcpcc.models.trains.coasting import stop_coasting
from tcpcc.models.trains.train_lines import go_back, most_acknowledged
from tcpcc.models.trains.train_records import Train, gap_of, open_at, train_of
from tcpcc.transport import receiver
from tcpcc.transport.delivery import note_received
from tcpcc.transport.flow_record import CBR, tcp_at


@compiled
def receive_train(w, flow, p):
    n = p.count
    if flow.kind == CBR:
        cbr_at(w.cbr, flow.index).arrived += n
        note_delivery(w, flow, p.seq, n, p.last)
        return
    tcp = tcp_at(w.tcp, flow.index)
    if tcp.held_until < p.first:
        end_delay(w, flow, tcp)
    if (
        (n > 1 or open_at(w.open_trains, flow.index).single == 0)
        and p.again == 0
        and p.seq == tcp.expected
        and tcp.highest <= p.seq
        and p.seq > 0
        and (tcp.delayed_ack == 0 or (is_plain(tcp) and is_dense(tcp, p)))
    ):
        tcp.arrived += n
        tcp.delivered += n
        tcp.highest = p.seq + n - 1
        tcp.expected = p.seq + n
        tcp.sack_low = tcp.sack_high = 0
        tcp.echo = 0
        note_delivery(w, flow, p.seq, n, p.last)
        if tcp.delivery != 0:
            for j in range(n):
                note_received(tcp, p.first + (p.last - p.first) * j / max(n - 1, 1), p.seq + j)
        if tcp.delayed_ack == 0:
            flow.acks_sent += n
            acks = Train(p.first, p.last, p.seq, n, 1, 0, p.seq, 0, 0, 0)
            go_back(w, flow, flow.n_forward, acks)
        else:
            delay_acks(w, flow, tcp, p)
        return
    if p.seq != tcp.expected:
        stop_coasting(tcp, open_at(w.open_trains, flow.index))
    receive_each(w, flow, tcp, p)


@compiled
def is_plain(tcp):
    """Whether every `ack_every`-th packet in order is acknowledged, and no other."""
    return tcp.delivered >= tcp.quick_acks and tcp.pieces == 0 and tcp.echo == 0


@compiled
def is_dense(tcp, p):
    """Whether no timer of a delayed ACK expires while a train arrives."""
    gap = gap_of(p)
    if p.first + (tcp.ack_every - tcp.held - 1) * gap > tcp.held_until:
        return False
    return (tcp.ack_every - 1) * gap <= tcp.delayed_ack


@compiled
def delay_acks(w, flow, tcp, p):
    """ACKs of a train in order: of every `ack_every`-th packet. See `receive_data`."""
    gap = gap_of(p)
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
        go_back(w, flow, flow.n_forward, Train(first, last, seq, n, every, 0, seq, 0, 0, 0))
    if tcp.held > 0 and tcp.held_until == math.inf:
        t = p.last - (tcp.held - 1) * gap
        tcp.held_until = t + tcp.delayed_ack
        hold_ack(w, flow, tcp, before, t)


@not_inlined
def receive_each(w, flow, tcp, p):
    gap = gap_of(p)
    a = none = Train(0.0, 0.0, 0, 0, 1, 0, 0, 0, 0, 0)
    for j in range(p.count):
        seq = p.seq + j
        t = p.first + j * gap
        if tcp.held_until < t:
            if a.count > 0:
                go_back(w, flow, flow.n_forward, a)
            a = none
            end_delay(w, flow, tcp)
        held = tcp.held_until
        due = take_data(w, flow, tcp, seq, p.again, p.header, t)
        if not due:
            hold_ack(w, flow, tcp, held, t)
            continue
        b = train_of(ack_packet(flow, tcp, seq, p.header), True, t)
        joins = a.count > 0 and b.again == 0 and a.again == 0
        step = a.step
        if joins:
            if a.count == 1:
                step = b.seq - a.seq
            joins = b.seq == a.seq + a.count * step and seq == a.trigger + a.count * max(step, 1)
            if step > 0:
                sacks = b.low != b.high or a.low != a.high
                joins = joins and step <= most_acknowledged(tcp) and not sacks
            else:
                joins = joins and b.low == a.low and b.high == a.high + a.count
        if joins:
            a = Train(a.first, t, a.seq, a.count + 1, step, 0, a.trigger, a.low, a.high, 0)
        else:
            if a.count > 0:
                go_back(w, flow, flow.n_forward, a)
            a = b
    if a.count > 0:
        go_back(w, flow, flow.n_forward, a)


@compiled
def send_ack(w, flow, p, time):
    """As `send_packet`, for an ACK at its receiver."""
    go_back(w, flow, flow.n_forward, train_of(p, True, time))


@not_inlined
def end_delay(w, flow, tcp):
    """The timer of a delayed ACK is due before a packet that arrives later than now."""
    at = tcp.held_until
    if receiver.send_held_ack(tcp):
        send_ack(w, flow, held_ack(flow, tcp), at)
