"""FAST TCP: each round trip, moves part of the way to the window that keeps alpha packets queued.

Source: C. Jin, D. Wei, S. Low, "FAST TCP: motivation, architecture, algorithms, performance", IEEE
INFOCOM 2004; D. Wei, C. Jin, S. Low, S. Hegde, same title, IEEE/ACM ToN 14(6), 2006.

Equations (W = cwnd; d = BaseRTT, the smallest RTT so far)

(1)  per ACK:  avgRTT <- (1 - g) avgRTT + g RTT,   g = min(3/W, 1/4)
(2)  start-up, while avgRTT - d < `mi_threshold`:  W <- W + 1 per newly acknowledged packet
(3)  then, every `period` round trips:
         W <- min(2 W, (1 - gamma) W + gamma (d / avgRTT W' + alpha)),
     at least 2, where W' is the window in force when the packets timed by avgRTT were sent
(4)  loss:     ssthresh <- max(W/2, 2);  W <- ssthresh
(5)  timeout:  as Reno; (2) starts again, up to ssthresh

On one link W' d / avgRTT is the number of the flow's packets in the pipe, outside the queue. So N
flows of equal d end with N alpha packets queued, at equal rates or in proportion to their alphas,
and each update multiplies a flow's error by 1 - gamma.

Differences from the papers
    (2) is for start-up only. The ns-2 port applies it whenever the queue is short; then there is no
    equilibrium with a queueing delay below `mi_threshold`, and alpha has to grow with the link.
    `alpha` is a number of packets, 20 by default: 200 per 1 Gb/s is usual, so this suits 100 Mb/s
    (ns-2: 100). The papers' tables of alpha by rate, and the tuning of alpha, are left out. A
    buffer of less than N alpha packets overflows repeatedly.
    After (1) avgRTT still contains part of earlier round trips' delays. While the queue builds up
    these are shorter, so an update leaves 0.46 of the error instead of 0.5, or 0.49 with
    `period` = 2.
Taken from ns-2
    W' (``old_cwnd``). The papers write W; (3) would then compare the window in force with the delay
    of the window before, and converge in damped oscillations. The port updates every second round
    trip (`period` = 2), with `max_gain` = 1/256.

Evidence (constants: paper; ns-2)
    closed form: queues alpha packets of each flow; proportional fairness
        models/analysis/test_equilibrium.py::test_fast_keeps_alpha_packets_of_each_flow
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.reno import PARAMS as RENO_PARAMS
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.definition import Param, State, register


def measure(s, p, ack):
    """Update avgRTT by (1)."""
    if ack.rtt == 0:
        return
    if s.avg_rtt == 0:
        s.avg_rtt = ack.rtt
    else:
        gain = min(3 / s.cwnd, p.max_gain)
        s.avg_rtt += min(gain * ack.acked, 1.0) * (ack.rtt - s.avg_rtt)


def on_ack(s, p, ack):
    measure(s, p, ack)
    if s.cwnd < s.ssthresh:
        if s.avg_rtt - ack.base_rtt < p.mi_threshold:
            s.cwnd += ack.acked  # (2)
        else:
            s.ssthresh = 2.0


def on_round(s, p, ack):
    s.rounds += 1
    sent_with = s.old_cwnd
    s.old_cwnd = s.cwnd
    if s.cwnd < s.ssthresh or s.rounds < p.period or s.avg_rtt == 0:
        return
    s.rounds = 0.0
    target = ack.base_rtt / s.avg_rtt * sent_with + p.alpha
    s.cwnd = max(min(2 * s.cwnd, (1 - p.gamma) * s.cwnd + p.gamma * target), 2.0)  # (3)


def on_loss(s, p, ack):
    reno_on_loss(s, p, ack)  # (4)
    s.rounds = 0.0
    s.old_cwnd = s.cwnd


def on_timeout(s, p, ack):
    reno_on_timeout(s, p, ack)  # (5)
    s.rounds = 0.0
    s.old_cwnd = s.cwnd


fast = register(
    Controller(
        name="fast",
        summary="keeps alpha packets queued, covering a share of the distance per round trip",
        source="Jin, Wei, Low 2004; Wei, Jin, Low, Hegde 2006",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **RENO_PARAMS,
            "alpha": Param(20, "packets", "packets to keep queued (200 per 1 Gb/s is usual)", 0),
            "gamma": Param(0.5, "", "share of the distance per update (INFOCOM 2004, (3))", 0, 1),
            "period": Param(1, "round trips", "round trips between updates (ns-2: 2)", 1),
            "mi_threshold": Param(0.75e-3, "s", "queueing delay that ends start-up (ns-2)", 0),
            "max_gain": Param(0.25, "", "largest weight of a sample in avgRTT (ns-2: 1/256)", 0, 1),
        },
        state={
            "avg_rtt": State(0, "s", "avgRTT; 0 before the first measurement"),
            "old_cwnd": State(1, "packets", "W': window at the end of the previous round"),
            "rounds": State(0, "", "round trips since the last update"),
        },
        look=("#777777", "P"),
    )
)
