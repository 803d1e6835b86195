"""Scalable TCP: multiplicative increase; the recovery time in RTTs does not depend on the window.

Source: T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", Computer
Communication Review 33(2), 2003.

Equations (per newly acknowledged packet; W = cwnd, in packets)

(1)  congestion avoidance, W > low_window:  W <- W + a
(2)  loss, W > low_window:  ssthresh <- (1 - b) W;  W <- ssthresh
(3)  W <= low_window:       Reno
(4)  timeout:               ssthresh as in (2) or (3);  W <- 1

Between losses W grows by the factor 1 + a per round trip. W recovers from a loss in
-ln(1 - b)/ln(1 + a) = 13.4 round trips, and the loss rate is p = a/(b W) = 0.08/W.

With `ai_limit` > 0 the increase is that of Linux at every W: W <- W + 1/min(W, ai_limit). Linux
uses 50, hence 0.02 per ACK in large windows (older kernels: 100). low_window = 0 gives Linux' (2).

Differences from the paper
    The paper's `Lwnd` of 16 is `low_window`. The paper does not specify timeouts; (4) is from
    Linux.

Evidence (constants: paper)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    closed form: response function
        controllers/test_response_functions.py::test_packets_obey_the_closed_form
"""

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    elif p.ai_limit > 0:
        s.cwnd += ack.acked / min(s.cwnd, p.ai_limit)
    elif s.cwnd > p.low_window:
        s.cwnd += p.a * ack.acked  # (1)
    else:
        s.cwnd += ack.acked / s.cwnd  # (3)


def on_loss(s, p, ack):
    b = p.b if ack.window > p.low_window else 0.5
    s.ssthresh = max((1 - b) * ack.window, 2.0)
    s.cwnd = s.ssthresh  # (2)


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0  # (4)


scalable = register(
    Controller(
        name="scalable",
        summary="multiplicative increase and decrease; Reno in small windows",
        source="Kelly 2003",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "a": Param(0.01, "packets per ACK", "increase (Kelly 2003)", 1e-9, 1),
            "b": Param(0.125, "", "share of the window removed by a loss (Kelly 2003)", 1e-9, 0.9),
            "low_window": Param(16, "packets", "legacy window: Reno up to it (Kelly 2003)", 0),
            "ai_limit": Param(0, "packets", "increase by 1/min(W, this), as Linux; 0: by a", 0),
        },
        slow_start="hystart++",
        look=("sky", "p"),
    )
)
