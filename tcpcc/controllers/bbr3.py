"""BBR, version 3: a model of the path, with bounds that also depend on losses.

Source: N. Cardwell, I. Swett, J. Beshay (ed.), "BBR congestion control",
draft-ietf-ccwg-bbr, 2026; Linux' ``tcp_bbr``, version 3, where the draft leaves a choice.

Equations (bw: largest delivery rate of this and the last probing cycle; d: smallest RTT of 10 s)

(1)  bw_s = min(bw, bw_shortterm);  pacing rate = 0.99 g bw_s
(2)  W = min(W + delivered, max(c bw_s d + extra, 3 q, 4)), at most cap, at least 4; q: packets that
     leave as one piece at the pacing rate
(3)  STARTUP: g = 2.77, c = 2, until the rate has not grown by a quarter for 3 rounds; or until a
     round of recovery has at least 6 ACKs that report losses and loses more than 2 % of the packets
     in flight: then inflight_longterm = max(bw_s d, packets delivered in the last round)
(4)  DRAIN: g = 0.5 until at most bw_s d is in flight, or for 3 rounds
(5)  PROBE_BW, in turn: DOWN, g = 0.9, until at most bw d and (1 - 0.15) inflight_longterm is in
     flight; CRUISE, g = 1; REFILL, g = 1, for a round; UP, g = 1.25, c = 2.25, until the rate has
     stopped growing as in (3), or until (8) ends it. REFILL begins 2 to 3 s, or min(bw_s d, W, 63)
     rounds, after DOWN began
(6)  cap: inflight_longterm in DOWN, REFILL and UP, with headroom as in (5) in CRUISE and PROBE_RTT;
     and inflight_shortterm
(7)  after a round with a loss, except in STARTUP, REFILL and UP:
     bw_shortterm = max(rate, 0.7 bw_shortterm), and likewise inflight_shortterm with the packets
     delivered in the round. They start from bw and W; REFILL resets them
(8)  more than 2 % of the packets sent in REFILL and UP are lost: inflight_longterm = max(packets in
     flight when the losses passed 2 %, 0.7 min(bw_s d, W)), and DOWN begins. The next UP ends as
     soon as inflight_longterm is in flight; if the round after it shows no such loss, REFILL
     follows at once
(9)  inflight_longterm rises to the packets in flight without such losses; in UP, while W has
     reached it, it grows by 1, 2, 4, ... packets per round
(10) PROBE_RTT every 5 s: W is at most max(bw_s d / 2, 4) for 0.2 s and a round; rate samples of
     packets sent then count as limited. An idle period takes its place
(11) end of a recovery: W is at least its value before; timeout: W = 1
(12) spurious recovery: W, bw_shortterm, inflight_shortterm and inflight_longterm are at least their
     values before. If the losses ended STARTUP, it continues; if they ended a probe, REFILL begins
(13) extra: most packets delivered in excess of bw_s within 10 rounds (STARTUP: 1), at most those of
     `extra_time` at bw_s (draft: no bound)

Differences from the draft
    (2): q, the send quantum, is 1 unless the transport sends pieces (`Transport.gso_time`).
    Spurious losses are those that D-SACK, Eifel detection or F-RTO shows.
    (12): the values are saved when a recovery begins. The draft's NoteLoss saves them again in each
    round of the recovery, and at its start only after the first losses have changed the model.
    (3): ACKs that report losses are counted, as in Linux, not gaps between sequence numbers.
    (8): if the losses exceeded 2 % before a packet was lost, the packets in flight before it count,
    as in Linux.
    ECN: the draft requires a response and specifies none. Here a mark is a loss in (7) and ends the
    probe of (8), once per window.

Linux' version 3 (google/bbr, Linux 6.4; `Flow.linux("bbr3")` sets the first line)
    g = 0.91 in DOWN, 1/2.885 in DRAIN; `extra` is 0 in STARTUP, and at most the packets of 0.1 s.
    ECN on paths with an RTT below 5 ms only: it cuts inflight_shortterm by a third of the share of
    marked packets. Left out, as are PLB, and ACKs without waiting for the application.

Evidence (constants: draft)
    vector: the 22 cases of the draft's appendix
        controllers/test_bbr3.py
    claim: keeps its rate at 1 % loss, gets about half the link beside CUBIC
        controllers/test_bbr3.py::test_beside_cubic_it_takes_about_half_where_version_1_takes_most_or_little
"""

