"""DUAL: Reno that also backs off when the RTT exceeds the middle of its range.

Source: Z. Wang, J. Crowcroft, "Eliminating periodic packet losses in 4.3-Tahoe BSD TCP congestion
control algorithm", CCR 22(2), 1992, as described by Brakmo and Peterson, JSAC 13(8), 1995, III-B.

Reno's rules, and every two round trips, with W = cwnd and R the newest RTT:

(1)  R > (RTTmin + RTTmax) / 2:  W <- W - W/8

Hence the queue stays around half of the longest that the flow has seen. RTTmax ignores the ACK that
ends a recovery, whose packet may have waited for an earlier packet's retransmission; 4.3BSD does
not time such packets either.

Differences from the papers
    Wang and Crowcroft's paper was not available. (1) also ends slow start, which Brakmo and
    Peterson do not mention: otherwise slow start would undo the reduction in the same round.

Evidence (constants: paper)
    vector: cuts an eighth when the RTT is above the middle of its range
        controllers/test_vegas_relatives.py::test_dual_takes_an_eighth_when_the_rtt_is_past_the_middle
"""

from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.controllers.reno import reno
from tcpcc.definition import State, register


def newest_rtt(ack):
    """RTT of the packet that ended the round; the round's mean RTT if it was sent twice."""
    return ack.rtt if ack.rtt > 0 else ack.round_rtt


def every_other(s):
    """Whether this is the second of two rounds."""
    s.odd = 1.0 - s.odd
    return s.odd == 0


def back_off(s):
    """Reduce the window by an eighth and end slow start."""
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


EVERY_OTHER = {"odd": State(0, "0 or 1", "the first of two rounds is over")}

dual = register(
    reno.variant(
        name="dual",
        summary="Reno, and W - W/8 when the RTT exceeds the middle of its range",
        source="Wang, Crowcroft 1992",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        state={
            **EVERY_OTHER,
            "max_rtt": State(0, "s", "largest RTT outside loss recovery"),
            "repairing": State(0, "0 or 1", "the next ACK ends a recovery"),
        },
        recovery="reno",
        slow_start="standard",
        exact=True,
        look=("sky", "h"),
    )
)
