"""The TCP sender, sans-IO.

A driver calls :func:`open_connection`, :func:`receive_ack`, :func:`retransmission_timeout` with the
current time and then sends the packets in the flow's outbox. It calls :func:`resume_sending` while
``f.more`` is set, and :func:`retransmission_timeout` at ``f.deadline``. The flow's loss recovery
(:mod:`tcpcc.transport.recovery`) handles ACKs and timeouts; its rules are called by address.
"""

import math

from tcpcc.engine.jit import call_rule, compiled, not_inlined, number_at
from tcpcc.transport.delivery import note_limited, reset_delivery, take_delivery
from tcpcc.transport.ecn import marks_by_ace
from tcpcc.transport.flow_record import (
    L4S,
    LOSS,
    OPEN,
    RECOVERY,
    delivery_at,
    segment_at,
    window_at,
)
from tcpcc.transport.output import fill
from tcpcc.transport.rto import back_off, reset_timer, restart_timer
from tcpcc.transport.rules import (
    begin_round,
    mark_all_lost,
    on_wake,
    report_delivery,
    report_marks,
    reported_twice,
    restarted,
    started,
    timed_out,
    undo_recovery,
)
from tcpcc.transport.undo import DUE, NOT_DUE, note_answer
from tcpcc.transport.window_validation import halve_for_idle_time, note_usage


@compiled
def recover(f, now, rule):
    """Call a rule of the flow's loss recovery."""
    f.now = now
    call_rule(rule, f.recovery_state, f.recovery_params, f.address)


@compiled
def resume_sending(f, now):
    """Send the packets that an earlier call had no room for, at most ``f.burst``."""
    if f.recovery_resume != 0:
        recover(f, now, f.recovery_resume)
    else:
        fill(f, now, f.burst)
    if f.window_decay != 0:
        note_usage(f)


@compiled
def open_connection(f, now):
    """Open the connection: send the initial window, or one packet if there is a handshake."""
    f.next_seq = 0
    f.max_seq = -1
    f.high_ack = -1
    f.recover = -2  # allows a fast retransmit of the very first packet
    f.phase = OPEN
    f.base_rtt = math.inf
    f.finished = math.nan
    f.mark_edge = -1
    f.paused = 0.0
    f.sampled_at = now
    f.most_out = 0
    f.resent_at = -math.inf
    f.usage_seq = f.noted_seq = -1
    f.was_full = 0
    f.carried = 0.0
    f.in_piece = 0
    f.timer_seq = -1
    f.undo_from = -1
    f.once_from = f.run = 0
    f.coasting = 0
    f.echo_due = NOT_DUE
    reset_timer(f)
    if f.delivery != 0:
        reset_delivery(f)
    begin_round(f, now)
    opens_later = f.handshake != 0 or f.delay_growth != 0
    window_at(f.state, 0).cwnd = 1.0 if opens_later else f.initial_window
    if f.on_start != 0:
        started(f, now)
    f.burst = f.max_burst
    resume_sending(f, now)
    if f.delivery != 0:
        note_limited(f)


@compiled
def is_opened(f):
    """Whether :func:`open_connection` has been called."""
    return f.backoff > 0


@compiled
def receive_ack(f, now, ack, trigger, low, high):
    """An ACK arrived.

    Args:
        ack: everything up to this segment is received.
        trigger: the segment that caused the ACK.
        low, high: the block ``low <= seq < high`` around `trigger` is received; ``low > high``
            means that segment `high` arrived twice (D-SACK).
    """
    f.acks += 1
    if low > high:
        reported_twice(f, now, high)
    if ack < f.high_ack:
        return
    if f.high_ack == 0 and ack > 0 and f.delay_growth != 0:
        window_at(f.state, 0).cwnd = f.initial_window
    if f.rwnd > f.next_rwnd:
        f.rwnd = max(f.right_edge - ack, f.next_rwnd)
    f.ack = ack
    f.trigger = trigger
    f.low = low
    f.high = high
    if f.delivery != 0:
        read_deliveries(f, now)
    if f.echo_due == DUE and ack > f.high_ack:
        judge_echo(f, now)
    if f.marked != 0 and report_marks(f, now):
        wait_for_timer(f, now)
    else:
        recover(f, now, f.recovery_on_ack)
    if f.delivery != 0:
        report_delivery(f, now)  # does nothing if the loss recovery has called it
        note_what_limits(f)
    if f.window_decay != 0:
        note_usage(f)
    f.marked = 0
    if f.high_ack >= f.to_send - 1 and f.awaits == 0 and math.isnan(f.finished):
        f.finished = now
        f.deadline = math.inf


@not_inlined
def read_deliveries(f, now):
    """Read what an ACK reports as delivered, and how much of it as marked."""
    take_delivery(f, now)
    if f.ecn == L4S:
        marks_by_ace(f)


@not_inlined
def judge_echo(f, now):
    """The first ACK of new data after a retransmission: if it echoes the timestamp of the original
    packet, the retransmission was not needed (Eifel detection, RFC 3522, 3.2)."""
    f.echo_due = NOT_DUE
    if f.echoes_repair == 0 and f.phase != OPEN:
        if f.recovery_on_undo != 0:
            recover(f, now, f.recovery_on_undo)
        undo_recovery(f, now)


@not_inlined
def wait_for_timer(f, now):
    """A mark at a window of one packet: the ACK releases nothing; the next packet leaves when the
    retransmission timer expires (RFC 3168, 6.1.2)."""
    burst = f.max_burst
    f.max_burst = 0.0
    recover(f, now, f.recovery_on_ack)
    f.max_burst = burst
    s = window_at(f.state, 0)
    s.cwnd = min(s.cwnd, 1.0)
    restart_timer(f, now)


