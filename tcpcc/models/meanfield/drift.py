"""The drift of the mean state of a class of flows, computed from the controller's own rules.

If a Markov process jumps from state y to rule(y) at a certain rate, its mean drifts by rate
x (rule(y) - y). A flow has four kinds of such events, so

    dy/dt = acks (on_ack(y) - y) + losses (on_loss(y) - y) + marks (on_mark(y) - y)
            + (on_round(y) - y) / RTT

where acks, losses and marks are its rates of acknowledged, lost and marked packets, with at most
one event of a loss, and one of a mark, in a round-trip time. y is the whole state: cwnd, ssthresh
and the controller's own variables. The mean of a rule is approximated by the rule at the mean. The
rules are called, not rewritten.

An effect of a loss that shows at the next ACK (CUBIC's epoch begins there) is part of the loss:
``on_loss`` is followed by an ``on_ack`` of no packets. A time that a rule notes ("the epoch began
now") is a state like any other: its mean moves by the rate of the event times the distance to the
present, so its age settles at one over the rate.
"""

import math

from tcpcc.engine.jit import call_rule, compiled, entry, number_at
from tcpcc.models.meanfield.meanfield_records import BYTES, class_at
from tcpcc.transport.flow_record import window_at
from tcpcc.transport.rules import sample_at


@compiled
def copy(n, source, target):
    for i in range(n):
        number_at(target, i).value = number_at(source, i).value


@compiled
def window(c, state):
    """The window in force: the smaller of cwnd and the receiver's window."""
    return min(window_at(state, 0).cwnd, c.rwnd)


@compiled
def see(c, state, now):
    """Fill the sample of a flow in `state` for the next call of a rule; return the sample."""
    a = sample_at(c.sample, 0)
    a.now = now
    a.acked = c.quantum
    a.delivered = c.quantum
    a.marked = a.ce = c.quantum * min(c.marks / c.acks, 1.0) if c.acks > 0 else 0.0
    a.rtt = a.srtt = a.round_rtt = a.round_min_rtt = a.round_time = c.rtt
    a.base_rtt = min(c.min_rtt, c.rtt)  # the first is infinite before the first ACK
    a.max_rtt = c.max_rtt
    in_force = window(c, state)
    a.window = a.inflight = a.round_packets = in_force
    a.transmits = 1.0
    return a


@compiled
def apply_to_state(c, rule, state):
    call_rule(rule, state, c.params, c.sample)


@compiled
def jump(c, state, rate, drift, more):
    """Set `drift` to `rate` times the jump from `state` to the scratch, where a rule has changed a
    copy of it. With `more`, add to `drift` instead.

    A variable that is infinite before its first measurement takes its new value at once.
    """
    for i in range(c.n):
        old, new = number_at(state, i), number_at(c.scratch, i).value
        moved = number_at(drift, i).value if more else 0.0
        if new != old.value:
            if math.isinf(old.value):
                old.value = new
            else:
                moved += rate * (new - old.value)
        number_at(drift, i).value = moved


@compiled
def settle(c, state):
    """Call ``on_ack`` with no acknowledged packets."""
    a = sample_at(c.sample, 0)
    acked, marked = a.acked, a.marked
    a.acked = a.delivered = a.marked = a.ce = 0.0
    apply_to_state(c, c.on_ack, state)
    a.acked = a.delivered = acked
    a.marked = a.ce = marked


@compiled
def apply_event(c, rule, state):
    """Apply the rule for a loss or a mark, including its effects at the next ACK."""
    apply_to_state(c, rule, state)
    if c.settles != 0:
        settle(c, state)


@compiled
def find_drift(c, state, now, drift):
    """Write dy/dt at `state` to `drift`. In slow start `heun` handles losses and rounds."""
    see(c, state, now)
    if c.acks > 0:
        copy(c.n, state, c.scratch)
        apply_to_state(c, c.on_ack, c.scratch)
        jump(c, state, c.acks / c.quantum, drift, False)
    else:
        for i in range(c.n):
            number_at(drift, i).value = 0.0
    if c.slow != 0:
        return
    if c.losses > 0:
        copy(c.n, state, c.scratch)
        apply_event(c, c.on_loss, c.scratch)
        jump(c, state, min(c.losses, 1 / c.rtt), drift, True)
    if c.marks > 0:
        copy(c.n, state, c.scratch)
        apply_event(c, c.on_mark, c.scratch)
        jump(c, state, min(c.marks, 1 / c.rtt), drift, True)
    if c.on_round != 0 and c.acks > 0:
        copy(c.n, state, c.scratch)
        apply_to_state(c, c.on_round, c.scratch)
        jump(c, state, 1 / c.rtt, drift, True)


@entry
def drift_of(classes, index, state, now, drift):
    """:func:`find_drift` for callers in Python: the drift of one class at a given state."""
    find_drift(class_at(classes, index), state, now, drift)


@compiled
def advance_state(c, step, drift, start, target):
    """target <- start + step x drift."""
    for i in range(c.n):
        number_at(target, i).value = number_at(start, i).value + step * number_at(drift, i).value


@compiled
def advance_by_mean(c, step):
    """A class's state <- state + step x the mean of its two drifts."""
    half = 0.5 * step
    for i in range(c.n):
        y = number_at(c.state, i)
        y.value = y.value + half * number_at(c.first, i).value + half * number_at(c.second, i).value


__all__ = [
    "BYTES", "advance_by_mean", "advance_state", "apply_event", "drift_of", "find_drift", "see",
    "settle", "window",
]  # fmt: skip