import math

from tcpcc.controllers.bbr import COMMON_STATE, PIECES, at_once, save_window
from tcpcc.controllers.controller import Controller
from tcpcc.controllers.vegas import trend
from tcpcc.controllers.windowed import update_max, windowed
from tcpcc.definition import Flag, Param, State, register
from tcpcc.engine.streams import uniform

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0
NO_MODE = -1.0


# Gains and bounds


def pacing_gain(s, p):
    if s.mode == STARTUP:
        return p.startup_gain
    if s.mode == DRAIN:
        return p.drain_gain
    if s.mode == DOWN:
        return p.down_gain
    return p.up_gain if s.mode == UP else 1.0


def window_gain(s, p):
    if s.mode == STARTUP or s.mode == DRAIN:
        return p.startup_cwnd_gain
    if s.mode == UP:
        return p.up_cwnd_gain
    return p.probe_rtt_gain if s.mode == PROBE_RTT else p.cwnd_gain


def probes_bandwidth(s):
    return DOWN <= s.mode <= UP


def bdp(s, p, bandwidth, gain):
    """gain x BDP, or the first window before the first RTT sample."""
    return p.first_window if s.base_rtt == math.inf else gain * bandwidth * s.base_rtt


def budget(s, p, a, packets):
    return max(packets, PIECES * a.piece, p.least_window) + (2.0 if s.mode == UP else 0.0)


def target(s, p):
    return min(bdp(s, p, s.bw, 1.0), s.cwnd)


def with_headroom(s, p):
    if s.inflight_longterm == math.inf:
        return math.inf
    room = max(1.0, p.headroom * s.inflight_longterm)
    return max(s.inflight_longterm - room, p.least_window)


def too_high(p, lost, inflight):
    return lost > inflight * p.loss_threshold


# States


def begin_round(s, total):
    s.round_end = total


def look_anew(s, rate):
    """Restart the search for the end of growth, from `rate`."""
    s.full_bw = rate
    s.flat_rounds = 0.0
    s.full_now = 0.0


def forget_shortterm(s):
    s.bw_shortterm = math.inf
    s.inflight_shortterm = math.inf


def begin_down(s, p, now, total):
    s.loss_in_round = 0.0
    s.bw_latest = s.inflight_latest = 0.0
    s.acked_per_step = math.inf
    s.rounds_since_probe = math.floor(2 * uniform(s))
    s.probe_wait = p.probe_wait + uniform(s)
    s.cycle_at = now
    s.ending = 1.0
    begin_round(s, total)
    s.mode = DOWN


def begin_refill(s, total):
    forget_shortterm(s)
    s.up_rounds = 0.0
    s.up_acked = 0.0
    s.precautionary = 0.0
    s.ending = 0.0
    begin_round(s, total)
    s.mode = REFILL


def begin_up(s, now, total, rate):
    s.cycle_at = now
    begin_round(s, total)
    look_anew(s, rate)
    s.mode = UP
    steepen(s)


def steepen(s):
    """(9): inflight_longterm grows twice as fast in this round as in the last."""
    s.acked_per_step = max(s.cwnd / 2.0**s.up_rounds, 1.0)
    s.up_rounds = min(s.up_rounds + 1, 30.0)


# The model


