"""Coasting: no loss, mark or timer is near, so rules get real amounts and the curve follows W."""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.coast.coast_records import EPS
from tcpcc.models.coast.episode import LEAST_ROOM, enter
from tcpcc.transport.flow_record import window_at
from tcpcc.transport.output import in_force
from tcpcc.transport.rto import measure, restart_timer
from tcpcc.transport.rules import report_acked


@compiled
def report(w, c, f, now, rtt, upto):
    """Report the packets acknowledged since the last report, up to `upto`, to the controller."""
    rest = c.acked - upto
    amount = c.pend - rest
    c.pend = rest
    off = c.offset
    f.high_ack = int(upto + EPS) - off - 1
    # the last ACK has not yet released its packet
    f.next_seq = int(c.sent - rest + EPS) - off - 1
    f.max_seq = f.next_seq - 1
    f.last_rtt = rtt
    f.recent_rtt = rtt
    f.srtt += (rtt - f.srtt) * -math.expm1(-amount / 8)
    if f.high_ack >= f.timed_seq:
        measure(f, now, rtt)
        f.backoff = 1
        f.timed_seq = f.max_seq
    restart_timer(f, now)
    c.deadline = f.deadline
    report_acked(f, now, amount, rtt)
    f.next_seq += 1
    f.max_seq += 1
    c.round_end = f.round_seq + off + 1.0
    c.window = float(int(in_force(f, window_at(f.state, 0).cwnd) + EPS))
    c.part = w.part * c.window
    out = f.next_seq - f.high_ack
    if 2 * out + LEAST_ROOM > min(f.segment_mask, c.order_mask):
        w.need = 1


@compiled
def send(c, upto):
    """The curve follows the window: what is acknowledged, and a whole window more."""
    goal = upto + c.window
    if goal > c.sent:
        c.sent = goal


@compiled
def run_coast(w, c, f, route, to):
    """One step of a coasting flow; it may end in an episode that begins at the returned time."""
    at = c.acked
    if to < c.next_event and c.deadline > w.now and to + c.window < c.limit:
        c.acked = to
        c.pend += to - at
        send(c, to)
        if to >= c.round_end:
            report(w, c, f, w.now - w.step * (to - c.round_end) / (to - at), route.rtt, c.round_end)
            send(c, to)
        elif c.pend >= c.part:
            report(w, c, f, w.now, route.rtt, to)
            send(c, to)
        return w.now
    when = w.now
    stop = min(to, max(c.next_event, at))
    if to + c.window >= c.limit:
        stop = at
    if to > at:
        when = w.before + w.step * (stop - at) / (to - at)
    if c.next_event <= to and stop > at:
        c.acked = stop
        c.pend += stop - at
    if c.pend > 0:
        send(c, c.acked)
        report(w, c, f, when, route.rtt, c.acked)
        send(c, c.acked)
    enter(w, c, f, when)
    return when
