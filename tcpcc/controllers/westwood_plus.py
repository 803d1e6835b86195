"""TCP Westwood+: Westwood with one bandwidth sample per round-trip time.

Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and
Vegas TCP congestion control", ACM CCR 34(2), 2004; the filter as in Linux.

The rules are :mod:`tcpcc.controllers.westwood`'s with the estimate of
:func:`tcpcc.controllers.rate_estimators.update_plus` in place of BE, which ACK compression
misleads.

Evidence (constants: Linux)
    ns-2: Linux' port: windows at losses within 1 %
        external/test_linux_against_ns2.py::test_windows_at_losses
    closed form: window after a loss fills the pipe
        controllers/test_westwood.py::test_a_loss_leaves_what_fills_the_pipe
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.rate_estimators import PLUS_PARAMS, PLUS_STATE, update_plus
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.westwood import restart, threshold
from tcpcc.definition import register


def on_ack(s, p, ack):
    update_plus(s, p, ack)
    reno_on_ack(s, p, ack)


def on_loss(s, p, ack):
    threshold(s, s.plus * ack.base_rtt)


def on_timeout(s, p, ack):
    restart(s, s.plus * ack.base_rtt)


westwood_plus = register(
    Controller(
        name="westwood_plus",
        summary="Westwood with one bandwidth sample per round-trip time",
        source="Grieco, Mascolo 2004",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PLUS_PARAMS,
        state=PLUS_STATE,
        slow_start="hystart++",
        look=("orange", "d"),
    )
)
