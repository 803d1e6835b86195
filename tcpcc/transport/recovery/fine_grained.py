"""Vegas' loss recovery: a fine-grained timeout, checked when certain ACKs arrive.

Source: Brakmo, Peterson 1995, section III-A; details as in ns-2's ``Agent/TCP/Vegas``.

Every segment's send time is known. On any duplicate ACK the first unacknowledged segment is
retransmitted if it is older than the fine timeout, or at the third one; on the first and second ACK
of new data after a retransmission the check is repeated. A retransmission is a loss event only if
the segment was sent after the window was last cut. The fine timeout is srtt + 2 dev, with BSD's
gains, plus a sixteenth; a retransmission raises it by an eighth, a repeated one doubles it.

Differences from ns-2: see `fine_grained_ns2`, which does as ns-2 does.
"""

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import FINE_GRAINED_NS2, LOSS, OPEN, RECOVERY, segment_at
from tcpcc.transport.output import emit, fill
from tcpcc.transport.recovery.classic import new_ack
from tcpcc.transport.rto import restart_timer
from tcpcc.transport.rules import lost


@compiled
def update_fine_timeout(f, rtt):
    if f.fine_rtt8 == 0:
        f.fine_rtt8 = 8 * rtt
        f.fine_dev4 = rtt
    error = rtt - f.fine_rtt8 / 8
    f.fine_rtt8 += error
    f.fine_dev4 += abs(error) - f.fine_dev4 / 4
    f.fine_rto = (f.fine_rtt8 / 4 + f.fine_dev4) / 2 * (1 + 1 / 16)


@compiled
def expired(f, now):
    """Whether the first unacknowledged segment is older than the fine timeout."""
    if f.high_ack >= f.max_seq:  # none is outstanding
        return f.family == FINE_GRAINED_NS2 and f.high_ack + 1 < f.limit
    segment = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    return now - segment.sent_at >= f.fine_rto


@compiled
def duplicate_ack(f, now):
    if f.high_ack >= f.max_seq:
        return  # nothing is outstanding: an echo of retransmissions that were not needed
    f.dupacks += 1
    late = expired(f, now)
    if late or f.dupacks == f.dupack_threshold:
        if f.high_ack <= f.recover and f.phase == LOSS:
            return
        segment = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
        transmits = segment.transmits
        f.recover = f.max_seq
        f.phase = RECOVERY
        f.worried = min(2, f.next_seq - f.high_ack)
        f.fine_rto *= 2 if transmits > 1 else 9 / 8
        if f.cut_at < segment.sent_at:
            lost(f, now, transmits, f.max_seq - f.high_ack)
            f.inflation = f.dupacks
            f.cut_at = now
        restart_timer(f, now)
        f.timing = 0
        emit(f, f.high_ack + 1, now)
        if transmits == 1:
            f.dupacks = f.dupack_threshold
    elif f.dupacks > f.dupack_threshold:
        f.inflation += 1


@compiled
def check(f, now):
    """On the first and second new ACK after a retransmission."""
    if f.worried > 0:
        f.worried -= 1
        if expired(f, now):
            f.dupacks = f.dupack_threshold
            emit(f, f.high_ack + 1, now)
        else:
            f.worried = 0


@compiled
def on_ack(f, now, ack):
    if ack > f.high_ack:
        f.inflation = 0
        if f.phase == RECOVERY or ack >= f.recover:
            f.phase = OPEN
        rtt = new_ack(f, now, ack)
        if rtt > 0:
            update_fine_timeout(f, rtt)
        check(f, now)
    else:
        duplicate_ack(f, now)
    if f.dupacks == 0 or f.dupacks >= f.dupack_threshold:
        fill(f, now, f.max_burst)
