"""Vegas-A: Vegas with thresholds that rise while its throughput rises.

Source: K. Srijith, L. Jacob, A. Ananda, "TCP Vegas-A: solving the fairness and rerouting issues of
TCP Vegas", IPCCC 2003, section IV; Computer Communications 28, 2005; the author's ns-2 code.

Delta as in Vegas' (1). Th is the throughput of the last round (Vegas' Actual, with the mean RTT),
Th' that of the round before. The thresholds are `alpha` + extra and `beta` + extra. Once per round
trip in congestion avoidance:

(1)  alpha <= Delta <= beta:  Th > Th':                W + 1,  extra + 1
                              otherwise                nothing
(2)  Delta < alpha:           extra = 0, or Th > Th':  W + 1
                              Th < Th':                W - 1,  extra - 1
                              otherwise                nothing
(3)  Delta > beta:                                     W - 1,  extra - 1

with W >= 2 and extra >= 0, so that the thresholds never fall below the parameters (1 and 3 in the
author's code). Increases are spread over the ACKs of the next round, decreases are immediate. Slow
start, loss and timeout are Vegas', and do not change `extra`.

Differences from the papers
    The thesis prints W - 1 where Th > Th' in (1) and (2), and alpha - 1, beta - 1 in (1): misprints
    (erratum A1).
    The papers have strict inequalities in (1), and do nothing if Delta equals alpha or beta. The
    author's code, which produced the papers' results, is as above. Delta is an integer, so strict
    inequalities leave a single value between alpha = 1 and beta = 3, and the papers' claims fail
    (more throughput than New Reno, three flows against three; recovery from rerouting). `closed`
    chooses.
Differences from the author's code
    Throughputs that differ only by rounding are equal. In the code the last digit decides whether
    Th > Th'. On a deterministic path a lone flow then climbs by chance (the papers' Table 6: 12
    packets queued; Vegas: one), and recovers after rerouting without a trigger. Here such a flow
    recovers once any other traffic disturbs its rate.
    Where (2) does nothing, the code continues an increase in progress for another round.

Evidence (constants: paper)
    vector: the branches of its rule
        controllers/test_controllers.py::test_vegas_a_follows_the_original
    claim: rerouting, shares beside NewReno
        controllers/test_vegas_variants.py::test_vegas_a_comes_back_after_rerouting
"""

from tcpcc.controllers.vegas import backlog, decrease, increase, slow_start, trend, vegas
from tcpcc.definition import Flag, State, register


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
    elif change > 0 and (p.closed or alpha < delta < beta):  # (1)
        increase(s)
        s.extra += 1


vegas_a = register(
    vegas.variant(
        name="vegas_a",
        summary="Vegas with thresholds that rise while its throughput rises",
        source="Srijith, Jacob, Ananda 2003",
        on_round=on_round,
        params={
            "closed": Flag(True, "Delta = alpha and Delta = beta belong to (1) (author's code)"),
        },
        state={
            "extra": State(0, "packets", "amount by which alpha and beta are raised"),
            "throughput": State(0, "packets/s", "throughput of the last round"),
        },
        look=("orange", "<"),
    )
)
