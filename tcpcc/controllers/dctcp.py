"""DCTCP: reduces the window in proportion to the share of marked packets.

Source: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257, section 3.3; Linux'
``tcp_dctcp``.

(1)  slow start and congestion avoidance: as Reno's (1) and (2)
(2)  once per window of data:  alpha <- (1 - g) alpha + g F,  F: share of its packets marked
(3)  marks, once per window:   W <- W (1 - alpha/2),  ssthresh <- W, at least 2
(4)  loss, timeout: as Reno

g = 1/16; alpha starts at 1, so that the first mark halves the window. DCTCP requires a queue that
marks above a threshold (`tc.queues.StepMark`) and a receiver that reports every mark:
``Transport(ecn="accurate")``.

Differences from RFC 8257
    F counts packets, not bytes. A window of data is the round trip that ``on_round`` ends. With
    ``Transport(gradual_marks=True)`` the window falls over a round trip, as in Linux and ns-3;
    otherwise it falls at once, and some ACKs release no packet. The cut (3) uses alpha as it was
    before the ACK that ends the window.

Evidence (constants: RFC)
    closed form: alpha = sqrt(2/W) of the sawtooth
        transport/test_delivery.py::test_dctcps_alpha_is_that_of_its_sawtooth
    vector: ns-3's alpha over CoDel's threshold at 50 Mb/s, 10 ms, within 10 %
        external/test_dctcp_against_ns3.py::test_alpha_is_ns_3s_without_its_byte_queue_limits
"""

from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.reno import on_timeout as reno_on_timeout
from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, State, register


def on_ack(s, p, ack):
    s.acked += ack.delivered
    s.marked += ack.marked
    reno_on_ack(s, p, ack)


def on_round(s, p, ack):
    if s.acked > 0:
        s.alpha += p.gain * (min(s.marked / s.acked, 1.0) - s.alpha)  # (2)
    s.acked = 0.0
    s.marked = 0.0


def on_mark(s, p, ack):
    s.cwnd = max(s.cwnd * (1 - s.alpha / 2), 2.0)  # (3)
    s.ssthresh = s.cwnd


def on_timeout(s, p, ack):
    reno_on_timeout(s, p, ack)
    s.acked = 0.0
    s.marked = 0.0


dctcp = register(
    reno.variant(
        name="dctcp",
        summary="reduces the window by half the share of marked packets",
        source="RFC 8257; Alizadeh et al. 2010",
        on_ack=on_ack,
        on_round=on_round,
        on_timeout=on_timeout,
        on_mark=on_mark,
        params={"gain": Param(1 / 16, "", "g: weight of a new share of marked packets", 0, 1)},
        state={
            "alpha": State(1, "", "smoothed share of marked packets"),
            "acked": State(0, "packets", "packets delivered in this window of data"),
            "marked": State(0, "packets", "marked packets among `acked`"),
        },
        record=("alpha",),
        look=("vermilion", "*"),
    )
)
