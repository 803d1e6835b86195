"""Windows that are not used shrink, as in Linux (`Transport.window_decay`).

Source: net/ipv4/tcp_output.c, ``tcp_cwnd_restart``, ``tcp_cwnd_validate``,
``tcp_cwnd_application_limited``; include/net/tcp.h, ``tcp_is_cwnd_limited``; RFC 2861.

- After an idle period longer than a retransmission timeout the window halves once per timeout of
  it, but not below the initial window.
- If the application has not used the window for a timeout, the window falls halfway to the largest
  number of packets outstanding in that time, or to the initial window if that is larger.
- Before either, ssthresh becomes at least 3/4 of the window.
- The window grows while it was in full use when data were last sent, so also while the last window
  of data is acknowledged (:func:`is_used`).

Linux does not shrink a window that the receiver limits: the application then waits for its socket's
buffer (``SOCK_NOSPACE``). Nor that of a controller with ``cong_control`` (here ``window="own"``).
"""

import math

from tcpcc.engine.jit import compiled, not_inlined
from tcpcc.transport.flow_record import OPEN, window_at
from tcpcc.transport.output import has_new_data
from tcpcc.transport.rto import timeout_interval


@compiled
def keep_threshold(s):
    """``tcp_current_ssthresh``: ssthresh remembers 3/4 of the window."""
    s.ssthresh = max(s.ssthresh, float(math.floor(s.cwnd / 2) + math.floor(s.cwnd / 4)))


@not_inlined
def halve_for_idle_time(f, idle):
    """``tcp_cwnd_restart``."""
    s = window_at(f.state, 0)
    rto = timeout_interval(f)
    least = min(f.initial_window, s.cwnd)
    keep_threshold(s)
    idle -= rto
    while idle > 0 and s.cwnd > least:
        s.cwnd = float(math.floor(s.cwnd / 2))
        idle -= rto
    s.cwnd = max(s.cwnd, least)
    f.most_used = 0


@compiled
def is_used(f):
    """``tcp_is_cwnd_limited``: the window was in full use when data were last sent, or in slow
    start half of it. This does not change while the last window of data is acknowledged."""
    s = window_at(f.state, 0)
    return f.was_full != 0 or (s.cwnd < s.ssthresh and s.cwnd < 2 * f.most_out)


@compiled
def note_use(f, now, before):
    """``tcp_write_xmit``: something may have been sent since `next_seq` was `before`. If not, and
    nothing waits, the use of the window stays as it was."""
    if f.more != 0 or (f.next_seq <= before and not has_new_data(f)):
        return
    shrink_unused(f, now)


@compiled
def shrink_unused(f, now):
    """``tcp_cwnd_validate``."""
    s = window_at(f.state, 0)
    out = f.next_seq - f.high_ack - 1
    full = has_new_data(f) or out >= math.floor(s.cwnd)
    if f.high_ack + 1 >= f.usage_seq or full or (f.was_full == 0 and out > f.most_out):
        f.was_full = 1 if full else 0
        f.most_out = out
        f.usage_seq = f.next_seq
    if is_used(f) or f.owns_window != 0:
        f.most_used = 0
        f.used_at = now
        return
    f.most_used = max(f.most_used, out)
    if now - f.used_at >= timeout_interval(f):
        if f.phase == OPEN and f.next_seq >= f.to_send:
            fall_halfway(f, s)
        f.used_at = now


@compiled
def fall_halfway(f, s):
    """``tcp_cwnd_application_limited``."""
    used = max(float(f.most_used), f.initial_window)
    if used < s.cwnd:
        keep_threshold(s)
        s.cwnd = float(math.floor((s.cwnd + used) / 2))
    f.most_used = 0
