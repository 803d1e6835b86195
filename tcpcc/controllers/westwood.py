"""TCP Westwood: Reno that sets its window after a loss to the estimated rate times RTTmin.

Sources: C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: bandwidth
estimation for enhanced transport over wireless links", MobiCom 2001 and Wireless Networks 8, 2002;
K. Kaneko, J. Katto, "Reno friendly TCP Westwood based on router buffer estimation", 2005, eqs. 1-2.

(1)  slow start, congestion avoidance: Reno's
(2)  loss:     ssthresh <- ERE x RTTmin,  at least 2;   W <- ssthresh if W is larger
(3)  timeout:  ssthresh <- ERE x RTTmin,  at least 2;   W <- 1

ERE is the eligible rate estimate. Here it is the original one, the bandwidth estimate BE; the other
members of the family (``westwood_re``, ``westwood_abse``, ``westwood_plus``) differ only in ERE.
With ERE = W / RTT, (2) is W RTTmin / RTT: the window that fills the pipe and leaves the queue
empty.

Differences from the papers
    The second paper prints (2) and (3) without the floor of 2 packets; the first has it.
    :mod:`tcpcc.controllers.rate_estimators` describes how the estimators read a flow's ACKs.

Evidence (constants: paper)
    closed form: window after a loss fills the pipe
        controllers/test_westwood.py::test_a_loss_leaves_what_fills_the_pipe
    published value: the paper on its friendliness
        papers/test_reproduction.py
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.rate_estimators import BE_PARAMS, BE_STATE, silence_be, update_be
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.definition import register


def threshold(s, packets):
    """The ssthresh of (2), and the window with it."""
    s.ssthresh = max(packets, 2.0)
    s.cwnd = min(s.cwnd, s.ssthresh)


def restart(s, packets):
    """(3)"""
    s.ssthresh = max(packets, 2.0)
    s.cwnd = 1.0


def on_ack(s, p, ack):
    update_be(s, p, ack)
    reno_on_ack(s, p, ack)


def on_loss(s, p, ack):
    threshold(s, s.be * ack.base_rtt)


def on_timeout(s, p, ack):
    silence_be(s, p, ack)
    restart(s, s.be * ack.base_rtt)


westwood = register(
    Controller(
        name="westwood",
        summary="Reno; after a loss the window is the bandwidth estimate BE times RTTmin",
        source="Casetti, Gerla, Mascolo, Sanadidi, Wang 2001",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=BE_PARAMS,
        state=BE_STATE,
        slow_start="hystart++",
        look=("sky", "d"),
    )
)
