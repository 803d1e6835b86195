"""Loss recovery as laws for fluid: one for each kind of sender.

A loss is a whole packet. The sender learns of it when its place in the flow returns, and acts when
`dupack_threshold` packets beyond it have returned. A recovery states its law (`Recovery.law`):

================  ==============================================================================
sack              what is outstanding stays below the window; every hole is filled (RFC 6675)
prr               ssthresh / flight of what is delivered is sent (RFC 9937)
rack              as prr, and the loss of a retransmission is noticed (RFC 8985)
partial_acks      one hole in a round trip; each duplicate ACK inflates the window (RFC 6582)
fine_grained      as partial_acks; any duplicate ACK detects the loss of a packet that is older
                  than a fine timeout, also of a retransmission (Brakmo, Peterson 1995)
fine_grained_ns2  as fine_grained; the window stays inflated unless a duplicate ACK follows the
                  retransmission (ns-2.35)
one_hole          recovery ends when the first hole is filled (RFC 5681)
one_a_window      as one_hole, and until all that was outstanding is acknowledged there is no
                  other
go_back_n         slow start from the hole on (Jacobson 1988)
================  ==============================================================================

A timeout comes by itself: when nothing restarts the timer, because fewer packets return than a
detection needs, or because a retransmission is lost.
"""

from tcpcc.engine.jit import compiled
from tcpcc.engine.streams import uniform
from tcpcc.models.fluid.fluid_records import DELIVERED_BY, REPAIRED_BY, ROUNDING, SENT_BY, then
from tcpcc.models.fluid.fluid_sample import (
    fill_common,
    history_of,
    new_data,
    outstanding,
    sent_in_step,
)
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, window_at
from tcpcc.transport.recovery.fine_grained import FINE_GROWTH, FINE_MARGIN
from tcpcc.transport.recovery.loss_recovery import LAWS
from tcpcc.transport.rules import apply_cut
from tcpcc.transport.sample import apply_rule

(SACK, PRR, RACK, PARTIAL_ACKS, FINE_GRAINED, FINE_GRAINED_NS2, ONE_HOLE, ONE_A_WINDOW,
 GO_BACK_N) = range(len(LAWS))  # fmt: skip

HALF = 0.5  # packets; holes are whole packets
NEARLY = 1e-6  # packets; rounding errors of the totals of a long run


@compiled
def uses_duplicates(f):
    """Whether the sender knows only the number of duplicate ACKs."""
    return f.law >= PARTIAL_ACKS


@compiled
def has_fine_timeout(f):
    """Whether any duplicate ACK detects the loss of a packet that is older than a fine timeout."""
    return f.law == FINE_GRAINED or f.law == FINE_GRAINED_NS2


@compiled
def has_recover(f):
    """Whether duplicate ACKs count only when all that was outstanding at the last loss, or timeout,
    is acknowledged (RFC 6582's `recover`)."""
    if has_fine_timeout(f):
        return f.phase == LOSS
    return f.law >= PARTIAL_ACKS and f.law != ONE_HOLE


@compiled
def learn_of_losses(w, f, now, before, a, n, behind):
    """`n` packets are missing among what has returned since `before`: `a` packets, `behind` of
    them after the last missing one."""
    f.lost += n
    if f.on_lost_packet != 0:
        report_lost(w, f, now, n)
    if f.phase == LOSS and before < f.recover:
        f.holes += n  # sent before the timeout, which was the answer
    elif f.phase != RECOVERY:
        if f.pending <= 0:
            expect_detection(f, now, before, place_of_loss(w, f, before, a, n))
            note_first_new(f, n, behind)
        f.pending += n
    else:
        if is_repair(w, f, behind):
            again = min(n, 1.0) if uses_duplicates(f) else n
            n -= again
            if f.law == RACK:
                f.holes += again
            else:
                f.repair_lost += again
                f.fine_at = now - f.rtt + FINE_GROWTH * fine_timeout(f)
        if n > HALF:
            note_losses(w, f, now, before, a, n, behind)


