"""Which flows lose the packets that a link drops.

Random losses and drops of a queue discipline draw the flow by its share of the arrivals. A full
buffer drops packets of the flows that make it overflow: each arriving packet of a window flow
replaces a packet of that flow that has left, so the excess is the recent growth of windows. Only
the rest of the excess, for example from a constant bit rate, is shared by all arrivals. (With a
draw by shares alone, flows with equal round-trip times would not lose packets at the same time, as
they do in the packet model.)
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.fluid.fluid_records import (
    ARRIVED,
    EPS,
    fluid_flow_at,
    fluid_hop_at,
    fluid_link_at,
    route_at,
    slot_at,
)
from tcpcc.models.fluid.history import between, cell, fraction, locate
from tcpcc.models.fluid.losses import lose
from tcpcc.transport.flow_record import CBR, window_at

BLAMELESS = 0.1  # least share of an overflow that is drawn by recent arrivals
SCATTER = 0.65  # 0.8 (2/3)^(1/2), see `clump_loses`
REMEMBERED = 2  # mean loss events per flow; above this number the older half is discarded
DRAWN_SINGLY = 8  # drops in a step; from this number on, each flow gets its rounded share


@compiled
def row_sent(w, hop):
    """The row after which the fluid that arrives at `hop` now was sent."""
    route = route_at(w.routes, hop.route)
    time = w.now - hop.before
    for i in range(hop.place - 1, -1, -1):
        previous = fluid_hop_at(w.hops, route.first_hop + i)
        row = locate(w, w.k, time)
        column = fluid_link_at(w.links, previous.link).column + ARRIVED
        time = between(w, column, row, fraction(w, row, time)) - previous.before
    return locate(w, w.k, time)


@compiled
def grown(w, hop, m, row):
    """The recent growth of a flow's window when it sent, after `row`, the fluid arriving now."""
    column = route_at(w.routes, hop.route).grown + m
    return cell(w, row + 1, column).value - cell(w, max(row - 1, 0), column).value


@compiled
def choose_victims(w, link, packets):
    """Set the weights of flows for an overflow by `packets`; returns their sum.

    A flow that still owes part of a lost packet has weight 0.
    """
    explained = 0.0
    recent = 0.0
    seen = -1
    row = 0
    number = link.first_busy
    while number >= 0:
        slot = slot_at(w.slots, number)
        hop = fluid_hop_at(w.hops, slot.hop)
        if slot.hop != seen:
            row = row_sent(w, hop)
            seen = slot.hop
        slot.weight = 0.0
        recent += slot.recent * slot.count
        if slot.fresh > 0 and slot.carries_ack == 0:
            slot.weight = grown(w, hop, number - hop.first_slot, row) * slot.count
            explained += slot.weight
        number = slot.next
    total = 0.0
    share = max(packets - explained, BLAMELESS * packets) / recent
    number = link.first_busy
    while number >= 0:
        slot = slot_at(w.slots, number)
        if slot.debt > EPS:
            slot.weight = 0.0
        else:
            slot.weight += share * slot.recent * slot.count
            total += slot.weight
        number = slot.next
    return total


@compiled
def rounds_since_clump(w, f):
    """Round trips since the window of `f` was last sent as one burst.

    It is sent as a burst after a loss event and throughout slow start.
    """
    s = window_at(f.state, 0)
    if s.cwnd < s.ssthresh:
        return 0.0
    return (w.now - max(f.event_at, f.expired_at, f.opened_at)) / f.srtt


@compiled
def clump_loses(cwnd, rounds):
    """The number of packets that a full buffer drops from a window, `rounds` after it was a burst.

    A burst arrives at the rate C of its bottleneck. Each round trip extends it by its own length,
    as packets of other flows come in between. After k round trips it brings W packets, while others
    bring (1 + k) W. The bursts of others are independent and alike, so this number has a standard
    deviation of W (2 (1 + k) / 3)^(1/2). In the half of the cases in which it is above its mean,
    the mean excess is 0.8 standard deviations. The burst loses its share of the whole excess.
    """
    more = 1 + SCATTER * math.sqrt(1 + rounds)
    return max(math.floor(cwnd * more / (1 + rounds + more) + 0.5), 1.0)


@compiled
def at_a_time(w, link, slot):
    """The number of packets of a flow that a full buffer drops at once.

    It is 1 for ACKs and CBR flows, and for a burst longer than a step, because steps resolve it.
    """
    f = fluid_flow_at(w.flows, slot.flow)
    if slot.carries_ack != 0 or f.kind == CBR or f.srtt == 0:
        return 1.0
    cwnd = window_at(f.state, 0).cwnd
    rounds = rounds_since_clump(w, f)
    if (1 + rounds) * cwnd * slot.size * 8 >= w.step * link.rate:
        return 1.0
    return clump_loses(cwnd, rounds)


@compiled
def drop_one(w, link, target, most):
    """Drop packets of the flow at which the sum of the weights reaches `target`.

    One packet is dropped, or, if `most` allows more, up to `at_a_time` packets. Returns the number
    of drops: each of the flows that it stands for drops these packets.
    """
    reached = 0.0
    number = link.first_busy
    while number >= 0:
        slot = slot_at(w.slots, number)
        if slot.weight > 0:
            reached += slot.weight
            if reached >= target:
                hop = fluid_hop_at(w.hops, slot.hop)
                packets = 1.0
                if most > slot.count:
                    packets = min(at_a_time(w, link, slot), math.ceil(most / slot.count))
                lose(w, link, hop, number - hop.first_slot, packets)
                return packets * slot.count
        number = slot.next
    return 1.0


@compiled
def drop_many(w, link, packets, total, clumped):
    """Drop `packets`, from each flow its share, rounded so that the shares add up.

    With `clumped`, a flow's drops are a multiple of the number that it loses `at_a_time`.
    """
    reached = 0.0
    given = 0.0
    turns = 0.0
    chance = -1.0
    number = link.first_busy
    while number >= 0:
        slot = slot_at(w.slots, number)
        if slot.weight > 0:
            together = at_a_time(w, link, slot) if clumped else 1.0
            unit = slot.count * together
            if unit > 1 and chance < 0:
                chance = uniform(link)
            reached += slot.weight / unit
            due = packets * reached / total + (0.5 if chance < 0 else chance)
            mine = math.floor(due) - turns
            if mine > 0:
                turns += mine
                given += mine * unit
                hop = fluid_hop_at(w.hops, slot.hop)
                lose(w, link, hop, number - hop.first_slot, mine * together)
        number = slot.next
    return given


@compiled
def drop_at_once(w, link, packets, total, clumped):
    """Drop about `packets`, drawn by the flows' weights with the sum `total`; returns how many.

    A flow that stands for several loses packets for all of them, so the number can be larger.
    """
    if packets >= DRAWN_SINGLY:
        return drop_many(w, link, packets, total, clumped)
    given = 0.0
    while given < packets:
        most = packets - given if clumped else 1.0
        given += drop_one(w, link, uniform(link) * total * (1 - 1e-9), most)
    return given


@compiled
def drop(w, link, packets, total):
    """As :func:`drop_at_once` for drops that do not depend on the queue.

    Excess drops are subtracted from later ones.
    """
    due = packets - link.credit
    given = 0.0
    if due > 0:
        given = drop_at_once(w, link, due, total, False)
    link.credit = given - due
    return given


@compiled
def drop_overflow(w, link, packets):
    """Drop `packets` that do not fit into a full buffer; returns how many were dropped at once."""
    total = choose_victims(w, link, packets)
    return drop_at_once(w, link, packets, total, True) if packets > 0 and total > 0 else 0.0
