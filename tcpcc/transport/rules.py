"""The interface between transport and controller: rounds, and calls of the rules.

A window that is not fully used does not grow: it does not probe the path (:func:`is_limited`).
With `whole_window` the window grows by whole packets (:func:`grow_by_packets`).
Sources: Linux' net/ipv4/tcp_output.c, ``tcp_cwnd_validate``, include/net/tcp.h,
``tcp_is_cwnd_limited``, net/ipv4/tcp_cong.c, ``tcp_cong_avoid_ai``; RFC 7661, section 4.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined, number_at
from tcpcc.transport.delivery import move_to_lost
from tcpcc.transport.flow_record import (
    OFF,
    OPEN,
    REPORTED,
    delivery_at,
    segment_at,
    stamp_at,
    window_at,
)
from tcpcc.transport.rto import reset_backoff
from tcpcc.transport.sample import (
    apply_rule,
    fill_event,
    fill_extremes,
    fill_loss_sample,
    fill_now,
    fill_of_newest,
    fill_of_packets,
    in_force,
    is_syn,
    sample_at,
)
from tcpcc.transport.undo import note_answer, was_the_last
from tcpcc.transport.window_validation import is_used

#: Packets; rounding error of n additions of 1/n.
ROUNDING = 1e-9


@compiled
def apply_cut(f, rule):
    """Call ``on_loss``, ``on_timeout``, ``on_mark`` or ``on_undo``."""
    apply_rule(f, rule)
    if f.whole_window != 0:
        cut_to_whole(f)


@compiled
def is_limited(f, used):
    """Whether the receiver or the application, not cwnd, limits the sender.

    At most `used` packets of the window were outstanding, because the receiver allows no more or
    there is nothing to send. As in Linux, slow start may grow the window up to twice `used`.
    """
    s = window_at(f.state, 0)
    if used >= math.floor(s.cwnd) or f.window_validation == 0:
        return False
    return s.cwnd >= s.ssthresh or s.cwnd >= 2 * used


@compiled
def grow(f, rule):
    """Call ``on_ack`` or ``on_round``; a window that is not fully used does not grow."""
    s = window_at(f.state, 0)
    before = s.cwnd
    apply_rule(f, rule)
    if sample_at(f.sample, 0).limited != 0 and s.cwnd > before:
        s.cwnd = before


@compiled
def grow_by_packets(f, rule):
    """:func:`grow`, but the window grows by whole packets only; the fraction is carried over in
    ``f.carried`` (``tcp_cong_avoid_ai``)."""
    s = window_at(f.state, 0)
    before = s.cwnd
    grow(f, rule)
    if s.cwnd < before:
        cut_to_whole(f)
        return
    f.carried += s.cwnd - before
    whole = math.floor(f.carried + ROUNDING)
    f.carried = max(f.carried - whole, 0.0)
    s.cwnd = before + whole


@compiled
def cut_to_whole(f):
    """Round cwnd and ssthresh down to whole packets, as Linux' windows are."""
    s = window_at(f.state, 0)
    s.cwnd = max(math.floor(s.cwnd), 1.0)
    if s.ssthresh < math.inf:
        s.ssthresh = float(math.floor(s.ssthresh))
    f.carried = 0.0


@compiled
def is_answering_mark(f):
    """Whether a mark is being answered by a gradual reduction (Linux' CWR state)."""
    return f.gradual_marks != 0 and f.high_ack < f.mark_edge and f.phase == OPEN


@compiled
def shrink(f, rule):
    """Call a rule that may only reduce the window."""
    s = window_at(f.state, 0)
    before = s.cwnd
    apply_rule(f, rule)
    s.cwnd = min(s.cwnd, before)
    if f.whole_window != 0:
        cut_to_whole(f)


@compiled
def apply_growth(f, rule):
    """Call ``on_ack`` or ``on_round`` with the window growth that the flow's settings allow."""
    if f.owns_window != 0:
        apply_rule(f, rule)
    elif is_answering_mark(f):
        shrink(f, rule)
    elif f.whole_window != 0:
        grow_by_packets(f, rule)
    else:
        grow(f, rule)


