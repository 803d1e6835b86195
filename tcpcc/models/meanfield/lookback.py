"""Look up the past: when packets that reach a link or a sender now were sent or forwarded.

A packet that arrives at a link at time u leaves its queue at D(u) = u + backlog(u) / rate. D never
decreases, because a FIFO queue keeps the order. A packet that leaves now arrived at the time u with
D(u) = now, which is found by a cursor that only moves forward. So each packet has its exact delay,
whatever the queue has done since. Values between two rows of the history are interpolated linearly,
which keeps the method of second order. Arrivals at rate x leave at rate x du/dD; for a busy link
this is its own rate.
"""

import math

from tcpcc.engine.jit import compiled, number_at
from tcpcc.models.meanfield.buffers import bypasses, hit_share, marked_share, passing_share
from tcpcc.models.meanfield.meanfield_records import (
    BYTES,
    class_at,
    class_slot_at,
    mean_link_at,
)

ALL = 1 - 1e-9  # largest share of lost packets; keeps losses per ACK finite
# columns of a link in the history
BACKLOG, EARLY, EARLY_L4S, MARKS, OVER, LINK_COLUMNS = 0, 1, 2, 3, 4, 5


@compiled
def history_cell(w, row, column):
    return number_at(w.history + (row & w.mask) * w.columns * BYTES, column)


@compiled
def at(w, row, part, column):
    """Value at `part` of the step from `row` to the next; 0 before the first row."""
    if row < 0:
        return 0.0
    here = history_cell(w, row, column).value
    return here + part * (history_cell(w, row + 1, column).value - here) if part > 0 else here


@compiled
def departure(w, link, row):
    """Departure time D of a packet that arrives at the time of `row`."""
    return row * w.step + history_cell(w, row, link.column + BACKLOG).value / link.rate


@compiled
def row_and_part(w, time, newest):
    """The row at or before `time`, at most `newest`, and the part of a step after it."""
    steps = time / w.step
    row = math.floor(steps)
    if row >= newest:
        return newest, 0.0
    return row, steps - row


@compiled
def arrived(w, link, cursor, time, newest):
    """When a packet that leaves the queue at `time` arrived: row, part of a step, du/dD, cursor."""
    if time < 0:
        row, part = row_and_part(w, time, newest)
        return row, part, 1.0, cursor
    while cursor + 1 <= newest and departure(w, link, cursor + 1) <= time:
        cursor += 1
    if cursor >= newest:
        return newest, 0.0, 1.0, newest
    here, there = departure(w, link, cursor), departure(w, link, cursor + 1)
    length = there - here
    if length <= 1e-9 * w.step:
        return cursor, 0.0, 1.0, cursor
    return cursor, min(max((time - here) / length, 0.0), 1.0), w.step / length, cursor


@compiled
def entered(w, c, slot, link, cursor, time, newest):
    """:func:`arrived` for a packet of class `c`, which may not have to wait."""
    if not bypasses(c, slot, link):
        return arrived(w, link, cursor, time, newest)
    row, part = row_and_part(w, time, newest)
    return row, part, 1.0, max(row, 0)


@compiled
def shares_at(w, c, slot, link, row, part):
    """Shares of the packets of class `c` that pass the link, and that it marks, at a past time."""
    early = at(w, row, part, link.column + EARLY)
    hit = hit_share(c, early, at(w, row, part, link.column + EARLY_L4S))
    marked = marked_share(c, hit, at(w, row, part, link.column + MARKS))
    over = at(w, row, part, link.column + OVER)
    return passing_share(c, slot, link, hit - marked, over), marked


@compiled
def follow_back(w, c, now, newest):
    """Trace what reaches the sender of class `c` now back to its sending time, link by link."""
    time = now - c.after
    kept = unmarked = 1.0
    for j in range(c.n_slots - 1, -1, -1):
        slot = class_slot_at(w.slots, c.first_slot + j)
        link = mean_link_at(w.links, slot.link)
        row, part, pace, slot.seen = entered(w, c, slot, link, slot.seen, time, newest)
        time = (row + part) * w.step
        passing = 1.0
        if slot.carries_ack == 0:
            passing, marked = shares_at(w, c, slot, link, row, part)
            kept *= max(passing, 1 - ALL)
            unmarked *= 1 - marked
        if j == c.n_slots - 1:
            c.back_row, c.back_part, c.back_pace, c.back_passing = row, part, pace, passing
        time -= slot.before
    if c.n_slots == 0:
        c.back_row, c.back_part = row_and_part(w, time, newest)
    c.lost_per_ack = (1 - kept) / kept
    c.marked_per_ack = 1 - unmarked
    c.sent_at = time


@compiled
def set_feedback_rates(w, c, now):
    """Set the feedback that reaches the sender of class `c` now: ACKs, losses, marks and an RTT."""
    way = class_at(w.classes, c.way)
    if c.n_slots > 0:
        column = class_slot_at(w.slots, c.first_slot + c.n_slots - 1).column
        acks = at(w, way.back_row, way.back_part, column)
        c.acks = acks * way.back_passing * way.back_pace
    else:
        c.acks = at(w, way.back_row, way.back_part, c.column)
    c.losses = c.acks * way.lost_per_ack
    c.marks = c.acks * way.marked_per_ack
    c.rtt = now - way.sent_at if c.acks > 0 else c.base_rtt
    if c.acks > 0:
        c.min_rtt = min(c.min_rtt, c.rtt)
        c.max_rtt = max(c.max_rtt, c.rtt)


@compiled
def set_arrival_rates(w, c, now, newest):
    """Set the rates at which packets of one flow of class `c` arrive at the links of its path."""
    for j in range(c.n_slots):
        slot = class_slot_at(w.slots, c.first_slot + j)
        time = now - slot.before
        if j == 0:
            if slot.before <= 0:
                slot.rate = c.now_rate
            else:
                row, part = row_and_part(w, time, newest)
                slot.rate = at(w, row, part, c.column)
            continue
        last = class_slot_at(w.slots, c.first_slot + j - 1)
        link = mean_link_at(w.links, last.link)
        row, part, pace, slot.cursor = entered(w, c, last, link, slot.cursor, time, newest)
        passing = 1.0
        if last.carries_ack == 0:
            passing, _ = shares_at(w, c, last, link, row, part)
        slot.rate = at(w, row, part, last.column) * passing * pace
