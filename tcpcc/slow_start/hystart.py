"""HyStart: slow start that ends before it overflows the path, as in Linux' CUBIC.

Source: S. Ha, I. Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55(9), 2011;
Linux' net/ipv4/tcp_cubic.c, since 2.6.29.

In slow start with W >= hystart_low_window (W = cwnd), ssthresh <- W if

(1)  ACK train: each ACK since the round began came at most hystart_ack_delta after the one before,
     and more than minRTT/2 have passed since then: a window fills half of the path, there and back
(2)  delay: the smallest of the first `rtt_samples` round-trip times of a round exceeds minRTT by
     more than minRTT/8, taken as no less than rtt_thresh_min and no more than rtt_thresh_max

`hystart_detect` chooses: 1 the train, 2 delay, 3 either. It works in every slow start, as in Linux.

Differences from Linux
    The gap is per packet acknowledged: an ACK that tells of two may come after twice the time.
    Round-trip times are exact, and counted by packets. All of a round's are seen; Linux misses
    those before W = hystart_low_window.
"""

import math

from tcpcc.definition import Param, State, register
from tcpcc.slow_start.start_up import StartUp


def on_round(s, p, ack):
    s.hystart_began = ack.now
    s.hystart_last = ack.now
    s.hystart_rtt = math.inf
    s.hystart_samples = 0.0


def train(s, p, ack):
    """(1)"""
    if ack.now - s.hystart_last > p.hystart_ack_delta * max(ack.delivered, 1.0):
        return False
    s.hystart_last = ack.now
    return ack.now - s.hystart_began > ack.base_rtt / 2


def delayed(s, p, ack):
    """(2)"""
    if s.hystart_samples < p.rtt_samples:
        return False
    return s.hystart_rtt > ack.base_rtt + rise(p, ack.base_rtt)


def rise(p, rtt):
    """By how much a round-trip time must exceed `rtt` to count as delayed."""
    return min(max(rtt / 8, p.rtt_thresh_min), p.rtt_thresh_max)


def on_ack(s, p, ack, before):
    if ack.rtt > 0 and s.hystart_samples < p.rtt_samples:
        s.hystart_rtt = min(s.hystart_rtt, ack.rtt)
        s.hystart_samples += ack.delivered
    by_train = train(s, p, ack) and p.hystart_detect != 2
    by_delay = delayed(s, p, ack) and p.hystart_detect != 1
    if before >= p.hystart_low_window and (by_train or by_delay):
        s.ssthresh = min(s.ssthresh, s.cwnd)


def check(p):
    low, high = p["rtt_thresh_min"], p["rtt_thresh_max"]
    if low > high:
        return f"rtt_thresh_min = {low:g} exceeds rtt_thresh_max = {high:g}"
    return None


PARAMS = {
    "rtt_samples": Param(8, "packets", "that tell a round's delay (Linux; RFC 9406)", 1),
    "rtt_thresh_min": Param(0.004, "s", "least rise of the delay that counts (Linux; RFC)", 0),
    "rtt_thresh_max": Param(0.016, "s", "rise that always counts (Linux; RFC)", 0),
}

hystart = register(
    StartUp(
        name="hystart",
        summary="ends slow start by the length of ACK trains and by rising delay",
        source="Ha, Rhee 2011; Linux",
        on_ack=on_ack,
        on_round=on_round,
        params={
            **PARAMS,
            "hystart_low_window": Param(16, "packets", "least window that it ends with (Linux)", 1),
            "hystart_ack_delta": Param(0.002, "s", "longest gap in an ACK train (Linux)", 0),
            "hystart_detect": Param(3, "1, 2 or 3", "1: ACK trains, 2: delay, 3: either", 1, 3),
        },
        state={
            "hystart_began": State(0, "s", "when the round began"),
            "hystart_last": State(0, "s", "time of the last ACK of the round's train"),
            "hystart_rtt": State(math.inf, "s", "smallest of the round's first round-trip times"),
            "hystart_samples": State(0, "packets", "how many of these"),
        },
        validate=check,
    )
)
