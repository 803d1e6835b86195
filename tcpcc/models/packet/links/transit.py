"""The way of a packet over the links of its path, to the receiver and back as an ACK.

A packet needs an event only at hops where other packets or timers can interfere. If a FIFO link is
the only feeder of the next link (or of the receiver), packets reach it in the order in which they
are handled here. The packet is then sent on at once, with its future arrival time. It waits for an
event only where flows meet, where a timer could interfere, or at a link with a scheduler.
"""

import numpy as np

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.headers import drop_packet, read_at_receiver
from tcpcc.models.packet.links.fifo import cross, cross_together, occupy
from tcpcc.models.packet.links.scheduler import enter_scheduled
from tcpcc.models.packet.packets import ack_packet, at_hop, put_alone, put_in_flight, size_of
from tcpcc.models.packet.recorder import note_delivery
from tcpcc.transport import receiver
from tcpcc.transport.flow_record import CBR, tcp_at


@not_inlined
def send_packet(w, flow, p, time):
    """Send a packet over the link of its hop, scheduled or not."""
    send_here(w, flow, p, time)


@compiled
def send_here(w, flow, p, time):
    """:func:`send_packet`, inlined where it is called most."""
    link = r.link_at(r.hop_at(w.hops, flow.path + p.hop).link, 0)
    if link.scheduled != 0:
        enter_scheduled(w, link, flow, p, time)
    else:
        forward(w, flow, p, time)


@compiled
def forward(w, flow, p, time):
    """Forward a packet from its hop on until it is dropped, waits for an event or is consumed."""
    since = w.since
    size = size_of(flow, p.hop, p.seq)
    hops, path = w.hops, flow.path
    while True:
        h = r.hop_at(hops, path + p.hop)
        link = r.link_at(h.link, 0)
        if h.count == 1 and link.tracked == r.UNTRACKED:
            link.arrived += 1
            since = occupy(link, time, size)
            time = since + (link.duration + link.delay)
        else:
            arrival = time
            if h.count == 1 and link.tracked == r.TRACKED:
                time = cross(w, link, flow, p, arrival, since, size)
            else:
                time = cross_together(w, link, flow, p, arrival, since, size, np.int64(h.count))
            since = link.begin
            if time < 0:
                drop_packet(w, flow, link, arrival, p, True)
                return
        p = at_hop(p, p.hop + 1)
        if h.then == r.NEXT_LINK:
            continue
        if h.then == r.BY_EVENT:
            put_in_flight(w, link, p, time)
            return
        if h.then == r.OVERTAKEN:
            put_alone(w, link, p, time)
            return
        tcp = tcp_at(w.tcp, p.flow)
        if not reach_receiver(w, flow, tcp, p, time):
            return
        p = ack_packet(flow, tcp, p.seq, p.header)
        size = flow.ack_size


@compiled
def reach_receiver(w, flow, tcp, p, time):
    """A data packet reaches its receiver; returns whether an ACK is due."""
    if flow.kind == CBR:
        r.cbr_at(w.cbr, p.flow).arrived += 1
        note_delivery(w, flow, p.seq, 1, time)
        return False
    return take_data(w, flow, tcp, p.seq, p.trigger, p.header, time)


@compiled
def take_data(w, flow, tcp, seq, again, header, time):
    """A TCP receiver handles a data packet; returns whether an ACK is due."""
    before = tcp.delivered
    due = receiver.receive_data(tcp, time, seq, again)
    if header != 0:
        due = read_at_receiver(w, flow, tcp, header, due)
    if tcp.delivered != before:
        note_delivery(w, flow, seq, 1, time)
    return due
