"""BBR, version 1: rate and window follow a model of the path, its bandwidth and RTT.

Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: congestion-based
congestion control", ACM Queue 14(5), 2016; Linux' ``tcp_bbr`` (net/ipv4/tcp_bbr.c, 5.x), which
gives the default constants.

Equations (bw: largest delivery rate of 10 rounds; d: smallest RTT of 10 s; BDP = bw d; q: packets
that leave as one piece at the pacing rate)

(1)  pacing rate = 0.99 g bw;  W = min(W + delivered, c BDP + extra + 3 q), at least 4
(2)  STARTUP: g = c = 2.885 until bw has not grown by a quarter for 3 rounds
(3)  DRAIN: g = 1/2.885, c = 2.885 until at most BDP is in flight
(4)  PROBE_BW: c = 2 and g = 5/4, 3/4, 1, 1, 1, 1, 1, 1 in turn, each for d. The phase with 5/4
     lasts until 5/4 BDP is in flight or a packet is lost; the phase with 3/4 ends early once at
     most BDP is in flight. The cycle starts in a random phase other than 3/4
(5)  PROBE_RTT: after 10 s without a smaller RTT, W is at most 4 for 0.2 s and a round, and d is
     measured anew
(6)  recovery: in the first round W = packets in flight + delivered, then as in (1); at its end W is
     at least its value before. Timeout: W = 1, and the test of (2) starts anew, as it does after a
     spurious recovery
(7)  extra: most packets delivered in excess of bw within 5 to 10 rounds, at most 0.1 s bw

(8)  long-term bandwidth, a model of a policer: from a loss on, intervals of 4 to 16 rounds that end
     with a loss, in which at least 50/256 of the delivered packets were lost. If the delivery rates
     of two such intervals differ by at most an eighth, or 4 kb/s, bw is their mean, with g = 1, for
     48 rounds of PROBE_BW

If more than 1 - 1/g of the packets are lost, which is 20 % for the largest g of (4), no phase
measures the rate of the path and bw falls (Cardwell et al. 2016, on their Figure 8); from 50/256 of
loss on, (8) takes the losses for a policer's.

A delivery-rate sample limited by the application counts only if it is larger than bw.

Differences from Linux
    q is that of the last sending, with the pacing rate before this ACK. It is 1 unless the
    transport sends pieces (`Transport.gso_time`).

Evidence (constants: Linux)
    vector: bandwidth within 2 %, three flat rounds, PROBE_RTT every 10 s (quiche's tests)
        transport/test_delivery.py::test_bbr_finds_the_bandwidth_and_leaves_startup_after_three_flat_rounds
    claim: share beside CUBIC falls as the buffer grows
        transport/test_delivery.py::test_the_share_of_bbr_beside_cubic_falls_with_the_buffer
    claim: rate under random loss
        transport/test_delivery.py::test_bbr_holds_its_rate_under_random_loss
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.windowed import update_max, windowed
from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform

STARTUP, DRAIN, PROBE_BW, PROBE_RTT = 0.0, 1.0, 2.0, 3.0


INTERVAL = 4
"""Least number of rounds of an interval of (8); the largest is four times as many."""

POLICED = 50 / 256
"""Lost over delivered packets of such an interval."""

ALIKE, ALIKE_RATE = 1 / 8, 4000.0
"""Relative and absolute (bit/s) difference of two intervals' rates."""

PIECES = 3
"""Number of pieces beyond gain x BDP: one each in the sender, the network and the receiver."""

POLICED_ROUNDS = 48
"""Rounds of PROBE_BW for which the long-term bandwidth holds."""


def bandwidth(s):
    """bw, or the long-term bandwidth of (8)."""
    return s.lt_bw if s.lt_used != 0 else s.bw_best[0]


def bdp(s, p, rate, gain):
    """gain x BDP of (1), or the first window before the first RTT sample."""
    if s.base_rtt == math.inf:
        return p.first_window
    return math.ceil(gain * rate * s.base_rtt)


def target(s, p, a, rate, gain, more):
    """gain x BDP + `more` + 3 q, rounded up to an even number and with g = 5/4 two more (Linux)."""
    probing = 2.0 if s.mode == PROBE_BW and s.phase == 0 else 0.0
    return 2 * math.ceil((bdp(s, p, rate, gain) + more + PIECES * a.piece) / 2) + probing


def pacing_gain(s, p):
    if s.mode == STARTUP:
        return p.high_gain
    if s.mode == DRAIN:
        return 1 / p.high_gain
    if s.mode == PROBE_BW and s.lt_used == 0 and s.phase == 0:
        return p.probe_gain
    if s.mode == PROBE_BW and s.lt_used == 0 and s.phase == 1:
        return 0.75
    return 1.0


