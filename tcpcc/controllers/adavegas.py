"""AdaVegas: Vegas with an increase that grows with each consecutive increase.

Source: A. Maor, Y. Mansour, "AdaVegas: adaptive control for TCP Vegas", IEEE GLOBECOM 2003. Only
the abstract was available: the size of the increase depends on the history of increases. The exact
rule is **uncertain**; this file does not claim to follow the published one.

Once per round trip in congestion avoidance, n the number of consecutive rounds with an increase:

(1)  Delta < alpha:  W + min(1 + step floor(n / successes), max_step) over the next round;
                     n <- n + 1
(2)  Delta > beta:   W - 1 at once;  n <- 0
(3)  otherwise:      W;              n <- 0
(4)  loss, timeout:  as Vegas;  n <- 0

By default consecutive increases are 1, 2, 3, 4, 4, ... packets.

Evidence (constants: assumed)
"""

import math

from tcpcc.controllers.vegas import adjust, backlog, slow_start, vegas
from tcpcc.controllers.vegas import on_loss as vegas_on_loss
from tcpcc.controllers.vegas import on_timeout as vegas_on_timeout
from tcpcc.definition import Param, State, register


def on_round(s, p, ack):
    delta = backlog(s, p, ack)
    if s.cwnd < s.ssthresh:
        slow_start(s, p, delta)
        return
    s.ssthresh = 2.0  # slow start is over, even if it followed a timeout and ended at ssthresh
    adjust(s, delta, p.alpha, p.beta)
    if delta < p.alpha:
        s.incr *= min(1 + p.step * math.floor(s.run / p.successes), p.max_step)  # (1)
        s.run += 1 - ack.limited
    else:
        s.run = 0.0


def on_loss(s, p, ack):
    vegas_on_loss(s, p, ack)
    s.run = 0.0  # (4)


def on_timeout(s, p, ack):
    vegas_on_timeout(s, p, ack)
    s.run = 0.0


adavegas = register(
    vegas.variant(
        name="adavegas",
        summary="Vegas with an increase that grows with each consecutive increase",
        source="Maor, Mansour 2003 (the rule is uncertain)",
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "step": Param(1, "packets", "growth of the increase (uncertain)", 0),
            "successes": Param(1, "", "consecutive increases before it grows (uncertain)", 1),
            "max_step": Param(4, "packets", "largest increase (uncertain)", 1),
        },
        state={"run": State(0, "", "consecutive increases")},
        look=("purple", "s"),
    )
)