@compiled
def place_of_loss(w, f, before, a, n):
    """How many of the `a` packets that return in this step came before the first of `n` lost ones.

    The packet that finds a buffer full is one by which the window has grown, and before it is
    missed the window may just not grow again. So the place is exact if the last packet by which
    the window has grown is among these; else it is random.
    """
    grown = f.grown_at - before
    if -NEARLY <= grown <= a + n - 1 + NEARLY:
        return min(max(grown, 0.0), a)
    return a * uniform(w)


@compiled
def lost_duplicates(w, f, before, n):
    """How many of `n` lost packets were on the way for the second time: the receiver has them."""
    share = f.duplicates / max(f.sent - before, f.duplicates)
    count = 0.0
    while n > HALF:
        if f.duplicates >= 1 and uniform(w) < share:
            f.duplicates -= 1
            count += 1
        n -= 1
    return count


@compiled
def expect_detection(f, now, before, a):
    """The first loss since `before` is detected when three packets beyond it have returned, or one
    after a fine timeout; `a` of those that return in this step precede it."""
    f.pending_from = before + a
    f.fine_at = now - f.rtt + fine_timeout(f)
    f.detect_at = f.delivered + a + f.dupack_threshold


@compiled
def note_first_new(f, n, behind):
    """Of `n` packets that are missing, `behind` packets before what has returned now, the first was
    sent after `recover`: duplicate ACKs tell nothing of it, for they acknowledge no more."""
    if has_recover(f) and f.high_ack - behind - n < f.first_new + HALF:
        f.unseen = 1


@compiled
def note_losses(w, f, now, before, a, n, behind):
    """New packets are lost during a recovery. A sender that counts needs three packets beyond
    each."""
    if f.high_ack - behind - n > f.recover - HALF:
        if f.late <= 0:
            expect_detection(f, now, before, place_of_loss(w, f, before, a, n))
            note_first_new(f, n, behind)
        f.late += n
        return
    if f.law != SACK and f.law != PRR:
        f.holes += n
        return
    fresh = n * min(f.dupack_threshold / a, 1.0) if a > 0 else n
    f.holes += n - fresh
    f.fresh += fresh
    f.fresh_until = f.delivered + a + HALF * f.dupack_threshold


@compiled
def report_lost(w, f, now, n):
    """Call ``on_lost_packet`` for each lost packet."""
    a = fill_common(f, now)
    a.transmits = 1.0
    if f.reads_packets != 0:
        at = sent_in_step(w, f)
        a.rate_delivered = f.delivered - then(w, f, DELIVERED_BY, at)
        history_of(w, f, a, at)
    while n > HALF:
        apply_rule(f, f.on_lost_packet)
        n -= 1


@compiled
def is_repair(w, f, behind):
    """Whether the last packet that is missing, `behind` packets before what has returned now, is a
    retransmission: with duplicate ACKs by its place, else as likely as the share of
    retransmissions in what was sent since the first of them.

    A lost packet is whole in the books before the last part of it has come.
    """
    if uses_duplicates(f):
        if f.high_ack < f.repair_at - NEARLY:
            return False
        if f.high_ack <= f.repair_at + NEARLY:
            return behind <= NEARLY
        return abs(f.high_ack - behind - f.repair_at) < HALF
    if f.high_ack - behind < f.repairs_from + 1 - NEARLY:
        return False
    at = max(sent_in_step(w, f), 1.0)
    sent = then(w, f, SENT_BY, at + 1) - then(w, f, SENT_BY, at - 1)
    again = then(w, f, REPAIRED_BY, at + 1) - then(w, f, REPAIRED_BY, at - 1)
    return again > 0 and uniform(w) * sent < again


@compiled
def rto(f):
    """The retransmission timeout without backoff, s (RFC 6298)."""
    if f.srtt == 0:
        return max(f.initial_rto, f.min_rto)
    return max(f.srtt + max(4 * f.var, f.rto_margin), f.min_rto)


