"""The TCP receiver, sans-IO: reassembly and ACK generation.

A driver calls :func:`receive_data` for every arriving segment and sends an ACK when it returns
True; with delayed ACKs (RFC 1122, 4.2.3.2) it also calls :func:`send_held_ack` at
``f.held_until``. The ACK carries `f.expected - 1` and the block
``f.sack_low <= seq < f.sack_high``; with D-SACK (RFC 2883)
``f.sack_low > f.sack_high`` means that segment `f.sack_high` arrived twice.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.transport.delivery import note_received
from tcpcc.transport.flow_record import PUSHED, RECEIVED, segment_at

REACH = 64  # segments; how far a reported block is followed on each side


@compiled
def is_received(f, seq):
    return segment_at(f.segments, seq & f.segment_mask).flags & RECEIVED != 0


@compiled
def is_pushed(f, seq):
    """Whether the segment carries PSH: the application reads it, and Linux then sends an ACK
    (``push_acks``)."""
    return f.push_acks != 0 and segment_at(f.segments, seq & f.segment_mask).flags & PUSHED != 0


@not_inlined
def note_block(f, seq):
    """Set the block of received segments around `seq`, searching at most `REACH` on each side."""
    low = seq
    high = seq + 1
    if low == f.block_high:
        low = max(f.block_low, f.expected)
    elif high == f.block_low:
        high = f.block_high
    steps = 0
    while low > f.expected and steps < REACH and is_received(f, low - 1):
        low -= 1
        steps += 1
    steps = 0
    while high <= f.highest and steps < REACH and is_received(f, high):
        high += 1
        steps += 1
    f.block_low = low
    f.block_high = high
    f.sack_low = low
    f.sack_high = high


@compiled
def receive_data(f, now, seq, again):
    """Handle the arrival of segment `seq`, retransmitted or not (`again`); returns whether an ACK
    is due now."""
    f.arrived += 1
    if seq <= f.expected - f.held:
        f.echo = again  # TS.Recent (RFC 7323, 4.3): up to Last.ACK.sent
    f.sack_low = f.sack_high = 0
    if seq < f.expected or (seq <= f.highest and is_received(f, seq)):
        f.duplicates += 1
        if f.dsack != 0:
            f.sack_low = seq + 1
            f.sack_high = seq
        return acknowledge_now(f)
    f.delivered += 1
    if f.delivery != 0:
        note_received(f, now, seq)
    segment_at(f.segments, seq & f.segment_mask).flags |= RECEIVED
    fills_hole = seq < f.highest
    f.highest = max(f.highest, seq)
    if seq != f.expected:
        note_block(f, seq)
        return acknowledge_now(f)
    f.expected += 1
    while f.expected <= f.highest and is_received(f, f.expected):
        f.expected += 1
    if f.delayed_ack == 0 or fills_hole or (seq == 0 and f.handshake != 0):
        return acknowledge_now(f)
    f.held += 1
    if f.held >= f.ack_every or f.delivered <= f.quick_acks or is_pushed(f, seq):
        return acknowledge_now(f)
    if f.held == 1:
        f.held_until = now + f.delayed_ack
    return False


@compiled
def acknowledge_now(f):
    f.held = 0
    f.held_until = math.inf
    return True


@compiled
def send_held_ack(f):
    """The delayed-ACK timer expired; returns whether an ACK is due."""
    is_due = f.held > 0
    acknowledge_now(f)
    return is_due
