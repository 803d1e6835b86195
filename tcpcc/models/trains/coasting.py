"""Coasting: a flow that misses no data sends and handles trains without a record of each segment.

While ``tcp.coasting`` is set, the flow's log has the trains that it has sent since, and the records
of these segments are not written, so a train costs the same whatever the number of its packets. The
first packet that reaches the receiver out of order ends it: :func:`stop_coasting` writes the
records of what is outstanding, and the flow goes on as with packets.
"""

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.models.trains.train_records import LOG_SIZE, gap_of, logged_at
from tcpcc.transport.flow_record import OPEN, segment_at


@compiled
def begin_coasting(tcp, o, newest):
    """Coast, if the flow can: nothing that is outstanding was sent twice or is missing at the
    receiver, and segment `newest`, which is about to be acknowledged, is not the last one."""
    if (
        tcp.coasts != 0
        and tcp.coasting == 0
        and tcp.phase == OPEN
        and tcp.high_ack + 1 >= tcp.once_from
        and tcp.next_seq == tcp.max_seq + 1
        and tcp.highest < tcp.expected
        and newest < tcp.max_seq
    ):
        tcp.coasting = 1
        o.log_first = o.log_end = 0
        o.coast_from = tcp.next_seq


@compiled
def log_train(tcp, o, seq, count, first, last):
    """Note that `count` segments from `seq` on were sent from `first` to `last`."""
    if o.log_end - o.log_first == LOG_SIZE:
        write_segments(tcp, o)
    entry = logged_at(o.log, o.log_end & (LOG_SIZE - 1))
    entry.seq = seq
    entry.count = count
    entry.first = first
    entry.last = last
    o.log_end += 1


@compiled
def write_segment(tcp, seq):
    """Write that a segment was sent once; returns its record."""
    segment = segment_at(tcp.segments, seq & tcp.segment_mask)
    segment.transmits = 1
    segment.flags = 0
    return segment


@not_inlined
def write_segments(tcp, o):
    """Write the records of the segments in the log that are outstanding, and empty it."""
    for i in range(o.log_first, o.log_end):
        entry = logged_at(o.log, i & (LOG_SIZE - 1))
        gap = gap_of(entry)
        for k in range(max(tcp.high_ack + 1 - entry.seq, 0), entry.count):
            write_segment(tcp, entry.seq + k).sent_at = entry.first + k * gap
        o.coast_from = entry.seq + entry.count
    o.log_first = o.log_end


@compiled
def stop_coasting(tcp, o):
    """From now on every segment has its record.

    The times of the train that is still open are written when it is closed.
    """
    if tcp.coasting != 0:
        write_segments(tcp, o)
        for seq in range(o.coast_from, tcp.next_seq):
            write_segment(tcp, seq)
        tcp.coasting = 0


@compiled
def time_sent(tcp, o, seq):
    """When outstanding segment `seq` was sent, s."""
    if tcp.coasting == 0 or seq < o.coast_from:
        return segment_at(tcp.segments, seq & tcp.segment_mask).sent_at
    k = o.log_first
    entry = logged_at(o.log, k & (LOG_SIZE - 1))
    while seq >= entry.seq + entry.count:
        k += 1
        if entry.seq + entry.count <= tcp.high_ack + 1:
            o.log_first = k
        entry = logged_at(o.log, k & (LOG_SIZE - 1))
    return entry.first + (seq - entry.seq) * gap_of(entry)


@compiled
def write_newest(tcp, o, seq):
    """Write the record of the segment that an ACK acknowledges; returns when it was sent."""
    at = time_sent(tcp, o, seq)
    if tcp.coasting != 0 and seq >= o.coast_from:
        write_segment(tcp, seq).sent_at = at
    return at
