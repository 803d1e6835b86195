"""PCC Vivace: a rate that follows the slope of a utility, measured at rates above and below it.

Source: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, "PCC Vivace:
online-learning congestion control", NSDI 2018; details that the paper leaves open follow the
authors' code (PCC-Uspace, branch NSDI-2018).

Equations (x: rate, Mb/s; an interval lasts one smoothed RTT, and at least 10 packets)

(1)  u(x) = x^0.9 - 900 x dRTT/dT - 11.35 x L is the utility of an interval. L is the share of its
     packets that are lost, dRTT/dT the least-squares slope of their RTTs over their send times; a
     slope between -0.01 and 0.01 is noise, and counts as 0
(2)  start: x doubles after each interval with a larger u than the last one; else x halves and the
     trials begin
(3)  a trial: an interval at x (1 + 0.05) and one at x (1 - 0.05), in random order, then x until the
     results of both are known;  gamma = (u+ - u-) / (2 0.05 x)
(4)  x <- x + m(tau) gamma:  the tau-th step in one direction is amplified by m = tau up to 3, and
     by 2 tau - 3 beyond
(5)  a step is at most (0.05 + 0.06 k) x; each step cut to this bound increases k by one, each other
     step decreases it by one, and a change of direction resets it to 0
(6)  timeout: x <- x / 2, and a new trial

Differences from the paper
    The window is 3 x times the smoothed RTT; the authors' UDP sender has no window. The losses of
    an interval are known when four later packets have arrived (RACK). An interval that the
    application limited, or with fewer than four packets, is repeated. The rate in Mb/s assumes
    packets of `packet_size` bytes.

Evidence (constants: paper; authors' code)
    vector: utility, steps, bounds
        controllers/test_vivace.py::test_utility_of_rate_delay_and_loss
    closed form: loss rate that it tolerates
        controllers/test_vivace.py::test_without_its_term_for_delay_it_takes_losses_up_to_a_share
    claim: fills the link without a queue; shares
        controllers/test_vivace.py::test_alone_it_uses_the_link_and_leaves_the_queue_empty
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform

STARTING, PROBING = 0.0, 1.0
FEWEST = 4  # packets; least in a valid interval, and least later arrivals before it is evaluated


def mbps(p, rate):
    return rate * 8 * p.packet_size / 1e6


def begin_interval(s, p, a, rate):
    """Begin a new interval, in which packets are sent at `rate`."""
    s.turn += 1
    s.pacing_rate = rate
    s.cwnd = max(3 * rate * a.srtt, p.first_window)


def watch(s, p, a, i, rate):
    """Begin an interval at `rate`, and record its results in slot `i`."""
    begin_interval(s, p, a, rate)
    s.of_turn[i] = s.turn
    s.of_rate[i] = rate
    s.began[i] = a.now
    for field in (s.arrived, s.lost, s.later, s.limited, s.n, s.t, s.r, s.tt, s.tr):
        field[i] = 0.0
    s.wake_at = a.now + max(a.srtt, p.interval_packets / rate)


def try_anew(s, p, a):
    """Begin the interval of (2), or the first of the two intervals of (3)."""
    s.watched = 1.0
    rate = s.rate
    if s.mode == PROBING:
        s.side = 1.0 if uniform(s) < 0.5 else -1.0
        rate *= 1 + s.side * p.step
    watch(s, p, a, 0, rate)


def on_timer(s, p, a):
    """The interval ends: begin the second one of a trial, or continue at the rate x."""
    if s.rate == 0:
        return
    if s.mode == PROBING and s.watched == 1:
        s.watched = 2.0
        watch(s, p, a, 1, s.rate * (1 - s.side * p.step))
    else:
        s.watched = 3.0
        begin_interval(s, p, a, s.rate)


def note(s, a):
    """Count the delivered packets for their interval, or as later than the intervals."""
    for i in range(2):
        if s.turn_back == s.of_turn[i]:
            s.arrived[i] += a.delivered
            s.limited[i] += a.app_limited
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
    gradient = (s.n[i] * s.tr[i] - s.t[i] * s.r[i]) / spread
    return gradient if abs(gradient) >= p.tolerance else 0.0


def utility(s, p, i):
    """(1)."""
    x = mbps(p, s.of_rate[i])
    lost = s.lost[i] / (s.lost[i] + s.arrived[i])
    return x**p.exponent - p.latency * x * slope(s, p, i) - p.loss * x * lost


def is_complete(s, i):
    """Whether the interval gives a valid result."""
    return s.limited[i] == 0 and s.arrived[i] + s.lost[i] >= FEWEST


def start_on(s, p):
    """(2)."""
    measured = utility(s, p, 0)
    if measured > s.utility:
        s.utility = measured
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


def on_ack(s, p, a):
    if a.srtt <= 0:
        return
    if s.rate == 0:
        s.rate = p.first_window / a.srtt
        try_anew(s, p, a)
        return
    note(s, a)
    if s.watched < 3 or s.later[0] < FEWEST or (s.mode == PROBING and s.later[1] < FEWEST):
        return
    if is_complete(s, 0) and (s.mode == STARTING or is_complete(s, 1)):
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
        summary="the rate follows the slope of a utility of rate, delay and loss",
        source="Dong et al. 2018",
        on_ack=on_ack,
        on_timeout=on_timeout,
        on_lost_packet=on_lost_packet,
        on_timer=on_timer,
        params={
            "exponent": Param(0.9, "", "of the rate in the utility", 0.01, 1),
            "latency": Param(900, "", "weight of the slope of the round-trip time", 0),
            "loss": Param(11.35, "", "weight of losses", 0),
            "tolerance": Param(0.01, "", "largest slope that counts as noise", 0),
            "step": Param(
                0.05, "", "relative difference between the trial rates and the rate", 0.001, 0.5
            ),
            "gain": Param(1, "", "change of the rate in Mb/s per unit of the utility's slope", 0),
            "first_bound": Param(
                0.05, "", "bound of a step as a share of the rate, for k = 0", 0, 1
            ),
            "bound_step": Param(0.06, "", "increase of that bound per unit of k", 0),
            "interval_packets": Param(10, "packets", "least length of an interval", 4),
            "least_packets": Param(2, "packets", "least rate, per round-trip time", 1),
            "first_window": Param(
                10, "packets", "sent in the first round-trip time; least window", 1
            ),
            "packet_size": Param(1000, "bytes", "packet size, converts the rate to Mb/s", 1),
        },
        state={
            "pacing_rate": State(math.inf, "packets/s", "at which packets leave"),
            "wake_at": State(math.inf, "s", "end of the current interval, if it is recorded"),
            "rate": State(0, "packets/s", "x"),
            "mode": State(STARTING, "", "phase", names=("start", "trials")),
            "utility": State(-math.inf, "", "largest utility in the start"),
            "turn": State(0, "", "number of the current interval"),
            "turn_back": State(0, "", "number of the interval of the delivered or lost packet"),
            "watched": State(0, "", "1, 2: sending the first, second interval; 3: both are sent"),
            "side": State(
                1, "", "1: the first interval of a trial is the faster one, -1: the slower"
            ),
            "direction": State(0, "", "of the last step: 1 up, -1 down"),
            "steps": State(0, "", "in that direction (tau)"),
            "cuts": State(0, "", "k of (5)"),
            "of_turn": State(0, "", "numbers of the first and the second interval", size=2),
            "of_rate": State(0, "packets/s", "their rates", size=2),
            "began": State(0, "s", "when they began", size=2),
            "arrived": State(0, "packets", "delivered, of each interval", size=2),
            "lost": State(0, "packets", "lost, of each interval", size=2),
            "later": State(0, "packets", "delivered that were sent after each interval", size=2),
            "limited": State(0, "packets", "sent while the application limited the rate", size=2),
            "n": State(0, "", "RTT samples of each interval", size=2),
            "t": State(0, "s", "sum of the send times", size=2),
            "r": State(0, "s", "sum of the RTTs", size=2),
            "tt": State(0, "s2", "sum of the squared send times", size=2),
            "tr": State(0, "s2", "sum of the products of send time and RTT", size=2),
        },
        stamps={"turn": "turn_back"},
        recovery="rack-tlp",
        window="own",
        chance=True,
        record=("pacing_rate", "rate", "mode"),
        look=("orange", "D"),
    )
)
