"""TCP Westwood with the adaptive bandwidth share estimate (ABSE).

Source: R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Adaptive bandwidth share estimation in TCP
Westwood", GLOBECOM 2002.

The rules are :mod:`tcpcc.controllers.westwood`'s with ABSE in place of BE. The constants of the
estimate are from memory, so they are parameters; see
:func:`tcpcc.controllers.rate_estimators.update_abse`.

Evidence (constants: paper)
    closed form: window after a loss fills the pipe
        controllers/test_westwood.py::test_a_loss_leaves_what_fills_the_pipe
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.rate_estimators import ABSE_PARAMS, ABSE_STATE, update_abse
from tcpcc.controllers.reno import on_ack as reno_on_ack
from tcpcc.controllers.westwood import restart, threshold
from tcpcc.definition import register


def on_ack(s, p, ack):
    update_abse(s, p, ack)
    reno_on_ack(s, p, ack)


def on_loss(s, p, ack):
    threshold(s, s.abse * ack.base_rtt)


def on_timeout(s, p, ack):
    restart(s, s.abse * ack.base_rtt)


westwood_abse = register(
    Controller(
        name="westwood_abse",
        summary="Westwood with samples and filter adapted to congestion and jitter, ABSE",
        source="Wang, Valla, Sanadidi, Gerla 2002",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=ABSE_PARAMS,
        state=ABSE_STATE,
        slow_start="hystart++",
        look=("black", "d"),
    )
)
