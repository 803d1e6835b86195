"""Windows that are not used: they do not grow, and shrink when idle, as in Linux
(`Transport.window_decay`).

Source: net/ipv4/tcp_output.c, ``tcp_cwnd_restart``, ``tcp_write_xmit``, ``tcp_cwnd_validate``;
include/net/tcp.h, ``tcp_is_cwnd_limited``; RFC 2861.

- After an idle period longer than a retransmission timeout the window halves once per timeout of
  it, but not below the initial window. ssthresh becomes at least 3/4 of the window before.
- The window grows while it was in full use when data were last sent, so also while the last window
  of data is acknowledged (:func:`is_used`).

RFC 2861's third rule, a window that falls halfway to its use, has no effect in Linux:
``tcp_cwnd_application_limited`` acts a timeout after ``snd_cwnd_stamp``, which ``tcp_cong_avoid``
(tcp_input.c) sets with every ACK of new data.

The window of a controller with ``cong_control`` (here ``window="own"``) does not halve.
"""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.transport.flow_record import window_at


@not_inlined
def halve_for_idle_time(s, initial_window, rto, idle):
    """``tcp_cwnd_restart``: window `s` after `idle` s without sending; ssthresh as in
    ``tcp_current_ssthresh``."""
    least = min(initial_window, s.cwnd)
    s.ssthresh = max(s.ssthresh, float(math.floor(s.cwnd / 2) + math.floor(s.cwnd / 4)))
    idle -= rto
    while idle > 0 and s.cwnd > least:
        s.cwnd = float(math.floor(s.cwnd / 2))
        idle -= rto
    s.cwnd = max(s.cwnd, least)


@compiled
def is_used(f):
    """``tcp_is_cwnd_limited``: the window was in full use when data were last sent, or in slow
    start half of it. This does not change while the last window of data is acknowledged."""
    s = window_at(f.state, 0)
    return f.was_full != 0 or (s.cwnd < s.ssthresh and s.cwnd < 2 * f.most_out)


@compiled
def note_usage(f):
    """``tcp_cwnd_validate``, after something may have been sent. If nothing was, and no data wait
    for the congestion window, its use stays as it was."""
    cwnd = math.floor(window_at(f.state, 0).cwnd)
    waits = f.next_seq < f.to_send and cwnd < f.rwnd
    if f.more != 0 or (f.next_seq == f.noted_seq and not waits):
        return
    f.noted_seq = f.next_seq
    out = f.next_seq - f.high_ack - 1
    full = waits or out >= cwnd
    if f.high_ack + 1 >= f.usage_seq or full or (f.was_full == 0 and out > f.most_out):
        f.was_full = 1 if full else 0
        f.most_out = out
        f.usage_seq = f.next_seq
