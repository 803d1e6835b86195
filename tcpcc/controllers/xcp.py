"""XCP's sender: the window follows the rate changes that routers write into packet headers.

Source: D. Katabi, M. Handley, C. Rohrs, "Congestion control for high bandwidth-delay product
networks", SIGCOMM 2002; ns-2.35's ``Agent/TCP/Reno/XCP``. The router is
:mod:`tcpcc.queues.xcp_router`.

The header fields of a packet, with R the smoothed RTT and W the window (packets):

    xcp_rtt       R
    xcp_spacing   R / W, the time between packets of the flow
    xcp_change    the change of rate that the sender asks for, packets/s; routers lower it

(1)  an ACK of n packets returns a change d:  W <- max(W + n d R, 1)
(2)  loss, timeout: Reno's

Differences from the paper
    As in ns-2, the sender asks for an unlimited change, and changes are of rates, not of windows.
    Before R is known, packets ask for no change.
Limits
    On a path without an XCP router no change is written, and ACKs do not change the window.
Differences from ns-2
    R is not rounded to clock ticks. A delayed ACK returns the newest packet's change, not the sum.

Evidence (constants: ns-2)
    ns-2: windows, with XCP's router
        controllers/test_xcp.py::test_windows_are_ns2s
    claim: full link, empty queue, equal shares
        controllers/test_xcp.py::test_the_link_is_full_the_queue_is_not_and_shares_are_equal
"""

from tcpcc.controllers.controller import Controller
from tcpcc.controllers.reno import PARAMS
from tcpcc.controllers.reno import on_loss as reno_loss
from tcpcc.controllers.reno import on_timeout as reno_timeout
from tcpcc.definition import State, register

UNLIMITED = 1e21  # packets/s
ANSWER = 1e12  # packets/s; no router answers more, and a mean with some UNLIMITED exceeds it


def fill_header(s, srtt):
    """Set the header fields of the next packets."""
    s.known_rtt = srtt
    s.spacing = srtt / s.cwnd
    s.demand = UNLIMITED if srtt > 0 else 0.0


def on_ack(s, p, ack):
    if ack.xcp_change < ANSWER:  # else no router has read it
        s.cwnd = max(s.cwnd + ack.acked * ack.xcp_change * ack.srtt, 1.0)  # (1)
    fill_header(s, ack.srtt)


def on_loss(s, p, ack):
    before = s.cwnd
    reno_loss(s, p, ack)  # (2)
    s.cwnd = min(s.cwnd, before)
    fill_header(s, ack.srtt)


def on_timeout(s, p, ack):
    reno_timeout(s, p, ack)
    fill_header(s, ack.srtt)


xcp = register(
    Controller(
        name="xcp",
        summary="the window follows the changes that XCP routers write into packet headers",
        source="Katabi, Handley, Rohrs 2002",
        on_ack=on_ack,
        on_loss=on_loss,
        on_timeout=on_timeout,
        params=PARAMS,
        state={
            "known_rtt": State(0, "s", "R in the header"),
            "spacing": State(0, "s", "R / W in the header"),
            "demand": State(0, "packets/s", "change of rate that the header asks for"),
        },
        header={"xcp_rtt": "known_rtt", "xcp_spacing": "spacing", "xcp_change": "demand"},
        recovery="newreno",
        look=("black", "*"),
    )
)
