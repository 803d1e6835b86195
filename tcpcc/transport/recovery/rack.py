"""Loss recovery by time: RACK, with tail loss probes and proportional rate reduction, as in Linux.

Source: RFC 8985 (sections 6 and 7); RFC 6937 as in :mod:`.rate_reduction`.

A segment is lost if a segment sent later has been delivered and a reordering window has passed
since its own ACK was due. This detects the loss of a retransmission, which counting duplicate ACKs
cannot do. :mod:`tcpcc.transport.delivery` keeps the packets in the network in sending order.

- Reordering window: 0 in recovery or with `dupack_threshold` packets selectively acknowledged, as
  long as no reordering has been seen; otherwise a quarter of the smallest RTT, at most srtt. With
  D-SACK it grows by a quarter for each round with an unneeded retransmission, until 16 recoveries
  have passed without one. An unneeded retransmission also counts as reordering (Linux,
  ``tcp_sacktag_one``).
- Lost packets are retransmitted in the order in which their losses were detected, except that the
  first outstanding packet goes first and restarts the retransmission timer, which would otherwise
  expire during recovery (Linux, ``tcp_xmit_retransmit_queue``, goes by sequence numbers).
- A recovery that ends while packets marked lost are outstanding, retransmitted or not, begins again
  in the same ACK (Linux, ``tcp_fastretrans_alert``).
- Probe: if no ACK arrives for two smoothed RTTs, the next packet is sent, or the last one again. If
  a later ACK shows that this repaired a loss, it is a loss event.

Differences from RFC 8985
    D-SACK is a setting (`Transport.dsack`); without it the reordering window does not grow. The
    segment that caused the ACK shows whether a probe was unneeded. The reordering timer
    is set for the first segment that is due, not for the last. After a timeout everything
    outstanding counts as lost, as in the other recoveries here. In `pipe` a probe replaces the
    segment that it repeats. A probe that would come after the retransmission timer is not sent
    (RFC 8985 and Linux: it replaces the timeout).
Differences from RFC 5682
    As in Linux, any ACK after the timeout can show that it was spurious, also one of all segments.
"""

import math

from tcpcc.definition import State, register
from tcpcc.transport.delivery import sort_lost, unmark_lost
from tcpcc.transport.flow_record import (
    IN_NETWORK,
    LOSS,
    LOST,
    OPEN,
    RECOVERY,
    delivery_at,
    segment_at,
    stamp_at,
)
from tcpcc.transport.output import (
    advance,
    effective_window,
    emit,
    has_new_data,
    has_room,
    may_send_new,
    must_wait,
)
from tcpcc.transport.recovery.classic import begin_recovery, new_ack, partial_ack
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.recovery.rate_reduction import (
    REDUCTION,
    begin_answer,
    is_reducing,
    may_go,
    most_in_network,
)
from tcpcc.transport.rto import measure, reset_backoff, restart_timer
from tcpcc.transport.rules import lost, mark_lost, report_delivery, undo_recovery

LATE, PROBE = 1, 2  # purpose of the alarm
DECIDED, UNDECIDED, NEW_DATA = 0, 1, 2  # F-RTO: whether the last timeout was spurious


def note_newest(s, f, d, now):
    """RFC 8985, steps 2 and 3: update the delivered segment sent last, and detect reordering."""
    transmits = segment_at(f.segments, d.newest & f.segment_mask).transmits
    rtt = now - d.newest_sent
    if transmits > 1 and rtt < d.base_rtt:
        return  # the ACK is for the original transmission
    if d.newest < s.highest and transmits == 1:
        s.reordered = 1
    s.highest = max(s.highest, d.newest)
    s.rtt = rtt
    if d.newest_sent > s.sent_at or (d.newest_sent == s.sent_at and d.newest > s.newest):
        s.sent_at = d.newest_sent
        s.newest = d.newest


def reordering_window(s, f, d):
    """RFC 8985, step 4: the reordering window, s."""
    sacked = d.total - (f.high_ack + 1)
    if s.reordered == 0 and (f.phase != OPEN or sacked >= f.dupack_threshold):
        return 0.0
    return min(s.quarters * (d.base_rtt / 4), d.srtt)


def widen(s, f):
    """RFC 8985, step 4: a D-SACK adds a quarter to the reordering window, once per round trip.

    `f.high_ack` already includes the current ACK.
    """
    if s.dsack_round >= 0 and f.high_ack + 1 >= s.dsack_round:
        s.dsack_round = -1
    if f.low > f.high and s.dsack_round < 0:
        s.dsack_round = f.next_seq
        s.quarters += 1
        s.persists = 16
        s.reordered = 1


def end_recovery(s, f):
    """End a recovery; the last of `persists` recoveries resets the reordering window."""
    if f.phase != OPEN:
        s.persists -= 1
        if s.persists <= 0:
            s.quarters = 1
    f.phase = OPEN


