"""Tri-S: adds a packet per round, and takes it back if throughput does not grow.

Source: Z. Wang, J. Crowcroft, "A new congestion control scheme: slow start and search (Tri-S)", CCR
21(1), 1991, as described by Brakmo and Peterson, JSAC 13(8), 1995, III-B.

Once per round trip. R is the RTT of the packet that ends the round, F the packets in flight when
that packet was sent; T' and F' are the values of the previous round:

(1)  T = F / R,   T1 = 1 / RTTmin, the throughput of one packet in flight
(2)  F > F' and (T - T') / (F - F') < T1 / 2:  the step is taken back, W <- W - (F - F')
(3)  otherwise, in congestion avoidance:       W <- W + 1

In congestion avoidance F - F' is one packet. In slow start (Reno's) it is the growth of a round,
and (2) ends slow start. T shows a step one round later: in a full pipe W goes W, W + 1, W + 2,
W + 1, W, ...

Differences from the papers
    The text of the first paper was not available; loss and timeout are Reno's. The second paper
    measures T1 at the start of a connection; here T1 is that of the smallest RTT. The second paper
    describes steps of one packet only; here the gain per packet is compared with T1 / 2, in slow
    start too.

Evidence (constants: paper)
    vector: grows by one packet per round up to the knee
        controllers/test_vegas_relatives.py::test_tri_s_climbs_by_a_packet_a_round_to_the_knee_and_hovers_there
"""

from tcpcc.controllers.card import on_ack
from tcpcc.controllers.dual import newest_rtt
from tcpcc.controllers.reno import reno
from tcpcc.definition import State, register


def on_round(s, p, ack):
    flight, s.flight = s.flight, ack.inflight
    throughput = flight / newest_rtt(ack)  # (1)
    step, gain = flight - s.last_flight, throughput - s.last_throughput
    slow = s.cwnd < s.ssthresh
    if s.last_flight > 0 and step > 0 and gain < step / ack.base_rtt / 2:
        s.cwnd = max(s.cwnd - step, 1.0)  # (2)
        s.ssthresh = max(min(s.ssthresh, s.cwnd), 2.0)
    elif not slow:
        s.cwnd += 1  # (3)
    s.last_flight, s.last_throughput = flight, throughput


tri_s = register(
    reno.variant(
        name="tri_s",
        summary="one packet more per round, taken back if it adds no throughput",
        source="Wang, Crowcroft 1991",
        on_ack=on_ack,
        on_round=on_round,
        state={
            "flight": State(0, "packets", "in flight when the current round began"),
            "last_flight": State(0, "packets", "F'; 0 before the first round"),
            "last_throughput": State(0, "packets/s", "T', throughput of the previous round"),
        },
        recovery="reno",
        slow_start="standard",
        look=("purple", "h"),
    )
)
