"""The state in which a class of flows settles in an unchanging network."""

import math

from tcpcc.engine.jit import compiled, entry
from tcpcc.models.meanfield import buffers
from tcpcc.models.meanfield.drift import (
    advance_by_mean,
    advance_state,
    apply_event,
    find_drift,
    see,
    settle,
    window,
)
from tcpcc.models.meanfield.meanfield_records import class_at, mean_link_at
from tcpcc.models.queue_memory import queue_sample_at
from tcpcc.transport.flow_record import window_at

PER_ROUND = 2  # steps per round-trip time
STILL = 1e-10  # of a window; a window that moves less in its time constant is at rest
CALM = 8  # steps in a row at rest that end the search
SAME = 1e-7  # of a window; means over two blocks that differ less are equal
FIRST_BLOCK = 512  # steps of the first block; each block is twice as long as the previous one


@compiled
def set_feedback(c, state, loss, mark):
    """Set the ACK and loss rates of a flow, given the shares of lost and marked packets."""
    c.acks = window(c, state) / c.rtt * (1 - loss)
    c.losses = c.acks * loss / (1 - loss)
    c.marks = c.acks * mark


@entry
def settle_class(classes, index, loss, mark, rounds, most):
    """Follow a class's drift at its present round-trip time, after one loss at its initial window.

    Args:
        classes, index: address of the classes, and number of this class.
        loss, mark: shares of its packets that are lost and marked.
        rounds: longest time, in round trips.
        most: packets; a window that reaches this is taken as unbounded.

    Returns:
        the window and True if it is at rest. Otherwise the window's mean and False: the mean over a
        block of time, once two successive blocks agree, or over the last block.
    """
    c = class_at(classes, index)
    step = c.rtt / PER_ROUND
    now = 1.0
    window_at(c.state, 0).cwnd = c.initial_window
    set_feedback(c, c.state, loss, mark)
    c.quantum = c.acks * step
    c.slow = 0
    see(c, c.state, now)
    settle(c, c.state)
    apply_event(c, c.on_loss, c.state)
    settle(c, c.state)
    calm = 0
    mean, total, counted, block = 0.0, 0.0, 0, FIRST_BLOCK
    for _ in range(int(rounds * PER_ROUND)):
        set_feedback(c, c.state, loss, mark)
        c.quantum = c.acks * step
        find_drift(c, c.state, now, c.first)
        advance_state(c, step, c.first, c.state, c.trial)
        now += step
        set_feedback(c, c.trial, loss, mark)
        c.quantum = c.acks * step
        find_drift(c, c.trial, now, c.second)
        before = window_at(c.state, 0).cwnd
        advance_by_mean(c, step)
        cwnd = window_at(c.state, 0).cwnd
        if not 0 < cwnd < math.inf:
            return cwnd, False
        if min(cwnd, c.rwnd) >= most:
            return most, False
        events = c.losses + c.marks
        own_time = 1 / events if events > 0 else c.rtt * cwnd
        calm = calm + 1 if abs(cwnd - before) * own_time < STILL * cwnd * step else 0
        if calm == CALM or (cwnd > c.rwnd and calm > 0):
            return cwnd, True
        total += cwnd
        counted += 1
        if counted == block:
            last, mean = mean, total / counted
            if abs(mean - last) < SAME * mean:
                return mean, False
            total, counted, block = 0.0, 0, 2 * block
    return mean, False


@entry
def settle_queue(links, index, backlog, arrivals, times):
    """The share that a link's discipline drops once it has settled at a constant `backlog` (bits).

    The discipline is called `times` times with `arrivals` packets each, and its timer never.
    """
    link = mean_link_at(links, index)
    if link.timer != 0:
        queue_sample_at(link.sample, 0).wake = math.inf
    for _ in range(times):
        buffers.ask_discipline(link, 0.0, 0.0, backlog, arrivals, -1)
    return link.early


@entry
def tick_queue(links, index, backlog, arrivals, times):
    """Call the timer of a link's discipline `times` times at a constant `backlog` (bits), each time
    after `arrivals` packets. Returns the time until the next call in s."""
    link = mean_link_at(links, index)
    q = queue_sample_at(link.sample, 0)
    for _ in range(times):
        q.wake = 0.0
        buffers.ask_discipline(link, 0.0, 1.0, backlog, arrivals, -1)
    return q.wake
