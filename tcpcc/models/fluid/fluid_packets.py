"""A link of whole packets, for disciplines that decide about each of them.

Fluid that arrives is gathered into packets of its hop. The packets that a step completes enter at
equal distances in the step, in random order. They wait in inner queues, and their discipline is
called as in the packet model (:mod:`tcpcc.models.packet.links.scheduler`). A packet leaves as the
fluid that it was made of. Work is per packet, so that only such links have this cost.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bit_sets import clear
from tcpcc.models.fluid.fluid_bins import count_drop, count_mark
from tcpcc.models.fluid.fluid_drops import L4S
from tcpcc.models.fluid.fluid_fields import mix_words, pass_words_on, words_of_hop
from tcpcc.models.fluid.fluid_inner import store_packet, take_first_packet
from tcpcc.models.fluid.fluid_queue_sample import show_fluid_queue, show_hop
from tcpcc.models.fluid.fluid_records import (
    BITS,
    LEAST,
    ROUNDING,
    flow_at,
    hop_at,
    hop_cell,
    link_cell,
    need_reach,
    packet_at,
    packet_link_at,
    pass_fluid,
    pass_gaps,
    present,
)
from tcpcc.models.header_layout import note_words, words_at
from tcpcc.models.queue_memory import (
    apply_discipline,
    choose_inner,
    clear_packet,
    clear_verdict,
    inner_of,
    queue_sample_at,
    run_timer,
)
from tcpcc.models.recorded_fields import link_bin_at

ECT0, ECT1, CE = 2.0, 1.0, 3.0  # ECN field as a number (RFC 3168, section 5)


@not_inlined
def step_packets(w, x, now):
    """One step of the link `x`: packets enter and leave in the order of time."""
    p = packet_link_at(x.packets, 0)
    n = gather_fluid(w, x, now)
    for j in range(n):
        time = now + w.step * (j + 0.5) / n
        h = draw_due(w, x, n - j)
        run_until(w, x, p, time)
        enter(w, x, p, h, time)
    run_until(w, x, p, now + w.step)
    count_wait(w, x, p, now + w.step)
    take_gaps(w, x, p)
    x.backlog, x.backlog_bits = p.stored, BITS * p.bytes
    if x.bins != 0:
        link_bin_at(x.bins, w.b).arrived += n


@compiled
def gather_fluid(w, x, now):
    """Gather what arrives in this step into packets; returns how many are complete."""
    n = 0
    for h in range(x.first, x.first + x.n):
        hop = hop_at(w.hops, h)
        cell = hop_cell(x, x.fluid, w.k, h)
        if cell.value > 0:
            if hop.has_words != 0:
                carried = words_at(w, x.carried_words, h - x.first)
                mix_words(w, words_of_hop(w, x, w.k, h), carried, hop.carry, cell.value)
            hop.carry += cell.value
            hop.fed_at = now
            cell.value = 0.0
        hop.due = int(hop.carry * hop.packets + ROUNDING)
        if hop.due == 0 and hop.carry > LEAST and now - hop.fed_at > hop.hold:
            hop.due = 1  # nothing follows that would complete it
        n += hop.due
    return n


@compiled
def draw_due(w, x, n):
    """Draw the hop of the next of `n` packets that enter in this step."""
    left = int(uniform(x) * n)
    for h in range(x.first, x.first + x.n):
        hop = hop_at(w.hops, h)
        if left < hop.due:
            break
        left -= hop.due
    hop.due -= 1
    return h


@compiled
def take_gaps(w, x, p):
    """Gaps and marks of earlier links follow the packets with which they have come."""
    gaps = link_cell(x, x.gaps, w.k)
    for h in range(x.first, x.first + x.n):
        hop = hop_at(w.hops, h)
        if gaps.value > 0:
            lost = hop_cell(x, x.lost, w.k, h)
            marked = hop_cell(x, x.marked, w.k, h)
            if lost.value > 0:
                leave_gap(w, p, hop, lost.value)
            hop.marks += marked.value
            lost.value = marked.value = 0.0
        number_at(x.hop_waits, (w.k & w.mask) * x.n + h - x.first).value = hop.waited
        need_reach(w, x, hop.waited * w.per_second)
    gaps.value = 0.0
    clear(present(x, w.k), x.n)


@compiled
def leave_gap(w, p, hop, n):
    """`n` dropped packets follow the newest packet of their hop in the queue, if there is one."""
    if hop.newest != 0:
        packet_at(p.pool, hop.newest).lost += n
    else:
        pass_gaps(w, hop, n, False, 0.0)


@compiled
def count_wait(w, x, p, time):
    """Update the time integral of the queue before it changes."""
    if x.bins != 0:
        b = link_bin_at(x.bins, w.b)
        b.waiting += p.stored * (time - p.counted_until)
        b.queue_max = max(b.queue_max, p.stored)
    p.counted_until = time


@compiled
def run_until(w, x, p, time):
    """Let the discipline's timer and the transmitter act up to `time`."""
    while True:
        due = math.inf
        if x.timer != 0:
            due = queue_sample_at(x.sample, 0).wake
        if min(due, p.serve_at) > time:
            return
        if due <= p.serve_at:
            clear_sample(x, p, due)
            run_timer(x, due)
        else:
            serve(w, x, p, p.serve_at)


