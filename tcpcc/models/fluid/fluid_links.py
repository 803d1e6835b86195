"""A link of fluid: a FIFO queue of the steps at which fluid has arrived.

(2)  dq/dt = sum of x - C        each flow's departures are delayed as its fluid was
(6)  a packet is dropped         whenever it finds the buffer full (fluid_overflow)
(7)  a packet is hit             whenever the discipline's probability, summed over the arrivals,
                                 passes the next distance between hits: dropped, or marked (ECN)

A sender that stands for several flows has one packet for a packet of each. Where the flows meet, it
takes their place and their time; (6) and (7) draw such packets of senders, and each counts as many.

A dropped packet leaves a gap that travels with its neighbours, so that the sender learns of it when
they return.
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bit_sets import clear, holds, members_of, put_all
from tcpcc.models.fluid.fluid_amounts import arrive_in_amounts, depart_in_amounts
from tcpcc.models.fluid.fluid_drops import chosen_hop, drop_one, hit_one, l4s_arrivals
from tcpcc.models.fluid.fluid_fields import pass_words_on, words_of_hop
from tcpcc.models.fluid.fluid_in_order import count_arrivals, is_ordered
from tcpcc.models.fluid.fluid_overflow import overflow
from tcpcc.models.fluid.fluid_queue_sample import show_fluid_queue
from tcpcc.models.fluid.fluid_records import (
    BETWEEN,
    BITS,
    LEAST,
    arrives,
    flow_at,
    hop_at,
    hop_cell,
    link_cell,
    need_reach,
    pass_fluid,
    pass_gaps,
    present,
    queue_at,
    row_of,
    target_at,
    wait_at,
)
from tcpcc.models.queue_memory import apply_discipline, queue_sample_at, run_timer
from tcpcc.models.recorded_fields import link_bin_at

RECENT = 1.0  # s
ROUNDING = 1e-6  # packets
NO_GAPS = 2.0  # more than any part of the fluid
SMALL = 1e-8  # loss rate p; log(1 - p) is -p


@compiled
def step_queue(w, x, now):
    """One step of the queue `x`: arrivals, departures, drops and marks."""
    packets = take_arrivals(w, x)
    if packets == 0 and x.head == w.k and x.rule == 0 and link_cell(x, x.gaps, w.k).value == 0:
        # nothing waits or arrives at a link whose queue has no rule
        wait_at(w, x).value = 0.0
        x.head += 1
        x.head_bits = x.backlog = x.backlog_bits = 0.0
        return
    if x.in_amounts != 0:
        arrive_in_amounts(w, x, now, packets)
    if x.loss > 0:  # before departures: what is lost takes its place among what leaves
        lose_at_random(w, x)
    room, before = x.rate * w.step, x.backlog
    left = depart(w, x, room)
    x.departed = before - x.backlog
    need_reach(w, x, w.k - x.head)
    wait_at(w, x).value = wait(w, x)
    if x.backlog <= LEAST:
        x.idle += left / x.rate if x.rate > 0 else w.step
    if packets > 0:
        drop(w, x, now, packets)
    elif x.timer != 0 and x.in_amounts == 0:
        call_timers(x, now)
    if x.bins != 0:
        b = link_bin_at(x.bins, w.b)
        waiting = min(max(x.backlog - 0.5, 0.0), x.limit - 1 if x.in_bytes == 0 else math.inf)
        b.waiting += waiting * w.step
        b.queue_max = max(b.queue_max, waiting)
        b.sent_bits += room - left
        b.busy += (room - left) / x.rate if x.rate > 0 else 0.0
        b.arrived += packets


@compiled
def take_arrivals(w, x):
    """Add what arrives in this step; returns its packets."""
    packets = bits = draws = outside = 0.0
    x.complete = 0.0
    ordered = is_ordered(x)
    grown = row_of(x, x.grown, w.k)
    hop_set, row, column = present(x, w.k), row_of(x, x.fluid, w.k), x.mask + BETWEEN
    first, hops = x.first, w.hops
    if x.head == w.k:  # all of the step before has left
        clear(present(x, w.k - 1), x.n)
    for i in members_of(hop_set, x.n):
        hop = hop_at(hops, first + i)
        cell = number_at(row, i * column)
        if ordered:
            count_arrivals(w, x, first + i, cell.value * hop.draws)
        if hop.owed > 0 and cell.value > 0:
            pay_owed(w, x, hop, cell)
        if x.clocked != 0:
            grew = number_at(grown, i * column)
            hop.growth = grew.value
            if hop.passes_growth == 0:
                grew.value = 0.0
        amount = cell.value
        drawn = amount * hop.draws
        if hop.from_outside != 0:
            outside += amount
        number_at(x.arrives, i).value = drawn
        packets += amount * hop.packets
        bits += amount * hop.bits
        draws += drawn
    x.draws = draws
    x.outside = outside
    x.arrived = packets
    x.backlog += packets
    x.backlog_bits += bits
    link_cell(x, x.bits, w.k).value = bits
    if x.head == w.k:
        x.head_bits = bits
    if packets > 0:
        x.size = bits / packets / BITS
    return packets


@compiled
def lose_at_random(w, x):
    """Drop packets of this step's arrivals at random distances."""
    if x.drawn_loss != x.loss:
        x.drawn_loss = x.loss
        x.until_random = spared_packets(x)
    x.until_random -= x.draws
    while x.until_random < -ROUNDING and x.draws > 0:
        x.until_random += 1 + spared_packets(x)
        drop_one(w, x)


