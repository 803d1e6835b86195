"""TCP Reno: additive increase, multiplicative decrease.

Source: V. Jacobson, "Modified TCP congestion avoidance algorithm", 1990; RFC 5681.

Equations (per newly acknowledged packet; W = cwnd, in packets)

(1)  slow start,            W < ssthresh:   W <- W + 1                          (RFC 5681, eq. 2)
(2)  congestion avoidance,  W >= ssthresh:  W <- W + 1/W                        (RFC 5681, eq. 3)
(3)  loss:      ssthresh <- max(W/2, 2);    W <- ssthresh                       (RFC 5681, eq. 4)
(4)  timeout:   ssthresh <- max(W/2, 2),    then W <- 1                         (RFC 5681, 3.1)

Differences from the papers
    The thesis prints (4) in the reverse order (W first), which would give ssthresh = 1/2. This file
    follows its erratum A2.
Options from ns-2
    ns-2 stores ssthresh as a whole number (`integer_ssthresh`). Until 2.28 it also rounded W down
    (``precisionReduce_ false``: `integer_window`). Without these options, too, a loss at W >= 4
    leaves the flow in congestion avoidance at W/2. Below, ns-2 continues in slow start from less
    than 2 packets. RFC 5681 halves the packets in flight, ns-2 the window in force, the smaller
    of cwnd and the receiver's limit (`Transport.flight_ssthresh`).

Evidence (constants: RFC)
    ns-2: to the packet
        external/test_against_ns2.py::test_equal_to_the_packet
    closed form: sawtooth, square-root law
        models/packet/test_closed_forms.py::test_reno_obeys_the_square_root_law
    published value: four papers' tables
        papers/test_reproduction.py
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked  # (1)
    else:
        s.cwnd += ack.acked / s.cwnd  # (2)


def half(p, ack):
    """W/2 of (3) and (4)."""
    if p.integer_window:
        return float(math.floor(math.floor(ack.window) / 2))
    return ack.window / 2


def threshold(p, ack):
    """ssthresh of (3) and (4)."""
    if p.integer_ssthresh:
        return max(float(math.floor(half(p, ack))), 2.0)
    return max(half(p, ack), 2.0)


def on_loss(s, p, ack):
    s.ssthresh = threshold(p, ack)
    s.cwnd = s.ssthresh  # (3)
    if p.integer_ssthresh:
        s.cwnd = max(half(p, ack), 1.0)


def on_timeout(s, p, ack):
    s.ssthresh = threshold(p, ack)
    s.cwnd = 1.0  # (4)


PARAMS = {
    "integer_ssthresh": Flag(False, "round ssthresh down, as ns-2 does"),
    "integer_window": Flag(False, "round W and W/2 down, as ns-2 before 2.28"),
}

reno = register(
    Controller(
        name="reno",
        summary="additive increase, halving on loss",
        source="Jacobson 1990; RFC 5681",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PARAMS,
        slow_start="hystart++",
        look=("vermilion", "o"),
    )
)
