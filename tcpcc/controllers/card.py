"""CARD: reduces the window when delay and window move in the same direction.

Source: R. Jain, "A delay-based approach for congestion avoidance in interconnected heterogeneous
computer networks", CCR 19(5), 1989, as described by Brakmo and Peterson, JSAC 13(8), 1995, III-B.

Every two round trips, with W = cwnd, R the newest RTT, and W', R' their values two round trips
before:

(1)  (W - W') (R - R') > 0:  W <- W - W/8
(2)  otherwise:              W <- W + 1

Hence W changes every time and oscillates around its optimum, the knee.

Differences from the papers
    Jain's paper has neither slow start nor losses. Here slow start, loss and timeout are Reno's;
    the first (1) ends slow start, and (2) does not apply in it. Times that differ only by rounding
    count as equal.

Evidence (constants: paper)
    vector: window follows the sign of the product
        controllers/test_vegas_relatives.py::test_card_moves_by_the_sign_of_the_product
"""

from tcpcc.controllers.dual import EVERY_OTHER, back_off, every_other, newest_rtt
from tcpcc.controllers.reno import reno
from tcpcc.controllers.vegas import trend
from tcpcc.definition import State, register


def on_ack(s, p, ack):
    if s.cwnd < s.ssthresh:
        s.cwnd += ack.acked


def on_round(s, p, ack):
    if not every_other(s):
        return
    window, rtt = s.cwnd, newest_rtt(ack)
    if s.last_rtt > 0 and trend(window, s.last_window) * trend(rtt, s.last_rtt) > 0:
        back_off(s)  # (1)
    elif s.cwnd >= s.ssthresh:
        s.cwnd += 1  # (2)
    s.last_window, s.last_rtt = window, rtt


card = register(
    reno.variant(
        name="card",
        summary="W - W/8 if delay and window move together, else W + 1",
        source="Jain 1989",
        on_ack=on_ack,
        on_round=on_round,
        state={
            **EVERY_OTHER,
            "last_window": State(0, "packets", "W two round trips before"),
            "last_rtt": State(0, "s", "R two round trips before; 0 before the first"),
        },
        recovery="reno",
        slow_start="standard",
        exact=True,
        look=("green", "h"),
    )
)
