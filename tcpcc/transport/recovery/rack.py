"""Loss recovery by time: RACK, with tail loss probes and proportional rate reduction, as Linux.

Source: RFC 8985 (sections 6 and 7); RFC 6937 as in :mod:`.rate_reduction`.

A segment is lost when one that was sent later has been delivered and a reordering window has
passed since it should have been too: so a repair that is lost again is noticed, which counting
duplicates cannot do. What is in the network, and in which order it was sent, is kept by
:mod:`tcpcc.transport.delivery`.

- Reordering window: 0 in recovery or with `dupack_threshold` packets selectively acknowledged, as
  long as no reordering has been seen; else a quarter of the smallest round-trip time, at most srtt;
  with D-SACK a quarter more for each round with a repair that was not needed, until 16 recoveries
  have gone without one. Such a repair is reordering, too (Linux, ``tcp_sacktag_one``).
- What is lost is sent again in the order in which that was noticed, but the first packet
  outstanding before all others; and then the retransmission timer starts again, or it would expire
  while repairs go on (Linux, ``tcp_xmit_retransmit_queue``, which goes by the numbers throughout).
- Probe: when nothing has been heard for two smoothed round-trip times, the next packet is sent, or
  the last one again; if later data shows that this was a repair, it is a loss event.

Differences from RFC 8985
    D-SACK is a setting (`Transport.dsack`), off by default: the reordering window then does not
    grow. That a probe was not needed is seen from the segment that caused the ACK. The reordering
    timer is set for the first segment that is due, not for the last. After a timeout all that is
    outstanding counts as lost, as in the other recoveries here. A probe takes the place of the
    segment that it repeats in `pipe`.
"""

import math

from tcpcc.definition import State, register
from tcpcc.transport.delivery import sort_lost, unmark_lost
from tcpcc.transport.flow_record import (
    LOSS,
    LOST,
    OPEN,
    RECOVERY,
    delivery_at,
    segment_at,
    stamp_at,
)
from tcpcc.transport.output import (
    allowed,
    effective_window,
    emit,
    has_room,
    may_begin,
    note_piece,
)
from tcpcc.transport.pacing import is_early
from tcpcc.transport.recovery.classic import advance, new_ack
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.recovery.rate_reduction import (
    REDUCTION,
    begin_answer,
    is_reducing,
    may_go,
)
from tcpcc.transport.rto import measure, restart_timer
from tcpcc.transport.rules import deem_lost, lost, take_back, tell_delivery

LATE, PROBE = 1, 2  # what the alarm is set for
DECIDED, UNDECIDED, NEW_DATA = 0, 1, 2  # F-RTO: whether the last timeout was spurious


def note_newest(s, f, d, now):
    """Steps 2 and 3: the segment sent last among those delivered; whether one came out of order."""
    transmits = segment_at(f.segments, d.newest & f.segment_mask).transmits
    rtt = now - d.newest_sent
    if transmits > 1 and rtt < d.base_rtt:
        return  # an ACK of the one sent first
    if d.newest < s.highest and transmits == 1:
        s.reordered = 1
    s.highest = max(s.highest, d.newest)
    s.rtt = rtt
    if d.newest_sent > s.sent_at or (d.newest_sent == s.sent_at and d.newest > s.newest):
        s.sent_at = d.newest_sent
        s.newest = d.newest


def reordering_window(s, f, d):
    """Step 4."""
    told = d.total - (f.high_ack + 1)
    if s.reordered == 0 and (f.phase != OPEN or told >= f.dupack_threshold):
        return 0.0
    return min(s.quarters * (d.base_rtt / 4), d.srtt)


def widen(s, f):
    """Step 4: a D-SACK adds a quarter to the reordering window, once per round trip; `f.high_ack`
    is as this ACK has it."""
    if s.dsack_round >= 0 and f.high_ack + 1 >= s.dsack_round:
        s.dsack_round = -1
    if f.low > f.high and s.dsack_round < 0:
        s.dsack_round = f.next_seq
        s.quarters += 1
        s.persists = 16
        s.reordered = 1


def end_recovery(s, f):
    """What D-SACK added is forgotten after so many recoveries."""
    if f.phase != OPEN:
        s.persists -= 1
        if s.persists <= 0:
            s.quarters = 1
    f.phase = OPEN


