"""LEDBAT++: LEDBAT that gives later flows their share and does not take its queue for the path.

Source: P. Balasubramanian et al., "LEDBAT++: congestion control for background traffic",
draft-irtf-iccrg-ledbat-plus-plus-01, sections 4.1 to 4.5.

q is LEDBAT's queueing delay, of RTTs instead of one-way delays; base, the smallest RTT.

(1)  GAIN = 1 / min(16, ceil(2 TARGET/base))                                                  (4.2)
(2)  congestion avoidance, per round trip,                                                    (4.3)
     q <= TARGET:  W <- W + GAIN
     above:        W <- W + max(GAIN - C W (q/TARGET - 1), -W/2),  at least 2
(3)  slow start, per packet:  W <- W + GAIN;  the first one ends when q > 3/4 TARGET          (4.1)
(4)  slowdown:  ssthresh <- W, W <- 2 for 2 RTTs, then (3) until W = ssthresh. The first begins
     2 RTTs after the first slow start, each later one 9 durations of the last one after it   (4.4)
(5)  loss:  W <- max(W/2, 2)      timeout:  W <- 1, ssthresh <- max(W/2, 2)

In a slowdown the queue empties, so that base is the path's RTT in every flow, a late one too.

Differences from the draft
    (2) is applied per packet, with 1/W of what it adds in a round trip.
    A loss ends a slowdown. Slow start after a timeout counts as one.
    base is `a.base_rtt` in (1), and the smallest of 10 minutes in q, counted from the first RTT.

Evidence (constants: draft)
    vector: gain, increase, decrease, slowdown
        controllers/test_ledbat_plus.py::test_additive_increase_up_to_the_target_and_multiplicative_decrease_above
    claim: a late flow gets its share within a minute
        controllers/test_ledbat_plus.py::test_a_late_flow_gets_its_share_within_a_minute_and_no_more
    claim: holds its target, yields to Reno
        controllers/test_ledbat_plus.py::test_it_holds_the_queue_at_its_target_and_yields_to_reno
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.ledbat import DELAYS, queueing_delay
from tcpcc.definition import Param, State, register

STARTING, AVOIDING, FROZEN, RAMPING = 0.0, 1.0, 2.0, 3.0
INTERVAL = 9  # durations of a slowdown until the next


def gain(p, base):
    """(1)."""
    return 1 / min(p.gain_cap, math.ceil(2 * p.target_delay / base))


def change(s, p, base):
    """What (2) adds to W in a round trip."""
    excess = s.queueing / p.target_delay - 1
    if excess <= 0:
        return gain(p, base)
    return max(gain(p, base) - p.decrease * s.cwnd * excess, -s.cwnd / 2)


def avoid(s, a):
    """Begin congestion avoidance, and plan the next slowdown of (4)."""
    wait = 2 * a.srtt if s.mode == STARTING else INTERVAL * (a.now - s.slowed_at)
    s.next_slowdown = a.now + wait
    s.mode = AVOIDING
    s.ssthresh = min(s.ssthresh, max(s.cwnd, 2.0))


def slow_down(s, a):
    """(4)."""
    s.slowed_at = a.now
    s.frozen_until = a.now + 2 * a.srtt
    s.mode = FROZEN
    s.ssthresh = max(s.cwnd, 2.0)
    s.cwnd = 2.0


def move_on(s, p, a):
    """Change the mode where it is time to."""
    if s.mode == AVOIDING and a.now >= s.next_slowdown:
        slow_down(s, a)
    elif s.mode == FROZEN and a.now >= s.frozen_until:
        s.mode = RAMPING
    elif s.mode == STARTING and s.queueing > 0.75 * p.target_delay:
        avoid(s, a)  # (3)
    if (s.mode == RAMPING or s.mode == STARTING) and s.cwnd >= s.ssthresh:
        avoid(s, a)


def on_ack(s, p, a):
    if a.rtt > 0:
        s.queueing = queueing_delay(s, a.now, a.rtt)
    if a.phase == 1:
        return
    move_on(s, p, a)
    if s.mode == FROZEN or a.base_rtt <= 0:
        return
    if s.mode == AVOIDING:
        grown = s.cwnd + change(s, p, a.base_rtt) * a.delivered / s.cwnd  # (2)
    else:
        grown = min(s.cwnd + gain(p, a.base_rtt) * a.delivered, s.ssthresh)  # (3)
    used = a.inflight + a.delivered + 1
    s.cwnd = max(min(grown, max(used, s.cwnd)), min(s.cwnd, 2.0))
    if s.mode == AVOIDING:
        s.ssthresh = min(s.ssthresh, max(s.cwnd, 2.0))


def on_loss(s, p, a):
    s.cwnd = max(s.cwnd / 2, 2.0)  # (5)
    s.ssthresh = s.cwnd
    if s.mode != AVOIDING:
        avoid(s, a)


def on_timeout(s, p, a):
    if s.mode == AVOIDING or s.mode == STARTING:
        s.slowed_at = a.now
    s.mode = RAMPING
    s.ssthresh = max(s.cwnd / 2, 2.0)
    s.cwnd = 1.0


ledbat_plus = register(
    Controller(
        name="ledbat_plus",
        summary="LEDBAT with periodic slowdowns, so that late flows get no more and no less",
        source="draft-irtf-iccrg-ledbat-plus-plus-01",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "target_delay": Param(0.06, "s", "target of the queueing delay (TARGET)", 1e-6),
            "gain_cap": Param(16, "", "largest 1/GAIN", 1),
            "decrease": Param(1, "", "C of the decrease", 0),
        },
        state={
            **DELAYS,
            "mode": State(STARTING, "", "phase", names=("start", "avoidance", "frozen", "ramp-up")),
            "slowed_at": State(0, "s", "when the last slowdown began"),
            "frozen_until": State(0, "s", "until when W is 2 in it"),
            "next_slowdown": State(0, "s", "when the next one begins"),
        },
        every_ack=True,
        record=("queueing", "mode"),
        look=("orange", "8"),
    )
)
