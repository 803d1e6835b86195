"""How many packets a link drops: random losses, drops of its queue discipline, overflow.

`victims` chooses the flows that lose them. `losses` removes them from the fluid and records them.
"""

import math

from tcpcc.engine.jit import compiled, index_at
from tcpcc.engine.streams import uniform
from tcpcc.models.fluid.fluid_records import EPS, fluid_flow_at, fluid_hop_at, slot_at
from tcpcc.models.fluid.victims import drop
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer

SLACK = 0.1  # packets by which a full buffer may be overrun before a packet is dropped
# Packets: mean rest of the packet being sent when another one arrives. The fluid's queue contains
# it, because it is part of the queueing delay; the queue that a discipline sees does not.
HALF = 0.5


@compiled
def next_loss(link):
    """Draw the distance to the next lost packet, in packets; it is geometric."""
    return max(math.ceil(math.log(uniform(link)) / math.log(1 - link.loss)), 1.0)


@compiled
def random_losses(w, link, packets):
    """Lose some of `packets` at random; returns how many.

    A packet is lost when it begins to arrive. The clock counts the packets that have arrived since
    the last loss.
    """
    count = 0.0
    if link.loss_at == 0:
        link.loss_at = next_loss(link)
        link.loss_clock = 1.0
    link.loss_clock += packets
    while link.loss_clock - link.loss_at > EPS:
        link.loss_clock -= link.loss_at
        link.place = 1 - link.loss_clock / packets
        count += drop(w, link, 1.0, packets)
        link.place = -1.0
        link.loss_at = next_loss(link)
    return count


@compiled
def open_flows(w, link):
    """The number of open sources with a path over `link`."""
    count = 0.0
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0 and slot.again == 0:
                f = fluid_flow_at(w.flows, slot.flow)
                if f.open != 0 and math.isnan(f.finished):
                    count += slot.count
    return count


@compiled
def concentration(w, link, packets, memory):
    """Probability that a packet arriving now belongs to the same flow as an earlier arrival.

    Earlier arrivals have exponential weights, with a mean age of `memory` packets.
    """
    kept = math.exp(-packets / memory)
    same = 0.0
    total = 0.0
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            now = slot.fresh / packets if slot.active != 0 else 0.0
            same += now * slot.share * slot.count
            total += slot.share * slot.count
            slot.share = kept * slot.share + (1 - kept) * now
    return same / total if total > 0 else 1.0


@compiled
def next_drop(link, q):
    """Draw the distance to the next drop, as a multiple of the mean number of arrivals per drop."""
    return 1 + q.spread * (2 * uniform(link) - 1)


@compiled
def describe(w, link, q):
    """Fill a discipline's sample with the present queue."""
    q.now = w.now
    q.queue = max(link.waiting - HALF, 0.0)
    q.queue_bytes = q.queue * link.size
    q.size = link.size
    q.idle = link.idle
    q.rate = link.rate
    q.limit = link.limit / link.size if link.in_bytes != 0 else link.limit
    q.flows = open_flows(w, link)


@compiled
def early_drops(w, link, packets):
    """The number of drops by the discipline from the `packets` that arrive."""
    q = queue_sample_at(link.sample, 0)
    describe(w, link, q)
    q.arrivals = packets
    if q.memory > 0:
        q.concentration = concentration(w, link, packets, q.memory)
    q.prob = 0.0
    q.spread = 0.0
    q.anew = 0.0
    while link.timer != 0 and q.wake <= w.now:
        run_timer(link, q.wake)
    q.now = w.now
    apply_discipline(link, min(w.bin, w.n_bins - 1) if link.bins != 0 else -1)
    link.idle = 0.0
    if q.anew != 0:
        link.drop_at = 0.0
    if q.prob == 0:
        return 0.0
    if link.drop_at == 0:
        link.drop_clock = 0.0
        link.drop_at = next_drop(link, q)
    count = 0.0
    link.drop_clock += packets
    while link.drop_clock * q.prob >= link.drop_at:
        link.drop_clock = min(link.drop_clock - link.drop_at / q.prob, packets)
        link.drop_at = next_drop(link, q)
        count += 1
    return count


@compiled
def overflow(link):
    """The number of packets that do not fit into the buffer.

    The packet being sent occupies one place of the buffer, but does not wait: its transmission is
    part of the fixed delay. A packet that fits only partly is dropped. Fluid still owed for a lost
    packet occupies no place, but at most one packet of it is taken into account.
    """
    if link.limit == math.inf:
        return 0.0
    if link.in_bytes != 0:
        excess = (link.taken - link.served - link.limit) / link.size + 1
    else:
        excess = link.waiting - link.limit + 1
    return float(math.ceil(excess - min(link.debt, link.unit - SLACK) - SLACK))
