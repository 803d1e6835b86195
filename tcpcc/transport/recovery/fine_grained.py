"""Vegas' loss recovery: a fine-grained timeout, checked when certain ACKs arrive.

Source: Brakmo, Peterson 1995, section III-A; details as in ns-2's ``Agent/TCP/Vegas``.

The send time of every segment is known. On any duplicate ACK the first unacknowledged segment is
retransmitted if it is older than the fine timeout, and always on the third duplicate ACK. The first
and second ACK of new data after a retransmission repeat the check. A retransmission is a loss event
only if the segment was sent after the last window cut. The fine timeout is srtt + 2 dev, with BSD's
gains, plus 1/16; a retransmission raises it by 1/8, a repeated retransmission doubles it.

Differences from ns-2: listed in `fine_grained_ns2`, which follows ns-2.
"""

import math

from tcpcc.definition import State, register
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, segment_at
from tcpcc.transport.output import emit
from tcpcc.transport.recovery.classic import new_ack, send_allowed
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.rto import restart_timer
from tcpcc.transport.rules import lost

FINE_MARGIN = 1 + 1 / 16  # factor of the fine timeout
FINE_GROWTH = 9 / 8  # its growth with a retransmission

FINE_TIMER = {
    "fine_rtt8": State(0, "s", "8 x smoothed RTT"),
    "fine_dev4": State(0, "s", "4 x mean deviation of the RTT"),
    "fine_rto": State(math.inf, "s", "fine-grained timeout"),
    "worried": State(0, "ACKs", "number of further new ACKs that check the timeout"),
    "cut_at": State(-1, "s", "time of the last window cut"),
}


def update_fine_timeout(s, rtt):
    if s.fine_rtt8 == 0:
        s.fine_rtt8 = 8 * rtt
        s.fine_dev4 = rtt
    error = rtt - s.fine_rtt8 / 8
    s.fine_rtt8 += error
    s.fine_dev4 += abs(error) - s.fine_dev4 / 4
    s.fine_rto = (s.fine_rtt8 / 4 + s.fine_dev4) / 2 * FINE_MARGIN


def expired(s, f, now):
    """Whether the first unacknowledged segment is older than the fine timeout."""
    segment = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    return now - segment.sent_at >= s.fine_rto


def begin_fine_recovery(s, f):
    """Enter recovery; returns whether the first unacknowledged segment was sent after the last
    window cut, so that its loss is a loss event."""
    segment = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    f.recover = f.max_seq
    f.phase = RECOVERY
    s.worried = min(2, f.next_seq - f.high_ack)
    s.fine_rto *= 2 if segment.transmits > 1 else FINE_GROWTH
    return s.cut_at < segment.sent_at


def report_loss(s, f, now):
    """Report the loss of the first unacknowledged segment to the controller."""
    transmits = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask).transmits
    lost(f, now, transmits, f.max_seq - f.high_ack)
    s.cut_at = now


def retransmit_first(f, now):
    """Retransmit the first unacknowledged segment; the first time it counts as the last duplicate
    ACK that a fast retransmit needs."""
    first = f.high_ack + 1
    is_new = segment_at(f.segments, first & f.segment_mask).transmits == 1
    restart_timer(f, now)
    f.timing = 0
    emit(f, first, now)
    if is_new:
        f.dupacks = f.dupack_threshold


def fine_duplicate_ack(s, f, now):
    if f.high_ack >= f.max_seq:
        return  # nothing is outstanding: caused by unneeded retransmissions
    f.dupacks += 1
    if expired(s, f, now) or f.dupacks == f.dupack_threshold:
        if f.high_ack <= f.recover and f.phase == LOSS:
            return
        if begin_fine_recovery(s, f):
            report_loss(s, f, now)
            f.inflation = f.dupacks
        retransmit_first(f, now)
    elif f.dupacks > f.dupack_threshold:
        f.inflation += 1


def check_next_segment(s, f, now, late):
    """On the first two new ACKs after a retransmission: retransmit the next segment if `late`."""
    if s.worried > 0:
        s.worried -= 1
        if late:
            f.dupacks = f.dupack_threshold
            emit(f, f.high_ack + 1, now)
        else:
            s.worried = 0


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        f.inflation = 0
        if f.phase == RECOVERY or f.ack >= f.recover:
            f.phase = OPEN
        rtt = new_ack(f, f.now, f.ack)
        if rtt > 0:
            update_fine_timeout(s, rtt)
        check_next_segment(s, f, f.now, f.high_ack < f.max_seq and expired(s, f, f.now))
    else:
        fine_duplicate_ack(s, f, f.now)
    send_allowed(f, f.now, math.inf)


def on_timeout(s, p, f):
    s.cut_at = f.now
    s.worried = 0


register(
    Recovery(
        "vegas",
        "fine-grained timeouts checked on ACKs",
        on_ack,
        on_timeout=on_timeout,
        state=FINE_TIMER,
        source="Brakmo, Peterson 1995",
        law="fine_grained",
        coasts=True,
    )
)
