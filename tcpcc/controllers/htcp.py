"""H-TCP: the increase grows with the time since the last loss, the decrease adapts to the queue.

Source: D. Leith, R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
draft-leith-tcp-htcp-06; Linux' ``tcp_htcp``.

Equations (Delta: time since the end of the last congestion event; d, R: smallest and largest RTT)

(1)  f = 1                                             Delta <= Delta_L
     f = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L)/2)^2         else
(2)  f <- max(f / scale, 1),  scale = 1/(10 d) within [1/2, 10]     `rtt_scaling`
(3)  alpha = 2 (1 - beta) f;  per newly acknowledged packet  W <- W + min(alpha/W, 1)
(4)  loss:     beta = 1/2        if |B - B_old| > B_old/5, at the first loss after such a loss, and
                                 for d <= 10 ms
               beta = d/R within [1/2, 4/5]            else
               ssthresh <- max(beta W, 2);  W <- ssthresh
(5)  B: largest throughput since the last loss, from one sample b per round trip; from the fourth
     round trip after the loss on, smoothed: b' <- 3/4 b' + 1/4 b. B_old: B before the last loss
(6)  R ignores samples more than 20 ms above it; after a loss  R <- d + 0.95 (R - d)
(7)  timeout:  ssthresh as in (4), then W <- 1

Check: f(2 s) = 11.25, f(3 s) = 22, f(5 s) = 45.

Differences from the papers
    (6) and the limit of 10 ms in (4) are from Linux; the paper has neither. `rtt_scaling` is an
    option in the paper and on in Linux.
Differences from Linux
    A spurious loss restores R, B_old and the end of the last congestion event as they were before
    it; Linux stores R and B_old after (4) has changed them.
Taken from Linux
    With `integer` f is rounded down to a whole number before and after (2).

Evidence (constants: Linux)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    vector: increase and back-off
        controllers/test_linux_controllers.py::test_htcp_grows_with_the_time_since_the_last_loss
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag, Param, State, exceeds, register

NEAR_MAX = 0.02  # s; a sample further above the largest RTT is an outlier
SHORT = 0.01  # s; paths with an RTT up to this keep beta = 1/2
SHORTEST = 1e-6  # s; least duration of a throughput sample, so that it is not zero
FADE = 0.95  # share of R - d that a loss leaves


def factor(p, elapsed, base_rtt):
    """f of (1) and (2), `elapsed` seconds after the last congestion event."""
    f = 1.0
    if elapsed > p.delta_l:
        more = elapsed - p.delta_l
        f = 1 + 10 * more + more * more / 4
    if p.integer:
        f = float(math.floor(f))
    if p.rtt_scaling and base_rtt > 0:
        f /= min(max(1 / (10 * base_rtt), 0.5), 10.0)
        if p.integer:
            f = float(math.floor(f))
    return max(f, 1.0)


def measure(s, ack):
    """(5) and (6), on each ACK outside recovery."""
    if s.in_recovery != 0:  # first ACK after recovery
        s.in_recovery = 0.0
        s.last_loss = ack.clock
        s.counted = 0.0
        s.counted_from = ack.now
    else:
        s.counted += ack.delivered
    s.rtt_max = max(s.rtt_max, ack.base_rtt)
    if s.rtt_max < ack.rtt <= s.rtt_max + NEAR_MAX:
        s.rtt_max = ack.rtt
    span = ack.now - s.counted_from
    if s.counted >= s.cwnd - max(s.alpha, 1.0) and span >= max(ack.base_rtt, SHORTEST):
        b = s.counted / span
        if ack.clock - s.last_loss <= 4 * ack.base_rtt:
            s.b = b
            s.b_max = b
        else:
            s.b = 0.75 * s.b + 0.25 * b
            s.b_max = max(s.b_max, s.b)
        s.counted = 0.0
        s.counted_from = ack.now


def on_ack(s, p, ack):
    measure(s, ack)
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    else:
        s.alpha = 2 * (1 - s.beta) * factor(p, ack.clock - s.last_loss, ack.base_rtt)
        s.cwnd += min(s.alpha / s.cwnd, 1.0) * ack.acked  # (3)


def adapt(s, p, ack):
    """beta by (4), and the decay of R by (6)."""
    if s.in_recovery == 0:
        s.undo_last_loss, s.undo_rtt_max, s.undo_b_old = s.last_loss, s.rtt_max, s.b_old
    steady = abs(s.b_max - s.b_old) <= 0.2 * s.b_old
    s.b_old = s.b_max
    s.beta = p.beta_min
    if p.bandwidth_switch and not steady:
        s.adaptive = 0.0
    elif s.adaptive != 0 and ack.base_rtt > SHORT and s.rtt_max > 0:
        s.beta = min(max(ack.base_rtt / s.rtt_max, p.beta_min), p.beta_max)
    else:
        s.adaptive = 1.0
    if s.rtt_max > ack.base_rtt:
        s.rtt_max = ack.base_rtt + FADE * (s.rtt_max - ack.base_rtt)
    s.last_loss = ack.clock
    s.in_recovery = 1.0


def on_loss(s, p, ack):
    adapt(s, p, ack)
    s.ssthresh = max(s.beta * ack.window, 2.0)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0  # (7)


def on_undo(s, p, ack):
    """Linux' ``htcp_cwnd_undo``."""
    s.last_loss, s.rtt_max, s.b_old = s.undo_last_loss, s.undo_rtt_max, s.undo_b_old
    s.in_recovery = 0.0


def validate(p):
    return exceeds(p, "beta_min", "beta_max")


htcp = register(
    Controller(
        name="htcp",
        summary="increase grows with the time since the last loss; decrease adapts to the queue",
        source="Leith, Shorten 2004; Linux",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_undo=on_undo,
        params={
            "delta_l": Param(1, "s", "Delta_L: time after a loss with Reno's increase", 0),
            "beta_min": Param(0.5, "", "least share of the window that a loss leaves", 1e-3, 1),
            "beta_max": Param(0.8, "", "largest share (Linux: 102/128)", 1e-3, 1),
            "rtt_scaling": Flag(True, "f in proportion to the RTT (Linux: true)"),
            "bandwidth_switch": Flag(True, "use beta_min while B changes (Linux: true)"),
            "integer": Flag(False, "f rounded down to whole numbers, as in Linux"),
        },
        state={
            "alpha": State(1, "packets", "increase per round trip"),
            "beta": State(0.5, "", "share of the window that the next loss leaves"),
            "last_loss": State(0, "s", "end of the last congestion event"),
            "in_recovery": State(0, "0 or 1", "no ACK since the last loss"),
            "adaptive": State(0, "0 or 1", "B did not change much at the last loss"),
            "rtt_max": State(0, "s", "R: largest RTT"),
            "b": State(0, "packets/s", "smoothed throughput"),
            "b_max": State(0, "packets/s", "B: largest smoothed throughput since the last loss"),
            "b_old": State(0, "packets/s", "B_old: B before the last loss"),
            "counted": State(0, "packets", "acknowledged in the current throughput sample"),
            "counted_from": State(0, "s", "when the current sample began"),
            "undo_last_loss": State(0, "s", "`last_loss` before the last loss"),
            "undo_rtt_max": State(0, "s", "`rtt_max` before the last loss"),
            "undo_b_old": State(0, "packets/s", "`b_old` before the last loss"),
        },
        slow_start="hystart++",
        validate=validate,
        look=("blue", "p"),
    )
)
