"""Heun's method with delays: each step uses the mean of the drifts at its start and at its end.

A step is at most as long as the shortest delay from a link back to a sender, so everything that
returns during the step is already known. The method is of second order. The drop probability of a
queue discipline, updated once per step, is extrapolated linearly within the step.

Before its first loss a class is in slow start (cwnd < ssthresh). There its flows act at the same
time: at the end of a round and at the first loss, the rule is applied to all of them at once.
"""

import math

from tcpcc.engine.jit import compiled, entry, index_at
from tcpcc.models.bins import flow_bin_at, link_bin_at
from tcpcc.models.meanfield import buffers
from tcpcc.models.meanfield.drift import (
    advance_by_mean,
    advance_state,
    apply_event,
    apply_to_state,
    find_drift,
    see,
    settle,
    window,
)
from tcpcc.models.meanfield.lookback import (
    BACKLOG,
    EARLY,
    EARLY_L4S,
    MARKS,
    OVER,
    follow_back,
    history_cell,
    set_arrival_rates,
    set_feedback_rates,
)
from tcpcc.models.meanfield.meanfield_records import (
    class_at,
    class_slot_at,
    mean_link_at,
    mean_world_at,
)
from tcpcc.transport.flow_record import CBR, window_at

DONE, GROW, FAILED = 0, 1, 2
CHECK_EVERY = 16  # steps between two checks of the free room in the history
SPARE = CHECK_EVERY + 4  # rows that must be free after a check


@compiled
def is_on(c, time, step):
    """Whether the flows of a class send at `time`, rounded to whole steps."""
    return c.start < time + 0.5 * step and time + 0.5 * step < c.stop


@compiled
def round_trip_ahead(w, c, trial):
    """The round-trip time of a packet that class `c` sends now."""
    rtt = c.base_rtt
    for j in range(c.n_slots):
        slot = class_slot_at(w.slots, c.first_slot + j)
        link = mean_link_at(w.links, slot.link)
        if not buffers.bypasses(c, slot, link):
            rtt += (link.trial if trial else link.backlog) / link.rate
    return rtt


@compiled
def set_sending_rate(w, c, i, on, trial):
    """Set the rate of class `c`, number `i`, if it is `on`, and add its arrivals to the links.

    The rate is a window per round-trip time of a packet sent now, at the present states and
    backlogs, or with `trial` at the predicted ones.
    """
    if c.way == i:
        c.rtt_ahead = round_trip_ahead(w, c, trial)
    rate = flows = 0.0
    if on:
        flows = c.count
        state = c.trial if trial else c.state
        rate = c.rate if c.kind == CBR else window(c, state) / class_at(w.classes, c.way).rtt_ahead
    c.now_rate = rate
    if c.n_slots > 0 and class_slot_at(w.slots, c.first_slot).before <= 0:
        class_slot_at(w.slots, c.first_slot).rate = rate
    buffers.add_arrivals(w, c, flows)


@compiled
def begin(c, now):
    """The flows of a class open their connections."""
    s = window_at(c.state, 0)
    s.cwnd = c.initial_window
    see(c, c.state, now)
    settle(c, c.state)
    c.slow = 1 if s.cwnd < s.ssthresh else 0
    c.round_end = now + c.base_rtt


@compiled
def leave_slow_start(c, now):
    """Begin congestion avoidance."""
    c.slow = 0
    if c.settles != 0:
        see(c, c.state, now)
        settle(c, c.state)


@compiled
def handle_losses(w, c, moved, then):
    """Handle the start of a class and, in slow start, the end of a round and the first loss."""
    if not moved:
        if c.on != 0:
            begin(c, then)
        return
    if c.slow == 0:
        return
    s = window_at(c.state, 0)
    if c.on_round != 0 and c.acks > 0 and then >= c.round_end:
        see(c, c.state, then)
        apply_to_state(c, c.on_round, c.state)
        c.round_end += c.rtt
    c.lost += (c.losses + c.marks) * w.step
    if c.lost >= 1:
        see(c, c.state, then)
        apply_event(c, c.on_loss if c.losses >= c.marks else c.on_mark, c.state)
        c.slow = 0
    elif s.cwnd >= s.ssthresh:
        leave_slow_start(c, then)


