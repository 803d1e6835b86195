"""Where the transport meets the controller: samples, rounds, and the four rules."""

import math

from tcpcc.controllers.controller import sample_dtype
from tcpcc.engine.jit import accessor, call_rule, compiled
from tcpcc.transport.flow_record import TOLD, segment_at, window_at

sample_at = accessor(sample_dtype)


@compiled
def apply(f, rule):
    """Call a rule of the flow's controller; a window that it leaves must be a positive number."""
    call_rule(rule, f.state, f.params, f.sample)
    cwnd = window_at(f.state, 0).cwnd
    if not 0 < cwnd < math.inf:
        raise FloatingPointError("the rule left a cwnd that is not a positive finite number")


@compiled
def fill_sample(f, now):
    a = sample_at(f.sample, 0)
    a.now = now
    a.srtt = f.srtt
    a.min_rtt = f.min_rtt if f.min_rtt < math.inf else f.srtt
    a.max_rtt = max(f.max_rtt, a.min_rtt)
    a.inflight = f.next_seq - f.high_ack
    a.window = min(window_at(f.state, 0).cwnd, f.rwnd)
    return a


@compiled
def is_syn(f, seq):
    """Whether it is the SYN, whose round-trip time does not count."""
    return seq == 0 and f.handshake != 0 and f.syn_rtt == 0


@compiled
def sample_rtt(f, now, ack):
    """Round-trip time of segment `ack`; 0 if it was sent more than once (Karn's rule), or had been
    told of by a selective acknowledgement: this ACK tells when a hole below it was filled."""
    segment = segment_at(f.segments, ack & f.segment_mask)
    if segment.transmits != 1 or segment.flags & TOLD != 0:
        return 0.0
    rtt = now - segment.sent_at
    f.last_rtt = rtt
    f.recent_rtt = rtt
    f.srtt = rtt if f.srtt == 0 else f.srtt + (rtt - f.srtt) / 8
    return rtt


@compiled
def begin_round(f, now):
    f.round_seq = f.next_seq
    f.round_start = now
    f.round_sum = 0.0
    f.round_n = 0
    f.round_min = math.inf


@compiled
def acknowledged(f, now, packets, rtt):
    """Tell the controller of `packets` newly acknowledged: ``on_round`` if the first packet of the
    last round is among them, then ``on_ack``; what partial ACKs have acknowledged since the last
    time (``f.untold``) is delivered with it.

    The ACK that ends a round acknowledges the first packet of the next one, so its round-trip time
    counts there: ``on_round`` does not see it in any field but `rtt`. The SYN's is not one of those
    that the controller compares: it is shorter by what it takes to send the rest of a packet.
    """
    a = fill_sample(f, now)
    a.rtt = rtt
    a.acked = min(float(packets), f.abc_limit)
    a.delivered = float(packets + f.untold)
    f.untold = 0
    syn = is_syn(f, f.high_ack)
    if f.high_ack >= f.round_seq:
        a.round_time = now - f.round_start
        a.round_rtt = f.round_sum / f.round_n if f.round_n > 0 else a.round_time
        a.round_min_rtt = f.round_min if f.round_n > 0 else a.round_time
        a.round_packets = float(f.next_seq - f.round_seq)
        anew = f.stale_rounds != 0 and a.round_packets <= 1
        # the ACKs that follow a timeout may end a round that took no time, and measured none
        empty = f.round_n == 0 and math.isfinite(f.min_rtt) and f.stale_rounds == 0
        if not syn and ((a.round_rtt < f.min_rtt and not empty) or anew):
            f.min_rtt = a.round_rtt
            a.min_rtt = a.round_rtt
        if f.on_round != 0 and a.round_rtt > 0 and math.isfinite(f.min_rtt):
            apply(f, f.on_round)
        begin_round(f, now)
    if rtt > 0 and not syn:
        f.min_rtt = min(f.min_rtt, rtt)
        f.max_rtt = max(f.max_rtt, rtt)
        a.min_rtt = f.min_rtt
        a.max_rtt = f.max_rtt
        f.round_sum += rtt
        f.round_n += 1
        f.round_min = min(f.round_min, rtt)
    apply(f, f.on_ack)
    if f.handshake != 0 and f.high_ack == packets - 1:  # the ACK of the SYN
        repeated = segment_at(f.segments, 0).transmits > 1
        window_at(f.state, 0).cwnd = 1.0 if repeated else f.initial_window  # RFC 5681, 3.1


@compiled
def lost(f, now, transmits):
    """Tell the controller of a loss event; the lost packet had been sent `transmits` times."""
    a = fill_sample(f, now)
    a.transmits = float(transmits)
    f.loss_events += 1
    apply(f, f.on_loss)


@compiled
def timed_out(f, now):
    """Tell the controller that the retransmission timer expired."""
    fill_sample(f, now)
    f.timeouts += 1
    apply(f, f.on_timeout)