@compiled
def timeout(f):
    """The time after `timer_from` at which the timer expires, s."""
    return min(rto(f) * f.backoff, f.max_rto)


@compiled
def fine_timeout(f):
    """Vegas' timeout for a single packet, s."""
    return FINE_MARGIN * (f.srtt + 2 * f.var)


@compiled
def repair_losses(w, f, now, a):
    """What `a` delivered packets mean for the recovery. Returns how many are in order."""
    was_recovering = f.phase == RECOVERY
    if was_recovering:
        f.inflation += a
        f.in_recovery += a
        beyond = f.high_ack <= f.recover or f.new_data >= f.dupack_threshold
        if f.fresh > 0 and f.delivered >= f.fresh_until and beyond:
            f.holes += f.fresh
            f.fresh = 0.0
        if f.repair_lost != 0 and has_fine_timeout(f) and a > 0 and now >= f.fine_at:
            f.repair_lost = 0.0
            f.repair_due = 1
            f.timer_from = now
        if uses_duplicates(f):
            fill_first_hole(w, f, now, a)
        elif f.high_ack >= max(f.recover, f.repairs_until) and f.holes + f.fresh < HALF:
            if f.repair_lost == 0:
                leave_recovery(f, now)
        elif f.repair_lost == 0 and a > 0:
            f.timer_from = now
    in_order = 0.0
    if f.phase != RECOVERY:
        in_order = a
        if was_recovering:
            in_order = min(a, max(f.high_ack - max(f.recover, f.repairs_until, f.repair_at), 0.0))
        if f.pending > 0:
            in_order = min(in_order, before_loss(f, a))
    if in_order > ROUNDING:  # a rest that comes back every round trip restarts no timer
        if f.phase == OPEN:  # not by the ACK of a retransmission (Karn's rule)
            f.backoff = 1.0
        f.timer_from = now
    if f.phase == LOSS and f.high_ack >= max(f.recover, f.repairs_until) and f.holes < HALF:
        f.phase = OPEN
        f.stale += f.duplicates  # what the ACK of the last hole covers no longer counts
        f.again = 0.0
    return in_order


@compiled
def detect_loss(f, now, a):
    """Enter recovery when `dupack_threshold` packets beyond the first hole have returned, the last
    of `a` in this step."""
    if f.phase == RECOVERY or f.pending <= 0 or f.unseen != 0:
        return
    beyond = f.delivered - f.detect_at + f.dupack_threshold
    if beyond >= f.dupack_threshold or (
        has_fine_timeout(f) and beyond >= 1 - NEARLY and now >= f.fine_at
    ):
        enter_recovery(f, now, before_loss(f, a))


@compiled
def before_loss(f, a):
    """How many of the `a` packets delivered in this step came before the first pending loss."""
    return min(max(f.detect_at - f.dupack_threshold - f.delivered + a, 0.0), a)


@compiled
def enter_recovery(f, now, before):
    """Equation (4). In this step `before` packets came before the hole; as many left before its
    retransmission."""
    a = fill_common(f, now)
    f.flight = max(f.sent - f.pending_from - f.stale, 1.0)
    fill_flight(f, a)
    f.inflation = max(f.delivered - f.detect_at + f.dupack_threshold, 0.0)
    f.loss_events += 1
    apply_cut(f, f.on_loss)
    f.cut_to, f.dups = window_at(f.state, 0).cwnd, f.inflation
    f.phase = RECOVERY
    f.holes += f.pending
    f.pending = f.late = 0.0
    f.recover = f.sent + min(before, max(window_at(f.state, 0).cwnd - outstanding(f), 0.0))
    f.span = f.flight
    f.repairs_until = f.again = f.tail = 0.0
    f.repair_lost = 0.0
    f.partial = 0
    f.in_recovery = max(f.delivered - f.detect_at, 0.0)  # in this step, after the detection
    f.sent_in_recovery = f.new_data = 0.0
    f.timer_from = now
    f.repair_due = 1
    if f.law == GO_BACK_N:
        send_again(f)


