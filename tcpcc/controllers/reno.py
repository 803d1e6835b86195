"""TCP Reno: additive increase, multiplicative decrease.

Source: V. Jacobson, "Modified TCP congestion avoidance algorithm", 1990; RFC 5681.

Equations (per newly acknowledged packet; W = cwnd, in packets)

(1)  slow start,            W < ssthresh:   W <- W + 1                          (RFC 5681, eq. 2)
(2)  congestion avoidance,  W >= ssthresh:  W <- W + 1/W                        (RFC 5681, eq. 3)
(3)  loss:      ssthresh <- max(W/2, 2);    W <- ssthresh                       (RFC 5681, eq. 4)
(4)  timeout:   ssthresh <- max(W/2, 2),    then W <- 1                         (RFC 5681, 3.1)

Differences from the papers
    The thesis prints (4) in the reverse order (W first), which would give ssthresh = 1/2; its
    erratum A2 is followed here.
Differences from ns-2
    ns-2 stores ssthresh as an integer and sets W to W/2 exactly. For W >= 4 both leave the flow in
    congestion avoidance at W/2; below, ns-2 continues in slow start from less than 2
    packets. RFC 5681 halves the packets in flight, ns-2 and this file the window in force, cwnd or
    the receiver's limit.
"""

from tcpcc.controllers.contract import Controller, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked  # (1)
    else:
        s.cwnd += ack.acked / s.cwnd  # (2)


def on_loss(s, p, ack):
    s.ssthresh = max(ack.window / 2, 2.0)
    s.cwnd = s.ssthresh  # (3)


def on_timeout(s, p, ack):
    s.ssthresh = max(ack.window / 2, 2.0)
    s.cwnd = 1.0  # (4)


reno = register(
    Controller(
        name="reno",
        summary="additive increase, halving on loss",
        source="Jacobson 1990; RFC 5681",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        recovery="reno",
    )
)
