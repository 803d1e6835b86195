"""Estimators of a flow's rate from its ACKs, shared by controllers. Nothing is registered here.

Each is a function ``update_x(s, p, ack)``, to be called first thing in ``on_ack``, with its
``X_PARAMS`` and ``X_STATE``, which the controller merges into its own. The result is in packets per
second and 0 before there is any:

===============  =========  ====================================================================
``update_be``    ``s.be``   bandwidth estimate: every gap between two ACKs is a sample
``update_re``    ``s.re``   rate estimate: every round-trip time is a sample
===============  =========  ====================================================================

A controller that uses one::

    def on_ack(s, p, ack):
        update_re(s, p, ack)
        ...

    Controller(..., params={**RE_PARAMS, ...}, state={**RE_STATE, ...})

Sources: C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: bandwidth
estimation for enhanced transport over wireless links", MobiCom 2001 (BE); R. Wang, M. Valla, M. Y.
Sanadidi, B. K. F. Ng, M. Gerla, "Efficiency/friendliness tradeoffs in TCP Westwood", ISCC 2002
(RE).

What both models need
    All that is acknowledged at one instant is one sample: a fluid's ACKs come in parts, a packet
    flow's may be bunched. It is complete when time has moved on, so that an estimate is of the ACKs
    before the present one. The first ACK starts the clock.
    Loss recovery shows no duplicate ACKs to a controller; the ACK that ends it counts what they
    told (`delivered`). So what an ACK acknowledges is taken as spread over the time since the last
    one, where that is long: the papers, which see each duplicate, would have it so.
"""

from tcpcc.controllers.contract import Param, State


def low_pass(estimate, sample, last, gap, tau):
    """First-order low-pass filter with time constant `tau`, fed after `gap` with `sample` where the
    one before was `last`: Tustin's discretization, stable for gap < 2 tau (Casetti 2001, eq. 7)."""
    alpha = (2 * tau - gap) / (2 * tau + gap)
    return alpha * estimate + (1 - alpha) * (sample + last) / 2


def follow(estimate, sample, last, gap, tau):
    """:func:`low_pass` over a gap of any length: beyond tau/m, in steps of tau/m."""
    step = tau / STEPS
    while gap > step:
        estimate = low_pass(estimate, sample, last, step, tau)
        last = sample
        gap -= step
    return low_pass(estimate, sample, last, gap, tau)


# BE


def update_be(s, p, ack):
    """Bandwidth estimate `s.be`: b_k = d_k / Delta_k, what an ACK acknowledges over the time since
    the last one, through :func:`low_pass`.

    It sees the bottleneck's rate in bunched ACKs and gives them weight over the gap that follows:
    under ACK compression it overestimates.
    """
    if s.be_time < 0:
        s.be_since = s.be_time = ack.now
        return
    if ack.now > s.be_time:
        sample_be(s, p)
        s.be_time = ack.now
    s.be_acked += ack.delivered


def sample_be(s, p):
    gap = s.be_time - s.be_since
    if gap > 0:
        sample = s.be_acked / gap
        s.be = follow(s.be, sample, s.be_sample, gap, p.tau)
        s.be_sample = sample
        s.be_since = s.be_time
        s.be_acked = 0.0


def silence_be(s, p, ack):
    """Feed `s.be` with the virtual samples of 0 for the time without an ACK; for ``on_timeout``."""
    if s.be_time >= 0 and ack.now - s.be_time > p.tau / STEPS:
        sample_be(s, p)
        s.be = follow(s.be, 0.0, s.be_sample, ack.now - s.be_time, p.tau)
        s.be_sample = 0.0
        s.be_since = s.be_time = ack.now


# RE


def update_re(s, p, ack):
    """Rate estimate `s.re`: what was acknowledged in the last T over T, with T the round-trip time,
    through :func:`low_pass`.

    Of a flow limited by its window it is W / RTT, however its ACKs are bunched. The paper takes
    such a sample at every ACK, of intervals that overlap; here they follow each other.
    """
    if s.re_time < 0:
        s.re_since = s.re_time = ack.now
        return
    if ack.now > s.re_time:
        gap = s.re_time - s.re_since
        if gap > 0 and gap >= ack.srtt:
            sample = s.re_acked / gap
            s.re = follow(s.re, sample, s.re_sample, gap, p.tau)
            s.re_sample = sample
            s.re_since = s.re_time
            s.re_acked = 0.0
        s.re_time = ack.now
    s.re_acked += ack.delivered


#: The m of Casetti 2001, at least 2: longest step of the filter, as a fraction of tau.
STEPS = 2

TAU = Param(0.5, "s", "time constant of the estimate's low-pass filter (Casetti 2001)", 1e-3)

BE_PARAMS = {"tau": TAU}
BE_STATE = {
    "be": State(0, "packets/s", "bandwidth estimate"),
    "be_sample": State(0, "packets/s", "its last sample"),
    "be_acked": State(0, "packets", "acknowledged since the last sample"),
    "be_since": State(0, "s", "when that sample ended"),
    "be_time": State(-1, "s", "when the newest ACK came; negative before the first"),
}

RE_PARAMS = {"tau": TAU}
RE_STATE = {
    "re": State(0, "packets/s", "rate estimate"),
    "re_sample": State(0, "packets/s", "its last sample"),
    "re_acked": State(0, "packets", "acknowledged since the last sample"),
    "re_since": State(0, "s", "when that sample ended"),
    "re_time": State(-1, "s", "when the newest ACK came; negative before the first"),
}