def window_gain(s, p):
    if s.mode == PROBE_BW:
        return p.cwnd_gain
    return 1.0 if s.mode == PROBE_RTT else p.high_gain


def update_bandwidth(s, p, a):
    s.round_start = 0.0
    if a.rate_interval <= 0:
        return
    if a.total_delivered - a.rate_delivered >= s.round_end:
        s.round_end = a.total_delivered
        s.rounds += 1
        s.round_start = 1.0
        s.conserving = 0.0
    sample_long_term(s, a, a.app_limited != 0)
    limited = a.app_limited != 0 or a.total_delivered - a.rate_delivered <= s.limited_until
    if not limited or a.delivery_rate >= s.bw_best[0]:
        update_max(s.bw_at, s.bw_best, p.bw_rounds, s.rounds, a.delivery_rate)


def begin_interval(s, a):
    s.lt_rounds = 0.0
    s.lt_at = a.now
    s.lt_delivered = a.total_delivered
    s.lt_lost = s.lost


def stop_long_term(s):
    s.lt_bw = 0.0
    s.lt_used = 0.0
    s.lt_sampling = 0.0
    s.lt_rounds = 0.0


def sample_long_term(s, a, limited):
    """(8)."""
    if s.lt_used != 0:
        if s.mode == PROBE_BW and s.round_start != 0:
            s.lt_rounds += 1
            if s.lt_rounds >= POLICED_ROUNDS:
                stop_long_term(s)
                begin_probing(s, a.now)
        return
    if s.lt_sampling == 0:
        if s.losses == 0:
            return
        begin_interval(s, a)
        s.lt_sampling = 1.0
    if limited:
        stop_long_term(s)
        return
    s.lt_rounds += s.round_start
    if s.lt_rounds > 4 * INTERVAL:
        stop_long_term(s)
    elif s.lt_rounds >= INTERVAL and s.losses > 0:
        end_interval(s, a)


def end_interval(s, a):
    """Compare an interval of (8) that ends now with the one before."""
    delivered = a.total_delivered - s.lt_delivered
    if delivered <= 0 or s.lost - s.lt_lost < POLICED * delivered or a.now - s.lt_at < 0.001:
        return
    rate = delivered / (a.now - s.lt_at)
    if s.lt_bw > 0:
        off = abs(rate - s.lt_bw)
        if off <= ALIKE * s.lt_bw or 8 * off * a.packet_size <= ALIKE_RATE:
            s.lt_bw = (rate + s.lt_bw) / 2
            s.lt_used = 1.0
            s.lt_rounds = 0.0
            return
    s.lt_bw = rate
    begin_interval(s, a)


def at_once(s, a, bandwidth):
    """Packets delivered in excess of `bandwidth` since the excess was last zero; at most the
    window."""
    expected = bandwidth * (a.now - s.epoch_at)
    if s.epoch_acked <= expected:
        s.epoch_acked = 0.0
        s.epoch_at = a.now
        expected = 0.0
    s.epoch_acked += a.delivered
    return min(s.epoch_acked - expected, s.cwnd)


def update_extra(s, p, a):
    """(7): two windows of 5 rounds give the maximum over 5 to 10 rounds."""
    if a.rate_interval <= 0:
        return
    if s.round_start != 0:
        s.extra_rounds += 1
        if s.extra_rounds >= 5:
            s.extra_rounds = 0.0
            s.extra_before = s.extra_now
            s.extra_now = 0.0
    s.extra_now = max(s.extra_now, at_once(s, a, bandwidth(s)))


def extra(s, p):
    if s.full == 0:
        return 0.0
    return min(max(s.extra_now, s.extra_before), 0.1 * bandwidth(s))


def begin_phase(s, now, phase):
    s.phase = phase % 8
    s.phase_at = now


def update_cycle(s, p, a):
    """(4)."""
    if s.mode != PROBE_BW:
        return
    long = a.now - s.phase_at > s.base_rtt
    before = a.pipe + a.delivered + s.losses
    if s.phase == 0:
        over = long and (s.losses > 0 or before >= target(s, p, a, s.bw_best[0], p.probe_gain, 0.0))
    elif s.phase == 1:
        over = long or before <= target(s, p, a, s.bw_best[0], 1.0, 0.0)
    else:
        over = long
    if over:
        begin_phase(s, a.now, s.phase + 1)


def begin_probing(s, now):
    s.mode = PROBE_BW
    begin_phase(s, now, 8 - math.floor(7 * uniform(s)))