def detect(s, f, now):
    """RFC 8985, step 5: mark late segments lost, and set the alarm for the next one that may be
    late. Returns whether any was marked."""
    d = delivery_at(f.delivery, 0)
    wait = s.rtt + reordering_window(s, f, d)
    any_lost = False
    d.recheck_at = math.inf
    while d.first[0] >= 0:
        seq = d.first[0]
        sent_at = segment_at(f.segments, seq & f.segment_mask).sent_at
        if sent_at > s.sent_at or (sent_at == s.sent_at and seq > s.newest):
            break
        if sent_at + wait > now:
            d.recheck_at = sent_at + wait
            s.alarm = LATE
            break
        mark_lost(f, now, seq)
        any_lost = True
    return any_lost


def enter_rack_recovery(s, f, now):
    """A loss event: begin a recovery and its reduction."""
    s.flight_at_loss = max(f.next_seq - (f.high_ack + 1), 1)
    s.known_at_loss = delivery_at(f.delivery, 0).total - 1
    s.prr_out = 0
    s.probed = -1  # one loss event (Linux, tcp_init_cwnd_reduction)
    begin_recovery(f, now)


def advance_by(s, f, now):
    """Handle a cumulative ACK of new data."""
    if f.phase == RECOVERY and f.ack < f.recover:
        restart_timer(f, now)
        partial_ack(f, f.ack)
    else:
        if f.ack >= f.recover:
            end_recovery(s, f)
        new_ack(f, now, f.ack)


def send_lost_and_new(s, f, now, burst):
    """Send what the window or the reduction allows, lost packets first, then new data (as
    :func:`.sack.send_by_pipe`). Returns whether a packet was sent."""
    f.more = 0
    d = delivery_at(f.delivery, 0)
    window, most, before = effective_window(f), most_in_network(s, f), f.sent
    while d.pipe < most and burst > 0:
        if must_wait(f, now, burst):
            break
        if d.first[1] >= 0 and s.frto != NEW_DATA:
            retransmit_lost(f, d, now)
        elif has_new_data(f) and may_send_new(
            f, now, window - d.pipe, min(burst, float(most - d.pipe))
        ):
            emit(f, f.next_seq, now)
            advance(f)
        else:
            break
        burst -= 1
        s.prr_out += 1
    return f.sent > before


def retransmit_lost(f, d, now):
    """Retransmit a lost packet, the first outstanding one before others. No ACK restarts the
    retransmission timer until that packet arrives, so its retransmission does."""
    first = f.high_ack + 1
    if stamp_at(f.stamps, first & f.stamp_mask).status == LOST:
        emit(f, first, now)
        restart_timer(f, now)
    else:
        emit(f, d.first[1], now)


def set_probe(s, f, d, now):
    """Set the alarm for a probe (RFC 8985, 7.2), unless it is set for a late segment."""
    if s.alarm == LATE and d.recheck_at < math.inf:
        return
    d.recheck_at = math.inf
    if f.phase != OPEN or s.probed >= 0 or d.pipe == 0 or d.total != f.high_ack + 1:
        return
    if f.handshake != 0 and f.high_ack < 0:
        return  # data waits for the SYN, which only the timer repeats
    wait = 2 * d.srtt if d.srtt > 0 else 1.0
    if d.pipe == 1:
        wait += f.delayed_ack
    if now + wait < f.deadline:
        d.recheck_at = now + wait
        s.alarm = PROBE


def probe(s, f, now):
    """Send a probe: the next packet, or the last one again (RFC 8985, 7.3)."""
    if f.phase != OPEN or f.max_seq <= f.high_ack or not has_room(f):
        return
    s.repeats = 0
    if has_new_data(f):
        emit(f, f.next_seq, now)
        f.next_seq += 1
    else:
        s.repeats = 1
        emit(f, f.max_seq, now)
    s.probed = f.max_seq
    restart_timer(f, now)


def judge_probe(s, f, now):
    """Check whether an ACK shows that the probe repaired a loss (RFC 8985, 7.4). `f.high_ack` does
    not include the current ACK yet."""
    if f.trigger == s.probed and f.trigger <= f.high_ack:
        s.probed = -1  # the original had arrived
    elif f.ack > s.probed or (f.ack == s.probed and s.repeats == 0):
        s.probed = -1
        if s.repeats != 0 and f.phase == OPEN:
            transmits = segment_at(f.segments, f.ack & f.segment_mask).transmits
            lost(f, now, transmits, f.max_seq - f.high_ack)


def judge_timeout(s, f, d, advances):
    """Whether the last timeout was spurious: F-RTO (RFC 5682, 3.1, with SACK; Linux).

    It was spurious if an ACK reports a segment that the timeout marked lost and that was not
    retransmitted. The first ACK that `advances` releases new data instead of retransmissions, so
    that the next ACK decides.
    """
    if d.originals > 0:
        end_spurious(s, f)
        undo_recovery(f, f.now)
        return True
    if s.frto == NEW_DATA:
        s.frto = DECIDED
    elif advances:
        s.frto = NEW_DATA if f.phase == LOSS and f.next_seq < f.to_send else DECIDED
    return False