@compiled
def spared_packets(x):
    """How many packets pass before one is lost at random: a geometric number, for packets are
    whole."""
    rate = -math.log(1 - x.loss) if x.loss > SMALL else x.loss
    return np.floor(-math.log(uniform(x)) / rate)


@compiled
def pay_owed(w, x, hop, cell):
    """The rest of packets that are dropped already arrives."""
    part = min(hop.owed, cell.value)
    hop.owed -= part
    x.owed -= part * hop.count
    cell.value -= part
    if x.loss > 0:  # a lost packet has its place among the others
        x.until_random -= part * hop.draws
    if x.bins != 0:
        link_bin_at(x.bins, w.b).arrived += part * hop.packets


@compiled
def depart(w, x, room):
    """Send at most `room` bits in the order of their arrival; returns how many could be more."""
    left = room
    while x.head <= w.k:
        row = link_cell(x, x.bits, x.head)
        gaps = link_cell(x, x.gaps, x.head)
        before = 0.0
        if gaps.value > 0 and x.head_bits > 0:
            before = row.value / x.head_bits
        if row.value > left:
            after = (row.value - left) / x.head_bits if gaps.value > 0 else NO_GAPS
            send_row(w, x, left / row.value, before, after)
            row.value -= left
            x.backlog_bits -= left
            return 0.0
        rest = left - row.value
        more = part_of_next(w, x, rest) if gaps.value == 0 else 0.0
        if more > 0:
            send_two_rows(w, x, more)
        else:
            send_row(w, x, 1.0, before, 0.0 if gaps.value > 0 else NO_GAPS)
        gaps.value = 0.0
        if x.head < w.k:  # `drop` needs the hops of this step
            clear(present(x, x.head), x.n)
        left = rest
        x.backlog_bits -= row.value
        row.value = 0.0
        x.head += 1
        x.head_bits = link_cell(x, x.bits, x.head).value if x.head <= w.k else 0.0
        if more > 0:
            link_cell(x, x.bits, x.head).value -= left
            x.backlog_bits -= left
            return 0.0
    x.backlog = x.backlog_bits = 0.0
    return left


@compiled
def part_of_next(w, x, room):
    """Which part of the row behind the head leaves in `room` bits; 0 if `send_row` has to send it,
    because all of it leaves, or gaps or header fields with it."""
    if x.head == w.k or x.carries != 0 or room <= 0 or link_cell(x, x.gaps, x.head + 1).value > 0:
        return 0.0
    bits = link_cell(x, x.bits, x.head + 1).value
    return room / bits if bits > room else 0.0


