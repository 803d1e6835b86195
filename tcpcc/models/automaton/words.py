"""Header fields in fluid: the fields that a controller writes travel with its flow's fluid.

Header fields can be codes or infinite, so they are never interpolated. All fluid that a flow sends
in a step has the fields of the end of that step. All fluid that reaches a link in a step has the
fields of its newest part, and likewise along the path. An ACK returns the fields of the fluid that
it acknowledges. The fields are columns of the history (`n_words` of them): in a flow, the
fields sent; in a slot, the fields of the input and of the output.

A discipline that counts amounts is called for each flow with the fluid that arrived and that left
in a step, as a number of packets with these fields. If its timer is due within the step, it is
called before the timer for the fluid that arrived earlier. The SYN has no size in the fluid model
and carries its fields separately.
"""

from tcpcc.engine.jit import call_rule, compiled, index_at, not_inlined, number_at
from tcpcc.models.automaton.drops import describe
from tcpcc.models.automaton.fluid_records import (
    ARRIVED,
    TIME,
    fluid_flow_at,
    fluid_hop_at,
    fluid_link_at,
    route_at,
    slot_at,
)
from tcpcc.models.automaton.history import between, cell, fraction, row_address
from tcpcc.models.header_layout import note_words, return_words, sees, send_fields, show_words
from tcpcc.models.queue_memory import note_state, queue_sample_at, run_timer


@compiled
def row_of(w, row, time):
    """The row at the end of the step that contains `time`, from `row` to the next row."""
    return row + 1 if cell(w, row, TIME).value < time else row


@compiled
def put(w, source, column, target):
    """Copy the header fields in a row, from `column` on, into the present row, from `target` on."""
    for i in range(w.n_words):
        number_at(w.row, target + i).value = number_at(source, column + i).value


@compiled
def write(w, f):
    """Write the header fields of the controller of `f` for the fluid sent now."""
    send_fields(f, f.state, w.row + 8 * f.words)


@compiled
def bring_back(w, f, route):
    """Copy the header fields of the fluid acknowledged now into the controller's sample."""
    if route.n_hops == 0:
        row = row_of(w, route.cursor, route.sent_at)
    else:
        row = row_of(
            w, fluid_hop_at(w.hops, route.first_hop + route.n_hops - 1).passed, w.now - route.after
        )
    return_words(f, f.sample, row_address(w, row) + 8 * f.words_back)


@compiled
def source_of(w, hop):
    """Address of the row with the header fields, at the stage before, of the fluid that arrives at
    `hop` now."""
    if hop.through >= 0:
        return row_address(w, row_of(w, hop.left, w.now - hop.before))
    return row_address(w, row_of(w, hop.cursor, w.now - hop.before))


@compiled
def column_before(w, hop, m):
    """First column of the header fields of flow `m` of `hop` at the stage before."""
    if hop.place == 0:
        return fluid_flow_at(w.flows, slot_at(w.slots, hop.first_slot + m).flow).words
    before = fluid_hop_at(w.hops, route_at(w.routes, hop.route).first_hop + hop.place - 1)
    return slot_at(w.slots, before.first_slot + m).words + w.n_words


@compiled
def reads(w, link, slot):
    """Whether the link's discipline sees the header fields of a slot's fluid."""
    return sees(link, fluid_flow_at(w.flows, slot.flow))


@compiled
def check(q):
    if q.drop != 0 or q.mark != 0:
        raise FloatingPointError("a discipline that counts in amounts dropped or marked some")


@compiled
def take_words(w, link):
    """Copy the header fields of arriving fluid from the stage before."""
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        source = 0
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active != 0 and slot.words != 0:
                if source == 0:
                    source = source_of(w, hop)
                put(w, source, column_before(w, hop, m), slot.words)


@compiled
def tell_of_arrivals(w, link, q, share):
    """Call the discipline for the fraction `share` of this step's arrivals."""
    if share <= 0:
        return
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        source = 0
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active == 0 or slot.fresh <= 0:
                continue
            q.arrivals = slot.fresh * slot.count * share
            q.size = slot.size
            q.words = 0.0
            if slot.words != 0 and slot.carries_ack == 0 and reads(w, link, slot):
                if source == 0:
                    source = source_of(w, hop)
                q.words = 1.0
                show_words(link, source + 8 * column_before(w, hop, m))
            call_rule(link.rule, link.state, link.params, link.sample)
            check(q)
            link.idle = q.idle = 0.0
            if q.words != 0:
                note_words(link, w.row + 8 * slot.words)


