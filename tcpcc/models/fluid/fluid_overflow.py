"""A full buffer: which packets of a step's arrivals find no room.

ACKs clock senders: a packet arrives whenever one has left the bottleneck a round trip ago. So in a
steady state each arrival finds as many packets as the one before it, and the packet that finds the
buffer full is one by which a window has grown: it comes although none has left. Hosts that take
random times break this order. Beside paced flows every packet has its own time (`fluid_in_order`).
"""

import math

import numpy as np

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import normal, uniform
from tcpcc.models.bit_sets import members_of
from tcpcc.models.fluid.fluid_drops import after_one, chosen_hop, drop_at, drop_one
from tcpcc.models.fluid.fluid_in_order import MOST, drop_in_order, is_ordered
from tcpcc.models.fluid.fluid_records import (
    BITS,
    arrives,
    flow_at,
    hop_at,
    present,
)

FAR = 5.0  # standard deviations; no packet is displaced farther


@compiled
def overflow(w, x, packets, limit):
    """Drop the packets of this step's arrivals, `packets` in all, that find the buffer full."""
    # one is in transmission: `limit` - 1 wait in the mean
    x.room = limit - 1
    if is_ordered(x) and x.complete <= MOST:
        drop_in_order(w, x)
    elif x.clocked != 0 and x.paced == 0 and (x.noise == 0 or has_phase(x)):
        drop_by_clock(w, x)
    else:
        drop_in_proportion(w, x, packets)


@compiled
def has_phase(x):
    """Whether packets of all flows come at the same part of a packet time, but for random times."""
    return x.alike != 0 and x.draws <= MOST


@compiled
def drop_in_proportion(w, x, packets):
    """Drop packets of flows drawn in proportion to their arrivals while there are too many."""
    drawn = x.draws if x.draws > 0 else x.outside
    room = x.room + packets / drawn / 2
    tries = 0
    while x.backlog - x.owed - x.due > room and tries < 1 + 2 * drawn:
        tries += 1
        if x.draws > 0:
            drop_one(w, x)
        else:
            x.due += 1


@compiled
def drop_by_clock(w, x):
    """Drop packets that find the buffer full, of arrivals that ACKs clock.

    One after the other in random order: a packet by which a window has grown raises the level, and
    each of the others comes in place of one that has left, so that half a packet, by which fluid
    may differ from packets within a step, is no reason to drop it.
    """
    per_packet = x.rate / (BITS * x.size)
    share = x.arrived / x.draws
    level = x.backlog - x.owed - x.arrived + x.departed - share / 2  # before the step
    n = x.noise * per_packet
    highest = n / 2 if n <= 1 else FAR * math.sqrt((n - 1) / 6) + 1
    if level + x.arrived + share * highest <= x.room:
        return
    whole = np.floor(x.draws - x.ahead + 0.5)
    x.ahead += whole - x.draws
    grown = growth(w, x)
    drift = (x.arrived - grown * share - x.departed) / max(whole, 1.0)
    if level + max(drift * whole, 0.0) + share * (np.ceil(grown) + highest) <= x.room:
        return  # whatever the order
    for left in range(int(whole), 0, -1):
        level += drift
        has_grown = uniform(x) * left < grown
        if has_grown:
            level += share
            grown = max(grown - 1, 0.0)
            h = take_grown(w, x)
        elif n > 0:
            h = chosen_hop(w, x, x.draws, 1.0, 1.0)
        else:
            h = -1  # not needed but for a drop
        more = displacement(w, x, h, per_packet) if n > 0 and h >= 0 else 0.0
        spare = 0.0 if has_grown or n > 0 else share / 2
        if level + share * more > x.room + spare:
            level -= share
            if h < 0:
                drop_one(w, x)
            else:
                grown_part = flow_at(w.flows, hop_at(w.hops, h).flow).grown_part
                drop_at(w, x, h, 1 - grown_part if has_grown else after_one(x, h))


@compiled
def displacement(w, x, h, per_packet):
    """How many packets more a packet of hop `h` finds if hosts take up to n packet times for each.

    A late packet finds fewer, for more have left: they leave at whole packet times, and without
    random times the packet comes at `phase` between two of them. With n > 1 packets overtake each
    other, and of those that have come the number has the variance (n - 1) / 6.
    """
    f = flow_at(w.flows, hop_at(w.hops, h).flow)
    n, phase = 2 * f.noise * per_packet, (f.base - f.noise) * per_packet
    phase -= np.floor(phase)
    late = uniform(x)
    if n <= 1:
        return n / 2 - np.floor(phase + n * late)
    more = math.sqrt((n - 1) / 6) * normal(x) + late + (0.5 - late) / n
    return more - np.floor(phase + late)


@compiled
def growth(w, x):
    """Packets of this step's arrivals by which windows have grown."""
    total = 0.0
    for i in members_of(present(x, w.k), x.n):
        h = x.first + i
        if arrives(x, h).value > 0:
            total += hop_at(w.hops, h).growth
    return total


@compiled
def take_grown(w, x):
    """A hop drawn in proportion to its packets by which its window has grown, less one of these;
    -1: none."""
    chosen, total = -1, 0.0
    for i in members_of(present(x, w.k), x.n):
        h = x.first + i
        grown = hop_at(w.hops, h).growth
        if grown > 0 and arrives(x, h).value > 0:
            total += grown
            if uniform(x) * total < grown:
                chosen = h
    if chosen >= 0:
        hop = hop_at(w.hops, chosen)
        hop.growth = max(hop.growth - 1, 0.0)
    return chosen