def detect(s, f, now):
    """Step 5: deem lost what is late; set the alarm for what will be. Returns whether any was."""
    d = delivery_at(f.delivery, 0)
    wait = s.rtt + reordering_window(s, f, d)
    found = False
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
        deem_lost(f, now, seq)
        found = True
    return found


def enter(s, f, now):
    """A loss event."""
    d = delivery_at(f.delivery, 0)
    f.recover = f.max_seq
    f.phase = RECOVERY
    s.flight_at_loss = max(f.next_seq - (f.high_ack + 1), 1)
    s.known_at_loss = d.total - 1
    s.prr_out = 0
    first = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    lost(f, now, first.transmits, f.max_seq - f.high_ack)
    restart_timer(f, now)
    f.timing = 0


def advance_by(s, f, now):
    """New data is cumulatively acknowledged."""
    if f.phase == RECOVERY and f.ack < f.recover:
        f.untold += advance(f, f.ack)
        restart_timer(f, now)
        if f.timing != 0 and f.ack >= f.timed_seq:
            f.timing = 0
            f.backoff = 1
    else:
        if f.ack >= f.recover:
            end_recovery(s, f)
        new_ack(f, now, f.ack)


def send(s, f, now, burst, reducing):
    """As :func:`.sack.send`: what is lost first, then new data."""
    f.more = 0
    d = delivery_at(f.delivery, 0)
    window = effective_window(f)
    while (reducing or d.pipe < window) and burst > 0:
        if f.pacing_rate != 0 and f.in_piece == 0 and is_early(f, now):
            f.burst = burst
            break
        if not has_room(f):
            f.more = 1
            f.burst = burst
            break
        if d.first[1] >= 0 and s.frto != NEW_DATA:
            repair(f, d, now)
        elif f.next_seq < f.to_send and f.next_seq <= f.high_ack + f.rwnd:
            if f.gso_segments > 1 and not may_begin(f, now, allowed(f, window - d.pipe, burst)):
                break
            emit(f, f.next_seq, now)
            if f.gso_segments > 1:
                note_piece(f, f.next_seq)
            f.next_seq += 1
        else:
            break
        burst -= 1
        s.prr_out += 1
    set_probe(s, f, d, now)


def repair(f, d, now):
    """The first packet outstanding before others that are lost: until it has come no ACK restarts
    the retransmission timer, so its repair does."""
    first = f.high_ack + 1
    if stamp_at(f.stamps, first & f.stamp_mask).status == LOST:
        emit(f, first, now)
        restart_timer(f, now)
    else:
        emit(f, d.first[1], now)


def set_probe(s, f, d, now):
    """RFC 8985, 7.2: unless the alarm is set for what may be late."""
    if s.alarm == LATE and d.recheck_at < math.inf:
        return
    d.recheck_at = math.inf
    if f.phase != OPEN or s.probed >= 0 or d.pipe == 0 or d.total != f.high_ack + 1:
        return
    if f.handshake != 0 and f.high_ack < 0:
        return  # data wait for the SYN, and that for the timer
    wait = 2 * d.srtt if d.srtt > 0 else 1.0
    if d.pipe == 1:
        wait += f.delayed_ack
    if now + wait < f.deadline:
        d.recheck_at = now + wait
        s.alarm = PROBE


def probe(s, f, now):
    """RFC 8985, 7.3: the next packet, or the last one again."""
    if f.phase != OPEN or f.max_seq <= f.high_ack or not has_room(f):
        return
    s.repeats = 0
    if f.next_seq < f.to_send and f.next_seq <= f.high_ack + f.rwnd:
        emit(f, f.next_seq, now)
        f.next_seq += 1
    else:
        s.repeats = 1
        emit(f, f.max_seq, now)
    s.probed = f.max_seq
    restart_timer(f, now)


def judge_probe(s, f, now):
    """RFC 8985, 7.4: what an ACK says of the probe; `f.high_ack` is as it was before."""
    if f.trigger == s.probed and f.trigger <= f.high_ack:
        s.probed = -1  # it came as a second one
    elif f.ack > s.probed or (f.ack == s.probed and s.repeats == 0):
        s.probed = -1
        if s.repeats != 0 and f.phase == OPEN:
            transmits = segment_at(f.segments, f.ack & f.segment_mask).transmits
            lost(f, now, transmits, f.max_seq - f.high_ack)


