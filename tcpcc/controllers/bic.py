"""BIC TCP of Linux: binary search for the window of the last loss, then probing beyond it.

Source: L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast
long-distance networks", INFOCOM 2004; constants and details of Linux 2.6.15 to 2.6.22.

W = cwnd in packets, M = `last_max`, B = `search`, S = `max_increment`. Congestion avoidance adds
I packets per round trip, I/W per newly acknowledged packet:

(1)  W <= low_window:                          I = 1
(2)  W < M, with d = (M - W)/B:   d > S:       I = S          additive increase
                                  1 < d <= S:  I = d          binary search
                                  d <= 1:      I = B/smooth_part
(3)  W >= M, max probing:   W < M + B:         I = B/smooth_part
                            W < M + (B - 1) S: I = (W - M)/(B - 1)
                            else               I = S
(4)  before the first loss, or after a timeout, I is at least W/20
(5)  loss, fast convergence:  M <- (1 + beta) W/2 if W < M, else M <- W
     ssthresh <- beta W, or W/2 if W <= low_window, at least 2;  W <- ssthresh
(6)  timeout:  ssthresh as in (5);  M <- 0;  W <- 1

The paper's own listing, without the slow growth near M, is ``bic_2004``.

Differences from Linux
    Linux uses integers: d is rounded down, W grows by one packet in floor(W/I) + 1 ACKs, and I is
    updated only when W has changed or 1/32 s have passed. Here all quantities are real numbers.
    Linux multiplies I by its estimate of packets per ACK, here the parameter `ack_ratio` = 1. The
    estimate starts at 2. If the receiver acknowledges every packet, rounding keeps it at 31/16, and
    W grows nearly twice as fast above low_window. With delayed ACKs (and an `abc_limit` of 1) the
    estimate is 2.
    Kernels until 2.6.15 start with ssthresh 100: `initial_ssthresh`.

Evidence (constants: Linux 2.6)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    vector: search and probing
        controllers/test_highspeed.py::test_bic_searches_and_probes
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag, Param, State, register


def increment(s, p):
    """I of (1) to (4), packets per round trip."""
    window = s.cwnd
    if window <= p.low_window:
        return 1.0
    least = p.search / p.smooth_part
    if window < s.last_max:  # (2)
        distance = (s.last_max - window) / p.search
        per_round = least if distance <= 1 else min(distance, p.max_increment)
    else:  # (3)
        beyond = window - s.last_max
        if beyond < p.search:
            per_round = least
        elif beyond < (p.search - 1) * p.max_increment:
            per_round = beyond / (p.search - 1)
        else:
            per_round = p.max_increment
    if s.lost == 0:
        per_round = max(per_round, window / 20)  # (4)
    return per_round


def on_ack(s, p, ack):
    if s.ssthresh == math.inf:
        s.ssthresh = p.initial_ssthresh
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    else:
        ratio = p.ack_ratio if s.cwnd > p.low_window else 1.0  # as in Linux
        s.cwnd += ratio * increment(s, p) / s.cwnd * ack.acked


def remember(s, p, window):
    """M of (5)."""
    converging = window < s.last_max and p.fast_convergence
    s.last_max = (1 + p.beta) / 2 * window if converging else window


def on_loss(s, p, ack):
    window = ack.window
    remember(s, p, window)
    s.lost = 1.0
    keep = p.beta if window > p.low_window else 0.5
    s.ssthresh = max(keep * window, 2.0)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.last_max = 0.0
    s.lost = 0.0
    s.cwnd = 1.0  # (6)


FAST_CONVERGENCE = {
    "fast_convergence": Flag(True, "leave room for other flows when M falls"),
}
#: Parameters of Linux' BIC, and of the CUBIC derived from it, that are not in the papers.
LINUX_PARAMS = {
    "ack_ratio": Param(
        1, "packets per ACK", "Linux' estimate: 31/16, or 2 with delayed ACKs; 1: off", 1
    ),
    "initial_ssthresh": Param(
        math.inf, "packets", "initial slow-start threshold (100 until Linux 2.6.15)", 2
    ),
}

bic = register(
    Controller(
        name="bic",
        summary="binary search for the window of the last loss, then probing beyond it",
        source="Xu, Harfoush, Rhee 2004; Linux 2.6.15-2.6.22",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "beta": Param(
                819 / 1024, "", "share of the window that a loss leaves (Linux)", 0.1, 0.99
            ),
            **FAST_CONVERGENCE,
            "low_window": Param(14, "packets", "Reno up to this window (Linux: 14)", 0),
            "max_increment": Param(16, "packets per round", "Smax (Linux: 16)", 1),
            "search": Param(4, "", "B: a step is 1/B of the distance to M (Linux: 4)", 1.1),
            "smooth_part": Param(20, "rounds", "rounds from M - B to M (Linux: 20)", 1),
            **LINUX_PARAMS,
        },
        state={
            "last_max": State(0, "packets", "M: window at the last loss, or less"),
            "lost": State(0, "0 or 1", "a loss, and no timeout since"),
        },
        slow_start="hystart++",
        look=("orange", "P"),
    )
)
