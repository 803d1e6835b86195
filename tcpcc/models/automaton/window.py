"""The window limits the fluid that a sender sends; ACKs call the controller's rules.

``next_seq`` is the fluid that a flow has sent so far. ``high_ack`` is the fluid that has left the
network, acknowledged or known to be lost. Both are in packets; their difference is in flight. The
names are those of the transport, so its rules and its retransmission timer can use the records of
fluid flows.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.automaton.fluid_records import EPS, OPENING
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, window_at
from tcpcc.transport.pacing import pace
from tcpcc.transport.rto import measure, reset_timer, restart_timer
from tcpcc.transport.rules import apply_rule, begin_round, fill_sample, grow, is_limited, started

PARTS = 16  # parts of a window for which `on_ack` is called separately
PARTS_OF_MANY = 4  # the same for a flow that stands for several; its bursts are not resolved


@compiled
def flight_size(f):
    """Packets sent and not yet cumulatively acknowledged (RFC 5681, section 2).

    These are the packets in the network, the holes, and packets that have arrived beyond the first
    hole.
    """
    return f.next_seq - f.high_ack + f.dupacks


@compiled
def sample(f, now):
    """Fill a rule's sample with the present state; the caller adds acknowledged packets."""
    a = fill_sample(f, now)
    a.acked = 0.0
    a.delivered = 0.0
    a.rtt = 0.0
    a.transmits = 0.0
    a.limited = 0.0
    a.inflight = flight_size(f)
    return a


@compiled
def send_until(f, edge):
    """Send up to `edge`, limited by the receiver's window, the data and pacing."""
    if f.rwnd < math.inf:
        edge = min(edge, f.high_ack - f.dupacks + max(math.floor(f.rwnd + EPS), 1))
    edge = min(edge, f.limit + f.known_lost)
    if f.pacing_rate != 0:
        edge = min(edge, f.next_seq + f.allowance)
        f.allowance -= max(edge - f.next_seq, 0.0)
    f.next_seq = max(f.next_seq, edge)


@compiled
def reduce(f, delivered):
    """Send during a proportional rate reduction, after `delivered` packets were delivered.

    RFC 6937, with the slow-start reduction bound
    (:mod:`tcpcc.transport.recovery.rate_reduction`).
    """
    f.prr_delivered += delivered
    window = max(math.floor(window_at(f.state, 0).cwnd + EPS), 1)
    in_network = f.next_seq - f.high_ack
    if in_network > window:
        more = f.prr_delivered * window / f.flight_at_loss - f.prr_out
    else:
        more = min(window - in_network, max(f.prr_delivered - f.prr_out, delivered) + 1)
    if more > 0:
        before = f.next_seq
        send_until(f, f.next_seq + more)
        f.prr_out += f.next_seq - before


@compiled
def pump(f):
    """Send as much as the window allows.

    The window is rounded down to whole packets, as in the packet model, and is at least 1. The
    receiver's window begins at the cumulative ACK.

    No fluid is sent while the sender waits for a timeout. While duplicate ACKs arrive, fluid is
    sent only if each duplicate ACK releases a packet (limited transmit, RFC 3042).
    """
    if f.phase >= OPENING or (f.phase == LOSS and f.holes > 0):
        return
    if f.phase == OPEN and f.holes > 0 and f.limited_transmit == 0:
        return
    if f.phase == RECOVERY and f.proportional != 0:
        return
    left = f.high_ack
    if f.phase == RECOVERY and f.fine != 0 and f.partial != 0:
        # packets that had arrived beyond the next hole still fill the window; only those that
        # arrive since then make room
        left = min(left, f.hole_at + f.repaired + f.dupacks)
    edge = left + max(math.floor(window_at(f.state, 0).cwnd + EPS), 1)
    send_until(f, edge)


@compiled
def new_round(f, now):
    begin_round(f, now)
    f.round_lost = f.known_lost
    f.stale_packets = -1.0


@compiled
def new_data(f):
    """Packets sent since the round began, without retransmissions."""
    return f.next_seq - f.round_seq - (f.known_lost - f.round_lost)


@compiled
def send_first_window(f, now):
    window_at(f.state, 0).cwnd = 1.0 if f.delay_growth != 0 else f.initial_window
    if f.on_open != 0 and f.handshake != 0:
        apply_rule(f, f.on_open)
    if f.pacing_rate != 0:
        f.allowance = math.inf if math.isinf(pace(f)) else 1.0
    new_round(f, now)
    pump(f)
    f.grown = f.next_seq
    restart_timer(f, now)


