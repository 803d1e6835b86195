"""TCP-Illinois: a loss triggers the decrease; queueing delay sets its size and the increase.

Source: S. Liu, T. Basar, R. Srikant, "TCP-Illinois: a loss- and delay-based congestion control
algorithm for high-speed networks", Performance Evaluation 65, 2008; Linux ``tcp_illinois``.

Equations (d_a: mean queueing delay of the last round; d_m: the largest one so far)

(1)  d_1 = 0.01 d_m,  d_2 = 0.1 d_m,  d_3 = 0.8 d_m
(2)  alpha = alpha_max                                               d_a <= d_1, see (6)
     alpha = kappa_1 / (kappa_2 + d_a)                               else
     kappa_1 = (d_m - d_1) alpha_min alpha_max / (alpha_max - alpha_min)
     kappa_2 = (d_m - d_1) alpha_min / (alpha_max - alpha_min) - d_1
(3)  beta = beta_min for d_a <= d_2, beta_max for d_a >= d_3, linear in between
(4)  W < win_thresh:  alpha = 1, beta = 1/2
(5)  per newly acknowledged packet  W <- W + alpha/W;  loss:  W <- (1 - beta) W, at least 2
(6)  once d_a has been above d_1, alpha returns to alpha_max only after theta rounds with
     d_a <= d_1, not necessarily in a row
(7)  timeout:  alpha = 1, beta = 1/2, W <- 1; ssthresh as in (5)

alpha and beta change once per round trip. Check (alpha, beta at d_a/d_m): 4.336, 1/8 at 0.05;
2.538, 1/8 at 0.1; 0.588, 0.339 at 0.5; 0.3, 1/2 at 1.

Differences from the paper
    None known except (7), which is from Linux.

Evidence (constants: Linux)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    vector: alpha and beta follow the delay
        controllers/test_linux_controllers.py::test_illinois_alpha_and_beta_follow_the_delay
"""

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, exceeds, register


def increase(s, p, d_a, d_m):
    """(2) and (6)."""
    d_1 = 0.01 * d_m
    if d_a > d_1:
        s.above = 1.0
        rest = (d_a - d_1) * (p.alpha_max - p.alpha_min) / p.alpha_min
        return (d_m - d_1) * p.alpha_max / (d_m - d_1 + rest)
    if s.above != 0:
        s.below += 1
        if s.below < p.theta:
            return s.alpha
        s.below = 0.0
        s.above = 0.0
    return p.alpha_max


def decrease(p, d_a, d_m):
    """(3)."""
    d_2, d_3 = 0.1 * d_m, 0.8 * d_m
    if d_a <= d_2:
        return p.beta_min
    if d_a >= d_3:
        return p.beta_max
    return p.beta_min + (p.beta_max - p.beta_min) * (d_a - d_2) / (d_3 - d_2)


def base(s):
    """(4): as Reno."""
    s.alpha = 1.0
    s.beta = 0.5


def on_round(s, p, ack):
    if s.cwnd < p.win_thresh:
        base(s)
        return
    d_m = ack.max_rtt - ack.base_rtt
    d_a = ack.round_rtt - ack.base_rtt
    s.alpha = increase(s, p, d_a, d_m)
    s.beta = decrease(p, d_a, d_m)


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    else:
        s.cwnd += s.alpha * ack.acked / s.cwnd  # (5)


def on_loss(s, p, ack):
    s.ssthresh = max((1 - s.beta) * ack.window, 2.0)  # (5)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    base(s)  # (7)
    s.above = 0.0
    s.below = 0.0
    s.cwnd = 1.0


def validate(p):
    return exceeds(p, "alpha_min", "alpha_max") or exceeds(p, "beta_min", "beta_max")


illinois = register(
    Controller(
        name="illinois",
        summary="increase and decrease that depend on the queueing delay",
        source="Liu, Basar, Srikant 2008; Linux",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "alpha_min": Param(0.3, "packets", "least increase per round trip", 1e-6),
            "alpha_max": Param(10, "packets", "largest increase per round trip", 1e-6),
            "beta_min": Param(0.125, "", "least share of the window removed by a loss", 0, 1),
            "beta_max": Param(0.5, "", "largest share of the window removed by a loss", 0, 1),
            "win_thresh": Param(15, "packets", "Reno below it", 0),
            "theta": Param(5, "rounds", "without queueing before alpha returns to alpha_max", 0),
        },
        state={
            "alpha": State(10, "packets", "increase per round trip"),
            "beta": State(0.5, "", "share of the window removed by a loss"),
            "above": State(0, "0 or 1", "d_a has been above d_1"),
            "below": State(0, "rounds", "with d_a <= d_1 since then"),
        },
        slow_start="hystart++",
        validate=validate,
        look=("purple", "p"),
    )
)
