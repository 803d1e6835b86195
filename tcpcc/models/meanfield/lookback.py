"""The past: what reaches a link or a sender now left the sender, or the link before, earlier.

A packet that arrives at a link at u leaves its queue at D(u) = u + backlog(u) / rate; D never
falls, since a FIFO queue does not overtake. What leaves now has arrived at the u with D(u) = now,
found by a cursor that only goes forward: the delays are those that each packet really had, whatever
the queue has done since. Between the rows of the history everything is linear, which keeps the
method of second order. What came in at rate x leaves at x du/dD: a full link lets out its own rate.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.meanfield.meanfield_records import BYTES, class_at, link_at, number_at, slot_at

ALL = 1 - 1e-9  # most that counts as lost of what arrives
BACKLOG, PROB, MARKED, LINK_COLUMNS = 0, 1, 2, 3  # columns of a link


@compiled
def cell(w, row, column):
    return number_at(w.history + (row & w.mask) * w.columns * BYTES, column)


@compiled
def at(w, row, part, column):
    """Value between `row` and the next; before the first row, nothing."""
    if row < 0:
        return 0.0
    here = cell(w, row, column).value
    return here + part * (cell(w, row + 1, column).value - here) if part > 0 else here


@compiled
def departure(w, link, row):
    """D of what arrives at the time of `row`."""
    return row * w.step + cell(w, row, link.column + BACKLOG).value / link.rate


@compiled
def split(w, time, newest):
    """The row at or before `time`, at most the `newest`, and the part of a step beyond it."""
    steps = time / w.step
    row = math.floor(steps)
    if row >= newest:
        return newest, 0.0
    return row, steps - row


@compiled
def arrived(w, link, cursor, time, newest):
    """When what leaves the queue at `time` arrived: row, part of a step, du/dD, and the cursor."""
    if time < 0:
        row, part = split(w, time, newest)
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
def follow_back(w, c, now, newest):
    """Follow what reaches the sender of class `c` now back to when it was sent, link by link."""
    time = now - c.after
    kept = unmarked = 1.0
    for j in range(c.n_slots - 1, -1, -1):
        slot = slot_at(w.slots, c.first_slot + j)
        link = link_at(w.links, slot.link)
        row, part, pace, slot.seen = arrived(w, link, slot.seen, time, newest)
        time = (row + part) * w.step
        passing = 1.0
        if slot.carries_ack == 0:
            passing = 1 - at(w, row, part, link.column + PROB)
            kept *= max(passing, 1 - ALL)
            unmarked *= 1 - at(w, row, part, link.column + MARKED)
        if j == c.n_slots - 1:
            c.back_row, c.back_part, c.back_pace, c.back_passing = row, part, pace, passing
        time -= slot.before
    if c.n_slots == 0:
        c.back_row, c.back_part = split(w, time, newest)
    c.lost_per_ack = (1 - kept) / kept + 1 - unmarked
    c.sent_at = time


@compiled
def look_back(w, c, now):
    """What reaches the sender of class `c` now: acknowledgements, losses and marks, an RTT."""
    way = class_at(w.classes, c.way)
    if c.n_slots > 0:
        column = slot_at(w.slots, c.first_slot + c.n_slots - 1).column
        acks = at(w, way.back_row, way.back_part, column)
        c.acks = acks * way.back_passing * way.back_pace
    else:
        c.acks = at(w, way.back_row, way.back_part, c.column)
    c.losses = c.acks * way.lost_per_ack
    c.rtt = now - way.sent_at if c.acks > 0 else c.base_rtt
    if c.acks > 0:
        c.min_rtt = min(c.min_rtt, c.rtt)
        c.max_rtt = max(c.max_rtt, c.rtt)


@compiled
def look_ahead(w, c, now, newest):
    """The rates at which packets of one flow of class `c` arrive at the links of its path now."""
    for j in range(c.n_slots):
        slot = slot_at(w.slots, c.first_slot + j)
        time = now - slot.before
        if j == 0:
            if slot.before <= 0:
                slot.rate = c.now_rate
            else:
                row, part = split(w, time, newest)
                slot.rate = at(w, row, part, c.column)
            continue
        last = slot_at(w.slots, c.first_slot + j - 1)
        link = link_at(w.links, last.link)
        row, part, pace, slot.cursor = arrived(w, link, slot.cursor, time, newest)
        passing = 1.0
        if last.carries_ack == 0:
            passing = 1 - at(w, row, part, link.column + PROB)
        slot.rate = at(w, row, part, last.column) * passing * pace