def note_sample(s, p, a):
    """Update the rounds and the largest rates from the newest delivered packet."""
    s.round_start = 0.0
    s.loss_round_start = 0.0
    if a.rate_interval <= 0:
        return
    prior = a.total_delivered - a.rate_delivered
    s.limited = 1.0 if is_limited(s, a) else 0.0
    s.bw_latest = max(s.bw_latest, a.delivery_rate)
    s.inflight_latest = max(s.inflight_latest, a.rate_delivered)
    if prior >= s.loss_round_end:
        s.loss_round_end = a.total_delivered
        s.loss_round_start = 1.0
    if prior >= s.round_end:
        begin_round(s, a.total_delivered)
        s.rounds += 1
        s.rounds_since_probe += 1
        s.round_start = 1.0
        s.filled_before = s.filled
        s.filled = 0.0
    if s.limited == 0 or a.delivery_rate >= s.max_bw:
        s.bw_now = max(s.bw_now, a.delivery_rate)
        s.max_bw = max(s.bw_now, s.bw_before)


def is_limited(s, a):
    """Whether the application or PROBE_RTT (10) limited the newest rate sample."""
    prior = a.total_delivered - a.rate_delivered
    return a.app_limited != 0 or s.limited_from <= prior <= s.limited_until


def note_filled(s, a):
    """Note that the window is full in this round."""
    if a.pipe + a.delivered + s.losses >= math.floor(s.cwnd):
        s.filled = 1.0


def adapt_shortterm(s, p):
    """(7)."""
    if s.loss_round_start == 0:
        return
    probing = s.mode == STARTUP or s.mode == REFILL or s.mode == UP
    if s.loss_in_round != 0 and not probing:
        if s.bw_shortterm == math.inf:
            s.bw_shortterm = s.max_bw
        if s.inflight_shortterm == math.inf:
            s.inflight_shortterm = s.cwnd
        s.bw_shortterm = max(s.bw_latest, p.beta * s.bw_shortterm)
        s.inflight_shortterm = max(s.inflight_latest, p.beta * s.inflight_shortterm)
    s.loss_in_round = 0.0


def update_extra(s, p, a):
    """(13)."""
    if a.rate_interval <= 0:
        return
    rounds = p.extra_rounds if s.full != 0 else 1.0
    update_max(s.extra_at, s.extra_best, rounds, s.rounds, at_once(s, a, s.bw))


def check_full(s, p, a):
    """(3), (5): whether the rate has stopped growing."""
    if s.full_now != 0 or s.round_start == 0 or s.limited != 0:
        return
    if a.delivery_rate >= 1.25 * s.full_bw:
        look_anew(s, a.delivery_rate)
        return
    s.flat_rounds += 1
    if s.flat_rounds >= 3:
        s.full_now = s.full = 1.0


def check_startup(s, p, a):
    """(3)."""
    if s.full == 0:
        if s.losses > 0:
            s.loss_acks += 1
        if s.loss_round_start != 0:
            many = s.loss_acks >= p.full_losses and a.phase == 1
            if many and too_high(p, a.lost, a.lost_inflight):
                s.full_now = s.full = 1.0
                s.undo_mode = STARTUP
                s.inflight_longterm = max(bdp(s, p, s.bw, 1.0), s.inflight_latest)
            s.loss_acks = 0.0
    if s.mode == STARTUP and s.full != 0:
        s.mode = DRAIN
        s.drain_round = s.rounds


def check_drain(s, p, a):
    """(4)."""
    if s.mode != DRAIN:
        return
    drained = a.pipe <= budget(s, p, a, bdp(s, p, s.bw, 1.0))
    if drained or s.rounds > s.drain_round + 3:
        begin_down(s, p, a.now, a.total_delivered)


def adapt_longterm(s, p, a):
    """(8), (9); returns whether another state has begun."""
    if s.ending != 0 and s.round_start != 0:
        s.probe_sample = 0.0
        s.ending = 0.0
        if probes_bandwidth(s):
            if s.limited == 0 and s.bw_now > 0:
                s.bw_before = s.bw_now
                s.bw_now = 0.0
                s.max_bw = s.bw_before
            if s.precautionary != 0 and s.probed_too_high == 0:
                begin_refill(s, a.total_delivered)
                return True
    if s.inflight_longterm < math.inf and not too_high(p, a.lost, a.lost_inflight):
        s.inflight_longterm = max(s.inflight_longterm, a.lost_inflight)
        if s.mode == UP:
            raise_longterm(s, a)
    return False


