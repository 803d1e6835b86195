"""CUBIC as its authors' paper has it.

Source: S. Ha, I. Rhee, L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", Operating Systems
Review 42(5), 2008, section 3.

(1) to (5) are those of `cubic_curve.py`, with C = 0.4 and beta = 0.8 (the paper's beta is what a
loss takes, 0.2). Per newly acknowledged packet in congestion avoidance:

(6)  target = W_cubic(t + RTTmin);  W <- W + (target - W)/W, but 0.01/W if the target is below W
(7)  TCP-friendly region: where W_est > W, at least (W_est - W)/W

of which together at most one packet. With one loss in 1/p packets the mean window is
1.17 (RTT/p)^(3/4) outside that region.

Taken from Linux, where asked for
    Idle periods do not count as time since the last loss (since 2015).
    Before the first loss, and after a timeout, `early_growth` packets at least (Linux: 1/20).

Differences from the paper
    Its quantities are real numbers here; in its pseudocode W grows by one in each W/(target - W)
    ACKs.
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.cubic_curve import (
    STATE,
    curve,
    enter,
    friendly,
    make_params,
    on_loss,
    on_restart,
    on_timeout,
    step,
)
from tcpcc.definition import Param, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
        return
    enter(s, p, ack)
    s.reno += friendly(p) * ack.acked / s.cwnd
    growth = step(s, curve(s, p.c, ack.now - s.epoch + ack.base_rtt))  # (6)
    growth = max(growth, (s.reno - s.cwnd) / s.cwnd)  # (7)
    if s.last_max == 0:
        growth = max(growth, p.early_growth)
    s.cwnd += min(growth, 1.0) * ack.acked


cubic_2008 = register(
    Controller(
        name="cubic_2008",
        summary="cubic of the time since the last loss, as in its paper",
        source="Ha, Rhee, Xu 2008",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_restart=on_restart,
        params=make_params(beta=(0.8, "paper, section 3.1"), c=(0.4, "paper, section 3.1"))
        | {"early_growth": Param(0, "packets", "least growth before the first loss", 0, 1)},
        state=STATE,
        recovery="sack-prr",
    )
)
