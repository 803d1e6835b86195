"""The queue of a link where flows meet, as a fluid.

At its first event a train adds its rate, at its last one it is judged. Half a packet is added at
either end: to others, a packet has arrived in half of the cases.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.engine.streams import uniform
from tcpcc.models.packet.event_list import vacate_first
from tcpcc.models.packet.links.fifo import wake_queue
from tcpcc.models.packet.recorder import add_sending, add_waiting
from tcpcc.models.queue_memory import apply_discipline

#: Squared coefficient of variation of the distances between the packets of a train.
UNEQUAL = 0.1

#: Standard deviations from the mean to the peak of a queue's noise within a train.
PEAK = 2.0

#: Time in which a packet that stands for many arrives at a discipline that decides, as a multiple
#: of the time that the link needs for it: the discipline would take its packets for a burst.
SPREAD = 10.0

#: Mean distances of a discipline's drops after which the next drop does not depend on the last.
FORGOTTEN = 4


@compiled
def record_queue(w, link, pool, a, b, q0, q1, served):
    """Record a queue that goes from `q0` to `q1` from time `a` to `b` and serves `served` bytes."""
    if link.recorded != 0 and b > a:
        mean = 0.5 * (q0 + q1) / pool.size - 0.5
        if mean > 0:
            add_waiting(w, link, a, b, mean)
        if served > 0:
            sent = max(served + min(pool.owed, 0.0), 0.0)
            pool.owed += served - sent
            if sent > 0:
                add_sending(w, link, a + (b - a) * (1 - sent / served), b, 8 * sent, 1.0)


@compiled
def record_owed(w, link, pool, a, b):
    """Record in the idle time from `a` to `b` what the link has sent before."""
    if link.recorded != 0 and pool.owed > 0 and b > a:
        sent = min(pool.owed, link.rate / 8 * (b - a))
        pool.owed -= sent
        add_sending(w, link, a, a + 8 * sent / link.rate, 8 * sent, 1.0)


@compiled
def advance_line(w, link, pool, t):
    """The queue of a link until `t`. A buffer of B packets holds B - 1/2 on average when full."""
    dt = t - pool.at
    if dt <= 0:
        return
    a = pool.at
    pool.at = t
    speed = link.rate / 8
    if pool.each > 1:
        span = pool.each * pool.size / speed * (SPREAD if link.rule != 0 else 1.0)
        more = pool.pending * (1 - math.exp(-dt / span))
        pool.pending -= more
        pool.inflow = more / dt
        pool.flow_in = pool.inflow / pool.size
    q = pool.backlog
    if q == 0.0 and pool.inflow == 0.0:
        pool.idle += dt
        record_owed(w, link, pool, a, t)
        return
    if pool.mixed != 0:  # the packets that wait are mixed well
        pool.size = (q + pool.inflow * dt) / (q / pool.size + pool.flow_in * dt)
    size = pool.size
    slope = pool.inflow - speed
    end = q + slope * dt
    top = max((link.capacity - 0.5 - pool.noise) * size, q) if pool.each == 1 else math.inf
    if end < 0:
        t0 = q / -slope
        record_queue(w, link, pool, a, a + t0, q, 0.0, speed * t0)
        busy = 0.0
        if pool.inflow > 0:
            busy = pool.inflow / speed * (dt - t0)
            record_queue(w, link, pool, a + t0, a + t0 + busy, 0.0, 0.0, speed * busy)
        record_owed(w, link, pool, a + t0 + busy, t)
        pool.idle += dt - t0 - busy
        end = 0.0
    elif end > top:
        t0 = (top - q) / slope
        record_queue(w, link, pool, a, a + t0, q, top, speed * t0)
        record_queue(w, link, pool, a + t0, t, top, top, speed * (dt - t0))
        pool.excess += (1 - speed / pool.inflow) * (dt - t0)
        if t0 > 0:
            pool.since = a + t0
        end = top
    else:
        record_queue(w, link, pool, a, t, q, end, speed * dt)
    pool.backlog = end


@compiled
def add_at_once(link, pool, amount, packets):
    """Add bytes to a queue; what does not fit overflows."""
    if pool.mixed != 0:
        pool.size = (pool.backlog + amount) / (pool.backlog / pool.size + packets)
    pool.backlog += amount
    cut_off(pool, link.capacity)


@compiled
def cut_off(pool, packets):
    """What is beyond a number of packets in a queue overflows."""
    top = packets * pool.size
    if pool.backlog > top:
        pool.over += (pool.backlog - top) / pool.size
        pool.backlog = top


@compiled
def variance_of(n):
    """Variance of the packets of an arriving train that have arrived, beside the fluid's: of its
    next packet, and of the unequal distances of the others."""
    return 1 / 12 + UNEQUAL * n / 6


@not_inlined
def draw_noise(link, pool):
    """Draw the packets that wait beyond those of the fluid, at their peak within a train.

    Two streams of equally spaced packets keep their places in each other; a third has none.
    """
    z = 2 * (uniform(pool) + uniform(pool) + uniform(pool) - 1.5)
    pool.noise = PEAK * z * math.sqrt(pool.variance * max(1 - 2 / pool.trains, 0.0))
    cut_off(pool, link.capacity - 0.5 - pool.noise)


@compiled
def begin_train(link, pool, line, p, now, size):
    line.wait = 8 * pool.backlog / link.rate
    line.rate = (p.count - 1) * size / (p.last - p.first)
    line.excess = pool.excess
    line.arriving = 1
    add_at_once(link, pool, 0.5 * size, 0.5)
    if now > p.first:  # part of it is late
        late = min(now, p.last) - p.first
        speed = link.rate / 8
        free = max(speed - pool.inflow, 0.0) if pool.backlog <= 0.5 * size else 0.0
        more = max(line.rate - free, 0.0) * late
        add_at_once(link, pool, more, more / size)
        pool.owed += line.rate * late - more
    pool.inflow += line.rate
    pool.flow_in += line.rate / size
    pool.trains += 1
    pool.variance += variance_of(p.count)
    if pool.backlog > 0.5 * link.capacity * pool.size and uniform(pool) * pool.trains < 1:
        draw_noise(link, pool)


@compiled
def admit(link, pool, line, now, amount, packets):
    """Whether a packet finds room where some stand for many, and if so, add it.

    A packet has room while the queue is not full, and the fuller it is beyond, the less often: at
    random up to as much as one that stands for many brings. So those that stand for themselves find
    room as often. Those that a packet stands for do not arrive at once (see `advance_line`), but
    the next packet of their flow meets them, and as many after a packet that stands for itself.
    """
    own = line.excess * math.exp((line.rate - now) * link.rate / (8 * amount))
    beyond = pool.backlog / pool.size + own - (link.capacity - 0.5)
    if uniform(pool) * pool.each < beyond:
        return False
    line.excess = own + (packets if packets > 1 else pool.each)
    line.rate = now
    waiting = pool.backlog + pool.pending
    if pool.mixed != 0:
        pool.size = (waiting + amount) / (waiting / pool.size + packets)
    if packets > 1:
        pool.pending += amount
    else:
        pool.backlog += amount
    return True


@compiled
def take_out(pool, amount, packets):
    """Remove a packet that was added and is dropped after all; what the link has sent of it is
    taken from what it sends next in the record."""
    if packets > 1:
        pool.owed -= max(amount - pool.pending, 0.0)
        pool.pending = max(pool.pending - amount, 0.0)
    else:
        pool.owed -= max(amount - pool.backlog, 0.0)
        pool.backlog = max(pool.backlog - amount, 0.0)


@not_inlined
def decide_in_fluid(link, pool, q, each, b):
    """Let a discipline decide about a packet that stands for `each`, by its rule for amounts.

    Packets that stand for themselves are dropped at the distances of all packets; those that stand
    for several at the distances of their own number.
    """
    q.arrivals = each
    q.prob = q.spread = q.anew = q.marks = 0.0
    q.concentration = 1 / max(q.flows, 1.0)
    apply_discipline(link, pool.rule, b)
    if q.anew != 0:
        pool.due = pool.due_of_many = 0.0
    if q.prob == 0:
        return
    if math.isnan(q.prob):
        raise FloatingPointError("on_fluid left a q.prob that is NaN")
    if pool.due == 0:
        pool.due = 1 + q.spread * (2 * uniform(pool) - 1)
        pool.due_of_many = 1 + q.spread * (2 * uniform(pool) - 1)
    hit = 0.0
    pool.due -= each * q.prob
    if each > 1:
        pool.due_of_many -= q.prob
        if pool.due_of_many <= 0:
            hit = 1.0
            pool.due_of_many += 1 + q.spread * (2 * uniform(pool) - 1)
        if pool.due < -FORGOTTEN:
            pool.due = uniform(pool)
    else:
        hit = 1.0 if pool.due <= 0 else 0.0
    while pool.due <= 0:
        pool.due += 1 + q.spread * (2 * uniform(pool) - 1)
    if q.marks != 0:
        q.mark = hit
    else:
        q.drop = hit


@compiled
def show_waiting(link, pool, amount):
    """Where `amount` bytes wait, a discipline sees half a packet less: the part of a packet that is
    still to be sent, on average. Returns the packets that it sees."""
    waiting = max(amount / pool.size - 0.5, 0.0)
    link.queue_bytes = waiting * pool.size
    return waiting


@not_inlined
def handle_pool_timer(w, link, pool, now):
    """The timer of a discipline of a fluid queue is due."""
    vacate_first(w)
    advance_line(w, link, pool, now)
    wake_queue(w, link, now, show_waiting(link, pool, pool.backlog))
