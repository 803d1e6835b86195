"""NewVegas: Vegas with thresholds that rise while other flows fill the queue.

Source: A. De Vendictis, A. Baiocchi, M. Bonacci, "Analysis and enhancement of TCP Vegas congestion
control in a mixed TCP Vegas and TCP Reno network scenario", Performance Evaluation 53, 2003, as
described in section 2.2.2 of the thesis. (Sing and Soh's "TCP New Vegas", 2005, is another
protocol.)

The target packet is the first packet of a round. RTT is its round-trip time, W the window with
which it was sent; RTT' and W' are those of the previous target packet. The thresholds are alpha_0 +
extra and beta_0 + extra, where alpha_0 and beta_0 are the parameters `alpha` and `beta`. Once per
round trip in congestion avoidance:

(1)  RTT > RTT' and W <= W':          extra <- extra + 1
(2)  RTT <= RTT' and extra > 0:       extra <- extra - 1
(3)  then Vegas' (2) with these thresholds
(4)  loss, timeout:  extra <- 0, then Vegas' rule

If the queue grows although this flow's window did not, other flows fill it. (1) then lets this flow
queue one packet more per round trip, as Reno does.

Differences from the paper
    "Whenever an ACK arrives" of the thesis is once per round trip, as its next sentence says
    (erratum A3). W is "the current window" there; here it is the window with which the target
    packet was sent, since a packet's RTT depends on the windows before it. With the window at the
    time of its ACK, a lone flow mistakes its own last packet for another flow's. With the mean RTT
    of the round, its thresholds would also rise until the buffer overflows.
    Slow start does not change the thresholds: the paper confines its changes to congestion
    avoidance. RTTs that differ only by rounding are equal.

Evidence (constants: paper)
    vector: thresholds up and down
        controllers/test_controllers.py::test_newvegas_raises_its_thresholds_while_others_fill_the_queue
    claim: gets more beside Reno than Vegas does
        controllers/test_vegas_variants.py::test_every_variant_gets_more_beside_reno_than_vegas_does
"""

from tcpcc.controllers.vegas import (
    TARGET_STATE,
    adjust,
    backlog,
    next_target,
    slow_start,
    target_trend,
    vegas,
)
from tcpcc.controllers.vegas import on_loss as vegas_on_loss
from tcpcc.controllers.vegas import on_timeout as vegas_on_timeout
from tcpcc.definition import State, register


def on_round(s, p, ack):
    delta = backlog(s, p, ack)
    change = target_trend(s, ack)
    if s.cwnd < s.ssthresh:
        slow_start(s, p, delta)
    else:
        if change > 0 and s.grown == 0:
            s.extra += 1  # (1)
        elif change <= 0:
            s.extra = max(s.extra - 1, 0.0)  # (2)
        adjust(s, delta, p.alpha + s.extra, p.beta + s.extra)  # (3)
    next_target(s)


def on_loss(s, p, ack):
    vegas_on_loss(s, p, ack)
    s.extra = 0.0  # (4)


def on_timeout(s, p, ack):
    vegas_on_timeout(s, p, ack)
    s.extra = 0.0


newvegas = register(
    vegas.variant(
        name="newvegas",
        summary="Vegas with thresholds that rise while other flows fill the queue",
        source="De Vendictis, Baiocchi, Bonacci 2003",
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        state={
            **TARGET_STATE,
            "extra": State(0, "packets", "amount by which alpha and beta are raised"),
        },
        exact=True,
        look=("sky", "v"),
    )
)
