"""Drops and marks of whole packets of what arrives in a step: whose, and what they leave."""

import numpy as np

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.bit_sets import members_of
from tcpcc.models.fluid.fluid_bins import count_drop, count_mark
from tcpcc.models.fluid.fluid_records import (
    LEAST,
    arrives,
    hop_at,
    hop_cell,
    link_cell,
    present,
    put_gap,
)
from tcpcc.models.queue_memory import queue_sample_at

L4S = 2  # value of ``hop.ect`` for ECT(1)


@compiled
def chosen_hop(w, x, total, weight, weight_l4s):
    """A hop drawn in proportion to what its sender has in this step's arrivals, with weights for
    ECT(1) and for others, `total` together; -1: none."""
    at = uniform(x) * total
    chosen = -1
    for i in members_of(present(x, w.k), x.n):
        h = x.first + i
        amount = arrives(x, h).value
        if amount > 0:
            amount *= weight_l4s if hop_at(w.hops, h).ect == L4S else weight
        if amount > 0:
            chosen = h
            at -= amount
            if at <= 0:
                return chosen
    return chosen


@compiled
def l4s_arrivals(w, x):
    """Packets of ECT(1) that arrive in this step from senders."""
    packets = 0.0
    for i in members_of(present(x, w.k), x.n):
        h = x.first + i
        if hop_at(w.hops, h).ect == L4S:
            packets += arrives(x, h).value
    return packets


@compiled
def drop_one(w, x):
    """Drop one packet of what arrives in this step."""
    h = chosen_hop(w, x, x.draws, 1.0, 1.0)
    if h >= 0:
        drop_at(w, x, h, after_one(x, h))


@compiled
def after_one(x, h):
    """Which part of what is left of a hop's fluid comes after a packet drawn at random from its
    packets of this step."""
    n = arrives(x, h).value
    before = np.floor(uniform(x) * n)
    return 1 - min(before / (n - 1), 1.0) if n > 1 else 0.0


@compiled
def hit_one(w, x, h):
    """The discipline drops a packet of hop `h`, or marks it if it can be marked."""
    if h < 0:
        return
    hop = hop_at(w.hops, h)
    if hop.ect != 0 and queue_sample_at(x.sample, 0).marks != 0:
        put_gap(x, x.marked, max(x.head, w.k), h, 1)
        count_mark(w, x, hop)
        return
    drop_at(w, x, h, after_one(x, h))


@compiled
def drop_at(w, x, h, after):
    """Take one packet of a hop from the newest fluid in the queue. Data leave a gap, before a part
    `after` of what arrives in this step; what a dropped ACK says the next one says too."""
    hop = hop_at(w.hops, h)
    count_drop(w, x, hop)
    if hop.is_ack != 0:
        if x.head <= w.k:
            put_gap(x, x.merged, w.k, h, hop.count)
            x.backlog -= hop.count
        return
    put_gap(x, x.lost, max(x.head, w.k), h, 1)
    if x.head <= w.k:
        hop_cell(x, x.after_gap, w.k, h).value = after
    left = 1.0
    k = w.k
    while left > LEAST and k >= x.head:
        cell = hop_cell(x, x.fluid, k, h)
        part = min(cell.value, left)
        cell.value -= part
        left -= part
        row = link_cell(x, x.bits, k)
        if k == x.head and row.value == x.head_bits:  # nothing of it has left
            x.head_bits -= part * hop.bits
        row.value -= part * hop.bits
        x.backlog_bits -= part * hop.bits
        k -= 1
    hop.owed += left
    x.owed += left * hop.count
    x.backlog -= (1 - left) * hop.count
