"""DUAL: Reno that also backs off when the round-trip time has passed the middle of its range.

Source: Z. Wang, J. Crowcroft, "Eliminating periodic packet losses in 4.3-Tahoe BSD TCP congestion
control algorithm", CCR 22(2), 1992, as retold by Brakmo and Peterson, JSAC 13(8), 1995, III-B.

Reno's rules, and once in two round trips, with W = cwnd and R the newest round-trip time:

(1)  R > (RTTmin + RTTmax) / 2:  W <- W - W/8

RTTmax is of round trips, without what the ACK that ends a recovery makes of a packet that has
waited for an earlier one's repair: 4.3BSD does not time these either.

so that the queue hovers about half of the longest that the flow has seen.

Differences from the papers
    The first paper's text was not at hand. (1) also ends slow start, of which the second says
    nothing: a window cut by an eighth and doubled in the same round would not have been cut.
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.reno import PARAMS
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.definition import State, register


def newest_rtt(ack):
    """Round-trip time of the packet that ended the round, or where it was sent twice, their mean
    over the round."""
    return ack.rtt if ack.rtt > 0 else ack.round_rtt


def every_other(s):
    """Whether this is the second of two rounds."""
    s.odd = 1.0 - s.odd
    return s.odd == 0


def back_off(s):
    """An eighth less, in congestion avoidance."""
    s.cwnd = max(s.cwnd - s.cwnd / 8, 1.0)
    s.ssthresh = max(min(s.ssthresh, s.cwnd), 2.0)


def on_round(s, p, ack):
    if not every_other(s) or s.repairing != 0:
        return
    if newest_rtt(ack) > (ack.base_rtt + s.max_rtt) / 2:
        back_off(s)  # (1)


def on_ack(s, p, ack):
    if s.repairing == 0:
        s.max_rtt = max(s.max_rtt, ack.rtt)
    s.repairing = 0.0
    reno_on_ack(s, p, ack)


def on_loss(s, p, ack):
    s.repairing = 1.0
    reno_on_loss(s, p, ack)


def on_timeout(s, p, ack):
    s.repairing = 1.0
    reno_on_timeout(s, p, ack)


EVERY_OTHER = {"odd": State(0, "0 or 1", "this is the second of two rounds")}

dual = register(
    Controller(
        name="dual",
        summary="Reno, and an eighth less when the RTT passes the middle of its range",
        source="Wang, Crowcroft 1992",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PARAMS,
        state={
            **EVERY_OTHER,
            "max_rtt": State(0, "s", "longest round trip outside loss recovery"),
            "repairing": State(0, "0 or 1", "the next ACK ends a recovery"),
        },
        recovery="reno",
    )
)