@compiled
def take_rtt_sample(f, now, ack):
    """RTT of segment `ack`; 0 if there is no valid sample.

    There is none if a segment that this ACK acknowledges was sent more than once (Karn's rule: the
    ACK shows when that hole was filled), or if `ack` was reported before by a selective
    acknowledgement. With `newest_only` (ns-2's Vegas) only segment `ack` itself is checked.
    """
    segment = segment_at(f.segments, ack & f.segment_mask)
    if segment.transmits != 1 or segment.flags & REPORTED != 0:
        return 0.0
    if ack > f.high_ack + 1 and f.newest_only == 0 and f.high_ack + 1 < f.once_from:
        for seq in range(f.high_ack + 1, ack):
            if segment_at(f.segments, seq & f.segment_mask).transmits != 1:
                return 0.0
    rtt = now - segment.sent_at
    f.last_rtt = rtt
    f.recent_rtt = rtt
    f.srtt = rtt if f.srtt == 0 else f.srtt + (rtt - f.srtt) / 8
    return rtt


@compiled
def pause(f, a, since):
    """The sample's clock stands still between `since` and now. Linux' runs on."""
    if f.window_decay == 0:
        f.paused += a.now - since
        a.clock = a.now - f.paused


@compiled
def begin_round(f, now):
    f.round_seq = f.next_seq
    f.round_start = now
    f.round_sum = 0.0
    f.round_n = 0
    f.round_min = math.inf


@compiled
def outstanding_before(f, packets):
    """Upper bound on the packets outstanding before `packets` were acknowledged; if the application
    has more to send: the receiver's window (infinity if there is none)."""
    if f.next_seq >= f.to_send:
        return min(float(f.next_seq - f.high_ack - 1 + packets), f.rwnd)
    return f.rwnd


@compiled
def is_unused(f, packets):
    """Whether the receiver or the application limited the sender when `packets` packets, now
    acknowledged, were outstanding; with `window_decay`, when data were last sent."""
    if f.window_decay != 0:
        return f.window_validation != 0 and not is_used(f)
    return is_limited(f, outstanding_before(f, packets))


@compiled
def report_acked(f, now, packets, rtt):
    """Report `packets` newly acknowledged packets to the controller.

    Calls ``on_round`` if the ACK ends the current round, then ``on_ack``, which with `every_ack`
    waits for :func:`report_delivery`. The sample's `delivered` includes the packets that partial
    ACKs have acknowledged since the last report (``f.unreported``).

    The ACK that ends a round acknowledges the first packet of the next one, so its RTT counts in
    the next round: ``on_round`` sees it only in the field `rtt`. The handshake's RTT is not a
    sample unless `syn_rtt` is set: a SYN is shorter than a data packet, so its RTT is too.
    """
    since = f.sampled_at
    a = sample_at(f.sample, 0)
    fill_now(f, a, now)
    a.rtt = rtt
    counted = packets
    if f.count_delivered != 0:
        counted = delivery_at(f.delivery, 0).news
    a.acked = min(float(counted), f.abc_limit)
    a.delivered = float(packets + f.unreported)
    a.transmits = 0.0
    f.unreported = 0
    if is_unused(f, packets):
        a.limited = 1.0
        a.growing = 0.0
        pause(f, a, since)
    else:
        a.limited = 0.0
        a.growing = a.acked
    if f.ecn != OFF:
        a.marked = float(f.unreported_marks)
        a.ce = float(f.marked)
    if f.reads_packets != 0 and (f.every_ack == 0 or f.on_round != 0):
        fill_of_packets(f, a)
        fill_of_newest(f, a)
    syn = is_syn(f, f.high_ack)
    timed = rtt > 0 and not syn
    if f.high_ack >= f.round_seq:
        fill_extremes(f, a)
        a.round_time = now - f.round_start
        a.round_rtt = f.round_sum / f.round_n if f.round_n > 0 else a.round_time
        a.round_min_rtt = f.round_min if f.round_n > 0 else a.round_time
        a.round_packets = float(f.next_seq - f.round_seq)
        anew = f.stale_rounds != 0 and a.round_packets <= 1
        # ACKs after a timeout may end a round of zero length without RTT samples
        empty = f.round_n == 0 and math.isfinite(f.base_rtt) and f.stale_rounds == 0
        if not syn and ((a.round_rtt < f.base_rtt and not empty) or anew):
            f.base_rtt = a.round_rtt
            a.base_rtt = a.round_rtt
        if f.on_round != 0 and a.round_rtt > 0 and math.isfinite(f.base_rtt):
            apply_growth(f, f.on_round)
        begin_round(f, now)
    elif not timed:
        fill_extremes(f, a)
    if timed:
        f.base_rtt = min(f.base_rtt, rtt)
        f.max_rtt = max(f.max_rtt, rtt)
        a.base_rtt = f.base_rtt
        a.max_rtt = f.max_rtt
        f.round_sum += rtt
        f.round_n += 1
        f.round_min = min(f.round_min, rtt)
    first = f.handshake != 0 and f.high_ack == packets - 1  # the ACK of the SYN
    if f.every_ack == 0:
        if f.ecn != OFF:
            f.unreported_marks = 0
        if f.reads_packets != 0 and delivery_at(f.delivery, 0).news > 0:
            give_back(f, delivery_at(f.delivery, 0).newest)
        apply_growth(f, f.on_ack)
    elif not first:
        hold_acked(f, a)
    if first:
        open_window(f)


