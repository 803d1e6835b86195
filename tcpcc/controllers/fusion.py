"""TCP-Fusion: fast increase while the queue is short, then a rest; never below Reno's window.

Source: K. Kaneko, T. Fujikawa, Z. Su, J. Katto, "TCP-Fusion: a hybrid congestion control algorithm
for high-speed networks", PFLDnet 2007, section II.

W = cwnd; R the RTT sample of an ACK, d the smallest RTT; BE the bandwidth estimate.

(1)  diff = W (R - d)/R,   alpha = W d_min/R,   W_inc = BE d_inc              (packets)
(2)  congestion avoidance, per newly acknowledged packet:
         W <- W + W_inc/W              if diff < alpha,    i.e. R - d < d_min = 4 ms
         W <- W - (diff - alpha)/W     if diff > 3 alpha,  i.e. R - d > 3 d_min = 12 ms
         W                             otherwise
         reno_cwnd <- reno_cwnd + 1/W;   W <- max(W, reno_cwnd)
(3)  loss:     W <- max(d/R, 1/2) W,   reno_cwnd <- reno_cwnd/2, W at least that
(4)  slow start, timeout:  as Reno; reno_cwnd = W

At 100 Mb/s and packets of 1500 bytes W_inc is 8.3 packets per round trip. For a flow alone on the
link, at R = d + 4 ms, alpha is the 33.3 packets that queue for 4 ms. Such a flow rests with a
queueing delay between d_min and 3 d_min until reno_cwnd exceeds W.

Differences from the paper
    The paper's W_inc/cwnd and (-diff + alpha)/cwnd are per ACK, so W changes by W_inc, or by
    alpha - diff, a decrease, per round trip (errata A1, A2). BE and alpha are in packets here, in
    bits and bytes in the paper (A3). The paper has two values of D_min, 4 ms in alpha and 1 ms in
    W_inc: here `d_min` and `d_inc` (A4). The "beta = 12 Mb/s" of its section III is
    8 packet_size/d_inc (A5).
    reno_cwnd is halved separately at a loss, not set from the reduced W; otherwise the floor would
    not be Reno's (B1). If the receiver's window is smaller than reno_cwnd, it is halved instead.
    The paper does not specify this, so it is **uncertain**.
    R in (3) is that of the last ACK before the loss was detected (B2).
    A loss in slow start halves W: W/R is not the rate then, and d/R would leave twice the pipe.
    Slow start and the timeout are not in the paper (B3). Where (2) reduces W below ssthresh,
    ssthresh follows.
    R in (2) is one round trip old, so W first falls below its target.

Evidence (constants: paper)
    published value: shares, throughput, fairness of its paper
        papers/test_reproduction.py
"""

from tcpcc.controllers.rate_estimators import BE_PARAMS, BE_STATE, silence_be, update_be
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, State, register


def per_round(s, p, ack):
    """Change of W per round trip by (2), packets."""
    queueing = s.rtt - ack.base_rtt
    if queueing < p.d_min:
        return s.be * p.d_inc
    if queueing > 3 * p.d_min:
        return -s.cwnd * (queueing - p.d_min) / s.rtt
    return 0.0


def on_ack(s, p, ack):
    update_be(s, p, ack)
    if ack.rtt > 0:
        s.rtt = ack.rtt
    if s.cwnd < s.ssthresh:
        reno_on_ack(s, p, ack)  # (4)
        s.reno_cwnd = s.cwnd
        return
    share = ack.acked / s.cwnd
    s.reno_cwnd += ack.growing / s.cwnd
    if s.rtt > 0:
        s.cwnd += per_round(s, p, ack) * share
    s.cwnd = max(s.cwnd, s.reno_cwnd)
    s.ssthresh = min(s.ssthresh, s.cwnd)  # no new slow start after a decrease


def on_loss(s, p, ack):
    left = 0.5
    if s.cwnd >= s.ssthresh and s.rtt > 0:
        left = max(ack.base_rtt / s.rtt, 0.5)
    s.reno_cwnd = max(min(s.reno_cwnd, ack.window) / 2, 2.0)
    s.cwnd = max(left * ack.window, s.reno_cwnd)  # (3)
    s.ssthresh = s.cwnd


def on_timeout(s, p, ack):
    silence_be(s, p, ack)
    reno_on_timeout(s, p, ack)
    s.reno_cwnd = s.cwnd


fusion = register(
    reno.variant(
        name="fusion",
        summary="keeps the queueing delay in a band; never below Reno's window",
        source="Kaneko, Fujikawa, Su, Katto 2007",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **BE_PARAMS,
            "d_min": Param(4e-3, "s", "queueing delay below which W grows; above 3x it falls", 0),
            "d_inc": Param(1e-3, "s", "increase of W per round trip, as queueing delay", 0),
        },
        state={
            **BE_STATE,
            "reno_cwnd": State(1, "packets", "window that a Reno flow would have"),
            "rtt": State(0, "s", "last RTT sample"),
        },
        look=("black", "D"),
    )
)
