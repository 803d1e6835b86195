"""Estimators of rates from a flow's ACKs, shared by controllers. Nothing is registered here.

Each is a function ``update_x(s, p, ack)``, to be called first thing in ``on_ack``, with its
``X_PARAMS`` and ``X_STATE``, which the controller merges into its own. The result is in packets per
second and 0 before there is any:

===============  =========  ====================================================================
``update_be``    ``s.be``   bandwidth estimate: every gap between two ACKs is a sample
``update_re``    ``s.re``   rate estimate: every round-trip time is a sample
``update_abse``  ``s.abse`` adaptive: samples from one gap between ACKs to one round-trip time
``update_plus``  ``s.plus`` Westwood+: every round-trip time is a sample, filter by count
``update_rce``   ``s.rce``  residual capacity: ACKs over the time that was not wasted
===============  =========  ====================================================================

A controller that uses one::

    def on_ack(s, p, ack):
        update_re(s, p, ack)
        ...

    Controller(..., params={**RE_PARAMS, ...}, state={**RE_STATE, ...})

A rate of the first four is the flow's own; ``rce`` is the bottleneck's capacity.

Sources: C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: bandwidth
estimation for enhanced transport over wireless links", MobiCom 2001 (BE); R. Wang, M. Valla, M. Y.
Sanadidi, B. K. F. Ng, M. Gerla, "Efficiency/friendliness tradeoffs in TCP Westwood", ISCC 2002
(RE); R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Adaptive bandwidth share estimation in TCP
Westwood", GLOBECOM 2002 (ABSE); L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of
Westwood+, New Reno, and Vegas TCP congestion control", CCR 34(2), 2004 (Westwood+); C. E. Palazzi,
"Residual capacity estimator for TCP on wired/wireless links", IFIP WCC 2004 (RCE), as retold by
Kaneko and Katto 2005, eq. 8.

What both models need
    All that is acknowledged at one instant belongs together: a fluid's ACKs come in parts, a packet
    flow's may be bunched. It is complete when time has moved on, so that an estimate is of the ACKs
    before the present one. The first ACK starts the clock.
    Loss recovery shows no duplicate ACKs to a controller; the ACK that ends it counts what they
    told (`delivered`). So what an ACK acknowledges is taken as spread over the time since the last
    one, where that is long: the papers, which see each duplicate, would have it so.
"""

from tcpcc.definition import Param, State


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


# ABSE


def update_abse(s, p, ack):
    """Adaptive bandwidth share estimate `s.abse`. With V = W / RTTmin, its k-th sample is over

    (1)  T_k = RTT (V - ABSE) / V,  at least one gap between ACKs

    so that it is as BE's while V is reached, and as RE's in a congested network; the filter's time
    constant grows with the jitter U of the samples x_k:

    (2)  tau_k = RTT + n RTT U_k / U_max,  U_k = u U_k-1 + (1 - u) |x_k - x_k-1|

    with RTT no less than the sample is long, as one that ends a recovery may be.

    Uncertain (from memory): (1), all constants, and over how many samples U_max is taken; here the
    largest U is forgotten by 1 / `abse_memory` per sample.
    """
    if s.abse_time < 0:
        s.abse_since = s.abse_time = ack.now
        return
    if ack.now > s.abse_time:
        gap = s.abse_time - s.abse_since
        if gap > 0 and gap >= ack.srtt * (1 - s.abse * ack.base_rtt / s.cwnd):
            sample_abse(s, p, gap, max(ack.srtt, gap))
        s.abse_time = ack.now
    s.abse_acked += ack.delivered


def sample_abse(s, p, gap, rtt):
    sample = s.abse_acked / gap
    s.abse_jitter += (1 - p.abse_u) * (abs(sample - s.abse_sample) - s.abse_jitter)
    s.abse_most = max(s.abse_jitter, s.abse_most * (1 - 1 / p.abse_memory))
    relative = s.abse_jitter / s.abse_most if s.abse_most > 0 else 0.0
    s.abse = follow(s.abse, sample, s.abse_sample, gap, rtt * (1 + p.abse_n * relative))
    s.abse_sample = sample
    s.abse_since = s.abse_time
    s.abse_acked = 0.0


# Westwood+


