"""Reno with the linear increase of other BSD versions (section VI-D).

Per ACK in congestion avoidance, W in packets: W <- W + a acked/W + b. The paper's Reno has a = 1,
b = 0. Other versions add half a segment per round trip (a = 1/2), or that and an eighth of a
segment for each ACK (b = 1/8).
"""

from tcpcc.controllers.controller import Param
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import reno


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        reno_on_ack(s, p, ack)
    else:
        s.cwnd += p.a * ack.acked / s.cwnd + p.b


RENO = reno.variant(
    name="reno_bsd",
    on_ack=on_ack,
    params={
        "a": Param(1.0, "packets per round trip", "linear increase", 0),
        "b": Param(0.0, "packets", "increase for each ACK", 0),
    },
)
