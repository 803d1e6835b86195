"""Loss recovery by counting duplicate ACKs: Tahoe, Reno, NewReno.

Sources: RFC 5681, 3.2 (fast retransmit, fast recovery); RFC 3042 (limited transmit); RFC 6582
(partial ACKs, the `recover` variable against repeated fast retransmits).

`go_back`    Tahoe: resume at the first unacknowledged packet, without fast recovery
`stay`       NewReno: a partial ACK retransmits the next hole and does not end recovery
`impatient`  NewReno: only the first partial ACK restarts the retransmission timer
`repeat`     4.3BSD's Reno: three duplicates always tell a loss, also of a window cut just before
`deflate`    NewReno: a partial ACK of n packets takes n - 1 off the inflated window

As in ns-2, a NewReno sender in recovery sends at most two packets per ACK, and what deflation took
off cwnd stays off: RFC 6582 would set it from ssthresh at the full ACK, here the flow returns to
ssthresh in slow start.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import OPEN, RECOVERY, segment_at, window_at
from tcpcc.transport.output import emit, fill, has_room
from tcpcc.transport.rto import restart_or_stop, restart_timer, time_acknowledged
from tcpcc.transport.rules import acknowledged, lost, sample_rtt


@compiled
def advance(f, ack):
    """Move the left edge of the window to `ack`; returns the packets newly acknowledged."""
    packets = ack - f.high_ack
    f.high_ack = ack
    f.next_seq = max(f.next_seq, ack + 1)
    return packets


@compiled
def new_ack(f, now, ack):
    """An ACK of new data outside recovery, or one that ends it; returns its round-trip time."""
    rtt = sample_rtt(f, now, ack)
    f.dupacks = 0
    packets = advance(f, ack)
    time_acknowledged(f, now, ack, rtt)
    acknowledged(f, now, packets, rtt)
    return rtt


@compiled
def partial_ack(f, now, ack):
    packets = ack - f.high_ack
    if f.deflate == 0:
        f.inflation = 0
    elif f.inflation > packets:
        f.inflation -= packets - 1
    else:
        s = window_at(f.state, 0)
        s.cwnd = max(s.cwnd - (packets - f.inflation), 1.0)
        f.inflation = 1
    if f.impatient == 0 or f.first_partial == 0:
        f.first_partial = 1
        restart_or_stop(f, now, ack)
    f.untold += advance(f, ack)
    if f.timing != 0 and ack >= f.timed_seq:
        f.timing = 0
        f.backoff = 1
    emit(f, ack + 1, now)


@compiled
def fast_retransmit(f, now):
    f.recover = f.max_seq
    f.phase = RECOVERY
    lost(f, now, segment_at(f.segments, (f.high_ack + 1) & f.segment_mask).transmits)
    restart_timer(f, now)
    f.timing = 0
    if f.go_back != 0:
        f.next_seq = f.high_ack + 1
    else:
        emit(f, f.high_ack + 1, now)
        f.inflation = f.dupack_threshold


@compiled
def limited_transmit(f, now):
    """RFC 3042: one new packet for each of the first two duplicate ACKs."""
    reach = min(f.rwnd, window_at(f.state, 0).cwnd + f.dupacks)
    if f.next_seq <= f.high_ack + reach and f.next_seq < f.limit and has_room(f):
        emit(f, f.next_seq, now)
        f.next_seq += 1


@compiled
def duplicate_ack(f, now):
    if f.high_ack >= f.max_seq:
        return  # nothing is outstanding: an echo of retransmissions that were not needed
    f.dupacks += 1
    if f.dupacks == f.dupack_threshold:
        if f.high_ack > f.recover or f.high_ack == 0 or f.repeat != 0:
            fast_retransmit(f, now)
    elif f.dupacks > f.dupack_threshold:
        if f.phase == RECOVERY and f.go_back == 0:
            f.inflation += 1
    elif f.limited_transmit != 0:
        limited_transmit(f, now)


@compiled
def on_ack(f, now, ack):
    if ack > f.high_ack:
        if f.phase == RECOVERY and f.stay != 0 and ack < f.recover:
            partial_ack(f, now, ack)
        else:
            f.inflation = 0
            f.first_partial = 0
            if f.phase == RECOVERY or ack >= f.recover:
                f.phase = OPEN
            new_ack(f, now, ack)
    else:
        duplicate_ack(f, now)
    if f.dupacks == 0:
        fill(f, now, f.max_burst)
    elif f.dupacks >= f.dupack_threshold:
        fill(f, now, min(f.recovery_burst, f.max_burst))
