"""BBR, version 1: a model of the path, bandwidth and round-trip time, decides rate and window.

Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: congestion-based
congestion control", ACM Queue 14(5), 2016; Linux' ``tcp_bbr`` (net/ipv4/tcp_bbr.c, 5.x), whose
constants are the defaults.

Equations (bw: largest delivery rate of 10 rounds; d: smallest RTT of 10 s; BDP = bw d)

(1)  pacing rate = 0.99 g bw;  W = min(W + delivered, c BDP + extra + 3), at least 4
(2)  STARTUP: g = c = 2.885 until bw has grown by less than a quarter in each of 3 rounds
(3)  DRAIN: g = 1/2.885, c = 2.885 until no more than BDP is in the network
(4)  PROBE_BW: c = 2 and g = 5/4, 3/4, 1, 1, 1, 1, 1, 1 in turn, each for d; 5/4 until 5/4 BDP is
     in the network or something is lost, 3/4 only until no more than BDP is; the cycle begins
     anywhere but at 3/4
(5)  PROBE_RTT: d not undercut for 10 s: W at most 4 for 0.2 s and a round, then d is measured anew
(6)  recovery: in the first round W = what is in the network + delivered, then as in (1); at its end
     W is at least what it was before. Timeout: W = 1, and bw may grow anew; so it may after a
     recovery in which nothing had been lost
(7)  extra: the most that came at once beyond what bw explains, in 5 to 10 rounds, at most 0.1 s bw

Where a share of more than 1 - 1/g of the packets is lost, 20 % with the largest g of (4), no phase
measures the rate of the path, and bw sinks (Cardwell et al. 2016, on their Figure 8). It sinks
earlier, with g = 1.5 at 25 %, by (6): a window of what is in the network leaves a probe no room,
and so many losses begin a recovery every few rounds; without (6) all of the rate is held there.

A sample of the delivery rate that the application limited counts only if it is larger than bw.

Differences from Linux
    No policer detection ("long-term bandwidth"). The 3 of (1) is what Linux adds for segments
    handed down in one piece, which are of one packet here; with g = 5/4 it adds two more.
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.windowed import update_max, windowed
from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform

STARTUP, DRAIN, PROBE_BW, PROBE_RTT = 0.0, 1.0, 2.0, 3.0


def bdp(s, p, gain):
    """gain x BDP of (1), or the first window while no round-trip time is known."""
    if s.base_rtt == math.inf:
        return p.first_window
    return math.ceil(gain * s.bw_best[0] * s.base_rtt)


def target(s, p, gain, more):
    """gain x BDP and `more` packets, with the quantum, rounded up to an even number (Linux)."""
    probing = 2.0 if s.mode == PROBE_BW and s.phase == 0 else 0.0
    return 2 * math.ceil((bdp(s, p, gain) + more + p.quantum) / 2) + probing


def pacing_gain(s, p):
    if s.mode == STARTUP:
        return p.high_gain
    if s.mode == DRAIN:
        return 1 / p.high_gain
    if s.mode == PROBE_BW and s.phase == 0:
        return p.probe_gain
    if s.mode == PROBE_BW and s.phase == 1:
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
    limited = a.limited != 0 or a.total_delivered - a.rate_delivered <= s.limited_until
    if not limited or a.delivery_rate >= s.bw_best[0]:
        update_max(s.bw_at, s.bw_best, p.bw_rounds, s.rounds, a.delivery_rate)


def at_once(s, a, bandwidth):
    """Packets that have come beyond what `bandwidth` explains since it last explained all; at most
    the window."""
    expected = bandwidth * (a.now - s.epoch_at)
    if s.epoch_acked <= expected:
        s.epoch_acked = 0.0
        s.epoch_at = a.now
        expected = 0.0
    s.epoch_acked += a.delivered
    return min(s.epoch_acked - expected, s.cwnd)


def update_extra(s, p, a):
    """(7): in two windows of 5 rounds, so that it is the largest of 5 to 10."""
    if a.rate_interval <= 0:
        return
    if s.round_start != 0:
        s.extra_rounds += 1
        if s.extra_rounds >= 5:
            s.extra_rounds = 0.0
            s.extra_before = s.extra_now
            s.extra_now = 0.0
    s.extra_now = max(s.extra_now, at_once(s, a, s.bw_best[0]))


def extra(s, p):
    if s.full == 0:
        return 0.0
    return min(max(s.extra_now, s.extra_before), 0.1 * s.bw_best[0])


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
        over = long and (s.losses > 0 or before >= target(s, p, p.probe_gain, 0.0))
    elif s.phase == 1:
        over = long or before <= target(s, p, 1.0, 0.0)
    else:
        over = long
    if over:
        begin_phase(s, a.now, s.phase + 1)


def begin_probing(s, now):
    s.mode = PROBE_BW
    begin_phase(s, now, 8 - math.floor(7 * uniform(s)))


def check_full(s, p, a):
    """(2)."""
    if s.full != 0 or s.round_start == 0 or a.limited != 0:
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
    if s.mode == DRAIN and a.pipe <= target(s, p, 1.0, 0.0):
        begin_probing(s, a.now)


def save_window(s, probes_rtt):
    """What to return to."""
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
    if s.bw_best[0] <= 0:
        if a.srtt > 0 and s.pacing_rate == math.inf:
            s.pacing_rate = p.high_gain * s.cwnd / a.srtt
        return
    rate = 0.99 * pacing_gain(s, p) * s.bw_best[0]
    if s.full != 0 or rate > s.pacing_rate or s.measured == 0:
        s.pacing_rate = rate
        if a.srtt > 0 and s.measured == 0:
            s.pacing_rate = max(rate, p.high_gain * s.cwnd / a.srtt)
        s.measured = 1.0


def recover_or_restore(s, p, a):
    """(6); returns whether the window is then as it should be."""
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
        goal = target(s, p, window_gain(s, p), extra(s, p))
        if s.full != 0:
            s.cwnd = min(s.cwnd + a.delivered, goal)
        elif s.cwnd < goal or a.total_delivered < p.first_window:
            s.cwnd += a.delivered
        s.cwnd = max(s.cwnd, p.least_window)
    if s.mode == PROBE_RTT:
        s.cwnd = min(s.cwnd, p.least_window)
    s.losses = 0.0


def on_delivery(s, p, a):
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


def on_ack(s, p, a):
    """All is done by ``on_delivery``."""


def on_loss(s, p, a):
    save_window(s, s.mode == PROBE_RTT)


def on_timeout(s, p, a):
    save_window(s, s.mode == PROBE_RTT)
    s.repairing = 2.0
    s.full_bw = 0.0
    s.conserving = 0.0
    s.cwnd = 1.0


def on_restart(s, p, a):
    """After an idle period (Linux, CA_EVENT_TX_START): pace at the estimate, and no PROBE_RTT."""
    s.restarted = 1.0
    s.epoch_at = a.now
    s.epoch_acked = 0.0
    if s.mode == PROBE_BW and s.bw_best[0] > 0:
        s.pacing_rate = 0.99 * s.bw_best[0]
    elif s.mode == PROBE_RTT:
        end_probe_rtt(s, a)


def on_undo(s, p, a):
    """Linux' ``bbr_undo_cwnd``: (6) restores the window."""
    s.full_bw = 0.0
    s.flat_rounds = 0.0


