"""LEDBAT: holds the queueing delay at a target, and yields to other traffic above it.

Source: RFC 6817.

(1)  queueing delay q = smallest of the last 4 one-way delays - base, the smallest of 10 minutes
(2)  per packet delivered  W <- W + GAIN (1 - q/TARGET)/W,  then W at most flight size + 1 (before
     this ACK), at least 2
(3)  loss:     W <- max(W/2, 2)      timeout:  W <- 1, ssthresh <- max(W/2, 2)
(4)  slow start as in Reno, below ssthresh, until q > 3/4 TARGET

Differences from RFC 6817
    (4): the RFC does not specify slow start. It ends as in LEDBAT++ (draft-irtf-iccrg-ledbat-plus-
    plus, 4.4); otherwise it overflows the buffer. The window is constant in fast recovery. The
    minutes of the base delay are counted from the flow's first delay sample.

Evidence (constants: RFC)
    closed form: queueing delay within 10 % of its target
        transport/test_delivery.py::test_ledbat_keeps_its_target
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register

MINUTES, RECENT = 10, 4


def queueing_delay(s, now, delay):
    """(1), of the newest `delay` in s."""
    while now >= s.minute_end:
        s.minute_end = s.minute_end + 60 if s.minute_end > 0 else now + 60
        for k in range(MINUTES - 1, 0, -1):
            s.base[k] = s.base[k - 1]
        s.base[0] = math.inf
    s.base[0] = min(s.base[0], delay)
    for k in range(RECENT - 1, 0, -1):
        s.recent[k] = s.recent[k - 1]
    s.recent[0] = delay
    recent, least = s.recent[0], s.base[0]
    for k in range(1, RECENT):
        recent = min(recent, s.recent[k])
    for k in range(1, MINUTES):
        least = min(least, s.base[k])
    return recent - least


DELAYS = {
    "queueing": State(0, "s", "queueing delay"),
    "base": State(math.inf, "s", "smallest delay of each minute", size=MINUTES),
    "recent": State(math.inf, "s", "last delays", size=RECENT),
    "minute_end": State(0, "s", "end of the current minute"),
}


def on_ack(s, p, a):
    if a.owd > 0:
        s.queueing = queueing_delay(s, a.now, a.owd)
    if a.phase != 0:
        if a.phase == 2:
            s.cwnd = min(s.cwnd + a.delivered, max(s.ssthresh, 2.0))
        return
    if s.cwnd < s.ssthresh and s.queueing <= 0.75 * p.target_delay:
        grown = s.cwnd + a.delivered  # (4)
    else:
        s.ssthresh = min(s.ssthresh, max(s.cwnd, 2.0))
        grown = s.cwnd + p.gain * (1 - s.queueing / p.target_delay) * a.delivered / s.cwnd  # (2)
    flight = a.inflight + max(a.delivered - 1, 0.0)  # before this ACK
    s.cwnd = max(min(grown, flight + p.allowed), 2.0)


def on_loss(s, p, a):
    s.cwnd = max(s.cwnd / 2, 2.0)  # (3)
    s.ssthresh = s.cwnd


def on_timeout(s, p, a):
    s.ssthresh = max(s.cwnd / 2, 2.0)
    s.cwnd = 1.0


ledbat = register(
    Controller(
        name="ledbat",
        summary="keeps the queueing delay at a target and yields to other traffic",
        source="RFC 6817",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "target_delay": Param(
                0.1, "s", "target of the queueing delay, at most 0.1 (TARGET)", 1e-6
            ),
            "gain": Param(1.0, "packets", "largest increase per round trip (GAIN)", 0),
            "allowed": Param(
                1.0, "packets", "largest excess of W over the flight size (ALLOWED_INCREASE)", 0
            ),
        },
        state=DELAYS,
        every_ack=True,
        record=("queueing",),
        look=("orange", "*"),
    )
)
