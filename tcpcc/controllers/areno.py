"""TCP Adaptive Reno (ARENO): Reno, and a window beside it that probes for what is left unused.

Source: H. Shimonishi, T. Hama, T. Murase, "TCP-Adaptive Reno for improving efficiency-friendliness
tradeoffs of TCP congestion control algorithm", PFLDnet 2006, as three public ports agree on it; the
paper itself was not at hand. What it leaves **uncertain** is a parameter.

W = cwnd = W_base + W_probe; R the round-trip time that an ACK tells, d the least one; RE the rate
estimate.

(1)  congestion level:  c = min((R - d) / (RTT_cong - d), 1);  0 where R - d < `no_queue`
(2)  increase:  W_inc(c) = W_m exp(-A c) + beta c + gamma,   W_m = RE/m,   A = 10,
         beta = 2 W_m (1/A - (1/A + 1) exp(-A)),   gamma = 1 - 2 W_m (1/A - (1/A + 1/2) exp(-A))
(3)  congestion avoidance, per newly acknowledged packet:
         W_base <- W_base + 1/W,   W_probe <- max(W_probe + (W_inc - `overlap`)/W, 0)
(4)  loss:  RTT_cong <- a RTT_cong + (1 - a) R,   W_base <- W/(1 + c),   W_probe <- 0
(5)  slow start, timeout:  as Reno; W_probe = 0

W_inc(1) = 1 and the integral of W_inc over c from 0 to 1 is 1, whatever W_m: as fast as Reno at
congestion, and on the average of a cycle.

Differences from the ports
    They are written with `overlap` = 0 in (3). Then W grows by 1 + W_inc, two packets per round
    trip at congestion, and a flow gets 1.9 times as much as Reno beside it (100 Mb/s, 40 ms, a
    buffer of one BDP), where Kaneko et al. 2007, Table 1, measured 0.96 times. In the units of
    the port that was checked the 1 in gamma is not even a byte, so that in fact it runs with
    W_inc(1) = 0, which is `overlap` = 1: the identities then hold for all that W grows by. Which of
    the two the paper means is uncertain.
    With an empty queue (1) is 0/0 once a loss has set RTT_cong to a time near d: the last digits
    of the clock, or a packet that waits for one other, decide whether c is 0 or 1. Senders of the
    time had clocks of 1 to 10 ms; here less than `no_queue` is no queue.
    m is 10 Mb/s there; here it is the number of packets of 1500 bytes in it, since a controller
    knows no bytes. The first loss sets RTT_cong to its R, so that it halves where R > d; until then
    c is 1 where anything queues. A loss in slow start halves too, as does one before the first R.
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.estimators import RE_PARAMS, RE_STATE, update_re
from tcpcc.controllers.reno import PARAMS as RENO_PARAMS
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.definition import Param, State, register


def congestion(s, p, ack):
    """(1)"""
    if s.rtt - ack.base_rtt < p.no_queue:
        return 0.0
    if s.rtt >= s.rtt_cong:
        return 1.0
    return (s.rtt - ack.base_rtt) / (s.rtt_cong - ack.base_rtt)


def increase(p, most, c):
    """(2): packets per round trip, where W_m = `most`."""
    small = math.exp(-p.steepness)
    beta = 2 * most * (1 / p.steepness - (1 / p.steepness + 1) * small)
    gamma = 1 - 2 * most * (1 / p.steepness - (1 / p.steepness + 0.5) * small)
    return most * math.exp(-p.steepness * c) + beta * c + gamma


def on_ack(s, p, ack):
    update_re(s, p, ack)
    if ack.rtt > 0:
        s.rtt = ack.rtt
    if s.cwnd < s.ssthresh:
        reno_on_ack(s, p, ack)  # (5)
        return
    share = ack.acked / s.cwnd
    grow = increase(p, s.re / p.m, congestion(s, p, ack)) - p.overlap
    if ack.limited != 0:
        grow = min(grow, 0.0)
    probe = max(s.probe + grow * share, 0.0)
    s.cwnd += share + probe - s.probe  # (3)
    s.probe = probe


def on_loss(s, p, ack):
    if s.rtt_cong == 0:
        s.rtt_cong = s.rtt
    s.rtt_cong = p.a * s.rtt_cong + (1 - p.a) * s.rtt
    c = congestion(s, p, ack) if s.cwnd >= s.ssthresh and s.rtt > 0 else 1.0
    s.cwnd = max(ack.window / (1 + c), 2.0)  # (4)
    s.ssthresh = s.cwnd
    s.probe = 0.0


def on_timeout(s, p, ack):
    reno_on_timeout(s, p, ack)
    s.probe = 0.0


NO_QUEUE = {
    "no_queue": Param(1e-3, "s", "R - d below it is no queue (a clock's tick; ours)", 0),
}

areno = register(
    Controller(
        name="areno",
        summary="Reno and a probing window, by the delay at earlier losses",
        source="Shimonishi, Hama, Murase 2006",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **RENO_PARAMS,
            **RE_PARAMS,
            "a": Param(0.85, "", "weight of the old RTT_cong (uncertain: perhaps 1 - a)", 0, 1),
            "m": Param(10e6 / 12000, "packets/s", "rate per packet of W_m: 10 Mb/s", 1e-9),
            **NO_QUEUE,
            "overlap": Param(1, "packets", "part of W_inc that W_base grows by (uncertain)", 0, 1),
            "steepness": Param(10, "", "how fast the increase falls with c: A", 1e-3),
        },
        state={
            **RE_STATE,
            "probe": State(0, "packets", "probing window, a part of cwnd"),
            "rtt": State(0, "s", "last round-trip time measured"),
            "rtt_cong": State(0, "s", "RTT_cong: round-trip time at losses; 0 before the first"),
        },
        recovery="sack-prr",
    )
)
