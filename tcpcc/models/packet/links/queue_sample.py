"""What a queue discipline sees: its sample, filled for a packet or without one."""

import math

from tcpcc.engine.jit import compiled, not_inlined, number_at
from tcpcc.models.packet.headers import show_header
from tcpcc.models.queue_memory import clear_packet, queue_sample_at


@compiled
def fill_queue_sample(w, link, flow, p, time, size, waiting, full):
    """Fill a discipline's sample for the arriving packet `p`; returns the sample."""
    q = queue_sample_at(link.sample, 0)
    q.now = time
    show_queue(link, q, waiting)
    q.size = size
    q.arrivals = 1.0
    q.idle = time - max(link.busy_until, 0.0) if link.busy_until < time else 0.0
    if link.rate > 0:
        q.rate = link.rate
    q.delay = link.delay
    q.limit = link.capacity / size if link.in_bytes != 0 else link.capacity
    q.full = 1.0 if full else 0.0
    q.flow = flow.ident
    q.flows = link.open
    q.traffic_class = flow.traffic_class
    q.drop = q.mark = 0.0
    show_header(w, q, link, flow, p.header)
    return q


@compiled
def show_queue(link, q, waiting):
    """Fill the length of the queue in."""
    q.queue = waiting
    q.queue_bytes = link.queue_bytes
    if link.scheduled == 0:  # the only inner queue is the link's own
        number_at(link.each, 0).value = waiting
        number_at(link.each, 1).value = link.queue_bytes


@not_inlined
def clear_queue_sample(link, q, waiting):
    """Fill a discipline's sample without a packet: the packet's fields are NaN."""
    show_queue(link, q, waiting)
    clear_packet(link, q)
    q.limit = math.nan if link.in_bytes != 0 else link.capacity
    q.flows = link.open
    if link.rate > 0:
        q.rate = link.rate
    q.delay = link.delay
