"""Common parts of all CUBIC versions: the curve, the Reno-friendly window, the decrease.

W = cwnd in packets; t = time since the epoch began in which W was in full use. An epoch begins with
congestion avoidance, on the first ACK after recovery or slow start. Names are those of RFC 9438;
beta is the share of W that a loss leaves.

(1)  K = cbrt((W_max - W_epoch)/C), origin = W_max;  K = 0, origin = W_epoch if W_epoch > W_max
(2)  W_cubic(t) = C (t - K)^3 + origin
(3)  W_est <- W_est + alpha/W per newly acknowledged packet, starting from W_epoch, with
     alpha = 3 (1 - beta)/(1 + beta), so that an AIMD(alpha, beta) flow gets Reno's mean rate
(4)  loss:  W_max <- W, or W (1 + beta)/2 if W < W_max (fast convergence)
            ssthresh <- max(beta W, 2);  W <- ssthresh
(5)  timeout:  ssthresh as in (4);  W_max <- 0, so that K = 0 in the next epoch;  W <- 1
"""

from tcpcc.controllers.bic import FAST_CONVERGENCE, remember
from tcpcc.definition import Param, State


def enter(s, p, now):
    """Begin an epoch at time `now` if none is under way: (1)."""
    if s.epoch >= 0:
        return
    s.epoch = now
    s.reno = s.cwnd
    s.origin = max(s.last_max, s.cwnd)
    s.k = ((s.origin - s.cwnd) / p.c) ** (1 / 3)


def curve(s, c, t):
    """W_cubic(t) of (2), with C = `c`."""
    distance = t - s.k
    return s.origin + c * distance * distance * distance


def elapsed(s, ack):
    """t, without idle periods and time in which W was not in full use (RFC 9438, 4.2 and 5.8)."""
    return max(ack.clock - s.epoch, 0.0)


def friendly(p):
    """alpha of (3)."""
    return 3 * (1 - p.beta) / (1 + p.beta)


def step(s, target):
    """Increase per packet that reaches the target in one round trip, but at least 0.01 packets per
    round trip."""
    return max((target - s.cwnd) / s.cwnd, 0.01 / s.cwnd)


def on_loss(s, p, ack):
    remember(s, p, ack.window)  # (4)
    s.epoch = -1.0
    s.ssthresh = max(p.beta * ack.window, 2.0)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.last_max = 0.0
    s.cwnd = 1.0  # (5)


def make_params(beta, c):
    """Parameters of all versions; `beta` and `c` are (default, source)."""
    return {
        "c": Param(c[0], "packets/s^3", f"C, steepness of the curve ({c[1]})", 1e-6),
        "beta": Param(beta[0], "", f"share of W that a loss leaves ({beta[1]})", 0.1, 0.99),
        **FAST_CONVERGENCE,
    }


STATE = {
    "last_max": State(0, "packets", "W_max: window at the last loss, or less"),
    "epoch": State(-1, "s", "when the epoch began; negative: no epoch"),
    "origin": State(0, "packets", "window at which the curve is flat"),
    "k": State(0, "s", "K: time at which the curve is flat"),
    "reno": State(0, "packets", "W_est: window that a Reno flow would have"),
}