@compiled
def finds_no_room(x, p, size, time):
    """Whether a packet of `size` bytes does not fit; the packet being sent occupies the buffer."""
    sending = p.busy_until > time
    if x.in_bytes != 0:
        held = p.bytes + (p.sending_bytes if sending else 0.0)
        return held + size > x.limit or p.spare == 0
    return p.stored + (1.0 if sending else 0.0) >= x.limit or p.spare == 0


@compiled
def clear_sample(x, p, time):
    """Fill the discipline's sample without a packet: the packet's fields are NaN."""
    q = show_fluid_queue(x, time, p.stored, p.bytes)
    clear_packet(x, q)
    q.limit = math.nan if x.in_bytes != 0 else x.limit
    return q


@compiled
def show_packet(x, p, hop, marks, words, time):
    """Fill the discipline's sample for a packet of a hop that has been marked `marks` times and has
    its header fields at `words`."""
    q = show_fluid_queue(x, time, p.stored, p.bytes)
    show_hop(x, hop, 1.0, words)
    q.idle = max(time - p.busy_until, 0.0)
    q.limit = x.limit / hop.size if x.in_bytes != 0 else x.limit
    q.full = q.ecn = q.drop = q.mark = 0.0
    if hop.ect != 0:
        q.ecn = CE if marks > 0 else (ECT1 if hop.ect == L4S else ECT0)
    return q


@not_inlined
def enter(w, x, p, h, time):
    """A packet of hop `h` arrives: it is dropped, waits, or is sent at once."""
    hop = hop_at(w.hops, h)
    amount = min(hop.carry, 1 / hop.packets)
    hop.carry -= amount
    count_wait(w, x, p, time)
    full = finds_no_room(x, p, hop.size, time)
    refused = x.loss > 0 and uniform(x) < x.loss
    q = queue_sample_at(x.sample, 0)
    clear_verdict(q)
    if not refused:
        if x.rule != 0:
            words = words_at(w, x.carried_words, h - x.first)
            show_packet(x, p, hop, hop.marks, words, time)
            q.full = 1.0 if full else 0.0
            apply_discipline(x, x.rule, w.b)
            refused = is_dropped(q, hop)
            if not refused and q.mark != 0:
                hop.marks += 1
                count_mark(w, x, hop)
            if not refused and hop.sees != 0:
                note_words(x, words)
        refused = refused or (full and (q.evict < 0 or p.spare == 0))
    if refused:
        count_drop(w, x, hop)
        if hop.is_ack != 0:
            hop.held += amount
        else:
            leave_gap(w, p, hop, amount)
        return
    number, count = int(q.evict), int(q.evictions)
    store_packet(w, x, p, int(q.inner), h, time, amount)
    if number >= 0:
        push_out_packets(w, x, p, number, count, time)
    if p.busy_until <= time:
        serve(w, x, p, time)
    else:
        p.serve_at = p.busy_until


@compiled
def is_dropped(q, hop):
    """The discipline's decision; a mark drops a packet that is not ECN-capable."""
    return q.drop != 0 or (q.mark != 0 and hop.ect == 0)


