"""Vegas' loss recovery as in ns-2.35's ``Agent/TCP/Vegas``, packet for packet.

Published results were made with it, and depend on it where windows are small: with RED queues its
Vegas flows get up to twice the share that they get with `fine_grained`.
Differences from `fine_grained`:

- After up to three duplicate ACKs the window stays inflated. Only after a fourth one does the next
  new ACK deflate the window and end slow start.
- Deflation resets cwnd to its value after the last cut, even if the current loss did not cut it;
  after a timeout this value is 0 (here: one packet).
- A fast retransmit also backs off the coarse timer.
- The check on the next two ACKs treats a packet that was never sent as late, so the packet is sent
  twice. A timeout does not end the checks.
- After a timeout there is no fast retransmit until an ACK goes beyond the packets outstanding at
  the timeout.
- `stale_rounds` (:mod:`tcpcc.transport.rules`): a timeout does not begin a round, so the next round
  to end may have one packet or none. Such a round sets BaseRTT to its mean RTT, so a flow that
  timed out mistakes queueing delay for propagation delay.
- `newest_only`: an ACK that covers a retransmission gives an RTT sample if the newest packet was
  sent once.
- Packets sent at the start of a flow are not timed: their send time 0 counts as unknown. The first
  ACK only initialises the fine timer, and the round of the first window takes its mean RTT from the
  following round.

`cwnd` itself is inflated, as in ns-2, and a run's records show the inflated value.
"""

import math

from tcpcc.definition import State, register
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, segment_at, window_at
from tcpcc.transport.recovery.classic import new_ack, send_allowed
from tcpcc.transport.recovery.fine_grained import (
    FINE_TIMER,
    begin_fine_recovery,
    check_next_segment,
    expired,
    report_loss,
    retransmit_first,
    update_fine_timeout,
)
from tcpcc.transport.recovery.loss_recovery import Recovery
from tcpcc.transport.rto import back_off


def cut(s, f, now):
    """Cut the window and inflate it at once; ssthresh stays, so slow start continues for now."""
    w = window_at(f.state, 0)
    ssthresh = w.ssthresh
    report_loss(s, f, now)
    s.cut_to = w.cwnd
    w.cwnd += f.dupacks
    w.ssthresh = ssthresh


def is_late(s, f, now):
    """Whether the first unacknowledged segment is older than the fine timeout; a segment that was
    never sent always counts as late."""
    if f.high_ack >= f.max_seq:
        return f.high_ack + 1 < f.to_send
    return expired(s, f, now)


def fine_duplicate_ack_ns2(s, f, now):
    if f.high_ack + 1 >= f.to_send:
        return  # everything is acknowledged (ns-2 sends a packet that does not exist)
    f.dupacks += 1
    if is_late(s, f, now) or f.dupacks == f.dupack_threshold:
        if f.high_ack <= f.recover and f.phase == LOSS:
            return
        if begin_fine_recovery(s, f):
            cut(s, f, now)
        back_off(f)
        retransmit_first(f, now)
    elif f.dupacks > f.dupack_threshold:
        window_at(f.state, 0).cwnd += 1


def begin_fine_timer(s, rtt):
    s.fine_rtt8 = 8 * rtt
    s.fine_dev4 = rtt
    s.fine_rto = 1.5 * rtt


def time_packet(s, f, sent_at, rtt):
    """Use an RTT sample, unless the packet was sent at the start of the flow."""
    if s.fine_rtt8 == 0:
        begin_fine_timer(s, rtt)
        s.begun = sent_at
    if sent_at > s.begun:
        update_fine_timeout(s, rtt)
    else:
        f.round_sum -= rtt
        f.round_n -= 1


def deflate(s, f):
    w = window_at(f.state, 0)
    if f.dupacks > f.dupack_threshold and w.cwnd > s.cut_to:
        w.cwnd = max(s.cut_to, 1.0)
        w.ssthresh = 2.0


def on_ack(s, p, f):
    if f.ack > f.high_ack:
        deflate(s, f)
        if f.phase == RECOVERY or f.ack > f.recover:
            f.phase = OPEN
        sent_at = segment_at(f.segments, f.ack & f.segment_mask).sent_at
        rtt = new_ack(f, f.now, f.ack)
        if rtt > 0:
            time_packet(s, f, sent_at, rtt)
        check_next_segment(s, f, f.now, is_late(s, f, f.now))
    else:
        fine_duplicate_ack_ns2(s, f, f.now)
    send_allowed(f, f.now, math.inf)


def on_timeout(s, p, f):
    s.cut_to = 0.0
    s.cut_at = f.now


register(
    Recovery(
        "vegas-ns2",
        "fine-grained timeouts as in ns-2.35, packet for packet",
        on_ack,
        on_timeout=on_timeout,
        state=FINE_TIMER
        | {
            "cut_to": State(0, "packets", "cwnd after the last cut"),
            "begun": State(0, "s", "when the flow's first packet was sent"),
        },
        source="ns-2.35, tcp-vegas.cc",
        law="fine_grained_ns2",
        coasts=True,
        stale_rounds=True,
        newest_only=True,
    )
)