@compiled
def hold_acked(f, a):
    """Keep what only this part of an ACK's handling knows for :func:`report_delivery`."""
    d = delivery_at(f.delivery, 0)
    d.held_acked += a.acked
    d.held_limited = a.limited


@compiled
def open_window(f):
    """The handshake is complete: set the initial window (RFC 5681, 3.1)."""
    repeated = segment_at(f.segments, 0).transmits > 1
    window_at(f.state, 0).cwnd = 1.0 if repeated else f.initial_window
    if f.on_open != 0:
        apply_rule(f, f.on_open)


@not_inlined
def report_marks(f, now):
    """An ACK reports marks: reduce the window as for a loss, and set CWR.

    At most once per window of data (RFC 3168, 6.1.2), and not during a loss recovery. Returns
    whether the window was one packet, so that it cannot be reduced.
    """
    f.unreported_marks += f.marked
    if f.phase != OPEN or f.ack <= f.mark_edge:
        return False
    is_minimal = in_force(f, window_at(f.state, 0).cwnd) < 2
    f.mark_edge = f.max_seq
    f.cwr = 1
    fill_loss_sample(f, now, 0, f.max_seq - f.high_ack)
    a = sample_at(f.sample, 0)
    a.window = in_force(f, window_at(f.state, 0).cwnd)  # a mark reduces cwnd (RFC 3168, 6.1.2)
    a.marked = float(f.unreported_marks)
    a.ce = float(f.marked)
    if f.reads_packets != 0:
        fill_of_newest(f, a)
    apply_cut(f, f.on_mark if f.on_mark != 0 else f.on_loss)
    return is_minimal


@compiled
def lost(f, now, transmits, flight):
    """Report a loss event to the controller, recorded so that it can be undone; the lost packet had
    been sent `transmits` times, and `flight` packets are outstanding."""
    note_answer(f, transmits)
    fill_loss_sample(f, now, transmits, flight)
    f.cwr = 1
    f.loss_events += 1
    apply_cut(f, f.on_loss)


@compiled
def timed_out(f, now, transmits, flight):
    """Report a timeout to the controller; arguments as for :func:`lost`."""
    fill_loss_sample(f, now, transmits, flight)
    f.cwr = 1
    f.timeouts += 1
    apply_cut(f, f.on_timeout)


# Events that only some controllers receive (``f.delivery``)


@compiled
def give_back(f, seq):
    """Copy the stamps of segment `seq` to the controller's state."""
    d = delivery_at(f.delivery, 0)
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    for i in range(d.n_stamps):
        number_at(f.state + d.given_back[i], 0).value = t.stamps[i]


