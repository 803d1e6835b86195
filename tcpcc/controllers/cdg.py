"""CDG: backs off at random, with a probability that grows with the delay gradient.

Source: D. A. Hayes, G. Armitage, "Revisiting TCP congestion control using delay gradients",
Networking 2011; Linux' ``tcp_cdg``, which gives the default constants.

Equations (g_min, g_max: sums over 8 rounds of the changes of a round's smallest and largest RTT;
after only n < 8 rounds, scaled by 8/n)

(1)  g = g_min if that is positive, else g_max
(2)  g > 0: with probability 1 - exp(-42 g) (g in s)  W <- 0.7071 W, ssthresh <- W, and W does not
     grow in the next round
(3)  after 5 such back-offs without effect further ones are ignored; the effect is g_min or g_max
     at most -32 us
(4)  W grows as Reno's; the shadow window w grows with it and ignores (2)
(5)  loss:  w <- min(w/2, W);  W <- max(w, W/2, 2),  so that a loss after a back-off does not reduce
     W twice

Differences from Linux
    Linux' CDG includes HyStart; here it is ``Flow("cdg", slow_start="hystart")``. The tolerance of
    losses without congestion (``use_tolerance``, off by default in Linux) is left out, and so is
    the filter of delayed ACKs' RTTs (``ca->delack``). A spurious loss restores W and not w, as in
    Linux.

Evidence (constants: Linux)
    claim: yields to CUBIC, fills the link alone
        transport/test_delivery.py::test_low_priority_yields_to_cubic
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform

ROUNDS = 8


def gradient(s):
    """(1)."""
    if s.least == math.inf or s.least_before == 0:
        return 0.0
    k = int(s.place)
    low = s.least - s.least_before
    high = s.most - s.most_before
    s.sum_low += low - s.lows[k]
    s.sum_high += high - s.highs[k]
    s.lows[k] = low
    s.highs[k] = high
    s.place = float((k + 1) % ROUNDS)
    g = s.sum_low if s.sum_low > 0 else s.sum_high
    if s.place == 0:
        s.filled = 1.0
    elif s.filled == 0:
        g *= ROUNDS / s.place
    if s.sum_low <= -32e-6 or s.sum_high <= -32e-6:
        s.cuts = 0.0
    return g


def on_round(s, p, ack):
    g = gradient(s)
    if s.least < math.inf:
        s.least_before, s.most_before = s.least, s.most
    s.least, s.most = math.inf, 0.0
    s.resting = 0.0
    if g <= 0 or uniform(s) <= math.exp(-p.factor * g):
        return
    s.cuts += 1
    if s.cuts > p.ineffective:
        return
    s.shadow = max(s.shadow, s.cwnd)
    s.ssthresh = max(s.cwnd * p.beta, 2.0)  # (2)
    s.cwnd = min(s.cwnd, s.ssthresh)
    s.resting = 1.0


def on_ack(s, p, ack):
    if ack.rtt > 0:
        s.least = min(s.least, ack.rtt)
        s.most = max(s.most, ack.rtt)
    if ack.limited != 0:
        s.shadow = min(s.shadow, s.cwnd)
    elif s.resting == 0:
        before = s.cwnd
        reno_on_ack(s, p, ack)  # (4)
        s.shadow += s.cwnd - before


def on_loss(s, p, ack):
    s.shadow = min(s.shadow / 2, ack.window)  # (5)
    s.ssthresh = max(s.shadow, ack.window / 2, 2.0)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0


cdg = register(
    Controller(
        name="cdg",
        summary="backs off at random when the delay rises; a shadow window softens losses",
        source="Hayes, Armitage 2011; Linux",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "factor": Param(42, "1/s", "factor of the gradient in (2)", 0),
            "beta": Param(0.7071, "", "share of the window after a back-off", 0.01, 1),
            "ineffective": Param(5, "", "back-offs without effect before (3) applies", 0),
        },
        state={
            "shadow": State(0, "packets", "window that ignores back-offs (w)"),
            "least": State(math.inf, "s", "smallest RTT of this round"),
            "most": State(0, "s", "largest RTT of this round"),
            "least_before": State(0, "s", "smallest RTT of the last round"),
            "most_before": State(0, "s", "largest RTT of the last round"),
            "lows": State(0, "s", "changes of the smallest RTT", size=ROUNDS),
            "highs": State(0, "s", "changes of the largest RTT", size=ROUNDS),
            "sum_low": State(0, "s", "g_min: sum of lows"),
            "sum_high": State(0, "s", "g_max: sum of highs"),
            "place": State(0, "", "index of the next change"),
            "filled": State(0, "0 or 1", "8 rounds are complete"),
            "cuts": State(0, "", "back-offs since one had an effect"),
            "resting": State(0, "0 or 1", "the round after a back-off"),
        },
        chance=True,
        look=("sky", "*"),
    )
)
