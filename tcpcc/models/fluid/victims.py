"""Whose packets a link drops.

Random loss and a queue discipline draw the flow by its share of what arrives. A full buffer drops
the packets of those who made it overflow: a window flow's packets arrive one for each of its own
that has left, and take its place, so what finds no room is what the windows have just grown by.
Only what that does not explain, as with a constant bit rate, is shared by all that arrives. (With a
draw by shares alone, flows of equal round-trip time do not lose together, as those of packets do.)
"""

import math

from tcpcc.engine.jit import compiled, index_at
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
from tcpcc.models.shared_link import shared_at
from tcpcc.transport.flow_record import CBR, window_at

BLAMELESS = 0.1  # share of an overflow for which it does not matter whose window has grown
SCATTER = 0.65  # 0.8 (2/3)^(1/2): see `clump_loses`
REMEMBERED = 2  # loss events of each flow: of more the older half is forgotten
DRAWN_SINGLY = 8  # so many drops in a step are drawn one by one; of more each flow has its share


@compiled
def row_sent(w, hop):
    """The row after which what arrives now at `hop` was sent."""
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
    """By how much the window of a flow had just grown when it sent, after `row`, what arrives."""
    column = route_at(w.routes, hop.route).grown + m
    return cell(w, row + 1, column).value - cell(w, max(row - 1, 0), column).value


@compiled
def choose_victims(w, link, packets):
    """Weigh the flows for an overflow by `packets`; returns the sum of the weights. A flow that
    still owes a part of a lost packet has no other one here that it could lose."""
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
    if link.shared != 0:
        s = shared_at(link.shared, 0)
        recent += s.recent
    share = max(packets - explained, BLAMELESS * packets) / recent
    if link.shared != 0:
        s = shared_at(link.shared, 0)
        s.weight = packets * s.foreground / max(s.foreground + s.background, EPS)
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
    """Round trips since the window of `f` last left in one clump, as it does after a loss event and
    throughout slow start."""
    s = window_at(f.state, 0)
    if s.cwnd < s.ssthresh:
        return 0.0
    return (w.now - max(f.event_at, f.expired_at, f.opened_at)) / f.srtt


@compiled
def clump_loses(cwnd, rounds):
    """How many packets a full buffer refuses of a window, so many round trips after it was a clump.

    A clump comes at the rate C of its bottleneck, and is as much longer by itself after each round
    trip, as others' packets come between. After k of these it adds W packets to the (1 + k) W that
    others bring meanwhile, whose own clumps, independent and alike, scatter by
    W (2 (1 + k) / 3)^(1/2); the half of the time that they are too many they are so by 0.8 of it.
    Of all that comes its share finds no room.
    """
    more = 1 + SCATTER * math.sqrt(1 + rounds)
    return max(math.floor(cwnd * more / (1 + rounds + more) + 0.5), 1.0)


@compiled
def at_a_time(w, link, slot):
    """How many packets of a flow a full buffer refuses at once, if its window comes in less than a
    step. Longer clumps the steps have seen."""
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
    """Drop packets of the flow at which the sum of the weights reaches `target`, one, or as many as
    come `at_a_time`, if not more than `most` in all; returns how many that are, since each of the
    flows that it stands for drops them."""
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
    """Drop `packets`, of each flow its share, rounded so that they add up, to as many as come
    `at_a_time` if they are `clumped`."""
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
    """Drop at least `packets` of the flows by their weights, whose sum is `total`; returns how many
    were: a flow that stands for many loses for all of them."""
    if packets >= DRAWN_SINGLY:
        return drop_many(w, link, packets, total, clumped)
    given = 0.0
    while given < packets:
        most = packets - given if clumped else 1.0
        given += drop_one(w, link, uniform(link) * total * (1 - 1e-9), most)
    return given


@compiled
def drop(w, link, packets, total):
    """The same for drops that are due whatever the queue: those too many are none later."""
    due = packets - link.credit
    given = 0.0
    if due > 0:
        given = drop_at_once(w, link, due, total, False)
    link.credit = given - due
    return given


@compiled
def measure_losses(w, link, s):
    """How many packets a flow has lost at `link` for each time that it noticed a loss, of late, and
    no more than clumps of those drawn now do, in the mean. A timeout is such a time unless
    duplicate ACKs had told before."""
    packets = 0.0
    events = 0.0
    flows = 0.0
    drawn = 0.0
    turns = 0.0
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.carries_ack == 0:
                f = fluid_flow_at(w.flows, slot.flow)
                flows += slot.count
                packets += max(slot.dropped - f.unseen, 0.0) * slot.count
                events += max(f.loss_events, f.timeouts) * slot.count
                if slot.active != 0 and slot.weight > 0 and f.kind != CBR and f.srtt > 0:
                    lost = clump_loses(window_at(f.state, 0).cwnd, rounds_since_clump(w, f))
                    drawn += slot.weight
                    turns += slot.weight / lost
    events -= s.events_before
    packets -= s.packets_before
    s.together = drawn / turns if turns > 0 else 1.0
    if events > 0:
        s.together = max(min(packets / events, s.together), 1.0)
    if events > REMEMBERED * flows:
        s.events_before += events / 2
        s.packets_before += packets / 2


@compiled
def drop_overflow(w, link, packets):
    """Drop `packets` that a full buffer has no room for; returns how many were at once.

    Packets of a shared link owe their share, of what is dropped too much as well: the next of them
    to come are refused.
    """
    total = choose_victims(w, link, packets)
    mine = 0
    if link.shared != 0:
        s = shared_at(link.shared, 0)
        if s.weight > 0:
            measure_losses(w, link, s)
            mine = math.floor(s.weight + uniform(s))
            packets -= mine
    given = 0.0
    if packets > 0 and total > 0:
        given = drop_at_once(w, link, packets, total, True)
    if link.shared != 0:
        s = shared_at(link.shared, 0)
        due = mine + max(given - packets, 0.0) * s.foreground / max(s.background, EPS)
        s.owed = min(s.owed + due, max(s.foreground, due))
    return given
