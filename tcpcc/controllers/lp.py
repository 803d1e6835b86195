"""TCP-LP: low priority; yields when the one-way delay rises.

Source: A. Kuzmanovic, E. W. Knightly, "TCP-LP: a distributed algorithm for low priority data
transfer", INFOCOM 2003; Linux ``tcp_lp``.

Equations (d: one-way delay smoothed with gain 1/8, d_min, d_max: extremes of the delay)

(1)  early congestion:  d > d_min + 0.15 (d_max - d_min)
(2)  outside an inference phase:  W <- W/2, and W does not grow for 3 RTT (the inference phase)
(3)  within an inference phase:   W <- 1
(4)  otherwise as Reno

As in Linux, (2) and (3) set d_min <- d and d_max <- 2 d: the delay has to rise again before the
next cut. d_max is the second largest delay, so that one late packet does not decide it.

Differences from Linux
    (2) also sets ssthresh, which ends slow start; Linux would restart slow start at once and cut in
    bursts. Clocks are synchronized and exact; Linux compares timestamps of two hosts in ms.

Evidence (constants: Linux)
    claim: yields to CUBIC, fills the link alone
        transport/test_delivery.py::test_low_priority_yields_to_cubic
"""

import math

from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, State, register


def take_delay(s, owd):
    s.owd_min = min(s.owd_min, owd)
    if owd > s.owd_max:
        if owd > s.owd_reserve:
            s.owd_max = s.owd_reserve if s.owd_reserve > 0 else owd
            s.owd_reserve = owd
        else:
            s.owd_max = owd
    s.smooth = owd if s.smooth == 0 else s.smooth + (owd - s.smooth) / 8


def on_ack(s, p, a):
    if a.limited == 0 and s.inferring == 0:
        reno_on_ack(s, p, a)
    if a.owd <= 0:
        return
    take_delay(s, a.owd)
    if a.rtt > 0:
        s.inference = p.inference * a.rtt
    s.inferring = 1.0 if a.now - s.dropped_at < s.inference else 0.0
    if s.smooth <= s.owd_min + p.threshold * (s.owd_max - s.owd_min):
        return
    s.owd_min = s.smooth  # (1)
    s.owd_max = s.owd_reserve = 2 * s.smooth
    if s.inferring != 0:
        s.cwnd = 1.0  # (3)
    else:
        s.ssthresh = max(s.cwnd / 2, 2.0)  # (2)
        s.cwnd = max(s.cwnd / 2, 1.0)
    s.dropped_at = a.now


lp = register(
    reno.variant(
        name="lp",
        summary="low priority: halves when the one-way delay rises",
        source="Kuzmanovic, Knightly 2003; Linux",
        on_ack=on_ack,
        params={
            "threshold": Param(
                0.15, "", "share of the delay range above which there is congestion", 0, 1
            ),
            "inference": Param(3, "", "round trips without growth after a cut", 0),
        },
        state={
            "owd_min": State(math.inf, "s", "smallest one-way delay"),
            "owd_max": State(0, "s", "second largest one-way delay"),
            "owd_reserve": State(0, "s", "largest one-way delay"),
            "smooth": State(0, "s", "smoothed one-way delay"),
            "inference": State(0, "s", "length of an inference phase"),
            "inferring": State(0, "0 or 1", "in an inference phase"),
            "dropped_at": State(-math.inf, "s", "when the last inference phase began"),
        },
        every_ack=True,
        slow_start="standard",
        look=("purple", "*"),
    )
)
