"""Rate estimators from a flow's ACKs, shared by controllers. Nothing is registered here.

Each is a function ``update_x(s, p, ack)`` with its ``X_PARAMS`` and ``X_STATE``. A controller calls
it first in ``on_ack`` and merges the parameters and state into its own. The estimate is in packets
per second, and 0 before the first sample:

===============  =========  ====================================================================
``update_be``    ``s.be``   bandwidth estimate: every gap between two ACKs is a sample
``update_re``    ``s.re``   rate estimate: every round-trip time is a sample
``update_abse``  ``s.abse`` adaptive: samples from one gap between ACKs to one round-trip time
``update_plus``  ``s.plus`` Westwood+: every round-trip time is a sample, filter by count
``update_rce``   ``s.rce``  residual capacity: ACKs over the time not wasted
===============  =========  ====================================================================

A controller that uses one::

    def on_ack(s, p, ack):
        update_re(s, p, ack)
        ...

    Controller(..., params={**RE_PARAMS, ...}, state={**RE_STATE, ...})

The first four estimate the flow's rate, ``rce`` the bottleneck's capacity.

Sources: C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: bandwidth
estimation for enhanced transport over wireless links", MobiCom 2001 (BE); R. Wang, M. Valla, M. Y.
Sanadidi, B. K. F. Ng, M. Gerla, "Efficiency/friendliness tradeoffs in TCP Westwood", ISCC 2002
(RE); R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Adaptive bandwidth share estimation in TCP
Westwood", GLOBECOM 2002 (ABSE); L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of
Westwood+, New Reno, and Vegas TCP congestion control", CCR 34(2), 2004 (Westwood+); C. E. Palazzi,
"Residual capacity estimator for TCP on wired/wireless links", IFIP WCC 2004 (RCE), as given by
Kaneko and Katto 2005, eq. 8.

Rules common to all models
    ACKs at the same instant count as one, because a flow's ACKs may come in bursts. The count is
    complete when a later ACK arrives, so an estimate covers the ACKs before the current one. The
    first ACK starts the clock.
    A controller does not see duplicate ACKs in loss recovery; the ACK that ends it includes their
    packets (`delivered`). So after a long gap the acknowledged packets count as spread over the
    gap. This agrees with the papers, whose senders see every duplicate ACK.
"""

from tcpcc.definition import Param, State


def low_pass(estimate, sample, last, gap, tau):
    """First-order low-pass filter: the estimate after a new `sample`.

    Tustin's discretization (Casetti 2001, eq. 7), stable for gap < 2 tau. `last` is the previous
    sample, `gap` the time since it, `tau` the time constant.
    """
    alpha = (2 * tau - gap) / (2 * tau + gap)
    return alpha * estimate + (1 - alpha) * (sample + last) / 2


def follow(estimate, sample, last, gap, tau):
    """:func:`low_pass` over a gap of any length, in steps of at most tau/m (m: `STEPS`)."""
    step = tau / STEPS
    while gap > step:
        estimate = low_pass(estimate, sample, last, step, tau)
        last = sample
        gap -= step
    return low_pass(estimate, sample, last, gap, tau)


# BE


def update_be(s, p, ack):
    """Bandwidth estimate `s.be`: samples b_k = d_k / Delta_k through :func:`low_pass`.

    d_k is the number of packets that an ACK acknowledges, Delta_k the time since the last ACK. A
    burst of ACKs shows the bottleneck's rate and keeps its weight over the gap that follows, so the
    estimate is too high under ACK compression.
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
    """Feed `s.be` with virtual samples of 0 for the time without ACKs; for ``on_timeout``."""
    if s.be_time >= 0 and ack.now - s.be_time > p.tau / STEPS:
        sample_be(s, p)
        s.be = follow(s.be, 0.0, s.be_sample, ack.now - s.be_time, p.tau)
        s.be_sample = 0.0
        s.be_since = s.be_time = ack.now


# RE


def update_re(s, p, ack):
    """Rate estimate `s.re`: packets acknowledged in the last T, over T, through :func:`low_pass`.

    T is the RTT. For a flow limited by its window the estimate is W / RTT, even if its ACKs come in
    bursts. The paper takes a sample at every ACK, over overlapping intervals; here the intervals do
    not overlap.
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
    """Adaptive bandwidth share estimate `s.abse`.

    With V = W / RTTmin, the k-th sample covers the time

    (1)  T_k = RTT (V - ABSE) / V,  at least one gap between ACKs

    so that it is like BE's while the flow reaches V, and like RE's in a congested network. The
    filter's time constant grows with the jitter U of the samples x_k:

    (2)  tau_k = RTT + n RTT U_k / U_max,  U_k = u U_k-1 + (1 - u) |x_k - x_k-1|

    RTT in (2) is at least the duration of the sample, which can be longer at the end of a recovery.

    Uncertain (from memory): (1), all constants, and the number of samples of U_max. Here U_max
    decays by 1 / `abse_memory` per sample.
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
    """Westwood+'s bandwidth estimate `s.plus`: one sample per RTT, through two filters in series.

    A sample is at least `shortest` long. Both filters have the gain `gain` and start at the first
    sample, as in Linux.
    """
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
    """Residual capacity `s.rce`: packets acknowledged in a slot, over the slot's time not wasted.

    The wasted time is the sum of the excess of each gap between ACKs over the mean gap. The mean is
    per packet and from the previous slot, so gaps need not be stored: if `d` packets are
    acknowledged together, the part of the gap above `d` times the mean is wasted. The paper's slot
    is about one retransmission timeout. Here it is `slot`, the least timeout of RFC 6298, or the
    RTT if longer. The smoothing is uncertain; the default is no smoothing.
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


