"""FIFO links: the departure of a packet is known when it arrives.

A link without a queue only keeps its transmitter busy. Stages of jitter and aggregation delay
packets; on a link with fluid in it (hybrid) a packet waits for the fluid before it.
"""

import math

from tcpcc.engine.jit import compiled, index_at, not_inlined, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bit_sets import put_member
from tcpcc.models.packet import packet_records as r
from tcpcc.models.packet.event_list import schedule
from tcpcc.models.packet.headers import count_marks, show_header, take_verdict
from tcpcc.models.packet.links.queue_sample import clear_queue_sample, fill_queue_sample
from tcpcc.models.packet.recorder import add_sending, add_waiting_from, bin_at, bin_of
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer
from tcpcc.models.recorded_fields import link_bin_at


@compiled
def comes_first(time, since, departure, begun):
    """Whether an arrival comes before a departure; if they are simultaneous, the older event does.

    `since` is when the arriving packet's last transmission began, `begun` when the transmission
    that the departure ends began. If link rates are multiples of each other, such ties are common
    and decide which packets are dropped.
    """
    return departure > time or (departure == time and since <= begun)


@compiled
def leave_queue(link, time, since):
    """Remove packets with a transmission that began before an arrival; returns how many wait."""
    while link.queue_head != link.queue_tail:
        entry = r.queued_at(link.queue, link.queue_head & link.queue_mask)
        if comes_first(time, since, entry.leaves, link.sending_since):
            break
        link.queue_bytes -= entry.size
        link.sending_bytes = entry.size
        link.sending_since = entry.leaves
        link.queue_head += 1
    return link.queue_tail - link.queue_head


@compiled
def is_full(link, waiting, sending, size):
    """Whether a packet of `size` bytes does not fit; a packet being sent occupies the buffer."""
    if link.in_bytes != 0:
        held = link.queue_bytes + (link.sending_bytes if sending != 0 else 0.0)
        return held + size > link.capacity
    return waiting + sending >= link.capacity


@compiled
def refuses(w, link, flow, p, time, since, size, waiting):
    """Whether the link drops packet `p`, which arrives at `time` while `waiting` others wait.

    The discipline may instead mark the packet or write into its header.
    """
    if link.loss > 0 and uniform(link) < link.loss:
        return True
    sending = comes_first(time, since, link.busy_until, link.begin) and (
        link.begin < math.inf or link.left > 0
    )
    full = is_full(link, waiting, 1 if sending else 0, size)
    if link.rule != 0:
        q = fill_queue_sample(w, link, flow, p, time, size, waiting, full)
        apply_discipline(link, link.rule, bin_at(w, time))
        return full or not take_verdict(w, q, link, p.header, time)
    return full


@compiled
def cross(w, link, flow, p, time, since, size):
    """Send packet `p` of `size` bytes over `link`; returns its arrival time, or -1 if dropped."""
    link.arrived += 1
    if link.tracked != r.TRACKED:
        return cross_untracked(w, link, flow, p, time, since, size)
    waiting = leave_queue(link, time, since)
    if refuses(w, link, flow, p, time, since, size, waiting):
        link.dropped += 1
        return -1.0
    return transmit(w, link, time, size, waiting)


@not_inlined
def cross_untracked(w, link, flow, p, time, since, size):
    """As :func:`cross`, for links that keep no queue."""
    if link.tracked == r.ELSEWHERE:
        return linger(link, time, since)
    if link.tracked == r.IN_FLUID:
        return cross_fluid(w, link, flow, p, time, size)
    return occupy(link, time, size) + (link.duration + link.delay)


@not_inlined
def cross_together(w, link, flow, p, time, since, size, count):
    """As :func:`cross`, for a packet that stands for `count` packets, which arrive together.

    What the link decides about the first of them, it decides about all; its discipline sees each.
    """
    marked = link.marked
    arrival = cross(w, link, flow, p, time, since, size)
    if count == 1:
        return arrival
    link.arrived += count - 1
    if link.marked > marked:
        count_marks(w, link, time, count - 1)
    if arrival < 0:
        link.dropped += count - 1
    for _ in range(count - 1):
        waiting = link.queue_tail - link.queue_head
        if link.rule != 0:
            count_others(w, link, flow, p, time, size, waiting, 1)
        if arrival >= 0 and link.tracked == r.TRACKED:
            arrival = transmit(w, link, time, size, waiting)
        elif arrival >= 0:
            arrival = occupy(link, time, size) + (link.duration + link.delay)
    return arrival


