"""BALIA: a coupled control of MPTCP between LIA's responsiveness and OLIA's friendliness.

Source: A. Walid et al., "Balanced linked adaptation congestion control algorithm for MPTCP",
draft-walid-mptcp-congestion-control-04; Q. Peng et al., "Multipath TCP: analysis, design, and
implementation", IEEE/ACM Transactions on Networking 24(1), 2016.

For path i of the connection's paths, with windows w, smoothed RTTs r, and x_k = w_k / r_k:

(1)  a_i = max_k(x_k) / x_i
(2)  congestion avoidance, per packet:
     w_i <- w_i + x_i / (r_i (sum_k x_k)^2) (1 + a_i)/2 (4 + a_i)/5
(3)  loss:  ssthresh <- max(w_i - w_i/2 min(a_i, 1.5), 2),  w_i <- ssthresh
(4)  slow start and timeout: as Reno

The paths are the flows of a group, ``Flow("balia", group=...)``. Alone, a = 1: Reno.

Differences from the draft
    (3) is Reno's in slow start, where Linux' (MPTCP v0) is too.
    A path counts from its first RTT on, and with its last window after its flow has finished.

Evidence (constants: draft)
    vector: steps and cuts
        controllers/test_coupled.py::test_balias_steps_and_cuts
    claim: takes as much as one TCP; leaves the worse path; little harm
        controllers/test_coupled.py::test_it_leaves_the_worse_path
"""

from tcpcc.controllers.lia import lia, total_rate
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_loss as reno_on_loss
from tcpcc.definition import register
from tcpcc.engine.jit import member


def on_ack(s, p, ack):
    s.rtt = ack.srtt
    if s.cwnd < s.ssthresh or s.members == 1 or s.rtt <= 0:
        reno_on_ack(s, p, ack)
        return
    a = advantage(s)
    step = s.cwnd / (s.rtt * total_rate(s)) ** 2 * (1 + a) / 2 * (4 + a) / 5
    s.cwnd += ack.acked * step  # (2)


def advantage(s):
    """a_i of (1)."""
    best = 0.0
    for i in range(s.members):
        m = member(s, i)
        if m.rtt > 0:
            best = max(best, m.cwnd / m.rtt)
    return best / (s.cwnd / s.rtt)


def on_loss(s, p, ack):
    if s.members == 1 or s.rtt <= 0 or s.cwnd < s.ssthresh:
        reno_on_loss(s, p, ack)
        return
    cut = min(advantage(s), 1.5)
    s.ssthresh = max(ack.window * (1 - cut / 2), 2.0)  # (3)
    s.cwnd = s.ssthresh


balia = register(
    lia.variant(
        name="balia",
        summary="MPTCP's balanced linked adaptation",
        source="draft-walid-mptcp-congestion-control-04; Peng et al. 2016",
        on_ack=on_ack,
        on_loss=on_loss,
        look=("green", "H"),
    )
)
