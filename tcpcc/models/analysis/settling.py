"""The state in which a class of flows settles in an unchanging network."""

import math

from tcpcc.engine.jit import compiled, entry, number_at
from tcpcc.models.analysis.drift import apply_event, class_at, find_drift, see, settle, window
from tcpcc.transport.flow_record import window_at

PER_ROUND = 2  # steps per round-trip time
STILL = 1e-10  # of a window; a window that moves less in its time constant is at rest
CALM = 8  # steps in a row at rest that end the search
SAME = 1e-7  # of a window; means over two blocks that differ less are equal
FIRST_BLOCK = 512  # steps of the first block; each block is twice as long as the previous one


@compiled
def set_feedback(c, state, loss, mark, step):
    """Set the ACK and loss rates of a flow, given the shares of lost and marked packets."""
    c.acks = window(c, state) / c.rtt * (1 - loss)
    c.losses = c.acks * loss / (1 - loss)
    c.marks = c.acks * mark
    c.quantum = c.acks * step


@compiled
def take_step(c, loss, mark, now, step):
    """A step of Heun's method."""
    set_feedback(c, c.state, loss, mark, step)
    find_drift(c, c.state, now, c.first)
    for i in range(c.n):
        number_at(c.trial, i).value = (
            number_at(c.state, i).value + step * number_at(c.first, i).value
        )
    set_feedback(c, c.trial, loss, mark, step)
    find_drift(c, c.trial, now + step, c.second)
    half = 0.5 * step
    for i in range(c.n):
        y = number_at(c.state, i)
        y.value = y.value + half * number_at(c.first, i).value + half * number_at(c.second, i).value


@compiled
def begin(c, loss, mark, step):
    """Open the connection, and apply a first loss at the initial window."""
    window_at(c.state, 0).cwnd = c.initial_window
    set_feedback(c, c.state, loss, mark, step)
    see(c, c.state, 1.0)
    settle(c, c.state)
    apply_event(c, c.on_loss, c.state)
    settle(c, c.state)


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
    begin(c, loss, mark, step)
    now = 1.0
    calm = 0
    mean, total, counted, block = 0.0, 0.0, 0, FIRST_BLOCK
    for _ in range(int(rounds * PER_ROUND)):
        before = window_at(c.state, 0).cwnd
        take_step(c, loss, mark, now, step)
        now += step
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
