"""Prague: DCTCP for the Internet, with paced sending and a rate that depends less on the RTT.

Source: K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, "Prague congestion control",
draft-briscoe-iccrg-prague-congestion-control; L4STeam's Linux module ``tcp_prague`` 0.6, which has
the default constants; B. Briscoe, A. S. Ahmed, "TCP Prague fall-back on detection of a classic ECN
AQM", 2021, for (8).

W is the window, a real number; T = `rtt_target`, the virtual RTT

(1)  slow start, W < ssthresh:  W <- W + n for n packets delivered without a mark
(2)  afterwards:                W <- W + n s/W;  s = (srtt/T)^2 if srtt < T and `rtt_transition`
     round trips have passed since slow start, else s = 1
(3)  once per round trip, and once per T while (2) scales:  alpha <- alpha + g (F - alpha), F: share
     of marked packets. alpha is 1 until the first mark
(4)  marks, at most once per window of data, and once per T while (2) scales:  W <- W (1 - alpha/2);
     slow start ends
(5)  loss, once per recovery:   W <- W/2, and (1) and (2) pause until its end
(6)  cwnd moves towards W rounded up, by one packet per ACK of at most two packets, and is at least
     2. If it falls, ssthresh is cwnd
(7)  packets are paced at g_p W/srtt, g_p = `pacing_gain`, or twice that while cwnd < ssthresh/2; a
     W below 2 is so in force
(8)  fallback (`ecn_fallback`), with each step of (3) after the first mark:  c moves by
     lg(D/0.75 ms)/2, and by lg(Q/2 ms)/2 more if Q > 2 ms, within [0, 17]. Q is the mean queueing
     delay and D the mean deviation of the RTT. From c > 8 on a reduction by (4) is at least that of
     alpha = 0.625 min(c - 8, 1), so that a single queue with classic ECN is shared

With (2), (3) and (4) the rate is that of a flow with an RTT of T: 2/(T alpha) packets per second.
If (4) acted once per RTT instead, the rate would be srtt/T of this.

Prague requires a receiver that reports every mark, and packets that are ECT(1):
``Transport(ecn="l4s")``.

Differences from Linux
    In (6) an ACK of more packets counts as one for each two, as the fluid model needs it, which
    calls the rule for many ACKs at a time; in Linux it is one ACK.
    A timeout sets ssthresh to W and cwnd to 1 (RFC 5681); Linux keeps ssthresh.
    In (1) W is cwnd; the module keeps W at the initial window and paces by it.
    The gains of the means in (8) are those of the current ssthresh, without rounding to powers of
    two, and logarithms are exact.

Evidence (constants: Linux)
    vector: increase, alpha, reduction, pacing, virtual RTT
        controllers/test_prague.py
    published value: 86 of 90 shares on a test-bed (ANRW 2024), delays
        papers/test_reproduction.py
    published value: 294 of 300 throughputs of Prague and CUBIC flows (PAM 2025)
        papers/test_pam25.py
    claim: half of a DualPI2 beside CUBIC at RTTs of 5 to 20 ms
        controllers/test_prague.py::test_short_rtts_do_not_give_prague_more
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Flag, Param, State, register

STICKY = 8.0  # c at which the fallback begins


def is_scaled(s, p):
    """Whether the flow behaves as one with the virtual RTT."""
    return s.cwnd >= s.ssthresh and s.rounds >= p.rtt_transition


def growth(s, p, a):
    """s of (2)."""
    if s.rounds < p.rtt_transition or a.srtt >= p.rtt_target:
        return 1.0
    return (a.srtt / p.rtt_target) ** 2


def grow(s, p, a):
    """(1) and (2)."""
    unmarked = a.delivered - a.ce
    if unmarked <= 0 or a.phase != 0 or a.limited != 0:
        return
    if s.cwnd < s.ssthresh:
        s.cwnd = min(s.cwnd + unmarked, s.ssthresh)
        s.frac_cwnd = s.cwnd
    else:
        s.frac_cwnd += unmarked * growth(s, p, a) / max(math.ceil(s.frac_cwnd), 1.0)


def follow(s, a):
    """(6)."""
    target = math.ceil(s.frac_cwnd)
    step = max(math.floor(a.delivered / 2), 1)
    if s.cwnd > target and s.cwnd > 2:
        s.cwnd = max(s.cwnd - step, target, 2.0)
        s.ssthresh = s.cwnd
    elif s.cwnd < target:
        s.cwnd = min(s.cwnd + step, target)


def update_alpha(s, p, a):
    """(3), and the round trips of (2)."""
    s.acked += a.delivered
    s.marked += a.ce
    if a.total_delivered < s.round_end:
        return
    if is_scaled(s, p) and a.now - s.alpha_stamp < p.rtt_target:
        return
    if s.saw_ce != 0:
        if p.ecn_fallback:
            detect_classic(s, a)
        s.alpha += p.gain * (min(s.marked / s.acked, 1.0) - s.alpha)
        s.alpha_stamp = a.now
    s.acked = 0.0
    s.marked = 0.0
    s.round_end = a.total_delivered + a.pipe
    if s.cwnd >= s.ssthresh:
        s.rounds += 1


def update_means(s, a):
    """Means of the RTT and of its deviation for (8); they span some ssthresh^1.5 packets."""
    if a.rtt <= 0:
        return
    if s.mean_rtt == 0:
        s.mean_rtt = a.rtt
        return
    gain = 1 / (2 * min(max(s.ssthresh, 2.0), 2e3) ** 1.5)
    error = a.rtt - s.mean_rtt
    s.mean_rtt += gain * error
    s.deviation += gain / 2 * (abs(error) - s.deviation)


def detect_classic(s, a):
    """The step of c in (8)."""
    c = s.classic_ecn
    c += math.log2(max(s.deviation, 1e-6) / 0.75e-3) / 2
    queueing = s.mean_rtt - a.base_rtt
    if queueing > 2e-3:
        c += math.log2(queueing / 2e-3) / 2
    s.classic_ecn = min(max(c, 0.0), 2 * STICKY + 1)


def set_rate(s, p, a):
    """(7)."""
    if a.srtt > 0:
        gain = 2 * p.pacing_gain if s.cwnd < s.ssthresh / 2 else p.pacing_gain
        s.pacing_rate = gain * s.frac_cwnd / a.srtt


def begin(s):
    """The first window is the transport's."""
    if s.frac_cwnd == 0:
        s.frac_cwnd = s.cwnd


