"""PCC Vivace: the rate climbs a utility, whose slope it finds by trying both sides.

Source: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, "PCC Vivace:
online-learning congestion control", NSDI 2018; what it leaves open as in the authors' code
(PCC-Uspace, branch NSDI-2018).

Equations (x: rate, Mb/s; an interval lasts a round-trip time, and 10 packets at least)

(1)  u(x) = x^0.9 - 900 x dRTT/dT - 11.35 x L: of an interval, with L the share of its packets that
     is lost and dRTT/dT the slope of their round-trip times over the times at which they were sent,
     by least squares; a slope between -0.01 and 0.01 is noise, and counts as 0
(2)  start: x doubles with each interval whose u is above the last one's; then back to that
(3)  a trial: an interval at x (1 + 0.05) and one at x (1 - 0.05), in random order, then x until it
     is known what became of them;  gamma = (u+ - u-) / (2 0.05 x)
(4)  x <- x + m(tau) gamma:  the tau-th step in one direction is amplified by m = tau up to 3, and
     by 2 tau - 3 beyond
(5)  a step is at most (0.05 + 0.06 k) x; each that is cut makes k one larger, each other one
     smaller, a change of direction 0
(6)  timeout: x <- x / 2

Differences from the paper
    There is a window, 3 x times the smoothed round-trip time, which a sender of UDP has not. What
    an interval has lost is known when four later packets have come (RACK). An interval in which the
    application limited the rate, or of fewer than four packets, is tried again. The rate is in Mb/s
    of packets of `packet_size`, which a controller is not told.
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform

STARTING, PROBING = 0.0, 1.0
FEWEST = 4  # packets that an interval tells of; and that come later


def mbps(p, rate):
    return rate * 8 * p.packet_size / 1e6


def begin_interval(s, p, a, rate):
    """From now on packets leave at `rate`, and belong to another interval."""
    s.turn += 1
    s.pacing_rate = rate
    s.cwnd = max(3 * rate * a.srtt, p.first_window)


def watch(s, p, a, i, rate):
    """An interval at `rate` of which it is noted, in place `i`, what becomes of it."""
    begin_interval(s, p, a, rate)
    s.of_turn[i] = s.turn
    s.of_rate[i] = rate
    s.began[i] = a.now
    for field in (s.arrived, s.lost, s.later, s.limited, s.n, s.t, s.r, s.tt, s.tr):
        field[i] = 0.0
    s.wake_at = a.now + max(a.srtt, p.interval_packets / rate)


def try_anew(s, p, a):
    """(2): one interval, (3): the first of two."""
    s.watched = 1.0
    rate = s.rate
    if s.mode == PROBING:
        s.side = 1.0 if uniform(s) < 0.5 else -1.0
        rate *= 1 + s.side * p.step
    watch(s, p, a, 0, rate)


def on_timer(s, p, a):
    """An interval is over."""
    if s.rate == 0:
        return
    if s.mode == PROBING and s.watched == 1:
        s.watched = 2.0
        watch(s, p, a, 1, s.rate * (1 - s.side * p.step))
    else:
        s.watched = 3.0
        begin_interval(s, p, a, s.rate)


def note(s, a):
    """What has come belongs to one of the intervals, or shows that they are over."""
    for i in range(2):
        if s.turn_back == s.of_turn[i]:
            s.arrived[i] += a.delivered
            s.limited[i] += a.limited
            if a.rtt > 0:
                sent = a.now - a.rtt - s.began[i]
                s.n[i] += 1
                s.t[i] += sent
                s.r[i] += a.rtt
                s.tt[i] += sent * sent
                s.tr[i] += sent * a.rtt
        elif s.turn_back > s.of_turn[i]:
            s.later[i] += 1


def slope(s, p, i):
    """dRTT/dT of (1)."""
    spread = s.n[i] * s.tt[i] - s.t[i] * s.t[i]
    if spread <= 0:
        return 0.0
    found = (s.n[i] * s.tr[i] - s.t[i] * s.r[i]) / spread
    return found if abs(found) >= p.tolerance else 0.0


def utility(s, p, i):
    """(1)."""
    x = mbps(p, s.of_rate[i])
    lost = s.lost[i] / (s.lost[i] + s.arrived[i])
    return x**p.exponent - p.latency * x * slope(s, p, i) - p.loss * x * lost


def is_told(s, i):
    """Whether the interval tells anything."""
    return s.limited[i] == 0 and s.arrived[i] + s.lost[i] >= FEWEST


def start_on(s, p):
    """(2)."""
    found = utility(s, p, 0)
    if found > s.utility:
        s.utility = found
        s.rate *= 2
    else:
        s.rate /= 2
        s.mode = PROBING


def step(s, p):
    """(3), (4), (5)."""
    x = mbps(p, s.rate)
    gamma = s.side * (utility(s, p, 0) - utility(s, p, 1)) / (2 * p.step * x)
    if gamma * s.direction <= 0:
        s.steps = 0.0
        s.cuts = 0.0
    s.direction = 1.0 if gamma > 0 else -1.0
    s.steps += 1
    amplifier = s.steps if s.steps <= 3 else 2 * s.steps - 3
    change = amplifier * p.gain * gamma
    most = (p.first_bound + p.bound_step * s.cuts) * x
    if abs(change) > most:
        change = s.direction * most
        s.cuts += 1
    else:
        s.cuts = max(s.cuts - 1, 0.0)
    s.rate *= max(1 + change / x, 0.5)


def on_delivery(s, p, a):
    if a.srtt <= 0:
        return
    if s.rate == 0:
        s.rate = p.first_window / a.srtt
        try_anew(s, p, a)
        return
    note(s, a)
    if s.watched < 3 or s.later[0] < FEWEST or (s.mode == PROBING and s.later[1] < FEWEST):
        return
    if is_told(s, 0) and (s.mode == STARTING or is_told(s, 1)):
        if s.mode == STARTING:
            start_on(s, p)
        else:
            step(s, p)
        s.rate = max(s.rate, p.least_packets / a.srtt)
    try_anew(s, p, a)


def on_lost_packet(s, p, a):
    for i in range(2):
        if s.turn_back == s.of_turn[i]:
            s.lost[i] += 1


def on_ack(s, p, a):
    """All is done by ``on_delivery``."""


def on_loss(s, p, a):
    """Losses count in (1)."""


def on_timeout(s, p, a):
    """(6)."""
    if s.rate > 0 and a.srtt > 0:
        s.rate = max(s.rate / 2, p.least_packets / a.srtt)
        s.mode = PROBING
        s.steps = s.cuts = s.direction = 0.0
        try_anew(s, p, a)


vivace = register(
    Controller(
        name="vivace",
        summary="the rate climbs a utility of rate, delay and loss",
        source="Dong et al. 2018",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        on_delivery=on_delivery,
        on_lost_packet=on_lost_packet,
        on_timer=on_timer,
        params={
            "exponent": Param(0.9, "", "of the rate in the utility", 0.01, 1),
            "latency": Param(900, "", "weight of the slope of the round-trip time", 0),
            "loss": Param(11.35, "", "weight of losses", 0),
            "tolerance": Param(0.01, "", "slope up to which it is noise", 0),
            "step": Param(0.05, "", "by which rates on trial differ from the rate", 0.001, 0.5),
            "gain": Param(1, "", "Mb/s for each unit of the slope of the utility", 0),
            "first_bound": Param(0.05, "", "share of the rate that a first step may take", 0, 1),
            "bound_step": Param(0.06, "", "by which steps that are cut raise that", 0),
            "interval_packets": Param(10, "packets", "that an interval has at least", 4),
            "least_packets": Param(2, "packets", "in a round-trip time at least", 1),
            "first_window": Param(10, "packets", "in the first round-trip time; least window", 1),
            "packet_size": Param(1000, "bytes", "of a packet, by which its rate is in Mb/s", 1),
        },
        state={
            "pacing_rate": State(math.inf, "packets/s", "at which packets leave"),
            "wake_at": State(math.inf, "s", "end of the present interval, if it is watched"),
            "rate": State(0, "packets/s", "x"),
            "mode": State(STARTING, "", "0: start, 1: trials"),
            "utility": State(-math.inf, "", "largest in the start"),
            "turn": State(0, "", "number of the present interval"),
            "turn_back": State(0, "", "number of the interval of the packet that came"),
            "watched": State(0, "", "1, 2: the first, second interval is sent; 3: they are over"),
            "side": State(1, "", "1: the first of two is the faster one, -1: the slower"),
            "direction": State(0, "", "of the last step"),
            "steps": State(0, "", "in that direction"),
            "cuts": State(0, "", "k: of these, that were cut"),
            "of_turn": State(0, "", "number of the first and the second interval", size=2),
            "of_rate": State(0, "packets/s", "their rates", size=2),
            "began": State(0, "s", "when they began", size=2),
            "arrived": State(0, "packets", "of them, that came", size=2),
            "lost": State(0, "packets", "that were lost", size=2),
            "later": State(0, "packets", "sent after them that came", size=2),
            "limited": State(0, "packets", "that the application limited", size=2),
            "n": State(0, "", "round-trip times measured", size=2),
            "t": State(0, "s", "sum of the times of sending", size=2),
            "r": State(0, "s", "sum of the round-trip times", size=2),
            "tt": State(0, "s2", "sum of the squares of the times", size=2),
            "tr": State(0, "s2", "sum of the products", size=2),
        },
        stamps={"turn": "turn_back"},
        recovery="rack-tlp",
        owns_recovery=True,
        owns_start=True,
        chance=True,
        record=("pacing_rate", "rate", "mode"),
    )
)
