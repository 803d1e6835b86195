"""The drift of a controller's own rules: how the mean state of a class of flows moves.

Of a Markov process that jumps from state y to rule(y) at a rate, the mean moves by rate x (rule(y)
- y). A flow of a class meets three kinds of such events, and so

    dy/dt = acks (on_ack(y) - y) + losses (on_loss(y) - y) + (on_round(y) - y) / RTT

with its rates of acknowledged and of lost packets, at most one loss in a round-trip time. y is the
whole state, cwnd and ssthresh and what the controller keeps beside; the mean of a rule is taken to
be the rule of the mean. The rules are called, none is written here again.

What a controller remembers of a loss until the next ACK (CUBIC's epoch begins on it) belongs to
the loss: ``on_loss`` is followed by an ``on_ack`` of no packets. A time that a rule notes ("the
epoch began now") is a state like any other: its mean moves by the rate of the event times the
distance from now, so that its age settles at one over the rate.
"""

import math

from tcpcc.engine.jit import call_rule, compiled, entry
from tcpcc.models.meanfield.meanfield_records import BYTES, class_at, number_at
from tcpcc.transport.flow_record import window_at
from tcpcc.transport.rules import sample_at


@compiled
def copy(n, source, target):
    for i in range(n):
        number_at(target, i).value = number_at(source, i).value


@compiled
def window(c, state):
    """The window in force."""
    return min(window_at(state, 0).cwnd, c.rwnd)


@compiled
def see(c, state, now):
    """Fill the sample with what a flow in `state` learns now; its acknowledgement is to come."""
    a = sample_at(c.sample, 0)
    a.now = now
    a.acked = c.quantum
    a.delivered = c.quantum
    a.rtt = a.srtt = a.round_rtt = a.round_min_rtt = a.round_time = c.rtt
    a.base_rtt = c.min_rtt
    a.max_rtt = c.max_rtt
    in_force = window(c, state)
    a.window = a.inflight = a.round_packets = in_force
    a.transmits = 1.0
    return a


@compiled
def apply(c, rule, state):
    call_rule(rule, state, c.params, c.sample)


@compiled
def jump(c, state, rate, drift, more):
    """`rate` times the jump from `state` to what a rule has made of it in the scratch: the drift,
    or what is added to it if there is `more` than one.

    What was infinite, before a first measurement, takes its value at once.
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
    """``on_ack`` of no packets."""
    a = sample_at(c.sample, 0)
    acked = a.acked
    a.acked = a.delivered = 0.0
    apply(c, c.on_ack, state)
    a.acked = a.delivered = acked


@compiled
def lose(c, state):
    """A loss, with all that the controller makes of it by the next ACK."""
    apply(c, c.on_loss, state)
    if c.settles != 0:
        settle(c, state)


@compiled
def find_drift(c, state, now, drift):
    """Write dy/dt at `state` to `drift`. In slow start losses and rounds are no drift: `heun`."""
    see(c, state, now)
    if c.acks > 0:
        copy(c.n, state, c.scratch)
        apply(c, c.on_ack, c.scratch)
        jump(c, state, c.acks / c.quantum, drift, False)
    else:
        for i in range(c.n):
            number_at(drift, i).value = 0.0
    if c.slow != 0:
        return
    if c.losses > 0:
        copy(c.n, state, c.scratch)
        lose(c, c.scratch)
        jump(c, state, min(c.losses, 1 / c.rtt), drift, True)
    if c.on_round != 0 and c.acks > 0:
        copy(c.n, state, c.scratch)
        apply(c, c.on_round, c.scratch)
        jump(c, state, 1 / c.rtt, drift, True)


@entry
def drift_of(classes, index, state, now, drift):
    """:func:`find_drift` for Python: of one class, at a state of one's own."""
    find_drift(class_at(classes, index), state, now, drift)


@compiled
def advance(c, step, drift, start, target):
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
    "BYTES", "advance", "advance_by_mean", "drift_of", "find_drift", "lose", "see", "settle",
    "window",
]  # fmt: skip