def check_full(s, p, a):
    """(2)."""
    if s.full != 0 or s.round_start == 0 or a.app_limited != 0:
        return
    if s.bw_best[0] >= 1.25 * s.full_bw:
        s.full_bw = s.bw_best[0]
        s.flat_rounds = 0.0
    else:
        s.flat_rounds += 1
        if s.flat_rounds >= 3:
            s.full = 1.0


def check_drain(s, p, a):
    """(3)."""
    if s.mode == STARTUP and s.full != 0:
        s.mode = DRAIN
    if s.mode == DRAIN and a.pipe <= target(s, p, a, s.bw_best[0], 1.0, 0.0):
        begin_probing(s, a.now)


def save_window(s, probes_rtt):
    """Save the window that the end of a recovery or of PROBE_RTT restores."""
    if s.repairing == 0 and not probes_rtt:
        s.saved = s.cwnd
    else:
        s.saved = max(s.saved, s.cwnd)


def update_base_rtt(s, p, a):
    """(5)."""
    expired = a.now > s.base_rtt_at + p.rtt_window
    if a.rtt > 0 and (a.rtt < s.base_rtt or expired):
        s.base_rtt = a.rtt
        s.base_rtt_at = a.now
    if expired and s.mode != PROBE_RTT and s.restarted == 0:
        save_window(s, False)
        s.mode = PROBE_RTT
        s.probed_until = math.inf
    if a.delivered > 0:
        s.restarted = 0.0
    if s.mode == PROBE_RTT:
        s.limited_until = a.total_delivered + a.pipe
        if s.probed_until == math.inf:
            if a.pipe <= p.least_window:
                s.probed_until = a.now + p.probe_time
                s.probed_round = 0.0
                s.round_end = a.total_delivered
            return
        if s.round_start != 0:
            s.probed_round = 1.0
        if s.probed_round != 0:
            end_probe_rtt(s, a)


def end_probe_rtt(s, a):
    if a.now > s.probed_until:
        s.base_rtt_at = a.now
        s.cwnd = max(s.cwnd, s.saved)
        if s.full != 0:
            begin_probing(s, a.now)
        else:
            s.mode = STARTUP


def set_rate(s, p, a):
    if bandwidth(s) <= 0:
        if a.srtt > 0 and s.pacing_rate == math.inf:
            s.pacing_rate = p.high_gain * s.cwnd / a.srtt
        return
    rate = 0.99 * pacing_gain(s, p) * bandwidth(s)
    if s.full != 0 or rate > s.pacing_rate or s.measured == 0:
        s.pacing_rate = rate
        if a.srtt > 0 and s.measured == 0:
            s.pacing_rate = max(rate, p.high_gain * s.cwnd / a.srtt)
        s.measured = 1.0


def recover_or_restore(s, p, a):
    """(6); returns whether the window is final for this ACK."""
    if s.losses > 0:
        s.cwnd = max(s.cwnd - s.losses, 1.0)
    if a.phase == 1 and s.repairing != 1:
        s.conserving = 1.0
        s.round_end = a.total_delivered
        s.cwnd = a.pipe + a.delivered
    elif a.phase == 0 and s.repairing != 0:
        s.conserving = 0.0
        s.cwnd = max(s.cwnd, s.saved)
    s.repairing = a.phase
    if s.conserving != 0:
        s.cwnd = max(s.cwnd, a.pipe + a.delivered)
        return True
    return False


def set_window(s, p, a):
    if not recover_or_restore(s, p, a):
        goal = target(s, p, a, bandwidth(s), window_gain(s, p), extra(s, p))
        if s.full != 0:
            s.cwnd = min(s.cwnd + a.delivered, goal)
        elif s.cwnd < goal or a.total_delivered < p.first_window:
            s.cwnd += a.delivered
        s.cwnd = max(s.cwnd, p.least_window)
    if s.mode == PROBE_RTT:
        s.cwnd = min(s.cwnd, p.least_window)
    s.losses = 0.0


def on_ack(s, p, a):
    update_bandwidth(s, p, a)
    update_extra(s, p, a)
    update_cycle(s, p, a)
    check_full(s, p, a)
    check_drain(s, p, a)
    update_base_rtt(s, p, a)
    set_rate(s, p, a)
    set_window(s, p, a)


def on_lost_packet(s, p, a):
    s.losses += 1
    s.lost += 1


def on_loss(s, p, a):
    save_window(s, s.mode == PROBE_RTT)


def on_timeout(s, p, a):
    save_window(s, s.mode == PROBE_RTT)
    s.repairing = 2.0
    s.full_bw = 0.0
    s.conserving = 0.0
    s.round_start = 1.0
    s.losses += 1
    sample_long_term(s, a, False)
    s.losses -= 1
    s.cwnd = 1.0


