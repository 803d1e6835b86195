"""Connections of workloads: opened when a conversation begins, given back when it is over.

A conversation borrows one of a number of places (a flow's record, its ring of segments, its
controller's state), which go from hand to hand: it costs memory while it lives. A place is free
again when all items have been acknowledged and none of the connection's packets is on its way.
"""

import math

from tcpcc.engine.jit import accessor, compiled, record_dtype
from tcpcc.models.packet.event_list import schedule
from tcpcc.models.packet.packet_records import (
    WRITE,
    conversation_at,
    item_at,
    kind_at,
)
from tcpcc.transport.flow_record import FLOW, flow_at

word_at = accessor(record_dtype({"value": int}))
WORDS = FLOW.itemsize // 8


@compiled
def copy_words(target, source, count):
    for i in range(count):
        word_at(target, i).value = word_at(source, i).value


@compiled
def take_place(w, number):
    """Lay out the connection of conversation `number` in a free place; returns its flow record."""
    c = conversation_at(w.conversations, number)
    kind = kind_at(w.kinds, c.kind)
    w.free_places -= 1
    place = word_at(w.free, w.free_places).value
    f = flow_at(w.flows, place)
    segments = f.segments
    mask = f.segment_mask
    memory = f.state
    copy_words(w.flows + place * 8 * WORDS, kind.flow, WORDS)
    copy_words(memory, kind.memory, w.memory_words)
    f.segments = segments
    f.segment_mask = mask
    f.state = memory
    f.sample = memory + 8 * w.state_words
    f.index = place
    f.ident = w.n_flows + number
    f.conversation = number + 1
    f.item = f.undone = c.first
    f.last_item = c.first + c.items
    return f


@compiled
def hand_over(w, f, now):
    """The application hands the next item over to the connection."""
    item = item_at(w.items, f.item)
    item.begun = now
    f.limit = item.limit
    f.item += 1
    if f.item == f.last_item:
        f.awaits = 0
    elif f.waits == 0:
        schedule(w, now + item_at(w.items, f.item).gap, WRITE, f.index)


@compiled
def note_items(w, f, now):
    """After an ACK: which items are complete, and when the next one comes."""
    while f.undone < f.item and f.high_ack >= item_at(w.items, f.undone).limit - 1:
        item_at(w.items, f.undone).done = now
        f.undone += 1
        if f.waits != 0 and f.item < f.last_item:
            schedule(w, now + item_at(w.items, f.item).gap, WRITE, f.index)


@compiled
def leave_place(w, f):
    """Give the place back if the conversation is over and nothing of it is in the network."""
    if math.isnan(f.finished) or f.ack_timer != 0:
        return
    if f.sent + f.acks_sent != f.arrived + f.inbound + f.dropped:
        return
    c = conversation_at(w.conversations, f.conversation - 1)
    c.timeouts = f.timeouts
    c.loss_events = f.loss_events
    c.place = -1
    f.conversation = 0
    word_at(w.free, w.free_places).value = f.index
    w.free_places += 1
