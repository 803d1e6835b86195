"""Packets: tuples while they are handled, records while they wait.

Packets wait in a link's lane, in order. Packets that others may overtake, and packets in the inner
queues of scheduled links, wait in the pool.
"""

from typing import NamedTuple

import numpy as np

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.packet.event_list import before, push, replace_first, vacate_first
from tcpcc.models.packet.packet_records import ALONE, ARRIVAL, BEHIND, MARGIN, lane_at, packet_at


class Packet(NamedTuple):
    """A data packet or an ACK. (A tuple: the compiler keeps it in registers.)

    Attributes:
        flow: row of its flow.
        hop: next hop of its path; ACKs begin at the flow's ``n_forward``.
        seq: number of the data packet; in an ACK, the last packet before the first missing one.
        trigger: in a data packet, 1 for a retransmission, else 0. In an ACK, the number of the
            packet that caused it; its complement (~) if the ACK echoes a retransmission.
        low, span: in an ACK, its SACK block: `span` packets from `low` on.
        header: place of its header; 0: no header.
    """

    flow: int
    hop: int
    seq: int
    trigger: int
    low: int
    span: int
    header: int


@compiled
def size_of(flow, hop, seq):
    """Bytes of packet number `seq` on the link of its hop: ACKs and the SYN carry no data."""
    if hop >= flow.n_forward or (seq == 0 and flow.handshake != 0):
        return flow.ack_size
    return flow.size


@compiled
def data_packet(flow, seq, again, header):
    """A data packet at its sender."""
    return Packet(flow.index, 0, seq, again, 0, 0, header)


@compiled
def ack_packet(flow, tcp, trigger, header):
    """The ACK that packet `trigger` causes, at the receiver of `flow`."""
    flow.acks_sent += 1
    low = tcp.sack_low
    if tcp.echo != 0:
        trigger = ~trigger
    return Packet(
        flow.index, flow.n_forward, tcp.expected - 1, trigger, low, tcp.sack_high - low, header
    )


@compiled
def at_hop(p, hop):
    """The packet at another hop of its path."""
    return Packet(p.flow, hop, p.seq, p.trigger, p.low, p.span, p.header)


@compiled
def read_packet(record):
    flow, hop = np.int64(record.flow), np.int64(record.hop)
    span, header = np.int64(record.span), np.int64(record.header)
    return Packet(flow, hop, record.seq, record.trigger, record.low, span, header)


@compiled
def write_packet(p, record):
    """Write a packet into a record; `time`, `since` and `order` of the record do not change."""
    record.flow = p.flow
    record.hop = p.hop
    record.seq = p.seq
    record.trigger = p.trigger
    record.low = p.low
    record.span = p.span
    record.header = p.header


@compiled
def place_in_pool(w, p):
    """Write a packet to a free place of the pool; returns the place."""
    place = w.first_free
    record = packet_at(w.pool, place)
    w.first_free = record.order
    w.n_free -= 1
    if w.n_free < MARGIN:
        w.need = 1
    write_packet(p, record)
    return place


@compiled
def free_place(w, place):
    packet_at(w.pool, place).order = w.first_free
    w.first_free = place
    w.n_free += 1


@compiled
def put_in_flight(w, link, p, time):
    """Put a packet into a lane until it arrives, at `time`.

    It goes into the joint lane of several links if it arrives after all packets there, else into
    the link's own lane.
    """
    since = link.begin
    order = link.behind * BEHIND + link.ident
    lane = lane_at(link.lane, 0)
    if link.joint != 0 and not before(time, since, order, lane_at(link.joint, 0)):
        lane = lane_at(link.joint, 0)
    lane.time = time
    lane.since = since
    lane.order = order
    record = packet_at(lane.flight, lane.flight_tail & lane.flight_mask)
    record.time = time
    record.since = since
    record.order = order
    write_packet(p, record)
    if lane.flight_head == lane.flight_tail:
        push(w, time, since, order, ARRIVAL, lane.ident)
    lane.flight_tail += 1
    if lane.flight_tail - lane.flight_head + MARGIN > lane.flight_mask:
        w.need = 1


@not_inlined
def put_alone(w, link, p, time):
    """Give a packet its own event, at `time`, because later packets may overtake it."""
    place = place_in_pool(w, p)
    packet_at(w.pool, place).time = time
    push(w, time, link.begin, link.ident, ALONE, place)


@compiled
def take_arrived(w, kind, ident):
    """Take the packet of an arrival out of its lane or the pool; returns it and the time."""
    if kind != ARRIVAL:
        record = packet_at(w.pool, ident)
        now, p = record.time, read_packet(record)
        free_place(w, ident)
        vacate_first(w)
        return p, now
    lane = lane_at(w.lanes, ident)
    record = packet_at(lane.flight, lane.flight_head & lane.flight_mask)
    now, p = record.time, read_packet(record)
    lane.flight_head += 1
    if lane.flight_head == lane.flight_tail:
        vacate_first(w)
    else:  # the next packet takes the entry on the event list
        following = packet_at(lane.flight, lane.flight_head & lane.flight_mask)
        replace_first(w, following.time, following.since, following.order, ARRIVAL, ident)
    return p, now
