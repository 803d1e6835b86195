"""What a run writes down: sums per recording interval, and the trace if one is wanted.

A packet's contribution is known when it arrives at a link (when it will wait, be sent, arrive), so
it is added to the bins of those times at once. Nothing has to be sampled, and the sums are exact.
"""

from tcpcc.engine.jit import compiled
from tcpcc.models.bins import flow_bin_at, link_bin_at
from tcpcc.models.packet.packet_records import MARGIN, trace_at
from tcpcc.transport.flow_record import window_at


@compiled
def bin_of(w, time):
    return int(time * w.per_second)


@compiled
def add_waiting(w, link, begin, end, packets):
    """Add `packets` waiting from `begin` to `end` to the time integral of the queue."""
    k = bin_of(w, begin)
    end = min(end, w.duration)
    while begin < end and k < w.n_bins:
        edge = min(end, (k + 1) * w.interval)
        link_bin_at(link.bins, k).waiting += packets * max(edge - begin, 0.0)
        begin = edge
        k += 1


@compiled
def add_sending(w, link, begin, end, bits, sign):
    """Add the transmission of a packet from `begin` to `end`, shared between the bins it spans."""
    if not begin < w.duration:
        return
    k = bin_of(w, begin)
    if end <= (k + 1) * w.interval and end <= w.duration:
        if k < w.n_bins:
            b = link_bin_at(link.bins, k)
            b.busy += sign * (end - begin)
            b.sent_bits += sign * bits
        return
    rate = bits / (end - begin)
    end = min(end, w.duration)
    while begin < end and k < w.n_bins:
        edge = min(end, (k + 1) * w.interval)
        b = link_bin_at(link.bins, k)
        b.busy += sign * max(edge - begin, 0.0)
        b.sent_bits += sign * rate * max(edge - begin, 0.0)
        begin = edge
        k += 1


@compiled
def trace(w, f, time, event, seq, value):
    if f.traced != 0:
        entry = trace_at(w.trace, w.trace_count)
        entry.time = time
        entry.flow = f.ident
        entry.event = event
        entry.seq = seq
        entry.value = value
        w.trace_count += 1
        if w.trace_count + 4 * MARGIN > w.trace_room:
            w.need = 1


@compiled
def sample_flow(w, f, now):
    """Write the flow's window into the bins that ended before `now`."""
    while f.bin < w.n_bins and (f.bin + 1) * w.interval <= now:
        s = window_at(f.state, 0)
        b = flow_bin_at(f.bins, f.bin)
        b.cwnd = s.cwnd
        b.ssthresh = s.ssthresh
        if f.srtt > 0:
            b.rtt = f.recent_rtt
        f.bin += 1
