"""A full buffer to which paced flows send: packet by packet, in the order of their times.

A paced flow's packets keep a distance. Each of them competes at the full buffer with the packets of
other flows, and not with those of its own, so a fast flow loses a smaller share than a slow one.
Fluid of a step has no order. So on a link with a paced flow packets arrive at the times at which
half of their fluid has, those of a piece together, and hosts delay each time at random.
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled, number_at
from tcpcc.engine.streams import uniform
from tcpcc.models.bit_sets import members_of
from tcpcc.models.fluid.fluid_drops import drop_at
from tcpcc.models.fluid.fluid_records import (
    arrives,
    flow_at,
    hop_at,
    present,
)
from tcpcc.transport.pacing import piece_at

MOST = 200.0  # packets in a step; more are not put in order, which bounds the cost


@compiled
def is_ordered(x):
    """Whether packets arrive at a full buffer one by one."""
    return x.single != 0 and x.paced > 0


@compiled
def piece_of(w, hop):
    """Packets of a hop that arrive together."""
    f = flow_at(w.flows, hop.flow)
    if hop.is_ack != 0:
        return 1.0
    if f.pacing == 0:
        return max(f.per_ack, 1.0)  # what an ACK releases
    return piece_at(f, number_at(f.state + f.pacing, 0).value)


@compiled
def count_arrivals(w, x, h, amount):
    """Count the packets of hop `h` that arrive with an `amount` of its fluid."""
    hop = hop_at(w.hops, h)
    piece = piece_of(w, hop)
    whole = piece * np.floor((hop.carry + amount) / piece + 0.5)
    hop.carry += amount - whole
    number_at(x.completes, h - x.first).value = whole
    x.complete += whole
    x.ahead += whole - amount


@compiled
def set_times(w, x):
    """Set the time of the first piece of each hop."""
    for i in members_of(present(x, w.k), x.n):
        h = x.first + i
        set_next(w, x, h, piece_of(w, hop_at(w.hops, h)))


@compiled
def set_next(w, x, h, piece):
    """Set the time of the next piece of hop `h`, as a part of the step."""
    hop = hop_at(w.hops, h)
    left, amount = number_at(x.completes, h - x.first).value, arrives(x, h).value
    time = math.inf
    if left > 0:
        time = 0.0
        if amount > 0:
            time = max(1 - (left - piece / 2 + hop.carry) / amount, 0.0)
        noise = flow_at(w.flows, hop.flow).noise * w.per_second
        if noise > 0:
            time += noise * (2 * uniform(x) - 1)
    number_at(x.next_at, h - x.first).value = time


@compiled
def earliest(w, x):
    """The hop with the earliest next packet; -1: no hop has any."""
    first, time = -1, math.inf
    for i in members_of(present(x, w.k), x.n):
        at = number_at(x.next_at, i).value
        if at < time:
            first, time = x.first + i, at
    return first


@compiled
def drop_in_order(w, x):
    """Drop the packets of this step that find the buffer full, one by one."""
    level = x.backlog - x.owed + x.ahead - x.complete + x.departed  # before the step
    if level + x.complete <= x.room:
        return
    set_times(w, x)
    while x.complete > 0.5:
        h = earliest(w, x)
        time = min(max(number_at(x.next_at, h - x.first).value, 0.0), 1.0)
        piece = piece_of(w, hop_at(w.hops, h))
        for _ in range(int(piece)):
            if level - x.departed * time > x.room:
                drop_at(w, x, h, 1 - time)
            else:
                level += 1
        number_at(x.completes, h - x.first).value -= piece
        x.complete -= piece
        set_next(w, x, h, piece)
