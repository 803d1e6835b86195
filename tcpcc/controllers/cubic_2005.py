"""CUBIC of early Linux: versions 2.0 (kernels 2.6.13 to about 2.6.18) and 2.1 (2.6.22).

Source: I. Rhee, L. Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", PFLDnet 2005; Linux'
net/ipv4/tcp_cubic.c.

(1) to (5) are in `cubic_curve.py`, with C = 410/1024 and beta = 819/1024. Per newly
acknowledged packet in congestion avoidance, with Smax = `max_increment`:

(6)  target = origin + C' (t - K)^3 at t + RTTmin;  W <- W + (target - W)/W, but 0.01/W if the
     target is below W, and at most S = Smax RTTmin/(100 ms) in a round trip
(7)  before the first loss, or after a timeout:  1/50 instead of (6)
(8)  TCP-friendly region: where W_est > W, at least (W_est - W)/W

(6) to (8) together add at most one packet.

Version 2.1, `fixed` = 1: C' = C, and S bounds (6) only after K.
Version 2.0, `fixed` = 0, the default, has two scaling errors. First, C' is 32/1024: right after a
loss the target is below W_max by only 8 % of the distance from W to W_max, and beyond W_max growth
is 12.8 times slower than intended (the correction of 2006: "causes Cubic to grow too slowly").
Second, S bounds (6) everywhere and is 8 times smaller than intended, 2 packets per 100 ms, because
code and formula count the RTT in different units. The Fusion paper's testbed ran version 2.0.

Differences from Linux
    Linux uses integers, and updates increments only when W has changed or 1/32 s have passed. Here
    all quantities are real numbers.
    The epoch goes on while the application is idle or limits the flow, as in these versions.
    `ack_ratio` and `initial_ssthresh` (100 in version 2.0) are as in BIC.

Evidence (constants: Linux 2.6)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    vector: window curve, with the kernel's scaling
        controllers/test_highspeed.py::test_cubic_2005_hurries_to_the_last_maximum_and_stays
"""

import math

from tcpcc.controllers.bic import LINUX_PARAMS
from tcpcc.controllers.controller import Controller
from tcpcc.controllers.cubic_curve import STATE, curve, enter, friendly, make_params, step
from tcpcc.controllers.cubic_curve import on_loss as cut
from tcpcc.controllers.cubic_curve import on_timeout as restart
from tcpcc.definition import Flag, Param, State, register


def bounded(s, p, ack):
    """Increase per packet by (6)."""
    t = ack.now - s.epoch + ack.base_rtt
    limit = p.max_increment * ack.base_rtt / 0.1 / s.cwnd
    if not p.fixed:
        return min(step(s, curve(s, p.c * 32 / 410, t)), limit / 8)
    growth = step(s, curve(s, p.c, t))
    return min(growth, limit) if t >= s.k else growth


def on_ack(s, p, ack):
    if s.ssthresh == math.inf:
        s.ssthresh = p.initial_ssthresh
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
        return
    enter(s, p, ack.now)
    s.reno += friendly(p) * ack.growing / s.cwnd
    growth = bounded(s, p, ack) if s.lost != 0 else 0.02  # (7)
    growth = max(growth, (s.reno - s.cwnd) / s.cwnd)  # (8)
    s.cwnd += min(p.ack_ratio * growth, 1.0) * ack.acked


def on_loss(s, p, ack):
    cut(s, p, ack)
    s.lost = 1.0


def on_timeout(s, p, ack):
    restart(s, p, ack)
    s.lost = 0.0


cubic_2005 = register(
    Controller(
        name="cubic_2005",
        summary="cubic function of the time since the last loss, as in early Linux",
        source="Rhee, Xu 2005; Linux 2.6.13-2.6.22",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            **make_params(beta=(819 / 1024, "Linux"), c=(410 / 1024, "Linux: 41/1024 per 100 ms")),
            "max_increment": Param(16, "packets per 100 ms", "Smax (Linux)", 0.1),
            "fixed": Flag(False, "version 2.1, without the scaling errors of 2.0"),
            **LINUX_PARAMS,
        },
        state={**STATE, "lost": State(0, "0 or 1", "a loss, and no timeout since")},
        slow_start="hystart++",
        look=("sky", "X"),
    )
)
