"""Quick-Start: a flow asks the routers on its path for a rate, and starts at the approved rate.

Source: S. Floyd, M. Allman, A. Jain, P. Sarolahti, "Quick-Start for TCP and IP", RFC 4782, 2007,
section 4; ns-2.35's ``Agent/TCP`` with ``qs_enabled_``. The router:
:mod:`tcpcc.queues.quick_start_router`.

The header fields of a packet:

    qs_request     the rate, coded: N for 40 kb/s 2^N, 0 for no request
    qs_approvals   number of links that have approved the request

(1)  the SYN carries the largest N that asks for at most `requested_rate`, and 0 approvals
(2)  its ACK returns N after a time T. The request is approved if N > 0 and all links that the SYN
     crossed have approved it: a link without Quick-Start does not
(3)  Q = floor(40 kb/s 2^N T / packet size);  Q > initial window:  W <- Q, paced at Q/T
(4)  the first ACK of data ends pacing:  W <- packets in flight, if fewer, but at least the initial
     window; the controller's slow start continues from there
(5)  a loss before all packets sent until then are acknowledged:  W <- initial window, ssthresh as
     before the loss
(6)  a retransmitted SYN asks for no rate

A flow's access links belong to its hosts and do not count: ask for no more than they carry.

Differences from the RFC
    Requests are made in the SYN only (RFC section 4.1), not during a connection, and do not depend
    on the amount of data. There is no nonce and no report of the approved rate; `approved_rate` is
    in the trace.
Differences from ns-2
    After (5) loss recovery continues; ns-2's NewReno leaves it at once. T is exact.
"""

import math

from tcpcc.definition import Param, State, register
from tcpcc.queues.quick_start_router import code_of, rate_of
from tcpcc.slow_start.start_up import StartUp

NEVER, STARTED, TO_PROVE = 0.0, 1.0, 2.0  # phases: none, paced by (3), a loss applies (5)


def on_start(s, p, ack):
    s.request = code_of(p.requested_rate)  # (1)


def on_open(s, p, ack):
    requested = s.request
    s.request = 0.0
    s.default_window = s.cwnd
    if requested == 0 or ack.rtt == 0 or ack.qs_request <= 0 or ack.qs_approvals != ack.hops:
        return  # (2)
    s.approved_rate = rate_of(ack.qs_request)
    window = math.floor(s.approved_rate * ack.rtt / (8 * ack.packet_size))
    if window > s.cwnd:
        s.cwnd = float(window)  # (3)
        s.pacing_rate = window / ack.rtt
        s.quick_phase = STARTED


def on_round(s, p, ack):
    if s.quick_phase == STARTED:
        s.cwnd = max(min(s.cwnd, ack.inflight), s.default_window)  # (4)
        s.pacing_rate = math.inf
        s.quick_phase = TO_PROVE
    else:
        s.quick_phase = NEVER


def on_restart(s, p, ack):
    s.request = 0.0  # (6)
    s.pacing_rate = math.inf
    if s.quick_phase == STARTED:
        s.quick_phase = TO_PROVE


def on_loss(s, p, ack, window, threshold):
    if s.quick_phase != NEVER:
        s.cwnd = s.default_window  # (5)
        s.ssthresh = threshold
        s.quick_phase = NEVER


quick_start = register(
    StartUp(
        name="quick_start",
        summary="starts at a rate that the routers on the path approve",
        source="RFC 4782",
        on_start=on_start,
        on_open=on_open,
        on_round=on_round,
        on_restart=on_restart,
        on_loss=on_loss,
        header={"qs_request": "request", "qs_approvals": 1},
        record=("approved_rate",),
        params={
            "requested_rate": Param(
                rate_of(15), "bit/s", "rate asked for, rounded down to 40 kb/s 2^N", rate_of(1)
            ),
        },
        state={
            "request": State(0, "", "request in the header, coded"),
            "approved_rate": State(0, "bit/s", "approved rate; 0: none"),
            "default_window": State(0, "packets", "window without an approval"),
            "pacing_rate": State(math.inf, "packets/s", "at which packets leave"),
            "quick_phase": State(
                NEVER, "", "1: paced, 2: until the paced packets are acknowledged"
            ),
        },
    )
)
