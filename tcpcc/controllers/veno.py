"""TCP Veno: Reno that distinguishes congestion losses from random ones by Vegas' backlog.

Source: C. Fu, S. Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks",
IEEE JSAC 21(2), 2003; Linux ``tcp_veno``.

Equations (N: the flow's packets in queues, from the RTT R and its smallest value d)

(1)  N = W (1 - d/R)
(2)  congestion avoidance, per newly acknowledged packet:  W <- W + 1/W       N < beta
                                                           W <- W + 1/(2W)    else
(3)  loss:     ssthresh <- 4W/5 if N < beta, W/2 else;  W <- ssthresh;  at least 2
(4)  timeout:  ssthresh as in (3), then W <- 1

Differences from the papers
    R in (1) is the RTT of the last ACK, as in the Linux code; Linux' comment and the paper say the
    smallest RTT of the last round trip. The paper states the second line of (2) as one packet every
    other round trip.

Evidence (constants: Linux)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    vector: backlog, increase, cuts
        controllers/test_linux_controllers.py::test_veno_asks_how_long_the_queue_is
"""

from tcpcc.controllers.controller import Controller
from tcpcc.definition import Param, State, register


def on_ack(s, p, ack):
    if ack.rtt > 0:
        s.backlog = s.cwnd * (1 - min(ack.base_rtt / ack.rtt, 1.0))  # (1)
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked
    elif s.backlog < p.beta:
        s.cwnd += ack.acked / s.cwnd  # (2)
    else:
        s.cwnd += ack.acked / (2 * s.cwnd)


def on_loss(s, p, ack):
    share = p.random_loss if s.backlog < p.beta else 0.5
    s.ssthresh = max(share * ack.window, 2.0)  # (3)
    s.cwnd = s.ssthresh


def on_timeout(s, p, ack):
    on_loss(s, p, ack)
    s.cwnd = 1.0  # (4)


veno = register(
    Controller(
        name="veno",
        summary="Reno with a smaller cut at a loss without a queue",
        source="Fu, Liew 2003; Linux",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params={
            "beta": Param(3, "packets", "backlog from which a loss means congestion", 0),
            "random_loss": Param(0.8, "", "share of the window kept after a random loss", 0.1, 1),
        },
        state={"backlog": State(0, "packets", "N, the flow's packets in queues")},
        slow_start="hystart++",
        look=("green", "s"),
    )
)
