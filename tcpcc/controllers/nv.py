"""TCP-NV (New Vegas): bounds the window by the largest measured rate times the smallest RTT.

Source: Linux ``tcp_nv`` (net/ipv4/tcp_nv.c, 5.x); L. Brakmo, "TCP-NV: an update to TCP-Vegas",
2010. For networks within a data centre.

Equations (W = cwnd; in parentheses: measurements needed since the last decision)

(1)  RTT: mean with gain 1/2;  rate: largest W_sent / RTT, where W_sent is the number of packets in
     flight when the packet was sent;  d: smallest RTT since the renewal before last, with a
     renewal every 5 s (random, 3.75 to 6.25 s)
(2)  W_max = rate d + 10, once per round trip
(3)  W > W_max (two round trips, 60 measurements; 30 to end the first slow start):
     ssthresh = W_max; W <- W - max(2, 0.3 (W - W_max)), or W_max if W - W_max <= 2;
     growth stops
(4)  W <= W_max - 2 (20 measurements): growth starts
(5)  growth: slow start; then 2^-g packets per round trip, at most one per 4 acknowledged packets
(6)  loss: ssthresh = W = 0.8 W, growth stops, and the measurements are discarded
(7)  timeout: ssthresh as in (6), W = 1; g <- g + 1, up to 8; nine decisions (4) in a row reduce g
     by one

Differences from Linux
    W_sent is the number of packets sent in the last round, which every model knows; Linux records
    it with each packet. There is no floor that grows when segments are merged (TSO, LRO), and no
    externally set base RTT.

Evidence (constants: Linux)
    vector: decisions by the kernel's rule
        controllers/test_linux_controllers.py::test_nv_gives_up_three_tenths_of_what_is_too_much
    claim: queues at most its pad, in packets, trains and fluid
        controllers/test_linux_controllers.py::test_nv_queues_at_most_its_pad_and_loses_nothing
"""

import math

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register
from tcpcc.engine.streams import uniform


def forget(s):
    """Discard the measurements, after a decision and after a loss."""
    s.calls = 0.0
    s.rounds = 0.0
    s.rate = 0.0


def renew_base_rtt(s, p, a):
    """Replace d by the smallest RTT since the last renewal."""
    if s.renew_at == math.inf:
        s.renew_at = a.now + p.first_period
    elif a.now >= s.renew_at:
        s.base_rtt = s.next_base_rtt
        s.next_base_rtt = math.inf
        s.renew_at = a.now + p.period * (0.75 + 0.5 * uniform(s))


def measure(s, p, a):
    """(1)."""
    if s.rtt == 0:
        s.rtt = a.rtt
        s.base_rtt = 2 * a.rtt
    else:
        s.rtt += (a.rtt - s.rtt) * (1 - (1 - p.rtt_gain) ** a.acked)
    s.rate = max(s.rate, a.round_packets / s.rtt)
    s.calls += a.acked
    s.base_rtt = min(s.base_rtt, s.rtt)
    s.next_base_rtt = min(s.next_base_rtt, s.rtt)
    renew_base_rtt(s, p, a)


def on_ack(s, p, a):
    if s.lost != 0:
        s.lost = 0.0
        s.rtt = 0.0
        s.calm = 0.0
        forget(s)
    if a.rtt > 0:
        measure(s, p, a)
    if s.growing == 0:
        return
    if s.cwnd < s.ssthresh:
        s.cwnd += a.acked
    else:
        s.cwnd += a.acked / max(4.0, s.cwnd * 2**s.slowness)  # (5)


def congested(s, p, most):
    """(3); returns whether a decision is made."""
    if s.rounds < p.least_rounds:
        return False
    if s.ssthresh == math.inf:
        if s.calls < p.start_calls:
            return False
    elif s.calls < p.decrease_calls:
        if s.rounds > p.stop_rounds:
            s.growing = 0.0
        return False
    s.growing = 0.0
    s.calm = 0.0
    s.ssthresh = max(most, 2.0)
    beyond = s.cwnd - most
    s.cwnd = most if beyond <= 2 else s.cwnd - max(2.0, p.decrease * beyond)
    return True


def calm(s, p):
    """(4) and (7); returns whether a decision is made."""
    if s.calls < p.increase_calls:
        return False
    s.growing = 1.0
    s.calm += 1
    if s.slowness > 0 and s.calm > p.calm_rounds:
        s.slowness -= 1
        s.calm = 0.0
    return True


def on_round(s, p, a):
    if s.lost != 0 or s.rate == 0:
        return
    s.rounds += 1
    most = s.rate * s.base_rtt + p.pad  # (2)
    decided = False
    if s.cwnd > most:
        decided = congested(s, p, most)
    elif s.cwnd <= most - p.margin:
        decided = calm(s, p)
    if decided:
        forget(s)
        s.cwnd = max(s.cwnd, 2.0)


def on_loss(s, p, a):
    s.ssthresh = max(p.loss_factor * s.cwnd, 2.0)  # (6)
    s.cwnd = min(s.cwnd, s.ssthresh)
    s.growing = 0.0
    s.lost = 1.0


def on_timeout(s, p, a):
    on_loss(s, p, a)
    s.cwnd = 1.0  # (7)
    s.slowness = min(s.slowness + 1, 8.0)


nv = register(
    Controller(
        name="nv",
        summary="window of largest rate times smallest RTT plus 10 packets, for data centres",
        source="Linux 5; Brakmo 2010",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "rtt_gain": Param(0.5, "", "weight of an RTT in the average (Linux: 128/256)", 0, 1),
            "pad": Param(10, "packets", "most packets to keep queued", 0),
            "margin": Param(2, "packets", "distance of W below W_max at which growth starts", 0),
            "decrease": Param(0.3, "", "share of W - W_max removed by a decrease", 0, 1),
            "loss_factor": Param(0.8, "", "share of the window kept after a loss", 0.1, 1),
            "start_calls": Param(30, "", "measurements before slow start ends", 1),
            "decrease_calls": Param(60, "", "measurements before a decrease", 1),
            "increase_calls": Param(20, "", "measurements before an increase", 1),
            "least_rounds": Param(2, "rounds", "before a decrease", 1),
            "stop_rounds": Param(
                10, "rounds", "above W_max without a decision before growth stops", 1
            ),
            "calm_rounds": Param(8, "", "decisions (4) in a row; the next one reduces g", 1),
            "first_period": Param(2, "s", "until the first renewal of d", 0),
            "period": Param(5, "s", "mean time between renewals of d", 0),
        },
        state={
            "rtt": State(0, "s", "mean round-trip time"),
            "rate": State(0, "packets/s", "largest rate since the last decision"),
            "calls": State(0, "", "measurements since the last decision"),
            "rounds": State(0, "", "round trips since the last decision"),
            "base_rtt": State(math.inf, "s", "d"),
            "next_base_rtt": State(math.inf, "s", "d after the next renewal"),
            "renew_at": State(math.inf, "s", "time of the next renewal"),
            "growing": State(1, "0 or 1", "the window may grow"),
            "calm": State(0, "", "decisions (4) in a row"),
            "slowness": State(0, "", "g"),
            "lost": State(0, "0 or 1", "a loss occurred since the last ACK"),
        },
        chance=True,
        record=("base_rtt",),
        look=("green", "D"),
    )
)
