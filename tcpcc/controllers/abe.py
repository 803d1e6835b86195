"""ABE: Reno that answers an ECN mark more gently than a loss.

Source: RFC 8511; N. Khademi et al., "Alternative backoff: achieving low latency and high throughput
with ECN and AQM", IFIP Networking 2017.

(1)  growth, loss and timeout: as Reno
(2)  ECN mark, once per window of data:  W <- max(beta_ecn W, 2),  ssthresh <- W

A queue that marks is short, so W need not be halved to empty it. The RFC has beta_ecn = 0.8 for a
sender that halves W on a loss, 0.85 for CUBIC. The flow needs ``Transport(ecn="classic")`` and a
queue that marks.

Differences from the RFC
    (2) cuts the window in force, not FlightSize, as Reno's rules here do.

Evidence (constants: RFC)
    vector: window after a mark, after a loss
        controllers/test_abe.py::test_a_mark_leaves_four_fifths_and_a_loss_half
    claim: uses more of the link where marking begins early
        controllers/test_abe.py::test_a_shallow_marking_threshold_costs_less_of_the_link_than_with_reno
"""

from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, register


def on_mark(s, p, ack):
    s.cwnd = max(p.beta_ecn * ack.window, 2.0)  # (2)
    s.ssthresh = s.cwnd


abe = register(
    reno.variant(
        name="abe",
        summary="Reno that keeps four fifths of its window on an ECN mark",
        source="RFC 8511",
        on_mark=on_mark,
        params={"beta_ecn": Param(0.8, "", "share of the window kept on a mark", 0.5, 1)},
        look=("vermilion", "s"),
    )
)
