"""Trains cross links where their flow meets no other."""

import numpy as np

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.bins import link_bin_at
from tcpcc.models.packet.packet_records import hop_at, link_at
from tcpcc.models.packet.packets import size_of
from tcpcc.models.packet.recorder import add_sending, bin_of
from tcpcc.models.trains.train_lines import join_line
from tcpcc.models.trains.train_records import (
    AT_LINK,
    AT_SENDER,
    FREE,
    SHARED,
    SINGLE,
    STAGE,
    at_times,
    line_at,
)


@compiled
def cross_own(w, flow, hop, line, link, p, size):
    """A train crosses a link where its flow meets no other; returns it at the link's end."""
    if line.kind == STAGE:
        first = 0.0
        gap = (p.last - p.first) / (p.count - 1) if p.count > 1 else 0.0
        for k in range(p.count):  # a packet waits for the one before
            t = p.first + k * gap
            if link.share == 1 or uniform(link) < link.share:
                t += link.jitter * uniform(link)
            line.busy = max(t, line.busy)
            if k == 0:
                first = line.busy
        return at_times(p, first, line.busy)
    tx = 8 * size / link.rate if line.kind != FREE else 0.0
    first = max(p.first, line.busy) + tx
    last = max(p.last + tx, first + (p.count - 1) * tx)
    line.busy = last
    n = p.count * np.int64(hop_at(w.hops, flow.path + hop).count)
    link.arrived += n
    if link.recorded != 0:  # it is FREE
        bits = 8 * size * n
        add_sending(w, link, p.first, p.first + bits / link.rate, bits, 1.0)
        if p.first <= w.duration:
            at = min(bin_of(w, p.first), w.n_bins - 1)
            link_bin_at(link.bins, at).arrived += n
    fixed = 8 * size / link.rate - tx + link.delay
    return at_times(p, first + fixed, last + fixed)


@compiled
def travel(w, flow, hop, end, p):
    """A train goes on from a hop to the hop `end` or to a shared link; returns whether it reaches
    the end, and the train."""
    while hop < end:
        line = line_at(w.lines, flow.path + hop)
        if line.kind == SHARED or line.kind == SINGLE:
            join_line(w, flow, line, flow.path + hop, AT_LINK, p)
            return False, p
        link = link_at(hop_at(w.hops, flow.path + hop).link, 0)
        p = cross_own(w, flow, hop, line, link, p, size_of(flow, hop, p.seq))
        hop += 1
    return True, p


@compiled
def go_back(w, flow, hop, p):
    """A train of ACKs goes on from a hop."""
    arrives, p = travel(w, flow, hop, flow.n_hops, p)
    if arrives:
        join_line(w, flow, line_at(w.ack_lines, flow.index), flow.index, AT_SENDER, p)
