"""Connections of workloads: opened when a conversation begins, freed when it ends.

A conversation occupies a place (a flow with its hops and its controller's state) while it is open.
A place becomes free when all items are acknowledged and none of its fluid is in the network. As
`models.packet.conversations`, with times rounded to the nearest step.
"""

import math

from tcpcc.engine.jit import compiled, index_at, not_inlined
from tcpcc.engine.streams import jump
from tcpcc.models.bit_sets import put_member
from tcpcc.models.conversation_records import (
    AFTER_ACK,
    AFTER_ITEM,
    conversation_at,
    copy_words,
    item_at,
    stream_at,
)
from tcpcc.models.fluid.fluid_bins import add_amounts
from tcpcc.models.fluid.fluid_records import (
    DELAYS,
    FLOW,
    FREE,
    HOP,
    NUMBER,
    OF_KIND,
    PLACE,
    RUNNING,
    WAITING,
    flow_at,
    flow_cell,
    hop_at,
    kind_at,
    load_at,
    queue_at,
    total_at,
)
from tcpcc.models.fluid.fluid_recovery import rto
from tcpcc.models.fluid.fluid_sample import fill_common, outstanding
from tcpcc.transport.flow_record import window_at
from tcpcc.transport.sample import apply_rule
from tcpcc.transport.window_validation import halve_for_idle_time

FLOW_BYTES, HOP_BYTES = FLOW.itemsize, HOP.itemsize
FLOW_WORDS = FLOW_BYTES // NUMBER
PLACE_WORDS, DELAY_WORDS, KIND_WORDS = len(PLACE), len(DELAYS), len(OF_KIND)

ROUNDING = 1e-6  # packets; of all that a connection has sent


@compiled
def begin_conversations(w, now):
    """Take a place for each conversation that begins in this step, or ask for room."""
    while w.next_conversation < w.n_conversations:
        c = conversation_at(w.conversations, w.next_conversation)
        if c.start > now + w.step / 2:
            return
        kind = kind_at(w.kinds, c.kind)
        load = load_at(w.loads, kind.load)
        if load.n_free == 0:
            w.need = kind.load + 1
            return
        load.n_free -= 1
        open_place(w, w.next_conversation, c, kind, index_at(load.free, load.n_free).at)
        w.next_conversation += 1


@not_inlined
def open_place(w, number, c, kind, place):
    """Set up the connection of conversation `number` in a free place."""
    f = flow_at(w.flows, place)
    skipped = NUMBER * PLACE_WORDS
    target = w.flows + place * FLOW_BYTES
    copy_words(target + skipped, kind.flow + skipped, FLOW_WORDS - PLACE_WORDS)
    copy_words(f.state, kind.memory, kind.words)
    c.place = place
    f.conversation = number + 1
    f.item = f.undone = c.first
    f.last_item = c.first + c.items
    f.start = c.start - w.step / 2
    f.status = WAITING
    put_member(w.awake, place)
    follow_path(w, f, kind)
    if kind.stream != 0:
        jump(stream_at(f.state + kind.stream, 0), number)
    hand_over_item(w, f, c.start)


@compiled
def follow_path(w, f, kind):
    """Write a kind's delays into the records of a place, and the sizes of its packets."""
    skipped = NUMBER * PLACE_WORDS
    target = w.flows + f.index * FLOW_BYTES
    copy_words(target + skipped, kind.flow + skipped, DELAY_WORDS)
    for j in range(f.n_hops):
        target = w.hops + index_at(f.route, j).at * HOP_BYTES
        copy_words(target, kind.hops + j * HOP_BYTES, KIND_WORDS)


@not_inlined
def follow_paths(w):
    """A link has changed: its delay concerns the open conversations, too."""
    for i in range(w.first_place, w.n_flows):
        f = flow_at(w.flows, i)
        if f.conversation != 0:
            c = conversation_at(w.conversations, f.conversation - 1)
            follow_path(w, f, kind_at(w.kinds, c.kind))


@compiled
def forget(w, f):
    """Clear the totals of the round trip before the first packet: they are older than a turn of the
    tables, or of another conversation."""
    for k in range(max(w.k - int((f.base + f.noise) / w.step) - 2, 0), w.k + 1):
        for i in range(f.n_history):
            total_at(w, f, i, k).value = 0.0


@compiled
def hand_over_item(w, f, at):
    """The application hands the next item to the connection at time `at`."""
    item = item_at(w.items, f.item)
    item.begun = at
    f.size = item.limit
    f.item += 1
    f.write_at = math.inf
    if f.waits == AFTER_ITEM and f.item < f.last_item:
        f.write_at = at + item_at(w.items, f.item).gap


@compiled
def run_application(w, f, now):
    """Note completed items, and hand over those whose time has come."""
    while f.undone < f.item and f.delivered >= item_at(w.items, f.undone).limit - ROUNDING:
        item_at(w.items, f.undone).done = now
        f.undone += 1
        if f.waits == AFTER_ACK and f.item < f.last_item:
            f.write_at = now + item_at(w.items, f.item).gap
    while f.write_at <= now + w.step / 2:
        if f.status == RUNNING:
            restart(f, now)
        hand_over_item(w, f, f.write_at)


@not_inlined
def restart(f, now):
    """There are data again. After an idle time longer than the timeout cwnd is at most the initial
    window (RFC 5681, 4.1), or half as large for each timeout. Idle time is no time since a loss."""
    if outstanding(f) > ROUNDING:
        return
    idle = now - f.sent_at
    s = window_at(f.state, 0)
    timeout = rto(f)
    if f.idle_restart != 0 and f.owns_window == 0 and idle > timeout:
        if f.window_decay == 0:
            s.cwnd = min(s.cwnd, f.initial_window)
        else:
            halve_for_idle_time(s, f.initial_window, timeout, idle)
    f.paused += now - (f.sent_at if f.window_decay != 0 else f.sampled_at)
    f.round_end = f.sent
    f.round_start = now
    f.round_sum = f.round_n = 0.0
    f.round_min = math.inf
    if f.on_restart != 0:
        a = fill_common(f, now)
        a.inflight = 0.0
        a.limited = 1.0
        a.idle = idle
        apply_rule(f, f.on_restart)
        a.idle = 0.0


@not_inlined
def drain(w, f):
    """Free the place of a finished conversation when all that it has sent has returned: nothing
    does any more in this step."""
    acked = flow_cell(w, w.acked, w.k, f.index)
    losses = flow_cell(w, w.losses, w.k, f.index)
    returned = acked.value + losses.value
    f.high_ack += returned
    acked.value = losses.value = flow_cell(w, w.marks, w.k, f.index).value = 0.0
    held = 0.0  # of ACKs that a link of whole packets has dropped, with none to follow
    for j in range(f.n_hops):
        held += hop_at(w.hops, index_at(f.route, j).at).held
    if returned > 0 or f.sent - f.high_ack - held > ROUNDING:
        return
    for j in range(f.n_hops):
        hop = hop_at(w.hops, index_at(f.route, j).at)
        x = queue_at(w.queues, hop.queue)
        x.ahead += hop.carry
        x.owed -= hop.owed * hop.count
        hop.owed = hop.growth = hop.carry = hop.held = hop.marks = 0.0
    add_amounts(w, f)
    c = conversation_at(w.conversations, f.conversation - 1)
    c.timeouts = f.timeouts
    c.loss_events = f.loss_events
    c.place = -1
    load = load_at(w.loads, kind_at(w.kinds, c.kind).load)
    index_at(load.free, load.n_free).at = f.index
    load.n_free += 1
    f.conversation = 0
    f.status = FREE