@compiled
def predict(w, c, now):
    """First half of the step of class `c`: the drift at `now`, and the predicted state."""
    if c.on != 0 and c.kind != CBR:
        c.quantum = c.acks * w.step
        find_drift(c, c.state, now, c.first)
        advance_state(c, w.step, c.first, c.state, c.trial)


@compiled
def take_feedback(w, c, i, then):
    """Find what returns to class `c`, number `i`, at `then`, and what it sends as predicted."""
    if c.way == i:
        follow_back(w, c, then, w.k)
    set_feedback_rates(w, c, then)
    set_arrival_rates(w, c, then, w.k)
    set_sending_rate(w, c, i, is_on(c, then, w.step), True)


@compiled
def correct(w, c, then):
    """Second half of the step: the drift at `then`, a step with the mean drift, then the events."""
    moved = c.on != 0
    c.on = 1 if is_on(c, then, w.step) else 0
    if c.kind == CBR:
        return
    if moved:
        c.quantum = c.acks * w.step
        find_drift(c, c.trial, then, c.second)
        advance_by_mean(c, w.step)
    handle_losses(w, c, moved, then)


@compiled
def step_links(w, then, b):
    """Second half of the links' step, with the predicted arrivals; `b` is the bin."""
    for i in range(w.n_links):
        link = mean_link_at(w.links, i)
        first, link.before = link.drift, link.backlog
        guess = min(max(2 * link.early - link.early_before, 0.0), 1.0)
        guess_l4s = min(max(2 * link.early_l4s - link.early_l4s_before, 0.0), 1.0)
        buffers.set_drift(link, link.trial, guess, guess_l4s)
        link.backlog = buffers.bounded(link, link.before + 0.5 * w.step * (first + link.drift))
        middle = 0.5 * (link.backlog + link.before)
        noted = b if link.bins != 0 and b < w.n_bins else -1
        buffers.ask_discipline(link, then, w.step, middle, link.arriving * w.step, noted)


@compiled
def record_interval(w, then, b):
    """Add the step that ends at `then` to the sums and to bin `b`."""
    counted = then > w.after + 0.5 * w.step
    for i in range(w.n_links):
        link = mean_link_at(w.links, i)
        part = link.room / link.rate / (buffers.BITS * link.size)
        newest = part * link.backlog
        queue = 0.5 * (newest + part * link.before)
        bits = min(link.arriving_bits * (1 - link.refused), link.rate)
        if link.backlog > 0:
            bits = link.rate
        lost = link.arriving * link.prob
        if counted:
            link.sum_queue += queue * w.step
            link.sum_bits += bits * w.step
            link.sum_arrived += link.arriving * w.step
            link.sum_dropped += lost * w.step
            link.least_queue = min(link.least_queue, newest)
            link.most_queue = max(link.most_queue, newest)
        if link.bins != 0 and b < w.n_bins:
            bin = link_bin_at(link.bins, b)
            bin.waiting += queue * w.step
            bin.queue_max = max(bin.queue_max, newest)
            bin.busy += bits / link.rate * w.step
            bin.sent_bits += bits * w.step
            bin.arrived += link.arriving * w.step
            bin.drops += lost * w.step
    for i in range(w.n_classes):
        c = class_at(w.classes, i)
        on, cwnd = c.on != 0, window_at(c.state, 0).cwnd
        if on and c.kind != CBR and not 0 < cwnd < math.inf:
            w.failed = i + 1
        if on and counted:
            c.sum_time += w.step
            c.sum_cwnd += cwnd * w.step
            c.sum_rtt += c.rtt * w.step
            c.sum_sent += c.now_rate * w.step
            c.sum_acked += c.acks * w.step
            c.sum_lost += (c.losses + c.marks) * w.step
        if c.bins != 0:
            record_class(w, c, on, b)


