"""The TCP sender, sans-IO.

A driver calls :func:`start`, :func:`on_ack`, :func:`on_timer` with the present time and then sends
what it finds in the flow's outbox, calls :func:`resume` while ``f.more`` is set, and sees to it
that :func:`on_timer` is called at ``f.deadline``.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.transport.flow_record import (
    CLASSIC,
    FINE_GRAINED,
    LOSS,
    OPEN,
    SCOREBOARD,
    segment_at,
    window_at,
)
from tcpcc.transport.output import fill
from tcpcc.transport.recovery import classic, fine_grained, fine_grained_ns2, sack
from tcpcc.transport.rto import back_off, reset_timer, restart_timer
from tcpcc.transport.rules import begin_round, timed_out


@compiled
def resume(f, now):
    """Send what the window allows and an earlier call had no room for, at most ``f.burst``."""
    if f.family == SCOREBOARD:
        sack.fill(f, now, f.burst)
    else:
        fill(f, now, f.burst)


@compiled
def start(f, now):
    """Open the connection: the initial window, or one packet when a handshake comes first."""
    f.next_seq = 0
    f.max_seq = -1
    f.high_ack = -1
    f.recover = -2  # so that the loss of the very first packet can be repaired fast
    f.phase = OPEN
    f.sack1 = f.sack2 = f.sack3 = -1
    f.min_rtt = math.inf
    f.finished = math.nan
    f.cut_at = -1.0
    f.fine_rto = math.inf
    reset_timer(f)
    begin_round(f, now)
    window_at(f.state, 0).cwnd = 1.0 if f.handshake != 0 else f.initial_window
    f.burst = f.max_burst
    resume(f, now)


@compiled
def on_ack(f, now, ack, trigger, low, high):
    """An ACK arrived: everything up to `ack` is received; segment `trigger` caused it, and the
    block ``low <= seq < high`` around it is received too."""
    f.acks += 1
    if ack < f.high_ack:
        return
    if f.family == CLASSIC:
        classic.on_ack(f, now, ack)
    elif f.family == SCOREBOARD:
        sack.on_ack(f, now, ack, trigger, low, high)
    elif f.family == FINE_GRAINED:
        fine_grained.on_ack(f, now, ack)
    else:
        fine_grained_ns2.on_ack(f, now, ack)
    if f.high_ack >= f.limit - 1 and f.awaits == 0 and math.isnan(f.finished):
        f.finished = now
        f.deadline = math.inf


@compiled
def on_timer(f, now):
    """The retransmission timer expired: go back to the first unacknowledged packet."""
    f.deadline = math.inf
    if f.high_ack == f.max_seq:
        return
    f.recover = f.max_seq
    f.phase = LOSS
    f.dupacks = 0
    f.inflation = 0
    f.cut_to = 0.0
    timed_out(f, now)
    back_off(f)
    restart_timer(f, now)
    f.timing = 0
    f.cut_at = now
    f.next_seq = f.high_ack + 1
    if f.family == SCOREBOARD:
        sack.give_up(f)
    if f.stale_rounds == 0:
        f.worried = 0
        begin_round(f, now)
    f.burst = f.max_burst
    resume(f, now)


@compiled
def write(f, now):
    """The application has handed over more data, up to ``f.limit``.

    After a silence of more than a retransmission timeout the window falls back to the initial one
    (RFC 5681, 4.1). During a loss recovery the ACKs to come let the new data out.
    """
    if f.high_ack == f.max_seq:
        last = segment_at(f.segments, f.max_seq & f.segment_mask).sent_at
        s = window_at(f.state, 0)
        if f.idle_restart != 0 and now - last > max(f.rto, f.min_rto):
            s.cwnd = min(s.cwnd, f.initial_window)
        begin_round(f, now)
    if f.phase == OPEN and f.dupacks == 0:
        f.burst = f.max_burst
        resume(f, now)


@compiled
def stop(f):
    """No new data from now on; what is outstanding is still repaired."""
    f.limit = min(f.limit, f.max_seq + 1)