@compiled
def is_cut_already(f):
    """Whether a loss in this window has already cut ssthresh, so that a timeout keeps it: in
    recovery (Linux, ``tcp_enter_loss``), or if the timer retransmits the same segment again
    (RFC 5681, 3.1)."""
    if f.hold_ssthresh == 0:
        return False
    return f.phase == RECOVERY or (f.phase == LOSS and f.timer_seq == f.high_ack + 1)


@compiled
def retransmission_timeout(f, now):
    """The retransmission timer expired: go back to the first unacknowledged packet. If nothing is
    outstanding, send what has waited since :func:`wait_for_timer`."""
    f.deadline = math.inf
    if f.high_ack == f.max_seq:
        send_what_waits(f, now)
        return
    s = window_at(f.state, 0)
    ssthresh = s.ssthresh if is_cut_already(f) else 0.0
    f.timer_seq = f.high_ack + 1
    f.recover = f.max_seq
    f.phase = LOSS
    f.dupacks = 0
    f.inflation = 0
    first = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    note_answer(f, first.transmits)
    if f.delivery != 0:
        mark_all_lost(f, now)
    timed_out(f, now, first.transmits, f.max_seq - f.high_ack)
    s.ssthresh = max(s.ssthresh, ssthresh)
    back_off(f)
    restart_timer(f, now)
    f.timing = 0
    f.next_seq = f.high_ack + 1
    if f.recovery_on_timeout != 0:
        recover(f, now, f.recovery_on_timeout)
    if f.stale_rounds == 0:
        begin_round(f, now)
    send_what_waits(f, now)


@compiled
def send_what_waits(f, now):
    """Send what the window allows without a new ACK, at any time: between duplicate ACKs and during
    a recovery too (RFC 5681, 3.2; RFC 6675, 5; Linux, ``tcp_write_xmit``)."""
    f.burst = f.max_burst
    resume_sending(f, now)


@compiled
def note_what_limits(f):
    """After sending, call :func:`note_limited`; not with `window_decay`: Linux looks only when the
    application writes (``tcp_sendmsg``)."""
    if f.window_decay == 0:
        note_limited(f)


@compiled
def release_paced(f, now):
    """Pacing allows the next packet."""
    d = delivery_at(f.delivery, 0)
    if d.release_at <= now:
        d.release_at = math.inf
        resume_sending(f, now)
        note_what_limits(f)


@compiled
def alarm_at(f):
    """When :func:`call_alarms` must be called; infinity once everything is acknowledged."""
    if not math.isnan(f.finished):
        return math.inf
    at = delivery_at(f.delivery, 0).recheck_at
    if f.wake_at != 0:
        wake = number_at(f.state + f.wake_at, 0).value
        if math.isnan(wake):
            raise FloatingPointError("a rule left a wake_at that is NaN")
        at = min(at, wake)
    return at


@compiled
def call_alarms(f, now):
    """Call the controller's ``on_timer`` and the loss recovery's ``on_alarm`` if they are due."""
    if not math.isnan(f.finished):
        return
    if f.wake_at != 0 and number_at(f.state + f.wake_at, 0).value <= now:
        on_wake(f, now)
        send_what_waits(f, now)
    d = delivery_at(f.delivery, 0)
    if d.recheck_at <= now:
        d.recheck_at = math.inf
        if f.recovery_on_alarm != 0:
            recover(f, now, f.recovery_on_alarm)


@compiled
def before_write(f):
    """The application is about to write more data, beyond ``f.to_send``."""
    if f.delivery != 0:
        note_limited(f)


@not_inlined
def restart_window(f, idle):
    """The window after `idle` s without sending, longer than a retransmission timeout."""
    s = window_at(f.state, 0)
    if f.window_decay == 0:
        s.cwnd = min(s.cwnd, f.initial_window)
    else:
        halve_for_idle_time(s, f.initial_window, f.interval, idle)


@compiled
def write_data(f, now):
    """The application has written more data, up to ``f.to_send``.

    After an idle period longer than a retransmission timeout cwnd is at most the initial window
    (RFC 5681, 4.1), or half as large for each timeout (`window_decay`).
    """
    if f.high_ack == f.max_seq:
        last = segment_at(f.segments, f.max_seq & f.segment_mask).sent_at
        if f.window_decay != 0:  # lsndtime counts retransmissions too
            last = max(last, f.resent_at)
        if f.idle_restart != 0 and f.owns_window == 0 and now - last > max(f.rto, f.min_rto):
            restart_window(f, now - last)
        # Linux counts from the last packet sent (bictcp_cwnd_event)
        f.paused += now - (last if f.window_decay != 0 else f.sampled_at)
        begin_round(f, now)
        if f.on_restart != 0:
            restarted(f, now, now - last)
    send_what_waits(f, now)


@compiled
def learn_rwnd(f, now, rwnd):
    """The receiver offers a window of `rwnd` packets. Its right edge does not move back (RFC 9293,
    3.8.6; Linux, ``tcp_select_window``): a smaller window is reached as ACKs arrive."""
    f.next_rwnd = rwnd
    if rwnd < f.rwnd and is_opened(f):
        f.right_edge = f.high_ack + f.rwnd if f.rwnd < math.inf else float(f.max_seq)
        f.rwnd = max(f.right_edge - f.high_ack, rwnd)
        return
    f.rwnd = rwnd
    if is_opened(f) and math.isnan(f.finished):
        send_what_waits(f, now)
        if f.delivery != 0:
            note_limited(f)


@compiled
def stop_sending(f):
    """Send no new data from now on; lost packets are still retransmitted."""
    f.to_send = min(f.to_send, f.max_seq + 1)
