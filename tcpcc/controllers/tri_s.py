"""Tri-S: slow start and search, one packet at a time, for the window that adds no throughput.

Source: Z. Wang, J. Crowcroft, "A new congestion control scheme: slow start and search (Tri-S)", CCR
21(1), 1991, as retold by Brakmo and Peterson, JSAC 13(8), 1995, III-B.

Once per round trip, R the round-trip time of the packet that ends it, and F the packets that were
in flight when that was sent; T' and F' a round before:

(1)  T = F / R,   T1 = 1 / RTTmin,  what one packet in flight achieves
(2)  F > F' and (T - T') / (F - F') < T1 / 2:  that step is taken back, W <- W - (F - F')
(3)  otherwise, in congestion avoidance:       W <- W + 1

In congestion avoidance F - F' is one packet, and so is the step taken back; in slow start, Reno's,
it is what the round has added, and (2) ends slow start. A step shows a round after it was made:
in a full pipe W goes W, W + 1, W + 2, W + 1, W, ...

Differences from the papers
    The first paper's text was not at hand; loss and timeout are Reno's. The second takes T1 at the
    beginning of a connection: here at its smallest round-trip time. It speaks of steps of a packet
    only; the gain per packet is what half of T1 is compared with, and in slow start it is the same
    question.
"""

from tcpcc.controllers import reno
from tcpcc.controllers.controller import Controller
from tcpcc.controllers.dual import newest_rtt
from tcpcc.definition import State, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked


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
    Controller(
        name="tri_s",
        summary="one packet more per round, taken back where it adds no throughput",
        source="Wang, Crowcroft 1991",
        on_ack=on_ack,
        on_round=on_round,
        on_loss=reno.on_loss,
        on_timeout=reno.on_timeout,
        params=reno.PARAMS,
        state={
            "flight": State(0, "packets", "in flight when the present round began"),
            "last_flight": State(0, "packets", "F'; 0 before the first"),
            "last_throughput": State(0, "packets/s", "throughput a round before"),
        },
        recovery="reno",
    )
)