@compiled
def start(f, now):
    """Open the connection, with a handshake if there is one; its packets have no size."""
    f.base_rtt = math.inf
    f.finished = math.nan
    f.expired_at = f.event_at = -math.inf
    f.first_new = -1.0
    f.opened_at = now
    f.fine_rto = math.inf
    reset_timer(f)
    if f.on_start != 0:
        started(f, now)
    if f.handshake != 0:
        f.phase = OPENING
        window_at(f.state, 0).cwnd = 1.0
    else:
        f.phase = OPEN
        send_first_window(f, now)


@compiled
def opened(f, now, rtt):
    """The handshake is over; its RTT changes `base_rtt` and `max_rtt` only if `syn_rtt` is set."""
    f.phase = OPEN
    f.recent_rtt = rtt
    f.srtt = rtt
    measure(f, now, rtt)
    if f.syn_rtt != 0:
        f.base_rtt = min(f.base_rtt, rtt)
        f.max_rtt = max(f.max_rtt, rtt)
    a = sample(f, now)
    a.rtt = rtt
    a.acked = 1.0
    a.delivered = 1.0
    a.inflight = 1.0
    apply_rule(f, f.on_ack)
    send_first_window(f, now)


@compiled
def sample_rtt(f, rtt, packets):
    """Update the RTT statistics by the RTT of `packets`; the smoothed RTT moves by 1/8 for each."""
    f.recent_rtt = rtt
    f.base_rtt = min(f.base_rtt, rtt)
    f.max_rtt = max(f.max_rtt, rtt)
    if f.srtt == 0:
        f.srtt = rtt
    else:
        f.srtt += (rtt - f.srtt) * min(packets / 8, 1.0)


@compiled
def end_round(f, a, now):
    """The first fluid of the round returned: complete the sample, call ``on_round``, begin the next
    round."""
    a.round_time = now - f.round_start
    a.round_rtt = f.round_sum / f.round_n if f.round_n > 0 else a.round_time
    a.round_min_rtt = f.round_min if f.round_n > 0 else a.round_time
    a.round_packets = f.next_seq - f.round_seq
    if f.stale_rounds != 0:
        if f.stale_packets >= 0:
            a.round_packets = f.stale_packets
        if min(a.round_packets, new_data(f)) <= 1 + EPS:
            f.base_rtt = a.round_rtt
            a.base_rtt = a.round_rtt
    if f.on_round != 0 and a.round_rtt > 0:
        grow(f, f.on_round)
    new_round(f, now)


@compiled
def outstanding_at_most(f):
    """The largest outstanding window, as in :func:`tcpcc.transport.rules.outstanding_before`."""
    if f.next_seq >= f.limit + f.known_lost - EPS:
        return min(f.next_seq - f.high_ack, f.rwnd)
    return f.rwnd


@compiled
def tell(f, now, acked, delivered, rtt):
    """Call ``on_ack`` for new data acknowledged, after ``on_round`` if a round has ended."""
    a = sample(f, now)
    a.limited = 1.0 if is_limited(f, outstanding_at_most(f)) else 0.0
    a.acked = acked
    a.delivered = delivered
    a.rtt = rtt
    if f.round_seq - f.high_ack <= EPS:
        end_round(f, a, now)
    grow(f, f.on_ack)


@compiled
def acknowledged(f, now, packets, rtt):
    """New data was acknowledged.

    ``on_ack`` is called for a packet, or a fraction of the window, at a time, so that sending
    follows closely. Such a part ends where a round ends. Fluid that returned without a call of the
    rules, during a recovery or after it was written off, counts as delivered in the first call.
    """
    sample_rtt(f, rtt, packets)
    if f.delay_growth != 0 and f.high_ack >= 1 - EPS:  # the second packet's ACK is due
        f.delay_growth = 0
        window_at(f.state, 0).cwnd = f.initial_window
    while packets > EPS:
        cwnd = window_at(f.state, 0).cwnd
        part = min(packets, max(cwnd / (PARTS if f.count == 1 else PARTS_OF_MANY), 1.0))
        ahead = f.round_seq - f.high_ack
        if ahead <= EPS:
            if f.phase != LOSS:  # Karn's rule: no RTT of retransmissions
                measure(f, now, f.recent_rtt)
                f.backoff = 1
        elif ahead < part:
            part = ahead
        tell(f, now, part * f.counted, part + f.unreported, rtt)
        f.unreported = 0.0
        f.round_sum += rtt * part
        f.round_n += part
        f.round_min = min(f.round_min, rtt)
        f.high_ack += part
        before = f.next_seq
        pump(f)
        f.grown += max(f.next_seq - before - part, 0.0)
        packets -= part