@compiled
def send_words(w, link, q):
    """Give leaving fluid the header fields of its arrival; a discipline may change them."""
    arrived = number_at(w.row, link.column + ARRIVED).value
    part = fraction(w, link.cursor, arrived)
    source = row_address(w, row_of(w, link.cursor, arrived))
    for i in range(link.n_hops):
        hop = fluid_hop_at(w.hops, index_at(w.by_link, link.first_hop + i).at)
        for m in range(hop.n_slots):
            slot = slot_at(w.slots, hop.first_slot + m)
            if slot.active == 0:
                continue
            left = between(w, hop.column + m, link.cursor, part)
            amount = max(left - slot.left, 0.0)
            slot.left += amount
            if slot.words != 0:
                put(w, source, slot.words, slot.words + w.n_words)
            if amount <= 0 or link.in_amounts == 0 or link.departure == 0:
                continue
            q.arrivals = amount * slot.count
            q.size = slot.size
            q.sojourn = w.now - arrived
            q.words = 0.0
            if slot.words != 0 and slot.carries_ack == 0 and reads(w, link, slot):
                q.words = 1.0
                show_words(link, source + 8 * slot.words)
            call_rule(link.departure, link.state, link.params, link.sample)
            check(q)
            if q.words != 0:
                note_words(link, w.row + 8 * (slot.words + w.n_words))


@not_inlined
def pass_words(w, link):
    """Process header fields at a link, and call a discipline that counts amounts."""
    q = queue_sample_at(link.sample, 0)
    if link.headers != 0:
        take_words(w, link)
    if link.in_amounts != 0:
        describe(w, link, q)
        q.drop = 0.0
        q.mark = 0.0
        told = 0.0
        while link.timer != 0 and q.wake <= w.now:
            due = min(max(1 - (w.now - q.wake) / w.step, told), 1.0)
            tell_of_arrivals(w, link, q, due - told)
            told = due
            run_timer(link, q.wake)
        q.now = w.now
        tell_of_arrivals(w, link, q, 1 - told)
        q.queue_bytes = max(link.waiting - 1, 0.0) * link.size
    send_words(w, link, q)
    if link.in_amounts != 0:
        note_state(link, min(w.bin, w.n_bins - 1) if link.bins != 0 else -1)


# The SYN


@not_inlined
def send_syn(f, now):
    """Copy the controller's header fields into the SYN."""
    send_fields(f, f.state, f.syn_words)
    f.syn_hop = 0
    f.syn_waits = 0
    f.syn_at = now


@compiled
def visit(w, f, link, rule):
    """Call a discipline for the SYNs of the flows that `f` stands for; it may change the fields."""
    if link.in_amounts == 0 or rule == 0:
        return
    q = queue_sample_at(link.sample, 0)
    describe(w, link, q)
    if link.idle > 0 and link.taken == link.served:
        q.idle += w.step
    q.arrivals = f.count
    q.size = f.syn_size
    q.words = 0.0
    if sees(link, f):
        q.words = 1.0
        show_words(link, f.syn_words)
    q.drop = 0.0
    q.mark = 0.0
    call_rule(rule, link.state, link.params, link.sample)
    check(q)
    if q.words != 0:
        note_words(link, f.syn_words)


@not_inlined
def carry_syn(w, f, route, until):
    """Move the SYN to the place that it has reached by `until`."""
    while f.syn_hop < route.n_forward:
        hop = fluid_hop_at(w.hops, route.first_hop + f.syn_hop)
        link = fluid_link_at(w.links, hop.link)
        if f.syn_waits == 0:
            if f.syn_at + hop.before > until:
                return
            f.syn_at += hop.before
            f.syn_waits = 1
            visit(w, f, link, link.rule)
            if link.in_amounts != 0:
                link.idle = 0.0
        served = cell(w, w.k - 1, link.column + ARRIVED).value
        if served < f.syn_at and until <= w.now:
            return
        before = cell(w, w.k - 2, link.column + ARRIVED).value
        if before < f.syn_at <= served:
            part = (f.syn_at - before) / (served - before)
            f.syn_at = between(w, TIME, w.k - 2, part)
        visit(w, f, link, link.departure)
        f.syn_waits = 0
        f.syn_hop += 1
