"""Fusion and ARENO with a clock of finite resolution, as in a kernel.

An RTT is the difference of two readings of this clock. The paper says that its alpha "is limited by
the TCP timer granularity", and sets D_min to 4 ms.
"""

import math

from tcpcc.controllers.areno import areno
from tcpcc.controllers.areno import on_ack as areno_on_ack
from tcpcc.controllers.areno import on_loss as areno_on_loss
from tcpcc.controllers.controller import Param
from tcpcc.controllers.fusion import fusion
from tcpcc.controllers.fusion import on_ack as fusion_on_ack
from tcpcc.controllers.fusion import on_loss as fusion_on_loss

TICK = {"tick": Param(4e-3, "s", "resolution of the clock", 1e-9)}


def read_clock(p, ack):
    """Replace the RTTs in `ack` by differences of clock readings."""
    if ack.rtt > 0:
        ticks = math.floor(ack.now / p.tick) - math.floor((ack.now - ack.rtt) / p.tick)
        ack.rtt = ticks * p.tick
    ack.base_rtt = math.floor(ack.base_rtt / p.tick) * p.tick


def on_ack_of_fusion(s, p, ack):
    read_clock(p, ack)
    fusion_on_ack(s, p, ack)


def on_loss_of_fusion(s, p, ack):
    read_clock(p, ack)
    fusion_on_loss(s, p, ack)


def on_ack_of_areno(s, p, ack):
    read_clock(p, ack)
    areno_on_ack(s, p, ack)


def on_loss_of_areno(s, p, ack):
    read_clock(p, ack)
    areno_on_loss(s, p, ack)


CLOCKED = {
    "Fusion, 4 ms clock": fusion.variant(
        name="fusion_clock",
        on_ack=on_ack_of_fusion,
        on_loss=on_loss_of_fusion,
        params=TICK,
    ),
    "ARENO, 4 ms clock": areno.variant(
        name="areno_clock",
        on_ack=on_ack_of_areno,
        on_loss=on_loss_of_areno,
        params=TICK,
    ),
}