def bound_by_longterm(s):
    return (s.filled != 0 or s.filled_before != 0) and s.cwnd >= s.inflight_longterm


def raise_longterm(s, a):
    """(9)."""
    if not bound_by_longterm(s):
        return
    s.up_acked += a.delivered
    if s.up_acked >= s.acked_per_step:
        steps = math.floor(s.up_acked / s.acked_per_step)
        s.up_acked -= steps * s.acked_per_step
        s.inflight_longterm += steps
    if s.round_start != 0:
        steepen(s)


def is_time_to_probe(s, p, a):
    waited = a.now > s.cycle_at + s.probe_wait
    return waited or s.rounds_since_probe >= min(target(s, p), p.reno_rounds)


def is_time_to_cruise(s, p, a):
    return a.pipe <= with_headroom(s, p) and a.pipe <= budget(s, p, a, bdp(s, p, s.max_bw, 1.0))


def is_time_to_go_down(s, a):
    if s.probed_too_high != 0 and a.pipe >= s.inflight_longterm:
        s.precautionary = 1.0
        return True
    if bound_by_longterm(s):
        look_anew(s, a.delivery_rate)
        return False
    return s.full_now != 0


def update_cycle(s, p, a):
    """(5)."""
    if s.full == 0 or adapt_longterm(s, p, a):
        return
    if s.mode != UP:
        go_up(s, p, a)
    elif is_time_to_go_down(s, a):
        end_up(s, p, a)


def go_up(s, p, a):
    """(5), from DOWN to UP."""
    if s.mode == DOWN or s.mode == CRUISE:
        if is_time_to_probe(s, p, a):
            begin_refill(s, a.total_delivered)
        elif s.mode == DOWN and is_time_to_cruise(s, p, a):
            s.mode = CRUISE
    elif s.mode == REFILL and s.round_start != 0:
        s.probe_sample = 1.0
        begin_up(s, a.now, a.total_delivered, a.delivery_rate)


def end_up(s, p, a):
    s.probed_too_high = 0.0
    begin_down(s, p, a.now, a.total_delivered)


def end_probe(s, p, a, inflight, limited):
    """(8)."""
    s.probed_too_high = 1.0
    s.probe_sample = 0.0
    if not limited:
        s.inflight_longterm = max(inflight, p.beta * target(s, p))
    if s.mode == UP:
        s.undo_mode = UP
        begin_down(s, p, a.now, a.total_delivered)


# The round-trip time


def update_base_rtt(s, p, a):
    expired = a.now > s.probed_rtt_at + p.probe_rtt_interval
    if a.rtt > 0 and (expired or trend(a.rtt, s.probed_rtt) < 0):
        s.probed_rtt = a.rtt
        s.probed_rtt_at = a.now
    if s.probed_rtt < s.base_rtt or a.now > s.base_rtt_at + p.rtt_window:
        s.base_rtt = s.probed_rtt
        s.base_rtt_at = s.probed_rtt_at
    if expired and s.mode != PROBE_RTT and s.idle == 0:
        save_window(s, s.mode == PROBE_RTT)
        s.mode = PROBE_RTT
        s.probe_until = math.inf
        s.limited_from = a.total_delivered
        s.ending = 1.0
        begin_round(s, a.total_delivered)
    if s.mode == PROBE_RTT:
        probe_rtt(s, p, a)
    s.idle = 0.0


def probe_rtt_window(s, p):
    return max(bdp(s, p, s.bw, p.probe_rtt_gain), p.least_window)


def probe_rtt(s, p, a):
    """(10)."""
    s.limited_until = a.total_delivered + a.pipe
    if s.probe_until == math.inf:
        if a.pipe <= probe_rtt_window(s, p):
            s.probe_until = a.now + p.probe_time
            s.probed_round = 0.0
            begin_round(s, a.total_delivered)
        return
    if s.round_start != 0:
        s.probed_round = 1.0
    if s.probed_round != 0:
        end_probe_rtt(s, p, a)