@compiled
def fill_flight(f, a):
    """The packets in flight at a loss or a timeout, also as the window if the application limits
    the sender (RFC 5681, equation 4); as `transport.rules.fill_loss_sample`."""
    a.inflight = max(f.flight, 1.0)
    a.transmits = 1.0
    if f.flight_ssthresh != 0 and f.flight + new_data(f) < a.window:
        a.window = a.inflight


@compiled
def leave_recovery(f, now):
    f.phase = OPEN
    rest = f.holes + f.fresh
    if rest < HALF:  # filled by what counted as sent twice
        f.delivered += rest
        f.reached += rest
    f.inflation = f.holes = f.fresh = 0.0
    f.pending = f.late
    f.late = 0.0
    f.timer_from = now


@compiled
def fill_first_hole(w, f, now, a):
    """The retransmission of the first hole is among the `a` packets that have returned: a partial
    ACK, or the last one. From here on duplicate ACKs are counted anew."""
    if f.repair_due != 0 or f.high_ack < f.repair_at - 1e-9 or f.repair_lost != 0:
        return
    f.holes -= 1
    f.detect_at = f.delivered - min(f.high_ack - f.repair_at, a) + f.dupack_threshold
    if f.law == FINE_GRAINED_NS2:
        keep_inflation(f)
    if f.holes < HALF:
        leave_recovery(f, now)
        return
    step = f.span * (1 - uniform(w) ** (1 / f.holes))  # packets to the next of holes at random
    step = max(step, min(f.span, 1.0))
    f.span -= step
    f.flight -= step
    if f.law == ONE_HOLE or f.law == ONE_A_WINDOW:
        f.late += f.holes
        leave_recovery(f, now)
        f.pending_from = f.sent - f.stale - f.flight
        f.unseen = 1 if has_recover(f) else 0
        return
    f.inflation -= 1  # a partial ACK is no duplicate
    if f.deflate == 0:
        f.inflation = 0.0
    elif f.inflation > step:
        f.inflation -= step - 1
    else:
        s = window_at(f.state, 0)
        s.cwnd = max(s.cwnd - (step - f.inflation), 1.0)
        f.inflation = 1.0
    f.repair_due = 1
    if f.partial == 0 or f.impatient == 0:
        f.timer_from = now
    f.partial = 1


@compiled
def keep_inflation(f):
    """In ns-2 only a duplicate ACK after the retransmission deflates Vegas' window."""
    s = window_at(f.state, 0)
    if f.inflation - 1 - f.dups > HALF:
        s.cwnd = max(f.cut_to, 1.0)
    else:
        s.cwnd += f.dups
    f.dups = 0.0


@compiled
def room_before_recovery(f, cwnd):
    """How much a sender that counts duplicate ACKs may send beyond a hole: what the window allows
    from the hole on, and a packet for each of the first two (RFC 3042)."""
    if f.limited_transmit != 0:
        duplicates = max(f.delivered - f.detect_at + f.dupack_threshold, 0.0)
        cwnd = min(cwnd + min(duplicates, f.dupack_threshold - 1), f.rwnd)
    return max(cwnd - (f.sent - f.stale - f.pending_from), 0.0)


@compiled
def room_in_recovery(f, cwnd, out, returned):
    """How much may be sent in this step of a recovery, in which `returned` packets returned.

    What is lost again counts as outstanding until the timer expires (RFC 6675's pipe). The last
    three lines are the law "prr": `may_go` in transport/recovery/rate_reduction.py.
    """
    if uses_duplicates(f):
        reach = min(cwnd + f.inflation, f.rwnd)
        return min(max(reach - f.flight, 0.0), 2 * returned) + f.repair_due
    out += f.repair_lost
    if f.law == SACK or f.owns_window != 0:
        return max(cwnd - out, 0.0)
    if out > cwnd:
        return max(f.in_recovery * cwnd / f.flight - f.sent_in_recovery, 0.0)
    more = 0.0 if f.repair_lost != 0 else returned
    return min(cwnd - out, max(f.in_recovery - f.sent_in_recovery, returned) + more)


