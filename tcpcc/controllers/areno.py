"""TCP Adaptive Reno (ARENO): Reno plus a probing window that uses the unused capacity.

Source: H. Shimonishi, T. Hama, T. Murase, "TCP-Adaptive Reno for improving efficiency-friendliness
tradeoffs of TCP congestion control algorithm", PFLDnet 2006. The paper was not available; the
equations are those on which three public ports agree. Each **uncertain** point is a parameter.

W = cwnd = W_base + W_probe; R the RTT sample of an ACK, d the smallest RTT; RE the rate estimate.

(1)  congestion level:  c = min((R - d) / (RTT_cong - d), 1);  0 where R - d < `no_queue`
(2)  increase:  W_inc(c) = W_m exp(-A c) + beta c + gamma,   W_m = RE/m,   A = 10,
         beta = 2 W_m (1/A - (1/A + 1) exp(-A)),   gamma = 1 - 2 W_m (1/A - (1/A + 1/2) exp(-A))
(3)  congestion avoidance, per newly acknowledged packet:
         W_base <- W_base + 1/W,   W_probe <- max(W_probe + (W_inc - `overlap`)/W, 0)
(4)  loss:  RTT_cong <- a RTT_cong + (1 - a) R,   W_base <- W/(1 + c),   W_probe <- 0
(5)  slow start, timeout:  as Reno; W_probe = 0

For every W_m, W_inc(1) = 1 and the integral of W_inc over c from 0 to 1 is 1: W_inc equals Reno's
increase at congestion, and also on average over a cycle.

Differences from the ports
    The ports have `overlap` = 0 in (3). Then W grows by 1 + W_inc, two packets per round trip at
    congestion, and a flow gets 1.9 times the rate of a competing Reno flow (100 Mb/s, 40 ms, a
    buffer of one BDP); Kaneko et al. 2007, Table 1, measured 0.96. In the units of the port that we
    checked, the 1 in gamma is less than a byte, so the port in effect runs with W_inc(1) = 0. This
    is `overlap` = 1: the two identities then hold for the growth of W. The paper's choice is
    uncertain.
    If a loss has set RTT_cong close to d and the queue is empty, (1) is 0/0: clock rounding, or one
    packet waiting for another, decides whether c is 0 or 1. Senders of 2006 had clock ticks of 1 to
    10 ms; here R - d < `no_queue` counts as an empty queue.
    m is 10 Mb/s in the ports; here it is that rate in packets of 1500 bytes.
    With a queue, c is 1 until the first loss. That loss sets RTT_cong to its R, so that it halves
    W. A loss in slow start, or before the first R, halves W too.

Evidence (constants: paper)
    published value: window after a loss; shares and throughput (Fusion's paper)
        papers/test_tcp_fusion.py::test_what_a_loss_leaves
"""

import math

from tcpcc.controllers.rate_estimators import RE_PARAMS, RE_STATE, update_re
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, State, register


def congestion(s, p, ack):
    """c of (1)."""
    if s.rtt - ack.base_rtt < p.no_queue:
        return 0.0
    if s.rtt >= s.rtt_cong:
        return 1.0
    return (s.rtt - ack.base_rtt) / (s.rtt_cong - ack.base_rtt)


def increase(p, most, c):
    """W_inc of (2), packets per round trip, for W_m = `most`."""
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
    "no_queue": Param(1e-3, "s", "smaller R - d counts as an empty queue (a clock tick; ours)", 0),
}

areno = register(
    reno.variant(
        name="areno",
        summary="Reno plus a probing window that depends on the delay at earlier losses",
        source="Shimonishi, Hama, Murase 2006",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **RE_PARAMS,
            "a": Param(0.85, "", "weight of the old RTT_cong (uncertain: perhaps 1 - a)", 0, 1),
            "m": Param(10e6 / 12000, "packets/s", "RE per packet of W_m: 10 Mb/s", 1e-9),
            **NO_QUEUE,
            "overlap": Param(1, "packets", "part of W_inc that W_base covers (uncertain)", 0, 1),
            "steepness": Param(10, "", "A: how fast the increase falls with c", 1e-3),
        },
        state={
            **RE_STATE,
            "probe": State(0, "packets", "probing window, a part of cwnd"),
            "rtt": State(0, "s", "last RTT sample"),
            "rtt_cong": State(0, "s", "RTT_cong: smoothed RTT at losses; 0 before the first"),
        },
        look=("blue", "D"),
    )
)
