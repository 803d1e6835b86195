"""LIA: the coupled congestion control of MPTCP. All paths of a connection take as much as one TCP.

Source: C. Raiciu, M. Handley, D. Wischik, "Coupled congestion control for multipath transport
protocols", RFC 6356, section 3; equations (1) and (2) there.

For path i of the connection's n paths, with windows w and smoothed RTTs r:

(1)  congestion avoidance, per packet:  w_i <- w_i + min(A, 1/w_i)
(2)  A = max_k(w_k / r_k^2) / (sum_k w_k / r_k)^2
(3)  slow start, loss and timeout: as Reno

The RFC writes A as alpha / sum_k w_k. With (2) the connection takes what one TCP would on its best
path; 1/w_i sees to it that no path takes more than a TCP there. The paths are the flows of a group,
``Flow("lia", group=...)``. Alone, A = 1/w: Reno.

Differences from the RFC
    Windows are in packets, and A is new with every ACK (the RFC allows once per window).
    A path counts from its first RTT on, and with its last window after its flow has finished.

Evidence (constants: RFC)
    vector: steps
        controllers/test_coupled.py::test_lia_adds_what_one_tcp_on_the_best_path_would
    claim: the RFC's three goals
        controllers/test_coupled.py::test_between_two_bottlenecks_it_takes_the_best_of_both_at_most
"""

from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import reno
from tcpcc.definition import State, register
from tcpcc.engine.jit import member


def increase(s):
    """A of (2)."""
    best = 0.0
    for i in range(s.members):
        m = member(s, i)
        if m.rtt > 0:
            best = max(best, m.cwnd / m.rtt**2)
    return best / total_rate(s) ** 2


def total_rate(s):
    """sum_k w_k / r_k, packets/s."""
    total = 0.0
    for i in range(s.members):
        m = member(s, i)
        if m.rtt > 0:
            total += m.cwnd / m.rtt
    return total


def on_ack(s, p, ack):
    s.rtt = ack.srtt
    if s.cwnd < s.ssthresh or s.members == 1 or s.rtt <= 0:
        reno_on_ack(s, p, ack)
    else:
        s.cwnd += ack.acked * min(increase(s), 1 / s.cwnd)  # (1)


lia = register(
    reno.variant(
        name="lia",
        summary="MPTCP's linked increases: the paths of a connection take as much as one TCP",
        source="RFC 6356",
        on_ack=on_ack,
        state={"rtt": State(0, "s", "smoothed RTT; 0: not yet known")},
        coupled=True,
        look=("vermilion", "H"),
    )
)
