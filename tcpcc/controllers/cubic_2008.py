"""CUBIC as in its authors' paper of 2008.

Source: S. Ha, I. Rhee, L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", Operating Systems
Review 42(5), 2008, section 3.

(1) to (5) are in `cubic_curve.py`, with C = 0.4 and beta = 0.8 (the paper's beta is the decrease,
0.2). Per newly acknowledged packet in congestion avoidance:

(6)  target = W_cubic(t + RTTmin);  W <- W + (target - W)/W, but 0.01/W if the target is below W
(7)  TCP-friendly region: where W_est > W, at least (W_est - W)/W

(6) and (7) together add at most one packet. With one loss per 1/p packets the mean window outside
that region is 1.17 (RTT/p)^(3/4).

Taken from Linux
    Idle periods do not count as time since the last loss (Linux since 2015), nor does time in which
    the application or the receiver limits the flow (RFC 9438; in Linux, and with `window_decay`, it
    does).
    `early_growth`, default 0: before the first loss, and after a timeout, W grows by at least this
    many packets per ACK (Linux: 1/20).

Differences from the paper
    All quantities are real numbers; in the paper's pseudocode W grows by one packet per
    W/(target - W) ACKs.

Evidence (constants: paper)
    closed form: 1.17 (R/p)^0.75
        controllers/test_response_functions.py::test_packets_obey_the_closed_form
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.cubic_curve import (
    STATE,
    curve,
    elapsed,
    enter,
    friendly,
    make_params,
    on_loss,
    on_timeout,
    step,
)
from tcpcc.definition import Param, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
        return
    enter(s, p, ack.clock)
    s.reno += friendly(p) * ack.growing / s.cwnd
    growth = step(s, curve(s, p.c, elapsed(s, ack) + ack.base_rtt))  # (6)
    growth = max(growth, (s.reno - s.cwnd) / s.cwnd)  # (7)
    if s.last_max == 0:
        growth = max(growth, p.early_growth)
    s.cwnd += min(growth, 1.0) * ack.acked


cubic_2008 = register(
    Controller(
        name="cubic_2008",
        summary="cubic function of the time since the last loss, as in its paper",
        source="Ha, Rhee, Xu 2008",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=make_params(beta=(0.8, "paper, section 3.1"), c=(0.4, "paper, section 3.1"))
        | {"early_growth": Param(0, "packets", "least growth per ACK before the first loss", 0, 1)},
        state=STATE,
        slow_start="hystart++",
        look=("purple", "X"),
    )
)
