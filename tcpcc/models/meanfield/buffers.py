"""A link's backlog, and the share of the arrivals that the link drops.

The backlog is fluid: it grows by the accepted arrivals and shrinks at the link's rate. The queue
discipline's ``on_fluid`` gives the share that is dropped early. A full buffer drops the arrivals
beyond the link's rate, a share of 1 - rate / arrivals. This law jumps when the buffer becomes full,
so it sets in gradually over the last packet of room: there an arriving packet fits or not,
depending on the phase of the packet being sent.
"""

from tcpcc.engine.jit import compiled
from tcpcc.models.meanfield.meanfield_records import class_slot_at, mean_link_at
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer

BITS = 8.0  # bits in a byte


@compiled
def buffer_bits(link):
    """The capacity of the buffer, in bits."""
    return BITS * (link.limit if link.in_bytes != 0 else link.limit * link.size)


@compiled
def clear_arrivals(w):
    for i in range(w.n_links):
        link = mean_link_at(w.links, i)
        link.arriving = link.arriving_bits = link.squares = link.flows = 0.0


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
        link.squares += packets * rate
        link.flows += flows


@compiled
def overflow_share(link, backlog, early):
    """Share of the packets accepted by the discipline that finds the buffer full."""
    offered = link.arriving_bits * (1 - early)
    if offered <= link.rate:
        return 0.0
    packet = BITS * link.size
    full = min(max((backlog - buffer_bits(link) + packet) / packet, 0.0), 1.0)
    return full * (1 - link.rate / offered)


@compiled
def set_drift(link, backlog, early):
    """Set the drift of the backlog and the drop shares from the counted arrivals."""
    if link.arriving > 0:
        link.size = link.arriving_bits / (BITS * link.arriving)
    link.marked = early if link.marks != 0 else 0.0
    if link.marks != 0:
        early = 0.0
    link.refused = 1 - (1 - early) * (1 - overflow_share(link, backlog, early))
    link.prob = 1 - (1 - link.refused) * (1 - link.loss)
    link.drift = link.arriving_bits * (1 - link.refused) - link.rate
    if backlog <= 0:
        link.drift = max(link.drift, 0.0)


@compiled
def bounded(link, backlog):
    return min(max(backlog, 0.0), buffer_bits(link))


@compiled
def ask_discipline(link, now, step, backlog, arrivals, b):
    """Update the share dropped early, `arrivals` packets and `step` s after the last update.

    A timer that is due meanwhile sees the packets that arrived before it.
    """
    link.early_before = link.early
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
    q.prob = q.spread = q.anew = 0.0
    since = now - step
    while link.timer != 0 and q.wake <= now:
        part = max(q.wake - since, 0.0) / step
        q.arrivals = arrivals * part
        q.now = q.wake
        apply_discipline(link, -1)
        since = max(since, q.wake)
        run_timer(link, q.wake)
        q.arrivals = arrivals * (now - since) / step
    q.now = now
    apply_discipline(link, b)
    link.early = min(max(q.prob, 0.0), 1.0)
