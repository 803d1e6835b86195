"""Who loses a packet at a link, and which one."""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.engine.streams import uniform
from tcpcc.models.coast.coast_records import (
    ACK_LOST,
    COAST,
    DATA_LOST,
    EPISODE,
    EPS,
    LOST,
    MARKED,
    STEADY,
    curve_at,
    order_at,
    place_at,
    stage_at,
)
from tcpcc.models.coast.fates import add_fate, is_lost
from tcpcc.models.coast.past import cell
from tcpcc.transport.flow_record import tcp_at


@compiled
def grown_at(w, stage, c):
    """Growth of a flow's window among what reaches a later stage in this step."""
    column = 1 + w.n_links + w.n_flows + c.slot
    low = cell(w, stage.row, column)
    new = low + stage.share * (cell(w, stage.row + 1, column) - low)
    low = cell(w, stage.row0, column)
    old = low + stage.share0 * (cell(w, stage.row0 + 1, column) - low)
    return max(new - old, 0.0)


@compiled
def weight(w, slot, by_growth, coasting):
    """The chance of a slot to lose a packet now."""
    c = curve_at(w.curves, slot.flow)
    stage = stage_at(w.stages, slot.stage)
    if slot.fresh <= 0 or (coasting and c.mode == EPISODE):
        return 0.0
    if c.mode == EPISODE and math.floor(slot.at + EPS) - math.floor(slot.was + EPS) - slot.owed < 1:
        return 0.0
    grown = 0.0
    if by_growth and slot.ack == 0:
        if stage.place == 0:
            grown = slot.grown
        elif c.mode != EPISODE:
            grown = grown_at(w, stage, c)
    return (grown if by_growth else 0.0) + (w.others if by_growth else 1.0) * slot.fresh


@compiled
def total_weight(w, link, by_growth, coasting):
    total = 0.0
    number = link.arriving
    while number >= 0:
        slot = place_at(w.slots, number)
        total += weight(w, slot, by_growth, coasting)
        number = slot.next
    return total


@compiled
def draw(w, link, target, by_growth, coasting):
    """The slot at which the sum of the weights reaches `target`; -1: none."""
    number = link.arriving
    while number >= 0:
        slot = place_at(w.slots, number)
        target -= weight(w, slot, by_growth, coasting)
        if target < 0:
            return number
        number = slot.next
    return -1


@not_inlined
def drop(w, link, by_growth, may_mark, coasting):
    """Choose a flow that loses a packet; returns its bits; 0: none."""
    total = total_weight(w, link, by_growth, coasting)
    if total <= 0 and by_growth:
        by_growth = False
        total = total_weight(w, link, by_growth, coasting)
    if total <= 0:
        return 0.0
    number = draw(w, link, uniform(link) * total, by_growth, coasting)
    if number < 0:
        return 0.0
    slot = place_at(w.slots, number)
    steady = curve_at(w.curves, slot.flow).mode == STEADY
    if may_mark and slot.ack == 0 and not steady and tcp_at(w.tcp, slot.flow).ecn != 0:
        mark(w, slot)
        link.marks += 1
        return 0.0
    slot.owed += 1
    link.debt = 1
    return 8 * slot.size


@compiled
def mark(w, slot):
    """Mark the last packet of a slot's that arrives in this step, or the next one."""
    c = curve_at(w.curves, slot.flow)
    add_fate(w, c, max(math.floor(slot.at + EPS) - 1, 0), MARKED)


@not_inlined
def pay(w, link):
    """Choose the packets that slots owe, among those that arrive in this step, evenly."""
    link.debt = 0
    number = link.arriving
    while number >= 0:
        slot = place_at(w.slots, number)
        if slot.owed > 0:
            pay_slot(w, slot)
        number = slot.next


@compiled
def lose(w, c, order, ack):
    """Lose an order's data or ACK; returns whether it could be noted."""
    if not add_fate(w, c, order, DATA_LOST if ack == 0 else ACK_LOST):
        return False
    if c.mode == EPISODE:
        order_at(c.orders, order & c.order_mask).bits |= LOST
    if ack == 0:
        c.dropped += 1
    return True


@compiled
def pay_slot(w, slot):
    c = curve_at(w.curves, slot.flow)
    low = math.floor(slot.was + EPS)
    whole = math.floor(slot.at + EPS) - low
    take = min(slot.owed, whole)
    if slot.fresh > 0 and take > 0:
        due = 0
        for i in range(whole):
            due += take
            if due >= whole:
                due -= whole
                if c.mode == STEADY:
                    c.dropped += 1
                    slot.owed -= 1
                elif not is_lost(c, low + i) and lose(w, c, low + i, slot.ack):
                    slot.owed -= 1
    if c.mode != COAST and c.mode != STEADY:
        slot.owed = 0  # a flow in an episode never owes