@compiled
def drop_stored_packet(w, x, p, place):
    """Drop a packet that has waited; what it had to say follows the packets before it."""
    packet = packet_at(p.pool, place)
    hop = hop_at(w.hops, packet.hop)
    count_drop(w, x, hop)
    if hop.is_ack != 0:
        hop.held += packet.amount
    else:
        pass_gaps(w, hop, packet.amount + packet.lost, False, 0.0)


@not_inlined
def consult_rule(w, x, p, place, inner, number, again, evicted, time):
    """Call the discipline's rule for a packet that leaves its inner queue; returns the sample."""
    packet = packet_at(p.pool, place)
    words = words_at(w, p.words, place)
    q = show_packet(x, p, hop_at(w.hops, packet.hop), packet.marks, words, time)
    q.sojourn = time - packet.at
    q.again = again
    q.evicted = evicted
    q.inner = float(number)
    q.inner_queue = inner.count
    q.inner_bytes = inner.bytes
    apply_discipline(x, x.departure, w.b)
    return q


@not_inlined
def push_out_packets(w, x, p, number, count, time):
    """Drop packets from the head of an inner queue to make room in the buffer."""
    inner = inner_of(p, number)
    dropped = 0
    while inner.count > 0 and (
        dropped < count or (x.in_bytes != 0 and finds_no_room(x, p, 0.0, time))
    ):
        place = take_first_packet(w, x, p, inner, number)
        if x.departure != 0:
            consult_rule(w, x, p, place, inner, number, 0.0, 1.0, time)
        drop_stored_packet(w, x, p, place)
        dropped += 1


@not_inlined
def serve(w, x, p, time):
    """Send the next packet that the discipline lets pass, if any waits."""
    count_wait(w, x, p, time)
    p.serve_at = math.inf
    dropped_from = -1
    while p.stored > 0:
        if x.rate <= 0:
            p.serve_at = time + w.step
            return
        number = 0
        if x.select != 0:
            q = clear_sample(x, p, time)
            choose_inner(x, q, time, w.b)
            if q.not_before > time:
                p.serve_at = q.not_before
                return
            number = int(q.inner)
        inner = inner_of(p, number)
        if inner.count == 0:
            raise FloatingPointError("on_select set q.inner to an empty queue")
        place = take_first_packet(w, x, p, inner, number)
        if x.departure != 0:
            again = 1.0 if dropped_from == number else 0.0
            packet = packet_at(p.pool, place)
            hop = hop_at(w.hops, packet.hop)
            q = consult_rule(w, x, p, place, inner, number, again, 0.0, time)
            if is_dropped(q, hop):
                drop_stored_packet(w, x, p, place)
                dropped_from = number
                continue
            if q.mark != 0:
                packet.marks += 1
                count_mark(w, x, hop)
            if hop.sees != 0:
                note_words(x, words_at(w, p.words, place))
        send_on_link(w, x, p, place, time)
        if p.busy_until > time:
            if p.stored > 0:
                p.serve_at = p.busy_until
            return


@compiled
def send_on_link(w, x, p, place, time):
    """Send a packet: its fluid, marks and gaps pass on."""
    packet = packet_at(p.pool, place)
    hop = hop_at(w.hops, packet.hop)
    amount = packet.amount + hop.held
    hop.held = 0.0
    hop.waited = time - packet.at
    duration = BITS * hop.size / x.rate
    p.busy_until = time + duration
    p.sending_bytes = hop.size
    if hop.has_words != 0:
        words = words_at(w, p.words, place)
        pass_words_on(w, words, packet.amount, w.k + hop.delay, hop.next, hop.flow)
    pass_fluid(w, hop, amount)
    if hop.last_data != 0:
        flow_at(w.flows, hop.flow).reached += amount
    if packet.marks > 0:
        pass_gaps(w, hop, packet.marks, True, 0.0)
    if packet.lost > 0:
        pass_gaps(w, hop, packet.lost, False, 0.0)
    if x.bins != 0:
        b = link_bin_at(x.bins, w.b)
        b.sent_bits += BITS * hop.size
        b.busy += duration
