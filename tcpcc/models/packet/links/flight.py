"""Packets in flight: sent by a link, on their way to its far end."""

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.packet.event_list import before, push
from tcpcc.models.packet.packet_records import ALONE, ARRIVAL, BEHIND, MARGIN, lane_at, packet_at
from tcpcc.models.packet.packets import place_in_pool, write_packet


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
