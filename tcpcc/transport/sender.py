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
    f.min_rtt = math.inf
    f.finished = math.nan
    f.cut_at = -1.0
    f.fine_rto = math.inf
    reset_timer(f)
    begin_round(f, now)
    opens_later = f.handshake != 0 or f.delay_growth != 0
    window_at(f.state, 0).cwnd = 1.0 if opens_later else f.initial_window
    f.burst = f.max_burst
    resume(f, now)


@compiled
def on_ack(f, now, ack, trigger, low, high):
    """An ACK arrived: everything up to `ack` is received; segment `trigger` caused it, and the
    block ``low <= seq < high`` around it is received too."""
    f.acks += 1
    if ack < f.high_ack:
        return
    if f.delay_growth != 0 and f.high_ack == 0 and ack > 0:
        window_at(f.state, 0).cwnd = f.initial_window
    if f.family == CLASSIC:
        classic.on_ack(f, now, ack)
    elif f.family == SCOREBOARD:
        sack.on_ack(f, now, ack, trigger, low, high)
    elif f.family == FINE_GRAINED:
        fine_grained.on_ack(f, now, ack)
    else:
        fine_grained_ns2.on_ack(f, now, ack)
    if f.high_ack >= f.limit - 1 and math.isnan(f.finished):
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
    first = segment_at(f.segments, (f.high_ack + 1) & f.segment_mask)
    timed_out(f, now, first.transmits, f.max_seq - f.high_ack)
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
def stop(f):
    """No new data from now on; what is outstanding is still repaired."""
    f.limit = min(f.limit, f.max_seq + 1)