@compiled
def send_two_rows(w, x, part):
    """As `send_row` for the whole head and then for a `part` of the row behind it, for a busy link
    sends the end of a row and the beginning of the next one in each step."""
    hop_set, behind = present(x, x.head), present(x, x.head + 1)
    row, next_row = row_of(x, x.fluid, x.head), row_of(x, x.fluid, x.head + 1)
    grown, next_grown = row_of(x, x.grown, x.head), row_of(x, x.grown, x.head + 1)
    first, hops, column = x.first, w.hops, x.mask + BETWEEN
    packets = next_packets = 0.0
    put_all(hop_set, behind, x.n)  # the head's own set is of no more use
    for i in members_of(hop_set, x.n):
        hop = hop_at(hops, first + i)
        cell, next_cell = number_at(row, i * column), number_at(next_row, i * column)
        moved, next_moved = cell.value, next_cell.value * part
        cell.value = 0.0
        next_cell.value -= next_moved
        packets += moved * hop.packets
        next_packets += next_moved * hop.packets
        pass_fluid(w, hop, moved)
        if hop.target != 0:
            target_at(hop, w.k + hop.delay).value += next_moved
        if hop.passes_growth != 0:
            pass_growth(w, hop, number_at(grown, i * column), 1.0)
            pass_growth(w, hop, number_at(next_grown, i * column), part)
        if hop.last_data != 0:
            f = flow_at(w.flows, hop.flow)
            f.reached += moved
            f.reached += next_moved
    x.backlog -= packets
    x.backlog -= next_packets


@compiled
def send_row(w, x, part, before, after):
    """Send a part of the fluid at the head of the queue, and the gaps in it. Of what arrived
    together the part `before` is there and the part `after` stays, or there are `NO_GAPS`."""
    hop_set, row, column = present(x, x.head), row_of(x, x.fluid, x.head), x.mask + BETWEEN
    grown, first, hops = row_of(x, x.grown, x.head), x.first, w.hops
    packets = 0.0
    for i in members_of(hop_set, x.n):
        hop = hop_at(hops, first + i)
        cell = number_at(row, i * column)
        moved = cell.value * part
        cell.value = cell.value - moved if part < 1 else 0.0
        packets += moved * hop.packets
        if (hop.has_words != 0 or x.in_amounts != 0) and moved > 0:
            send_words(w, x, hop, moved, words_of_hop(w, x, x.head, first + i))
        pass_fluid(w, hop, moved)
        if hop.passes_growth != 0:
            pass_growth(w, hop, number_at(grown, i * column), part)
        if hop.last_data != 0:
            flow_at(w.flows, hop.flow).reached += moved
        if after != NO_GAPS:
            send_gaps(w, x, hop, first + i, moved, before, after)
    x.backlog -= packets


@compiled
def pass_growth(w, hop, grew, part):
    """Pass on a part of the growth of a hop's window."""
    if grew.value > 0:
        x = queue_at(w.queues, hop.next_link)
        hop_cell(x, x.grown, w.k + hop.delay, hop.next).value += grew.value * part
        grew.value = grew.value * (1 - part) if part < 1 else 0.0


@compiled
def send_words(w, x, hop, moved, words):
    """Pass on the header fields, at the address `words`, of `moved` units of a hop's fluid."""
    if x.in_amounts != 0 and x.departure != 0:
        depart_in_amounts(w, x, hop, moved, words)
    elif hop.has_words != 0:
        pass_words_on(w, words, moved, w.k + hop.delay, hop.next, hop.flow)


@compiled
def send_gaps(w, x, hop, h, moved, before, after):
    """Send the gaps and marks of hop `h` at the head of the queue: a single gap in its place,
    others with the last of the fluid. In this step `moved` units of fluid leave, from the part
    `before` of what arrived together to the part `after`."""
    lost = hop_cell(x, x.lost, x.head, h)
    after_gap = hop_cell(x, x.after_gap, x.head, h)
    if lost.value == 1 and after <= after_gap.value:
        behind = 0.0
        if before > after:
            behind = moved * min((after_gap.value - after) / (before - after), 1.0)
        pass_gaps(w, hop, 1.0, False, behind)
        lost.value = after_gap.value = 0.0
    if after > 0:
        return
    after_gap.value = 0.0
    marked = hop_cell(x, x.marked, x.head, h)
    merged = hop_cell(x, x.merged, x.head, h)
    if lost.value > 0:
        pass_gaps(w, hop, lost.value, False, 0.0)
    if marked.value > 0:
        pass_gaps(w, hop, marked.value, True, 0.0)
    x.backlog += merged.value
    lost.value = marked.value = merged.value = 0.0


