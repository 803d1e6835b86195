"""Recording: sums per recording interval, and the trace.

When a packet arrives at a link, the times of its waiting, transmission and arrival are known. Its
contribution is added to the bins of those times at once, so the sums are exact, without sampling.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined, number_at
from tcpcc.models.notes import note_state
from tcpcc.models.packet import packet_records as r
from tcpcc.models.recorded_fields import flow_bin_at, link_bin_at
from tcpcc.transport.flow_record import TCP, tcp_at, window_at


@compiled
def bin_of(w, time):
    return int(time * w.per_second)


@compiled
def add_waiting(w, link, begin, end, packets):
    """Add `packets` waiting from `begin` to `end` to the time integral of the queue."""
    add_waiting_from(w, link, bin_of(w, begin), begin, end, packets)


@compiled
def add_waiting_from(w, link, k, begin, end, packets):
    """:func:`add_waiting`, if `begin` is in bin `k`."""
    bins, n_bins, interval = link.bins, w.n_bins, w.interval
    end = min(end, w.duration)
    while begin < end and k < n_bins:
        edge = min(end, (k + 1) * interval)
        link_bin_at(bins, k).waiting += packets * max(edge - begin, 0.0)
        begin = edge
        k += 1


@compiled
def add_sending(w, link, begin, end, bits, sign):
    """Add the transmission of a packet from `begin` to `end` to the bins that it spans."""
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
def trace(w, flow, time, event, seq, value):
    """Record an event of a connection if it is traced."""
    if flow.traced != 0:
        write_trace(w, flow, time, event, seq, value)


@not_inlined
def write_trace(w, flow, time, event, seq, value):
    """Write an entry of the trace; events at the sender have its window and controller's state."""
    entry = r.trace_at(w.trace, w.trace_count)
    entry.time = time
    entry.flow = flow.ident
    entry.event = event
    entry.seq = seq
    entry.value = value
    values = w.trace_values + 8 * w.trace_columns * w.trace_count
    for i in range(w.trace_columns):
        number_at(values, i).value = math.nan
    if event < r.DELIVER and flow.kind == TCP:
        tcp = tcp_at(w.tcp, flow.index)
        s = window_at(tcp.state, 0)
        number_at(values, 0).value = s.cwnd
        number_at(values, 1).value = s.ssthresh
        if event == r.SEND:
            flow.sent_to = seq + 1
        number_at(values, 2).value = float(flow.sent_to - 1 - tcp.high_ack)
        noted = r.flow_notes_at(flow.noted, 0)
        for i in range(noted.n_in_trace):
            variable = r.traced_at(noted.in_trace, i)
            value = number_at(tcp.state, variable.place).value
            number_at(values, variable.column).value = value
    w.trace_count += 1
    if w.trace_count + 4 * r.MARGIN > w.trace_room:
        w.need = 1


@compiled
def trace_ack(w, flow, time, event, seq, value, trigger, low, high):
    """As :func:`trace`, for an ACK that packet `trigger` caused, with its SACK block."""
    trace(w, flow, time, event, seq, value)
    if flow.traced != 0:
        values = w.trace_values + 8 * w.trace_columns * (w.trace_count - 1)
        number_at(values, 3).value = float(trigger)
        number_at(values, 4).value = float(low)
        number_at(values, 5).value = float(high)


@compiled
def sample_flow(w, flow, now):
    """Write the flow's window and its recorded state into the bins that ended before `now`."""
    if now >= flow.bin_end:
        write_sample(w, flow, now)


@not_inlined
def write_sample(w, flow, now):
    """:func:`sample_flow`, if a bin has ended."""
    while flow.bin < w.n_bins and (flow.bin + 1) * w.interval <= now:
        tcp = tcp_at(w.tcp, flow.index)
        s = window_at(tcp.state, 0)
        b = flow_bin_at(flow.bins, flow.bin)
        b.cwnd = s.cwnd
        b.ssthresh = s.ssthresh
        if tcp.srtt > 0:
            b.rtt = tcp.recent_rtt
        note_state(r.flow_notes_at(flow.noted, 0), tcp.state, flow.bin)
        flow.bin += 1
    flow.bin_end = (flow.bin + 1) * w.interval if flow.bin < w.n_bins else math.inf


@compiled
def flow_bin(w, flow, time):
    """The bin of a flow at a time before the end of the run."""
    return flow_bin_at(flow.bins, min(bin_of(w, time), w.n_bins - 1))


@compiled
def link_bin(w, link, time):
    """The bin of a recorded link at a time before the end of the run."""
    return link_bin_at(link.bins, min(bin_of(w, time), w.n_bins - 1))


@compiled
def record_arrival(w, link, time, packets, waiting):
    """Record that `packets` arrive at a link, where at most `waiting` wait then."""
    b = link_bin(w, link, time)
    b.arrived += packets
    b.queue_max = max(b.queue_max, waiting)


@compiled
def bin_at(w, time):
    """The bin of `time`; -1 after the end of the run."""
    return min(bin_of(w, time), w.n_bins - 1) if time <= w.duration else -1


@compiled
def note_delivery(w, flow, seq, n, time):
    """Record that `n` packets from number `seq` on have arrived; the SYN does not count."""
    if time <= w.duration:
        if seq > 0 or flow.handshake == 0:
            flow_bin(w, flow, time).delivered += n
        trace(w, flow, time, r.DELIVER, seq, 0.0)
