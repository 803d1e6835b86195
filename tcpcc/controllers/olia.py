"""OLIA: a coupled control of MPTCP that moves traffic to the best paths.

Source: R. Khalili et al., "MPTCP is not Pareto-optimal: performance issues and a possible
solution", CoNEXT 2012; draft-khalili-mptcp-congestion-control-05; Linux' mptcp_olia (MPTCP v0).

For path i of the connection's n paths, with windows w and smoothed RTTs r:

(1)  congestion avoidance, per packet:  w_i <- w_i + (w_i / r_i^2) / (sum_k w_k / r_k)^2 + a_i / w_i
(2)  l_i: packets acknowledged since the last loss, or between the last two if these are more
     M: paths with the largest window.   B: paths with the largest l / r^2, without those in M
(3)  a_i = 1/(n |B|)   if i is in B
           -1/(n |M|)  if i is in M and B is not empty;    else 0
(4)  slow start, loss and timeout: as Reno

B are good paths with small windows: (3) moves window to them. The paths are the flows of a group,
``Flow("olia", group=...)``. Alone, (1) is Reno's.

Differences from the draft
    l / r^2 is the paper's and Linux' criterion; the draft writes l^2 / r.
    Windows are compared in whole packets, as in Linux. ssthresh is at least 2.
    A path counts from its first RTT on, and with its last window after its flow has finished.

Evidence (constants: draft; Linux)
    vector: steps, paths that get window and that give it
        controllers/test_coupled.py::test_olia_moves_window_from_the_largest_to_the_best_path
    claim: takes as much as one TCP; leaves the worse path
        controllers/test_coupled.py::test_it_leaves_the_worse_path
"""

import math

from tcpcc.controllers.lia import lia, total_rate
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.definition import State, register
from tcpcc.engine.jit import member


def quality(m):
    """l / r^2 of (2)."""
    return max(m.acked, m.acked_before) / m.rtt**2


def transfer(s):
    """a_i of (3)."""
    n, most, best = 0, 0.0, 0.0
    for i in range(s.members):
        m = member(s, i)
        if m.rtt > 0:
            n += 1
            most = max(most, math.floor(m.cwnd))
            best = max(best, quality(m))
    large, good = 0, 0
    for i in range(s.members):
        m = member(s, i)
        if m.rtt > 0 and math.floor(m.cwnd) == most:
            large += 1
        elif m.rtt > 0 and quality(m) == best:
            good += 1
    if good == 0:
        return 0.0
    if math.floor(s.cwnd) == most:
        return -1 / (n * large)
    return 1 / (n * good) if quality(s) == best else 0.0


def on_ack(s, p, ack):
    s.rtt = ack.srtt
    s.acked += ack.delivered
    if s.cwnd < s.ssthresh or s.members == 1 or s.rtt <= 0:
        reno_on_ack(s, p, ack)
        return
    step = s.cwnd / (s.rtt * total_rate(s)) ** 2 + transfer(s) / s.cwnd  # (1)
    s.cwnd = max(s.cwnd + ack.acked * step, 1.0)
    s.ssthresh = min(s.ssthresh, max(s.cwnd, 2.0))


def count_anew(s):
    """A loss begins a new count of (2)."""
    s.acked_before = s.acked
    s.acked = 0.0


def on_loss(s, p, ack):
    reno_on_loss(s, p, ack)
    count_anew(s)


def on_timeout(s, p, ack):
    reno_on_timeout(s, p, ack)
    count_anew(s)


olia = register(
    lia.variant(
        name="olia",
        summary="MPTCP's opportunistic linked increases: moves window to the best paths",
        source="Khalili et al. 2012; Linux",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        state={
            "acked": State(0, "packets", "acknowledged since the last loss"),
            "acked_before": State(0, "packets", "acknowledged between the last two losses"),
        },
        look=("blue", "H"),
    )
)