def on_restart(s, p, a):
    """After an idle period (Linux, CA_EVENT_TX_START): pace at bw, and start no PROBE_RTT."""
    s.restarted = 1.0
    s.epoch_at = a.now
    s.epoch_acked = 0.0
    if s.mode == PROBE_BW and s.bw_best[0] > 0:
        s.pacing_rate = 0.99 * bandwidth(s)
    elif s.mode == PROBE_RTT:
        end_probe_rtt(s, a)


def on_undo(s, p, a):
    """Linux' ``bbr_undo_cwnd``: (6) restores the window."""
    s.full_bw = 0.0
    s.flat_rounds = 0.0
    stop_long_term(s)


#: State that every version has; the last two are those of :func:`at_once`.
COMMON_STATE = {
    "pacing_rate": State(math.inf, "packets/s", "pacing rate"),
    "base_rtt": State(math.inf, "s", "smallest RTT of `rtt_window`"),
    "round_end": State(0, "packets", "total delivered when this round began"),
    "rounds": State(0, "", "rounds so far"),
    "round_start": State(0, "0 or 1", "this ACK ends a round"),
    "full": State(0, "0 or 1", "the pipe has been filled"),
    "flat_rounds": State(0, "", "rounds without that growth"),
    "probed_round": State(0, "0 or 1", "a round of PROBE_RTT is over"),
    "saved": State(0, "packets", "window restored after recovery or PROBE_RTT"),
    "repairing": State(0, "", "phase of the loss recovery at the last ACK"),
    "losses": State(0, "packets", "packets marked lost since the last ACK"),
    "epoch_at": State(0, "s", "when the count for `extra` began"),
    "epoch_acked": State(0, "packets", "packets delivered since then"),
}

bbr = register(
    Controller(
        name="bbr",
        summary="rate and window follow a model of the path, its bandwidth and RTT",
        source="Cardwell et al. 2016; Linux 5",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_lost_packet=on_lost_packet,
        on_restart=on_restart,
        on_undo=on_undo,
        params={
            "probe_gain": Param(1.25, "", "pacing gain in the first phase of PROBE_BW", 1),
            "high_gain": Param(2.885, "", "gain of rate and window in STARTUP, 2/ln 2", 1),
            "cwnd_gain": Param(2.0, "", "window gain in PROBE_BW", 1),
            "bw_rounds": Param(10, "rounds", "span of the largest delivery rate", 1),
            "rtt_window": Param(10, "s", "span of the smallest RTT", 0),
            "probe_time": Param(0.2, "s", "least duration of PROBE_RTT", 0),
            "least_window": Param(4, "packets", "smallest window, also the window in PROBE_RTT", 1),
            "first_window": Param(10, "packets", "window before the first RTT sample", 1),
        },
        state={
            "mode": State(
                STARTUP, "", "state", names=("STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT")
            ),
            **windowed("bw", "packets/s", "delivery rate", 0.0),
            "base_rtt_at": State(math.inf, "s", "when it was measured"),
            "full_bw": State(0, "packets/s", "bandwidth from which (2) measures growth"),
            "phase": State(0, "", "phase of the PROBE_BW cycle"),
            "phase_at": State(0, "s", "when the phase began"),
            "limited_until": State(
                -1, "packets", "PROBE_RTT limited samples up to this total delivered"
            ),
            "restarted": State(0, "0 or 1", "nothing was delivered since an idle period"),
            "probed_until": State(math.inf, "s", "earliest end of PROBE_RTT"),
            "conserving": State(0, "0 or 1", "first round of a recovery"),
            "lost": State(0, "packets", "packets marked lost in total"),
            "lt_bw": State(0, "packets/s", "long-term bandwidth, or that of the last interval"),
            "lt_used": State(0, "0 or 1", "`lt_bw` takes the place of bw"),
            "lt_sampling": State(0, "0 or 1", "an interval of (8) has begun"),
            "lt_rounds": State(0, "", "rounds in this interval, or with `lt_bw` in use"),
            "lt_at": State(0, "s", "when the interval began"),
            "lt_delivered": State(0, "packets", "total delivered when it began"),
            "lt_lost": State(0, "packets", "total lost when it began"),
            "measured": State(0, "0 or 1", "the pacing rate is set from bw"),
            "extra_rounds": State(0, "", "rounds in the current window of (7)"),
            "extra_now": State(0, "packets", "largest excess in that window"),
            "extra_before": State(0, "packets", "largest excess in the window before"),
            **COMMON_STATE,
        },
        recovery="rack-tlp",
        window="own",
        chance=True,
        record=("pacing_rate", "mode", "base_rtt", "phase"),
        look=("green", "*"),
    )
)