def on_open(s, p, a):
    s.frac_cwnd = s.cwnd
    set_rate(s, p, a)


def on_ack(s, p, a):
    begin(s)
    if a.ce > 0:
        s.saw_ce = 1.0
    grow(s, p, a)
    follow(s, a)
    if p.ecn_fallback:
        update_means(s, a)
    update_alpha(s, p, a)
    set_rate(s, p, a)


def on_mark(s, p, a):
    """(4)."""
    begin(s)
    if is_scaled(s, p) and a.now - s.cwr_stamp < p.rtt_target:
        return
    s.cwr_stamp = a.now
    alpha = s.alpha
    if p.ecn_fallback and s.classic_ecn > STICKY:
        alpha = max(alpha, 0.625 * min(s.classic_ecn - STICKY, 1.0))
    s.frac_cwnd *= 1 - alpha / 2
    s.ssthresh = min(s.ssthresh, max(s.cwnd, 2.0))


def on_loss(s, p, a):
    """(5)."""
    begin(s)
    s.loss_frac_cwnd = s.frac_cwnd
    s.frac_cwnd /= 2


def on_timeout(s, p, a):
    on_loss(s, p, a)
    s.ssthresh = max(s.frac_cwnd, 2.0)
    s.cwnd = 1.0
    set_rate(s, p, a)


def on_undo(s, p, a):
    s.frac_cwnd = max(s.frac_cwnd, s.loss_frac_cwnd)


prague = register(
    Controller(
        name="prague",
        summary="DCTCP with pacing and little dependence on the RTT, for L4S queues",
        source="draft-briscoe-iccrg-prague-congestion-control; Linux (L4STeam)",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_mark=on_mark,
        on_open=on_open,
        on_undo=on_undo,
        params={
            "gain": Param(1 / 16, "", "g: weight of a new share of marked packets", 0, 1),
            "rtt_target": Param(0.025, "s", "T: virtual RTT of paths with a shorter RTT", 0),
            "rtt_transition": Param(
                500, "", "round trips after slow start before the virtual RTT applies", 0
            ),
            "pacing_gain": Param(
                1, "", "g_p: pacing rate in W/srtt; Linux: packet size / payload", 1e-3
            ),
            "ecn_fallback": Flag(False, "reduce more where a classic ECN queue is detected"),
        },
        state={
            "frac_cwnd": State(0, "packets", "W; 0: not yet set"),
            "alpha": State(1, "", "smoothed share of marked packets"),
            "pacing_rate": State(math.inf, "packets/s", "pacing rate"),
            "acked": State(0, "packets", "delivered since alpha was last updated"),
            "marked": State(0, "packets", "marked packets among `acked`"),
            "round_end": State(0, "packets", "delivered in total when the round trip ends"),
            "rounds": State(0, "", "round trips since slow start"),
            "alpha_stamp": State(-math.inf, "s", "when alpha was last updated"),
            "cwr_stamp": State(-math.inf, "s", "time of the last reduction by a mark"),
            "saw_ce": State(0, "0 or 1", "a mark has been reported"),
            "loss_frac_cwnd": State(0, "packets", "W before the last loss"),
            "classic_ecn": State(0, "", "c, evidence of a classic ECN queue"),
            "mean_rtt": State(0, "s", "mean RTT over many round trips; 0: no sample yet"),
            "deviation": State(0, "s", "mean deviation of the RTT"),
        },
        recovery="rack-tlp",
        window="own",
        record=("alpha", "frac_cwnd", "pacing_rate"),
        look=("vermilion", "p"),
    )
)