@compiled
def wait(w, x):
    """How long what leaves at the end of this step has waited, s."""
    if x.head > w.k:
        return 0.0
    gone = 0.0
    if x.head_bits > 0:
        gone = 1 - link_cell(x, x.bits, x.head).value / x.head_bits
    return (w.k - x.head + 1 - min(max(gone, 0.0), 1.0)) * w.step


@compiled
def drop(w, x, now, packets):
    """Decide which packets of this step's arrivals are dropped or marked."""
    limit = np.floor(x.limit / x.size) if x.in_bytes != 0 else x.limit  # of the mean size
    if x.rule != 0 and x.in_amounts == 0:
        ask_for_probability(w, x, now, packets, limit)
        l4s = l4s_arrivals(w, x) if x.early_l4s != x.early else 0.0
        expected = x.early * (x.draws - l4s) + x.early_l4s * l4s
        x.until_early -= expected
        while x.until_early <= 0 and expected > 0:
            spread = queue_sample_at(x.sample, 0).spread
            x.until_early += 1 + spread * (2 * uniform(x) - 1)
            if l4s == 0:
                hit_one(w, x, chosen_hop(w, x, x.draws, 1.0, 1.0))
            else:
                hit_one(w, x, chosen_hop(w, x, expected, x.early, x.early_l4s))
    overflow(w, x, packets, limit)


@compiled
def ask_for_probability(w, x, now, packets, limit):
    """Call the discipline's rule for amounts; sets the probability of a hit."""
    waiting = max(x.backlog - 0.5, 0.0)
    q = show_fluid_queue(x, now, waiting, waiting * x.size)
    q.size = x.size
    q.limit = limit
    if x.reads_concentration != 0:
        q.concentration = concentration(w, x, packets)
    call_timers(x, now)
    q.now = now
    q.arrivals = packets
    q.idle = x.idle
    x.idle = 0.0
    q.prob = q.spread = q.anew = q.marks = q.bypass = 0.0
    q.prob_l4s = math.nan
    apply_discipline(x, x.rule, w.b)
    if math.isnan(q.prob):
        raise FloatingPointError("on_fluid left a q.prob that is NaN")
    x.early = min(max(q.prob, 0.0), 1.0)
    x.early_l4s = x.early
    if not math.isnan(q.prob_l4s):
        x.early_l4s = min(max(q.prob_l4s, 0.0), 1.0)
    if q.anew != 0:
        x.anew = 1
    elif x.anew != 0:
        x.anew = 0
        x.until_early = 1 + q.spread * (2 * uniform(x) - 1)


@compiled
def call_timers(x, now):
    """The discipline's timer, if it is due."""
    q = queue_sample_at(x.sample, 0)
    while x.timer != 0 and q.wake <= now:
        q.now = q.wake
        q.queue = max(x.backlog - 0.5, 0.0)
        q.queue_bytes = q.queue * x.size
        run_timer(x, q.wake)


@compiled
def concentration(w, x, packets):
    """The probability that an arrival of this step and one of about the last second are of one
    flow: in a step there are packets of few flows."""
    equal = recent = 0.0
    hop_set = present(x, w.k)
    for h in range(x.first, x.first + x.n):
        count = hop_at(w.hops, h).count
        amount = arrives(x, h).value if holds(hop_set, h - x.first) else 0.0
        mean = number_at(x.recent, h - x.first)
        mean.value += min(w.step / RECENT, 1.0) * (amount - mean.value)
        equal += count * amount * mean.value
        recent += count * mean.value
    return equal / (packets * recent) if recent > 0 else 0.0