def end_probe_rtt(s, p, a):
    if a.now <= s.probe_until:
        return
    s.probed_rtt_at = a.now
    s.cwnd = max(s.cwnd, s.saved)
    forget_shortterm(s)
    if s.full == 0:
        s.mode = STARTUP
    else:
        begin_down(s, p, a.now, a.total_delivered)
        s.mode = CRUISE


# Rate and window


def set_rate(s, p, a, gain):
    if s.measured == 0 and a.srtt > 0:
        s.pacing_rate = p.startup_gain * s.cwnd / a.srtt
        s.measured = 1.0
    rate = 0.99 * gain * s.bw
    if rate > 0 and (s.full != 0 or rate > s.pacing_rate):
        s.pacing_rate = rate


def cap(s, p):
    """(6)."""
    most = math.inf
    if s.mode == CRUISE or s.mode == PROBE_RTT:
        most = with_headroom(s, p)
    elif probes_bandwidth(s):
        most = s.inflight_longterm
    return max(min(most, s.inflight_shortterm), p.least_window)


def extra(s, p):
    """(13)."""
    if s.full == 0 and not p.startup_extra:
        return 0.0
    if p.extra_time == 0:
        return s.extra_best[0]
    return min(s.extra_best[0], p.extra_time * s.bw)


def set_window(s, p, a):
    if a.phase == 0 and s.repairing != 0:
        s.cwnd = max(s.cwnd, s.saved)  # (11)
    s.repairing = a.phase
    most = budget(s, p, a, bdp(s, p, s.bw, window_gain(s, p)) + extra(s, p))
    if s.full != 0:
        s.cwnd = min(s.cwnd + a.delivered, most)
    elif s.cwnd < most or a.total_delivered < p.first_window:
        s.cwnd += a.delivered
    s.cwnd = max(s.cwnd, p.least_window)
    bound_window(s, p)


def bound_window(s, p):
    if s.mode == PROBE_RTT:
        s.cwnd = min(s.cwnd, probe_rtt_window(s, p))
    s.cwnd = min(s.cwnd, cap(s, p))


def on_ack(s, p, a):
    update_signals(s, p, a)
    check_startup(s, p, a)
    check_drain(s, p, a)
    update_cycle(s, p, a)
    update_control(s, p, a)


def update_signals(s, p, a):
    """The model before the states."""
    note_filled(s, a)
    note_sample(s, p, a)
    adapt_shortterm(s, p)
    update_extra(s, p, a)
    check_full(s, p, a)


def update_control(s, p, a):
    """The RTT, the rate and the window, in the state that the ACK has led to."""
    update_base_rtt(s, p, a)
    if s.loss_round_start != 0:
        s.bw_latest = a.delivery_rate
        s.inflight_latest = a.rate_delivered
    s.bw = min(s.max_bw, s.bw_shortterm)
    set_rate(s, p, a, pacing_gain(s, p))
    set_window(s, p, a)
    s.losses = 0.0


def note_congestion(s, total):
    if s.loss_in_round == 0:
        s.loss_round_end = total
        save_window(s, s.mode == PROBE_RTT)
    s.loss_in_round = 1.0


def save_for_undo(s):
    """Save the values for (12) before the first loss of a recovery changes them."""
    s.undo_mode = NO_MODE
    s.undo_bw_shortterm = s.bw_shortterm
    s.undo_inflight_shortterm = s.inflight_shortterm
    s.undo_inflight_longterm = s.inflight_longterm


def on_undo(s, p, a):
    """(12)."""
    s.cwnd = max(s.cwnd, s.saved)
    s.loss_in_round = 0.0
    look_anew(s, 0.0)
    s.bw_shortterm = max(s.bw_shortterm, s.undo_bw_shortterm)
    s.inflight_shortterm = max(s.inflight_shortterm, s.undo_inflight_shortterm)
    s.inflight_longterm = max(s.inflight_longterm, s.undo_inflight_longterm)
    if s.undo_mode == STARTUP and s.mode != STARTUP:
        s.full = 0.0
        if s.mode != PROBE_RTT:
            s.mode = STARTUP
    elif s.undo_mode == UP and s.mode != UP and s.mode != PROBE_RTT:
        begin_refill(s, a.total_delivered)
    s.undo_mode = NO_MODE
    bound_window(s, p)