#: m of Casetti 2001, at least 2: the filter's steps are at most tau/m.
STEPS = 2

TAU = Param(0.5, "s", "time constant of the estimate's low-pass filter (Casetti 2001)", 1e-3)

BE_PARAMS = {"tau": TAU}
BE_STATE = {
    "be": State(0, "packets/s", "bandwidth estimate"),
    "be_sample": State(0, "packets/s", "last sample"),
    "be_acked": State(0, "packets", "packets acknowledged since the last sample"),
    "be_since": State(0, "s", "when the last sample ended"),
    "be_time": State(-1, "s", "when the newest ACK came; negative before the first"),
}

RE_PARAMS = {"tau": TAU}
RE_STATE = {
    "re": State(0, "packets/s", "rate estimate"),
    "re_sample": State(0, "packets/s", "last sample"),
    "re_acked": State(0, "packets", "packets acknowledged since the last sample"),
    "re_since": State(0, "s", "when the last sample ended"),
    "re_time": State(-1, "s", "when the newest ACK came; negative before the first"),
}

ABSE_PARAMS = {
    "abse_n": Param(10, "", "n of ABSE's time constant (uncertain)", 0),
    "abse_u": Param(0.6, "", "u, weight of the previous jitter (uncertain)", 0, 1),
    "abse_memory": Param(10, "samples", "memory of the largest jitter (uncertain)", 1),
}
ABSE_STATE = {
    "abse": State(0, "packets/s", "adaptive bandwidth share estimate"),
    "abse_sample": State(0, "packets/s", "last sample"),
    "abse_acked": State(0, "packets", "packets acknowledged since the last sample"),
    "abse_since": State(0, "s", "when the last sample ended"),
    "abse_time": State(-1, "s", "when the newest ACK came; negative before the first"),
    "abse_jitter": State(0, "packets/s", "mean difference of successive samples, U"),
    "abse_most": State(0, "packets/s", "U_max: largest recent U"),
}

PLUS_PARAMS = {
    "gain": Param(1 / 8, "", "gain of each of the estimate's two filters (Linux)", 0, 1),
    "shortest": Param(0.05, "s", "least length of a sample (Linux)", 1e-3),
}
PLUS_STATE = {
    "plus": State(0, "packets/s", "Westwood+'s bandwidth estimate"),
    "plus_once": State(0, "packets/s", "estimate after the first of the two filters"),
    "plus_acked": State(0, "packets", "packets acknowledged since the last sample"),
    "plus_since": State(0, "s", "when the last sample ended"),
    "plus_time": State(-1, "s", "when the newest ACK came; negative before the first"),
}

RCE_PARAMS = {
    "slot": Param(1, "s", "slot of the residual capacity estimate; the RTT if longer", 1e-3),
    "rce_gain": Param(1, "", "weight of a new slot in the estimate (uncertain)", 0, 1),
}
RCE_STATE = {
    "rce": State(0, "packets/s", "residual capacity estimate"),
    "rce_mean": State(0, "s", "mean time per packet in the previous slot"),
    "rce_acked": State(0, "packets", "packets acknowledged in this slot"),
    "rce_wasted": State(0, "s", "time wasted in this slot"),
    "rce_since": State(0, "s", "when this slot began"),
    "rce_last": State(0, "packets", "packets acknowledged by the newest ACKs, all at one time"),
    "rce_before": State(0, "s", "when the ACKs before the newest came"),
    "rce_time": State(-1, "s", "when the newest ACKs came; negative before the first"),
}