#: State of :func:`at_once`.
EPOCH = {
    "epoch_at": State(0, "s", "since when what came at once is counted"),
    "epoch_acked": State(0, "packets", "delivered since then"),
}

bbr = register(
    Controller(
        name="bbr",
        summary="a model of the path, bandwidth and round-trip time, decides rate and window",
        source="Cardwell et al. 2016; Linux 5",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_delivery=on_delivery,
        on_lost_packet=on_lost_packet,
        on_restart=on_restart,
        on_undo=on_undo,
        params={
            "probe_gain": Param(1.25, "", "of the rate in the first phase of PROBE_BW", 1),
            "high_gain": Param(2.885, "", "of rate and window in STARTUP, 2/ln 2", 1),
            "cwnd_gain": Param(2.0, "", "of the window in PROBE_BW", 1),
            "bw_rounds": Param(10, "rounds", "over which the largest delivery rate counts", 1),
            "rtt_window": Param(10, "s", "over which the smallest round-trip time counts", 0),
            "probe_time": Param(0.2, "s", "that PROBE_RTT lasts at least", 0),
            "least_window": Param(4, "packets", "smallest window, and that of PROBE_RTT", 1),
            "quantum": Param(3, "packets", "in the window beyond gain x BDP", 0),
            "first_window": Param(10, "packets", "in the network before a round trip", 1),
        },
        state={
            "pacing_rate": State(math.inf, "packets/s", "at which packets leave"),
            "mode": State(STARTUP, "", "0: STARTUP, 1: DRAIN, 2: PROBE_BW, 3: PROBE_RTT"),
            **windowed("bw", "packets/s", "delivery rate", 0.0),
            "base_rtt": State(math.inf, "s", "smallest round-trip time of the window"),
            "base_rtt_at": State(math.inf, "s", "when it was measured"),
            "round_end": State(0, "packets", "delivered when the present round began"),
            "rounds": State(0, "", "rounds so far"),
            "round_start": State(0, "0 or 1", "this ACK ends a round"),
            "full": State(0, "0 or 1", "the pipe has been filled"),
            "full_bw": State(0, "packets/s", "bandwidth that is to be outgrown"),
            "flat_rounds": State(0, "", "rounds in which it was not"),
            "phase": State(0, "", "of the cycle of PROBE_BW"),
            "phase_at": State(0, "s", "when it began"),
            "limited_until": State(
                -1, "packets", "delivered before this: PROBE_RTT limited the rate"
            ),
            "restarted": State(0, "0 or 1", "nothing was delivered since an idle period"),
            "probed_until": State(math.inf, "s", "least end of PROBE_RTT"),
            "probed_round": State(0, "0 or 1", "a round of it is over"),
            "saved": State(0, "packets", "window to return to"),
            "repairing": State(0, "", "phase of the loss recovery at the last ACK"),
            "conserving": State(0, "0 or 1", "first round of a recovery"),
            "losses": State(0, "packets", "deemed lost since the last ACK"),
            "measured": State(0, "0 or 1", "the rate is set from a measurement"),
            "extra_rounds": State(0, "", "of the present one of two windows"),
            "extra_now": State(0, "packets", "most that came at once in it"),
            "extra_before": State(0, "packets", "and in the one before"),
            **EPOCH,
        },
        recovery="rack-tlp",
        owns_recovery=True,
        owns_start=True,
        chance=True,
        record=("pacing_rate", "mode", "base_rtt", "phase"),
    )
)
