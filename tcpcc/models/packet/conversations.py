"""Connections of workloads: opened when a conversation begins, freed when it ends; and items
that the application of a conversation, or of a flow with `writes`, hands over.

A conversation occupies a place (a flow's record, its ring of segments, its controller's state) only
while it is open, and places are reused. A place becomes free when all items have been acknowledged
and no packet of the connection is in the network.
"""

import math

from tcpcc.engine.jit import compiled, index_at
from tcpcc.engine.streams import jump
from tcpcc.models.conversation_records import (
    AFTER_ACK,
    AFTER_ITEM,
    conversation_at,
    copy_words,
    item_at,
    stream_at,
)
from tcpcc.models.packet.event_list import schedule
from tcpcc.models.packet.packet_records import FLOW, WRITE, flow_at
from tcpcc.transport.flow_record import TCP_FLOW, tcp_at

FLOW_BYTES, TCP_BYTES = FLOW.itemsize, TCP_FLOW.itemsize


@compiled
def take_place(w, number):
    """Set up the connection of conversation `number` in a free place; returns its flow record."""
    c = conversation_at(w.conversations, number)
    w.free_places -= 1
    place = index_at(w.free, w.free_places).at
    flow = flow_at(w.flows, place)
    source = w.kind_flows + c.kind * FLOW_BYTES
    copy_words(w.flows + place * FLOW_BYTES, source, FLOW_BYTES // 8)
    flow.index = place
    flow.ident = w.n_rows + number
    flow.conversation = number + 1
    flow.item = flow.undone = c.first
    flow.last_item = c.first + c.items
    tcp = tcp_at(w.tcp, place)
    rings = tcp.segments, tcp.segment_mask, tcp.stamps, tcp.stamp_mask
    memory = tcp.state
    tcp_address = w.tcp + place * TCP_BYTES
    copy_words(tcp_address, w.kind_tcp + c.kind * TCP_BYTES, TCP_BYTES // 8)
    copy_words(memory, w.kind_memory + 8 * w.memory_words * c.kind, w.memory_words)
    tcp.address = tcp_address
    tcp.segments, tcp.segment_mask, tcp.stamps, tcp.stamp_mask = rings
    tcp.state = memory
    tcp.sample = memory + 8 * w.state_words
    tcp.recovery_state = tcp.sample + 8 * w.sample_words
    if tcp.delivery != 0:
        tcp.delivery = memory + 8 * w.delivery_word
    if tcp.stream != 0:
        jump(stream_at(memory + tcp.stream, 0), number)
    return flow


@compiled
def hand_over(w, flow, tcp, now):
    """The application hands the next item to the connection."""
    item = item_at(w.items, flow.item)
    item.begun = now
    tcp.to_send = item.limit
    flow.item += 1
    if flow.item == flow.last_item:
        tcp.awaits = 0
    elif flow.waits == AFTER_ITEM:
        schedule(w, now + item_at(w.items, flow.item).gap, WRITE, flow.index)


@compiled
def note_items(w, flow, tcp, now):
    """After an ACK: mark completed items, and schedule the next item if it waited for them."""
    while flow.undone < flow.item and tcp.high_ack >= item_at(w.items, flow.undone).limit - 1:
        item_at(w.items, flow.undone).done = now
        flow.undone += 1
        if flow.waits == AFTER_ACK and flow.item < flow.last_item:
            schedule(w, now + item_at(w.items, flow.item).gap, WRITE, flow.index)


@compiled
def leave_place(w, flow):
    """Free the place of a conversation that is over, if none of its packets is in the network."""
    if flow.conversation == 0:
        return
    tcp = tcp_at(w.tcp, flow.index)
    if math.isnan(tcp.finished) or flow.ack_timer != 0:
        return
    if tcp.sent + flow.acks_sent != tcp.arrived + flow.inbound + flow.dropped:
        return
    c = conversation_at(w.conversations, flow.conversation - 1)
    c.timeouts = tcp.timeouts
    c.loss_events = tcp.loss_events
    c.place = -1
    flow.conversation = 0
    index_at(w.free, w.free_places).at = flow.index
    w.free_places += 1
