"""What the window lets out, and what the controller is told of what comes back.

``next_seq`` is the fluid that a flow has sent so far, ``high_ack`` the fluid that has left the
network, acknowledged or known to be lost, both in packets; between them lies what is in flight.
These names are the transport's, so that its rules and its retransmission timer run on the records
of fluid flows as they are.
"""

import math

from tcpcc.engine.jit import compiled
from tcpcc.models.fluid.fluid_records import NONE, OPENING
from tcpcc.transport.flow_record import LOSS, OPEN, RECOVERY, window_at
from tcpcc.transport.rto import measure, reset_timer, restart_timer
from tcpcc.transport.rules import apply, begin_round, fill_sample


@compiled
def pump(f):
    """Send what the window lets out. A window is a whole number of packets, as a packet sender's.

    Nothing goes out while only the timer can help, nor while duplicate ACKs come in, unless each
    of these brings out a packet (limited transmit).
    """
    if f.phase >= OPENING or (f.phase == LOSS and f.holes > 0):
        return
    if f.phase == OPEN and f.holes > 0 and f.limited_transmit == 0:
        return
    left = f.high_ack
    if f.phase == RECOVERY and f.fine != 0 and f.partial != 0:
        # what had arrived beyond the next hole fills the window, and only what arrives since then
        # makes room
        left = min(left, f.hole_at + f.repaired + f.dupacks)
    edge = left + math.floor(min(window_at(f.state, 0).cwnd, f.rwnd) + NONE)
    f.next_seq = max(f.next_seq, min(edge, f.limit + f.known_lost))


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
    window_at(f.state, 0).cwnd = f.initial_window
    new_round(f, now)
    pump(f)
    f.grown = f.next_seq
    restart_timer(f, now)


@compiled
def start(f, now):
    """Open the connection: with the initial window, or a handshake first, which weighs nothing."""
    f.min_rtt = math.inf
    f.finished = math.nan
    f.expired_at = -math.inf
    f.opened_at = now
    f.fine_rto = math.inf
    reset_timer(f)
    if f.handshake != 0:
        f.phase = OPENING
        window_at(f.state, 0).cwnd = 1.0
    else:
        f.phase = OPEN
        send_first_window(f, now)


@compiled
def opened(f, now, rtt):
    """The handshake is over; its round trip is none of those that the controller compares, unless
    it is told to be."""
    f.phase = OPEN
    f.recent_rtt = rtt
    f.srtt = rtt
    measure(f, now, rtt)
    if f.syn_rtt != 0:
        f.min_rtt = min(f.min_rtt, rtt)
        f.max_rtt = max(f.max_rtt, rtt)
    a = fill_sample(f, now)
    a.rtt = rtt
    a.acked = 1.0
    a.delivered = 1.0
    a.inflight = 1.0
    apply(f, f.on_ack)
    send_first_window(f, now)


@compiled
def sample_rtt(f, rtt, packets):
    """Take in the round-trip time of `packets`; the smoothed one moves by 1/8 for each."""
    f.recent_rtt = rtt
    f.min_rtt = min(f.min_rtt, rtt)
    f.max_rtt = max(f.max_rtt, rtt)
    if f.srtt == 0:
        f.srtt = rtt
    else:
        f.srtt += (rtt - f.srtt) * min(packets / 8, 1.0)


@compiled
def end_round(f, now):
    """The first fluid sent in the last round came back: tell the controller, and the timer."""
    a = fill_sample(f, now)
    a.rtt = f.recent_rtt
    a.round_time = now - f.round_start
    a.round_rtt = f.round_sum / f.round_n if f.round_n > 0 else a.round_time
    a.round_min_rtt = f.round_min if f.round_n > 0 else a.round_time
    a.round_packets = f.next_seq - f.round_seq
    if f.stale_rounds != 0:
        if f.stale_packets >= 0:
            a.round_packets = f.stale_packets
        if min(a.round_packets, new_data(f)) <= 1 + NONE:
            f.min_rtt = a.round_rtt
            a.min_rtt = a.round_rtt
    if f.on_round != 0 and a.round_rtt > 0:
        apply(f, f.on_round)
    measure(f, now, f.recent_rtt)
    f.backoff = 1
    new_round(f, now)


@compiled
def acknowledged(f, now, packets, rtt):
    """New data was acknowledged.

    ``on_ack`` learns of it by a packet, or a sixteenth of the window, at a time, so that what the
    window lets out follows closely; a part ends where a round does. What came back unseen by
    the rules, during a recovery or of fluid given up, is delivered with the first.
    """
    sample_rtt(f, rtt, packets)
    while packets > NONE:
        part = min(packets, max(window_at(f.state, 0).cwnd / 16, 1.0))
        ahead = f.round_seq - f.high_ack
        if ahead <= NONE:
            end_round(f, now)
        elif ahead < part:
            part = ahead
        f.round_sum += rtt * part
        f.round_n += part
        f.round_min = min(f.round_min, rtt)
        a = fill_sample(f, now)
        a.rtt = rtt
        a.acked = part * f.counted
        a.delivered = part + f.untold
        f.untold = 0.0
        apply(f, f.on_ack)
        f.high_ack += part
        before = f.next_seq
        pump(f)
        f.grown += max(f.next_seq - before - part, 0.0)
        packets -= part
