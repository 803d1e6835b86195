"""HyStart: slow start that ends before it overflows the path, as in Linux CUBIC.

Source: S. Ha, I. Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55(9), 2011;
Linux net/ipv4/tcp_cubic.c, since 2.6.29.

In slow start with W >= hystart_low_window (W = cwnd), ssthresh <- W if

(1)  ACK train: consecutive ACKs at most hystart_ack_delta apart have continued from the start of
     the round for more than (minRTT + A)/2: the window then fills half of the round trip. A: time
     of four GSO bursts of 64 KB at twice the sending rate, at most 1 ms (``hystart_ack_delay``)
(2)  delay: the smallest of the first `rtt_samples` RTTs of a round exceeds minRTT by more than
     minRTT/8, bounded by rtt_thresh_min and rtt_thresh_max

`hystart_detect` chooses: 1 train, 2 delay, 3 either. As in Linux it ends a slow start once
(``found``), and again after a timeout (``bictcp_state``). A slow start after an idle time goes on
to ssthresh.

Differences from Linux
    The gap is per packet acknowledged: an ACK of two packets may come after twice the time.
    RTTs are exact, and counted by packets. All RTTs of a round count; Linux ignores those before
    W = hystart_low_window. With pacing Linux does not halve the limit of (1); no controller that
    takes this rule paces.
"""

import math

from tcpcc.definition import Param, State, exceeds, register
from tcpcc.slow_start.start_up import StartUp

TIMEOUT = 2.0  # `ack.phase` after a timeout


def on_round(s, p, ack):
    s.hystart_began = ack.now
    s.hystart_last = ack.now
    s.hystart_rtt = math.inf
    s.hystart_samples = 0.0


BURSTS = 4 * 65536 * 8  # bits; four bursts of the largest size that GSO has
LONGEST = 1e-3  # s; limit of the time that they take


def burst_time(s, ack):
    """A of (1), s."""
    rate = 2 * 8 * ack.packet_size * s.cwnd / ack.srtt  # bit/s, Linux' sk_pacing_rate in slow start
    return min(BURSTS / rate, LONGEST)


def train(s, p, ack):
    """(1)"""
    if ack.now - s.hystart_last > p.hystart_ack_delta * max(ack.delivered, 1.0):
        return False
    s.hystart_last = ack.now
    return ack.now - s.hystart_began > (ack.base_rtt + burst_time(s, ack)) / 2


def delayed(s, p, ack):
    """(2)"""
    if s.hystart_samples < p.rtt_samples:
        return False
    return s.hystart_rtt > ack.base_rtt + rise(p, ack.base_rtt)


def rise(p, rtt):
    """Increase above `rtt` from which an RTT counts as delayed."""
    return min(max(rtt / 8, p.rtt_thresh_min), p.rtt_thresh_max)


def on_restart(s, p, ack):
    if ack.phase == TIMEOUT:
        s.hystart_found = 0.0


def on_ack(s, p, ack, before):
    if s.hystart_found != 0:
        return
    if ack.srtt == 0:  # the first packets were sent twice: Linux ignores ACKs without an RTT
        return
    if ack.rtt > 0 and s.hystart_samples < p.rtt_samples:
        s.hystart_rtt = min(s.hystart_rtt, ack.rtt)
        s.hystart_samples += ack.delivered
    by_train = train(s, p, ack) and p.hystart_detect != 2
    by_delay = delayed(s, p, ack) and p.hystart_detect != 1
    if before >= p.hystart_low_window and (by_train or by_delay):
        s.ssthresh = min(s.ssthresh, s.cwnd)
        s.hystart_found = 1.0


def check(p):
    return exceeds(p, "rtt_thresh_min", "rtt_thresh_max")


PARAMS = {
    "rtt_samples": Param(
        8, "packets", "RTT samples that give a round's delay (Linux; RFC 9406)", 1
    ),
    "rtt_thresh_min": Param(0.004, "s", "smallest threshold of the delay's rise (Linux; RFC)", 0),
    "rtt_thresh_max": Param(0.016, "s", "largest threshold of the delay's rise (Linux; RFC)", 0),
}

hystart = register(
    StartUp(
        name="hystart",
        summary="ends slow start by the length of ACK trains and by rising delay",
        source="Ha, Rhee 2011; Linux",
        on_ack=on_ack,
        on_round=on_round,
        on_restart=on_restart,
        params={
            **PARAMS,
            "hystart_low_window": Param(
                16, "packets", "least window at which slow start ends (Linux)", 1
            ),
            "hystart_ack_delta": Param(0.002, "s", "longest gap in an ACK train (Linux)", 0),
            "hystart_detect": Param(3, "1, 2 or 3", "1: ACK trains, 2: delay, 3: either", 1, 3),
        },
        state={
            "hystart_began": State(0, "s", "start of the round"),
            "hystart_last": State(0, "s", "time of the last ACK of the round's train"),
            "hystart_rtt": State(math.inf, "s", "smallest of the round's first RTTs"),
            "hystart_found": State(0, "0 or 1", "whether the rule has ended a slow start"),
            "hystart_samples": State(0, "packets", "number of these RTTs"),
        },
        validate=check,
    )
)