def judge_timeout(s, f, d, advances):
    """Whether the last timeout was spurious: F-RTO (RFC 5682, 3.1, with SACK; Linux).

    It was if an ACK reports a segment that the timer marked lost and that was not sent again. The
    first ACK that `advances` sends new data, no repairs, so that the next one decides.
    """
    if d.originals > 0:
        s.frto = DECIDED
        unmark_lost(f)
        f.phase = OPEN
        f.backoff = 1
        take_back(f, f.now)
    elif s.frto == NEW_DATA:
        s.frto = DECIDED
    elif advances:
        s.frto = NEW_DATA if f.phase == LOSS and f.next_seq < f.to_send else DECIDED


def on_ack(s, p, f):
    d = delivery_at(f.delivery, 0)
    known, lost_before, high_ack = s.known, d.lost, f.high_ack
    news = d.news
    begin_answer(s, f)
    if s.probed >= 0:
        judge_probe(s, f, f.now)
    if d.news > 0 and d.rtt > 0 and (f.ack == f.high_ack or f.phase == RECOVERY):
        measure(f, f.now, d.rtt)  # a selective acknowledgement is timed as well, as in Linux
        f.backoff = 1
    if f.ack > f.high_ack:
        advance_by(s, f, f.now)
    if s.frto != 0:
        judge_timeout(s, f, d, f.high_ack > high_ack)
    widen(s, f)
    if news > 0:
        note_newest(s, f, d, f.now)
        if detect(s, f, f.now) and f.phase == OPEN:
            enter(s, f, f.now)
    tell_delivery(f, f.now)
    safe = f.high_ack > high_ack and d.lost == lost_before
    go_on(s, f, known, f.max_burst, safe)


def go_on(s, f, known, burst, safe):
    """Send what may be sent, after news or a look at the clock."""
    d = delivery_at(f.delivery, 0)
    s.pipe = d.pipe
    s.known = d.total
    if is_reducing(f):
        burst = min(burst, may_go(s, f, s.known - known, safe))
    send(s, f, f.now, burst, is_reducing(f))


def on_alarm(s, p, f):
    if s.alarm == LATE:
        if detect(s, f, f.now) and f.phase == OPEN:
            enter(s, f, f.now)
        go_on(s, f, s.known, f.max_burst, False)
    elif s.alarm == PROBE:
        probe(s, f, f.now)


def on_timeout(s, p, f):
    f.next_seq = f.max_seq + 1  # what is lost is in the list of delivery
    sort_lost(f)
    s.probed = -1
    s.alarm = 0
    s.frto = UNDECIDED if delivery_at(f.delivery, 0).frto != 0 else DECIDED


def resume(s, p, f):
    send(s, f, f.now, f.burst, is_reducing(f))


register(
    Recovery(
        "rack-tlp",
        "RACK and tail loss probes (RFC 8985), proportional rate reduction, as Linux today",
        on_ack,
        on_timeout=on_timeout,
        resume=resume,
        on_alarm=on_alarm,
        state=REDUCTION
        | {
            "pipe": State(0, "packets", "in the network", kind=int),
            "known": State(0, "packets", "known to have arrived, in all", kind=int),
            "sent_at": State(-1, "s", "when the newest of the packets delivered was sent"),
            "newest": State(-1, "", "that packet", kind=int),
            "highest": State(-1, "", "largest number of a packet delivered", kind=int),
            "rtt": State(0, "s", "round-trip time of the newest packet"),
            "reordered": State(0, "0 or 1", "a packet came out of order", kind=int),
            "frto": State(DECIDED, "", "whether F-RTO judges the last timeout", kind=int),
            "alarm": State(0, "", "what the alarm is set for", kind=int),
            "probed": State(-1, "", "last packet when a probe was sent; -1: none", kind=int),
            "quarters": State(1, "", "of the smallest RTT in the reordering window", kind=int),
            "dsack_round": State(-1, "", "end of the round that added one; -1: none", kind=int),
            "persists": State(0, "", "recoveries until these are forgotten", kind=int),
            "repeats": State(0, "0 or 1", "the probe repeats a packet", kind=int),
        },
        source="RFC 8985; RFC 6937",
        selective=True,
        limited_transmit=True,
        proportional=True,
        repeats=True,
        holes_per_round=math.inf,
    )
)
