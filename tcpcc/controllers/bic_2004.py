"""BIC TCP as listed in its paper: binary search for the window of the last loss.

Source: L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast
long-distance networks", INFOCOM 2004, section III and its listing.

W = cwnd in packets, M = `last_max`, Smax = `max_increment`, Smin = `min_increment`. In congestion
avoidance, I packets per round trip, I/W per newly acknowledged packet:

(1)  W < low_window:              I = 1
(2)  W < M, target (M + W)/2:     I = (M - W)/2, at most Smax: binary search, additive increase
(3)  once (M - W)/2 < Smin:       max probing: I = 1, doubled whenever W has grown by I
(4)  once I of (3) reaches Smax:  M is unknown, I = Smax
(5)  loss, W >= low_window:  W' <- beta W;  M <- W, or (W + W')/2 if W < M (fast convergence);
     W < low_window:         W' <- W/2
     ssthresh <- W', at least 2;  W <- ssthresh
(6)  timeout:  ssthresh and M as in (5);  W <- 1

beta is the share of W after a loss, 0.875 (in the paper the decrease, 0.125).

Differences from the paper
    The paper's listing has no test for the end of (2). Its text has one: the search ends when the
    distance falls below Smin.
    Before the first loss, and after (4), the listing sets M to a large number, so the next loss
    always counts as one below M. Here M is then infinite, and fast convergence requires a measured
    M.
    (6): the paper does not describe timeouts.

Evidence (constants: paper)
    vector: search, probing, fast convergence
        controllers/test_highspeed.py::test_bic_of_the_paper_finds_its_maximum_and_leaves_it
"""

import math

from tcpcc.controllers.bic import FAST_CONVERGENCE
from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register


def increment(s, p):
    """I of (1) to (4), packets per round trip."""
    if s.cwnd < p.low_window:
        return 1.0
    if s.step == 0:
        distance = (s.last_max - s.cwnd) / 2
        if distance >= p.min_increment:
            return min(distance, p.max_increment)  # (2), (4)
        s.step = 1.0  # (3)
        s.goal = s.cwnd + 1
        s.last_max = math.inf
    return s.step


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
        return
    s.cwnd += increment(s, p) / s.cwnd * ack.acked
    if s.step > 0 and s.cwnd >= s.goal:
        s.step *= 2
        s.goal = s.cwnd + s.step
        if s.step >= p.max_increment:
            s.step = 0.0


def on_loss(s, p, ack):
    window = ack.window
    left = window / 2
    if window >= p.low_window:
        left = p.beta * window
        last_max = s.last_max if s.last_max < math.inf else 0.0
        converging = window < last_max and p.fast_convergence
        s.last_max = (window + left) / 2 if converging else window
    s.step = 0.0
    s.ssthresh = max(left, 2.0)
    s.cwnd = s.ssthresh  # (5)


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0  # (6)


bic_2004 = register(
    Controller(
        name="bic_2004",
        summary="binary search for the window of the last loss, as listed in its paper",
        source="Xu, Harfoush, Rhee 2004",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "beta": Param(0.875, "", "share of the window that a loss leaves (paper)", 0.1, 0.99),
            **FAST_CONVERGENCE,
            "low_window": Param(14, "packets", "Reno below this window (paper)", 0),
            "max_increment": Param(32, "packets per round", "Smax (paper)", 1),
            "min_increment": Param(0.01, "packets per round", "Smin (paper)", 1e-9),
        },
        state={
            "last_max": State(math.inf, "packets", "M; infinite: unknown"),
            "step": State(0, "packets per round", "I of max probing; 0: no max probing"),
            "goal": State(0, "packets", "window at which I doubles"),
        },
        exact=True,
        slow_start="hystart++",
        look=("blue", "P"),
    )
)
