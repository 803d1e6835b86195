"""HyStart++: slow start that slows down when the delay rises, and ends if the delay stays high.

Source: P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: modified slow start for TCP", RFC 9406,
2023, section 4.2.

r is the smallest RTT of the round, r' that of the previous round; r is used once the round has
`rtt_samples` RTTs. In the first slow start (ssthresh is infinite):

(1)  r >= r' + min(max(r'/8, rtt_thresh_min), rtt_thresh_max):
                               conservative slow start begins, baseline <- r
(2)  conservative slow start:  the growth of W is divided by css_growth_divisor
(3)  there, r < baseline:      back to slow start
(4)  after css_rounds rounds of it, including the round in which it began:  ssthresh <- W

After the first loss or timeout slow start is the controller's own (section 4.3).

Without pacing, the RFC counts at most 8 packets per ACK. The transport sets this limit:
``Flow(transport={"abc_limit": 8})``.

Differences from the RFC
    RTTs are counted by packets acknowledged, not by ACKs.
"""

import math

from tcpcc.definition import Param, State, register
from tcpcc.slow_start.hystart import PARAMS, check, rise
from tcpcc.slow_start.start_up import StartUp


def on_round(s, p, ack):
    if s.ssthresh < math.inf:
        return
    s.css_last = s.css_rtt
    s.css_rtt = math.inf
    s.css_samples = 0.0
    if s.css_round > 0:
        s.css_round += 1
        if s.css_round > p.css_rounds:
            s.ssthresh = s.cwnd  # (4)


def on_ack(s, p, ack, before):
    if s.ssthresh < math.inf:
        return
    if ack.rtt > 0:
        s.css_rtt = min(s.css_rtt, ack.rtt)
        s.css_samples += ack.delivered
    if s.css_round > 0 and s.cwnd > before:
        s.cwnd = before + (s.cwnd - before) / p.css_growth_divisor  # (2)
    if s.css_samples < p.rtt_samples or s.css_last == 0:
        return
    if s.css_round > 0:
        if s.css_rtt < s.css_baseline:
            s.css_round = 0.0  # (3)
    elif s.css_rtt >= s.css_last + rise(p, s.css_last):
        s.css_baseline = s.css_rtt  # (1)
        s.css_round = 1.0


hystart_plus = register(
    StartUp(
        name="hystart++",
        summary="slows slow start down when the delay rises, ends it if the delay stays high",
        source="RFC 9406",
        on_ack=on_ack,
        on_round=on_round,
        params={
            **PARAMS,
            "css_growth_divisor": Param(4, "", "CSS_GROWTH_DIVISOR (RFC 9406)", 1),
            "css_rounds": Param(5, "rounds", "CSS_ROUNDS (RFC 9406)", 1),
        },
        state={
            "css_rtt": State(math.inf, "s", "r, smallest RTT in the round"),
            "css_last": State(0, "s", "r' of the previous round; 0: none"),
            "css_samples": State(0, "packets", "RTT samples in the round"),
            "css_baseline": State(0, "s", "r when conservative slow start began"),
            "css_round": State(0, "", "round of conservative slow start; 0: slow start"),
        },
        validate=check,
    )
)