def update_plus(s, p, ack):
    """Westwood+'s bandwidth estimate `s.plus`: one sample per round-trip time, but at least
    `shortest` long, through two filters of gain `gain` in a row, which the first sample fills, as
    Linux has it."""
    if s.plus_time < 0:
        s.plus_since = s.plus_time = ack.now
        return
    if ack.now > s.plus_time:
        gap = s.plus_time - s.plus_since
        if gap >= max(ack.srtt, p.shortest):
            gain = p.gain if s.plus > 0 else 1.0
            s.plus_once += gain * (s.plus_acked / gap - s.plus_once)
            s.plus += gain * (s.plus_once - s.plus)
            s.plus_since = s.plus_time
            s.plus_acked = 0.0
        s.plus_time = ack.now
    s.plus_acked += ack.delivered


# RCE


def update_rce(s, p, ack):
    """Residual capacity `s.rce`: over a slot, what was acknowledged over the slot's length without
    the time wasted, which is what gaps between ACKs exceed their mean by.

    The mean is that of the slot before, so that none has to be remembered, and it is per packet:
    `d` packets acknowledged together waste what exceeds `d` times the mean. The paper's slot is
    that of about one retransmission timeout: here `slot`, RFC 6298's least one, or the round-trip
    time if longer. Smoothing is uncertain; by default there is none.
    """
    if s.rce_time < 0:
        s.rce_since = s.rce_before = s.rce_time = ack.now
        return
    if ack.now > s.rce_time:
        gap = s.rce_time - s.rce_before
        if s.rce_mean > 0:
            s.rce_wasted += max(gap - s.rce_mean * s.rce_last, 0.0)
        s.rce_acked += s.rce_last
        s.rce_last = 0.0
        s.rce_before = s.rce_time
        length = s.rce_time - s.rce_since
        if length >= max(p.slot, ack.srtt):
            end_slot(s, p, length)
        s.rce_time = ack.now
    s.rce_last += ack.delivered


def end_slot(s, p, length):
    sample = s.rce_acked / (length - s.rce_wasted)
    s.rce += sample - s.rce if s.rce == 0 else p.rce_gain * (sample - s.rce)
    s.rce_mean = length / s.rce_acked
    s.rce_since = s.rce_time
    s.rce_acked = 0.0
    s.rce_wasted = 0.0


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

ABSE_PARAMS = {
    "abse_n": Param(10, "", "n of ABSE's time constant (uncertain)", 0),
    "abse_u": Param(0.6, "", "u, weight of the jitter before (uncertain)", 0, 1),
    "abse_memory": Param(10, "samples", "how long the largest jitter counts (uncertain)", 1),
}
ABSE_STATE = {
    "abse": State(0, "packets/s", "adaptive bandwidth share estimate"),
    "abse_sample": State(0, "packets/s", "its last sample"),
    "abse_acked": State(0, "packets", "acknowledged since the last sample"),
    "abse_since": State(0, "s", "when that sample ended"),
    "abse_time": State(-1, "s", "when the newest ACK came; negative before the first"),
    "abse_jitter": State(0, "packets/s", "mean difference of successive samples, U"),
    "abse_most": State(0, "packets/s", "largest U of late"),
}

PLUS_PARAMS = {
    "gain": Param(1 / 8, "", "of each of the estimate's two filters (Linux)", 0, 1),
    "shortest": Param(0.05, "s", "least length of a sample (Linux)", 1e-3),
}
PLUS_STATE = {
    "plus": State(0, "packets/s", "Westwood+'s bandwidth estimate"),
    "plus_once": State(0, "packets/s", "the same after the first of the two filters"),
    "plus_acked": State(0, "packets", "acknowledged since the last sample"),
    "plus_since": State(0, "s", "when that sample ended"),
    "plus_time": State(-1, "s", "when the newest ACK came; negative before the first"),
}

RCE_PARAMS = {
    "slot": Param(1, "s", "slot of the residual capacity estimate, if longer than the RTT", 1e-3),
    "rce_gain": Param(1, "", "weight of a new slot in that estimate (uncertain)", 0, 1),
}
RCE_STATE = {
    "rce": State(0, "packets/s", "residual capacity estimate"),
    "rce_mean": State(0, "s", "mean time that a packet took in the slot before"),
    "rce_acked": State(0, "packets", "acknowledged in this slot"),
    "rce_wasted": State(0, "s", "time wasted in this slot"),
    "rce_since": State(0, "s", "when this slot began"),
    "rce_last": State(0, "packets", "what the newest ACKs, all of one time, acknowledged"),
    "rce_before": State(0, "s", "when the ACKs before these came"),
    "rce_time": State(-1, "s", "when they came; negative before the first"),
}
