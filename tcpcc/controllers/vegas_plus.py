"""Vegas+: Vegas that switches to Reno when it detects competing flows.

Source: G. Hasegawa, K. Kurata, M. Murata, "Analysis and improvement of fairness between TCP Reno
and Vegas for deployment of TCP Vegas to the Internet", ICNP 2000, as described in section 2.2.4 of
the thesis.

In moderate mode the sender is Vegas, in aggressive mode Reno. The target packet is the first packet
of a round. RTT is its round-trip time, W the window with which it was sent; RTT' and W' are those
of the previous target packet. Once per round trip in congestion avoidance, in either mode:

(1)  RTT > RTT' and W <= W':      count <- count + 1
(2)  RTT < RTT':                  count <- count - 1, at least 0
(3)  loss:                        count <- count / 2, in whole numbers
(4)  timeout:                     count <- 0
(5)  count >= count_max:          aggressive mode
     count = 0:                   moderate mode

In aggressive mode the window follows Reno's (2) and (3).

Differences from the paper
    The default of `count_max`, 8, is from memory; the thesis gives no value. The thesis does not
    say how an odd count is halved; here the result is rounded down.
    As in NewVegas, W is the window with which the measured packet was sent, not the window at the
    time of its ACK. RTTs that differ only by rounding are equal. Slow start does not change the
    count: its frozen rounds are no evidence of other flows.
    A timeout ends aggressive mode by (4); Vegas' timeout rule and slow start follow. The loss
    recovery is Vegas' in both modes.

Evidence (constants: paper)
    vector: count of rounds
        controllers/test_controllers.py::test_vegas_plus_counts_how_often_others_fill_the_queue
    claim: gets more beside Reno than Vegas does
        controllers/test_vegas_variants.py::test_every_variant_gets_more_beside_reno_than_vegas_does
"""

from tcpcc.controllers.reno import PARAMS as RENO_PARAMS
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.controllers.vegas import TARGET_STATE, next_target, target_trend, vegas
from tcpcc.controllers.vegas import on_ack as vegas_on_ack
from tcpcc.controllers.vegas import on_loss as vegas_on_loss
from tcpcc.controllers.vegas import on_round as vegas_on_round
from tcpcc.controllers.vegas import on_timeout as vegas_on_timeout
from tcpcc.definition import Param, State, register


def choose_mode(s, p):
    """(5)"""
    if s.count >= p.count_max:
        s.aggressive = 1.0
        s.incr = 0.0
    elif s.count == 0 and s.aggressive != 0:
        s.aggressive = 0.0
        s.ssthresh = 2.0  # congestion avoidance, in Vegas' rules


def on_round(s, p, ack):
    change = target_trend(s, ack)
    if s.cwnd >= s.ssthresh:
        if change > 0 and s.grown == 0:
            s.count += 1  # (1)
        elif change < 0:
            s.count = max(s.count - 1, 0.0)  # (2)
        choose_mode(s, p)
    if s.aggressive == 0:
        vegas_on_round(s, p, ack)
    next_target(s)


def on_ack(s, p, ack):
    if s.aggressive != 0:
        reno_on_ack(s, p, ack)
    else:
        vegas_on_ack(s, p, ack)


def on_loss(s, p, ack):
    if s.aggressive != 0:
        reno_on_loss(s, p, ack)
    else:
        vegas_on_loss(s, p, ack)
    s.count = float(s.count // 2)  # (3)
    choose_mode(s, p)


def on_timeout(s, p, ack):
    vegas_on_timeout(s, p, ack)
    s.count = 0.0  # (4)
    s.aggressive = 0.0


vegas_plus = register(
    vegas.variant(
        name="vegas_plus",
        summary="Vegas that switches to Reno when it detects competing flows",
        source="Hasegawa, Kurata, Murata 2000",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **RENO_PARAMS,
            "count_max": Param(8, "rounds", "count that starts aggressive mode (from memory)", 1),
        },
        state={
            **TARGET_STATE,
            "count": State(0, "rounds", "evidence that other flows fill the queue"),
            "aggressive": State(0, "0 or 1", "aggressive mode"),
        },
        look=("black", ">"),
    )
)
