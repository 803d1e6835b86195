"""A link's backlog, and the share of the arrivals that the link drops.

The backlog is fluid: it grows by the accepted arrivals and shrinks at the link's rate. The queue
discipline's ``on_fluid`` gives the share that is dropped early. A full buffer drops the arrivals
beyond the link's rate, a share of 1 - rate / arrivals. This law jumps when the buffer becomes full,
so it sets in gradually over the last packet of room: there an arriving packet fits or not,
depending on the phase of the packet being sent.
"""

import math

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.meanfield.meanfield_records import class_slot_at, mean_link_at
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer

BITS = 8.0  # bits in a byte


@compiled
def buffer_bits(link):
    """The capacity of the buffer, in bits."""
    return BITS * (link.limit if link.in_bytes != 0 else link.limit * link.size)


@compiled
def bypasses(c, slot, link):
    """Whether packets of class `c` do not wait in the link's queue (those of L4S in DualPI2)."""
    return c.ect == 2 and slot.carries_ack == 0 and link.bypass > 0


@compiled
def hit_share(c, early, early_l4s):
    """Share of the packets of class `c` that the discipline drops or marks."""
    return early_l4s if c.ect == 2 else early


@compiled
def marked_share(c, hit, marks):
    """Share of the packets of class `c` that are marked."""
    return hit * marks if c.ect != 0 else 0.0


@compiled
def passing_share(c, slot, link, dropped, over):
    """Share of the packets of class `c` that pass, if `dropped` are dropped by the discipline."""
    return (1 - dropped) * (1 if bypasses(c, slot, link) else 1 - over) * (1 - link.loss)


@compiled
def clear_arrivals(w):
    for i in range(w.n_links):
        link = mean_link_at(w.links, i)
        link.arriving = link.arriving_bits = link.squares = link.flows = 0.0
        link.ect_bits = link.passing_bits = 0.0


@compiled
def add_arrivals(w, c, flows):
    """Add the arrivals of class `c`, with `flows` open flows, to the links on its path."""
    for j in range(c.n_slots):
        slot = class_slot_at(w.slots, c.first_slot + j)
        link = mean_link_at(w.links, slot.link)
        rate = slot.rate
        packets = c.count * rate
        bits = packets * BITS * slot.size
        link.arriving += packets
        link.arriving_bits += bits
        if bypasses(c, slot, link):
            link.passing_bits += bits
        elif c.ect != 0:
            link.ect_bits += bits
        link.squares += packets * rate
        link.flows += flows


@compiled
def overflow_share(link, backlog, offered, room):
    """Share of `offered` bit/s that finds the buffer full while `room` bit/s leave it."""
    if offered <= room:
        return 0.0
    packet = BITS * link.size
    full = min(max((backlog - buffer_bits(link) + packet) / packet, 0.0), 1.0)
    return full * (1 - room / offered)


@compiled
def set_drift(link, backlog, early, early_l4s):
    """Set the drift of the backlog and the drop shares from the counted arrivals.

    If packets bypass the queue, the backlog is the queueing delay times the link's rate.
    """
    if link.arriving > 0:
        link.size = link.arriving_bits / (BITS * link.arriving)
    dropped = early * (1 - link.marks)  # of ECN-capable packets
    plain = link.arriving_bits - link.ect_bits - link.passing_bits
    offered = plain * (1 - early) + link.ect_bits * (1 - dropped)
    passing = link.passing_bits * (1 - early_l4s * (1 - link.marks))
    link.room = room = max(link.rate - passing, link.rate * (1 - link.bypass))
    link.over = overflow_share(link, backlog, offered, room)
    accepted = offered * (1 - link.over)
    link.refused = link.prob = 0.0
    if link.arriving_bits > 0:
        link.refused = 1 - (accepted + passing) / link.arriving_bits
        link.prob = 1 - (1 - link.refused) * (1 - link.loss)
    link.drift = accepted * (link.rate / room) - link.rate
    if backlog <= 0:
        link.drift = max(link.drift, 0.0)


@compiled
def bounded(link, backlog):
    return min(max(backlog, 0.0), buffer_bits(link))


@compiled
def show_inner_queue(link, q, backlog):
    """Show the backlog as the first of several inner queues."""
    if link.inner > 1:
        number_at(link.each, 0).value = q.queue
        number_at(link.each, link.inner).value = q.queue_bytes
        number_at(link.each, 2 * link.inner).value = q.now - backlog / link.rate


@compiled
def ask_discipline(link, now, step, backlog, arrivals, b):
    """Update the share dropped early, `arrivals` packets and `step` s after the last update.

    A timer that is due meanwhile sees the packets that arrived before it.
    """
    link.early_before, link.early_l4s_before = link.early, link.early_l4s
    if link.rule == 0:
        return
    q = queue_sample_at(link.sample, 0)
    q.now = now
    q.queue_bytes = backlog / BITS
    q.queue = q.queue_bytes / link.size
    q.size = link.size
    q.arrivals = arrivals
    load = link.arriving_bits * (1 - link.refused) / link.rate
    q.idle = step * max(1 - load, 0.0) if backlog <= 0 else 0.0
    q.rate = link.rate
    q.limit = buffer_bits(link) / (BITS * link.size)
    q.flows = link.flows
    q.concentration = link.squares / link.arriving**2 if link.arriving > 0 else 1.0
    q.prob = q.spread = q.anew = q.marks = q.bypass = 0.0
    q.prob_l4s = math.nan
    since = now - step
    while link.timer != 0 and q.wake <= now:
        part = max(q.wake - since, 0.0) / step
        q.arrivals = arrivals * part
        q.now = q.wake
        show_inner_queue(link, q, backlog)
        apply_discipline(link, -1)
        since = max(since, q.wake)
        run_timer(link, q.wake)
        q.arrivals = arrivals * (now - since) / step
    q.now = now
    show_inner_queue(link, q, backlog)
    apply_discipline(link, b)
    link.early = min(max(q.prob, 0.0), 1.0)
    link.early_l4s = link.early
    if not math.isnan(q.prob_l4s):
        link.early_l4s = min(max(q.prob_l4s, 0.0), 1.0)
    link.marks = 1.0 if link.marking != 0 else q.marks
    link.bypass = q.bypass
