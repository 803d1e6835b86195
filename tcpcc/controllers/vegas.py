"""TCP Vegas: keeps a few packets in the bottleneck's queue.

Source: L. Brakmo, L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
IEEE JSAC 13(8), 1995; notation of the Quick Vegas paper, section III-A.

Once per round trip, with W = cwnd:

(1)  Delta = (Expected - Actual) x BaseRTT,   Expected = W / BaseRTT,   Actual = W / RTT
(2)  congestion avoidance:  W + 1 over the next round   if Delta < alpha
                            W - 1 at once               if Delta > beta
                            W                           otherwise
(3)  slow start: W doubles over every other round; in the round between it is frozen, so that
     Expected and Actual refer to the same W. Delta > gamma ends slow start: W <- W - start_cut W
(4)  loss:     W <- 3W/4 if the lost packet had been sent once, W/2 if more often; at least 2
(5)  timeout:  ssthresh <- max(W/2, 2), a whole number,  W <- 2

Differences from the papers
    JSAC prints alpha, beta = 1, 3 and the Quick Vegas paper 2, 4: an experiment states which. The
    thesis updates per ACK; "once per round trip" is right (erratum A3).
Taken from ns-2, with JSAC's rule where it differs
    RTT in (1) is the mean over the round. JSAC takes the RTT of one distinguished segment, the
    first of the round (`distinguished`; the mean if that segment was sent twice). In slow start the
    mean includes the queue of the flow's own bursts, W^2 / (4 BDP) packets, so that (3) ends slow
    start earlier.
    The end of slow start removes an eighth of W (`start_cut`), as in the Quick Vegas paper; in JSAC
    nothing.
    W in (1) is the packets in flight. Delta is rounded to an integer (`integer_delta`). An increase
    applies only while the sender uses its window to within two packets. A loss or timeout leaves a
    whole number of packets. An increase in progress continues after a loss.
    The other differences of ns-2, in loss recovery and BaseRTT, are in the recovery ``vegas-ns2``.
    JSAC's BaseRTT is commonly the RTT of the first segment, the SYN: ``Transport(syn_rtt=True)``.

Evidence (constants: paper)
    ns-2: to the packet, with its recovery
        external/test_against_ns2.py::test_equal_to_the_packet
    closed form: queue, ramps, fairness
        models/packet/test_closed_forms.py::test_vegas_keeps_alpha_to_beta_packets_queued_per_flow
    published value: three papers' tables
        papers/test_reproduction.py
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag, Param, State, exceeds, register


def backlog(s, p, ack):
    """(1): number of the flow's packets in queues."""
    rtt = ack.round_rtt
    if p.distinguished and ack.rtt > 0:
        rtt = ack.rtt
    s.decided = ack.now
    s.base_rtt = ack.base_rtt
    s.expected = ack.inflight / s.base_rtt
    s.actual = ack.round_packets / rtt
    delta = (s.expected - s.actual) * s.base_rtt
    if p.integer_delta:
        delta = float(int(delta + 0.5))
    return delta


def slow_start(s, p, delta):
    """(3), at the end of a round."""
    s.frozen = 1.0 - s.frozen
    if s.frozen != 0:
        s.incr = 0.0
    elif delta > p.gamma:
        s.ssthresh = 2.0
        s.cwnd = max(s.cwnd - s.cwnd * p.start_cut, 2.0)
        s.incr = 0.0
    else:
        s.incr = 1.0


def increase(s):
    """One packet more, over the next round."""
    s.incr = 1 / s.cwnd


def decrease(s):
    """One packet less, at once."""
    s.cwnd = max(s.cwnd - 1, 2.0)
    s.incr = 0.0


def adjust(s, delta, alpha, beta):
    """(2), at the end of a round, with its thresholds `alpha` and `beta`."""
    if delta > beta:
        decrease(s)
    elif delta < alpha:
        increase(s)
    else:
        s.incr = 0.0