def on_lost_packet(s, p, a):
    if s.losses == 0 and (a.phase == 0 or s.repairing == 0):
        save_for_undo(s)
    s.losses += 1
    note_congestion(s, a.total_delivered)
    if s.probe_sample != 0 and too_high(p, a.lost, a.lost_inflight):
        before = a.lost_inflight - 1
        allowed = p.loss_threshold * before - (a.lost - 1)
        passed = before + max(allowed, 0.0) / (1 - p.loss_threshold)
        end_probe(s, p, a, passed, is_limited(s, a))


def on_mark(s, p, a):
    note_congestion(s, a.total_delivered)
    if s.probe_sample != 0:
        end_probe(s, p, a, a.inflight, False)


def on_restart(s, p, a):
    """(10): the application has data again after an idle period."""
    s.idle = 1.0
    s.epoch_at = a.now
    s.epoch_acked = 0.0
    if probes_bandwidth(s):
        set_rate(s, p, a, 1.0)
    elif s.mode == PROBE_RTT:
        end_probe_rtt(s, p, a)


def on_loss(s, p, a):
    if s.losses == 0:
        save_for_undo(s)
    save_window(s, s.mode == PROBE_RTT)


def on_timeout(s, p, a):
    save_window(s, s.mode == PROBE_RTT)
    s.repairing = 2.0
    s.cwnd = 1.0


