"""TCP Westwood with the rate estimate RE (TCPW-RE).

Sources: R. Wang, M. Valla, M. Y. Sanadidi, B. K. F. Ng, M. Gerla, "Efficiency/friendliness
tradeoffs in TCP Westwood", ISCC 2002; K. Kaneko, J. Katto 2005, section II, eqs. 1-2.

The rules are :mod:`tcpcc.controllers.westwood`'s with RE in place of BE. For a flow limited by its
window RE is W / RTT, so that the window after a loss is W RTTmin / RTT.

Evidence (constants: paper)
    closed form: window after a loss fills the pipe
        controllers/test_westwood.py::test_a_loss_leaves_what_fills_the_pipe
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.rate_estimators import RE_PARAMS, RE_STATE, update_re
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.westwood import restart, threshold
from tcpcc.definition import register


def on_ack(s, p, ack):
    update_re(s, p, ack)
    reno_on_ack(s, p, ack)


def on_loss(s, p, ack):
    threshold(s, s.re * ack.base_rtt)


def on_timeout(s, p, ack):
    restart(s, s.re * ack.base_rtt)


westwood_re = register(
    Controller(
        name="westwood_re",
        summary="Westwood with the rate of the last round-trip times, RE",
        source="Wang, Valla, Sanadidi, Ng, Gerla 2002",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=RE_PARAMS,
        state=RE_STATE,
        slow_start="hystart++",
        look=("purple", "d"),
    )
)