@compiled
def to_repair(f):
    """Packets that may be retransmitted."""
    if f.phase == RECOVERY and uses_duplicates(f):
        return float(f.repair_due)
    return f.holes + (f.tail if f.phase == LOSS else 0.0)


@compiled
def count_sent(f, now, amount, out):
    """`amount` packets are about to be sent. Returns how many of them are retransmissions, of lost
    packets and of others that the receiver has."""
    if amount <= 0:
        return 0.0
    if out <= 1e-9 and f.phase == OPEN:
        f.timer_from = now
    repaired = 0.0
    if f.phase == RECOVERY:
        f.sent_in_recovery += amount
        if uses_duplicates(f):
            f.flight += amount - f.repair_due
            if f.new_data <= 0:
                f.first_new = f.sent + f.repair_due
            f.new_data += amount - f.repair_due
            if f.repair_due == 0:
                return 0.0
            f.repair_due = 0
            f.repair_at = f.sent + 1
            return 1.0
    if f.holes > 0:
        repaired = min(amount, f.holes)
        if f.again > f.holes:  # going back: packets that the receiver has are sent again, too
            useful = max(f.holes / f.again, 1 / max(window_at(f.state, 0).cwnd, 1.0))
            repaired = min(amount * useful, f.holes)
            f.again -= min(repaired * f.again / f.holes, f.again)
        f.holes -= repaired
        if f.repairs_until == 0:
            f.repairs_from = f.sent
        f.repairs_until = f.first_new = f.sent + (amount if f.again > 0 else repaired)
    f.new_data += amount - repaired
    again = 0.0
    if f.again + f.tail > 0 and f.phase == LOSS:
        again = amount - repaired
        if f.holes <= 0:
            again = min(again, f.tail)
            f.tail -= again
        f.duplicates += again
        f.useless += again
    return repaired + again


@compiled
def send_again(f):
    """Everything from the first hole on has to be sent again."""
    f.stale = max(f.sent - f.high_ack, 0.0)
    f.tail = f.sent_in_recovery if f.phase == RECOVERY else 0.0
    f.again = max(f.flight - f.tail, 1.0)
    f.phase = LOSS


@compiled
def time_out(f, now):
    """The retransmission timer expires."""
    a = fill_common(f, now)
    first = f.pending_from if f.phase != RECOVERY and f.pending > 0 else f.high_ack
    if f.phase != RECOVERY:
        f.flight = max(f.sent - first - f.stale, 1.0)
    fill_flight(f, a)
    s = window_at(f.state, 0)
    ssthresh = s.ssthresh if f.hold_ssthresh != 0 and f.phase == RECOVERY else 0.0
    f.timeouts += 1
    apply_cut(f, f.on_timeout)
    f.cut_to = 0.0
    s.ssthresh = max(s.ssthresh, ssthresh)
    f.holes += f.pending + f.late + f.fresh
    f.fresh = 0.0
    if f.repair_lost != 0:
        f.holes += f.repair_lost
    elif f.phase == RECOVERY and not uses_duplicates(f):
        f.flight = f.sent_in_recovery + f.holes  # only the end is missing
    f.pending = f.late = 0.0
    f.repair_lost = 0.0
    f.unseen = 0
    f.inflation = 0.0
    send_again(f)
    if f.keeps_sack != 0:
        f.again = f.tail = 0.0
    f.recover = f.sent
    f.backoff = min(2 * f.backoff, f.backoff_limit)
    f.timer_from = now
    f.round_end = f.sent
    f.round_start = now
