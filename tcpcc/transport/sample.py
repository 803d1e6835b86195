"""The sample of an event, which the rules of a controller read, and the call of a rule."""

import math

from tcpcc.controllers.controller import sample_dtype
from tcpcc.engine.jit import accessor, call_rule, compiled
from tcpcc.transport.flow_record import delivery_at, window_at

sample_at = accessor(sample_dtype)


@compiled
def apply_rule(f, rule):
    """Call a rule of the flow's controller, then check cwnd and ssthresh."""
    call_rule(rule, f.state, f.params, f.sample)
    s = window_at(f.state, 0)
    if not s.cwnd > 0 or s.cwnd - s.cwnd != 0:  # infinity - infinity is NaN
        raise FloatingPointError("the rule left a cwnd that is not a positive finite number")
    if not s.ssthresh > -math.inf:
        raise FloatingPointError("the rule left an ssthresh that is not a number or inf")


@compiled
def in_force(f, window):
    """The smaller of `window` and the receiver's window, at least one packet.

    With less than one packet no ACK would ever open the window again (RFC 5681, 3.1: the loss
    window is one packet; Linux).
    """
    return max(min(window, f.rwnd), 1.0)


@compiled
def fill_sample(f, now):
    """Fill in the fields common to all events; returns the sample."""
    a = sample_at(f.sample, 0)
    fill_now(f, a, now)
    fill_extremes(f, a)
    return a


@compiled
def fill_now(f, a, now):
    """Fill in the fields common to all events, except the smallest and the largest RTT."""
    a.now = now
    a.clock = now - f.paused
    f.sampled_at = now
    a.srtt = f.srtt
    a.inflight = f.next_seq - f.high_ack
    a.window = in_force(f, window_at(f.state, 0).cwnd)
    a.phase = float(f.phase)


@compiled
def fill_extremes(f, a):
    """Fill in the smallest and the largest RTT."""
    a.base_rtt = f.base_rtt if f.base_rtt < math.inf else f.srtt
    a.max_rtt = max(f.max_rtt, a.base_rtt)


@compiled
def fill_of_packets(f, a):
    """Fill in the fields that need a record of each packet; those of single packets become NaN."""
    d = delivery_at(f.delivery, 0)
    a.pipe = float(d.pipe)
    a.total_delivered = float(d.total)
    a.delivery_rate = a.rate_interval = a.rate_delivered = math.nan
    a.app_limited = a.lost = a.lost_inflight = a.owd = math.nan
    a.piece = d.piece


@compiled
def fill_of_newest(f, a):
    """Fill in the fields of the newest packet that the current ACK reports."""
    d = delivery_at(f.delivery, 0)
    a.delivery_rate = a.rate_interval = a.rate_delivered = a.owd = 0.0
    if d.news == 0:
        return
    interval = max(d.send_elapsed, d.last_at - d.prior_at)
    if interval > 0 and interval >= d.base_rtt:
        a.rate_interval = interval
        a.rate_delivered = float(d.total - d.prior)
        a.delivery_rate = a.rate_delivered / interval
    a.app_limited = float(d.limited)
    a.lost = float(d.lost - d.prior_lost)
    a.lost_inflight = float(d.prior_pipe)
    if not is_syn(f, d.newest):
        a.owd = d.owd


@compiled
def is_syn(f, seq):
    """Whether `seq` is the SYN and its RTT is not a sample (`syn_rtt` is not set)."""
    return seq == 0 and f.handshake != 0 and f.syn_rtt == 0


@compiled
def fill_loss_sample(f, now, transmits, flight):
    """Fill the sample of an event that acknowledges nothing new; the round's fields keep the values
    of the last round.

    If the application limits the sender (all that it has written and that is not acknowledged is
    less than the window), the window is the packets in flight (RFC 5681, equation 4). Otherwise it
    is in full use, and `flight` would only round it.
    """
    a = fill_sample(f, now)
    if flight > 0 and f.flight_ssthresh != 0 and f.to_send - f.high_ack - 1 < a.window:
        a.window = max(min(a.window, float(flight)), 1.0)
    a.acked = a.growing = 0.0
    a.delivered = float(f.unreported)
    a.rtt = 0.0
    a.inflight = float(flight)
    a.transmits = float(transmits)
    a.limited = 0.0
    a.marked = 0.0
    a.ce = 0.0
    if f.reads_packets != 0:
        fill_of_packets(f, a)


@compiled
def fill_event(f, now):
    """Fill the sample of an event other than new data, a loss or a mark; returns it."""
    a = fill_sample(f, now)
    if f.every_ack != 0:
        d = delivery_at(f.delivery, 0)
        if d.srtt > 0:
            a.srtt = d.srtt
            a.base_rtt = d.base_rtt
    a.acked = a.growing = a.delivered = 0.0
    a.rtt = a.transmits = a.limited = a.marked = a.ce = 0.0
    if f.reads_packets != 0:
        fill_of_packets(f, a)
    return a
