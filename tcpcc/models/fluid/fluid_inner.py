"""The inner queues of a link of whole packets: lists of packets in the link's pool."""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.conversation_records import copy_words
from tcpcc.models.fluid.fluid_records import hop_at, packet_at
from tcpcc.models.header_layout import words_at
from tcpcc.models.queue_memory import inner_of, show_inner


@not_inlined
def store_packet(w, x, p, number, h, time, amount):
    """Put a packet of hop `h` with an amount of fluid at the end of an inner queue."""
    inner = inner_of(p, number)
    hop = hop_at(w.hops, h)
    place = p.spare
    stored = packet_at(p.pool, place)
    p.spare = stored.next
    stored.hop = h
    stored.next = 0
    stored.at = time
    stored.amount = amount
    stored.lost = 0.0
    stored.marks = hop.marks
    hop.marks = 0.0
    if hop.has_words != 0:
        carried = words_at(w, x.carried_words, h - x.first)
        copy_words(words_at(w, p.words, place), carried, w.n_words)
    hop.newest = place
    if inner.count == 0:
        inner.first = place
    else:
        packet_at(p.pool, inner.last).next = place
    inner.last = place
    inner.count += 1
    inner.bytes += hop.size
    p.stored += 1
    p.bytes += hop.size
    describe_inner_queue(w, x, p, inner, number)


@not_inlined
def take_first_packet(w, x, p, inner, number):
    """Take the first packet out of an inner queue; returns its place, whose contents stay until
    the next packet is stored."""
    place = inner.first
    first = packet_at(p.pool, place)
    hop = hop_at(w.hops, first.hop)
    if hop.newest == place:
        hop.newest = 0
    inner.first = first.next
    inner.count -= 1
    inner.bytes -= hop.size
    p.stored -= 1
    p.bytes -= hop.size
    first.next = p.spare
    p.spare = place
    describe_inner_queue(w, x, p, inner, number)
    return place


@compiled
def describe_inner_queue(w, x, p, inner, number):
    at = math.nan
    size = math.nan
    if inner.count > 0:
        head = packet_at(p.pool, inner.first)
        at = head.at
        size = hop_at(w.hops, head.hop).size
    show_inner(x, p.n_inner, number, inner, at, size)
