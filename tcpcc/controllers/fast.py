"""FAST TCP: a share of the way, each round trip, to the window that keeps alpha packets queued.

Source: C. Jin, D. Wei, S. Low, "FAST TCP: motivation, architecture, algorithms, performance", IEEE
INFOCOM 2004; D. Wei, C. Jin, S. Low, S. Hegde, same title, IEEE/ACM ToN 14(6), 2006.

Equations (W = cwnd; d = BaseRTT, the smallest round-trip time seen)

(1)  per ACK:  avgRTT <- (1 - g) avgRTT + g RTT,   g = min(3/W, 1/4)
(2)  start-up, while avgRTT - d < `mi_threshold`:  W <- W + 1 per newly acknowledged packet
(3)  then, every `period` round trips:
         W <- min(2 W, (1 - gamma) W + gamma (d / avgRTT W' + alpha)),
     at least 2, where W' is the window with which the packets that avgRTT tells of were sent
(4)  loss:     ssthresh <- max(W/2, 2);  W <- ssthresh
(5)  timeout:  as Reno; (2) begins anew, up to ssthresh

On one link W' d / avgRTT is what the flow's share of the pipe holds, so that N flows of equal d end
with N alpha packets queued, at equal rates or in proportion to their alphas, and a flow's error
shrinks by the factor 1 - gamma with each update.

Differences from the papers
    (2) is for start-up only. With the port's rule, which goes by it whenever the queue is short,
    no equilibrium with less than `mi_threshold` of queueing exists, and alpha has to grow with the
    link. `alpha` is a number of packets, 20 by default: 200 per 1 Gb/s is usual, so this suits
    100 Mb/s (ns-2: 100); the papers' tables of alpha by rate, and its tuning, are left out. A
    buffer that holds less than N alpha packets is overrun again and again.
    After (1) avgRTT keeps a tenth of earlier round trips' delays. While the queue builds up these
    are shorter, and an update leaves 0.46 of the error instead of 0.5; with `period` = 2, 0.49.
Taken from ns-2
    W' (``old_cwnd``). The papers write W: (3) would compare the window in force with the delay of
    the one before, and approach in damped swings. The port updates every other round trip,
    `period` = 2, with `max_gain` = 1/256.
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.reno import PARAMS as RENO_PARAMS
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.definition import Param, State, register


def measure(s, p, ack):
    """(1)"""
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
        summary="alpha packets queued, approached by a share of the distance per round trip",
        source="Jin, Wei, Low 2004; Wei, Jin, Low, Hegde 2006",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **RENO_PARAMS,
            "alpha": Param(20, "packets", "to keep queued (200 per 1 Gb/s is usual)", 0),
            "gamma": Param(0.5, "", "share of the distance per update (INFOCOM 2004, (3))", 0, 1),
            "period": Param(1, "round trips", "between updates (ns-2: 2)", 1),
            "mi_threshold": Param(0.75e-3, "s", "queueing delay that ends start-up (ns-2)", 0),
            "max_gain": Param(0.25, "", "largest weight in avgRTT (ns-2: 1/256)", 0, 1),
        },
        state={
            "avg_rtt": State(0, "s", "avgRTT; 0 before the first measurement"),
            "old_cwnd": State(1, "packets", "window at the end of the round before"),
            "rounds": State(0, "", "round trips since the last update"),
        },
        recovery="sack-prr",
    )
)
