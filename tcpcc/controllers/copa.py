"""Copa: a rate of 1/(delta d_q) packets per second, approached with a velocity that doubles.

Source: V. Arun, H. Balakrishnan, "Copa: practical delay-based congestion control for the internet",
NSDI 2018; facebook/mvfst, quic/congestion_control/Copa.cpp.

(1)  d_q = RTTstanding - RTTmin;  RTTstanding: smallest RTT of srtt/2, RTTmin: of 10 s
(2)  per packet delivered  W <- W + v/(delta W)  while W/RTTstanding <= 1/(delta d_q), else minus
(3)  once per srtt: v <- 2 v if W moved in the same direction for at least the third time in a row;
     v <- 1 if the direction of W changed, also when (2) turns
(4)  slow start: W doubles per round trip until (2) would first decrease it
(5)  packets are paced at 2 W/RTTstanding; W is at least 2
(6)  a loss changes nothing; timeout: W <- 1
(7)  competitive mode (`competitive`): if d_q has not been below a tenth of RTTmax - RTTmin for 5
     round trips, with RTTmax the largest RTT of 4 round trips, other flows fill the queue. 1/delta
     then grows by 1 per round trip and a loss halves it, but not below 1/`delta`. When the mode
     ends, delta returns to `delta`

Differences from the paper
    The paper always has competitive mode. Without it delta is fixed, as in mvfst.
    v is set to 1 as soon as (2) turns, as in mvfst.
    v is at most W delta, so that W changes by at most W in a round trip.
Limits
    Flows in competitive mode that share a deep buffer only with each other may take each other for
    buffer-filling flows and keep a queue.

Evidence (constants: paper; mvfst)
    vector: velocity 1 to 16 (mvfst's test)
        transport/test_delivery.py::test_copas_velocity_from_1_to_8
    claim: competitive mode keeps a share beside CUBIC
        transport/test_delivery.py::test_copas_competitive_mode_holds_a_share_beside_cubic
    claim: keeps a queue of two packets
        transport/test_delivery.py::test_copas_velocity_doubles_and_its_queue_is_two_packets
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.windowed import update_max, update_min, windowed
from tcpcc.definition import Flag, Param, State, register


def turn(s, a, direction):
    s.direction = direction
    s.velocity = 1.0
    s.same = 0.0
    s.noted_at = a.now
    s.noted = s.cwnd


def watch_others(s, p, a, waiting, least):
    """(7)."""
    most = update_max(s.most_at, s.most_best, 4 * a.srtt, a.now, a.rtt)
    if waiting < 0.1 * (most - least) or s.emptied_at == 0:
        s.emptied_at = a.now
    if a.now - s.emptied_at <= 5 * a.srtt:
        s.share = 1 / p.delta
        s.raised_at = a.clock
    elif a.clock - s.raised_at >= a.srtt:
        s.share += 1
        s.raised_at = a.clock


def delta(s, p):
    return p.delta if not p.competitive or s.share == 0 else 1 / s.share


def watch_direction(s, p, a):
    """(3)."""
    if s.noted_at == 0:
        s.noted_at = a.now
        s.noted = s.cwnd
    elif a.now - s.noted_at >= a.srtt:
        direction = 1.0 if s.cwnd > s.noted else -1.0
        if direction != s.direction:
            turn(s, a, direction)
            return
        s.same += 1
        if s.same >= p.patience:
            s.velocity = min(2 * s.velocity, max(s.cwnd * delta(s, p), 1.0))
        s.noted_at = a.now
        s.noted = s.cwnd


def on_ack(s, p, a):
    if a.rtt <= 0:
        return
    least = update_min(s.min_at, s.min_best, p.min_window, a.now, a.rtt)
    standing = update_min(s.standing_at, s.standing_best, a.srtt / 2, a.now, a.rtt)
    waiting = standing - least
    if p.competitive:
        watch_others(s, p, a, waiting, least)
    up = s.cwnd * delta(s, p) * waiting <= standing  # (2)
    if not (up and s.starting != 0):
        watch_direction(s, p, a)
    if up and s.starting != 0:
        s.cwnd += a.growing  # (4)
    else:
        s.starting = 0.0
        sign = 1.0 if up else -1.0
        if s.direction != sign and s.velocity > 1:
            turn(s, a, sign)
        moved = a.growing if up else a.delivered
        step = s.velocity * moved / (delta(s, p) * s.cwnd)
        s.cwnd = max(s.cwnd + sign * step, p.least_window)
    s.pacing_rate = 2 * s.cwnd / standing  # (5)


def on_loss(s, p, a):
    """(7)."""
    if p.competitive and s.share > 0:
        s.share = max(s.share / 2, 1 / p.delta)


def on_timeout(s, p, a):
    s.cwnd = 1.0
    s.velocity = 1.0
    s.same = 0.0


copa = register(
    Controller(
        name="copa",
        summary="a rate of 1/(delta d_q), approached with a velocity that doubles",
        source="Arun, Balakrishnan 2018; mvfst",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "delta": Param(0.5, "1/packets", "1/delta packets of the flow are queued", 1e-3),
            "min_window": Param(10, "s", "span of RTTmin", 0),
            "patience": Param(3, "round trips", "moves in one direction before v doubles", 1),
            "least_window": Param(2, "packets", "smallest window", 1),
            "competitive": Flag(False, "competitive mode, (7)"),
        },
        state={
            "pacing_rate": State(math.inf, "packets/s", "pacing rate"),
            **windowed("min", "s", "round-trip time", math.inf),
            **windowed("standing", "s", "recent round-trip time", math.inf),
            "velocity": State(1, "", "v"),
            "direction": State(0, "", "1: up, -1: down"),
            "same": State(0, "round trips", "round trips in that direction"),
            "noted": State(0, "packets", "window a round trip ago"),
            "noted_at": State(0, "s", "when `noted` was saved"),
            "starting": State(1, "0 or 1", "slow start"),
            **windowed("most", "s", "largest recent round-trip time", 0.0),
            "emptied_at": State(0, "s", "when the queue was last nearly empty"),
            "share": State(0, "packets", "1/delta in competitive mode"),
            "raised_at": State(0, "s", "when 1/delta last grew"),
        },
        recovery="rack-tlp",
        window="own",
        record=("velocity", "pacing_rate"),
        look=("blue", "*"),
    )
)