def on_round(s, p, ack):
    delta = backlog(s, p, ack)
    if s.cwnd < s.ssthresh:
        slow_start(s, p, delta)
    else:
        adjust(s, delta, p.alpha, p.beta)


def on_ack(s, p, ack):
    if s.incr == 1 and s.cwnd >= s.ssthresh and s.ssthresh > 2:
        s.incr = 0.0  # slow start after a timeout ends at ssthresh, within the round
    if s.incr > 0 and s.cwnd - ack.inflight <= 2:
        s.cwnd += s.incr * ack.acked


def on_loss(s, p, ack):
    window = math.floor(ack.window)
    if window <= 3:
        s.cwnd = 2.0
    elif ack.transmits > 1:
        s.cwnd = float(window // 2)
    else:
        s.cwnd = float(window - window // 4)  # (4)
    s.ssthresh = 2.0


def on_timeout(s, p, ack):
    s.ssthresh = max(float(math.floor(ack.window) // 2), 2.0)
    s.cwnd = 2.0  # (5)


def trend(new, old):
    """1 if a measured value has risen, -1 if it has fallen, 0 if they differ only by rounding."""
    if new > old * (1 + ROUNDING):
        return 1
    if new < old * (1 - ROUNDING):
        return -1
    return 0


def target_trend(s, ack):
    """:func:`trend` of the RTT of the target packet, the first packet of each round.

    0 if that packet was sent twice: its RTT is unknown.
    """
    if ack.rtt == 0:
        return 0
    change = trend(ack.rtt, s.target_rtt)
    s.target_rtt = ack.rtt
    return change


def next_target(s):
    """Store the window with which the next target packet is sent; the last step of a round."""
    s.grown = 1.0 if s.cwnd > s.target_window else 0.0
    s.target_window = s.cwnd


def check_thresholds(p):
    return exceeds(p, "alpha", "beta")


#: Relative difference below which :func:`trend` treats two RTTs, or rates, as equal. With an
#: unchanged queue they differ by clock rounding (1e-12); one more queued packet changes them by far
#: more.
ROUNDING = 1e-9

PARAMS = {
    "alpha": Param(1, "packets", "fewest packets to keep queued (JSAC: 1; Quick Vegas: 2)", 0),
    "beta": Param(3, "packets", "most packets to keep queued (JSAC: 3; Quick Vegas: 4)", 0),
    "gamma": Param(1, "packets", "backlog that ends slow start (JSAC, section III-C)", 0),
    "integer_delta": Flag(True, "round Delta to an integer, as ns-2 does"),
    "distinguished": Flag(False, "RTT of the round's first packet (JSAC), not the mean"),
    "start_cut": Param(1 / 8, "", "share of W removed when slow start ends (ns-2; JSAC: 0)", 0, 1),
}
STATE = {
    "incr": State(0, "packets per ACK", "increase for each packet acknowledged in this round"),
    "frozen": State(0, "0 or 1", "the window is frozen in this round"),
    "decided": State(0, "s", "time of the last (1)"),
    "expected": State(0, "packets/s", "Expected at that time"),
    "actual": State(0, "packets/s", "Actual at that time"),
    "base_rtt": State(0, "s", "BaseRTT at that time"),
}
#: State of the variants that compare target packets.
TARGET_STATE = {
    "target_rtt": State(0, "s", "RTT of the last target packet"),
    "target_window": State(0, "packets", "cwnd with which the current target packet was sent"),
    "grown": State(0, "0 or 1", "it is larger than that of the previous target packet"),
}

vegas = register(
    Controller(
        name="vegas",
        summary="one packet up or down per round, by the backlog estimated from the RTT",
        source="Brakmo, Peterson 1995",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PARAMS,
        state=STATE,
        recovery="vegas",
        validate=check_thresholds,
        record=("decided", "expected", "actual", "base_rtt"),  # JSAC's graphs of the CAM
        look=("blue", "s"),
    )
)
