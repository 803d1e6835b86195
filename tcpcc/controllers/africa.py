"""TCP-Africa: HighSpeed TCP while the queue is short, otherwise Reno.

Source: R. King, R. Baraniuk, R. Riedi, "TCP-Africa: an adaptive and fair rapid increase rule for
scalable TCP", INFOCOM 2005 (from memory).

Equations (per newly acknowledged packet; W = cwnd, a(W) and b(W) as in `hstcp.py`, aRTT the
smoothed RTT, gain 1/8)

(1)  backlog = W (aRTT - minRTT)/aRTT
(2)  fast mode,  backlog < alpha:   W <- W + a(W)/W
(3)  slow mode,  otherwise:         W <- W + 1/W
(4)  loss, timeout:                 as HighSpeed TCP

Uncertain
    `alpha`: a constant slightly above 1 packet; the default, 1.641, is from memory.

Evidence (constants: paper)
    vector: HSTCP without a queue, Reno with one
        controllers/test_highspeed.py::test_africa_is_hstcp_below_alpha_and_reno_above
"""

from tcpcc.controllers.hstcp import hstcp, increase
from tcpcc.definition import Param, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    elif s.cwnd * (ack.srtt - ack.base_rtt) < p.alpha * ack.srtt:  # (1)
        s.cwnd += increase(p, s.cwnd) / s.cwnd * ack.acked  # (2)
    else:
        s.cwnd += ack.acked / s.cwnd  # (3)


africa = register(
    hstcp.variant(
        name="africa",
        summary="HighSpeed TCP while the queue is short, otherwise Reno",
        source="King, Baraniuk, Riedi 2005",
        on_ack=on_ack,
        params={"alpha": Param(1.641, "packets", "backlog that ends fast mode (uncertain)", 0)},
        look=("green", "p"),
    )
)