@compiled
def report_delivery(f, now):
    """With `every_ack`: call ``on_ack`` for the packets delivered with the current ACK, once."""
    if f.every_ack != 0 and delivery_at(f.delivery, 0).news != 0:
        report_news(f, now)


@not_inlined
def report_news(f, now):
    """:func:`report_delivery` of an ACK that reports deliveries."""
    d = delivery_at(f.delivery, 0)
    a = fill_event(f, now)
    a.acked = d.held_acked
    a.limited = d.held_limited
    d.held_acked = d.held_limited = 0.0
    a.delivered = float(d.news)
    a.growing = a.delivered if a.limited == 0 else 0.0
    a.marked = float(f.unreported_marks)
    a.ce = float(f.marked)
    f.unreported_marks = 0
    a.rtt = 0.0 if is_syn(f, d.newest) else d.rtt
    if f.reads_packets != 0:
        fill_of_newest(f, a)
    d.news = 0
    give_back(f, d.newest)
    apply_rule(f, f.on_ack)


@compiled
def mark_lost(f, now, seq):
    """Mark segment `seq` as lost, if it counts as in the network, and report it."""
    if not move_to_lost(f, seq) or f.on_lost_packet == 0:
        return
    d = delivery_at(f.delivery, 0)
    t = stamp_at(f.stamps, seq & f.stamp_mask)
    a = fill_event(f, now)
    a.app_limited = float(t.limited)
    a.lost = float(d.lost - t.lost)
    a.lost_inflight = float(t.pipe)
    a.rate_delivered = float(d.total - t.delivered)
    a.transmits = float(segment_at(f.segments, seq & f.segment_mask).transmits)
    give_back(f, seq)
    apply_rule(f, f.on_lost_packet)


@compiled
def mark_all_lost(f, now):
    """After a timeout: mark all segments in the network as lost."""
    d = delivery_at(f.delivery, 0)
    while d.first[0] >= 0:
        mark_lost(f, now, d.first[0])


@not_inlined
def reported_twice(f, now, seq):
    """A D-SACK reports that segment `seq` arrived twice. If no retransmission of this episode was
    needed, its window cut is undone (:func:`undo_cut`)."""
    if was_the_last(f, seq):
        undo_cut(f, now)


@compiled
def undo_cut(f, now):
    """Undo a spurious window cut and call ``on_undo``. cwnd and ssthresh become at least their
    earlier values, unless the controller has ``window="own"``."""
    f.undo_from = -1
    if f.owns_window == 0:
        s = window_at(f.state, 0)
        s.cwnd = max(s.cwnd, f.undo_cwnd)
        s.ssthresh = max(s.ssthresh, f.undo_ssthresh)
    if f.on_undo != 0:
        fill_event(f, now)
        apply_cut(f, f.on_undo)


@compiled
def undo_recovery(f, now):
    """Undo a spurious loss or timeout: :func:`undo_cut`, and continue with new data (RFC 4015)."""
    f.phase = OPEN
    f.dupacks = 0
    f.inflation = 0
    reset_backoff(f)
    f.recover = f.high_ack  # the next loss is a new one
    f.next_seq = f.max_seq + 1
    undo_cut(f, now)


@compiled
def started(f, now):
    """Call ``on_start``: the first segment is about to be sent."""
    fill_loss_sample(f, now, 0, 0)
    apply_rule(f, f.on_start)


@compiled
def restarted(f, now, idle):
    """Call ``on_restart``: the application has data again, `idle` s after the last packet."""
    a = fill_event(f, now)
    a.inflight = 0.0
    a.limited = 1.0
    a.idle = idle
    apply_rule(f, f.on_restart)
    a.idle = 0.0


@compiled
def on_wake(f, now):
    """Call ``on_timer``: the time ``wake_at`` has come."""
    at = number_at(f.state + f.wake_at, 0)
    at.value = math.inf
    fill_event(f, now)
    apply_rule(f, f.on_timer)
    if not at.value > now:
        raise FloatingPointError("on_timer left a wake_at that is not later than now")
