"""Reno-friendly Westwood: the cut at a loss is corrected for the bottleneck's buffer.

Source: K. Kaneko, J. Katto, "Reno friendly TCP Westwood based on router buffer estimation", 2005.

Westwood with RE (:mod:`tcpcc.controllers.westwood_re`) except for the loss rule. The equation
numbers are the paper's; C = RCE, and R is the last RTT measured:

(9)   buffer = (R_full - RTTmin) C
(10)  diff_delay = (buffer - C RTTmin) / C
(12)  RTTmin' = RTTmin R / (R - diff_delay),   in (0, R]
(13)  loss:     ssthresh <- RE x RTTmin',  at least 2;   W <- ssthresh if W is larger
(2)   timeout:  ssthresh <- RE x RTTmin,   at least 2;   W <- 1

With a buffer of one bandwidth-delay product (BDP) diff_delay is 0, and this is Westwood. At a loss
with the buffer full, R = R_full, RTTmin' is R/2 for any buffer, and this is Reno.

Differences from the paper
    The paper uses a single RTT. Then R - diff_delay is 2 RTTmin, and (12) is R/2 at every loss,
    random ones too: plain Reno (erratum A1). Here R_full is the largest RTT seen at a loss. With
    `forget` > 0 a loss at a smaller RTT lowers R_full by that share of the difference, for paths
    that change.
    C cancels in (9) and (10), so the value of RCE has no effect; only the delay counts.
    (12) has a pole at diff_delay = R. A loss with an empty queue reaches it if the buffer is two
    BDPs. The bound RTTmin' <= R, which is R - diff_delay >= RTTmin, avoids the pole; at the bound a
    loss leaves W unchanged.
    The floor is 2 packets, as in Westwood.

Evidence (constants: paper)
    published value: its paper
        papers/test_reproduction.py
    vector: Westwood with one BDP of buffer, else Reno
        controllers/test_westwood.py::test_with_a_buffer_of_one_bdp_rbe_is_westwood
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.rate_estimators import (
    RCE_PARAMS,
    RCE_STATE,
    RE_PARAMS,
    RE_STATE,
    update_rce,
    update_re,
)
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.westwood import threshold
from tcpcc.controllers.westwood_re import on_timeout
from tcpcc.definition import Param, State, register


def on_ack(s, p, ack):
    update_re(s, p, ack)
    update_rce(s, p, ack)
    if ack.rtt > 0:
        s.rtt = ack.rtt
    reno_on_ack(s, p, ack)


def diff_delay(s, ack):
    """Delay of the full buffer minus RTTmin, s; 0 before C is known."""
    if s.rce == 0:
        return 0.0
    buffer = (s.full_rtt - ack.base_rtt) * s.rce  # (9)
    return (buffer - s.rce * ack.base_rtt) / s.rce  # (10)


def compensated_rtt(s, ack):
    """(12); 0 if no RTT has been measured, so that (13) gives its floor."""
    if s.rtt == 0:
        return 0.0
    return ack.base_rtt * s.rtt / max(s.rtt - diff_delay(s, ack), ack.base_rtt)


def on_loss(s, p, ack):
    s.rtt = max(s.rtt, ack.base_rtt)
    s.full_rtt = max(s.rtt, s.full_rtt - p.forget * (s.full_rtt - s.rtt))
    threshold(s, s.re * compensated_rtt(s, ack))  # (13)


westwood_rbe = register(
    Controller(
        name="westwood_rbe",
        summary="Westwood made friendly to Reno, for any bottleneck buffer",
        source="Kaneko, Katto 2005",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **RE_PARAMS,
            **RCE_PARAMS,
            "forget": Param(0, "", "share of R_full - R removed from R_full at a loss", 0, 1),
        },
        state={
            **RE_STATE,
            **RCE_STATE,
            "rtt": State(0, "s", "R, last RTT measured"),
            "full_rtt": State(0, "s", "R_full, RTT with the buffer full"),
        },
        slow_start="hystart++",
        look=("blue", "d"),
    )
)
