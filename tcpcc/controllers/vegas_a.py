"""Vegas-A: Vegas whose thresholds rise while its throughput does.

Source: K. Srijith, L. Jacob, A. Ananda, "TCP Vegas-A: solving the fairness and rerouting issues of
TCP Vegas", IPCCC 2003, section IV; Computer Communications 28, 2005; the author's ns-2 code.

Delta as in Vegas' (1); Th, the throughput, is its Actual, and Th' that of the round trip before.
The thresholds are alpha + extra and beta + extra of the parameters `alpha` and `beta`. Once per
round trip in congestion avoidance:

(1)  alpha <= Delta <= beta:  Th > Th':                W + 1,  extra + 1
                              otherwise                nothing
(2)  Delta < alpha:           extra = 0, or Th > Th':  W + 1
                              Th < Th':                W - 1,  extra - 1
                              otherwise                nothing
(3)  Delta > beta:                                     W - 1,  extra - 1

with W >= 2 and extra >= 0, so that alpha and beta never fall below the parameters (1 and 3 in the
author's code). Increases are spread over the ACKs of the next round, decreases are immediate. Slow
start, loss and timeout are Vegas', and leave `extra` alone.

Differences from the papers
    The thesis prints W - 1 where Th > Th' in (1) and (2), and alpha - 1, beta - 1 in (1): misprints
    (erratum A1).
    The papers have strict inequalities in (1) and do nothing where Delta is alpha or beta itself;
    the author's code, which gave the papers' results, has them as above. Delta being an integer,
    strict ones leave a single value between alpha = 1 and beta = 3: the claims (more than New Reno
    gets, three against three; recovery from rerouting) then fail. `closed` chooses.
Differences from the author's code
    Throughputs that differ by rounding only are equal. In the code the last digit decides whether
    Th > Th'; a flow alone on a deterministic path then climbs by chance (the papers' Table 6: 12
    packets queued, where Vegas has one), and comes back after rerouting without anything to
    trigger it. Here such a flow comes back once other traffic, however little, disturbs its rate.
    Where (2) says nothing, an increase under way in the code goes on for another round.
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.vegas import (
    PARAMS,
    RECORD,
    STATE,
    backlog,
    check_thresholds,
    decrease,
    increase,
    on_ack,
    on_loss,
    on_timeout,
    slow_start,
    trend,
)
from tcpcc.definition import Param, State, register


def on_round(s, p, ack):
    delta = backlog(s, p, ack)
    throughput = ack.round_packets / ack.round_rtt
    change = trend(throughput, s.throughput)
    s.throughput = throughput
    if s.cwnd < s.ssthresh:
        slow_start(s, p, delta)
        return
    alpha, beta = p.alpha + s.extra, p.beta + s.extra
    s.incr = 0.0
    if delta > beta:  # (3)
        decrease(s)
        s.extra = max(s.extra - 1, 0.0)
    elif delta < alpha:  # (2)
        if s.extra == 0 or change > 0:
            increase(s)
        elif change < 0:
            decrease(s)
            s.extra = max(s.extra - 1, 0.0)
    elif change > 0 and (p.closed != 0 or alpha < delta < beta):  # (1)
        increase(s)
        s.extra += 1


vegas_a = register(
    Controller(
        name="vegas_a",
        summary="Vegas whose thresholds rise while its throughput does",
        source="Srijith, Jacob, Ananda 2003",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **PARAMS,
            "closed": Param(
                1, "0 or 1", "alpha and beta belong to (1), as in the author's code", 0, 1
            ),
        },
        state={
            **STATE,
            "extra": State(0, "packets", "by how much alpha and beta are raised"),
            "throughput": State(0, "packets/s", "Actual of the last round"),
        },
        recovery="vegas",
        validate=check_thresholds,
        record=RECORD,
    )
)
