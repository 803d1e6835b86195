"""TCP Hybla: at any RTT, the sending rate of a Reno flow with a short RTT.

Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
International Journal of Satellite Communications and Networking 22, 2004; Linux' ``tcp_hybla``.

Equations (per newly acknowledged packet)

(1)  rho = max(R / RTT0, 1),   R: the smallest RTT
(2)  slow start:            W <- W + 2^rho - 1,   at most ssthresh
(3)  congestion avoidance:  W <- W + rho^2 / W
(4)  loss, timeout:         as Reno

Hence W(t) = rho W0(t), with W0 the window of a Reno flow with RTT0, and the rate W/R does not
depend on R:  x = sqrt(3/(2p)) / RTT0.

Differences from the paper
    R is the smallest RTT, as in Linux; in the paper it is the current one. The initial window and
    ssthresh are the transport's; the paper multiplies both by rho, Linux the window.
Taken from Linux
    W is at most `clamp`, because (2) grows steeply.

Evidence (constants: Linux)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    closed form: sqrt(3/(2p)) / RTT0 in packets, trains and fluid
        controllers/test_linux_controllers.py::test_hybla_has_the_rate_of_the_reference_round_trip
"""

import math

from tcpcc.controllers.reno import reno
from tcpcc.definition import Param, register

LN2 = math.log(2)  # exp() gives the same bits compiled and interpreted; 2**rho does not


def on_ack(s, p, ack):
    rho = max(ack.base_rtt / p.rtt0, 1.0)  # (1)
    if s.cwnd < s.ssthresh:
        more = (math.exp(rho * LN2) - 1) * ack.acked
        s.cwnd = min(s.cwnd + more, s.ssthresh)  # (2)
    else:
        s.cwnd += rho * rho * ack.acked / s.cwnd  # (3)
    s.cwnd = min(s.cwnd, p.clamp)


hybla = register(
    reno.variant(
        name="hybla",
        summary="Reno with an increase scaled so that the rate does not depend on the RTT",
        source="Caini, Firrincieli 2004; Linux",
        on_ack=on_ack,
        params={
            "rtt0": Param(0.025, "s", "RTT of the reference Reno flow (paper, Linux)", 1e-6),
            "clamp": Param(65535, "packets", "largest window (Linux)", 2),
        },
        slow_start="standard",
        look=("orange", "p"),
    )
)
