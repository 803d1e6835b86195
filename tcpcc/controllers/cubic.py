"""CUBIC of RFC 9438: the window is a cubic function of the time since the last loss.

Source: RFC 9438, 2023 (L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert), which replaces RFC 8312.

(1) to (5) are in `cubic_curve.py`, with C = 0.4 and beta = 0.7. Per newly acknowledged packet
in congestion avoidance:

(6)  target = W_cubic(t + RTT), limited to [W, 1.5 W] (section 4.2);  W <- W + (target - W)/W
(7)  Reno-friendly region: if W_cubic(t) < W_est, W <- W_est instead (section 4.3). alpha of (3)
     is 1 once W_est has reached W_prior, the window before the last loss.

With one loss per 1/p packets the mean window outside that region is 1.054 (RTT/p)^(3/4).

RTT is the smoothed RTT. Slow start is HyStart++, as section 4.10 recommends. Linux uses HyStart and
RACK-TLP, and an older form of the algorithm: ``Flow.linux("cubic")``.

Differences from the RFC
    (7) never reduces W. Read literally, the RFC lowers W to W_est where the look-ahead of (6) has
    already taken it further.
    An ECN mark counts as a loss.

Evidence (constants: RFC)
    closed form: 1.054 (R/p)^0.75, tables of RFC 9438
        controllers/test_response_functions.py::test_packets_obey_the_closed_form
    vector: window curve
        controllers/test_highspeed.py::test_cubic_follows_its_curve
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.cubic_curve import STATE, curve, elapsed, enter, friendly, make_params
from tcpcc.controllers.cubic_curve import on_loss as cut
from tcpcc.controllers.cubic_curve import on_timeout as restart
from tcpcc.definition import State, register


def on_ack(s, p, ack):
    if ack.phase == 0:
        s.is_cut = 0.0
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
        return
    enter(s, p, ack.clock)
    alpha = friendly(p) if s.reno < s.prior else 1.0
    s.reno += alpha * ack.growing / s.cwnd
    t = elapsed(s, ack)
    if curve(s, p.c, t) < s.reno:
        s.cwnd = max(s.cwnd, s.reno)  # (7)
    else:
        target = min(max(curve(s, p.c, t + ack.srtt), s.cwnd), 1.5 * s.cwnd)
        s.cwnd += (target - s.cwnd) / s.cwnd * ack.acked  # (6)


def remember_epoch(s):
    """Save the epoch before the first cut of a loss recovery (section 4.9.2)."""
    if s.is_cut == 0:
        s.undo_max, s.undo_epoch, s.undo_origin = s.last_max, s.epoch, s.origin
        s.undo_k, s.undo_reno, s.undo_prior = s.k, s.reno, s.prior
    s.is_cut = 1.0


def on_loss(s, p, ack):
    remember_epoch(s)
    s.prior = ack.window
    cut(s, p, ack)


def on_timeout(s, p, ack):
    remember_epoch(s)
    s.prior = ack.window
    restart(s, p, ack)


def on_undo(s, p, ack):
    """Continue the epoch of before the spurious loss (section 4.9.2)."""
    s.last_max, s.epoch, s.origin = s.undo_max, s.undo_epoch, s.undo_origin
    s.k, s.reno, s.prior = s.undo_k, s.undo_reno, s.undo_prior
    s.is_cut = 0.0


cubic = register(
    Controller(
        name="cubic",
        summary="cubic function of the time since the last loss, as standardized",
        source="RFC 9438",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_undo=on_undo,
        params=make_params(beta=(0.7, "RFC 9438, 4.6"), c=(0.4, "RFC 9438, 5")),
        state={
            **STATE,
            "prior": State(0, "packets", "W_prior: window before the last loss"),
            "is_cut": State(0, "0 or 1", "a loss, and its recovery has not ended"),
            "undo_max": State(0, "packets", "`last_max` before that loss"),
            "undo_epoch": State(-1, "s", "`epoch` before that loss"),
            "undo_origin": State(0, "packets", "`origin` before that loss"),
            "undo_k": State(0, "s", "`k` before that loss"),
            "undo_reno": State(0, "packets", "`reno` before that loss"),
            "undo_prior": State(0, "packets", "`prior` before that loss"),
        },
        slow_start="hystart++",
        look=("blue", "X"),
    )
)