def has_lost(f):
    """Whether a packet that was marked lost is outstanding, retransmitted or not."""
    for seq in range(f.high_ack + 1, f.max_seq + 1):
        status = stamp_at(f.stamps, seq & f.stamp_mask).status
        again = segment_at(f.segments, seq & f.segment_mask).transmits > 1
        if status == LOST or (status == IN_NETWORK and again):
            return True
    return False


def end_spurious(s, f):
    """After a spurious timeout F-RTO ends; a spurious recovery shows reordering (Linux,
    ``tcp_try_undo_partial``). Segments marked lost and not retransmitted are in the network."""
    s.frto = DECIDED
    if f.phase == RECOVERY:
        s.reordered = 1
    unmark_lost(f)


def on_undo(s, p, f):
    end_spurious(s, f)


def on_ack(s, p, f):
    d = delivery_at(f.delivery, 0)
    known_before, lost_before, high_ack = s.known, d.lost, f.high_ack
    news = d.news
    begin_answer(s, f)
    if s.probed >= 0:
        judge_probe(s, f, f.now)
    if d.news > 0 and d.rtt > 0 and (f.ack == f.high_ack or f.phase == RECOVERY):
        measure(f, f.now, d.rtt)  # a selective acknowledgement gives a sample too, as in Linux
        reset_backoff(f)
    elif f.eifel != 0 and f.ack > f.high_ack and d.news > 0:
        measure_by_echo(f)
    was_open = f.phase == OPEN
    if f.ack > f.high_ack:
        advance_by(s, f, f.now)
    ends = f.phase == OPEN and not was_open
    if s.frto != 0 and judge_timeout(s, f, d, f.high_ack > high_ack):
        ends = False
    widen(s, f)
    if news > 0:
        note_newest(s, f, d, f.now)
        late = detect(s, f, f.now)
        if f.phase == OPEN and (late or (ends and has_lost(f))):
            enter_rack_recovery(s, f, f.now)
    report_delivery(f, f.now)
    safe = f.high_ack > high_ack and d.lost == lost_before
    go_on(s, f, known_before, safe)


def measure_by_echo(f):
    """An RTT of a retransmitted packet for the timer: the ACK echoes its timestamp (RFC 7323, 4;
    Linux, ``tcp_ack_update_rtt``)."""
    segment = segment_at(f.segments, f.trigger & f.segment_mask)
    if segment.transmits > 1:
        measure(f, f.now, f.now - segment.sent_at)


def go_on(s, f, known_before, safe):
    """Send after an ACK or an alarm, and set the alarm for a probe."""
    d = delivery_at(f.delivery, 0)
    s.pipe = d.pipe
    s.known = d.total
    if is_reducing(f):
        s.most = s.pipe + int(may_go(s, f, s.known - known_before, safe))
    send_lost_and_new(s, f, f.now, f.max_burst)
    set_probe(s, f, d, f.now)


def on_alarm(s, p, f):
    if s.alarm == LATE:
        if detect(s, f, f.now) and f.phase == OPEN:
            enter_rack_recovery(s, f, f.now)
        go_on(s, f, s.known, False)
    elif s.alarm == PROBE:
        probe(s, f, f.now)


def on_timeout(s, p, f):
    f.next_seq = f.max_seq + 1  # the list of lost segments holds what must be retransmitted
    sort_lost(f)
    s.probed = -1
    s.alarm = 0
    s.frto = UNDECIDED if delivery_at(f.delivery, 0).frto != 0 else DECIDED


def resume(s, p, f):
    if send_lost_and_new(s, f, f.now, f.burst):
        set_probe(s, f, delivery_at(f.delivery, 0), f.now)


register(
    Recovery(
        "rack-tlp",
        "RACK and tail loss probes (RFC 8985), proportional rate reduction, as Linux today",
        on_ack,
        on_timeout=on_timeout,
        resume=resume,
        on_alarm=on_alarm,
        on_undo=on_undo,
        state=REDUCTION
        | {
            "pipe": State(0, "packets", "in the network", kind=int),
            "known": State(0, "packets", "known to have arrived, in total", kind=int),
            "sent_at": State(-1, "s", "sending time of the delivered packet sent last"),
            "newest": State(-1, "", "number of that packet", kind=int),
            "highest": State(-1, "", "largest number of a delivered packet", kind=int),
            "rtt": State(0, "s", "RTT of the packet sent last"),
            "reordered": State(0, "0 or 1", "a packet arrived out of order", kind=int),
            "frto": State(DECIDED, "", "F-RTO's state after the last timeout", kind=int),
            "alarm": State(0, "", "purpose of the alarm", kind=int),
            "probed": State(-1, "", "last packet when a probe was sent; -1: no probe", kind=int),
            "quarters": State(1, "", "reordering window / (smallest RTT / 4)", kind=int),
            "dsack_round": State(-1, "", "end of the round of the last D-SACK; -1: none", kind=int),
            "persists": State(0, "", "recoveries until `quarters` is reset", kind=int),
            "repeats": State(0, "0 or 1", "the probe repeats a packet", kind=int),
        },
        source="RFC 8985; RFC 6937",
        law="rack",
        selective=True,
        proportional=True,
    )
)