bbr3 = register(
    Controller(
        name="bbr3",
        summary="BBR with a model of the path that losses bound",
        source="draft-ietf-ccwg-bbr",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_lost_packet=on_lost_packet,
        on_mark=on_mark,
        on_restart=on_restart,
        on_undo=on_undo,
        params={
            "startup_gain": Param(2.77, "", "pacing gain in STARTUP, 4 ln 2", 1),
            "drain_gain": Param(0.5, "", "pacing gain in DRAIN", 0.01, 1),
            "down_gain": Param(0.9, "", "pacing gain in DOWN", 0.01, 1),
            "up_gain": Param(1.25, "", "pacing gain in UP", 1),
            "startup_cwnd_gain": Param(2.0, "", "window gain in STARTUP and DRAIN", 1),
            "cwnd_gain": Param(2.0, "", "window gain in DOWN, CRUISE and REFILL", 1),
            "up_cwnd_gain": Param(2.25, "", "window gain in UP", 1),
            "probe_rtt_gain": Param(0.5, "", "window gain in PROBE_RTT", 0, 1),
            "loss_threshold": Param(0.02, "", "share of lost packets that ends a probe", 0, 0.5),
            "beta": Param(0.7, "", "least share of a bound that losses leave", 0, 1),
            "headroom": Param(0.15, "", "share of inflight_longterm left to other flows", 0, 1),
            "full_losses": Param(6, "", "ACKs with losses that may end STARTUP", 1),
            "probe_wait": Param(2, "s", "least time between probes; plus up to 1 s, random", 0),
            "reno_rounds": Param(63, "rounds", "most rounds between probes", 1),
            "rtt_window": Param(10, "s", "span of the smallest RTT", 0),
            "probe_rtt_interval": Param(5, "s", "time between one PROBE_RTT and the next", 0),
            "probe_time": Param(0.2, "s", "least duration of PROBE_RTT", 0),
            "extra_rounds": Param(10, "rounds", "span of `extra`", 1),
            "extra_time": Param(0, "s", "bound of `extra`, as time at bw_s; 0: none", 0),
            "startup_extra": Flag(True, "`extra` adds to the window of STARTUP too"),
            "least_window": Param(4, "packets", "smallest window", 1),
            "first_window": Param(10, "packets", "window before the first RTT sample", 1),
        },
        state={
            "mode": State(
                STARTUP, "", "state",
                names=("STARTUP", "DRAIN", "DOWN", "CRUISE", "REFILL", "UP", "PROBE_RTT"),
            ),
            "bw": State(0, "packets/s", "bw_s of (1)"),
            "max_bw": State(0, "packets/s", "bw: largest delivery rate of two cycles"),
            "bw_now": State(0, "packets/s", "largest delivery rate of this cycle"),
            "bw_before": State(0, "packets/s", "largest delivery rate of the last cycle"),
            "bw_shortterm": State(math.inf, "packets/s", "bound from losses in this cycle"),
            "inflight_shortterm": State(math.inf, "packets", "bound from losses in this cycle"),
            "inflight_longterm": State(math.inf, "packets", "bound from losses in probes"),
            "bw_latest": State(0, "packets/s", "largest delivery rate of a round"),
            "inflight_latest": State(0, "packets", "most packets delivered in a round trip"),
            "limited": State(0, "0 or 1", "the newest rate sample was limited"),
            "limited_from": State(math.inf, "packets", "total delivered when PROBE_RTT began"),
            "limited_until": State(-1, "packets", "total delivered when its packets all are"),
            "loss_round_end": State(0, "packets", "total delivered when this loss round began"),
            "loss_round_start": State(0, "0 or 1", "this ACK ends a loss round"),
            "loss_in_round": State(0, "0 or 1", "a packet was lost in the loss round"),
            "loss_acks": State(0, "", "ACKs that reported losses in this loss round of STARTUP"),
            "filled": State(0, "0 or 1", "the window has been full in this round"),
            "filled_before": State(0, "0 or 1", "the window was full in the last round"),
            "full_now": State(0, "0 or 1", "the pipe has been filled in this probe"),
            "full_bw": State(0, "packets/s", "rate from which (3) measures growth"),
            "drain_round": State(0, "", "round in which DRAIN began"),
            "ending": State(0, "0 or 1", "ACKs of a probe's packets are still arriving"),
            "probe_sample": State(0, "0 or 1", "losses count for the probe, (8)"),
            "probed_too_high": State(0, "0 or 1", "the last probe lost more than `loss_threshold`"),
            "precautionary": State(0, "0 or 1", "the last UP ended early, at inflight_longterm"),
            "up_rounds": State(0, "", "rounds in which inflight_longterm has grown"),
            "up_acked": State(0, "packets", "packets delivered since it last grew"),
            "acked_per_step": State(math.inf, "packets", "delivered per packet of its growth"),
            "rounds_since_probe": State(0, "", "rounds since UP"),
            "probe_wait": State(0, "s", "longest time from DOWN to REFILL"),
            "cycle_at": State(0, "s", "when DOWN, or UP, began"),
            "base_rtt_at": State(math.inf, "s", "when base_rtt was measured"),
            "probed_rtt": State(math.inf, "s", "smallest RTT of `probe_rtt_interval`"),
            "probed_rtt_at": State(math.inf, "s", "when probed_rtt was measured"),
            "probe_until": State(math.inf, "s", "earliest end of PROBE_RTT"),
            "idle": State(0, "0 or 1", "nothing was delivered since an idle period"),
            "undo_mode": State(NO_MODE, "", "mode ended by the last losses: STARTUP, UP; -1: none"),
            "undo_bw_shortterm": State(math.inf, "packets/s", "value before the last recovery"),
            "undo_inflight_shortterm": State(math.inf, "packets", "value before the last recovery"),
            "undo_inflight_longterm": State(math.inf, "packets", "value before the last recovery"),
            "measured": State(0, "0 or 1", "the pacing rate is set from an RTT"),
            **windowed("extra", "packets", "largest excess", 0.0),
            **COMMON_STATE,
        },
        recovery="rack-tlp",
        window="own",
        chance=True,
        record=(
            "pacing_rate", "mode", "base_rtt", "max_bw", "bw_shortterm", "inflight_shortterm",
            "inflight_longterm",
        ),
        look=("sky", "D"),
    )
)  # fmt: skip