@not_inlined
def count_others(w, link, flow, p, time, size, waiting, others):
    """Let a discipline without a rule for amounts see `others` that a packet stands for."""
    for _ in range(others):
        fill_queue_sample(w, link, flow, p, time, size, waiting, False)
        apply_discipline(link, link.rule, -1)


@not_inlined
def cross_fluid(w, link, flow, p, time, size):
    """As :func:`cross`, for a link with fluid in it: the packet waits for the fluid before it, and
    the next step of the fluid begins behind it. A full buffer refuses it as often as fluid."""
    fluid = r.fluid_link_at(link.fluid, 0)
    lost = link.loss > 0 and uniform(link) < link.loss
    if not lost and fluid.refused > 0 and uniform(link) < fluid.refused:
        fluid.due = max(fluid.due - 1, 0.0)
        lost = True
    if lost:
        link.dropped += 1
        return -1.0
    if link.rule != 0:
        q = queue_sample_at(link.sample, 0)
        show_header(w, q, link, flow, p.header)
        chance = fluid.early
        if p.header != 0 and q.ecn == 1:
            chance = fluid.early_l4s
        hit = 1.0 if chance > 0 and uniform(link) < chance else 0.0
        q.mark = hit * fluid.marks
        q.drop = hit - q.mark
        if not take_verdict(w, q, link, p.header, time):
            link.dropped += 1
            return -1.0
    ahead = max(fluid.bits + fluid.slope * (time - fluid.begin), 0.0) + fluid.added
    fluid.added += 8 * size
    place = index_at(w.columns, flow.path + p.hop).at
    number_at(fluid.arrivals, place * fluid.stride).value += 1
    put_member(fluid.present, place)
    link.begin = max(time + ahead / link.rate, link.busy_until)
    link.behind = 0
    link.busy_until = link.begin + 8 * size / link.rate
    return link.busy_until + link.delay


@compiled
def occupy(link, time, size):
    """Send an accepted packet after those before it; returns when its transmission begins, which
    takes ``link.duration``."""
    begin = max(time, link.busy_until)
    if size != link.size:
        begin = take_size(link, begin, size)
    if link.busy_until >= time:  # a departure at this instant comes after the arrival
        link.behind = min(link.behind + 1, r.FAR_BEHIND)
    else:
        link.behind = 0
    link.busy_until = begin + link.duration
    link.begin = begin
    return begin


@not_inlined
def take_size(link, begin, size):
    """Set the duration of the transmission of `size` bytes; returns when it begins, at the earliest
    at `begin`. At rate 0 it does not, and `retime` sets the times when the rate changes."""
    if link.rate > 0:
        link.size = size
        link.duration = 8 * size / link.rate
        return begin
    link.duration = 0.0
    return math.inf


@compiled
def transmit(w, link, time, size, waiting):
    """As :func:`occupy`, for a link that keeps its queue, in which `waiting` packets are; returns
    when the packet arrives."""
    begin = occupy(link, time, size)
    if begin > time:
        entry = r.queued_at(link.queue, link.queue_tail & link.queue_mask)
        entry.leaves = begin
        entry.size = size
        link.queue_tail += 1
        link.queue_bytes += size
        if waiting + link.margin > link.queue_mask:
            w.need = 1
    else:
        link.sending_bytes = size
        link.sending_since = begin
    if link.recorded != 0:
        record_crossing(w, link, time, begin, size, waiting)
    return begin + (link.duration + link.delay)


@not_inlined
def linger(link, time, since):
    """A stage of jitter or aggregation delays a packet; returns when the packet leaves it.

    `since` stays that of the link before, so a packet that is not delayed continues as if there
    were no stage.
    """
    link.begin = since
    if link.jitter > 0 and (link.share == 1 or uniform(link) < link.share):
        time += link.jitter * uniform(link)
    if link.period > 0:
        time = math.ceil(time / link.period) * link.period
    if link.reorders == 0:
        time = max(time, link.newest)
        link.newest = time
    return time


@compiled
def record_crossing(w, link, time, begin, size, waiting):
    k = bin_of(w, time)
    if time <= w.duration:
        b = link_bin_at(link.bins, min(k, w.n_bins - 1))
        b.arrived += 1
        if begin > time:
            b.queue_max = max(b.queue_max, waiting + 1.0)
    if begin > time:
        add_waiting_from(w, link, k, time, begin, 1.0)
    add_sending(w, link, begin, link.busy_until, 8 * size, 1.0)


@compiled
def wake_queue(w, link, now, waiting):
    """Run the timer of the link's discipline, which sees `waiting` packets in the queue."""
    clear_queue_sample(link, queue_sample_at(link.sample, 0), waiting)
    schedule(w, run_timer(link, now), r.QUEUE_TIMER, link.ident)