@compiled
def record_class(w, c, on, b):
    """Add the step of a class to its bin; called only if series are recorded."""
    c.sent += c.now_rate * w.step
    c.delivered += c.acks * w.step
    c.dropped += (c.losses + c.marks) * w.step
    if b < w.n_bins:
        bin = flow_bin_at(c.bins, b)
        bin.sent, bin.delivered, bin.dropped = c.sent, c.delivered, c.dropped
        if on:
            s = window_at(c.state, 0)
            bin.cwnd, bin.ssthresh, bin.rtt = s.cwnd, s.ssthresh, c.rtt


@compiled
def reach(w, row):
    """Compute rates and drifts at the new state, and note them in the history."""
    buffers.clear_arrivals(w)
    for i in range(w.n_classes):
        c = class_at(w.classes, i)
        set_sending_rate(w, c, i, c.on != 0, False)
        history_cell(w, row, c.column).value = c.now_rate
        for j in range(c.n_slots):
            slot = class_slot_at(w.slots, c.first_slot + j)
            history_cell(w, row, slot.column).value = slot.rate
    for i in range(w.n_links):
        link = mean_link_at(w.links, i)
        buffers.set_drift(link, link.backlog, link.early, link.early_l4s)
        history_cell(w, row, link.column + BACKLOG).value = link.backlog
        history_cell(w, row, link.column + EARLY).value = link.early
        history_cell(w, row, link.column + EARLY_L4S).value = link.early_l4s
        history_cell(w, row, link.column + MARKS).value = link.marks
        history_cell(w, row, link.column + OVER).value = link.over


@compiled
def take_step(w):
    now, then = w.k * w.step, (w.k + 1) * w.step
    b = int((then - 0.5 * w.step) / w.interval)
    for i in range(w.n_links):
        link = mean_link_at(w.links, i)
        link.trial = buffers.bounded(link, link.backlog + w.step * link.drift)
    buffers.clear_arrivals(w)
    for i in range(w.n_classes):
        predict(w, class_at(w.classes, i), now)
    for i in range(w.n_classes):
        take_feedback(w, class_at(w.classes, i), i, then)
    for i in range(w.n_classes):
        correct(w, class_at(w.classes, i), then)
    step_links(w, then, b)
    w.k += 1
    reach(w, w.k)
    record_interval(w, then, b)


@compiled
def needs_room(w):
    """Whether the history may become too short before the next check."""
    for i in range(w.n_classes):
        c = class_at(w.classes, i)
        longest = c.base_rtt
        oldest = w.k
        for j in range(c.n_slots):
            slot = class_slot_at(w.slots, c.first_slot + j)
            link = mean_link_at(w.links, slot.link)
            longest += link.backlog / link.rate
            if c.way == i:
                oldest = min(oldest, slot.seen)
            if j > 0:  # arrivals at the first link are looked up without a cursor
                oldest = min(oldest, slot.cursor)
        if max(longest / w.step, w.k - oldest) + SPARE > w.mask:
            return True
    return False


@compiled
def fill_first_rows(w):
    """Start the classes that send at time 0, and fill row 0 of the history."""
    for i in range(w.n_classes):
        c = class_at(w.classes, i)
        c.on = 1 if is_on(c, 0.0, w.step) else 0
        if c.on != 0 and c.kind != CBR:
            begin(c, 0.0)
    reach(w, 0)


@compiled
def run(w, until):
    while w.k < until:
        if w.k % CHECK_EVERY == 0 and needs_room(w):
            return GROW
        take_step(w)
        if w.failed != 0:
            return FAILED
    return DONE


@entry
def start_world(address):
    """Put a world at time 0."""
    fill_first_rows(mean_world_at(address, 0))


@entry
def run_world(address, until):
    """Advance to step `until`; return DONE, GROW (the history is too short) or FAILED (a window is
    not a positive finite number)."""
    return run(mean_world_at(address, 0), until)


@entry
def run_worlds(addresses, count):
    """Start `count` worlds, given by an array of their addresses, and run them to their ends.

    A world whose history is too short, or that has failed, stops; the others go on. Returns the
    number of stopped worlds.
    """
    left = 0
    for i in range(count):
        w = mean_world_at(index_at(addresses, i).at, 0)
        fill_first_rows(w)
        if run(w, w.end) != DONE:
            left += 1
    return left


__all__ = ["DONE", "FAILED", "GROW", "run_world", "run_worlds", "start_world"]
