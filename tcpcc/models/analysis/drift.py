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

from tcpcc.engine.jit import accessor, call_rule, compiled, entry, number_at, record_dtype
from tcpcc.transport.flow_record import window_at
from tcpcc.transport.sample import sample_at

#: A class of equal flows; values are those of one flow. Times in s, rates in packets/s.
CLASS = record_dtype(
    {
        # addresses: the state of `n` numbers, vectors as long as the state, rules and their records
        "state": int, "n": int, "scratch": int, "first": int, "second": int, "trial": int,
        "params": int, "sample": int,
        "on_ack": int, "on_round": int, "on_loss": int, "on_mark": int,
        "settles": int,  # whether a loss may have effects at the next ACK
        "initial_window": float, "rwnd": float, "base_rtt": float,
        # what the sender sees; `quantum`: packets acknowledged in a call of `on_ack`
        "rtt": float, "max_rtt": float, "acks": float, "losses": float, "marks": float,
        "quantum": float,
    }
)  # fmt: skip
VECTORS = ("scratch", "first", "second", "trial")

class_at = accessor(CLASS)


@compiled
def window(c, state):
    """The window in force: the smaller of cwnd and the receiver's window."""
    return min(window_at(state, 0).cwnd, c.rwnd)


@compiled
def show_acked(c, packets):
    """Show a number of acknowledged packets, and the share of them that is marked."""
    a = sample_at(c.sample, 0)
    a.acked = a.growing = a.delivered = packets
    a.marked = a.ce = packets * min(c.marks / c.acks, 1.0) if c.acks > 0 else 0.0


@compiled
def see(c, state, now):
    """Fill the sample of a flow in `state` for the next call of a rule."""
    a = sample_at(c.sample, 0)
    a.now = a.clock = now
    show_acked(c, c.quantum)
    a.rtt = a.srtt = a.round_rtt = a.round_min_rtt = a.round_time = c.rtt
    a.base_rtt = min(c.base_rtt, c.rtt)
    a.max_rtt = c.max_rtt
    a.window = a.inflight = a.round_packets = window(c, state)
    a.transmits = 1.0


@compiled
def settle(c, state):
    """Call ``on_ack`` with no acknowledged packets."""
    show_acked(c, 0.0)
    call_rule(c.on_ack, state, c.params, c.sample)
    show_acked(c, c.quantum)


@compiled
def apply_event(c, rule, state):
    """Apply the rule for a loss or a mark, and its effects at the next ACK."""
    call_rule(rule, state, c.params, c.sample)
    if c.settles != 0:
        settle(c, state)


@compiled
def add_jump(c, state, rule, is_event, rate, drift):
    """Add to `drift` `rate` times the jump that a rule makes from `state`.

    `is_event`: a loss or a mark.

    A variable that is infinite before its first measurement takes its new value at once.
    """
    for i in range(c.n):
        number_at(c.scratch, i).value = number_at(state, i).value
    if is_event:
        apply_event(c, rule, c.scratch)
    else:
        call_rule(rule, c.scratch, c.params, c.sample)
    for i in range(c.n):
        old, new = number_at(state, i), number_at(c.scratch, i).value
        if new != old.value:
            if math.isinf(old.value):
                old.value = new
            else:
                number_at(drift, i).value += rate * (new - old.value)


@compiled
def find_drift(c, state, now, drift):
    """Write dy/dt at `state` to `drift`."""
    see(c, state, now)
    for i in range(c.n):
        number_at(drift, i).value = 0.0
    if c.acks > 0:
        add_jump(c, state, c.on_ack, False, c.acks / c.quantum, drift)
    if c.losses > 0:
        add_jump(c, state, c.on_loss, True, min(c.losses, 1 / c.rtt), drift)
    if c.marks > 0:
        add_jump(c, state, c.on_mark, True, min(c.marks, 1 / c.rtt), drift)
    if c.on_round != 0 and c.acks > 0:
        add_jump(c, state, c.on_round, False, 1 / c.rtt, drift)


@entry
def drift_of(classes, index, state, now, drift):
    """:func:`find_drift` for callers in Python: the drift of one class at a given state."""
    find_drift(class_at(classes, index), state, now, drift)
